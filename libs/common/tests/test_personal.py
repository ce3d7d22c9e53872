"""Which columns of a result show personal data is read from the statement, however it renames, joins or nests them."""

from __future__ import annotations

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Personal, Table
from querybus.sql.conditions.personal_columns import personal_columns
from querybus.sql.parse import Statement, parse
from querybus.text.rows.masking import masked_rows

NAME: Personal = "name"
CONTACT: Personal = "contact"


def text(name: str, *, personal: bool = False, person_name: bool = False) -> Column:
    return Column(name=name, type="TEXT", kind=ColumnKind.TEXT, personal=personal, person_name=person_name)


CUSTOMERS = Table(
    name="customers",
    columns=(
        text("id"),
        text("name", personal=True, person_name=True),
        text("email", personal=True),
        text("born", personal=True),
        text("city"),
    ),
)
ORDERS = Table(name="orders", columns=(text("id"), text("customer_id"), text("amount"), text("name")))
CATALOG = Catalog(connection="c", dialect=Dialect.SQLITE, tables=(CUSTOMERS, ORDERS))


def shown(sql: str, columns: int) -> tuple[Personal | None, ...]:
    statement = parse(sql, Dialect.SQLITE)
    assert isinstance(statement, Statement), statement
    return personal_columns(statement.tree, CATALOG).of(columns)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT city, email FROM customers", (None, CONTACT)),
        ("SELECT name AS city FROM customers", (NAME,)),
        ("SELECT c.name, o.name FROM customers c JOIN orders o ON o.customer_id = c.id", (NAME, None)),
        ("SELECT upper(email), name || ' <' || email || '>' FROM customers", (CONTACT, CONTACT)),
        ("SELECT * FROM customers", (None, NAME, CONTACT, CONTACT, None)),
        ("SELECT o.*, c.email FROM orders o, customers c", (None, None, None, None, CONTACT)),
        ("SELECT min(email), group_concat(name) FROM customers", (CONTACT, NAME)),
        ("SELECT e FROM (SELECT email AS e FROM customers) AS q", (CONTACT,)),
        ("WITH q AS (SELECT name AS n, city FROM customers) SELECT city, n FROM q", (None, NAME)),
        ("SELECT city FROM customers UNION SELECT email FROM customers", (CONTACT,)),
        ("SELECT x FROM (SELECT city AS x FROM customers UNION ALL SELECT email FROM customers) AS u", (CONTACT,)),
        ("SELECT (SELECT c.email FROM customers c WHERE c.id = o.customer_id) FROM orders o", (CONTACT,)),
        ("SELECT (SELECT c.email) FROM customers c", (CONTACT,)),
        ("SELECT CASE WHEN city = 'Bern' THEN email END FROM customers", (CONTACT,)),
        ("SELECT coalesce(email, city), substr(email, 1, 3) FROM customers", (CONTACT, CONTACT)),
        ("SELECT max(name) OVER (PARTITION BY city) FROM customers", (NAME,)),
        ("SELECT strftime('%m-%d', born), born FROM customers", (CONTACT, CONTACT)),
        ("WITH RECURSIVE r AS (SELECT id, email FROM customers UNION ALL SELECT id, email FROM r) SELECT * FROM r",
         (None, CONTACT)),
    ],
)  # fmt: skip
def test_a_column_that_shows_personal_data_is_known_as_such(sql: str, expected: tuple[Personal | None, ...]):
    assert shown(sql, len(expected)) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(DISTINCT email), count(*) FROM customers",
        "SELECT city, email LIKE '%@x.org' FROM customers",
        "SELECT city, count(*) FROM customers WHERE email = 'a@x.org' GROUP BY city",
        "SELECT CASE WHEN email IS NULL THEN 'no' ELSE 'yes' END, count(*) FROM customers GROUP BY 1",
        "SELECT strftime('%Y', born), avg(length(name)) FROM customers GROUP BY 1",
        "SELECT rank() OVER (ORDER BY email), city FROM customers",
        "SELECT name, amount FROM orders",
        "SELECT id, EXISTS (SELECT 1 FROM customers c WHERE c.email = o.name) FROM orders o",
    ],
)
def test_what_counts_compares_or_sorts_by_it_shows_nothing(sql: str):
    assert shown(sql, 2) == (None, None)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT l.x, c.city FROM customers AS c, LATERAL (SELECT c.email AS x) AS l", (CONTACT, None)),
        ("SELECT x, city FROM customers AS c CROSS JOIN LATERAL (SELECT c.email AS x) AS l", (CONTACT, None)),
        ("SELECT DISTINCT ON (city) name, email FROM customers", (NAME, CONTACT)),
        ("SELECT array_agg(email), string_agg(name, ', ') FROM customers", (CONTACT, NAME)),
        ("SELECT (c).email, c.city FROM customers AS c", (CONTACT, None)),
        ("WITH q(x, y) AS (SELECT email, city FROM customers) SELECT x, x FROM q", (CONTACT, CONTACT)),
        ("SELECT t.c3, t.c3 FROM customers AS t(c1, c2, c3, c4, c5)", (CONTACT, CONTACT)),
        ("SELECT s.x, s.x FROM (SELECT email FROM customers) AS s(x)", (CONTACT, CONTACT)),
        ("SELECT c, o FROM customers AS c, orders AS o", (CONTACT, None)),
        ("SELECT row_to_json(c), o.amount FROM customers AS c, orders AS o", (CONTACT, None)),
        ("SELECT lead(email) OVER (ORDER BY id), row_number() OVER (ORDER BY email) FROM customers", (CONTACT, None)),
        ("SELECT email || '' AS city, nullif(city, email) FROM customers", (CONTACT, CONTACT)),
        ("SELECT a.e, b.city FROM (SELECT id, email AS e FROM customers) AS a JOIN customers AS b USING (id)",
         (CONTACT, None)),
    ],
)  # fmt: skip
def test_no_way_of_writing_it_hides_a_personal_column_on_postgresql(sql: str, expected: tuple[Personal | None, ...]):
    statement = parse(sql, Dialect.POSTGRESQL)
    assert isinstance(statement, Statement), statement
    assert personal_columns(statement.tree, CATALOG).of(2) == expected


def test_where_the_columns_cannot_be_separated_all_count_as_personal():
    assert shown("SELECT * FROM customers AS c, unknown_one", 7) == (CONTACT,) * 7


def test_rows_are_masked_by_the_kind_of_each_column_and_masking_twice_is_masking_once():
    rows = [("Ann Lee", "a@x.org", "Bern", 3), ("王小明", None, "Oslo", 4), ("", "", "", 5)]
    kinds: tuple[Personal | None, ...] = (NAME, CONTACT, None, CONTACT)
    once = masked_rows(rows, kinds)
    assert once == (("A. L.", "***", "Bern", None), ("王*", None, "Oslo", None), ("", "", "", None))
    assert masked_rows(once, kinds) == once


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COLUMNS('em.*') FROM customers",
        "SELECT v FROM customers UNPIVOT (v FOR k IN (email, name))",
        "SELECT * EXCLUDE (id, name, born, city) FROM customers",
    ],
)
def test_on_duckdb_what_chooses_columns_by_pattern_is_masked_whole(sql: str) -> None:
    statement = parse(sql, Dialect.DUCKDB)
    assert isinstance(statement, Statement), statement
    assert personal_columns(statement.tree, CATALOG).of(1) == (CONTACT,)
