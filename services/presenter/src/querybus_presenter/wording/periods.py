"""A period as people say it: "in May 2026", "from 31 May to 30 June 2026", 2026年5月."""

from __future__ import annotations

from datetime import date, timedelta

from querybus.sql.conditions.periods import Period, next_month
from querybus_presenter.summaries.values import MONTHS
from querybus_presenter.wording.texts import Texts


def in_words(period: Period, texts: Texts) -> str:
    """Return a period as people say it, with the word before it that a sentence needs."""
    rows = texts.periods
    begin, end = period.begin, period.end
    if begin is None or end is None:
        if begin is not None:
            return rows["since"].format(day=day_in_words(begin, texts))
        return rows["until"].format(day=day_in_words(end - timedelta(days=1), texts)) if end is not None else ""
    last = end - timedelta(days=1)
    if begin == last:
        return rows["on_day"].format(day=day_in_words(begin, texts))
    if (begin.month, begin.day, end.month, end.day) == (1, 1, 1, 1):
        if end.year - begin.year == 1:
            return rows["in_year"].format(year=begin.year)
        return rows["years"].format(first=begin.year, last=last.year)
    if begin.day == end.day == 1:
        if next_month(begin) == end:
            return rows["in_month"].format(month=_month(begin, texts), year=begin.year)
        if begin.month % 3 == 1 and next_month(next_month(next_month(begin))) == end:
            quarter = rows["quarters"].split()[begin.month // 3]
            return rows["in_quarter"].format(quarter=quarter, year=begin.year)
        return _between("months", begin, last, texts)
    return _between("days", begin, last, texts)


def _between(kind: str, begin: date, last: date, texts: Texts) -> str:
    key = f"{kind}_of_year" if begin.year == last.year else kind
    return texts.periods[key].format(
        first=_month(begin, texts),
        last=_month(last, texts),
        first_day=begin.day,
        last_day=last.day,
        first_year=begin.year,
        last_year=last.year,
    )


def _month(day: date, texts: Texts) -> str:
    return MONTHS[day.month - 1] if texts.language == "en" else str(day.month)


def day_in_words(day: date, texts: Texts) -> str:
    """Return a day as people write it: 30 June 2026, 2026年6月30日."""
    return texts.periods["day"].format(day=day.day, month=_month(day, texts), year=day.year)
