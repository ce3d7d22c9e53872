"""Clients from npm, unchanged, against a stack: LangGraph's in two generations, and antvis' chart server."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import pytest_asyncio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from querybus.core.credential import key_text
from querybus.core.subjects import StageName
from querybus_cli.local.local_stack import Stack, StackPlan
from querybus_cli.local.ports import free_ports

ROOT = Path(__file__).parents[2]
MODULES = ROOT / "build" / "environments" / "node" / "node_modules"
pytestmark = [
    pytest.mark.connected,
    pytest.mark.slow,
    pytest.mark.servers,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(
        not MODULES.is_dir() and os.environ.get("CI") != "true", reason="needs `make node-clients` (node and npm)"
    ),
]
KEYS = {name: key_text("local", name, f"secret-of-{name}") for name in ("business", "analyst")}
POINTS = [{"category": "a", "value": 3}, {"category": "b", "value": 5}]
TIMES = [{"time": "2024", "value": 3}, {"time": "2025", "value": 5}]
CHARTS: dict[str, dict[str, Any]] = {
    "line": {"data": TIMES, "title": "Sales by year"},
    "area": {"data": TIMES},
    "bar": {"data": POINTS},
    "column": {"data": [{**POINTS[0], "group": "x"}, {**POINTS[0], "group": "y"}]},
    "pie": {"data": POINTS},
    "funnel": {"data": POINTS},
    "waterfall": {"data": [*POINTS, {"category": "all", "isTotal": True}]},
    "boxplot": {"data": [*POINTS, {"category": "a", "value": 9}]},
    "histogram": {"data": [1, 2, 2, 3, 9]},
    "scatter": {"data": [{"x": 1, "y": 2}, {"x": 3, "y": 1}]},
    "dual_axes": {
        "categories": ["a", "b"],
        "series": [{"type": "column", "data": [1, 2]}, {"type": "line", "data": [0.5, 0.1]}],
    },
}


@pytest.fixture
def free_port() -> int:
    return free_ports(1)[0]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Stack]:
    directory = tmp_path_factory.mktemp("node")
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


@pytest.mark.parametrize("package", ["@langchain/langgraph-sdk", "langgraph-sdk-2"])
async def test_langgraphs_client_for_javascript_streams_waits_and_lists(stack: Stack, package: str) -> None:
    script = MODULES.parent / "langgraph.mjs"
    script.write_text((Path(__file__).parent / "node" / "langgraph.mjs").read_text())
    process = await asyncio.create_subprocess_exec(
        *("node", str(script), stack.http_address, KEYS["analyst"], package), stdout=-1, stderr=-1
    )
    async with asyncio.timeout(120):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    said = json.loads(out)
    assert said["events"][0] == "metadata"
    assert said["events"][-1] == "end"
    assert (said["rows"], said["states"], said["assistants"]) == ([[3]], 4, ["text2sql_agent", "shop"])
    # The older line knows no thread protocol.
    assert said.get("protocolRows", [[3]]) == [[3]]


async def test_antvis_chart_server_gets_its_pictures_here_and_is_refused_by_name(stack: Stack) -> None:
    place = urlsplit(stack.http_address)
    address = f"http://key:{KEYS['business']}@{place.netloc}/antvis"
    server = StdioServerParameters(
        command="node",
        args=[str(MODULES / "@antv" / "mcp-server-chart" / "build" / "index.js")],
        env={"VIS_REQUEST_SERVER": address},
    )
    async with Client(server) as client, httpx.AsyncClient(timeout=60) as http:
        assert len((await client.list_tools()).tools) >= 25
        picture_address = ""
        for kind, arguments in CHARTS.items():
            made: Any = await client.call_tool(f"generate_{kind}_chart", arguments)
            assert not made.is_error, (kind, made)
            picture_address = made.content[0].text
            picture = await http.get(picture_address)
            assert (picture.status_code, picture.headers["content-type"]) == (200, "image/png"), kind
            assert picture.content.startswith(b"\x89PNG"), kind
        with pytest.raises(Exception, match="'word-cloud' are not drawn here"):
            await client.call_tool("generate_word_cloud_chart", {"data": [{"text": "a", "value": 1}]})
        forged = picture_address.replace("/pictures/", "/pictures/A")
        assert (await http.get(forged)).status_code == 404
        assert (await http.post(f"{stack.http_address}/antvis", json={"type": "pie"})).status_code == 401


async def test_a_chart_server_of_others_draws_answers_where_the_operator_names_one(
    tmp_path: Path, free_port: int
) -> None:
    file = tmp_path / "shop.sqlite"
    with sqlite3.connect(file) as connection:
        connection.executescript(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, city TEXT NOT NULL);"
            "INSERT INTO customers VALUES (1,'Rome'),(2,'Bern'),(3,'Rome'),(4,'Oslo');"
        )
    connections = tmp_path / "connections.yaml"
    connections.write_text(json.dumps({"connections": [{"name": "shop", "url": f"sqlite:///{file}"}]}))
    extra = {StageName.PRESENTER: {"chart_server_url": f"http://127.0.0.1:{free_port}/mcp"}}
    async with Stack(StackPlan(connections_file=connections, sync="2m", extra=extra), keys=KEYS) as stack:
        headers = {"Authorization": f"Bearer {KEYS['business']}", "Prefer": "wait=30"}
        async with httpx.AsyncClient(base_url=stack.http_address, headers=headers, timeout=60) as http:

            async def chart() -> dict[str, Any]:
                body = {"question": "How many customers are there per city?"}
                return (await http.post("/v1/queries", json=body)).json()["answer"]["chart"]

            place = urlsplit(stack.http_address)
            process = await asyncio.create_subprocess_exec(
                *("node", str(MODULES / "@antv" / "mcp-server-chart" / "build" / "index.js")),
                *("--transport", "streamable", "--host", "127.0.0.1", "--port", str(free_port)),
                env={**os.environ, "VIS_REQUEST_SERVER": f"http://key:{KEYS['business']}@{place.netloc}/antvis"},
                stdout=-3,
                stderr=-3,
            )
            try:
                async with asyncio.timeout(60):
                    while socket.socket().connect_ex(("127.0.0.1", free_port)):
                        await asyncio.sleep(0.1)
                drawn = await chart()
                picture = await http.get(drawn["usermeta"]["picture"])
                assert picture.headers["content-type"] == "image/png"
                chat = {"model": "querybus", "messages": [{"role": "user", "content": "How many customers per city?"}]}
                said = (await http.post("/openai/v1/chat/completions", json=chat)).json()
                assert "/antvis/pictures/" in said["choices"][0]["message"]["content"]
            finally:
                process.terminate()
                await process.wait()
