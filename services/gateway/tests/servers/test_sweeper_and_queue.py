"""Queries that nobody else ends, and queries that wait for their turn: each finishes exactly once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio

from querybus.bus.admin.operator import OperatorActions
from querybus.bus.admin.permissions import OPERATOR
from querybus.bus.connection import Held
from querybus.bus.stores.buckets import CounterStore
from querybus.core.failure import FailureCode
from querybus.core.messages import Outcome
from querybus.core.subjects import EventName, StageName
from querybus.core.topology import MAX_DELIVER
from querybus.ops.clock import system_clock
from querybus_gateway.app import build
from querybus_gateway.lifecycle.follow_mark import FollowMark
from querybus_gateway.lifecycle.in_flight import OpenQueries
from querybus_gateway.lifecycle.sweeper import Sweeper

from .stack_of_tests import ApiStack, api_stack, settings_of

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

QUESTION: dict[str, Any] = {"question": "How many customers?", "connection": "shop"}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stack() -> AsyncGenerator[ApiStack]:
    async with api_stack(in_flight_max=2, in_flight_total_max=2) as made:
        yield made


def short(seconds: float) -> dict[str, Any]:
    return QUESTION | {"options": {"deadline_seconds": seconds}}


async def ended(stack: ApiStack, query: str, seconds: float = 60) -> tuple[Outcome, FailureCode | None]:
    log = await stack.until(query, EventName.CONCLUDED, seconds)
    body = next(entry for entry in log if entry.address.event is EventName.CONCLUDED).envelope().body
    return body.outcome, body.code


async def test_a_query_that_nobody_works_on_expires_soon_after_its_deadline(stack: ApiStack) -> None:
    async with stack.client() as client:
        query = (await client.call("ask", short(0.5)))["query_id"]
        deadline = (await stack.log(query))[0].envelope().deadline_at
        assert await ended(stack, query) == (Outcome.EXPIRED, FailureCode.EXPIRED)
        assert system_clock() - deadline < 4_000
        await stack.finish(query)
        assert (await client.call("answer", {"query_id": query}))["outcome"] == "expired"


async def test_a_query_that_stopped_half_way_expires_with_what_was_tried(stack: ApiStack) -> None:
    async with stack.client() as client:
        query = (await client.call("ask", short(1)))["query_id"]
        await stack.draft(query)
        await ended(stack, query)
        envelope = (await stack.log(query))[-1].envelope()
        assert len(envelope.attempts) == 1
        assert [step.stage for step in envelope.path][-1] == "sweeper"
        await stack.finish(query)


async def test_two_sweepers_end_a_query_once(stack: ApiStack) -> None:
    second = build(settings_of(stack.bus))
    await second.start()
    try:
        async with stack.client() as client:
            query = (await client.call("ask", short(0.3)))["query_id"]
            await ended(stack, query)
            await asyncio.sleep(1.5)
            assert await stack.events(query) == ["asked", "concluded"]
            await stack.finish(query)
    finally:
        await second.stop()


async def test_a_gateway_that_starts_later_still_ends_what_is_overdue(stack: ApiStack) -> None:
    async with stack.client() as client:
        query = (await client.call("ask", short(0.3)))["query_id"]
        await stack.gateway.stop()
        await asyncio.sleep(0.3)
        stack.gateway = build(settings_of(stack.bus, in_flight_max=2, in_flight_total_max=2))
        await stack.gateway.start()
        assert (await ended(stack, query))[0] is Outcome.EXPIRED
        await stack.finish(query)


async def test_a_gateway_that_starts_later_follows_the_log_from_where_all_before_has_ended(stack: ApiStack) -> None:
    async with stack.client() as client:
        done = (await client.call("ask", short(20)))["query_id"]
        await stack.answer(done)
        overdue = (await client.call("ask", short(0.3)))["query_id"]
        await asyncio.sleep(0.1)
        begun = (await stack.log(overdue))[0].sequence
        await stack.gateway.stop()
        stack.gateway = build(settings_of(stack.bus, in_flight_max=2, in_flight_total_max=2))
        marked = await CounterStore(Held(await stack.user(StageName.GATEWAY))).read("log.followed")
        assert int(marked[0]) == begun
        await stack.gateway.start()
        assert (await ended(stack, overdue))[0] is Outcome.EXPIRED
        await stack.finish(overdue)


async def test_a_mark_beyond_the_logs_end_is_not_believed() -> None:
    class Marked:
        async def read(self, key: str) -> tuple[bytes, int]:
            return b"100", 1

        async def write(self, key: str, value: bytes, revision: int, *, once: str = "") -> bool:
            return True

    async def log_end(end: int) -> int:
        return end

    assert await FollowMark(Marked(), OpenQueries(), lambda: log_end(50)).start_sequence() == 1
    assert await FollowMark(Marked(), OpenQueries(), lambda: log_end(99)).start_sequence() == 100


async def test_a_replica_that_lags_makes_no_query_forgotten(stack: ApiStack, monkeypatch: pytest.MonkeyPatch) -> None:
    sweeper = next(part for part in stack.gateway.parts if isinstance(part, Sweeper))
    journal = sweeper._journal  # pyright: ignore[reportPrivateUsage]

    async def behind(_: object) -> tuple[()]:
        return ()

    async with stack.client() as client:
        query = (await client.call("ask", short(0.3)))["query_id"]
        with monkeypatch.context() as patched:
            patched.setattr(journal, "query_at", behind)
            await asyncio.sleep(2.5)
            assert await stack.events(query) == ["asked"]
        assert (await ended(stack, query))[0] is Outcome.EXPIRED
        await stack.finish(query)


@pytest.mark.requirement("002.53", "002.56")
async def test_what_exceeds_the_tenants_cap_waits_and_is_released_in_turn(stack: ApiStack) -> None:
    async with stack.client() as client:
        queries = [(await client.call("ask", QUESTION))["query_id"] for _ in range(4)]
        states = [(await client.call("answer", {"query_id": query}))["status"] for query in queries]
        assert states == ["running", "running", "queued", "queued"]
        assert await stack.events(queries[2]) == []
        await stack.answer(queries[0])
        await stack.until(queries[2], EventName.ASKED, 5)
        assert (await client.call("answer", {"query_id": queries[3]}))["status"] == "queued"
        envelope = (await stack.log(queries[2]))[0].envelope()
        assert envelope.query_id == queries[2], "its id was fixed when it was accepted"
        for item in (queries[1], queries[2]):
            await stack.answer(item)
        await stack.until(queries[3], EventName.ASKED, 5)
        await stack.answer(queries[3])


async def test_a_query_that_waits_can_be_cancelled_and_read_by_its_owner_only(stack: ApiStack) -> None:
    async with stack.client() as client, stack.client("acme", "lab") as colleague, stack.http() as http:
        running = [(await client.call("ask", QUESTION))["query_id"] for _ in range(2)]
        waiting = (await http.post("/v1/queries", json=QUESTION, headers={"Idempotency-Key": "w1"})).json()
        assert waiting["status"] == "queued"
        replayed = await http.post("/v1/queries", json=QUESTION, headers={"Idempotency-Key": "w1"})
        assert replayed.json()["id"] == waiting["id"]
        assert replayed.headers["idempotency-replayed"] == "true"
        assert (await colleague.call("cancel", {"query_id": waiting["id"]}))["code"] == "not_found"
        reply = await client.call("cancel", {"query_id": waiting["id"]})
        assert reply["query_id"] == waiting["id"]
        assert await stack.events(waiting["id"]) == ["asked", "concluded"]
        assert (await stack.log(waiting["id"]))[-1].envelope().body.outcome is Outcome.CANCELLED
        await stack.finish(waiting["id"])
        for item in running:
            await stack.answer(item)
        await asyncio.sleep(0.5)
        assert await stack.events(waiting["id"]) == ["asked", "concluded", "finished"]


async def test_a_query_whose_deadline_passes_while_it_waits_expires(stack: ApiStack) -> None:
    async with stack.client() as client:
        running = [(await client.call("ask", QUESTION))["query_id"] for _ in range(2)]
        waiting = (await client.call("ask", short(0.5)))["query_id"]
        assert await ended(stack, waiting) == (Outcome.EXPIRED, FailureCode.EXPIRED)
        await stack.finish(waiting)
        for item in running:
            await stack.answer(item)


async def test_a_draft_that_nobody_could_handle_ends_its_query_as_failed(stack: ApiStack) -> None:
    async with stack.client() as client:
        query = (await client.call("ask", QUESTION))["query_id"]
        await stack.draft(query)
        before = stack.gateway.metrics.value("querybus_dead_letters_total", stage="validator")
        await _terminate(stack, StageName.VALIDATOR, query)
        assert await ended(stack, query) == (Outcome.FAILED, FailureCode.INTERNAL)
        assert stack.gateway.metrics.value("querybus_dead_letters_total", stage="validator") == before + 1
        await stack.finish(query)
        assert (await client.call("answer", {"query_id": query}))["outcome"] == "failed"


@pytest.mark.parametrize("how", ["terminated", "exhausted"])
async def test_whatever_way_a_message_dies_it_lies_once_among_the_dead_letters_and_its_query_ends(
    stack: ApiStack, how: str
) -> None:
    async with stack.client() as client:
        query = (await client.call("ask", QUESTION))["query_id"]
        await stack.draft(query)
        dead = (await stack.log(query))[-1]
        await (_terminate if how == "terminated" else _exhaust)(stack, StageName.VALIDATOR, query)
        assert await ended(stack, query) == (Outcome.FAILED, FailureCode.INTERNAL)
        await stack.finish(query)
        assert (await client.call("answer", {"query_id": query}))["outcome"] == "failed"
    operator = await stack.bus.connect(OPERATOR)
    try:
        result = [letter for letter in await OperatorActions(operator).letters() if f".{query}." in letter.subject]
    finally:
        await operator.close()
    assert [(item.stage, item.subject, item.subject_sequence, item.data) for item in result] == [
        ("validator", dead.address.subject, dead.sequence, dead.data)
    ]
    assert result[0].deliveries == (1 if how == "terminated" else MAX_DELIVER)
    assert result[0].reason == ("deliveries exhausted" if how == "exhausted" else "terminated")


async def test_a_dead_conclusion_is_phrased_from_the_plain_template_and_counted(stack: ApiStack) -> None:
    before = stack.gateway.metrics.value("querybus_queries_total", outcome="answered", **{"pass": "none"})
    async with stack.client() as client:
        query = (await client.call("ask", QUESTION))["query_id"]
        await stack.conclude(query)
        await _terminate(stack, StageName.PRESENTER, query)
        await stack.until(query, EventName.FINISHED)
        answer = await client.call("answer", {"query_id": query})
    assert answer["outcome"] == "answered"
    assert answer["rows"] == [["上海"], ["Rome"]]
    assert stack.gateway.metrics.value("querybus_queries_total", outcome="answered", **{"pass": "none"}) == before + 1


async def test_a_message_of_a_newer_version_on_the_log_still_ends(stack: ApiStack) -> None:
    """What no service can read is dead-lettered, and its query is ended with what is known of it."""
    query = "0190a0a0-0000-7000-8000-0000000000f9"
    gateway = await stack.user(StageName.GATEWAY)
    body = b'{"envelope_version": "9.0", "user": "ann", "question": "?"}'
    headers = {"Querybus-Deadline": str(system_clock() + 60_000)}
    await gateway.jetstream().publish(f"querybus.v1.event.acme.{query}.{query}.asked", body, headers=headers)
    await _terminate(stack, StageName.GENERATOR, query)
    assert await ended(stack, query) == (Outcome.FAILED, FailureCode.INTERNAL)
    await stack.finish(query)
    async with stack.client() as client:
        assert (await client.call("answer", {"query_id": query}))["outcome"] == "failed"


async def test_every_query_of_these_tests_has_left_no_open_one_behind(stack: ApiStack) -> None:
    async with stack.client() as client:
        queries = [(await client.call("ask", QUESTION))["query_id"] for _ in range(2)]
        assert all([(await client.call("answer", {"query_id": query}))["status"] == "running" for query in queries])
        for query in queries:
            await stack.answer(query)
    assert stack.gateway.metrics.value("querybus_permission_violations_total") == 0


async def _exhaust(stack: ApiStack, stage: StageName, query: str) -> None:
    """Take the query's last event as often as it is delivered and settle it never, as workers do that die of it."""
    last = (await stack.log(query))[-1]
    connection = await stack.user(stage)
    subscription = await connection.jetstream().pull_subscribe_bind(stage, stream="QUERYBUS")
    deliveries = 0
    while deliveries < MAX_DELIVER:
        for message in await subscription.fetch(1, timeout=5):
            if message.metadata.sequence.stream == last.sequence:
                deliveries = message.metadata.num_delivered
                await message.nak()
            else:
                await message.ack()
    # The bus says something of it only once somebody asks for more.
    with contextlib.suppress(TimeoutError):
        await subscription.fetch(1, timeout=0.5)


async def _terminate(stack: ApiStack, stage: StageName, query: str) -> None:
    """Take the stage's messages up to the query's last event, and refuse that one for good."""
    last = (await stack.log(query))[-1]
    connection = await stack.user(stage)
    subscription = await connection.jetstream().pull_subscribe_bind(stage, stream="QUERYBUS")
    while True:
        for message in await subscription.fetch(1, timeout=5):
            if message.metadata.sequence.stream == last.sequence:
                await message.term()
                await connection.flush()
                return
            await message.ack()
