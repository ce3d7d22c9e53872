"""A column that nobody owns takes the name of the one column in scope that is nearly spelt so.

An assumption, and the weakest of the rules: on unseen answers such a rename ran in 7 cases and was right in 1.
"""

from __future__ import annotations

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft
from querybus.core.repair.candidate import Candidate, RuleName
from querybus.core.repair.closeness import closest
from querybus.core.repair.tree import identifier, read, sites, write


def rename_column(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with the unknown column renamed wherever it is unknown."""
    name = failure.facts.name
    if failure.code is not FailureCode.COLUMN_NOT_FOUND or not name:
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    changed: set[str] = set()
    for site in list(sites(tree, catalog, name)):
        if site.is_resolved:
            continue
        source = site.source(site.qualifier) if site.qualifier else None
        if site.qualifier and source is None:
            continue
        pool = source.columns if source else [column for each in site.sources for column in each.columns]
        known = closest(name, pool)
        if known is None:
            return ()
        site.column.set("this", identifier(known, site.column.this))
        changed.add(known)
    if not changed:
        return ()
    return (
        Candidate(
            RuleName.RENAME_COLUMN,
            write(tree, draft.dialect),
            keeps_meaning=False,
            before=name,
            after=", ".join(sorted(changed)),
        ),
    )
