"""A stack of processes as `querybus up` runs it, with handles to hurt each of them.

The bus, the supervisor, the settings and the migration are those of the command line; the harness only signals.
Each stack has a bus store, logs and a copy of the connections file of its own, and the demo shop that all share.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from typing_extensions import override

from querybus.bus.admin.embedded_server import EmbeddedBus, EmbeddedNats
from querybus.bus.admin.migrate import migrate
from querybus.bus.client import BusClient
from querybus.core.subjects import StageName
from querybus.core.topology import EVENTS, Sizes, topology
from querybus_cli.local.answers import DEMO, demo_file
from querybus_cli.local.demo_database import demo_connection, write_demo
from querybus_cli.local.local_stack import (
    OUTSIDERS,
    SERVICES,
    TENANT,
    StackPlan,
    admit_locals,
    environment_of,
    new_keys,
)
from querybus_cli.local.ports import free_ports
from querybus_cli.local.supervise import Replica, Supervisor
from querybus_cli.local.up import is_ready
from tests.support.embedded_cluster import EmbeddedCluster
from tests.support.full_streams import without_space

ROOT = Path(__file__).resolve().parents[1]
MIB = 1_024 * 1_024
READY_SECONDS = 90.0
HELD_SECONDS = 0.3
"""How long a process is held before it is killed, so that it dies with messages in its hands."""


@dataclass(frozen=True)
class Plan:
    """What the stack of one row is made of."""

    seed: int = 1
    replicas: Mapping[StageName, int] = field(default_factory=dict[StageName, int])
    ack_wait_seconds: float | None = 2.0
    """None: those of production."""
    model_delay_seconds: float = 0.15
    is_cluster: bool = False
    """Three servers, and three copies of each stream."""
    has_apis: bool = False
    """Whether HTTP and gRPC of each gateway have ports that they keep over a restart."""
    is_production: bool = False
    """Whether the services know of it: then they look first whether the bus syncs every write."""
    connection: Callable[[Path], dict[str, Any]] | None = None
    """Makes a database of the row's own in the stack's directory and returns its entry of the connections file."""
    clock_seconds: Mapping[StageName, int] = field(default_factory=dict[StageName, int])
    """How far the clock of a service's machine is ahead."""
    modules: Mapping[StageName, str] = field(default_factory=dict[StageName, str])
    """What runs in place of a service; for the tests that show what the harness would report."""

    def sizes(self) -> Sizes:
        waits = {} if self.ack_wait_seconds is None else dict.fromkeys(StageName, self.ack_wait_seconds)
        return Sizes(
            events_bytes_max=512 * MIB,
            submit_bytes_max=64 * MIB,
            results_bytes_max=64 * MIB,
            dead_bytes_max=64 * MIB,
            ack_wait_seconds=waits,
        )


@dataclass(frozen=True)
class Apis:
    """Where the gateways are, in their order."""

    http: list[str] = field(default_factory=list[str])
    grpc: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class OtherReplica(Replica):
    """A replica that runs another module in its service's place."""

    other: str = ""

    @property
    @override
    def module(self) -> str:
        return self.other


class FaultStack:
    """The running processes, as an async context manager."""

    def __init__(self, directory: Path, plan: Plan) -> None:
        self.directory = directory
        self.plan = plan
        store, sizes = directory / "bus", plan.sizes()
        self.bus: EmbeddedBus = (
            EmbeddedCluster([TENANT], store=store, sizes=sizes)
            if plan.is_cluster
            else EmbeddedNats([TENANT], store=store, sizes=sizes)
        )
        self.supervisor = Supervisor((), print)
        self.said: list[str] = []
        self.apis = Apis()
        self._keys = new_keys()
        self._probes: dict[str, str] = {}
        self._running: asyncio.Task[None] | None = None
        self._model: asyncio.subprocess.Process | None = None

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

    @property
    def analyst_key(self) -> str:
        return self._keys[OUTSIDERS["analyst"].credential]

    def client(self) -> AbstractAsyncContextManager[BusClient]:
        outsider = OUTSIDERS["analyst"]
        return BusClient.connected(self.bus.url, outsider, self.analyst_key)

    def signal(self, name: str, number: signal.Signals) -> bool:
        """Send a signal to a replica (`generator-1`); False if it does not run just now."""
        pid = self.supervisor.pids().get(name)
        if pid is None:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
            return True
        return False

    async def kill_mid_work(self, name: str) -> None:
        """Hold a replica until messages lie with it, then kill it; waits for one that is just starting."""
        while not self.signal(name, signal.SIGSTOP):
            await asyncio.sleep(0.05)
        await asyncio.sleep(HELD_SECONDS)
        self.signal(name, signal.SIGKILL)

    async def ready(self, *names: str) -> None:
        """Wait until these replicas, or all, are ready; TimeoutError with what the supervisor has seen."""
        try:
            async with asyncio.timeout(READY_SECONDS):
                for name in names or tuple(self._probes):
                    while not await asyncio.to_thread(is_ready, self._probes[name]):
                        await asyncio.sleep(0.1)
        except TimeoutError:
            raise TimeoutError(f"not ready within {READY_SECONDS:.0f} s: {self.said[-3:]}") from None

    async def limit(self, streams: Sequence[str], free_bytes: int | None) -> None:
        """Leave only so much space in these streams and buckets, which then refuse what is new; None: as planned."""
        connection = await self.bus.connect("migrate")
        try:
            table = topology(self.plan.sizes(), self.bus.tenants)
            most: dict[str, int] = {}
            for name in streams if free_bytes is not None else ():
                state = (await connection.jetstream(timeout=30).stream_info(name)).state
                most[name] = state.bytes + (free_bytes or 0)
            # The log would make place by forgetting its oldest events: here it is the storage below that is full.
            if EVENTS in most:
                table = without_space(table, EVENTS, most[EVENTS])
            table = replace(
                table,
                streams=tuple(replace(item, max_bytes=most.get(item.name, item.max_bytes)) for item in table.streams),
                buckets=tuple(replace(item, max_bytes=most.get(item.stream, item.max_bytes)) for item in table.buckets),
            )
            await migrate(connection, table)
        finally:
            await connection.close()

    async def _start(self) -> None:
        self._model = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "benchmarks.fault_model",
            str(self.plan.seed),
            str(self.plan.model_delay_seconds),
            stdout=asyncio.subprocess.PIPE,
            env=_environment(),
        )
        assert self._model.stdout is not None
        address = (await self._model.stdout.readline()).decode().strip()
        connections = self.directory / "connections.yaml"
        shop = demo_file()
        if not shop.exists():
            shop.parent.mkdir(parents=True, exist_ok=True)
            await asyncio.to_thread(write_demo, shop)
        entries: list[dict[str, Any]] = [demo_connection(shop) | {"name": DEMO}]
        if self.plan.connection is not None:
            entries.append(self.plan.connection(self.directory))
        connections.write_text(json.dumps({"connections": entries}))
        await self.bus.start()
        await self.bus.migrate()
        await admit_locals(self.bus, self._keys)
        self.supervisor = Supervisor(self._replicas(connections, address), self.said.append)
        self._running = asyncio.create_task(self.supervisor.run())
        await self.ready()

    def _replicas(self, connections: Path, model: str) -> tuple[Replica, ...]:
        extra = {
            StageName.GENERATOR: {"llm_base_url": model},
            StageName.RECOVERY: {"llm_base_url": model},
            # One caller stands for many; the tenant's rate is not what is measured here.
            StageName.GATEWAY: {"rate_per_second": 10_000.0},
        }
        environment = "production" if self.plan.is_production else "development"
        plan = StackPlan(connections_file=connections, environment=environment, extra=extra)
        names = [(service, n) for service in SERVICES for n in range(1, self.plan.replicas.get(service, 1) + 1)]
        replicas: list[Replica] = []
        for (service, number), port in zip(names, free_ports(len(names)), strict=True):
            environment = _environment() | environment_of(service, self.bus, plan)
            environment |= {"QUERYBUS_HTTP_PORT": str(port), "QUERYBUS_FAULTS_SERVICE": service.value}
            if seconds := self.plan.clock_seconds.get(service):
                environment |= self._other_clock(seconds)
            if self.plan.has_apis and service is StageName.GATEWAY:
                http, grpc = free_ports(2)
                environment |= {"QUERYBUS_API_PORT": str(http), "QUERYBUS_GRPC_PORT": str(grpc)}
                self.apis.http.append(f"http://127.0.0.1:{http}")
                self.apis.grpc.append(f"127.0.0.1:{grpc}")
            log = self.directory / f"{service}-{number}.log"
            other = self.plan.modules.get(service)
            replicas.append(
                OtherReplica(service, number, environment, log, other=other)
                if other
                else Replica(service, number, environment, log)
            )
            self._probes[replicas[-1].name] = f"http://127.0.0.1:{port}"
        return tuple(replicas)

    def _other_clock(self, seconds: int) -> dict[str, str]:
        """Return the environment of a process whose machine's clock is so far ahead."""
        folder = self.directory / f"clock{seconds:+d}"
        folder.mkdir(exist_ok=True)
        # Python loads it before anything else; what it shifts is what the system's clock would say.
        (folder / "sitecustomize.py").write_text(
            "import time\n"
            "_time, _time_ns = time.time, time.time_ns\n"
            f"time.time = lambda: _time() + {seconds}\n"
            f"time.time_ns = lambda: _time_ns() + {seconds} * 1_000_000_000\n"
        )
        return {"PYTHONPATH": os.pathsep.join((str(folder), _environment()["PYTHONPATH"]))}

    async def _close(self) -> None:
        for name in self.supervisor.pids():
            self.signal(name, signal.SIGCONT)
        self.supervisor.stop()
        if self._running is not None:
            await asyncio.gather(self._running, return_exceptions=True)
        if self._model is not None and self._model.returncode is None:
            self._model.kill()
            await self._model.wait()
        await self.bus.stop()


def _environment() -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("QUERYBUS_")}
    return clean | {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}
