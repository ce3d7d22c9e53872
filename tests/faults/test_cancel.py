"""A cancel ends a query wherever it is: at a stage that hangs, in a model call, in its tenant's queue, on a paused worker."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from benchmarks.fault_stack import FaultStack, Plan
from querybus.core.subjects import EventName, StageName
from querybus_cli.local.answers import DEMO
from tests.faults.faulty_stack import CONNECTION, Fault, FaultyStack, assert_linear, faulty_stack
from tests.support.scripted_model import say

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

HANGING = [StageName.GENERATOR, StageName.VALIDATOR, StageName.EXECUTOR]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[FaultyStack]:
    async with faulty_stack(tmp_path_factory.mktemp("cancel")) as made:
        yield made


async def cancel(stack: FaultyStack, query: str) -> None:
    """Cancel a query that would go on for an hour, and assert what both callers receive."""
    async with stack.stack.client("analyst") as client:
        reply = await client.call("cancel", {"query_id": query})
        assert reply.get("code") in (None, "cancelled"), reply
        ended = await client.call("answer", {"query_id": query, "wait_seconds": 30})
        assert ended["outcome"] == "cancelled"
        late = await client.call("cancel", {"query_id": query})
        assert (late["code"], late["outcome"]) == ("already_finished", "cancelled")
    log = await stack.log(query)
    assert_linear(log)
    assert [entry.address.event for entry in log][-2:] == [EventName.CONCLUDED, EventName.FINISHED]


@pytest.mark.parametrize("stage", HANGING)
async def test_a_query_that_hangs_in_a_stage_is_cancelled_there(stack: FaultyStack, stage: StageName) -> None:
    question = f"How many customers are there, hanging in {stage}?"
    stack.faults[question] = {stage: Fault("hang")}
    async with stack.stack.client("analyst") as client:
        query = (await client.call("ask", {"question": question, "connection": CONNECTION}))["query_id"]
    fault = stack.faults[question][stage]
    async with asyncio.timeout(60):
        while not fault.struck:
            await asyncio.sleep(0.02)
    await cancel(stack, query)
    async with asyncio.timeout(60):
        while await stack.unsettled():
            await asyncio.sleep(0.05)


async def test_the_call_to_the_model_is_given_up(stack: FaultyStack) -> None:
    question = "How many customers are there, says a slow model?"
    stack.context.scripts[question] = [say("SELECT 1", delay_seconds=3_600.0)]
    async with stack.stack.client("analyst") as client:
        query = (await client.call("ask", {"question": question, "connection": CONNECTION}))["query_id"]
    async with asyncio.timeout(60):
        while not stack.model.running:
            await asyncio.sleep(0.02)
    await cancel(stack, query)
    async with asyncio.timeout(60):
        while stack.model.running:
            await asyncio.sleep(0.02)


@pytest.mark.slow
@pytest.mark.timeout(200)
async def test_a_query_on_a_paused_worker_or_waiting_behind_it_is_cancelled(tmp_path: Path) -> None:
    async with FaultStack(tmp_path, Plan()) as stack, stack.client() as client:
        stack.signal("generator-1", signal.SIGSTOP)
        request: dict[str, Any] = {"question": "How many customers are there?", "connection": DEMO}
        queries = [(await client.call("ask", request))["query_id"] for _ in range(20)]
        await asyncio.gather(*(client.call("cancel", {"query_id": query}) for query in queries))
        ends = await asyncio.gather(
            *(client.call("answer", {"query_id": query, "wait_seconds": 30}) for query in queries)
        )
        # The worker is still paused: none of them has ended by its work.
        assert {item["outcome"] for item in ends} == {"cancelled"}
        stack.signal("generator-1", signal.SIGCONT)
        again = await client.call("ask", request | {"wait_seconds": 30})
        assert again["outcome"] == "answered"
        late = [await client.call("answer", {"query_id": query}) for query in queries]
        assert {item["outcome"] for item in late} == {"cancelled"}
