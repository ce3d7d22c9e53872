"""The path `/mcp` and what a client finds out about its keys; the protocol itself is the `mcp` package's.

The package is loaded with the first call: it is 18 MB and more than a second that a gateway without such clients spares.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from querybus.bus.log.publish import BusTrouble
from querybus_gateway.access.credentials import presented_key
from querybus_gateway.admit import BODY_BYTES_MAX
from querybus_gateway.http.request import JsonResponse
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.use_cases.bundle import UseCases
from querybus_gateway.use_cases.queries import BUS_RETRY_SECONDS

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH: Final = "/mcp"
METADATA_PATH: Final = "/.well-known/oauth-protected-resource"


class McpApi:
    """Serves `/mcp`. A part: it is there from the start, and what it needs is made with the first call."""

    def __init__(
        self,
        use_cases: UseCases,
        *,
        state_key: Callable[[], Awaitable[bytes]],
        origins: Sequence[str] = (),
        issuer: str = "",
        statements: bool = False,
    ) -> None:
        """`state_key` is the same in every replica: what one asks back another continues.

        `origins` are the web pages that may call; `issuer` whose tokens are taken besides keys; `statements` offers
        analysts to run SQL of their own.
        """
        self.name = "mcp"
        self._use_cases = use_cases
        self._state_key = state_key
        self._origins = frozenset(origins)
        self._issuer = issuer
        self._statements = statements
        self._making = asyncio.Lock()
        self._manager: StreamableHTTPSessionManager | None = None
        self._running: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    @property
    def routes(self) -> list[BaseRoute]:
        """The paths: the protocol's, and where a client learns which tokens are taken."""
        return [
            Route(PATH, endpoint=_Endpoint(self)),
            *(Route(path, self._metadata) for path in (METADATA_PATH, METADATA_PATH + PATH)),
        ]

    async def start(self) -> None:
        """Do nothing yet."""

    async def drain(self) -> None:
        """End what is under way."""
        self._closing.set()
        if self._running is not None:
            await self._running

    async def ping(self) -> str | None:
        return None

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        if (refused := self._refused_origin(request)) is not None:
            await refused(scope, receive, send)
            return
        source = request.client.host if request.client is not None else ""
        try:
            caller = await self._use_cases.callers.identify(presented_key(request.headers.items()), source)
            manager = self._manager or await self._made()
        except BusTrouble:
            caller = Problem(ProblemCode.BUS_UNAVAILABLE, retry_after_seconds=BUS_RETRY_SECONDS)
            manager = None
        if isinstance(caller, Problem) or manager is None:
            problem = caller if isinstance(caller, Problem) else Problem(ProblemCode.BUS_UNAVAILABLE)
            await _refusal(request, problem)(scope, receive, send)
            return
        scope.setdefault("state", {})["caller"] = caller
        await manager.handle_request(scope, receive, send)

    def _refused_origin(self, request: Request) -> Response | None:
        """Refuse a web page that the operator has not named: a browser may have been led here."""
        origin = request.headers.get("origin")
        if not origin or origin in self._origins or urlsplit(origin).netloc == request.headers.get("host"):
            return None
        return JsonResponse({"detail": "this origin may not call here"}, 403)

    async def _made(self) -> StreamableHTTPSessionManager:
        async with self._making:
            if self._manager is None:
                self._manager = await self._make()
        return self._manager

    async def _make(self) -> StreamableHTTPSessionManager:
        key = await self._state_key()
        await asyncio.to_thread(__import__, "mcp.server.mcpserver")
        from mcp.server.transport_security import TransportSecuritySettings

        from querybus_gateway.http.compatible.mcp.server import mcp_server

        # The package configures the process's log where nobody else has.
        quiet = logging.NullHandler()
        logging.root.addHandler(quiet)
        server = mcp_server(self._use_cases, key, statements=self._statements)
        logging.root.removeHandler(quiet)
        # Host names are the ingress's business; keys and the origin are looked at before.
        server.streamable_http_app(
            json_response=True,
            stateless_http=True,
            max_request_body_size=BODY_BYTES_MAX,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        manager = server.session_manager
        is_running = asyncio.Event()

        async def run() -> None:
            async with manager.run():
                is_running.set()
                await self._closing.wait()

        self._running = asyncio.get_running_loop().create_task(run(), name=self.name)
        await is_running.wait()
        return manager

    async def _metadata(self, request: Request) -> Response:
        """Say which tokens are taken here, as RFC 9728 has it."""
        base = str(request.base_url).rstrip("/")
        body: dict[str, Any] = {
            "resource": base + PATH,
            "resource_name": "QueryBus",
            "bearer_methods_supported": ["header"],
        }
        if self._issuer:
            body["authorization_servers"] = [self._issuer]
        return JsonResponse(body)


class _Endpoint:
    """The path as an application of its own, which is what a route takes besides functions."""

    def __init__(self, api: McpApi) -> None:
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._api.answer(scope, receive, send)


def _refusal(request: Request, problem: Problem) -> ASGIApp:
    headers = {"Retry-After": str(problem.retry_after_seconds)} if problem.retry_after_seconds is not None else {}
    if problem.status == 401:
        metadata = f"{str(request.base_url).rstrip('/')}{METADATA_PATH}{PATH}"
        headers["WWW-Authenticate"] = f'Bearer realm="querybus", resource_metadata="{metadata}"'
    return JsonResponse({"detail": problem.detail or str(problem.code)}, problem.status, headers=headers)
