"""What an operator sets for everybody holds at every API, is shown with its origin, and gives way to request and person."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Final

import pytest
import pytest_asyncio

from querybus.core.options import Options
from querybus_gateway.admit import RequestOptions

from .compatible_paths import MCP_HEADERS
from .every_api import Api
from .stack_of_tests import ApiStack, api_stack
from .test_same_at_every_api import same

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

DEFAULTS: Final[dict[str, Any]] = {"summary": False, "enable_syntax_validation": False, "retries_max": 1}
QUESTION: Final = "How many lions are there?"
ASKED: Final = {"messages": [{"role": "human", "content": QUESTION}]}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stack() -> AsyncGenerator[ApiStack]:
    settings = {"option_defaults": RequestOptions(**DEFAULTS), "repair_policies": {"acme": "rules_only"}}
    async with api_stack(grpc_port=0, rate_per_second=10_000, **settings) as made, made.stages():
        yield made


async def over_http(stack: ApiStack) -> None:
    async with stack.http() as http:
        await http.post("/v1/queries", json={"question": QUESTION, "connection": "shop"})


async def over_the_bus(stack: ApiStack) -> None:
    async with stack.client() as client:
        await client.call("ask", {"question": QUESTION, "connection": "shop"})


async def as_a_durable_question(stack: ApiStack) -> None:
    async with stack.client() as client:
        await client.submit({"question": QUESTION, "connection": "shop"}, "durable")


async def in_a_batch(stack: ApiStack) -> None:
    async with stack.http() as http:
        await http.post("/v1/batches", json={"connection": "shop", "items": [{"id": "one", "question": QUESTION}]})


async def over_openai(stack: ApiStack) -> None:
    async with stack.http() as http:
        body = {"model": "shop", "messages": [{"role": "user", "content": QUESTION}]}
        reply = await http.post("/openai/v1/chat/completions", json=body)
        assert reply.status_code == 200, reply.text


async def over_langgraph(stack: ApiStack) -> None:
    async with stack.http() as http:
        assert (await http.post("/runs/wait", json={"assistant_id": "shop", "input": ASKED})).status_code == 200


async def over_mcp(stack: ApiStack) -> None:
    async with stack.http() as http:
        params = {"name": "ask", "arguments": {"question": QUESTION, "connection": "shop"}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        assert (await http.post("/mcp", json=body, headers=MCP_HEADERS)).status_code == 200


WAYS_TO_ASK: Final = (over_http, over_the_bus, as_a_durable_question, in_a_batch, over_openai, over_langgraph, over_mcp)


async def options_of_new(stack: ApiStack, ask: Callable[[ApiStack], Awaitable[None]]) -> Options:
    """Return the options of the query that a way to ask begins."""

    async def known() -> list[str]:
        async with stack.http() as http:
            return [query["query_id"] for query in (await http.get("/v1/queries")).json()["queries"]]

    before = set(await known())
    await ask(stack)
    async with asyncio.timeout(30):
        while not (new := [query for query in await known() if query not in before]):
            await asyncio.sleep(0.05)
    return (await stack.log(new[0]))[0].envelope().options


@pytest.mark.parametrize("ask", WAYS_TO_ASK, ids=lambda ask: ask.__name__)
@pytest.mark.requirement("000.32")
async def test_the_systems_defaults_hold_at_every_api(stack: ApiStack, ask: Callable[[ApiStack], Awaitable[None]]):
    options = await options_of_new(stack, ask)
    assert {name: getattr(options, name) for name in DEFAULTS} == DEFAULTS
    assert options.repair_policy == "rules_only"


async def test_a_batch_gives_way_to_what_its_request_and_its_person_say(stack: ApiStack) -> None:
    async def ask(stack: ApiStack) -> None:
        async with stack.http() as http:
            await http.put("/v1/preferences", json={"page_size": 7})
            items = [{"id": "one", "question": QUESTION}]
            await http.post("/v1/batches", json={"connection": "shop", "items": items, "options": {"summary": True}})

    options = await options_of_new(stack, ask)
    assert (options.summary, options.page_size, options.retries_max) == (True, 7, 1)


@pytest.mark.requirement("000.32")
async def test_every_api_says_which_options_exist_and_what_holds(stack: ApiStack) -> None:
    async with stack.http() as http:
        await http.put("/v1/preferences", json={"page_size": 9})

    async def scenario(api: Api, _: str) -> list[Any]:
        return [await api.options()]

    (listed,) = await same(stack, scenario)
    known = {option["name"]: option for option in listed["options"]}
    assert set(known) == set(Options.model_fields)
    assert known["summary"]["default"] is False
    assert known["summary"]["defaults"] == {"product": True, "system": False}
    assert (known["page_size"]["default"], known["page_size"]["defaults"]) == (9, {"product": 100, "person": 9})
    assert (known["repair_policy"]["default"], known["repair_policy"]["defaults"]) == (
        "rules_only",
        {"tenant": "rules_only"},
    )
    assert {name: known["retries_max"][name] for name in ("kind", "minimum", "maximum")} == {
        "kind": "integer",
        "minimum": 0,
        "maximum": 5,
    }
