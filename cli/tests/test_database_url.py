"""Claims on what `--database` takes."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import pytest

from querybus_cli.local.database_url import database_url


def test_a_file_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    lite, duck = tmp_path / "shop", tmp_path / "warehouse"
    with sqlite3.connect(lite) as made:
        made.execute("CREATE TABLE t (a)")
    duckdb.connect(str(duck)).close()
    assert database_url(str(lite)) == f"sqlite:///{lite}"
    assert database_url(str(duck)) == f"duckdb:///{duck}"


def test_a_url_passes_as_it_is() -> None:
    assert database_url("postgresql://host/name") == "postgresql://host/name"


def test_what_is_no_database_is_refused_and_never_made(tmp_path: Path) -> None:
    other = tmp_path / "picture"
    other.write_bytes(bytes(range(256)))
    with pytest.raises(ValueError, match="neither a SQLite nor a DuckDB file"):
        database_url(str(other))
    with pytest.raises(ValueError, match="there is no database file"):
        database_url(str(tmp_path / "missing.sqlite"))
    assert not (tmp_path / "missing.sqlite").exists()
