"""Whether a condition could fail or warn for the value of a row, and so disclose rows that its reader must not know of.

An engine may try a condition on rows before it filters them. Such a statement gets its filtered tables behind a fence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from sqlglot import exp

from querybus.core.catalog import ColumnKind, Dialect
from querybus.engines import ENGINES
from querybus.sql.facts import StatementFacts, fold_of
from querybus.sql.names.sources import Sources

_HARMLESS: Final = (
    exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Star, exp.Paren, exp.Tuple, exp.Alias,
    exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ,
    exp.In, exp.Between, exp.Like, exp.ILike, exp.Is, exp.Exists, exp.Where, exp.Having, exp.Select, exp.Subquery,
    exp.SetOperation, exp.From, exp.Join, exp.Table, exp.TableAlias, exp.Group, exp.Order, exp.Ordered, exp.Limit,
    exp.Distinct, exp.With, exp.CTE, exp.Count, exp.Min, exp.Max, exp.Sum, exp.Avg,
)  # fmt: skip
"""What cannot fail for the value of a row where the sides of a comparison are of one kind."""

_COMPARISONS: Final = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.In, exp.Between,
    exp.Like, exp.ILike, exp.Join,
)  # fmt: skip
_CONDITIONS: Final = (exp.Where, exp.Having, exp.Qualify, exp.PreWhere, exp.Join, exp.From, exp.CTE)
_ISO_TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?")
_PLAIN_NUMBER: Final = re.compile(r"-?\d{1,18}(\.\d{1,18})?")


class _Family(StrEnum):
    """Kinds that compare with each other without a conversion that could fail."""

    NUMBER = "number"
    TEXT = "text"
    TIME = "time"
    ANY = "any"
    """NULL, which compares with everything."""
    UNKNOWN = "unknown"


_FAMILIES: Final[Mapping[ColumnKind, _Family]] = {
    ColumnKind.INTEGER: _Family.NUMBER,
    ColumnKind.NUMBER: _Family.NUMBER,
    ColumnKind.BOOLEAN: _Family.NUMBER,
    ColumnKind.TEXT: _Family.TEXT,
    ColumnKind.DATE: _Family.TIME,
    ColumnKind.DATETIME: _Family.TIME,
    ColumnKind.TIME: _Family.UNKNOWN,
    ColumnKind.BYTES: _Family.UNKNOWN,
    ColumnKind.JSON: _Family.UNKNOWN,
    ColumnKind.OTHER: _Family.UNKNOWN,
}


def may_fail(facts: StatementFacts, sources: Sources, dialect: Dialect) -> bool:
    """Return whether what a condition sees could fail or warn for the value of a row, e.g. by a division or a cast.

    What only the outermost SELECT shows or sorts by is computed for the rows that it shows.
    """
    shows_aliases = any(
        column.args.get("table") is None and column.name in names and _place(column) is not None
        for names in ({node.alias for node in facts.nodes if isinstance(node, exp.Alias)},)
        for column in facts.columns
    )
    families = _families_of(facts, sources, dialect) if ENGINES[dialect].converts_to_compare else None
    for node in facts.nodes:
        if isinstance(node, exp.Subquery) and _place(node) is not None and _may_have_two_rows(node):
            return True
        if node.find(exp.Column) is None and not isinstance(node, exp.Join):
            continue
        if isinstance(node, _HARMLESS) and not _compares_badly(node, families, dialect):
            continue
        if shows_aliases or _place(node) is not None or isinstance(node, exp.Join):
            return True
    return False


def bad_patterns(facts: StatementFacts) -> list[exp.Expr]:
    """Return each LIKE whose constant pattern may end in its own escape sign.

    PostgreSQL reports such a pattern for the rows that match up to it, and tries it on the values of its statistics.
    """
    return [
        node
        for node in facts.nodes
        if isinstance(node, exp.Like | exp.ILike)
        and node.expression.find(exp.Column) is None
        and _may_end_in_escape(node)
    ]


def _compares_badly(node: exp.Expr, families: Mapping[str, _Family] | None, dialect: Dialect) -> bool:
    if isinstance(node, exp.Like | exp.ILike) and _may_end_in_escape(node):
        return True
    if families is None or not isinstance(node, _COMPARISONS):
        return False
    if isinstance(node, exp.Join):
        names = [fold_of(name, dialect) for name in node.args.get("using") or ()]
        return node.args.get("method") == "NATURAL" or any(
            families.get(name, _Family.UNKNOWN) is _Family.UNKNOWN for name in names
        )
    return not all(_are_alike(side, other, families, dialect) for side, other in _pairs(node))


def _pairs(node: exp.Expr) -> list[tuple[exp.Expr, exp.Expr]]:
    """Return what a comparison holds against each other."""
    if isinstance(node, exp.Between):
        return [(node.this, node.args["low"]), (node.this, node.args["high"])]
    if isinstance(node, exp.In):
        query = node.args.get("query")
        others = list(node.expressions)
        if query is not None:
            others += _shown_by(query)
        return [(node.this, other) for other in others] or [(node.this, exp.Star())]
    return [(node.this, node.expression)]


def _shown_by(query: exp.Expr) -> list[exp.Expr]:
    inner = query.this if isinstance(query, exp.Subquery) else query
    return [item.unalias() for item in inner.expressions] if isinstance(inner, exp.Select) else [exp.Star()]


def _are_alike(side: exp.Expr, other: exp.Expr, families: Mapping[str, _Family], dialect: Dialect) -> bool:
    side, other = side.unnest(), other.unnest()
    if isinstance(side, exp.Tuple) and isinstance(other, exp.Tuple):
        return len(side.expressions) == len(other.expressions) and all(
            _are_alike(*pair, families, dialect) for pair in zip(side.expressions, other.expressions, strict=True)
        )
    left, right = (_family_of(item, families, dialect) for item in (side, other))
    if _Family.ANY in (left, right):
        return True
    if _Family.UNKNOWN in (left, right):
        return False
    return left is right or _reads_as(side, right) or _reads_as(other, left)


def _reads_as(node: exp.Expr, family: _Family) -> bool:
    """Return whether a text of the statement is a number or a time that every engine reads without a word."""
    if not (isinstance(node, exp.Literal) and node.is_string):
        return False
    if family is _Family.NUMBER:
        return _PLAIN_NUMBER.fullmatch(node.name) is not None
    return family is _Family.TIME and _ISO_TIME.fullmatch(node.name) is not None


def _family_of(node: exp.Expr, families: Mapping[str, _Family], dialect: Dialect) -> _Family:
    if isinstance(node, exp.Column):
        return families.get(fold_of(node.this, dialect), _Family.UNKNOWN)
    if isinstance(node, exp.Null):
        return _Family.ANY
    if isinstance(node, exp.Literal):
        return _Family.TEXT if node.is_string else _Family.NUMBER
    if isinstance(node, exp.Boolean | exp.Count | exp.Sum | exp.Avg):
        return _Family.NUMBER
    if isinstance(node, exp.Neg | exp.Min | exp.Max):
        return _family_of(node.this.unnest(), families, dialect)
    if isinstance(node, exp.Cast | exp.Date | exp.Timestamp) and node.find(exp.Column) is None:
        kind = node.args.get("to")
        of_time = kind is None or kind.is_type(*exp.DataType.TEMPORAL_TYPES)
        return _Family.TIME if of_time else _Family.UNKNOWN
    return _Family.UNKNOWN


def _families_of(facts: StatementFacts, sources: Sources, dialect: Dialect) -> Mapping[str, _Family]:
    """Return the family of each column's name, where every table of the statement that has the name agrees."""
    result: dict[str, _Family] = {}
    for known in sources:
        by_name = {column.name: _FAMILIES[column.kind] for column in known.table.columns}
        for folded, name in known.columns.items():
            family = by_name.get(name, _Family.UNKNOWN)
            result[folded] = family if result.get(folded, family) is family else _Family.UNKNOWN
    for name in (*facts.aliases, *_renamed(facts, dialect)):
        result[name] = _Family.UNKNOWN
    return result


def _renamed(facts: StatementFacts, dialect: Dialect) -> Iterable[str]:
    """Yield the names that `AS t(a, b)` and `WITH t(a, b)` give to columns."""
    for node in facts.nodes:
        if isinstance(node, exp.TableAlias):
            yield from (fold_of(column, dialect) for column in node.args.get("columns") or ())


def _may_end_in_escape(node: exp.Expr) -> bool:
    escape = "\\"
    if isinstance(node.parent, exp.Escape):
        sign = node.parent.expression
        escape = sign.name if isinstance(sign, exp.Literal) else ""
    last = node.expression.unnest()
    while isinstance(last, exp.DPipe | exp.Concat):
        last = (last.expression if isinstance(last, exp.DPipe) else last.expressions[-1]).unnest()
    if not isinstance(last, exp.Literal) or not escape:
        return True
    text = last.name
    return (len(text) - len(text.rstrip(escape))) % 2 == 1


def _place(node: exp.Expr) -> exp.Expr | None:
    """Return the condition, derived table or WITH table in which a node stands, or None at the top of the statement."""
    parent = node.parent
    while parent is not None:
        if isinstance(parent, _CONDITIONS):
            return parent
        parent = parent.parent
    return None


def _may_have_two_rows(query: exp.Subquery) -> bool:
    """Return whether a query in the place of a value could have more rows than one, which is an error."""
    if isinstance(query.parent, exp.In | exp.Exists | exp.From | exp.Join | exp.SetOperation | exp.Any | exp.All):
        return False
    inner = query.this
    return not (
        isinstance(inner, exp.Select)
        and not inner.args.get("group")
        and all(isinstance(expression.unalias(), exp.AggFunc) for expression in inner.expressions)
    )
