"""A model's words while it writes: for analysts who ask for them, at every API, and for nobody else."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import grpc
import httpx
import pytest
import pytest_asyncio

from querybus.core.envelope import Audience
from querybus.core.subjects import StageName
from querybus_cli.commands.ask import ask
from querybus_cli.local.local_stack import Stack, StackPlan
from querybus_gateway.v1 import query_service_pb2 as v1
from tests.support.scripted_model import ScriptedModel, say

pytestmark = [pytest.mark.connected, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

SQL = "SELECT COUNT(name) FROM customers WHERE name IS NOT NULL"
PIECE_SECONDS = 0.3
"""Longer than notes are held back, so that some are sent before the answer is there."""
KEYS = {"analyst": "qb.local.analyst.for-this-test", "business": "qb.local.business.for-this-test"}


@dataclass
class Place:
    stack: Stack
    grpc_address: str
    numbers: Iterator[int] = field(default_factory=count)

    def question(self) -> str:
        """Return one that was not asked before: what a model said of one that was is remembered."""
        return f"How many customers are there, case {next(self.numbers)}?"

    async def over_http(self, audience: Audience, streams: bool | None) -> str:
        headers = {"Authorization": f"Bearer {KEYS[audience]}"}
        async with httpx.AsyncClient(base_url=self.stack.http_address, headers=headers, timeout=60) as http:
            begun = await http.post("/v1/queries", json={"question": self.question(), "options": said(streams)})
            return (await http.get(f"{begun.headers['location']}/events")).text

    async def over_grpc(self, audience: Audience, streams: bool | None) -> str:
        question = v1.Question(question=self.question(), options=v1.Options(stream_tokens=streams))
        metadata = (("authorization", f"Bearer {KEYS[audience]}"),)
        async with grpc.aio.insecure_channel(self.grpc_address) as channel:
            method = channel.unary_stream("/querybus.v1.QueryService/AskStream")
            request = v1.AskStreamRequest(question=question).SerializeToString()
            updates = [item async for item in method(request, metadata=metadata, timeout=60)]
        return "\n".join(str(v1.AskStreamResponse.FromString(update)) for update in updates)

    async def over_bus(self, audience: Audience, streams: bool | None) -> str:
        received: list[tuple[str, str]] = []
        async with self.stack.client(audience) as client, client.progress() as progress:

            async def listen() -> None:
                async for query, note in progress:
                    received.append((query, json.dumps(note)))

            listening = asyncio.create_task(listen())
            answer = await ask(client, {"question": self.question(), "options": said(streams)}, lambda _: None)
            listening.cancel()
        # The last words of a query may come after its answer, when the next is asked already.
        own = [note for query, note in received if query == answer["query_id"]]
        return "\n".join([*own, json.dumps(answer)])


def said(streams: bool | None) -> dict[str, bool]:
    return {} if streams is None else {"stream_tokens": streams}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Place]:
    folder: Path = tmp_path_factory.mktemp("tokens")
    file = folder / "shop.sqlite"
    with sqlite3.connect(file) as connection:
        connection.executescript("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
    connections = folder / "connections.yaml"
    connections.write_text(json.dumps({"connections": [{"name": "shop", "url": f"sqlite:///{file}"}]}))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with ScriptedModel(lambda _: say(SQL, piece_seconds=PIECE_SECONDS)) as model:
        address = {"llm_base_url": model.base_url, "llm_streaming": True}
        extra = {StageName.GENERATOR: address, StageName.GATEWAY: {"grpc_port": port}}
        async with Stack(StackPlan(connections_file=connections, sync="2m", extra=extra), keys=KEYS) as stack:
            yield Place(stack, f"127.0.0.1:{port}")


Api = Callable[[Place, Audience, bool | None], Awaitable[str]]
REPORTED = re.compile(r'"?state"?: ?"tokens"')


@pytest.mark.parametrize("api", [Place.over_http, Place.over_grpc, Place.over_bus])
async def test_words_come_to_an_analyst_who_asks_and_to_nobody_else(place: Place, api: Api) -> None:
    asked, silent, business = await asyncio.gather(
        api(place, "analyst", True), api(place, "analyst", None), api(place, "business", True)
    )
    for item in (asked, silent, business):
        assert '"answered"' in item or "OUTCOME_ANSWERED" in item, item
    assert REPORTED.search(asked), asked
    assert not REPORTED.search(silent)
    assert not REPORTED.search(business)
    assert "SELECT" not in business
