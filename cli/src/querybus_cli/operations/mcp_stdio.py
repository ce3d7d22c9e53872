"""`querybus mcp`: the Model Context Protocol over standard input and output, carried to a gateway's `/mcp`.

The gateway speaks the protocol; this passes each message on as a request of its own and writes what comes back. So a client
that starts a command has the same tools, keys and limits as one that has the gateway's address.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from typing import Any, Final, cast

import httpx
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
)
from mcp.types import PROTOCOL_VERSION_META_KEY

from querybus_cli.local.answers import Quick, check, connections_of, generator_settings
from querybus_cli.local.local_stack import StackPlan
from querybus_cli.local.own_stack import own_stack
from querybus_cli.operations.remote import key_of, refuse_address

CALL_SECONDS_MAX: Final = 700.0
"""One call may last as long as the longest deadline and what it takes to end it."""
LEFT_SECONDS_MAX: Final = 30.0
"""How long what is under way may take once the client has closed its end."""
_FAILED: Final = -32_603

Json = Mapping[str, Any]


class Bridge:
    """Carries messages between one client and a gateway."""

    def __init__(self, http: httpx.AsyncClient, write: Callable[[str], None]) -> None:
        """`http` has the gateway's address and key; `write` is given one message a line."""
        self._http = http
        self._write = write
        self._version: str | None = None

    async def run(self, read: Callable[[], Awaitable[bytes]]) -> None:
        """Carry lines until there are no more, several at once."""
        open_calls: set[asyncio.Task[None]] = set()
        while line := await read():
            if not line.strip():
                continue
            task = asyncio.create_task(self._carry(line))
            open_calls.add(task)
            task.add_done_callback(open_calls.discard)
            if b'"initialize"' in line:
                # What follows is said in the version that its answer names.
                await task
        if open_calls:
            await asyncio.wait(open_calls, timeout=LEFT_SECONDS_MAX)

    async def _carry(self, line: bytes) -> None:
        try:
            message = cast("Json", json.loads(line))
            method, identity = message.get("method", ""), message.get("id")
        except (ValueError, AttributeError):
            self._write(_error(None, -32_700, "this is no JSON-RPC message"))
            return
        try:
            reply = await self._http.post("/mcp", content=line, headers=self._headers(message))
        except httpx.HTTPError as error:
            reply = None
            text = f"the gateway at {self._http.base_url} does not answer ({type(error).__name__})"
        else:
            text = f"the gateway refused with {reply.status_code}: {reply.text[:300]}"
        if identity is None:
            return
        answer = _message_in(reply)
        if answer is None:
            self._write(_error(identity, _FAILED, text))
            return
        if method == "initialize":
            self._version = cast("Json", answer.get("result") or {}).get("protocolVersion")
        self._write(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))

    def _headers(self, message: Json) -> dict[str, str]:
        method = str(message.get("method", ""))
        params = cast("Json", message.get("params") or {})
        version = cast("Json", params.get("_meta") or {}).get(PROTOCOL_VERSION_META_KEY) or self._version
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            MCP_METHOD_HEADER: method,
        }
        if version:
            headers[MCP_PROTOCOL_VERSION_HEADER] = str(version)
        named = NAME_BEARING_METHODS.get(method)
        if named is not None and named in params:
            headers[MCP_NAME_HEADER] = encode_header_value(str(params[named]))
        return headers


def _message_in(reply: httpx.Response | None) -> Json | None:
    """Return the message of a reply, None where it holds none."""
    try:
        answer = None if reply is None else reply.json()
    except ValueError:
        return None
    return cast("Json", answer) if isinstance(answer, dict) and "jsonrpc" in answer else None


def _error(identity: Any, code: int, text: str) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": text}})


async def bridge(url: str, key: str, read: Callable[[], Awaitable[bytes]], write: Callable[[str], None]) -> None:
    """Carry messages to the gateway at an address until the client has no more."""
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=CALL_SECONDS_MAX) as http:
        await Bridge(http, write).run(read)


def serve(url: str | None, key: str | None, key_file: Path | None, quick: Quick) -> None:
    """Serve one client on standard input and output; UsageError for what cannot begin at all."""
    check(quick, asks_gateway=url is not None)
    if url is not None:
        refuse_address(url)
    out = sys.stdout

    def write(line: str) -> None:
        out.write(line + "\n")
        out.flush()

    async def read() -> bytes:
        return await asyncio.to_thread(sys.stdin.buffer.readline)

    with ExitStack() as stack:
        if url is not None:
            secret = key_of(key, key_file, quick.audience)
        else:
            file, _ = stack.enter_context(connections_of(quick))
            # Whatever a service says is no message of the protocol.
            stack.enter_context(redirect_stdout(sys.stderr))
            plan = StackPlan(connections_file=file, extra=generator_settings(quick))
            url, keys = stack.enter_context(own_stack(plan))
            secret = keys[quick.audience]
        asyncio.run(bridge(url, secret, read, write))
