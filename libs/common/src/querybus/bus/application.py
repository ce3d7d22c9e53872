"""A service as a process: one broker, its parts, and three addresses that say how it is.

Starts in order (connect, assert the bus's topology, parts), stops in reverse (parts drain, then the connection
closes). `/livez` is the event loop's own tick, `/readyz` asks every part and the bus, `/metrics` is Prometheus text.
"""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import nats.errors
import uvloop

from querybus.bus.admin.gauges import BusGauges
from querybus.bus.admin.migrate import assert_topology
from querybus.bus.broker import BusBroker
from querybus.core.subjects import StageName
from querybus.ops.log import get_log
from querybus.ops.metrics import Metrics
from querybus.ops.run import Part, Watchdog
from querybus.ops.settings import ServiceSettings

PING_SECONDS_MAX: Final = 2.0

if TYPE_CHECKING:
    from faststream.asgi.types import ASGIApp

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
        self.web = web
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


def run_service(service: Service, *, on_listening: Callable[[str], None] | None = None) -> None:
    """Run a service until SIGTERM or SIGINT, then drain it; returns when it has stopped.

    `on_listening` is reported the address of its HTTP side. Exits with code 3 if the start fails, 70 if the loop sticks.
    """
    # Loaded where a service is a process: one question at the terminal needs no web server.
    from querybus.bus.serving import serve, server_of

    uvloop.run(serve(service, server_of(service), on_listening))


def run_services(services: Sequence[Service]) -> None:
    """Run several services in one process, as `run_service` runs one; the end of one is the end of all."""
    from querybus.bus.serving import serve_all

    uvloop.run(serve_all(services))
