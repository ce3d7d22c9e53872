"""Cell values in words of a language: numbers with separators, dates as people write them, nothing rounded away.

Decimals come as text on the wire. A number keeps at most DECIMALS_MAX decimals; what is smaller than one keeps three figures.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Final

from querybus.core.catalog import ColumnKind, Language
from querybus.core.messages import ColumnFormat, Grain, Scalar
from querybus.text.rows.shown_rows import shown_figure
from querybus_presenter.wording.texts import Texts

DECIMALS_MAX: Final = 2
TEXT_LENGTH_MAX: Final = 80

NUMERIC: Final = frozenset({ColumnKind.INTEGER, ColumnKind.NUMBER})
TEMPORAL: Final = frozenset({ColumnKind.DATE, ColumnKind.DATETIME})

MONTHS: Final = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?")
_MONTH = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])")


def number(value: Scalar) -> Decimal | None:
    """Return a cell as a finite number, also from a decimal's text; None for anything else.

    >>> number("12.50"), number("12a"), number(True)
    (Decimal('12.50'), None, None)
    """
    if isinstance(value, bool) or value is None:
        return None
    try:
        result = Decimal(str(value))
    except InvalidOperation:
        return None
    return result if result.is_finite() else None


def in_words(value: Scalar, kind: ColumnKind, texts: Texts, how: ColumnFormat | None = None) -> str:
    """Return a cell as a sentence may hold it, by its column's format; the empty text for no value."""
    if value is None:
        return ""
    if isinstance(value, bool) or kind is ColumnKind.BOOLEAN:
        return texts.summary["yes" if value in (True, 1, "1", "true", "t") else "no"]
    result = number(value) if kind in NUMERIC or not isinstance(value, str) else None
    if result is not None:
        if how is None:
            return number_in_words(result)
        return str(value) if not how.is_figure else shown_figure(result, how.digits, how.factor)
    grain = how.grain if how is not None else "day"
    text = str(value)
    if _MONTH.fullmatch(text):
        return date_in_words(f"{text}-01", texts.language, "month") or text
    if (kind in TEMPORAL or grain != "day") and (day := date_in_words(text, texts.language, grain)):
        return day
    return text if len(text) <= TEXT_LENGTH_MAX else text[: TEXT_LENGTH_MAX - 1] + "…"


def number_in_words(value: Decimal) -> str:
    """Return a number that no column holds with thousands apart; both languages write them alike.

    >>> [number_in_words(Decimal(text)) for text in ("1234567", "1234.5", "3.14159", "0.01164", "0.000123456", "-0.00")]
    ['1,234,567', '1,234.5', '3.14', '0.0116', '0.000123', '0']
    """
    if not value:
        return "0"
    decimals = max(DECIMALS_MAX, 2 - value.adjusted())
    if decimals > 30:
        return f"{value:.2e}"
    text = f"{round(value, decimals):,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def large_in_words(value: Decimal, language: Language) -> str | None:
    """Return a large number as people say it, with at most two decimals; None for one that is said in full.

    >>> [large_in_words(Decimal(each), "en") for each in ("18445281.6", "41800000000", "999999")]
    ['18.45 million', '41.8 billion', None]
    >>> [large_in_words(Decimal(each), "zh") for each in ("18445281.6", "184452816", "99999")]
    ['1,844.53万', '1.84亿', None]
    """
    for least, divisor, word in _LARGE[language]:
        if abs(value) >= least:
            return f"{number_in_words(round(value / divisor, DECIMALS_MAX))}{word}"
    return None


_LARGE: Final[Mapping[Language, tuple[tuple[Decimal, Decimal, str], ...]]] = {
    "en": ((Decimal(10**9), Decimal(10**9), " billion"), (Decimal(10**6), Decimal(10**6), " million")),
    "zh": ((Decimal(10**8), Decimal(10**8), "亿"), (Decimal(10**5), Decimal(10**4), "万")),
}


def with_unit(text: str, unit: str, language: Language) -> str:
    """Return an amount with what it is in: a sign of money before it, everything else behind.

    >>> with_unit("12", "€", "en"), with_unit("12", "CNY", "en"), with_unit("12", "%", "en"), with_unit("12万", "元", "zh")
    ('€12', '12 CNY', '12%', '12万元')
    """
    if not unit:
        return text
    if unit in _MONEY_SIGNS:
        return f"{unit}{text}"
    parts_with_space = unit[0].isascii() and unit[0].isalpha() and not (language == "zh" and not unit.isascii())
    return f"{text}{' ' if parts_with_space else ''}{unit}"


_MONEY_SIGNS: Final = frozenset("€$£¥￥₹₩₽")


def date_in_words(text: str, language: Language, grain: Grain = "day") -> str | None:
    """Return an ISO date, or date and time, as people write it; None if it is none. Of a month, quarter or year, only that.

    >>> date_in_words("2024-03-05", "en"), date_in_words("2024-03-05 14:30:00", "zh")
    ('5 March 2024', '2024年3月5日 14:30')
    """
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    try:
        day = dt.date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return None
    if grain == "year":
        return f"{day.year}年" if language == "zh" else str(day.year)
    if grain == "quarter":
        quarter = (day.month + 2) // 3
        return f"{day.year}年第{quarter}季度" if language == "zh" else f"Q{quarter} {day.year}"
    if grain == "month":
        return f"{day.year}年{day.month}月" if language == "zh" else f"{MONTHS[day.month - 1]} {day.year}"
    words = (
        f"{day.year}年{day.month}月{day.day}日" if language == "zh" else f"{day.day} {MONTHS[day.month - 1]} {day.year}"
    )
    has_time = match[4] is not None and (match[4], match[5]) != ("00", "00")
    return f"{words} {match[4]}:{match[5]}" if has_time else words
