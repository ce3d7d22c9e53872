"""The first and the last point of a trend stand for fewer days than the others where a period cuts them, or where the last is not over.

"From May to July it fell" is untrue where only the first week of July counts yet.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from sqlglot import exp

from querybus.core.messages import Scalar
from querybus.sql.conditions.periods import Period, period_of
from querybus.sql.conditions.scope import conjuncts
from querybus_presenter.charts.shape import Facet, Role
from querybus_presenter.summaries.values import date_in_words, in_words
from querybus_presenter.wording.texts import Texts

WEEKS_MIN: Final = 4
"""Days a week apart that are taken for weeks: three may be chance."""
_WEEK: Final = dt.timedelta(days=7)
_DAY: Final = dt.timedelta(days=1)
_MONTH: Final = re.compile(r"(\d{4})-(\d{2})")
_YEAR: Final = re.compile(r"\d{4}")
_MONTHS_OF: Final = {"month": 1, "quarter": 3, "year": 12}


@dataclass(frozen=True, slots=True)
class CutEnds:
    """From which day on the first point counts and up to which the last, None where it is whole; or whether that still runs."""

    first_from: dt.date | None = None
    last_until: dt.date | None = None
    is_running: bool = False
    are_weeks: bool = False

    @property
    def is_last_cut(self) -> bool:
        return self.is_running or self.last_until is not None


@dataclass(frozen=True, slots=True)
class Days:
    """Of which days an answer is: those of its statement's period, and the one that counts as today."""

    period: Period = field(default_factory=Period)
    today: dt.date | None = None


def days_of(tree: exp.Expr | None, today: dt.date) -> Days:
    """Return the days of a statement: the one period that it, or all queries within it that have one, is about."""
    found: set[Period] = set()
    for select in tree.find_all(exp.Select) if tree is not None else ():
        whole = Period()
        for part in conjuncts(select):
            inner = period_of(part)
            whole = whole.cut(inner[1]) if inner is not None else whole
        found.add(whole)
    found.discard(Period())
    return Days(found.pop() if len(found) == 1 else Period(), today)


def cut_ends(points: Sequence[Scalar], facet: Facet, days: Days) -> CutEnds:
    """Return what of the first and last of these points in time, which are in order, is not whole."""
    spans = [_span(point, facet) for point in points]
    are_weeks = facet.grain == "day" and not any(_is_month(point) or _is_year(point, facet) for point in points)
    if are_weeks:
        spans = _weeks(spans)
    if not spans or spans[0] is None or spans[-1] is None:
        return CutEnds()
    (start, _), (begun, end) = spans[0], spans[-1]
    first, today = days.period.begin, days.today
    last = days.period.end - _DAY if days.period.end is not None else None
    is_running = today is not None and begun <= today < end and (last is None or last >= today)
    return CutEnds(
        first_from=first if first is not None and first > start else None,
        last_until=last if last is not None and begun <= last < end and not is_running else None,
        is_running=is_running,
        are_weeks=are_weeks,
    )


def what_is_cut(
    ends: CutEnds, points: tuple[Scalar, Scalar], x: Facet, texts: Texts, *, is_defined: bool = False
) -> list[str]:
    """Return which of the first and last points is not whole, in words; what a period cuts is said with definitions already."""
    first, last = points

    def named(place: Scalar) -> str:
        name = in_words(place, x.kind, texts, x.format)
        return texts.summary["week_of"].format(day=name) if ends.are_weeks else name

    said: list[str] = []
    if ends.first_from is not None and not is_defined:
        day = date_in_words(ends.first_from.isoformat(), texts.language)
        said.append(texts.summary["first_is_cut"].format(first=named(first), day=day))
    if ends.is_running:
        said.append(texts.summary["is_running"].format(last=named(last)))
    elif ends.last_until is not None and not is_defined:
        day = date_in_words(ends.last_until.isoformat(), texts.language)
        said.append(texts.summary["last_is_cut"].format(last=named(last), day=day))
    return said


_Span = tuple[dt.date, dt.date]
"""The first and the last day of what one point stands for."""


def _span(point: Scalar, facet: Facet) -> _Span | None:
    text = str(point)
    if match := _MONTH.fullmatch(text):
        return _months(dt.date(int(match[1]), int(match[2]), 1), 1)
    if _is_year(point, facet):
        return _months(dt.date(int(text), 1, 1), 12)
    day = _day(text[:10])
    if day is None:
        return None
    return _months(day, _MONTHS_OF[facet.grain]) if facet.grain in _MONTHS_OF else (day, day)


def _months(day: dt.date, count: int) -> _Span:
    months = day.year * 12 + day.month - 1 + count
    return day, dt.date(months // 12, months % 12 + 1, 1) - _DAY


def _weeks(spans: Sequence[_Span | None]) -> list[_Span | None]:
    """Return weeks where the days are all so far apart, else nothing: of single days none is cut."""
    days = [span[0] for span in spans if span is not None]
    gaps = [later - earlier for earlier, later in pairwise(days)]
    if len(days) < max(WEEKS_MIN, len(spans)) or any(gap % _WEEK or not gap for gap in gaps):
        return []
    return [(day, day + _WEEK - _DAY) for day in days]


def _is_month(point: Scalar) -> bool:
    return _MONTH.fullmatch(str(point)) is not None


def _is_year(point: Scalar, facet: Facet) -> bool:
    return facet.role is Role.TIME and _YEAR.fullmatch(str(point)) is not None


def _day(text: str | None) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text or "")
    except ValueError:
        return None
