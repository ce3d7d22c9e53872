"""The statement that was run, parsed once for whoever words its answer; what cannot be read is simply not there.

The trees are shared and kept for the last STATEMENTS_KEPT texts: nobody changes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.failure import Failure
from querybus.sql.parse import parse

STATEMENTS_KEPT: Final = 64
SQL_LENGTH_MAX: Final = 20_000

Sources = list[tuple[str, Table | None]]
"""The alias of each source of a query in its order, with the catalog's table if it is one."""


@lru_cache(maxsize=STATEMENTS_KEPT)
def read(sql: str, dialect: Dialect) -> exp.Expr | None:
    """Return the tree of a statement, or None for one that is too long or cannot be read."""
    if len(sql) > SQL_LENGTH_MAX:
        return None
    statement = parse(sql, dialect)
    return None if isinstance(statement, Failure) else statement.tree


def outermost(tree: exp.Expr | None) -> exp.Select | None:
    """Return the query whose columns are the result's: of several put together, the first."""
    while isinstance(tree, exp.SetOperation | exp.Subquery):
        tree = tree.this
    return tree if isinstance(tree, exp.Select) else None


def sources(select: exp.Select, catalog: Catalog) -> Sources:
    """Return what a query reads from."""
    return list(_sources(select, catalog))


def _sources(select: exp.Select, catalog: Catalog) -> Iterator[tuple[str, Table | None]]:
    own: set[str] = set()
    above: exp.Expr | None = select
    while above is not None:
        with_: exp.Expr | None = above.args.get("with_")
        own |= {expression.alias.lower() for expression in with_.expressions} if with_ else set()
        above = above.parent
    from_: exp.Expr | None = select.args.get("from_")
    nodes = [] if from_ is None else [from_.this]
    nodes += [join.this for join in select.args.get("joins") or ()]
    for node in nodes:
        is_table = isinstance(node, exp.Table) and node.name.lower() not in own
        table = catalog.table(node.name, node.db or None) if isinstance(node, exp.Table) and is_table else None
        yield node.alias_or_name.lower(), table


def column_of(written: exp.Column, known: Sources) -> Column | None:
    """Return the catalog's column of a reference, if it is certain."""
    if written.table:
        tables = [table for alias, table in known if alias == written.table.lower()]
    elif any(table is None for _, table in known):
        return None
    else:
        tables = [table for _, table in known]
    owners = [column for table in tables if table is not None and (column := table.column(written.name)) is not None]
    return owners[0] if len(owners) == 1 else None
