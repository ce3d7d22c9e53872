"""Names of an engine's own catalogs, which no statement reads."""

from __future__ import annotations

import re
from typing import Final

from querybus.core.catalog import Dialect
from querybus.text.words import word_set

SYSTEM_SCHEMAS: Final = word_set(
    """information_schema pg_catalog pg_toast mysql sys performance_schema system sqlite_temp temp snowflake
    account_usage organization_usage ctxsys mdsys xdb dbsnmp outln wmsys"""
)
_SYSTEM_NAMES: Final[dict[Dialect, re.Pattern[str]]] = {
    Dialect.SQLITE: re.compile(r"sqlite_|pragma_|(dbstat|bytecode|tables_used|completion|fsdir|zipfile|csv)$"),
    Dialect.DUCKDB: re.compile(r"sqlite_|pragma_|duckdb_|pg_"),
    Dialect.POSTGRESQL: re.compile(r"pg_"),
    Dialect.ORACLE: re.compile(r"(g?v_?\$|x\$|dba_|cdb_|all_|user_)|.*\$$|(dict|dictionary|cat|tab|obj)$"),
    Dialect.BIGQUERY: re.compile(r"__tables|information_schema"),
}


def is_system(name: str, schema: str | None, dialect: Dialect) -> bool:
    """Return whether a folded name, or its schema, is one of the engine's own."""
    if schema is not None and schema.lower() in SYSTEM_SCHEMAS:
        return True
    pattern = _SYSTEM_NAMES.get(dialect)
    return pattern is not None and pattern.match(name.lower()) is not None
