"""What a column holds, measured over its first rows: least and greatest value, and the share of cells that are empty.

Kept only of figures and dates, and of text that holds dates: other texts have no range that says anything. Keys are left out,
and so is every personal column before it comes here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from querybus.core.catalog import Column, ColumnKind, ColumnProfile, Table

RANGE_LENGTH_MAX: Final = 32
_KINDS: Final = frozenset(
    {ColumnKind.INTEGER, ColumnKind.NUMBER, ColumnKind.DATE, ColumnKind.DATETIME, ColumnKind.TEXT}
)
_FIGURE: Final = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_DATE: Final = re.compile(
    r"\d{4}-\d{2}(?:-\d{2}(?:[ T][\d:.+Z-]*)?)?|\d{4}/\d{1,2}/\d{1,2}|\d{1,2}[/.]\d{1,2}[/.]\d{4}"
)


def is_profiled(table: Table, column: Column) -> bool:
    """Return whether the column is measured: a key's range says nothing."""
    is_key = column.name in table.primary_key or any(column.name in key.columns for key in table.foreign_keys)
    return column.kind in _KINDS and not is_key and not column.personal


def profiled(column: Column, measured: Sequence[Sequence[object]]) -> Column:
    """Return the column with its profile from (least, greatest, filled, rows); as it is where nothing was measured."""
    if not measured or len(measured[0]) != 4:
        return column
    least, greatest, filled, rows = measured[0]
    if not isinstance(filled, int) or not isinstance(rows, int) or rows <= 0:
        return column
    low, high = _spelled(column.kind, least), _spelled(column.kind, greatest)
    has_range = low is not None and high is not None
    profile = ColumnProfile(
        value_min=low if has_range else None,
        value_max=high if has_range else None,
        empty_share=round(1 - filled / rows, 4),
    )
    return column.model_copy(update={"profile": profile})


def _spelled(kind: ColumnKind, value: object) -> str | None:
    """Return a figure or a date as the database writes it; None for anything else."""
    if value is None or isinstance(value, bytes):
        return None
    text = str(value).strip()
    pattern = _FIGURE if kind in (ColumnKind.INTEGER, ColumnKind.NUMBER) else _DATE
    return text if len(text) <= RANGE_LENGTH_MAX and pattern.fullmatch(text) else None
