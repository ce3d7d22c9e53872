"""Requests on which the obvious join is wrong give the same rows on real engines as were computed without SQL."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

from querybus.core.catalog import Dialect
from querybus_semantic.compiling.compile import Compiled, compile_request
from tests.support.database_servers import clickhouse_server, driver, mariadb_server, postgres_server

ROOT = Path(__file__).resolve().parents[4]
DATA = Path(os.environ.get("QUERYBUS_DATA", ROOT.parent / "shared" / "data")) / "semantic"
pytestmark = [
    pytest.mark.data,
    pytest.mark.slow,
    pytest.mark.skipif(
        not DATA.is_dir() and os.environ.get("CI") != "true", reason="no shared data folder is there; set QUERYBUS_DATA"
    ),
]
Rows = Sequence[Sequence[object]]
Runner = Callable[[str, Sequence[str], Iterable[str]], list[Rows]]
"""Makes a database of this name by statements, and returns the rows of each query on it."""


def in_duckdb(_: str, statements: Sequence[str], queries: Iterable[str]) -> list[Rows]:
    with closing(duckdb.connect()) as opened:
        for statement in statements:
            opened.execute(statement)
        return [opened.execute(query).fetchall() for query in queries]


@contextmanager
def duckdb_runner() -> Generator[Runner]:
    yield in_duckdb


@contextmanager
def postgres_runner() -> Generator[Runner]:
    asyncpg: Any = driver("asyncpg", "postgres")
    with postgres_server() as server:

        def run(name: str, statements: Sequence[str], queries: Iterable[str]) -> list[Rows]:
            server.execute(f"CREATE DATABASE {name};")

            async def asked() -> list[Rows]:
                connection = await asyncpg.connect(server.url(database=name))
                try:
                    for statement in statements:
                        await connection.execute(statement)
                    return [[tuple(row) for row in await connection.fetch(query)] for query in queries]
                finally:
                    await connection.close()

            return asyncio.run(asked())

        yield run


def tabbed(text: str) -> Rows:
    """Return the rows that a client prints between tabs."""
    return [[None if cell in {"NULL", "\\N"} else cell for cell in line.split("\t")] for line in text.splitlines()]


@contextmanager
def mariadb_runner() -> Generator[Runner]:
    with mariadb_server() as server:

        def run(name: str, statements: Sequence[str], queries: Iterable[str]) -> list[Rows]:
            server.execute(";\n".join((f"CREATE DATABASE {name}", f"USE {name}", *statements, "")))
            return [tabbed(server.execute(f"USE {name};\n{query};")) for query in queries]

        yield run


@contextmanager
def clickhouse_runner() -> Generator[Runner]:
    with clickhouse_server() as server:

        def run(name: str, statements: Sequence[str], queries: Iterable[str]) -> list[Rows]:
            server.execute(f"CREATE DATABASE {name}")
            for statement in statements:
                server.execute(statement, name)
            return [tabbed(server.execute(query, name)) for query in queries]

        yield run


RUNNERS: dict[str, tuple[Dialect, Callable[[], Any]]] = {
    "duckdb": (Dialect.DUCKDB, duckdb_runner),
    "postgres": (Dialect.POSTGRESQL, postgres_runner),
    "mariadb": (Dialect.MYSQL, mariadb_runner),
    "clickhouse": (Dialect.CLICKHOUSE, clickhouse_runner),
}


def script(database: Path, dialect: Dialect) -> Iterator[str]:
    """Yield the statements that make a SQLite file's tables and rows elsewhere."""
    is_clickhouse = dialect is Dialect.CLICKHOUSE
    types = {"TEXT": "VARCHAR(200)", "REAL": "DOUBLE PRECISION" if not is_clickhouse else "Float64"}
    ending = " ENGINE = Memory" if is_clickhouse else ""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as opened:
        for (table,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            kinds = [
                (row[1], types.get(row[2], row[2])) for row in opened.execute(f"PRAGMA table_info({table})").fetchall()
            ]
            columns = ", ".join(
                f"{name} Nullable({kind})" if is_clickhouse else f"{name} {kind}" for name, kind in kinds
            )
            yield f"CREATE TABLE {table} ({columns}){ending}"
            rows = [f"({', '.join(map(literal, row))})" for row in opened.execute(f"SELECT * FROM {table}").fetchall()]
            if rows:
                yield f"INSERT INTO {table} VALUES {', '.join(rows)}"


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, int | float) else "'" + str(value).replace("'", "''") + "'"


def plain(value: object) -> object:
    """Return a value as it can be compared across drivers: numbers as floats, midnight as its day."""
    if value is None or isinstance(value, bool):
        return value
    try:
        return float(str(value))
    except ValueError:
        return str(value).removesuffix(" 00:00:00").removesuffix("+00:00").removesuffix(" 00:00:00")


@pytest.mark.parametrize(
    "engine",
    [
        "duckdb",
        pytest.param("postgres", marks=pytest.mark.servers),
        pytest.param("mariadb", marks=pytest.mark.servers),
        pytest.param("clickhouse", marks=pytest.mark.servers),
    ],
)
def test_every_request_of_the_corpus_gives_its_rows(engine: str) -> None:
    from benchmarks.bench_semantic import lines, opened, same, structured

    dialect, started = RUNNERS[engine]
    items = [item for item in lines(DATA / "fanout" / "requests.jsonl") if item["expect"] == "rows"]
    wrong: list[str] = []
    with started() as run:
        for schema in dict.fromkeys(item["schema"] for item in items):
            folder = DATA / "fanout" / schema
            layer = opened(folder / "data.sqlite", [folder / "layer.ossie.yaml"], "ossie").layer
            asked = [item for item in items if item["schema"] == schema]
            compiled = [compile_request(layer, structured(item, layer, layer), dialect) for item in asked]
            queries = [one.sql for one in compiled if isinstance(one, Compiled)]
            assert len(queries) == len(asked)
            answers = run(f"fan_{schema}", list(script(folder / "data.sqlite", dialect)), queries)
            for item, rows in zip(asked, answers, strict=True):
                found = [[plain(value) for value in row] for row in rows]
                expected = [[plain(value) for value in row] for row in item["expected"]["rows"]]
                if not same(found, expected):
                    wrong.append(f"{item['id']}: {str(found)[:200]} for {str(expected)[:200]}")
    assert len(items) == 63
    assert wrong == []
