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

Cells = Sequence[Sequence[Any]]


def table_of_sheet(cells: Cells) -> tuple[list[str], list[str], list[list[Any]]] | None:
    """Return names, DuckDB types and rows of a sheet's one table; None where it holds none.

    The header is the first row of texts, each at most once, that fills as many cells as any of the first rows does;
    titles above it are left out, and so are empty rows and columns.
    """
    looked_at = cells[:HEADER_ROWS_LOOKED_AT_MAX]
    widths = [sum(cell not in (None, "") for cell in row) for row in looked_at]
    width = max(widths, default=0)
    header = next(
        (number for number, row in enumerate(looked_at) if widths[number] >= max(1, width * 0.8) and _is_header(row)),
        None,
    )
    if header is None:
        return None
    columns = [number for number, cell in enumerate(cells[header]) if cell not in (None, "")][:COLUMNS_MAX]
    rows = [[_plain(row[number]) if number < len(row) else None for number in columns] for row in cells[header + 1 :]]
    rows = [row for row in rows if any(cell is not None for cell in row)]
    if not rows:
        return None
    names = _distinct([re.sub(r"\s+", " ", str(cells[header][number])).strip() for number in columns])
    types = [_type([row[number] for row in rows]) for number in range(len(columns))]
    return names, types, [[_as_type(cell, kind) for cell, kind in zip(row, types, strict=True)] for row in rows]


def _is_header(row: Sequence[Any]) -> bool:
    texts = [cell for cell in row if cell not in (None, "")]
    return all(isinstance(cell, str) for cell in texts)


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
