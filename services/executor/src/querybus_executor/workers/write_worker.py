"""The process in which one change of an embedded database runs: one request in, one transaction, its end in words.

It is started for the change and ends with it. It imports the standard library, and DuckDB where that is the engine;
its environment is empty. A request is `{"engine", "path", "sql", "kind", "table", "rows_affected_max", "seconds"}`.
Lines come back: `{"committing": rows}` right before COMMIT, then `{"committed": rows}`; or one `{"error": {code, name,
text}}` or `{"too_many": rows}`, after which nothing was changed. Only a process that dies between the two first lines
leaves open what became of the change.
"""

from __future__ import annotations

import json
import resource
import sqlite3
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

from querybus.ops.sandbox import enter_sandbox, offered_walls

MEMORY_BYTES_MAX: Final = 4 << 30
BUSY_SECONDS_MAX: Final = 5.0
PROGRESS_STEPS: Final = 10_000
TEXT_LENGTH_MAX: Final = 1_000

_FUNCTIONS_DENIED: Final = frozenset(
    {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "eval", "zipfile", "sqlite_log"}
)
_READS: Final = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})
_CHANGES: Final = {
    "insert": sqlite3.SQLITE_INSERT,
    "update": sqlite3.SQLITE_UPDATE,
    "delete": sqlite3.SQLITE_DELETE,
}
_STRUCTURE: Final = frozenset({"create", "alter", "drop", "truncate"})
_NEVER: Final = frozenset(
    {
        sqlite3.SQLITE_TRANSACTION,
        sqlite3.SQLITE_ATTACH,
        sqlite3.SQLITE_DETACH,
        sqlite3.SQLITE_PRAGMA,
        sqlite3.SQLITE_CREATE_TRIGGER,
        sqlite3.SQLITE_CREATE_VIEW,
        sqlite3.SQLITE_CREATE_VTABLE,
        sqlite3.SQLITE_DROP_VTABLE,
        sqlite3.SQLITE_CREATE_TEMP_TABLE,
        sqlite3.SQLITE_CREATE_TEMP_TRIGGER,
        sqlite3.SQLITE_CREATE_TEMP_VIEW,
    }
)
_DUCKDB: Final[dict[str, Any]] = {
    "enable_external_access": False,
    "memory_limit": "512MB",
    "threads": 1,
    "max_temp_directory_size": "0MB",
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    "allow_community_extensions": False,
    "allow_unsigned_extensions": False,
    "python_enable_replacements": False,
}


def _say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _end(rows: int | None, request: dict[str, Any], commit: Any, rollback: Any) -> None:
    """Commit, or roll back what touches more rows than were confirmed."""
    if rows is not None and rows > int(request["rows_affected_max"]):
        rollback()
        _say({"too_many": rows})
        return
    _say({"committing": rows})
    commit()
    _say({"committed": rows})


def _sqlite(request: dict[str, Any]) -> None:
    until = time.monotonic() + float(request["seconds"])
    opened = sqlite3.connect(
        Path(request["path"]).as_uri() + "?mode=rw", uri=True, timeout=BUSY_SECONDS_MAX, isolation_level=None
    )
    opened.execute("PRAGMA foreign_keys=ON")
    opened.execute("PRAGMA trusted_schema=OFF")
    kind, table = str(request["kind"]), str(request["table"]).casefold()

    def authorize(action: int, first: str | None, second: str | None, _database: str | None, source: str | None) -> int:
        if action in _READS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION:
            denied = (second or "").casefold() in _FUNCTIONS_DENIED
            return sqlite3.SQLITE_DENY if denied else sqlite3.SQLITE_OK
        if kind in _CHANGES:
            # What a trigger of the table does besides is its owner's; it counts as touched.
            own = action == _CHANGES[kind] and (first or "").casefold() == table
            return (
                sqlite3.SQLITE_OK
                if own or (source is not None and action in _CHANGES.values())
                else sqlite3.SQLITE_DENY
            )
        return sqlite3.SQLITE_DENY if action in _NEVER else sqlite3.SQLITE_OK

    opened.execute("BEGIN IMMEDIATE")
    opened.set_authorizer(authorize)
    opened.set_progress_handler(lambda: time.monotonic() >= until, PROGRESS_STEPS)
    before = opened.total_changes
    cursor = opened.execute(str(request["sql"]))
    if cursor.description is not None:
        raise sqlite3.ProgrammingError("the statement returns rows")
    # Everything that changed: rows that triggers and foreign keys changed as well.
    rows = opened.total_changes - before if kind in _CHANGES else None
    opened.set_authorizer(None)
    opened.set_progress_handler(None, 0)
    _end(rows, request, lambda: opened.execute("COMMIT"), lambda: opened.execute("ROLLBACK"))


def _duckdb(request: dict[str, Any]) -> None:
    import duckdb

    opened = duckdb.connect(str(request["path"]), config=_DUCKDB)
    # It would print one among the lines of the answer.
    opened.execute("SET enable_progress_bar = false")
    opened.execute("SET lock_configuration = true")
    statements = opened.extract_statements(str(request["sql"]))
    kind = str(request["kind"])
    if len(statements) != 1 or statements[0].type.name.lower() != kind.replace("truncate", "delete"):
        raise duckdb.ParserException("not the one change that was approved")
    timer = threading.Timer(float(request["seconds"]), opened.interrupt)
    timer.start()
    try:
        opened.execute("BEGIN")
        result = opened.execute(str(request["sql"])).fetchone()
        columns = [str(column[0]) for column in opened.description or ()]
    finally:
        timer.cancel()
    if kind in _CHANGES and columns != ["Count"]:
        raise duckdb.ParserException("the statement returns rows")
    rows = int(result[0]) if kind in _CHANGES and result else None
    _end(rows, request, lambda: opened.execute("COMMIT"), lambda: opened.execute("ROLLBACK"))
    opened.close()


def _change(request: dict[str, Any]) -> None:
    if request["kind"] not in _CHANGES and request["kind"] not in _STRUCTURE:
        raise ValueError("no change that is known here")
    (_duckdb if request["engine"] == "duckdb" else _sqlite)(request)


def main() -> None:
    """Make the one change."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    request = json.loads(sys.stdin.readline())
    try:
        # Its journal is made beside the file.
        enter_sandbox(offered_walls(), reads=(), writes=[str(Path(request["path"]).resolve().parent)])
        _change(request)
    except Exception as raised:  # noqa: BLE001 - whatever an engine raises, its one caller gets it
        code = int(getattr(raised, "sqlite_errorcode", 1) or 1)
        name = str(getattr(raised, "sqlite_errorname", type(raised).__name__))
        _say({"error": {"code": code, "name": name, "text": str(raised)[:TEXT_LENGTH_MAX]}})
