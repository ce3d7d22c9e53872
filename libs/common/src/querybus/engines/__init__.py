"""The engines: one frozen record each, with every fact in which its SQL differs from that of others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, assert_never

from querybus.engines.bigquery import BIGQUERY
from querybus.engines.clickhouse import CLICKHOUSE
from querybus.engines.dialect import Dialect
from querybus.engines.duckdb import DUCKDB
from querybus.engines.mysql import MYSQL
from querybus.engines.oracle import ORACLE
from querybus.engines.postgres import POSTGRESQL
from querybus.engines.record import Engine
from querybus.engines.snowflake import SNOWFLAKE
from querybus.engines.sqlite import SQLITE


def _record(dialect: Dialect) -> Engine:
    match dialect:
        case Dialect.SQLITE:
            return SQLITE
        case Dialect.DUCKDB:
            return DUCKDB
        case Dialect.POSTGRESQL:
            return POSTGRESQL
        case Dialect.MYSQL:
            return MYSQL
        case Dialect.CLICKHOUSE:
            return CLICKHOUSE
        case Dialect.ORACLE:
            return ORACLE
        case Dialect.SNOWFLAKE:
            return SNOWFLAKE
        case Dialect.BIGQUERY:
            return BIGQUERY
        case _:
            assert_never(dialect)


ENGINES: Final[Mapping[Dialect, Engine]] = {dialect: _record(dialect) for dialect in Dialect}
"""The record of each dialect; a dialect without one is a type error."""
