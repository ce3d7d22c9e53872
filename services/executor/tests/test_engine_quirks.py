"""What an engine would do silently is read off the statement and the catalog; where nothing is silent, no warning is given."""

from __future__ import annotations

import sqlite3

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table
from querybus.sql.parse import Statement, parse
from querybus_executor.results.engine_quirks import (
    CHOSEN_WARNING,
    COMPARED_WARNING,
    COUNTED_WARNING,
    FIRST_ROW_WARNING,
    ZERO_WARNING,
    Silent,
    silent,
)

CUSTOMER = Table(
    name="customer",
    columns=(
        Column(name="id", type="INTEGER", kind=ColumnKind.INTEGER),
        Column(name="name", type="TEXT", kind=ColumnKind.TEXT),
        Column(name="code", type="TEXT", kind=ColumnKind.TEXT),
        Column(name="day", type="TEXT", kind=ColumnKind.DATE),
    ),
    primary_key=("id",),
    unique_keys=(("code",),),
)
ORDERS = Table(
    name="orders",
    columns=(
        Column(name="id", type="INTEGER", kind=ColumnKind.INTEGER),
        Column(name="customer_id", type="INTEGER", kind=ColumnKind.INTEGER),
        Column(name="amount", type="REAL", kind=ColumnKind.NUMBER),
    ),
    primary_key=("id",),
)


def read(sql: str, dialect: Dialect, catalog: Catalog) -> Silent:
    statement = parse(sql, dialect)
    assert isinstance(statement, Statement)
    return silent(statement, dialect, catalog)


def reported(sql: str, dialect: Dialect = Dialect.SQLITE) -> tuple[str, ...]:
    return read(sql, dialect, Catalog(connection="c", dialect=dialect, tables=(CUSTOMER, ORDERS))).warnings


DATA = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT, code TEXT UNIQUE, day TEXT);
INSERT INTO customer VALUES (1, '10', 'A1', '2026-01-01'), (2, '9', 'A2', '2026-02-01');
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER, amount REAL);
INSERT INTO orders VALUES (1, 9, 5), (2, 10, 20);
"""


def counted(sql: str) -> int:
    with sqlite3.connect(":memory:") as database:
        database.executescript(DATA)
        return len(database.execute(sql).fetchall())


@pytest.mark.parametrize(
    ("sql", "found", "meant"),
    [
        ("SELECT id FROM customer WHERE name > 5", 1, 2),
        ("SELECT id FROM customer AS c WHERE 5 <= c.name", 1, 2),
        ("SELECT id FROM customer WHERE name BETWEEN 5 AND 15", 0, 2),
        ("SELECT id FROM customer WHERE STRFTIME('%Y', day) = 2026", 0, 2),
        ("SELECT id FROM customer WHERE SUBSTR(day, 1, 4) IN (2025, 2026)", 0, 2),
        ("SELECT customer_id FROM orders GROUP BY customer_id HAVING COUNT(*) > '0'", 0, 2),
        ("SELECT id FROM customer WHERE id < 'abc'", 2, 0),
        ("SELECT id FROM customer AS c WHERE EXISTS (SELECT 1 FROM orders AS o WHERE c.name > o.id + 4)", 1, 2),
    ],
)
def test_a_text_compared_with_a_number_is_reported_and_is_wrong_indeed(sql: str, found: int, meant: int) -> None:
    assert reported(sql) == (COMPARED_WARNING,)
    assert counted(sql) == found != meant
    assert reported(sql, Dialect.POSTGRESQL) == reported(sql, Dialect.MYSQL) == (), "these say so themselves"


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT id FROM customer WHERE name = 10", 1),
        ("SELECT id FROM customer WHERE name IN (9, 10)", 2),
        ("SELECT c.id FROM customer AS c JOIN orders AS o ON o.customer_id = c.name", 2),
        ("SELECT c.id FROM customer AS c JOIN orders AS o ON o.customer_id > c.name", 1),
        ("SELECT id FROM customer WHERE name = '10' AND id = 1 AND id = '1'", 1),
        ("SELECT id FROM customer WHERE day > '2026-01-15'", 1),
        ("SELECT id FROM customer WHERE CAST(name AS INTEGER) > 5", 2),
        ("SELECT id FROM customer WHERE LENGTH(name) < 2", 1),
        ("WITH customer AS (SELECT 5 AS name) SELECT name FROM customer WHERE name > 4", 1),
        ("SELECT name FROM (SELECT 5 AS name) AS customer WHERE customer.name > 4", 1),
        ("SELECT COUNT(name), MAX(name), SUM(id), AVG(id + 1) FROM customer", 1),
    ],
)
def test_what_is_compared_as_it_is_meant_is_not_reported(sql: str, found: int) -> None:
    assert reported(sql) == ()
    assert counted(sql) == found


@pytest.mark.parametrize(
    "sql", ["SELECT SUM(name) FROM customer", "SELECT name + 1 FROM customer", "SELECT AVG(c.name) FROM customer AS c"]
)
def test_a_text_used_as_a_number_is_reported(sql: str) -> None:
    assert reported(sql) == (COUNTED_WARNING,)
    assert reported(sql, Dialect.POSTGRESQL) == reported(sql, Dialect.DUCKDB) == ()


@pytest.mark.parametrize(
    ("sql", "may_be_many"),
    [
        ("SELECT id, (SELECT name FROM customer) FROM orders", True),
        ("SELECT id FROM orders WHERE customer_id = (SELECT id FROM customer WHERE name = 'Ann')", True),
        ("SELECT id FROM orders WHERE customer_id = (SELECT id FROM customer WHERE code = 'A1')", False),
        ("SELECT id FROM orders AS o WHERE 'Ann' = (SELECT name FROM customer WHERE id = o.customer_id AND day > '2')", False),
        ("SELECT id FROM orders AS o WHERE 'Ann' = (SELECT name FROM customer WHERE id = 3 OR day > '2')", True),
        ("SELECT id FROM orders WHERE amount > (SELECT AVG(amount) FROM orders)", False),
        ("SELECT id FROM orders WHERE amount > (SELECT AVG(amount) FROM orders GROUP BY customer_id)", True),
        ("SELECT id FROM orders WHERE amount = (SELECT amount FROM orders ORDER BY amount DESC LIMIT 1)", False),
        ("SELECT id FROM orders WHERE customer_id IN (SELECT id FROM customer)", False),
        ("SELECT a FROM (SELECT id AS a FROM orders) AS s WHERE EXISTS (SELECT id FROM customer)", False),
    ],
)  # fmt: skip
def test_a_sub_query_that_may_give_several_rows_for_one_value_is_reported_on_sqlite(
    sql: str, may_be_many: bool
) -> None:
    assert reported(sql) == ((FIRST_ROW_WARNING,) if may_be_many else ())
    assert FIRST_ROW_WARNING not in reported(sql, Dialect.MYSQL)


def test_a_name_of_two_tables_is_reported_on_clickhouse_which_chooses_one() -> None:
    joined = "SELECT {} FROM customer AS c JOIN orders AS o ON c.id = o.customer_id"
    assert reported(joined.format("id"), Dialect.CLICKHOUSE) == (CHOSEN_WARNING,)
    assert reported(joined.format("o.id, name, amount"), Dialect.CLICKHOUSE) == ()
    assert reported("SELECT id FROM customer AS c JOIN orders AS o USING (id)", Dialect.CLICKHOUSE) == ()


@pytest.mark.parametrize(
    ("dialect", "gives", "trace", "other"),
    [
        (Dialect.SQLITE, "nothing", None, 1.5),
        (Dialect.MYSQL, "nothing", None, 1.5),
        (Dialect.DUCKDB, "infinity", "Infinity", None),
        (Dialect.CLICKHOUSE, "infinity", float("inf"), None),
    ],
)
def test_a_division_by_zero_is_reported_where_its_trace_is_in_the_answer(
    dialect: Dialect, gives: str, trace: object, other: object
) -> None:
    catalog = Catalog(connection="c", dialect=dialect, tables=(ORDERS,))
    result = read("SELECT amount / customer_id FROM orders", dialect, catalog)
    assert result.of([[2], [trace]]) == (ZERO_WARNING.format(gives),)
    assert result.of([[2], [other]]) == ()
    for harmless in ("amount / 2", "amount / NULLIF(customer_id, 0)", "amount * customer_id"):
        assert read(f"SELECT {harmless} FROM orders", dialect, catalog).of([[trace]]) == ()


def test_a_statement_that_only_describes_is_reported_nothing_of() -> None:
    assert reported("EXPLAIN SELECT name + 1 FROM customer") == ()
