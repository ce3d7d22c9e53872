"""Replicas on another machine join by configuration alone: the bus's address, a password, the same connections."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.fault_load import Load, is_linear, read_logs
from benchmarks.fault_stack import FaultStack, Plan
from querybus.core.subjects import EventName, StageName
from querybus_cli.local.answers import DEMO
from querybus_cli.local.supervise import Replica, Supervisor

pytestmark = [pytest.mark.connected, pytest.mark.slow, pytest.mark.timeout(240)]

QUERIES = 20
MOVED = (StageName.GENERATOR, StageName.GATEWAY)
"""What the second machine runs; the first keeps the rest."""


def elsewhere(replica: Replica, folder: Path) -> Replica:
    """Return the same service as another machine runs it: reported by its environment, with a folder of its own."""
    environment = {**replica.environment, "QUERYBUS_HTTP_PORT": "0", "HOME": str(folder), "TMPDIR": str(folder)}
    return replace(replica, number=2, environment=environment, log_file=folder / f"{replica.service}-2.log")


@pytest.mark.requirement("card.16")
async def test_a_second_group_of_processes_joins_and_takes_over(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    async with FaultStack(first, Plan(model_delay_seconds=0.05)) as stack:
        moved = [replica for replica in stack.supervisor.replicas if replica.service in MOVED]
        others = Supervisor(tuple(elsewhere(item, second) for item in moved), print)
        running = asyncio.create_task(others.run())
        try:
            await joined(stack)
            load = Load(stack, queries=QUERIES, seconds=4.0, seed=1)
            async with asyncio.TaskGroup() as group:
                group.create_task(load.run())
                await asyncio.sleep(2)
                # In the middle of the load the first machine gives them up.
                for path in moved:
                    stack.supervisor.retire(path.name)
            figures = await load.figures()
            assert (figures.accepted, figures.answered) == (QUERIES, QUERIES), figures
            assert (figures.lost, figures.finished_twice, figures.forked) == (0, 0, 0)
            assert not {path.name for path in moved} & set(stack.supervisor.pids())
            async with stack.client() as client:
                request: dict[str, Any] = {"question": "How many customers are there?", "connection": DEMO}
                assert (await client.call("ask", request | {"wait_seconds": 30}))["outcome"] == "answered"
            logs = await read_logs(stack)
            assert all(is_linear(log) for log in logs.values())
            assert all(log[-1].address.event is EventName.FINISHED for log in logs.values())
        finally:
            others.stop()
            await asyncio.gather(running, return_exceptions=True)


async def joined(stack: FaultStack) -> None:
    """Wait until each of their durables is pulled by two replicas."""
    connection = await stack.bus.connect("migrate")
    try:
        async with asyncio.timeout(90):
            for name in MOVED:
                while ((await connection.jetstream(timeout=30).consumer_info("QUERYBUS", name)).num_waiting or 0) < 2:
                    await asyncio.sleep(0.2)
    finally:
        await connection.close()
