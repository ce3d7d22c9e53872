"""Recursive WITH tables whose end cannot be seen in the text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Final

from sqlglot import exp

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.sql.facts import fold_of
from querybus.sql.guard.rules import Rule, refuse

RECURSION_BOUND_MAX: Final = 100_000


_COLUMN_VALUE: Final = 100.0


_COLUMN_LENGTH: Final = 100.0


_DIFFERENCE: Final = 100_000.0
"""Of two moments, one of them stored, in hours or longer units: ten years of hours."""
_COARSE_UNITS: Final = frozenset({"HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"})
_TO_NUMBER: Final = re.compile(r"to_?(u?int\d*|integer|number|float\d*|decimal\d*)", re.IGNORECASE)


_SIZED: Final[dict[str, int]] = {
    "lpad": 1,
    "rpad": 1,
    "leftpad": 1,
    "rightpad": 1,
    "leftpadutf8": 1,
    "rightpadutf8": 1,
    "repeat": 1,
    "space": 0,
    "zeroblob": 0,
    "randomblob": 0,
    "bar": 3,
    "tofixedstring": 1,
}
"""Functions known by name, with the place of the argument that says how large the result is."""


def cost(rule: Rule, detail: str, name: str | None = None) -> Failure:
    return refuse(FailureCode.COST, rule, detail, name)


def size_argument(node: exp.Expr) -> exp.Expr | None:
    if isinstance(node, exp.Repeat):
        return node.args.get("times")
    if isinstance(node, exp.Pad):
        return node.args.get("expression")
    if isinstance(node, exp.Space):
        return node.this
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
        at = _SIZED.get(str(node.this).lower())
        if at is not None and len(node.expressions) > at:
            return node.expressions[at]
    return None


def extent(node: object) -> float:
    """Return an upper guess of a number's value; infinity where nothing can be said."""
    match node:
        case exp.Literal():
            try:
                return abs(float(node.name.replace("_", "")))
            except ValueError:
                return math.inf if node.is_string else 1.0
        case exp.Column():
            return _COLUMN_VALUE
        case exp.Paren() | exp.Neg() | exp.Cast() | exp.TryCast() | exp.Abs() | exp.Round() | exp.Floor() | exp.Ceil():
            return extent(node.this)
        case exp.Add():
            return extent(node.this) + extent(node.expression)
        case exp.Mul():
            return extent(node.this) * extent(node.expression)
        case exp.Sub() | exp.Div() | exp.IntDiv():
            return extent(node.this) + (extent(node.expression) if isinstance(node, exp.Sub) else 0)
        case exp.Mod():
            return extent(node.expression)
        case exp.Length():
            return length(node.this)
        case exp.Least():
            return min(extent(item) for item in (node.this, *node.expressions))
        case exp.Greatest() | exp.Coalesce():
            return max(extent(item) for item in (node.this, *node.expressions))
        case exp.Case():
            results = [condition.args.get("true") for condition in node.args.get("ifs") or ()]
            return max(
                (extent(result) for result in (*results, node.args.get("default")) if result is not None), default=0
            )
        case exp.If():
            return max(extent(node.args.get("true")), extent(node.args.get("false") or exp.Null()))
        case exp.Null() | exp.Boolean():
            return 1.0
        case exp.DateDiff() | exp.TimestampDiff() | exp.DatetimeDiff():
            is_coarse = str(node.args.get("unit") or "").strip("'\"").upper() in _COARSE_UNITS
            return _DIFFERENCE if is_coarse and node.find(exp.Column) is not None else math.inf
        case exp.Anonymous() if _TO_NUMBER.fullmatch(str(node.this)) and len(node.expressions) == 1:
            return extent(node.expressions[0])
        case exp.Count() | exp.Sum() | exp.Max() | exp.Min() | exp.Avg() | exp.Extract() | exp.Year() | exp.Month():
            return _COLUMN_VALUE
        case _:
            return math.inf


def length(node: object) -> float:
    """Return an upper guess of a text's length in characters."""
    match node:
        case exp.Literal():
            return float(len(node.name))
        case exp.Repeat():
            return length(node.this) * extent(node.args.get("times"))
        case exp.Pad():
            return extent(node.args.get("expression"))
        case exp.Space():
            return extent(node.this)
        case exp.Replace():
            replacement = node.args.get("replacement")
            return length(node.this) * max(1.0, length(replacement) if replacement is not None else 1.0)
        case exp.DPipe():
            return length(node.this) + length(node.expression)
        case exp.Concat() | exp.ConcatWs():
            return sum(length(expression) for expression in node.expressions)
        case exp.Hex():
            return 2 * length(node.this)
        case exp.Anonymous():
            size = size_argument(node)
            if size is None:
                return sum((length(expression) for expression in node.expressions), _COLUMN_LENGTH)
            return extent(size) * (length(node.expressions[0]) if str(node.this).lower() == "repeat" else 1)
        case exp.Paren() | exp.Upper() | exp.Lower() | exp.Cast():
            return length(node.this)
        case _:
            return _COLUMN_LENGTH


def recursion(cte: exp.CTE, dialect: Dialect) -> Failure | None:
    body, name = cte.this, fold_of(cte.args["alias"].this, dialect)
    if not isinstance(body, exp.SetOperation):
        return None
    for arm in _arms(body):
        tables = [table for table in arm.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
        uses = [table for table in tables if fold_of(table.this, dialect) == name]
        if not uses:
            continue
        if len(uses) > 1:
            return cost(Rule.RECURSION, "a recursion that refers to itself more than once", cte.alias)
        refusal = _endless(arm, body, alone=len(tables) == 1)
        if refusal is not None:
            return refuse(FailureCode.COST, Rule.RECURSION, refusal, cte.alias)
    return None


def _endless(arm: exp.Expr, body: exp.SetOperation, *, alone: bool) -> str | None:
    """Return what is wrong with the recursive part of a WITH; `alone`: it reads nothing but itself."""
    limit = body.args.get("limit")
    if limit is not None:
        return None if extent(limit.args.get("expression")) <= RECURSION_BOUND_MAX else "a recursion of too many rows"
    conditions = _conditions(arm)
    for number in (bounding_number for condition in conditions for bounding_number in bounding_numbers(condition)):
        if extent(number) > RECURSION_BOUND_MAX:
            return f"a recursion of more than {RECURSION_BOUND_MAX:,} steps"
    if alone and not _changes(arm) and body.args.get("distinct") is False:
        return "a recursion that repeats itself"
    if alone and body.args.get("distinct") is not False and _repeats(arm):
        return None
    if any(_holds(condition, _is_not_empty) for condition in conditions) and _shortens(arm):
        return None
    is_bound = _is_upper_bound if alone and _only_grows(arm) else _is_comparison
    return None if any(_holds(condition, is_bound) for condition in conditions) else "a recursion without an end"


def _conditions(arm: exp.Expr) -> list[exp.Expr]:
    """Return the conditions under which the recursion goes on; a join by USING or NATURAL counts as one."""
    nodes: list[exp.Expr] = [condition.this for condition in arm.find_all(exp.Where)]
    for join in arm.find_all(exp.Join):
        if isinstance(join.args.get("on"), exp.Expr):
            nodes.append(join.args["on"])
        elif join.args.get("using") or join.args.get("method") == "NATURAL":
            nodes.append(exp.EQ(this=exp.column("a"), expression=exp.column("b")))
    return nodes


def _holds(condition: exp.Expr, test: Callable[[exp.Expr], bool]) -> bool:
    """Return whether one conjunct, and every way through an OR, passes the test."""
    if isinstance(condition, exp.Paren):
        return _holds(condition.this, test)
    if isinstance(condition, exp.And):
        return _holds(condition.this, test) or _holds(condition.expression, test)
    if isinstance(condition, exp.Or):
        return _holds(condition.this, test) and _holds(condition.expression, test)
    return test(condition)


def _is_comparison(node: exp.Expr) -> bool:
    inner = node.this if isinstance(node, exp.Not) else node
    return (
        isinstance(inner, exp.Predicate | exp.RegexpLike | exp.Between | exp.In)
        and not isinstance(inner, exp.Is | exp.NEQ)
        and inner.find(exp.Column) is not None
    )


def _is_upper_bound(node: exp.Expr) -> bool:
    if isinstance(node, exp.LT | exp.LTE):
        return node.this.find(exp.Column) is not None
    if isinstance(node, exp.GT | exp.GTE):
        return node.expression.find(exp.Column) is not None
    return isinstance(node, exp.Between | exp.In | exp.EQ | exp.Exists) and node.find(exp.Column) is not None


def _changes(arm: exp.Expr) -> bool:
    return any(
        not isinstance(expression.unalias(), exp.Column | exp.Literal | exp.Star) for expression in arm.expressions
    )


def _repeats(arm: exp.Expr) -> bool:
    """Return whether the values of an arm are few, so that UNION ends it once no new row comes: `(x * 3) % 7`."""
    outputs = [expression.unalias() for expression in arm.expressions]
    return bool(outputs) and all(
        isinstance(output, exp.Column | exp.Literal | exp.Null)
        or (isinstance(output, exp.Mod) and extent(output.expression) <= RECURSION_BOUND_MAX)
        for output in outputs
    )


def _is_not_empty(node: exp.Expr) -> bool:
    """Return whether a condition is that a text is left: `rest <> ''`."""
    return (
        isinstance(node, exp.NEQ)
        and isinstance(node.this, exp.Column)
        and isinstance(node.expression, exp.Literal)
        and not node.expression.name
    )


def _shortens(arm: exp.Expr) -> bool:
    """Return whether an arm takes a text apart: one of its values is the end of a column's text."""
    outputs = (expression.unalias() for expression in arm.expressions)
    return any(
        isinstance(output, exp.Substring) and isinstance(output.this, exp.Column) and output.args.get("length") is None
        for output in outputs
    )


def _only_grows(arm: exp.Expr) -> bool:
    nodes = [node for expression in arm.expressions for node in expression.walk()]
    return any(isinstance(node, exp.Add | exp.Mul | exp.DPipe | exp.Concat) for node in nodes) and not any(
        isinstance(node, exp.Sub) for node in nodes
    )


def _arms(body: exp.Expr) -> list[exp.Expr]:
    arms: list[exp.Expr] = []
    stack = [body]
    while stack:
        arm = stack.pop()
        if isinstance(arm, exp.SetOperation):
            stack.extend((arm.this, arm.expression))
        else:
            arms.append(arm)
    return arms


def bounding_numbers(node: exp.Expr) -> list[exp.Expr]:
    return [
        side
        for item in node.find_all(exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
        for side in (item.this, item.args.get("expression"), item.args.get("high"))
        if isinstance(side, exp.Expr) and side.find(exp.Column, exp.Query) is None and _is_numeric(side)
    ]


def _is_numeric(node: exp.Expr) -> bool:
    return any(isinstance(item, exp.Literal) and not item.is_string for item in node.walk()) and not isinstance(
        node, exp.Func
    )
