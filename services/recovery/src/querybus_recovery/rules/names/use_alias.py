"""A qualifier that nothing declares becomes the alias of the one table that it can mean.

A table's own name, used after the table was given an alias, could mean nothing else. Nor could an alias that is never
declared in a block over one table, which has all columns taken from it, unless another table is called so and has them too.
"""

from __future__ import annotations

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import Site, Source, glance, identifier, own_columns, own_sources, read, sites, write
from querybus.text.similarity import plain, words
from querybus_recovery.rules.candidate import Candidate
from querybus_recovery.rules.joins.links import owners_of

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
    meant: list[tuple[Site, Source]] = []
    for site in list(sites(tree, catalog)):
        written = site.qualifier
        if not written or site.is_resolved or site.source(written) is not None:
            continue
        named = [source for source in site.sources if (source.table or "").lower() == written.lower()]
        named = named or _alone(site, catalog)
        if len(named) == 1 and named[0].owned(site.column.name) is not None:
            meant.append((site, named[0]))
    changed = {site.qualifier: source.alias for site, source in meant}
    for site, source in meant:
        site.column.set("table", identifier(source.alias))
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


def _alone(site: Site, catalog: Catalog) -> list[Source]:
    """Return the one table of a block that has every column of an alias which is never declared; empty if it may be another."""
    sources = list(own_sources(site.scope, catalog))
    written = site.qualifier.lower()
    names = {column.name for column in own_columns(site.scope) if column.table.lower() == written}
    if len(sources) != 1 or not all(sources[0].owned(name) for name in names) or catalog.table(written) is not None:
        return []
    own = sources[0].table or ""
    qualifiers = {column.table.lower() for column in own_columns(site.scope) if column.table}
    # Beside an alias that is declared, the other one is of a table that is not joined.
    if sources[0].alias.lower() != own.lower() or qualifiers != {written}:
        return []
    if _stands_for(written, own):
        return sources
    others = [table for table in owners_of(catalog, site.column.name) if table.name.lower() != own.lower()]
    is_another = any(
        _stands_for(written, table.name) and all(table.column(name) is not None for name in names) for table in others
    )
    return [] if is_another else sources


def _stands_for(alias: str, table: str) -> bool:
    """Whether an alias is of a table's letters: its beginning, or the first letters of its words."""
    name, initials = plain(table), "".join(word[0] for word in words(table) if word)
    letters = alias.rstrip("0123456789")
    return bool(letters) and (name.startswith(letters) or initials == letters)
