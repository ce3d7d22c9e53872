"""Words for time become a period: first day, and the first day after it, counted from a given today.

"Last month" is the calendar month before; "the last three months" ends today. Limits: the Gregorian calendar, weeks
from Monday, no time of day.
"""

from __future__ import annotations

import calendar
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum, auto
from functools import lru_cache
from importlib import resources
from itertools import pairwise
from typing import Final

from querybus_translator.language.tokens import Token, TokenKind

YEAR_MIN = 1500
YEAR_MAX = 2150
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


@dataclass(frozen=True, slots=True)
class Period:
    """Days from `start` up to, without, `end`. `whole_year` is set where exactly one calendar year is meant."""

    start: date
    end: date
    whole_year: int | None = None


@dataclass(frozen=True, slots=True)
class _Times:
    relative: Mapping[tuple[str, ...], tuple[Unit, int]]
    relative_firsts: frozenset[str]
    leads: Mapping[str, int]
    rolling: frozenset[str]
    units: Mapping[str, Unit]
    steps: Mapping[str, Unit]
    months: Mapping[str, int]
    quarters: Mapping[str, int]
    digits: Mapping[str, int]
    scales: Mapping[str, int]
    halves: Mapping[tuple[str, ...], int]
    chinese: frozenset[str]


@lru_cache(maxsize=1)
def _times() -> _Times:
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
        read["rolling"]["zh"], read["units"]["zh"], (quarter for quarter in read["quarters"] if len(quarter) > 2)
    )
    chinese.update(read["halves"])
    chinese.update(read["parts"]["zh"])
    parts = {word: Unit[name.upper()] for language in read["parts"].values() for word, name in language.items()}
    return _Times(
        relative=relative,
        relative_firsts=frozenset(form[0] for form in relative),
        leads=read["leads"],
        rolling=frozenset((*read["rolling"]["en"], *read["rolling"]["zh"])),
        units=units,
        steps=units | parts,
        months=read["months"],
        quarters=read["quarters"],
        digits=read["digits"],
        scales=read["scales"],
        halves={tuple(form.split()): number for form, number in read["halves"].items()},
        chinese=frozenset(chinese),
    )


def time_words() -> frozenset[str]:
    """Return the Chinese words for time, for cutting."""
    return _times().chinese


def leads_period(word: str) -> bool:
    """Return whether a lower-case word opens a period: "last" month, "yesterday"."""
    times = _times()
    return word in times.leads or word in times.rolling or (word,) in times.relative


def is_month(word: str) -> bool:
    """Return whether a lower-case word names a month."""
    return word in _times().months


@lru_cache(maxsize=4_096)
def chinese_number(text: str) -> int | None:
    """Return the number that Chinese digits spell, up to some hundred millions, or None.

    >>> chinese_number("三"), chinese_number("二十五"), chinese_number("十"), chinese_number("两千三百"), chinese_number("城市")
    (3, 25, 10, 2300, None)
    """
    digits, scales = _times().digits, _times().scales
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


def read_period(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:
    """Return the longest period whose words begin at `start`, with the place after them, or None."""
    for read in (
        _dated,
        _half,
        _rolling,
        _relative,
        _led_unit,
        _ordinal_quarter,
        _named_month,
        _quarter,
        _chinese_year,
        _chinese_month,
        _year,
    ):
        result = read(tokens, start, today)
        if result is not None:
            return result
    return None


_BEFORE_YEAR = frozenset({"in", "during", "of", "for", "within", "throughout", "since", "after", "before", "until"})


def _year(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:  # noqa: ARG001 - one signature
    place = start
    if tokens[start].norm in {"in", "during", "throughout"} and start + 1 < len(tokens):
        place = start + 1
        if tokens[place].norm == "the" and place + 1 < len(tokens):
            place += 1
    year = _as_year(tokens[place])
    follows = place + 1 < len(tokens) and tokens[place + 1].norm in {"or", "to", "-"}
    if year is None or place == start or follows:
        return None
    return place + 1, whole_year(year)


def _as_year(token: Token) -> int | None:
    if token.kind is TokenKind.NUMBER and token.norm.isdecimal() and YEAR_MIN <= int(token.norm) <= YEAR_MAX:
        return int(token.norm)
    return None


def whole_year(year: int) -> Period:
    """Return the period of one calendar year."""
    return Period(date(year, 1, 1), date(year + 1, 1, 1), whole_year=year)


def _of_month(year: int, month: int) -> Period:
    return Period(date(year, month, 1), _plus(date(year, month, 1), Unit.MONTH, 1))


def _dated(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:  # noqa: ARG001 - one signature
    token = tokens[start]
    if token.kind is not TokenKind.DATE:
        return None
    text = token.text[:10].strip()
    try:
        if "/" in text:
            month, day, year = (int(character) for character in text.split("/"))
        else:
            year, month, day = (int(character) for character in text.split("-"))
        read = date(year, month, day)
    except ValueError:
        return None
    return start + 1, Period(read, read + timedelta(days=1))


def _relative(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:
    times = _times()
    if tokens[start].norm not in times.relative_firsts:
        return None
    for length in (4, 3, 2, 1):
        key = tuple(token.norm for token in tokens[start : start + length])
        if len(key) == length and key in times.relative:
            unit, offset = times.relative[key]
            read = _unit_period(today, unit, offset)
            end = start + length
            if unit is Unit.YEAR and end + 1 < len(tokens) and tokens[end + 1].norm in {"月", "月份"}:
                month = tokens[end].norm
                if month.isdecimal() and 1 <= int(month) <= 12:
                    return end + 2, _of_month(read.start.year, int(month))
            if unit is Unit.YEAR and end < len(tokens) and tokens[end].norm in times.quarters:
                first = date(read.start.year, 3 * times.quarters[tokens[end].norm] - 2, 1)
                return end + 1, Period(first, _plus(first, Unit.QUARTER, 1))
            return end, read
    return None


def _led_unit(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:
    """ "Last month", "the previous year": a leading word and the name of one unit."""
    place = start + 1 if tokens[start].norm == "the" else start
    if place + 1 >= len(tokens) or tokens[place].norm not in _times().leads:
        return None
    unit = _times().units.get(tokens[place + 1].norm)
    if unit is None or tokens[place + 1].norm != tokens[place + 1].base:
        return None
    return place + 2, _unit_period(today, unit, _times().leads[tokens[place].norm])


def _rolling(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:
    times = _times()
    place = start
    if tokens[place].norm not in times.rolling:
        return None
    place += 1
    if place >= len(tokens):
        return None
    count = _count(tokens[place])
    if count is None or place + 1 >= len(tokens):
        return None
    end = place + 1
    unit = times.units.get(tokens[end].norm)
    if unit is None and end + 1 < len(tokens):
        end += 1
        unit = times.units.get(tokens[end - 1].norm + tokens[end].norm) or times.units.get(tokens[end].norm)
    if unit is None or not 1 <= count <= 1_000:
        return None
    return end + 1, Period(_plus(today, unit, -count), today + timedelta(days=1))


def _count(token: Token) -> int | None:
    from querybus_translator.language.lexicon import lexicon

    if token.norm.isdecimal():
        return int(token.norm)
    return lexicon().numbers.get(token.norm)


def _named_month(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:
    times = _times()
    month = times.months.get(tokens[start].norm)
    if month is None or not tokens[start].text[:1].isupper():
        return None
    rest = tokens[start + 1 : start + 5]
    norms = [item.norm for item in rest]
    if rest and _as_year(rest[0]) is not None:
        return start + 2, _of_month(int(norms[0]), month)
    if len(rest) >= 2 and norms[0] in {",", "of"} and _as_year(rest[1]) is not None:
        return start + 3, _of_month(int(norms[1]), month)
    if rest and norms[0].removesuffix("st").removesuffix("nd").removesuffix("rd").removesuffix("th").isdecimal():
        day = int("".join(norm for norm in norms[0] if norm.isdecimal()))
        place = 2 if len(rest) > 2 and norms[1] == "," else 1
        if place < len(rest) and _as_year(rest[place]) is not None:
            return _day(start + place + 2, int(norms[place]), month, day)
        if not start or tokens[start - 1].norm not in _BEFORE_DAY:
            return None
        return _day(start + 2, _year_beside(tokens, start) or _last_year_with(month, today), month, day)
    if start and tokens[start - 1].norm in _RANGE_LEADS and any(token.norm in _RANGE_LEADS for token in rest):
        return start + 1, _of_month(_year_beside(tokens, start) or _last_year_with(month, today), month)
    if start > 1 and tokens[start - 1].norm in {"to", "until", "and"} and tokens[start - 2].norm in times.months:
        return start + 1, _of_month(_year_beside(tokens, start) or _last_year_with(month, today), month)
    if start and tokens[start - 1].norm in _BEFORE_YEAR:
        # "In May and June 2025": the year is said once for both.
        shared = rest[2] if len(rest) > 2 and norms[0] in {"and", "or"} and norms[1] in times.months else None
        year = _as_year(shared) if shared is not None else None
        return start + 1, _of_month(year or _last_year_with(month, today), month)
    return None


def _day(end: int, year: int, month: int, day: int) -> tuple[int, Period] | None:
    try:
        read = date(year, month, day)
    except ValueError:
        return None
    return end, Period(read, read + timedelta(days=1))


_RANGE_LEADS: Final = frozenset({"from", "between", "to", "until", "and"})
_BEFORE_DAY: Final = frozenset({*_RANGE_LEADS, "on", "since", "after", "before"})


def _quarter(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:
    number = _times().quarters.get(tokens[start].norm)
    if number is None:
        return None
    end, year = start + 1, _year_beside(tokens, start) or today.year
    if end < len(tokens) and _as_year(tokens[end]) is not None:
        year, end = int(tokens[end].norm), end + 1
    first = date(year, 3 * number - 2, 1)
    return end, Period(first, _plus(first, Unit.QUARTER, 1))


def _ordinal_quarter(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:
    """ "The second quarter of 2025", "third quarter" of this year, "the first quarter of last year"."""
    place = start + 1 if tokens[start].norm == "the" else start
    number = _ORDINALS.get(tokens[place].norm) if place + 1 < len(tokens) else None
    if number is None or tokens[place + 1].norm != "quarter":
        return None
    year, end = today.year, place + 2
    if end + 1 < len(tokens) and tokens[end].norm == "of":
        said, led = _as_year(tokens[end + 1]), _led_unit(tokens, end + 1, today)
        if said is not None:
            year, end = said, end + 2
        elif led is not None and led[1].whole_year is not None:
            year, end = led[1].whole_year, led[0]
        else:
            return None
    elif end < len(tokens) and (said := _as_year(tokens[end])) is not None:
        year, end = said, end + 1
    first = date(year, 3 * number - 2, 1)
    return end, Period(first, _plus(first, Unit.QUARTER, 1))


_ORDINALS: Final = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}


def _half(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:
    """ "The first half of 2025", "H1 2025", 去年上半年, 2025年下半年, and a half alone: this year's."""
    place, year = start, today.year
    before = _chinese_year(tokens, start, today) or _relative(tokens, start, today)
    if before is not None and before[1].whole_year is not None:
        place, year = before[0], before[1].whole_year
    for length in (2, 1):
        number = _times().halves.get(tuple(token.norm for token in tokens[place : place + length]))
        if number is None:
            continue
        end = place + length
        joint = end + 1 if end < len(tokens) and tokens[end].norm == "of" else end
        if place == start and joint < len(tokens):
            said = _as_year(tokens[joint])
            led = _led_unit(tokens, joint, today)
            if said is not None:
                end, year = joint + 1, said
            elif led is not None and led[1].whole_year is not None:
                end, year = led[0], led[1].whole_year
        first = date(year, 6 * number - 5, 1)
        return end, Period(first, _plus(first, Unit.MONTH, 6))
    return None


def _chinese_year(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:  # noqa: ARG001 - one signature
    year = _as_year(tokens[start])
    if year is None or start + 1 >= len(tokens) or tokens[start + 1].norm not in {"年", "年度"}:
        return None
    end = start + 2
    dated = _month_or_day(tokens, end, year)
    if dated is not None:
        return dated
    if end < len(tokens) and tokens[end].norm in _times().quarters:
        first = date(year, 3 * _times().quarters[tokens[end].norm] - 2, 1)
        return end + 1, Period(first, _plus(first, Unit.QUARTER, 1))
    return end, whole_year(year)


def _month_or_day(tokens: Sequence[Token], start: int, year: int) -> tuple[int, Period] | None:
    """5月, 5月3日 of a year."""
    if start + 1 >= len(tokens) or not tokens[start].norm.isdecimal() or tokens[start + 1].norm not in {"月", "月份"}:
        return None
    month = int(tokens[start].norm)
    if not 1 <= month <= 12:
        return None
    if start + 3 < len(tokens) and tokens[start + 2].norm.isdecimal() and tokens[start + 3].norm in {"日", "号"}:
        day = int(tokens[start + 2].norm)
        if 1 <= day <= calendar.monthrange(year, month)[1]:
            read = date(year, month, day)
            return start + 4, Period(read, read + timedelta(days=1))
    return start + 2, _of_month(year, month)


def _chinese_month(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:
    """5月 without a year: that of the other end of a range, else the last that has come."""
    if not tokens[start].norm.isdecimal():
        return None
    return _month_or_day(tokens, start, _year_beside(tokens, start) or _last_year_with(int(tokens[start].norm), today))


def _year_beside(tokens: Sequence[Token], start: int) -> int | None:
    """Return the year that one end of a range names for both; None where none is at hand, or not one year."""
    near = (*tokens[max(0, start - 1) : start], *tokens[start + 1 : start + 5])
    between = any(token.norm == "between" for token in tokens)
    if not any(token.norm in _RANGE_WORDS or (between and token.norm == "and") for token in near):
        return None
    english = any(token.norm in _RANGE_LEADS for token in tokens)
    years = {
        _as_year(one) for one, other in pairwise((*tokens, *tokens[-1:])) if english or other.norm in {"年", "年度"}
    } - {None}
    return years.pop() if len(years) == 1 else None


def _last_year_with(month: int, today: date) -> int:
    return today.year if month <= today.month else today.year - 1


_RANGE_WORDS: Final = frozenset({"到", "至", "-", "–", "—", "~", "from", "to", "until", "between"})


def _unit_period(today: date, unit: Unit, offset: int) -> Period:
    if unit is Unit.YEAR:
        return whole_year(today.year + offset)
    if unit is Unit.DAY:
        start = today
    elif unit is Unit.WEEK:
        start = today - timedelta(days=today.weekday())
    elif unit is Unit.MONTH:
        start = today.replace(day=1)
    else:
        start = date(today.year, 3 * ((today.month - 1) // 3) + 1, 1)
    start = _plus(start, unit, offset)
    return Period(start, _plus(start, unit, 1))


def _plus(start: date, unit: Unit, count: int) -> date:
    if unit is Unit.DAY:
        return start + timedelta(days=count)
    if unit is Unit.WEEK:
        return start + timedelta(weeks=count)
    months = count * {Unit.MONTH: 1, Unit.QUARTER: 3, Unit.YEAR: 12}[unit]
    total = start.year * 12 + start.month - 1 + months
    year, month = divmod(total, 12)
    return date(year, month + 1, min(start.day, calendar.monthrange(year, month + 1)[1]))


def years_before(day: date, years: int) -> date:
    """Return the same day some years earlier."""
    return _plus(day, Unit.YEAR, -years)


def unit_of(word: str) -> Unit | None:
    """Return the unit by which a word cuts time: month, 月, 个月, weekday; None for other words."""
    return _times().steps.get(word)


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
    return min(word for word, unit in _times().units.items() if unit is Unit.YEAR)
