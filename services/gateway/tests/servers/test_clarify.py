"""A question back is answered with one of its options, or in words of one's own, at either API."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from querybus.core.asking_back import Clarification, Option, OptionAction, Trigger
from querybus.core.envelope import concluded
from querybus.core.failure import FailureCode
from querybus.core.messages import Concluded, Outcome
from querybus.core.subjects import StageName

from .stack_of_tests import ApiStack

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

QUESTION = {"question": "Recent orders?", "connection": "shop", "options": {"retries_max": 1, "today": "2026-01-31"}}
OPTIONS = (
    Option(id="a", text="Last week", question="Orders of last week?", action=OptionAction.NARROW_PERIOD),
    Option(id="b", text="This year", question="Orders of this year?", action=OptionAction.NARROW_PERIOD),
)


@pytest.fixture
def stack(shared_stack: ApiStack) -> ApiStack:
    return shared_stack


async def ask_back(stack: ApiStack, query: str) -> None:
    last = (await stack.log(query))[-1]
    body = Concluded(
        outcome=Outcome.CLARIFICATION,
        code=FailureCode.AMBIGUOUS_QUESTION,
        stage=StageName.GENERATOR,
        clarification=Clarification(trigger=Trigger.AMBIGUOUS_QUESTION, about="Recent", options=OPTIONS),
    )
    await stack.publish(StageName.GENERATOR, concluded(last.envelope(), body), last)
    await stack.finish(query)


async def asked_back(stack: ApiStack, http: httpx.AsyncClient) -> str:
    query = (await http.post("/v1/queries", json=QUESTION)).json()["id"]
    await ask_back(stack, query)
    return query


@pytest.mark.requirement("002.69", "004.2")
async def test_an_option_starts_a_new_query_of_the_same_thread(stack: ApiStack) -> None:
    async with stack.http("acme", "lab") as http:
        query = await asked_back(stack, http)
        assert (await http.get(f"/v1/queries/{query}")).json()["answer"]["options"][0]["id"] == "a"
        reply = await http.post(f"/v1/queries/{query}/clarify", json={"option_id": "b"})
    assert reply.status_code == 202
    second = reply.json()
    assert reply.headers["location"] == f"/v1/queries/{second['id']}"
    assert second["id"] != query
    assert second["thread_id"] == query
    envelope = (await stack.log(second["id"]))[0].envelope()
    assert envelope.question == "Orders of this year?"
    assert envelope.connection == "shop"
    assert (envelope.options.retries_max, str(envelope.options.today)) == (1, "2026-01-31")
    assert envelope.body.clarifies.model_dump() == {"query_id": query, "option_id": "b", "action": "narrow_period"}
    assert envelope.body.thread_until_sequence == (await stack.log(query))[-1].sequence


async def test_the_same_answer_works_over_the_bus_alone(stack: ApiStack) -> None:
    async with stack.client("acme", "lab") as client, stack.stages():
        query = (await client.call("ask", QUESTION))["query_id"]
    async with stack.client("acme", "lab") as client:
        query = (await client.call("ask", QUESTION | {"idempotency_key": "bus-clarify"}))["query_id"]
        await ask_back(stack, query)
        async with stack.stages():
            call = {"query_id": query, "option_id": "a", "idempotency_key": "bus-clarified"}
            reply = await client.call("clarify", call | {"wait_seconds": 20})
            again = await client.call("clarify", call)
    assert (reply["status"], reply["outcome"], reply["thread_id"]) == ("finished", "answered", query)
    assert again["query_id"] == reply["query_id"]
    assert again["idempotency_replayed"] is True


async def test_words_of_ones_own_are_an_answer_as_well(stack: ApiStack) -> None:
    async with stack.http("acme", "lab") as http:
        query = await asked_back(stack, http)
        reply = await http.post(f"/v1/queries/{query}/clarify", json={"question": "Since Monday"})
    envelope = (await stack.log(reply.json()["id"]))[0].envelope()
    assert envelope.question == "Since Monday"
    assert envelope.body.clarifies.option_id == "own_words"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "invalid"),
        ({"option_id": "a", "question": "both"}, 422, "invalid"),
        ({"option_id": "z"}, 422, "unknown_option"),
        ({"option_id": "a", "tenant": "x"}, 422, "unknown_field"),
        ({"question": " "}, 422, "question_empty"),
        ({"option_id": "a", "options": {"retries_max": 9}}, 422, "bad_options"),
    ],
)
async def test_an_answer_that_fits_nothing_is_a_problem(
    stack: ApiStack, body: dict[str, Any], status: int, code: str
) -> None:
    async with stack.http("acme", "lab") as http:
        query = await asked_back(stack, http)
        reply = await http.post(f"/v1/queries/{query}/clarify", json=body)
    assert (reply.status_code, reply.json()["code"]) == (status, code)


async def test_a_query_that_asked_nothing_back_takes_no_answer(stack: ApiStack) -> None:
    async with stack.http("acme", "lab") as http, stack.http() as colleague:
        query = (await http.post("/v1/queries", json=QUESTION)).json()["id"]
        early = await http.post(f"/v1/queries/{query}/clarify", json={"option_id": "a"})
        assert (early.status_code, early.json()["code"]) == (409, "not_finished")
        await stack.answer(query)
        late = await http.post(f"/v1/queries/{query}/clarify", json={"option_id": "a"})
        assert (late.status_code, late.json()["code"]) == (409, "no_clarification")
        assert late.json()["outcome"] == "answered"
        foreign = await colleague.post(f"/v1/queries/{query}/clarify", json={"option_id": "a"})
        assert foreign.status_code == 404


@pytest.mark.parametrize("words", ["2", "the second one", "第二个", "Option 2.", "last one"])
async def test_a_place_in_the_list_chooses_an_option_in_the_thread(stack: ApiStack, words: str) -> None:
    async with stack.http("acme", "lab") as http:
        query = await asked_back(stack, http)
        body = {"question": words, "connection": "shop", "thread_id": query}
        key = {"Idempotency-Key": f"choose-{query}"}
        second = (await http.post("/v1/queries", json=body, headers=key)).json()
        again = await http.post("/v1/queries", json=body, headers=key)
    envelope = (await stack.log(second["id"]))[0].envelope()
    assert (envelope.question, envelope.language) == ("Orders of this year?", "en")
    assert envelope.body.clarifies.model_dump() == {"query_id": query, "option_id": "b", "action": "narrow_period"}
    # The same request again is the same query, though the thread has gone on.
    assert (again.json()["id"], again.headers["idempotency-replayed"]) == (second["id"], "true")


@pytest.mark.parametrize("words", ["7", "two customers", "Which second-hand orders?"])
async def test_other_words_are_a_question_of_their_own(stack: ApiStack, words: str) -> None:
    async with stack.http("acme", "lab") as http:
        query = await asked_back(stack, http)
        second = (
            await http.post("/v1/queries", json={"question": words, "connection": "shop", "thread_id": query})
        ).json()
    envelope = (await stack.log(second["id"]))[0].envelope()
    assert (envelope.question, envelope.body.clarifies) == (words, None)
