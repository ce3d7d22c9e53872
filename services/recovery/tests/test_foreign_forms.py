"""Statements in the forms of other dialects, with loose typography or unquoted names, run in the end on a real SQLite."""

from __future__ import annotations

import re
import sqlite3

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table
from querybus.core.failure import Facts, Failure, FailureCode
from querybus.core.messages import Draft, Origin
from querybus.core.policy import ConnectionPolicy
from querybus.sql.check import check
from querybus.sql.reply.extract import extract
from querybus_recovery.rules.confidence import confidence
from querybus_recovery.rules.pipeline import repairs

SCRIPT = """
CREATE TABLE orders (id INTEGER PRIMARY KEY, order_date DATE, amount REAL, "order" INTEGER, "group" TEXT);
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT, "full name" TEXT);
CREATE TABLE "order items" (id INTEGER PRIMARY KEY, "unit price" REAL);
INSERT INTO orders VALUES (1, '2024-03-31', 3.5, 2, 'a'), (2, '2023-11-14', 1.5, 1, 'b');
INSERT INTO customers VALUES (1, 'Ann', 'London', 'Ann Bo');
INSERT INTO "order items" VALUES (1, 9.5);
"""
KINDS = {"INTEGER": ColumnKind.INTEGER, "REAL": ColumnKind.NUMBER, "DATE": ColumnKind.DATE}

RUNS = [
    ("SELECT name FROM customers WHERE city = ‘London’", [("Ann",)]),
    ("SELECT name FROM customers WHERE city = “London”", [("Ann",)]),
    ("SELECT name FROM customers WHERE id &lt;= 3 AND city = &#39;London&#39;", [("Ann",)]),
    ("SELECT name，city FROM customers WHERE id＜３；", [("Ann", "London")]),
    ("ＳＥＬＥＣＴ COUNT（*） FROM customers", [(1,)]),
    ("SELECT amount FROM orders WHERE amount ≥ 3", [(3.5,)]),
    ("SELECT order, group FROM orders GROUP BY group ORDER BY order", [(1, "b"), (2, "a")]),
    ("SELECT full name FROM customers", [("Ann Bo",)]),
    ("SELECT c.full name FROM customers c WHERE c.full name = 'Ann Bo'", [("Ann Bo",)]),
    ("SELECT unit price FROM order items", [(9.5,)]),
    ("SELECT DATE_TRUNC('month', order_date) FROM orders WHERE id = 1", [("2024-03-01",)]),
    ("SELECT DATE_TRUNC('quarter', order_date) FROM orders", [("2024-01-01",), ("2023-10-01",)]),
    ("SELECT DATE_TRUNC('week', order_date) FROM orders", [("2024-03-25",), ("2023-11-13",)]),
    ("SELECT QUARTER(order_date), EXTRACT(QUARTER FROM order_date) FROM orders", [(1, 1), (4, 4)]),
    ("SELECT EXTRACT(YEAR FROM order_date), YEAR(order_date) FROM orders", [(2024, 2024), (2023, 2023)]),
    ("SELECT DATEDIFF(month, order_date, order_date) FROM orders WHERE id = 1", [(0,)]),
    ("SELECT DATEDIFF('2024-04-02', order_date) FROM orders WHERE id = 1", [(2,)]),
    ("SELECT id FROM orders WHERE order_date >= DATE '2024-04-10' - INTERVAL '30 days'", [(1,)]),
    ("SELECT id FROM orders WHERE order_date >= DATE_SUB('2024-04-10', INTERVAL 30 DAY)", [(1,)]),
    ("SELECT DATEADD(month, -1, '2024-05-31') FROM customers", [("2024-05-01",)]),
    ("SELECT order_date::date, amount::int FROM orders WHERE id = 1", [("2024-03-31", 3)]),
    ("SELECT TO_DATE('2024-01-01', 'YYYY-MM-DD') FROM customers", [("2024-01-01",)]),
    ("SELECT CONVERT(VARCHAR, amount) FROM orders WHERE id = 1", [("3.5",)]),
    ("SELECT name FROM customers WHERE name ILIKE '%ANN%'", [("Ann",)]),
    ("SELECT TOP 1 [name] FROM [customers] WHERE [city] = N'London'", [("Ann",)]),
    ("SELECT GROUP_CONCAT(name SEPARATOR ', ') FROM customers", [("Ann",)]),
]
OTHERS = [
    (Dialect.POSTGRESQL, "SELECT `name` FROM `customers`", 'SELECT "name" FROM "customers"'),
    (
        Dialect.POSTGRESQL,
        "SELECT strftime('%Y-%m', order_date) FROM orders",
        "SELECT TO_CHAR(CAST(order_date AS TIMESTAMP), 'YYYY-MM') FROM orders",
    ),
    (
        Dialect.POSTGRESQL,
        "SELECT ISNULL(name, 'x'), LEN(name) FROM customers",
        "SELECT COALESCE(name, 'x'), LENGTH(name) FROM customers",
    ),
    (
        Dialect.MYSQL,
        "SELECT strftime('%Y', order_date) FROM orders",
        "SELECT DATE_FORMAT(order_date, '%Y') FROM orders",
    ),
    (Dialect.SNOWFLAKE, "SELECT `name` FROM `customers`", "SELECT name FROM customers"),
    (
        Dialect.DUCKDB,
        "SELECT JULIANDAY('2024-04-02') - JULIANDAY(order_date) FROM orders",
        "SELECT DATE_DIFF('DAY', CAST(order_date AS DATE), CAST('2024-04-02' AS DATE)) FROM orders",
    ),
]


def database() -> sqlite3.Connection:
    made = sqlite3.connect(":memory:")
    made.executescript(SCRIPT)
    return made


def catalog(dialect: Dialect) -> Catalog:
    tables: list[Table] = []
    with database() as made:
        for (name,) in made.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            columns = [
                Column(name=row[1], type=row[2], kind=KINDS.get(row[2], ColumnKind.TEXT))
                for row in made.execute(f"PRAGMA table_info('{name}')")
            ]
            tables.append(Table(name=name, columns=tuple(columns), primary_key=("id",)))
    return Catalog(connection="shop", dialect=dialect, tables=tuple(tables))


_CODES = {
    r"no such function: (\w+)": FailureCode.FUNCTION_NOT_FOUND,
    r"wrong number of arguments to function (\w+)": FailureCode.FUNCTION_NOT_FOUND,
    r"no such column: ([\w.]+)": FailureCode.COLUMN_NOT_FOUND,
    r"no such table: (\w+)": FailureCode.TABLE_NOT_FOUND,
}


def failure_of(error: sqlite3.Error) -> Failure:
    for pattern, code in _CODES.items():
        if found := re.search(pattern, str(error)):
            return Failure.of(code, str(error), Facts(name=found[1]))
    return Failure.of(FailureCode.SYNTAX_ERROR, str(error))


def checked(sql: str, known: Catalog) -> str | Failure:
    passed = check(sql, dialect=known.dialect, catalog=known, policy=ConnectionPolicy(), row_limit=100)
    return passed if isinstance(passed, Failure) else passed.sql


def repaired(sql: str, failure: Failure, known: Catalog) -> str:
    def still_fails(candidate: str) -> Failure | None:
        passed = checked(candidate, known)
        return passed if isinstance(passed, Failure) else None

    found = repairs(Draft(sql=sql, dialect=known.dialect, origin=Origin.MODEL), failure, known, check=still_fails)
    assert found, failure
    assert found[0].keeps_meaning
    assert confidence(found[0]) is None, "a pure change of form is no doubt"
    return found[0].sql


@pytest.mark.parametrize(("written", "rows"), RUNS, ids=[sql for sql, _ in RUNS])
def test_a_foreign_form_runs_after_repairs_that_assume_nothing(written: str, rows: list[tuple[object, ...]]) -> None:
    known = catalog(Dialect.SQLITE)
    sql = extract(f"```sql\n{written}\n```", Dialect.SQLITE)
    assert isinstance(sql, str)
    with database() as made:
        for _ in range(3):
            passed = checked(sql, known)
            if isinstance(passed, Failure):
                sql = repaired(sql, passed, known)
                continue
            try:
                assert made.execute(passed).fetchall() == rows
            except sqlite3.Error as error:
                sql = repaired(sql, failure_of(error), known)
            else:
                return
    pytest.fail(sql)


@pytest.mark.parametrize(("dialect", "written", "meant"), OTHERS, ids=[f"{d}: {sql}" for d, sql, _ in OTHERS])
def test_a_foreign_form_is_written_in_the_dialect_of_the_connection(dialect: Dialect, written: str, meant: str) -> None:
    known = catalog(dialect)
    sql = written
    for _ in range(3):
        passed = checked(sql, known)
        if not isinstance(passed, Failure):
            break
        sql = repaired(sql, passed, known)
    assert sql == meant


def test_what_stands_in_texts_comments_and_quoted_names_keeps_its_typography() -> None:
    sql = "SELECT \"名称（全）\" FROM t WHERE a = '“x”，&gt;' -- ，"
    assert extract(f"```sql\n{sql}\n```", Dialect.SQLITE) == sql
