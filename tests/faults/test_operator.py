"""What an operator can do about the past: read it, repeat it where nobody receives, and ask again what died."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from querybus.bus.stage_policy import ANNOUNCE_AFTER_SECONDS
from querybus.core.failure import FailureCode
from querybus.core.ids import is_id
from querybus.core.subjects import EventName, StageName, event_subject
from querybus_cli.local.local_stack import TENANT
from querybus_cli.operations.operator import Place, drop, history, letter, letters, place_of, replay, replay_letter
from querybus_cli.runtime import UsageError
from tests.faults.faulty_stack import CONNECTION, Fault, FaultyStack, assert_linear, faulty_stack
from tests.support.scripted_model import say

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

EVENTS = ["asked", "drafted", "approved", "concluded", "finished"]


@dataclass(frozen=True)
class Context:
    stack: FaultyStack
    place: Place

    async def call(self, verb: str, payload: dict[str, Any]) -> dict[str, Any]:
        async with self.stack.stack.client("analyst") as client:
            return await client.call(verb, payload)

    def finished(self) -> float:
        metrics = self.stack.metrics[StageName.PRESENTER].registry.collect()
        return sum(x.value for family in metrics for x in family.samples if x.name == "querybus_queries_total")

    async def dead_question(self, question: str) -> tuple[str, int]:
        """Return a query that a stray message ended, and that message's dead letter."""
        self.stack.faults[question] = {StageName.GENERATOR: Fault("hang")}
        request = {"question": question, "connection": CONNECTION, "options": {"deadline_seconds": 3}}
        query = (await self.call("ask", request))["query_id"]
        generator = await self.stack.bus.connect(StageName.GENERATOR)
        try:
            await generator.jetstream().publish(event_subject(TENANT, query, query, EventName.DRAFTED), b"{}")
        finally:
            await generator.close()
        reply = await self.call("answer", {"query_id": query, "wait_seconds": 30})
        assert reply["outcome"] in ("failed", "expired")
        del self.stack.faults[question]
        result = [letter for letter in await letters(self.place, None, 0, 500) if f".{query}." in letter["subject"]]
        assert len(result) == 1
        return query, result[0]["sequence"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def context(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Context]:
    async with faulty_stack(tmp_path_factory.mktemp("operator")) as stack:
        yield Context(stack, Place(stack.bus.url, stack.bus.password("operator")))


async def test_the_history_of_a_query_and_of_a_thread_as_they_stand_and_as_they_stood(context: Context) -> None:
    first = await context.stack.ask("How many customers are there, for history?")
    events = await history(context.place, TENANT, first["query_id"], 0)
    assert [event["event"] for event in events] == EVENTS
    assert events[1]["sql"].startswith("SELECT COUNT(*)")
    assert [event["sequence"] for event in events] == sorted(event["sequence"] for event in events)
    more = {"question": "And now?", "connection": CONNECTION, "thread_id": first["thread_id"], "wait_seconds": 30}
    second = await context.call("ask", more)
    thread = await history(context.place, TENANT, first["thread_id"], 0)
    assert [item["query_id"] for item in thread] == [first["query_id"]] * 5 + [second["query_id"]] * 5
    early = await history(context.place, TENANT, first["thread_id"], events[2]["sequence"])
    assert [item["event"] for item in early] == EVENTS[:3]


async def test_a_shadow_repeats_a_query_with_its_context_and_nobody_receives_of_it(context: Context) -> None:
    first = await context.stack.ask("How many customers are there, once?")
    question = "And how many of them twice?"
    statement = "SELECT COUNT(*) AS twice FROM customers"
    # Slow enough for a stage to be announced.
    context.stack.context.scripts[question] = [say(statement, delay_seconds=4 * ANNOUNCE_AFTER_SECONDS)]
    context.stack.context.scripts["And after?"] = [
        say(f"{statement} WHERE 1 = 1", delay_seconds=4 * ANNOUNCE_AFTER_SECONDS)
    ]
    asked = {"question": question, "connection": CONNECTION, "thread_id": first["thread_id"], "wait_seconds": 30}
    query = (await context.call("ask", asked))["query_id"]
    counted = context.finished()
    threads = (await context.call("threads", {}))["threads"]
    async with (
        context.stack.stack.client("analyst") as client,
        client.answers() as answers,
        client.progress() as received,
    ):
        result = await replay(context.place, TENANT, query)
        assert result["same"] is True
        assert result["was"]["rows"] == [[3]]
        # What is asked next is the first thing that anybody receives.
        after = await client.call("ask", {"question": "And after?", "connection": CONNECTION, "wait_seconds": 30})
        assert (await anext(answers))[0] == after["query_id"]
        assert (await anext(received))[0] == after["query_id"]
    shadow = result["query_id"]
    log = await history(context.place, TENANT, shadow, 0)
    assert [entry["event"] for entry in log] == EVENTS
    assert {entry["shadow_of"] for entry in log} == {query}
    assert_linear(await context.stack.log(shadow))
    for verb, payload in (
        ("answer", {"query_id": shadow}),
        ("cancel", {"query_id": shadow}),
        ("page", {"query_id": shadow}),
        ("confirm", {"query_id": shadow, "sql_sha256": "0" * 64}),
        ("state", {"thread_id": log[0]["thread_id"]}),
        ("ask", {"question": "Further?", "connection": CONNECTION, "thread_id": log[0]["thread_id"]}),
    ):
        assert (await context.call(verb, payload))["code"] == "not_found", verb
    assert context.finished() == counted + 1
    assert len((await context.call("threads", {}))["threads"]) == len(threads) + 1
    body = (await context.stack.log(shadow))[0].envelope().body
    assert body.forked_from.thread_id == first["thread_id"]


async def test_a_shadow_that_ends_otherwise_says_so(context: Context) -> None:
    question = "How many customers are there, unsteadily?"
    context.stack.context.scripts[question] = [
        say("SELECT COUNT(*) FROM customers"),
        say("SELECT MAX(id) + 1 FROM customers"),
    ]
    query = (await context.stack.ask(question))["query_id"]
    result = await replay(context.place, TENANT, query)
    assert result["same"] is False
    assert (result["was"]["rows"], result["is"]["rows"]) == ([[3]], [[4]])


async def test_the_question_of_a_dead_letter_is_asked_again_once_for_its_asker(context: Context) -> None:
    query, sequence = await context.dead_question("How many customers are there, until somebody interferes?")
    shown = await letter(context.place, sequence)
    assert (shown["stage"], shown["data"], shown["deliveries"]) == ("validator", "{}", 1)
    assert shown["reason"].startswith("the body has no envelope_version")
    again = await replay_letter(context.place, sequence)
    assert again["of"] == query
    assert await replay_letter(context.place, sequence) == again
    reply = await context.call("answer", {"query_id": again["query_id"], "wait_seconds": 30})
    assert reply["outcome"] == "answered"
    assert reply["thread_id"] == query
    assert_linear(await context.stack.log(again["query_id"]))


async def test_a_dropped_letter_is_gone_and_the_others_stay(context: Context) -> None:
    _, one = await context.dead_question("How many customers are there, dropped?")
    _, other = await context.dead_question("How many customers are there, kept?")
    await drop(context.place, [one])
    left = {letter["sequence"] for letter in await letters(context.place, None, 0, 500)}
    assert one not in left
    assert other in left
    for gone in (drop(context.place, [one]), letter(context.place, one), replay_letter(context.place, one)):
        with pytest.raises(UsageError, match=f"no dead letter {one}: see `querybus operate dead list`"):
            await gone


async def test_letters_are_listed_by_stage_and_page(context: Context) -> None:
    await context.dead_question("How many customers are there, listed?")
    every = await letters(context.place, None, 0, 500)
    assert await letters(context.place, StageName.PRESENTER, 0, 500) == []
    assert {letter["stage"] for letter in await letters(context.place, StageName.VALIDATOR, 0, 500)} == {"validator"}
    assert await letters(context.place, None, 0, 1) == every[:1]
    assert await letters(context.place, None, every[0]["sequence"], 500) == every[1:]


async def test_a_submitted_message_that_died_is_submitted_again(context: Context) -> None:
    before = {letter["sequence"] for letter in await letters(context.place, None, 0, 500)}

    async def newest() -> list[dict[str, Any]]:
        return [letter for letter in await letters(context.place, None, 0, 500) if letter["sequence"] not in before]

    async with context.stack.stack.client("analyst") as client:
        await client.submit({"question": "How many?", "connection": "nowhere"}, "key-1")
    async with asyncio.timeout(60):
        while not await newest():
            await asyncio.sleep(0.1)
        result = (await newest())[0]
        assert result["subject"] == "querybus.v1.submit.local.analyst"
        assert json.loads((await letter(context.place, result["sequence"]))["data"])["connection"] == "nowhere"
        assert (await replay_letter(context.place, result["sequence"]))["submitted"] == result["subject"]
        # What was wrong with it is still wrong.
        while len(await newest()) < 2:
            await asyncio.sleep(0.1)
    assert FailureCode.INTERNAL not in {item["reason"] for item in await newest()}


async def test_what_cannot_be_done_says_what_to_type(context: Context, tmp_path: Any) -> None:
    unknown = "0190a0a0-0000-7000-8000-00000000dead"
    assert is_id(unknown)
    for work, words in (
        (history(context.place, TENANT, "x", 0), "no id of a query or a thread"),
        (history(context.place, TENANT, unknown, 0), "say --tenant"),
        (replay(context.place, TENANT, unknown), "say --tenant"),
        (letters(Place(context.place.url, "wrong"), None, 0, 1), "does not let operator in"),
    ):
        with pytest.raises(UsageError, match=words):
            await work
    with pytest.raises(UsageError, match="set QUERYBUS_NATS_URL and QUERYBUS_NATS_PASSWORD"):
        place_of(None, None, tmp_path)
