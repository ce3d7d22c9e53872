"""What stands behind each engine: the one list that docs/connections.md shows and the tests hold against the code."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from querybus.core.catalog import Dialect


class Evidence(StrEnum):
    """How far an engine was tried; the value stands in the docs."""

    EXECUTED = "executed against"
    EMULATED = "emulated"
    COMPILED = "compiled only"


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine as people know it. `tests`: what shows that it is as said, held by a test of the list itself."""

    title: str
    dialect: Dialect
    evidence: Evidence
    url: str
    extra: str
    tried: str
    tests: str


ENGINES: Final = (
    Engine(
        "SQLite",
        Dialect.SQLITE,
        Evidence.EXECUTED,
        "sqlite:///",
        "",
        "SQLite as Python brings it, in child processes",
        "test_sqlite_edge.py",
    ),
    Engine(
        "DuckDB",
        Dialect.DUCKDB,
        Evidence.EXECUTED,
        "duckdb:///",
        "",
        "DuckDB 2.0, in child processes",
        "test_duckdb_edge.py",
    ),
    Engine(
        "PostgreSQL",
        Dialect.POSTGRESQL,
        Evidence.EXECUTED,
        "postgresql://",
        "",
        "a private PostgreSQL 18",
        "test_postgres_edge.py",
    ),
    Engine(
        "MariaDB",
        Dialect.MYSQL,
        Evidence.EXECUTED,
        "mariadb://",
        "",
        "a private MariaDB 10.11",
        "test_mysql_edge.py",
    ),
    Engine(
        "MySQL",
        Dialect.MYSQL,
        Evidence.COMPILED,
        "mysql://",
        "",
        "the edge of MariaDB; no MySQL server was run",
        "test_mysql_edge.py",
    ),
    Engine(
        "ClickHouse",
        Dialect.CLICKHOUSE,
        Evidence.EXECUTED,
        "clickhouse://",
        "clickhouse",
        "ClickHouse's engine (chdb) behind a stand-in of its HTTP interface: no users, grants or KILL of its own",
        "test_clickhouse_edge.py",
    ),
    Engine(
        "Oracle",
        Dialect.ORACLE,
        Evidence.COMPILED,
        "oracle://",
        "oracle",
        "statements compiled and parsed; the driver's calls against a recorded stand-in",
        "test_oracle_edge.py",
    ),
    Engine(
        "Snowflake",
        Dialect.SNOWFLAKE,
        Evidence.EMULATED,
        "snowflake://",
        "snowflake",
        "fakesnow, which is DuckDB underneath: no claim about Snowflake's semantics",
        "test_snowflake_edge.py",
    ),
    Engine(
        "BigQuery",
        Dialect.BIGQUERY,
        Evidence.COMPILED,
        "bigquery://",
        "bigquery",
        "statements compiled and parsed; the real client against recorded replies of the REST interface",
        "test_bigquery_edge.py",
    ),
)


def engine_table() -> str:
    """Return the list as the table of docs/connections.md."""
    rows = ["| engine | state | URL begins with | extra | tried on | shown by |", "|---|---|---|---|---|---|"]
    for each in ENGINES:
        extra = f"`[{each.extra}]`" if each.extra else ""
        rows.append(
            f"| {each.title} | {each.evidence.value} | `{each.url}` | {extra} | {each.tried} | `{each.tests}` |"
        )
    return "\n".join(rows)
