"""What `--database` takes: a URL, or the path of a SQLite or DuckDB file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_HEAD_BYTES: Final = 16
_SQLITE: Final = b"SQLite format 3\0"
_DUCKDB: Final = b"DUCK"
"""Stands behind the first eight bytes of a file."""


def database_url(text: str) -> str:
    """Return the URL of a database that is named by its URL or its file; ValueError says what is wrong with a file."""
    if "://" in text:
        return text
    path = Path(text).expanduser()
    if not path.is_file():
        raise ValueError(
            f"there is no database file {text}; --database takes a file or a URL such as postgresql://host/name"
        )
    head = path.open("rb").read(_HEAD_BYTES)
    if head == _SQLITE or not head:
        return f"sqlite:///{path.resolve()}"
    if head[8:12] == _DUCKDB:
        return f"duckdb:///{path.resolve()}"
    raise ValueError(f"{text} is neither a SQLite nor a DuckDB file")
