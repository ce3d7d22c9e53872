"""Rows as columns in Arrow's memory layout: how many rows leave a child process.

A frame of columns is the letter C, the length of a JSON head, the head and the buffers: `{"rows", "columns": [[kind, mark,
validity, offsets, data], ...]}` with the lengths in bytes of each column's buffers (see `querybus.text.rows.arrow_columns`).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any, Final

from querybus.text.rows.arrow_columns import ArrowColumn, column_of_values

COLUMNS: Final = b"C"
_LENGTH: Final = struct.Struct(">I")


def columns_frame(rows: Sequence[Sequence[Any]]) -> bytes:
    """Return the rows, at least one, as a frame of columns."""
    made = [column_of_values(values) for values in zip(*rows, strict=True)]
    buffers = [buffer for item in made for buffer in (item.validity, item.offsets, item.data)]
    lengths = [[item.kind, item.mark, len(item.validity), len(item.offsets), len(item.data)] for item in made]
    head = json.dumps({"rows": len(rows), "columns": lengths}, separators=(",", ":")).encode()
    return b"".join((COLUMNS, _LENGTH.pack(len(head)), head, *buffers))


def columns_of_frame(frame: bytes) -> tuple[int, Sequence[ArrowColumn]]:
    """Return how many rows a frame has, and its columns over the same bytes: nothing is copied."""
    start = len(COLUMNS) + _LENGTH.size
    size = _LENGTH.unpack(frame[len(COLUMNS) : start])[0]
    head = json.loads(frame[start : start + size])
    rows, place, whole = int(head["rows"]), start + size, memoryview(frame)
    made: list[ArrowColumn] = []
    for kind, mark, *lengths in head["columns"]:
        buffers: list[memoryview] = []
        for length in lengths:
            buffers.append(whole[place : place + length])
            place += length
        validity, offsets, data = buffers
        made.append(ArrowColumn(kind, rows, validity, offsets, data, mark))
    return rows, made
