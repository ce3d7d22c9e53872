"""The rows of a statement on a SQLite file: read-only, and ended after STEPS_MAX engine steps."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any, Final

STEPS_MAX: Final = 40_000_000
_STEPS_WATCHED: Final = 100_000

Rows = list[tuple[Any, ...]]


def open_read_only(path: Path) -> sqlite3.Connection:
    """Return a connection that can only read the file; text that is no UTF-8 is read with replacements."""
    opened = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    opened.text_factory = lambda data: data.decode("utf-8", "replace")
    opened.execute("PRAGMA query_only=ON")
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
