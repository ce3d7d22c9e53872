"""The widest cells that an engine gives, beside light questions of another tenant: nobody waits for the width of a cell.

What is measured is printed: the 99th percentile of the light questions, and the longest time in which the executor's
event loop did nothing else.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, Final

import pytest

from querybus.core.failure import Failure, FailureCode
from querybus.ops.metrics import Metrics
from querybus.ops.run import STUCK_SECONDS_MAX
from querybus_executor.connections.config import parse_connections
from querybus_executor.connections.databases import ConnectedDatabase
from querybus_executor.engines.registry import Engines
from querybus_executor.ports import Purpose, Rows
from tests.support.database_servers import MariadbServer, PostgresServer, clickhouse_server, driver

pytestmark = pytest.mark.servers

WIDE_AT_ONCE: Final = 3
LIGHT: Final = "SELECT 1 AS n"
PAUSE_SECONDS: Final = 0.02
STALL_SECONDS_MAX: Final = STUCK_SECONDS_MAX / 4
"""The watchdog ends a process whose loop is stuck for STUCK_SECONDS_MAX; a wide cell stays far from that on a busy machine."""

WIDEST: Final = {
    "sqlite": (
        "SELECT " + ", ".join(["hex(zeroblob(4900000))"] * 4),
        "SELECT hex(zeroblob(4900000)), group_concat(n, '\"') FROM (WITH RECURSIVE c(n) AS "
        "(SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 900000) SELECT n FROM c)",
    ),
    "duckdb": (
        "SELECT list(n::VARCHAR) FROM range(400000) AS t(n)",
        "SELECT repeat('\"', 20000000), string_agg(n::VARCHAR) FROM range(400000) AS t(n)",
    ),
    "postgres": (
        "SELECT array_agg(n::text) FROM generate_series(1, 2000000) AS n",
        "SELECT repeat('x', 120000000), json_agg(n) FROM generate_series(1, 2000000) AS n",
    ),
    "mariadb": (
        "SELECT REPEAT('x', 16000000), REPEAT('\"', 16000000)",
        "SELECT GROUP_CONCAT(seq) FROM information_schema.columns CROSS JOIN (SELECT 1 AS seq) AS one",
    ),
    "clickhouse": (
        "SELECT groupArray(toString(number)) FROM numbers(3000000)",
        "SELECT groupArray(map('a', [number, number])) FROM numbers(1000000)",
        "SELECT arrayStringConcat(groupArray(toString(number))) FROM numbers(6000000)",
    ),
}


@asynccontextmanager
async def two_tenants(url: str, file: Path) -> AsyncGenerator[tuple[ConnectedDatabase, ConnectedDatabase]]:
    """Connect a database and, for another tenant of the same executor, a small file that is always fast."""
    with closing(sqlite3.connect(file)) as made:
        made.execute("CREATE TABLE small (n)")
    addresses = {"wide": url, "light": f"sqlite:///{file}"}
    entries: list[dict[str, Any]] = [
        {"name": name, "url": of, "policy": {"tenants": {name: {}}}} for name, of in addresses.items()
    ]
    entries[0]["role_may_write"] = True
    engines = Engines(children=WIDE_AT_ONCE, reserved=1)
    databases = engines.connected(parse_connections({"connections": entries}), metrics=Metrics("t"))
    await engines.start()
    try:
        yield databases[0], databases[1]
    finally:
        await engines.drain()


async def ask(database: ConnectedDatabase, sql: str) -> Rows | Failure:
    return await database.run(sql, rows_max=100, seconds_max=60.0, purpose=Purpose.EXECUTE)


async def longest_stall(until: asyncio.Event) -> float:
    longest, last = 0.0, time.perf_counter()
    while not until.is_set():
        await asyncio.sleep(0.005)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    return longest


async def ask_light(database: ConnectedDatabase, until: asyncio.Event) -> list[float]:
    seconds: list[float] = []
    while not until.is_set():
        began = time.perf_counter()
        result = await ask(database, LIGHT)
        assert isinstance(result, Rows), result
        assert result.rows[0][0] == 1
        seconds.append(time.perf_counter() - began)
        await asyncio.sleep(PAUSE_SECONDS)
    return seconds


async def light_beside_wide(engine: str, url: str, folder: Path) -> None:
    """Run the widest cells of an engine, several at once, and hold what others see of it against its bounds."""
    async with two_tenants(url, folder / "light.db") as (wide, light):
        assert isinstance(await ask(light, LIGHT), Rows)
        for sql in WIDEST[engine]:
            ended = asyncio.Event()
            stall, seconds = asyncio.create_task(longest_stall(ended)), asyncio.create_task(ask_light(light, ended))
            results = await asyncio.gather(*(ask(wide, sql) for _ in range(WIDE_AT_ONCE)))
            ended.set()
            times = sorted(await seconds)
            p99 = times[int(len(times) * 0.99)]
            stalled = await stall
            print(f"\n{engine}: {len(times)} light, p99 {p99 * 1e3:.0f} ms, worst {times[-1] * 1e3:.0f} ms, "
                  f"stall {stalled * 1e3:.0f} ms: {sql[:60]}")  # fmt: skip
            for result in results:
                is_refused = isinstance(result, Failure) and result.code is FailureCode.RESOURCE_LIMIT
                assert isinstance(result, Rows) or is_refused, result
            assert stalled < STALL_SECONDS_MAX


async def test_wide_cells_of_sqlite_hold_up_no_light_question(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as made:
        made.execute("CREATE TABLE t (n)")
    await light_beside_wide("sqlite", f"sqlite:///{tmp_path / 'a.db'}", tmp_path)


async def test_wide_cells_of_duckdb_hold_up_no_light_question(tmp_path: Path) -> None:
    with driver("duckdb", "duckdb").connect(str(tmp_path / "a.duckdb")) as made:
        made.execute("CREATE TABLE t (n INT)")
    await light_beside_wide("duckdb", f"duckdb:///{tmp_path / 'a.duckdb'}", tmp_path)


async def test_wide_cells_of_postgresql_hold_up_no_light_question(postgres: PostgresServer, tmp_path: Path) -> None:
    await light_beside_wide("postgres", postgres.url(), tmp_path)


async def test_wide_cells_of_mariadb_hold_up_no_light_question(mariadb: MariadbServer, tmp_path: Path) -> None:
    mariadb.execute("CREATE DATABASE wide; CREATE USER wide@'127.0.0.1'; GRANT SELECT ON wide.* TO wide@'127.0.0.1';")
    await light_beside_wide("mariadb", mariadb.url("wide", "wide"), tmp_path)


async def test_wide_cells_of_clickhouse_hold_up_no_light_question(tmp_path: Path) -> None:
    with clickhouse_server() as server:
        await light_beside_wide("clickhouse", server.url(), tmp_path)
