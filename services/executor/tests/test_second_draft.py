"""Two results of one question are compared as they are shown; the second replaces the first only where that found nothing by a slip."""

from __future__ import annotations

import pytest

from querybus.core.messages import Agreement, ResultColumn, Scalar
from querybus_executor.ports import Rows
from querybus_executor.results.second_draft import agreement_of

Cells = list[tuple[Scalar, ...]]


def rows(*cells: tuple[Scalar, ...], count: int | None = None, truncated: bool = False) -> Rows:
    return Rows(
        (ResultColumn(name="n"),),
        list(cells),
        truncated,
        cut_bytes=False,
        duration_ms=1.0,
        row_count=len(cells) if count is None else count,
    )


@pytest.mark.parametrize(
    ("first", "second", "agreement"),
    [
        (rows((1, "a"), (2, "b")), rows(("b", 2), ("a", 1)), Agreement.EQUAL),
        (rows((0.1 + 0.2,)), rows((0.3,)), Agreement.EQUAL),
        (rows(), rows(), Agreement.EQUAL),
        (rows((1,)), rows((1,), (1,)), Agreement.DIFFERENT),
        (rows((1,)), rows((1, 2)), Agreement.DIFFERENT),
        (rows((None,)), rows((3,)), Agreement.REPLACED),
        (rows(), rows((3,)), Agreement.REPLACED),
        (rows((0,)), rows((3,)), Agreement.REPLACED),
        (rows((0,), (0,)), rows((3,)), Agreement.DIFFERENT),
        (rows((3,)), rows(), Agreement.DIFFERENT),
        (rows((1,), count=500), rows(*[(n,) for n in range(500)]), Agreement.NOT_COMPARED),
        (rows((1,), count=500), rows((1,)), Agreement.DIFFERENT),
        (rows((1,), truncated=True), rows((1,)), Agreement.NOT_COMPARED),
    ],
)
def test_what_two_results_say_of_each_other(first: Rows, second: Rows, agreement: Agreement):
    assert agreement_of(first, second, may_replace=True) is agreement


def test_nothing_is_replaced_without_a_reason():
    assert agreement_of(rows(), rows((3,)), may_replace=False) is Agreement.DIFFERENT
