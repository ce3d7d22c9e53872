"""The `mcp` package's own client, unchanged, against a stack: tools, questions back, resources, refusals."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
import pytest_asyncio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitResult

from querybus.core.credential import key_text
from querybus.core.subjects import StageName
from querybus_cli.local.local_stack import Stack, StackPlan, settings_of
from querybus_gateway.app import build
from querybus_gateway.http.server import HttpApi
from querybus_gateway.settings import Settings

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.connected, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

KEYS = {name: key_text("local", name, f"secret-of-{name}") for name in ("business", "analyst")}
QUESTION = {"question": "How many customers are there?"}
ROUNDS = 10
UNREADABLE = {"question": "Show the blorbs of everything"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Stack]:
    directory = tmp_path_factory.mktemp("mcp")
    shop = directory / "shop.sqlite"
    with sqlite3.connect(shop) as connection:
        connection.executescript("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);")
        connection.executemany("INSERT INTO customers (name) VALUES (?)", [(f"c{number}",) for number in range(120)])
    file: Path = directory / "connections.yaml"
    file.write_text(json.dumps({"connections": [{"name": "shop", "url": f"sqlite:///{shop}"}]}))
    extra = {StageName.GATEWAY: {"apis": "page,openai,langgraph,mcp,mcp-sql,antvis"}}
    async with Stack(StackPlan(connections_file=file, sync="2m", extra=extra), keys=KEYS) as made:
        yield made


@asynccontextmanager
async def client_of(stack: Stack, credential: str = "analyst", **options: Any) -> AsyncGenerator[Client]:
    headers = {"Authorization": f"Bearer {KEYS[credential]}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{stack.http_address}/mcp", http_client=http), **options) as client,
    ):
        yield client


def text_of(result: Any) -> str:
    return result.content[0].text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_asks_reads_on_and_says_what_it_thinks(stack: Stack, mode: Any) -> None:
    async with client_of(stack, mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"ask", "describe", "more_rows", "explain", "feedback", "run_sql"}
        assert tools["ask"].output_schema is not None
        answer = await client.call_tool("ask", QUESTION)
        made: Any = answer.structured_content
        assert (made["status"], made["rows"]) == ("answered", [[120]])
        assert "| 120 |" in text_of(answer)
        listed: Any = (
            await client.call_tool("ask", {"question": "List the names of all customers"})
        ).structured_content
        assert (len(listed["rows"]), listed["row_count"], listed["has_more"]) == (50, 120, True)
        rest: Any = (
            await client.call_tool("more_rows", {"query_id": listed["query_id"], "page": 3})
        ).structured_content
        assert (len(rest["rows"]), rest["has_next"], rest["total_count"]) == (20, False, 120)
        explained: Any = (await client.call_tool("explain", {"query_id": made["query_id"]})).structured_content
        assert explained["sql"].startswith("SELECT")
        said: Any = (
            await client.call_tool("feedback", {"query_id": made["query_id"], "is_right": True})
        ).structured_content
        assert said["verdict"] == "right"
        described: Any = (await client.call_tool("describe", {})).structured_content
        assert described["connections"][0]["connection"] == "shop"
        assert described["connections"][0]["questions"]
        ran: Any = (await client.call_tool("run_sql", {"sql": "SELECT COUNT(*) FROM customers"})).structured_content
        assert ran["rows"] == [[120]]
        harm: Any = (await client.call_tool("run_sql", {"sql": "DROP TABLE customers"})).structured_content
        assert harm["status"] == "refused"


async def test_resources_are_connections_pages_and_the_card(stack: Stack) -> None:
    async with client_of(stack) as client:
        answer: Any = (await client.call_tool("ask", QUESTION)).structured_content
        known: Any = (await client.read_resource("querybus://connections/*")).contents[0]
        assert json.loads(known.text)["connections"][0]["connection"] == "shop"
        page: Any = (await client.read_resource(f"querybus://results/{answer['query_id']}/1")).contents[0]
        assert json.loads(page.text)["rows"] == [[120]]
        card: Any = (await client.read_resource("ui://querybus/answer.html")).contents[0]
        assert card.mime_type == "text/html;profile=mcp-app"
        assert "innerHTML" not in card.text
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert (tools["ask"].meta or {})["ui"]["resourceUri"] == "ui://querybus/answer.html"


async def test_a_question_back_is_put_to_the_person_where_the_client_can(stack: Stack) -> None:
    forms: list[Any] = []

    async def choose(context: Any, params: Any) -> ElicitResult:
        forms.append(params)
        return ElicitResult(
            action="accept", content={"choice": params.requested_schema["properties"]["choice"]["oneOf"][0]["const"]}
        )

    async with client_of(stack, elicitation_callback=choose) as client:
        answer: Any = (await client.call_tool("ask", UNREADABLE)).structured_content
        assert answer["status"] == "answered"
        assert len(forms) == 1

    async def decline(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="decline")

    async with client_of(stack, elicitation_callback=decline) as client:
        declined = await client.call_tool("ask", UNREADABLE)
        assert declined.is_error


async def test_a_client_that_cannot_ask_gets_the_options_as_a_result(stack: Stack) -> None:
    async with client_of(stack, "business") as client:
        asked: Any = (await client.call_tool("ask", UNREADABLE)).structured_content
        assert asked["status"] == "clarification"
        assert asked["options"]
        chosen = {"question": "1", "answers_to": asked["query_id"]}
        answered: Any = (await client.call_tool("ask", chosen)).structured_content
        assert answered["status"] == "answered"
        # A business reader gets no statement, no name and no explanation.
        assert answered["sql"] is None
        assert (await client.call_tool("explain", {"query_id": answered["query_id"]})).is_error
        assert (await client.call_tool("run_sql", {"sql": "SELECT 1"})).is_error
        follow = {"question": "How many customers are there?", "thread": answered["thread_id"]}
        again: Any = (await client.call_tool("ask", follow)).structured_content
        assert again["thread_id"] == answered["thread_id"]
    async with client_of(stack, "analyst") as other:
        assert (await other.call_tool("more_rows", {"query_id": answered["query_id"], "page": 1})).is_error


async def test_who_comes_without_a_key_is_shown_where_keys_are_explained(stack: Stack) -> None:
    async with httpx.AsyncClient(base_url=stack.http_address) as http:
        refused = await http.post("/mcp", json={})
        assert refused.status_code == 401
        where = refused.headers["www-authenticate"].partition('resource_metadata="')[2].rstrip('"')
        assert (await http.get(where)).json()["resource"] == f"{stack.http_address}/mcp"
        key = {"Authorization": f"Bearer {KEYS['analyst']}"}
        foreign = await http.post("/mcp", json={}, headers={**key, "Origin": "https://evil.example"})
        assert foreign.status_code == 403
        assert (await http.post("/mcp", content=b"{", headers=key)).status_code in (400, 406, 415)


async def test_two_gateways_continue_what_either_has_asked_back(stack: Stack) -> None:
    plan = stack._plan
    other = build(Settings(**settings_of(StageName.GATEWAY, stack._bus, plan)))
    await other.start()
    addresses = [stack.http_address, next(part.address for part in other.parts if isinstance(part, HttpApi))]
    calls = 0

    async def in_turn(request: httpx2.Request) -> None:
        nonlocal calls
        calls += 1
        request.url = request.url.copy_with(port=httpx2.URL(addresses[calls % 2]).port)

    async def choose(context: Any, params: Any) -> ElicitResult:
        first = params.requested_schema["properties"]["choice"]["oneOf"][0]
        return ElicitResult(action="accept", content={"choice": first["const"]})

    try:
        headers = {"Authorization": f"Bearer {KEYS['analyst']}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60, event_hooks={"request": [in_turn]}) as http,
            Client(
                streamable_http_client(f"{stack.http_address}/mcp", http_client=http), elicitation_callback=choose
            ) as client,
        ):
            for _ in range(ROUNDS):
                answer: Any = (await client.call_tool("ask", UNREADABLE)).structured_content
                assert answer["status"] == "answered"
        assert calls > 2 * ROUNDS
    finally:
        await other.stop()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_command_serves_the_same_on_standard_input_and_output(stack: Stack, mode: Any) -> None:
    command = str(Path(sys.executable).parent / "querybus")
    parameters = StdioServerParameters(
        command=command, args=["mcp", "--url", stack.http_address], env={"QUERYBUS_KEY": KEYS["analyst"]}
    )
    async with Client(parameters, mode=mode) as client:
        assert "ask" in {tool.name for tool in (await client.list_tools()).tools}
        answer: Any = (await client.call_tool("ask", QUESTION)).structured_content
        assert answer["rows"] == [[120]]
        page: Any = (await client.read_resource(f"querybus://results/{answer['query_id']}/1")).contents[0]
        assert json.loads(page.text)["rows"] == [[120]]


async def test_without_a_gateway_the_command_asks_a_database_by_itself(stack: Stack) -> None:
    shop = json.loads(stack._plan.connections_file.read_text())["connections"][0]["url"]
    command = str(Path(sys.executable).parent / "querybus")
    async with Client(StdioServerParameters(command=command, args=["mcp", "--database", shop])) as client:
        answer: Any = (await client.call_tool("ask", QUESTION)).structured_content
        assert answer["rows"] == [[120]]


OLDER = ROOT / "build" / "environments" / "mcp1" / "bin" / "python"


@pytest.mark.servers
@pytest.mark.skipif(not OLDER.exists() and os.environ.get("CI") != "true", reason="needs `make mcp-client`")
async def test_the_older_generation_of_the_client_asks_over_both_transports(stack: Stack) -> None:
    command = str(Path(sys.executable).parent / "querybus")
    process = await asyncio.create_subprocess_exec(
        *(str(OLDER), str(ROOT / "tests" / "journeys" / "python" / "mcp1.py"), stack.http_address, command),
        env={"PATH": os.environ["PATH"], "QUERYBUS_KEY": KEYS["business"]},
        stdout=-1,
        stderr=-1,
    )
    async with asyncio.timeout(120):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    for transport, said in json.loads(out).items():
        assert said["version"] in ("2025-06-18", "2025-11-25"), transport
        assert {"ask", "describe", "more_rows", "explain", "feedback"} <= set(said["tools"])
        assert (said["rows"], said["page"], said["resource"]) == ([[120]], [[120]], [[120]]), transport
        assert "| 120 |" in said["text"]
        assert (said["back"], said["chosen"]) == ("clarification", "answered")
        assert "querybus://metrics/{connection}/{name}" in said["templates"]


async def test_a_definition_is_a_resource_that_both_audiences_read_in_their_words(stack: Stack) -> None:
    taught = {
        "definitions": {
            "dataset:customers": {"name": "customers", "source": "customers", "primary_key": ["id"]},
            "metric:customer_count": {
                "name": "customer_count",
                "description": "everybody who ever bought",
                "expression": {"dialects": [{"dialect": "ANSI_SQL", "expression": "COUNT(customers.id)"}]},
            },
        }
    }
    headers = {"Authorization": f"Bearer {KEYS['analyst']}"}
    async with httpx.AsyncClient(base_url=stack.http_address, headers=headers) as http:
        assert (await http.post("/v1/connections/shop/knowledge", json=taught)).status_code == 200
    for credential, has_expression in (("analyst", True), ("business", False)):
        async with client_of(stack, credential) as client:
            listed: Any = (await client.read_resource("querybus://metrics/shop/*")).contents[0]
            metrics = json.loads(listed.text)["metrics"]
            assert [one["label"] for one in metrics] == ["customer count"]
            one: Any = (await client.read_resource("querybus://metrics/shop/customer%20count")).contents[0]
            assert json.loads(one.text)["description"] == "everybody who ever bought"
            assert ("expression" in json.loads(one.text)) == has_expression
            for missing in ("metrics/shop/nothing", "metrics/nowhere/*", "results/nobody/1", "connections/nowhere"):
                with pytest.raises(MCPError, match="there is no such") as raised:
                    await client.read_resource(f"querybus://{missing}")
                assert raised.value.error.code == -32_602
