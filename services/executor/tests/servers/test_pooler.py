"""Claims on PostgreSQL behind a pooler in transaction mode: each transaction brings its own settings, names never collide."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from querybus.core.failure import Failure
from querybus.ops.metrics import Metrics
from querybus_executor.connections.config import parse_connections
from querybus_executor.engines.registry import Engines
from querybus_executor.ports import Purpose, Rows
from tests.support.database_servers import free_port, missing
from tests.support.postgres_over_tcp import own_account, postgres_over_tcp

pytestmark = pytest.mark.servers
PROGRAM = Path("/usr/sbin/pgbouncer")


@pytest.fixture(scope="module")
def pooled() -> Iterator[str]:
    """Give the URL of a pooler as it comes, with two sessions of a server whose role has other settings."""
    if not PROGRAM.exists():
        missing("no PgBouncer: Debian's package pgbouncer brings it")
    with postgres_over_tcp() as server, tempfile.TemporaryDirectory(prefix="qb-pgb-") as name:
        port, file = free_port(), Path(name) / "pgbouncer.ini"
        file.write_text(
            f"[databases]\nsales = host={server.folder} port={server.port} dbname=sales user=reader\n[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {port}\nauth_type = any\npool_mode = transaction\n"
            "unix_socket_dir =\ndefault_pool_size = 2\n"
        )
        if os.geteuid() == 0:
            shutil.chown(name, "postgres", "postgres")
        server.execute("ALTER ROLE reader SET IntervalStyle = 'iso_8601'; ALTER ROLE reader SET DateStyle = 'German';")
        running = subprocess.Popen(
            [PROGRAM, file], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **own_account()
        )
        try:
            time.sleep(1)
            yield f"postgres://reader@127.0.0.1:{port}/sales?search_path=shop&pgbouncer=true"
        finally:
            running.terminate()
            running.wait(timeout=30)


async def test_many_statements_over_two_sessions_read_alike_and_none_writes(pooled: str) -> None:
    engines = Engines(children=1, reserved=1)
    configs = parse_connections({"connections": [{"name": "sales", "url": pooled}]}, {})
    (database,) = engines.connected(configs, metrics=Metrics("test"))

    async def run(sql: str) -> Rows | Failure:
        return await database.run(sql, rows_max=5, seconds_max=20, purpose=Purpose.EXECUTE)

    try:
        catalog = await database.refresh()
        assert not isinstance(catalog, Failure), catalog
        sql = "SELECT {}, max(placed), interval '1 day 2 hours', ARRAY[1, 2] FROM orders"
        for number, result in enumerate(await asyncio.gather(*(run(sql.format(number)) for number in range(40)))):
            assert isinstance(result, Rows), result
            assert [list(row) for row in result.rows] == [[number, "2026-04-01", "1 day 02:00:00", "[1, 2]"]]
        assert isinstance(await run("INSERT INTO orders VALUES (999) RETURNING id"), Failure)
    finally:
        await engines.drain()
