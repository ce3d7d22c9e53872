"""Rows as people read them: figures with the digits of their column, years and ids as they are, months and quarters by name.

The page's `values.js` does the same for browsers.
"""

from __future__ import annotations

import calendar
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from querybus.core.catalog import Language

_YEAR: Final = re.compile(r"year|年", re.IGNORECASE)
_MONTH: Final = re.compile(r"month|月", re.IGNORECASE)
_QUARTER: Final = re.compile(r"quarter|季度", re.IGNORECASE)
_FIRST: Final = re.compile(r"(\d{4})-(\d{2})(?:-01(?:[T ]00:00:00(?:\.0+)?)?)?")
_MIDNIGHT: Final = re.compile(r" 00:00:00(?:\.0+)?$")
_IDENTITY: Final = re.compile(r"(?:^|\b|_)(?:id|no|number|code|zip|postcode)$|编号|号码|代码|邮编", re.IGNORECASE)
SMALL_DIGITS: Final = 4
"""Behind the point, of figures below one."""


def shown_rows(
    columns: Sequence[Mapping[str, Any]], rows: Iterable[Sequence[Any]], language: Language
) -> list[list[str]]:
    """Return the cells of an answer's rows as text; NULL is empty.

    >>> columns = [{"label": "month", "kind": "date"}, {"label": "revenue", "kind": "number"}]
    >>> shown_rows(columns, [["2025-01-01", 1011954.2700000091], ["2025-02-01", 5]], "en")
    [['Jan 2025', '1,011,954.27'], ['Feb 2025', '5.00']]
    """
    whole = list(rows)
    by_column = [_column(column, [row[place] for row in whole], language) for place, column in enumerate(columns)]
    return [list(cells) for cells in zip(*by_column, strict=True)] if by_column else []


def _column(column: Mapping[str, Any], cells: Sequence[Any], language: Language) -> list[str]:
    label, kind = str(column["label"]), column.get("kind")
    if kind in ("integer", "number") and not _are_years(label, cells) and not _IDENTITY.search(label):
        digits = max((_digits(cell) for cell in cells if isinstance(cell, int | float)), default=0)
        return [_figure(cell, digits) for cell in cells]
    if kind in ("date", "datetime", "text") and (_MONTH.search(label) or _QUARTER.search(label)):
        firsts = [_FIRST.fullmatch(str(cell)) for cell in cells if cell is not None]
        begins = all(first is not None and first.group(2) in _QUARTER_MONTHS for first in firsts)
        named = _quarter if _QUARTER.search(label) and begins else _month if _MONTH.search(label) else None
        if firsts and all(firsts) and named is not None:
            return ["" if cell is None else named(str(cell), language) for cell in cells]
    if kind == "datetime":
        return ["" if cell is None else _MIDNIGHT.sub("", str(cell).replace("T", " ")) for cell in cells]
    return ["" if cell is None else str(cell) for cell in cells]


_QUARTER_MONTHS: Final = ("01", "04", "07", "10")


def _quarter(text: str, language: Language) -> str:
    year, number = text[:4], (int(text[5:7]) + 2) // 3
    return f"{year}年第{number}季度" if language == "zh" else f"Q{number} {year}"


def _are_years(label: str, cells: Sequence[Any]) -> bool:
    """Whether figures are years: called so, and none is anything else."""
    return _YEAR.search(label) is not None and all(
        cell is None or (isinstance(cell, int) and 1_000 <= cell <= 2_999) for cell in cells
    )


def _digits(cell: float) -> int:
    if isinstance(cell, int) or not math.isfinite(cell) or cell.is_integer():
        return 0
    return 2 if abs(cell) >= 1 else SMALL_DIGITS


def _figure(cell: Any, digits: int) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return str(cell)
    if isinstance(cell, float) and abs(cell) >= 1e15:
        return f"{cell:g}"
    text = f"{cell:,.{digits}f}"
    if digits <= 2:
        return text
    # Four digits are for the small ones; what needs fewer has at least the cents.
    whole, _, behind = text.partition(".")
    return f"{whole}.{behind.rstrip('0').ljust(2, '0')}"


def _month(text: str, language: Language) -> str:
    first = _FIRST.fullmatch(text)
    year, month = (first.group(1), int(first.group(2))) if first else (text, 0)
    if not 1 <= month <= 12:
        return text
    return f"{year}年{month}月" if language == "zh" else f"{calendar.month_abbr[month]} {year}"
