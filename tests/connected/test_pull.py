"""The pull loop on a real bus: never more messages than slots, and never deaf for long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import nats.errors
import pytest
from nats.aio.client import Client
from nats.js.api import ConsumerInfo
from nats.js.client import JetStreamContext

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.connection import START_REQUESTS_SECONDS, Held
from querybus.bus.pull import Handle, Message, PullLoop
from querybus.core.subjects import StageName
from tests.connected.queries import ask, sizes, until

pytestmark = pytest.mark.connected


@pytest.fixture
async def bus() -> AsyncIterator[EmbeddedNats]:
    quick = dict.fromkeys(StageName, 1.0)
    async with EmbeddedNats(sync="2m", sizes=sizes(ack_wait_seconds=quick)) as server:
        await server.migrate()
        yield server


@pytest.fixture
async def gateway(bus: EmbeddedNats) -> AsyncIterator[Client]:
    connection = await bus.connect(StageName.GATEWAY)
    yield connection
    await connection.close()


class Hands:
    """A handler that acks after a while and knows how many messages it held at once."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.seen: list[int] = []
        self.held = 0
        self.most_held = 0
        self.may_go = asyncio.Event()

    async def __call__(self, message: Message) -> None:
        self.seen.append(message.sequence)
        self.held += 1
        self.most_held = max(self.most_held, self.held)
        try:
            await asyncio.sleep(self.seconds)
            await message.ack()
        finally:
            self.held -= 1


@asynccontextmanager
async def pulling(bus: EmbeddedNats, hands: Handle, *, slots: int, **more: Any):
    connection = await bus.connect(StageName.GENERATOR)
    more = {"drain_seconds": 2.0, "jitter": lambda: 0.0} | more
    loop = PullLoop(Held(connection), stream="QUERYBUS", durable="generator", slots=slots, handle=hands, **more)
    await loop.start()
    try:
        yield loop, connection
    finally:
        await loop.drain()
        await connection.close()


@pytest.mark.parametrize("slots", [1, 3, 8])
async def test_no_more_messages_are_held_than_there_are_slots(bus, gateway, slots):
    hands = Hands(seconds=0.02)
    claimed: list[int] = []
    async with pulling(bus, hands, slots=slots) as (loop, _):
        asking = asyncio.gather(*(ask(gateway) for _ in range(60)))
        while len(hands.seen) < 60:
            claimed.append(loop._outstanding + loop.in_flight)
            await asyncio.sleep(0.001)
        await asking
    assert hands.most_held == slots
    assert max(claimed) <= slots
    assert len(set(hands.seen)) == len(hands.seen) == 60


@pytest.mark.requirement("002.57", "card.16")
async def test_two_workers_share_the_work_and_nothing_is_done_twice(bus, gateway):
    first, second = Hands(0.005), Hands(0.005)
    async with pulling(bus, first, slots=2), pulling(bus, second, slots=2):
        await asyncio.gather(*(ask(gateway) for _ in range(40)))
        await until(lambda: len(first.seen) + len(second.seen) == 40)
    assert first.seen
    assert second.seen
    assert len({*first.seen, *second.seen}) == 40


async def test_a_request_that_ran_out_is_asked_again(bus, gateway):
    hands = Hands()
    async with pulling(bus, hands, slots=2, request_seconds=0.4, heartbeat_seconds=0.1):
        await asyncio.sleep(1.0)
        await ask(gateway)
        await until(lambda: len(hands.seen) == 1, 1)


async def test_many_idle_rounds_never_lose_count(bus, gateway):
    hands = Hands(seconds=0.05)
    async with pulling(bus, hands, slots=4, request_seconds=0.2, heartbeat_seconds=0.05):
        for _ in range(12):
            await ask(gateway)
            await asyncio.sleep(0.09)
        await until(lambda: len(hands.seen) == 12)
        await asyncio.gather(*(ask(gateway) for _ in range(30)))
        await until(lambda: len(hands.seen) == 42)
    assert hands.most_held <= 4


async def test_after_a_restart_of_the_bus_messages_come_again(bus, gateway):
    hands = Hands()
    async with pulling(bus, hands, slots=3) as (loop, connection):
        await ask(gateway)
        await until(lambda: len(hands.seen) == 1)
        await bus.restart(by_force=True)
        await until(lambda: connection.is_connected and gateway.is_connected)
        _, sequence = await ask(gateway)
        # The ack of the first may have died with the server, so only the second is sure to come once.
        await until(lambda: sequence in hands.seen, 5)
        assert await loop.ping() is None


async def test_a_silent_bus_is_asked_again(bus, gateway):
    hands = Hands()
    async with pulling(bus, hands, slots=2, heartbeat_seconds=0.2) as (loop, _):
        # The request is lost without a word, as after a change of the leader.
        assert loop._subscription is not None
        await loop._subscription.unsubscribe()
        await until(lambda: loop._generation > 1, 3)
        await ask(gateway)
        await until(lambda: len(hands.seen) == 1, 2)


async def test_a_deleted_consumer_is_reported_and_ends_the_pulling(bus, gateway):
    lost: list[str] = []
    async with pulling(bus, Hands(), slots=2, on_lost=lost.append) as (loop, _):
        await delete_consumer(bus)
        await until(lambda: bool(lost), 5)
        assert "generator" in lost[0]
        assert await loop.ping() == lost[0]
        assert len(lost) == 1


async def delete_consumer(bus: EmbeddedNats) -> None:
    """No user may delete a consumer, so take the stored one away and start the server again."""
    await bus._terminate()
    for folder in bus._directory().rglob("streams/QUERYBUS/obs/generator"):
        for file in sorted(folder.rglob("*"), reverse=True):
            file.unlink() if file.is_file() else file.rmdir()
        folder.rmdir()
    await bus.start()


async def test_a_consumer_that_does_not_exist_is_an_error_at_the_start(bus):
    connection = await bus.connect(StageName.GENERATOR)
    await delete_consumer(bus)
    await until(lambda: connection.is_connected)
    loop = PullLoop(Held(connection), stream="QUERYBUS", durable="generator", slots=1, handle=Hands())
    with pytest.raises(LookupError, match="querybus operate migrate"):
        await loop.start()
    await connection.close()


async def test_a_handler_that_raises_gets_its_message_back_with_a_delay(bus, gateway):
    runs: list[float] = []

    async def fail(message: Message) -> None:
        runs.append(asyncio.get_running_loop().time())
        if len(runs) == 1:
            raise RuntimeError
        await message.ack()

    async with pulling(bus, fail, slots=1):
        await ask(gateway)
        await until(lambda: len(runs) == 2)
    assert 0.9 <= runs[1] - runs[0] <= 1.6


async def test_a_message_knows_its_sequence_delivery_and_the_last_one(bus, gateway):
    seen: list[tuple[int, int, bool]] = []

    async def note(message: Message) -> None:
        seen.append((message.sequence, message.deliveries, message.is_last_delivery))
        await message.nak(0.01)

    async with pulling(bus, note, slots=1):
        _, sequence = await ask(gateway)
        await until(lambda: len(seen) == 5)
        await asyncio.sleep(0.2)
    assert seen == [(sequence, n, n == 5) for n in range(1, 6)]


async def test_a_loop_that_starts_while_the_cluster_has_no_leader_asks_again_for_its_consumer(
    bus: EmbeddedNats, gateway: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    consumer_info = JetStreamContext.consumer_info

    async def drops(self: JetStreamContext, stream: str, consumer: str) -> ConsumerInfo:
        waited.append(self._timeout)
        if len(waited) < len(START_REQUESTS_SECONDS):
            raise nats.errors.TimeoutError
        return await consumer_info(self, stream, consumer)

    monkeypatch.setattr(JetStreamContext, "consumer_info", drops)
    await ask(gateway)
    hands = Hands()
    async with pulling(bus, hands, slots=4):
        await until(lambda: len(hands.seen) == 1)
    assert waited == list(START_REQUESTS_SECONDS)


async def test_a_message_that_comes_again_while_it_is_worked_on_is_not_begun_twice(bus, gateway, monkeypatch):
    async def nothing(_: Message) -> None:
        """What keeps a message does not reach the server, as while the bus is away."""

    monkeypatch.setattr(Message, "keep", nothing)
    hands = Hands(seconds=2.6)
    async with pulling(bus, hands, slots=4) as (_, connection):
        await ask(gateway)
        await until(lambda: len(hands.seen) == 1)
        await until(lambda: hands.held == 0, 10)

        async def settled() -> bool:
            # The acknowledgement is on its way when the hands are empty.
            info = await connection.jetstream().consumer_info("QUERYBUS", "generator")
            return info.num_ack_pending == info.num_pending == 0

        await until(settled)
        info = await connection.jetstream().consumer_info("QUERYBUS", "generator")
        assert info.delivered is not None
        assert info.delivered.consumer_seq > 1, "it was not delivered again"
    assert len(hands.seen) == 1
