"""What stands behind each engine, said by the tests themselves: docs/connections.md is written from the marks they carry.

A test that runs, emulates or compiles for an engine is marked with `shows(...)`. As a plugin of pytest (`-p
tests.support.engine_evidence`) this writes the table of all tests that are collected to the file that QUERYBUS_ENGINE_TABLE
names. So the page cannot name an engine that no test is about, nor say more of one than its tests do.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import pytest

from querybus.core.catalog import Dialect


class Evidence(StrEnum):
    """How far an engine was tried, the farthest first; the value stands in the docs."""

    EXECUTED = "executed against"
    EMULATED = "emulated"
    COMPILED = "compiled only"


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine as people know it. `extra`: what has to be installed with the executor."""

    title: str
    dialect: Dialect
    url: str
    extra: str = ""


ENGINES: Final = (
    Engine("SQLite", Dialect.SQLITE, "sqlite:///"),
    Engine("DuckDB", Dialect.DUCKDB, "duckdb:///"),
    Engine("PostgreSQL", Dialect.POSTGRESQL, "postgresql://"),
    Engine("MariaDB", Dialect.MYSQL, "mariadb://"),
    Engine("MySQL", Dialect.MYSQL, "mysql://"),
    Engine("ClickHouse", Dialect.CLICKHOUSE, "clickhouse://", "clickhouse"),
    Engine("Oracle", Dialect.ORACLE, "oracle://", "oracle"),
    Engine("Snowflake", Dialect.SNOWFLAKE, "snowflake://", "snowflake"),
    Engine("BigQuery", Dialect.BIGQUERY, "bigquery://", "bigquery"),
)


def shows(title: str, evidence: Evidence, tried_on: str) -> pytest.MarkDecorator:
    """Return the mark of tests that show this of an engine."""
    if title not in {engine.title for engine in ENGINES}:
        raise ValueError(f"{title} is no engine of ENGINES")
    return pytest.mark.engine(title, evidence, tried_on)


def table(items: Iterable[pytest.Item]) -> str:
    """Return the table that follows from the tests; ValueError where they contradict each other."""
    files: defaultdict[str, dict[str, None]] = defaultdict(dict)
    said: defaultdict[str, set[tuple[Evidence, str]]] = defaultdict(set)
    for item in items:
        for mark in item.iter_markers("engine"):
            title, evidence, tried_on = mark.args
            said[title].add((evidence, tried_on))
            files[title][item.path.name] = None
    rows = ["| engine | state | URL begins with | extra | tried on | shown by |", "|---|---|---|---|---|---|"]
    for engine in ENGINES:
        if len(said[engine.title]) > 1:
            raise ValueError(f"tests say different things of {engine.title}: {sorted(said[engine.title])}")
        for evidence, tried_on in said[engine.title]:
            extra = f"`[{engine.extra}]`" if engine.extra else ""
            shown = ", ".join(f"`{name}`" for name in files[engine.title])
            rows.append(f"| {engine.title} | {evidence} | `{engine.url}` | {extra} | {tried_on} | {shown} |")
    return "\n".join(rows)


def pytest_collection_finish(session: pytest.Session) -> None:
    target = os.environ.get("QUERYBUS_ENGINE_TABLE")
    if target:
        Path(target).write_text(table(session.items))


ON_SQLITE: Final = shows("SQLite", Evidence.EXECUTED, "SQLite as Python brings it, in child processes")
ON_DUCKDB: Final = shows("DuckDB", Evidence.EXECUTED, "DuckDB 2.0, in child processes")
ON_POSTGRES: Final = shows("PostgreSQL", Evidence.EXECUTED, "a private PostgreSQL 18")
ON_MARIADB: Final = shows("MariaDB", Evidence.EXECUTED, "a private MariaDB, as Debian packages it")
ON_CLICKHOUSE: Final = shows(
    "ClickHouse",
    Evidence.EXECUTED,
    "ClickHouse's engine (chdb) behind a stand-in of its HTTP interface: no users, grants or KILL of its own",
)
