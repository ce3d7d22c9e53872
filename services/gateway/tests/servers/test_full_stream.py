"""A bus without storage for the event log refuses a question with 503 and keeps no half of it; a full queue knows how many wait in it."""

from __future__ import annotations

from typing import Any

import pytest

from querybus.bus.admin.migrate import migrate
from querybus.bus.connection import Held
from querybus.core.subjects import EventName, StageName
from querybus.core.topology import EVENTS, topology
from querybus.ops.clock import system_clock
from querybus_gateway.bus.stores import SubmitQueue
from tests.support.full_streams import without_space

from .stack_of_tests import ApiStack, api_stack

pytestmark = pytest.mark.connected

QUESTION: dict[str, Any] = {"question": "How many customers?", "connection": "shop"}
KEY = {"Idempotency-Key": "when-there-is-room"}


async def limit(stack: ApiStack, free_bytes: int | None) -> None:
    connection = await stack.bus.connect("migrate")
    try:
        table = topology(stack.bus.sizes, stack.bus.tenants)
        if free_bytes is not None:
            used = (await connection.jetstream().stream_info(EVENTS)).state.bytes
            # By itself the log would forget its oldest events: here there is nothing to be had below it.
            table = without_space(table, EVENTS, used + free_bytes)
        await migrate(connection, table)
    finally:
        await connection.close()


async def test_a_full_stream_is_503_with_retry_after_and_nothing_is_half_accepted() -> None:
    async with api_stack() as stack, stack.http() as http, stack.client() as client:
        first = await http.post("/v1/queries", json=QUESTION)
        await stack.answer(first.json()["id"])
        await limit(stack, 64)
        refused = await http.post("/v1/queries", json=QUESTION, headers=KEY)
        assert refused.status_code == 503
        assert int(refused.headers["Retry-After"]) >= 1
        assert refused.json()["code"] == "bus_unavailable"
        called = await client.call("ask", QUESTION)
        assert (called["code"], called["retry_after_seconds"]) == ("bus_unavailable", 2)
        listed = (await http.get("/v1/threads")).json()["threads"]
        assert [item["thread_id"] for item in listed] == [first.json()["thread_id"]]
        state = (await (await stack.bus.connect("migrate")).jetstream().stream_info("QUERYBUS_SUBMIT")).state
        assert state.messages == 0
        await limit(stack, None)
        taken = await http.post("/v1/queries", json=QUESTION, headers=KEY)
        assert taken.status_code == 202
        assert "Idempotency-Replayed" not in taken.headers
        assert await stack.events(taken.json()["id"]) == ["asked"]
        await stack.answer(taken.json()["id"])


async def test_the_queue_counts_what_waits_whoever_holds_it() -> None:
    async with api_stack(in_flight_max=1, in_flight_total_max=1) as stack, stack.http() as http:
        queries = [(await http.post("/v1/queries", json=QUESTION)).json() for _ in range(4)]
        assert [query["status"] for query in queries] == ["running", "queued", "queued", "queued"]
        queue = SubmitQueue(Held(await stack.user(StageName.GATEWAY)), clock=system_clock)
        assert await queue.waiting("acme") == 3
        assert await queue.waiting("other") == 0
        for query in queries:
            await stack.until(query["id"], EventName.ASKED)
            await stack.answer(query["id"])
