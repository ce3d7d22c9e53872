"""OpenAI's own Python client, unchanged, asks a running stack: and so do LangChain's and what chat front ends send."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from openai import OpenAI
from pydantic import SecretStr

from tests.journeys.test_up import Running, started, with_shop
from tests.support.cutting_proxy import cutting

pytestmark = [pytest.mark.connected, pytest.mark.slow]
QUESTION = "How many customers are there?"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    with started(with_shop(tmp_path_factory.mktemp("openai"))) as made:
        yield made


@pytest.fixture
def running(stack: Running) -> Running:
    """The stack, without the conversations of the tests before."""
    for thread in stack.http("GET", "/v1/threads")[1]["threads"]:
        stack.http("DELETE", f"/v1/threads/{thread['thread_id']}")
    return stack


@pytest.fixture
def client(running: Running) -> Generator[OpenAI]:
    with OpenAI(base_url=f"http://127.0.0.1:{running.port}/openai/v1", api_key=running.key()) as made:
        yield made


def turn_counts(running: Running) -> list[int]:
    """Return how many turns each thread has."""
    threads = running.http("GET", "/v1/threads")[1]["threads"]
    return [len(running.http("GET", f"/v1/threads/{one['thread_id']}/turns")[1]["turns"]) for one in threads]


def chat(client: OpenAI, *texts: str, **headers: str) -> str:
    """Return the reply to the last of some messages, user and assistant in turn."""
    roles = ("user", "assistant")
    messages = [{"role": roles[number % 2], "content": text} for number, text in enumerate(texts)]
    made = client.chat.completions.create(model="querybus", messages=messages, extra_headers=headers)  # type: ignore[arg-type]
    return made.choices[0].message.content or ""


def test_the_client_lists_models_asks_and_goes_on(client: OpenAI, running: Running) -> None:
    assert {model.id for model in client.models.list()} == {"querybus", "querybus/shop"}
    reply = chat(client, QUESTION)
    assert "| 3 |" in reply
    parts = list(
        client.chat.completions.create(
            model="querybus/shop",
            messages=[{"role": "user", "content": QUESTION}],
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    assert parts[0].choices[0].delta.role == "assistant"
    assert "| 3 |" in "".join(part.choices[0].delta.content or "" for part in parts if part.choices)
    assert parts[-2].choices[0].finish_reason == "stop"
    assert parts[-1].usage is not None
    # What was asked back is an ordinary message with numbers; "1" answers it, in the same thread.
    asked_back = chat(client, "Show the blorbs of everything")
    assert "1. " in asked_back
    answered = chat(client, "Show the blorbs of everything", asked_back, "1")
    assert "|" in answered
    assert 2 in turn_counts(running)


def test_a_conversation_is_a_thread_by_its_header_and_never_across_credentials(
    client: OpenAI, running: Running
) -> None:
    for question in (QUESTION, "and their names?"):
        chat(client, question, **{"X-OpenWebUI-Chat-Id": "c-1"})
    chat(client, QUESTION, **{"X-OpenWebUI-Chat-Id": "c-2"})
    assert sorted(turn_counts(running)) == [1, 2]


def test_housekeeping_leaves_no_event(client: OpenAI, running: Running) -> None:
    assert "title" in chat(client, "### Task:\nGenerate a concise title\n<chat_history>\nUSER: x\n</chat_history>")
    assert running.http("GET", "/v1/threads")[1]["threads"] == []


def test_responses_whole_and_streamed_and_one_after_another(client: OpenAI) -> None:
    first = client.responses.create(model="querybus", input=QUESTION)
    assert "| 3 |" in first.output_text
    assert first.status == "completed"
    second = client.responses.create(model="querybus", input=QUESTION, previous_response_id=first.id)
    assert second.previous_response_id == first.id
    events = list(client.responses.create(model="querybus", input=QUESTION, stream=True))
    assert [event.type for event in events][:2] == ["response.created", "response.in_progress"]
    assert events[-1].type == "response.completed"
    assert [event.sequence_number for event in events] == list(range(len(events)))


def test_refusals_raise_what_the_client_expects(client: OpenAI, running: Running) -> None:
    wrong = OpenAI(base_url=f"http://127.0.0.1:{running.port}/openai/v1", api_key="wrong", max_retries=0)
    with pytest.raises(openai.AuthenticationError):
        wrong.models.list()
    with pytest.raises(openai.UnprocessableEntityError):
        client.chat.completions.create(model="querybus", messages=[{"role": "system", "content": "x"}])
    with pytest.raises(openai.APIStatusError) as raised:
        client.chat.completions.create(model="querybus/nowhere", messages=[{"role": "user", "content": QUESTION}])
    assert raised.value.status_code in {403, 404, 422}


RECORDED: list[dict[str, Any]] = json.loads((Path(__file__).parent / "recorded" / "chat_front_ends.json").read_text())
"""Requests as these front ends sent them to a gateway; texts that are theirs are in our own words."""


def test_what_chat_front_ends_send_is_answered(running: Running) -> None:
    headers = {"Authorization": f"Bearer {running.key()}"}
    with httpx.Client(base_url=f"http://127.0.0.1:{running.port}", headers=headers, timeout=60) as http:
        for sent in RECORDED:
            turns = sum(turn_counts(running))
            reply = http.post("/openai/v1/chat/completions", headers=sent["headers"], json=sent["body"])
            assert reply.status_code == 200, (sent["from"], reply.text)
            if sent["body"]["stream"]:
                chunks = [json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: {")]
                said = "".join(
                    chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks if chunk["choices"]
                )
                assert sent["reply"] in said, sent["from"]
                continue
            assert reply.json()["choices"][0]["message"]["content"] == sent["reply"], sent["from"]
            # Housekeeping leaves nothing on the log.
            assert sum(turn_counts(running)) == turns


def test_a_function_that_is_demanded_for_a_title_is_called(client: OpenAI) -> None:
    text = "Provide a concise title for the conversation.\n\nConversation:\nUser: How many customers?\nAI: 3"
    made = client.chat.completions.create(
        model="querybus",
        messages=[{"role": "user", "content": text}],
        tools=[{"type": "function", "function": {"name": "extract", "parameters": {"type": "object"}}}],
        tool_choice={"type": "function", "function": {"name": "extract"}},
    )
    call: Any = (made.choices[0].message.tool_calls or [])[0]
    assert (call.function.name, json.loads(call.function.arguments)) == ("extract", {"title": "How many customers?"})


async def test_a_stream_that_is_cut_anywhere_is_taken_up_where_it_ended(running: Running) -> None:
    address = f"http://127.0.0.1:{running.port}"
    numbers: list[int] = []
    for cut_after in range(1, 9):
        numbers.clear()
        response_id = ""
        async with (
            cutting(address, cut_after) as proxied,
            openai.AsyncOpenAI(base_url=f"{proxied}/openai/v1", api_key=running.key(), max_retries=0) as client,
        ):
            with contextlib.suppress(openai.APIError, httpx.HTTPError):
                async for event in await client.responses.create(model="querybus", input=QUESTION, stream=True):
                    numbers.append(event.sequence_number)
                    response_id = event.response.id if event.type == "response.created" else response_id
            assert len(numbers) < 9, "the stream was cut"
            rest = await client.responses.retrieve(response_id, stream=True, starting_after=numbers[-1])
            numbers.extend([event.sequence_number async for event in rest])
            whole = await client.responses.retrieve(response_id)
            completed = await client.chat.completions.retrieve(response_id.replace("resp_", "chatcmpl-"))
        assert numbers == list(range(len(numbers))), cut_after
        assert len(numbers) >= 9
        assert "| 3 |" in whole.output_text
        assert completed.choices[0].message.content == whole.output_text


def test_a_response_is_cancelled_and_anothers_is_not_found(client: OpenAI) -> None:
    ended = client.responses.create(model="querybus", input=QUESTION)
    assert client.responses.cancel(ended.id).status == "completed"
    for number in ("²", "-1", "9" * 5_000):
        address = f"responses/{ended.id}?stream=true&starting_after={number}"
        assert "response.created" in client.get(address, cast_to=str), number
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve("resp_0190a5e0-0000-7000-8000-000000000001")


@pytest.mark.parametrize("responses", [False, True])
def test_langchains_chat_model_asks_and_streams(running: Running, responses: bool) -> None:
    model = ChatOpenAI(
        model="querybus",
        base_url=f"http://127.0.0.1:{running.port}/openai/v1",
        api_key=SecretStr(running.key()),
        use_responses_api=responses,
    )
    assert "| 3 |" in model.invoke(QUESTION).text
    parts = list(model.stream([HumanMessage(QUESTION)]))
    assert "| 3 |" in "".join(part.text for part in parts)
    asked_back = model.invoke("Show the blorbs of everything")
    assert "1. " in asked_back.text
    chosen = model.invoke([HumanMessage("Show the blorbs of everything"), asked_back, HumanMessage("1")])
    assert "|" in chosen.text


def test_a_chart_is_shown_in_the_conversation_by_an_address_that_opens_nothing_else(
    client: OpenAI, running: Running
) -> None:
    reply = chat(client, "How many customers are there by name?")
    picture = re.search(r"!\[Chart\]\((\S+)\)", reply)
    assert picture is not None, reply
    address = picture.group(1)
    shown = httpx.get(address, timeout=60)
    assert (shown.status_code, shown.headers["content-type"]) == (200, "image/png")
    query, ticket = re.search(r"/v1/queries/([^/]+)/chart\S*ticket=(\S+)", address).groups()  # type: ignore[union-attr]
    another = chat(client, "How many customers are there by id?")
    other = re.findall(r"answer=([0-9a-f-]{36})", another)[-1]
    assert other != query
    base = f"http://127.0.0.1:{running.port}/v1/queries"
    for path in (f"{other}/chart?format=png", f"{query}/result?page=1", f"{query}/events?after=0", f"{query}?a=1"):
        assert httpx.get(f"{base}/{path}&ticket={ticket}").status_code == 401, path
    assert httpx.get(f"{base}/{query}", headers={"Authorization": f"Bearer {ticket}"}).status_code == 401
    # What people click leads to the page, not to JSON.
    assert re.search(rf"\[Details\]\(http://127\.0\.0\.1:{running.port}/#thread=\S+&answer={query}\)", reply)
