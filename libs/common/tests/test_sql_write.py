"""Claims on changes: what may be asked to be confirmed, what never, and that a reader changes only its own rows."""

from __future__ import annotations

import sqlite3

import pytest

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import Access, ConnectionPolicy, Reader, StatementKind
from querybus.sql.check import Checked, check
from querybus.sql.write import CheckedWrite, check_write, count_of, guard_write, is_change

ANN = Reader("acme", "ann")
WRITES = ConnectionPolicy(access=Access.READ_WRITE)
FULL = ConnectionPolicy(access=Access.FULL)
FILTERED = ConnectionPolicy(
    access=Access.READ_WRITE,
    row_filters={"orders": "tenant_id = :tenant"},
    columns_masked={"customer": ("name",)},
)


def catalog_of(dialect: Dialect) -> Catalog:
    return Catalog(
        connection="shop",
        dialect=dialect,
        tables=(
            Table(
                name="orders",
                columns=tuple(Column(name=name, type="INTEGER") for name in ("id", "tenant_id", "amount")),
            ),
            Table(name="customer", columns=(Column(name="id", type="INTEGER"), Column(name="name", type="TEXT"))),
            Table(name="shown", kind="view", columns=(Column(name="id", type="INTEGER"),)),
        ),
    )


def written(sql: str, policy: ConnectionPolicy = WRITES, dialect: Dialect = Dialect.SQLITE) -> CheckedWrite | Failure:
    return check_write(sql, dialect=dialect, catalog=catalog_of(dialect), policy=policy, reader=ANN)


def good(sql: str, policy: ConnectionPolicy = WRITES, dialect: Dialect = Dialect.SQLITE) -> CheckedWrite:
    result = written(sql, policy, dialect)
    assert isinstance(result, CheckedWrite), result
    return result


def bad(sql: str, policy: ConnectionPolicy = WRITES, dialect: Dialect = Dialect.SQLITE) -> Failure:
    result = written(sql, policy, dialect)
    assert isinstance(result, Failure), result
    return result


PLAIN = [
    ("UPDATE orders SET amount = amount + 1 WHERE id = 3 -- x", StatementKind.UPDATE, "orders", ("amount",), None),
    ("DELETE FROM orders WHERE id IN (SELECT id FROM customer)", StatementKind.DELETE, "orders", (), None),
    ("INSERT INTO customer (id, name) VALUES (1, 'a'), (2, 'b')", StatementKind.INSERT, "customer", ("id", "name"), 2),
    ("INSERT INTO customer SELECT id, 'x' FROM orders WHERE amount > 3", StatementKind.INSERT, "customer", (), None),
]


@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.parametrize(("sql", "kind", "table", "columns", "rows"), PLAIN)
def test_a_plain_change_of_one_table_may_be_asked_for(
    sql: str, kind: StatementKind, table: str, columns: tuple[str, ...], rows: int | None, dialect: Dialect
) -> None:
    result = good(sql, dialect=dialect)
    assert (result.kind, result.table, result.columns, result.rows) == (kind, table, columns, rows)
    assert "--" not in result.sql
    assert guard_write(result.sql, dialect, catalog_of(dialect), WRITES, ANN) is None
    if result.counted is not None:
        counting = check(count_of(result.counted, dialect), dialect=dialect, catalog=catalog_of(dialect), policy=WRITES,
                         row_limit=1, reader=ANN)  # fmt: skip
        assert isinstance(counting, Checked), counting


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM orders RETURNING id",
        "DELETE FROM orders USING customer WHERE orders.id = customer.id",
        "UPDATE orders SET amount = 1 FROM customer WHERE customer.id = orders.id",
        "UPDATE orders SET amount = pg_sleep(10)",
        "UPDATE orders SET amount = (SELECT load_extension('x'))",
        "UPDATE orders SET amount = 1; DELETE FROM customer",
        "WITH x AS (SELECT 1) DELETE FROM orders",
        "INSERT INTO orders VALUES (1, 2, 3) ON CONFLICT DO UPDATE SET amount = 1",
        "INSERT OR REPLACE INTO orders VALUES (1, 2, 3)",
        "REPLACE INTO orders VALUES (1, 2, 3)",
        "INSERT INTO orders DEFAULT VALUES",
        "INSERT INTO shown VALUES (1)",
        "INSERT INTO sqlite_master VALUES (1)",
        "INSERT INTO nothing VALUES (1)",
        "UPDATE customer SET name = 'x' WHERE nothing = 1",
        "MERGE INTO orders USING customer ON 1 = 1 WHEN MATCHED THEN DELETE",
        "DROP TABLE orders",
        "CREATE TABLE t (id INT)",
        "ALTER TABLE orders ADD COLUMN x INT",
        "TRUNCATE TABLE orders",
        "PRAGMA writable_schema = 1",
        "ATTACH 'x' AS y",
        "GRANT ALL ON orders TO x",
        "COPY orders FROM '/etc/passwd'",
        "UPDATE orders SET amount = 1 WHERE id IN (SELECT id FROM pg_shadow)",
    ],
)
@pytest.mark.parametrize("dialect", [Dialect.SQLITE, Dialect.POSTGRESQL, Dialect.MYSQL, Dialect.DUCKDB])
def test_everything_else_is_refused_under_read_write(sql: str, dialect: Dialect) -> None:
    assert bad(sql, dialect=dialect).code in (
        FailureCode.SAFETY,
        FailureCode.PERMISSION,
        FailureCode.SYNTAX_ERROR,
        FailureCode.MULTI_STATEMENT,
        FailureCode.TABLE_NOT_FOUND,
        FailureCode.COLUMN_NOT_FOUND,
        FailureCode.FUNCTION_NOT_FOUND,
    )


@pytest.mark.parametrize("sql", [sql for sql, *_ in PLAIN])
@pytest.mark.requirement("000.10")
def test_a_read_only_connection_takes_none_of_them(sql: str) -> None:
    refused = bad(sql, ConnectionPolicy())
    assert (refused.code, refused.facts.rule) == (FailureCode.PERMISSION, "statement_denied")


STRUCTURE = [
    "CREATE TABLE fresh (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL DEFAULT 'x')",
    "ALTER TABLE orders ADD COLUMN note TEXT",
    "ALTER TABLE orders DROP COLUMN amount",
    "ALTER TABLE orders RENAME COLUMN amount TO total",
    "DROP TABLE orders",
    "DROP TABLE IF EXISTS orders",
]


@pytest.mark.parametrize("dialect", [Dialect.SQLITE, Dialect.POSTGRESQL, Dialect.MYSQL, Dialect.DUCKDB])
@pytest.mark.parametrize("sql", STRUCTURE)
def test_the_structure_is_changed_under_full_access_only(sql: str, dialect: Dialect) -> None:
    result = good(sql, FULL, dialect)
    assert result.is_structure
    assert bad(sql, WRITES, dialect).code is FailureCode.PERMISSION


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t AS SELECT * FROM orders",
        "CREATE TEMPORARY TABLE t (id INT)",
        "CREATE OR REPLACE TABLE orders (id INT)",
        "CREATE TABLE orders (id INT)",
        "CREATE TABLE t (id INT DEFAULT pg_sleep(1))",
        "CREATE TABLE t (id INT CHECK (load_extension('x')))",
        "CREATE TABLE t (id INT) ENGINE = FEDERATED",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TRIGGER x AFTER INSERT ON orders BEGIN DELETE FROM customer; END",
        "CREATE FUNCTION f() RETURNS INT AS 'x' LANGUAGE C",
        "CREATE EXTENSION plpython3u",
        "CREATE USER x",
        "DROP TABLE orders, customer",
        "DROP TABLE orders CASCADE",
        "DROP DATABASE shop",
        "DROP SCHEMA public CASCADE",
        "ALTER TABLE orders OWNER TO x",
        "ALTER SYSTEM SET x = 1",
        "ALTER USER root IDENTIFIED BY 'x'",
        "TRUNCATE TABLE orders, customer",
        "TRUNCATE TABLE orders CASCADE",
    ],
)
@pytest.mark.parametrize("dialect", [Dialect.SQLITE, Dialect.POSTGRESQL, Dialect.MYSQL, Dialect.DUCKDB])
def test_beyond_plain_tables_nothing_is_changed_even_under_full_access(sql: str, dialect: Dialect) -> None:
    bad(sql, FULL, dialect)


@pytest.mark.long
@pytest.mark.parametrize("dialect", list(Dialect))
def test_a_change_reaches_only_the_reader_s_own_rows(dialect: Dialect) -> None:
    catalog = catalog_of(dialect)
    for sql in ("DELETE FROM orders", "DELETE FROM orders WHERE id = 1 OR 1 = 1", "UPDATE orders SET amount = 0"):
        result = good(sql, FILTERED, dialect)
        assert "'acme'" in result.sql
        assert guard_write(result.sql, dialect, catalog, FILTERED, ANN) is None
        for text, reader in ((sql, ANN), (result.sql, Reader("other", "ann")), (result.sql + " OR 1 = 1", ANN)):
            refused = guard_write(text, dialect, catalog, FILTERED, reader)
            assert refused is not None
            assert refused.facts.rule == "row_filter"


def test_the_narrowed_change_does_on_real_rows_what_it_says() -> None:
    opened = sqlite3.connect(":memory:")
    opened.executescript(
        "CREATE TABLE orders (id, tenant_id, amount); CREATE TABLE customer (id, name);"
        "INSERT INTO orders VALUES (1, 'acme', 5), (2, 'other', 5), (3, 'acme', 7); INSERT INTO customer VALUES (2, 'x')"
    )
    opened.execute(
        good("UPDATE orders SET amount = 0 WHERE amount = 5 OR id IN (SELECT id FROM customer)", FILTERED).sql
    )
    assert opened.execute("SELECT amount FROM orders ORDER BY id").fetchall() == [(0,), (5,), (7,)]
    unmasked = FILTERED.model_copy(update={"columns_masked": {}})
    opened.execute(good("INSERT INTO customer SELECT id, 'y' FROM orders", unmasked).sql)
    assert opened.execute("SELECT COUNT(*) FROM customer").fetchone() == (3,)
    opened.execute(good("DELETE FROM orders", FILTERED).sql)
    assert opened.execute("SELECT id FROM orders").fetchall() == [(2,)]


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE orders SET tenant_id = 'other'",
        "INSERT INTO orders VALUES (1, 'other', 3)",
        "UPDATE customer SET name = 'x'",
        "DELETE FROM customer WHERE name = 'Ann'",
        "UPDATE orders SET amount = (SELECT COUNT(name) FROM customer)",
        "INSERT INTO customer (id) VALUES (1)",
    ],
)
def test_what_protects_rows_and_columns_cannot_be_changed_itself(sql: str) -> None:
    assert bad(sql, FILTERED).code is FailureCode.PERMISSION


def test_a_structure_under_protection_stays_as_it_is() -> None:
    policy = FILTERED.model_copy(update={"access": Access.FULL})
    for sql in ("DROP TABLE orders", "CREATE TABLE t (id INT)", "ALTER TABLE orders ADD COLUMN x INT"):
        assert bad(sql, policy).code is FailureCode.PERMISSION


def test_kinds_can_be_narrowed() -> None:
    policy = ConnectionPolicy(access=Access.READ_WRITE, statements_allowed=(StatementKind.QUERY, StatementKind.INSERT))
    good("INSERT INTO customer VALUES (1, 'a')", policy)
    assert bad("DELETE FROM customer", policy).facts.rule == "statement_denied"


@pytest.mark.parametrize(("sql", "is_one"), [("delete from t", True), ("SELECT 1", False), ("GRANT x TO y", False)])
def test_a_change_is_reported_by_its_first_word(sql: str, *, is_one: bool) -> None:
    assert is_change(sql, Dialect.SQLITE) is is_one


def test_equal_changes_have_equal_hashes_and_others_do_not() -> None:
    one, same = good("delete  from orders where id=1 -- a"), good("DELETE FROM orders WHERE id = 1")
    assert one.sql_sha256 == same.sql_sha256
    assert one.sql_sha256 != good("DELETE FROM orders WHERE id = 2").sql_sha256
