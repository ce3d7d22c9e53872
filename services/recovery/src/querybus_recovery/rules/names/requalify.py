"""A column behind the wrong alias goes to the one table in scope that owns it.

An assumption: the person's question may have meant another column of the table that was written.
"""

from __future__ import annotations

from sqlglot import exp

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import Site, Source, glance, identifier, read, sites, write
from querybus.text.similarity import words
from querybus_recovery.rules.candidate import Candidate

_CODES = (FailureCode.COLUMN_NOT_FOUND, FailureCode.MISSING_ALIAS, FailureCode.TABLE_NOT_FOUND)


def requalify(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with each such reference at its only owner."""
    if failure.code not in _CODES:
        return ()
    if not glance(draft.sql, draft.dialect, catalog, failure.facts.name).lacks_qualified:
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    changed: dict[str, str] = {}
    for site in list(sites(tree, catalog)):
        name = site.column.name
        if not site.qualifier or site.is_resolved:
            continue
        owners = [source for source in site.sources if source.owned(name)]
        owners = [owner for owner in owners if not _would_equal_itself(site.column, owner.alias, name)]
        if len(owners) != 1:
            continue
        if stands_twice(site, site.column.name, owners[0].alias):
            continue
        if isinstance(site.column.find_ancestor(exp.Join, exp.Select), exp.Join):
            continue  # what connects two tables is for the rule about keys
        if site.source(site.qualifier) is None and not _sounds_like(site.qualifier, owners[0]):
            continue  # an alias that was never declared rather means a join that was left out
        changed[f"{site.qualifier}.{name}"] = f"{owners[0].alias}.{name}"
        site.column.set("table", identifier(owners[0].alias))
    if not changed:
        return ()
    return (
        Candidate(
            RuleName.REQUALIFY,
            write(tree, draft.dialect),
            keeps_meaning=False,
            before=", ".join(changed),
            after=", ".join(changed.values()),
            doubt=0.4,
        ),
    )


def _sounds_like(alias: str, source: Source) -> bool:
    return bool(set(words(alias)) & set(words(source.table or source.alias)))


def stands_twice(site: Site, name: str, alias: str = "") -> bool:
    """Return whether the block would have one output twice if a reference among its outputs were that column."""
    return (
        site.select is not None
        and site.column.parent is site.select
        and any(
            isinstance(other, exp.Column)
            and other is not site.column
            and other.name.lower() == name.lower()
            and (not alias or other.table.lower() == alias.lower())
            for other in site.select.expressions
        )
    )


def _would_equal_itself(column: exp.Column, alias: str, name: str) -> bool:
    """Return whether a comparison would then have the same column on both sides."""
    parent = column.parent
    if not isinstance(parent, exp.Predicate | exp.Binary):
        return False
    return any(
        isinstance(iter_expression, exp.Column)
        and iter_expression is not column
        and iter_expression.table.lower() in (alias.lower(), "")
        and iter_expression.name.lower() == name.lower()
        for iter_expression in parent.iter_expressions()
    )
