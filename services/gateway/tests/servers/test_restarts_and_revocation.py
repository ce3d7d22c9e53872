"""A gateway that stops hands its callers over, a revoked key gets nothing more, and a browser's stream ends for good."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from urllib.parse import urlsplit

import grpc
import httpx
import pytest

from querybus.bus.stores.buckets import CredentialStore
from querybus.core.credential import Credential, key_hash, key_text
from querybus.core.subjects import EventName, StageName
from querybus_gateway.app import build
from querybus_gateway.grpc.server import GrpcApi
from querybus_gateway.v1 import connection_service_pb2, query_pb2, query_service_pb2

from .grpc_caller import GrpcCaller, Refusal, question
from .stack_of_tests import ApiStack, Held, key_of, settings_of

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

QUESTION = {"question": "How many orders?", "connection": "shop"}
KEY = key_text("acme", "leaver", "secret")


@pytest.fixture
def stack(shared_stack: ApiStack) -> ApiStack:
    return shared_stack


async def asked(stack: ApiStack, http: httpx.AsyncClient) -> str:
    return (await http.post("/v1/queries", json=QUESTION)).json()["id"]


async def frames_of(response: httpx.Response) -> list[str]:
    return [line.removeprefix("event: ") async for line in response.aiter_lines() if line.startswith("event:")]


async def test_who_waits_at_a_gateway_that_stops_learns_where_to_look(stack: ApiStack) -> None:
    async with AsyncExitStack() as clients:
        async with stack.replica() as address:
            http = await clients.enter_async_context(stack.http(address=address))
            query = await asked(stack, http)
            waiting = [
                asyncio.create_task(http.post("/v1/queries", json=QUESTION, headers={"Prefer": "wait=30"})),
                asyncio.create_task(http.get(f"/v1/queries/{query}", headers={"Prefer": "wait=30"})),
            ]
            await asyncio.sleep(0.5)
        begun, shown = [await item for item in waiting]
    assert (begun.status_code, begun.json()["status"]) == (202, "running")
    assert begun.headers["location"] == f"/v1/queries/{begun.json()['id']}"
    assert (shown.status_code, shown.json()["status"]) == (200, "running")
    # It was not cancelled by the gateway that went: another one gives its answer.
    await stack.answer(query)
    async with stack.http() as http:
        assert (await http.get(f"/v1/queries/{query}")).json()["status"] == "finished"


async def test_a_stream_of_a_gateway_that_stops_ends_and_goes_on_at_another(stack: ApiStack) -> None:
    async with AsyncExitStack() as clients:
        async with stack.replica() as address:
            http = await clients.enter_async_context(stack.http(address=address))
            query = await asked(stack, http)

            async def follow() -> tuple[list[str], str]:
                names: list[str] = []
                last = ""
                path = f"/v1/queries/{query}/events?on_disconnect=cancel"
                async with http.stream("GET", path) as response:
                    async for line in response.aiter_lines():
                        if line.startswith("event:"):
                            names.append(line.removeprefix("event: "))
                        if line.startswith("id:"):
                            last = line.removeprefix("id: ")
                return names, last

            following = asyncio.create_task(follow())
            await asyncio.sleep(0.5)
        names, last = await following
    assert names == ["asked"]
    await stack.answer(query)
    async with (
        stack.http() as http,
        http.stream("GET", f"/v1/queries/{query}/events", headers={"Last-Event-ID": last}) as response,
    ):
        assert await frames_of(response) == ["concluded", "finished"]


@asynccontextmanager
async def grpc_replica(stack: ApiStack) -> AsyncGenerator[str]:
    """Give the address of a gateway that serves gRPC alone."""
    service = build(settings_of(stack.bus, api_port=None, grpc_port=0, rate_per_second=10_000))
    await service.start()
    try:
        yield next(part.address for part in service.parts if isinstance(part, GrpcApi))
    finally:
        await service.stop()


async def test_who_waits_over_grpc_at_a_gateway_that_stops_learns_where_to_look(stack: ApiStack) -> None:
    request = query_service_pb2.AskRequest(question=question(), wait_seconds=15)
    async with AsyncExitStack() as channels:
        async with grpc_replica(stack) as address:
            channel = await channels.enter_async_context(grpc.aio.insecure_channel(address))
            caller = GrpcCaller(channel, key_of("acme", "web"))
            waiting = asyncio.create_task(caller.call("Ask", request))
            await asyncio.sleep(0.5)
        assert (await waiting).query.status == query_pb2.QUERY_STATUS_RUNNING


async def test_grpc_calls_that_come_while_a_gateway_stops_are_unavailable_and_nothing_else(stack: ApiStack) -> None:
    codes: set[grpc.StatusCode] = set()
    request = connection_service_pb2.ListConnectionsRequest()

    async def call_until_it_is_gone(address: str) -> None:
        while True:
            async with grpc.aio.insecure_channel(address) as channel:
                try:
                    await GrpcCaller(channel, key_of("acme", "web")).call("ListConnections", request)
                except Refusal as refusal:
                    codes.add(refusal.code)
                    if refusal.reason == "":
                        return
                    await asyncio.sleep(float(refusal.retry_seconds or 0))

    for _ in range(5):
        async with asyncio.TaskGroup() as callers, grpc_replica(stack) as address:
            for _ in range(16):
                callers.create_task(call_until_it_is_gone(address))
            await asyncio.sleep(0.3)
    assert codes == {grpc.StatusCode.UNAVAILABLE}


async def test_a_browser_that_has_seen_the_end_gets_204(stack: ApiStack) -> None:
    async with stack.http() as http:
        query = await asked(stack, http)
        await stack.answer(query)
        log = await stack.until(query, EventName.FINISHED)
        for sequence, status in ((log[-1].sequence, 204), (log[-1].sequence - 1, 200)):
            path = f"/v1/queries/{query}/events"
            reply = await http.get(path, headers={"Last-Event-ID": str(sequence)})
            assert reply.status_code == status


async def test_a_ticket_opens_the_events_of_its_batch_and_nothing_else(stack: ApiStack) -> None:
    items = {"items": [{"id": "a", "question": "How many?", "connection": "shop"}]}
    async with stack.http() as http, httpx.AsyncClient(base_url=stack.address, timeout=30) as nobody, stack.stages():
        batch, other = [(await http.post("/v1/batches", json=items)).json()["id"] for _ in range(2)]
        ticket = (await http.post(f"/v1/batches/{batch}/ticket")).json()["ticket"]
        reply = await nobody.get(f"/v1/batches/{batch}/events", params={"ticket": ticket})
        assert reply.text.count("event: finished") == 1
        assert (await nobody.get(f"/v1/batches/{other}/events", params={"ticket": ticket})).status_code == 401
        assert (await nobody.get(f"/v1/batches/{batch}", params={"ticket": ticket})).status_code in (401, 422)
    async with stack.http("other") as stranger:
        assert (await stranger.post(f"/v1/batches/{batch}/ticket")).status_code == 404


async def test_a_ticket_opens_the_events_of_its_query_and_nothing_else(stack: ApiStack) -> None:
    async with stack.http() as http, httpx.AsyncClient(base_url=stack.address, timeout=40) as nobody:
        query, other = [await asked(stack, http) for _ in range(2)]
        await stack.answer(query)
        ticket = (await http.post(f"/v1/queries/{query}/ticket")).json()["ticket"]
        reply = await nobody.get(f"/v1/queries/{query}/events", params={"ticket": ticket})
        assert "event: finished" in reply.text
        assert (await nobody.get(f"/v1/queries/{query}/events")).status_code == 401
        refused = await nobody.get(f"/v1/queries/{other}/events", params={"ticket": ticket})
        assert refused.status_code == 401
        as_key = await nobody.get(f"/v1/queries/{query}", headers={"Authorization": f"Bearer {ticket}"})
        assert as_key.status_code == 401
    async with stack.http("other") as stranger:
        assert (await stranger.post(f"/v1/queries/{query}/ticket")).status_code == 404


async def test_a_revoked_key_gets_nothing_more_of_what_it_had_opened(stack: ApiStack) -> None:
    registry = CredentialStore(Held(await stack.user(StageName.GATEWAY)))
    await registry.put(Credential(name="leaver", tenant="acme", user="lee", key_sha256=key_hash(KEY)))
    headers = {"Authorization": f"Bearer {KEY}"}
    async with httpx.AsyncClient(base_url=stack.address, headers=headers, timeout=40) as http:
        async with asyncio.timeout(60):
            while (await http.get("/v1/me")).status_code != 200:
                await asyncio.sleep(0.1)
        query = await asked(stack, http)
        token = (await http.post("/v1/tokens", json={})).json()["token"]
        waiting = asyncio.create_task(http.get(f"/v1/queries/{query}", headers={"Prefer": "wait=20"}))

        async def follow() -> list[str]:
            async with http.stream("GET", f"/v1/queries/{query}/events") as response:
                return await frames_of(response)

        following = asyncio.create_task(follow())
        await asyncio.sleep(0.5)
        await registry.remove("acme", "leaver")
        async with asyncio.timeout(60):
            while (await http.get("/v1/me")).status_code != 401:
                await asyncio.sleep(0.1)
        await stack.answer(query)
        assert await following == ["asked"]
        assert (await waiting).status_code == 401
        reply = await http.get("/v1/me", headers={"Authorization": f"Bearer {token}"})
        assert reply.status_code == 401


async def raw(stack: ApiStack, data: bytes) -> bytes:
    place = urlsplit(stack.address)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    writer.write(data)
    async with asyncio.timeout(60):
        received = await reader.read()
    writer.close()
    return received


async def test_a_request_with_two_lengths_is_refused_and_hides_no_second_one(stack: ApiStack) -> None:
    head = b"POST /v1/queries HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    received = await raw(stack, head + b"GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n")
    assert received.startswith(b"HTTP/1.1 400")
    assert received.count(b"HTTP/1.1 ") == 1


async def test_a_slash_too_many_sends_nobody_to_another_host(stack: ApiStack) -> None:
    async with stack.http() as http:
        reply = await http.get("/v1/connections/", headers={"Host": "evil.example"})
    assert (reply.status_code, "location" in reply.headers) == (404, False)


async def test_callers_that_leave_in_the_middle_are_no_errors(
    stack: ApiStack, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    place = urlsplit(stack.address)
    key = key_text("acme", "web", "secret-of-web")
    with caplog.at_level(logging.ERROR):
        for _ in range(10):
            _, writer = await asyncio.open_connection(place.hostname, place.port)
            head = f"POST /v1/queries HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"
            writer.write(f"{head}Content-Length: 100\r\n\r\n{{".encode())
            await writer.drain()
            await asyncio.sleep(0.05)
            writer.transport.abort()
        await asyncio.sleep(0.5)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
    assert "http.exception" not in capsys.readouterr().out
