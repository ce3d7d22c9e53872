"""The bus API against a real bus: calls, submitted questions, stored answers; the same rules as over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio

from querybus.core.ids import derived_id
from querybus.core.messages import Outcome
from querybus.core.subjects import EventName, StageName
from querybus_gateway.bus import api as bus_api

from .stack_of_tests import SECRET_NAME, SQL, ApiStack, api_stack

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

QUESTION = {"question": "How many customers?", "connection": "shop"}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stack() -> AsyncGenerator[ApiStack]:
    async with api_stack() as made:
        yield made


@pytest.mark.requirement("card.18")
async def test_a_call_is_answered_in_place(stack: ApiStack) -> None:
    async with stack.client() as client, stack.stages():
        reply = await client.call("ask", QUESTION | {"wait_seconds": 20})
    assert reply["status"] == "finished"
    assert reply["outcome"] == "answered"
    assert reply["rows"] == [["上海"], ["Rome"]]
    assert SECRET_NAME not in json.dumps(reply)
    assert "sql" not in reply


async def test_an_analyst_is_reported_the_statement(stack: ApiStack) -> None:
    async with stack.client("acme", "lab") as client, stack.stages():
        reply = await client.call("ask", QUESTION | {"wait_seconds": 20})
    assert reply["sql"] == SQL


async def test_a_call_that_does_not_wait_is_reported_where_it_stands(stack: ApiStack) -> None:
    async with stack.client() as client:
        reply = await client.call("ask", QUESTION)
        assert reply["status"] == "running"
        assert reply["message"] == "not finished yet"
        waiting = asyncio.create_task(client.call("answer", {"query_id": reply["query_id"], "wait_seconds": 20}))
        await asyncio.sleep(0.1)
        await stack.answer(reply["query_id"])
        assert (await waiting)["outcome"] == "answered"
        assert (await client.call("answer", {"query_id": reply["query_id"]}))["outcome"] == "answered"


@pytest.mark.parametrize(
    ("verb", "payload", "code"),
    [
        ("ask", {}, "question_empty"),
        ("ask", {"question": "x" * 20_000}, "question_too_long"),
        ("ask", {"question": "q", "connection": "nowhere"}, "unknown_connection"),
        ("ask", {"question": "q", "tenant": "other"}, "unknown_field"),
        ("ask", {"question": "q", "query_id": "x"}, "unknown_field"),
        ("ask", {"question": "q", "connection": "shop", "options": {"retries_max": 99}}, "bad_options"),
        ("answer", {"query_id": "nothing"}, "not_found"),
        ("answer", {}, "invalid"),
        ("cancel", {"query_id": "0190a0a0-0000-7000-8000-000000000000"}, "not_found"),
        ("page", {"query_id": "x", "page": 0}, "invalid"),
        ("drop", {}, "not_found"),
    ],
)
async def test_a_bad_call_is_a_problem(stack: ApiStack, verb: str, payload: dict[str, Any], code: str) -> None:
    async with stack.client() as client:
        reply = await client.call(verb, payload)
    assert reply["code"] == code
    assert "status" not in reply
    assert reply["detail"]
    assert len(reply["trace_id"]) == 32


async def test_bytes_that_are_no_json_are_a_problem(stack: ApiStack) -> None:
    async with stack.outside() as connection:
        reply = await connection.request("querybus.v1.call.acme.web.ask", b"\xff{", timeout=5)
    assert json.loads(reply.data)["code"] == "malformed"


async def test_a_reply_that_fits_no_message_is_a_problem_and_no_silence(
    stack: ApiStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bus_api, "REPLY_BYTES_MAX", 100)
    async with stack.client() as client:
        reply = await client.call("ask", QUESTION)
    assert reply["code"] == "too_large"


async def test_cancel_and_pages_work_over_the_bus_alone(stack: ApiStack) -> None:
    async with stack.client() as client:
        first = (await client.call("ask", QUESTION))["query_id"]
        cancelled = await client.call("cancel", {"query_id": first})
        assert cancelled["query_id"] == first
        again = await client.call("cancel", {"query_id": first})
        assert (again["code"], again["outcome"]) == ("already_finished", "cancelled")
        second = (await client.call("ask", QUESTION))["query_id"]
        assert (await client.call("page", {"query_id": second}))["code"] == "not_finished"
        await stack.answer(second)
        page = await client.call("page", {"query_id": second})
        assert page["rows"] == [["上海"], ["Rome"]]
        assert page["columns"][0]["id"] == "c1"


async def test_another_users_query_does_not_exist_on_the_bus(stack: ApiStack) -> None:
    async with stack.client() as client, stack.client("other") as foreign, stack.client("acme", "desk") as colleague:
        query = (await client.call("ask", QUESTION))["query_id"]
        await stack.answer(query)
        for item in (foreign, colleague):
            for verb in ("answer", "cancel", "page"):
                assert (await item.call(verb, {"query_id": query}))["code"] == "not_found"


async def test_the_same_key_is_the_same_query_at_every_api(stack: ApiStack) -> None:
    async with stack.client() as client, stack.http() as http:
        called = await client.call("ask", QUESTION | {"idempotency_key": "both-doors"})
        posted = await http.post("/v1/queries", json=QUESTION, headers={"Idempotency-Key": "both-doors"})
    assert posted.json()["id"] == called["query_id"]
    assert posted.headers["idempotency-replayed"] == "true"


async def test_an_answer_is_published_for_its_user_and_read_later(stack: ApiStack) -> None:
    async with stack.client() as client, stack.client("acme", "lab") as analyst:
        async with client.answers() as answers:
            query = (await client.call("ask", QUESTION))["query_id"]
            await stack.answer(query)
            async with asyncio.timeout(60):
                received, answer = await anext(answers)
        assert received == query
        assert answer["outcome"] == "answered"
        assert answer["query_id"] == query
        assert SECRET_NAME not in json.dumps(answer)
        assert (await analyst.call("answer", {"query_id": query}))["code"] == "not_found"


async def test_a_reply_goes_to_no_event_subject(stack: ApiStack) -> None:
    """Within the account of the services a caller could name an event as its reply; the API does not answer there."""
    gateway = await stack.user(StageName.GATEWAY)
    query = "0190a0a0-0000-7000-8000-00000000beef"
    async with stack.client() as client, stack.outside() as connection:
        await connection.publish(
            "querybus.v1.call.acme.web.ask", b"{}", reply=f"querybus.v1.event.acme.{query}.{query}.asked"
        )
        assert (await client.call("ask", {}))["code"] == "question_empty"
    await gateway.flush()
    assert await stack.events(query) == []


@pytest.mark.requirement("card.18")
async def test_a_submitted_question_is_minted_and_answered(stack: ApiStack) -> None:
    query = derived_id("key", "acme", "ann", "key-1")
    async with stack.client() as client, client.answers() as answers, stack.stages():
        submitted = await client.submit(QUESTION, "key-1")
        assert not submitted.duplicate
        async with asyncio.timeout(60):
            # The stages also answer what earlier tests have left open.
            answer = await anext(answer async for received, answer in answers if received == query)
    assert answer["outcome"] == "answered"
    envelope = (await stack.log(query))[0].envelope()
    assert (envelope.tenant, envelope.user, envelope.audience) == ("acme", "ann", "business")


@pytest.mark.parametrize("data", [b"\xff", b"{}", b'{"question": "q", "connection": "shop", "user": "bob"}'])
async def test_a_submitted_message_that_is_no_question_is_dead_lettered_with_its_reason(
    stack: ApiStack, data: bytes
) -> None:
    before = stack.gateway.metrics.value("querybus_dead_letters_total", stage="gateway")
    async with stack.outside() as connection:
        await connection.request("querybus.v1.submit.acme.web", data, timeout=5)
    async with asyncio.timeout(60):
        while stack.gateway.metrics.value("querybus_dead_letters_total", stage="gateway") == before:
            await asyncio.sleep(0.02)


async def _next_about(answers: Any, correlation_id: str) -> dict[str, Any]:
    async with asyncio.timeout(60):
        return await anext(answer async for _, answer in answers if answer.get("correlation_id") == correlation_id)


async def test_a_submitted_question_and_its_answer_are_matched_by_the_senders_word_or_the_acknowledgement(
    stack: ApiStack,
) -> None:
    data = json.dumps(QUESTION).encode()
    async with (
        stack.outside() as connection,
        stack.client() as client,
        client.answers() as answers,
        stack.stages(),
    ):
        subject = "querybus.v1.submit.acme.web"
        named = await connection.request(subject, data, timeout=5, headers={"Querybus-Correlation-Id": "order 66"})
        assert "stream" in json.loads(named.data)
        assert (await _next_about(answers, "order 66"))["outcome"] == "answered"
        sequence = json.loads((await connection.request(subject, data, timeout=5)).data)["seq"]
        assert (await _next_about(answers, str(sequence)))["outcome"] == "answered"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"\xff", "malformed"),
        (b"{}", "question_empty"),
        (b'{"question": "q", "connection": "nowhere"}', "unknown_connection"),
        (b'{"question": "q", "connection": "shop", "user": "bob"}', "unknown_field"),
    ],
)
async def test_a_submitted_question_that_is_refused_comes_back_where_its_answer_would(
    stack: ApiStack, body: bytes, code: str
) -> None:
    async with stack.outside() as connection, stack.client() as client, client.answers() as answers:
        headers = {"Querybus-Correlation-Id": f"about {code}"}
        await connection.request("querybus.v1.submit.acme.web", body, timeout=5, headers=headers)
        refusal = await _next_about(answers, f"about {code}")
        assert (refusal["status"], refusal["code"]) == ("refused", code)
        # It is no query: nobody can read it as one.
        assert (await client.call("answer", {"query_id": refusal["id"]}))["code"] == "not_found"


async def test_a_known_thread_is_continued_by_a_call(stack: ApiStack) -> None:
    async with stack.client() as client, stack.stages():
        first = await client.call("ask", QUESTION | {"wait_seconds": 20})
        second = await client.call("ask", QUESTION | {"thread_id": first["thread_id"], "wait_seconds": 20})
    assert second["thread_id"] == first["query_id"]
    log = await stack.log(second["query_id"])
    assert log[0].envelope().body.thread_until_sequence > 0
    assert log[-1].envelope().body.answer.outcome is Outcome.ANSWERED
    assert log[-1].address.event is EventName.FINISHED


async def test_the_bus_refused_nothing_that_the_gateway_did(stack: ApiStack) -> None:
    assert stack.gateway.metrics.value("querybus_permission_violations_total") == 0
