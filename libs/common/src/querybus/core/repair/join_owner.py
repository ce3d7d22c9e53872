"""A column that no table in scope has is taken from the table one or two keys away that has it, which is joined.

An assumption. Only joins that cannot multiply rows: towards what a key refers to, or to a table whose own key it is.
Where the block only takes MIN, MAX or distinct values, rows may multiply.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Table
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft
from querybus.core.repair.candidate import Candidate, RuleName
from querybus.core.repair.closeness import words
from querybus.core.repair.links import Link, paths
from querybus.core.repair.rename_column import near
from querybus.core.repair.tree import (
    Site,
    add_join,
    equal,
    free_alias,
    glance,
    identifier,
    keep_owners,
    own_columns,
    own_sources,
    read,
    unresolved,
    write,
)

_CODES: Final = (FailureCode.COLUMN_NOT_FOUND, FailureCode.MISSING_ALIAS, FailureCode.TABLE_NOT_FOUND)
TRIED_MAX: Final = 2
FARTHER_MAX: Final = 0.4
VARIANT_MIN: Final = 0.8


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
    lacking = [each for each in every if each.select is not None]
    lacking = [each for each in lacking if each.column.find_ancestor(exp.Join, exp.Select) is each.select]
    if not lacking:
        return ()
    first = lacking[0]
    same = [each for each in lacking if each.select is first.select]
    ways = sorted(_ways(first, same, catalog), key=lambda each: each[0])[:TRIED_MAX]
    ways = [each for each in ways if each[0] <= ways[0][0] + FARTHER_MAX]
    place = next(number for number, each in enumerate(every) if each.column is first.column)
    found: list[Candidate] = []
    for doubt, alias, path, column in ways:
        own = read(draft.sql, draft.dialect)
        if own is None:
            return ()
        site = unresolved(own, catalog, failure.facts.name)[place]
        found.append(_joined(own, site, alias, path, column, doubt, draft, catalog))
    return tuple(found)


def _ways(site: Site, same: list[Site], catalog: Catalog) -> list[tuple[float, str, tuple[Link, ...], str]]:
    select = site.select
    if select is None:
        return []
    name, qualifier = site.column.name, site.qualifier
    sources = [each for each in own_sources(site.scope, catalog) if each.table and each.columns]
    present = {(each.table or "").lower() for each in sources}
    qualified = [each for each in sources if each.alias.lower() == qualifier.lower()]
    hinted = set(words(qualifier)) if qualifier and not qualified else set[str]()
    may_multiply = _does_not_count(select)
    others = {each.column.name.lower() for each in same}
    found: list[tuple[float, str, tuple[Link, ...], str]] = []
    for number, source in enumerate(sources):
        for path in paths(catalog, source.table or "", multiplying=may_multiply):
            last = path[-1].other
            table = catalog.table(last)
            if table is None or last.lower() in present or any(each.other.lower() in present for each in path):
                continue
            given = _given(name, table)
            if given is None:
                continue
            column, further = given
            if path[-1].multiplies and column in path[-1].other_columns:
                continue
            if qualifier and not qualified and not hinted & set(words(last)):
                continue  # an alias that was never declared is for the rule about such aliases
            doubt = 0.6 + 0.5 * (len(path) - 1) + further + sum(each.doubt for each in path) + 0.02 * number
            doubt += 0.7 * sum(each.multiplies for each in path)
            doubt += 0.25 if qualified and source not in qualified else 0.0
            doubt -= 0.3 if hinted & set(words(last)) else 0.0
            doubt -= 0.05 * (sum(table.column(each) is not None for each in others) - 1)
            found.append((max(doubt, 0.1), source.alias, path, column))
    return found


def _given(name: str, table: Table) -> tuple[str, float] | None:
    exact = table.column(name)
    if exact is not None:
        return exact.name, 0.0
    ranked = sorted(((near(name, each.name, table), each.name) for each in table.columns), reverse=True)
    if not ranked or ranked[0][0] < VARIANT_MIN or (len(ranked) > 1 and ranked[0][0] - ranked[1][0] < 0.01):
        return None
    return ranked[0][1], 0.4 + (1 - ranked[0][0])


def _does_not_count(select: exp.Select) -> bool:
    """Return whether more equal rows change nothing: DISTINCT, an IN or EXISTS around it, or MIN and MAX only."""
    if select.args.get("limit") is not None:
        return False
    aggregates = [each for each in select.find_all(exp.AggFunc) if each.find_ancestor(exp.Select) is select]
    cares = any(
        not isinstance(each, exp.Min | exp.Max) and not isinstance(each.this, exp.Distinct) for each in aggregates
    )
    if cares:
        return False
    around = select.parent
    while isinstance(around, exp.Subquery):
        around = around.parent
    if select.args.get("distinct") is not None or isinstance(around, exp.In | exp.Exists):
        return True
    return bool(aggregates) and all(each.find(exp.AggFunc) for each in select.expressions)


def _joined(
    tree: exp.Expr,
    site: Site,
    alias: str,
    path: tuple[Link, ...],
    column: str,
    doubt: float,
    draft: Draft,
    catalog: Catalog,
) -> Candidate:
    select = site.select
    assert select is not None  # noqa: S101 - `_ways` found none otherwise
    before = site.column.sql(dialect=draft.dialect.value)
    name, qualifier = site.column.name.lower(), site.qualifier.lower()
    same = [each for each in own_columns(site.scope) if each.name.lower() == name and each.table.lower() == qualifier]
    added = tuple(
        each.name.lower() for link in path if (table := catalog.table(link.other)) is not None for each in table.columns
    )
    keep_owners(select, site.scope, catalog, added)
    for link in path:
        joined = free_alias(tree, link.other)
        add_join(select, link.other, joined, equal(alias, link.columns, joined, link.other_columns))
        alias = joined
    for each in same:
        each.set("this", identifier(column, each.this))
        each.set("table", identifier(alias))
        each.set("db", None)
    return Candidate(
        RuleName.JOIN_OWNER,
        write(tree, draft.dialect),
        keeps_meaning=False,
        before=before,
        after=f"{path[-1].other}.{column}",
        doubt=doubt,
    )
