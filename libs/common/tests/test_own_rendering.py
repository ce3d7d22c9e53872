"""Claims on our own rendering: nothing harmless is refused for the way in which we write it, and it means what was asked."""

from __future__ import annotations

import sqlite3

import duckdb
import pytest

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.failure import Failure
from querybus.core.policy import Access, ConnectionPolicy, Reader
from querybus.sql.check import Checked, check, guard
from querybus.sql.write import CheckedWrite, check_write, guard_write

ANN = Reader("acme", "ann")
POLICY = ConnectionPolicy(
    access=Access.READ_WRITE,
    row_filters={
        "sale": "tenant = :tenant",
        "line": "sale_id IN (SELECT id FROM sale WHERE tenant = :tenant)",
        "person": "id IN (SELECT person_id FROM sale WHERE tenant = :tenant)",
    },
    columns_denied={"person": ("iban",)},
    columns_masked={"person": ("mail",)},
)
COLUMNS = {
    "sale": {"id": "INTEGER", "tenant": "TEXT", "person_id": "INTEGER", "total": "INTEGER"},
    "line": {"id": "INTEGER", "sale_id": "INTEGER", "pieces": "INTEGER"},
    "person": {"id": "INTEGER", "name": "TEXT", "mail": "TEXT", "iban": "TEXT"},
}
ROWS = {
    "sale": [(1, "acme", 1, 10), (2, "acme", 2, 20), (3, "other", 3, 30), (4, "other", 1, 40)],
    "line": [(1, 1, 5), (2, 2, 6), (3, 3, 7), (4, 4, 8)],
    "person": [(1, "Ann", "a@x", "DE1"), (2, "Bo", "b@x", "DE2"), (3, "Cy", "c@x", "DE3")],
}
STARS = (
    "SELECT (SELECT MAX(p.id) FROM person AS p) AS newest, s.* FROM sale AS s",
    "SELECT s.*, (SELECT COUNT(*) FROM person AS p WHERE p.id = s.person_id) AS persons FROM sale AS s",
    "SELECT s.*, p.name FROM sale AS s JOIN person AS p ON p.id = s.person_id",
    "SELECT s.*, d.* FROM sale AS s JOIN (SELECT id, name FROM person) AS d ON d.id = s.person_id",
    "WITH w AS (SELECT id, name FROM person) SELECT w.*, s.* FROM w JOIN sale AS s ON s.person_id = w.id",
    "SELECT * FROM sale AS s WHERE EXISTS (SELECT * FROM person AS p WHERE p.id = s.person_id)",
    "SELECT s.id FROM sale AS s WHERE NOT EXISTS (SELECT p.* FROM person AS p WHERE p.id = s.person_id)",
)
WITH_NAMES = (
    "WITH sale AS (SELECT id FROM line) SELECT id FROM line",
    "WITH sale AS (SELECT id FROM line) SELECT l.id FROM line AS l JOIN sale ON sale.id = l.id",
    "SELECT d.id FROM (WITH sale AS (SELECT id FROM person) SELECT l.id FROM line AS l, sale) AS d",
    "WITH line AS (SELECT 1 AS id), sale AS (SELECT id FROM line) SELECT p.id FROM person AS p, sale WHERE sale.id = 1",
)
DENIED = (
    "SELECT p.* FROM person AS p",
    "SELECT * FROM person",
    "SELECT s.id, p.* FROM sale AS s JOIN person AS p ON p.id = s.person_id",
    "SELECT d.* FROM (SELECT * FROM person) AS d",
    "SELECT s.id FROM sale AS s WHERE s.id IN (SELECT p.* FROM person AS p)",
    "SELECT (SELECT p.iban FROM person AS p LIMIT 1) AS n, s.* FROM sale AS s",
    "SELECT s.* FROM (SELECT * FROM sale) AS t JOIN person AS s ON s.id = t.person_id",
)
APPLIES = (
    "SELECT p.name, x.most FROM person p CROSS APPLY (SELECT MAX(s.total) AS most FROM sale s WHERE s.person_id = p.id) x",
    "SELECT p.name, x.most FROM person p OUTER APPLY (SELECT MAX(s.total) AS most FROM sale s WHERE s.person_id = p.id) x",
)
CHANGES = (
    "DELETE FROM line WHERE id = 1",
    "DELETE FROM line WHERE id IN (SELECT id FROM line WHERE pieces > 5)",
    "DELETE FROM line WHERE sale_id IN (SELECT id FROM sale WHERE total > 10)",
    "UPDATE line SET pieces = 1 WHERE EXISTS (SELECT 1 FROM sale WHERE sale.id = line.sale_id)",
)


def catalog_of(dialect: Dialect) -> Catalog:
    return Catalog(
        connection="shop",
        dialect=dialect,
        default_schema="main" if dialect is Dialect.DUCKDB else None,
        tables=tuple(
            Table(name=name, columns=tuple(Column(name=column, type=kind) for column, kind in columns.items()))
            for name, columns in COLUMNS.items()
        ),
    )


def checked(sql: str, dialect: Dialect) -> Checked | Failure:
    return check(sql, dialect=dialect, catalog=catalog_of(dialect), policy=POLICY, row_limit=100, reader=ANN)


def text(sql: str, dialect: Dialect) -> str:
    result = checked(sql, dialect)
    assert isinstance(result, Checked), f"{dialect}: {sql}: {result.detail}"
    assert guard(result.sql, dialect, catalog_of(dialect), POLICY, ANN) is None
    return result.sql


def change(sql: str, dialect: Dialect) -> CheckedWrite | Failure:
    return check_write(sql, dialect=dialect, catalog=catalog_of(dialect), policy=POLICY, reader=ANN)


def rows_in(dialect: Dialect, sql: str, *, own: bool) -> list[str]:
    """Return the rows of a statement, over everybody's rows or over the reader's alone."""
    sales = {row[0] for row in ROWS["sale"] if row[1] == "acme"}
    persons = {row[2] for row in ROWS["sale"] if row[1] == "acme"}
    kept = {
        "sale": lambda row: row[0] in sales,
        "line": lambda row: row[1] in sales,
        "person": lambda row: row[0] in persons,
    }
    opened = sqlite3.connect(":memory:") if dialect is Dialect.SQLITE else duckdb.connect(":memory:")
    try:
        for name, columns in COLUMNS.items():
            opened.execute(f"CREATE TABLE {name} ({', '.join(map(' '.join, columns.items()))})")
            for row in ROWS[name]:
                if not own or kept[name](row):
                    opened.execute(f"INSERT INTO {name} VALUES {row}")
        return sorted(map(str, opened.execute(sql).fetchall()))
    finally:
        opened.close()


@pytest.mark.parametrize("dialect", [Dialect.SQLITE, Dialect.DUCKDB])
@pytest.mark.parametrize("sql", [*STARS, *WITH_NAMES])
def test_a_harmless_shape_gives_what_one_s_own_rows_give(sql: str, dialect: Dialect) -> None:
    assert rows_in(dialect, text(sql, dialect), own=False) == rows_in(dialect, sql, own=True)


@pytest.mark.parametrize("dialect", Dialect)
def test_no_dialect_refuses_a_harmless_shape(dialect: Dialect) -> None:
    for sql in (*STARS, *WITH_NAMES):
        text(sql, dialect)


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("sql", DENIED)
def test_a_star_over_a_denied_column_stays_refused(sql: str, dialect: Dialect) -> None:
    result = checked(sql, dialect)
    assert isinstance(result, Failure), result.sql


@pytest.mark.parametrize("dialect", [Dialect.SQLITE, Dialect.DUCKDB, Dialect.POSTGRESQL, Dialect.MYSQL])
@pytest.mark.parametrize("sql", CHANGES)
def test_a_change_under_a_filter_with_a_sub_query_is_taken_and_verified(sql: str, dialect: Dialect) -> None:
    result = change(sql, dialect)
    assert isinstance(result, CheckedWrite), result
    assert "acme" in result.sql
    # For another reader, or without its filter, it is not what was narrowed.
    catalog = catalog_of(dialect)
    assert guard_write(result.sql, dialect, catalog, POLICY, ANN) is None
    assert guard_write(result.sql, dialect, catalog, POLICY, Reader("other", "ann")) is not None
    assert guard_write(sql, dialect, catalog, POLICY, ANN) is not None
    doubled = result.sql.replace("tenant = 'acme'", "tenant = 'acme' OR TRUE")
    assert guard_write(doubled, dialect, catalog, POLICY, ANN) is not None


def test_a_change_reaches_the_reader_s_rows_alone() -> None:
    result = change("DELETE FROM line WHERE id IN (SELECT id FROM line)", Dialect.SQLITE)
    assert isinstance(result, CheckedWrite)
    with sqlite3.connect(":memory:") as opened:
        for name, columns in COLUMNS.items():
            opened.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
            for row in ROWS[name]:
                opened.execute(f"INSERT INTO {name} VALUES {row}")
        opened.execute(result.sql)
        assert opened.execute("SELECT id FROM line ORDER BY id").fetchall() == [(3,), (4,)]


@pytest.mark.parametrize("dialect", [Dialect.ORACLE, Dialect.POSTGRESQL])
@pytest.mark.parametrize("sql", APPLIES)
def test_an_apply_is_written_as_a_join_that_the_engine_reads(sql: str, dialect: Dialect) -> None:
    written = text(sql, dialect)
    assert "APPLY" not in written
    assert ("CROSS JOIN LATERAL (" in written) is ("CROSS" in sql)
    assert ("LEFT JOIN LATERAL (" in written and " ON 1 = 1" in written) is ("OUTER" in sql)
    assert (") AS x" in written) is (dialect is not Dialect.ORACLE)


def test_a_function_of_a_with_is_put_in_place_of_its_calls() -> None:
    said = {
        "WITH x -> x + 1 AS f SELECT f(total) AS v FROM sale": "((total) + 1)",
        "WITH (x, y) -> x * y AS area SELECT area(id, total) AS v FROM sale": "((id) * (total))",
        "WITH x -> x + 1 AS f, y -> f(y) * 2 AS g SELECT g(id) AS v FROM sale": "((((id)) + 1) * 2)",
        "WITH x -> if(x > 1, 2, 3) AS f SELECT id FROM sale WHERE f(total) = 3": "WHEN (total) > 1 THEN 2 ELSE 3",
        "WITH x -> x + 1 AS f, 5 AS five SELECT f(total) AS v FROM sale WHERE id < five": "WITH 5 AS five",
    }
    for sql, part in said.items():
        assert part in text(sql, Dialect.CLICKHOUSE)


@pytest.mark.parametrize(
    "sql",
    [
        "WITH x -> sleep(x) AS f SELECT f(1) FROM sale",
        "WITH x -> f(x) AS f SELECT f(id) FROM sale",
        f"WITH x -> x + x AS f SELECT {'f(' * 30}id{')' * 30} FROM sale",
        "WITH x -> x + 1 AS f SELECT f(1, 2) FROM sale",
        "WITH x -> arrayMap(x -> x + 1, [x]) AS f SELECT f(id) FROM sale",
        "WITH x -> NOT x = 1 AS f SELECT f(id) FROM sale",
        "SELECT d.v FROM (WITH x -> x + 1 AS f SELECT f(1) AS v FROM sale) AS d WHERE f(d.v) = 1",
        "WITH p -> (SELECT MAX(iban) FROM person) AS f SELECT f(1) FROM sale",
    ],
)
def test_a_function_of_a_with_hides_nothing_from_the_guard(sql: str) -> None:
    result = checked(sql, Dialect.CLICKHOUSE)
    assert isinstance(result, Failure), result.sql
