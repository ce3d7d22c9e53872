"""Dates and casts that other dialects compute, in what SQLite has: DATE, DATETIME, STRFTIME and JULIANDAY.

Each takes one node of a tree that was read as SQLite and returns what stands for it, or None where SQLite has it so
or where what is meant is not certain.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from sqlglot import exp

_UNITS: Final = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
"""Months of a unit."""
_DAYS: Final = {"WEEK": 7, "DAY": 1}
_SECONDS: Final = {"HOUR": 3600, "MINUTE": 60, "SECOND": 1}
_STARTS: Final = {"YEAR": ("start of year",), "MONTH": ("start of month",), "DAY": (), "WEEK": ("-6 days", "weekday 1")}
_ISO_FORMS: Final = frozenset({"YYYY-MM-DD", "%Y-%m-%d"})
_TEXT_TYPES: Final = ("VARCHAR", "NVARCHAR", "CHAR", "TEXT", "STRING")


def in_sqlite(node: exp.Expr) -> exp.Expr | None:
    """Return what SQLite computes for this node of another dialect, or None."""
    for kinds, make in _MADE:
        if isinstance(node, kinds):
            return make(node)
    return None


def _shifted(node: Any) -> exp.Expr | None:
    """Return a date plus or minus an interval as DATE(x, '-30 day')."""
    interval = node.expression
    if not isinstance(interval, exp.Interval) or not isinstance(interval.this, exp.Literal):
        return None
    text = f"{interval.this.name} {interval.unit.name if interval.unit is not None else ''}".strip().lower()
    parts = re.findall(r"(-?\d+)\s*([a-z]+?)s?(?=\s|$)", text)
    if not parts or re.sub(r"(-?\d+)\s*([a-z]+)", "", text).strip():
        return None
    is_minus = isinstance(node, exp.Sub | exp.DateSub)
    modifiers: list[exp.Expr] = []
    for count, unit in parts:
        number = -int(count) if is_minus else int(count)
        scaled = {"week": ("day", 7), "quarter": ("month", 3)}.get(unit, (unit, 1))
        if scaled[0].upper() not in {*_UNITS, *_DAYS, *_SECONDS}:
            return None
        modifiers.append(exp.Literal.string(f"{number * scaled[1]:+d} {scaled[0]}"))
    has_time = (
        isinstance(node.this, exp.CurrentTimestamp)
        or _is_now(node.this)
        or any(unit.upper() in _SECONDS for _, unit in parts)
    )
    return _function("DATETIME" if has_time else "DATE", _unwrapped(node.this), *modifiers)


def _truncated(node: Any) -> exp.Expr | None:
    unit = _unit(node.args.get("unit"))
    value = _unwrapped(node.this)
    if unit == "QUARTER":
        month = exp.Paren(this=exp.Sub(this=_number("%m", value), expression=exp.Literal.number(1)))
        back = exp.DPipe(
            this=exp.DPipe(
                this=exp.Literal.string("-"),
                expression=exp.Paren(this=exp.Mod(this=month, expression=exp.Literal.number(3))),
            ),
            expression=exp.Literal.string(" month"),
        )
        return _function("DATE", value, exp.Literal.string("start of month"), back)
    if unit not in _STARTS:
        return None
    return _function("DATE", value, *(exp.Literal.string(item) for item in _STARTS[unit]))


def _difference(node: Any) -> exp.Expr | None:
    """Return the days, months or years between two dates: DATEDIFF(a, b) of MySQL, DATEDIFF(unit, a, b) of others."""
    first, second, third = node.this, node.expression, node.args.get("unit")
    if third is None:
        return _days(_unwrapped(first), _unwrapped(second))
    unit = _unit(first)
    start, end = _unwrapped(second), _unwrapped(third)
    if unit in _DAYS:
        days = _days(end, start)
        return (
            days if unit == "DAY" else exp.Paren(this=exp.Div(this=days, expression=exp.Literal.number(7), typed=True))
        )
    # MySQL's counts whole years and months, the DATEDIFF of others how often one begins.
    is_whole = isinstance(node, exp.TimestampDiff)
    if unit == "YEAR":
        begun: exp.Expr = exp.Sub(this=_number("%Y", end), expression=_number("%Y", start))
        return exp.Paren(this=_whole(begun, "%m-%d", end, start) if is_whole else begun)
    if unit == "MONTH":
        years = exp.Paren(this=exp.Sub(this=_number("%Y", end), expression=_number("%Y", start)))
        months = exp.Paren(this=exp.Sub(this=_number("%m", end), expression=_number("%m", start)))
        whole = exp.Add(this=exp.Mul(this=years, expression=exp.Literal.number(12)), expression=months)
        return exp.Paren(this=_whole(whole, "%d", end, start) if is_whole else whole)
    return None


def _whole(begun: exp.Expr, rest: str, end: exp.Expr, start: exp.Expr) -> exp.Expr:
    """Return a number of begun units less the last one, where the rest of the end lies before that of the start."""
    later, earlier = (_function("STRFTIME", exp.Literal.string(rest), value.copy()) for value in (end, start))
    return exp.Sub(this=begun, expression=exp.Paren(this=exp.LT(this=later, expression=earlier)))


def _quarter(node: Any) -> exp.Expr | None:
    if isinstance(node, exp.Extract) and node.name.upper() != "QUARTER":
        return None
    value = node.expression if isinstance(node, exp.Extract) else node.this
    whole = exp.Add(this=_number("%m", _unwrapped(value)), expression=exp.Literal.number(2))
    return exp.Paren(this=exp.Div(this=exp.Paren(this=whole), expression=exp.Literal.number(3), typed=True))


def _parsed(node: Any) -> exp.Expr | None:
    """Return TO_DATE('2024-01-01', 'YYYY-MM-DD') as DATE('2024-01-01')."""
    arguments = node.expressions if isinstance(node, exp.Anonymous) else [node.this, node.args.get("format")]
    if isinstance(node, exp.Anonymous) and node.name.upper() in ("DATEPART", "DATE_PART") and len(arguments) == 2:
        unit = _unit(arguments[0])
        pattern = {"YEAR": "%Y", "MONTH": "%m", "DAY": "%d", "HOUR": "%H", "MINUTE": "%M", "SECOND": "%S"}.get(unit)
        return None if pattern is None else _number(pattern, _unwrapped(arguments[1]))
    if isinstance(node, exp.Anonymous) and node.name.upper() not in ("TO_DATE", "STR_TO_DATE", "PARSE_DATE"):
        return None
    if len(arguments) != 2:
        return None
    formats = [item for item in arguments if isinstance(item, exp.Literal) and item.name in _ISO_FORMS]
    values = [item for item in arguments if item not in formats]
    return _function("DATE", values[0].copy()) if len(values) == 1 else None


def _cast(node: exp.Cast) -> exp.Expr | None:
    """Return a cast to a moment as DATETIME, which SQLite's CAST would make a number, and CONVERT(type, x) as a cast."""
    kind = node.to
    if isinstance(node.this, exp.Column) and kind.this == exp.DataType.Type.USERDEFINED and not node.this.table:
        name = node.this.name.upper()
        value = exp.column(str(kind.args.get("kind") or ""))
        if name in _TEXT_TYPES and value.name:
            return exp.Cast(this=value, to=exp.DataType.build("text"))
        return None
    if kind.this in (exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPTZ, exp.DataType.Type.DATETIME):
        return _function("DATETIME", node.this.copy())
    return None


def _national(node: exp.National) -> exp.Expr:
    return exp.Literal.string(node.name)


_MADE: Final[tuple[tuple[tuple[type[exp.Expr], ...], Callable[[Any], exp.Expr | None]], ...]] = (
    ((exp.Sub, exp.Add, exp.DateSub, exp.DateAdd), _shifted),
    ((exp.DateTrunc, exp.TimestampTrunc), _truncated),
    ((exp.DateDiff, exp.TimestampDiff), _difference),
    ((exp.Quarter, exp.Extract), _quarter),
    ((exp.StrToDate, exp.Anonymous), _parsed),
    ((exp.Cast,), _cast),
    ((exp.National,), _national),
)


def _is_now(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() in ("NOW", "GETDATE", "SYSDATE")


def _unit(node: exp.Expr | None) -> str:
    return node.name.upper().removesuffix("S") if node is not None else ""


def _unwrapped(node: exp.Expr) -> exp.Expr:
    """Return a date without what the parser wrapped it in, and the moment that others call NOW() as SQLite spells it."""
    while isinstance(node, exp.TsOrDsToDate) or (isinstance(node, exp.Cast) and node.to.this == exp.DataType.Type.DATE):
        node = node.this
    if isinstance(node, exp.CurrentDate) or (isinstance(node, exp.Anonymous) and node.name.upper() in _TODAY):
        return exp.Literal.string("now")
    if isinstance(node, exp.CurrentTimestamp) or _is_now(node):
        return exp.Literal.string("now")
    return node.copy()


_TODAY: Final = ("CURDATE", "TODAY")


def _days(end: exp.Expr, start: exp.Expr) -> exp.Expr:
    """Return the whole days between two dates: their times of day do not count."""
    later, earlier = (_function("JULIANDAY", _function("DATE", item)) for item in (end, start))
    return exp.Cast(this=exp.Paren(this=exp.Sub(this=later, expression=earlier)), to=exp.DataType.build("int"))


def _number(pattern: str, value: exp.Expr) -> exp.Expr:
    return exp.Cast(this=_function("STRFTIME", exp.Literal.string(pattern), value.copy()), to=exp.DataType.build("int"))


def _function(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))
