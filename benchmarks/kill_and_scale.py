"""Adds replicas to a running stack, restarts service after service and takes replicas away again, all under load.

`querybus up` with the settings of production (two replicas of each service once they are added, every write synced, its
`ack_wait`, the start-up check of the bus), a stub model in a process of its own, callers at the bus API who go on asking
for as long as a step takes. A rolling restart is SIGTERM to one replica and the next one's turn when its successor is
ready. What became of each query is read from the log; the lag is what the gauges say by which replicas are scaled
(`querybus_consumer_pending` and `_ack_pending`). Prints a table, writes build/bench/kill_and_scale.json and fails if a
query is lost, doubled, not answered or not in time, or if the lag does not fall back to nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from http.client import HTTPException
from pathlib import Path
from typing import Any

from benchmarks.fault_load import Asked, Figures, Load
from benchmarks.fault_stack import HELD_SECONDS, READY_SECONDS, ROOT, FaultStack, Plan
from benchmarks.faults import machine
from querybus.core.subjects import READS, StageName
from querybus_cli.local.local_stack import SERVICES
from querybus_cli.local.ports import free_ports
from querybus_cli.local.supervise import Replica, Supervisor
from querybus_cli.local.up import is_ready

KILLED = (StageName.EXECUTOR, StageName.GENERATOR)
"""Whose added replica is not asked to go but killed, with messages in its hands."""
WAVE_SECONDS = 3.0
"""Callers come in waves of this length, each wave of a connection of its own, until the step is done."""
LOOK_SECONDS = 0.5
LAG_SECONDS_MAX = 60.0
"""How long after the last answer of a step the gauges may show something; they look every five seconds themselves."""
NONE_OF = ("not_answered", "lost", "finished_twice", "forked", "unreceived", "expired", "late")
"""What no step may show."""
NO_LAG: Mapping[str, float] = {str(stage): 0.0 for stage in READS}
_LAG = re.compile(r'^querybus_consumer_(ack_)?pending\{consumer="([a-z]+)"\} (\S+)$', re.MULTILINE)


@dataclass(frozen=True)
class Size:
    """How much of it is done."""

    per_second: float = 10.0
    baseline_waves: int = 3
    """Waves without any step, to compare with; 0: none."""
    added: tuple[StageName, ...] = SERVICES
    """The services that get a second replica; a rolling restart takes each replica in its turn."""
    restarts_added: bool = True
    """Whether it takes the added ones too."""
    waits_for_lag: bool = True
    """Whether each step waits until the lag is gone, or the last one only."""
    plan: Plan = field(default_factory=lambda: Plan(ack_wait_seconds=None, is_production=True, model_delay_seconds=0.4))
    """A model slow enough that messages are in hand whenever a process ends."""


@dataclass(frozen=True)
class Step:
    """What one step did. Counts are of the queries that were asked in it."""

    title: str
    seconds: float
    """From the step's begin until it was done; callers ask a little longer."""
    accepted: int
    answered: int
    not_answered: int
    finished_twice: int
    lost: int
    forked: int
    unreceived: int
    expired: int
    late: int
    refused: int
    worst_delay_seconds: float
    lag_max: float
    """The most messages that waited or were in hand at one durable."""
    lag_seconds: float
    """From the last answer of the step until no gauge showed anything."""

    def broken(self) -> list[str]:
        """Return what the step shows that it must not; empty if it is as required."""
        values = asdict(self)
        return [f"{name} {values[name]}" for name in NONE_OF if values[name]]


class Journey:
    """A running stack with a second replica of each service that comes and goes."""

    def __init__(self, stack: FaultStack, size: Size, say: Callable[[Step], None]) -> None:
        self._stack = stack
        self._size = size
        self._say = say
        self._firsts = {replica.service: replica for replica in stack.supervisor.replicas}
        ports = free_ports(len(size.added))
        self._seconds = {item: _second(self._firsts[item], port) for item, port in zip(size.added, ports, strict=True)}
        self._others = Supervisor(tuple(self._seconds.values()), stack.said.append)
        self._asked = 0
        self._loads: list[Load] = []
        self._known: set[str] = set()
        self.steps: list[Step] = []

    async def run(self) -> None:
        """Go through all steps; TimeoutError if a replica does not become ready or the lag does not go."""
        running: asyncio.Task[None] | None = None
        try:
            if self._size.baseline_waves:
                await self._step("nothing", asyncio.sleep(WAVE_SECONDS * self._size.baseline_waves))
            running = asyncio.create_task(self._others.run())
            of = "each service" if set(self._seconds) == set(SERVICES) else ", ".join(self._seconds)
            await self._step(f"a replica of {of} is added", _ready(self._seconds.values()))
            for service in SERVICES:
                await self._step(f"rolling restart of {service}", self._restart(service))
            killed = " and ".join(KILLED)
            await self._step(f"the added ones go, {killed} by kill -9", self._remove(running), is_last=True)
            await self._look_back()
        finally:
            self._others.stop()
            if running is not None:
                await asyncio.gather(running, return_exceptions=True)

    async def _step(self, title: str, work: Coroutine[Any, Any, None], *, is_last: bool = False) -> None:
        """Do something while callers ask; it begins when some have asked and others are about to."""
        loads: list[Load] = []
        seen = [0.0]
        looking = asyncio.create_task(self._look(seen))
        try:
            async with asyncio.TaskGroup() as group:
                self._wave(loads, group)
                await asyncio.sleep(WAVE_SECONDS / 4)
                begun = time.monotonic()
                working = group.create_task(work)
                while not working.done():
                    await asyncio.wait([working], timeout=WAVE_SECONDS)
                    if not working.done():
                        self._wave(loads, group)
                seconds = time.monotonic() - begun
            answered = time.monotonic()
            async with asyncio.timeout(LAG_SECONDS_MAX):
                while (is_last or self._size.waits_for_lag) and await self._lags() != NO_LAG:
                    await asyncio.sleep(LOOK_SECONDS)
            lag_seconds = time.monotonic() - answered
        finally:
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking
        whole = self._together(loads)
        self._note(title, await whole.figures(besides=self._known), seconds, max(seen), lag_seconds)
        self._known |= {item.query_id for item in whole.asked}
        self._loads += loads

    async def _look_back(self) -> None:
        """Note what the log says at the end of the queries of all steps: none may have ended again since."""
        figures = await self._together(self._loads).figures()
        seconds = sum(step.seconds for step in self.steps)
        lag_max = max(step.lag_max for step in self.steps)
        self._note("all of it, read at the end", figures, seconds, lag_max, self.steps[-1].lag_seconds)

    def _together(self, loads: Iterable[Load]) -> Load:
        whole = Load(self._stack, queries=0, seconds=0.0, seed=0)
        whole.asked = [item for load in loads for item in load.asked]
        return whole

    def _note(self, title: str, figures: Figures, seconds: float, lag_max: float, lag_seconds: float) -> None:
        step = Step(
            title=title,
            seconds=round(seconds, 1),
            accepted=figures.accepted,
            answered=figures.answered,
            not_answered=figures.accepted - figures.answered,
            finished_twice=figures.finished_twice,
            lost=figures.lost,
            forked=figures.forked,
            unreceived=figures.unreceived,
            expired=figures.expired,
            late=figures.late,
            refused=figures.refused,
            worst_delay_seconds=figures.worst_delay_seconds,
            lag_max=lag_max,
            lag_seconds=round(lag_seconds, 1),
        )
        self.steps.append(step)
        self._say(step)

    def _wave(self, loads: list[Load], group: asyncio.TaskGroup) -> None:
        load = Load(self._stack, queries=0, seconds=WAVE_SECONDS, seed=self._asked)
        load.asked = [Asked(self._asked + number) for number in range(round(WAVE_SECONDS * self._size.per_second))]
        self._asked += len(load.asked)
        loads.append(load)
        group.create_task(load.run())

    async def _restart(self, service: StageName) -> None:
        replicas = [(self._stack.supervisor, self._firsts[service])]
        if self._size.restarts_added and service in self._seconds:
            replicas.append((self._others, self._seconds[service]))
        for supervisor, replica in replicas:
            before = supervisor.pids()[replica.name]
            os.kill(before, signal.SIGTERM)
            async with asyncio.timeout(READY_SECONDS):
                while supervisor.pids().get(replica.name) in (before, None):
                    await asyncio.sleep(0.1)
            await _ready([replica])

    async def _remove(self, running: asyncio.Task[None]) -> None:
        pids = self._others.pids()
        for service in KILLED:
            os.kill(pids[self._seconds[service].name], signal.SIGSTOP)
        await asyncio.sleep(HELD_SECONDS)
        for service, replica in self._seconds.items():
            self._others.retire(replica.name)
            if service in KILLED:
                os.kill(pids[replica.name], signal.SIGKILL)
        await running

    async def _lags(self) -> dict[str, float]:
        return await asyncio.to_thread(_lags, tuple(self._firsts.values()))

    async def _look(self, seen: list[float]) -> None:
        while True:
            seen.extend((await self._lags()).values())
            await asyncio.sleep(LOOK_SECONDS)


def _second(first: Replica, port: int) -> Replica:
    """Return a second replica of the same service: the same environment, a port and a log of its own."""
    log = first.log_file.with_name(f"{first.service}-2.log")
    return replace(first, number=2, environment={**first.environment, "QUERYBUS_HTTP_PORT": str(port)}, log_file=log)


def _address(replica: Replica) -> str:
    return f"http://127.0.0.1:{replica.environment['QUERYBUS_HTTP_PORT']}"


async def _ready(replicas: Iterable[Replica]) -> None:
    async with asyncio.timeout(READY_SECONDS):
        for replica in replicas:
            while not await asyncio.to_thread(is_ready, _address(replica)):
                await asyncio.sleep(0.1)


def _lags(replicas: Sequence[Replica]) -> dict[str, float]:
    """Return by durable the most messages that a replica says something of, waiting and in hand together."""
    result: dict[str, float] = {}
    for replica in replicas:
        try:
            with urllib.request.urlopen(f"{_address(replica)}/metrics", timeout=5) as response:
                reported = _LAG.findall(response.read().decode())
        except (OSError, HTTPException):
            # It is just being restarted.
            continue
        mine: dict[str, float] = {}
        for _, name, value in reported:
            mine[name] = mine.get(name, 0.0) + float(value)
        for name, value in mine.items():
            result[name] = max(result.get(name, 0.0), value)
    return result


async def measure(size: Size, directory: Path, say: Callable[[Step], None] = lambda _: None) -> list[Step]:
    """Run the whole journey in a stack of its own; return its steps, and last what became of all their queries."""
    async with FaultStack(directory, size.plan) as stack:
        journey = Journey(stack, size, say)
        await journey.run()
    return journey.steps


COLUMNS = (
    ("seconds", "seconds"),
    ("accepted", "accepted"),
    ("answered", "answered"),
    ("lost", "lost"),
    ("finished_twice", "twice"),
    ("refused", "refused"),
    ("worst_delay_seconds", "worst delay s"),
    ("lag_max", "most lag"),
    ("lag_seconds", "lag gone after s"),
)


def print_step(step: Step) -> None:
    values = asdict(step)
    cells = " ".join(f"{values[key]:>{max(8, len(title))}g}" for key, title in COLUMNS)
    wrong = step.broken()
    print(f"{step.title:52}{cells}" + (f"  NOT MET: {', '.join(wrong)}" if wrong else ""), flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--per-second", type=float, default=Size.per_second, help="questions that callers ask")
    given = parser.parse_args(arguments)
    begun = time.monotonic()
    print(f"{'':52}" + " ".join(f"{title:>{max(8, len(title))}}" for _, title in COLUMNS), flush=True)
    directory = Path(tempfile.mkdtemp(prefix="querybus-scale-"))
    try:
        steps = asyncio.run(measure(Size(per_second=given.per_second), directory, print_step))
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    met = not any(step.broken() for step in steps)
    print(f"{'met' if met else 'NOT MET'}; {time.monotonic() - begun:.0f} s; load average {os.getloadavg()[0]:.1f}")
    folder = ROOT / "build" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    report = {
        "name": "kill_and_scale",
        "figures": {"steps": [asdict(step) for step in steps]},
        "required": dict.fromkeys(NONE_OF, 0),
        "met": met,
        "machine": machine(),
    }
    (folder / "kill_and_scale.json").write_text(json.dumps(report, indent=1))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
