"""What a child process sent as columns, as Arrow arrays over the same bytes: nothing is copied or parsed."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from querybus.bus.stores.pages import AS_JSON, Batch, Rows, batch_of_arrays, cells_of
from querybus.core.messages import ResultColumn
from querybus_executor.workers.columns import COLUMNS

SAMPLE_ROWS: Final = 200
_LENGTH: Final = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class Arrays:
    """The columns of some rows. `marks`: how each is to be read, as `batch_of_arrays` takes them."""

    arrays: Sequence[Any]
    marks: Sequence[bytes]
    rows: int

    def batch(self, columns: Sequence[ResultColumn]) -> Batch:
        """Return them as a record batch of these columns."""
        return batch_of_arrays(columns, self.arrays, self.rows, self.marks)

    def sample(self) -> Rows:
        """Return the first rows as cells."""
        nameless = [ResultColumn(name="")] * len(self.arrays)
        return cells_of(self.batch(nameless)[:SAMPLE_ROWS])


def arrays_of(frame: bytes) -> Arrays:
    """Return the columns of a frame (see child_columns), or of an Arrow stream after the letter A."""
    import pyarrow as pa  # it takes a tenth of a second to load, in a thread

    if not frame.startswith(COLUMNS):
        table = pa.ipc.open_stream(pa.py_buffer(frame).slice(1)).read_all().combine_chunks()
        arrays = [column.chunk(0) if column.num_chunks else pa.array([], type=column.type) for column in table.columns]
        return Arrays(arrays, [b""] * len(arrays), table.num_rows)
    start = len(COLUMNS) + _LENGTH.size
    size = _LENGTH.unpack(frame[len(COLUMNS) : start])[0]
    head = json.loads(frame[start : start + size])
    rows, place, whole = int(head["rows"]), start + size, pa.py_buffer(frame)
    types: dict[str, Any] = {
        "q": pa.int64(),
        "d": pa.float64(),
        "s": pa.string(),
        "b": pa.binary(),
        "t": pa.bool_(),
        "j": pa.string(),
    }
    made: list[Any] = []
    marks: list[bytes] = []
    for code, *lengths in head["columns"]:
        if code == "n":
            made.append(pa.nulls(rows, pa.string()))
            marks.append(b"")
            continue
        buffers: list[Any] = []
        for length in lengths:
            buffers.append(whole.slice(place, length))
            place += length
        validity = buffers[0] if lengths[0] else None
        parts = [validity, *buffers[1:]] if code in "sbj" else [validity, buffers[2]]
        made.append(pa.Array.from_buffers(types[code], rows, parts))
        marks.append(AS_JSON if code == "j" else b"")
    return Arrays(made, marks, rows)
