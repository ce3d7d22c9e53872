"""Everything that can be read of a query at the APIs of other people's clients: LangGraph's, OpenAI's, MCP's."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import httpx

CHANNELS = ["lifecycle", "input", "values", "updates", "messages", "checkpoints", "custom"]
MODES = "stream_mode=values&stream_mode=updates&stream_mode=custom&stream_mode=messages-tuple"
MCP_HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
STREAM_SECONDS = 0.4
"""A thread's stream stays open between runs: what it has to say of ended ones it says at once."""


@dataclass(frozen=True)
class Wanted:
    """One request; `is_open` says that its answer does not end by itself."""

    method: str
    path: str
    body: dict[str, Any] | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    is_open: bool = False


def compatible_paths(query: str, thread: str, connection: str) -> list[Wanted]:
    """Return the reading requests of a query and its thread at every API that is not our own."""
    run, own = f"/threads/{thread}/runs/{query}", f"/threads/{thread}"
    commands = ("state.get", "state.listCheckpoints", "agent.getTree")
    tools: dict[str, dict[str, Any]] = {
        "describe": {},
        "more_rows": {"query_id": query, "page": 1},
        "explain": {"query_id": query},
        "feedback": {"query_id": query, "is_right": False},
    }
    resources = (f"connections/{connection}", f"metrics/{connection}/*", f"results/{query}/1")
    calls = [("tools/call", {"name": name, "arguments": given}) for name, given in tools.items()]
    calls += [("resources/read", {"uri": f"querybus://{name}"}) for name in resources]
    return [
        *(Wanted("GET", path) for path in (own, f"{own}/state", f"{own}/history", f"{own}/runs", run, f"{run}/join")),
        Wanted("GET", f"{run}/stream?{MODES}"),
        Wanted("GET", f"/runs/{query}/stream?{MODES}"),
        *(Wanted("POST", path, {}) for path in ("/threads/search", "/assistants/search", f"{own}/copy")),
        Wanted("GET", f"{run}/join?page=1&page_size=1"),
        *(Wanted("POST", "/store/items/search", {"query": words}) for words in ("zebra4711", None)),
        *(Wanted("POST", f"{own}/commands", {"id": 1, "method": name, "params": {}}) for name in commands),
        Wanted("POST", f"{own}/stream/events", {"channels": CHANNELS, "since": 0}, is_open=True),
        *(Wanted("GET", f"/assistants/{connection}{path}") for path in ("", "/graph", "/schemas", "/subgraphs")),
        *(
            Wanted("GET", f"/openai/v1/{path}")
            for path in ("models", f"responses/{query}", f"chat/completions/{query}")
        ),
        Wanted("GET", f"/openai/v1/responses/{query}?stream=true&starting_after=0"),
        Wanted("POST", f"/openai/v1/responses/{query}/cancel"),
        *(
            Wanted("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, MCP_HEADERS)
            for method, params in calls
        ),
    ]


async def answer_of(http: httpx.AsyncClient, wanted: Wanted) -> tuple[int, bytes]:
    """Return the status and every byte of an answer, of an open stream what comes at once."""
    kept = b""
    async with http.stream(wanted.method, wanted.path, json=wanted.body, headers=wanted.headers) as reply:
        kept += b"".join(name + b": " + value + b"\n" for name, value in reply.headers.raw)
        status = reply.status_code
        if not wanted.is_open or status != 200:
            return status, kept + await reply.aread()
        parts = aiter(reply.aiter_bytes())
        try:
            while True:
                kept += await asyncio.wait_for(anext(parts), STREAM_SECONDS)
        except (TimeoutError, StopAsyncIteration):
            return status, kept
