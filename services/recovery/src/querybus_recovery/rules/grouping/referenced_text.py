"""A text compared with a reference of numbers is compared with the text of the table that it refers to.

Only in a statement that failed for its names: `country = 'usa'` where `country` holds numbers of `countries`. An
assumption; the text column is the one that holds the value, else the one called name or as the table.
"""

from __future__ import annotations

from sqlglot import exp

from querybus.core.catalog import Catalog, Column, ColumnKind, ForeignKey, Table
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import bare, glance, identifier, read, sites, write
from querybus_recovery.rules.candidate import Candidate
from querybus_recovery.rules.names.label import holder_of, label_of

_CODES = (
    FailureCode.COLUMN_NOT_FOUND,
    FailureCode.AMBIGUOUS_COLUMN,
    FailureCode.MISSING_ALIAS,
    FailureCode.TYPE_MISMATCH,
)
_NUMBERS = (ColumnKind.INTEGER, ColumnKind.NUMBER)


def referenced_text(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with each such comparison made with the referenced table's text."""
    if failure.code not in _CODES:
        return ()
    if not glance(draft.sql, draft.dialect, catalog, failure.facts.name).has_text_comparison:
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    changed: list[tuple[str, str]] = []
    for site in list(sites(tree, catalog)):
        comparison = site.column.parent
        if not isinstance(comparison, exp.EQ | exp.NEQ | exp.Like):
            continue
        literal = comparison.right if comparison.left is site.column else comparison.left
        if not isinstance(literal, exp.Literal) or not literal.is_string or literal.name.replace(".", "").isdigit():
            continue
        source = (
            site.source(site.qualifier)
            if site.qualifier
            else next((e for e in site.sources if e.owned(site.column.name)), None)
        )
        table = source.known if source else None
        column = table.column(site.column.name) if table else None
        if table is None or column is None or column.kind not in _NUMBERS:
            continue
        key = _key_of(table, column)
        parent = catalog.referred(key, table) if key else None
        if key is None or parent is None:
            continue
        text = holder_of(parent, literal.name) or label_of(parent, site.column.name)
        if text is None:
            continue
        changed.append((comparison.sql(dialect=draft.dialect.value), f"{parent.name}.{text.name}"))
        inner = exp.Select(expressions=[bare(key.referred_columns[0])]).from_(exp.Table(this=identifier(parent.name)))
        positive = (
            exp.EQ(this=bare(text.name), expression=literal.copy())
            if not isinstance(comparison, exp.Like)
            else exp.Like(this=bare(text.name), expression=literal.copy())
        )
        inner.set("where", exp.Where(this=positive))
        holder: exp.Expr = exp.In(this=site.column.copy(), query=exp.Subquery(this=inner))
        comparison.replace(exp.Not(this=holder) if isinstance(comparison, exp.NEQ) else holder)
    if not changed:
        return ()
    return (
        Candidate(
            RuleName.REFERENCED_TEXT,
            write(tree, draft.dialect),
            keeps_meaning=False,
            before=", ".join(item[0] for item in changed),
            after=", ".join(item[1] for item in changed),
            doubt=0.05,
        ),
    )


def _key_of(table: Table, column: Column) -> ForeignKey | None:
    wanted = [column.name.lower()]
    return next((key for key in table.foreign_keys if [name.lower() for name in key.columns] == wanted), None)
