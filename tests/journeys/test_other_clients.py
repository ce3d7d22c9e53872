"""Clients and checkers that others made, unchanged, against a running stack: what the documents promise is what they find."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.core.credential import key_text
from querybus.core.subjects import StageName
from querybus_cli.local.local_stack import TENANT, Stack, StackPlan
from querybus_cli.local.ports import free_ports

ROOT = Path(__file__).parents[2]
NODE = ROOT / "build" / "environments" / "node"
CODEGEN = ROOT / "build" / "environments" / "codegen" / "bin"
IN_CI = os.environ.get("CI") == "true"
pytestmark = [
    pytest.mark.connected,
    pytest.mark.slow,
    pytest.mark.servers,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(
        not IN_CI and not ((NODE / "node_modules").is_dir() and CODEGEN.is_dir()),
        reason="needs `make node-clients codegen`",
    ),
]
KEYS = {name: key_text(TENANT, name, f"secret-of-{name}") for name in ("business", "analyst")}
QUESTION = "How many customers are there?"
SECONDS_MAX = 180


@dataclass(frozen=True)
class Running:
    """Where a stack is, by each API."""

    http: str
    grpc: str
    bus: str


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Running]:
    directory = tmp_path_factory.mktemp("others")
    shop = directory / "shop.sqlite"
    with sqlite3.connect(shop) as connection:
        connection.executescript(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL);"
            "INSERT INTO customers VALUES (1,'Ann','Rome'),(2,'Bob','Bern'),(3,'Cid','Rome');"
        )
    file = directory / "connections.yaml"
    file.write_text(json.dumps({"connections": [{"name": "shop", "url": f"sqlite:///{shop}"}]}))
    (port,) = free_ports(1)
    plan = StackPlan(connections_file=file, sync="2m", extra={StageName.GATEWAY: {"grpc_port": port}})
    async with EmbeddedNats([TENANT], sync="2m") as bus, Stack(plan, bus, keys=KEYS) as stack:
        yield Running(stack.http_address, f"127.0.0.1:{port}", bus.url)


async def run(*command: str, **more: Any) -> str:
    process = await asyncio.create_subprocess_exec(*command, stdout=-1, stderr=-1, **more)
    async with asyncio.timeout(SECONDS_MAX):
        out, err = await process.communicate()
    assert process.returncode == 0, out.decode()[-3_000:] + err.decode()[-3_000:]
    return out.decode()


async def node(script: str, *words: str) -> Any:
    """Run a script of tests/journeys/node beside what npm has installed; return the JSON that it prints."""
    place = NODE / script
    place.write_text((Path(__file__).parent / "node" / script).read_text())
    return json.loads(await run("node", str(place), *words))


async def test_the_official_parser_finds_no_fault_in_the_asyncapi_document(running: Running) -> None:
    read = await node("asyncapi.mjs", f"{running.http}/v1/asyncapi.json")
    assert read["faults"] == []
    assert read["version"].startswith("3.")
    assert min(read["channels"], read["operations"]) >= 3


async def test_a_browsers_event_source_follows_with_a_ticket_and_stops_at_the_end(running: Running) -> None:
    async with httpx.AsyncClient(
        base_url=running.http, headers={"Authorization": f"Bearer {KEYS['business']}"}
    ) as http:
        query = (await http.post("/v1/queries", json={"question": QUESTION})).json()["id"]
    said = await node("eventsource.mjs", running.http, KEYS["business"], query)
    names = [name for name, _ in said["events"]]
    assert names == ["asked", "drafted", "approved", "concluded", "finished"]
    numbers = [int(number) for _, number in said["events"]]
    assert numbers == sorted(set(numbers))
    # Once for the events, and once to learn that nothing follows.
    assert said["connections"] <= 3


async def test_nodes_grpc_library_asks_follows_and_saves(running: Running) -> None:
    said = await node("grpc.mjs", running.grpc, KEYS["analyst"], str(ROOT / "proto"))
    assert said["asked"]["query"]["answer"]["outcome"] == "OUTCOME_ANSWERED"
    assert said["events"]
    assert "3" in said["file"]
    assert (said["refused"], said["nobody"]) == ("INVALID_ARGUMENT", "UNAUTHENTICATED")


async def test_nats_client_for_node_asks_pages_submits_and_receives_its_answer(running: Running) -> None:
    answers = f"querybus.v1.answer.{TENANT}.analyst.analyst.*"
    said = await node("nats.mjs", running.bus, TENANT, "analyst", KEYS["analyst"], answers)
    assert said["asked"]["rows"] == [[3]]
    assert said["page"]["rows"] == [[3]]
    assert set(said["stored"]) >= {"stream", "seq"}
    assert (said["submitted"]["correlation_id"], said["submitted"]["rows"]) == ("mine", [[3]])
    assert "permissions violation" in said["denied"].lower()


async def test_a_client_that_a_generator_makes_of_the_openapi_document_asks_and_reads(
    running: Running, tmp_path: Path
) -> None:
    command = ("generate", "--url", f"{running.http}/v1/openapi.json", "--output-path", str(tmp_path / "made"))
    said = await run(
        str(CODEGEN / "openapi-python-client"), *command, env={**os.environ, "PATH": f"{CODEGEN}:{os.environ['PATH']}"}
    )
    assert "unsupported" not in said.lower(), said
    program = Path(__file__).parent / "python" / "generated_client.py"
    (package,) = [item for item in (tmp_path / "made").iterdir() if (item / "client.py").is_file()]
    words = (str(program), str(tmp_path / "made"), package.name, running.http, KEYS["analyst"])
    read = json.loads(await run(str(CODEGEN / "python"), *words))
    assert read == {
        "status": "finished",
        "rows": [[3]],
        "sql": True,
        "page": [[3]],
        "threads": 1,
        "connections": ["shop"],
    }


async def test_a_users_program_is_strictly_typed_against_our_client(tmp_path: Path) -> None:
    environment = {**os.environ, "MYPYPATH": str(ROOT / "libs" / "client" / "src")}
    program = Path(__file__).parent / "python" / "users_program.py"
    command = ("--strict", "--no-incremental", "--cache-dir", str(tmp_path), str(program))
    await run(str(CODEGEN / "mypy"), *command, env=environment, cwd=tmp_path)
