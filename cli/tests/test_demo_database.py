"""The demo shop is the same wherever it is made, whole, and named in two languages."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from querybus.core.catalog import ColumnKind
from querybus_cli.local.demo_database import FIXED_TODAY, ORDER_LINES, demo_connection, write_demo
from querybus_executor.connections.config import parse_connections
from querybus_executor.engines.sqlite.introspect import open_sqlite_catalog

CONTENTS_SHA256 = "fb54bc1d7a0be20f88861e6fb2824da14ed339b87808c09af0fab31fc04334a5"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "shop.sqlite"
    write_demo(path)
    return path


@pytest.fixture
def database(shop: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"{shop.as_uri()}?mode=ro", uri=True)) as opened:
        yield opened


def contents(path: Path) -> str:
    digest = hashlib.sha256()
    with closing(sqlite3.connect(path)) as opened:
        for name, sql in opened.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall():
            digest.update(sql.encode())
            for row in opened.execute(f"SELECT * FROM {name} ORDER BY 1"):
                digest.update(repr(row).encode())
    return digest.hexdigest()


@pytest.mark.long
def test_the_shop_is_the_same_wherever_and_whenever_it_is_made(shop: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.sqlite"
    write_demo(again)
    assert contents(again) == contents(shop) == CONTENTS_SHA256


def test_the_shop_has_the_promised_size_and_no_broken_key(shop: Path, database: sqlite3.Connection) -> None:
    assert database.execute("SELECT count(*) FROM order_lines").fetchone() == (ORDER_LINES,)
    assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    catalog = open_sqlite_catalog(shop)
    assert len(catalog.tables) >= 10
    assert sum(len(table.foreign_keys) for table in catalog.tables) >= 15
    assert all(table.row_estimate for table in catalog.tables)


def test_no_date_lies_after_the_fixed_day_but_orders_reach_it(shop: Path, database: sqlite3.Connection) -> None:
    for table in open_sqlite_catalog(shop).tables:
        for column in table.columns:
            if column.kind in (ColumnKind.DATE, ColumnKind.DATETIME):
                latest = database.execute(f"SELECT max(substr({column.name}, 1, 10)) FROM {table.name}").fetchone()[0]
                assert latest <= FIXED_TODAY.isoformat(), (table.name, column.name)
    assert database.execute("SELECT max(ordered_on) FROM orders").fetchone() == (FIXED_TODAY.isoformat(),)


def test_the_figures_of_an_order_agree(database: sqlite3.Connection) -> None:
    wrong = database.execute(
        "SELECT count(*) FROM orders o JOIN (SELECT order_id, sum(amount) AS s FROM order_lines GROUP BY order_id) l"
        " ON l.order_id = o.order_id WHERE abs(o.total_amount - l.s) > 0.005"
    ).fetchone()
    assert wrong == (0,)
    early = "SELECT count(*) FROM orders o JOIN customers c USING (customer_id) WHERE o.ordered_on < c.registered_on"
    assert database.execute(early).fetchone() == (0,)


def test_names_and_places_are_in_english_and_chinese(database: sqlite3.Connection) -> None:
    names = [name for (name,) in database.execute("SELECT name FROM customers")]
    chinese = sum(any("\u4e00" <= part <= "\u9fff" for part in name) for name in names)
    assert 0.3 < chinese / len(names) < 0.8
    assert ("Beijing", "北京") in database.execute("SELECT name, name_zh FROM cities").fetchall()


def test_every_table_and_column_has_a_name_in_both_languages(shop: Path) -> None:
    entry = parse_connections({"connections": [demo_connection(shop)]})[0]
    keys: set[str] = set()
    for table in open_sqlite_catalog(shop).tables:
        keys |= {table.name, *(f"{table.name}.{column.name}" for column in table.columns)}
    assert set(entry.display_names) == keys
    assert all(names["en"] and names["zh"] for names in entry.display_names.values())
    assert entry.file_path == shop


def test_an_unfinished_shop_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "shop.sqlite"
    target.write_bytes(b"kept")
    monkeypatch.setattr("querybus_cli.local.demo_database.SCHEMA", "CREATE TABLE broken (")
    with pytest.raises(sqlite3.OperationalError):
        write_demo(target)
    assert target.read_bytes() == b"kept"
    assert [path.name for path in tmp_path.iterdir()] == ["shop.sqlite"]
