"""Result rows as Arrow pages, kept for an hour under the subjects that `concluded` names.

A page keeps what the engine gave, exactly: 64-bit integers, floats with NaN and infinities, decimals of up to 76
digits, dates, times, moments with their offset, durations, bytes, text. Where a column holds what no one Arrow type
does each cell is JSON text (`querybus.text.rows.arrow_columns`). It is read back as cells, as `querybus.text.rows.cells`
makes them. A column's name, kind and engine type travel in the schema. Limit: one page is one message, at most what the
bus takes.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from pydantic import ValidationError

from querybus.bus.connection import Connected
from querybus.bus.log.stream_reads import last, store
from querybus.core.catalog import ColumnKind
from querybus.core.messages import ResultColumn, Scalar
from querybus.core.subjects import page_subject, token
from querybus.core.topology import RESULTS
from querybus.text.rows.arrow_columns import (
    BYTES,
    DECIMAL,
    INTEGER,
    JSON,
    NUMBER,
    TEXT,
    TRUTH,
    ArrowColumn,
    column_of_values,
    empty_column,
)
from querybus.text.rows.cells import cell

_COLUMN: Final = b"querybus.column"
_ROWS: Final = b"querybus.rows"
_NULLABLE: Final = 2
"""Arrow's flag of a column that may hold NULL."""
_MARKS: Final = {b"querybus.json": JSON, b"querybus.decimal": DECIMAL}
"""How a cell of a column is to be read, in the column's metadata."""
_CELLS: Final = frozenset({bool, int, str, float, type(None)})
_EMPTY_KINDS: Final = {ColumnKind.INTEGER: INTEGER, ColumnKind.NUMBER: NUMBER, ColumnKind.BOOLEAN: TRUTH}

Rows = tuple[tuple[Scalar, ...], ...]


class PageUnreadable(Exception):
    """These bytes are no page of ours."""


@dataclass(frozen=True, slots=True)
class Field:
    """What a schema says of a column."""

    name: str
    kind: str
    metadata: Mapping[bytes, bytes]

    @property
    def mark(self) -> str:
        """Return how a cell is to be read."""
        return next((mark for key, mark in _MARKS.items() if key in self.metadata), "")

    @staticmethod
    def metadata_of_mark(mark: str) -> Mapping[bytes, bytes]:
        """Return what a column's metadata says of how its cells are to be read."""
        return {key: b"1" for key, name in _MARKS.items() if name == mark}


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows as Arrow columns, and what the schema says of each."""

    fields: tuple[Field, ...]
    columns: tuple[ArrowColumn, ...]
    num_rows: int

    @property
    def nbytes(self) -> int:
        """Return how many bytes the values take."""
        return sum(column.nbytes for column in self.columns)

    def __getitem__(self, rows: slice) -> Batch:
        start, stop, _ = rows.indices(self.num_rows)
        return replace(self, columns=tuple([column[rows] for column in self.columns]), num_rows=max(0, stop - start))


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
    return batch_of_columns(columns, [column_of_values(values) for values in cells], rows)


def batch_of_columns(columns: Sequence[ResultColumn], arrays: Sequence[ArrowColumn], rows: int) -> Batch:
    """Return columns of `rows` values each as a record batch that says what they are."""
    fields: list[Field] = []
    made: list[ArrowColumn] = []
    for column, values in zip(columns, arrays, strict=True):
        is_known = not values.has_only_null or column.kind not in _EMPTY_KINDS
        array = values if is_known else empty_column(_EMPTY_KINDS[column.kind], rows)
        metadata = {_COLUMN: column.model_dump_json().encode(), **Field.metadata_of_mark(array.mark)}
        fields.append(Field(column.name, array.kind, metadata))
        made.append(array)
    return Batch(tuple(fields), tuple(made), rows)


def encode_batches(batches: Sequence[Batch]) -> bytes:
    """Return record batches of one schema as an Arrow IPC stream."""
    sink = io.BytesIO()
    writer = StreamWriter(sink, batches[0].fields, batches[0].num_rows)
    for batch in batches:
        if batch.columns:
            writer.write(batch.columns, batch.num_rows)
    writer.close()
    return sink.getvalue()


class StreamWriter:
    """Writes an Arrow IPC stream of these fields to `sink`. `rows`: how many they are where there is no column."""

    def __init__(self, sink: io.BytesIO, fields: Sequence[Field], rows: int = 0) -> None:
        # Loaded at first use: a service that is idle needs none of it.
        import nanoarrow
        from nanoarrow import ipc
        from nanoarrow.c_array_stream import CArrayStream

        self._make = nanoarrow.c_array_from_buffers
        self._types: list[Any] = [
            nanoarrow.c_schema(nanoarrow.null()).modify(
                name=field.name, format=field.kind, flags=_NULLABLE, metadata=dict(field.metadata)
            )
            for field in fields
        ]
        schema: Any = nanoarrow.c_schema(nanoarrow.struct(self._types))
        # A batch without columns does not know how many rows it has.
        self._schema = schema if fields else schema.modify(metadata={_ROWS: str(rows).encode()})
        self._writer: Any = ipc.StreamWriter.from_writable(sink)
        self._writer.write_stream(CArrayStream.from_c_arrays([], self._schema))

    def write(self, columns: Sequence[ArrowColumn], rows: int) -> None:
        """Write `rows` rows."""
        children = [
            self._make(
                schema,
                rows,
                [column.validity or None, *([column.offsets] if column.kind in (TEXT, BYTES) else ()), column.data],
            )
            for schema, column in zip(self._types, columns, strict=True)
        ]
        self._writer.write_array(self._make(self._schema, rows, [None], children=children, move=True))

    def close(self) -> None:
        """Write the end of the stream."""
        self._writer.close()


def cells_of(batch: Batch) -> Rows:
    """Return the rows of a record batch as cells."""
    if not batch.columns:
        return ((),) * batch.num_rows
    return tuple(zip(*map(_cells, batch.columns), strict=True))


def decode_page(data: bytes, begin: int = 0, end: int | None = None) -> tuple[tuple[ResultColumn, ...], Rows]:
    """Return columns and the rows from `begin` to before `end`; PageUnreadable for bytes that are no page."""
    try:
        fields, batches = read_batches(data)
        columns = tuple(ResultColumn.model_validate_json(field.metadata[_COLUMN]) for field in fields)
        rows: list[tuple[Scalar, ...]] = []
        position = 0
        for batch in batches:
            stop = None if end is None else max(0, end - position)
            rows += cells_of(batch[max(0, begin - position) : stop])
            position += batch.num_rows
    except (ValidationError, KeyError, ValueError, TypeError) as error:
        raise PageUnreadable(f"no page of ours: {type(error).__name__}") from error
    return columns, tuple(rows)


def read_batches(data: bytes) -> tuple[tuple[Field, ...], Sequence[Batch]]:
    """Return the fields and the record batches of an Arrow IPC stream; ValueError for bytes that are none of ours."""
    import nanoarrow
    from nanoarrow import ipc

    try:
        stream: Any = nanoarrow.c_array_stream(ipc.InputStream.from_readable(data))
        schema = stream.get_schema()
        fields = tuple(Field(child.name, child.format, dict(child.metadata or {})) for child in schema.children)
        if not fields:
            return (), [Batch((), (), int(dict(schema.metadata or {}).get(_ROWS, b"0")))]
        batches: list[Batch] = []
        for array in stream:
            columns = [_column(field, array.child(index)) for index, field in enumerate(fields)]
            batches.append(Batch(fields, tuple(columns), array.length))
    except (RuntimeError, OSError) as error:
        raise ValueError(f"no Arrow stream: {type(error).__name__}") from error
    return fields, batches


def _column(field: Field, array: Any) -> ArrowColumn:
    # Buffers: validity, for texts and bytes the offsets, data.
    buffers = [memoryview(buffer).cast("B") for buffer in array.view().buffers]
    offsets = buffers[1] if field.kind in (TEXT, BYTES) else b""
    return ArrowColumn(field.kind, array.length, buffers[0], offsets, buffers[-1], field.mark)


def _cells(column: ArrowColumn) -> Sequence[Scalar]:
    values = column.values()
    if column.mark == JSON:
        return [json.loads(value) for value in values]
    if column.mark == DECIMAL:
        return [None if value is None else cell(Decimal(value)) for value in values]
    return values if _are_cells(values) else [cell(value) for value in values]


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


def _are_cells(values: Sequence[Any]) -> bool:
    kinds = set(map(type, values))
    if float in kinds and not all(math.isfinite(value) for value in values if type(value) is float):
        return False
    return kinds <= _CELLS
