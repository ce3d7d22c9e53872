"""Cutting dates to periods and moving them, in each dialect: SQL by table, and the same for dates that are known."""

from __future__ import annotations

import calendar as months
from datetime import date, timedelta
from functools import lru_cache
from typing import Final, Literal

import sqlglot
from sqlglot import exp

from querybus.core.catalog import Dialect
from querybus.sql.parse import GRAMMARS
from querybus_semantic.layer.definitions import Calendar, Grain, Type
from querybus_semantic.layer.refusal import Code, RefusedError

_X: Final = "querybus_x"
_Y: Final = "querybus_y"
_DAYS: Final = {Grain.DAY: 1, Grain.WEEK: 7}
_MONTHS: Final = {Grain.MONTH: 1, Grain.QUARTER: 3, Grain.YEAR: 12, Grain.FISCAL_QUARTER: 3, Grain.FISCAL_YEAR: 12}

# How each dialect cuts {x} to the start of a period; "week" begins on Monday, "sunday" weeks on Sunday.
_TRUNCATED: Final[dict[Dialect, dict[str, str]]] = {
    Dialect.SQLITE: {
        "hour": "strftime('%Y-%m-%d %H:00:00', {x})",
        "day": "date({x})",
        "week": "date({x}, 'weekday 0', '-6 days')",
        "sunday": "date({x}, 'weekday 6', '-6 days')",
        "month": "date({x}, 'start of month')",
        "quarter": "date({x}, 'start of month', "
        "CAST(-((CAST(strftime('%m', {x}) AS INTEGER) - 1) % 3) AS TEXT) || ' months')",
        "year": "date({x}, 'start of year')",
    },
    Dialect.MYSQL: {
        "hour": "CAST(DATE_FORMAT({x}, '%Y-%m-%d %H:00:00') AS DATETIME)",
        "day": "DATE({x})",
        "week": "DATE_SUB(DATE({x}), INTERVAL (WEEKDAY({x})) DAY)",
        "sunday": "DATE_SUB(DATE({x}), INTERVAL (DAYOFWEEK({x}) - 1) DAY)",
        "month": "DATE_SUB(DATE({x}), INTERVAL (DAYOFMONTH({x}) - 1) DAY)",
        "quarter": "DATE_SUB(DATE_SUB(DATE({x}), INTERVAL (DAYOFMONTH({x}) - 1) DAY), INTERVAL ((MONTH({x}) - 1) % 3) MONTH)",
        "year": "DATE_SUB(DATE({x}), INTERVAL (DAYOFYEAR({x}) - 1) DAY)",
    },
    Dialect.CLICKHOUSE: {
        "hour": "toStartOfHour({x})",
        "day": "toDate({x})",
        "week": "toMonday({x})",
        "sunday": "toStartOfWeek({x})",
        "month": "toStartOfMonth({x})",
        "quarter": "toStartOfQuarter({x})",
        "year": "toStartOfYear({x})",
    },
    Dialect.ORACLE: {
        "hour": "TRUNC({x}, 'HH24')",
        "day": "TRUNC({x}, 'DD')",
        "week": "TRUNC({x}, 'IW')",
        "sunday": "TRUNC({x} + 1, 'IW') - 1",
        "month": "TRUNC({x}, 'MM')",
        "quarter": "TRUNC({x}, 'Q')",
        "year": "TRUNC({x}, 'YYYY')",
    },
    Dialect.BIGQUERY: {
        "hour": "TIMESTAMP_TRUNC({x}, HOUR)",
        "day": "CAST({x} AS DATE)",
        "week": "DATE_TRUNC(CAST({x} AS DATE), WEEK(MONDAY))",
        "sunday": "DATE_TRUNC(CAST({x} AS DATE), WEEK(SUNDAY))",
        "month": "DATE_TRUNC(CAST({x} AS DATE), MONTH)",
        "quarter": "DATE_TRUNC(CAST({x} AS DATE), QUARTER)",
        "year": "DATE_TRUNC(CAST({x} AS DATE), YEAR)",
    },
}
_BY_DATE_TRUNC: Final = {
    "hour": "DATE_TRUNC('HOUR', {x})",
    "day": "CAST({x} AS DATE)",
    "week": "CAST(DATE_TRUNC('WEEK', {x}) AS DATE)",
    "sunday": "CAST(DATE_TRUNC('WEEK', {x} + INTERVAL '1 day') AS DATE) - 1",
    "month": "CAST(DATE_TRUNC('MONTH', {x}) AS DATE)",
    "quarter": "CAST(DATE_TRUNC('QUARTER', {x}) AS DATE)",
    "year": "CAST(DATE_TRUNC('YEAR', {x}) AS DATE)",
}
_TRUNCATED[Dialect.POSTGRESQL] = _BY_DATE_TRUNC
_TRUNCATED[Dialect.DUCKDB] = _BY_DATE_TRUNC
_TRUNCATED[Dialect.SNOWFLAKE] = _BY_DATE_TRUNC | {
    "sunday": "DATEADD(DAY, -1, DATE_TRUNC('WEEK', DATEADD(DAY, 1, CAST({x} AS DATE))))"
}

# The weekday of {x}, beginning with Monday: from 0 or from 1 on.
_WEEKDAYS: Final[dict[Dialect, tuple[str, int]]] = {
    Dialect.SQLITE: ("(CAST(strftime('%w', {x}) AS INTEGER) + 6) % 7", 0),
    Dialect.POSTGRESQL: ("EXTRACT(ISODOW FROM {x})", 1),
    Dialect.DUCKDB: ("EXTRACT(ISODOW FROM {x})", 1),
    Dialect.MYSQL: ("WEEKDAY({x})", 0),
    Dialect.CLICKHOUSE: ("toDayOfWeek({x})", 1),
    Dialect.ORACLE: ("TRUNC({x}) - TRUNC({x}, 'IW')", 0),
    Dialect.SNOWFLAKE: ("DAYOFWEEKISO({x})", 1),
    Dialect.BIGQUERY: ("MOD(EXTRACT(DAYOFWEEK FROM {x}) + 5, 7)", 0),
}
# Whole days from {x} to {y}.
_DAYS_BETWEEN: Final[dict[Dialect, str]] = {
    Dialect.SQLITE: "julianday(date({y})) - julianday(date({x}))",
    Dialect.POSTGRESQL: "CAST({y} AS DATE) - CAST({x} AS DATE)",
    Dialect.DUCKDB: "DATE_DIFF('DAY', CAST({x} AS DATE), CAST({y} AS DATE))",
    Dialect.MYSQL: "DATEDIFF({y}, {x})",
    Dialect.CLICKHOUSE: "dateDiff('day', {x}, {y})",
    Dialect.ORACLE: "TRUNC({y}) - TRUNC({x})",
    Dialect.SNOWFLAKE: "DATEDIFF(DAY, {x}, {y})",
    Dialect.BIGQUERY: "DATE_DIFF(CAST({y} AS DATE), CAST({x} AS DATE), DAY)",
}
# Where a moment is a number of days a second is no exact part of one: rounded, sixty minutes are sixty.
_MOMENTS_BETWEEN: Final[dict[Dialect, str]] = {
    Dialect.SQLITE: "ROUND((julianday({y}) - julianday({x})) * 86400) / {seconds}",
    Dialect.POSTGRESQL: "EXTRACT(EPOCH FROM {y} - {x}) / {seconds}",
    Dialect.DUCKDB: "DATE_DIFF('SECOND', {x}, {y}) / {seconds}",
    Dialect.MYSQL: "TIMESTAMPDIFF(SECOND, {x}, {y}) / {seconds}",
    Dialect.CLICKHOUSE: "dateDiff('second', {x}, {y}) / {seconds}",
    Dialect.ORACLE: "ROUND((CAST({y} AS DATE) - CAST({x} AS DATE)) * 86400) / {seconds}",
    Dialect.SNOWFLAKE: "DATEDIFF(SECOND, {x}, {y}) / {seconds}",
    Dialect.BIGQUERY: "TIMESTAMP_DIFF(CAST({y} AS TIMESTAMP), CAST({x} AS TIMESTAMP), SECOND) / {seconds}",
}
_SECONDS: Final = {"minutes": "60.0", "hours": "3600.0"}
_HOURS: Final[dict[Dialect, str]] = {
    Dialect.SQLITE: "CAST(strftime('%H', {x}) AS INTEGER)",
    Dialect.MYSQL: "HOUR({x})",
    Dialect.CLICKHOUSE: "toHour({x})",
    Dialect.ORACLE: "EXTRACT(HOUR FROM CAST({x} AS TIMESTAMP))",
    Dialect.SNOWFLAKE: "HOUR({x})",
}

# How each dialect adds {n} hours, days or months to {x}.
_SHIFTED: Final[dict[Dialect, dict[str, str]]] = {
    Dialect.SQLITE: {
        "hour": "strftime('%Y-%m-%d %H:%M:%S', {x}, '{n} hours')",
        "day": "date({x}, '{n} days')",
        "month": "date({x}, '{n} months')",
    },
    Dialect.POSTGRESQL: {
        "hour": "{x} + INTERVAL '{n} hour'",
        "day": "CAST({x} + INTERVAL '{n} day' AS DATE)",
        "month": "CAST({x} + INTERVAL '{n} month' AS DATE)",
    },
    Dialect.MYSQL: {
        "hour": "DATE_ADD({x}, INTERVAL ({n}) HOUR)",
        "day": "DATE_ADD({x}, INTERVAL ({n}) DAY)",
        "month": "DATE_ADD({x}, INTERVAL ({n}) MONTH)",
    },
    Dialect.CLICKHOUSE: {"hour": "addHours({x}, {n})", "day": "addDays({x}, {n})", "month": "addMonths({x}, {n})"},
    Dialect.ORACLE: {"hour": "{x} + ({n}) / 24", "day": "{x} + ({n})", "month": "ADD_MONTHS({x}, {n})"},
    Dialect.SNOWFLAKE: {
        "hour": "DATEADD(HOUR, {n}, {x})",
        "day": "DATEADD(DAY, {n}, {x})",
        "month": "DATEADD(MONTH, {n}, {x})",
    },
    Dialect.BIGQUERY: {
        "hour": "TIMESTAMP_ADD({x}, INTERVAL {n} HOUR)",
        "day": "DATE_ADD({x}, INTERVAL {n} DAY)",
        "month": "DATE_ADD({x}, INTERVAL {n} MONTH)",
    },
}
_SHIFTED[Dialect.DUCKDB] = _SHIFTED[Dialect.POSTGRESQL]


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
    table = _TRUNCATED[dialect]
    if grain in {Grain.FISCAL_YEAR, Grain.FISCAL_QUARTER}:
        back = calendar.fiscal_starts_month - 1
        plain = Grain.YEAR if grain is Grain.FISCAL_YEAR else Grain.QUARTER
        days = calendar.fiscal_starts_day - 1
        moved = shifted(shifted(value, -days, Grain.DAY, dialect), -back, Grain.MONTH, dialect)
        start = truncated(moved, plain, dialect, calendar)
        return shifted(shifted(start, back, Grain.MONTH, dialect), days, Grain.DAY, dialect)
    if grain is Grain.WEEK and calendar.week_starts:
        if calendar.week_starts == 6:
            return _filled(table["sunday"], dialect, value)
        moved = shifted(value, -calendar.week_starts, Grain.DAY, dialect)
        return shifted(_filled(table["week"], dialect, moved), calendar.week_starts, Grain.DAY, dialect)
    return _filled(table[grain.value], dialect, value)


def weekday(value: exp.Expr, dialect: Dialect) -> tuple[exp.Expr, int]:
    """Return the SQL for the number of a date's weekday, and which number a Monday has; the other days follow."""
    text, monday = _WEEKDAYS[dialect]
    return _filled(text, dialect, value), monday


def hour_of_day(value: exp.Expr, dialect: Dialect) -> exp.Expr:
    """Return the SQL for the hour, 0 to 23, of a moment."""
    return _filled(_HOURS.get(dialect, "EXTRACT(HOUR FROM {x})"), dialect, value)


def days_between(start: exp.Expr, end: exp.Expr, dialect: Dialect) -> exp.Expr:
    """Return the SQL for the whole days from one date to another."""
    return _filled(_DAYS_BETWEEN[dialect], dialect, start, end)


def time_between(start: exp.Expr, end: exp.Expr, unit: Literal["minutes", "hours"], dialect: Dialect) -> exp.Expr:
    """Return the SQL for the minutes or hours, with their parts, from one moment to another."""
    return _filled(_MOMENTS_BETWEEN[dialect].replace("{seconds}", _SECONDS[unit]), dialect, start, end)


def shifted(value: exp.Expr, count: int, unit: Grain, dialect: Dialect) -> exp.Expr:
    """Return the SQL for a date moved by `count` units; a whole number of months keeps the first of a month."""
    if not count:
        return value.copy()
    if unit is Grain.HOUR:
        kind, number = "hour", count
    elif unit in _DAYS:
        kind, number = "day", count * _DAYS[unit]
    else:
        kind, number = "month", count * _MONTHS[unit]
    signed = f"+{number}" if dialect is Dialect.SQLITE and number > 0 else str(number)
    return _filled(_SHIFTED[dialect][kind].replace("{n}", signed), dialect, value)


def portable(tree: exp.Expr, dialect: Dialect, calendar: Calendar) -> exp.Expr:
    """Return an owner's expression with dates cut and moved as the dialect does it, and known days as its literals."""
    if dialect is Dialect.SQLITE:
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
    if dialect is Dialect.SQLITE or kind is Type.TEXT:
        return text
    moment = kind is Type.DATETIME and dialect in {Dialect.BIGQUERY, Dialect.POSTGRESQL}
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
