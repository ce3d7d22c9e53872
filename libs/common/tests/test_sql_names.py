"""Claims on names: what the guard takes a name for is what the engine reads, for every shape that could differ.

Each attack is judged for a reader who may see one of two tenants, and what is approved runs on real engines with marked
rows of the other one. What an engine itself says it reads is compared with what the guard decided.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from pathlib import Path
from typing import Any

import asyncpg
import duckdb
import pytest

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.failure import Failure
from querybus.core.policy import Access, ConnectionPolicy, Reader
from querybus.sql.check import Checked, check, guard
from querybus.sql.row_security import BadFilter, row_filter
from querybus.sql.write import CheckedWrite, check_write, guard_write
from tests.support.database_servers import postgres_server

ANN = Reader("acme", "ann")
LEAK = "LEAK"
POLICY = ConnectionPolicy(
    tables_allowed=("orders", "region"),
    row_filters={"orders": "tenant = :tenant"},
    columns_denied={"region": ("boss",)},
)
SCHEMAS = {Dialect.POSTGRESQL: "public", Dialect.DUCKDB: "main", Dialect.CLICKHOUSE: "shop", Dialect.MYSQL: "shop"}
ROWS = {
    "orders": [(1, "acme", "1"), (2, "acme", "2"), (4, "other", LEAK)],
    "region": [(1, "north", LEAK), (2, "south", LEAK)],
    "secret": [(LEAK,)],
    "k": [(LEAK,)],
}
COLUMNS = {"orders": "id INT, tenant TEXT, note TEXT", "region": "id INT, name TEXT, boss TEXT", "secret": "word TEXT"}
COLUMNS["k"] = "word TEXT"


def catalog_of(dialect: Dialect) -> Catalog:
    tables = (
        Table(name="orders", columns=tuple(Column(name=name, type="TEXT") for name in ("id", "tenant", "note"))),
        Table(name="region", columns=tuple(Column(name=name, type="TEXT") for name in ("id", "name", "boss"))),
    )
    return Catalog(connection="shop", dialect=dialect, default_schema=SCHEMAS.get(dialect), tables=tables)


def judged(sql: str, dialect: Dialect, policy: ConnectionPolicy = POLICY) -> Checked | Failure:
    return check(sql, dialect=dialect, catalog=catalog_of(dialect), policy=policy, row_limit=100, reader=ANN)


def corpus(*dialects: str) -> list[tuple[str, str]]:
    lines = (Path(__file__).parent / "sql" / "names.txt").read_text().splitlines()
    pairs = [line.split("\t", 1) for line in lines if line and not line.startswith("#")]
    return [(dialect, sql) for dialect, sql in pairs if not dialects or dialect in dialects]


def sqlite_database() -> sqlite3.Connection:
    database = sqlite3.connect(":memory:")
    for name, columns in COLUMNS.items():
        database.execute(f"CREATE TABLE {name} ({columns})")
        database.executemany(f"INSERT INTO {name} VALUES ({','.join('?' * len(ROWS[name][0]))})", ROWS[name])
    return database


def duckdb_database() -> duckdb.DuckDBPyConnection:
    database = duckdb.connect(":memory:")
    for name, columns in COLUMNS.items():
        database.execute(f"CREATE TABLE {name} ({columns})")
        database.executemany(f"INSERT INTO {name} VALUES ({','.join('?' * len(ROWS[name][0]))})", ROWS[name])
    return database


def shown(run: Any, sql: str) -> str:
    """What a reader gets to see: the rows, or the text of the error."""
    try:
        return repr(run(sql))
    except (sqlite3.Error, duckdb.Error) as error:
        return str(error)


@pytest.mark.parametrize(("dialect", "sql"), corpus("sqlite"))
def test_no_name_shows_sqlite_what_is_kept_from_the_reader(dialect: str, sql: str) -> None:
    result = judged(sql, Dialect(dialect))
    if isinstance(result, Checked):
        database = sqlite_database()
        rows = shown(lambda text: database.execute(text).fetchall(), result.sql)
        assert LEAK not in rows.replace(f"'{LEAK}'" if f"'{LEAK}'" in result.sql else "\0", ""), (result.sql, rows)


@pytest.mark.parametrize(("dialect", "sql"), corpus("duckdb"))
def test_no_name_shows_duckdb_what_is_kept_from_the_reader(dialect: str, sql: str) -> None:
    result = judged(sql, Dialect(dialect))
    if isinstance(result, Checked):
        database = duckdb_database()
        rows = shown(lambda text: database.execute(text).fetchall(), result.sql)
        assert LEAK not in rows, (result.sql, rows)


@pytest.mark.parametrize(("dialect", "sql"), corpus("clickhouse"))
def test_on_clickhouse_such_a_name_is_refused_or_narrowed(dialect: str, sql: str) -> None:
    result = judged(sql, Dialect(dialect))
    if isinstance(result, Checked):
        assert "secret" not in result.sql.lower().replace("as secret", "")
        assert result.sql.count("shop.orders") == result.sql.count("FROM shop.orders WHERE (tenant = 'acme')")
        assert not any(name in result.sql.lower() for name in ("file", "sleep", "hostname", "getsetting", "random"))


@pytest.fixture(scope="module")
def postgres_url() -> Generator[str]:
    with postgres_server() as server:
        for name, columns in COLUMNS.items():
            cells = ", ".join(str(row) if len(row) > 1 else f"('{row[0]}')" for row in ROWS[name])
            server.execute(f"CREATE TABLE public.{name} ({columns}); INSERT INTO public.{name} VALUES {cells};")
        yield server.url()


@pytest.mark.process
async def test_no_name_shows_postgresql_what_is_kept_from_the_reader(postgres_url: str) -> None:
    connection = await asyncpg.connect(postgres_url)
    try:
        for dialect, sql in corpus("postgres"):
            result = judged(sql, Dialect(dialect))
            if isinstance(result, Failure):
                continue
            try:
                rows = repr(await connection.fetch(result.sql))
            except asyncpg.PostgresError as error:
                rows = str(error)
            assert LEAK not in rows, (result.sql, rows)
    finally:
        await connection.close()


@pytest.mark.long
@pytest.mark.parametrize(("dialect", "sql"), corpus())
def test_no_attack_by_a_name_makes_the_check_raise(dialect: str, sql: str) -> None:
    for policy in (POLICY, ConnectionPolicy()):
        result = judged(sql, Dialect(dialect), policy)
        if isinstance(result, Checked):
            assert guard(result.sql, Dialect(dialect), catalog_of(Dialect(dialect)), policy, ANN) is None


@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT o.* FROM orders o ORDER BY 1",
        "SELECT * FROM orders GROUP BY 1",
        "SELECT * FROM orders ORDER BY 1",
        "SELECT o.*, 1 FROM orders o GROUP BY 2",
    ],
)
def test_a_position_over_a_star_is_judged_without_an_exception(sql: str, dialect: Dialect) -> None:
    assert not isinstance(judged(sql, dialect, ConnectionPolicy()), BaseException)


def test_an_unqualified_name_is_never_the_table_of_another_schema_where_tables_are_kept_back() -> None:
    sales = Table(name="customer", schema_name="sales", columns=(Column(name="id", type="INTEGER"),))
    catalog = Catalog(connection="shop", dialect=Dialect.POSTGRESQL, default_schema="public", tables=(sales,))
    narrow = ConnectionPolicy(tables_allowed=("sales.customer",))
    for policy, expected in ((narrow, Failure), (ConnectionPolicy(), Checked)):
        result = check(
            "SELECT id FROM customer",
            dialect=Dialect.POSTGRESQL,
            catalog=catalog,
            policy=policy,
            row_limit=9,
            reader=ANN,
        )
        assert isinstance(result, expected)
        if isinstance(result, Checked):
            assert result.sql == "SELECT id FROM sales.customer LIMIT 10"


def test_a_table_of_the_default_schema_is_written_with_it_in_queries_and_changes() -> None:
    catalog, policy = catalog_of(Dialect.POSTGRESQL), ConnectionPolicy(access=Access.READ_WRITE)
    result = check(
        "SELECT orders.id FROM orders",
        dialect=Dialect.POSTGRESQL,
        catalog=catalog,
        policy=policy,
        row_limit=9,
        reader=ANN,
    )
    assert isinstance(result, Checked)
    assert result.sql == "SELECT orders.id FROM public.orders LIMIT 10"
    assert isinstance(guard("SELECT id FROM orders", Dialect.POSTGRESQL, catalog, policy, ANN), Failure)
    change = check_write(
        "UPDATE orders SET note = 'x' WHERE id IN (WITH a AS (SELECT id FROM region) SELECT id FROM a)",
        dialect=Dialect.POSTGRESQL, catalog=catalog, policy=policy, reader=ANN,
    )  # fmt: skip
    assert isinstance(change, CheckedWrite)
    assert change.sql == (
        "UPDATE public.orders SET note = 'x' WHERE id IN"
        " (WITH qb1_a AS (SELECT id FROM public.region) SELECT id FROM qb1_a AS a)"
    )
    plain = "UPDATE orders SET note = 'x' WHERE id = 1"
    assert isinstance(guard_write(plain, Dialect.POSTGRESQL, catalog, policy, ANN), Failure)


def test_tables_that_differ_by_case_alone_are_read_as_the_guard_took_them_on_mysql() -> None:
    tables = tuple(Table(name=name, columns=(Column(name="id", type="int"),)) for name in ("Orders", "region"))
    catalog = Catalog(connection="shop", dialect=Dialect.MYSQL, default_schema="shop", tables=tables)
    result = check(
        "SELECT orders.id FROM orders", dialect=Dialect.MYSQL, catalog=catalog, policy=POLICY, row_limit=9,
        reader=ANN,
    )  # fmt: skip
    assert isinstance(result, Failure) or "`shop`.`Orders` AS" in result.sql or "shop.`Orders` AS" in result.sql


def test_a_row_filter_with_a_with_clause_is_refused() -> None:
    with pytest.raises(BadFilter):
        row_filter("id IN (WITH a AS (SELECT 1 AS id) SELECT id FROM a)", Dialect.SQLITE)
