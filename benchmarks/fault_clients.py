"""Callers over HTTP, server-sent events and gRPC while the gateways that they talk to are restarted, one after the other.

Each does what the documents say and nothing beyond it: a request with its key is sent again after a refusal that names a
time, a broken connection or UNAVAILABLE; a 202 is read at its address; a stream that ends without `finished` is taken up
behind its last event. What such a caller could not explain is an error.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import grpc
import httpx

from benchmarks.fault_model import question
from benchmarks.fault_stack import FaultStack
from querybus_cli.local.answers import DEMO
from querybus_gateway.v1 import query_service_pb2 as v1

CALLERS = 4
"""Of each API."""
CALL_SECONDS_MAX = 60.0
WAIT_SECONDS = 20
PAUSE_SECONDS = 0.25
RESTARTS = 2
"""Of each gateway."""
AGAIN = frozenset({429, 502, 503, 504})
ANSWERED = "answered"


@dataclass(frozen=True)
class Called:
    """What callers saw."""

    called: int
    client_errors: int
    resumed: int


@dataclass
class Callers:
    """The callers of one run: where the gateways are, and what was seen."""

    http: tuple[str, ...]
    grpc: tuple[str, ...]
    key: str
    called: int = 0
    resumed: int = 0
    errors: list[str] = field(default_factory=list[str])

    async def run(self, name: str, ask: Callable[[int, int], Awaitable[str]], caller: int, end: asyncio.Event) -> None:
        """Ask one question after the other until the end."""
        number = 0
        while not end.is_set():
            number += 1
            try:
                async with asyncio.timeout(CALL_SECONDS_MAX):
                    outcome = await ask(caller, number)
            except (httpx.HTTPError, grpc.aio.AioRpcError, TimeoutError, ValueError) as error:
                self.errors.append(f"{name}: {type(error).__name__}: {str(error)[:200]}")
            else:
                self.called += 1
                if outcome != ANSWERED:
                    self.errors.append(f"{name}: {outcome}")

    async def again(self) -> None:
        self.resumed += 1
        await asyncio.sleep(PAUSE_SECONDS)


def _body(caller: int, number: int) -> dict[str, str]:
    return {"question": question(10_000 + 1_000 * caller + number), "connection": DEMO}


async def sent(
    seen: Callers,
    caller: int,
    method: str,
    path: str,
    *,
    headers: Mapping[str, str],
    json: Mapping[str, str] | None = None,
) -> httpx.Response:
    """Send a request until a gateway answers it, at each in turn."""
    place = caller
    while True:
        address = seen.http[place % len(seen.http)]
        try:
            async with httpx.AsyncClient(base_url=address, timeout=WAIT_SECONDS + 15) as client:
                response = await client.request(
                    method, path, json=json, headers={"Authorization": f"Bearer {seen.key}", **headers}
                )
        except httpx.TransportError:
            place += 1
        else:
            if response.status_code not in AGAIN:
                return response
            place += 1
            await asyncio.sleep(min(float(response.headers.get("Retry-After", "0")), 2.0))
        await seen.again()


async def by_waiting(seen: Callers, caller: int, number: int) -> str:
    """Ask and wait for the answer in place."""
    headers = {"Prefer": f"wait={WAIT_SECONDS}", "Idempotency-Key": f"wait-{caller}-{number}"}
    response = await sent(seen, caller + number, "POST", "/v1/queries", json=_body(caller, number), headers=headers)
    while response.status_code in (200, 202) and response.json()["status"] != "finished":
        path = response.json()["links"]["self"]
        response = await sent(seen, caller + number, "GET", path, headers={"Prefer": f"wait={WAIT_SECONDS}"})
    if response.status_code != 200:
        return f"status {response.status_code}: {response.text[:200]}"
    return str(response.json()["answer"]["outcome"])


async def by_stream(seen: Callers, caller: int, number: int) -> str:
    """Ask and follow the events, taken up where they break off."""
    headers = {"Idempotency-Key": f"stream-{caller}-{number}"}
    body = _body(10 + caller, number)
    asked = await sent(seen, caller + number, "POST", "/v1/queries", json=body, headers=headers)
    if asked.status_code != 202:
        return f"status {asked.status_code}: {asked.text[:200]}"
    path, place, names, last = f"{asked.headers['Location']}/events", caller + number, list[str](), 0
    while True:
        headers = {"Authorization": f"Bearer {seen.key}", "Last-Event-ID": str(last)}
        address = seen.http[place % len(seen.http)]
        try:
            async with (
                httpx.AsyncClient(base_url=address, timeout=45) as client,
                client.stream("GET", path, headers=headers) as response,
            ):
                if response.status_code not in (200, *AGAIN):
                    return f"status {response.status_code} of events"
                event, identity = "", ""
                async for line in response.aiter_lines():
                    name, _, value = line.partition(": ")
                    event, identity = (value if name == "event" else event), (value if name == "id" else identity)
                    if not line:
                        if identity and int(identity) <= last:
                            return f"event {event} came twice"
                        if identity:
                            last = int(identity)
                            names.append(event)
                        event, identity = "", ""
        except httpx.TransportError:
            pass
        if names[-1:] == ["finished"]:
            return ANSWERED if names[0] == "asked" and names[-2] == "concluded" else f"a gap: {names}"
        place += 1
        await seen.again()


async def by_grpc(seen: Callers, caller: int, number: int) -> str:
    """Ask over gRPC and wait for the answer."""
    body = _body(20 + caller, number)
    request = v1.AskRequest(
        question=v1.Question(question=body["question"], connection=body["connection"]), wait_seconds=WAIT_SECONDS
    )
    metadata = (("authorization", f"Bearer {seen.key}"), ("idempotency-key", f"grpc-{caller}-{number}"))
    place = caller + number
    while True:
        async with grpc.aio.insecure_channel(seen.grpc[place % len(seen.grpc)]) as channel:
            ask = channel.unary_unary("/querybus.v1.QueryService/Ask")
            try:
                data = await ask(request.SerializeToString(), metadata=metadata, timeout=WAIT_SECONDS + 15)
            except grpc.aio.AioRpcError as error:
                if error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED):
                    return f"{error.code().name}: {error.details()}"
            else:
                query = v1.AskResponse.FromString(data).query
                if query.HasField("answer"):
                    return "answered" if query.answer.outcome == 1 else f"outcome {query.answer.outcome}"
        place += 1
        await seen.again()


async def clients_under_restarts(stack: FaultStack) -> Called:
    """Restart each gateway twice while callers of three APIs ask, and return what they saw."""
    seen = Callers(tuple(stack.apis.http), tuple(stack.apis.grpc), stack.analyst_key)
    end = asyncio.Event()
    ways = {"waiting": by_waiting, "stream": by_stream, "grpc": by_grpc}
    async with asyncio.TaskGroup() as group:
        for name, way in ways.items():
            for caller in range(CALLERS):

                async def ask(number: int, count: int, way: Callable[..., Awaitable[str]] = way) -> str:
                    return await way(seen, number, count)

                group.create_task(seen.run(name, ask, caller, end))
        try:
            for number in range(RESTARTS * len(seen.http)):
                await asyncio.sleep(2.0)
                replica = f"gateway-{number % len(seen.http) + 1}"
                before = stack.supervisor.pids().get(replica)
                stack.signal(replica, signal.SIGTERM)
                while stack.supervisor.pids().get(replica) in (before, None):
                    await asyncio.sleep(0.1)
                await stack.ready(replica)
            await asyncio.sleep(2.0)
        finally:
            end.set()
    for error in seen.errors[:5]:
        print(f"  a caller saw: {error}")
    return Called(seen.called, len(seen.errors), seen.resumed)
