"""Execution match: whether two results hold the same rows, as Spider's readers score it.

Multisets of rows, in order only where the reference orders at its top; integers equal exactly, other numbers within
TOLERANCE relative; columns may be permuted up to COLUMNS_PERMUTED_MAX of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from typing import Any, Final

COLUMNS_PERMUTED_MAX: Final = 6
TOLERANCE: Final = 1e-6
WHOLE_MAX: Final = 2.0**53
"""Below it a float tells each whole number from the next."""

Rows = Sequence[Sequence[Any]]


def is_ordered(sql: str, dialect: str = "sqlite") -> bool:
    """Return whether the statement orders its rows at its top."""
    # Loaded where it is asked for: the gateway compares rows seldom, and a parser of all dialects is some 30 MB of its memory.
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        return sqlglot.parse_one(sql, dialect=dialect).args.get("order") is not None
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
    if isinstance(value, bool):
        return ("n", int(value))
    return ("n" if isinstance(value, int | float) else "t", value)


def _is_whole(value: float) -> bool:
    """Whether a float stands for exactly one whole number."""
    return value.is_integer() and abs(value) < WHOLE_MAX


def _same(one: Sequence[tuple[Any, ...]], other: Sequence[tuple[Any, ...]], *, ordered: bool) -> bool:
    if ordered:
        return all(_close(left, right) for left, right in zip(one, other, strict=True))
    if Counter(one) == Counter(other):
        return True
    # Neither order alone lays all rows beside their like: rounding may turn two of them round, as may a last digit.
    return any(
        all(_close(left, right) for left, right in zip(sorted(one, key=rank), sorted(other, key=rank), strict=True))
        for rank in (_rank, _rounded_rank)
    )


def _rank(row: tuple[Any, ...]) -> tuple[tuple[str, Any], ...]:
    return tuple(cell if cell[0] == "n" else (f"t{type(cell[1]).__name__}", repr(cell[1])) for cell in row)


def _rounded_rank(row: tuple[Any, ...]) -> tuple[tuple[str, Any], ...]:
    return tuple((kind, float(f"{value:.6g}")) if kind == "n" else (kind, value) for kind, value in _rank(row))


def _close(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return all(
        left == right or (left[0] == right[0] == "n" and _near(left[1], right[1]))
        for left, right in zip(one, other, strict=True)
    )


def _near(one: float, other: float) -> bool:
    """Whether two numbers that differ are one but for rounding; an integer is never another whole number."""
    whole = [isinstance(number, int) or _is_whole(number) for number in (one, other)]
    if all(whole) and (isinstance(one, int) or isinstance(other, int)):
        return False
    return math.isclose(one, other, rel_tol=TOLERANCE)
