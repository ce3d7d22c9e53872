"""A table's own name, used after the table was given an alias, becomes the alias: it could mean nothing else."""

from __future__ import annotations

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import glance, identifier, read, sites, write
from querybus_recovery.rules.candidate import Candidate

_CODES = (FailureCode.MISSING_ALIAS, FailureCode.COLUMN_NOT_FOUND, FailureCode.TABLE_NOT_FOUND)


def use_alias(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with the alias of the one visible occurrence of the table that owns the column."""
    if failure.code not in _CODES:
        return ()
    if not glance(draft.sql, draft.dialect, catalog, failure.facts.name).lacks_alias:
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    changed: dict[str, str] = {}
    for site in list(sites(tree, catalog)):
        written = site.qualifier
        if not written or site.is_resolved or site.source(written) is not None:
            continue
        named = [source for source in site.sources if (source.table or "").lower() == written.lower()]
        if len(named) != 1 or named[0].owned(site.column.name) is None:
            continue
        site.column.set("table", identifier(named[0].alias))
        changed[written] = named[0].alias
    if not changed:
        return ()
    return (
        Candidate(
            RuleName.USE_ALIAS,
            write(tree, draft.dialect),
            keeps_meaning=True,
            before=", ".join(changed),
            after=", ".join(changed.values()),
            doubt=0.05,
        ),
    )
