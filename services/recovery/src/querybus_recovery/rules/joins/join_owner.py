"""A column that no table in scope has is taken from the table one or two keys away that has it, which is joined; from
one farther away where the column has its very name and the keys are declared.

An assumption. Only joins that cannot multiply rows: towards what a key refers to, or to a table whose own key it is.
Rows may multiply where nothing counts them: under MIN, MAX or distinct values, and where the block asks for the rows of
the joined table themselves, as their columns in its outputs and aggregates show. Of several owners the one whose values
fit what the column is compared with comes first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Column, ColumnKind, Table
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import (
    Site,
    Source,
    glance,
    own_sources,
    read,
    unresolved,
    write,
)
from querybus.text.similarity import words
from querybus_recovery.rules.candidate import Candidate
from querybus_recovery.rules.joins.along_keys import take_along
from querybus_recovery.rules.joins.links import Link, owners_of, paths, reporting, routes
from querybus_recovery.rules.names.rename_column import key_for_name, near

_CODES: Final = (FailureCode.COLUMN_NOT_FOUND, FailureCode.MISSING_ALIAS, FailureCode.TABLE_NOT_FOUND)
TRIED_MAX: Final = 2
OWNERS_MAX: Final = 4
NEAR_MAX: Final = 2
FAR_DOUBT: Final = 0.6
FAR_STEP_DOUBT: Final = 0.2
KEYS_TRIED_MAX: Final = 8
FARTHER_MAX: Final = 0.4
SAME_MAX: Final = 0.02
VARIANT_MIN: Final = 0.8
_PERIODS: Final = frozenset({"year", "month", "day", "date", "quarter"})
NO_TEXT_DOUBT: Final = 1.0
LACKS_VALUE_DOUBT: Final = 0.15
HOLDS_VALUE_BONUS: Final = 0.35
HELD_ELSEWHERE_DOUBT: Final = 0.1
PERHAPS_ELSEWHERE_DOUBT: Final = 0.2
"""For a column beside the one that is named, which holds the compared value, or alone could."""


def join_owner(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with each table joined that could be meant, the nearest first."""
    if failure.code not in _CODES:
        return ()
    if not glance(draft.sql, draft.dialect, catalog, failure.facts.name).lacks:
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    every = unresolved(tree, catalog, failure.facts.name)
    lacking = [item for item in every if item.select is not None]
    lacking = [item for item in lacking if item.column.find_ancestor(exp.Join, exp.Select) is item.select]
    if not lacking:
        return ()
    first = lacking[0]
    same = [item for item in lacking if item.select is first.select]
    every_way = sorted(_ways(first, same, catalog), key=lambda item: item[0])
    ways = [item for item in every_way[:TRIED_MAX] if item[0] <= every_way[0][0] + FARTHER_MAX]
    # Several keys may lead to the same table: the question may say which.
    ways += [
        item
        for item in every_way[TRIED_MAX:KEYS_TRIED_MAX]
        if item[0] <= ways[0][0] + SAME_MAX and item[2][-1].other == ways[0][2][-1].other
    ]
    place = next(number for number, item in enumerate(every) if item.column is first.column)
    candidates: list[Candidate] = []
    for doubt, alias, path, column in ways:
        own = read(draft.sql, draft.dialect)
        if own is None:
            return ()
        site = unresolved(own, catalog, failure.facts.name)[place]
        before = site.column.sql(dialect=draft.dialect.value)
        take_along(own, site, alias, path, column, catalog)
        candidates.append(
            Candidate(
                RuleName.JOIN_OWNER,
                write(own, draft.dialect),
                keeps_meaning=False,
                before=before,
                after=f"{path[-1].other}.{column}",
                doubt=doubt,
                brings=(*(step.other for step in path), *(name for step in path for name in reporting(catalog, step))),
            )
        )
    return tuple(candidates)


def _ways(site: Site, same: list[Site], catalog: Catalog) -> list[tuple[float, str, tuple[Link, ...], str]]:
    select = site.select
    if select is None:
        return []
    name, qualifier = site.column.name, site.qualifier
    sources = [source for source in own_sources(site.scope, catalog) if source.table and source.columns]
    present = {(source.table or "").lower() for source in sources}
    qualified = [source for source in sources if source.alias.lower() == qualifier.lower()]
    hinted = set(words(qualifier)) if qualifier and not qualified else set[str]()
    others = {item.column.name.lower() for item in same}
    may_multiply = _does_not_count(select) or asks_for_other_rows(site, others, catalog)
    literals = _literals(site.column)
    pairs: list[tuple[float, str, tuple[Link, ...], str]] = []
    for number, source in enumerate(sources):
        for path in _reached(catalog, source.table or "", name, multiplying=may_multiply):
            last = path[-1].other
            table = catalog.table(last)
            if table is None or last.lower() in present or any(step.other.lower() in present for step in path):
                continue
            given = _given(name, table, sources)
            if given is None:
                continue
            column, further = _holding(table, given[0], literals) or given
            if path[-1].multiplies and column in path[-1].other_columns:
                continue
            if qualifier and not qualified and not hinted & set(words(last)):
                continue  # an alias that was never declared is for the rule about such aliases
            doubt = 0.6 + further + sum(step.doubt for step in path) + 0.02 * number
            if len(path) > NEAR_MAX:
                # The only declared ways to those that have a column of the very name.
                doubt += FAR_DOUBT + FAR_STEP_DOUBT * (len(path) - NEAR_MAX)
            else:
                doubt += 0.5 * (len(path) - 1) + 0.4 * sum(step.multiplies for step in path)
            doubt += misfit(table, column, literals) + key_for_name(site, name, column)
            doubt -= 0.1 if {column.lower() for column in path[0].columns} & _grouped(select) else 0.0
            doubt += 0.25 if qualified and source not in qualified else 0.0
            doubt -= 0.3 if hinted & set(words(last)) else 0.0
            doubt -= 0.05 * (sum(table.column(item) is not None for item in others) - 1)
            pairs.append((max(doubt, 0.1), source.alias, path, column))
    return pairs


def _reached(catalog: Catalog, start: str, column: str, *, multiplying: bool) -> Iterator[tuple[Link, ...]]:
    """Give the joins of one and two steps that lead from a table, and the longer ones to those that have the column."""
    yield from paths(catalog, start, multiplying=multiplying)
    for owner in owners_of(catalog, column)[:OWNERS_MAX]:
        for path in routes(catalog, start, owner.name)[:TRIED_MAX]:
            if len(path) > NEAR_MAX and (multiplying or not any(step.multiplies for step in path)):
                yield path


def _given(name: str, table: Table, sources: list[Source]) -> tuple[str, float] | None:
    exact = table.column(name)
    if exact is not None:
        return exact.name, 0.0
    ranked = sorted(((near(name, column.name, table), column.name) for column in table.columns), reverse=True)
    if not ranked or ranked[0][0] < VARIANT_MIN or (len(ranked) > 1 and ranked[0][0] - ranked[1][0] < 0.01):
        return None
    if any(near(name, column, source.known) >= VARIANT_MIN for source in sources for column in source.columns):
        return None  # what stands as near in the block itself is rather meant
    if set(words(name)) <= _PERIODS and len(words(ranked[0][1])) > 2:
        return None  # the profits of a year are no year
    return ranked[0][1], 0.4 + (1 - ranked[0][0])


def asks_for_other_rows(site: Site, lacking: set[str], catalog: Catalog) -> bool:
    """Return whether the block is about the rows of the table that owns the lacking column, not of those it names.

    So it is if the column stands in an output, an order or an aggregate while nothing is aggregated of the named
    tables; or if rows are counted within groups of a named table's own key, each of which it has just once.
    """
    select = site.select
    if select is None:
        return False
    for aggregate in select.find_all(exp.AggFunc):
        if aggregate.find_ancestor(exp.Select) is not select or isinstance(aggregate, exp.Min | exp.Max):
            continue
        inner = {column.name.lower() for column in aggregate.find_all(exp.Column)}
        if (
            not lacking & inner
            and not isinstance(aggregate.this, exp.Distinct)
            and not _is_count_in_own_groups(aggregate, select, site, catalog)
        ):
            return False
    around = site.column.find_ancestor(exp.Where, exp.Select)
    if not isinstance(around, exp.Where):
        return True
    return any(
        _is_count_in_own_groups(node, select, site, catalog)
        for node in select.find_all(exp.Count)
        if node.find_ancestor(exp.Select) is select
    )


def _is_count_in_own_groups(aggregate: exp.AggFunc, select: exp.Select, site: Site, catalog: Catalog) -> bool:
    group = select.args.get("group")
    if not isinstance(aggregate, exp.Count) or group is None:
        return False
    grouped = {expression.name.lower() for expression in group.expressions if isinstance(expression, exp.Column)}
    for source in own_sources(site.scope, catalog):
        table = source.known
        if table is None:
            continue
        own = [{column.lower() for column in key} for key in (table.primary_key, *table.unique_keys) if key]
        own += [{column.name.lower()} for column in table.columns if _is_unique(column, table)]
        if any(key <= grouped for key in own):
            return True
    return False


def _is_unique(column: Column, table: Table) -> bool:
    return bool(table.row_estimate) and column.distinct_count == table.row_estimate and (table.row_estimate or 0) > 1


def _grouped(select: exp.Select) -> set[str]:
    group = select.args.get("group")
    return (
        {expression.name.lower() for expression in group.expressions if isinstance(expression, exp.Column)}
        if group
        else set()
    )


def _holding(table: Table, name: str, literals: tuple[exp.Literal, ...]) -> tuple[str, float] | None:
    """Return the one other column that holds what is compared, or alone could, where this one is known not to."""
    if misfit(table, name, literals) <= 0:
        return None
    fits = {column.name: misfit(table, column.name, literals) for column in table.columns}
    holding = [other for other, misfits in fits.items() if misfits < 0]
    unknown = [other for other, misfits in fits.items() if misfits == 0]
    if len(holding) == 1:
        return holding[0], HELD_ELSEWHERE_DOUBT
    return (unknown[0], PERHAPS_ELSEWHERE_DOUBT) if not holding and len(unknown) == 1 else None


def _literals(column: exp.Column) -> tuple[exp.Literal, ...]:
    """Return what a column is compared with for equality."""
    parent = column.parent
    if isinstance(parent, exp.EQ | exp.NEQ):
        given = [parent.expression if parent.this is column else parent.this]
    elif isinstance(parent, exp.In) and parent.this is column:
        given = parent.expressions
    else:
        given = []
    return tuple(item for item in given if isinstance(item, exp.Literal))


def misfit(table: Table, name: str, literals: tuple[exp.Literal, ...]) -> float:
    """Return how ill a column fits what it is compared with: less than 0 where it holds the very value."""
    column = table.column(name)
    texts = [
        literal.name for literal in literals if literal.is_string and not literal.name.replace(".", "", 1).isdigit()
    ]
    if column is None or not texts:
        return 0.0
    if column.kind in (ColumnKind.INTEGER, ColumnKind.NUMBER):
        return NO_TEXT_DOUBT
    known = {value.casefold() for value in column.values}
    if any(text.casefold() in known for text in texts):
        return -HOLDS_VALUE_BONUS
    return LACKS_VALUE_DOUBT if column.values and column.values_complete else 0.0


def _does_not_count(select: exp.Select) -> bool:
    """Return whether more equal rows change nothing: DISTINCT, an IN or EXISTS around it, or MIN and MAX only."""
    if select.args.get("limit") is not None:
        return False
    aggregates = [
        aggregate for aggregate in select.find_all(exp.AggFunc) if aggregate.find_ancestor(exp.Select) is select
    ]
    cares = any(
        not isinstance(aggregate, exp.Min | exp.Max) and not isinstance(aggregate.this, exp.Distinct)
        for aggregate in aggregates
    )
    if cares:
        return False
    around = select.parent
    while isinstance(around, exp.Subquery):
        around = around.parent
    if select.args.get("distinct") is not None or isinstance(around, exp.In | exp.Exists):
        return True
    return bool(aggregates) and all(expression.find(exp.AggFunc) for expression in select.expressions)
