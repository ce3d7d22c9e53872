"""Columns that are neither grouped nor aggregated, and aggregates where none may stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.engines import ENGINES
from querybus.engines.record import Grouping
from querybus.sql.facts import source_names, sources_of
from querybus.sql.guard.decide import Guarded
from querybus.sql.guard.rules import Rule, refuse

BARE_COLUMN_WARNING: Final = (
    "a column that is neither grouped nor aggregated: its value comes from any row of the group"
)


@dataclass(frozen=True, slots=True)
class Resolved:
    """What resolution found: a doubt that the engine may overrule, and warnings for analysts."""

    doubt: Failure | None = None
    warnings: tuple[str, ...] = ()


def judge_aggregates(selects: Sequence[exp.Select], guarded: Guarded, dialect: Dialect) -> Resolved | Failure:
    """Return the failure of an aggregate in WHERE, or what the engine makes of columns that are not grouped."""
    if not guarded.facts.has_any(exp.AggFunc, exp.Group):
        return Resolved()
    return _aggregate_in_where(selects) or _grouping(selects, guarded, dialect)


def _aggregate_in_where(selects: Sequence[exp.Select]) -> Failure | None:
    for select in selects:
        where: exp.Expr | None = select.args.get("where")
        for aggregate in () if where is None else where.find_all(exp.AggFunc):
            if aggregate.find_ancestor(exp.Select) is select and aggregate.find_ancestor(exp.Window) is None:
                return refuse(
                    FailureCode.AGGREGATE_MISUSE,
                    Rule.AGGREGATE,
                    "an aggregate in WHERE",
                    aggregate.sql_names()[0],
                )
    return None


def _grouping(selects: Sequence[exp.Select], guarded: Guarded, dialect: Dialect) -> Resolved:
    habit = ENGINES[dialect].grouping
    if habit is Grouping.NOT_JUDGED:
        return Resolved()
    for select in selects:
        bare = _ungrouped(select, guarded, dialect)
        if bare is None:
            continue
        if habit is Grouping.REFUSES:
            failure = refuse(
                FailureCode.GROUPING_ERROR,
                Rule.GROUPING,
                "a column that is neither grouped nor aggregated",
                bare.name,
                qualifier=bare.table or None,
            )
            return Resolved(doubt=failure)
        return Resolved(warnings=(BARE_COLUMN_WARNING,))
    return Resolved()


def _ungrouped(select: exp.Select, guarded: Guarded, dialect: Dialect) -> exp.Column | None:
    group = select.args.get("group")
    if isinstance(group, exp.Group) and (
        any(value for name, value in group.args.items() if name != "expressions")
        or group.find(exp.Rollup, exp.Cube, exp.GroupingSets) is not None
    ):
        return None
    grouped = list(group.expressions) if isinstance(group, exp.Group) else []
    projections = [expression.unalias() for expression in select.expressions]
    if not grouped and not any(_aggregates(projection) for projection in projections):
        return None
    aliases = source_names(select, dialect)
    free = {link.table for link in grouped if isinstance(link, exp.Column) and _is_key(link, grouped, select, guarded)}
    for projection in projections:
        for column in _outside_aggregates(projection, grouped):
            if column.table in aliases and column.table not in free:
                return column
    return None


def _aggregates(node: exp.Expr) -> bool:
    """Return whether an aggregate over the query's own groups occurs: none of a window, none of a query within."""
    return any(isinstance(part, exp.AggFunc) for part in node.dfs(prune=_is_window_or_query))


def _is_window_or_query(node: exp.Expr) -> bool:
    return isinstance(node, exp.Window | exp.Select)


def _outside_aggregates(node: exp.Expr, grouped: list[exp.Expr]) -> list[exp.Column]:
    columns: list[exp.Column] = []
    stack = [node]
    while stack:
        part = stack.pop()
        if part in grouped or isinstance(
            part, exp.AggFunc | exp.Filter | exp.WithinGroup | exp.Query | exp.Window | exp.Pseudocolumn
        ):
            continue
        if isinstance(part, exp.Anonymous | exp.AnonymousAggFunc) and part.expressions:
            continue  # may be an aggregate that the parser does not know
        if isinstance(part, exp.Column):
            columns.append(part)
            continue
        stack.extend(part.iter_expressions())
    return columns


def _is_key(column: exp.Column, grouped: list[exp.Expr], select: exp.Select, guarded: Guarded) -> bool:
    """Return whether the table's whole primary key is grouped: its other columns then have one value per group."""
    for source in sources_of(select):
        if source.alias_or_name == column.table:
            key = source.name
            for known in guarded.sources:
                if known.key == key and known.table.primary_key:
                    names = {
                        link.name.lower()
                        for link in grouped
                        if isinstance(link, exp.Column) and link.table == column.table
                    }
                    return {column.lower() for column in known.table.primary_key} <= names
    return False
