"""The gauges of the bus say what the leader of each durable and stream says, and nothing when it is silent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.admin.gauges import BusGauges
from querybus.bus.connection import Held
from querybus.bus.pull import Message, PullLoop
from querybus.core.subjects import StageName
from querybus.core.topology import ASSERTED_STREAMS
from querybus.ops.clock import follow_clock, system_clock
from querybus.ops.metrics import Metrics
from tests.connected.queries import ask, sizes, until

pytestmark = pytest.mark.connected


@pytest.fixture
async def bus() -> AsyncIterator[EmbeddedNats]:
    async with EmbeddedNats(sync="2m", sizes=sizes()) as server:
        await server.migrate()
        yield server


async def test_lag_age_and_workers_of_a_durable_are_reported(bus: EmbeddedNats) -> None:
    gateway, generator = await bus.connect("gateway"), await bus.connect("generator")
    metrics = Metrics("generator")
    gauges = BusGauges(
        Held(generator), StageName.GENERATOR, metrics=metrics, clock=lambda: system_clock() + 60_000, period_seconds=60
    )
    taken: list[int] = []
    let_go = asyncio.Event()

    async def hold(message: Message) -> None:
        taken.append(message.sequence)
        if len(taken) == 1:
            await let_go.wait()
        await message.ack()

    try:
        for _ in range(3):
            await ask(gateway)
        await gauges.look()
        assert metrics.value("querybus_consumer_pending", consumer="generator") == 3
        assert metrics.value("querybus_consumer_waiting", consumer="generator") == 0
        assert 60 <= metrics.value("querybus_consumer_oldest_seconds", consumer="generator") < 90
        loop = PullLoop(Held(generator), stream="QUERYBUS", durable="generator", slots=1, handle=hold)
        await loop.start()
        await until(lambda: len(taken) == 1)
        await gauges.look()
        assert metrics.value("querybus_consumer_ack_pending", consumer="generator") == 1
        assert metrics.value("querybus_consumer_pending", consumer="generator") == 2
        let_go.set()
        await until(lambda: len(taken) == 3)
        await asyncio.sleep(0.2)
        await gauges.look()
        assert metrics.value("querybus_consumer_pending", consumer="generator") == 0
        assert metrics.value("querybus_consumer_oldest_seconds", consumer="generator") == 0
        assert metrics.value("querybus_consumer_waiting", consumer="generator") == 1
        await loop.drain()
    finally:
        await gateway.close()
        await generator.close()


async def test_a_silent_leader_is_unknown_and_not_zero(bus: EmbeddedNats) -> None:
    connection = await bus.connect("generator")
    metrics = Metrics("generator")
    gauges = BusGauges(Held(connection), StageName.GENERATOR, metrics=metrics)
    await gauges.look()
    assert b'querybus_consumer_pending{consumer="generator"} 0.0' in metrics.exposition()
    await connection.close()
    await gauges.look()
    assert b'querybus_consumer_pending{consumer="generator"}' not in metrics.exposition()
    assert metrics.value("querybus_bus_leader", kind="consumer", name="generator") == 0


async def test_the_gateway_reports_the_size_of_every_stream_within_its_rights(bus: EmbeddedNats) -> None:
    trouble: list[Exception] = []

    async def note(error: Exception) -> None:
        trouble.append(error)

    connection = await bus.connect("gateway", on_error=note)
    metrics = Metrics("gateway")
    await BusGauges(Held(connection), StageName.GATEWAY, metrics=metrics).look()
    for stream in ASSERTED_STREAMS[StageName.GATEWAY]:
        assert metrics.value("querybus_stream_bytes_limit", stream=stream) > 0
        assert metrics.value("querybus_bus_leader", kind="stream", name=stream) == 1
    assert trouble == []
    await connection.close()


@pytest.mark.parametrize("off_ms", [120_000, -120_000])
async def test_a_machine_whose_clock_is_off_follows_that_of_the_bus(
    bus: EmbeddedNats, off_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = time.time_ns
    monkeypatch.setattr("querybus.ops.clock.time.time_ns", lambda: right() + off_ms * 1_000_000)
    generator = await bus.connect("generator")
    try:
        assert abs(system_clock() - right() // 1_000_000) > 100_000
        await BusGauges(Held(generator), StageName.GENERATOR, metrics=Metrics("generator")).set_clock()
        assert abs(system_clock() - right() // 1_000_000) < 1_000
    finally:
        follow_clock(0)
        await generator.close()
