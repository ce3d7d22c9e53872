"""Execution match: whether two results hold the same rows, as Spider's readers score it.

Multisets of rows, in order only where the reference orders at its top; numbers equal within 1e-6 relative; columns may
be permuted up to COLUMNS_PERMUTED_MAX of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from typing import Any, Final

COLUMNS_PERMUTED_MAX: Final = 6

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
