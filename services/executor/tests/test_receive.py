"""Rows are counted, cut and handed on as they come; what is kept in memory does not grow with the result."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from querybus.bus.stores.pages import Batch, batch_of_columns, cells_of
from querybus.core.catalog import ColumnKind
from querybus.core.messages import ResultColumn, Scalar
from querybus.text.rows.cells import cell
from querybus_executor.results.receive import PAGE_BYTES_AIM, Receiver
from querybus_executor.workers.columns import columns_frame, columns_of_frame

COLUMNS = (ResultColumn(name="n"), ResultColumn(name="text"))


@dataclass
class Shelf:
    """Takes `space` pages; remembers how large each was and what was in it."""

    first_rows: int = 10
    capacity: int = 1_000
    sizes: list[int] = field(default_factory=list[int])
    rows: list[tuple[Scalar, ...]] = field(default_factory=list[tuple[Scalar, ...]])

    async def put(self, batches: Sequence[Batch]) -> bool:
        if len(self.sizes) >= self.capacity:
            return False
        self.sizes.append(sum(batch.nbytes for batch in batches))
        for batch in batches:
            self.rows += cells_of(batch)
        return True


async def fill(into: Receiver, count: int, text: str = "x" * 90) -> None:
    """Give rows as a cursor would: as many as are asked for."""
    given = 0
    while given < count:
        size = min(into.batch_rows, count - given)
        if not await into.take(COLUMNS, [(n, text) for n in range(given, given + size)]):
            break
        given += size


async def test_rows_beyond_the_first_go_on_as_pages_of_about_half_a_megabyte() -> None:
    shelf = Shelf()
    into = Receiver(rows_max=100_000, bytes_max=1 << 30, pages=shelf)
    await fill(into, 40_000)
    result = await into.rows()
    assert (result.row_count, len(result.rows), result.truncated) == (40_000, 10, False)
    assert [row[0] for row in shelf.rows] == list(range(40_000))
    assert max(shelf.sizes) < 2 * PAGE_BYTES_AIM
    assert min(shelf.sizes[:-1]) >= PAGE_BYTES_AIM * 0.9


async def test_a_result_of_one_page_is_handed_to_nobody() -> None:
    shelf = Shelf()
    into = Receiver(rows_max=100, bytes_max=1 << 20, pages=shelf)
    await fill(into, 10)
    assert ((await into.rows()).row_count, shelf.sizes) == (10, [])


@pytest.mark.parametrize(("rows_max", "given", "kept", "truncated"), [(50, 50, 50, False), (50, 51, 50, True)])
async def test_one_row_more_than_wanted_only_shows_that_there_are_more(
    rows_max: int, given: int, kept: int, truncated: bool
) -> None:
    shelf = Shelf()
    into = Receiver(rows_max=rows_max, bytes_max=1 << 20, pages=shelf)
    await fill(into, given)
    result = await into.rows()
    assert (result.row_count, result.truncated, len(shelf.rows)) == (kept, truncated, kept)


async def test_bytes_are_capped_over_all_pages_together() -> None:
    shelf = Shelf()
    into = Receiver(rows_max=100_000, bytes_max=1_000_000, pages=shelf)
    await fill(into, 100_000)
    result = await into.rows()
    assert (result.truncated, result.cut_bytes) == (True, True)
    assert result.row_count == len(shelf.rows)
    assert 900_000 < sum(shelf.sizes) <= 1_050_000


async def test_a_store_without_capacity_ends_the_reading() -> None:
    shelf = Shelf(capacity=1)
    into = Receiver(rows_max=1_000_000, bytes_max=1 << 30, pages=shelf)
    await fill(into, 1_000_000)
    assert (into.is_full, into.row_count < 40_000) == (True, True)


async def test_a_batch_gets_smaller_as_rows_get_wider() -> None:
    into = Receiver(rows_max=100_000, bytes_max=1 << 30, pages=Shelf())
    await fill(into, 100, "x" * 100_000)
    assert into.batch_rows <= 11


NAMED = datetime(2026, 1, 31, 9, 5, tzinfo=UTC)


async def test_the_first_rows_asked_for_are_few_and_the_widest_row_counts() -> None:
    into = Receiver(rows_max=1_000, bytes_max=16 << 20)
    asked: list[int] = []
    columns = [ResultColumn(name="body", kind=ColumnKind.TEXT, type="text")]
    more = True
    while more:
        asked.append(into.batch_rows)
        more = await into.take(columns, [("x" * 1_000_000,)] * into.batch_rows)
    assert (asked[0], max(asked)) == (4, 4), "never more than four rows of a megabyte at once"
    result = await into.rows()
    assert (result.cut_bytes, result.row_count) == (True, 16)


async def test_pages_hold_values_with_their_types_and_the_first_rows_hold_cells() -> None:
    shelf = Shelf(first_rows=1)
    row = (2**70, Decimal("1.50"), b"\x01", NAMED, date(2026, 1, 31), math.nan, ["a"], None)
    columns = [ResultColumn(name=str(index)) for index in range(len(row))]
    into = Receiver(rows_max=10, bytes_max=1 << 20, pages=shelf)
    await into.take(columns, [row, row])
    result = await into.rows()
    assert result.rows == [tuple(cell(item) for item in row)]
    assert shelf.rows == [tuple(cell(item) for item in row)] * 2


@pytest.mark.parametrize(
    "values",
    [
        [1, -(2**63), 2**63 - 1],
        [1, None, 3] * 5,
        [2**70, 1],
        [0.5, None, -1e300],
        ["a", "", "甲\x00"],
        [None, "a"],
        [b"", b"\x00\xff", None],
        [True, None, False] * 7,
        [None, None],
        [1, "a", 0.5, None],
        [date(2026, 1, 31), None],
        [NAMED, None],
        [Decimal("1.50"), Decimal("-2.25"), None],
    ],
)
def test_columns_of_a_child_process_arrive_as_they_left(values: list[Any]) -> None:
    rows, arrays = columns_of_frame(columns_frame([(value,) for value in values]))
    read = [row[0] for row in cells_of(batch_of_columns([ResultColumn(name="v")], arrays, rows))]
    assert json.dumps(read) == json.dumps([cell(value) for value in values])
