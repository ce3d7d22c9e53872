"""The DuckDB edge with no guard before it: every proven attack fails, every statement ends, types stay exact."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import duckdb
import pytest

from querybus.core.catalog import Catalog, ColumnKind, ColumnProfile
from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import ConnectionPolicy
from querybus.ops.metrics import Metrics
from querybus_executor.connections.config import parse_connections
from querybus_executor.engines.duckdb.edge import duckdb_children, duckdb_edge
from querybus_executor.engines.registry import Engines
from querybus_executor.ports import Estimate, Purpose, Rows
from querybus_executor.workers.embedded import Embedded
from querybus_executor.workers.pool import Children
from tests.support.engine_evidence import ON_DUCKDB

pytestmark = ON_DUCKDB

ENDLESS = "SELECT count(*) FROM range(100000) AS a, range(100000) AS b, range(1000) AS c WHERE a.range * b.range = 7"
BOMB = "SELECT length(repeat('a', 2000000000))"
"""One call of one function: DuckDB looks at no interrupt while it runs."""
SCRIPT = """
CREATE TABLE t (a INTEGER, b VARCHAR);
INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, NULL);
CREATE TABLE secret (s VARCHAR);
INSERT INTO secret VALUES ('top');
CREATE TABLE customer (id INTEGER PRIMARY KEY, city VARCHAR UNIQUE);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer (id), total DECIMAL(10, 2));
INSERT INTO customer VALUES (1, 'Bonn'), (2, 'Köln');
INSERT INTO orders VALUES (1, 1, 9.90), (2, 1, 5);
COMMENT ON TABLE orders IS 'what was bought';
COMMENT ON COLUMN orders.total IS 'in euro';
CREATE SCHEMA stock;
CREATE TABLE stock.item (name VARCHAR);
CREATE VIEW shown AS SELECT s FROM secret;
CREATE TABLE numbers AS SELECT range AS n FROM range(30000);
"""


@pytest.fixture
async def children() -> AsyncIterator[Children]:
    pool = duckdb_children(size=2, reserved=1)
    yield pool
    await pool.drain()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("duck") / "a.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute(SCRIPT)
    return path


@pytest.fixture
def edge(children: Children, file: Path) -> Embedded:
    return duckdb_edge(children, file, ConnectionPolicy())


async def run(edge: Embedded, sql: str, *, rows_max: int = 100, seconds_max: float = 60.0) -> Rows | Failure:
    return await edge.run(sql, rows_max=rows_max, seconds_max=seconds_max, purpose=Purpose.EXECUTE)


async def rows(edge: Embedded, sql: str) -> list[list[object]]:
    result = await run(edge, sql)
    assert isinstance(result, Rows), result
    return [list(row) for row in result.rows]


async def test_a_statement_is_answered_also_when_it_takes_longer_than_duckdb_waits_with_its_progress_bar(
    edge: Embedded,
) -> None:
    for rows_read in (20_000, 40_000, 80_000, 160_000, 320_000):
        began = time.monotonic()
        result = await run(edge, f"SELECT sum(a.range * b.range) AS s FROM range({rows_read}) a, range(20000) b")
        assert isinstance(result, Rows), result
        if time.monotonic() - began > 3.0:
            return
    pytest.fail("no statement took long enough for a progress bar")


ATTACKS = """
COPY t TO '{folder}/out.csv'
COPY (SELECT 1) TO '{folder}/out.parquet'
EXPORT DATABASE '{folder}/dump'
SELECT * FROM read_text('/etc/passwd')
SELECT * FROM read_csv('/etc/passwd')
SELECT * FROM read_blob('/etc/*')
SELECT * FROM glob('/etc/*')
SELECT * FROM '/etc/passwd'
SELECT * FROM 'https://example.org/x.csv'
SELECT * FROM sniff_csv('/etc/passwd')
CREATE TABLE x (a INTEGER)
CREATE TEMP TABLE x (a INTEGER)
CREATE OR REPLACE MACRO m() AS 1
INSERT INTO t VALUES (9, 'z')
WITH x AS (SELECT 9, 'z') INSERT INTO t SELECT * FROM x
UPDATE t SET a = 9 RETURNING a
DELETE FROM t RETURNING a
TRUNCATE t
DROP TABLE t
ALTER TABLE t RENAME TO u
ATTACH '{folder}/a.duckdb' AS again (READ_ONLY)
ATTACH '{folder}/new.duckdb' AS other
ATTACH ':memory:' AS memory
DETACH a
USE memory
SET memory_limit = '10GB'
SET enable_external_access = true
SET lock_configuration = false
SET threads = 64
SET max_execution_time = 0
RESET memory_limit
PRAGMA memory_limit = '10GB'
PRAGMA database_list
PRAGMA version
SET VARIABLE x = 1
SELECT getvariable('x')
INSTALL httpfs
LOAD httpfs
FORCE INSTALL httpfs
CHECKPOINT
FORCE CHECKPOINT
VACUUM
ANALYZE
PREPARE p AS SELECT 1
EXECUTE p
BEGIN TRANSACTION
COMMIT
CALL pragma_version()
EXPLAIN ANALYZE SELECT 1
SELECT * FROM query('SELECT 1')
SELECT * FROM query_table('t')
SELECT * FROM duckdb_settings()
SELECT * FROM duckdb_secrets()
SELECT * FROM duckdb_tables()
SELECT * FROM duckdb_settings
SELECT * FROM pragma_version()
SELECT * FROM sqlite_master
SELECT * FROM pg_catalog.pg_class
SELECT * FROM information_schema.tables
SELECT current_setting('memory_limit')
SELECT getenv('HOME')
SELECT json_execute_serialized_sql(json_serialize_sql('SELECT 1'))
SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))
SELECT * FROM request
SELECT * FROM sql_auto_complete('SEL')
SELECT 1; DELETE FROM t
CREATE SECRET s (TYPE s3)
IMPORT DATABASE '{folder}'
"""
REFUSED = (
    FailureCode.PERMISSION,
    FailureCode.TABLE_NOT_FOUND,
    FailureCode.FUNCTION_NOT_FOUND,
    FailureCode.MULTI_STATEMENT,
    FailureCode.SYNTAX_ERROR,
)


async def test_an_attack_that_passed_every_guard_changes_and_reads_nothing(edge: Embedded, file: Path) -> None:
    before = file.read_bytes()
    passed: list[object] = []
    for attack in ATTACKS.strip().splitlines():
        result = await run(edge, attack.format(folder=file.parent))
        if isinstance(result, Rows) or result.code not in REFUSED:
            passed.append((attack, result))
        assert file.read_bytes() == before, attack
        assert [path.name for path in file.parent.iterdir()] == [file.name], attack
    assert passed == []
    assert await rows(edge, "SELECT count(*) FROM t") == [[3]]


async def test_only_the_tables_of_the_policy_are_read(children: Children, file: Path) -> None:
    edge = duckdb_edge(children, file, ConnectionPolicy(tables_allowed=("t", "Stock.Item", "shown")))
    assert await rows(edge, "SELECT count(*) FROM T") == [[3]]
    assert await rows(edge, "SELECT count(*) FROM main.t") == [[3]]
    assert await rows(edge, "SELECT count(*) FROM stock.item") == [[0]]
    assert await rows(edge, "SELECT s FROM shown") == [["top"]]
    assert await rows(edge, "WITH x AS (SELECT a FROM t) SELECT count(*) FROM x") == [[3]]
    for sql in (
        "SELECT * FROM secret",
        "SELECT (SELECT max(s) FROM secret)",
        "SELECT * FROM t WHERE b IN (SELECT s FROM main.secret)",
        "WITH a AS (SELECT * FROM secret), secret AS (SELECT 1 AS s) SELECT * FROM a",
        "FROM secret",
        "TABLE secret",
        "DESCRIBE secret",
        "SUMMARIZE secret",
        "SHOW TABLES",
    ):
        result = await run(edge, sql)
        assert isinstance(result, Failure), sql
        assert result.code is FailureCode.PERMISSION, sql


async def test_a_function_that_cannot_be_interrupted_dies_with_its_process(children: Children, edge: Embedded) -> None:
    await run(edge, "SELECT 1")
    before = set(children.pids)
    result = await run(edge, BOMB, seconds_max=0.1)
    assert isinstance(result, Failure)
    assert result.code in (FailureCode.TIMEOUT, FailureCode.RESOURCE_LIMIT)
    while result.code is FailureCode.TIMEOUT and before & set(children.pids):
        await asyncio.sleep(0.01)
    assert await rows(edge, "SELECT count(*) FROM t") == [[3]]
    assert children.open <= 3


async def test_an_endless_statement_is_cut_at_its_limit(edge: Embedded) -> None:
    result = await run(edge, ENDLESS, seconds_max=0.5)
    assert isinstance(result, Failure)
    assert result.code is FailureCode.TIMEOUT


@pytest.mark.parametrize(
    "sql",
    [
        # Asked for at once, so that no machine takes long to refuse it.
        "SELECT len(range(2000000000))",
        pytest.param("SELECT list(range) FROM range(1000000000)", marks=pytest.mark.slow),
    ],
)
async def test_memory_has_a_limit(sql: str, edge: Embedded) -> None:
    result = await run(edge, sql, seconds_max=250)
    assert isinstance(result, Failure)
    assert result.code is FailureCode.RESOURCE_LIMIT
    assert await rows(edge, "SELECT 1") == [[1]]


@pytest.mark.parametrize("sql", [ENDLESS, BOMB])
async def test_a_cancelled_statement_ends_long_before_its_limit(sql: str, children: Children, edge: Embedded) -> None:
    await run(edge, "SELECT 1")
    task = asyncio.create_task(run(edge, sql, seconds_max=3_600))
    while children.idle == children.open:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    while children.idle < children.open:
        await asyncio.sleep(0.01)
    assert await rows(edge, "SELECT count(*) FROM t") == [[3]]


async def test_an_explain_gives_the_rows_that_are_expected_and_runs_nothing(edge: Embedded) -> None:
    product = await edge.explain("SELECT * FROM numbers AS a, numbers AS b", seconds_max=60)
    assert isinstance(product, Estimate)
    assert product.rows == 900_000_000
    result = await edge.explain("SELECT nope FROM t", seconds_max=60)
    assert isinstance(result, Failure)
    assert (result.code, result.facts.name) == (FailureCode.COLUMN_NOT_FOUND, "nope")
    attack = await edge.explain("COPY t TO '/tmp/x.csv'", seconds_max=60)
    assert isinstance(attack, Failure)
    assert attack.code is FailureCode.PERMISSION


@pytest.mark.requirement("002.28")
async def test_values_keep_their_type(edge: Embedded) -> None:
    sql = """SELECT 170141183460469231731687303715884105727::HUGEINT AS h, 19.90::DECIMAL(10, 2) AS d,
             12345678901234567.89::DECIMAL(20, 2) AS big, [1, NULL] AS l, {'a': 1.5} AS s, 'nan'::DOUBLE AS nan,
             DATE '2026-01-31' AS day, TIMESTAMP '2026-01-31 10:00:00' AS ts, TIME '10:00:00' AS tt,
             TIMESTAMPTZ '2026-01-31 10:00:00+02' AS tz, 'ab'::BLOB AS b, true AS yes, '{"k": 1}'::JSON AS j, 10 / 4 AS q"""
    result = await run(edge, sql)
    assert isinstance(result, Rows)
    assert list(result.rows[0]) == [
        170141183460469231731687303715884105727, 19.9, "12345678901234567.89", "[1, null]", '{"a": 1.5}', "NaN",
        "2026-01-31", "2026-01-31 10:00:00", "10:00:00", "2026-01-31 08:00:00+00:00", "6162", True, '{"k": 1}', 2.5,
    ]  # fmt: skip
    kinds = {column.name: column.kind for column in result.columns}
    assert (kinds["h"], kinds["d"], kinds["l"], kinds["day"], kinds["tz"], kinds["j"]) == (
        ColumnKind.INTEGER,
        ColumnKind.NUMBER,
        ColumnKind.JSON,
        ColumnKind.DATE,
        ColumnKind.DATETIME,
        ColumnKind.JSON,
    )


ERRORS: tuple[tuple[str, FailureCode, str | None, str | None], ...] = (
    ("SELEC 1", FailureCode.SYNTAX_ERROR, None, None),
    ("SELECT (", FailureCode.SYNTAX_ERROR, None, None),
    ("SELECT a, b FROM t UNION SELECT a FROM t", FailureCode.SYNTAX_ERROR, None, None),
    ("SELECT * FROM nosuch", FailureCode.TABLE_NOT_FOUND, "nosuch", None),
    ("SELECT * FROM other.t", FailureCode.TABLE_NOT_FOUND, "t", "other"),
    ("SELECT nope FROM t", FailureCode.COLUMN_NOT_FOUND, "nope", None),
    ("SELECT x.nope FROM t AS x", FailureCode.COLUMN_NOT_FOUND, "nope", "x"),
    ("SELECT z.a FROM t", FailureCode.MISSING_ALIAS, "a", "z"),
    ("SELECT a FROM t x, t y", FailureCode.AMBIGUOUS_COLUMN, "a", None),
    ("SELECT nofunction(a) FROM t", FailureCode.FUNCTION_NOT_FOUND, "nofunction", None),
    ("SELECT abs(a, 2) FROM t", FailureCode.FUNCTION_NOT_FOUND, "abs", None),
    ("SELECT a FROM t WHERE sum(a) > 1", FailureCode.AGGREGATE_MISUSE, None, None),
    ("SELECT sum(max(a)) FROM t", FailureCode.AGGREGATE_MISUSE, None, None),
    ("SELECT a FROM t WHERE row_number() OVER () = 1", FailureCode.AGGREGATE_MISUSE, None, None),
    ("SELECT a, count(*) FROM t", FailureCode.GROUPING_ERROR, "a", None),
    ("SELECT a FROM t ORDER BY 5", FailureCode.GROUPING_ERROR, None, None),
    ("SELECT * FROM t JOIN numbers USING (a)", FailureCode.JOIN_ERROR, None, None),
    ("SELECT a + b FROM t", FailureCode.TYPE_MISMATCH, None, None),
    ("SELECT 'x'::INTEGER", FailureCode.TYPE_MISMATCH, None, None),
    ("SELECT 2147483647::INTEGER + 1::INTEGER", FailureCode.NUMBER_TOO_LARGE, None, None),
    ("SELECT (SELECT a FROM t)", FailureCode.CARDINALITY, None, None),
)


@pytest.mark.requirement("002.28")
async def test_an_error_has_its_code_and_the_name_it_is_about(edge: Embedded) -> None:
    for sql, expected, name, qualifier in ERRORS:
        result = await run(edge, sql)
        assert isinstance(result, Failure), sql
        assert (result.code, result.facts.name, result.facts.qualifier) == (expected, name, qualifier), (sql, result)


async def test_a_file_that_is_missing_none_or_held_says_which_without_its_path(
    children: Children, tmp_path: Path
) -> None:
    (tmp_path / "text.duckdb").write_text("only text" * 5_000)
    held = tmp_path / "held.duckdb"
    with duckdb.connect(str(held)) as writer:
        writer.execute("CREATE TABLE t (a INTEGER)")
        for name, expected in (
            ("missing.duckdb", FailureCode.CONNECTION),
            ("text.duckdb", FailureCode.CONNECTION),
            ("held.duckdb", FailureCode.LOCK),
        ):
            result = await run(duckdb_edge(children, tmp_path / name, ConnectionPolicy()), "SELECT 1")
            assert isinstance(result, Failure)
            assert result.code is expected, result
            assert str(tmp_path) not in result.detail
    assert not (tmp_path / "missing.duckdb").exists()


async def test_the_catalog_has_tables_keys_comments_values_and_schemas(file: Path) -> None:
    engines = Engines(children=1, reserved=1)
    entry = {"name": "duck", "url": f"duckdb:///{file}", "personal": ["secret.s"]}
    (database,) = engines.connected(parse_connections({"connections": [entry]}), metrics=Metrics("t"))
    try:
        catalog = await database.catalog()
    finally:
        await engines.drain()
    assert isinstance(catalog, Catalog)
    assert catalog.default_schema == "main"
    names = [(table.schema_name, table.name, table.kind) for table in catalog.tables]
    assert (None, "shown", "view") in names
    assert names[-1] == ("stock", "item", "table")
    orders, customer, secret = (catalog.table(name) for name in ("orders", "customer", "secret"))
    assert orders is not None
    assert customer is not None
    assert secret is not None
    assert (orders.comment, orders.primary_key, orders.row_estimate) == ("what was bought", ("id",), 2)
    total = orders.column("total")
    assert total is not None
    assert (total.type, total.kind, total.comment) == ("DECIMAL(10,2)", ColumnKind.NUMBER, "in euro")
    assert total.profile == ColumnProfile(value_min="5.00", value_max="9.90")
    assert [
        (foreign_key.columns, foreign_key.referred_table, foreign_key.referred_columns)
        for foreign_key in orders.foreign_keys
    ] == [(("customer_id",), "customer", ("id",))]
    assert customer.unique_keys == (("city",),)
    city = customer.column("city")
    assert city is not None
    assert (sorted(city.values), city.values_complete, city.distinct_count) == (["Bonn", "Köln"], True, 2)
    assert secret.columns[0].personal
    assert secret.columns[0].values == ()


@pytest.mark.parametrize(
    ("sql", "shown"),
    [
        ("SELECT INTERVAL 1 MONTH AS i", "1 month"),
        ("SELECT INTERVAL '1 day 02:00:00' AS i", "1 day 02:00:00"),
        ("SELECT age(DATE '2024-03-01', DATE '2023-01-15') AS i", "1 year 1 month 17 days"),
        ("SELECT TIMESTAMP '2024-01-05' - TIMESTAMP '2024-01-01' AS i", "4 days"),
        ("SELECT [INTERVAL 1 MONTH] AS i", '["1 month"]'),
        ("SELECT 'infinity'::DATE AS d", "infinity"),
        ("SELECT '-infinity'::TIMESTAMP AS d", "-infinity"),
        ("SELECT 'infinity'::TIMESTAMPTZ AS d", "infinity"),
        ("SELECT '9999-12-31'::DATE AS d", "9999-12-31"),
        ("SELECT '20000-01-01'::DATE AS d", "20000-01-01"),
        (
            "SELECT d FROM (VALUES ('infinity'::DATE), (NULL), ('2024-01-01'::DATE)) AS v(d) ORDER BY d NULLS FIRST LIMIT 1",
            None,
        ),
        ("SELECT NULL::INTERVAL AS i", None),
    ],
)
async def test_an_interval_and_an_infinite_date_are_shown_as_the_engine_writes_them(
    sql: str, shown: str | None, edge: Embedded
) -> None:
    assert await rows(edge, sql) == [[shown]]


async def test_columns_keep_their_names_and_kinds_beside_an_interval(edge: Embedded) -> None:
    result = await run(
        edge, "SELECT 1 AS a, 2 AS a, INTERVAL 1 DAY AS i, 'infinity'::DATE AS d, DATE '2024-01-02' AS e"
    )
    assert isinstance(result, Rows)
    assert [column.name for column in result.columns][2:] == ["i", "d", "e"]
    assert [list(row) for row in result.rows] == [[1, 2, "1 day", "infinity", "2024-01-02"]]


@pytest.mark.parametrize(
    "sql", ["SELECT 9223372036854775807 + 1", "SELECT 300::TINYINT", "SELECT 9223372036854775807 * 2 AS n"]
)
async def test_a_number_beyond_its_type_is_too_large_and_no_comparison(sql: str, edge: Embedded) -> None:
    result = await run(edge, sql)
    assert isinstance(result, Failure)
    assert result.code is FailureCode.NUMBER_TOO_LARGE, result.detail
