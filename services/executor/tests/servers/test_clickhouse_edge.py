"""The ClickHouse edge with no guard before it, over the real client and the real engine behind a stand-in of HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Generator
from pathlib import Path

import pytest

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.ops.metrics import Metrics
from querybus_executor.connections.config import ConnectionConfig, parse_connections
from querybus_executor.engines.clickhouse.edge import clickhouse_server as edge_of
from querybus_executor.engines.clickhouse.edge import read_clickhouse
from querybus_executor.engines.server import Server
from querybus_executor.ports import Estimate, Purpose, Rows
from tests.support.database_servers import ClickhouseServer, clickhouse_server
from tests.support.engine_evidence import ON_CLICKHOUSE

pytestmark = [pytest.mark.servers, ON_CLICKHOUSE]

SCRIPT = (
    "CREATE DATABASE edge",
    "CREATE TABLE edge.t (a Int32, b Nullable(String)) ENGINE = MergeTree ORDER BY a",
    "INSERT INTO edge.t VALUES (1, 'x'), (2, 'y'), (3, NULL)",
    """CREATE TABLE edge.exact (id UInt64, price Decimal(20, 2), big UInt256, day Date, at DateTime64(0, 'Asia/Kolkata'),
       fine DateTime64(6, 'UTC'), tags Array(String), u UUID, f Float64, ip IPv4, state Enum('open' = 1, 'paid' = 2),
       pairs Map(String, UInt8)) ENGINE = MergeTree ORDER BY id COMMENT 'every type'""",
    """INSERT INTO edge.exact VALUES (18446744073709551615, 12345678901234567.89, 1208925819614629174706176,
       '2026-01-31', '2026-01-31 09:05:00', '2026-01-31 09:05:00.000007', ['a', 'b'],
       '61f0c404-5cb3-11e7-907b-a6006ad3dba0', nan, '127.0.0.1', 'paid', {'k': 1})""",
)
ATTACKS = (
    "INSERT INTO t VALUES (4, 'z')", "DROP TABLE t", "CREATE TABLE x (a Int8) ENGINE = Memory", "TRUNCATE TABLE t",
    "ALTER TABLE t DELETE WHERE 1", "SET readonly = 0", "SELECT 1 SETTINGS readonly = 0", "KILL QUERY WHERE 1",
    "SELECT * FROM (SELECT 1 SETTINGS max_execution_time = 0)", "SYSTEM STOP MERGES", "CHECK TABLE t", "SHOW GRANTS",
    "DESCRIBE TABLE file('/etc/passwd')", "DESCRIBE TABLE t SETTINGS readonly = 0", "DESCRIBE TABLE (SELECT 1)",
    "DESCRIBE TABLE system.users", "DESCRIBE TABLE t INTO OUTFILE '{outfile}'",
    "SELECT file('/etc/passwd')", "SELECT * FROM file('/etc/passwd', 'LineAsString')", "SELECT hostName()",
    "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')", "SELECT * FROM remote('127.0.0.1', system.one)",
    "SELECT * FROM mysql('127.0.0.1:1', 'd', 't', 'u', 'p')", "SELECT * FROM executable('id', 'TSV', 'a String')",
    "SELECT 1 INTO OUTFILE '{outfile}'", "SELECT 1 INTO OUTFILE '{outfile}' FORMAT CSV", "SELECT sleep(3)",
    "SELECT * FROM system.users", "SELECT * FROM information_schema.tables", "EXPLAIN SELECT 1",
    "SELECT 1; DROP TABLE t", "SELECT getSetting('max_threads')", "CREATE FUNCTION f AS x -> x", "OPTIMIZE TABLE t",
    "ATTACH TABLE t", "DETACH TABLE t", "RENAME TABLE t TO u", "BACKUP TABLE t TO Disk('d', 'b')", "USE system",
    "SELECT dictGet('d', 'a', 1)", "INSERT INTO FUNCTION file('{outfile}', 'CSV', 'a Int8') VALUES (1)",
    "CREATE TEMPORARY TABLE x (a Int8)", "GRANT ALL ON *.* TO default", "SELECT * FROM t FORMAT CSV",
)  # fmt: skip


@pytest.fixture(scope="module")
def filled() -> Generator[ClickhouseServer]:
    with clickhouse_server() as running:
        for item in SCRIPT:
            running.execute(item)
        yield running


def config(server: ClickhouseServer, **changes: object) -> ConnectionConfig:
    entry = {"name": "edge", "url": server.url("edge"), "role_may_write": True, **changes}
    return parse_connections({"connections": [entry]})[0]


@pytest.fixture
async def edge(filled: ClickhouseServer) -> AsyncIterator[Server]:
    server = edge_of(config(filled), bytes_max=16 << 20, metrics=Metrics("t"))
    yield server
    await server.close()


async def run(edge: Server, sql: str, *, rows_max: int = 100, seconds_max: float = 20) -> Rows | Failure:
    return await edge.run(sql, rows_max=rows_max, seconds_max=seconds_max, purpose=Purpose.EXECUTE)


@pytest.mark.requirement("002.31")
async def test_every_type_comes_exactly(edge: Server) -> None:
    result = await run(edge, "SELECT * FROM exact")
    assert isinstance(result, Rows), result
    assert result.rows[0] == (
        18446744073709551615, "12345678901234567.89", 2**80, "2026-01-31", "2026-01-31 09:05:00+05:30",
        "2026-01-31 09:05:00.000007+00:00", '["a","b"]', "61f0c404-5cb3-11e7-907b-a6006ad3dba0", "NaN", "127.0.0.1", "paid",
        '{"k":1}',
    )  # fmt: skip
    assert [column.kind.value for column in result.columns] == [
        "integer", "number", "integer", "date", "datetime", "datetime", "json", "text", "number", "text", "text", "json",
    ]  # fmt: skip


async def test_no_attack_gets_through_and_nothing_changes(
    edge: Server, filled: ClickhouseServer, tmp_path: Path
) -> None:
    outfile = tmp_path / "out"
    for attack in ATTACKS:
        result = await run(edge, attack.replace("{outfile}", str(outfile)))
        assert isinstance(result, Failure), attack
        assert result.code is not FailureCode.CONNECTION, attack
    assert filled.execute("SELECT count(), sum(a) FROM edge.t").split() == ["3", "6"]
    assert filled.execute("SHOW TABLES FROM edge").split() == ["exact", "t"]
    assert not outfile.exists()


async def test_every_request_says_that_it_reads_only_and_for_how_long(edge: Server, filled: ClickhouseServer) -> None:
    await run(edge, "SELECT a FROM t", seconds_max=3)
    said = [json.loads(item["settings"]) for item in filled.asked() if item["sql"].startswith("SELECT a FROM t")][-1]
    assert said["readonly"] == "1"
    assert 0 < float(said["max_execution_time"]) <= 3
    assert said["query_id"].startswith("querybus-")


async def test_a_join_takes_no_rows_from_a_later_count(filled: ClickhouseServer) -> None:
    acme = "(SELECT * FROM {} WHERE (tenant = 'acme') LIMIT 9223372036854775807)"
    for item in (
        "CREATE DATABASE joined",
        "CREATE TABLE joined.people (id Int32, tenant Nullable(String)) ENGINE = MergeTree ORDER BY id",
        "CREATE TABLE joined.orders (id Int32, tenant Nullable(String)) ENGINE = MergeTree ORDER BY id",
        "INSERT INTO joined.people SELECT number, if(number % 2, 'globex', 'acme') FROM numbers(40)",
        "INSERT INTO joined.orders SELECT number, if(number % 2, 'globex', 'acme') FROM numbers(120)",
    ):
        filled.execute(item)
    edge = edge_of(config(filled, url=filled.url("joined")), bytes_max=1 << 20, metrics=Metrics("t"))
    count = "SELECT COUNT(*) AS n FROM (SELECT * FROM people WHERE (tenant = 'acme')) AS p"
    join = f"SELECT a.id FROM {acme.format('orders')} AS a JOIN {acme.format('people')} AS b ON a.id = b.id WHERE a.id = 119"
    results = [await run(edge, sql) for sql in (count, join, count)]
    await edge.close()
    assert [result.rows for result in results if isinstance(result, Rows)] == [[(20,)], [], [(20,)]], results


async def test_only_the_policys_tables_are_read(filled: ClickhouseServer) -> None:
    narrow = config(filled, policy={"tables_allowed": ["t"]})
    edge = edge_of(narrow, bytes_max=1 << 20, metrics=Metrics("t"))
    allowed, other = await run(edge, "SELECT a FROM t"), await run(edge, "SELECT id FROM edge.exact")
    hidden = await run(edge, "WITH t AS (SELECT id FROM exact) SELECT * FROM t")
    described = await run(edge, "DESCRIBE TABLE t")
    undescribed = await run(edge, "DESCRIBE TABLE exact")
    await edge.close()
    assert isinstance(described, Rows), described
    assert described.rows[0][0] == "a"
    assert isinstance(undescribed, Failure)
    assert isinstance(allowed, Rows)
    assert isinstance(other, Failure)
    assert isinstance(hidden, Failure)


async def test_a_statement_ends_at_its_time(edge: Server) -> None:
    result = await run(edge, "SELECT count() FROM numbers(1000000000000)", seconds_max=1)
    assert isinstance(result, Failure)
    assert result.code is FailureCode.TIMEOUT


async def test_a_cancel_kills_the_query_on_the_server_by_its_name(edge: Server, filled: ClickhouseServer) -> None:
    task = asyncio.create_task(
        run(edge, "SELECT number FROM numbers(100000000) WHERE sipHash64(number) = 1", seconds_max=10)
    )
    names: list[str] = []
    async with asyncio.timeout(60):
        while not names:
            await asyncio.sleep(0.1)
            asked = await asyncio.to_thread(filled.asked)
            names = [item["query_id"] for item in asked if item["sql"].startswith("SELECT number")]
    task.cancel()
    await asyncio.wait([task])
    await edge.close()
    assert task.cancelled()
    assert any(item["sql"].startswith(f"KILL QUERY WHERE query_id = '{names[-1]}'") for item in filled.asked())


async def test_an_explain_reports_the_rows_to_read(edge: Server) -> None:
    result = await edge.explain("SELECT * FROM t", seconds_max=20)
    assert isinstance(result, Estimate), result
    assert result.cost == 3


async def test_the_catalog_is_read_and_a_user_that_may_write_is_refused(filled: ClickhouseServer, edge: Server) -> None:
    catalog = await read_clickhouse(config(filled), edge)
    assert isinstance(catalog, Catalog), catalog
    assert [table.name for table in catalog.tables] == ["exact", "t"]
    assert (catalog.tables[0].comment, catalog.tables[1].row_estimate) == ("every type", 3)
    assert catalog.tables[1].columns[1].values == ("x", "y")
    refused = await read_clickhouse(config(filled, role_may_write=False), edge)
    assert isinstance(refused, Failure)
    assert refused.facts.rule == "role_may_write"
