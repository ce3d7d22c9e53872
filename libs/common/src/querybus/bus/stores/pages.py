"""Result rows as Arrow pages, kept for an hour under the subjects that `concluded` names.

A page keeps what the engine gave, exactly: 64-bit integers, floats with NaN and infinities, decimals of up to 76
digits, dates, times, moments with their offset, durations, bytes, text. Where a column holds what no one Arrow type
does (mixed kinds, bigger integers, text that is no UTF-8) each cell is JSON text. It is read back as cells, as
`querybus.text.rows.cells` makes them. A column's name, kind and engine type travel in the schema. Limit: one page is one
message, at most what the bus takes.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import ValidationError

from querybus.bus.connection import Connected
from querybus.bus.log.stream_reads import last, store
from querybus.core.catalog import ColumnKind
from querybus.core.messages import ResultColumn, Scalar
from querybus.core.subjects import page_subject, token
from querybus.core.topology import RESULTS
from querybus.ops.start import without_package
from querybus.text.rows.cells import cell

if TYPE_CHECKING:
    from types import ModuleType

_COLUMN: Final = b"querybus.column"
AS_JSON: Final = b"querybus.json"
"""Marks a column each of whose cells is JSON text."""
_AS_DECIMAL: Final = b"querybus.decimal"
_ROWS: Final = b"querybus.rows"
_DECIMAL_DIGITS_MAX: Final = 76
_CELLS: Final = frozenset({bool, int, str, float, type(None)})
_TYPED: Final = _CELLS | {bytes, date, datetime, time, timedelta, Decimal}

Rows = tuple[tuple[Scalar, ...], ...]
Batch = Any
"""A `pyarrow.RecordBatch` whose schema says what `batch_of` writes into one."""


class PageUnreadable(Exception):
    """These bytes are no page of ours."""


@cache
def _arrow() -> ModuleType:
    # Loaded at first use: it takes 40 MB, and a service that is idle needs none of it.
    import pyarrow as pa

    if "pandas" not in sys.modules:
        # Where pandas happens to be installed Arrow loads it at its first array, which takes seconds and 60 MB more.
        with without_package("pandas"):
            pa.array([0])
    return pa


def encode_page(columns: Sequence[ResultColumn], rows: Sequence[Sequence[Any]]) -> bytes:
    """Return the rows as an Arrow IPC stream; each row has a value per column, else ValueError."""
    return encode_batches([batch_of(columns, rows)])


def batch_of(columns: Sequence[ResultColumn], rows: Sequence[Sequence[Any]]) -> Batch:
    """Return the rows as one record batch; each row has a value per column, else ValueError."""
    if any(len(row) != len(columns) for row in rows):
        raise ValueError("every row of a page has one cell per column")
    return batch_of_cells(columns, list(zip(*rows, strict=True)) if rows else [()] * len(columns), len(rows))


def batch_of_cells(columns: Sequence[ResultColumn], cells: Sequence[Sequence[Any]], rows: int) -> Batch:
    """Return the same from a sequence of values for each column."""
    arrow = _arrow()
    arrays: list[Any] = []
    marks: list[bytes] = []
    for column, content in zip(columns, cells, strict=True):
        array, mark = _array(arrow, content, column.kind)
        arrays.append(array)
        marks.append(mark)
    return batch_of_arrays(columns, arrays, rows, marks)


def batch_of_arrays(
    columns: Sequence[ResultColumn], arrays: Sequence[Any], rows: int, marks: Sequence[bytes] = ()
) -> Batch:
    """Return the Arrow arrays as a record batch that says what its columns are; `marks`: how each is to be read."""
    arrow = _arrow()
    fields: list[Any] = []
    for index, (column, array) in enumerate(zip(columns, arrays, strict=True)):
        metadata = {_COLUMN: column.model_dump_json().encode()}
        if index < len(marks) and marks[index]:
            metadata[marks[index]] = b"1"
        fields.append(arrow.field(column.name, array.type, metadata=metadata))
    # A batch without columns does not know how many rows it has.
    schema = arrow.schema(fields, metadata={} if columns else {_ROWS: str(rows).encode()})
    return arrow.RecordBatch.from_arrays(list(arrays), schema=schema)


def encode_batches(batches: Sequence[Batch]) -> bytes:
    """Return record batches of one schema as an Arrow IPC stream."""
    arrow = _arrow()
    sink = arrow.BufferOutputStream()
    with arrow.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            if batch.num_columns:
                writer.write_batch(batch)
    return cast("bytes", sink.getvalue().to_pybytes())


def cells_of(batch: Batch) -> Rows:
    """Return the rows of a record batch or table as cells."""
    cells: list[Sequence[Scalar]] = []
    for index, table in enumerate(batch.schema):
        metadata = table.metadata or {}
        values = _values(batch.column(index))
        if AS_JSON in metadata:
            values = [json.loads(value) for value in values]
        elif _AS_DECIMAL in metadata:
            values = [None if value is None else cell(Decimal(value)) for value in values]
        elif not _are_cells(values):
            values = [cell(value) for value in values]
        cells.append(values)
    if not cells:
        return ((),) * int((batch.schema.metadata or {}).get(_ROWS, b"0"))
    return tuple(zip(*cells, strict=True))


def decode_page(data: bytes, begin: int = 0, end: int | None = None) -> tuple[tuple[ResultColumn, ...], Rows]:
    """Return columns and the rows from `begin` to before `end`; PageUnreadable for bytes that are no page."""
    arrow = _arrow()
    try:
        table = arrow.ipc.open_stream(data).read_all()
        columns = [ResultColumn.model_validate_json((item.metadata or {})[_COLUMN]) for item in table.schema]
        is_whole = begin == 0 and end is None
        return tuple(columns), cells_of(table if is_whole or not columns else table[begin:end])
    except (arrow.ArrowException, OSError, ValidationError, KeyError, ValueError, TypeError) as error:
        raise PageUnreadable(f"no page of ours: {type(error).__name__}") from error


def page_sha256(data: bytes) -> str:
    """Return what `concluded` names a page's bytes by: 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


class PageStore:
    """The pages of QUERYBUS_RESULTS; names are given as the envelope has them."""

    def __init__(self, holder: Connected) -> None:
        self._holder = holder

    async def put(self, tenant: str, query: str, run: str, page: int, data: bytes) -> str:
        """Store page 1, 2, ... of a run and return its SHA-256. Raises BusTrouble (`full`), TooLarge."""
        subject = page_subject(token(tenant), token(query), run, page)
        # The same page of the same run again is the same page.
        await store(self._holder.connection, subject, data, {"Nats-Msg-Id": subject})
        return page_sha256(data)

    async def get(self, tenant: str, query: str, run: str, page: int) -> bytes | None:
        """Return the page's bytes, or None where it is not (or no longer) kept; raises BusTrouble."""
        kept = await last(self._holder.connection, RESULTS, page_subject(token(tenant), token(query), run, page))
        return None if kept is None else kept.data


def _array(arrow: ModuleType, cells: Sequence[Any], kind: ColumnKind) -> tuple[Any, bytes]:
    """Return the Arrow array that holds every value exactly, and the mark by which it is read back."""
    kinds = set(map(type, cells))
    kinds.discard(type(None))
    if not kinds <= _TYPED:
        # Lists, maps, ids, addresses: what is shown of them is text.
        cells = [item if type(item) in _TYPED else cell(item) for item in cells]
        kinds = set(map(type, cells)) - {type(None)}
    result = _type_of(arrow, cells, kinds, kind)
    if result is not None:
        try:
            return arrow.array(cells, type=result), b""
        except (OverflowError, UnicodeEncodeError, arrow.ArrowException):
            pass
    if kinds == {Decimal}:
        return arrow.array([None if cell is None else str(cell) for cell in cells], type=arrow.string()), _AS_DECIMAL
    return arrow.array([json.dumps(cell(item)) for item in cells], type=arrow.string()), AS_JSON


def _type_of(arrow: ModuleType, cells: Sequence[Any], kinds: set[type], kind: ColumnKind) -> Any | None:
    if not kinds:
        empty = {
            ColumnKind.INTEGER: arrow.int64(),
            ColumnKind.NUMBER: arrow.float64(),
            ColumnKind.BOOLEAN: arrow.bool_(),
        }
        return empty.get(kind, arrow.string())
    if len(kinds) > 1:
        return None
    (one,) = kinds
    if one is Decimal:
        return _decimal_type(arrow, cells)
    if one is datetime or one is time:
        offsets = {cell.utcoffset() for cell in cells if cell is not None}
        if one is time:
            return arrow.time64("us") if offsets == {None} else None
        offset = offsets.pop()
        if offsets or (offset is not None and offset % timedelta(minutes=1)):
            return None
        return arrow.timestamp("us", tz=None if offset is None else _offset_text(offset))
    plain = {
        bool: arrow.bool_(),
        int: arrow.int64(),
        float: arrow.float64(),
        str: arrow.string(),
        bytes: arrow.binary(),
        date: arrow.date32(),
        timedelta: arrow.duration("us"),
    }
    return plain[one]


def _decimal_type(arrow: ModuleType, cells: Sequence[Decimal | None]) -> Any | None:
    """Return the one type that changes no digit of any value: same scale for all, at most 76 digits."""
    scales: set[int] = set()
    whole = 1
    for number in cells:
        if number is None:
            continue
        exponent = number.as_tuple().exponent
        if not isinstance(exponent, int) or exponent > 0:
            return None
        scales.add(-exponent)
        whole = max(whole, number.adjusted() + 1)
    scale = scales.pop()
    digits = whole + scale
    if scales or digits > _DECIMAL_DIGITS_MAX:
        return None
    return arrow.decimal128(digits, scale) if digits <= 38 else arrow.decimal256(digits, scale)


def _offset_text(offset: timedelta) -> str:
    minutes = offset // timedelta(minutes=1)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def _are_cells(values: Sequence[Any]) -> bool:
    kinds = set(map(type, values))
    if float in kinds and not all(math.isfinite(value) for value in values if type(value) is float):
        return False
    return kinds <= _CELLS


def _values(column: Any) -> list[Any]:
    try:
        return column.to_pylist()
    except (OverflowError, ValueError):
        # A moment beyond the years that Python knows, or finer than a microsecond: Arrow's own words for it.
        return column.cast("string").to_pylist()
