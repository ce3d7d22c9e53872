"""OpenAI's own Python client, unchanged, asks a running stack: both APIs, whole and streamed, and in threads."""

from __future__ import annotations

from collections.abc import Generator

import openai
import pytest
from openai import OpenAI

from tests.journeys.test_up import Running, directory, running

__all__ = ["directory", "running"]
pytestmark = [pytest.mark.connected, pytest.mark.slow]
QUESTION = "How many customers are there?"


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
