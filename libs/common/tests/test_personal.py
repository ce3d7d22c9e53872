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


CLIENTS = Table(name="clients", columns=(text("id"), text("city"), text("email", personal=True)))
STAGED = Table(name="clients", schema_name="staging", columns=(text("id"), text("city"), text("email")))
ENGINES = (
    (Dialect.POSTGRESQL, "public", '"clients"', "public"),
    (Dialect.POSTGRESQL, "crm", '"clients"', "crm"),
    (Dialect.POSTGRESQL, None, "clients", "public"),
    (Dialect.DUCKDB, "main", "clients", "main"),
    (Dialect.MYSQL, "shop", "`clients`", "`shop`"),
    (Dialect.CLICKHOUSE, "default", "clients", "`default`"),
    (Dialect.ORACLE, "APP", '"CLIENTS"', "APP"),
    (Dialect.SNOWFLAKE, "PUBLIC", "clients", "PUBLIC"),
    (Dialect.BIGQUERY, "sales", "`clients`", "sales"),
    (Dialect.SQLITE, None, "clients", "main"),
)


def of_engine(dialect: Dialect, default: str | None, sql: str, count: int) -> tuple[Personal | None, ...]:
    statement = parse(sql, dialect)
    assert isinstance(statement, Statement), statement
    catalog = Catalog(connection="c", dialect=dialect, default_schema=default, tables=(CLIENTS, STAGED))
    return personal_columns(statement.tree, catalog).of(count)


@pytest.mark.parametrize(("dialect", "default", "table", "schema"), ENGINES)
def test_a_table_of_the_default_schema_is_the_same_with_and_without_its_schema(
    dialect: Dialect, default: str | None, table: str, schema: str
) -> None:
    for place in (table, f"{schema}.{table}"):
        sql = f"SELECT c.city, c.email, count(*) FROM {place} AS c GROUP BY c.city, c.email"
        assert of_engine(dialect, default, sql, 3) == (None, CONTACT, None), sql


@pytest.mark.parametrize(("dialect", "default", "table", "schema"), ENGINES)
def test_a_table_of_another_schema_is_judged_by_its_own_columns_and_one_of_a_foreign_schema_is_unknown(
    dialect: Dialect, default: str | None, table: str, schema: str
) -> None:
    del schema
    known = f"SELECT c.city, c.email FROM staging.{table} AS c"
    assert of_engine(dialect, default, known, 2) == (None, None)
    foreign = f"SELECT c.city, count(*), 1 FROM elsewhere.{table} AS c GROUP BY c.city"
    assert of_engine(dialect, default, foreign, 3) == (CONTACT, None, None)


@pytest.mark.parametrize("place", ["other.public.clients", "clients.public.clients"])
def test_a_table_of_another_database_is_unknown(place: str) -> None:
    sql = f"SELECT c.city, count(*) FROM {place} AS c GROUP BY c.city"
    assert of_engine(Dialect.POSTGRESQL, "public", sql, 2) == (CONTACT, None)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT g.m, count(c.id) FROM generate_series(1, 12) AS g(m) LEFT JOIN clients AS c ON TRUE GROUP BY g.m",
         (None, None)),
        ("SELECT v.x, c.email FROM (VALUES (1, 'a')) AS v(x, y), clients AS c", (None, CONTACT)),
        ("SELECT u.part, c.city FROM clients AS c, unnest(string_to_array(c.email, '@')) AS u(part)", (CONTACT, None)),
        ("SELECT (SELECT email FROM generate_series(1, 1) AS g(n)) AS x, city FROM clients", (CONTACT, None)),
        ("SELECT x, y FROM (SELECT email, city FROM clients) AS s(y, x)", (None, CONTACT)),
        ("WITH q(x, y) AS (SELECT email, city FROM clients) SELECT y, x FROM q", (None, CONTACT)),
        ("SELECT date_trunc('month', email), date_trunc('day', email) FROM clients", (None, CONTACT)),
        ("SELECT extract(year FROM email), extract(epoch FROM email) FROM clients", (None, CONTACT)),
        ("SELECT sum(f.x), f.x FROM some_function() AS f(x), clients GROUP BY f.x", (None, CONTACT)),
    ],
)  # fmt: skip
def test_rows_that_a_statement_makes_itself_show_what_they_are_made_of(
    sql: str, expected: tuple[Personal | None, ...]
) -> None:
    assert of_engine(Dialect.POSTGRESQL, "public", sql, 2) == expected


def test_clickhouse_counts_of_distinct_values_show_nothing() -> None:
    sql = "SELECT uniqExact(email), groupArray(email) FROM clients"
    assert of_engine(Dialect.CLICKHOUSE, "default", sql, 2) == (None, CONTACT)
