"""A condition on a column of a table that refers to this one becomes a condition on the referring rows.

`x = 1` on a child's column: `key IN (SELECT reference FROM child WHERE x = 1)`. No row is multiplied. An assumption.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Table
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Draft, RuleName
from querybus.sql.edit import (
    bare,
    equal,
    glance,
    identifier,
    own_sources,
    read,
    reference,
    unresolved,
    write,
)
from querybus.text.similarity import words
from querybus_recovery.rules.candidate import Candidate
from querybus_recovery.rules.joins.join_owner import asks_for_other_rows
from querybus_recovery.rules.joins.links import Link, paths

TRIED_MAX: Final = 2
_FLAGS: Final = (("is",), ("has",), ("was",), ("if",))


def rows_of_child(draft: Draft, failure: Failure, catalog: Catalog) -> tuple[Candidate, ...]:
    """Return the draft with the condition moved into a sub-query, over one key or two."""
    if failure.code is not FailureCode.COLUMN_NOT_FOUND:
        return ()
    if not glance(draft.sql, draft.dialect, catalog, failure.facts.name).lacks_in_where:
        return ()
    candidates: list[Candidate] = []
    for place in range(TRIED_MAX):
        tree = read(draft.sql, draft.dialect)
        if tree is None:
            return ()
        lacking = [item for item in unresolved(tree, catalog, failure.facts.name) if item.select is not None]
        if not lacking:
            return ()
        site = lacking[0]
        if asks_for_other_rows(site, {site.column.name.lower()}, catalog):
            return ()
        condition = _condition(site.column)
        if condition is None or len(_own_columns(condition, site.select)) != 1:
            return ()
        ways = [
            (source, path, name)
            for source in own_sources(site.scope, catalog)
            if source.table and (not site.qualifier or site.qualifier.lower() == source.alias.lower())
            for path in paths(catalog, source.table, multiplying=True)
            if any(step.multiplies for step in path) and len(path[0].columns) == 1
            and (table := catalog.table(path[-1].other)) is not None
            and (name := _of_table(site.column.name, table)) is not None
        ]  # fmt: skip
        ways.sort(key=lambda item: (len(item[1]), sum(link.doubt for link in item[1])))
        if place >= len(ways):
            break
        source, path, name = ways[place]
        before = condition.sql(dialect=draft.dialect.value)
        site.column.replace(bare(name) if len(path) == 1 else reference(path[-1].other, name))
        inner = _keys_over(path)
        holder = exp.In(this=reference(source.alias, path[0].columns[0]), query=exp.Subquery(this=inner))
        condition.replace(holder)
        negated = isinstance(condition, exp.NEQ)
        inner.set(
            "where", exp.Where(this=exp.EQ(this=condition.left, expression=condition.right) if negated else condition)
        )
        if negated:
            holder.replace(exp.Not(this=holder.copy()))
        candidates.append(
            Candidate(
                RuleName.ROWS_OF_CHILD,
                write(tree, draft.dialect),
                keeps_meaning=False,
                before=before,
                after=path[-1].other,
                brings=tuple(step.other for step in path),
                doubt=0.8 + 0.4 * (len(path) - 1) + 0.1 * place + sum(step.doubt for step in path),
            )
        )
    return tuple(candidates)


def _condition(column: exp.Column) -> exp.Expr | None:
    """Return the comparison of a WHERE's conjunction that the column stands in."""
    node: exp.Expr = column
    while node.parent is not None and not isinstance(node.parent, exp.And | exp.Or | exp.Not | exp.Where | exp.Paren):
        node = node.parent
        if isinstance(node, exp.Query | exp.Having):
            return None
    where = node.find_ancestor(exp.Where, exp.Select)
    return node if isinstance(where, exp.Where) and isinstance(node, exp.Predicate) else None


def _of_table(written: str, table: Table) -> str | None:
    """Return the column of that name, or of that name without the table's or with a flag's: `line_color` for the color of lines."""
    said = words(written)
    return next(
        (
            column.name
            for column in table.columns
            if column.name.lower() == written.lower()
            or said == (*words(table.name), *words(column.name))
            or (words(column.name)[:1] in _FLAGS and said == words(column.name)[1:])
        ),
        None,
    )


def _own_columns(condition: exp.Expr, select: exp.Select | None) -> list[exp.Column]:
    return [column for column in condition.find_all(exp.Column) if column.find_ancestor(exp.Select) is select]


def _keys_over(path: tuple[Link, ...]) -> exp.Select:
    """Return the query of the keys that the child's rows refer to, over one table or two."""
    first = path[0]
    key = first.other_columns[0]
    inner = exp.Select(expressions=[bare(key) if len(path) == 1 else reference(first.other, key)])
    inner = inner.from_(exp.Table(this=identifier(first.other)))
    for last in path[1:]:
        on = equal(last.table, last.columns, last.other, last.other_columns)
        inner.append("joins", exp.Join(this=exp.Table(this=identifier(last.other)), on=on))
    return inner
