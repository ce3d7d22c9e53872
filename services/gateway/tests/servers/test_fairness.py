"""A tenant that asks a lot slows nobody down for long, and is itself slowed by nobody: measured on a real bus."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from querybus.bus.client import BusClient
from querybus.bus.connection import Held
from querybus.bus.log.publish import publish_event
from querybus.bus.pull import Message, PullLoop
from querybus.core.envelope import decode
from querybus.core.subjects import EventName, StageName
from querybus.ops.clock import system_clock
from querybus.text.plain_answer import plain_finished

from .stack_of_tests import ApiStack, api_stack, conclusion

pytestmark = [pytest.mark.connected, pytest.mark.slow, pytest.mark.timeout(290)]

MANY, FEW = 800, 20
SLOTS = 16
SHARE = 14
"""A tenant's; the total is what keeps the slots busy, so the one that asks a lot is lent two more."""
MODEL_SECONDS = 0.25
"""So long that the time of this test's own process hardly shows: 16 slots give 64 queries a second."""
SAMPLES = 3
ROUNDS = 3


@asynccontextmanager
async def slow_stages(stack: ApiStack) -> AsyncGenerator[None]:
    """Answer every question after the time of a model call, SLOTS at once."""

    async def think(message: Message) -> None:
        event = EventName(message.subject.rpartition(".")[2])
        envelope = decode(event, message.data)
        is_first = event is EventName.ASKED
        if is_first:
            await asyncio.sleep(MODEL_SECONDS)
        stage = StageName.GENERATOR if is_first else StageName.PRESENTER
        await publish_event(
            (await stack.user(stage)).jetstream(),
            conclusion(envelope) if is_first else plain_finished(envelope),
            input_sequence=message.sequence,
            expected_last_sequence=message.sequence,
            until_ms=system_clock() + 5_000,
        )
        await message.ack()

    loops = [
        PullLoop(Held(await stack.user(stage)), stream="QUERYBUS", durable=stage, slots=SLOTS, handle=think)
        for stage in (StageName.GENERATOR, StageName.PRESENTER)
    ]
    for loop in loops:
        await loop.start()
    try:
        yield
    finally:
        for loop in loops:
            await loop.drain()


async def submitted(client: BusClient, name: str, count: int) -> float:
    """Submit questions and return the seconds until each has its answer; none may be refused."""
    begun = time.monotonic()
    question = {"question": f"How many, {name}?", "connection": "shop", "options": {"deadline_seconds": 120}}
    async with client.answers() as answers:
        await asyncio.gather(*(client.submit(question, f"{name}-{number}") for number in range(count)))
        async with asyncio.timeout(100):
            received: set[str] = set()
            async for query, answer in answers:
                assert answer["outcome"] == "answered"
                received.add(query)
                if len(received) == count:
                    return time.monotonic() - begun
    raise AssertionError("the answers ended")


async def test_eight_hundred_of_one_tenant_and_twenty_of_another() -> None:
    async with (
        api_stack(in_flight_max=SHARE, in_flight_total_max=SLOTS) as stack,
        slow_stages(stack),
        stack.client("acme", "lab") as many,
        stack.client("other") as few,
    ):
        # Another program on the machine only ever makes a figure worse: the best of the rounds is the one to judge.
        slowdowns, shares = [], []
        for number in range(ROUNDS):
            slowdown, share = await _round(many, few, str(number))
            slowdowns.append(slowdown)
            shares.append(share)
            if min(slowdowns) <= 2 and max(shares) >= 0.8:
                break
    assert min(slowdowns) <= 2, slowdowns
    assert max(shares) >= 0.8, shares


async def _round(many: BusClient, few: BusClient, name: str) -> tuple[float, float]:
    """Return how many times longer the few take beside the many, and what share of their pace the many keep."""
    idle = [await submitted(few, f"{name}-idle-{number}", FEW) for number in range(SAMPLES)]
    alone = await submitted(many, f"{name}-alone", MANY)
    crowded = asyncio.create_task(submitted(many, f"{name}-crowded", MANY))
    await asyncio.sleep(2)
    beside = [await submitted(few, f"{name}-beside-{number}", FEW) for number in range(SAMPLES)]
    assert not crowded.done(), "the twenty came too late to be in anybody's way"
    together = await crowded
    print(f"few idle {idle} beside {beside}; many alone {alone:.2f} with the few {together:.2f}")
    return statistics.median(beside) / statistics.median(idle), alone / together
