"""Measures what each API of the gateway costs, and how it bears many who wait.

a: CPU of one gateway per question, over HTTP and gRPC above the bus API, and over the APIs of other people's clients
(OpenAI's, LangGraph's, MCP's) above HTTP, in the same run and by turns; every question is answered at once by stages that think nothing, in this process. b: a thousand callers that wait at the
same time. c: a reader of events beside readers that do not read. d: the memory of a thousand idle readers of events.
Medians of rounds. Prints a table and writes build/bench/gateway.json. A missed target is no error unless `--strict`
is given. Linux only: CPU and memory are read from /proc.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import platform
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import grpc
import httpx
import uvloop
from process_group import ROOT, ProcessGroup, cpu_seconds, memory_mb

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.admin.permissions import Outsider
from querybus.bus.client import BusClient
from querybus.bus.connection import Held
from querybus.bus.log.publish import publish_event
from querybus.bus.pull import Message, PullLoop
from querybus.bus.stores.buckets import ConnectionStore, CredentialStore
from querybus.core.catalog import ColumnKind, Dialect
from querybus.core.credential import Credential, key_hash, key_text
from querybus.core.envelope import concluded, decode
from querybus.core.messages import Concluded, Outcome, Result, ResultColumn
from querybus.core.policy import Connection
from querybus.core.subjects import EventName, StageName
from querybus.ops.clock import system_clock
from querybus.text.plain_answer import plain_finished
from querybus_cli.local.ports import free_ports
from querybus_gateway.v1 import query_service_pb2 as v1

CALLER = Outsider("acme", "bench", "ann", "analyst")
KEY = key_text(CALLER.tenant, CALLER.credential, "of-this-run-only")
CALLERS = 8
WAITING = 1_000
WAITED = 25
IDLE = 1_000
SLOW = 20
NOTES = 200
SETTLE_SECONDS = 20
COMPATIBLE = ("openai", "langgraph", "mcp")
MCP_HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
REQUIRED: Mapping[str, tuple[str, float]] = {
    "http_above_bus_cpu_ms": ("<=", 2.0),
    "grpc_above_bus_cpu_ms": ("<=", 1.5),
    **{f"{name}_above_http_cpu_ms": ("<=", 1.0) for name in COMPATIBLE},
    "waiting_answered": (">=", WAITING),
    # Against a reader beside as many who do read; half as long again is what two busy CPUs blur.
    "slow_reader_ratio": ("<=", 1.5),
    "idle_reader_kib": ("<=", 256.0),
}

Ask = Callable[[], Coroutine[Any, Any, str]]


class Stack:
    """A gateway in a process of its own; the other stages stand here."""

    def __init__(self, group: ProcessGroup, bus: EmbeddedNats, http: int, rpc: int) -> None:
        self.group = group
        self.bus = bus
        self.address = f"http://127.0.0.1:{http}"
        self.grpc_address = f"127.0.0.1:{rpc}"
        self.held = asyncio.Event()
        self.held.set()
        """While it is not set, questions stay open."""
        self._users: dict[StageName, Any] = {}
        self._loops: list[PullLoop] = []

    @property
    def pids(self) -> list[int]:
        return self.group.pids("gateway")

    async def user(self, stage: StageName) -> Any:
        if stage not in self._users:
            self._users[stage] = await self.bus.connect(stage)
        return self._users[stage]

    async def start_stages(self) -> None:
        """Conclude and word every question as soon as it is there."""
        result = Result(columns=(ResultColumn(name="n", kind=ColumnKind.INTEGER),), rows=((7,),), row_count=1)

        async def think(message: Message) -> None:
            event = EventName(message.subject.rpartition(".")[2])
            stage = StageName.GENERATOR if event is EventName.ASKED else StageName.PRESENTER
            if event is EventName.ASKED:
                await self.held.wait()
            envelope = decode(event, message.data)
            body = Concluded(outcome=Outcome.ANSWERED, stage=StageName.GENERATOR, result=result)
            made = concluded(envelope, body) if event is EventName.ASKED else plain_finished(envelope)
            js = (await self.user(stage)).jetstream()
            await publish_event(
                js,
                made,
                input_sequence=message.sequence,
                expected_last_sequence=message.sequence,
                until_ms=system_clock() + 5_000,
            )
            await message.ack()

        for stage in (StageName.GENERATOR, StageName.PRESENTER):
            held = Held(await self.user(stage))
            slots = 2 * WAITING if stage is StageName.GENERATOR else 16
            loop = PullLoop(held, stream="QUERYBUS", durable=stage, slots=slots, handle=think)
            await loop.start()
            self._loops.append(loop)

    async def close(self) -> None:
        self.held.set()
        for loop in self._loops:
            await loop.drain()
        for user in self._users.values():
            await user.close()


@contextlib.asynccontextmanager
async def stack(directory: Path) -> AsyncGenerator[Stack]:
    async with ProcessGroup(directory) as group, EmbeddedNats([CALLER.tenant], sync="2m") as bus:
        await bus.migrate()
        executor = await bus.connect("executor")
        await ConnectionStore(Held(executor)).write(Connection(name="shop", dialect=Dialect.SQLITE))
        await executor.close()
        gateway = await bus.connect("gateway")
        await CredentialStore(Held(gateway)).put(
            Credential(
                name=CALLER.credential,
                tenant=CALLER.tenant,
                user=CALLER.user,
                # Who sees what a model writes gets large notes.
                audience="analyst",
                key_sha256=key_hash(KEY),
            )
        )
        await gateway.close()
        http, rpc, probes = free_ports(3)
        environment = {
            "QUERYBUS_NATS_URL": bus.url,
            "QUERYBUS_NATS_PASSWORD": bus.password("gateway"),
            "QUERYBUS_TENANTS": ",".join(bus.tenants),
            "QUERYBUS_BUS_ISSUER_KEY": bus.issuer_key,
            "QUERYBUS_DISCONNECT_PASSWORD": bus.password("disconnect"),
            "QUERYBUS_API_PORT": str(http),
            "QUERYBUS_GRPC_PORT": str(rpc),
            "QUERYBUS_HTTP_PORT": str(probes),
            "QUERYBUS_RATE_PER_SECOND": "100000",
            "QUERYBUS_IN_FLIGHT_MAX": "10000",
            "QUERYBUS_LOG_LEVEL": "warning",
        }
        await group.start("gateway", [sys.executable, "-m", "querybus_gateway"], environment)
        made = Stack(group, bus, http, rpc)
        await made.start_stages()
        async with httpx.AsyncClient() as client:
            for _ in range(300):
                with contextlib.suppress(httpx.HTTPError):
                    if (await client.get(f"http://127.0.0.1:{probes}/readyz")).status_code == 200:
                        break
                await asyncio.sleep(0.1)
            else:
                raise RuntimeError("the gateway is not ready")
        try:
            yield made
        finally:
            await made.close()


@contextlib.asynccontextmanager
async def apis(made: Stack) -> AsyncGenerator[dict[str, Ask]]:
    """Give a way to ask by each API, which returns the outcome."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=CALLERS)
    headers = {"Authorization": f"Bearer {KEY}", "Prefer": "wait=30"}
    question = v1.Question(question="How many?", connection="shop")
    asked = v1.AskRequest(question=question, wait_seconds=30).SerializeToString()
    metadata = (("authorization", f"Bearer {KEY}"),)
    async with (
        BusClient.connected(made.bus.url, CALLER, KEY) as bus,
        httpx.AsyncClient(base_url=made.address, headers=headers, limits=limits, timeout=60) as http,
        grpc.aio.insecure_channel(made.grpc_address) as channel,
    ):
        rpc = channel.unary_unary("/querybus.v1.QueryService/Ask")

        async def by_bus() -> str:
            reply = await bus.call("ask", {"question": "How many?", "connection": "shop", "wait_seconds": 30})
            return str(reply.get("outcome"))

        async def by_http() -> str:
            reply = (await http.post("/v1/queries", json={"question": "How many?", "connection": "shop"})).json()
            return str((reply.get("answer") or {}).get("outcome"))

        async def by_openai() -> str:
            body = {"model": "querybus/shop", "messages": [{"role": "user", "content": "How many?"}]}
            reply = (await http.post("/openai/v1/chat/completions", json=body)).json()
            return "answered" if "| 7 |" in reply["choices"][0]["message"]["content"] else "open"

        async def by_langgraph() -> str:
            body = {"assistant_id": "shop", "input": {"messages": [{"role": "user", "content": "How many?"}]}}
            return str((await http.post("/runs/wait", json=body)).json().get("outcome"))

        async def by_mcp() -> str:
            params = {"name": "ask", "arguments": {"question": "How many?", "connection": "shop"}}
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            reply = (await http.post("/mcp", json=call, headers=MCP_HEADERS)).json()
            return str(reply["result"]["structuredContent"]["status"])

        async def by_grpc() -> str:
            result = v1.AskResponse.FromString(await rpc(asked, metadata=metadata, timeout=60))
            return "answered" if result.query.HasField("answer") else "open"

        yield {
            "bus": by_bus,
            "http": by_http,
            "grpc": by_grpc,
            "openai": by_openai,
            "langgraph": by_langgraph,
            "mcp": by_mcp,
        }


async def cost(made: Stack, rounds: int, questions: int) -> dict[str, float]:
    """Return the CPU milliseconds of the gateway per question at each API, and what is above the bus API."""
    result: dict[str, list[float]] = {}
    async with apis(made) as asks:
        for ask in asks.values():
            await many(ask, CALLERS, questions // 4)
        for turn in range(rounds):
            for name, ask in sorted(asks.items(), reverse=bool(turn % 2)):
                before = cpu_seconds(made.pids)
                await many(ask, CALLERS, questions)
                result.setdefault(name, []).append((cpu_seconds(made.pids) - before) * 1_000 / questions)
    figures = {f"{name}_cpu_ms": statistics.median(value) for name, value in result.items()}
    floors = {"http": "bus", "grpc": "bus"} | dict.fromkeys(COMPATIBLE, "http")
    for name, floor in floors.items():
        above = [one - least for one, least in zip(result[name], result[floor], strict=True)]
        figures[f"{name}_above_{floor}_cpu_ms"] = statistics.median(above)
    return figures


async def many(ask: Ask, callers: int, questions: int) -> None:
    left = iter(range(questions))

    async def caller() -> None:
        for _ in left:
            if (outcome := await ask()) != "answered":
                raise RuntimeError(f"a question ended {outcome}")

    async with asyncio.TaskGroup() as group:
        for _ in range(callers):
            group.create_task(caller())


async def waiting(made: Stack) -> dict[str, float]:
    """Let WAITING callers wait over HTTP at the same time for WAITED questions that nobody answers yet.

    More questions at once than end in time are refused, so each is waited for by many.
    """
    before = memory_mb(made.pids)
    made.held.clear()
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=CALLERS)
    headers = {"Authorization": f"Bearer {KEY}"}
    question = {"question": "How many?", "connection": "shop"}
    async with httpx.AsyncClient(base_url=made.address, headers=headers, limits=limits, timeout=60) as http:

        async def outcome_of(query: str) -> str:
            reply = (await http.get(f"/v1/queries/{query}", headers={"Prefer": "wait=30"})).json()
            return str((reply.get("answer") or {}).get("outcome"))

        queries = [(await http.post("/v1/queries", json=question)).json()["id"] for _ in range(WAITED)]
        tasks = [asyncio.create_task(outcome_of(queries[number % WAITED])) for number in range(WAITING)]
        await asyncio.sleep(6)
        held = memory_mb(made.pids)
        cpu = cpu_seconds(made.pids)
        await asyncio.sleep(3)
        idle_cpu = cpu_seconds(made.pids) - cpu
        started = time.monotonic()
        made.held.set()
        outcomes = [await task for task in tasks]
        seconds = time.monotonic() - started
    return {
        "waiting_answered": outcomes.count("answered"),
        "waiting_all_answered_seconds": seconds,
        "waiting_growth_mib": held - before,
        "waiting_cpu_share": idle_cpu / 3,
    }


async def slow_readers(made: Stack, rounds: int) -> dict[str, float]:
    """Time a reader of NOTES large notes beside SLOW others, who read as well or read nothing at all."""
    talker = await made.user(StageName.GENERATOR)
    headers = {"Authorization": f"Bearer {KEY}"}
    note = {"n": 1, "stage": "generator", "state": "started", "at": 1, "text": "x" * 8_000}
    data = json.dumps(note).encode()

    async def one(others: int, *, read: bool) -> float:
        made.held.clear()
        async with httpx.AsyncClient(base_url=made.address, headers=headers, timeout=60) as http:
            query = (await http.post("/v1/queries", json={"question": "How many?", "connection": "shop"})).json()["id"]
            streams = [await open_events(made, query) for _ in range(others)]
            draining = [asyncio.create_task(drain(reader)) for reader, _ in streams if read]
            finished = asyncio.create_task(follow(http, query))
            await asyncio.sleep(0.5)
            started = time.monotonic()
            for n in range(NOTES):
                await talker.publish(f"querybus.v1.progress.acme.ann.analyst.{query}", data)
                if n % 20 == 0:
                    await asyncio.sleep(0.01)
            await talker.flush()
            made.held.set()
            await finished
            seconds = time.monotonic() - started
            for _, writer in streams:
                writer.close()
            await asyncio.gather(*draining, return_exceptions=True)
            return seconds

    await one(0, read=True)
    figures: dict[str, list[float]] = {"alone": [], "beside_readers": [], "beside_slow": []}
    for _ in range(rounds):
        figures["alone"].append(await one(0, read=True))
        figures["beside_readers"].append(await one(SLOW, read=True))
        figures["beside_slow"].append(await one(SLOW, read=False))
    medians = {name: statistics.median(figure) for name, figure in figures.items()}
    return {f"reader_{name}_seconds": median for name, median in medians.items()} | {
        "slow_reader_ratio": medians["beside_slow"] / medians["beside_readers"]
    }


async def follow(http: httpx.AsyncClient, query: str) -> None:
    async with http.stream("GET", f"/v1/queries/{query}/events") as reply:
        async for _ in reply.aiter_bytes():
            pass


async def drain(reader: asyncio.StreamReader) -> None:
    while await reader.read(65_536):
        pass


async def open_events(made: Stack, query: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a stream of events, read its head, and leave the rest to what the system and 1 KiB here buffer."""
    place = urlsplit(made.address)
    reader, writer = await asyncio.open_connection(place.hostname, place.port, limit=1_024)
    request = f"GET /v1/queries/{query}/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n\r\n"
    writer.write(request.encode())
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in head.partition(b"\r\n")[0]:
        raise RuntimeError(f"no stream: {head[:100]!r}")
    return reader, writer


async def idle_readers(made: Stack) -> dict[str, float]:
    """Return the gateway's memory per reader of events on which nothing happens, and what they cost in CPU."""
    headers = {"Authorization": f"Bearer {KEY}"}
    made.held.clear()
    async with httpx.AsyncClient(base_url=made.address, headers=headers, timeout=60) as http:
        query = (await http.post("/v1/queries", json={"question": "How many?", "connection": "shop"})).json()["id"]
    before = memory_mb(made.pids)
    streams: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    for _ in range(IDLE // 50):
        streams += await asyncio.gather(*(open_events(made, query) for _ in range(50)))
    # What looks at the log by itself does so ever more rarely, down to every 15 seconds.
    await asyncio.sleep(SETTLE_SECONDS)
    after = memory_mb(made.pids)
    cpu = cpu_seconds(made.pids)
    await asyncio.sleep(10)
    cpu = cpu_seconds(made.pids) - cpu
    made.held.set()
    for _, writer in streams:
        writer.close()
    return {
        "idle_reader_kib": (after - before) * 1_024 / IDLE,
        "idle_readers_mib": after - before,
        "idle_readers_cpu_share": cpu / 10,
    }


async def measure(rounds: int, questions: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as directory:
        async with stack(Path(directory)) as made:
            figures = await cost(made, rounds, questions)
            figures |= await idle_readers(made)
            figures |= await waiting(made)
            figures |= await slow_readers(made, rounds)
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--questions", type=int, default=300, help="of one API in one round")
    parser.add_argument("--strict", action="store_true", help="a missed target is an error")
    given = parser.parse_args()
    # Both ends of a thousand connections may be here.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8_192), hard))
    figures = uvloop.run(measure(given.rounds, given.questions))
    met = True
    for name, value in figures.items():
        sign, target = REQUIRED.get(name, ("", 0.0))
        is_met = not sign or (value <= target if sign == "<=" else value >= target)
        met = met and is_met
        wanted = f"{sign} {target:g}  {'met' if is_met else 'NOT MET'}" if sign else ""
        print(f"{name:32} {value:10.2f}  {wanted}")
    report = {
        "name": "gateway",
        "figures": figures,
        "required": {name: f"{sign} {target:g}" for name, (sign, target) in REQUIRED.items()},
        "met": met,
        "machine": {
            "cpus": os.cpu_count(),
            "system": platform.platform(),
            "python": platform.python_version(),
            "load": os.getloadavg(),
            "rounds": given.rounds,
            "questions": given.questions,
        },
    }
    target_file = ROOT / "build" / "bench" / "gateway.json"
    target_file.parent.mkdir(parents=True, exist_ok=True)
    target_file.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if given.strict and not met else 0


if __name__ == "__main__":
    sys.exit(main())
