"""A double-quoted word in a comparison that is no column anywhere is the text that it spells.

This is SQLite's own legacy reading, which other engines and the validator refuse, so it keeps the meaning.
"""

from __future__ import annotations

from sqlglot import exp

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import glance, read, sites, write
from querybus_recovery.rules.candidate import Candidate

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like, exp.ILike, exp.In, exp.Between)


def quoted_literal(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with every such word as a literal."""
    if failure.code is not FailureCode.COLUMN_NOT_FOUND:
        return ()
    if not glance(draft.sql, draft.dialect, catalog, failure.facts.name).has_quoted:
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    known = {column.name.lower() for table in catalog.tables for column in table.columns}
    changed: list[str] = []
    for site in list(sites(tree, catalog)):
        column = site.column
        is_quoted = isinstance(column.this, exp.Identifier) and bool(column.this.args.get("quoted"))
        if not is_quoted or site.qualifier or site.is_resolved or column.name.lower() in known:
            continue
        if isinstance(column.parent, _COMPARISONS):
            changed.append(column.name)
            column.replace(exp.Literal.string(column.name))
    if not changed:
        return ()
    before = ", ".join(f'"{item}"' for item in changed)
    after = ", ".join(f"'{item}'" for item in changed)
    return (
        Candidate(
            RuleName.QUOTED_LITERAL,
            write(tree, draft.dialect),
            keeps_meaning=True,
            before=before,
            after=after,
            doubt=0.05,
        ),
    )
