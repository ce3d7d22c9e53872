"""LangGraph's own Python client, unchanged, against a stack: runs, streams, threads, state, interrupts, cut connections."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from langgraph_sdk import get_client, get_sync_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import ConflictError, NotFoundError, UnprocessableEntityError

from querybus.core.credential import key_text
from querybus_cli.local.local_stack import Stack, StackPlan
from tests.support.cutting_proxy import cutting

pytestmark = [pytest.mark.connected, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

KEYS = {name: key_text("local", name, f"secret-of-{name}") for name in ("business", "analyst")}
QUESTION: Any = {"messages": [{"role": "user", "content": "How many customers are there?"}]}
UNREADABLE: Any = {"messages": [{"role": "user", "content": "Show the blorbs of everything"}]}
ASSISTANT = "text2sql_agent"
EVERY_MODE: Any = ["values", "updates", "custom", "messages-tuple"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Stack]:
    directory = tmp_path_factory.mktemp("langgraph")
    shop = directory / "shop.sqlite"
    with sqlite3.connect(shop) as connection:
        connection.executescript(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
            "INSERT INTO customers VALUES (1,'Ann'),(2,'Bob'),(3,'Cid');"
        )
    file: Path = directory / "connections.yaml"
    file.write_text(json.dumps({"connections": [{"name": "shop", "url": f"sqlite:///{shop}"}]}))
    async with Stack(StackPlan(connections_file=file, sync="2m"), keys=KEYS) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def client(stack: Stack) -> AsyncGenerator[LangGraphClient]:
    async with get_client(url=stack.http_address, api_key=KEYS["analyst"]) as made:
        yield made


async def collected(stream: Any) -> list[Any]:
    return [part async for part in stream]


@pytest.mark.requirement("002.36")
async def test_a_run_without_a_thread_streams_every_mode_and_ends(client: LangGraphClient) -> None:
    created: list[Any] = []
    parts = await collected(
        client.runs.stream(None, ASSISTANT, input=QUESTION, stream_mode=EVERY_MODE, on_run_created=created.append)
    )
    names = [part.event for part in parts]
    assert names[0] == "metadata"
    assert names[-1] == "end"
    assert parts[0].data["run_id"] == parts[-1].data["run_id"] == created[0]["run_id"]
    values = [part.data for part in parts if part.event == "values"]
    assert [message["type"] for message in values[0]["messages"]] == ["human"]
    assert [message["type"] for message in values[-1]["messages"]] == ["human", "ai"]
    assert (values[-1]["outcome"], values[-1]["rows"]) == ("answered", [[3]])
    nodes = [name for part in parts if part.event == "updates" for name in part.data]
    assert nodes == ["generator", "validator", "executor", "presenter"]
    said = "".join(part.data[0]["content"] for part in parts if part.event == "messages")
    assert said == values[-1]["messages"][-1]["content"]
    assert {"asked", "drafted", "finished"} <= {part.data["event"] for part in parts if part.event == "custom"}


@pytest.mark.requirement("002.18")
async def test_a_thread_keeps_its_runs_state_and_history(client: LangGraphClient) -> None:
    thread = await client.threads.create(metadata={"owner": "ann"})
    identity = thread["thread_id"]
    assert (await client.threads.get(identity))["status"] == "idle"
    assert (await client.threads.get_state(identity))["values"] == {}
    first = await client.runs.wait(identity, ASSISTANT, input=QUESTION)
    assert isinstance(first, dict)
    assert first["rows"] == [[3]]
    run = await client.runs.create(identity, "shop", input={"messages": [{"type": "human", "content": "and names?"}]})
    joined = await client.runs.join(identity, run["run_id"])
    assert len(joined["messages"]) == 4
    assert (await client.runs.get(identity, run["run_id"]))["status"] in {"success", "interrupted"}
    assert next(one["run_id"] for one in await client.runs.list(identity)) == run["run_id"]
    states: Any = await client.threads.get_history(identity)
    assert [len(state["values"]["messages"]) for state in states] == [4, 3, 2, 1]
    for state, older in pairwise(states):
        assert state["parent_checkpoint"] == older["checkpoint"]
    again: Any = await client.threads.get_state(identity, checkpoint_id=states[2]["checkpoint"]["checkpoint_id"])
    assert again["values"]["rows"] == [[3]]
    assert len(await client.threads.get_history(identity, before=states[1]["checkpoint"])) == 2
    # A run from a checkpoint knows the thread only up to there.
    there = await client.runs.wait(identity, ASSISTANT, input=QUESTION, checkpoint_id=states[2]["checkpoint_id"])
    assert isinstance(there, dict)
    assert [message["type"] for message in there["messages"]] == ["human", "ai", "human", "ai"]
    copied = await client.threads.copy(identity)
    assert copied is not None
    with pytest.raises(NotFoundError):
        await client.runs.cancel(identity, run["run_id"])
    await client.threads.delete(identity)
    with pytest.raises(NotFoundError):
        await client.threads.get_state(identity)


async def test_threads_are_found_described_and_made_once(client: LangGraphClient) -> None:
    thread = await client.threads.create(metadata={"topic": "shoes"})
    identity = thread["thread_id"]
    with pytest.raises(ConflictError, match="already exists"):
        await client.threads.create(thread_id=identity)
    assert (await client.threads.create(thread_id=identity, if_exists="do_nothing"))["thread_id"] == identity
    assert [one["thread_id"] for one in await client.threads.search(metadata={"topic": "shoes"})] == [identity]
    updated = await client.threads.update(identity, metadata={"owner": "ann"})
    assert updated["metadata"] == {"topic": "shoes", "owner": "ann"}
    await client.runs.wait(identity, ASSISTANT, input=QUESTION)
    found: Any
    (found,) = await client.threads.search(metadata={"topic": "shoes", "owner": "ann"}, status="idle")
    assert found["values"]["messages"][0]["content"] == "How many customers are there?"
    assert await client.threads.count(metadata={"topic": "shoes"}) == 1
    with pytest.raises(NotFoundError, match="Thread with ID"):
        await client.threads.get("00000000-0000-0000-0000-000000000000")


@pytest.mark.requirement("002.17")
async def test_what_is_asked_back_interrupts_and_is_resumed(client: LangGraphClient) -> None:
    thread = (await client.threads.create())["thread_id"]
    parts = await collected(client.runs.stream(thread, ASSISTANT, input=UNREADABLE, stream_mode=["updates"]))
    (waiting,) = [part.data["__interrupt__"] for part in parts if "__interrupt__" in (part.data or {})]
    assert waiting[0]["value"]["kind"] == "clarification"
    state = await client.threads.get_state(thread)
    assert state["next"]
    assert state["tasks"][0]["interrupts"][0]["id"] == waiting[0]["id"]
    assert (await client.threads.get(thread))["status"] == "interrupted"
    option = waiting[0]["value"]["options"][0]
    resumed = await client.runs.wait(thread, ASSISTANT, command={"resume": option["id"]})
    assert isinstance(resumed, dict)
    assert resumed["outcome"] == "answered"
    assert (await client.threads.get_state(thread))["next"] == []
    # The number of an option, said as a message, chooses it as well.
    await client.runs.wait(thread, ASSISTANT, input=UNREADABLE)
    numbered = await client.runs.wait(thread, ASSISTANT, input={"messages": [{"role": "user", "content": "1"}]})
    assert isinstance(numbered, dict)
    assert numbered["outcome"] == "answered"
    with pytest.raises(httpx.HTTPStatusError, match="409"):
        await client.runs.wait(thread, ASSISTANT, command={"resume": "1"}, raise_error=True)


async def test_the_synchronous_client_asks_as_well(stack: Stack) -> None:
    def asked() -> tuple[list[str], Any]:
        with get_sync_client(url=stack.http_address, api_key=KEYS["business"]) as client:
            names = [part.event for part in client.runs.stream(None, "shop", input=QUESTION, stream_mode="updates")]
            return names, client.runs.wait(None, "shop", input=QUESTION)

    names, values = await asyncio.to_thread(asked)
    assert (names[0], names[-1]) == ("metadata", "end")
    assert values["rows"] == [[3]]
    # What a business reader gets holds no statement and no name.
    assert "SELECT" not in json.dumps(values)
    assert "sql" not in values


async def test_refusals_are_those_that_the_client_knows(client: LangGraphClient, stack: Stack) -> None:
    assert [one["name"] for one in await client.assistants.search()] == [ASSISTANT, "shop"]
    assert (await client.assistants.get_graph("shop"))["nodes"]
    with pytest.raises(UnprocessableEntityError, match="no such assistant"):
        await client.runs.create(None, "nobody", input=QUESTION)
    with pytest.raises(UnprocessableEntityError, match="webhooks"):
        await client.runs.create(None, ASSISTANT, input=QUESTION, webhook="http://127.0.0.1:1/")
    async with httpx.AsyncClient(base_url=stack.http_address) as http:
        assert (await http.get("/ok")).json() == {"ok": True}
        assert (await http.post("/runs/wait", json={})).status_code == 401
        missing = await http.post("/runs/wait", json={}, headers={"x-api-key": KEYS["analyst"]})
        assert missing.status_code == 422
        assert missing.json()["detail"].startswith('"assistant_id" is a required property')
        # Studio sends JSON as text.
        plain = {"x-api-key": KEYS["analyst"], "content-type": "text/plain"}
        assert (await http.post("/assistants/search", content="{}", headers=plain)).status_code == 200
    async with get_client(url=stack.http_address, api_key=KEYS["business"]) as other:
        thread = (await client.threads.create())["thread_id"]
        await client.runs.wait(thread, ASSISTANT, input=QUESTION)
        with pytest.raises(NotFoundError):
            await other.threads.get_state(thread)
        with pytest.raises(NotFoundError):
            await other.runs.create(thread, ASSISTANT, input=QUESTION)


async def test_the_thread_protocol_streams_a_run_and_puts_a_question_back(client: LangGraphClient) -> None:
    async with asyncio.timeout(60), client.threads.stream(assistant_id=ASSISTANT) as thread:
        started = await thread.run.start(input=QUESTION)
        messages = [await message.text for message in [one async for one in thread.messages]]
        output: Any = await thread.output
        assert output["rows"] == [[3]]
        assert output["query_id"] == started["run_id"]
        assert messages == [output["messages"][-1]["content"]]
        identity = thread.thread_id
    # The same thread once more: what ended before is no news.
    async with asyncio.timeout(60), client.threads.stream(identity, assistant_id=ASSISTANT) as thread:
        await thread.run.start(input=UNREADABLE)
        while not thread.interrupted:
            await asyncio.sleep(0.05)
        (waiting,) = thread.interrupts
        value: Any = waiting["value"]
        assert value["kind"] == "clarification"
        await thread.run.respond(value["options"][0]["id"])
        answered: Any = await thread.output
        assert answered["outcome"] == "answered"
        assert len(answered["messages"]) == 6


@pytest.mark.requirement("002.51")
async def test_a_run_shows_the_page_of_rows_and_the_state_that_it_is_asked_for(client: LangGraphClient) -> None:
    listed: Any = {"messages": [{"role": "human", "content": "List the names of all customers"}]}
    second = {**listed, "pagination": {"page": 2, "page_size": 2}}
    values: Any = await client.runs.wait(None, ASSISTANT, input=second)
    assert values["rows"] == [["Cid"]]
    assert (values["pagination"]["page"], values["pagination"]["total_count"]) == (2, 3)
    parts: Any = await collected(client.runs.stream(None, ASSISTANT, input=second, stream_mode="values"))
    assert parts[-2].data["rows"] == [["Cid"]]
    assert values["schema_info"]["tables"] == ["customers"]
    assert values["query_analysis"]["classification"]["kind"] == "database"
    assert values["validation_result"] == {"is_valid": True, "code": None}
    assert (values["current_stage"], values["retry_count"], values["error_history"]) == ("completed", 0, [])


async def test_the_commands_of_the_thread_protocol_say_what_they_cannot_do(
    stack: Stack, client: LangGraphClient
) -> None:
    identity = (await client.threads.create())["thread_id"]
    await client.runs.wait(identity, ASSISTANT, input=QUESTION)
    headers = {"x-api-key": KEYS["analyst"]}
    async with httpx.AsyncClient(base_url=stack.http_address, headers=headers, timeout=40) as http:

        async def command(method: str, **params: Any) -> dict[str, Any]:
            sent = {"id": 7, "method": method, "params": params}
            return (await http.post(f"/threads/{identity}/commands", json=sent)).json()

        assert (await command("state.get", keys=["rows"]))["result"] == {"values": {"rows": [[3]]}}
        listed = (await command("state.listCheckpoints"))["result"]["checkpoints"]
        assert len(listed) == 2
        forked = (await command("state.fork", checkpoint_id=listed[0]["id"], input=QUESTION))["result"]
        assert forked["thread_id"] != identity
        assert forked["run_id"]
        assert (await command("input.respond", interrupt_id="x", response="1"))["error"] == "no_such_interrupt"
        assert (await command("fly.away"))["error"] == "unknown_command"
        assert (await command("run.start", assistant_id="nobody", input=QUESTION))["error"] == "invalid_argument"
        missing = "/threads/00000000-0000-0000-0000-000000000000/stream/events"
        assert (await http.post(missing, json={"channels": ["lifecycle"]})).status_code == 404


async def test_a_question_in_messages_is_answered_at_once_or_streamed(stack: Stack) -> None:
    headers = {"Authorization": f"Bearer {KEYS['analyst']}"}
    async with httpx.AsyncClient(base_url=stack.http_address, headers=headers, timeout=40) as http:
        listed = {**QUESTION, "thread_id": "chat-7", "pagination": {"page": 1, "page_size": 2}}
        listed["messages"] = [{"role": "user", "content": "List the names of all customers"}]
        first = (await http.post("/api/v1/query/sync", json=listed)).json()
        assert (first["status"], len(first["rows"]), first["pagination"]["has_next"]) == ("success", 2, True)
        second = {**listed, "pagination": {"limit": 2, "offset": 2}, "config": {"configurable": {"language": "en"}}}
        following = (await http.post("/api/v1/query/sync", json=second)).json()
        assert (len(following["rows"]), following["pagination"]["page"]) == (1, 2)
        assert first["thread_id"] == following["thread_id"]
        in_thread = {**QUESTION, "thread_id": first["thread_id"]}
        words = await http.post("/api/v1/query", json=in_thread)
        pairs = [json.loads(line[6:]) for line in words.text.splitlines() if line.startswith("data: ")]
        assert {chunk["type"] for chunk, _ in pairs} == {"AIMessageChunk"}
        streamed = await http.post("/api/v1/query", json={**in_thread, "stream_mode": "updates"})
        assert streamed.text.startswith("event: metadata\n")
        assert streamed.text.rstrip().rpartition("event: ")[2].startswith("end")


async def test_a_connection_cut_behind_any_frame_loses_and_repeats_nothing(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langgraph_sdk._async.http._reconnect_delay", lambda *_, **__: 0.01)
    whole = await _streamed_through(stack, None)
    durable = [part for part in whole if part.id]
    assert len(durable) > 10
    for cut_after in range(1, len(whole) + 1):
        parts = await _streamed_through(stack, cut_after)
        got = [(part.event, (part.data or {}).get("event") if isinstance(part.data, dict) else None) for part in parts]
        assert [name for name, _ in got if name == "end"] == ["end"], cut_after
        seen = [part.id for part in parts if part.id]
        assert len(seen) == len(set(seen)), cut_after
        assert len([part for part in parts if part.id]) == len(durable), cut_after


async def _streamed_through(stack: Stack, cut_after: int | None) -> list[Any]:
    modes: Any = ["values", "updates", "custom"]
    async with (
        cutting(stack.http_address, cut_after) as address,
        get_client(url=address, api_key=KEYS["analyst"]) as client,
    ):
        stream = client.runs.stream(None, ASSISTANT, input=QUESTION, stream_mode=modes)
        # Progress is of the moment: the client gives it the id of the frame before it.
        return [part for part in await collected(stream) if part.event != "custom" or not _is_progress(part)]


def _is_progress(part: Any) -> bool:
    return not part.id or (isinstance(part.data, dict) and part.data.get("event") == "progress")


async def test_a_stream_that_is_opened_again_after_five_seconds_without_an_answer_still_shows_the_first_run(
    client: LangGraphClient, stack: Stack
) -> None:
    thread = client.threads.stream(assistant_id=ASSISTANT)
    async with thread as started:
        await started.run.start(input=QUESTION)
    await asyncio.sleep(5.1)
    async with asyncio.timeout(60), httpx.AsyncClient(base_url=stack.http_address) as http:
        path, headers = f"/threads/{thread.thread_id}/stream/events", {"x-api-key": KEYS["analyst"]}
        async with http.stream("POST", path, json={"channels": ["lifecycle"]}, headers=headers) as response:
            lines = response.aiter_lines()
            shown = [json.loads((await _next_data(lines))[6:])["params"]["data"]["event"] for _ in range(3)]
    assert shown == ["started", "running", "completed"]


async def _next_data(lines: AsyncIterator[str]) -> str:
    return await anext(line async for line in lines if line.startswith("data: "))


async def test_the_thread_protocol_cut_behind_any_frame_loses_and_repeats_nothing(stack: Stack) -> None:
    whole = await _protocol_through(stack, None)
    kinds = [method for method, _ in whole]
    assert kinds[0] == "lifecycle"
    assert kinds.count("values") >= 2
    for cut_after in range(1, len(whole) + 1):
        assert await _protocol_through(stack, cut_after) == whole, cut_after


async def _protocol_through(stack: Stack, cut_after: int | None) -> list[tuple[str, Any]]:
    """Return each event of a run once as a client met it, without what differs from run to run."""
    met: list[tuple[str, Any]] = []
    numbers: list[int] = []
    async with (
        asyncio.timeout(60),
        cutting(stack.http_address, cut_after) as address,
        get_client(url=address, api_key=KEYS["analyst"]) as client,
        client.threads.stream(assistant_id=ASSISTANT) as thread,
    ):
        await thread.run.start(input=QUESTION)
        async for event in thread.subscribe(["lifecycle", "values", "updates", "messages", "checkpoints", "custom"]):
            data: Any = event["params"]["data"]
            numbers.append(event.get("seq", 0))
            met.append((event["method"], data.get("event") if isinstance(data, dict) else None))
        output: Any = await thread.output
        assert output["rows"] == [[3]]
    assert numbers == sorted(numbers)
    return met
