"""Under load a replica of each service is added, the first ones are restarted, and the added ones go, some by kill -9.

Nothing is lost, nothing ends twice, and the gauges by which replicas are added and removed fall back to nothing.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import urllib.request
from collections.abc import Awaitable, Collection, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.fault_house import FaultHouse, Plan
from benchmarks.fault_load import Asked, Load, is_linear, read_logs
from querybus.core.subjects import READS, EventName, StageName
from querybus_cli.run_up import is_ready
from querybus_cli.supervise import Replica, Supervisor
from tests.journeys.test_up import free_port

pytestmark = [pytest.mark.connected, pytest.mark.slow, pytest.mark.timeout(240)]

QUERIES = 40
SECONDS = 4.0
"""Of each step: every one has callers of its own, whatever the machine takes for it."""
KILLED = (StageName.EXECUTOR, StageName.GENERATOR)
"""Whose added replica is not asked to go."""
READY_SECONDS = 90.0
LAG = re.compile(r'^querybus_consumer_(?:ack_)?pending\{consumer="([a-z]+)"\} (\S+)$', re.MULTILINE)


def address(replica: Replica) -> str:
    return f"http://127.0.0.1:{replica.environment['QUERYBUS_HTTP_PORT']}"


def another(replica: Replica, folder: Path) -> Replica:
    """Return a second replica of the same service: the same environment, a port and a log of its own."""
    environment = {**replica.environment, "QUERYBUS_HTTP_PORT": str(free_port())}
    return replace(replica, number=2, environment=environment, log_file=folder / f"{replica.service}-2.log")


async def ready(replicas: Iterable[Replica]) -> None:
    async with asyncio.timeout(READY_SECONDS):
        for each in replicas:
            while not await asyncio.to_thread(is_ready, address(each)):
                await asyncio.sleep(0.1)


async def restarted(house: FaultHouse, replicas: Collection[Replica]) -> None:
    """Ask replicas to end, and return when new processes are ready in their place."""
    before = house.supervisor.pids()
    for each in replicas:
        assert house.signal(each.name, signal.SIGTERM), each.name
    async with asyncio.timeout(READY_SECONDS):
        for each in replicas:
            while house.supervisor.pids().get(each.name) in (before[each.name], None):
                await asyncio.sleep(0.1)
    await ready(replicas)


def lags(replicas: Iterable[Replica]) -> dict[str, float]:
    """Return by durable the most that a replica tells of messages that wait or are in hand."""
    found: dict[str, float] = {}
    for each in replicas:
        try:
            with urllib.request.urlopen(f"{address(each)}/metrics", timeout=5) as response:
                text = response.read().decode()
        except OSError:
            continue
        for name, value in LAG.findall(text):
            found[name] = max(found.get(name, 0.0), float(value))
    return found


class Journey:
    """A running house, and the questions that were asked of it in each step."""

    def __init__(self, house: FaultHouse) -> None:
        self.house = house
        self.asked: list[Asked] = []

    async def under_load(self, step: Awaitable[None]) -> None:
        """Do something while callers ask; it begins when some of them have asked and others have not yet."""
        load = Load(self.house, queries=0, seconds=SECONDS, seed=len(self.asked))
        load.asked = [Asked(len(self.asked) + number) for number in range(QUERIES)]
        self.asked += load.asked
        async with asyncio.TaskGroup() as group:
            group.create_task(load.run())
            await asyncio.sleep(SECONDS / 4)
            await step

    def whole(self) -> Load:
        """Return the load of all steps together, for its figures."""
        load = Load(self.house, queries=0, seconds=SECONDS, seed=0)
        load.asked = self.asked
        return load


async def test_replicas_come_die_restart_and_go_under_load_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    async with FaultHouse(tmp_path, Plan(model_delay_seconds=0.4)) as house:
        firsts = {each.service: each for each in house.supervisor.replicas}
        seconds = {service: another(each, tmp_path) for service, each in firsts.items()}
        assert set(firsts) == set(StageName)
        others = Supervisor(tuple(seconds.values()), print)
        journey = Journey(house)
        running = asyncio.create_task(others.run())
        seen = [0.0]
        looking = asyncio.create_task(look(firsts.values(), seen))
        try:
            await journey.under_load(ready(seconds.values()))
            await journey.under_load(restarted(house, firsts.values()))
            await journey.under_load(removed(others, running))

            load = journey.whole()
            figures = await load.figures()
            count = len(load.asked)
            assert (figures.accepted, figures.finished, figures.answered) == (count, count, count), figures
            assert (figures.lost, figures.finished_twice, figures.forked) == (0, 0, 0), figures
            assert (figures.unheard, figures.expired, figures.late) == (0, 0, 0), figures
            logs = await read_logs(house)
            assert all(is_linear(log) for log in logs.values())
            assert all(log[-1].address.event is EventName.FINISHED for log in logs.values())

            assert max(seen) > 0, "the gauges never showed the load"
            async with asyncio.timeout(30):
                while lags(firsts.values()) != {str(stage): 0.0 for stage in READS}:
                    await asyncio.sleep(0.5)
        finally:
            looking.cancel()
            others.stop()
            await asyncio.gather(running, looking, return_exceptions=True)


async def look(replicas: Iterable[Replica], seen: list[float]) -> None:
    """Note what the gauges show until cancelled."""
    while True:
        seen.extend((await asyncio.to_thread(lags, replicas)).values())
        await asyncio.sleep(0.5)


async def removed(others: Supervisor, running: asyncio.Task[None]) -> None:
    """End every replica of a supervisor, those of KILLED at once."""
    pids = others.pids()
    for each in others.replicas:
        others.retire(each.name)
        if each.service in KILLED:
            os.kill(pids[each.name], signal.SIGKILL)
    await running
