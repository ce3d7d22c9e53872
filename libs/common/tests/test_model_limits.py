"""Replicas together never grant more than a model key's limit: by the rule alone, and by four APIs on one counter."""

from __future__ import annotations

import asyncio
import random

import pytest

from querybus.llm.model_limits import LEASE_MS, Counters, Limit, Wish, granted
from querybus.llm.shared_limits import SharedLimit


class OneValue:
    """Counters with a revision, as the bus keeps them; every exchange takes a moment."""

    def __init__(self) -> None:
        self.values: dict[str, tuple[bytes, int]] = {}
        self.is_away = False

    async def read(self, key: str) -> tuple[bytes, int]:
        await asyncio.sleep(0.0005)
        if self.is_away:
            raise ConnectionError
        return self.values.get(key, (b"", 0))

    async def write(self, key: str, value: bytes, revision: int) -> bool:
        await asyncio.sleep(0.0005)
        if self.is_away:
            raise ConnectionError
        if self.values.get(key, (b"", 0))[1] != revision:
            return False
        self.values[key] = (value, revision + 1)
        return True


@pytest.mark.requirement("002.55")
def test_in_any_minute_no_more_than_the_limit_and_one_burst_is_granted():
    limit, dice = Limit(requests_per_minute=60), random.Random(7)
    counters, now, times = Counters(), 1_000_000, list[int]()
    for _ in range(4_000):
        now += dice.randrange(0, 400)
        counters, grant = granted(counters, f"r{dice.randrange(4)}", limit, Wish(dice.randrange(1, 9), 0, 0), now)
        times += [now] * grant.requests
    for start in range(0, len(times), 10):
        assert sum(1 for at in times[start:] if at < times[start] + 60_000) <= 60 + 6 + 1
    assert len(times) > 0.95 * (now - 1_000_000) / 1_000


def test_tokens_that_a_reply_took_more_are_paid_by_the_next():
    limit = Limit(tokens_per_minute=6_000)
    counters, grant = granted(Counters(), "a", limit, Wish(1, 500, 0), 1_000_000)
    assert grant.requests == 1
    counters, grant = granted(counters, "a", limit, Wish(1, 500, 0, owed_tokens=1_000), 1_001_000)
    assert grant.requests == 0
    assert grant.again_ms > 5_000


def test_what_a_dead_replica_held_is_free_after_its_lease():
    limit = Limit(concurrency_max=4)
    counters, grant = granted(Counters(), "dead", limit, Wish(4, 0, 0), 1_000_000)
    assert grant.slots == 4
    counters, grant = granted(counters, "b", limit, Wish(2, 0, 0), 1_000_500)
    assert grant.requests == 0
    _, grant = granted(counters, "b", limit, Wish(2, 0, 0), 1_000_000 + LEASE_MS + 1)
    assert grant.requests == 2


@pytest.mark.long
async def test_four_replicas_never_run_more_calls_at_once_than_the_key_allows():
    shared, running, most, done = OneValue(), 0, 0, 0

    async def call(limit: SharedLimit) -> None:
        nonlocal running, most, done
        async with limit.call(10) as turn:
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.004)
            running -= 1
            done += 1
            turn.took = 12

    limits = [SharedLimit("key", Limit(concurrency_max=6), shared, replica=f"r{n}") for n in range(4)]
    async with asyncio.timeout(60):
        await asyncio.gather(*(call(limits[n % 4]) for n in range(120)))
    assert (done, most <= 6) == (120, True)
    assert most >= 4
    await asyncio.gather(*(limit.drain() for limit in limits))


@pytest.mark.long
async def test_four_replicas_keep_to_requests_per_minute_together():
    shared, begun = OneValue(), 0

    async def call(limit: SharedLimit) -> None:
        nonlocal begun
        async with limit.call(10):
            begun += 1

    limits = [SharedLimit("key", Limit(requests_per_minute=600), shared, replica=f"r{n}") for n in range(4)]
    clock = asyncio.get_running_loop().time
    started = clock()
    calls = [asyncio.create_task(call(limits[n % 4])) for n in range(200)]
    async with asyncio.timeout(60):
        while begun < 60:
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.5)
    # Ten a second, and a burst of sixty.
    assert begun <= 60 + 10 * (clock() - started + 0.5) + 2
    for task in calls:
        task.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    await asyncio.gather(*(limit.drain() for limit in limits))


@pytest.mark.long
async def test_a_limit_that_cannot_be_counted_grants_nothing_and_goes_on_when_it_can():
    shared = OneValue()
    shared.is_away = True
    limit = SharedLimit("key", Limit(concurrency_max=1), shared, replica="r")

    async def call() -> None:
        async with limit.call(1):
            pass

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(call(), 0.3)
    shared.is_away = False
    await asyncio.wait_for(call(), 60)
    await limit.drain()


async def test_a_cancelled_call_gives_its_place_back():
    shared = OneValue()
    limit = SharedLimit("key", Limit(concurrency_max=1), shared, replica="r")
    entered = asyncio.Event()

    async def hold() -> None:
        async with limit.call(1):
            entered.set()
            await asyncio.sleep(60)

    first = asyncio.create_task(hold())
    await entered.wait()
    waiting = asyncio.create_task(hold())
    await asyncio.sleep(0.05)
    waiting.cancel()
    first.cancel()
    await asyncio.gather(first, waiting, return_exceptions=True)
    async with asyncio.timeout(60):
        async with limit.call(1):
            pass
    await limit.drain()
