"""Introspection reads any SQLite database, keeps what is true of it and leaves out what is not."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import event
from sqlalchemy.exc import SQLAlchemyError

from querybus.core.catalog import COLUMN_VALUES_MAX, Catalog, ColumnKind, Table
from querybus.core.failure import Failure
from querybus.core.policy import ConnectionPolicy
from querybus.sql.check import check
from querybus_executor.engines.sqlite.introspect import TABLES_AT_ONCE, introspect, open_sqlite_catalog, sqlite_engine

DATA = Path(os.environ.get("QUERYBUS_DATA", Path(__file__).parents[4] / "shared" / "data"))


def made(path: Path, script: str, *rows: tuple[str, list[tuple[object, ...]]]) -> Path:
    with closing(sqlite3.connect(path)) as database:
        database.executescript(script)
        for statement, values in rows:
            database.executemany(statement, values)
        database.commit()
    return path


def table(catalog: Catalog, name: str) -> Table:
    result = catalog.table(name)
    assert result is not None
    return result


@pytest.mark.requirement("001.2")
def test_tables_views_keys_and_types_are_read(tmp_path: Path) -> None:
    path = made(
        tmp_path / "a.sqlite",
        """
        CREATE TABLE maker (id INTEGER PRIMARY KEY, name VARCHAR(20) UNIQUE NOT NULL, price DECIMAL(10,2), day DATE);
        CREATE TABLE car (maker INT REFERENCES maker, year INT, PRIMARY KEY (maker, year));
        CREATE UNIQUE INDEX one ON car (year) WHERE year > 2000;
        CREATE VIEW makers AS SELECT id, name AS label FROM maker;
        INSERT INTO maker VALUES (1, 'Audi', 10, '2026-01-31'), (2, 'BMW', 12.5, '2026-02-28');
        """,
    )
    catalog = open_sqlite_catalog(path)
    maker, car = table(catalog, "maker"), table(catalog, "CAR")
    assert [(column.name, column.type, column.kind) for column in maker.columns] == [
        ("id", "INTEGER", ColumnKind.INTEGER),
        ("name", "VARCHAR(20)", ColumnKind.TEXT),
        ("price", "DECIMAL(10,2)", ColumnKind.NUMBER),
        ("day", "DATE", ColumnKind.DATE),
    ]
    assert maker.primary_key == ("id",)
    assert maker.unique_keys == (("name",),)
    assert maker.row_estimate == 2
    assert car.primary_key == ("maker", "year")
    assert [
        (foreign_key.columns, foreign_key.referred_table, foreign_key.referred_columns)
        for foreign_key in car.foreign_keys
    ] == [(("maker",), "maker", ("id",))]
    assert car.unique_keys == ()
    assert table(catalog, "makers").kind == "view"


def test_frequent_values_come_most_frequent_first_and_say_whether_they_are_all(tmp_path: Path) -> None:
    path = made(
        tmp_path / "a.sqlite",
        "CREATE TABLE t (few TEXT, many TEXT, long TEXT, n INTEGER)",
        (
            "INSERT INTO t VALUES (?, ?, ?, ?)",
            [
                ("b" if n % 3 else "a", f"v{max(0, n - 2)}", "x" * 81 if n else "y", n)
                for n in range(COLUMN_VALUES_MAX + 5)
            ],
        ),
    )
    few, many, long, number = table(open_sqlite_catalog(path), "t").columns
    assert (few.values, few.values_complete, few.distinct_count) == (("b", "a"), True, 2)
    assert (many.values, many.values_complete, many.distinct_count) == (("v0",), False, COLUMN_VALUES_MAX + 3)
    assert (long.values, long.values_complete, long.distinct_count) == (("y",), False, 2)
    assert number.values == ()


def test_the_kind_follows_the_values_where_the_declared_type_is_silent_or_wrong(tmp_path: Path) -> None:
    path = made(
        tmp_path / "a.sqlite",
        """
        CREATE TABLE t (a, b TEXT, c DATE, d BOOLEAN, e BOOLEAN, f INTEGER, g);
        INSERT INTO t VALUES (1.5, '2026-01-31', 'May 3', 1, 'Y', 'n/a', NULL), (2, '2026-02-01', 'May 4', 0, 'N', 7, NULL);
        """,
    )
    kinds = [column.kind.value for column in table(open_sqlite_catalog(path), "t").columns]
    assert kinds == ["number", "date", "text", "boolean", "text", "integer", "other"]


def test_keys_that_point_at_nothing_are_dropped_and_names_take_their_owners_spelling(tmp_path: Path) -> None:
    path = made(
        tmp_path / "a.sqlite",
        """
        CREATE TABLE Parent (Id INTEGER PRIMARY KEY);
        CREATE TABLE child (
            a INTEGER REFERENCES PARENT (ID), b INTEGER REFERENCES gone (id), c INTEGER REFERENCES parent (missing));
        """,
    )
    keys = table(open_sqlite_catalog(path), "child").foreign_keys
    assert [(key.columns, key.referred_table, key.referred_columns) for key in keys] == [(("a",), "Parent", ("Id",))]


def test_odd_names_broken_views_and_undecodable_text_do_not_stop_it(tmp_path: Path) -> None:
    path = made(
        tmp_path / "a b?#%.sqlite",
        """
        CREATE TABLE "order" ("group" TEXT, "a""b" TEXT, "中文" TEXT, ":x" TEXT);
        INSERT INTO "order" VALUES (CAST(x'ff41' AS TEXT), 'q', '北京', 'y');
        CREATE VIEW broken AS SELECT * FROM "order";
        CREATE TABLE "empty name " (x);
        """,
    )
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA writable_schema=ON")
        database.execute(
            "UPDATE sqlite_master SET sql = 'CREATE VIEW broken AS SELECT * FROM gone' WHERE name = 'broken'"
        )
        database.commit()
    catalog = open_sqlite_catalog(path)
    assert [table.name for table in catalog.tables] == ["empty name ", "order"]
    assert [(column.name, column.values) for column in table(catalog, "order").columns] == [
        ("group", ("\ufffdA",)),
        ('a"b', ("q",)),
        ("中文", ("北京",)),
        (":x", ("y",)),
    ]


def test_nothing_is_kept_of_personal_columns_and_of_those_that_opted_out(tmp_path: Path) -> None:
    path = made(tmp_path / "a.sqlite", "CREATE TABLE t (a TEXT, b TEXT, c TEXT); INSERT INTO t VALUES ('x', 'y', 'z')")
    catalog = introspect(
        sqlite_engine(path),
        "c",
        display_names={"T": {"zh": "表"}, "t.A": {"en": "First"}},
        personal=["T.a"],
        without_values=["t.b"],
    )
    a, b, c = table(catalog, "t").columns
    assert (a.values, a.personal, b.values, b.personal, c.values) == ((), True, (), False, ("z",))
    assert (table(catalog, "t").display_names, a.display_names) == ({"zh": "表"}, {"en": "First"})


def test_ranges_and_empty_cells_are_measured_of_figures_and_dates_that_are_no_keys(tmp_path: Path) -> None:
    path = made(
        tmp_path / "a.sqlite",
        """CREATE TABLE t (id INTEGER PRIMARY KEY, price REAL, sold TEXT, note TEXT, phone TEXT, age INT, kept INT);
        INSERT INTO t (price, sold, note, phone, age, kept) VALUES
        (9.5, '2024-05-01', 'b', '1', 31, 7), (12, '2023-07-31', NULL, '2', 40, 8), (NULL, '2024-01-02', 'a', '3', 5, 9)""",
    )
    engine = sqlite_engine(path)
    catalog = introspect(engine, "c", personal=["t.age"], without_values=["t.kept"])
    measured = {
        column.name: (column.profile.value_min, column.profile.value_max, column.profile.empty_share)
        for column in table(catalog, "t").columns
        if column.profile is not None
    }
    assert measured == {
        "price": ("9.5", "12.0", 0.3333),
        "sold": ("2023-07-31", "2024-05-01", 0.0),
        "note": (None, None, 0.3333),
    }
    without = introspect(engine, "c", values=False)
    assert not any(column.profile for column in table(without, "t").columns)


def test_contact_data_is_recognised_by_name_and_the_owner_decides_otherwise(tmp_path: Path) -> None:
    columns = ("email", "home_phone", "street", "ip_address", "city", "手机号", "email_sent")
    listed = ", ".join(f'"{name}" TEXT' for name in columns)
    values = ", ".join("'x'" for _ in columns)
    path = made(tmp_path / "a.sqlite", f"CREATE TABLE t ({listed}); INSERT INTO t VALUES ({values})")
    recognised = table(introspect(sqlite_engine(path), "c"), "t").columns
    assert [column.name for column in recognised if column.personal] == ["email", "home_phone", "street", "手机号"]
    assert [column.name for column in recognised if column.values] == ["ip_address", "city", "email_sent"]
    decided = table(introspect(sqlite_engine(path), "c", not_personal=["t.Street"], personal=["t.city"]), "t").columns
    assert [column.name for column in decided if column.personal] == ["email", "home_phone", "city", "手机号"]
    everything = table(introspect(sqlite_engine(path), "c", not_personal=["t"]), "t").columns
    assert not any(column.personal for column in everything)


def test_time_that_has_run_out_costs_values_and_counts_but_not_the_tables(tmp_path: Path) -> None:
    path = made(tmp_path / "a.sqlite", "CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('x')")
    result = table(introspect(sqlite_engine(path), "c", seconds_max=0.0), "t")
    assert (result.columns[0].name, result.columns[0].values, result.row_estimate) == ("a", (), None)


@pytest.mark.long
def test_the_structure_of_many_tables_takes_a_few_statements_and_a_broken_view_costs_only_its_neighbours(
    tmp_path: Path,
) -> None:
    count = 2 * TABLES_AT_ONCE + 50
    script = "".join(
        f"CREATE TABLE t{n:04d} (id INTEGER PRIMARY KEY, above INT REFERENCES t{max(0, n - 1):04d}, name TEXT UNIQUE);"
        for n in range(count)
    )
    path = made(
        tmp_path / "a.sqlite",
        script + "CREATE VIEW broken AS SELECT name FROM t0000; INSERT INTO t0007 (name) VALUES ('x')",
    )
    engine = sqlite_engine(path)
    asked: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    catalog = introspect(engine, "c")
    assert len(catalog.tables) == count + 1
    assert len(asked) == 1 + 3 * 3, "one list of tables, then three statements for each TABLES_AT_ONCE"
    result = table(catalog, "t0007")
    assert (result.primary_key, result.unique_keys, result.row_estimate) == (("id",), (("name",),), 1)
    assert [(foreign_key.columns, foreign_key.referred_table) for foreign_key in result.foreign_keys] == [
        (("above",), "t0006")
    ]
    assert result.columns[2].values == ("x",)

    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA writable_schema=ON")
        database.execute(
            "UPDATE sqlite_master SET sql = 'CREATE VIEW broken AS SELECT * FROM gone' WHERE name = 'broken'"
        )
        database.commit()
    asked.clear()
    assert introspect(engine, "c", seconds_max=0.0).table("broken") is None
    assert len(asked) <= 1 + 3 * 3 + 3 * 51


def test_what_is_no_database_raises_and_is_not_created(tmp_path: Path) -> None:
    (tmp_path / "text.sqlite").write_text("this is not a database at all, it is only text" * 50)
    for name in ("text.sqlite", "missing.sqlite"):
        with pytest.raises(SQLAlchemyError):
            open_sqlite_catalog(tmp_path / name)
    assert not (tmp_path / "missing.sqlite").exists()


def test_equal_databases_have_equal_fingerprints(tmp_path: Path) -> None:
    script = "CREATE TABLE t (a TEXT, b TEXT REFERENCES t (a)); INSERT INTO t VALUES ('x', 'y'), ('y', 'x')"
    one, two = made(tmp_path / "one.sqlite", script), made(tmp_path / "two.sqlite", script)
    assert open_sqlite_catalog(one, "c").fingerprint == open_sqlite_catalog(two, "c").fingerprint


@pytest.mark.data
def test_every_shared_database_introspects_completely() -> None:
    files = sorted((DATA / "spider").glob("*databases/*.sqlite"))
    if not files:
        pytest.skip(f"no SQLite files below {DATA / 'spider'}; set QUERYBUS_DATA")
    for file in files:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as database:
            sql = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite%'"
            wanted = {str(name) for (name,) in database.execute(sql)}
        catalog = open_sqlite_catalog(file)
        assert {table.name for table in catalog.tables} == wanted, file.name
        assert all(column.kind is not ColumnKind.OTHER for table in catalog.tables for column in table.columns), (
            file.name
        )


def test_a_view_over_a_dropped_table_is_said_to_be_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("CREATE TABLE gone (id); CREATE VIEW v AS SELECT id FROM gone; DROP TABLE gone;")
    catalog = open_sqlite_catalog(path)
    assert dict(catalog.unreadable) == {"v": "no such table: main.gone"}
    checked = check("SELECT * FROM v", dialect=catalog.dialect, catalog=catalog, policy=ConnectionPolicy(), row_limit=9)
    assert isinstance(checked, Failure)
    assert checked.detail == "view v cannot be read: no such table: main.gone"
    hiding = ConnectionPolicy(columns_denied={"other": ("id",)})
    hidden = check("SELECT * FROM v", dialect=catalog.dialect, catalog=catalog, policy=hiding, row_limit=9)
    assert isinstance(hidden, Failure)
    assert "gone" not in hidden.detail
