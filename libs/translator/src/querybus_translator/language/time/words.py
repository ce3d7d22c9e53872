"""The words for time in both languages: units, months, quarters, and numbers in Chinese digits."""

from __future__ import annotations

import calendar
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from importlib import resources
from typing import Final

from querybus.core.catalog import Language
from querybus.text.words import singular

CHINESE_NUMBER_LENGTH_MAX = 10
_STEP_WORDS_MAX = 4
_TEN = "十"
_MYRIAD = 10_000


class Unit(Enum):
    DAY = auto()
    WEEK = auto()
    MONTH = auto()
    QUARTER = auto()
    YEAR = auto()
    WEEKDAY = auto()
    HOUR = auto()


RECURRING: Final = frozenset({Unit.WEEKDAY, Unit.HOUR})
"""What comes again: the days of all weeks, the hours of all days."""


WEEKDAYS: Final[Mapping[Language, Sequence[str]]] = {
    "en": tuple(calendar.day_name),
    "zh": tuple(f"星期{day}" for day in "一二三四五六日"),
}
"""What days of the week are called in answers, Monday first."""


@dataclass(frozen=True, slots=True)
class Times:
    """The words of `words/times.toml`, each list by what reads it."""

    relative: Mapping[tuple[str, ...], tuple[Unit, int]]
    relative_firsts: frozenset[str]
    leads: Mapping[str, int]
    rolling: frozenset[str]
    ahead: frozenset[str]
    units: Mapping[str, Unit]
    steps: Mapping[str, Unit]
    months: Mapping[str, int]
    quarters: Mapping[str, int]
    digits: Mapping[str, int]
    scales: Mapping[str, int]
    halves: Mapping[tuple[str, ...], int]
    day_parts: Mapping[str, int]
    days_of_weeks: Mapping[str, Sequence[int]]
    chinese: frozenset[str]


@lru_cache(maxsize=1)
def times() -> Times:
    """Return the bundled words for time."""
    text = resources.files("querybus_translator").joinpath("words", "times.toml").read_text(encoding="utf-8")
    read = tomllib.loads(text)
    relative: dict[tuple[str, ...], tuple[Unit, int]] = {}
    chinese: set[str] = set()
    for row in read["relative"]:
        for form in (*row.get("en", ()), *row.get("zh", ())):
            relative[tuple(form.split())] = (Unit[row["unit"].upper()], row["offset"])
        chinese.update(row.get("zh", ()))
    units = {word: Unit[name.upper()] for language in read["units"].values() for word, name in language.items()}
    chinese.update(
        read["rolling"]["zh"],
        read["ahead"]["zh"],
        read["units"]["zh"],
        (quarter for quarter in read["quarters"] if len(quarter) > 2),
    )
    chinese.update(read["halves"])
    chinese.update(read["day_parts"])
    chinese.update(word for word in read["days_of_weeks"] if not word.isascii())
    chinese.update(read["parts"]["zh"])
    parts = {word: Unit[name.upper()] for language in read["parts"].values() for word, name in language.items()}
    return Times(
        relative=relative,
        relative_firsts=frozenset(form[0] for form in relative),
        leads=read["leads"],
        rolling=frozenset((*read["rolling"]["en"], *read["rolling"]["zh"])),
        ahead=frozenset((*read["ahead"]["en"], *read["ahead"]["zh"])),
        units=units,
        steps=units | parts,
        months=read["months"],
        quarters=read["quarters"],
        digits=read["digits"],
        scales=read["scales"],
        halves={tuple(form.split()): number for form, number in read["halves"].items()},
        day_parts=read["day_parts"],
        days_of_weeks=read["days_of_weeks"],
        chinese=frozenset(chinese),
    )


def time_words() -> frozenset[str]:
    """Return the Chinese words for time, for cutting."""
    return times().chinese


def leads_period(word: str) -> bool:
    """Return whether a lower-case word opens a period: "last" month, "yesterday"."""
    known = times()
    return word in known.leads or word in known.rolling or word in known.ahead or (word,) in known.relative


def is_month(word: str) -> bool:
    """Return whether a lower-case word names a month."""
    return word in times().months


def is_time_unit(word: str) -> bool:
    """Return whether a lower-case word is a unit of time: days, month, 年."""
    return word in times().steps or singular(word) in times().steps


@lru_cache(maxsize=4_096)
def chinese_number(text: str) -> int | None:
    """Return the number that Chinese digits spell, up to some hundred millions, or None.

    >>> chinese_number("三"), chinese_number("二十五"), chinese_number("十"), chinese_number("两千三百"), chinese_number("城市")
    (3, 25, 10, 2300, None)
    """
    digits, scales = times().digits, times().scales
    if not text or len(text) > CHINESE_NUMBER_LENGTH_MAX or not (text[0] in digits or text[0] == _TEN):
        return None
    total = part = 0
    digit: int | None = None
    for character in text:
        if character in scales:
            scale = scales[character]
            if scale >= _MYRIAD:
                total, part = (total + part + (digit or 0)) * scale, 0
            else:
                part += (1 if digit is None else digit) * scale
            digit = None
        elif character in digits and (digit is None or digit == 0):
            digit = digits[character]
        else:
            return None
    return total + part + (digit or 0)


def unit_of(word: str) -> Unit | None:
    """Return the unit by which a word cuts time: month, 月, 个月, weekday; None for other words."""
    return times().steps.get(word)


def step_at(words: Sequence[str], start: int) -> tuple[int, Unit] | None:
    """Return the unit that begins at a place of some lower-case words, and the place behind it.

    >>> step_at(["per", "day", "of", "the", "week"], 1), step_at(["每", "个", "月"], 1), step_at(["per", "city"], 1)
    ((5, <Unit.WEEKDAY: 6>), (3, <Unit.MONTH: 3>), None)
    """
    for end in range(min(start + _STEP_WORDS_MAX, len(words)), start, -1):
        cut = words[start:end]
        unit = unit_of(" ".join(cut)) or unit_of("".join(cut)) or (unit_of(cut[-1]) if cut[:-1] == ["个"] else None)
        if unit is not None:
            return end, unit
    return None


@lru_cache(maxsize=1)
def year_word() -> str:
    """Return the plain English word for the unit YEAR: columns whose names hold it may hold years."""
    return min(word for word, unit in times().units.items() if unit is Unit.YEAR)


def days_of_weeks(word: str) -> Sequence[int]:
    """Return the days of all weeks that a lower-case word names, Monday 0: "mondays", "weekends", 每周一. Others name none."""
    return times().days_of_weeks.get(word, ())
