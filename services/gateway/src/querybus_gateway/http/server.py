"""The listener of the HTTP API: uvicorn as a part of the process, which keeps the signals to itself."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Generator
from typing import Final, cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from querybus.ops.quiet_server import QuietServer

CLOSE_SECONDS_MAX: Final = 2
HEAD_BYTES_MAX: Final = 32_768
"""Of a request's line and headers."""
HEAD_SECONDS_MAX: Final = 10.0
"""How long they may take."""
_MAY_ANSWER: Final = ("IDLE", "SEND_RESPONSE")
"""States of h11 in which no answer has begun."""


class _Server(QuietServer):
    """A server that leaves signals to the process that it is a part of, and says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class _Prompt(H11Protocol):
    """Closes a connection whose request line and headers do not come in time; bodies have a limit of their own."""

    late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._calm()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP with 400, or close where an answer has begun; what works on it then writes to nobody."""
        # Before the first request there is no cycle, whatever its type says.
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is not None:
            cycle.disconnected = True
            cycle.message_event.set()
        if repr(self.conn.our_state) in _MAY_ANSWER:
            super().send_400_response(msg)
        else:
            self.transport.close()

    def _expect_head(self) -> None:
        if self._is_busy():
            self._calm()
        elif self.late is None:
            self.late = self.loop.call_later(HEAD_SECONDS_MAX, self._close)

    def _calm(self) -> None:
        if self.late is not None:
            self.late.cancel()
            self.late = None

    def _close(self) -> None:
        self.late = None
        if not self._is_busy():
            self.transport.close()

    def _is_busy(self) -> bool:
        # Before the first request there is no cycle, whatever its type says.
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is not None and not cycle.response_complete


class HttpApi:
    """Serves the HTTP application on a listener of its own. A part."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        host: str,
        port: int,
        on_listening: Callable[[str], None],
        trusted_proxies: str = "",
    ) -> None:
        """`trusted_proxies`: addresses or networks, separated by commas, whose X-Forwarded-For is believed."""
        self.name = "http"
        self._host = host
        self._port = port
        self._on_listening = on_listening
        self._server = _Server(
            uvicorn.Config(
                app,
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                http=_Prompt,
                proxy_headers=bool(trusted_proxies),
                forwarded_allow_ips=trusted_proxies,
                h11_max_incomplete_event_size=HEAD_BYTES_MAX,
                timeout_graceful_shutdown=CLOSE_SECONDS_MAX,
            )
        )
        self._task: asyncio.Task[None] | None = None
        self.address = ""

    async def start(self) -> None:
        """Listen; OSError if the address is taken."""
        listener = socket.socket(socket.AF_INET6 if ":" in self._host else socket.AF_INET)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((self._host, self._port))
        self.address = f"http://{self._host}:{listener.getsockname()[1]}"
        self._task = asyncio.get_running_loop().create_task(self._server.serve(sockets=[listener]), name=self.name)
        listening = asyncio.create_task(self._server.listening.wait())
        await asyncio.wait({listening, self._task}, return_when=asyncio.FIRST_COMPLETED)
        listening.cancel()
        if self._task.done():
            self._task.result()
            raise OSError(f"nothing listens at {self.address}")
        self._on_listening(self.address)

    async def drain(self) -> None:
        """Take no new connection, give open ones CLOSE_SECONDS_MAX."""
        self._server.leave()
        if self._task is not None:
            await self._task

    async def ping(self) -> str | None:
        return None if self._task is not None and not self._task.done() else "not listening"
