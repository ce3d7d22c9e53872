"""Ratios of two like quantities: shares of a whole, rates, and changes against an earlier figure.

"Like" is what can be seen: the same aggregate of the same column, with or without a condition, over other rows; rows that
meet a condition among all rows; amounts whose owner gave both the same unit. Orders for each customer are no such ratio.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from sqlglot import exp

from querybus.core.catalog import ColumnKind, Table
from querybus.sql.conditions.scope import Scope, outermost, scope_of
from querybus_presenter.formats.branches import branches_of

Ratio = Literal["fraction", "hundredths"]
"""0.25 of a quarter, or 25."""

DEPTH_MAX: Final = 12
_TRANSPARENT: Final = (exp.Paren, exp.Cast, exp.TryCast, exp.Round, exp.Nullif, exp.Abs, exp.Alias, exp.Coalesce)
_RATIO_FUNCTIONS: Final = frozenset({"ratio_to_report", "percent_rank", "cume_dist"})


@dataclass(frozen=True, slots=True)
class _Part:
    """An expression where it stands."""

    node: exp.Expr
    scope: Scope
    is_said: bool = False


def ratio_in(node: exp.Expr, scope: Scope, *, is_said: bool = False) -> Ratio | None:
    """Return whether a calculation is a ratio of like quantities, and how it is written; None for any other.

    Where its owner has said that it is in percent (`is_said`), any quotient is one.
    """
    return _ratio(_Part(node, scope, is_said), 0)


def _ratio(part: _Part, depth: int) -> Ratio | None:
    node = _bare(part.node)
    if depth > DEPTH_MAX:
        return None
    if isinstance(node, exp.Column):
        inner = _definition(_Part(node, part.scope, part.is_said))
        return None if inner is None else _ratio(inner, depth + 1)
    if isinstance(node, exp.Case | exp.If):
        ratios: set[Ratio | None] = {
            _ratio(_Part(result, part.scope, part.is_said), depth + 1) for result in _results(node)
        }
        return ratios.pop() if len(ratios) == 1 else None
    if isinstance(node, exp.Avg):
        return _of_flags(node.this, part.scope)
    if isinstance(node, exp.Min | exp.Max | exp.Sum) and isinstance(_bare(node.this), exp.Column):
        # Of a derived table: the ratio was made within it.
        return None if isinstance(node, exp.Sum) else _ratio(_Part(node.this, part.scope, part.is_said), depth + 1)
    if isinstance(node, exp.Sub) and _number(node.this) in (1.0, 100.0):
        return _ratio(_Part(node.expression, part.scope, part.is_said), depth + 1)
    if isinstance(node, exp.Sub) and _number(node.expression) in (1.0, 100.0):
        return _ratio(_Part(node.this, part.scope, part.is_said), depth + 1)
    if isinstance(node, exp.Window | exp.Anonymous | exp.PercentRank | exp.CumeDist):
        return "fraction" if _function_name(node) in _RATIO_FUNCTIONS else None
    return _of_quotient(_Part(node, part.scope, part.is_said), depth)


def _of_quotient(quotient: _Part, depth: int) -> Ratio | None:
    """Return the ratio in a product of a hundred, a one and a quotient in any order."""
    scope = quotient.scope
    above, below = _factors(quotient.node)
    hundreds = [item for item in above if _number(item) == 100]
    above = [item for item in above if _number(item) not in (1.0, 100.0)]
    below = [item for item in below if _number(item) != 1.0]
    if len(hundreds) > 1 or len(above) != 1:
        return None
    written: Ratio = "hundredths" if hundreds else "fraction"
    if not below:
        inner = _ratio(_Part(above[0], scope, quotient.is_said), depth + 1) if hundreds else None
        return "hundredths" if inner == "fraction" else None
    if len(below) != 1:
        return None
    if quotient.is_said:
        return written
    part, whole = _resolved(_Part(above[0], scope)), _resolved(_Part(below[0], scope))
    if isinstance(part.node, exp.Sub):
        # A change: what it is compared with is what it is divided by.
        before = _resolved(_Part(part.node.expression, part.scope))
        after = _resolved(_Part(part.node.this, part.scope))
        is_change = _text(before) == _text(whole) or _text(after) == _text(whole)
        return written if is_change else None
    return written if _are_like(part, whole) else None


def _are_like(part: _Part, whole: _Part) -> bool:
    one, other = _measure(part), _measure(whole)
    if one is None or other is None:
        return False
    # Rows that meet a condition, or that have a value, are some of all rows.
    if one.function == "rows" and other.function in ("rows", "values"):
        return one.of == other.of or one.of.partition(":")[0] == other.of.partition(":")[0]
    if one.function == "values" and other.function == "rows":
        return one.of.partition(":")[0] == other.of.partition(":")[0]
    if one.function == other.function and one.of == other.of:
        return True
    return bool(one.unit) and one.unit == other.unit


@dataclass(frozen=True, slots=True)
class _Measure:
    """A figure without its conditions: `rows` of a table, different `values` of a column, a `sum` of one."""

    function: str
    of: str
    unit: str = ""


def _measure(part: _Part) -> _Measure | None:
    part = _resolved(part)
    node = part.node
    while isinstance(node, exp.Window | exp.Filter):
        node = _bare(node.this)
    if isinstance(node, exp.Subquery | exp.Select):
        select = outermost(node)
        if select is None or len(select.expressions) != 1:
            return None
        return _measure(_Part(select.expressions[0].unalias(), scope_of(select, part.scope.catalog)))
    table = _table_of(part.scope)
    if isinstance(node, exp.Count | exp.CountIf):
        return _count(node, part.scope, table)
    if isinstance(node, exp.Sum):
        inner = _bare(node.this)
        if isinstance(inner, exp.Sum | exp.Count):
            # SUM(SUM(x)) OVER () is the whole of what SUM(x) is a part of.
            return _measure(_Part(inner, part.scope))
        if _flag(node.this, part.scope) == 1:
            return _Measure("rows", f"{table}:")
        inner = _unconditional(inner)
        resolved = _resolved(_Part(inner, part.scope))
        if isinstance(_bare(resolved.node), exp.Sum | exp.Count | exp.CountIf):
            return _measure(resolved)
        return _Measure("sum", _text(resolved), _unit(resolved))
    if isinstance(node, exp.Column):
        return _Measure("value", _text(_Part(node, part.scope)), _unit(_Part(node, part.scope)))
    return None


def _count(node: exp.Expr, scope: Scope, table: str) -> _Measure:
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Distinct) and len(node.this.expressions) == 1:
        inner = _unconditional(_bare(node.this.expressions[0]))
        return _Measure("distinct", _text(_resolved(_Part(inner, scope))))
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Column):
        return _Measure("values", f"{table}:{_text(_resolved(_Part(node.this, scope)))}")
    return _Measure("rows", f"{table}:")


def _table_of(scope: Scope) -> str:
    """Return the table whose rows a query counts: its first, followed through derived tables."""
    for source in scope.sources.values():
        if isinstance(source, Table):
            return f"{source.schema_name or ''}.{source.name}".lower()
        if isinstance(source, exp.Select):
            return _table_of(scope_of(source, scope.catalog))
        break
    from_ = scope.select.args.get("from_")
    return str(from_.this.name).lower() if isinstance(from_, exp.From) else ""


def _unconditional(node: exp.Expr) -> exp.Expr:
    """Return what CASE WHEN .. THEN x [ELSE 0] END counts or adds; anything else as it is."""
    if isinstance(node, exp.Case | exp.If):
        results = _results(node)
        if len(results) == 1:
            return _bare(results[0])
    return node


def _flag(node: exp.Expr, scope: Scope) -> float | None:
    """Return what each row that meets a condition counts: 1 or 100 in CASE WHEN .. THEN 1 ELSE 0 END, 1 of a truth."""
    bare = _bare(node)
    if isinstance(bare, exp.Case | exp.If):
        results = _results(bare)
        return _number(results[0]) if len(results) == 1 else None
    if isinstance(bare, exp.Predicate | exp.Connector | exp.Not):
        return 1.0
    if isinstance(bare, exp.Column):
        origin = scope.origin(bare)
        return 1.0 if origin is not None and origin[1].kind is ColumnKind.BOOLEAN else None
    return None


def _of_flags(node: exp.Expr, scope: Scope) -> Ratio | None:
    """Return how the average of a condition is written."""
    flag = _flag(node, scope)
    return "fraction" if flag == 1 else "hundredths" if flag == 100 else None


def _resolved(part: _Part, depth: int = 0) -> _Part:
    """Return what a reference to a derived table's output stands for."""
    node = _bare(part.node)
    if isinstance(node, exp.Column) and depth < DEPTH_MAX:
        inner = _definition(_Part(node, part.scope))
        if inner is not None:
            return _resolved(inner, depth + 1)
    if isinstance(node, exp.Max | exp.Min) and isinstance(_bare(node.this), exp.Column) and depth < DEPTH_MAX:
        # One value of a group: a derived table has made the figure.
        inner = _definition(_Part(_bare(node.this), part.scope))
        if inner is not None:
            return _resolved(inner, depth + 1)
    return _Part(node, part.scope)


def _definition(part: _Part) -> _Part | None:
    """Return the expression that a derived table shows under a reference's name; of several put together, the one that has a value."""
    if not isinstance(part.node, exp.Column):
        return None
    for source in part.scope.owners(part.node):
        if not isinstance(source, exp.Select) or source.is_star:
            continue
        names = [item.alias_or_name.lower() for item in source.expressions]
        if part.node.name.lower() not in names:
            continue
        place = names.index(part.node.name.lower())
        branches = [branch for branch in branches_of(source) if place < len(branch.expressions)]
        made = [_Part(branch.expressions[place].unalias(), scope_of(branch, part.scope.catalog)) for branch in branches]
        made = [item for item in made if not isinstance(_bare(item.node), exp.Null)]
        return made[0] if len(made) == 1 else None
    return None


def _text(part: _Part) -> str:
    """Return an expression as text by which two are compared: columns by their table, whatever it is called in the query."""
    copied = part.node.copy()
    for column in [copied] if isinstance(copied, exp.Column) else list(copied.find_all(exp.Column)):
        origin = part.scope.origin(column)
        name = exp.column(column.name.lower(), table=origin[0].name.lower() if origin else None)
        if column is copied:
            return name.sql()
        column.replace(name)
    return copied.sql()


def _unit(part: _Part) -> str:
    node = _bare(part.node)
    origin = part.scope.origin(node) if isinstance(node, exp.Column) else None
    return next(iter(origin[1].unit.values()), "") if origin is not None else ""


def _factors(node: exp.Expr) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """Return what is multiplied and what it is divided by."""
    node = _bare(node)
    if isinstance(node, exp.Mul):
        one, other = _factors(node.this), _factors(node.expression)
        return one[0] + other[0], one[1] + other[1]
    if isinstance(node, exp.Div | exp.SafeDivide):
        one, other = _factors(node.this), _factors(node.expression)
        return one[0] + other[1], one[1] + other[0]
    return [node], []


def _results(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Case):
        parts = [branch.args["true"] for branch in node.args.get("ifs") or ()] + [node.args.get("default")]
    else:
        parts = [node.args.get("true"), node.args.get("false")]
    given = [part for part in parts if isinstance(part, exp.Expr)]
    return [part for part in given if _number(part) != 0 and not isinstance(_bare(part), exp.Null)]


def _number(node: exp.Expr) -> float | None:
    node = _bare(node)
    is_number = isinstance(node, exp.Literal) and not node.is_string
    return float(node.name) if is_number else None


def _function_name(node: exp.Expr) -> str:
    inner = node.this if isinstance(node, exp.Window) else node
    name = inner.name if isinstance(inner, exp.Anonymous) else inner.sql_name() if isinstance(inner, exp.Func) else ""
    return name.lower()


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, _TRANSPARENT) and isinstance(node.this, exp.Expr):
        node = node.this
    return node
