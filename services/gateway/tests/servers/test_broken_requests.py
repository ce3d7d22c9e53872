"""What is no HTTP costs a line of the log, whatever the application does with the request that it broke off."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest
from starlette.types import Receive, Scope, Send

from querybus_gateway.http.server import HttpApi

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
BROKEN = [
    b'5;ext="\x00\r\n', b'5;ext="' + b"a" * 70_000, b"zz\r\n", b"5\r\nabcdefg\r\n", b"-1\r\n\r\n", b"5\r\nabcde\r\nzz\r\n",
    b"ffffffffffffffffffffff\r\n", b"\r\n\r\n",
]  # fmt: skip


async def at_once(_scope: Scope, _receive: Receive, send: Send) -> None:
    """Answer without a look at the body, as a wrong key is refused."""
    await send({"type": "http.response.start", "status": 401, "headers": []})
    await send({"type": "http.response.body", "body": b"no"})


async def after_reading(scope: Scope, receive: Receive, send: Send) -> None:
    while (message := await receive())["type"] == "http.request" and message.get("more_body"):
        pass
    await at_once(scope, receive, send)


async def in_two_parts(_scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"a", "more_body": True})
    await receive()
    await asyncio.sleep(0.05)
    await send({"type": "http.response.body", "body": b"b"})


pytestmark = pytest.mark.servers


@pytest.fixture(params=[at_once, after_reading, in_two_parts])
async def api(request: pytest.FixtureRequest) -> AsyncIterator[HttpApi]:
    made = HttpApi(request.param, host="127.0.0.1", port=0, on_listening=lambda _: None)
    await made.start()
    yield made
    await made.drain()


@pytest.mark.parametrize("apart", [False, True], ids=["in one packet", "behind its head"])
@pytest.mark.parametrize("broken", BROKEN)
async def test_a_broken_chunk_is_at_most_one_line_and_no_traceback(
    api: HttpApi, broken: bytes, apart: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(api.address.rpartition(":")[2]))
        writer.write(HEAD if apart else HEAD + broken)
        if apart:
            await asyncio.sleep(0.02)
            writer.write(broken)
        received = b""
        try:
            async with asyncio.timeout(2):
                received = await reader.read()
        except (TimeoutError, ConnectionError):
            pass  # what may still become a chunk is waited for
        writer.close()
        await asyncio.sleep(0.1)
    assert [record for record in caplog.records if record.exc_info] == []
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) <= 1
    assert received == b"" or received.startswith((b"HTTP/1.1 400", b"HTTP/1.1 401", b"HTTP/1.1 200"))
