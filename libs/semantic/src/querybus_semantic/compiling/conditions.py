"""The WHERE clause of a branch: filters on fields, on rows of the many side, on a metric per row, and the period."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Dialect
from querybus_semantic.compiling.dates import literal, moved, start_of
from querybus_semantic.compiling.expressions import aggregates, parse
from querybus_semantic.compiling.forms import FORMS
from querybus_semantic.compiling.joins import Joins
from querybus_semantic.compiling.leaves import Leaf, Leaves, field_named, formula_of
from querybus_semantic.compiling.paths import Path, many_side_path, path_between, why_no_path
from querybus_semantic.layer.definitions import TIME_TYPES, Field, Layer, Type
from querybus_semantic.layer.refusal import Code, RefusedError
from querybus_semantic.layer.request import OWN_DATE, Asker, Filter, Op, Period, Request, Value

_COMPARED: Final = {
    Op.EQUAL: exp.EQ,
    Op.IS: exp.EQ,
    Op.SOME: exp.EQ,
    Op.NONE: exp.EQ,
    Op.NOT_EQUAL: exp.NEQ,
    Op.LESS: exp.LT,
    Op.LESS_OR_EQUAL: exp.LTE,
    Op.GREATER: exp.GT,
    Op.GREATER_OR_EQUAL: exp.GTE,
    Op.LIKE: exp.Like,
}
_NEGATED: Final = {
    Op.EQUAL: Op.NOT_EQUAL,
    Op.LESS: Op.GREATER_OR_EQUAL,
    Op.LESS_OR_EQUAL: Op.GREATER,
    Op.GREATER: Op.LESS_OR_EQUAL,
    Op.GREATER_OR_EQUAL: Op.LESS,
    Op.NOT_EQUAL: Op.EQUAL,
}


@dataclass(frozen=True, slots=True)
class Context:
    """What every step of one compilation reads."""

    layer: Layer
    dialect: Dialect
    request: Request
    asker: Asker | None = None


def is_on_metric(layer: Layer, item: Filter) -> bool:
    """Whether a filter speaks of a metric's result rather than of rows."""
    return layer.metric(item.field) is not None


def own_date(leaf: Leaf) -> str:
    """Return the date field that dates a leaf, or the refusal that it has none."""
    found = leaf.non_additive.time if leaf.non_additive is not None else leaf.time
    if not found:
        raise RefusedError(Code.NO_DATE, f"{leaf.home} has no date of its own; name one.", leaf.home)
    return found


def is_own_date(leaf: Leaf, name: str) -> bool:
    """Whether a field is the date of a leaf."""
    if name == OWN_DATE:
        return True
    own = leaf.non_additive.time if leaf.non_additive is not None else leaf.time
    return name.lower() == own.lower()


def conditions_of(context: Context, leaf: Leaf, joins: Joins) -> list[exp.Expr]:
    """Return every row condition of the request for one leaf, and the conditions of the metrics it belongs to."""
    request, layer = context.request, context.layer
    result: list[exp.Expr] = []
    for item in request.filters:
        if item.per:
            result.append(_per_row(context, joins, leaf, item))
        elif is_on_metric(layer, item) or (leaf.cumulative is not None and is_own_date(leaf, item.field)):
            continue
        elif item.op in {Op.SOME, Op.NONE}:
            result.append(_on_many_side(context, joins, leaf.home, item))
        else:
            result.append(_on_field(context, joins, leaf, item))
    for name in request.named:
        named = layer.filters.get(name)
        if named is None:
            raise RefusedError(Code.UNKNOWN_FILTER, f"There is no filter `{name}`.", name, tuple(sorted(layer.filters)))
        result.append(_condition(joins, _qualified(named.expression, named.dataset)))
    result += [_condition(joins, parse(text, "")) for text in (*request.conditions, *leaf.narrowed)]
    return result


def _condition(joins: Joins, tree: exp.Expr) -> exp.Expr:
    if aggregates(tree):
        raise RefusedError(Code.BAD_EXPRESSION, "A condition on rows holds an aggregate.")
    return exp.paren(joins.condition(tree), copy=False)


def _qualified(text: str, dataset: str) -> exp.Expr:
    tree = parse(text, "")
    for column in tree.find_all(exp.Column):
        if not column.table:
            column.set("table", exp.to_identifier(dataset))
    return tree


def _on_field(context: Context, joins: Joins, leaf: Leaf, item: Filter) -> exp.Expr:
    name = own_date(leaf) if item.field == OWN_DATE else item.field
    dataset, field = field_named(context.layer, name)
    value = joins.column(dataset, field.name if field is not None else name.rpartition(".")[2], item.via)
    return compared(value, item.op, item.values, field, context.dialect)


def compared(value: exp.Expr, op: Op, values: tuple[Value, ...], field: Field | None, dialect: Dialect) -> exp.Expr:
    """Return the condition that compares an expression with literals."""
    kind = field.type if field is not None else Type.UNKNOWN
    literals = [_literal(item, kind, dialect) for item in values]
    is_empty = exp.Is(this=value.copy(), expression=exp.Null())
    if op in {Op.IN, Op.NOT_IN}:
        inside = exp.In(this=value, expressions=literals)
        return exp.Not(this=inside) if op is Op.NOT_IN else inside
    if len(literals) != 1:
        raise RefusedError(Code.BAD_EXPRESSION, f"`{op}` takes one value.")
    if values[0] is None:
        return is_empty if op in {Op.EQUAL, Op.IS} else exp.Not(this=is_empty)
    if op is Op.IS_NOT:
        return exp.paren(exp.or_(is_empty, exp.NEQ(this=value, expression=literals[0])))
    return _COMPARED[op](this=value, expression=literals[0])


def _literal(value: Value, kind: Type, dialect: Dialect) -> exp.Expr:
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=value) if FORMS[dialect].has_booleans else exp.Literal.number(int(value))
    if isinstance(value, int | float):
        return exp.Literal.number(value)
    if kind in TIME_TYPES:
        try:
            return literal(date.fromisoformat(value), kind, dialect)
        except ValueError:
            return exp.Literal.string(value)
    if kind in {Type.INTEGER, Type.NUMBER} and _NUMBER.fullmatch(value):
        # A code is a text wherever it is listed; compared with a number it must be one on some engines.
        return exp.Literal.number(value)
    return exp.Literal.string(value)


_NUMBER: Final = re.compile(r"-?\d{1,18}(?:\.\d{1,18})?")


def _among(left: list[exp.Expr], query: exp.Query, *, negated: bool) -> exp.Expr:
    one = left[0] if len(left) == 1 else exp.Tuple(expressions=left)
    inside = exp.In(this=one, query=exp.Subquery(this=query))
    return exp.Not(this=inside) if negated else inside


def _on_many_side(context: Context, joins: Joins, home: str, item: Filter) -> exp.Expr:
    """Return `key IN (rows of the many side that fit)`: a row counts once, however many of its rows fit."""
    layer = context.layer
    dataset, field = field_named(layer, item.field)
    name = field.name if field is not None else item.field.rpartition(".")[2]
    if path_between(layer, home, dataset, item.via) is not None:
        # A row has one of them: that some row fits is that this one does. Nothing is asked by way of other rows.
        op = Op.EQUAL if item.op is Op.SOME else Op.IS_NOT
        return compared(joins.column(dataset, name, item.via), op, item.values, field, context.dialect)
    found = many_side_path(layer, home, dataset, item.via)
    if found is None:
        raise why_no_path(layer, home, dataset, item.via)
    before, back = found
    relation = back[0].relation
    inner = Joins(layer, context.dialect, relation.many, prefix="x_")
    value = inner.at(back[1:], name)
    keys = [inner.own(column) for column in relation.many_columns]
    fits = compared(value, Op.IN if len(item.values) > 1 else Op.EQUAL, item.values, field, context.dialect)
    present = [exp.Not(this=exp.Is(this=key.copy(), expression=exp.Null())) for key in keys]
    query = inner.select().select(*keys, copy=False).where(fits, *present, copy=False)
    return _among([joins.at(before, column) for column in relation.one_columns], query, negated=item.op is Op.NONE)


def _per_row(context: Context, joins: Joins, leaf: Leaf, item: Filter) -> exp.Expr:
    """Return the condition that a metric, computed for each row of `per`, fits: filtered after aggregation at that grain."""
    layer = context.layer
    metric = layer.metric(item.field)
    if metric is None:
        raise RefusedError(Code.UNKNOWN_METRIC, f"There is no metric `{item.field}`.", item.field)
    per = leaf.home if item.per == "row" else item.per
    leaves = Leaves(layer)
    formula = formula_of(layer, metric, leaves)
    if len({found.home for found in leaves.found}) != 1 or any(
        found.non_additive or found.cumulative or found.conversion or found.offsets for found in leaves.found
    ):
        raise RefusedError(Code.UNSUPPORTED, f"{metric.name} cannot be computed for each row of {per}.", metric.name)
    target = layer.dataset(per)
    if target is None or not target.keys:
        raise RefusedError(Code.NO_KEY, f"{per} has no key, so nothing can be counted per row of it.", per)
    home = leaves.found[0].home
    path = path_between(layer, home, per, ())
    outer = path_between(layer, leaf.home, per, item.via)
    if path is None or outer is None:
        raise why_no_path(layer, home if path is None else leaf.home, per)
    inner = Joins(layer, context.dialect, home, leaves.found[0].within, prefix="x_")
    keys, outer_keys = _grouped_by(path, inner, outer, joins, target.keys[0])
    for number, found in enumerate(leaves.found):
        formula = _with(formula, number, inner.call(found.call))
    conditions = [_condition(inner, parse(text, "")) for found in leaves.found for text in found.narrowed]
    present = [exp.Not(this=exp.Is(this=key.copy(), expression=exp.Null())) for key in keys]
    # Rows without any row on the many side count zero: they fit exactly if the opposite does not.
    zero_fits = leaves.found[0].is_count and _fits_zero(item)
    op = _NEGATED[item.op] if zero_fits else item.op
    query = inner.select().select(*keys, copy=False).where(*present, *conditions, copy=False)
    query = query.group_by(*[key.copy() for key in keys], copy=False).having(
        compared(formula, op, item.values, None, context.dialect), copy=False
    )
    return _among(outer_keys, query, negated=zero_fits)


def _grouped_by(
    path: Path, inner: Joins, outer: Path, joins: Joins, key: tuple[str, ...]
) -> tuple[list[exp.Expr], list[exp.Expr]]:
    if not path:
        return [inner.own(column) for column in key], [joins.at(outer, column) for column in key]
    relation = path[-1].relation
    return (
        [inner.at(path[:-1], column) for column in relation.many_columns],
        [joins.at(outer, column) for column in relation.one_columns],
    )


def _with(formula: exp.Expr, number: int, call: exp.Expr) -> exp.Expr:
    for column in list(formula.find_all(exp.Column)):
        if column.name == f"m{number}" and not column.table:
            if column is formula:
                return call
            column.replace(call.copy())
    return formula


def _fits_zero(item: Filter) -> bool:
    value = item.values[0] if len(item.values) == 1 else None
    if not isinstance(value, int | float) or item.op not in _NEGATED:
        return False
    return {
        Op.EQUAL: value == 0,
        Op.NOT_EQUAL: value != 0,
        Op.LESS: value > 0,
        Op.LESS_OR_EQUAL: value >= 0,
        Op.GREATER: value < 0,
        Op.GREATER_OR_EQUAL: value <= 0,
    }[item.op]


def shifted_period(period: Period, leaf: Leaf) -> tuple[date | None, date | None]:
    """Return the period whose rows a leaf reads: an offset reads an earlier one."""
    start, until = period.start, period.until
    for span in leaf.offsets:
        start = moved(start, -span.count, span.unit) if start is not None else None
        until = moved(until, -span.count, span.unit) if until is not None else None
    return start, until


def _shifted_gap(period: Period, leaf: Leaf) -> tuple[date, date] | None:
    if period.gap is None:
        return None
    begun, ended = shifted_period(Period(period.field, *period.gap), leaf)
    return (begun, ended) if begun is not None and ended is not None else None


def period_conditions(context: Context, leaf: Leaf, joins: Joins) -> list[exp.Expr]:
    """Return [start, until) on the leaf's date, or on the named one. A part of a stored period: RefusedError."""
    period = context.request.period
    if period is None:
        return []
    name = own_date(leaf) if period.field == OWN_DATE else period.field
    dataset, field = field_named(context.layer, name)
    start, until = shifted_period(period, leaf) if is_own_date(leaf, period.field) else (period.start, period.until)
    gap = _shifted_gap(period, leaf) if is_own_date(leaf, period.field) else period.gap
    if field is not None and field.grain is not None:
        for day in (start, until, *(gap or ())):
            if day is not None and start_of(day, field.grain, context.layer.calendar) != day:
                raise RefusedError(Code.FINER_GRAIN, f"{name} is stored by {field.grain}; {day} lies within one.", name)
    column = field.name if field is not None else name.rpartition(".")[2]
    kind = field.type if field is not None else Type.DATE
    result: list[exp.Expr] = []
    if start is not None:
        result.append(exp.GTE(this=joins.column(dataset, column), expression=literal(start, kind, context.dialect)))
    if until is not None:
        result.append(exp.LT(this=joins.column(dataset, column), expression=literal(until, kind, context.dialect)))
    if gap is not None:
        before, behind = (literal(day, kind, context.dialect) for day in gap)
        outside = exp.or_(
            exp.LT(this=joins.column(dataset, column), expression=before),
            exp.GTE(this=joins.column(dataset, column), expression=behind),
        )
        result.append(exp.paren(outside))
    return result
