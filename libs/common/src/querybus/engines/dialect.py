"""The SQL dialects that QueryBus speaks: one member for each engine record."""

from __future__ import annotations

from enum import StrEnum


class Dialect(StrEnum):
    """The SQL dialects, named as sqlglot names them."""

    SQLITE = "sqlite"
    DUCKDB = "duckdb"
    POSTGRESQL = "postgres"
    MYSQL = "mysql"
    CLICKHOUSE = "clickhouse"
    ORACLE = "oracle"
    SNOWFLAKE = "snowflake"
    BIGQUERY = "bigquery"
