"""Whether the bus can store what it is sent, as its servers' own health checks say.

A server whose disk was full keeps the write error of each stream that met it, and refuses that stream's messages until
it is started again, also when there is space. It answers pings meanwhile, and of its checks only the plain `/healthz` fails.
"""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from typing import Final

from querybus.ops.log import get_log
from querybus.ops.metrics import Metrics
from querybus.ops.run import end

PERIOD_SECONDS: Final = 5.0
ANSWER_SECONDS_MAX: Final = 2.0
TEXT_MAX: Final = 200

_log = get_log(__name__)


def health_trouble(monitoring_url: str) -> str | None:
    """Return what a server says is wrong with it; None if it is well or does not answer. Blocks for ANSWER_SECONDS_MAX.

    A server that does not answer here may still take messages: whether the bus answers is asked of the bus itself.
    """
    try:
        urllib.request.urlopen(f"{monitoring_url.rstrip('/')}/healthz", timeout=ANSWER_SECONDS_MAX).close()  # noqa: S310 - the operator's setting
    except urllib.error.HTTPError as refusal:
        with refusal:
            return _text_of(refusal)
    except (OSError, ValueError):
        return None
    return None


def _text_of(refusal: urllib.error.HTTPError) -> str:
    try:
        said = str(json.loads(refusal.read(TEXT_MAX * 10)).get("error") or "")
    except (OSError, ValueError, AttributeError):
        said = ""
    return " ".join(said.split())[:TEXT_MAX] or f"status {refusal.code}"


class BusHealth:
    """Asks every server every PERIOD_SECONDS; the part has trouble while so many fail that no majority can store."""

    def __init__(self, monitoring_urls: str, *, metrics: Metrics, period_seconds: float = PERIOD_SECONDS) -> None:
        """`monitoring_urls`: those of all servers, separated by commas; none: nothing is asked."""
        self.name = "bus-storage"
        self.trouble: str | None = None
        self._urls = [url.strip() for url in monitoring_urls.split(",") if url.strip()]
        self._metrics = metrics
        self._period_seconds = period_seconds
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to ask; the first answer does not hold the start up."""
        if self._urls:
            self._task = asyncio.get_running_loop().create_task(self._watch(), name=self.name)

    async def drain(self) -> None:
        if self._task is not None:
            await end(self._task)

    async def ping(self) -> str | None:
        return self.trouble

    async def look(self) -> None:
        """Ask every server once and set the gauges."""
        answers = await asyncio.gather(*(asyncio.to_thread(health_trouble, url) for url in self._urls))
        for url, answer in zip(self._urls, answers, strict=True):
            self._metrics.bus_server_healthy(url.partition("://")[2] or url, healthy=answer is None)
        failing = [answer for answer in answers if answer is not None]
        trouble = f"the bus cannot store: {failing[0]}" if len(failing) * 2 >= len(answers) else None
        if trouble != self.trouble:
            _log.warning("bus.storage", trouble=trouble or "none any more", servers_failing=len(failing))
        self.trouble = trouble

    async def _watch(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(self._period_seconds)
