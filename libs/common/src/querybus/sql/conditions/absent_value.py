"""What a query compares columns with, beside the values that the columns are known to have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Column
from querybus.sql.conditions.scope import scope_of

_OPEN: Final = (
    exp.Between,
    exp.Except,
    exp.GT,
    exp.GTE,
    exp.Having,
    exp.ILike,
    exp.Intersect,
    exp.Is,
    exp.LT,
    exp.LTE,
    exp.Like,
    exp.NEQ,
    exp.Not,
)
"""Conditions that may hold for no row although every value that they name is there."""


def names_absent_value(tree: exp.Expr, catalog: Catalog) -> bool:
    """Return whether a condition compares a column with a text that all its values, which are known, lack."""
    return any(
        column is not None
        and column.values_complete
        and bool(column.values)
        and text.is_string
        and text.name.casefold() not in {value.casefold() for value in column.values}
        for column, text in _compared(tree, catalog)
    )


def asks_for_held_values(tree: exp.Expr, other: exp.Expr, catalog: Catalog) -> bool:
    """Return whether rows are only asked for by texts that their columns are known to have, and by another query as well.

    Where such a query finds nothing and the other one something, the way that its tables are joined is likelier at fault than the data.
    """
    if tree.find(*_OPEN) is not None:
        return False
    named = {text.name for text in other.find_all(exp.Literal)}
    return all(
        column is not None and text.name in column.values and text.name in named
        for column, text in _compared(tree, catalog)
    )


def _compared(tree: exp.Expr, catalog: Catalog) -> Iterator[tuple[Column | None, exp.Literal]]:
    """Yield each literal that stands in an equality or a list, with the column that it is compared with."""
    for select in tree.find_all(exp.Select):
        scope = scope_of(select, catalog)
        for condition in select.find_all(exp.EQ, exp.In):
            if condition.find_ancestor(exp.Select) is not select:
                continue
            origin = scope.origin(condition.this) if isinstance(condition.this, exp.Column) else None
            sides = [condition.expression] if isinstance(condition, exp.EQ) else condition.expressions
            for side in sides:
                if isinstance(side, exp.Literal):
                    yield None if origin is None else origin[1], side
