"""The PostgreSQL edge with no guard before it: every proven attack fails, every statement ends, types stay exact."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from querybus.core.catalog import Catalog, ColumnKind, ColumnProfile
from querybus.core.failure import Failure, FailureCode
from querybus.ops.metrics import Metrics
from querybus_executor.connections.config import ConnectionConfig, parse_connections
from querybus_executor.connections.trouble import ROLE_MAY_WRITE
from querybus_executor.engines.postgres.edge import postgres_server, read_postgres
from querybus_executor.engines.registry import Engines
from querybus_executor.engines.server import Server
from querybus_executor.ports import Estimate, Purpose, Rows
from tests.support.database_servers import PostgresServer
from tests.support.engine_evidence import ON_POSTGRES

pytestmark = [pytest.mark.servers, ON_POSTGRES]

ENDLESS = "SELECT count(*) FROM generate_series(1, 1000000) AS a, generate_series(1, 1000000) AS b"
SCRIPT = """
CREATE DATABASE edge;
\\c edge
CREATE TABLE t (a integer, b text);
INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, NULL);
CREATE TABLE customer (id integer PRIMARY KEY, city varchar(40) UNIQUE);
CREATE TYPE state AS ENUM ('open', 'paid');
CREATE TABLE orders (id integer PRIMARY KEY, customer_id integer REFERENCES customer (id), total numeric(10, 2),
  state state, at timestamptz NOT NULL DEFAULT now());
INSERT INTO customer VALUES (1, 'Bonn'), (2, 'Köln');
INSERT INTO orders VALUES (1, 1, 9.90, 'open'), (2, 1, 5, 'paid');
COMMENT ON TABLE orders IS 'what was bought';
COMMENT ON COLUMN orders.total IS 'in euro';
CREATE SCHEMA stock;
CREATE TABLE stock.item (name text);
CREATE TABLE hidden (s text);
CREATE VIEW shown AS SELECT a FROM t;
CREATE TABLE numbers AS SELECT n FROM generate_series(1, 30000) AS n;
CREATE ROLE reader LOGIN;
GRANT USAGE ON SCHEMA stock TO reader;
GRANT SELECT ON t, customer, orders, shown, numbers, stock.item TO reader;
REVOKE TEMPORARY ON DATABASE edge FROM PUBLIC;
CREATE ROLE writer LOGIN;
GRANT SELECT, INSERT ON t TO writer;
"""


@pytest.fixture(scope="session")
def filled(postgres: PostgresServer) -> PostgresServer:
    postgres.execute(SCRIPT)
    return postgres


def config(server: PostgresServer, user: str = "reader", **changes: object) -> ConnectionConfig:
    entry = {"name": "edge", "url": server.url(user, "edge"), **changes}
    return parse_connections({"connections": [entry]})[0]


@pytest.fixture
async def edge(filled: PostgresServer) -> AsyncIterator[Server]:
    server = postgres_server(config(filled), bytes_max=16 << 20, metrics=Metrics("t"))
    yield server
    await server.close()


@pytest.fixture
async def outside(filled: PostgresServer) -> AsyncIterator[Any]:
    """The superuser's own look at the database."""
    connection = await asyncpg.connect(filled.url("postgres", "edge"))
    yield connection
    await connection.close()


async def run(edge: Server, sql: str, *, rows_max: int = 100, seconds_max: float = 60.0) -> Rows | Failure:
    return await edge.run(sql, rows_max=rows_max, seconds_max=seconds_max, purpose=Purpose.EXECUTE)


async def rows(edge: Server, sql: str) -> list[list[object]]:
    result = await run(edge, sql)
    assert isinstance(result, Rows), result
    return [list(row) for row in result.rows]


async def idle(edge: Server) -> None:
    async with asyncio.timeout(60):
        while edge.load().open != edge.load().idle:
            await asyncio.sleep(0.005)


REFUSED = """
SET TRANSACTION READ WRITE
SET default_transaction_read_only = off
SET statement_timeout = 0
RESET ALL
COMMIT
ROLLBACK
END
ABORT
BEGIN READ WRITE
COMMIT; CREATE TABLE x (a integer)
SELECT 1; DELETE FROM t
CREATE TABLE x (a integer)
CREATE TEMP TABLE x (a integer)
SELECT 1 AS a INTO x
INSERT INTO t VALUES (9, 'z') RETURNING a
WITH x AS (DELETE FROM t RETURNING a) SELECT * FROM x
UPDATE t SET a = 9 RETURNING a
MERGE INTO t USING t AS s ON t.a = s.a WHEN MATCHED THEN DELETE RETURNING t.a
SELECT * FROM t FOR UPDATE
TRUNCATE t
DROP TABLE t
GRANT ALL ON t TO PUBLIC
COPY t TO '/tmp/x'
COPY t TO PROGRAM 'id'
COPY t FROM '/etc/passwd'
DO $$ BEGIN DELETE FROM t; END $$
LISTEN c
NOTIFY c
LOCK TABLE t
VACUUM
ANALYZE
CHECKPOINT
PREPARE p AS SELECT 1
DEALLOCATE ALL
DISCARD ALL
DECLARE c CURSOR FOR SELECT 1
SET ROLE postgres
SET SESSION AUTHORIZATION postgres
LOAD 'auto_explain'
SELECT pg_read_file('/etc/passwd')
SELECT pg_read_binary_file('/etc/passwd')
SELECT pg_ls_dir('/')
SELECT lo_import('/etc/passwd')
SELECT lo_create(0)
SELECT lo_from_bytea(0, 'x')
SELECT set_config('transaction_read_only', 'off', true)
SELECT set_config('transaction_read_only', 'off', false)
SELECT set_config('role', 'postgres', false)
SELECT setval('pg_catalog.pg_class', 1)
SELECT pg_switch_wal()
SELECT pg_reload_conf()
SELECT pg_create_restore_point('x')
SELECT * FROM hidden
SELECT rolpassword FROM pg_authid
EXPLAIN ANALYZE DELETE FROM t
"""


async def test_an_attack_that_passed_every_guard_is_refused_and_changes_nothing(edge: Server, outside: Any) -> None:
    passed: list[object] = []
    for attack in REFUSED.strip().splitlines():
        result = await run(edge, attack)
        if isinstance(result, Rows) or result.code is FailureCode.INTERNAL:
            passed.append((attack, result))
    assert passed == []
    assert await outside.fetchval("SELECT count(*) FROM t") == 3
    assert await outside.fetchval("SELECT count(*) FROM pg_largeobject_metadata") == 0
    assert await outside.fetchval("SELECT count(*) FROM pg_class WHERE relname = 'x'") == 0


@pytest.mark.parametrize(
    ("attack", "after"),
    [
        ("SELECT set_config('statement_timeout', '0', false)", "SELECT current_setting('statement_timeout') = '0'"),
        ("SELECT set_config('search_path', 'stock', false)", "SELECT current_setting('search_path')"),
        (
            "SELECT set_config('default_transaction_read_only', 'off', false)",
            "SELECT current_setting('transaction_read_only')",
        ),
        ("SELECT pg_advisory_lock(7)", "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"),
        ("SELECT pg_notify('c', 'x')", "SELECT count(*) FROM pg_listening_channels()"),
    ],
)
async def test_what_a_function_may_do_to_its_session_is_gone_with_the_statement(
    attack: str, after: str, edge: Server
) -> None:
    before = await rows(edge, after)
    await idle(edge)
    await run(edge, attack)
    await idle(edge)
    assert edge.load().open == 1, "the same session is lent again"
    assert await rows(edge, after) == before


async def test_an_endless_statement_is_cut_at_its_limit_on_the_server_as_well(edge: Server, outside: Any) -> None:
    result = await run(edge, ENDLESS, seconds_max=0.4)
    assert isinstance(result, Failure)
    assert (result.code, result.facts.native_code) == (FailureCode.TIMEOUT, "57014")
    await idle(edge)
    assert await running(outside) == 0


async def test_a_statement_that_lifts_its_own_limit_is_cut_all_the_same(edge: Server) -> None:
    sql = "SELECT set_config('statement_timeout', '0', false) FROM (SELECT pg_sleep(3600)) AS s"
    result = await run(edge, sql, seconds_max=0.4)
    assert isinstance(result, Failure)
    assert result.code is FailureCode.TIMEOUT


async def running(outside: Any) -> int:
    return await outside.fetchval("SELECT count(*) FROM pg_stat_activity WHERE usename = 'reader' AND state = 'active'")


async def test_a_cancelled_statement_ends_on_the_server_long_before_its_limit(edge: Server, outside: Any) -> None:
    await run(edge, "SELECT 1")
    task = asyncio.create_task(run(edge, ENDLESS, seconds_max=3_600))
    while not await running(outside):
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    while await running(outside):
        await asyncio.sleep(0.01)
    await idle(edge)
    assert await rows(edge, "SELECT count(*) FROM t") == [[3]]


async def test_an_explain_gives_rows_and_cost_and_runs_nothing(edge: Server) -> None:
    result = await edge.explain(ENDLESS, seconds_max=60)
    assert isinstance(result, Estimate)
    assert result.rows == 1
    assert result.cost is not None
    assert result.cost > 1e9
    missing = await edge.explain("SELECT nope FROM t", seconds_max=60)
    assert isinstance(missing, Failure)
    assert (missing.code, missing.facts.name) == (FailureCode.COLUMN_NOT_FOUND, "nope")
    for attack in ("ANALYZE SELECT 1", "SELECT 1; DELETE FROM t", "VACUUM t"):
        assert isinstance(await edge.explain(attack, seconds_max=60), Failure), attack


async def test_200_statements_at_once_share_three_connections(filled: PostgresServer) -> None:
    small = config(filled, pool={"size": 2, "overflow": 1})
    edge = postgres_server(small, bytes_max=1 << 20, metrics=Metrics("t"))
    result = await asyncio.gather(*(run(edge, f"SELECT {n}, count(*) FROM t", seconds_max=20) for n in range(200)))
    assert [list(item.rows[0]) for item in result if isinstance(item, Rows)] == [[n, 3] for n in range(200)]
    assert edge.load().open <= 3
    await edge.close()


@pytest.mark.requirement("002.27")
async def test_values_keep_their_type(edge: Server) -> None:
    sql = """SELECT 9223372036854775807 AS i, 19.90::numeric AS d, 12345678901234567.89::numeric AS big,
        'NaN'::float8 AS nan, ARRAY[1, NULL] AS l, '{"k": 1.50}'::jsonb AS j, '\\x00ff'::bytea AS b,
        '00000000-0000-0000-0000-000000000001'::uuid AS u, DATE '2026-01-31' AS day, DATE 'infinity' AS ever,
        TIMESTAMP '2026-01-31 10:00:00' AS ts, TIMESTAMPTZ '2026-01-31 10:00:00+00' AT TIME ZONE 'UTC' AS utc,
        TIME '10:00:00' AS tt, INTERVAL '1 month 2 days' AS iv, true AS yes, NULL AS n, avg(x) AS q,
        'é中''' AS t, ARRAY['a', 'b'] AS texts, '12:30 :name %s' AS colon FROM (VALUES (1), (2), (2)) AS v (x)"""
    result = await run(edge, sql)
    assert isinstance(result, Rows), result
    assert list(result.rows[0]) == [
        9223372036854775807, 19.9, "12345678901234567.89", "NaN", "[1, null]", '{"k": 1.50}', "00ff",
        "00000000-0000-0000-0000-000000000001", "2026-01-31", "infinity", "2026-01-31 10:00:00",
        "2026-01-31 10:00:00", "10:00:00", "1 mon 2 days", True, None, 5 / 3, "é中'", '["a", "b"]', "12:30 :name %s",
    ]  # fmt: skip
    kinds = {column.name: column.kind for column in result.columns}
    assert [kinds[name] for name in ("i", "d", "l", "j", "b", "u", "day", "ts", "yes", "iv", "q")] == [
        ColumnKind.INTEGER, ColumnKind.NUMBER, ColumnKind.JSON, ColumnKind.JSON, ColumnKind.BYTES, ColumnKind.TEXT,
        ColumnKind.DATE, ColumnKind.DATETIME, ColumnKind.BOOLEAN, ColumnKind.OTHER, ColumnKind.NUMBER,
    ]  # fmt: skip


async def test_what_the_driver_cannot_read_is_written_down_by_the_server(edge: Server) -> None:
    sql = """SELECT ROW(DATE '2026-01-31', 1) AS day, ROW(INTERVAL '1 day') AS span, int4range(1, 5) AS numbers,
        tsrange('2026-01-01', NULL) AS open, B'101' AS bits, t AS whole, ARRAY[ROW(1, 'x')] AS many,
        ARRAY[1.50, NULL] AS sums FROM t ORDER BY a LIMIT 1"""
    result = await run(edge, sql)
    assert isinstance(result, Rows), result
    assert list(result.rows[0]) == [
        '{"f1":"2026-01-31","f2":1}', '{"f1":"1 day"}', "[1,5)", '["2026-01-01 00:00:00",)', "101", '{"a":1,"b":"x"}',
        '[{"f1": 1, "f2": "x"}]', "[1.50, null]",
    ]  # fmt: skip
    assert [column.name for column in result.columns] == [
        "day",
        "span",
        "numbers",
        "open",
        "bits",
        "whole",
        "many",
        "sums",
    ]


async def test_a_result_that_cannot_be_read_opens_no_breaker(edge: Server) -> None:
    for _ in range(4):
        await run(edge, "SELECT NULL::refcursor, '{}'::json, NULL::pg_node_tree, tsrange(now()::timestamp, NULL)")
    assert await rows(edge, "SELECT 1") == [[1]]


async def test_a_backslash_ends_no_text_whatever_role_and_database_say(filled: PostgresServer) -> None:
    filled.execute("CREATE ROLE odd LOGIN; ALTER ROLE odd SET standard_conforming_strings = off; GRANT reader TO odd;")
    server = postgres_server(config(filled, "odd"), bytes_max=1 << 20, metrics=Metrics("t"))
    result = await rows(server, "SELECT 'a\\', ' || (SELECT max(b) FROM t) -- '")
    await server.close()
    assert result == [["a\\", " || (SELECT max(b) FROM t) -- "]]


ERRORS: tuple[tuple[str, FailureCode, str | None, str | None], ...] = (
    ("SELEC 1", FailureCode.SYNTAX_ERROR, None, None),
    ("SELECT a FROM t UNION SELECT a, b FROM t", FailureCode.SYNTAX_ERROR, None, None),
    ("SELECT 1; SELECT 2", FailureCode.MULTI_STATEMENT, None, None),
    ("SELECT * FROM nosuch", FailureCode.TABLE_NOT_FOUND, "nosuch", None),
    ('SELECT * FROM other."T"', FailureCode.TABLE_NOT_FOUND, "T", "other"),
    ("SELECT nope FROM t", FailureCode.COLUMN_NOT_FOUND, "nope", None),
    ("SELECT x.nope FROM t AS x", FailureCode.COLUMN_NOT_FOUND, "nope", "x"),
    ("SELECT z.a FROM t", FailureCode.MISSING_ALIAS, "a", "z"),
    ("SELECT t.a FROM t AS y", FailureCode.MISSING_ALIAS, "a", "t"),
    ("SELECT a FROM t x, t y", FailureCode.AMBIGUOUS_COLUMN, "a", None),
    ("SELECT 1 FROM t x JOIN t x ON true", FailureCode.AMBIGUOUS_COLUMN, None, None),
    ("SELECT nofunction(a) FROM t", FailureCode.FUNCTION_NOT_FOUND, "nofunction", None),
    ("SELECT a + b FROM t", FailureCode.TYPE_MISMATCH, None, None),
    ("SELECT a FROM t WHERE b = 1", FailureCode.TYPE_MISMATCH, None, None),
    ("SELECT 'x'::integer", FailureCode.TYPE_MISMATCH, None, None),
    ("SELECT a FROM t UNION SELECT b FROM t", FailureCode.TYPE_MISMATCH, None, None),
    ("SELECT DATE '2026-13-01'", FailureCode.TYPE_MISMATCH, None, None),
    ("SELECT a, count(*) FROM t", FailureCode.GROUPING_ERROR, "a", None),
    ("SELECT a FROM t ORDER BY 5", FailureCode.GROUPING_ERROR, None, None),
    ("SELECT a FROM t WHERE sum(a) > 1", FailureCode.AGGREGATE_MISUSE, None, None),
    ("SELECT sum(max(a)) FROM t", FailureCode.AGGREGATE_MISUSE, None, None),
    ("SELECT a FROM t WHERE row_number() OVER () = 1", FailureCode.AGGREGATE_MISUSE, None, None),
    ("SELECT * FROM t JOIN numbers USING (a)", FailureCode.JOIN_ERROR, None, None),
    ("SELECT a / 0 FROM t", FailureCode.DIVISION_BY_ZERO, None, None),
    ("SELECT (SELECT a FROM t)", FailureCode.CARDINALITY, None, None),
    ("SELECT * FROM hidden", FailureCode.PERMISSION, None, None),
)


@pytest.mark.requirement("002.27")
async def test_an_error_has_its_code_and_the_name_it_is_about(edge: Server) -> None:
    for sql, expected, name, qualifier in ERRORS:
        result = await run(edge, sql)
        assert isinstance(result, Failure), sql
        assert (result.code, result.facts.name, result.facts.qualifier) == (expected, name, qualifier), (sql, result)


async def test_a_lock_is_waited_for_a_moment_and_then_said(edge: Server, outside: Any) -> None:
    async with outside.transaction():
        await outside.execute("LOCK TABLE t")
        result = await run(edge, "SELECT count(*) FROM t", seconds_max=1.0)
    assert isinstance(result, Failure)
    assert result.code in (FailureCode.LOCK, FailureCode.TIMEOUT)


async def test_a_connection_that_was_cut_is_replaced_without_anybody_noticing(edge: Server, outside: Any) -> None:
    assert await rows(edge, "SELECT 1") == [[1]]
    await idle(edge)
    await outside.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'")
    await asyncio.sleep(0.1)
    assert await rows(edge, "SELECT 2") == [[2]]


async def test_a_server_that_is_away_is_a_connection_at_once_after_three_tries(tmp_path: Path) -> None:
    entry = {"name": "away", "url": f"postgresql://secret:password@/d?host={tmp_path}"}
    away = parse_connections({"connections": [entry]})[0]
    edge = postgres_server(away, bytes_max=1 << 20, metrics=Metrics("t"))
    for _ in range(3):
        result = await run(edge, "SELECT 1")
        assert isinstance(result, Failure)
        assert result.code is FailureCode.CONNECTION
        assert "secret" not in result.detail
        assert "password" not in result.detail
        assert str(tmp_path) not in result.detail
    result = await run(edge, "SELECT 1")
    assert isinstance(result, Failure)
    assert "a moment ago" in result.detail
    await edge.close()


async def test_the_catalog_has_tables_keys_comments_values_and_schemas(filled: PostgresServer) -> None:
    engines = Engines(children=1, reserved=1)
    (database,) = engines.connected([config(filled, personal=["orders.state"])], metrics=Metrics("t"))
    try:
        catalog = await database.catalog()
    finally:
        await engines.drain()
    assert isinstance(catalog, Catalog)
    assert catalog.default_schema == "public"
    names = [(table.schema_name, table.name, table.kind) for table in catalog.tables]
    assert (None, "shown", "view") in names
    assert (None, "hidden", "table") not in names
    assert names[-1] == ("stock", "item", "table")
    orders, customer = catalog.table("orders"), catalog.table("customer")
    assert orders is not None
    assert customer is not None
    assert (orders.comment, orders.primary_key, orders.row_estimate) == ("what was bought", ("id",), 2)
    total, state, at, city = (
        orders.column("total"),
        orders.column("state"),
        orders.column("at"),
        customer.column("city"),
    )
    assert total is not None
    assert state is not None
    assert at is not None
    assert city is not None
    assert (total.type, total.kind, total.comment) == ("numeric(10,2)", ColumnKind.NUMBER, "in euro")
    assert total.profile == ColumnProfile(value_min="5.00", value_max="9.90")
    assert (state.kind, state.personal, state.values) == (ColumnKind.TEXT, True, ())
    assert (at.type, at.kind, at.nullable) == ("timestamp with time zone", ColumnKind.DATETIME, False)
    assert [
        (foreign_key.columns, foreign_key.referred_table, foreign_key.referred_columns)
        for foreign_key in orders.foreign_keys
    ] == [(("customer_id",), "customer", ("id",))]
    assert customer.unique_keys == (("city",),)
    assert (sorted(city.values), city.values_complete, city.distinct_count) == (["Bonn", "Köln"], True, 2)


@pytest.mark.parametrize(("user", "words"), [("postgres", "superuser"), ("writer", "may change the table public.t")])
async def test_a_role_that_may_write_is_refused_unless_the_file_says_otherwise(
    user: str, words: str, filled: PostgresServer
) -> None:
    for allowed in (False, True):
        entry = config(filled, user, role_may_write=allowed)
        server = postgres_server(entry, bytes_max=1 << 20, metrics=Metrics("t"))
        result = await read_postgres(entry, server)
        await server.close()
        if allowed:
            assert isinstance(result, Catalog)
        else:
            assert isinstance(result, Failure)
            assert (result.code, result.facts.rule) == (FailureCode.CONNECTION, ROLE_MAY_WRITE)
            assert words in result.detail
