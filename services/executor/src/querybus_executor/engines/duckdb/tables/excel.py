"""Sheets of an Excel file as tables of plain values: the header's row is found, each column gets one type. Pure."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from typing import Any, Final

SHEETS_MAX: Final = 50
ROWS_MAX: Final = 1_048_576
COLUMNS_MAX: Final = 500
HEADER_ROWS_LOOKED_AT_MAX: Final = 30
_YEARS: Final = range(1900, 2101)

Cells = Sequence[Sequence[Any]]


def table_of_sheet(cells: Cells) -> tuple[list[str], list[str], list[list[Any]]] | None:
    """Return names, DuckDB types and rows of a sheet's one table; None where it holds none.

    The header is the first row of names that fills as many cells as any of the first rows does; it may leave its corner
    empty. Names are texts, or years or days in their order. Titles above it are left out, and so are empty rows and
    columns; a column without a name is called by its number.
    """
    looked_at = cells[:HEADER_ROWS_LOOKED_AT_MAX]
    widths = [sum(cell not in (None, "") for cell in row) for row in looked_at]
    width = max(widths, default=0)
    header = next(
        (
            number
            for number, row in enumerate(looked_at)
            if widths[number] + _leaves_corner(row) >= max(1, width * 0.8)
            and _is_header(row, next((later for later in cells[number + 1 :] if any(map(_is_filled, later))), ()))
        ),
        None,
    )
    if header is None:
        return None
    whole = max(map(len, cells[header:]))
    columns = [
        number
        for number in range(whole)
        if any(number < len(row) and _is_filled(row[number]) for row in cells[header:])
    ][:COLUMNS_MAX]
    rows = [[_plain(row[number]) if number < len(row) else None for number in columns] for row in cells[header + 1 :]]
    rows = [row for row in rows if any(cell is not None for cell in row)]
    if not rows:
        return None
    names = _distinct([_name(cells[header], number) for number in columns])
    types = [_type([row[number] for row in rows]) for number in range(len(columns))]
    return names, types, [[_as_type(cell, kind) for cell, kind in zip(row, types, strict=True)] for row in rows]


def _is_filled(cell: Any) -> bool:
    return cell not in (None, "")


def _leaves_corner(row: Sequence[Any]) -> bool:
    return len(row) > 0 and not _is_filled(row[0]) and sum(map(_is_filled, row)) > 1


def _is_header(row: Sequence[Any], below: Sequence[Any]) -> bool:
    """Whether a row holds names: texts, or years or days in their order over cells that are none."""
    others = [(cell, number) for number, cell in enumerate(row) if _is_filled(cell) and not isinstance(cell, str)]
    values = [cell for cell, _ in others]
    if not all(map(_is_year, values)) and not all(map(_is_day, values)):
        return False
    in_order = sorted(set(values)) in (values, values[::-1])
    kind = _is_year if values and _is_year(values[0]) else _is_day
    return in_order and not any(number < len(below) and kind(below[number]) for _, number in others)


def _is_year(cell: Any) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool) and cell in _YEARS


def _is_day(cell: Any) -> bool:
    return isinstance(cell, dt.date)


def _name(header: Sequence[Any], number: int) -> str:
    cell = header[number] if number < len(header) else None
    return re.sub(r"\s+", " ", str(_plain(cell))).strip() if _is_filled(_plain(cell)) else f"column {number + 1}"


def _plain(cell: Any) -> Any:
    if isinstance(cell, str):
        return cell.strip() or None
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1 << 53:
        return int(cell)
    return cell


def _type(cells: Sequence[Any]) -> str:
    kinds = {type(cell) for cell in cells if cell is not None}
    for known, name in (
        ({bool}, "BOOLEAN"), ({int}, "BIGINT"), ({int, float}, "DOUBLE"),
        ({dt.date}, "DATE"), ({dt.date, dt.datetime}, "TIMESTAMP"), ({dt.time}, "TIME"),
    ):  # fmt: skip
        if kinds and kinds <= known:
            return name
    return "VARCHAR"


def _as_type(cell: Any, kind: str) -> Any:
    if cell is None or kind in ("BOOLEAN", "BIGINT", "DOUBLE"):
        return cell
    return cell.isoformat(sep=" ") if isinstance(cell, dt.datetime) else str(cell)


def _distinct(names: Sequence[str]) -> list[str]:
    known: dict[str, int] = {}
    result: list[str] = []
    for name in names:
        known[name.casefold()] = number = known.get(name.casefold(), 0) + 1
        result.append(name if number == 1 else f"{name} {number}")
    return result
