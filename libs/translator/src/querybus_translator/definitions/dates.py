"""Periods as questions about figures name them: ranges, quarters by ordinal, months without a year, fiscal years."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Final

from querybus_semantic.compiling.dates import moved, start_of
from querybus_semantic.layer.definitions import Calendar, Grain
from querybus_translator.language.time.periods import read_period
from querybus_translator.language.tokens import Token, TokenKind

YEAR_MIN, YEAR_MAX = 1900, 2150

Days = tuple[date, date]
"""From included, until excluded."""


def month_after(tokens: Sequence[Token], place: int, start: date) -> tuple[int, Days] | None:
    """The month that ends a range takes its year from the beginning: 2025年1月至6月."""
    if place + 1 >= len(tokens) or tokens[place + 1].norm not in {"月", "月份"}:
        return None
    number = tokens[place].norm
    if not number.isdecimal() or not 1 <= int(number) <= 12:
        return None
    first = date(start.year, int(number), 1)
    return place + 2, (first, moved(first, 1, Grain.MONTH))


def period_at(tokens: Sequence[Token], place: int, today: date) -> tuple[int, Days] | None:
    """Return the place after a period that begins here, and its days; None where none begins."""
    token = tokens[place]
    month_name = read_period((_IN, *tokens[place : place + 3]), 1, today)
    read = read_period(tokens, place, today) or (
        (place + month_name[0] - 1, month_name[1]) if month_name is not None and token.kind is TokenKind.WORD else None
    )
    if read is not None:
        return read[0], (read[1].start, read[1].end)
    if token.kind is TokenKind.NUMBER and token.norm.isdecimal() and YEAR_MIN <= int(token.norm) <= YEAR_MAX:
        following = [item.norm for item in tokens[place + 1 : place + 3]]
        if (
            following[:1] == ["-"]
            and following[1:]
            and len(following[1]) == 2
            and following[1].isdecimal()
            and 1 <= int(following[1]) <= 12
        ):
            first = date(int(token.norm), int(following[1]), 1)
            return place + 3, (first, moved(first, 1, Grain.MONTH))
        return place + 1, (date(int(token.norm), 1, 1), date(int(token.norm) + 1, 1, 1))
    return None


_IN: Final = Token("in", "in", "in", TokenKind.WORD)


def fiscal_year_at(tokens: Sequence[Token], place: int, today: date, calendar: Calendar) -> tuple[int, Days] | None:
    """ "Fiscal year 2025", "this fiscal year", 2025财年, 本财年: named as the owner's calendar says."""
    texts = [token.norm for token in tokens[place : place + 4]]
    year: int | None = None
    length = 0
    if (
        len(texts) >= 3
        and texts[0] in {"fiscal", "financial", "business"}
        and texts[1] == "year"
        and texts[2].isdecimal()
    ):
        year, length = int(texts[2]), 3
    elif len(texts) >= 2 and texts[0] == "fy" and texts[1].isdecimal():
        year, length = int(texts[1]), 2
    elif len(texts) >= 2 and texts[0].isdecimal() and texts[1] in {"财年", "财政年度"}:
        year, length = int(texts[0]), 2
    if year is not None:
        named_after_start = year - 1 if calendar.fiscal_named_after_end and _is_shifted(calendar) else year
        start = date(named_after_start, calendar.fiscal_starts_month, calendar.fiscal_starts_day)
        return place + length, (start, moved(start, 1, Grain.YEAR))
    lead = {"this": 0, "current": 0, "last": -1, "previous": -1, "本": 0, "上": -1}
    if texts and texts[0] in lead:
        is_english = texts[1:3] in (["fiscal", "year"], ["financial", "year"], ["business", "year"])
        if is_english or texts[1:2] == ["财年"]:
            start = moved(start_of(today, Grain.FISCAL_YEAR, calendar), lead[texts[0]], Grain.YEAR)
            return place + (3 if is_english else 2), (start, moved(start, 1, Grain.YEAR))
    return None


def _is_shifted(calendar: Calendar) -> bool:
    return (calendar.fiscal_starts_month, calendar.fiscal_starts_day) != (1, 1)
