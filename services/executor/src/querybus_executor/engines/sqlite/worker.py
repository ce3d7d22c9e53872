"""The process in which SQLite runs: read-only by force, whatever text arrives.

It imports the standard library only and is started without site-packages (see child_loop). What it lets through
stands here twice: SQLite's own limits, and an authorizer that denies whatever it does not name. An opening is
`{"path", "tables", "denied"}`.
"""

from __future__ import annotations

import os
import re
import signal
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

from querybus_executor.workers.confinement import Confinement, sqlite_files
from querybus_executor.workers.loop import Sent, Statement, error, serve, stream

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
    # Modules of virtual tables bind values in statements of their own; a parameter of a statement from outside gets none.
    (sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 100),
    (sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
)
_TABLE_FUNCTIONS: Final = frozenset({"json_each", "json_tree"})
_FUNCTIONS_DENIED: Final = frozenset(
    {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "eval", "zipfile", "sqlite_log"}
)
_MODULES: Final = frozenset({"fts3", "fts4", "fts5", "rtree", "rtree_i32", "geopoly"})
"""Modules of virtual tables that hold rows of their own, in tables of their own beside them."""
_MODULE: Final = re.compile(r"\busing\s+[\"'`\[]?(\w+)", re.IGNORECASE)
_WITH: Final = re.compile(r"\bwith\b", re.IGNORECASE)


class Database:
    """One hardened connection. `tables` are the only ones it reads (None: all), without the columns in `denied`."""

    opened_kilobytes = 0  # ten thousand tables take eight megabytes

    def __init__(self, path: str, tables: list[str] | None, denied: list[list[str]]) -> None:
        self._path = path
        self._tables = None if tables is None else frozenset(table.casefold() for table in tables)
        self._denied = frozenset((table.casefold(), column.casefold()) for table, column in denied)
        self._opened: sqlite3.Connection | None = None
        self._inode: tuple[int, int] | None = None
        self._schema_version = -1
        self._names: frozenset[str] = frozenset()
        self._through: frozenset[tuple[str, str]] = frozenset()
        self._stores: dict[str, bool] = {}
        """Tables in which modules keep the rows of virtual tables, each with whether it may be read."""
        self._own = False
        self._plain = True

    def ready(self, sql: str) -> sqlite3.Connection:
        """Return the connection, opened anew if the file was replaced; sqlite3.Error if there is none."""
        inode = self._stat()
        if self._opened is None or inode != self._inode:
            self.close()
            if inode is not None:
                reads, writes = sqlite_files(self._path)
                Confinement.enter(self._path, inode=inode, reads=reads, writes=writes)
            self._opened = self._open()
            self._inode = inode
        self._plain = _WITH.search(sql) is None
        self._own = True
        try:
            version = self._opened.execute("PRAGMA schema_version").fetchone()[0]
            if version != self._schema_version:
                self._read_schema(self._opened)
                self._connect_virtual_tables(self._opened)
                self._schema_version = version
        finally:
            self._own = False
        return self._opened

    def answer(self, request: dict[str, Any], out: BinaryIO) -> Sent:
        """Run one statement and write all frames but the last, which is returned."""
        sql, explain = str(request["sql"]), bool(request.get("explain"))
        cursor = self.ready(sql).execute(f"EXPLAIN {sql}" if explain else sql)
        try:
            if cursor.description is None:
                return error(sqlite3.SQLITE_AUTH, "SQLITE_AUTH", "not authorized: the statement returns no rows")
            if explain:
                return {"end": True, "columns": []}, b"[]"
            head: dict[str, Any] = {"columns": [column[0] for column in cursor.description]}
            sent = stream(cursor.fetchmany, head, request, out)
            return sent or error(sqlite3.SQLITE_INTERRUPT, "SQLITE_INTERRUPT", "interrupted")
        finally:
            cursor.close()

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None
            self._schema_version = -1

    def _stat(self) -> tuple[int, int] | None:
        try:
            result = os.stat(self._path)  # noqa: PTH116 - this runs for every statement
        except OSError:
            return None
        return result.st_dev, result.st_ino

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
        for table_function in _TABLE_FUNCTIONS:
            opened.execute(f"SELECT 1 FROM {table_function}('[1]')").fetchall()  # noqa: S608 - two fixed names
        for limit, value in _LIMITS:
            opened.setlimit(limit, value)
        opened.set_progress_handler(Statement.over, PROGRESS_STEPS)
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
                        continue  # a broken view; whoever asks for it gets the error
        finally:
            opened.set_authorizer(self._authorize)
        self._through = frozenset(seen)

    def _connect_virtual_tables(self, opened: sqlite3.Connection) -> None:
        """Let the modules of virtual tables begin, which the authorizer would refuse in the middle of a statement.

        What a module keeps beside its table is read by the module. So it may be read where the whole table may be.
        """
        listed = opened.execute("SELECT name, type FROM pragma_table_list WHERE schema = 'main'").fetchall()
        stores = [str(name).casefold() for name, kind in listed if kind == "shadow"]
        self._stores = dict.fromkeys(stores, False)
        if not any(kind == "virtual" for _, kind in listed):
            return
        closed = {table for table, _ in self._denied}
        made = opened.execute("SELECT name, sql FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%'").fetchall()
        for name, sql in made:
            table, module = str(name).casefold(), _MODULE.search(str(sql))
            may = self._tables is None or table in self._tables
            if module is None or module.group(1).casefold() not in _MODULES or not may or table in closed:
                continue
            quoted = str(name).replace('"', '""')
            try:
                opened.execute(f'SELECT 1 FROM "{quoted}" LIMIT 0').close()  # noqa: S608 - quoted
            except sqlite3.Error:
                continue  # the file is damaged or the module is not here; whoever asks for it gets the error
            self._stores |= {store: True for store in stores if store.startswith(f"{table}_")}

    def _authorize(
        self, action: int, first: str | None, second: str | None, _database: str | None, source: str | None
    ) -> int:
        if self._own or action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            table, column = (first or "").casefold(), (second or "").casefold()
            may = (table, column) not in self._denied and self._may_read(table, (source or "").casefold())
            return sqlite3.SQLITE_OK if may else sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_PRAGMA and first == "data_version" and self._stores:
            return sqlite3.SQLITE_OK  # a counter that FTS5 looks at
        if action == sqlite3.SQLITE_FUNCTION and (second or "").casefold() not in _FUNCTIONS_DENIED:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    def _may_read(self, table: str, source: str) -> bool:
        if table in _TABLE_FUNCTIONS:
            return True
        if table.startswith(("sqlite_", "pragma_")) or table == "dbstat":
            return False
        if table in self._stores:
            return self._stores[table]
        if table not in self._names:
            return True  # a WITH table: SQLite asks for it by its name when none of its columns is used
        if self._tables is None or table in self._tables:
            return True
        # Tables under a permitted view. SQLite names a WITH table as the source as well, so where the statement
        # could have named one like the view, the view does not help.
        return self._plain and (table, source) in self._through


def _failed(raised: Exception) -> Sent:
    if isinstance(raised, sqlite3.Error):
        code = getattr(raised, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        return error(code, getattr(raised, "sqlite_errorname", type(raised).__name__), str(raised))
    if isinstance(raised, MemoryError):
        return error(sqlite3.SQLITE_NOMEM, "SQLITE_NOMEM", "out of memory")
    if isinstance(raised, ValueError | OverflowError):
        return error(sqlite3.SQLITE_ERROR, type(raised).__name__, str(raised))
    raise raised


def _stop(_signal: int, _frame: object) -> None:
    Statement.stopped = True


def main() -> None:
    """Answer requests until standard input ends."""
    signal.signal(signal.SIGUSR1, _stop)
    serve(
        lambda opened: Database(opened["path"], opened["tables"], opened["denied"]),
        _failed,
        memory_bytes_max=MEMORY_BYTES_MAX,
        tired_kilobytes=TIRED_KILOBYTES,
    )
