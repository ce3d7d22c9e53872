"""What a service serves over HTTP while it runs as a process: its probes, its metrics and its web part.

Apart from `application`, because a service that answers one question at the terminal serves nothing and need not load a web server.
"""

from __future__ import annotations

import asyncio
import gc
import json
import socket
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Final

import uvicorn
from faststream.asgi import AsgiFastStream, AsgiResponse, get
from faststream.asgi.types import ASGIApp, Receive, Scope, Send
from faststream.nats import NatsBroker
from typing_extensions import override

from querybus.bus.application import Service
from querybus.ops.log import get_log
from querybus.ops.quiet_server import QuietServer
from querybus.ops.run import STUCK_SECONDS_MAX

HTTP_CLOSE_SECONDS_MAX: Final = 5
_COLLECT_AT: Final = (10_000, 20, 20)
"""New objects before a collection of each generation; a question makes some thousands that die with it."""

_log = get_log(__name__)


class _StartedBroker(NatsBroker):
    """What FastStream takes for a broker; the service opens and closes its connection itself."""

    @override
    async def start(self) -> None: ...

    @override
    async def stop(
        self,
        exc_type: type[BaseException] | None = None,
        exc_val: BaseException | None = None,
        exc_tb: TracebackType | None = None,
    ) -> None: ...


class Application(AsgiFastStream):
    """AsgiFastStream matches whole paths only; every path that it does not know goes to the service's own web part."""

    def __init__(self, service: Service) -> None:
        super().__init__(
            _StartedBroker(logger=None),
            asgi_routes=_routes(service),
            logger=None,
            on_startup=[service.start, _settle_memory],
            on_shutdown=[service.stop],
        )
        self._web = service.web

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


async def serve_all(services: Sequence[Service]) -> None:
    servers = [server_of(service) for service in services]
    serving = [asyncio.create_task(serve(item, server, None)) for item, server in zip(services, servers, strict=True)]
    # A signal reaches only the server that started last.
    leaving = [asyncio.create_task(server.leaving()) for server in servers]
    await asyncio.wait((*serving, *leaving), return_when=asyncio.FIRST_COMPLETED)
    for server in servers:
        server.leave()
    await asyncio.gather(*serving, *leaving)


def server_of(service: Service) -> QuietServer:
    return QuietServer(
        uvicorn.Config(
            Application(service),
            lifespan="on",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=HTTP_CLOSE_SECONDS_MAX,
        )
    )


async def serve(service: Service, server: QuietServer, on_listening: Callable[[str], None] | None) -> None:
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
