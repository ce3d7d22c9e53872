"""The statement that was run, parsed once for whoever words its answer; what cannot be read is simply not there.

The trees are shared and kept for the last STATEMENTS_KEPT texts: nobody changes them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Dialect
from querybus.core.failure import Failure
from querybus.sql.parse import parse

STATEMENTS_KEPT: Final = 64
SQL_LENGTH_MAX: Final = 20_000


@lru_cache(maxsize=STATEMENTS_KEPT)
def read(sql: str, dialect: Dialect) -> exp.Expr | None:
    """Return the tree of a statement, or None for one that is too long or cannot be read."""
    if len(sql) > SQL_LENGTH_MAX:
        return None
    statement = parse(sql, dialect)
    return None if isinstance(statement, Failure) else statement.tree


def tables_read(sql: str | None, catalog: Catalog | None) -> tuple[str, ...]:
    """Return the tables of the catalog that a statement reads, as `Catalog.table_at` takes them."""
    tree = read(sql, catalog.dialect) if sql is not None and catalog is not None else None
    if tree is None or catalog is None:
        return ()
    named = (".".join(part for part in (table.db, table.name) if part) for table in tree.find_all(exp.Table))
    return tuple(dict.fromkeys(name for name in named if name and catalog.table_at(name) is not None))


def is_plan(sql: str | None) -> bool:
    """Whether a statement asked how another would be run: its rows are the engine's words and no data."""
    return sql is not None and sql.lstrip()[:7].upper() == "EXPLAIN"
