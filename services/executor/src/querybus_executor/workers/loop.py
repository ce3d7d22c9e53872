"""The loop of a child process in which an embedded engine runs: statements in, rows out, over standard streams.

Frames are a four-byte big-endian length and JSON, both ways. It imports the standard library only and runs in a
process with an empty environment, so it is small and knows no secret. It may be killed at any moment: it never writes.

Rows beyond the first few leave as columns instead of JSON (see columns.py).

A request is `{"run": key, "sql", "explain", "own", "rows_max", "bytes_max", "first", "seconds"}`, the first one of a
key with `"open": {"key", ...}`; answers of up to `first` rows are JSON. The reply is any number of frames
`{"columns"?, "types"?, "rows"}`, the last one with `"end"` and `truncated`, `cut_bytes`, `plan` or `error: {code, name,
text}`. SIGUSR1 ends the statement in hand.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import re
import resource
import signal
import struct
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO, Final, Protocol

from querybus_executor.workers.columns import columns_frame
from querybus_executor.workers.confinement import STALE, Stale

BATCH_ROWS_MAX: Final = 4_096
FRAME_BYTES_AIM: Final = 256 * 1024
PIPE_BYTES: Final = 1 << 20
TEXT_LENGTH_MAX: Final = 1_000

Sent = tuple[dict[str, Any], bytes]
"""The last frame of an answer: its head, and its rows as JSON."""

_LENGTH: Final = struct.Struct(">I")
_PAGE_KILOBYTES: Final = resource.getpagesize() // 1024


class Statement:
    """The statement in hand: when it has to end, and whether it was asked to end."""

    until = 0.0
    stopped = False

    @classmethod
    def begin(cls, seconds: float) -> None:
        cls.until = time.monotonic() + seconds
        cls.stopped = False

    @classmethod
    def over(cls) -> bool:
        return cls.stopped or time.monotonic() >= cls.until


class Database(Protocol):
    """One opened database of an engine. `opened_kilobytes`: the memory that having it open takes, whatever is asked."""

    @property
    def opened_kilobytes(self) -> int: ...

    def answer(self, request: dict[str, Any], out: BinaryIO) -> Sent:
        """Run one statement and write all frames but the last, which is returned."""
        ...


def stream(
    fetch: Callable[[int], list[tuple[Any, ...]]],
    head: dict[str, Any],
    request: dict[str, Any],
    out: BinaryIO,
    cell: Callable[[object], object] | None = None,
) -> Sent | None:
    """Write rows in frames up to the limits of rows and bytes; None where the statement is over its time."""
    rows_max, bytes_left = int(request["rows_max"]), int(request["bytes_max"])
    size = min(int(request["first"]), rows_max) + 1
    batch = fetch(size)
    if len(batch) < size or len(batch) > rows_max:
        # The one frame of a small answer is its last one too.
        return None if Statement.over() else _last(batch, head, rows_max, bytes_left, cell or plain_cell)
    if head:
        write(out, frame_of(head, b"[]"))
    sent = 0
    while True:
        if Statement.over():
            return None
        truncated = sent + len(batch) > rows_max
        if truncated:
            del batch[rows_max - sent :]
        if not batch:
            return {"end": True, "truncated": truncated}, b"[]"
        frame = columns_frame(batch)
        if len(frame) > bytes_left:
            kept = _fitting(batch, bytes_left, cell or plain_cell)
            if kept:
                write(out, columns_frame(batch[:kept]))
            return {"end": True, "truncated": True, "cut_bytes": True}, b"[]"
        write(out, frame)
        bytes_left -= len(frame)
        sent += len(batch)
        if truncated or len(batch) < size:
            return {"end": True, "truncated": truncated}, b"[]"
        size = max(1, min(BATCH_ROWS_MAX, size * 8, size * FRAME_BYTES_AIM // len(frame), rows_max + 1 - sent))
        batch = fetch(size)


def _last(
    batch: list[tuple[Any, ...]], head: dict[str, Any], rows_max: int, bytes_max: int, cell: Callable[[object], object]
) -> Sent:
    truncated = len(batch) > rows_max
    del batch[rows_max:]
    text = _rows_json(batch, cell)
    if len(text) > bytes_max:
        kept = _rows_json(batch[: _fitting(batch, bytes_max, cell)], cell)
        return {"end": True, **head, "truncated": True, "cut_bytes": True}, kept
    return {"end": True, **head, "truncated": truncated}, text


_DIGITS: Final = 16
_DUST: Final = ((15, 13), (14, 11), (13, 10))
"""Digits to which a number is rounded, and how many of them may be needed then for the rest to be dust."""


def plain_cell(value: object) -> object:
    """What JSON cannot carry travels as text: bytes in hexadecimal, infinities by name. Sums of cents lose their dust."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float):
        return _plain_float(value)
    return value


def _plain_float(value: float) -> float | str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    # 1011954.2700000091 is a sum of cents: what only adding has made stands behind a run of zeros or nines. A number that
    # needs its digits has no such run, and keeps them.
    if len(repr(value)) > _DIGITS:
        for kept, most in _DUST:
            rounded, _, exponent = f"{value:.{kept - 1}e}".partition("e")
            if len(rounded.strip("-").rstrip("0").replace(".", "")) <= most:
                return float(f"{rounded}e{exponent}")
    return value


def error(code: int, name: str, text: str) -> Sent:
    """Return the end of an answer that is an error of the engine."""
    return {"end": True, "error": {"code": code, "name": name, "text": text[:TEXT_LENGTH_MAX]}}, b"[]"


def serve(
    open_database: Callable[[dict[str, Any]], Database],
    failed: Callable[[Exception], Sent],
    *,
    memory_bytes_max: int,
    tired_kilobytes: int,
    begin: Callable[[float], None] = Statement.begin,
    finish: Callable[[], None] = lambda: None,
) -> None:
    """Answer requests until standard input ends. `failed` words what a statement raised; it may raise it again."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes_max, memory_bytes_max))
    # Ctrl-C goes to the whole group of a terminal; the executor ends its children itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError, AttributeError):
        # 64 KB, the usual size, is a switch of processes for every sixth of a frame. Linux only.
        fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    databases: dict[str, Database] = {}
    read, out = sys.stdin.buffer, private_output()
    while len(head := read.read(_LENGTH.size)) == _LENGTH.size:
        request = json.loads(read.read(_LENGTH.unpack(head)[0]))
        begin(float(request["seconds"]))
        try:
            opened = request.get("open")
            if opened is not None:
                databases[opened["key"]] = open_database(opened)
            end, rows = databases[request["run"]].answer(request, out)
        except Stale as stale:
            end, rows = error(0, STALE, str(stale))
            end["tired"] = True
        except Exception as raised:  # noqa: BLE001 - whatever an engine raises, its one caller gets it
            end, rows = failed(raised)
        finish()
        # Memory once taken is seldom given back: after a big sort a fresh process is the smaller one. What thousands
        # of tables take just by being there, the next process would take as well.
        if resident_kilobytes() > tired_kilobytes + sum(database.opened_kilobytes for database in databases.values()):
            end["tired"] = True
        write(out, frame_of(end, rows))


def _fitting(batch: Sequence[tuple[Any, ...]], bytes_max: int, cell: Callable[[object], object]) -> int:
    """Return how many rows fit, as JSON."""
    used = 2
    for kept, row in enumerate(batch):
        used += len(_rows_json([row], cell)) - 1
        if used > bytes_max:
            return kept
    return len(batch)


_LONG: Final = re.compile(rb"\.\d{7}")
"""A number of so many digits behind its point may be a sum with dust. Also found in texts, which costs a look at the cells."""


_NESTED: Final = frozenset({list, tuple, dict})


def _rows_json(rows: Sequence[tuple[Any, ...]], cell: Callable[[object], object]) -> bytes:
    """Return rows as JSON; cells are made one by one only where JSON cannot carry them, or they have parts or many digits.

    A cell with parts travels as text: the executor would build an object for every part.
    """
    try:
        plain = b"" if any(type(item) in _NESTED for row in rows for item in row) else _json(rows)
    except (TypeError, ValueError):
        plain = b""
    return plain if plain and _LONG.search(plain) is None else _json([[cell(item) for item in row] for row in rows])


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace")


def frame_of(head: dict[str, Any], rows: bytes) -> bytes:
    """Return a JSON frame of a head and its rows as JSON."""
    return _json(head)[:-1] + (b"," if head else b"") + b'"rows":' + rows + b"}"


def private_output() -> BinaryIO:
    """Return the standard output for frames alone: what a library prints from now on goes to standard error."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return out


def write(out: BinaryIO, frame: bytes) -> None:
    """Write one frame."""
    out.write(_LENGTH.pack(len(frame)) + frame)
    out.flush()


def resident_kilobytes() -> int:
    """Return how much memory this process has; 0 where the system does not say."""
    # Not ru_maxrss: a process inherits the peak of the one that started it.
    return 0 if _STATM is None else int(os.pread(_STATM, 64, 0).split()[1]) * _PAGE_KILOBYTES


def _opened_statm() -> int | None:
    """Return the open file of this process's memory: once it is shut in, nothing more of /proc opens."""
    try:
        return os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


_STATM: Final = _opened_statm()
