"""Measures a stranger's first hour: twenty plain business databases on PostgreSQL, asked over HTTP by a business reader.

Nobody names a connection; five databases are connected to each running stack. Ten databases are looked at (`--show`), of the
other ten, with words and seeds of their own, only sums are printed. Each is asked plain, and with the names that
`querybus describe` drafts. What is masked wrongly and what ends without a next step has to be 0; all else is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime as dt
import json
import os
import platform
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import asyncpg
import httpx

from benchmarks.first_hour_reader import WAIT_SECONDS, Http, Reader, Verdict
from benchmarks.first_hour_schemas import Schema, load_schemas
from benchmarks.first_hour_times import measure_times
from querybus.ops.log import configure_logging
from querybus_cli.describing.document import document
from querybus_cli.describing.run import Drafted, describe_database
from querybus_cli.local.local_stack import Stack, StackPlan, new_keys
from tests.support.database_servers import PostgresServer, postgres_server

REPORT: Final = Path(__file__).resolve().parents[1] / "build" / "bench" / "first_hour.json"
STACK_SIZE: Final = 5
KINDS: Final = (
    "right",
    "asked back usefully",
    "asked back, of no use",
    "wrong, said unsure",
    "wrong while sure",
    "wall",
)
REQUIRED: Final = ("masked wrongly", "walls")
"""Have to be 0 over both halves, with names and without."""


@dataclass
class Run:
    """What one run of all databases found."""

    names: bool
    verdicts: list[Verdict] = field(default_factory=list[Verdict])

    def of(self, *, held_out: bool) -> list[Verdict]:
        return [item for item in self.verdicts if item.schema.is_held_out is held_out]


def today() -> dt.date:
    """Return the day by the clock that the databases go by."""
    return dt.datetime.now(dt.UTC).date()


def make_databases(server: PostgresServer, schemas: Sequence[Schema]) -> None:
    """Create each database with its rows, and one role that only reads."""
    server.execute("CREATE ROLE reader LOGIN;")
    for schema in schemas:
        server.execute(f'CREATE DATABASE "{schema.name}";')
        server.execute(
            f"{schema.script()}\nGRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;\nANALYZE;", schema.name
        )


def described(server: PostgresServer, schemas: Sequence[Schema], folder: Path) -> dict[str, Drafted]:
    """Write the draft of `querybus describe` for each database, and return them."""
    drafts: dict[str, Drafted] = {}
    for schema in schemas:
        drafts[schema.name] = describe_database(
            server.url("reader", schema.name), with_model=False, with_relations=True
        )
        text = document(drafts[schema.name].description, {}, name=f"{schema.name}.yaml", day=str(today()))
        (folder / f"{schema.name}.yaml").write_text(text)
    return drafts


async def ask_all(server: PostgresServer, schemas: Sequence[Schema], folder: Path, *, names: bool) -> Run:
    """Ask every question of all schemas, five databases at a time."""
    run = Run(names)
    for begun in range(0, len(schemas), STACK_SIZE):
        some = schemas[begun : begun + STACK_SIZE]
        entries = [
            {"name": schema.name, "url": server.url("reader", schema.name)}
            | ({"described": str(folder / f"{schema.name}.yaml")} if names else {})
            for schema in some
        ]
        file = folder / "connections.yaml"
        file.write_text(json.dumps({"connections": entries}))
        run.verdicts += await _ask_stack(server, some, file)
    return run


async def _ask_stack(server: PostgresServer, schemas: Sequence[Schema], file: Path) -> list[Verdict]:
    keys = new_keys()
    things = [thing for schema in schemas for thing in (schema.name, *schema.columns())]
    # Of every connected database: a question that goes astray may show what is personal elsewhere.
    personal = frozenset(value for schema in schemas for value in schema.personal_values())
    things += [table.label for schema in schemas for table in schema.tables if table.label]
    async with (
        Stack(StackPlan(file, sync="2m"), keys=keys) as stack,
        httpx.AsyncClient(base_url=stack.http_address, timeout=WAIT_SECONDS + 30, trust_env=False) as client,
    ):
        business, analyst = (Http(client, keys[name]) for name in ("business", "analyst"))
        for schema in schemas:
            await business.wait_for_catalog(schema.name)

        async def asked(schema: Schema) -> list[Verdict]:
            database = await asyncpg.connect(server.url("reader", schema.name))
            try:
                reader = Reader(business, analyst, schema, database, things, personal)
                return await reader.judge_all()
            finally:
                await database.close()

        return [item for found in await asyncio.gather(*map(asked, schemas)) for item in found]


def figures_of(verdicts: Sequence[Verdict]) -> dict[str, int]:
    """Return the counts of one half of a run."""
    kinds = Counter(item.kind for item in verdicts)
    hidden, shown = (sum(1 for item in verdicts if getattr(item, name)) for name in ("hidden", "shown"))
    return {
        "questions": len(verdicts),
        **{kind: kinds[kind] for kind in KINDS if kind != "wall"},
        "walls": kinds["wall"],
        "wrong route": sum(bool(item.route) for item in verdicts),
        "hidden though harmless": hidden,
        "shown though personal": shown,
        "masked wrongly": hidden + shown,
    }


def columns_of(schemas: Sequence[Schema], drafts: Mapping[str, Drafted]) -> dict[str, Any]:
    """Return how the columns that the product takes for personal compare with our own list."""
    missed, harmless = list[str](), list[str]()
    for schema in schemas:
        found, own = set(drafts[schema.name].description.personal), schema.personal_columns()
        missed += [f"{schema.name}.{name}" for name in sorted(own - found)]
        harmless += [f"{schema.name}.{name}" for name in sorted(found & schema.columns() - own)]
    return {
        "columns": sum(len(schema.columns()) for schema in schemas),
        "personal": sum(len(schema.personal_columns()) for schema in schemas),
        "missed": missed,
        "taken for personal": harmless,
    }


def print_cases(run: Run) -> None:
    """Print of the open half each question that was not answered right."""
    for item in run.of(held_out=False):
        flags = [
            f"-> {item.route}" * bool(item.route),
            "HIDDEN" * item.hidden,
            f"SHOWN {item.shown}" * bool(item.shown),
        ]
        if item.kind != "right" or any(flags):
            print(f"{item.kind:22} {item.schema.name:11} {item.question.text} {' '.join(filter(None, flags))}")
            print(f"{'':34} {item.words}")


def main() -> int:
    """Print the table and write the report; 1 where something is masked wrongly or a question meets a wall."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="print each question of the open half that was not right")
    parser.add_argument("--only", help="these databases only, separated by commas")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--without-times", action="store_true", help="do not measure ask and up")
    parser.add_argument("--with-set-up", action="store_true", help="set up another environment and time it")
    given = parser.parse_args()
    configure_logging("error", as_json=False)
    os.environ.setdefault("QUERYBUS_LOG_LEVEL", "error")
    begun = time.perf_counter()
    schemas = load_schemas(given.seed, today())
    if given.only:
        schemas = [schema for schema in schemas if schema.name in given.only.split(",")]
    with postgres_server() as server, tempfile.TemporaryDirectory(prefix="querybus-hour-") as name:
        folder = Path(name)
        make_databases(server, schemas)
        drafts = described(server, schemas, folder)
        runs = [asyncio.run(ask_all(server, schemas, folder, names=names)) for names in (False, True)]
        times = (
            {}
            if given.without_times
            else measure_times(server.url("reader", schemas[0].name), folder, with_set_up=given.with_set_up)
        )
    halves = {"looked at": False, "only printed": True}
    table = {
        f"{half}, {'names of describe' if run.names else 'plain'}": figures_of(run.of(held_out=held_out))
        for run in runs
        for half, held_out in halves.items()
    }
    width = max(map(len, table)) + 2
    for key in next(iter(table.values())):
        print(f"{key:26}" + "".join(f"{figures[key]:>{width}}" for figures in table.values()))
    print(f"{'':26}" + "".join(f"{name:>{width}}" for name in table))
    columns = {
        half: columns_of([schema for schema in schemas if schema.is_held_out is held_out], drafts)
        for half, held_out in halves.items()
    }
    for half, found in columns.items():
        print(
            f"columns {half}: {found['columns']}, personal {found['personal']}, of these not recognised "
            f"{len(found['missed'])}, others taken for personal {len(found['taken for personal'])}"
        )
    if given.show:
        print("not recognised:", ", ".join(columns["looked at"]["missed"]))
        print("taken for personal:", ", ".join(columns["looked at"]["taken for personal"]))
        for run in runs:
            print(f"--- {'with names' if run.names else 'plain'}")
            print_cases(run)
    for line, value in times.items():
        print(f"{line}: {value}")
    sums = {word: sum(figures[word] for figures in table.values()) for word in REQUIRED}
    sums["masked wrongly"] += sum(len(found["missed"]) + len(found["taken for personal"]) for found in columns.values())
    for word, total in sums.items():
        print(f"{word}: {total} (required 0) {'required met' if total == 0 else 'required NOT met'}")
    seconds = time.perf_counter() - begun
    print(f"{seconds:.0f} s")
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    machine = {"cpus": os.cpu_count(), "load": os.getloadavg()[0], "python": platform.python_version()}
    shown = {
        half: {
            key: len(value) if isinstance(value, list) and half == "only printed" else value
            for key, value in found.items()
        }
        for half, found in columns.items()
    }
    report = {
        "name": "first_hour",
        "figures": table,
        "columns": shown,
        "times": times,
        "required": sums,
        "met": not any(sums.values()),
        "seconds": round(seconds, 1),
        "machine": machine,
    }
    REPORT.write_text(json.dumps(report, ensure_ascii=False, indent=1), encoding="utf-8")
    return 0 if report["met"] else 1


if __name__ == "__main__":
    sys.exit(main())
