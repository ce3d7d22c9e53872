"""The parts of a query that a reading names and a refinement changes: filters `f1`.., groups `g1`.., and the period.

A filter's number is its place among the conditions of the outermost query, a group's its place in GROUP BY, so a
reading that was sent and the statement that is read again agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from querybus.core.catalog import ColumnKind, Table
from querybus.sql.conditions.periods import Period, period_of
from querybus.sql.conditions.scope import Scope, conjuncts

_MAY_BE_DATES = (ColumnKind.DATE, ColumnKind.DATETIME, ColumnKind.TEXT, ColumnKind.OTHER)


@dataclass(frozen=True, slots=True)
class Conditions:
    """What narrows a query: its filters by their ids, and the conditions that are one period of one date."""

    filters: tuple[tuple[str, exp.Expr], ...] = ()
    period: tuple[exp.Column, Period] | None = None
    period_parts: tuple[exp.Expr, ...] = ()


def conditions_of(scope: Scope) -> Conditions:
    """Return the conditions of a query without those that only join its sources."""
    period: tuple[exp.Column, Period] | None = None
    parts: list[exp.Expr] = []
    filters: list[tuple[str, exp.Expr]] = []
    for place, part in enumerate(conjuncts(scope.select), 1):
        found = period_of(part)
        if found is not None and _may_be_date(scope, found[0]) and (period is None or period[0] == found[0]):
            period = (found[0], found[1] if period is None else period[1].cut(found[1]))
            parts.append(part)
        elif not is_join(scope, part):
            filters.append((f"f{place}", part))
    return Conditions(tuple(filters), period, tuple(parts))


def groups_of(select: exp.Select) -> tuple[tuple[str, exp.Expr], ...]:
    """Return what a query groups by, as GROUP BY writes it, by its ids."""
    group: exp.Expr | None = select.args.get("group")
    return tuple((f"g{place}", node) for place, node in enumerate(group.expressions if group else (), 1))


def is_hidden_key(scope: Scope, node: exp.Expr) -> bool:
    """Whether a group is the key of something that is shown by its name, and not shown itself."""
    if not isinstance(node, exp.Column) or any(item.unalias() == node for item in scope.select.expressions):
        return False
    found = scope.origin(node)
    if found is None:
        return False
    table = found[0]
    return node.name in (*table.primary_key, *(column for key in table.foreign_keys for column in key.columns))


def is_join(scope: Scope, part: exp.Expr) -> bool:
    """Whether a condition says how two sources belong together, which nobody asks about."""
    sides = (part.this, part.expression) if isinstance(part, exp.EQ) else ()
    return bool(sides) and all(isinstance(side, exp.Column) and not is_text(scope, side) for side in sides)


def is_text(scope: Scope, written: exp.Expr) -> bool:
    """Whether a name in quotation marks is a text, as SQLite and MySQL read one that names no column."""
    if not isinstance(written, exp.Column) or written.table or not isinstance(written.this, exp.Identifier):
        return False
    return bool(written.this.args.get("quoted")) and None not in scope.sources.values() and not scope.owners(written)


def aimed(node: exp.Expr, select: exp.Select) -> exp.Expr:
    """Return what a position or an alias of the select list stands for."""
    if isinstance(node, exp.Literal) and node.is_int and 1 <= int(node.name) <= len(select.expressions):
        return select.expressions[int(node.name) - 1].unalias()
    if isinstance(node, exp.Column) and not node.table:
        aliased = (item for item in select.expressions if isinstance(item, exp.Alias) and item.alias == node.name)
        found = next(aliased, None)
        return node if found is None else found.unalias()
    return node


def _may_be_date(scope: Scope, written: exp.Column) -> bool:
    known = scope.origin(written)
    return known is None or known[1].kind in _MAY_BE_DATES


def referred_tables(scope: Scope, tables: Sequence[Table]) -> set[str]:
    """Return the tables that another one refers to: by a foreign key, or by a join to their own primary key."""
    names = {
        key.referred_table.lower() for table in tables for key in table.foreign_keys if key.referred_table != table.name
    }
    for join in scope.select.args.get("joins") or ():
        for part in (join.args.get("on") or exp.true()).find_all(exp.EQ):
            ends = [scope.origin(side) for side in (part.this, part.expression) if isinstance(side, exp.Column)]
            keyed = [end[0].name.lower() for end in ends if end is not None and end[0].primary_key == (end[1].name,)]
            names.update(keyed if len(keyed) == 1 else ())
    return names
