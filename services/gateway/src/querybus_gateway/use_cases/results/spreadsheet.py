"""A whole result as a spreadsheet: numbers, dates and shares are values, shown by number formats as the answer shows them."""

from __future__ import annotations

import asyncio
import datetime as dt
import io
import math
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from querybus.bus.stores.pages import decode_page
from querybus.text.rows.shown_rows import is_figure, shown_cell
from querybus_gateway.public.redaction import public_columns
from querybus_gateway.use_cases.results.pages import Export

_EXACT_MAX: Final = 2**53
"""Beyond it a spreadsheet would change a whole number's last digits."""
_DIGITS_EXACT: Final = 15
_DIGITS_BEYOND_SHOWN: Final = 4
_CELL_LENGTH_MAX: Final = 32_767
_WIDTH_MAX: Final = 60
SHEET_NAME_LENGTH_MAX: Final = 31
_SHEET_NAME: Final[Mapping[str, str]] = {"en": "Answer", "zh": "结果"}
_NOT_IN_SHEET_NAMES: Final = re.compile(r"[\[\]:*?/\\\s]+")
_DATE: Final = re.compile(
    r"(\d{4})-(\d{2})(?:-(\d{2}))?(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?)?(Z|[+-]\d{2}(?::?\d{2})?)?"
)
_FIRST_YEAR: Final = 1_900
"""Spreadsheets count days from here on."""


async def spreadsheet(export: Export) -> AsyncGenerator[bytes]:
    """Return the bytes of the result as one sheet, which is called as the question."""
    # Loaded at first use: most results leave otherwise.
    import xlsxwriter

    file = io.BytesIO()
    # In memory: the process may have no folder that it can write to.
    book = xlsxwriter.Workbook(file, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False})
    columns = public_columns(export.answer, export.audience)
    sheet = _Sheet(book, sheet_name(export.question, export.answer.language), columns, export.answer.language)
    number = 0
    async with aclosing(export.pages()) as pages:
        async for data in pages:
            rows = decode_page(data)[1]
            await asyncio.to_thread(sheet.write, rows, number + 1)
            number += len(rows)
    sheet.finish(number, is_truncated=export.answer.truncated)
    await asyncio.to_thread(book.close)
    yield file.getvalue()


def sheet_name(question: str, language: str) -> str:
    """Return what a sheet may be called, by the question.

    >>> sheet_name("How many orders / month?", "en"), sheet_name("  ", "zh"), len(sheet_name("x" * 99, "en"))
    ('How many orders month', '结果', 31)
    """
    words = _NOT_IN_SHEET_NAMES.sub(" ", question).strip(" '")[:SHEET_NAME_LENGTH_MAX].strip(" '")
    # A program of spreadsheets keeps this name for itself.
    return words if words and words.lower() != "history" else _SHEET_NAME[language]


def number_format(how: Mapping[str, Any], language: str) -> str:
    """Return the number format by which a spreadsheet shows a column's values as the answer does; empty for none.

    >>> number_format({"kind": "percent", "digits": 1, "factor": 100.0}, "en"), number_format({"kind": "year"}, "en")
    ('#,##0.0%', '0')
    >>> number_format({"kind": "date", "grain": "month"}, "en"), number_format({"kind": "number", "digits": 4}, "en")
    ('[$-409]mmm yyyy', '#,##0.00##')
    """
    kind, digits = how["kind"], int(how.get("digits") or 0)
    point = f".{'0' * min(digits, 2)}{'#' * (digits - 2)}" if digits else ""
    if kind == "percent":
        return f"#,##0{point}%" if how.get("factor") == 100 else f'#,##0{point}"%"'
    if kind in ("integer", "number", "money"):
        return f"#,##0{point}"
    if kind in ("year", "id"):
        return "0"
    if kind == "datetime":
        return "yyyy-mm-dd hh:mm:ss"
    grain = how.get("grain", "day") if kind == "date" else ""
    is_chinese = language == "zh"
    return {
        "day": "yyyy-mm-dd",
        "month": 'yyyy"年"m"月"' if is_chinese else "[$-409]mmm yyyy",
        "year": 'yyyy"年"' if is_chinese else "yyyy",
    }.get(grain, "")


class _Sheet:
    """One sheet in the making: a head, typed cells, widths by what is shown."""

    def __init__(self, book: Any, name: str, columns: Sequence[Mapping[str, Any]], language: Any) -> None:
        self._book = book
        self._sheet = book.add_worksheet(name)
        self._columns = columns
        self._language = language
        self._formats: dict[str, Any] = {}
        head = {"bold": True, "bottom": 1, "bg_color": "#F1F3F4"}
        sides = {True: book.add_format({**head, "align": "right"}), False: book.add_format(head)}
        for place, column in enumerate(columns):
            self._sheet.write_string(0, place, str(column["label"]), sides[is_figure(column)])
        self._sheet.freeze_panes(1, 0)
        self._widths = [len(str(column["label"])) for column in columns]

    def write(self, rows: Sequence[Sequence[Any]], first: int) -> None:
        """Write rows from a line on, counted from 0 with the head."""
        for at, row in enumerate(rows, first):
            for place, cell in enumerate(row):
                if cell is not None:
                    self._write(at, place, cell)

    def finish(self, rows: int, *, is_truncated: bool) -> None:
        """Set widths and the filter, and say that rows are missing."""
        for place, width in enumerate(self._widths):
            self._sheet.set_column(place, place, min(_WIDTH_MAX, max(8, width + 2)))
        if rows and self._columns:
            self._sheet.autofilter(0, 0, rows, len(self._columns) - 1)
        if is_truncated:
            self._sheet.write_string(rows + 1, 0, "…")

    def _write(self, at: int, place: int, cell: Any) -> None:
        how = self._columns[place].get("format")
        shown = shown_cell(cell, how, self._language)
        self._widths[place] = max(self._widths[place], len(shown))
        if isinstance(cell, bool) or (how and how["kind"] == "boolean" and cell in (0, 1)):
            self._sheet.write_boolean(at, place, cell)
            return
        number = _number_of(cell, how)
        if number is not None:
            self._sheet.write_number(at, place, number, self._format(number_format(how, self._language) if how else ""))
            return
        day = _day_of(str(cell)) if how and how["kind"] in ("date", "datetime") else None
        if day is None or how is None:
            self._sheet.write_string(at, place, str(cell)[:_CELL_LENGTH_MAX])
            return
        # No number format says quarters: the text of each is a format of its own over the date.
        written = f'"{shown}"' if how.get("grain") == "quarter" else number_format(how, self._language)
        written += '" UTC"' if shown.endswith(" UTC") else ""
        self._sheet.write_datetime(at, place, day, self._format(written))

    def _format(self, written: str) -> Any:
        if not written:
            return None
        if written not in self._formats:
            self._formats[written] = self._book.add_format({"num_format": written})
        return self._formats[written]


def _number_of(cell: Any, how: Mapping[str, Any] | None) -> float | None:
    """Return what a spreadsheet keeps of a number; None for what is none, or would lose digits."""
    is_amount = how is not None and how["kind"] in ("integer", "number", "money", "percent", "year", "id")
    if isinstance(cell, str) and not (is_amount and how is not None and how["kind"] not in ("year", "id")):
        return None
    try:
        number = Decimal(str(cell))
    except InvalidOperation:
        return None
    if not number.is_finite() or abs(number) > _EXACT_MAX:
        return None
    if isinstance(cell, str) and len(number.as_tuple().digits) > _DIGITS_EXACT:
        return None
    # A share stays one, under a format in percent; cents become what they are shown as.
    factor = float(how.get("factor") or 1) if how is not None else 1.0
    made = float(number * Decimal(str(factor))) if factor < 1 else float(number)
    if isinstance(cell, float) or factor < 1:
        # What adding floats leaves stands far behind what is shown.
        digits = int((how or {}).get("digits") or 0) + _DIGITS_BEYOND_SHOWN + (2 if factor > 1 else 0)
        made = round(made, digits) if how is not None else float(f"{made:.{_DIGITS_EXACT}g}")
    return made if math.isfinite(made) else None


def _day_of(text: str) -> dt.datetime | None:
    match = _DATE.fullmatch(text)
    if match is None or int(match[1]) < _FIRST_YEAR or match[7] not in (None, "Z", "+00", "+00:00", "+0000"):
        return None
    parts = [int(part or 1) for part in match.groups()[:3]] + [int(part or 0) for part in match.groups()[3:6]]
    try:
        return dt.datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001 - spreadsheets know no zones
    except ValueError:
        return None
