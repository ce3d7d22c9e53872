"""What makes an answer doubtful by rule, whoever wrote its statement: from the tree, the keys and the cells alone.

A doubt is said, never acted on. Limits: a tie behind a cut is seen only among the rows that came; values are known only
where the catalog holds all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Column, ColumnKind, Table
from querybus.core.messages import Result
from querybus.engines import ENGINES
from querybus.engines.record import Grouping
from querybus.sql.conditions.scope import Scope, conjuncts, projection, scope_of
from querybus.sql.names.meaning import table_meant
from querybus_presenter.summaries.values import number

_YEAR: Final = re.compile(r"[12]\d{3}")
_NUMBER: Final = re.compile(r"-?\d+(?:[.,]\d+)?")
_SHARE: Final = re.compile(r"share|percent|proportion|pct|fraction|占比|百分比|比例|份额", re.IGNORECASE)
_COMPARED: Final = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_ORDERED: Final = (exp.GT, exp.GTE, exp.LT, exp.LTE)
_DATES: Final = (ColumnKind.DATE, ColumnKind.DATETIME)
VALUES_MIN: Final = 3


class Doubt(StrEnum):
    """What may be wrong with an answer; each has its sentence for people."""

    WHOLE_DIVISION = "whole_division"
    MULTIPLIED = "multiplied"
    BARE_YEAR = "bare_year"
    UNGROUPED = "ungrouped"
    OTHER_THING = "other_thing"
    NO_VALUES = "no_values"
    SHARE_ABOVE_ONE = "share_above_one"
    OTHER_COLUMN = "other_column"
    TIE = "tie"
    NUMBERS_AS_TEXT = "numbers_as_text"


def doubts(
    tree: exp.Expr | None, catalog: Catalog | None, result: Result | None, *, question: str = ""
) -> tuple[Doubt, ...]:
    """Return the doubts of a statement and its result, each once, in the order of Doubt."""
    found: set[Doubt] = set()
    if tree is not None and catalog is not None:
        for select in tree.find_all(exp.Select):
            found.update(_of_query(scope_of(select, catalog), catalog))
        if _counts_another_thing(tree, catalog, question):
            found.add(Doubt.OTHER_THING)
    if result is not None:
        found.update(_of_result(tree, result))
    return tuple(doubt for doubt in Doubt if doubt in found)


def _of_query(scope: Scope, catalog: Catalog) -> Iterator[Doubt]:
    select = scope.select
    engine = ENGINES[catalog.dialect]
    if engine.divides_whole and any(_is_whole_division(node, scope) for node in _own(select, exp.Div)):
        yield Doubt.WHOLE_DIVISION
    if _is_multiplied(scope):
        yield Doubt.MULTIPLIED
    if engine.grouping is Grouping.TAKES_ANY_ROW and _is_ungrouped(scope):
        yield Doubt.UNGROUPED
    for part in (item for whole in conjuncts(select) for item in whole.find_all(*_COMPARED)):
        column = _column(part.this, scope)
        value = part.expression
        if column is None or not isinstance(value, exp.Literal):
            continue
        if column.kind in _DATES and _YEAR.fullmatch(value.name):
            yield Doubt.BARE_YEAR
        if isinstance(part, _ORDERED) and _holds_numbers_as_text(column) and value.is_string:
            yield Doubt.NUMBERS_AS_TEXT
        if isinstance(part, exp.EQ) and value.is_string and _stands_elsewhere(value.name, column, scope):
            yield Doubt.OTHER_COLUMN
    for node in [*_own(select, exp.Max, exp.Min), *_ordered_by(select)]:
        column = _column(node.this, scope)
        if column is not None and _holds_numbers_as_text(column):
            yield Doubt.NUMBERS_AS_TEXT


def _own(select: exp.Select, *kinds: type[exp.Expr]) -> Iterator[exp.Expr]:
    """Yield nodes of a query that belong to no query inside of it."""
    for node in select.find_all(*kinds):
        if node.parent_select is select:
            yield node


def _ordered_by(select: exp.Select) -> list[exp.Expr]:
    order: exp.Expr | None = select.args.get("order")
    return [] if order is None else list(order.expressions)


def _found(node: object, scope: Scope) -> tuple[Table, Column] | None:
    """Return the catalog's table and column of a reference to a table that the query reads directly."""
    if not isinstance(node, exp.Column):
        return None
    return scope.origin(node)


def _column(node: object, scope: Scope) -> Column | None:
    found = _found(node, scope)
    return None if found is None else found[1]


def _is_whole_division(node: exp.Expr, scope: Scope) -> bool:
    """Whether both sides are whole numbers that are not known beforehand: a division by 10 makes groups of ten."""
    return _is_whole(node.this, scope) and _is_whole(node.expression, scope) and not _is_known(node.expression)


def _is_known(node: exp.Expr) -> bool:
    return not any(node.find_all(exp.Column, exp.AggFunc))


def _is_whole(node: exp.Expr, scope: Scope, depth: int = 0) -> bool:
    node = node.unnest().unalias()
    if isinstance(node, exp.Literal):
        return not node.is_string and node.is_int
    if isinstance(node, exp.Count):
        return True
    if isinstance(node, exp.Sum | exp.Max | exp.Min | exp.Nullif | exp.Abs | exp.Neg | exp.Coalesce):
        return _is_whole(node.this, scope, depth)
    if isinstance(node, exp.Cast):
        return node.to.is_type(*exp.DataType.INTEGER_TYPES)
    if isinstance(node, exp.Add | exp.Sub | exp.Mul):
        return _is_whole(node.this, scope, depth) and _is_whole(node.expression, scope, depth)
    if isinstance(node, exp.Case):
        values = [branch.args["true"] for branch in node.args.get("ifs") or ()]
        default = node.args.get("default")
        values += [] if default is None or isinstance(default, exp.Null) else [default]
        return bool(values) and all(_is_whole(value, scope, depth) for value in values)
    if isinstance(node, exp.Select):
        return _is_whole(node.expressions[0], scope_of(node, scope.catalog), depth)
    if isinstance(node, exp.Column):
        column = _column(node, scope)
        if column is not None:
            return column.kind is ColumnKind.INTEGER
        return depth < 3 and any(
            (meant := projection(source, node.name)) is not None
            and not isinstance(meant.unalias(), exp.Star)
            and _is_whole(meant, scope_of(source, scope.catalog), depth + 1)
            for alias, source in scope.sources.items()
            if isinstance(source, exp.Select) and (not node.table or alias == node.table.lower())
        )
    return False


def _is_multiplied(scope: Scope) -> bool:
    """Whether a figure is added up, or averaged, of a table whose rows a join repeats."""
    repeated = _repeated(scope)
    if not repeated:
        return False
    grouped: exp.Expr | None = scope.select.args.get("group")
    for node in _own(scope.select, exp.Sum, exp.Avg):
        if isinstance(node.this, exp.Distinct):
            continue
        owners = {id(found[0]) for column in node.find_all(exp.Column) if (found := _found(column, scope))}
        if owners and owners <= repeated and not (grouped and _is_by_many(grouped, scope, repeated)):
            return True
    return False


def _is_by_many(group: exp.Expr, scope: Scope, repeated: set[int]) -> bool:
    """Whether the groups are of a table on the many side: each figure then counts once in its group."""
    owners = [id(found[0]) for item in group.expressions if (found := _found(item, scope))]
    return bool(owners) and all(owner not in repeated for owner in owners)


def _repeated(scope: Scope) -> set[int]:
    """Return the tables, by identity, each of whose rows a join may find several times."""
    repeated: set[int] = set()
    for join in scope.select.args.get("joins") or ():
        on: exp.Expr | None = join.args.get("on")
        for part in on.find_all(exp.EQ) if on is not None else ():
            first, second = _found(part.this, scope), _found(part.expression, scope)
            if first is None or second is None or first[0] is second[0]:
                continue
            for (one, key), (many, column) in ((first, second), (second, first)):
                if _is_unique(one, key) and not _is_unique(many, column) and _refers(many, column, one):
                    repeated.add(id(one))
    return repeated


def _is_unique(table: Table, column: Column) -> bool:
    return table.primary_key == (column.name,) or (column.name,) in table.unique_keys


def _refers(many: Table, column: Column, one: Table) -> bool:
    return any(key.columns == (column.name,) and key.referred_table == one.name for key in many.foreign_keys)


def _is_ungrouped(scope: Scope) -> bool:
    """Whether a column stands beside a figure without being grouped, or following from what is."""
    select = scope.select
    figures = [item for item in select.expressions if item.find(exp.AggFunc) and not item.find(exp.Window)]
    bare = [item.unalias() for item in select.expressions if isinstance(item.unalias(), exp.Column)]
    if not figures or not bare:
        return False
    # SQLite shows the row that holds the one greatest or smallest value.
    if len(figures) == 1 and isinstance(figures[0].unalias(), exp.Max | exp.Min):
        return False
    group: exp.Expr | None = select.args.get("group")
    if group is None:
        return True
    names = {item.name.lower() for item in group.expressions if isinstance(item, exp.Column)}
    positions = {int(item.name) for item in group.expressions if isinstance(item, exp.Literal) and item.is_int}
    names |= {
        select.expressions[place - 1].alias_or_name.lower() for place in positions if place <= len(select.expressions)
    }
    for item in select.expressions:
        column = item.unalias()
        if not isinstance(column, exp.Column) or column.name.lower() in names or item.alias_or_name.lower() in names:
            continue
        found = _found(column, scope)
        if found is None or not _follows(found[0], scope, names):
            return True
    return False


def _follows(table: Table, scope: Scope, names: set[str]) -> bool:
    """Whether a table's columns follow from the groups: they hold its key, or what refers to it."""
    keys = {name.lower() for name in table.primary_key}
    if keys and keys <= names:
        return True
    if any({name.lower() for name in key} <= names for key in table.unique_keys):
        return True
    return any(
        key.referred_table == table.name and {name.lower() for name in key.columns} <= names
        for other in scope.tables
        for key in other.foreign_keys
    ) or any(
        len(other.primary_key) == 1
        and other.primary_key[0].lower() in names
        and other is not table
        and any(key.referred_table == table.name for key in other.foreign_keys)
        for other in scope.tables
    )


def _holds_numbers_as_text(column: Column) -> bool:
    values = [value for value in column.values if value.strip()]
    return (
        column.kind is ColumnKind.TEXT
        and len(values) >= VALUES_MIN
        and all(_NUMBER.fullmatch(value.strip()) for value in values)
        and len({len(value.strip()) for value in values}) > 1
    )


def _stands_elsewhere(value: str, column: Column, scope: Scope) -> bool:
    """Whether a value is none of a column's, all of which are known, but is one of another column that is read."""
    known = {item.casefold() for item in column.values}
    if not column.values_complete or value.casefold() in known:
        return False
    others = (other for table in scope.tables for other in table.columns if other is not column)
    return any(value.casefold() in {item.casefold() for item in other.values} for other in others)


_HOW_MANY: Final = re.compile(
    r"\bhow many (?:different |distinct )?([a-z]+(?: [a-z]+)?)|(?:多少|几)(?:个|位|名|家|笔|件|张|条|种)?([\u4e00-\u9fff]{1,6})",
    re.IGNORECASE,
)


def _counts_another_thing(tree: exp.Expr, catalog: Catalog, question: str) -> bool:
    """Whether a question asks how many of one table there are and only rows of other tables are counted."""
    match = _HOW_MANY.search(question)
    if match is None or not isinstance(tree, exp.Select) or tree.args.get("group") is not None:
        return False
    projections = [item.unalias() for item in tree.expressions]
    if len(projections) != 1 or not isinstance(projections[0], exp.Count) or projections[0].find(exp.Distinct):
        return False
    asked = _table_named((match[1] or match[2] or "").lower(), catalog)
    return asked is not None and not any(table.name == asked.name for table in _tables_of(tree, catalog))


def _tables_of(tree: exp.Expr, catalog: Catalog) -> tuple[Table, ...]:
    """Return the catalog's tables that a statement reads anywhere."""
    found = (table_meant(node, catalog) for node in tree.find_all(exp.Table))
    return tuple(table for table in found if table is not None)


def _table_named(words: str, catalog: Catalog) -> Table | None:
    for spoken in (words, words.partition(" ")[0]):
        for table in catalog.tables:
            names = {table.name.lower().replace("_", " "), *(name.lower() for name in table.display_names.values())}
            if spoken and spoken in {*names, *(f"{name}s" for name in names)}:
                return table
    return None


def _of_result(tree: exp.Expr | None, result: Result) -> Iterator[Doubt]:
    if result.rows and all(cell is None for row in result.rows for cell in row):
        yield Doubt.NO_VALUES
    for place, column in enumerate(result.columns):
        values = [found for row in result.rows if (found := number(row[place])) is not None]
        if _SHARE.search(column.name) and values and max(values) > (100 if _is_in_percent(tree, place) else 1):
            yield Doubt.SHARE_ABOVE_ONE
    if result.cut_at_tie or (isinstance(tree, exp.Select) and _is_cut_at_tie(tree, result)):
        yield Doubt.TIE


def _is_in_percent(tree: exp.Expr | None, place: int) -> bool:
    """Whether a share is one of a hundred: it is multiplied by 100 or called a percentage, or nobody knows."""
    if not isinstance(tree, exp.Select) or place >= len(tree.expressions):
        return True
    item = tree.expressions[place]
    named = re.search(r"percent|pct|百分", item.alias_or_name, re.IGNORECASE) is not None
    return (
        named
        or any(literal.name in ("100", "100.0") for literal in item.find_all(exp.Literal))
        or item.find(exp.Div) is None
    )


def _is_cut_at_tie(tree: exp.Select, result: Result) -> bool:
    """Whether the last two of a ranking's rows have the same figure, so that the cut may have left out another."""
    limit: exp.Expr | None = tree.args.get("limit")
    count = None if limit is None else limit.args.get("expression")
    if (
        not isinstance(count, exp.Literal)
        or not count.is_int
        or int(count.name) != result.row_count
        or result.row_count < 2
    ):
        return False
    first = next(iter(_ordered_by(tree)), None)
    if not isinstance(first, exp.Ordered) or len(result.rows) != result.row_count:
        return False
    places = [
        place
        for place, item in enumerate(tree.expressions)
        if item.unalias() == first.this or item.alias_or_name == first.this.name or first.this.name == str(place + 1)
    ]
    return bool(places) and result.rows[-1][places[0]] == result.rows[-2][places[0]]
