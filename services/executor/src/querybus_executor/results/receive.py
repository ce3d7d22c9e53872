"""Takes the rows of a statement as they come: counts, cuts, keeps the first ones, hands the rest on as pages.

One way for every engine: an edge gives rows or Arrow batches until no more rows are wanted, so the limits
of rows and bytes stand here once, and memory holds a batch and the pages on their way, never a result. Values come as
the driver gives them; what is kept in memory for a reader is cells, what goes into pages keeps its type.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from querybus.bus.stores.pages import Batch, batch_of, cells_of
from querybus.core.messages import ResultColumn, Scalar
from querybus.text.rows.cells import cell, short_cell
from querybus_executor.ports import PageSink, Rows

BATCH_ROWS_FIRST: Final = 4
"""How wide rows are is known only when some have come: a hundred of a megabyte each would be past any limit."""
BATCH_ROWS_MAX: Final = 8_192
BATCH_BYTES_AIM: Final = 1 << 20
PAGE_BYTES_AIM: Final = 512 << 10
FIRST_PAGE_BYTES_MAX: Final = 256 * 1024
CELL_CHARACTERS_MAX: Final = 1_000_000
"""Of one cell. An engine is asked for one more where that is possible, so that a cut cell shows that it was cut."""
LONG_ROW_CHARACTERS_MAX: Final = 4_096
"""Of a row that is longer than a first page: shared by its texts, so that several such rows have room."""
_TEXT_LENGTH_MIN: Final = 20

_CELLS: Final = frozenset({bool, int, str, type(None)})


class Receiver:
    """What has come of one statement. At most `rows_max` rows and about `bytes_max` bytes; without `pages` all stay."""

    def __init__(self, *, rows_max: int, bytes_max: int, pages: PageSink | None = None) -> None:
        self._rows_max = rows_max
        self._bytes_max = bytes_max
        self._pages = pages
        self._first_max = rows_max if pages is None else pages.first_rows
        self._started = time.monotonic()
        self._columns: tuple[ResultColumn, ...] = ()
        self._held: list[Sequence[Any]] = []
        self._first: list[Sequence[Scalar]] | None = None
        self._pending: list[Batch] = []
        self._pending_bytes = 0
        self._bytes = 0
        self._widest = 0
        self._truncated = False
        self._cut_bytes = False
        self._cut_cells = False
        self._full = False
        self.row_count = 0

    @property
    def has_begun(self) -> bool:
        """Whether anything came: from then on the statement must not be tried again."""
        return self.row_count > 0

    @property
    def is_full(self) -> bool:
        """Whether the store had no space for a page: what comes now is not kept."""
        return self._full

    @property
    def first_rows(self) -> int:
        """How many rows are kept in memory."""
        return self._first_max

    @property
    def wanted(self) -> int:
        """How many rows may still come; the last of them only shows that there are more."""
        return self._rows_max + 1 - self.row_count

    @property
    def batch_rows(self) -> int:
        """How many rows to ask for at once, so that a batch is about a megabyte."""
        if not self.row_count:
            return min(self.wanted, BATCH_ROWS_FIRST)
        aim = min(BATCH_BYTES_AIM, max(1, self._bytes_max - self._bytes))
        return max(1, min(self.wanted, BATCH_ROWS_MAX, self.row_count * 4, aim // max(1, self._widest)))

    async def take(self, columns: Sequence[ResultColumn], rows: Sequence[Sequence[Any]]) -> bool:
        """Take rows of driver's values; return whether more are wanted."""
        self._columns = tuple(columns)
        rows = rows if len(rows) < self.wanted else self._cut_rows(rows)
        if self._pages is None or (self._first is None and self.row_count + len(rows) <= self._first_max):
            self._hold(rows)
        elif rows:
            widest = max(map(bytes_of, rows))
            self._widest = max(self._widest, widest)
            if widest > CELL_CHARACTERS_MAX:
                rows = [self.cut_cells(row) for row in rows]
            await self._begin_paging()
            batch = await asyncio.to_thread(batch_of, self._columns, rows)
            await self._page(batch)
        return self._more

    async def take_batch(self, columns: Sequence[ResultColumn], batch: Batch) -> bool:
        """Take rows as an Arrow batch whose schema is that of `batch_of`; return whether more are wanted."""
        self._columns = tuple(columns)
        batch = batch if batch.num_rows < self.wanted else self._cut_rows(batch)
        if self._pages is None:
            self._hold(cells_of(batch))
        elif batch.num_rows:
            await self._begin_paging()
            await self._page(batch)
        return self._more

    def cut_cells(self, values: Sequence[Any]) -> Sequence[Any]:
        """Return the values with texts and bytes of at most CELL_CHARACTERS_MAX."""
        if all(len(value) <= CELL_CHARACTERS_MAX for value in values if isinstance(value, str | bytes)):
            return values
        self._cut_cells = True
        return [_shortened(value) for value in values]

    def describe(self, columns: Sequence[ResultColumn]) -> None:
        """Say what the columns are, where there are no rows or their kinds are known only now."""
        self._columns = tuple(columns)

    async def rows(self, *, warnings: Sequence[str] = ()) -> Rows:
        """Return what came; with pages only the first rows, the others are handed on by now."""
        first = self._first if self._first is not None else _cells(self._held)
        if (
            self._pages is not None
            and self._first is None
            and not first_page(first, self._first_max).is_whole(len(first))
        ):
            await self._begin_paging()
        if self._pending and not self._full:
            await self._flush()
        return Rows(
            columns=self._columns,
            rows=first,
            row_count=self.row_count,
            truncated=self._truncated,
            cut_bytes=self._cut_bytes,
            cut_cells=self._cut_cells,
            duration_ms=(time.monotonic() - self._started) * 1_000,
            warnings=tuple(warnings),
            bytes=self._bytes,
        )

    @property
    def _more(self) -> bool:
        return not (self._truncated or self._full)

    def _cut_rows(self, rows: Any) -> Any:
        capacity = self.wanted - 1
        self._truncated = True
        return rows[:capacity]

    def _hold(self, rows: Sequence[Sequence[Any]]) -> None:
        for given in rows:
            row = [short_cell(value) if isinstance(value, list | tuple | dict) else value for value in given]
            size = bytes_of(row)
            if size > CELL_CHARACTERS_MAX:
                row = self.cut_cells(row)
                size = bytes_of(row)
            self._widest = max(self._widest, size)
            if self._bytes + size > self._bytes_max:
                self._truncated = self._cut_bytes = True
                return
            self._bytes += size
            self._held.append(row)
            self.row_count += 1

    async def _begin_paging(self) -> None:
        if self._first is not None:
            return
        held, self._held = self._held, []
        self._first = []
        if held:
            self._first = _cells(held)
            await self._add(await asyncio.to_thread(batch_of, self._columns, held), self._bytes)

    async def _page(self, batch: Batch) -> None:
        size = batch.nbytes
        if self._bytes + size > self._bytes_max:
            self._truncated = self._cut_bytes = True
            batch = batch[: batch.num_rows * (self._bytes_max - self._bytes) // max(1, size)]
            size = self._bytes_max - self._bytes
            if not batch.num_rows:
                return
        assert self._first is not None  # noqa: S101 - paging has begun
        lacking = self._first_max - len(self._first)
        if lacking > 0:
            self._first += cells_of(batch[:lacking])
        self._bytes += size
        self.row_count += batch.num_rows
        await self._add(batch, size)

    async def _add(self, batch: Batch, size: int) -> None:
        """Put rows of about `size` bytes where the next page is made, in parts that fit one."""
        step = max(1, -(-batch.num_rows * PAGE_BYTES_AIM // max(1, size)))
        for start in range(0, batch.num_rows, step):
            part = batch[start : start + step]
            if self._pending and self._pending[0].fields != part.fields:
                await self._flush()
            self._pending.append(part)
            self._pending_bytes += size * part.num_rows // batch.num_rows
            if self._pending_bytes >= PAGE_BYTES_AIM:
                await self._flush()
            if self._full:
                return

    async def _flush(self) -> None:
        assert self._pages is not None  # noqa: S101 - only what has pages has pending ones
        pending, self._pending, self._pending_bytes = self._pending, [], 0
        if not await self._pages.put(pending):
            self._full = True


@dataclass(frozen=True, slots=True)
class FirstPage:
    """The rows of a first page. `values_cut` counts the values of which it holds only the beginning."""

    rows: tuple[tuple[Scalar, ...], ...]
    values_cut: int = 0

    def is_whole(self, row_count: int) -> bool:
        """Return whether these are all rows of a result, none of their values cut."""
        return len(self.rows) == row_count and not self.values_cut


def first_page(rows: Sequence[Sequence[Scalar]], page_size: int) -> FirstPage:
    """Return the first page's rows, as many as 256 KB of JSON hold; of a row that is longer the beginnings of its values."""
    kept: list[tuple[Scalar, ...]] = []
    used, values_cut = 2, 0
    for row in rows[:page_size]:
        shown, size = row, _json_bytes(row)
        if size > FIRST_PAGE_BYTES_MAX:
            shown = _beginnings(row)
            size = _json_bytes(shown)
        used += size + 1
        if used > FIRST_PAGE_BYTES_MAX:
            break
        kept.append(tuple(shown))
        values_cut += sum(one is not other for one, other in zip(row, shown, strict=True))
    return FirstPage(tuple(kept), values_cut)


def _json_bytes(row: Sequence[Scalar]) -> int:
    return len(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def _beginnings(row: Sequence[Scalar]) -> list[Scalar]:
    """Return a row whose long texts are cut, each with a sign that it goes on."""
    length = max(_TEXT_LENGTH_MIN, LONG_ROW_CHARACTERS_MAX // max(1, len(row)))
    return [f"{value[:length]}…" if isinstance(value, str) and len(value) > length else value for value in row]


def bytes_of(row: Sequence[Any]) -> int:
    """Return about how long the row is as JSON; nested values are text by now."""
    total = 2
    for value in row:
        if isinstance(value, str):
            total += 3 + (len(value) if value.isascii() else 3 * len(value))
        elif isinstance(value, bytes):
            total += 2 * len(value)
        else:
            total += 8
    return total


def _shortened(value: Any) -> Any:
    """Return a text or bytes within the bound; a text ends with the sign that it was cut."""
    if not isinstance(value, str | bytes) or len(value) <= CELL_CHARACTERS_MAX:
        return value
    return f"{value[:CELL_CHARACTERS_MAX]}…" if isinstance(value, str) else value[:CELL_CHARACTERS_MAX]


def _cells(rows: Sequence[Sequence[Any]]) -> list[Sequence[Scalar]]:
    return [tuple([item if type(item) in _CELLS else cell(item) for item in row]) for row in rows]
