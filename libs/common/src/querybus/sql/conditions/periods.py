"""The period that a condition on dates stands for, and the unit of time that a calculation takes of a date.

A period is half open: the first day, and the day behind the last.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from sqlglot import exp

_DATE: Final = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{2}:\d{2})(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
)
_FORMATS: Final = {
    "%Y": "year",
    "%Y-%m": "month",
    "%Y%m": "month",
    "%Y/%m": "month",
    "%Y-%m-%d": "day",
    "%m": "month_of_year",
    "%w": "weekday",
    "%u": "weekday",
    "%H": "hour",
    "%Y-%W": "week",
    "%Y-%V": "week",
    "%G-%V": "week",
}
_SUBSTRINGS: Final = {(1, 4): "year", (1, 7): "month", (1, 10): "day", (6, 2): "month_of_year"}
_UNITS: Final = {
    "YEAR": "year",
    "YYYY": "year",
    "QUARTER": "quarter",
    "Q": "quarter",
    "MONTH": "month",
    "MM": "month",
    "WEEK": "week",
    "IW": "week",
    "ISOWEEK": "week",
    "DAY": "day",
    "DD": "day",
    "HOUR": "hour",
}
_PARTS: Final = {
    "YEAR": "year",
    "QUARTER": "quarter_of_year",
    "MONTH": "month_of_year",
    "WEEK": "week_of_year",
    "DOW": "weekday",
    "ISODOW": "weekday",
    "DAYOFWEEK": "weekday",
    "HOUR": "hour",
    "DAY": "day_of_month",
}
_NODES: Final[dict[type[exp.Expr], str]] = {
    exp.Year: "year",
    exp.Quarter: "quarter_of_year",
    exp.Month: "month_of_year",
    exp.DayOfWeek: "weekday",
    exp.DayOfWeekIso: "weekday",
    exp.Hour: "hour",
    exp.Date: "day",
    exp.TsOrDsToDate: "day",
}
_CLICKHOUSE: Final = {
    "toyear": "year",
    "tomonth": "month_of_year",
    "toyyyymm": "month",
    "toquarter": "quarter_of_year",
    "todayofweek": "weekday",
    "weekday": "weekday",
    "todate": "day",
    "tohour": "hour",
}
_WRAPPERS: Final = (exp.Cast, exp.TryCast, exp.TsOrDsToTimestamp, exp.Paren)


@dataclass(frozen=True, slots=True)
class Period:
    """From a day up to, not including, another; None: open on that side."""

    begin: date | None = None
    end: date | None = None

    def cut(self, other: Period) -> Period:
        """Return what is in both."""
        begins = [item.begin for item in (self, other) if item.begin is not None]
        ends = [item.end for item in (self, other) if item.end is not None]
        return Period(max(begins, default=None), min(ends, default=None))


def unit_of(node: exp.Expr) -> tuple[str, exp.Column] | None:
    """Return the unit of time that a calculation takes of a column, such as `month`, with the column."""
    node = _bare(node)
    quarter = _first_day_of_quarter(node)
    if quarter is not None:
        return "quarter", quarter
    weekday = _named_weekday(node)
    if weekday is not None:
        return "weekday", weekday
    unit = _unit(node)
    inner = node.args.get("expression") if isinstance(node, exp.Extract) else node.this
    if isinstance(node, exp.Anonymous):
        inner = node.expressions[0] if len(node.expressions) == 1 else None
    if unit is None or not isinstance(inner, exp.Expr):
        return None
    column = _bare(inner)
    if isinstance(column, exp.Date | exp.TsOrDsToDate):
        column = _bare(column.this)
    return (unit, column) if isinstance(column, exp.Column) else None


def _unit(node: exp.Expr) -> str | None:
    if isinstance(node, exp.TimeToStr):
        return _FORMATS.get(node.text("format"))
    if isinstance(node, exp.DateTrunc | exp.TimestampTrunc):
        return _UNITS.get(node.text("unit").upper())
    if isinstance(node, exp.Extract):
        return _PARTS.get(node.name.upper())
    if isinstance(node, exp.Substring):
        places = (node.args.get("start"), node.args.get("length"))
        if all(isinstance(place, exp.Literal) and place.is_int for place in places):
            return _SUBSTRINGS.get((int(node.text("start")), int(node.text("length"))))
        return None
    if isinstance(node, exp.Anonymous):
        return _CLICKHOUSE.get(str(node.this).lower())
    return _NODES.get(type(node))


def days_between(node: exp.Expr) -> tuple[exp.Column, exp.Column] | None:
    """Return from which column to which a calculation counts days; of a bare subtraction only if it is of dates or their days."""
    if isinstance(node, exp.DateDiff):
        begin, end = _day_column(node.expression), _day_column(node.this)
        is_days = node.text("unit").upper() in ("", "DAY", "DD", "D", "DAYS")
    elif isinstance(node, exp.Sub):
        begin, end = _day_column(node.expression), _day_column(node.this)
        is_days = not any(isinstance(side, exp.Column) for side in (node.this, node.expression))
    else:
        return None
    return (begin, end) if is_days and begin is not None and end is not None else None


def time_between(node: exp.Expr) -> tuple[exp.Column, exp.Column, str] | None:
    """Return from which column to which a calculation counts minutes or hours, and which of them: of seconds, or of parts of a day."""
    if isinstance(node, exp.Div):
        unit, inner = _OF_SECONDS.get(node.expression.name.partition(".")[0]), _seconds(_bare(node.this))
    elif isinstance(node, exp.Mul):
        unit, inner = _OF_A_DAY.get(node.expression.name), _bare(node.this)
    else:
        return None
    if unit is None or not isinstance(inner, exp.Sub | exp.DateDiff | exp.TimestampDiff):
        return None
    begin, end = _day_column(inner.expression), _day_column(inner.this)
    return None if begin is None or end is None else (begin, end, unit)


def _seconds(node: exp.Expr) -> exp.Expr | None:
    """Return the difference that an expression gives in seconds."""
    if isinstance(node, exp.Round):
        node = _bare(node.this)
    if isinstance(node, exp.Mul) and node.expression.name == "86400":
        return _bare(node.this)
    if isinstance(node, exp.Extract):
        return _bare(node.expression) if node.name.upper() == "EPOCH" else None
    return node if node.text("unit").upper() in ("SECOND", "SECONDS") else None


_OF_SECONDS: Final = {"60": "minutes", "3600": "hours"}
_OF_A_DAY: Final = {"1440": "minutes", "24": "hours"}


def age_of(node: exp.Expr) -> exp.Column | None:
    """Return the birth from which an expression counts years: the days to a day / 365.25, or a year - the year of birth."""
    node = _bare(node)
    if isinstance(node, exp.Div) and node.expression.name == "365.25":
        days = _bare(node.this)
        begun = days.expression if isinstance(days, exp.Sub | exp.DateDiff) else None
        return None if begun is None else _day_column(begun)
    if isinstance(node, exp.Sub) and isinstance(node.this, exp.Literal) and _YEAR.fullmatch(node.this.name):
        born = _bare(node.expression)
        return born if isinstance(born, exp.Column) and "birth" in born.name.lower() else None
    return None


_YEAR: Final = re.compile(r"(?:19|20)\d\d")


def _day_column(node: exp.Expr) -> exp.Column | None:
    """Return the column of which a day, or its number, is taken."""
    node = _bare(node)
    while isinstance(node, exp.Date | exp.TsOrDsToDate | exp.DateTrunc) or (
        isinstance(node, exp.Anonymous)
        and str(node.this).upper() in ("JULIANDAY", "TRUNC", "TO_DAYS")
        and node.expressions
    ):
        node = _bare(node.expressions[0] if isinstance(node, exp.Anonymous) else node.this)
    return node if isinstance(node, exp.Column) else None


def _named_weekday(node: exp.Expr) -> exp.Column | None:
    """Return the column of which a CASE names the weekday: of a number that is one, or of days since the week began."""
    if not isinstance(node, exp.Case) or node.this is None:
        return None
    cuts = [
        cut for inner in node.this.walk() if not isinstance(inner, exp.Case) and (cut := unit_of(inner)) is not None
    ]
    of_weeks = [column for unit, column in cuts if unit == "weekday" or (unit == "week" and node.this.find(exp.Sub))]
    return of_weeks[0] if of_weeks else None


def _first_day_of_quarter(node: exp.Expr) -> exp.Column | None:
    """Return the column whose quarter SQLite or MySQL begins: the month's first day, less the months since the quarter's."""
    months = next(node.find_all(exp.Mod), None)
    if months is None or months.expression.name != "3":
        return None
    if isinstance(node, exp.Anonymous) and str(node.this).upper() == "DATE" and len(node.expressions) == 3:
        day, start, back = node.expressions
        return _column(day) if start.name == "start of month" and back.find(exp.Mod) is months else None
    inner = node.this
    if isinstance(node, exp.DateSub) and node.text("unit").upper() == "MONTH" and isinstance(inner, exp.DateSub):
        day = inner.this
        return _column(day.this) if isinstance(day, exp.TsOrDsToDate) and inner.text("unit").upper() == "DAY" else None
    return None


def _column(node: exp.Expr) -> exp.Column | None:
    node = _bare(node)
    return node if isinstance(node, exp.Column) else None


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, _WRAPPERS) and isinstance(node.this, exp.Expr):
        node = node.this
    return node


def day_of(node: exp.Expr) -> date | None:
    """Return the day that a literal writes, whatever turns it into a date; None where it writes a time within that day."""
    node = _bare(node)
    while isinstance(node, exp.Date | exp.TsOrDsToDate | exp.StrToDate | exp.StrToTime | exp.DateStrToDate) or (
        isinstance(node, exp.Anonymous) and str(node.this).lower() in ("todate", "todatetime") and node.expressions
    ):
        node = _bare(node.expressions[0] if isinstance(node, exp.Anonymous) else node.this)
    match = _DATE.fullmatch(node.name) if isinstance(node, exp.Literal) and node.is_string else None
    # "Up to 23:59:59" is all of the day.
    if match is None or match[4] not in (None, "00:00", "23:59"):
        return None
    try:
        return date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return None


def period_of(node: exp.Expr) -> tuple[exp.Column, Period] | None:
    """Return the column and the period of one condition, if it is one on days, months or years and nothing else."""
    if isinstance(node, exp.Between):
        low = _compared(node.this, exp.GTE, node.args["low"])
        high = _compared(node.this, exp.LTE, node.args["high"])
        return None if low is None or high is None else (low[0], low[1].cut(high[1]))
    if isinstance(node, exp.EQ | exp.GT | exp.GTE | exp.LT | exp.LTE):
        return _compared(node.this, type(node), node.expression)
    if isinstance(node, exp.Like) and isinstance(node.this, exp.Column) and node.expression.name.endswith("%"):
        return _compared_text(node.this, exp.EQ, node.expression.name.rstrip("%-"))
    return None


def _compared(left: exp.Expr, kind: type[exp.Expr], right: exp.Expr) -> tuple[exp.Column, Period] | None:
    taken = unit_of(left)
    column = taken[1] if taken else _bare(left)
    if not isinstance(column, exp.Column):
        return None
    day = day_of(right)
    if day is not None and (taken is None or taken[0] == "day"):
        return column, _side(kind, day, day + timedelta(days=1))
    literal = _bare(right)
    if taken is None or taken[0] not in ("year", "month") or not (day or isinstance(literal, exp.Literal)):
        return None
    text = day.isoformat()[: 7 if taken[0] == "month" else 4] if day else literal.name
    return _compared_text(column, kind, text)


def _compared_text(column: exp.Column, kind: type[exp.Expr], text: str) -> tuple[exp.Column, Period] | None:
    match = re.fullmatch(r"([12]\d{3})(?:-?(0[1-9]|1[0-2]))?", text)
    if match is None:
        return None
    year, month = int(match[1]), int(match[2]) if match[2] else None
    if month is None:
        return column, _side(kind, date(year, 1, 1), date(year + 1, 1, 1))
    return column, _side(kind, date(year, month, 1), next_month(date(year, month, 1)))


def _side(kind: type[exp.Expr], begin: date, end: date) -> Period:
    if kind is exp.EQ:
        return Period(begin, end)
    if kind is exp.GTE:
        return Period(begin=begin)
    if kind is exp.GT:
        return Period(begin=end)
    return Period(end=begin if kind is exp.LT else end)


def next_month(day: date) -> date:
    """Return the first day of the month after a day's."""
    return date(day.year + day.month // 12, day.month % 12 + 1, 1)
