"""An alias that the block uses but never declares becomes a join with the table that has all columns taken from it.

An assumption. The join was meant, so rows may meet several others; but one table must fit, over one
key, or the question name one of those that fit.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Table
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import (
    Source,
    add_join,
    equal,
    free_alias,
    glance,
    keep_owners,
    own_columns,
    own_sources,
    read,
    unresolved,
    write,
)
from querybus.text.similarity import words
from querybus_recovery.rules.candidate import Candidate
from querybus_recovery.rules.joins.links import Link, between, owners_of, paths, routes

RIVALS_MAX: Final = 6
_CODES = (FailureCode.COLUMN_NOT_FOUND, FailureCode.MISSING_ALIAS, FailureCode.TABLE_NOT_FOUND)


def join_alias(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with the missing table joined under the alias."""
    if failure.code not in _CODES:
        return ()
    if not glance(draft.sql, draft.dialect, catalog, failure.facts.name).lacks_alias:
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    lacking = [
        item
        for item in unresolved(tree, catalog)
        if item.qualifier and item.source(item.qualifier) is None and item.select is not None
    ]
    if not lacking:
        return ()
    site = lacking[0]
    select, alias = site.select, site.qualifier
    if select is None:
        return ()
    names = {column.name.lower() for column in own_columns(site.scope) if column.table.lower() == alias.lower()}
    sources = [source for source in own_sources(site.scope, catalog) if source.table and source.columns]
    present = {(source.table or "").lower() for source in sources}
    fitting = [
        table
        for table in owners_of(catalog, site.column.name)
        if all(table.column(name) is not None for name in names) and table.name.lower() not in present
    ]
    named = [table for table in fitting if table.name.lower() == alias.lower()]
    ways = _ways(sources, named or fitting, present, catalog)
    declared = [way for way in ways if all(link.is_declared for link in way[1])]
    ways = declared or ways
    hinted = [way for way in ways if set(words(alias)) & set(words(way[1][-1].other))]
    ways = hinted or ways
    if len(ways) > 1:
        # What is selected or compared with a value is hardly what the tables are joined on.
        ways = [way for way in ways if not names & {column.lower() for column in way[1][-1].other_columns}]
    if len(ways) > 1:
        # Aliases are numbered as their tables are joined: this one was joined to an earlier one.
        earlier = [way for way in ways if _comes_before(way[0].alias, alias)]
        ways = earlier or ways
    if not 0 < len(ways) <= RIVALS_MAX or _may_be_again(sources, names, catalog):
        return ()
    return tuple(
        candidate
        for place in range(len(ways))
        if (candidate := _joined(draft, catalog, alias, ways[place], is_rival=len(ways) > 1)) is not None
    )


def _ways(
    sources: list[Source], tables: list[Table], present: set[str], catalog: Catalog
) -> list[tuple[Source, tuple[Link, ...]]]:
    """Return the shortest joins from the tables that are there to one of those that may be meant."""
    ways = [
        (source, (link,))
        for table in tables
        for source in sources
        for link in between(catalog, source.table or "", table.name)
    ]
    if ways:
        return ways
    ways = [
        (source, path)
        for source in sources
        for path in paths(catalog, source.table or "", multiplying=True)
        if len(path) == 2
        and path[-1].other in {table.name for table in tables}
        and path[0].other.lower() not in present
    ]
    return ways or [
        (source, path)
        for table in tables[:RIVALS_MAX]
        for source in sources
        for path in routes(catalog, source.table or "", table.name)
        if not present & {link.other.lower() for link in path}
    ]


def _joined(
    draft: Draft,
    catalog: Catalog,
    alias: str,
    way: tuple[Source, tuple[Link, ...]],
    *,
    is_rival: bool,
) -> Candidate | None:
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return None
    site = next(
        item
        for item in unresolved(tree, catalog)
        if item.qualifier == alias and item.source(alias) is None and item.select is not None
    )
    select = site.select
    if select is None:
        return None
    source, path = way
    added = tuple(
        column.name.lower()
        for link in path
        if (table := catalog.table(link.other)) is not None
        for column in table.columns
    )
    keep_owners(select, site.scope, catalog, added)
    here = source.alias
    for link in path:
        is_last = link is path[-1]
        joined = alias if is_last else free_alias(tree, link.other)
        join = add_join(select, link.other, joined, equal(here, link.columns, joined, link.other_columns))
        _place_early(select, join)
        here = joined
    return Candidate(
        RuleName.JOIN_ALIAS,
        write(tree, draft.dialect),
        keeps_meaning=False,
        before=alias,
        after=path[-1].other,
        doubt=0.4 + 0.4 * (len(path) - 1) + sum(step.doubt for step in path),
        brings=tuple(step.other for step in path),
        is_rival=is_rival,
    )


def _comes_before(one: str, other: str) -> bool:
    """Return whether two aliases are of one series and the first is the earlier: T1 and T2."""
    name, number = one.rstrip("0123456789"), one[len(one.rstrip("0123456789")) :]
    name_2, number_2 = other.rstrip("0123456789"), other[len(other.rstrip("0123456789")) :]
    return name.lower() == name_2.lower() and bool(number) and bool(number_2) and int(number) < int(number_2)


def _may_be_again(sources: list[Source], names: set[str], catalog: Catalog) -> bool:
    """Return whether a table that is there already may have been meant once more, over another of its keys."""
    return any(
        all(source.owned(name) for name in names)
        and any(
            len(between(catalog, other.table or "", source.table or "")) > 1 for other in sources if other is not source
        )
        for source in sources
    )


def _place_early(select: exp.Select, join: exp.Join) -> None:
    """Move a join before the first one whose condition speaks of it, as engines read joins from the left."""
    alias = join.this.alias_or_name.lower()
    joins: list[exp.Join] = select.args["joins"]
    for place, node in enumerate(joins):
        condition = node.args.get("on")
        if (
            node is not join
            and condition is not None
            and any(column.table.lower() == alias for column in condition.find_all(exp.Column))
        ):
            joins.remove(join)
            joins.insert(place, join)
            return
