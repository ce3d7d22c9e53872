"""Which column of the catalog each result column shows, read from the statement that was run.

Only what is certain: a plain column, or one aggregate of one, of a table named in the outermost query. Whatever
comes from a sub-query, a common table expression or a calculation has no lineage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Column, Dialect
from querybus_presenter.wording.statement import Sources, column_of, outermost, read, sources

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
    """Return the lineage of each result column in order; empty if the statement's columns are not known."""
    tree = outermost(read(sql, dialect))
    if tree is None:
        return ()
    known = sources(tree, catalog)
    lineages: list[Lineage] = []
    for projection in tree.expressions:
        if isinstance(projection, exp.Star) or (
            isinstance(projection, exp.Column) and isinstance(projection.this, exp.Star)
        ):
            named = projection.table if isinstance(projection, exp.Column) else ""
            chosen = [table for alias, table in known if not named or alias == named.lower()]
            if not chosen or any(item is None for item in chosen):
                return ()
            lineages.extend(Lineage(column) for table in chosen if table is not None for column in table.columns)
        else:
            lineages.append(_of(projection.unalias(), known))
    return tuple(lineages)


def _of(expression: exp.Expr, known: Sources) -> Lineage:
    if isinstance(expression, exp.Column):
        return Lineage(column_of(expression, known))
    for kind, name in _FUNCTIONS:
        if isinstance(expression, kind):
            inner = expression.this
            return Lineage(column_of(inner, known) if isinstance(inner, exp.Column) else None, name)
    return _UNKNOWN
