"""The MariaDB edge with no guard before it: every proven attack fails, every statement ends, silence is broken."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from querybus.bus.stores.pages import Batch
from querybus.core.catalog import Catalog, Column, ColumnKind, ColumnProfile, Dialect, Table
from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import ConnectionPolicy
from querybus.ops.metrics import Metrics
from querybus.sql.check import Checked, check
from querybus_executor.connections.config import ConnectionConfig, parse_connections
from querybus_executor.connections.trouble import ROLE_MAY_WRITE
from querybus_executor.engines.mysql.edge import Mysql, mysql_server, read_mysql
from querybus_executor.engines.server import Asked, Server
from querybus_executor.ports import Estimate, Purpose, Rows
from tests.support.database_servers import MariadbServer
from tests.support.engine_evidence import ON_MARIADB

pytestmark = [pytest.mark.servers, ON_MARIADB]

ENDLESS = "SELECT count(*) FROM seq_1_to_100000000 AS a, seq_1_to_1000000 AS b"
SCRIPT = """
CREATE DATABASE edge CHARACTER SET utf8mb4;
USE edge;
CREATE TABLE t (a int, b varchar(20));
INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, NULL);
CREATE TABLE customer (id int PRIMARY KEY, city varchar(40) UNIQUE);
CREATE TABLE orders (id int PRIMARY KEY, customer_id int, total decimal(10, 2) COMMENT 'in euro',
  FOREIGN KEY (customer_id) REFERENCES customer (id)) COMMENT 'what was bought';
INSERT INTO customer VALUES (1, 'Bonn'), (2, 'Köln');
INSERT INTO orders VALUES (1, 1, 9.90), (2, 1, 5);
CREATE VIEW shown AS SELECT a FROM t;
CREATE TABLE numbers AS SELECT seq AS n FROM seq_1_to_30000;
CREATE USER reader@'127.0.0.1', reader@localhost, writer@'127.0.0.1', writer@localhost;
GRANT SELECT ON edge.* TO reader@'127.0.0.1', reader@localhost;
GRANT SELECT, INSERT ON edge.t TO writer@'127.0.0.1', writer@localhost;
"""


@pytest.fixture(scope="session")
def filled(mariadb: MariadbServer) -> MariadbServer:
    mariadb.execute(SCRIPT)
    return mariadb


def config(server: MariadbServer, user: str = "reader", **changes: object) -> ConnectionConfig:
    entry = {"name": "edge", "url": server.url(user, "edge"), **changes}
    return parse_connections({"connections": [entry]})[0]


@pytest.fixture
async def edge(filled: MariadbServer) -> AsyncIterator[Server]:
    server = mysql_server(config(filled), bytes_max=16 << 20, metrics=Metrics("t"))
    yield server
    await server.close()


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
COMMIT
ROLLBACK
START TRANSACTION READ WRITE
SET SESSION max_statement_time = 0
SET STATEMENT max_statement_time = 0 FOR SELECT 1
SET PASSWORD = ''
SET @a = 1
SET ROLE NONE
SELECT 1; DELETE FROM t
SELECT 1 INTO @a
SELECT 1 INTO OUTFILE '/tmp/querybus'
SELECT 1 INTO DUMPFILE '/tmp/querybus'
SELECT a FROM t FOR UPDATE
SELECT a FROM t LOCK IN SHARE MODE INTO @a
INSERT INTO t VALUES (9, 'z')
INSERT INTO t VALUES (9, 'z') RETURNING a
REPLACE INTO t VALUES (9, 'z')
UPDATE t SET a = 9
DELETE FROM t
DELETE FROM t RETURNING a
TRUNCATE t
CREATE TABLE x (a int)
CREATE TEMPORARY TABLE x (a int)
CREATE USER u
DROP TABLE t
ALTER TABLE t ADD c int
RENAME TABLE t TO u
GRANT ALL ON *.* TO reader
LOAD DATA INFILE '/etc/passwd' INTO TABLE t
LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t
HANDLER t OPEN
LOCK TABLES t READ
UNLOCK TABLES
FLUSH TABLES
ANALYZE TABLE t
OPTIMIZE TABLE t
KILL 1
SHUTDOWN
CALL p()
DO SLEEP(0)
PREPARE p FROM 'SELECT 1'
EXECUTE querybus
DEALLOCATE PREPARE querybus
USE mysql
INSTALL SONAME 'x'
RESET MASTER
BEGIN NOT ATOMIC DELETE FROM t; END
SELECT user FROM mysql.user
SHOW GRANTS; DROP TABLE t
/*!50000 DROP TABLE t */
/*M!100000 DELETE FROM t */
EXPLAIN DELETE FROM t; DELETE FROM t
"""


async def test_an_attack_that_passed_every_guard_is_refused_and_changes_nothing(
    edge: Server, filled: MariadbServer
) -> None:
    passed: list[object] = []
    for attack in REFUSED.strip().splitlines():
        result = await run(edge, attack)
        if isinstance(result, Rows) or result.code is FailureCode.INTERNAL:
            passed.append((attack, result))
    assert passed == []
    assert filled.execute("SELECT count(*) FROM edge.t; SELECT count(*) FROM information_schema.tables "
                          "WHERE table_schema = 'edge';").split() == ["3", "5"]  # fmt: skip
    assert not Path("/tmp/querybus").exists()


async def test_what_a_function_may_do_to_its_session_is_gone_with_the_statement(edge: Server) -> None:
    assert await rows(edge, "SELECT get_lock('x', 1)") == [[1]]
    await idle(edge)
    assert edge.load().open == 1
    assert await rows(edge, "SELECT is_free_lock('x')") == [[1]]
    assert await rows(edge, "SELECT load_file('/etc/passwd')") == [[None]]


@pytest.mark.parametrize("sql", [ENDLESS, "SELECT SLEEP(3600)", "SELECT BENCHMARK(1000000000000, 1 + 1)"])
async def test_an_endless_statement_is_cut_at_its_limit(sql: str, edge: Server) -> None:
    # MariaDB ends SLEEP with a row; none of them would end by itself while a test runs.
    result = await run(edge, sql, seconds_max=0.4)
    if isinstance(result, Failure):
        assert result.code is FailureCode.TIMEOUT


async def test_a_cancelled_statement_ends_on_the_server_long_before_its_limit(
    edge: Server, filled: MariadbServer
) -> None:
    def running() -> int:
        sql = "SELECT count(*) FROM information_schema.processlist WHERE user = 'reader' AND command <> 'Sleep';"
        return int(filled.execute(sql))

    await run(edge, "SELECT 1")
    task = asyncio.create_task(run(edge, ENDLESS, seconds_max=3_600))
    while running() == 0:
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await idle(edge)
    assert running() == 0
    assert await rows(edge, "SELECT count(*) FROM t") == [[3]]


async def test_an_explain_gives_rows_and_runs_nothing(edge: Server) -> None:
    result = await edge.explain("SELECT * FROM t AS x, t AS y", seconds_max=60)
    assert isinstance(result, Estimate)
    assert result.rows == 9
    missing = await edge.explain("SELECT nope FROM t", seconds_max=60)
    assert isinstance(missing, Failure)
    assert (missing.code, missing.facts.name) == (FailureCode.COLUMN_NOT_FOUND, "nope")
    assert isinstance(await edge.explain("SELECT 1; DELETE FROM t", seconds_max=60), Failure)


async def test_an_estimate_is_the_servers_whatever_the_statement_says(edge: Server) -> None:
    for text in ("O'Brien", 'a"b', '","rows":1,"z":"'):
        quoted = text.replace("'", "''")
        result = await edge.explain(f"SELECT * FROM numbers AS x WHERE x.n <> '{quoted}'", seconds_max=60)
        assert isinstance(result, Estimate), result
        assert (result.rows or 0) > 1_000, text


async def test_what_describes_runs_as_it_is(edge: Server) -> None:
    for sql in (
        "DESCRIBE t",
        "DESCRIBE `edge`.`t`",
        "SHOW COLUMNS FROM edge.t",
        "SHOW TABLES",
        "EXPLAIN SELECT * FROM t",
    ):
        assert await rows(edge, sql), sql
    for sql in ("DESCRIBE t; DELETE FROM t", "SHOW TABLES FROM mysql", "SHOW GRANTS FOR root", "EXPLAIN DELETE FROM t"):
        assert isinstance(await run(edge, sql), Failure), sql


async def test_a_pattern_is_compared_by_the_operator_that_both_servers_know(edge: Server) -> None:
    tables = (Table(name="t", columns=(Column(name="b", type="text"),)),)
    catalog = Catalog(connection="edge", dialect=Dialect.MYSQL, tables=tables)
    for sql in (
        "SELECT b FROM t WHERE b REGEXP '^x'",
        "SELECT b FROM t WHERE b RLIKE '^x'",
        "SELECT b FROM t WHERE b NOT REGEXP 'y'",
    ):
        checked = check(sql, dialect=Dialect.MYSQL, catalog=catalog, policy=ConnectionPolicy(), row_limit=9)
        assert isinstance(checked, Checked), checked
        assert await rows(edge, checked.sql), checked.sql


async def test_a_statement_that_was_read_to_its_end_keeps_its_session(edge: Server) -> None:
    for _ in range(2):
        result = await run(edge, "SELECT n FROM numbers LIMIT 501", rows_max=500)
        assert isinstance(result, Rows), result
        assert (len(result.rows), result.truncated) == (500, True)
        await idle(edge)
    assert edge.load().open == 1


async def test_what_nobody_has_taken_yet_stays_on_the_server(filled: MariadbServer) -> None:
    """The driver reads as fast as the server sends; while pages are on their way it must not."""

    class Watched(Mysql):
        session: Any = None

        async def run(self, session: Any, asked: Asked) -> Rows | Failure:
            self.session = session
            return await super().run(session, asked)

    class Slow:
        first_rows = 100
        held_bytes = 0

        async def put(self, batches: Sequence[Batch]) -> bool:
            del batches
            await asyncio.sleep(0.05)
            self.held_bytes = max(self.held_bytes, len(driver.session._proto.buffer))
            return True

    edge = mysql_server(config(filled), bytes_max=64 << 20, metrics=Metrics("t"))
    edge.driver, sink = (driver := Watched(config(filled).parsed_url)), Slow()
    sql = "SELECT a.n, CONCAT(REPEAT('x', 200), a.n) AS wide FROM numbers a, seq_1_to_3 b"
    result = await edge.run(sql, rows_max=90_000, seconds_max=60.0, purpose=Purpose.EXECUTE, pages=sink)
    await edge.close()
    assert isinstance(result, Rows), result
    assert (result.row_count, result.truncated) == (90_000, False)
    assert 0 < sink.held_bytes < 4 << 20, "of about 18 MB"


async def test_what_the_engine_does_silently_becomes_a_warning_and_no_other_statement_sees_it(edge: Server) -> None:
    cut = await run(
        edge, "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5000) SELECT max(n) FROM r"
    )
    assert isinstance(cut, Rows)
    assert "max_recursive_iterations" in cut.warnings[0]
    await idle(edge)
    divided = await run(edge, "SELECT 1 / 0")
    assert isinstance(divided, Rows)
    assert len(divided.warnings) == 1
    await idle(edge)
    await run(edge, "SELECT secretcolumn FROM t")
    await idle(edge)
    plain = await run(edge, "SELECT 'é中', 'a%s', 7 % 4, '12:30 :name'")
    assert isinstance(plain, Rows)
    assert plain.warnings == ()
    assert list(plain.rows[0]) == ["é中", "a%s", 3, "12:30 :name"]


@pytest.mark.requirement("002.29")
async def test_values_keep_their_type(edge: Server) -> None:
    sql = """SELECT 18446744073709551615 AS i, CAST(19.90 AS DECIMAL(10, 2)) AS d,
        CAST(12345678901234567.89 AS DECIMAL(20, 2)) AS big, DATE '2026-01-31' AS day,
        TIMESTAMP '2026-01-31 10:00:00' AS ts, TIME '-25:00:00' AS tt, x'00ff' AS b, NULL AS n, 1.5e0 AS f"""
    result = await run(edge, sql)
    assert isinstance(result, Rows), result
    assert list(result.rows[0]) == [
        18446744073709551615, 19.9, "12345678901234567.89", "2026-01-31", "2026-01-31 10:00:00", "-25:00:00", "00ff",
        None, 1.5,
    ]  # fmt: skip
    kinds = {column.name: column.kind for column in result.columns}
    assert [kinds[name] for name in ("i", "d", "day", "ts", "tt", "b")] == [
        ColumnKind.INTEGER, ColumnKind.NUMBER, ColumnKind.DATE, ColumnKind.DATETIME, ColumnKind.TIME, ColumnKind.BYTES,
    ]  # fmt: skip


ERRORS: tuple[tuple[str, FailureCode, str | None, str | None], ...] = (
    ("SELEC 1", FailureCode.SYNTAX_ERROR, None, None),
    ("SELECT a FROM t UNION SELECT a, b FROM t", FailureCode.SYNTAX_ERROR, None, None),
    ("SELECT * FROM nosuch", FailureCode.TABLE_NOT_FOUND, "nosuch", "edge"),
    ("SELECT * FROM other.t", FailureCode.TABLE_NOT_FOUND, "t", "other"),
    ("SELECT nope FROM t", FailureCode.COLUMN_NOT_FOUND, "nope", None),
    ("SELECT x.nope FROM t AS x", FailureCode.COLUMN_NOT_FOUND, "nope", "x"),
    ("SELECT z.a FROM t", FailureCode.MISSING_ALIAS, "a", "z"),
    ("SELECT a FROM t x, t y", FailureCode.AMBIGUOUS_COLUMN, "a", None),
    ("SELECT nofunction(a) FROM t", FailureCode.FUNCTION_NOT_FOUND, "nofunction", None),
    ("SELECT abs(a, 2) FROM t", FailureCode.FUNCTION_NOT_FOUND, "abs", None),
    ("SELECT a FROM t WHERE sum(a) > 1", FailureCode.AGGREGATE_MISUSE, None, None),
    ("SELECT a FROM t WHERE row_number() OVER () = 1", FailureCode.AGGREGATE_MISUSE, None, None),
    ("SELECT a FROM t ORDER BY 5", FailureCode.GROUPING_ERROR, "5", None),
    ("SELECT * FROM t JOIN numbers USING (a)", FailureCode.JOIN_ERROR, "a", None),
    ("SELECT 9223372036854775807 + 1", FailureCode.NUMBER_TOO_LARGE, None, None),
    ("SELECT (SELECT a FROM t)", FailureCode.CARDINALITY, None, None),
)


@pytest.mark.requirement("002.29")
async def test_an_error_has_its_code_and_the_name_it_is_about(edge: Server) -> None:
    for sql, expected, name, qualifier in ERRORS:
        result = await run(edge, sql)
        assert isinstance(result, Failure), sql
        assert (result.code, result.facts.name, result.facts.qualifier) == (expected, name, qualifier), (sql, result)


async def test_a_connection_that_was_cut_is_replaced_without_anybody_noticing(
    edge: Server, filled: MariadbServer
) -> None:
    assert await rows(edge, "SELECT 1") == [[1]]
    await idle(edge)
    filled.execute("KILL USER reader;")
    assert await rows(edge, "SELECT 2") == [[2]]


async def test_the_catalog_has_tables_keys_comments_and_values(edge: Server, filled: MariadbServer) -> None:
    catalog = await read_mysql(config(filled), edge)
    assert isinstance(catalog, Catalog)
    orders, customer, shown = catalog.table("orders"), catalog.table("customer"), catalog.table("shown")
    assert orders is not None
    assert customer is not None
    assert shown is not None
    assert (shown.kind, orders.comment, orders.primary_key, orders.row_estimate) == (
        "view",
        "what was bought",
        ("id",),
        2,
    )
    assert [
        (foreign_key.columns, foreign_key.referred_table, foreign_key.referred_columns)
        for foreign_key in orders.foreign_keys
    ] == [(("customer_id",), "customer", ("id",))]
    assert customer.unique_keys == (("city",),)
    city, total = customer.column("city"), orders.column("total")
    assert city is not None
    assert total is not None
    assert (total.kind, total.comment) == (ColumnKind.NUMBER, "in euro")
    assert total.profile == ColumnProfile(value_min="5.00", value_max="9.90")
    assert (sorted(city.values), city.values_complete) == (["Bonn", "Köln"], True)


@pytest.mark.parametrize(("user", "words"), [("root", "may ALL PRIVILEGES on *.*"), ("writer", "may INSERT on edge.t")])
async def test_a_user_that_may_write_is_refused_unless_the_file_says_otherwise(
    user: str, words: str, filled: MariadbServer
) -> None:
    for allowed in (False, True):
        entry = config(filled, user, role_may_write=allowed)
        server = mysql_server(entry, bytes_max=1 << 20, metrics=Metrics("t"))
        result = await read_mysql(entry, server)
        await server.close()
        if allowed:
            assert isinstance(result, Catalog), result
        else:
            assert isinstance(result, Failure)
            assert (result.code, result.facts.rule) == (FailureCode.CONNECTION, ROLE_MAY_WRITE)
            assert words in result.detail
