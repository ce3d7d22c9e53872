"""A column compared with a sub-query's output, where one of the two does not exist: both become the foreign key's ends.

An assumption. Only where exactly one key connects the two tables.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import Site, glance, identifier, own_sources, read, sites, unresolved, write
from querybus_recovery.rules.candidate import Candidate
from querybus_recovery.rules.joins.links import between

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)


def compare_keys(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with the names of each such comparison replaced."""
    if failure.code is not FailureCode.COLUMN_NOT_FOUND:
        return ()
    if not (seen := glance(draft.sql, draft.dialect, catalog, failure.facts.name)).lacks or not seen.has_sub_query:
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    lacking = unresolved(tree, catalog, failure.facts.name)
    if not lacking:
        return ()
    every = {id(site.column): site for site in sites(tree, catalog)}
    unknown = {id(item.column) for item in lacking}
    changed: dict[str, str] = {}
    doubt = 0.0
    for outer, inner in list(_compared(tree)):
        one, two = every.get(id(outer)), every.get(id(inner))
        if one is None or two is None or not {id(outer), id(inner)} & unknown:
            continue
        result = _key(one, two, unknown, catalog)
        if result is None:
            continue
        left, right, further = result
        doubt = max(doubt, 0.4 + further)
        for site, name in ((one, left), (two, right)):
            if id(site.column) in unknown:
                changed[site.column.name] = name
                _rename(site, name, lacking)
    if not changed:
        return ()
    return (
        Candidate(
            RuleName.COMPARE_KEYS,
            write(tree, draft.dialect),
            keeps_meaning=False,
            before=", ".join(changed),
            after=", ".join(changed.values()),
            doubt=doubt,
        ),
    )


def _compared(tree: exp.Expr) -> Iterator[tuple[exp.Column, exp.Column]]:
    for node in tree.find_all(exp.In, *_COMPARISONS):
        outer = node.this
        query = node.args.get("query") if isinstance(node, exp.In) else node.expression
        query = query.unnest() if isinstance(query, exp.Expr) else query
        if isinstance(outer, exp.Column) and isinstance(query, exp.Select) and len(query.expressions) == 1:
            inner = query.expressions[0].unalias()
            if isinstance(inner, exp.Column):
                yield outer, inner


def _key(one: Site, two: Site, unknown: set[int], catalog: Catalog) -> tuple[str, str, float] | None:
    """Return the outer and the inner column of the one key between the tables that the two may belong to."""
    result: dict[tuple[str, str], float] = {}
    for left in own_sources(one.scope, catalog):
        if not left.table or (one.qualifier and one.qualifier.lower() != left.alias.lower()):
            continue
        for right in own_sources(two.scope, catalog):
            if not right.table or (two.qualifier and two.qualifier.lower() != right.alias.lower()):
                continue
            if left.table.lower() == right.table.lower():
                table = left.known
                if table is not None and len(table.primary_key) == 1:
                    result[table.primary_key[0], table.primary_key[0]] = 0.2
            for link in between(catalog, left.table, right.table):
                if len(link.columns) == 1:
                    result[link.columns[0], link.other_columns[0]] = link.doubt
    fits = {
        pair: doubt
        for pair, doubt in result.items()
        if (id(one.column) in unknown or pair[0].lower() == one.column.name.lower())
        and (id(two.column) in unknown or pair[1].lower() == two.column.name.lower())
    }
    if len(fits) != 1:
        return None
    ((left_name, right_name), doubt) = next(iter(fits.items()))
    return left_name, right_name, doubt


def _rename(site: Site, name: str, lacking: list[Site]) -> None:
    before = site.column.name.lower()
    for item in lacking:
        if (
            item.scope.expression is site.scope.expression
            and item.column.name.lower() == before
            and item.qualifier == site.qualifier
        ):
            item.column.set("this", identifier(name))
