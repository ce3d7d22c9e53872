"""Pictures drawn by a chart server of others, asked by MCP: off unless the operator names one, because data leaves.

What it answers is the picture's address, which the specification then carries beside its data as `usermeta.picture`. An
answer never waits long for it and never fails with it; after a failure nobody asks again for a while.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

from querybus.core.envelope import Delivery, Envelope
from querybus.core.messages import Concluded, Finished
from querybus.ops.clock import Clock
from querybus_presenter.charts.external_call import call_of

PAUSE_MS: Final = 30_000
ADDRESS_LENGTH_MAX: Final = 25_000
_ADDRESS: Final = re.compile(r"https?://[^\s<>\"'`()\\]+")
Present = Callable[[Envelope[Concluded], Delivery], Awaitable[Envelope[Finished]]]


class ChartServer(Protocol):
    """Draws a chart elsewhere."""

    async def picture(self, spec: Mapping[str, Any]) -> str | None: ...


class McpChartServer:
    """antvis' chart server, or one with its tools, at an address that speaks MCP."""

    def __init__(
        self, url: str, *, seconds_max: float, clock: Clock, left_out: Callable[[str, Exception], None]
    ) -> None:
        """`left_out` learns of each answer that goes without its picture, and why."""
        self._url = url
        self._seconds_max = seconds_max
        self._clock = clock
        self._left_out = left_out
        self._paused_until = 0

    async def picture(self, spec: Mapping[str, Any]) -> str | None:
        """Return the address of a chart's picture, None where there is none."""
        call = call_of(spec)
        if call is None or self._clock() < self._paused_until:
            return None
        # Loaded with the first picture: few presenters need it.
        from mcp.client import Client

        try:
            async with asyncio.timeout(self._seconds_max), Client(self._url) as client:
                result = await client.call_tool(call.tool, dict(call.arguments))
        except Exception as error:  # noqa: BLE001 - whatever a foreign server does, the answer goes on without it
            self._paused_until = self._clock() + PAUSE_MS
            self._left_out("picture", error)
            return None
        return None if result.is_error else address_in([getattr(part, "text", "") for part in result.content])


def address_in(texts: list[str]) -> str | None:
    """Return the picture's address that a server answered, None for anything else.

    >>> address_in(["https://charts.example/a.png"]), address_in(["javascript:alert(1)"]), address_in(["see https://x y"])
    ('https://charts.example/a.png', None, None)
    """
    for text in texts:
        if len(text) <= ADDRESS_LENGTH_MAX and _ADDRESS.fullmatch(text.strip()):
            return text.strip()
    return None


async def present_with_picture(
    envelope: Envelope[Concluded], delivery: Delivery, *, present: Present, server: ChartServer
) -> Envelope[Finished]:
    """Return the finished event with the address of its chart's picture, where the server has drawn one."""
    made = await present(envelope, delivery)
    answer = made.body.answer
    address = await server.picture(answer.chart) if answer.chart else None
    if address is None or answer.chart is None:
        return made
    meta: Any = answer.chart.get("usermeta") or {}
    chart = {**answer.chart, "usermeta": {**meta, "picture": address}}
    return made.model_copy(
        update={"body": made.body.model_copy(update={"answer": answer.model_copy(update={"chart": chart})})}
    )
