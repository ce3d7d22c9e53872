"""Asks one question of a running stack and reports what stage it is in while it works."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final

from querybus.bus.client import BusClient

REPLY_GRACE_SECONDS: Final = 12.0
"""The stack ends every query at the latest 10 seconds after its deadline."""
WAIT_SECONDS: Final = 30
DEADLINE_SECONDS_DEFAULT: Final = 60.0

OnProgress = Callable[[str], None]


async def ask(client: BusClient, request: Mapping[str, Any], on_progress: OnProgress) -> dict[str, Any]:
    """Ask over the bus API and return the public answer, or the problem with `code` and `detail`.

    Waits until the query has finished; raises TimeoutError where even the sweeper did not end it.
    """
    deadline = float(request.get("options", {}).get("deadline_seconds", DEADLINE_SECONDS_DEFAULT))
    async with asyncio.timeout(deadline + REPLY_GRACE_SECONDS), client.progress() as progress:
        following = asyncio.create_task(_follow(progress, on_progress))
        try:
            reply = await client.call("ask", {**request, "wait_seconds": WAIT_SECONDS})
            while "outcome" not in reply and "query_id" in reply:
                reply = await client.call("answer", {"query_id": reply["query_id"], "wait_seconds": WAIT_SECONDS})
            return reply
        finally:
            following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await following


async def _follow(progress: AsyncIterator[tuple[str, dict[str, Any]]], on_progress: OnProgress) -> None:
    async for _, notice in progress:
        stage = notice.get("stage")
        if isinstance(stage, str):
            on_progress(stage)
