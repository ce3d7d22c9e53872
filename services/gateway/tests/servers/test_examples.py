"""The programs of docs/examples run as they stand there, and the AsyncAPI document says what the bus API takes."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path

import httpx
import pytest

from querybus_gateway.bus.api import VERBS
from querybus_gateway.bus.asyncapi import asyncapi

from .stack_of_tests import ApiStack, key_of

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

EXAMPLES = Path(__file__).parents[4] / "docs" / "examples"


@pytest.fixture
def stack(shared_stack: ApiStack) -> ApiStack:
    return shared_stack


async def run(stack: ApiStack, *command: str, password: str | None = None) -> tuple[int, str]:
    environment = {
        "QUERYBUS_NATS_URL": stack.bus.url,
        "QUERYBUS_TENANT": "acme",
        "QUERYBUS_CREDENTIAL": "web",
        "QUERYBUS_CREDENTIAL_PASSWORD": password or key_of("acme", "web"),
        "QUERYBUS_CONNECTION": "shop",
    }
    process = await asyncio.create_subprocess_exec(
        *command, "有多少 customers?", env=os.environ | environment, stdout=-1, stderr=-1
    )
    async with asyncio.timeout(90):
        out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode() + err.decode()


async def test_the_python_example_asks_and_prints_the_rows(stack: ApiStack) -> None:
    async with stack.stages():
        code, text = await run(stack, sys.executable, str(EXAMPLES / "ask.py"))
    assert code == 0, text
    assert "answered" in text
    assert "['上海']" in text


@pytest.mark.servers
@pytest.mark.skipif(
    shutil.which("node") is None and os.environ.get("CI") != "true", reason="needs node (Debian: nodejs)"
)
async def test_the_javascript_example_asks_and_prints_the_rows(stack: ApiStack) -> None:
    async with stack.stages():
        code, text = await run(stack, "node", str(EXAMPLES / "ask.mjs"))
        assert code == 0, text
        assert "answered" in text
        assert '["上海"]' in text
        wrong, text = await run(stack, "node", str(EXAMPLES / "ask.mjs"), password="wrong")
    assert wrong != 0
    assert "Authorization Violation" in text


GO_PATH = Path("/usr/share/gocode")
HAS_GO = shutil.which("go") is not None and (GO_PATH / "src/github.com/nats-io/nats.go").is_dir()


@pytest.mark.servers
@pytest.mark.skipif(
    not HAS_GO and os.environ.get("CI") != "true",
    reason="needs go and nats.go (Debian: golang-go, golang-github-nats-io-go-nats-dev)",
)
async def test_the_go_example_asks_and_prints_the_rows(stack: ApiStack, tmp_path: Path) -> None:
    # As Debian packages Go's libraries: sources below one path, no modules and no network.
    offline = {"GOPATH": str(GO_PATH), "GO111MODULE": "off", "GOCACHE": str(tmp_path / "cache"), "GOFLAGS": ""}
    built = await asyncio.create_subprocess_exec(
        *("go", "build", "-o", str(tmp_path / "ask"), str(EXAMPLES / "ask.go")),
        env=os.environ | offline,
        stdout=-1,
        stderr=-1,
    )
    async with asyncio.timeout(120):
        _, complaints = await built.communicate()
    assert built.returncode == 0, complaints.decode()
    async with stack.stages():
        code, text = await run(stack, str(tmp_path / "ask"))
    assert code == 0, text
    assert "answered" in text
    assert "上海" in text


async def test_the_asyncapi_document_is_served_and_has_every_verb(stack: ApiStack) -> None:
    async with httpx.AsyncClient(base_url=stack.address) as http:
        document = (await http.get("/v1/asyncapi.json")).json()
    assert document == asyncapi()
    assert document["asyncapi"] == "3.0.0"
    for verb in VERBS:
        address = document["channels"][f"call.{verb}"]["address"]
        assert address == f"querybus.v1.call.{{tenant}}.{{credential}}.{verb}"
        assert f"call.{verb}" in document["operations"]
    assert {"submit", "answer", "progress"} <= set(document["channels"])
    assert "question" in document["components"]["schemas"]["AskCall"]["properties"]
