"""A block over one table that lacks a column reads the one other table that has every column the block names.

An assumption: the wrong table was written.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Table
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import glance, identifier, own_columns, own_sources, read, unresolved, write
from querybus.text.similarity import words
from querybus_recovery.rules.candidate import Candidate
from querybus_recovery.rules.joins.links import between, owners_of

TRIED_MAX: Final = 2


def swap_table(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with the table replaced."""
    if failure.code is not FailureCode.COLUMN_NOT_FOUND:
        return ()
    lacking_names = glance(draft.sql, draft.dialect, catalog, failure.facts.name).lacking
    if not any(owners_of(catalog, name) for name in lacking_names):
        return ()
    tree = read(draft.sql, draft.dialect)
    if tree is None:
        return ()
    lacking = [item for item in unresolved(tree, catalog, failure.facts.name) if item.select is not None]
    if not lacking:
        return ()
    site = lacking[0]
    select = site.select
    sources = list(own_sources(site.scope, catalog))
    if (
        select is None
        or len(sources) != 1
        or not sources[0].table
        or any(isinstance(e, exp.Star) for e in select.expressions)
    ):
        return ()
    source = sources[0]
    written = [column for column in own_columns(site.scope) if column.table.lower() in ("", source.alias.lower())]
    aliases = {expression.alias.lower() for expression in select.expressions if isinstance(expression, exp.Alias)}
    names = {node.name.lower() for node in written if not isinstance(node.this, exp.Star)} - aliases
    fitting = _fitting(catalog, source.table or "", site.column.name, names)
    node = _table_of(select, source.table or "")
    if node is None:
        return ()
    known = {column.lower() for column in source.columns}
    by_name = [link for link in written if link.table.lower() == (source.table or "").lower() and not node.alias]
    candidates: list[Candidate] = []
    for number, table in enumerate(fitting[:TRIED_MAX]):
        node.set("this", identifier(table.name))
        for column in by_name:
            column.set("table", identifier(table.name))
        doubt = (0.5 if len(names) > 1 else 0.75) + (0.15 * number) + (0.2 if len(fitting) > 1 else 0.0)
        # Aggregates count the rows of the table that was written: then a join keeps more of what was said. The same
        # where it has another of the columns and a key to the table that has them all.
        doubt += 0.35 if select.find(exp.AggFunc) is not None else 0.0
        keys = {column.lower() for link in between(catalog, source.table or "", table.name) for column in link.columns}
        doubt += 0.35 if keys and (names & known) - keys else 0.0
        if _combines_with_itself(select):
            continue
        candidates.append(
            Candidate(
                RuleName.SWAP_TABLE,
                write(tree, draft.dialect),
                keeps_meaning=False,
                before=source.table or "",
                after=table.name,
                doubt=doubt,
                brings=(table.name,),
                drops=(source.table or "",),
            )
        )
    return tuple(candidates)


def _combines_with_itself(select: exp.Select) -> bool:
    operation = select.parent
    return isinstance(operation, exp.SetOperation) and operation.this == operation.expression


def _fitting(catalog: Catalog, written: str, column: str, names: set[str]) -> list[Table]:
    """Return the other tables that have the column and all the names: first those with a key to the written one."""
    fitting = [
        table
        for table in owners_of(catalog, column)
        if all(table.column(name) is not None for name in names) and table.name.lower() != written.lower()
    ]
    return sorted(
        fitting,
        key=lambda table: (
            not between(catalog, written, table.name),
            -len(set(words(table.name)) & set(words(written))),
        ),
    )


def _table_of(select: exp.Select, written: str) -> exp.Table | None:
    tables = (table for table in select.find_all(exp.Table) if table.find_ancestor(exp.Select) is select)
    return next((table for table in tables if table.name.lower() == written.lower()), None)
