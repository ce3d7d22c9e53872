"""Processes that one benchmark starts, counts and ends: none outlives it, whether it ends well, by error or by Ctrl-C.

CPU and memory are read from /proc (Linux) and include what a process has started itself; ticks of 10 ms.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).resolve().parents[1]
STOP_SECONDS = 10.0
LOG_LINES_SHOWN = 15
LINE_BYTES_MAX = 4 << 20
PORTS = range(20_000, 32_000)
"""Below those that Linux gives to outgoing connections."""
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class ProcessGroup:
    """Named processes, as an async context manager; their words go to `<directory>/<name>.log`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._processes: dict[str, asyncio.subprocess.Process] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self.stop(*self._processes)

    async def start(
        self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None, *, speaks: bool = False
    ) -> None:
        """Start one that Ctrl-C does not reach. `speaks`: what it prints is read by `line`, else it goes to the log."""
        with (self._directory / f"{name}.log").open("ab") as log:
            self._processes[name] = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE if speaks else log,
                limit=LINE_BYTES_MAX,
                stderr=log,
                cwd=ROOT,
                env=clean_environment() | dict(environment or {}),
                start_new_session=True,
            )

    async def line(self, name: str) -> str:
        """Return the next line that the process prints; RuntimeError with its log if it ends before."""
        output = self._processes[name].stdout
        assert output is not None
        said = await output.readline()
        if not said:
            lines = (self._directory / f"{name}.log").read_text(errors="replace").splitlines()
            raise RuntimeError(f"{name} ended:\n" + "\n".join(lines[-LOG_LINES_SHOWN:]))
        return said.decode().strip()

    def report(self, name: str, line: str) -> None:
        """Write a line to the process's input."""
        given = self._processes[name].stdin
        assert given is not None
        given.write(line.encode() + b"\n")

    def names(self, prefix: str) -> list[str]:
        return [name for name in self._processes if name.startswith(prefix)]

    def pids(self, *prefixes: str) -> list[int]:
        """Return the process ids of those that run and whose names begin so."""
        return [
            process.pid
            for name, process in self._processes.items()
            if process.returncode is None and name.startswith(prefixes or ("",))
        ]

    async def stop(self, *names: str) -> None:
        """End these processes in order, by force after STOP_SECONDS."""
        ended = [self._processes.pop(name) for name in names]
        for item in ended:
            _signal(item, signal.SIGTERM)
        for item in ended:
            try:
                # What it still prints must not keep it.
                await asyncio.wait_for(item.communicate(), STOP_SECONDS)
            except TimeoutError:
                _signal(item, signal.SIGKILL)
                await item.wait()
            except asyncio.CancelledError:
                for other in ended:
                    _signal(other, signal.SIGKILL)
                raise


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(number)


def clean_environment() -> dict[str, str]:
    """Return this process's environment without settings of QueryBus, with the repository importable."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("QUERYBUS_")}
    return clean | {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}


def with_children(pids: Iterable[int]) -> set[int]:
    """Return these processes and all that descend from them."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            parents[int(entry.name)] = int(fields[1])
    result = set(pids)
    while more := {pid for pid, parent in parents.items() if parent in result} - result:
        result |= more
    return result


def cpu_seconds(pids: Iterable[int]) -> float:
    """Return the CPU time of these processes so far, with that of children that have ended."""
    return sum(sum(map(int, fields[11:15])) for pid in pids if (fields := _stat(pid))) / _TICKS


def proportional_mb(pids: Iterable[int]) -> float:
    """Return the resident memory; a page that several processes share counts once over all of them."""
    lines = [line for pid in pids for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1_024


def memory_mb(pids: Iterable[int]) -> float:
    """Return the resident memory; pages that processes share count in each."""
    return sum(int(fields[21]) for pid in pids if (fields := _stat(pid))) * _PAGE / (1 << 20)


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/<pid>/stat from the third (state) on; empty if the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
