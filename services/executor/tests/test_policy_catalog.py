"""Claims on what a catalog keeps of protected tables: names, never values that some reader may not see."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from querybus.core.catalog import Catalog
from querybus_executor.connections.config import parse_connections
from querybus_executor.engines.sqlite.catalog import read_sqlite_catalog


def test_no_value_is_kept_of_what_some_reader_may_not_see(tmp_path: Path) -> None:
    file = tmp_path / "shop.sqlite"
    with sqlite3.connect(file) as database:
        for table in ("open", "filtered", "narrowed", "staff", "hidden"):
            database.execute(f"CREATE TABLE {table} (a TEXT, masked TEXT, denied TEXT, later TEXT)")
            database.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", [("x", "x", "x", "x")] * 5)
    policy = {
        "tables_allowed": ["open", "filtered", "narrowed"],
        "columns_masked": {"main.open": ["masked"]},
        "columns_denied": {"open": ["denied"]},
        "row_filters": {"main.filtered": "a IN (SELECT a FROM staff)"},
        "tenants": {"acme": {"row_filters": {"narrowed": "a = :tenant"}, "columns_masked": {"open": ["later"]}}},
    }
    entry = {"name": "shop", "url": f"sqlite:///{file}", "policy": policy}
    catalog = read_sqlite_catalog(parse_connections({"connections": [entry]})[0])
    assert isinstance(catalog, Catalog)
    kept = {(table.name, column.name) for table in catalog.tables for column in table.columns if column.values}
    measured = {(table.name, column.name) for table in catalog.tables for column in table.columns if column.profile}
    assert measured == kept
    assert {table for table, _ in kept} <= {"open", "staff"}
    assert [column for table, column in sorted(kept) if table == "open"] == ["a"]
    assert {table.name for table in catalog.tables} == {"open", "filtered", "narrowed", "staff"}
