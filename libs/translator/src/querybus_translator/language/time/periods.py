"""Words for time become a period: first day, and the first day after it, counted from a given today.

"Last month" is the calendar month before; "the last three months" ends today. Limits: the Gregorian calendar, weeks
from Monday, a time of day only behind a date in figures.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from datetime import date, timedelta
from itertools import pairwise
from typing import Final

from querybus_translator.language.time.spans import Period, century, decade, to_date
from querybus_translator.language.time.words import Unit, chinese_number, times
from querybus_translator.language.tokens import Token, TokenKind

YEAR_MIN = 1500
YEAR_MAX = 2150


def read_period(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:
    """Return the longest period whose words begin at `start`, with the place after them, or None."""
    for read in (
        _dated,
        to_date,
        decade,
        century,
        _days_first,
        _half,
        _rolling,
        _weekend,
        _relative,
        _led_unit,
        _ordinal_quarter,
        _named_month,
        _quarter,
        _chinese_year,
        _chinese_month,
        _year,
        _another_year,
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


def _another_year(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:
    """The second year of "in 2024 and 2025" and "the first quarter of 2025 and 2026": the same period, of that year."""
    year = _as_year(tokens[start])
    before = None if start < 2 or tokens[start - 1].norm not in _JOINING else _as_year(tokens[start - 2])
    if year is None or before is None:
        return None
    for opening in range(max(0, start - _PERIOD_WORDS_MAX), start - 1):
        named = read_period(tokens, opening, today)
        opened = tokens[opening - 1].norm if opening else ""
        if named is not None and named[0] == start - 1 and opened not in {"between", "from"}:
            return start + 1, _in_year(named[1], year)
    return None


_JOINING: Final = frozenset({"and", "or", "vs", "versus", "&", ","})
_PERIOD_WORDS_MAX: Final = 6


def _in_year(period: Period, year: int) -> Period:
    """Return the same days of another year."""
    if period.whole_year is not None:
        return whole_year(year)
    later = year - period.start.year
    return Period(_plus(period.start, Unit.YEAR, later), _plus(period.end, Unit.YEAR, later))


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
    time = token.text[10:].strip(" T") if "/" not in token.text else ""
    # With its seconds: not every engine reads a time without them.
    seconds = "" if len(time) > len("14:30") else ":00"
    moment = f"{read.isoformat()} {time}{seconds}" if time.strip(":0") else None
    return start + 1, Period(read, read + timedelta(days=1), moment=moment)


def _relative(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:
    known = times()
    if tokens[start].norm not in known.relative_firsts:
        return None
    for length in (4, 3, 2, 1):
        key = tuple(token.norm for token in tokens[start : start + length])
        if len(key) == length and key in known.relative:
            unit, offset = known.relative[key]
            read = _unit_period(today, unit, offset)
            end = start + length
            if unit is Unit.YEAR and end + 1 < len(tokens) and tokens[end + 1].norm in {"月", "月份"}:
                month = tokens[end].norm
                if month.isdecimal() and 1 <= int(month) <= 12:
                    return end + 2, _of_month(read.start.year, int(month))
            if unit is Unit.YEAR and end < len(tokens) and tokens[end].norm in known.quarters:
                first = date(read.start.year, 3 * known.quarters[tokens[end].norm] - 2, 1)
                return end + 1, Period(first, _plus(first, Unit.QUARTER, 1))
            return end, read
    return None


def _led_unit(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:
    """ "Last month", "the previous year": a leading word and the name of one unit."""
    place = start + 1 if tokens[start].norm == "the" else start
    if place + 1 >= len(tokens) or tokens[place].norm not in times().leads:
        return None
    unit = times().units.get(tokens[place + 1].norm)
    if unit is None or tokens[place + 1].norm != tokens[place + 1].base:
        return None
    return place + 2, _unit_period(today, unit, times().leads[tokens[place].norm])


def _weekend(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:
    """ "This weekend", "the last weekend", 下周末: one Saturday and Sunday; weekends without such a word are all of them."""
    place = start + (tokens[start].norm == "the")
    for length in (3, 2, 1):
        words = [token.norm for token in tokens[place : place + length]]
        said = "".join(words)
        offset = times().leads.get(words[0]) if words[1:] == ["weekend"] else _WEEKENDS_ZH.get(said)
        if offset is not None and len(words) == length:
            saturday = today - timedelta(days=today.weekday()) + timedelta(days=5 + 7 * offset)
            return place + length, Period(saturday, saturday + timedelta(days=2))
    return None


_WEEKENDS_ZH: Final = {
    **dict.fromkeys(("本周末", "这周末", "这个周末"), 0),
    **dict.fromkeys(("上周末", "上个周末"), -1),
    **dict.fromkeys(("下周末", "下个周末"), 1),
}


def _rolling(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:
    known = times()
    place = start
    is_ahead = tokens[place].norm in known.ahead
    if not is_ahead and tokens[place].norm not in known.rolling:
        return None
    place += 1
    if place >= len(tokens):
        return None
    count = _count(tokens[place])
    if count is None or place + 1 >= len(tokens):
        return None
    end = place + 1
    unit = known.units.get(tokens[end].norm)
    if unit is None and end + 1 < len(tokens):
        end += 1
        unit = known.units.get(tokens[end - 1].norm + tokens[end].norm) or known.units.get(tokens[end].norm)
    if unit is None or not 1 <= count <= 1_000:
        return None
    span = (
        Period(today, _plus(today, unit, count))
        if is_ahead
        else Period(_plus(today, unit, -count), today + timedelta(days=1))
    )
    return end + 1, span


def _count(token: Token) -> int | None:
    from querybus_translator.language.lexicon import lexicon

    if token.norm.isdecimal():
        return int(token.norm)
    return lexicon().numbers.get(token.norm) or (chinese_number(token.norm) if token.kind is TokenKind.HAN else None)


def _named_month(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:
    known = times()
    month = known.months.get(tokens[start].norm)
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
    if len(tokens) == 1:
        # "What about June?": what is asked instead.
        return 1, _of_month(_last_year_with(month, today), month)
    if start and tokens[start - 1].norm in _RANGE_LEADS and any(token.norm in _RANGE_LEADS for token in rest):
        return start + 1, _of_month(_year_beside(tokens, start) or _last_year_with(month, today), month)
    if start > 1 and tokens[start - 1].norm in {"to", "until", "and"} and tokens[start - 2].norm in known.months:
        return start + 1, _of_month(_year_beside(tokens, start) or _last_year_with(month, today), month)
    if start and tokens[start - 1].norm in _BEFORE_YEAR:
        # "In May and June 2025": the year is said once for both.
        shared = rest[2] if len(rest) > 2 and norms[0] in {"and", "or"} and norms[1] in known.months else None
        year = _as_year(shared) if shared is not None else None
        return start + 1, _of_month(year or _last_year_with(month, today), month)
    return None


def _days_first(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:
    """ "15 January 2025", "on the 3rd of May", "from 15 to 20 January 2025": days stand before their month."""
    place = start + (tokens[start].norm in {"from", "between"})
    first, place = _day_number(tokens, place)
    if first is None or place >= len(tokens):
        return None
    last: int | None = first
    if tokens[place].norm in {"to", "-", "–", "and", "until", "through"}:
        last, place = _day_number(tokens, place + 1)
    if last is None or (last == first and tokens[start].norm in {"from", "between"}):
        return None
    place += place < len(tokens) and tokens[place].norm == "of"
    month = times().months.get(tokens[place].norm) if place < len(tokens) and tokens[place].text[:1].isupper() else None
    if month is None:
        return None
    behind = place + 2 if place + 1 < len(tokens) and tokens[place + 1].norm == "," else place + 1
    year = _as_year(tokens[behind]) if behind < len(tokens) else None
    if year is not None:
        place = behind
    elif start and tokens[start - 1].norm in _BEFORE_DAY:
        year = _year_beside(tokens, place) or _last_year_with(month, today)
    else:
        year = _year_beside(tokens, place)
    days = [_day(place + 1, year, month, day) for day in (first, last)] if year is not None else []
    opened, closed = days if len(days) > 1 else (None, None)
    if opened is None or closed is None or opened[1].start > closed[1].start:
        return None
    return place + 1, Period(opened[1].start, closed[1].end)


def _day_number(tokens: Sequence[Token], place: int) -> tuple[int | None, int]:
    """Return the day of a month that is written at a place, with "the" or as 3rd, and the place behind it."""
    place += place < len(tokens) and tokens[place].norm == "the"
    found = _DAY_NUMBER.fullmatch(tokens[place].norm) if place < len(tokens) else None
    return (int(found.group(1)) if found is not None else None), place + 1


_DAY_NUMBER: Final = re.compile(r"([12]?\d|3[01])(?:st|nd|rd|th)?")


def _day(end: int, year: int, month: int, day: int) -> tuple[int, Period] | None:
    try:
        read = date(year, month, day)
    except ValueError:
        return None
    return end, Period(read, read + timedelta(days=1))


_RANGE_LEADS: Final = frozenset({"from", "between", "to", "until", "and"})
_BEFORE_DAY: Final = frozenset({*_RANGE_LEADS, "on", "since", "after", "before"})


def _quarter(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:
    number = times().quarters.get(tokens[start].norm)
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
        number = times().halves.get(tuple(token.norm for token in tokens[place : place + length]))
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


def _chinese_year(tokens: Sequence[Token], start: int, today: date) -> tuple[int, Period] | None:
    year = _as_year(tokens[start])
    if year is None or start + 1 >= len(tokens) or tokens[start + 1].norm not in {"年", "年度"}:
        return None
    end = start + 2
    dated = _month_or_day(tokens, end, year)
    if dated is not None:
        return dated
    if end < len(tokens) and tokens[end].norm in times().quarters:
        first = date(year, 3 * times().quarters[tokens[end].norm] - 2, 1)
        return end + 1, Period(first, _plus(first, Unit.QUARTER, 1))
    if end + 1 < len(tokens) and tokens[end].norm in _CHINESE_JOINING and _as_year(tokens[end + 1]) is not None:
        # 2025年和2026年第一季度: the quarter is said once for both years.
        other = _chinese_year(tokens, end + 1, today)
        return end, whole_year(year) if other is None else _in_year(other[1], year)
    return end, whole_year(year)


_CHINESE_JOINING: Final = frozenset({"和", "与", "跟", "及", "、"})


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


def unit_apart(periods: Sequence[Period]) -> Unit | None:
    """Return the unit by which periods differ; None where they are not alike.

    >>> unit_apart([whole_year(2024), whole_year(2025)]), unit_apart([whole_year(2024)])
    (<Unit.YEAR: 5>, None)
    """
    starts = {period.start for period in periods}
    if len(starts) < 2 or len(starts) < len(periods):
        return None
    days = {(period.start.month, period.start.day, period.end.month, period.end.day) for period in periods}
    if len(days) == 1 and len({start.year for start in starts}) == len(periods):
        return Unit.YEAR
    for unit in (Unit.QUARTER, Unit.MONTH, Unit.DAY):
        if all(period.end == _plus(period.start, unit, 1) for period in periods):
            return unit
    return None


def years_before(day: date, years: int) -> date:
    """Return the same day some years earlier."""
    return _plus(day, Unit.YEAR, -years)
