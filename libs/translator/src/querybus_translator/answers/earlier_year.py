"""Which year a month of a follow-up is of: behind "orders in 2025", "only in June" speaks of June 2025."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import Final

from querybus_translator.writing.form import AllOf, Comparison, Condition, Form, Literal, Operator

_MONTH: Final = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
    r"|(?:first|second|third|fourth) quarter|q[1-4])\b|[\d一二三四五六七八九十]+月|[一二三四1-4]季度|[上下]半年",
    re.IGNORECASE,
)
_OF_TODAY: Final = re.compile(
    r"\b(?:19|20)\d\d\b|\b(?:last|this|next|ago|today|yesterday|tomorrow|now|current|previous|past)\b|今|去|昨|明|本|上个?月|下个?月|最近|过去",
    re.IGNORECASE,
)
_DAY_LENGTH: Final = len("2025-01-01")


def day_spoken_of(previous: Form, text: str, today: date) -> date:
    """Return the day that counts as today for a follow-up: the last of the one year that the question before it was about.

    Only where the follow-up names a month or a quarter, and neither a year nor a time that is counted from today.
    """
    if _MONTH.search(text) is None or _OF_TODAY.search(text) is not None:
        return today
    years = {day.year for day in _days(previous.where)}
    return date(years.pop(), 12, 31) if len(years) == 1 and today.year not in years else today


def _days(conditions: Sequence[Condition]) -> Iterator[date]:
    """Give the first and the last day of each period; the end of a period is the day behind it."""
    for condition in conditions:
        if isinstance(condition, AllOf):
            yield from _days(condition.conditions)
        elif isinstance(condition, Comparison) and isinstance(condition.right, Literal):
            try:
                day = date.fromisoformat(str(condition.right.value)[:_DAY_LENGTH])
            except ValueError:
                continue
            yield day - timedelta(days=condition.operator is Operator.LESS)
