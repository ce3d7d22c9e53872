"""How each engine cuts, moves and compares dates, and what else a compiled definition needs of it.

{x} and {y} are expressions, {n} a whole number, {+n} one with its sign, {seconds} the seconds of a unit. A form without a value is a
type error, and so is a dialect without forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, assert_never

from querybus.core.catalog import Dialect


@dataclass(frozen=True, slots=True, kw_only=True)
class Starts:
    """The first moment of the period that {x} lies in. A week begins on Monday, a `sunday` week on Sunday."""

    hour: str
    day: str
    week: str
    sunday: str
    month: str
    quarter: str
    year: str


class Percentiles(Enum):
    """How the engine computes a percentile from all rows of a group."""

    NONE = "none"
    AS_WRITTEN = "as written"
    WITHIN_GROUP_ONLY = "within group only"
    """There is no MEDIAN."""
    QUANTILE = "quantile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forms:
    """One engine's forms."""

    starts: Starts
    weekday: str
    """The number of {x}'s weekday; the days that follow Monday follow in number."""
    monday: int
    hour_of_day: str
    days_between: str
    """Whole days from {x} to {y}."""
    time_between: str
    """Units from {x} to {y}. Where a moment is a number of days, it is rounded to seconds first."""
    add_hours: str
    add_days: str
    add_months: str
    percentiles: Percentiles
    types_nulls: bool
    """Whether a NULL in one part of a union needs the type of the other parts."""
    has_booleans: bool
    compares_moments_with_moments: bool
    """Whether a day has to be a moment before it is compared with a moment."""
    nothing_is_zero: bool
    """Whether a sum of no rows, and a column of no joined row, is 0 and not NULL."""


_BY_DATE_TRUNC: Final = Starts(
    hour="DATE_TRUNC('HOUR', {x})",
    day="CAST({x} AS DATE)",
    week="CAST(DATE_TRUNC('WEEK', {x}) AS DATE)",
    sunday="CAST(DATE_TRUNC('WEEK', {x} + INTERVAL '1 day') AS DATE) - 1",
    month="CAST(DATE_TRUNC('MONTH', {x}) AS DATE)",
    quarter="CAST(DATE_TRUNC('QUARTER', {x}) AS DATE)",
    year="CAST(DATE_TRUNC('YEAR', {x}) AS DATE)",
)

_SQLITE: Final = Forms(
    starts=Starts(
        hour="strftime('%Y-%m-%d %H:00:00', {x})",
        day="date({x})",
        week="date({x}, 'weekday 0', '-6 days')",
        sunday="date({x}, 'weekday 6', '-6 days')",
        month="date({x}, 'start of month')",
        quarter="date({x}, 'start of month', CAST(-((CAST(strftime('%m', {x}) AS INTEGER) - 1) % 3) AS TEXT) || ' months')",
        year="date({x}, 'start of year')",
    ),
    weekday="(CAST(strftime('%w', {x}) AS INTEGER) + 6) % 7",
    monday=0,
    hour_of_day="CAST(strftime('%H', {x}) AS INTEGER)",
    days_between="julianday(date({y})) - julianday(date({x}))",
    time_between="ROUND((julianday({y}) - julianday({x})) * 86400) / {seconds}",
    add_hours="strftime('%Y-%m-%d %H:%M:%S', {x}, '{+n} hours')",
    add_days="date({x}, '{+n} days')",
    add_months="date({x}, '{+n} months')",
    percentiles=Percentiles.NONE,
    types_nulls=False,
    has_booleans=False,
    compares_moments_with_moments=False,
    nothing_is_zero=False,
)

_DUCKDB: Final = Forms(
    starts=_BY_DATE_TRUNC,
    weekday="EXTRACT(ISODOW FROM {x})",
    monday=1,
    hour_of_day="EXTRACT(HOUR FROM {x})",
    days_between="DATE_DIFF('DAY', CAST({x} AS DATE), CAST({y} AS DATE))",
    time_between="DATE_DIFF('SECOND', {x}, {y}) / {seconds}",
    add_hours="{x} + INTERVAL '{n} hour'",
    add_days="CAST({x} + INTERVAL '{n} day' AS DATE)",
    add_months="CAST({x} + INTERVAL '{n} month' AS DATE)",
    percentiles=Percentiles.AS_WRITTEN,
    types_nulls=True,
    has_booleans=True,
    compares_moments_with_moments=False,
    nothing_is_zero=False,
)

_POSTGRESQL: Final = Forms(
    starts=_BY_DATE_TRUNC,
    weekday="EXTRACT(ISODOW FROM {x})",
    monday=1,
    hour_of_day="EXTRACT(HOUR FROM {x})",
    days_between="CAST({y} AS DATE) - CAST({x} AS DATE)",
    time_between="EXTRACT(EPOCH FROM {y} - {x}) / {seconds}",
    add_hours="{x} + INTERVAL '{n} hour'",
    add_days="CAST({x} + INTERVAL '{n} day' AS DATE)",
    add_months="CAST({x} + INTERVAL '{n} month' AS DATE)",
    percentiles=Percentiles.WITHIN_GROUP_ONLY,
    types_nulls=True,
    has_booleans=True,
    compares_moments_with_moments=True,
    nothing_is_zero=False,
)

_MYSQL: Final = Forms(
    starts=Starts(
        hour="CAST(DATE_FORMAT({x}, '%Y-%m-%d %H:00:00') AS DATETIME)",
        day="DATE({x})",
        week="DATE_SUB(DATE({x}), INTERVAL (WEEKDAY({x})) DAY)",
        sunday="DATE_SUB(DATE({x}), INTERVAL (DAYOFWEEK({x}) - 1) DAY)",
        month="DATE_SUB(DATE({x}), INTERVAL (DAYOFMONTH({x}) - 1) DAY)",
        quarter="DATE_SUB(DATE_SUB(DATE({x}), INTERVAL (DAYOFMONTH({x}) - 1) DAY), INTERVAL ((MONTH({x}) - 1) % 3) MONTH)",
        year="DATE_SUB(DATE({x}), INTERVAL (DAYOFYEAR({x}) - 1) DAY)",
    ),
    weekday="WEEKDAY({x})",
    monday=0,
    hour_of_day="HOUR({x})",
    days_between="DATEDIFF({y}, {x})",
    time_between="TIMESTAMPDIFF(SECOND, {x}, {y}) / {seconds}",
    add_hours="DATE_ADD({x}, INTERVAL ({n}) HOUR)",
    add_days="DATE_ADD({x}, INTERVAL ({n}) DAY)",
    add_months="DATE_ADD({x}, INTERVAL ({n}) MONTH)",
    percentiles=Percentiles.NONE,
    types_nulls=True,
    has_booleans=True,
    compares_moments_with_moments=False,
    nothing_is_zero=False,
)

_CLICKHOUSE: Final = Forms(
    starts=Starts(
        hour="toStartOfHour({x})",
        day="toDate({x})",
        week="toMonday({x})",
        sunday="toStartOfWeek({x})",
        month="toStartOfMonth({x})",
        quarter="toStartOfQuarter({x})",
        year="toStartOfYear({x})",
    ),
    weekday="toDayOfWeek({x})",
    monday=1,
    hour_of_day="toHour({x})",
    days_between="dateDiff('day', {x}, {y})",
    time_between="dateDiff('second', {x}, {y}) / {seconds}",
    add_hours="addHours({x}, {n})",
    add_days="addDays({x}, {n})",
    add_months="addMonths({x}, {n})",
    percentiles=Percentiles.QUANTILE,
    types_nulls=False,
    has_booleans=True,
    compares_moments_with_moments=False,
    nothing_is_zero=True,
)

_ORACLE: Final = Forms(
    starts=Starts(
        hour="TRUNC({x}, 'HH24')",
        day="TRUNC({x}, 'DD')",
        week="TRUNC({x}, 'IW')",
        sunday="TRUNC({x} + 1, 'IW') - 1",
        month="TRUNC({x}, 'MM')",
        quarter="TRUNC({x}, 'Q')",
        year="TRUNC({x}, 'YYYY')",
    ),
    weekday="TRUNC({x}) - TRUNC({x}, 'IW')",
    monday=0,
    hour_of_day="EXTRACT(HOUR FROM CAST({x} AS TIMESTAMP))",
    days_between="TRUNC({y}) - TRUNC({x})",
    time_between="ROUND((CAST({y} AS DATE) - CAST({x} AS DATE)) * 86400) / {seconds}",
    add_hours="{x} + ({n}) / 24",
    add_days="{x} + ({n})",
    add_months="ADD_MONTHS({x}, {n})",
    percentiles=Percentiles.AS_WRITTEN,
    types_nulls=True,
    has_booleans=False,
    compares_moments_with_moments=False,
    nothing_is_zero=False,
)

_SNOWFLAKE: Final = Forms(
    starts=replace(
        _BY_DATE_TRUNC,
        sunday="DATEADD(DAY, -1, DATE_TRUNC('WEEK', DATEADD(DAY, 1, CAST({x} AS DATE))))",
    ),
    weekday="DAYOFWEEKISO({x})",
    monday=1,
    hour_of_day="HOUR({x})",
    days_between="DATEDIFF(DAY, {x}, {y})",
    time_between="DATEDIFF(SECOND, {x}, {y}) / {seconds}",
    add_hours="DATEADD(HOUR, {n}, {x})",
    add_days="DATEADD(DAY, {n}, {x})",
    add_months="DATEADD(MONTH, {n}, {x})",
    percentiles=Percentiles.AS_WRITTEN,
    types_nulls=True,
    has_booleans=True,
    compares_moments_with_moments=False,
    nothing_is_zero=False,
)

_BIGQUERY: Final = Forms(
    starts=Starts(
        hour="TIMESTAMP_TRUNC({x}, HOUR)",
        day="CAST({x} AS DATE)",
        week="DATE_TRUNC(CAST({x} AS DATE), WEEK(MONDAY))",
        sunday="DATE_TRUNC(CAST({x} AS DATE), WEEK(SUNDAY))",
        month="DATE_TRUNC(CAST({x} AS DATE), MONTH)",
        quarter="DATE_TRUNC(CAST({x} AS DATE), QUARTER)",
        year="DATE_TRUNC(CAST({x} AS DATE), YEAR)",
    ),
    weekday="MOD(EXTRACT(DAYOFWEEK FROM {x}) + 5, 7)",
    monday=0,
    hour_of_day="EXTRACT(HOUR FROM {x})",
    days_between="DATE_DIFF(CAST({y} AS DATE), CAST({x} AS DATE), DAY)",
    time_between="TIMESTAMP_DIFF(CAST({y} AS TIMESTAMP), CAST({x} AS TIMESTAMP), SECOND) / {seconds}",
    add_hours="TIMESTAMP_ADD({x}, INTERVAL {n} HOUR)",
    add_days="DATE_ADD({x}, INTERVAL {n} DAY)",
    add_months="DATE_ADD({x}, INTERVAL {n} MONTH)",
    percentiles=Percentiles.NONE,
    types_nulls=False,
    has_booleans=True,
    compares_moments_with_moments=True,
    nothing_is_zero=False,
)


def _forms(dialect: Dialect) -> Forms:
    match dialect:
        case Dialect.SQLITE:
            return _SQLITE
        case Dialect.DUCKDB:
            return _DUCKDB
        case Dialect.POSTGRESQL:
            return _POSTGRESQL
        case Dialect.MYSQL:
            return _MYSQL
        case Dialect.CLICKHOUSE:
            return _CLICKHOUSE
        case Dialect.ORACLE:
            return _ORACLE
        case Dialect.SNOWFLAKE:
            return _SNOWFLAKE
        case Dialect.BIGQUERY:
            return _BIGQUERY
        case _:
            assert_never(dialect)


FORMS: Final[Mapping[Dialect, Forms]] = {dialect: _forms(dialect) for dialect in Dialect}
