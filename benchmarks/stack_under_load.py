"""A whole stack of processes with a scripted model in a process of its own, and callers at its bus and its HTTP API.

The services, their settings and the bus are those of `querybus up`; sync `always`, tracing at its default of 1 %. What
is set apart: slots and the tenant's rate, because one tenant's callers stand for many; `as_shipped` sets nothing apart.
Which services share a process follows from the cores, as there; `apart` gives each its own.
"""

from __future__ import annotations

import asyncio
import json
import sys
import urllib.request
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp
from process_group import ProcessGroup, cpu_seconds, memory_mb, proportional_mb, with_children

from querybus.bus.admin.embedded_server import EmbeddedNats, sizes_for
from querybus.bus.client import BusClient, NotAccepted
from querybus.bus.connection import Held
from querybus.bus.log.journal import Journal
from querybus.core.subjects import StageName
from querybus_cli.local.answers import DEMO, demo_file
from querybus_cli.local.colocated import COLOCATED, colocated_environment, shared_services
from querybus_cli.local.demo_database import demo_connection, write_demo
from querybus_cli.local.local_stack import (
    OUTSIDERS,
    SERVICES,
    TENANT,
    StackPlan,
    admit_locals,
    environment_of,
    new_keys,
    settings_of,
)
from querybus_cli.local.ports import free_ports
from querybus_cli.local.up import is_ready

SQL = "SELECT name, price FROM products WHERE is_active = 1 AND price > 50 AND stock <> {number} ORDER BY price DESC LIMIT 5"
"""No two questions get the same statement, so nothing that is kept by a statement's text helps."""
ANSWER = f"```sql\n{SQL}\n```"
FIRST_NUMBER = 777_001
SLOTS = 64
WAIT_SECONDS = 30
READY_SECONDS = 90.0
HELD_NUMBER, HELD_QUESTIONS = 900_000_000, 10
"""From this number on the model says nothing, so that questions stay open."""
READ_SECONDS_MAX = 600
MANY = 100_000

Settings = Mapping[str, Any]


def question(number: int) -> str:
    return f"Which 5 active products that cost more than {number} have the highest price?"


def _json_of(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=10) as answer:
        return json.load(answer)


class StackUnderLoad:
    """Bus, model and six services, as an async context manager; `client` is a caller's connection."""

    client: BusClient
    messages: list[tuple[str, str]]
    """The prompt of question FIRST_NUMBER as the model gets it: role and text."""

    def __init__(
        self,
        directory: Path,
        group: ProcessGroup,
        *,
        databases: Mapping[str, Path] | None = None,
        store: Path | None = None,
    ) -> None:
        """`databases` are asked in turn, by the names of their connections; `store` is what the bus begins with."""
        self._directory = directory
        self._group = group
        self._databases = databases or {}
        self._names = tuple(self._databases) or (DEMO,)
        self._bus = EmbeddedNats([TENANT], store=store, sizes=sizes_for(directory))
        self._model_port = free_ports(1)[0]
        self._connected: Any = None
        self._api_port = free_ports(1)[0]
        self._session: aiohttp.ClientSession | None = None
        self._is_shipped = False
        self._is_apart = False

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._model_port}/v1"

    @property
    def database(self) -> Path:
        return demo_file()

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self._close()

    async def ask(self, number: int) -> str:
        """Ask and wait for the answer; return its outcome, or why there is none."""
        return await self.ask_within(number)

    async def ask_within(self, number: int, deadline_seconds: int = 60) -> str:
        request = {
            "question": question(number),
            "connection": self._names[number % len(self._names)],
            "wait_seconds": WAIT_SECONDS,
            "options": {"deadline_seconds": deadline_seconds},
        }
        try:
            reply = await self.client.call("ask", request, timeout_seconds=WAIT_SECONDS + 5)
        except NotAccepted:
            return "no reply"
        if outcome := reply.get("outcome"):
            return outcome if outcome == "answered" else f"{outcome} ({reply.get('code')})"
        return f"refused: {reply['code']}" if reply.get("code") else "accepted, no answer yet"

    async def ask_over_http(self, number: int) -> str:
        """Ask at the HTTP API, on connections that stay open; return the outcome, or why there is none."""
        assert self._session is not None
        request = {"question": question(number), "connection": DEMO}
        headers = {"Prefer": f"wait={WAIT_SECONDS}"}
        try:
            async with self._session.post("/v1/queries", json=request, headers=headers) as response:
                reply = json.loads(await response.read())
        except aiohttp.ClientError as error:
            return f"no reply: {type(error).__name__}"
        if response.status >= 400:
            return f"refused: {reply.get('code')}"
        answer = reply.get("answer")
        if answer is None:
            return "accepted, no answer yet"
        return answer["outcome"] if answer["outcome"] == "answered" else f"{answer['outcome']} ({answer.get('code')})"

    async def as_shipped(self) -> None:
        """Run one replica of every service from now on, with the settings that a newcomer has."""
        self._is_shipped = True
        await self._restart()

    async def apart(self, *, is_apart: bool = True) -> None:
        """Run each service in a process of its own from now on, or again as `querybus up` does."""
        self._is_apart = is_apart
        await self._restart()

    async def _restart(self) -> None:
        await self._group.stop(*self._group.names("service-"))
        await self._run(dict.fromkeys(SERVICES, 1), {})

    async def sizes(self) -> list[tuple[str, int]]:
        """Return the events of one query and their bytes."""
        return [(event, len(data)) for event, data in (await self.events_of_one())[1].items()]

    async def events_of_one(self) -> tuple[str, dict[str, bytes]]:
        """Ask a question of a thread of its own; return its id, which is the thread's as well, and its events."""
        reply = await self.client.call("ask", {"question": question(1), "connection": DEMO, "wait_seconds": 30})
        connection = await self._bus.connect(StageName.GATEWAY)
        try:
            entries = await Journal(Held(connection)).query(TENANT, reply["query_id"])
        finally:
            await connection.close()
        return reply["query_id"], {entry.address.event.value: entry.data for entry in entries}

    @asynccontextmanager
    async def idle_readers(self, count: int) -> AsyncGenerator[None]:
        """Keep so many readers of events open, spread over questions that get no answer meanwhile."""
        assert self._session is not None
        options = {"deadline_seconds": READ_SECONDS_MAX}
        asked: list[str] = []
        for number in range(HELD_NUMBER, HELD_NUMBER + HELD_QUESTIONS):
            request = {"question": question(number), "connection": DEMO, "options": options}
            async with self._session.post("/v1/queries", json=request) as response:
                asked.append((await response.json())["id"])
        async with AsyncExitStack() as readers:
            for number in range(count):
                path = f"/v1/queries/{asked[number % len(asked)]}/events"
                timeout = aiohttp.ClientTimeout(total=None)
                response = await readers.enter_async_context(self._session.get(path, timeout=timeout))
                if response.status != 200:
                    raise RuntimeError(f"reader {number} is refused: {response.status} {await response.text()}")
            yield

    async def traffic(self) -> Counter[str]:
        """Return what the bus has stored so far by stream, each write synced once, and what came in and went out."""
        streams = await asyncio.to_thread(_json_of, f"{self._bus.monitoring_url}/jsz?streams=true")
        server = await asyncio.to_thread(_json_of, f"{self._bus.monitoring_url}/varz")
        counts = Counter({"in": server["in_msgs"], "out": server["out_msgs"]})
        for stream in streams["account_details"][0]["stream_detail"]:
            counts[f"stored in {stream['name']}"] = stream["state"]["last_seq"]
        return counts

    async def delay_model(self, seconds: float) -> None:
        """Let the model take that long from now on."""
        await self._group.stop(*self._group.names("model"))
        command = ["-m", "tests.support.scripted_model", "--answer", ANSWER, "--port", str(self._model_port)]
        command = [sys.executable, *command, "--delay-seconds", f"{seconds:g}", "--silent-from", f"{HELD_NUMBER}"]
        await self._group.start("model", command, speaks=True)
        await self._group.line("model")

    async def replicas(self, service: StageName, count: int, **settings: Any) -> None:
        """Run so many replicas of a service that is in no process with others from now on, with these settings."""
        await self._group.stop(*self._group.names(f"service-{service}-"))
        await self._run({service: count}, settings)

    def cpu_by_service(self) -> dict[str, float]:
        """Return CPU seconds so far, of each service with its children and of the bus."""
        result = {
            name: cpu_seconds(with_children(self._group.pids(f"service-{name}-")))
            for name in (*SERVICES, "+".join(COLOCATED))
        }
        assert self._bus.pid is not None
        return result | {"nats-server": cpu_seconds([self._bus.pid])}

    def cpu(self) -> float:
        return sum(self.cpu_by_service().values())

    def memory_mb(self) -> float:
        assert self._bus.pid is not None
        return memory_mb(with_children([*self._group.pids("service-"), self._bus.pid]))

    def services_memory_mb(self) -> float:
        return proportional_mb(with_children(self._group.pids("service-")))

    async def _start(self) -> None:
        shop = demo_file()
        if not shop.exists():
            shop.parent.mkdir(parents=True, exist_ok=True)
            await asyncio.to_thread(write_demo, shop)
        connections = [{"name": name, "url": f"sqlite:///{file}"} for name, file in self._databases.items()]
        (self._directory / "connections.yaml").write_text(
            json.dumps({"connections": connections or [demo_connection(shop) | {"name": DEMO}]})
        )
        await self._bus.start()
        await self._bus.migrate()
        keys = new_keys()
        await admit_locals(self._bus, keys)
        await self._group.start(
            "model-capture",
            [sys.executable, "-m", "benchmarks.prompt_capture", str(self._model_port), ANSWER.replace("{number}", "0")],
            speaks=True,
        )
        await self._group.line("model-capture")
        await self._run(dict.fromkeys(SERVICES, 1), {})
        outsider = OUTSIDERS["analyst"]
        self._connected = BusClient.connected(self._bus.url, outsider, keys[outsider.credential])
        self.client = await self._connected.__aenter__()
        self._session = aiohttp.ClientSession(
            f"http://127.0.0.1:{self._api_port}",
            headers={"Authorization": f"Bearer {keys[outsider.credential]}"},
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=WAIT_SECONDS + 5),
        )
        outcome = await self.ask(FIRST_NUMBER)
        if outcome != "answered":
            raise RuntimeError(f"the stack does not answer its first question: {outcome}")
        received = json.loads(await self._group.line("model-capture"))
        self.messages = [(item["role"], item["content"]) for item in received]
        await self.delay_model(0)

    async def _run(self, counts: Mapping[StageName, int], settings: Settings) -> None:
        shared: dict[str, Any] = {"log_level": "error"} | ({} if self._is_shipped else {"slots": SLOTS})
        own: dict[StageName, dict[str, Any]] = {count: {**shared, **settings} for count in counts}
        for item in (StageName.GENERATOR, StageName.RECOVERY):
            own.setdefault(item, {})["llm_base_url"] = self.base_url
        if not self._is_shipped:
            limits = {"rate_per_second": float(MANY), "in_flight_max": 4 * SLOTS}
            own[StageName.GATEWAY] = limits | own.get(StageName.GATEWAY, {})
        plan = StackPlan(connections_file=self._directory / "connections.yaml", extra=own)
        names = [(service, number) for service, count in counts.items() for number in range(1, count + 1)]
        addresses: list[str] = []
        is_whole = len(counts) == len(SERVICES)
        colocated = shared_services(counts, False if self._is_apart else None) if is_whole else ()
        together: dict[StageName, dict[str, Any]] = {}
        for (service, number), port in zip(names, free_ports(len(names)), strict=True):
            addresses.append(f"http://127.0.0.1:{port}")
            if service in colocated:
                together[service] = settings_of(service, self._bus, plan) | {"http_port": port}
                continue
            environment = environment_of(service, self._bus, plan) | {"QUERYBUS_HTTP_PORT": str(port)}
            if service is StageName.GATEWAY and number == 1:
                environment |= {"QUERYBUS_API_PORT": str(self._api_port)}
            await self._group.start(
                f"service-{service}-{number}", [sys.executable, "-m", f"querybus_{service}"], environment
            )
        if together:
            command = [sys.executable, "-m", "querybus_cli.local.colocated"]
            await self._group.start(f"service-{'+'.join(colocated)}-1", command, colocated_environment(together))
        async with asyncio.timeout(READY_SECONDS):
            for address in addresses:
                while not await asyncio.to_thread(is_ready, address):
                    await asyncio.sleep(0.1)

    async def _close(self) -> None:
        if self._session is not None:
            await self._session.close()
        if self._connected is not None:
            await self._connected.__aexit__(None, None, None)
        await self._group.stop(*self._group.names("service-"), *self._group.names("model"))
        await self._bus.stop()
