"""A service as a process: one broker, its parts, and three addresses that say how it is.

Starts in order (connect, assert the bus's topology, parts), stops in reverse (parts drain, then the connection
closes). `/livez` is the event loop's own tick, `/readyz` asks every part and the bus, `/metrics` is Prometheus text.
"""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

import nats.errors
import uvicorn
import uvloop
from faststream.asgi import AsgiFastStream, AsgiResponse, get
from faststream.asgi.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override

from querybus.bus.admin.migrate import assert_topology
from querybus.bus.broker import BusBroker
from querybus.bus.gauges import BusGauges
from querybus.core.subjects import StageName
from querybus.ops.log import get_log
from querybus.ops.metrics import Metrics
from querybus.ops.quiet_server import QuietServer
from querybus.ops.run import STUCK_SECONDS_MAX, Part, Watchdog
from querybus.ops.settings import ServiceSettings

PING_SECONDS_MAX: Final = 2.0
HTTP_CLOSE_SECONDS_MAX: Final = 5
_COLLECT_AT: Final = (10_000, 20, 20)
"""New objects before a collection of each generation; a question makes some thousands that die with it."""

_log = get_log(__name__)


class NotSafe(Exception):
    """The bus may lose what it has acknowledged; production does not start on it."""


def assert_sync(monitoring_urls: str) -> None:
    """Return if every server writes each message to disk before it acknowledges it, else raise NotSafe.

    The addresses of all servers, separated by commas. Blocks for at most PING_SECONDS_MAX each. Without it an ack
    survives the process, not a loss of power.
    """
    for monitoring_url in monitoring_urls.split(","):
        _assert_server_syncs(monitoring_url.strip())


def _assert_server_syncs(monitoring_url: str) -> None:
    if not monitoring_url.startswith(("http://", "https://")):
        raise NotSafe("production needs QUERYBUS_NATS_MONITORING_URL, to see that the bus syncs every write")
    try:
        with urllib.request.urlopen(f"{monitoring_url.rstrip('/')}/varz", timeout=PING_SECONDS_MAX) as answer:  # noqa: S310 - the scheme is checked above
            state: dict[str, Any] = json.load(answer)
    except (OSError, ValueError) as error:
        raise NotSafe(f"the bus's monitoring does not answer: {type(error).__name__}") from error
    if state.get("jetstream", {}).get("config", {}).get("sync_always") is not True:
        raise NotSafe("the bus acknowledges before it writes: set `sync_interval: always` in its jetstream block")


class Service:
    """One of the six services. `start` and `stop` are for a process that runs several; `run_service` for one."""

    def __init__(
        self,
        name: StageName,
        broker: BusBroker,
        parts: Sequence[Part | tuple[Part, ...]],
        *,
        metrics: Metrics,
        settings: ServiceSettings,
        tenants: Sequence[str] = (),
        web: ASGIApp | None = None,
    ) -> None:
        """Parts start in turn and drain in reverse; those of a tuple do not need each other and drain together.

        `tenants` are those whose submit consumers must exist (gateway); `web` serves every other HTTP path."""
        self.name = name
        self.broker = broker
        self._gauges = BusGauges(broker, name, metrics=metrics)
        groups = (*(part if isinstance(part, tuple) else (part,) for part in parts), (self._gauges,))
        self._groups: list[tuple[Part, ...]] = list(groups)
        self.parts = tuple(part for group in groups for part in group)
        self.metrics = metrics
        self.settings = settings
        self.watchdog = Watchdog()
        self._tenants = tuple(tenants)
        self._web = web
        self._started: list[Part] = []
        self._is_ready = False

    async def start(self) -> None:
        """Start everything; what was started is stopped again if a later step raises."""
        try:
            connection = await self.broker.connect()
            if self.settings.environment == "production":
                await asyncio.to_thread(assert_sync, self.settings.nats_monitoring_url)
            await assert_topology(connection, self.name, tenants=self._tenants)
            await self._gauges.set_clock()
            await self.broker.start()
            for part in self.parts:
                await part.start()
                self._started.append(part)
        except BaseException as error:
            # uvicorn keeps the reason to itself. A start that was called off has none.
            if not isinstance(error, asyncio.CancelledError):
                _log.critical("service.not_started", service=self.name, error=type(error).__name__, reason=str(error))
            await self.stop()
            raise
        self._is_ready = True
        _log.info("service.started", service=self.name, parts=[part.name for part in self.parts])

    async def stop(self) -> None:
        """Drain the parts in reverse order and close the connection; a second call does nothing."""
        self._is_ready = False
        started, self._started = set(map(id, self._started)), []
        for group in reversed(self._groups):
            await asyncio.gather(*(self._drain(part) for part in group if id(part) in started))
        with suppress(nats.errors.Error):
            await self.broker.stop()

    async def _drain(self, part: Part) -> None:
        try:
            await part.drain()
        except Exception as error:  # noqa: BLE001 - the other parts must still be drained
            _log.error("service.part_not_drained", service=self.name, part=part.name, error=type(error).__name__)

    async def troubles(self) -> dict[str, str]:
        """Return what is wrong by part name; empty if the service is ready for work."""
        if not self._is_ready:
            return {"service": "not started or stopping"}
        answers = await asyncio.gather(*(self._ping(part) for part in self.parts), self._ping_bus())
        names = (*(part.name for part in self.parts), "bus")
        return {name: trouble for name, trouble in zip(names, answers, strict=True) if trouble is not None}

    async def _ping(self, part: Part) -> str | None:
        try:
            async with asyncio.timeout(PING_SECONDS_MAX):
                return await part.ping()
        except TimeoutError:
            return f"no answer within {PING_SECONDS_MAX:g} s"
        except Exception as error:  # noqa: BLE001 - an answer to a probe, not a crash
            return type(error).__name__

    async def _ping_bus(self) -> str | None:
        if not self.broker.connection.is_connected:
            return "not connected"
        try:
            async with asyncio.timeout(PING_SECONDS_MAX):
                await self.broker.connection.flush()
        except (nats.errors.Error, TimeoutError) as error:
            return type(error).__name__
        return None

    def application(self) -> AsgiFastStream:
        """Return the FastStream application: its lifespan starts and stops the service."""
        return _Application(self, self._web)


class _Application(AsgiFastStream):
    """AsgiFastStream matches whole paths only; every path that it does not know goes to the service's own web part."""

    def __init__(self, service: Service, web: ASGIApp | None) -> None:
        super().__init__(
            service.broker,
            asgi_routes=_routes(service),
            logger=None,
            on_startup=[service.start, _settle_memory],
            on_shutdown=[service.stop],
        )
        self._web = web

    @override
    async def not_found(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._web is None:
            await super().not_found(scope, receive, send)
        else:
            await self._web(scope, receive, send)


async def _settle_memory() -> None:
    """Take what stays out of the collector's walks: modules, settings and catalogs are hundreds of thousands of objects.

    A full collection stops every query meanwhile (docs/adr/0014).
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT_AT)


def _routes(service: Service) -> list[tuple[str, ASGIApp]]:
    @get
    async def livez(_: Scope) -> AsgiResponse:
        age = service.watchdog.tick_age_seconds
        return AsgiResponse(b"", 204) if age < STUCK_SECONDS_MAX else AsgiResponse(b"the loop is stuck", 503)

    @get
    async def readyz(_: Scope) -> AsgiResponse:
        troubles = await service.troubles()
        body = json.dumps({"ready": not troubles, "troubles": troubles}).encode()
        return AsgiResponse(body, 503 if troubles else 200, {"content-type": "application/json"})

    @get
    async def metrics(_: Scope) -> AsgiResponse:
        return AsgiResponse(service.metrics.exposition(), 200, {"content-type": "text/plain; version=0.0.4"})

    routes: list[tuple[str, Any]] = [("/livez", livez), ("/readyz", readyz), ("/metrics", metrics)]
    return routes


def run_service(service: Service, *, on_listening: Callable[[str], None] | None = None) -> None:
    """Run a service until SIGTERM or SIGINT, then drain it; returns when it has stopped.

    `on_listening` is reported the address of its HTTP side. Exits with code 3 if the start fails, 70 if the loop sticks.
    """
    uvloop.run(_serve(service, _server(service), on_listening))


def run_services(services: Sequence[Service]) -> None:
    """Run several services in one process, as `run_service` runs one; the end of one is the end of all."""
    uvloop.run(_serve_all(services))


async def _serve_all(services: Sequence[Service]) -> None:
    servers = [_server(service) for service in services]
    serving = [asyncio.create_task(_serve(item, server, None)) for item, server in zip(services, servers, strict=True)]
    # A signal reaches only the server that started last.
    leaving = [asyncio.create_task(server.leaving()) for server in servers]
    await asyncio.wait((*serving, *leaving), return_when=asyncio.FIRST_COMPLETED)
    for server in servers:
        server.leave()
    await asyncio.gather(*serving, *leaving)


def _server(service: Service) -> QuietServer:
    return QuietServer(
        uvicorn.Config(
            service.application(),
            lifespan="on",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=HTTP_CLOSE_SECONDS_MAX,
        )
    )


async def _serve(service: Service, server: QuietServer, on_listening: Callable[[str], None] | None) -> None:
    settings = service.settings
    listener = socket.socket(socket.AF_INET6 if ":" in settings.http_host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((settings.http_host, settings.http_port))
    address = f"http://{settings.http_host}:{listener.getsockname()[1]}"
    service.watchdog.start()
    _log.info("service.listening", service=service.name, address=address)
    if on_listening is not None:
        on_listening(address)
    try:
        await server.serve(sockets=[listener])
    finally:
        service.watchdog.stop()
        listener.close()
