"""A whole result as CSV, JSON lines or an Arrow stream, made a page at a time: memory is one page, however long it is.

Headers are what the reader may see: labels in CSV; an analyst's names or a business reader's `c1`..`cn` elsewhere.
Cells are written as they are, also those that a spreadsheet would take for a formula. Arrow keeps the types that the
pages have; where they differ between pages, a column travels as JSON text (`querybus.json` in its metadata).
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from enum import StrEnum
from typing import Any, Final

from querybus.bus.pages import decode_page
from querybus_gateway.public.redaction import public_columns
from querybus_gateway.use_cases.results.pages import Export

_MARKS: Final = (b"querybus.json", b"querybus.decimal")
"""How a cell of a page is to be read; everything else that a page says of its columns is not for readers."""


class Format(StrEnum):
    """How a result may leave."""

    CSV = "csv"
    JSONL = "jsonl"
    ARROW = "arrow"


MEDIA_TYPES: Final[dict[Format, str]] = {
    Format.CSV: "text/csv; charset=utf-8; header=present",
    Format.JSONL: "application/jsonl",
    Format.ARROW: "application/vnd.apache.arrow.stream",
}


def export_stream(export: Export, how: Format) -> AsyncGenerator[bytes]:
    """Return the bytes of the result, a chunk a page; raises PageGone where a page has gone meanwhile."""
    match how:
        case Format.CSV:
            return _csv(export)
        case Format.JSONL:
            return _jsonl(export)
        case Format.ARROW:
            return _arrow(export)


async def _csv(export: Export) -> AsyncGenerator[bytes]:
    text = io.StringIO()
    # RFC 4180, line ends included, is what Excel's dialect writes.
    writer = csv.writer(text)
    writer.writerow([public_column["label"] for public_column in public_columns(export.answer, export.audience)])
    async with aclosing(export.pages()) as pages:
        async for data in pages:
            writer.writerows([[csv_cell(cell) for cell in row] for row in decode_page(data)[1]])
            yield text.getvalue().encode("utf-8", "replace")
            text.seek(0)
            text.truncate()


async def _jsonl(export: Export) -> AsyncGenerator[bytes]:
    names = _names(export)
    async with aclosing(export.pages()) as pages:
        async for data in pages:
            rows = decode_page(data)[1]
            lines = [json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in rows]
            yield "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


async def _arrow(export: Export) -> AsyncGenerator[bytes]:
    # Loaded at first use: it takes 40 MB.
    import pyarrow as pa

    fields = await _fields(export, pa)
    schema = pa.schema(fields)
    sink = _Sink()
    with pa.ipc.new_stream(pa.PythonFile(sink, mode="w"), schema) as writer:
        async with aclosing(export.pages()) as pages:
            async for data in pages:
                table = pa.ipc.open_stream(data).read_all()
                arrays = [_array(pa, table, index, field, data) for index, field in enumerate(fields)]
                if fields:
                    writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
                yield sink.taken()
    yield sink.taken()


async def _fields(export: Export, pa: Any) -> list[Any]:
    """Return what each column is, under the name that the reader may see.

    It takes a pass over the pages of its own: an Arrow stream says its schema first and cannot change it.
    """
    columns = public_columns(export.answer, export.audience)
    entries: list[dict[tuple[Any, frozenset[bytes]], None]] = [{} for _ in columns]
    async with aclosing(export.pages()) as pages:
        async for data in pages:
            table = pa.ipc.open_stream(data).read_all()
            for index in range(len(columns)):
                if table.column(index).null_count < table.num_rows:
                    field = table.schema.field(index)
                    entries[index][field.type, frozenset(field.metadata or ()) & frozenset(_MARKS)] = None
    fields: list[Any] = []
    for name, column, kinds in zip(_names(export), columns, entries, strict=True):
        # Nothing but NULL has any type.
        kind, marks = next(iter(kinds)) if kinds else (pa.string(), frozenset())
        if len(kinds) > 1:
            kind, marks = pa.string(), frozenset({_MARKS[0]})
        metadata = {b"querybus.label": str(column["label"]).encode(), **dict.fromkeys(marks, b"1")}
        fields.append(pa.field(name, kind, metadata=metadata))
    return fields


def _array(pa: Any, table: Any, index: int, field: Any, data: bytes) -> Any:
    """Return a page's column as the whole result's field says."""
    own = table.schema.field(index)
    if table.column(index).null_count == table.num_rows:
        return pa.nulls(table.num_rows, field.type)
    if own.type == field.type and (_MARKS[0] in (own.metadata or {})) == (_MARKS[0] in field.metadata):
        return table.column(index)
    cells = (row[index] for row in decode_page(data)[1])
    return pa.array([None if cell is None else json.dumps(cell, ensure_ascii=False) for cell in cells], pa.string())


def csv_cell(cell: object) -> object:
    """Return a cell as CSV; a text that a spreadsheet would take for a formula gets an apostrophe before it."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS) and _NUMBER.fullmatch(cell) is None:
        return f"'{cell}"
    return "" if cell is None else cell


_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")
_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?")


def _names(export: Export) -> Sequence[str]:
    """Return a distinct name for each column: its id, numbered where a statement used one twice."""
    names: list[str] = []
    for column in public_columns(export.answer, export.audience):
        name, n = str(column["id"]), 2
        while name in names:
            name, n = f"{column['id']}_{n}", n + 1
        names.append(name)
    return names


class _Sink(io.RawIOBase):
    """Takes what the Arrow writer writes and gives it on."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        return len(self._parts[-1])

    def taken(self) -> bytes:
        data = b"".join(self._parts)
        self._parts.clear()
        return data
