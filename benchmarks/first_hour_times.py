"""Times and sizes of a first hour: the set-up, one `querybus ask`, `querybus up` until it is ready, each beside a floor.

A floor is measured in the same run, so that the ratio says more than the machine's mood: Python's empty environment for the
set-up, one statement by the driver in a Python of its own for `ask`, the import of the gateway alone for `up`.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import httpx

from benchmarks.process_group import ROOT, clean_environment, proportional_mb, with_children
from querybus_cli.local.ports import free_ports
from querybus_cli.local.up import is_ready

BIN: Final = Path(sys.executable).parent
ROUNDS: Final = 3
SECONDS_MAX: Final = 300.0
SET_UP_SECONDS_MAX: Final = 1_800.0
_STATEMENT: Final = """
import asyncio, asyncpg, sys
async def main():
    connection = await asyncpg.connect(sys.argv[1])
    print(await connection.fetchval(sys.argv[2]))
asyncio.run(main())
"""


def measure_times(url: str, folder: Path, *, with_set_up: bool) -> dict[str, Any]:
    """Return seconds, megabytes and ratios by what they are of; `url` is a PostgreSQL's with at least one table.

    `with_set_up` sets up another environment, which fetches every package unless this machine has a cache of them.
    """
    count = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'public'"
    (table,) = _output([sys.executable, "-c", _STATEMENT, url, _first_table()]).split()
    question = f"How many {table.replace('_', ' ')} are there?"
    ask = _seconds([str(BIN / "querybus"), "ask", question, "--database", url], codes=(0, 1))
    plain = _seconds([sys.executable, "-c", _STATEMENT, url, count])
    up, first, memory = _up(url, folder, question)
    floor = _seconds([sys.executable, "-c", "import querybus_gateway.app"])
    times: dict[str, Any] = {
        "querybus ask, seconds": ask,
        "querybus ask / one statement by the driver": round(ask / plain, 1),
        "querybus up until ready, seconds": up,
        "querybus up / import of the gateway": round(up / floor, 1),
        "first question to a new stack, seconds": first,
        "memory of the stack, MB": memory,
        "environment of this run, MB": _megabytes(BIN.parent),
        "environment of this run, packages": len(list(BIN.parent.glob("lib/python*/site-packages/*.dist-info"))),
    }
    return times | (_set_up(folder) if with_set_up else {})


def _first_table() -> str:
    return "SELECT min(table_name) FROM information_schema.tables WHERE table_schema = 'public'"


def _run(command: Sequence[str], codes: Sequence[int] = (0,)) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(
        command, env=clean_environment(), capture_output=True, text=True, timeout=SECONDS_MAX, check=False
    )
    if ended.returncode not in codes:
        raise RuntimeError(f"{command[0]} ended with {ended.returncode}: {ended.stderr[-2_000:]}")
    return ended


def _output(command: Sequence[str]) -> str:
    return _run(command).stdout


def _seconds(command: Sequence[str], codes: Sequence[int] = (0,)) -> float:
    return round(median(_timed(lambda: _run(command, codes)) for _ in range(ROUNDS)), 2)


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _ask_over_http(port: int, key: str, question: str) -> None:
    reply = httpx.post(
        f"http://127.0.0.1:{port}/v1/queries",
        json={"question": question},
        headers={"Authorization": f"Bearer {key}", "Prefer": "wait=60"},
        timeout=90,
        trust_env=False,
    )
    reply.raise_for_status()


def _up(url: str, folder: Path, question: str) -> tuple[float, float, float]:
    """Return the seconds until all processes are ready, those of the first question, and the memory in MB."""
    store = folder / "up"
    (folder / "up.yaml").write_text(json.dumps({"connections": [{"name": "first", "url": url}]}))
    (port,) = free_ports(1)
    command = [str(BIN / "querybus"), "up", "--store", str(store), "--port", str(port)]
    begun = time.perf_counter()
    with (folder / "up.log").open("w") as log:
        running = subprocess.Popen(
            [*command, "--connections", str(folder / "up.yaml")], env=clean_environment(), stdout=log, stderr=log
        )
    try:
        while not _all_ready(store):
            if running.poll() is not None or time.perf_counter() - begun > SECONDS_MAX:
                raise RuntimeError(f"querybus up is not ready: {(folder / 'up.log').read_text()[-2_000:]}")
            time.sleep(0.05)
        ready = time.perf_counter() - begun
        key = json.loads((store / "keys.json").read_text())["business"]
        first = _timed(lambda: _ask_over_http(port, key, question))
        return round(ready, 2), round(first, 2), round(proportional_mb(with_children([running.pid])))
    finally:
        running.send_signal(signal.SIGINT)
        running.wait(timeout=60)


def _all_ready(store: Path) -> bool:
    file = store / "processes.json"
    return file.exists() and all(is_ready(address) for address in json.loads(file.read_text()).values())


def _set_up(folder: Path) -> dict[str, Any]:
    """Set up a new environment as the Makefile does; what the packages' cache of this machine holds is not fetched again."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        environment = Path(name) / "venv"
        command = ["make", "--no-print-directory", "setup", f"VENV={environment}"]
        begun = time.perf_counter()
        running = subprocess.Popen(command, env=clean_environment(), cwd=ROOT, start_new_session=True)
        try:
            if running.wait(timeout=SET_UP_SECONDS_MAX) != 0:
                raise RuntimeError("make setup failed; what it printed is above")
        finally:
            # What make has started would go on without it.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
        seconds = time.perf_counter() - begun
        size = _megabytes(environment)
        floor = _timed(lambda: _run([sys.executable, "-m", "venv", str(Path(name) / "empty")]))
    return {
        "make setup, seconds": round(seconds, 1),
        "make setup, MB": size,
        "make setup / an empty environment": round(seconds / floor, 1),
    }


def _megabytes(folder: Path) -> int:
    """Return what the files of a folder take, each counted once however many names it has."""
    files = {(item.st_dev, item.st_ino): item.st_size for item in map(os.lstat, map(str, folder.rglob("*")))}
    return round(sum(files.values()) / 1e6)
