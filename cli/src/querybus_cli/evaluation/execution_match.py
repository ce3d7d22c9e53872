"""Execution match: whether two statements give the same rows on one SQLite file, as Spider's readers score it.

Multisets of rows, in order only where the reference orders at its top; numbers equal within 1e-6 relative; columns may
be permuted up to COLUMNS_PERMUTED_MAX of them. Statements are read-only and end after STEPS_MAX engine steps.
"""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any, Final

import sqlglot
from sqlglot.errors import SqlglotError

STEPS_MAX: Final = 40_000_000
COLUMNS_PERMUTED_MAX: Final = 6
_STEPS_WATCHED: Final = 100_000

Rows = list[tuple[Any, ...]]


def open_read_only(path: Path) -> sqlite3.Connection:
    """Return a connection that can only read the file; text that is no UTF-8 is read with replacements."""
    opened = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    opened.text_factory = lambda data: data.decode("utf-8", "replace")
    opened.execute("PRAGMA query_only=ON")
    return opened


def rows_of(opened: sqlite3.Connection, sql: str) -> Rows | sqlite3.Error:
    """Return the rows of a statement, or the engine's error as a value."""
    steps = 0

    def watch() -> bool:
        nonlocal steps
        steps += _STEPS_WATCHED
        return steps > STEPS_MAX

    opened.set_progress_handler(watch, _STEPS_WATCHED)
    try:
        return opened.execute(sql).fetchall()
    except sqlite3.Error as error:
        return error
    finally:
        opened.set_progress_handler(None, 0)


def is_ordered(sql: str) -> bool:
    """Return whether the statement orders its rows at its top."""
    try:
        return sqlglot.parse_one(sql, dialect="sqlite").args.get("order") is not None
    except SqlglotError:
        return False


def matches(gold: Rows, got: Rows, *, ordered: bool, permuted: bool = True) -> bool:
    """Return whether the rows are the reference's."""
    if len(gold) != len(got):
        return False
    if not gold:
        return True
    width = len(gold[0])
    if width != len(got[0]):
        return False
    one = [tuple(_cell(cell) for cell in row) for row in gold]
    other = [tuple(_cell(cell) for cell in row) for row in got]
    if not permuted or width > COLUMNS_PERMUTED_MAX:
        return _same(one, other, ordered=ordered)
    return any(
        _same(one, [tuple(row[place] for place in order) for row in other], ordered=ordered)
        for order in permutations(range(width))
    )


def _cell(value: Any) -> tuple[str, Any]:
    if isinstance(value, bool | int | float):
        return ("n", float(f"{float(value):.6g}"))
    return ("t", value)


def _same(one: Sequence[tuple[Any, ...]], other: Sequence[tuple[Any, ...]], *, ordered: bool) -> bool:
    if ordered:
        return all(_close(left, right) for left, right in zip(one, other, strict=True))
    if Counter(one) == Counter(other):
        return True
    return all(_close(left, right) for left, right in zip(sorted(one, key=repr), sorted(other, key=repr), strict=True))


def _close(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return all(
        left == right or (left[0] == right[0] == "n" and math.isclose(left[1], right[1], rel_tol=1e-6))
        for left, right in zip(one, other, strict=True)
    )
