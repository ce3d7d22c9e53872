"""The Python client against a real gateway: what it offers is what the HTTP API gives."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio

from querybus.core.catalog import ColumnKind
from querybus.core.messages import Result, ResultColumn
from querybus.core.subjects import EventName
from querybus_client import AsyncClient, Client, Conflict, Invalid, NotFound, Options, Unauthenticated
from querybus_gateway.admit import RequestOptions

from .stack_of_tests import ApiStack, api_stack, key_of

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

ROWS = tuple((f"city {number}",) for number in range(250))
MANY = Result(columns=(ResultColumn(name="city", kind=ColumnKind.TEXT),), rows=ROWS, row_count=250)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stack() -> AsyncGenerator[ApiStack]:
    async with api_stack() as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def client(stack: ApiStack) -> AsyncGenerator[AsyncClient]:
    async with AsyncClient(stack.address, key_of("acme", "web")) as made:
        yield made


async def test_every_option_of_a_request_can_be_said() -> None:
    assert set(Options.__annotations__) == set(RequestOptions.model_fields)


async def test_the_synchronous_client_asks_and_reads(stack: ApiStack) -> None:
    def work() -> tuple[Any, ...]:
        with Client(stack.address, key_of("acme", "web")) as client:
            answer = client.ask("How many customers?", connection="shop", options={"language": "en"})
            events = list(client.stream("How many customers?", connection="shop", thread_id=answer.thread_id))
            pages = list(client.pages(answer.query_id))
            return answer, events, pages, client.turns(answer.thread_id), b"".join(client.export(answer.query_id))

    async with stack.stages():
        answer, events, pages, turns, exported = await asyncio.to_thread(work)
    assert answer.rows == (("上海",), ("Rome",))
    assert [event.name for event in events if event.sequence is not None] == ["asked", "concluded", "finished"]
    assert events[-1].answer.rows == answer.rows
    assert [page.rows for page in pages] == [answer.rows]
    assert [turn.question for turn in turns] == ["How many customers?"] * 2
    assert "上海" in exported.decode()


async def test_pages_of_a_long_result(stack: ApiStack, client: AsyncClient) -> None:
    query = await client.submit("How many customers?", connection="shop")
    assert not query.is_finished
    with pytest.raises(Conflict):
        await client.page(query.id)
    await stack.answer(query.id, result=MANY)
    pages = [page async for page in client.pages(query.id)]
    assert [len(page.rows) for page in pages] == [100, 100, 50]
    assert sum((page.rows for page in pages), ()) == ROWS
    lines = b"".join([item async for item in client.export(query.id, "jsonl")]).splitlines()
    assert len(lines) == 250
    assert "city 0" in str(json.loads(lines[0]))


async def test_cancel_and_what_does_not_exist(stack: ApiStack, client: AsyncClient) -> None:
    query = await client.submit("How many customers?", connection="shop")
    await client.cancel(query.id)
    with pytest.raises(Conflict) as caught:
        await client.cancel(query.id)
    assert caught.value.problem["outcome"] == "cancelled"
    async with AsyncClient(stack.address, key_of("other", "web")) as foreign:
        for call in (foreign.query(query.id), foreign.cancel(query.id), foreign.thread(query.id)):
            with pytest.raises(NotFound):
                await call
    async with AsyncClient(stack.address, "qb.acme.web.wrong") as nobody:
        with pytest.raises(Unauthenticated):
            await nobody.ask("q")
    with pytest.raises(Invalid) as invalid:
        await client.ask("q", connection="shop", options={"retries_max": 99})
    assert invalid.value.errors[0]["pointer"] == "/options/retries_max"


async def test_a_reader_that_goes_away_cancels_its_query_if_it_asked_for_that(
    stack: ApiStack, client: AsyncClient
) -> None:
    query = await client.submit("How many customers?", connection="shop")
    events = client.follow(query.id, cancel_on_disconnect=True)
    assert (await anext(events)).name == "asked"
    await events.aclose()
    await stack.until(query.id, EventName.CONCLUDED)


async def test_threads_are_listed_forked_and_deleted(stack: ApiStack, client: AsyncClient) -> None:
    async with stack.stages():
        first = await client.ask("How many customers?", connection="shop")
        second = await client.ask("And orders?", connection="shop", thread_id=first.thread_id)
        forked = await client.fork(first.thread_id, query_id=first.query_id)
        await client.ask("And shops?", connection="shop", thread_id=forked.id)
    turns = await client.turns(first.thread_id)
    assert [turn.query_id for turn in turns] == [first.query_id, second.query_id]
    state = await client.thread(first.thread_id, at_sequence=turns[0].last_sequence)
    assert [turn.query_id for turn in state.turns] == [first.query_id]
    assert forked.id in [thread.id async for thread in client.threads()]
    await client.delete_thread(first.thread_id)
    with pytest.raises(NotFound):
        await client.turns(first.thread_id)


async def test_a_batch_is_followed_to_its_end(stack: ApiStack, client: AsyncClient) -> None:
    items = [{"id": f"i{number}", "question": "How many customers?"} for number in range(5)]
    async with stack.stages():
        batch = await client.batch(items, connection="shop", idempotency_key="report")
        assert (await client.batch(items, connection="shop", idempotency_key="report")).id == batch.id
        events = [item async for item in client.follow_batch(batch.id)]
    assert sorted(event.data["id"] for event in events if event.name == "item") == [f"i{number}" for number in range(5)]
    assert events[-1].name == "finished"
    whole = await client.get_batch(batch.id)
    assert whole.is_finished
    assert [item.id for item in whole.items] == [f"i{number}" for number in range(5)]
    assert all(item.answer is not None and item.answer.is_good for item in whole.items)
    with pytest.raises(Conflict):
        await client.retry_batch(batch.id)


async def test_the_callers_connections(client: AsyncClient) -> None:
    assert [connection["name"] for connection in await client.connections()] == ["crm", "shop"]
