"""Rows as columns in Arrow's memory layout, made with the standard library only: how many rows leave a child process.

A frame of columns is the letter C, the length of a JSON head, the head and the buffers: `{"rows", "columns": [[code,
validity, offsets, data], ...]}` with the lengths in bytes of each column's buffers. Codes: q int64, d float64, s text,
b bytes, t truth, j JSON text of each cell, n nothing but NULL. Exact: what is of mixed kinds travels as j.
"""

from __future__ import annotations

import json
import struct
from array import array
from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from typing import Any, Final

COLUMNS: Final = b"C"
_LENGTH: Final = struct.Struct(">I")
_NOTHING: Final = type(None)
_INT64_MIN: Final = -(2**63)
_INT64_MAX: Final = 2**63 - 1

Buffers = tuple[str, bytes, bytes, bytes]
"""Code, validity, offsets, data."""


def columns_frame(rows: Sequence[Sequence[Any]], cell: Callable[[object], object]) -> bytes:
    """Return the rows, at least one, as a frame of columns; `cell` makes JSON of what has no type here."""
    made = [_column(row, cell) for row in zip(*rows, strict=True)]
    lengths = [[code, *map(len, buffers)] for code, *buffers in made]
    head = json.dumps({"rows": len(rows), "columns": lengths}, separators=(",", ":")).encode()
    return b"".join((COLUMNS, _LENGTH.pack(len(head)), head, *chain.from_iterable(item[1:] for item in made)))


def _column(cells: Sequence[Any], cell: Callable[[object], object]) -> Buffers:
    kinds = set(map(type, cells))
    has_null = _NOTHING in kinds
    kinds.discard(_NOTHING)
    if not kinds:
        return "n", b"", b"", b""
    validity = _validity(cells) if has_null else b""
    one = kinds.pop() if len(kinds) == 1 else None
    if one is int and _fits(cells):
        return "q", validity, b"", array("q", [cell or 0 for cell in cells] if has_null else cells).tobytes()
    if one is float:
        return "d", validity, b"", array("d", [0.0 if e is None else e for e in cells] if has_null else cells).tobytes()
    if one is bool:
        return "t", validity, b"", _bits([bool(cell) for cell in cells])
    if one is str:
        texts = [cell or "" for cell in cells] if has_null else cells
        return _text("s", validity, texts)
    if one is bytes:
        parts = [cell or b"" for cell in cells] if has_null else cells
        return "b", validity, _offsets(map(len, parts)), b"".join(parts)
    texts = [json.dumps(cell(item), ensure_ascii=False) for item in cells]
    return _text("j", b"", texts)


def _text(code: str, validity: bytes, texts: Sequence[str]) -> Buffers:
    whole = "".join(texts)
    if whole.isascii():
        return code, validity, _offsets(map(len, texts)), whole.encode("ascii")
    parts = [text.encode("utf-8", "replace") for text in texts]
    return code, validity, _offsets(map(len, parts)), b"".join(parts)


def _fits(cells: Sequence[Any]) -> bool:
    numbers = [cell for cell in cells if cell is not None]
    return min(numbers) >= _INT64_MIN and max(numbers) <= _INT64_MAX


def _offsets(lengths: Any) -> bytes:
    return array("i", accumulate(lengths, initial=0)).tobytes()


def _validity(cells: Sequence[Any]) -> bytes:
    return _bits([cell is not None for cell in cells])


def _bits(flags: Sequence[bool]) -> bytes:
    # The first row is the lowest bit, as Arrow has it.
    number = int("".join("1" if flag else "0" for flag in reversed(flags)), 2)
    return number.to_bytes((len(flags) + 7) // 8, "little")
