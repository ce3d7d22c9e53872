"""Claims on a folder of CSV, Parquet, JSON lines and Excel: its tables are read, and nothing else of the machine is."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import duckdb
import pytest
import xlsxwriter

from querybus.core.catalog import Catalog, Dialect
from querybus.core.failure import Failure
from querybus.core.policy import ConnectionPolicy
from querybus.ops.metrics import Metrics
from querybus.sql.check import check
from querybus_executor.connections.config import BadConnections, parse_connections
from querybus_executor.connections.databases import ConnectedDatabase
from querybus_executor.connections.diagnose import diagnose_config
from querybus_executor.connections.trouble import Trouble
from querybus_executor.engines.duckdb.tables.excel import table_of_sheet
from querybus_executor.engines.registry import Engines
from querybus_executor.ports import Purpose, Rows
from querybus_executor.workers.embedded import Embedded

SECRET = "what nobody outside may read"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    outside, root = tmp_path / "outside", tmp_path / "data"
    for place in (outside, root / "sub", root / "rides/year=2024", root / "rides/year=2025"):
        place.mkdir(parents=True)
    (outside / "secret.csv").write_text(f"a\n{SECRET}\n")
    (outside / "secret.parquet").write_bytes(b"PAR1")
    (root / "notes.md").write_text(SECRET)
    (root / "Sales 2024 (final).csv").write_text("Order Date,Amount,Zip\n2024-01-01,2.5,00123\n2024-01-02,3,04567\n")
    (root / "sub/people.tsv").write_text("id\tname\n1\tAnn\n")
    (root / "events.jsonl").write_text('{"kind": "a", "n": 1}\n{"kind": "b", "n": 2}\n')
    (root / "noise.csv").write_bytes(b"\xff\xfe\x00")
    (root / "broken.parquet").write_text("no Parquet")
    for year in (2024, 2025):
        with duckdb.connect() as made:
            made.execute(
                f"COPY (SELECT range AS id, range * 1.5 AS fee FROM range(5)) TO '{root}/rides/year={year}/p.parquet'"
            )
    book = xlsxwriter.Workbook(str(root / "Book.xlsx"))
    sheet = book.add_worksheet("Orders")
    sheet.write(0, 0, "Report of all orders")
    sheet.write_row(2, 0, ["Order id", "Customer", "Placed"])
    day = book.add_format({"num_format": "yyyy-mm-dd"})
    for row, name in enumerate(("Ann, A", 'Bob "B"'), 3):
        sheet.write_row(row, 0, [row, name])
        sheet.write_datetime(row, 2, dt.datetime(2024, 5, row), day)  # noqa: DTZ001 - Excel knows no zones
    book.add_worksheet("Empty")
    book.close()
    (root / "link.csv").symlink_to(outside / "secret.csv")
    (root / "linked").symlink_to(outside)
    return root


@asynccontextmanager
async def connected(path: Path) -> AsyncGenerator[ConnectedDatabase]:
    engines = Engines(children=1, reserved=1)
    configs = parse_connections({"connections": [{"name": "lake", "url": str(path)}]}, {})
    (database,) = engines.connected(configs, metrics=Metrics("test"))
    try:
        yield database
    finally:
        await engines.drain()


async def catalog_of(database: ConnectedDatabase) -> Catalog:
    result = await database.refresh()
    assert not isinstance(result, Failure), result
    return result


async def rows(database: ConnectedDatabase, sql: str) -> list[list[object]]:
    result = await database.run(sql, rows_max=100, seconds_max=10, purpose=Purpose.EXECUTE)
    assert isinstance(result, Rows), result
    return [list(row) for row in result.rows]


async def test_each_file_is_a_table_with_its_types_its_name_for_sql_and_its_label(folder: Path) -> None:
    async with connected(folder) as database:
        catalog = await catalog_of(database)
        tables = {table.name: table for table in catalog.tables}
        assert set(tables) == {"sales_2024_final", "sub_people", "events", "rides", "book_orders"}
        sales = tables["sales_2024_final"]
        assert sales.display_names["en"] == "Sales 2024 (final)"
        assert [column.type for column in sales.columns] == ["DATE", "DOUBLE", "VARCHAR"]
        assert await rows(database, 'SELECT sum("Amount"), min("Zip") FROM sales_2024_final') == [[5.5, "00123"]]
        assert await rows(database, "SELECT year, count(*) FROM rides GROUP BY ALL ORDER BY ALL") == [
            [2024, 5],
            [2025, 5],
        ]
        assert await rows(database, 'SELECT "Customer" FROM book_orders ORDER BY "Placed"') == [["Ann, A"], ['Bob "B"']]


async def test_what_cannot_be_read_is_listed_with_its_reason(folder: Path) -> None:
    (config,) = parse_connections({"connections": [{"name": "lake", "url": str(folder)}]}, {})
    result = await diagnose_config(config)
    assert (result.trouble, result.tables) == (None, 5)
    for words in (
        "noise.csv: its text looks like utf-16 and is not: save it as UTF-8",
        "broken.parquet",
        "link.csv: a link that leads out of the folder",
    ):
        assert words in result.warnings[0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "gb18030"])
async def test_a_csv_of_another_encoding_is_read(tmp_path: Path, encoding: str) -> None:
    text = {"gb18030": "城市,金额\n上海市浦东新区,5\n北京市,7\n"}.get(
        encoding, "Straße,Größe\nMüllerstraße 5,5\nÜbergang,7\n"
    )
    (tmp_path / "places.csv").write_bytes(text.encode(encoding))
    first, second = text.splitlines()[0].split(",")
    async with connected(tmp_path / "places.csv") as database:
        assert [column.name for column in (await catalog_of(database)).tables[0].columns] == [first, second]
        assert await rows(database, f'SELECT "{first}", "{second}" FROM places ORDER BY 2') == [
            [line.split(",")[0], int(line.split(",")[1])] for line in text.splitlines()[1:]
        ]


async def test_a_changed_or_new_file_is_there_at_the_next_reading_of_the_catalog(folder: Path) -> None:
    async with connected(folder) as database:
        await catalog_of(database)
        (folder / "sub/people.tsv").write_text("id\tname\n1\tAnn\n2\tBob\n")
        (folder / "new.csv").write_text("a\n1\n")
        assert "new" in {table.name for table in (await catalog_of(database)).tables}
        assert await rows(database, "SELECT count(*) FROM sub_people") == [[2]]


async def test_one_file_alone_is_a_connection_and_an_empty_folder_says_what_is_missing(folder: Path) -> None:
    async with connected(folder / "events.jsonl") as database:
        assert [table.name for table in (await catalog_of(database)).tables] == ["events"]
    (folder / "empty").mkdir()
    (config,) = parse_connections({"connections": [{"name": "lake", "url": str(folder / "empty")}]}, {})
    result = await diagnose_config(config)
    assert (result.trouble, "holds no CSV, TSV, Parquet" in result.detail) == (Trouble.DATABASE_FILE, True)
    with pytest.raises(BadConnections, match="files are only read"):
        parse_connections({"connections": [{"name": "lake", "url": str(folder), "access": "full"}]}, {})


def attempts(folder: Path) -> list[str]:
    """Statements that try to read or write beyond the tables; paths inside and outside, straight, upwards and by links."""
    outside = folder.parent / "outside"
    places = [
        f"{outside}/secret.csv", f"{folder}/../outside/secret.csv", f"{folder}/link.csv", f"{folder}/linked/secret.csv",
        f"{folder}/linked/*.csv", "../outside/secret.csv", "link.csv", f"file://{outside}/secret.csv", "/etc/passwd",
    ]  # fmt: skip
    readers = ["SELECT * FROM read_csv('{}')", "SELECT * FROM read_text('{}')", "SELECT * FROM '{}'", "SELECT * FROM read_blob('{}')",
               "SELECT * FROM glob('{}')", "SELECT * FROM sniff_csv('{}')", "SELECT * FROM read_json('{}')", "ATTACH '{}' AS x",
               "CREATE TEMP TABLE t AS SELECT * FROM read_csv('{}')", "COPY (SELECT 1) TO '{}.new'", "IMPORT DATABASE '{}'",
               "SELECT * FROM read_parquet('{}')", "SELECT * FROM query('SELECT * FROM read_text(''{}'')')"]  # fmt: skip
    settings = ["SET enable_external_access = true", f"SET allowed_directories = ['{outside}']", "RESET allowed_directories",
                "SET lock_configuration = false", "PRAGMA enable_external_access", "INSTALL httpfs", "LOAD httpfs",
                "SELECT getenv('HOME')", "SET home_directory = '/'"]  # fmt: skip
    return [reader.format(place) for reader in readers for place in places] + settings


async def test_no_statement_reads_anything_outside_neither_through_the_guard_nor_as_raw_sql_in_the_process(
    folder: Path,
) -> None:
    async with connected(folder) as database:
        catalog = await catalog_of(database)
        edge = database.edge
        assert isinstance(edge, Embedded)
        assert await rows(database, "SELECT count(*) FROM rides") == [[10]]
        before = {path: path.stat().st_mtime_ns for path in folder.parent.rglob("*") if path.is_file()}
        for sql in attempts(folder):
            passed = check(sql, dialect=Dialect.DUCKDB, catalog=catalog, policy=ConnectionPolicy(), row_limit=10)
            assert isinstance(passed, Failure), sql
            guarded = await database.run(sql, rows_max=10, seconds_max=5, purpose=Purpose.EXECUTE)
            assert isinstance(guarded, Failure), sql
            # `own` skips the process's own look at statements: what is left is DuckDB's configuration.
            raw = await edge.own(sql, 10, 5)
            shown = "" if isinstance(raw, Failure) else str(raw.rows)
            assert SECRET not in shown, sql
            assert "root:" not in shown, sql
        after = {path: path.stat().st_mtime_ns for path in folder.parent.rglob("*") if path.is_file()}
        assert after == before
        assert await rows(database, "SELECT count(*) FROM rides") == [[10]]


async def test_a_duckdb_file_with_views_over_parquet_beside_it_works_and_reads_nothing_else(folder: Path) -> None:
    file = folder / "lake.duckdb"
    here = Path.cwd()
    os.chdir(folder)
    try:
        with duckdb.connect(str(file)) as made:
            made.execute(
                "CREATE VIEW trips AS SELECT * FROM read_parquet('rides/*/*.parquet', hive_partitioning = true)"
            )
    finally:
        os.chdir(here)
    async with connected(file) as database:
        assert [table.name for table in (await catalog_of(database)).tables] == ["trips"]
        assert await rows(database, "SELECT count(*) FROM trips") == [[10]]
        edge = database.edge
        assert isinstance(edge, Embedded)
        for sql in attempts(folder):
            raw = await edge.own(sql, 10, 5)
            assert SECRET not in ("" if isinstance(raw, Failure) else str(raw.rows)), sql


def test_the_header_of_a_sheet_is_found_below_its_titles_and_names_are_distinct() -> None:
    cells = [
        ["Sales", "", ""],
        ["", "", ""],
        ["id", "id", "when"],
        [1.0, "x", dt.date(2024, 1, 1)],
        ["", "", ""],
        [2.5, "", None],
    ]
    names, types, rows = table_of_sheet(cells) or ([], [], [])
    assert (names, types) == (["id", "id 2", "when"], ["DOUBLE", "VARCHAR", "DATE"])
    assert rows == [[1, "x", "2024-01-01"], [2.5, None, None]]
    assert table_of_sheet([["only"], ["texts"]]) is not None
    assert table_of_sheet([[1.0, 2.0]]) is None


def test_a_sheet_may_head_its_columns_by_years_or_days_and_leave_its_corner_empty() -> None:
    wide = [["Takings", "", ""], ["Pier", 2023.0, 2024.0], ["North", "n/a", "n/a"], ["South", 3.0, 4.0]]
    assert table_of_sheet(wide) == (
        ["Pier", "2023", "2024"], ["VARCHAR"] * 3, [["North", "n/a", "n/a"], ["South", "3", "4"]],
    )  # fmt: skip
    days = [["Pier", dt.date(2024, 1, 1), dt.date(2024, 2, 1)], ["North", 1.0, 2.0]]
    assert (table_of_sheet(days) or ([], [], []))[0] == ["Pier", "2024-01-01", "2024-02-01"]
    cornered = table_of_sheet([["", "Jan", "Feb"], ["North", 1.0, 2.0]])
    assert cornered == (["column 1", "Jan", "Feb"], ["VARCHAR", "BIGINT", "BIGINT"], [["North", 1, 2]])


def test_rows_that_begin_without_a_header_are_no_table() -> None:
    assert table_of_sheet([["Ann", 2001.0], ["Bo", 2003.0]]) is None
    assert table_of_sheet([["Ann", dt.date(2001, 1, 1)], ["Bo", dt.date(2003, 1, 1)]]) is None
    assert table_of_sheet([["Ann", 7.0], ["Bo", 8.0]]) is None
