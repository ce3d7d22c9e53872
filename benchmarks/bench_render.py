"""Runs statements natively and as QueryBus writes them, on five engines, and compares the rows.

`make bench-render` makes a statement for each part of SQL in data/render_features.toml and seeded combinations of them.
SQLite, DuckDB and ClickHouse (chdb) run in this process; PostgreSQL and MariaDB are started on this machine.
`--engine NAME` runs one engine, `--seed N` other combinations, `--json` prints the report.
A statement that the engine itself refuses, or answers differently twice, is not compared. The report is
build/bench/render.json.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import duckdb

from benchmarks.render_statements import PEOPLE, VISITS, combined, each_part
from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import ConnectionPolicy
from querybus.sql.check import check_in_doubt
from tests.support.database_servers import mariadb_server, postgres_server

ROOT: Final = Path(__file__).resolve().parents[1]
ROW_LIMIT: Final = 1_000
COMBINATIONS: Final = 150
Rows = list[tuple[Any, ...]]
Run = Callable[[str], Rows]

_COLUMNS: Final = {
    "people": (
        ("id", "INTEGER"),
        ("name", "TEXT"),
        ("team", "TEXT"),
        ("pay", "INTEGER"),
        ("boss", "INTEGER"),
        ("born", "DATE"),
    ),
    "visits": (("id", "INTEGER"), ("person_id", "INTEGER"), ("kind", "TEXT"), ("val", "INTEGER")),
}


@dataclass
class Outcome:
    """What became of the statements of one engine."""

    counts: Counter[str] = field(default_factory=Counter[str])
    different: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    unsafe: list[str] = field(default_factory=list[str])
    """Statements that the engine runs and the guard refuses for good."""


def catalog_of(dialect: Dialect) -> Catalog:
    tables = tuple(
        Table(name=name, columns=tuple(Column(name=column, type=kind) for column, kind in columns))
        for name, columns in _COLUMNS.items()
    )
    schema = {
        Dialect.POSTGRESQL: "public",
        Dialect.DUCKDB: "main",
        Dialect.MYSQL: "render",
        Dialect.CLICKHOUSE: "default",
    }
    return Catalog(connection="render", dialect=dialect, tables=tables, default_schema=schema.get(dialect))


def script_of(dialect: Dialect) -> list[str]:
    """Return the statements that make the tables on one engine."""
    of = " ENGINE = Memory" if dialect is Dialect.CLICKHOUSE else ""
    script: list[str] = []
    for name, columns in _COLUMNS.items():
        typed = ", ".join(f"{column} {_type(kind, column, dialect)}" for column, kind in columns)
        script.append(f"CREATE TABLE {name} ({typed}){of}")
        for row in PEOPLE if name == "people" else VISITS:
            values = ", ".join(
                "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value) for value in row
            )
            script.append(f"INSERT INTO {name} VALUES ({values})")
    return script


def _type(kind: str, column: str, dialect: Dialect) -> str:
    if dialect is Dialect.CLICKHOUSE:
        plain = {"INTEGER": "Int32", "TEXT": "String", "DATE": "Date32"}[kind]
        return plain if column in ("id", "name", "born") else f"Nullable({plain})"
    return "VARCHAR(40)" if kind == "TEXT" and dialect is Dialect.MYSQL else kind


@contextlib.contextmanager
def sqlite_run() -> Generator[Run]:
    base = sqlite3.connect(":memory:")
    for statement in script_of(Dialect.SQLITE):
        base.execute(statement)
    yield lambda sql: base.execute(sql).fetchall()


@contextlib.contextmanager
def duckdb_run() -> Generator[Run]:
    base = duckdb.connect(":memory:")
    base.execute("SET TimeZone = 'UTC'")
    base.execute("SET lambda_syntax = 'ENABLE_SINGLE_ARROW'")  # the form that this release deprecates
    for statement in script_of(Dialect.DUCKDB):
        base.execute(statement)
    yield lambda sql: base.execute(sql).fetchall()


@contextlib.contextmanager
def clickhouse_run() -> Generator[Run]:
    from chdb import session

    opened = session.Session()
    for statement in script_of(Dialect.CLICKHOUSE):
        opened.query(statement)

    def run(sql: str) -> Rows:
        return [(line,) for line in opened.query(sql, "TabSeparated").bytes().decode(errors="replace").splitlines()]

    with contextlib.closing(opened):
        yield run


@contextlib.contextmanager
def postgres_run() -> Generator[Run]:
    import asyncpg

    with postgres_server() as server, asyncio.Runner() as runner:
        server.execute(";\n".join(script_of(Dialect.POSTGRESQL)) + ";")

        async def connect() -> Any:
            connection = await asyncpg.connect(server.url())
            for kind in ("interval", "date", "timestamp", "timestamptz"):
                await connection.set_type_codec(kind, schema="pg_catalog", encoder=str, decoder=str, format="text")
            return connection

        connection = runner.run(connect())
        yield lambda sql: [tuple(row) for row in runner.run(connection.fetch(sql, timeout=20))]
        runner.run(connection.close())


@contextlib.contextmanager
def mariadb_run() -> Generator[Run]:
    import asyncmy

    with mariadb_server() as server, asyncio.Runner() as runner:
        server.execute("CREATE DATABASE render; USE render;\n" + ";\n".join(script_of(Dialect.MYSQL)) + ";")
        connection = runner.run(asyncmy.connect(host="127.0.0.1", port=server.port, user="root", db="render"))

        async def fetch(sql: str) -> Rows:
            async with connection.cursor() as cursor:
                # Without parameters: a percent sign stands for itself.
                await cursor.execute(sql)
                return [tuple(row) for row in await cursor.fetchall()]

        yield lambda sql: runner.run(fetch(sql))
        connection.close()


ENGINES_HERE: Final[dict[Dialect, Callable[[], contextlib.AbstractContextManager[Run]]]] = {
    Dialect.SQLITE: sqlite_run,
    Dialect.DUCKDB: duckdb_run,
    Dialect.POSTGRESQL: postgres_run,
    Dialect.MYSQL: mariadb_run,
    Dialect.CLICKHOUSE: clickhouse_run,
}


def compare(dialect: Dialect, run: Run, statements: Iterator[str]) -> Outcome:
    """Return what became of the statements on one engine."""
    outcome, catalog = Outcome(), catalog_of(dialect)
    for sql in statements:
        outcome.counts["statements"] += 1
        outcome.counts[_compare_rows(sql, catalog, run, outcome)] += 1
    return outcome


def _compare_rows(sql: str, catalog: Catalog, run: Run, outcome: Outcome) -> str:
    try:
        native = _sorted(run(sql))
        repeated = _sorted(run(sql))
    except Exception:  # noqa: BLE001 - the engine's own refusal, of whatever kind
        return "not_of_this_engine"
    if native != repeated:
        return "not_repeatable"
    checked = check_in_doubt(
        sql, dialect=catalog.dialect, catalog=catalog, policy=ConnectionPolicy(), row_limit=ROW_LIMIT
    )
    if isinstance(checked, Failure):
        if checked.code is FailureCode.SAFETY:
            outcome.unsafe.append(f"{sql}  -- {checked.detail}")
        return f"refused_{checked.code}"
    try:
        rendered = _sorted(run(checked.sql))
    except Exception as error:  # noqa: BLE001 - broken by the rendering
        outcome.different.append(
            {"sql": sql, "rendered": checked.sql, "rows": f"{type(error).__name__}: {error}"[:300]}
        )
        return "different"
    if native != rendered:
        shown = [f"{one} became {other}" for one, other in zip(native, rendered, strict=False) if one != other]
        outcome.different.append(
            {"sql": sql, "rendered": checked.sql, "rows": (shown or ["other number of rows"])[0][:300]}
        )
        return "different"
    return "equal"


def _sorted(rows: Rows) -> list[str]:
    return sorted(map(repr, rows))


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    arguments.add_argument("--engine", choices=[dialect.value for dialect in ENGINES_HERE], help="one engine only")
    arguments.add_argument("--seed", type=int, default=1, help="of the combinations")
    arguments.add_argument("--json", action="store_true", help="print the report as JSON")
    given = arguments.parse_args()
    report: dict[str, Any] = {"name": "render", "engines": {}}
    for dialect, opened in ENGINES_HERE.items():
        if given.engine not in (None, dialect.value):
            continue
        with opened() as run:
            statements = iter([*each_part(dialect), *combined(dialect, COMBINATIONS, given.seed)])
            outcome = compare(dialect, run, statements)
        report["engines"][dialect.value] = {
            **outcome.counts,
            "differences": outcome.different,
            "unsafe": outcome.unsafe,
        }
        if not given.json:
            print(f"{dialect.value:12}{json.dumps(outcome.counts)}", flush=True)
            for item in outcome.different:
                print(f"  {item['sql']}\n    {item['rendered']}\n    {item['rows']}")
    compared = sum(engine.get("equal", 0) + engine.get("different", 0) for engine in report["engines"].values())
    different = sum(engine.get("different", 0) for engine in report["engines"].values())
    report |= {
        "figures": {"compared": compared, "different": different},
        "required": {"different": 0},
        "met": not different,
    }
    target = ROOT / "build" / "bench" / "render.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(report, indent=1) + "\n")
    if given.json:
        print(json.dumps(report))
    else:
        print(f"\ncompared {compared}, different {different}: {target.relative_to(ROOT)}")
    return 0 if report["met"] else 1


if __name__ == "__main__":
    sys.exit(main())
