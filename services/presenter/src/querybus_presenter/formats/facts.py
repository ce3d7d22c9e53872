"""What a statement and the catalog say of each column of a result: whose values it has, what they are in, what part of a date.

Columns of derived tables, WITH tables and set operations are followed to what they stand for. What is not recognised says
nothing, and nothing is read from a label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Language, Table
from querybus.sql.conditions.periods import unit_of
from querybus.sql.conditions.scope import Scope, outermost, scope_of
from querybus.text.rows.currencies import is_in_cents
from querybus_presenter.formats.branches import branches_of
from querybus_presenter.formats.ratios import Ratio, ratio_in
from querybus_presenter.wording.statement import read

DEPTH_MAX: Final = 12


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """What is known of one result column.

    `name` and `column` are of the one column whose values these are: a plain column, its lowest or its highest. `unit` is
    what amounts are in. `is_cents` says that they count hundredths of a currency, `is_money` that they are of one, `is_whole` that none
    has a fraction. `ratio` is one of like quantities, `quotient` any, for owners who say that it is in percent.
    """

    name: str = ""
    column: Column | None = None
    table: Table | None = None
    date_unit: str = ""
    ratio: Ratio | None = None
    quotient: Ratio | None = None
    unit: Mapping[Language, str] = field(default_factory=dict[Language, str])
    is_cents: bool = False
    is_money: bool = False
    is_whole: bool = False

    @property
    def is_key(self) -> bool:
        """Whether the values name rows: of this table by its key, or of another one."""
        if self.column is None or self.table is None:
            return False
        name = self.column.name.lower()
        keys = [self.table.primary_key, *(key.columns for key in self.table.foreign_keys)]
        return any(name in (part.lower() for part in key) for key in keys)

    @property
    def has_unit(self) -> bool:
        """Whether it is known what the amounts are in."""
        return bool(self.unit) or self.is_cents or self.is_money

    def as_amount(self) -> ColumnFacts:
        """Return what is left of a column's facts in a calculation with it: what it is in."""
        return replace(self, name="", column=None, table=None, date_unit="", ratio=None, quotient=None)


UNKNOWN: Final = ColumnFacts()


def facts_of(sql: str | None, dialect: Dialect | None, catalog: Catalog | None) -> tuple[ColumnFacts, ...]:
    """Return the facts of each result column in order; empty if it is not known which columns a statement has."""
    select = outermost(read(sql, dialect)) if sql is not None and dialect is not None else None
    if select is None:
        return ()
    scope = scope_of(select, catalog)
    facts: list[ColumnFacts] = []
    for place, item in enumerate(select.expressions):
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            expanded = _expanded(item, scope)
            if expanded is None:
                return ()
            facts.extend(expanded)
        else:
            facts.append(_merged(select, place, catalog, 0))
    return tuple(facts)


def _expanded(star: exp.Expr, scope: Scope) -> list[ColumnFacts] | None:
    """Return the facts of `*` or `t.*`, or None where a source is unknown."""
    named = star.table.lower() if isinstance(star, exp.Column) else ""
    facts: list[ColumnFacts] = []
    for alias, source in scope.sources.items():
        if named and alias != named:
            continue
        if isinstance(source, Table):
            facts.extend(_plain(column, source) for column in source.columns)
        elif source is not None and not source.is_star:
            facts.extend(_merged(source, place, scope.catalog, 1) for place in range(len(source.expressions)))
        else:
            return None
    return facts or None


def _merged(select: exp.Select, place: int, catalog: Catalog | None, depth: int) -> ColumnFacts:
    """Return the facts of a query's output by its place: what all queries put together say alike."""
    found: list[ColumnFacts] = []
    for branch in branches_of(select):
        item = branch.expressions[place].unalias() if place < len(branch.expressions) else None
        if item is not None and not isinstance(_bare(item), exp.Null):
            found.append(_of(item, scope_of(branch, catalog), depth + 1))
    return _common(found)


def _common(found: list[ColumnFacts]) -> ColumnFacts:
    if not found or all(item == found[0] for item in found):
        return found[0] if found else UNKNOWN
    is_whole = all(item.is_whole for item in found)
    amounts = [replace(item.as_amount(), is_whole=is_whole) for item in found]
    return amounts[0] if all(item == amounts[0] for item in amounts) else ColumnFacts(is_whole=is_whole)


def _plain(column: Column, table: Table) -> ColumnFacts:
    is_cents = is_in_cents(column)
    unit = {} if is_cents else column.unit
    return ColumnFacts(
        column.name,
        column,
        table,
        unit=unit,
        is_cents=is_cents,
        is_money="money" in column.type.lower(),
        is_whole=column.kind is ColumnKind.INTEGER,
    )


def _of(node: exp.Expr, scope: Scope, depth: int) -> ColumnFacts:
    node = _bare(node)
    if depth > DEPTH_MAX:
        return UNKNOWN
    if isinstance(node, exp.Column):
        return _of_column(node, scope, depth)
    if (unit := unit_of(node)) is not None:
        return ColumnFacts(date_unit=unit[0])
    ratio = ratio_in(node, scope)
    if ratio is not None:
        return ColumnFacts(ratio=ratio)
    return replace(_of_calculation(node, scope, depth + 1), quotient=ratio_in(node, scope, is_said=True))


def _of_column(node: exp.Column, scope: Scope, depth: int) -> ColumnFacts:
    for source in scope.owners(node):
        if isinstance(source, exp.Select) and not source.is_star:
            names = [item.alias_or_name.lower() for item in source.expressions]
            if node.name.lower() in names:
                return _merged(source, names.index(node.name.lower()), scope.catalog, depth)
        elif isinstance(source, exp.Select):
            return _of(exp.column(node.name), scope_of(source, scope.catalog), depth + 1)
    origin = scope.origin(node)
    return ColumnFacts(name=node.name) if origin is None else _plain(origin[1], origin[0])


def _of_calculation(node: exp.Expr, scope: Scope, depth: int) -> ColumnFacts:
    """Return what a calculation leaves of the facts of its parts."""

    def of(part: exp.Expr) -> ColumnFacts:
        return _of(part, scope, depth)

    match node:
        case exp.Min() | exp.Max() | exp.AnyValue() | exp.First() | exp.Last() | exp.FirstValue() | exp.LastValue():
            return of(node.this)
        case exp.Lag() | exp.Lead() | exp.Window() | exp.Filter() | exp.WithinGroup():
            return of(node.this)
        case exp.Count() | exp.CountIf() | exp.RowNumber() | exp.Rank() | exp.DenseRank():
            return ColumnFacts(is_whole=True)
        case exp.Sum() | exp.Neg():
            return of(node.this).as_amount()
        case exp.Avg() | exp.Median() | exp.PercentileCont() | exp.PercentileDisc() | exp.Quantile():
            return replace(of(node.this).as_amount(), is_whole=False)
        case exp.Literal():
            return ColumnFacts(is_whole=not node.is_string and node.is_int)
        case exp.Distinct() if len(node.expressions) == 1:
            return of(node.expressions[0])
        case exp.Case() | exp.If() | exp.Greatest() | exp.Least() | exp.Coalesce():
            return _common([of(part) for part in _results(node)])
        case exp.Subquery() | exp.Select():
            inner = outermost(node)
            return UNKNOWN if inner is None or not inner.expressions else _merged(inner, 0, scope.catalog, depth)
        case exp.Add() | exp.Sub():
            return _of_sum(node, of(node.this), of(node.expression))
        case exp.Mul():
            return _of_product(node, of(node.this), of(node.expression))
        case exp.Div():
            return _of_quotient(node, of(node.this), of(node.expression))
        case _:
            return UNKNOWN


def _results(node: exp.Expr) -> list[exp.Expr]:
    """Return what a choice may result in; nothing and zero are of any kind."""
    if isinstance(node, exp.Case):
        parts = [branch.args["true"] for branch in node.args.get("ifs") or ()] + [node.args.get("default")]
    elif isinstance(node, exp.If):
        parts = [node.args.get("true"), node.args.get("false")]
    else:
        parts = [node.this, *node.expressions]
    return [part for part in parts if isinstance(part, exp.Expr) and _number(part) != 0 and not _is_null(part)]


def _of_sum(node: exp.Expr, left: ColumnFacts, right: ColumnFacts) -> ColumnFacts:
    """Return the facts of a sum or difference: both sides are in one thing. A year and a number of them is a year."""
    sides = [(left, _number(node.expression)), (right, _number(node.this))]
    for facts, number in sides:
        if number is not None and (facts.date_unit == "year" or number == 0):
            return facts
    return _common([left.as_amount(), right.as_amount()])


def _of_product(node: exp.Expr, left: ColumnFacts, right: ColumnFacts) -> ColumnFacts:
    """Return the facts of a product: an amount times something that is in nothing is in the same."""
    is_whole = left.is_whole and right.is_whole
    for facts, other, by in ((left, right, node.expression), (right, left, node.this)):
        factor = _number(by)
        if other.has_unit or not facts.has_unit or (factor in _POWERS and not facts.is_cents):
            continue
        if facts.is_cents and factor in _POWERS:
            return _in_currency(facts) if factor == 0.01 else UNKNOWN
        return replace(facts.as_amount(), is_whole=is_whole)
    return ColumnFacts(is_whole=is_whole)


def _of_quotient(node: exp.Expr, left: ColumnFacts, right: ColumnFacts) -> ColumnFacts:
    """Return the facts of a quotient: an amount for each of what is counted is in the same; cents by 100 are a currency."""
    divisor = _number(node.expression)
    if divisor == 100 and left.is_cents:
        return _in_currency(left)
    if right.has_unit or divisor in _POWERS:
        return UNKNOWN
    return replace(left.as_amount(), is_whole=False)


_POWERS: Final = frozenset({10.0, 100.0, 1_000.0, 10_000.0, 1e6, 1e8, 1e9, 0.1, 0.01, 0.001})
"""What an amount is multiplied with to be in something else."""


def _in_currency(facts: ColumnFacts) -> ColumnFacts:
    return replace(facts.as_amount(), is_cents=False, is_money=True, is_whole=False)


def _number(node: exp.Expr) -> float | None:
    node = _bare(node)
    if isinstance(node, exp.Neg):
        number = _number(node.this)
        return None if number is None else -number
    is_number = isinstance(node, exp.Literal) and not node.is_string
    return float(node.name) if is_number else None


def _is_null(node: exp.Expr) -> bool:
    return isinstance(_bare(node), exp.Null)


def _bare(node: exp.Expr) -> exp.Expr:
    """Return what stands within brackets, casts and roundings."""
    wrappers = (exp.Paren, exp.Cast, exp.TryCast, exp.Round, exp.Abs, exp.Nullif, exp.Floor, exp.Ceil, exp.Alias)
    while isinstance(node, wrappers) and isinstance(node.this, exp.Expr):
        node = node.this
    return node
