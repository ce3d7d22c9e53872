"""Rows as people read them, by the format that an answer's columns have: the page's `values.js` does the same for browsers.

A column without a format is of an answer stored before there were any: its cells are shown as they are, without guesses.
"""

from __future__ import annotations

import calendar
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any, Final, cast

from querybus.core.catalog import Language

_FIGURES: Final = frozenset({"integer", "number", "money", "percent"})
_DAY: Final = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?")
_MIDNIGHT: Final = re.compile(r"[T ]00:00(?::00(?:\.0+)?)?(?:Z|[+-]\d{2}(?::?\d{2})?)?$")
_FRACTION: Final = re.compile(r"(:\d{2})\.\d+")
_UTC: Final = re.compile(r"(?:Z|[+-]00(?::?00)?)$")
_EXPONENT_MIN: Final = Decimal("1e21")
"""From here on a number is written with an exponent, as in browsers."""
_TRUTHS: Final[Mapping[Language, tuple[str, str]]] = {"en": ("yes", "no"), "zh": ("是", "否")}


def shown_rows(
    columns: Sequence[Mapping[str, Any]], rows: Iterable[Sequence[Any]], language: Language
) -> list[list[str]]:
    """Return the cells of an answer's rows as text; NULL is empty.

    >>> month = {"label": "month", "format": {"kind": "date", "grain": "month"}}
    >>> columns = [month, {"label": "revenue", "format": {"kind": "number", "digits": 2}}]
    >>> shown_rows(columns, [["2025-01-01", 1011954.2700000091], ["2025-02-01", 5]], "en")
    [['Jan 2025', '1,011,954.27'], ['Feb 2025', '5.00']]
    """
    formats = [cast("Mapping[str, Any] | None", column.get("format")) for column in columns]
    return [[shown_cell(cell, how, language) for cell, how in zip(row, formats, strict=True)] for row in rows]


def is_figure(column: Mapping[str, Any]) -> bool:
    """Return whether a column's cells stand to the right: amounts, and without a format whatever are numbers."""
    how = cast("Mapping[str, Any] | None", column.get("format"))
    return column.get("kind") in ("integer", "number") if how is None else how.get("kind") in _FIGURES


def shown_cell(cell: Any, how: Mapping[str, Any] | None, language: Language) -> str:
    """Return one cell as text; `how` is its column's format.

    >>> share = {"kind": "percent", "digits": 1, "factor": 100.0}
    >>> shown_cell(0.2768, share, "en"), shown_cell(2026, {"kind": "year"}, "en"), shown_cell(0.1 + 0.2, None, "en")
    ('27.7%', '2026', '0.3')
    """
    if cell is None:
        return ""
    kind = how.get("kind") if how is not None else None
    if how is None or kind is None:
        return _plain(cell)
    if kind == "boolean":
        return _TRUTHS[language][cell not in (True, 1, "1", "t", "true", "True")]
    if kind in _FIGURES:
        figure = shown_figure(cell, int(how.get("digits") or 0), float(how.get("factor") or 1))
        return f"{figure}%" if kind == "percent" and figure[-1:].isdigit() else figure
    if kind == "date":
        return _date(str(cell), str(how.get("grain") or "day"), language)
    if kind == "datetime":
        return _UTC.sub(" UTC", _FRACTION.sub(r"\1", str(cell).replace("T", " ")))
    return _plain(cell)


def shown_figure(cell: Any, digits: int, factor: float = 1.0) -> str:
    """Return a number times a factor with thousands apart and at most so many digits, at least the smaller of them and two.

    Halves are rounded up, away from zero; texts that are no numbers are returned as they are.

    >>> shown_figure(1234.5, 2), shown_figure("0.125", 2), shown_figure(-0.001, 2), shown_figure(0.1234, 4), shown_figure(0.5, 4)
    ('1,234.50', '0.13', '0.00', '0.1234', '0.50')
    """
    try:
        number = Decimal(str(cell)) * Decimal(str(factor))
    except InvalidOperation:
        return str(cell)
    if isinstance(cell, bool) or not number.is_finite():
        return str(cell)
    if abs(number) >= _EXPONENT_MIN:
        return f"{number:.2e}"
    rounded = number.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)
    text = f"{rounded or abs(rounded):,f}"
    whole, point, behind = text.partition(".")
    return f"{whole}{point}{behind[:2]}{behind[2:].rstrip('0')}"


def _plain(cell: Any) -> str:
    if isinstance(cell, float) and math.isfinite(cell):
        # A float has fifteen digits that count; what follows is noise of adding.
        return f"{float(f'{cell:.15g}'):g}" if abs(cell) >= 1e16 else repr(float(f"{cell:.15g}")).removesuffix(".0")
    return str(cell)


def _date(text: str, grain: str, language: Language) -> str:
    match = _DAY.match(text)
    month = int(match[2]) if match else 0
    if match is None or not 1 <= month <= 12:
        return text
    year = match[1]
    if grain == "year":
        return f"{year}年" if language == "zh" else year
    if grain == "quarter":
        quarter = (month + 2) // 3
        return f"{year}年第{quarter}季度" if language == "zh" else f"Q{quarter} {year}"
    if grain == "month":
        return f"{year}年{month}月" if language == "zh" else f"{calendar.month_abbr[month]} {year}"
    return _MIDNIGHT.sub("", text)
