"""Measures what a model is shown: gold literals and gold columns in the prompt, its tokens, and that no personal value is.

Every question of a folder laid out as Spider's goes through the generator's own verb with a model that only keeps what it
was sent. `--against FILE` compares the tokens with those of an earlier run, question by question. Nothing is fitted here.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import platform
import sqlite3
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from querybus.core.catalog import Catalog, ColumnProfile, Dialect
from querybus.core.envelope import Delivery, Envelope
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Asked
from querybus.core.options import Options
from querybus.core.policy import Connection
from querybus.core.stored.models import Prompting
from querybus.core.subjects import EventName
from querybus.llm.dialogue import ChatMessage, ModelReply
from querybus.text.knowledge import Entry, EntryKind, KnowledgeIndex
from querybus.text.synonyms import link_words
from querybus.text.tokens import token_estimate
from querybus_executor.engines.sqlite.introspect import open_sqlite_catalog
from querybus_generator.conversation.history import NoHistory
from querybus_generator.generate import Resources, generate
from querybus_generator.linking.examples import Examples, skeleton
from querybus_generator.linking.index import LinkIndex
from querybus_generator.linking.linker import Linker
from querybus_generator.ports import Ports
from querybus_generator.prompts.texts import load_texts
from querybus_translator import likely_sql

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDERS: Final = {"dev": ("questions_dev.json", "databases"), "train": ("questions_train.json", "train_databases")}
REQUIRED: Final = {"profile_facts_right": 1.0, "literals": 0.90, "columns": 0.99, "personal_values_shown": 0.0}
FEW_TABLES: Final = 20
EXAMPLES_JUDGED: Final = 3
ANY_DAY: Final = date(2026, 1, 1)


class Recorder:
    """A model that keeps the messages and gives no reply; also the catalogs, connections and history of one database."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.messages: Sequence[ChatMessage] = ()

    async def prompting(self, tenant: str, model: str | None) -> Prompting:
        del tenant, model
        return Prompting()

    async def reply(self, messages: Sequence[ChatMessage], **_: Any) -> ModelReply | Failure:
        self.messages = messages
        return Failure.of(FailureCode.UNKNOWN_GENERATION_FAILURE, "kept")

    async def read(self, connection: str) -> Catalog:
        del connection
        return self.catalog

    async def get(self, name: str) -> Connection:
        return Connection(name=name, dialect=Dialect.SQLITE)


async def prompt_of(recorder: Recorder, linker: Linker, question: str) -> str:
    """Return everything that a model is sent for a question; empty where it is answered without one."""
    now = time.time_ns() // 1_000_000
    recorder.messages = ()
    envelope = Envelope[Asked](
        event=EventName.ASKED,
        query_id="q",
        thread_id="t",
        tenant="acme",
        user="ann",
        audience="analyst",
        connection=recorder.catalog.connection,
        question=question,
        language="en",
        options=Options(),
        asked_at=now,
        deadline_at=now + 60_000,
        body=Asked(),
    )
    await generate(
        envelope,
        Delivery(sequence=1, deliveries=1, now_ms=now),
        ports=Ports(catalogs=recorder, connections=recorder, history=NoHistory(), model=recorder),
        resources=Resources(linker=linker, texts=load_texts()),
    )
    return "\n".join(message.text for message in recorder.messages)


def gold_of(sql: str) -> tuple[set[str], set[str]]:
    """Return the literals and the column names of a statement."""
    tree = sqlglot.parse_one(sql, dialect="sqlite")
    # SQLite reads what stands in double quotes as text where there is no such column.
    quoted = {column.name for column in tree.find_all(exp.Column) if column.this.args.get("quoted")}
    columns = {column.name for column in tree.find_all(exp.Column)} - quoted - {"*"}
    texts = {str(literal.this) for literal in tree.find_all(exp.Literal) if literal.is_string}
    return {text.strip("%") for text in texts | quoted if text.strip("%")}, columns


def personal_values(catalog: Catalog) -> set[str]:
    """Return the values of personal columns that the database holds; none may be in the catalog."""
    return {value for table in catalog.tables for column in table.columns if column.personal for value in column.values}


def profile_facts(data: Path, part: str) -> dict[str, Any]:
    """Return how many profile facts of the part's databases SQL confirms, and what reading the catalogs cost."""
    facts = wrong = tables = rows = 0
    seconds = 0.0
    for path in sorted((data / FOLDERS[part][1]).glob("*.sqlite")):
        began = time.perf_counter()
        catalog = open_sqlite_catalog(path)
        seconds += time.perf_counter() - began
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as opened:
            opened.text_factory = lambda cell: cell.decode("utf-8", "replace")
            for table in catalog.tables:
                tables += 1
                rows += table.row_estimate or 0
                for column in table.columns:
                    if column.profile is not None:
                        facts += 1
                        wrong += not _is_confirmed(opened, table.name, column.name, column.profile)
    return {
        "profile_facts": facts,
        "profile_facts_right": round(1 - wrong / facts, 4) if facts else 1.0,
        "rows_per_table": round(rows / tables),
        "introspection_ms_per_table": round(1_000 * seconds / tables, 2),
    }


def _is_confirmed(opened: sqlite3.Connection, table: str, column: str, profile: ColumnProfile) -> bool:
    name, place = (f'"{text.replace(chr(34), chr(34) * 2)}"' for text in (column, table))
    least, greatest, filled, rows = opened.execute(
        f"SELECT min({name}), max({name}), count({name}), count(*) FROM {place}"
    ).fetchone()
    has_range = profile.value_min is not None
    is_range = not has_range or (str(least), str(greatest)) == (profile.value_min, profile.value_max)
    return is_range and abs(profile.empty_share - (1 - filled / rows)) <= 0.0001


async def measured(data: Path, part: str, step: int) -> Iterator[dict[str, Any]]:
    questions, folder = FOLDERS[part]
    items = json.loads((data / questions).read_text(encoding="utf-8"))[::step]
    by_database: dict[str, list[Mapping[str, str]]] = defaultdict(list)
    for item in items:
        by_database[item["db_id"]].append(item)
    rows: list[dict[str, Any]] = []
    for database, asked in by_database.items():
        path = data / folder / f"{database}.sqlite"
        if not path.exists():
            continue
        recorder, linker = Recorder(open_sqlite_catalog(path)), Linker()
        for item in asked:
            try:
                literals, columns = gold_of(item["gold"])
            except SqlglotError:
                continue
            shown = await prompt_of(recorder, linker, item["question"])
            if not shown:
                continue
            folded = shown.casefold()
            rows.append(
                {
                    "part": part,
                    "question": f"{database}: {item['question']}",
                    "tables": len(recorder.catalog.tables),
                    "tokens": token_estimate(shown),
                    "literals": (sum(text in shown for text in literals), len(literals)),
                    "columns": (sum(name.casefold() in folded for name in columns), len(columns)),
                    "missing": sorted(text for text in literals if text not in shown),
                    "personal": sum(value in shown for value in personal_values(recorder.catalog)),
                }
            )
    return iter(rows)


def example_shapes(data: Path, part: str, step: int) -> dict[str, float]:
    """Return how many of the three examples for a question have its reference's skeleton, by words alone and as they are chosen.

    The other questions of its database are what was taught; those with the very same statement are left out.
    """
    questions, folder = FOLDERS[part]
    by_database: dict[str, list[Mapping[str, str]]] = defaultdict(list)
    for item in json.loads((data / questions).read_text(encoding="utf-8")):
        by_database[item["db_id"]].append(item)
    counts: dict[str, list[int]] = {"by_words": [], "as_chosen": []}
    for database, items in by_database.items():
        path = data / folder / f"{database}.sqlite"
        if not path.exists():
            continue
        catalog, index = open_sqlite_catalog(path), None
        shapes = {item["gold"]: skeleton(item["gold"], Dialect.SQLITE) for item in items}
        for item in items[:: 4 * step]:
            wanted = shapes[item["gold"]]
            others = [other for other in items if other["gold"] != item["gold"]]
            if not wanted or not any(shapes[other["gold"]] == wanted for other in others):
                continue
            entries = [Entry(kind=EntryKind.PAIR, key=other["question"], text=other["gold"]) for other in others]
            search = KnowledgeIndex(entries, link_words())
            index = index or LinkIndex(catalog, words=link_words())
            likely = likely_sql(item["question"], catalog, today=ANY_DAY)
            chosen = Examples(entries, search, index, Dialect.SQLITE).choose(
                item["question"], likely, EXAMPLES_JUDGED, is_usable=lambda _: True
            )
            by_words = [hit.entry for hit in search.search(EntryKind.PAIR, item["question"], EXAMPLES_JUDGED)]
            for name, picked in (("by_words", by_words), ("as_chosen", chosen)):
                counts[name].append(sum(shapes[entry.text] == wanted for entry in picked))
    return {
        f"examples_of_its_shape_{name}": round(sum(values) / (EXAMPLES_JUDGED * len(values)), 4) if values else 0.0
        for name, values in counts.items()
    }


def figures_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the shares over all questions and the tokens of a prompt."""

    def share(name: str) -> float:
        found, wanted = (sum(row[name][place] for row in rows) for place in (0, 1))
        return round(found / wanted, 4) if wanted else 1.0

    tokens = [row["tokens"] for row in rows]
    return {
        "questions": len(rows),
        "literals": share("literals"),
        "columns": share("columns"),
        "tokens_median": statistics.median(tokens),
        "tokens_p95": sorted(tokens)[int(len(tokens) * 0.95)],
        "personal_values_shown": sum(row["personal"] for row in rows),
    }


def main() -> int:
    default = Path(os.environ.get("QUERYBUS_DATA", ROOT.parent / "shared" / "data")) / "spider"
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, default=default, help="a folder laid out as Spider's")
    options.add_argument("--step", type=int, default=1, help="take each nth question only")
    options.add_argument("--against", type=Path, help="the report of an earlier run: compare tokens")
    options.add_argument("--strict", action="store_true", help="a missed target is an error")
    options.add_argument("--missing", action="store_true", help="print the literals that are in no prompt")
    chosen = options.parse_args()
    if not chosen.data.is_dir():
        print(f"skipped: {chosen.data} is not there; --data names another folder laid out as Spider's")
        return 0
    rows = [row for part in FOLDERS for row in asyncio.run(measured(chosen.data, part, chosen.step))]
    figures: dict[str, Any] = {
        part: figures_of([row for row in rows if row["part"] == part])
        | profile_facts(chosen.data, part)
        | example_shapes(chosen.data, part, chosen.step)
        for part in FOLDERS
    }
    if chosen.against is not None:
        before = json.loads(chosen.against.read_text(encoding="utf-8"))["tokens"]
        ratios = [
            row["tokens"] / before[row["question"]]
            for row in rows
            if row["question"] in before and row["tables"] < FEW_TABLES
        ]
        figures["tokens_against_before"] = round(statistics.mean(ratios), 3)
    short: list[str] = []
    for part, counted in figures.items():
        print(part, counted)
        if isinstance(counted, dict):
            missed = [
                name for name, bound in REQUIRED.items() if (counted[name] < bound) or (not bound and counted[name])
            ]
            short += [f"{part} {name} {counted[name]}" for name in missed]
    print("met" if not short else f"NOT MET: {', '.join(short)}")
    if chosen.missing:
        for row in rows:
            if row["missing"]:
                print(row["question"], row["missing"])
    path = ROOT / "build" / "bench" / "prompt.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    report = {
        "name": "prompt",
        "figures": figures,
        "required": REQUIRED,
        "met": not short,
        "machine": {"cpus": os.cpu_count(), "python": platform.python_version()},
        "tokens": {row["question"]: row["tokens"] for row in rows},
    }
    path.write_text(json.dumps(report, ensure_ascii=False, indent=1), encoding="utf-8")
    return 1 if chosen.strict and short else 0


if __name__ == "__main__":
    sys.exit(main())
