"""A log that is full of what is an hour old makes place for new questions; one that is full of newer work refuses them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from querybus.bus.admin.gauges import BusGauges
from querybus.bus.connection import Held
from querybus.core.subjects import StageName
from querybus.core.topology import EVENTS
from querybus.ops.metrics import Metrics

from .stack_of_tests import ApiStack, api_stack

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

QUESTION = {"question": "How many customers?", "connection": "shop", "wait_seconds": 20}
LIMIT_BYTES = 64 * 1_024
HOUR_SECONDS = 3_600


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stack() -> AsyncGenerator[ApiStack]:
    async with api_stack() as made, made.stages():
        yield made


async def limit(stack: ApiStack, bytes_max: int) -> None:
    connection = await stack.bus.connect("migrate")
    try:
        info = json.loads((await connection.request(f"$JS.API.STREAM.INFO.{EVENTS}", b"", timeout=5)).data)
        config = json.dumps(info["config"] | {"max_bytes": bytes_max}).encode()
        reply = json.loads((await connection.request(f"$JS.API.STREAM.UPDATE.{EVENTS}", config, timeout=5)).data)
        assert "error" not in reply, reply
    finally:
        await connection.close()


async def test_a_full_log_is_judged_by_how_old_its_first_event_is(stack: ApiStack) -> None:
    await limit(stack, LIMIT_BYTES)
    async with stack.client("acme", "lab") as bob:
        answers = [await bob.call("ask", QUESTION) for _ in range(40)]
        # More than it holds: the oldest threads gave way, and every query ended.
        assert {answer["outcome"] for answer in answers} == {"answered"}
        assert (await bob.call("answer", {"query_id": answers[0]["query_id"]}))["code"] == "not_found"
        assert (await bob.call("answer", {"query_id": answers[-1]["query_id"]}))["outcome"] == "answered"
        gateway = await stack.user(StageName.GATEWAY)
        metrics = Metrics("gateway")
        await BusGauges(Held(gateway), StageName.GATEWAY, metrics=metrics).look()
        assert metrics.stream_turns_over(EVENTS, 0.9, HOUR_SECONDS)
        assert not metrics.stream_turns_over(EVENTS, 0.9, 0.0)
        async with asyncio.timeout(60):
            # The gateway looks every ten seconds.
            while (reply := await bob.call("ask", QUESTION)).get("code") != "bus_unavailable":
                await asyncio.sleep(0.2)
        assert reply["detail"] == "the log is full"
    await limit(stack, 64 * LIMIT_BYTES)
