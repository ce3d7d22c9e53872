"""Measures the executor's SQLite edge against the bare driver on the same machine in the same run.

A tiny statement through the child process against sqlite3 in a thread; many rows against the driver with Arrow
encoding; 200 statements at once on a pool of four; how long a cancelled statement lives; what a child weighs.
Prints a table and writes build/bench/executor.json.
"""

from __future__ import annotations

import asyncio
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

from querybus.bus.pages import encode_page
from querybus.core.policy import ConnectionPolicy
from querybus_executor.ports import Purpose, Rows
from querybus_executor.sqlite import sqlite_children, sqlite_edge

ROOT = Path(__file__).resolve().parents[1]
TINY = "SELECT name FROM item WHERE id = 77"
MANY = "SELECT id, name, price, day FROM item LIMIT 100001"
ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"
ROUNDS = 1_500
REQUIRED = {"tiny_more_ms": 0.5, "cancel_worst_ms": 300.0, "child_mb": 50.0, "failed_of_200": 0.0}


def shop(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL, day TEXT)")
        rows = ((n, f"item number {n}", n * 0.25, f"2026-{n % 12 + 1:02d}-{n % 28 + 1:02d}") for n in range(100_000))
        database.executemany("INSERT INTO item VALUES (?, ?, ?, ?)", rows)
        database.commit()


async def medians(one: Callable[[], Awaitable[object]], other: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """Return the median milliseconds of two calls, taken in turn so that both see the same machine."""
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(ROUNDS + 100):
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


def _resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/statm")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20 if status.exists() else 0.0


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shop.sqlite"
        shop(path)
        figures = {name: round(value, 3) for name, value in asyncio.run(measure(path)).items()}
    met = all(figures[name] <= limit for name, limit in REQUIRED.items())
    machine = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version, "cores": os.cpu_count()}
    for name, value in figures.items():
        required = f"  (at most {REQUIRED[name]:g})" if name in REQUIRED else ""
        print(f"{name:<20} {value:>10.3f}{required}")
    report = {"name": "executor", "figures": figures, "required": REQUIRED, "met": met, "machine": machine}
    target = ROOT / "build" / "bench" / "executor.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(report, indent=2) + "\n")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
