"""The rows of a statement on a SQLite file: queries alone, and ended after STEPS_MAX engine steps.

What a model wrote is run here as it stands, so nothing but reading is authorised: no other file is attached or made.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any, Final

STEPS_MAX: Final = 40_000_000
_STEPS_WATCHED: Final = 100_000
VALUE_BYTES_MAX: Final = 16_000_000
_READING: Final = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)

Rows = list[tuple[Any, ...]]


def open_read_only(path: Path) -> sqlite3.Connection:
    """Return a connection that can only read the file, and only by queries; text that is no UTF-8 is read with replacements."""
    opened = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    opened.text_factory = lambda data: data.decode("utf-8", "replace")
    opened.execute("PRAGMA query_only=ON")
    opened.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX)
    opened.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY)
    return opened


def rows_of(opened: sqlite3.Connection, sql: str) -> Rows | sqlite3.Error:
    """Return the rows of a statement, or the engine's error as a value."""
    steps = 0

    def watch() -> bool:
        nonlocal steps
        steps += _STEPS_WATCHED
        return steps > STEPS_MAX

    opened.set_progress_handler(watch, _STEPS_WATCHED)
    try:
        return opened.execute(sql).fetchall()
    except sqlite3.Error as error:
        return error
    finally:
        opened.set_progress_handler(None, 0)
