"""A period of days, and those that are said by where they end, by their decade or their century: "year to date", "the 1990s"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from querybus_translator.language.tokens import Token


@dataclass(frozen=True, slots=True)
class Period:
    """Days from `start` up to, without, `end`. `whole_year` is set where exactly one calendar year is meant.

    `moment` is set where a time of that day is: "2018-03-17 07:13:53".
    """

    start: date
    end: date
    whole_year: int | None = None
    moment: str | None = None

    def is_apart(self, other: Period) -> bool:
        """Whether no day lies in both."""
        return self.end <= other.start or other.end <= self.start


def to_date(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:
    """ "Year to date", "MTD", 年初至今: from the first day of the unit up to today."""
    for length in (3, 2, 1):
        words = tuple(token.norm for token in tokens[start : start + length])
        unit = _TO_DATE.get(words) or _TO_DATE.get(("".join(words),))
        if unit is None or len(words) < length:
            continue
        month = {"year": 1, "quarter": today.month - (today.month - 1) % 3, "month": today.month}[unit]
        return start + length, Period(date(today.year, month, 1), today + timedelta(days=1))
    return None


_TO_DATE: Final[Mapping[tuple[str, ...], str]] = {
    ("ytd",): "year", ("year", "to", "date"): "year", ("年初至今",): "year", ("年初到现在",): "year",
    ("qtd",): "quarter", ("quarter", "to", "date"): "quarter", ("季初至今",): "quarter",
    ("mtd",): "month", ("month", "to", "date"): "month", ("月初至今",): "month", ("月初到现在",): "month",
}  # fmt: skip


def decade(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:  # noqa: ARG001 - one signature
    """ "In the 1990s": ten years."""
    place = start + (tokens[start].norm == "the")
    said = _DECADE.fullmatch(tokens[place].norm) if place < len(tokens) else None
    if said is None:
        return None
    year = int(said[1])
    return place + 1, Period(date(year, 1, 1), date(year + 10, 1, 1))


_DECADE: Final = re.compile(r"((?:1[5-9]|20)\d0)'?s")


def century(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:  # noqa: ARG001 - one signature
    """ "In the 20th century": a hundred years, of which 1901 is the first."""
    place = start + (tokens[start].norm == "the")
    words = [token.norm for token in tokens[place : place + 3]]
    length = 3 if words[1:2] == ["-"] else 2
    if words[length - 1 : length] != ["century"]:
        return None
    said = _NTH.fullmatch(words[0])
    number = _NTH_IN_WORDS.get(words[0], 0) if said is None else int(said[1])
    if number not in _CENTURIES:
        return None
    return place + length, Period(date(100 * number - 99, 1, 1), date(100 * number + 1, 1, 1))


_NTH: Final = re.compile(r"(\d{1,2})(?:st|nd|rd|th)")
_NTH_IN_WORDS: Final[Mapping[str, int]] = {
    "sixteenth": 16,
    "seventeenth": 17,
    "eighteenth": 18,
    "nineteenth": 19,
    "twentieth": 20,
}
_CENTURIES: Final = range(10, 22)
