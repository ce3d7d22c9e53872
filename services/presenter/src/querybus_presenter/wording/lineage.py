"""Which column of the catalog each result column shows, read from the statement that was run.

Only what is certain: a plain column, or one aggregate of one, of a table named in the outermost query. Whatever
comes from a sub-query, a common table expression or a calculation has no lineage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.sql.conditions.scope import Scope, outermost, scope_of
from querybus_presenter.wording.percentages import percentage_in
from querybus_presenter.wording.statement import read

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
    scope = scope_of(tree, catalog)
    lineages: list[Lineage] = []
    for projection in tree.expressions:
        if isinstance(projection, exp.Star) or (
            isinstance(projection, exp.Column) and isinstance(projection.this, exp.Star)
        ):
            named = projection.table if isinstance(projection, exp.Column) else ""
            chosen = [source for alias, source in scope.sources.items() if not named or alias == named.lower()]
            tables = [source for source in chosen if isinstance(source, Table)]
            if not tables or len(tables) < len(chosen):
                return ()
            lineages.extend(Lineage(column) for table in tables for column in table.columns)
        else:
            lineages.append(_of(projection.unalias(), scope))
    return tuple(lineages)


def _of(expression: exp.Expr, scope: Scope) -> Lineage:
    if isinstance(expression, exp.Column):
        return Lineage(_column(expression, scope))
    for kind, name in _FUNCTIONS:
        if isinstance(expression, kind):
            inner = expression.this
            return Lineage(_column(inner, scope) if isinstance(inner, exp.Column) else None, name)
    return _UNKNOWN if percentage_in(expression) is None else Lineage(None, "percentage")


def _column(written: exp.Column, scope: Scope) -> Column | None:
    found = scope.origin(written)
    return None if found is None else found[1]
