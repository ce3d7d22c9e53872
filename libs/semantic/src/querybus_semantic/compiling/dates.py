"""Cutting dates to periods and moving them: SQL by the engine's forms, and the same for dates that are known."""

from __future__ import annotations

import calendar as months
from datetime import date, timedelta
from functools import lru_cache
from typing import Final, Literal

import sqlglot
from sqlglot import exp

from querybus.core.catalog import Dialect
from querybus.engines import ENGINES
from querybus.sql.parse import GRAMMARS
from querybus_semantic.compiling.forms import FORMS
from querybus_semantic.layer.definitions import Calendar, Grain, Type
from querybus_semantic.layer.refusal import Code, RefusedError

_X: Final = "querybus_x"
_Y: Final = "querybus_y"
_DAYS: Final = {Grain.DAY: 1, Grain.WEEK: 7}
_MONTHS: Final = {Grain.MONTH: 1, Grain.QUARTER: 3, Grain.YEAR: 12, Grain.FISCAL_QUARTER: 3, Grain.FISCAL_YEAR: 12}

_SECONDS: Final = {"minutes": "60.0", "hours": "3600.0"}


@lru_cache(maxsize=512)
def _template(text: str, dialect: Dialect) -> exp.Expr:
    return sqlglot.parse_one(text, dialect=GRAMMARS[dialect])


def _filled(text: str, dialect: Dialect, value: exp.Expr, other: exp.Expr | None = None) -> exp.Expr:
    tree = _template(text.replace("{x}", _X).replace("{y}", _Y), dialect).copy()
    for column in list(tree.find_all(exp.Column)):
        if column.name == _X:
            if column is tree:
                return value.copy()
            column.replace(value.copy())
        elif column.name == _Y and other is not None:
            column.replace(other.copy())
    return tree


def truncated(value: exp.Expr, grain: Grain, dialect: Dialect, calendar: Calendar) -> exp.Expr:
    """Return the SQL for the first moment of the period that a date lies in."""
    starts = FORMS[dialect].starts
    if grain in {Grain.FISCAL_YEAR, Grain.FISCAL_QUARTER}:
        back = calendar.fiscal_starts_month - 1
        plain = Grain.YEAR if grain is Grain.FISCAL_YEAR else Grain.QUARTER
        days = calendar.fiscal_starts_day - 1
        moved = shifted(shifted(value, -days, Grain.DAY, dialect), -back, Grain.MONTH, dialect)
        start = truncated(moved, plain, dialect, calendar)
        return shifted(shifted(start, back, Grain.MONTH, dialect), days, Grain.DAY, dialect)
    if grain is Grain.WEEK and calendar.week_starts:
        if calendar.week_starts == 6:
            return _filled(starts.sunday, dialect, value)
        moved = shifted(value, -calendar.week_starts, Grain.DAY, dialect)
        return shifted(_filled(starts.week, dialect, moved), calendar.week_starts, Grain.DAY, dialect)
    return _filled(getattr(starts, grain.value), dialect, value)


def weekday(value: exp.Expr, dialect: Dialect) -> tuple[exp.Expr, int]:
    """Return the SQL for the number of a date's weekday, and which number a Monday has; the other days follow."""
    forms = FORMS[dialect]
    return _filled(forms.weekday, dialect, value), forms.monday


def hour_of_day(value: exp.Expr, dialect: Dialect) -> exp.Expr:
    """Return the SQL for the hour, 0 to 23, of a moment."""
    return _filled(FORMS[dialect].hour_of_day, dialect, value)


def days_between(start: exp.Expr, end: exp.Expr, dialect: Dialect) -> exp.Expr:
    """Return the SQL for the whole days from one date to another."""
    return _filled(FORMS[dialect].days_between, dialect, start, end)


def time_between(start: exp.Expr, end: exp.Expr, unit: Literal["minutes", "hours"], dialect: Dialect) -> exp.Expr:
    """Return the SQL for the minutes or hours, with their parts, from one moment to another."""
    return _filled(FORMS[dialect].time_between.replace("{seconds}", _SECONDS[unit]), dialect, start, end)


def shifted(value: exp.Expr, count: int, unit: Grain, dialect: Dialect) -> exp.Expr:
    """Return the SQL for a date moved by `count` units; a whole number of months keeps the first of a month."""
    if not count:
        return value.copy()
    if unit is Grain.HOUR:
        form, number = FORMS[dialect].add_hours, count
    elif unit in _DAYS:
        form, number = FORMS[dialect].add_days, count * _DAYS[unit]
    else:
        form, number = FORMS[dialect].add_months, count * _MONTHS[unit]
    return _filled(form.replace("{+n}", f"{number:+}").replace("{n}", str(number)), dialect, value)


def portable(tree: exp.Expr, dialect: Dialect, calendar: Calendar) -> exp.Expr:
    """Return an owner's expression with dates cut and moved as the dialect does it, and known days as its literals."""
    if ENGINES[dialect].dates_are_text:
        for node in list(tree.find_all(exp.Cast)):
            if isinstance(node.this, exp.Literal) and node.to.is_type("date", "timestamp", "datetime"):
                if node is tree:
                    return node.this
                node.replace(node.this.copy())
    for node in list(tree.find_all(exp.Add, exp.Sub)):
        count = _interval(node.expression)
        if count is None:
            continue
        number, grain = count
        new = shifted(node.this, -number if isinstance(node, exp.Sub) else number, grain, dialect)
        if node is tree:
            return new
        node.replace(new)
    for node in list(tree.find_all(exp.DateTrunc, exp.TimestampTrunc)):
        unit = node.args["unit"].name.lower() if node.args.get("unit") is not None else ""
        if unit not in set(Grain):
            raise RefusedError(Code.UNSUPPORTED, f"Dates cannot be cut to `{unit}`.")
        new = truncated(node.this.copy(), Grain(unit), dialect, calendar)
        if node is tree:
            return new
        node.replace(new)
    return tree


def _interval(node: exp.Expr) -> tuple[int, Grain] | None:
    """Return a whole number of units: INTERVAL '90' DAY, INTERVAL '3 months'."""
    if not isinstance(node, exp.Interval) or not isinstance(node.this, exp.Literal) or node.args.get("unit") is None:
        return None
    unit = node.args["unit"].name.lower().removesuffix("s")
    if not node.this.name.isdecimal() or unit not in set(Grain):
        return None
    return int(node.this.name), Grain(unit)


def literal(day: date, kind: Type, dialect: Dialect) -> exp.Expr:
    """Return the SQL of a known day, comparable with a column of that type."""
    text = exp.Literal.string(day.isoformat())
    if ENGINES[dialect].dates_are_text or kind is Type.TEXT:
        return text
    moment = kind is Type.DATETIME and FORMS[dialect].compares_moments_with_moments
    return exp.Cast(this=text, to=(exp.DType.TIMESTAMP if moment else exp.DType.DATE).into_expr())


def start_of(day: date, grain: Grain, calendar: Calendar) -> date:
    """Return the first day of the period that a day lies in. Hours have no day: RefusedError."""
    if grain is Grain.HOUR:
        raise RefusedError(Code.UNSUPPORTED, "Hours cannot be listed one by one; ask by day.")
    if grain is Grain.DAY:
        return day
    if grain is Grain.WEEK:
        return day - timedelta(days=(day.weekday() - calendar.week_starts) % 7)
    if grain in {Grain.FISCAL_YEAR, Grain.FISCAL_QUARTER}:
        length = _MONTHS[grain]
        year, months_since = day.year, day.month - calendar.fiscal_starts_month
        if months_since == 0 and day.day < calendar.fiscal_starts_day:
            months_since -= 1
        start = date(year, calendar.fiscal_starts_month, calendar.fiscal_starts_day)
        return moved(start, months_since // length * length, Grain.MONTH)
    length = _MONTHS[grain]
    return date(day.year, (day.month - 1) // length * length + 1, 1)


def moved(day: date, count: int, unit: Grain) -> date:
    """Return a day moved by `count` units; a day that a month does not have becomes its last."""
    if unit in _DAYS:
        return day + timedelta(days=count * _DAYS[unit])
    if unit is Grain.HOUR:
        raise RefusedError(Code.UNSUPPORTED, "A day cannot be moved by hours.")
    year, month = divmod(day.year * 12 + day.month - 1 + count * _MONTHS[unit], 12)
    return date(year, month + 1, min(day.day, months.monthrange(year, month + 1)[1]))


def starts_between(start: date, until: date, grain: Grain, calendar: Calendar, count_max: int) -> list[date]:
    """Return the starts of all periods that touch [start, until). More than `count_max`: RefusedError."""
    result: list[date] = []
    day = start_of(start, grain, calendar)
    while day < until:
        if len(result) >= count_max:
            raise RefusedError(
                Code.TOO_MUCH, f"The period has more than {count_max} steps by {grain}; ask for coarser steps."
            )
        result.append(day)
        day = moved(day, 1, grain)
    return result
