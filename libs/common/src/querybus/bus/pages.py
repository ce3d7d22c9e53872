"""Result rows as Arrow pages, kept for an hour under the subject that `concluded` names.

A page decodes to exactly the cells that were encoded: int64, float64, bool and text columns where every cell is of one
kind, JSON text per cell where they are not (mixed kinds, integers beyond 64 bits, text that is no UTF-8). A column's
name, kind and engine type travel in the schema. Limit: one page is one message, at most what the bus takes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import ValidationError

from querybus.bus.connection import Connected
from querybus.bus.direct import last, store
from querybus.core.catalog import ColumnKind
from querybus.core.messages import ResultColumn, Scalar
from querybus.core.subjects import page_subject, token
from querybus.core.topology import RESULTS

if TYPE_CHECKING:
    from types import ModuleType

_COLUMN: Final = b"querybus.column"
_AS_JSON: Final = b"querybus.json"
_ROWS: Final = b"querybus.rows"
_INT64: Final = range(-(2**63), 2**63)

Rows = tuple[tuple[Scalar, ...], ...]


class PageUnreadable(Exception):
    """These bytes are no page of ours."""


def _arrow() -> ModuleType:
    # Loaded at first use: it takes 40 MB, and a service that is idle needs none of it.
    import pyarrow as pa

    return pa


def encode_page(columns: Sequence[ResultColumn], rows: Sequence[Sequence[Scalar]]) -> bytes:
    """Return the rows as an Arrow IPC stream; each row has a cell per column, else ValueError."""
    if any(len(row) != len(columns) for row in rows):
        raise ValueError("every row of a page has one cell per column")
    arrow = _arrow()
    fields: list[Any] = []
    arrays: list[Any] = []
    for index, column in enumerate(columns):
        cells = [row[index] for row in rows]
        kind = _arrow_type(arrow, cells, column.kind)
        metadata = {_COLUMN: column.model_dump_json().encode()}
        if kind is None:
            metadata[_AS_JSON] = b"1"
            cells = [json.dumps(cell) for cell in cells]
            kind = arrow.string()
        fields.append(arrow.field(column.name, kind, metadata=metadata))
        arrays.append(arrow.array(cells, type=kind))
    schema = arrow.schema(fields, metadata={_ROWS: str(len(rows)).encode()})
    sink = arrow.BufferOutputStream()
    with arrow.ipc.new_stream(sink, schema) as writer:
        if columns:
            writer.write_batch(arrow.RecordBatch.from_arrays(arrays, schema=schema))
    return cast("bytes", sink.getvalue().to_pybytes())


def decode_page(data: bytes) -> tuple[tuple[ResultColumn, ...], Rows]:
    """Return columns and rows; raises PageUnreadable for bytes that `encode_page` did not make."""
    arrow = _arrow()
    try:
        table = arrow.ipc.open_stream(data).read_all()
        columns: list[ResultColumn] = []
        cells: list[list[Scalar]] = []
        for index, each in enumerate(table.schema):
            metadata = each.metadata or {}
            columns.append(ResultColumn.model_validate_json(metadata[_COLUMN]))
            values = table.column(index).to_pylist()
            cells.append([json.loads(value) for value in values] if _AS_JSON in metadata else values)
        if not columns:
            return (), ((),) * int((table.schema.metadata or {})[_ROWS])
    except (arrow.ArrowException, OSError, ValidationError, KeyError, ValueError, TypeError) as error:
        raise PageUnreadable(f"no page of ours: {type(error).__name__}") from error
    return tuple(columns), tuple(zip(*cells, strict=True))


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


def _arrow_type(arrow: ModuleType, cells: Sequence[Scalar], kind: ColumnKind) -> Any | None:
    """Return the Arrow type that holds every cell exactly, or None if there is none."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if not kinds:
        empty = {
            ColumnKind.INTEGER: arrow.int64(),
            ColumnKind.NUMBER: arrow.float64(),
            ColumnKind.BOOLEAN: arrow.bool_(),
        }
        return empty.get(kind, arrow.string())
    if kinds == {bool}:
        return arrow.bool_()
    if kinds == {int}:
        return arrow.int64() if all(cell is None or cell in _INT64 for cell in cells) else None
    if kinds == {float}:
        return arrow.float64()
    if kinds == {str} and all(_is_utf8(cell) for cell in cells if isinstance(cell, str)):
        return arrow.string()
    return None


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
