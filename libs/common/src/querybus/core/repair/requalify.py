"""A column behind the wrong alias goes to the one table in scope that owns it.

An assumption: the person's question may have meant another column of the table that was written.
"""

from __future__ import annotations

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft
from querybus.core.repair.candidate import Candidate, RuleName
from querybus.core.repair.tree import identifier, read, sites, write

_CODES = (FailureCode.COLUMN_NOT_FOUND, FailureCode.MISSING_ALIAS, FailureCode.TABLE_NOT_FOUND)


def requalify(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with each such reference at its only owner."""
    if failure.code not in _CODES:
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    changed: dict[str, str] = {}
    for site in list(sites(tree, catalog)):
        name = site.column.name
        if not site.qualifier or site.is_resolved:
            continue
        owners = [each for each in site.sources if each.owned(name)]
        if len(owners) != 1:
            continue
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
        ),
    )
