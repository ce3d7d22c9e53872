"""A result's cells as CSV, so that no spreadsheet runs what stands in one."""

from __future__ import annotations

import re
from typing import Final

_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?")


def csv_cell(cell: object) -> object:
    """Return a cell as CSV; a text that a spreadsheet would take for a formula gets an apostrophe before it.

    >>> csv_cell("=1+1"), csv_cell("-5"), csv_cell(None), csv_cell(True)
    ("'=1+1", '-5', '', 'true')
    """
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS) and _NUMBER.fullmatch(cell) is None:
        return f"'{cell}"
    return "" if cell is None else cell
