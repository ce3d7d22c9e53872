"""Claims on the server that is quiet while nothing comes: it answers, and it ends at once when it is asked to."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
import uvicorn

from querybus.ops import quiet_server
from querybus.ops.quiet_server import QuietServer


async def _hello(scope: Any, receive: Any, send: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


@pytest.mark.parametrize("how", ["leave", "signal"])
async def test_it_answers_and_ends_before_its_next_tick(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quiet_server, "TICK_SECONDS", 600.0)
    server = QuietServer(uvicorn.Config(_hello, lifespan="off", log_config=None, access_log=False))
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    serving = asyncio.create_task(server._serve(sockets=[listener]))
    async with httpx.AsyncClient() as client:
        reply = await client.get(f"http://127.0.0.1:{listener.getsockname()[1]}/")
    assert (reply.text, "date" in reply.headers) == ("hello", True)
    if how == "leave":
        server.leave()
    else:
        server.handle_exit(signal.SIGTERM, None)
    await asyncio.wait_for(serving, 60)
