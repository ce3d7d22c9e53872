"""Why a first draft is doubtful before it runs: by its names, its joins, its values, or the table that it leaves out.

Decided on the parsed statement and the catalog, so that it holds for any model. What is not complete is no evidence: a value
that stands in no kept list may still be there. Measured by `make bench-drafts`.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from querybus.core.catalog import Catalog, Column, Table
from querybus.sql.conditions.absent_value import names_absent_value
from querybus.sql.conditions.scope import outermost, scope_of
from querybus_generator.linking.index import LinkIndex


class DraftDoubt(StrEnum):
    """What a second draft is asked for."""

    ABSENT_VALUE = "absent_value"
    UNUSED_TABLE = "unused_table"
    """The table that the question's words lead to first is not read."""
    UNKNOWN_NAME = "unknown_name"
    """It names a table or a column that the catalog does not have where it looks for it: it will have to be repaired."""
    UNDECLARED_JOIN = "undeclared_join"
    """It joins two tables by columns that no declared key relates, though other keys of both are declared."""
    SECOND_DOUBTFUL = "second_doubtful"
    """The second draft has a doubt of its own: it may agree, but it replaces nothing."""


def doubts_of(sql: str, question: str, index: LinkIndex, *, asked: str | None = None) -> frozenset[DraftDoubt]:
    """Return what is doubtful about a draft; nothing where it cannot be read, which is the validator's matter.

    `asked` is what tables are linked by, where a question goes on from others.
    """
    catalog = index.catalog
    try:
        tree = sqlglot.parse_one(sql, dialect=catalog.dialect.value)
    except (SqlglotError, RecursionError):
        return frozenset()
    found: set[DraftDoubt] = set()
    if names_absent_value(tree, catalog):
        found.add(DraftDoubt.ABSENT_VALUE)
    if _names_unknown(tree, catalog):
        found.add(DraftDoubt.UNKNOWN_NAME)
    pairs = [(one, other) for one, other in _joined(tree, catalog) if one[0] is not other[0]]
    keyed = _keyed(catalog) if pairs else set[str]()
    if any(_is_undeclared(one, other, keyed) for one, other in pairs):
        found.add(DraftDoubt.UNDECLARED_JOIN)
    first = index.first_table(asked or question)
    read = {table.name.casefold() for table in tree.find_all(exp.Table)}
    # A name that is no table's is repaired by rule, which no second draft is needed for.
    knows_one = any(table.name.rpartition(".")[2].casefold() in read for table in catalog.tables)
    if first is not None and knows_one and first.casefold() not in read:
        found.add(DraftDoubt.UNUSED_TABLE)
    return frozenset(found)


def _names_unknown(tree: exp.Expr, catalog: Catalog) -> bool:
    """Return whether a table is none of the catalog's, or a column is in no table that is read under its qualifier, or in none at all.

    Whether names are ambiguous or seen from where they stand is the validator's matter.
    """
    made = {node.alias.casefold() for node in tree.find_all(exp.CTE, exp.Subquery, exp.Alias, exp.TableAlias)}
    known = {table.name.casefold(): table for table in catalog.tables}
    under: dict[str, set[str]] = {}
    for table in tree.find_all(exp.Table):
        name = table.name.casefold()
        if name not in known:
            if name not in made:
                return True
            continue
        columns = {column.name.casefold() for column in known[name].columns}
        for qualifier in {name, table.alias.casefold()} - {""}:
            under.setdefault(qualifier, set()).update(columns)
    everywhere = made.union(*under.values())
    return any(
        column.name.casefold() not in under.get(column.table.casefold(), everywhere)
        if column.table.casefold() in under or not column.table
        else column.table.casefold() not in made
        for column in tree.find_all(exp.Column)
        # A text in double quotes is read as a column where there is one.
        if not isinstance(column.this, exp.Star) and (column.table or not column.this.args.get("quoted"))
    )


_Origin = tuple[Table, Column]


def _joined(tree: exp.Expr, catalog: Catalog) -> Iterator[tuple[_Origin, _Origin]]:
    """Yield the pairs of columns that are to be equal, in a condition or as the one column of a sub-query."""
    for select in tree.find_all(exp.Select):
        scope = scope_of(select, catalog)
        for condition in select.find_all(exp.EQ, exp.In):
            if condition.find_ancestor(exp.Select) is not select or not isinstance(condition.this, exp.Column):
                continue
            other, its_scope = condition.args.get("expression"), scope
            if isinstance(condition, exp.In):
                inner = outermost(condition.args.get("query"))
                other = inner.expressions[0].unalias() if inner is not None and inner.expressions else None
                its_scope = scope_of(inner, catalog) if inner is not None else scope
            if isinstance(other, exp.Column):
                pair = scope.origin(condition.this), its_scope.origin(other)
                if pair[0] is not None and pair[1] is not None:
                    yield pair[0], pair[1]


def _keyed(catalog: Catalog) -> set[str]:
    """Return the tables that have a declared key or are referred to by one."""
    keys = {key.referred_table.casefold() for table in catalog.tables for key in table.foreign_keys}
    return keys.union(table.name.casefold() for table in catalog.tables if table.foreign_keys)


def _is_undeclared(one: _Origin, other: _Origin, keyed: set[str]) -> bool:
    """Return whether no declared key relates two columns of two tables, of which both have others."""
    names = [(table.name.casefold(), column.name.casefold()) for table, column in (one, other)]
    if not keyed.issuperset(table for table, _ in names):
        return False
    targets = [_referred(origin) for origin in (one, other)]
    return names[1] not in targets[0] and names[0] not in targets[1] and not targets[0] & targets[1]


def _referred(origin: _Origin) -> set[tuple[str, str]]:
    table, column = origin
    return {
        (key.referred_table.casefold(), referred.casefold())
        for key in table.foreign_keys
        for own, referred in zip(key.columns, key.referred_columns, strict=True)
        if own.casefold() == column.name.casefold()
    }
