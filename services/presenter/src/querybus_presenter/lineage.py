"""Which column of the catalog each result column shows, read from the statement that was run.

Only what is certain: a plain column, or one aggregate of one, of a table named in the outermost query. Whatever
comes from a sub-query, a common table expression or a calculation has no lineage.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.failure import Failure
from querybus.core.sql.parse import parse

_FUNCTIONS: Final[tuple[tuple[type[exp.Expr], str], ...]] = (
    (exp.Count, "count"),
    (exp.Sum, "sum"),
    (exp.Avg, "avg"),
    (exp.Min, "min"),
    (exp.Max, "max"),
)


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where a result column comes from; nothing is known where both are None."""

    column: Column | None = None
    function: str | None = None


_UNKNOWN: Final = Lineage()


def lineage(sql: str, dialect: Dialect, catalog: Catalog) -> tuple[Lineage, ...]:
    """Return the lineage of each result column in order; empty if the statement's columns cannot be told."""
    statement = parse(sql, dialect)
    tree = None if isinstance(statement, Failure) else statement.tree
    while isinstance(tree, exp.SetOperation | exp.Subquery):
        tree = tree.this
    if not isinstance(tree, exp.Select):
        return ()
    sources = list(_sources(tree, catalog))
    found: list[Lineage] = []
    for projection in tree.expressions:
        if isinstance(projection, exp.Star) or (
            isinstance(projection, exp.Column) and isinstance(projection.this, exp.Star)
        ):
            named = projection.table if isinstance(projection, exp.Column) else ""
            chosen = [table for alias, table in sources if not named or alias == named.lower()]
            if not chosen or any(each is None for each in chosen):
                return ()
            found.extend(Lineage(column) for table in chosen if table is not None for column in table.columns)
        else:
            found.append(_of(projection.unalias(), sources))
    return tuple(found)


def _sources(select: exp.Select, catalog: Catalog) -> Iterator[tuple[str, Table | None]]:
    """Yield the alias of each source in its order, with the catalog's table if it is one."""
    own = {each.alias.lower() for each in select.root().find_all(exp.CTE)}
    for node in select.find_all(exp.Table, exp.Subquery, bfs=False):
        if node.parent_select is not select or not isinstance(node.parent, exp.From | exp.Join):
            continue
        is_table = isinstance(node, exp.Table) and node.name.lower() not in own
        table = catalog.table(node.name, node.db or None) if isinstance(node, exp.Table) and is_table else None
        yield node.alias_or_name.lower(), table


def _of(expression: exp.Expr, sources: list[tuple[str, Table | None]]) -> Lineage:
    if isinstance(expression, exp.Column):
        return Lineage(_column(expression, sources))
    for kind, name in _FUNCTIONS:
        if isinstance(expression, kind):
            inner = expression.this
            return Lineage(_column(inner, sources) if isinstance(inner, exp.Column) else None, name)
    return _UNKNOWN


def _column(written: exp.Column, sources: list[tuple[str, Table | None]]) -> Column | None:
    if written.table:
        tables = [table for alias, table in sources if alias == written.table.lower()]
    elif any(table is None for _, table in sources):
        return None
    else:
        tables = [table for _, table in sources]
    owners = [column for each in tables if each is not None and (column := each.column(written.name)) is not None]
    return owners[0] if len(owners) == 1 else None
