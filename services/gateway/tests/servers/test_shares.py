"""One tenant's crowd, forks, submissions and batches take no more than that tenant's share."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any, cast

import pytest

from querybus.bus.requests.calls import Call
from querybus.core.subjects import submit_subject
from querybus.core.topology import SUBMITTED_MAX
from querybus.ops.trace import Tracing
from querybus_gateway.access.quotas import TenantLimits
from querybus_gateway.bus.api import BusApi
from querybus_gateway.use_cases.batches.batches import BATCHES_KEPT_MAX
from querybus_gateway.use_cases.bundle import UseCases

from .stack_of_tests import ApiStack, api_stack


class Slow:
    """A registry that answers once it is let go."""

    def __init__(self) -> None:
        self.credentials = self
        self.go = asyncio.Event()

    async def get(self, tenant: str, credential: str) -> None:
        await self.go.wait()

    def count(self, api: str, status: int) -> None:
        assert (api, status >= 400) == ("bus", True)


async def test_one_tenants_waiting_calls_leave_places_for_another_tenants():
    slow = Slow()
    api = BusApi(cast("UseCases", slow), tracing=Tracing("gateway"), calls_max=4)
    crowd = [asyncio.create_task(api.answer(Call("acme", "web", "answer", b"{}"))) for _ in range(2)]
    await asyncio.sleep(0)
    third = json.loads(await api.answer(Call("acme", "web", "answer", b"{}")))
    assert (third["code"], third["retry_after_seconds"]) == ("queue_full", 1)
    other = asyncio.create_task(api.answer(Call("other", "web", "answer", b"{}")))
    await asyncio.sleep(0)
    slow.go.set()
    answers = [json.loads(answer)["code"] for answer in await asyncio.gather(*crowd, other)]
    assert answers == ["unauthenticated"] * 3
    assert json.loads(await api.answer(Call("acme", "web", "answer", b"{}")))["code"] == "unauthenticated"


@pytest.mark.connected
async def test_submitted_questions_and_forks_are_held_to_the_tenants_rate():
    async with api_stack(tenant_limits={"acme": TenantLimits(rate_per_second=2, rate_burst=2)}) as stack:
        begun = time.monotonic()
        async with stack.outside() as outside:
            for number in range(5):
                body = json.dumps({"question": f"question {number}", "connection": "shop"}).encode()
                await outside.publish(submit_subject("acme", "web"), body)
            await outside.flush()
        journal = await stack.journal()
        async with asyncio.timeout(60):
            while len(await asked_of(stack)) < 5:
                await asyncio.sleep(0.05)
        # Two at once and the others half a second apart.
        assert time.monotonic() - begun > 1.2
        thread = next(iter(await asked_of(stack)))
        assert await journal.thread("acme", thread)
        async with stack.http() as person:
            codes = [(await person.post(f"/v1/threads/{thread}/fork", json={})).status_code for _ in range(5)]
        assert 429 in codes, codes


async def asked_of(stack: ApiStack) -> set[str]:
    async with stack.http() as person:
        threads: list[dict[str, Any]] = (await person.get("/v1/threads")).json()["threads"]
    return {thread["thread_id"] for thread in threads}


@pytest.mark.connected
async def test_one_credential_fills_its_own_share_of_the_submit_queue():
    async with api_stack(in_flight_max=1, in_flight_total_max=1) as stack:
        await stack.gateway.stop()
        gateway = await stack.user("gateway")  # pyright: ignore[reportArgumentType] - a stage's name
        refused = 0
        for number in range(SUBMITTED_MAX + 3):
            body = json.dumps({"question": f"question {number}", "connection": "shop"}).encode()
            try:
                await gateway.jetstream().publish(submit_subject("acme", "web"), body)
            except Exception:  # noqa: BLE001 - the server's refusal, whatever its class
                refused += 1
        assert refused == 3
        await gateway.jetstream().publish(submit_subject("other", "web"), b"{}")


@pytest.mark.connected
async def test_a_tenant_keeps_so_many_batches_and_no_more(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("querybus_gateway.use_cases.batches.batches.BATCHES_KEPT_MAX", 2)
    async with api_stack() as stack, stack.http() as person, stack.http("other", "web") as stranger:
        answers = []
        for number in range(3):
            items = [{"id": "one", "question": f"how many orders {number}?", "connection": "shop"}]
            made = await person.post("/v1/batches", json={"items": items})
            answers.append(made.status_code)
            if made.status_code < 300:
                await person.post(f"/v1/batches/{made.json()['id']}/cancel")
        assert answers == [202, 202, 429]
        items = [{"id": "one", "question": "how many orders?", "connection": "shop"}]
        assert (await stranger.post("/v1/batches", json={"items": items})).status_code == 202
    assert BATCHES_KEPT_MAX == 64
