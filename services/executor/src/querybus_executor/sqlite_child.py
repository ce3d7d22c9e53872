"""The process in which SQLite runs: reads one statement from standard input, writes its rows to standard output.

Frames are a four-byte big-endian length and JSON, both ways. It imports the standard library only and is started
without site-packages and with an empty environment, so that it is small, starts fast and knows no secret. What it
lets through stands here twice: SQLite's own limits, and an authorizer that denies whatever it does not name. It may
be killed at any moment: it never writes.

A request is `{"run": key, "sql", "explain", "rows_max", "bytes_max", "seconds"}`, the first one of a key with `"open":
{"key", "path", "tables", "denied"}`. The reply is any number of frames `{"columns"?, "rows"}`, the last one with `"end"` and
`truncated`, `cut_bytes` or `error: {code, name, text}`. SIGUSR1 ends the statement in hand.
"""

from __future__ import annotations

import json
import math
import os
import re
import resource
import signal
import sqlite3
import struct
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

BATCH_ROWS_FIRST: Final = 128
BATCH_ROWS_MAX: Final = 4_096
FRAME_BYTES_AIM: Final = 256 * 1024
MEMORY_BYTES_MAX: Final = 1 << 30
HEAP_BYTES_MAX: Final = 256 << 20
TIRED_KILOBYTES: Final = 96 << 10
BUSY_SECONDS_MAX: Final = 1.0
PROGRESS_STEPS: Final = 10_000

_LIMITS: Final = (
    (sqlite3.SQLITE_LIMIT_LENGTH, 10_000_000),
    (sqlite3.SQLITE_LIMIT_SQL_LENGTH, 100_000),
    (sqlite3.SQLITE_LIMIT_COLUMN, 2_000),
    (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 500),
    (sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 100),
    (sqlite3.SQLITE_LIMIT_VDBE_OP, 250_000),
    (sqlite3.SQLITE_LIMIT_FUNCTION_ARG, 64),
    (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
    (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000),
    (sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 0),
    (sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
)
_TABLE_FUNCTIONS: Final = frozenset({"json_each", "json_tree"})
_FUNCTIONS_DENIED: Final = frozenset(
    {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "eval", "zipfile", "sqlite_log"}
)
_WITH: Final = re.compile(r"\bwith\b", re.IGNORECASE)
_LENGTH: Final = struct.Struct(">I")
_PAGE_KILOBYTES: Final = resource.getpagesize() // 1024


class _Statement:
    """The statement in hand: when it has to end, and whether it was told to end."""

    until = 0.0
    stopped = False

    @classmethod
    def over(cls) -> bool:
        return cls.stopped or time.monotonic() >= cls.until


class Database:
    """One hardened connection. `tables` are the only ones it reads (None: all), without the columns in `denied`."""

    def __init__(self, path: str, tables: list[str] | None, denied: list[list[str]]) -> None:
        self._path = path
        self._tables = None if tables is None else frozenset(each.casefold() for each in tables)
        self._denied = frozenset((table.casefold(), column.casefold()) for table, column in denied)
        self._opened: sqlite3.Connection | None = None
        self._inode: tuple[int, int] | None = None
        self._schema_version = -1
        self._names: frozenset[str] = frozenset()
        self._through: frozenset[tuple[str, str]] = frozenset()
        self._own = False
        self._plain = True

    def ready(self, sql: str) -> sqlite3.Connection:
        """Return the connection, opened anew if the file was replaced; sqlite3.Error if there is none."""
        inode = self._stat()
        if self._opened is None or inode != self._inode:
            self.close()
            self._opened = self._open()
            self._inode = inode
        self._plain = _WITH.search(sql) is None
        self._own = True
        try:
            version = self._opened.execute("PRAGMA schema_version").fetchone()[0]
            if version != self._schema_version:
                self._read_schema(self._opened)
                self._schema_version = version
        finally:
            self._own = False
        return self._opened

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None
            self._schema_version = -1

    def _stat(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path)  # noqa: PTH116 - this runs for every statement
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _open(self) -> sqlite3.Connection:
        # No statement cache: the authorizer is asked when a statement is prepared, and only then.
        opened = sqlite3.connect(
            Path(self._path).absolute().as_uri() + "?mode=ro",
            uri=True,
            timeout=BUSY_SECONDS_MAX,
            isolation_level=None,
            cached_statements=0,
        )
        # Text that is no UTF-8 is shown with replacement characters instead of failing a whole answer.
        opened.text_factory = partial(str, encoding="utf-8", errors="replace")
        for pragma in (
            "query_only=ON",
            "trusted_schema=OFF",
            "temp_store=MEMORY",
            "cell_size_check=ON",
            f"hard_heap_limit={HEAP_BYTES_MAX}",
        ):
            opened.execute(f"PRAGMA {pragma}")
        # These two are made at their first use, which the authorizer would refuse.
        for each in _TABLE_FUNCTIONS:
            opened.execute(f"SELECT 1 FROM {each}('[1]')").fetchall()  # noqa: S608 - two fixed names
        for limit, value in _LIMITS:
            opened.setlimit(limit, value)
        opened.set_progress_handler(_Statement.over, PROGRESS_STEPS)
        opened.set_authorizer(self._authorize)
        return opened

    def _read_schema(self, opened: sqlite3.Connection) -> None:
        rows = opened.execute("SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view')").fetchall()
        self._names = frozenset(str(name).casefold() for name, _ in rows)
        if self._tables is None:
            return
        seen: set[tuple[str, str]] = set()

        def record(
            action: int, table: str | None, _column: str | None, _database: str | None, source: str | None
        ) -> int:
            if action == sqlite3.SQLITE_READ and table and source:
                seen.add((table.casefold(), source.casefold()))
            return sqlite3.SQLITE_OK

        opened.set_authorizer(record)
        try:
            for name, kind in rows:
                if kind == "view" and str(name).casefold() in self._tables:
                    quoted = str(name).replace('"', '""')
                    try:
                        opened.execute(f'EXPLAIN SELECT * FROM "{quoted}"').close()  # noqa: S608 - quoted
                    except sqlite3.Error:
                        continue  # a broken view; whoever asks for it will be told so
        finally:
            opened.set_authorizer(self._authorize)
        self._through = frozenset(seen)

    def _authorize(
        self, action: int, first: str | None, second: str | None, _database: str | None, source: str | None
    ) -> int:
        if self._own or action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            table, column = (first or "").casefold(), (second or "").casefold()
            may = (table, column) not in self._denied and self._may_read(table, (source or "").casefold())
            return sqlite3.SQLITE_OK if may else sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_FUNCTION and (second or "").casefold() not in _FUNCTIONS_DENIED:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    def _may_read(self, table: str, source: str) -> bool:
        if table in _TABLE_FUNCTIONS:
            return True
        if table.startswith(("sqlite_", "pragma_")) or table == "dbstat":
            return False
        if table not in self._names:
            return True  # a WITH table: SQLite asks for it by its name when none of its columns is used
        if self._tables is None or table in self._tables:
            return True
        # Tables under a permitted view. SQLite names a WITH table as the source as well, so where the statement
        # could have named one like the view, the view does not help.
        return self._plain and (table, source) in self._through


def run(database: Database, request: dict[str, Any], out: BinaryIO) -> tuple[dict[str, Any], bytes]:
    """Run one statement and write all frames but the last; return the last one's head and its rows as JSON."""
    sql, explain = str(request["sql"]), bool(request.get("explain"))
    rows_max, bytes_left = int(request["rows_max"]), int(request["bytes_max"])
    cursor = database.ready(sql).execute(f"EXPLAIN {sql}" if explain else sql)
    try:
        if cursor.description is None:
            return _error(sqlite3.SQLITE_AUTH, "SQLITE_AUTH", "not authorized: the statement returns no rows"), b"[]"
        head: dict[str, Any] = {"columns": [] if explain else [each[0] for each in cursor.description]}
        if explain:
            return {"end": True, **head}, b"[]"
        sent, size = 0, BATCH_ROWS_FIRST
        while True:
            asked = min(size, rows_max + 1 - sent)
            batch = cursor.fetchmany(asked)
            if _Statement.over():
                return _error(sqlite3.SQLITE_INTERRUPT, "SQLITE_INTERRUPT", "interrupted"), b"[]"
            truncated = sent + len(batch) > rows_max
            if truncated:
                del batch[rows_max - sent :]
            text = _rows_json(batch)
            if len(text) > bytes_left:
                return {"end": True, **head, "truncated": True, "cut_bytes": True}, _fitting_json(batch, bytes_left)
            if truncated or len(batch) < asked:
                # The one frame of a small answer is its last one too.
                return {"end": True, **head, "truncated": truncated}, text
            _write(out, _frame(head, text))
            head = {}
            bytes_left -= len(text)
            sent += len(batch)
            size = max(1, min(BATCH_ROWS_MAX, size * 8, size * FRAME_BYTES_AIM // len(text)))
    finally:
        cursor.close()


def _fitting_json(batch: list[tuple[object, ...]], bytes_max: int) -> bytes:
    """Return as many rows as fit, as JSON."""
    kept, used = 0, 2
    for row in batch:
        used += len(_rows_json([row])) - 1
        if used > bytes_max:
            break
        kept += 1
    return _rows_json(batch[:kept])


def _rows_json(rows: list[tuple[object, ...]]) -> bytes:
    try:
        return _json(rows)
    except (TypeError, ValueError):
        return _json([[_cell(each) for each in row] for row in rows])


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace")


def _cell(value: object) -> object:
    """What JSON cannot carry travels as text: bytes in hexadecimal, infinities by name."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _frame(head: dict[str, Any], rows: bytes) -> bytes:
    return _json(head)[:-1] + (b"," if head else b"") + b'"rows":' + rows + b"}"


def _error(code: int, name: str, text: str) -> dict[str, Any]:
    return {"end": True, "error": {"code": code, "name": name, "text": text[:1_000]}}


def _answer(databases: dict[str, Database], request: dict[str, Any], out: BinaryIO) -> None:
    opened = request.get("open")
    if opened is not None:
        databases[opened["key"]] = Database(opened["path"], opened["tables"], opened["denied"])
    _Statement.until = time.monotonic() + float(request["seconds"])
    _Statement.stopped = False
    try:
        head, rows = run(databases[request["run"]], request, out)
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 1)
        head, rows = _error(code, getattr(error, "sqlite_errorname", type(error).__name__), str(error)), b"[]"
    except MemoryError:
        head, rows = _error(sqlite3.SQLITE_NOMEM, "SQLITE_NOMEM", "out of memory"), b"[]"
    except (ValueError, OverflowError) as error:
        head, rows = _error(sqlite3.SQLITE_ERROR, type(error).__name__, str(error)), b"[]"
    # Memory once taken is seldom given back: after a big sort a fresh process is the smaller one.
    if _resident_kilobytes() > TIRED_KILOBYTES:
        head["tired"] = True
    _write(out, _frame(head, rows))


def _resident_kilobytes() -> int:
    # Not ru_maxrss: a process inherits the peak of the one that started it.
    try:
        with open("/proc/self/statm", "rb", buffering=0) as statm:  # noqa: PTH123 - this runs for every statement
            return int(statm.read(64).split()[1]) * _PAGE_KILOBYTES
    except OSError:
        return 0


def _write(out: BinaryIO, frame: bytes) -> None:
    out.write(_LENGTH.pack(len(frame)) + frame)
    out.flush()


def _stop(_signal: int, _frame: object) -> None:
    _Statement.stopped = True


def main() -> None:
    """Answer requests until standard input ends."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    signal.signal(signal.SIGUSR1, _stop)
    # Ctrl-C goes to the whole group of a terminal; the executor ends its children itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    databases: dict[str, Database] = {}
    read, out = sys.stdin.buffer, sys.stdout.buffer
    while len(head := read.read(_LENGTH.size)) == _LENGTH.size:
        body = read.read(_LENGTH.unpack(head)[0])
        _answer(databases, json.loads(body), out)


if __name__ == "__main__":
    main()
