"""Two gateways on one bus: whoever lands on either one finds the same queries, threads and answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import pytest_asyncio

from querybus.bus.application import Service
from querybus_gateway.app import build
from querybus_gateway.http.server import HttpApi

from .stack_of_tests import ApiStack, api_stack, data_of, frames_of, key_of, settings_of

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

QUESTION: dict[str, Any] = {"question": "How many customers?", "connection": "shop"}


@dataclass
class Pair:
    stack: ApiStack
    other: Service

    def here(self) -> httpx.AsyncClient:
        return self.stack.http("acme", "lab")

    def there(self) -> httpx.AsyncClient:
        address = next(part.address for part in self.other.parts if isinstance(part, HttpApi))
        headers = {"Authorization": f"Bearer {key_of('acme', 'lab')}"}
        return httpx.AsyncClient(base_url=address, headers=headers, timeout=40)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def pair() -> AsyncGenerator[Pair]:
    async with api_stack() as stack:
        other = build(settings_of(stack.bus))
        await other.start()
        try:
            yield Pair(stack, other)
        finally:
            await other.stop()


async def test_a_query_asked_at_one_is_followed_at_the_other_and_resumed_at_the_first(pair: Pair) -> None:
    async with pair.here() as here, pair.there() as there:
        query = (await here.post("/v1/queries", json=QUESTION)).json()["id"]
        following = asyncio.create_task(there.get(f"/v1/queries/{query}/events"))
        await asyncio.sleep(0.2)
        await pair.stack.answer(query)
        frames = [frame for frame in frames_of((await following).text) if frame["event"] != "progress"]
        assert [frame["event"] for frame in frames] == ["asked", "concluded", "finished"]
        assert data_of(frames[-1])["answer"]["outcome"] == "answered"
        rest = await here.get(f"/v1/queries/{query}/events", headers={"Last-Event-ID": frames[0]["id"]})
        assert [frame["event"] for frame in frames_of(rest.text)] == ["concluded", "finished"]


async def test_who_waits_at_one_is_answered_though_it_was_asked_at_the_other(pair: Pair) -> None:
    async with pair.here() as here, pair.there() as there:
        query = (await here.post("/v1/queries", json=QUESTION)).json()["id"]
        waiting = asyncio.create_task(there.get(f"/v1/queries/{query}", headers={"Prefer": "wait=20"}))
        await asyncio.sleep(0.2)
        await pair.stack.answer(query)
        assert (await waiting).json()["answer"]["outcome"] == "answered"


async def test_a_cancel_at_both_ends_a_query_once_and_the_loser_receives_how(pair: Pair) -> None:
    async with pair.here() as here, pair.there() as there:
        query = (await here.post("/v1/queries", json=QUESTION)).json()["id"]
        both = await asyncio.gather(*(item.post(f"/v1/queries/{query}/cancel") for item in (here, there)))
        assert sorted(item.status_code for item in both) in ([202, 202], [202, 409])
        for item in both:
            if item.status_code == 409:
                assert item.json()["outcome"] == "cancelled"
        assert await pair.stack.events(query) == ["asked", "concluded"]
        await pair.stack.finish(query)


async def test_a_key_used_at_both_at_once_is_one_query_and_its_thread_is_listed_at_both(pair: Pair) -> None:
    headers = {"Idempotency-Key": "both"}
    async with pair.here() as here, pair.there() as there:
        replies = await asyncio.gather(
            *(item.post("/v1/queries", json=QUESTION, headers=headers) for item in (here, there))
        )
        assert len({reply.json()["id"] for reply in replies}) == 1
        thread = replies[0].json()["thread_id"]
        await pair.stack.answer(replies[0].json()["id"])
        for item in (here, there):
            listed = (await item.get("/v1/threads")).json()["threads"]
            assert [one["thread_id"] for one in listed].count(thread) == 1
