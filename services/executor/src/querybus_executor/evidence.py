"""What stands behind each engine: the one list that docs/connections.md shows and the tests hold against the code."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from querybus.core.catalog import Dialect


class Evidence(StrEnum):
    """How far an engine was tried; the value stands in the docs."""

    EXECUTED = "executed against"
    UNTRIED = "has an edge, never executed"
    GUARD_ONLY = "guard only, no edge"


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine as people know it. `url`: how its connection begins, where it has an edge."""

    title: str
    dialect: Dialect
    evidence: Evidence
    url: str
    tried: str


ENGINES: Final = (
    Engine("SQLite", Dialect.SQLITE, Evidence.EXECUTED, "sqlite:///", "SQLite 3.40, in child processes"),
    Engine("DuckDB", Dialect.DUCKDB, Evidence.EXECUTED, "duckdb:///", "DuckDB 2.0, in child processes"),
    Engine("PostgreSQL", Dialect.POSTGRESQL, Evidence.EXECUTED, "postgresql://", "a private PostgreSQL 18"),
    Engine("MariaDB", Dialect.MYSQL, Evidence.EXECUTED, "mariadb://", "a private MariaDB 10.11"),
    Engine("MySQL", Dialect.MYSQL, Evidence.UNTRIED, "mysql://", "the edge of MariaDB; no MySQL server was run"),
    Engine("ClickHouse", Dialect.CLICKHOUSE, Evidence.GUARD_ONLY, "", "statements are parsed and guarded"),
    Engine("Oracle", Dialect.ORACLE, Evidence.GUARD_ONLY, "", "statements are parsed and guarded"),
    Engine("Snowflake", Dialect.SNOWFLAKE, Evidence.GUARD_ONLY, "", "statements are parsed and guarded"),
    Engine("BigQuery", Dialect.BIGQUERY, Evidence.GUARD_ONLY, "", "statements are parsed and guarded"),
)


def engine_table() -> str:
    """Return the list as the table of docs/connections.md."""
    rows = ["| engine | state | URL begins with | tried on |", "|---|---|---|---|"]
    for each in ENGINES:
        url = f"`{each.url}`" if each.url else "none"
        rows.append(f"| {each.title} | {each.evidence.value} | {url} | {each.tried} |")
    return "\n".join(rows)
