"""How the bus stands, as its leaders say it: lag, age and workers of the stage's own durables, and stream sizes.

Each replica asks about its own stage's durables only, the gateway about the streams as well; the rights for both exist
anyway. A leader alone answers such a request, so a follower's stale view is never shown. The age is too high after a
message was given up by count, until the durable has been idle once.

A server whose disk was full keeps the write error of each stream that met it, and refuses that stream's messages until
it is started again, also when there is space. It answers pings meanwhile, and of its checks only the plain `/healthz` fails.
"""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from datetime import datetime
from typing import Any, Final

import nats.errors

from querybus.bus.connection import Connected
from querybus.core.subjects import EventName, StageName, durables_of, event_filter
from querybus.core.topology import ASSERTED_STREAMS, EVENTS
from querybus.ops.clock import Clock, clock_correction, follow_clock, machine_clock, system_clock
from querybus.ops.log import get_log
from querybus.ops.metrics import Metrics
from querybus.ops.run import end

PERIOD_SECONDS: Final = 10.0
"""Less than Prometheus waits from one scrape to the next (15 s in the manifests): more looks would show nothing and cost an idle stack."""
REQUEST_SECONDS_MAX: Final = 2.0
ANSWER_MS_MAX: Final = 500
"""An answer that took longer does not say well enough when it was given."""
CLOCK_MS_MIN: Final = 1_000
"""A clock that is off by less is left alone."""

HEALTH_PERIOD_SECONDS: Final = 5.0
HEALTH_SECONDS_MAX: Final = 2.0
HEALTH_TEXT_MAX: Final = 200

_API: Final = "$JS.API"
_FRACTION_DIGITS: Final = 6

_log = get_log(__name__)


class BusGauges:
    """Looks every PERIOD_SECONDS and sets the gauges. A part that is always well: it only watches."""

    def __init__(
        self,
        holder: Connected,
        stage: StageName,
        *,
        metrics: Metrics,
        clock: Clock = system_clock,
        period_seconds: float = PERIOD_SECONDS,
    ) -> None:
        self.name = "bus-gauges"
        self._holder = holder
        self._stage = stage
        self._metrics = metrics
        self._clock = clock
        self._period_seconds = period_seconds
        self._streams = ASSERTED_STREAMS[stage] if stage is StageName.GATEWAY else ()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to look; the first look does not hold the start up."""
        self._task = asyncio.get_running_loop().create_task(self._watch(), name=self.name)

    async def drain(self) -> None:
        if self._task is not None:
            await end(self._task)

    async def ping(self) -> str | None:
        return None

    async def set_clock(self) -> None:
        """Follow the bus's clock, by which deadlines are judged alike on every replica; no answer changes nothing.

        A machine that is minutes fast would expire everybody's queries, a slow one begin writes after their deadline.
        """
        asked_at = machine_clock()
        info = await self._ask(f"{_API}.CONSUMER.INFO.{EVENTS}.{self._stage}")
        took = machine_clock() - asked_at
        if info is None or "ts" not in info or took > ANSWER_MS_MAX:
            return
        behind = _milliseconds(info["ts"]) - (asked_at + took // 2)
        if abs(behind) < CLOCK_MS_MIN:
            behind = 0
        if abs(behind - clock_correction()) >= CLOCK_MS_MIN:
            _log.warning("clock.set", stage=self._stage, behind_ms=behind)
            follow_clock(behind)

    async def look(self) -> None:
        """Set every gauge once; what gives no answer is shown as having no leader."""
        await self.set_clock()
        for durable, event in durables_of(self._stage).items():
            await self._look_at_consumer(durable, event)
        for stream in self._streams:
            info = await self._ask(f"{_API}.STREAM.INFO.{stream}")
            if info is None:
                self._metrics.stream_unknown(stream)
            else:
                state = info["state"]
                age_ms = self._clock() - _milliseconds(state["first_ts"]) if int(state["messages"]) else 0
                self._metrics.stream(
                    stream,
                    bytes_held=int(state["bytes"]),
                    bytes_max=max(0, int(info["config"]["max_bytes"])),
                    oldest_seconds=max(0, age_ms) / 1_000,
                )

    async def _watch(self) -> None:
        while True:
            try:
                await self.look()
            except Exception as error:  # noqa: BLE001 - a look that fails must not end the looking
                _log.warning("bus.not_looked_at", stage=self._stage, error=type(error).__name__)
            await asyncio.sleep(self._period_seconds)

    async def _look_at_consumer(self, durable: str, event: EventName) -> None:
        info = await self._ask(f"{_API}.CONSUMER.INFO.{EVENTS}.{durable}")
        if info is None:
            self._metrics.consumer_unknown(durable)
            return
        pending, held = int(info["num_pending"]), int(info["num_ack_pending"])
        oldest = await self._oldest_ms(event, int(info["ack_floor"]["stream_seq"])) if pending or held else None
        self._metrics.consumer(
            durable,
            pending=pending,
            ack_pending=held,
            oldest_seconds=0.0 if oldest is None else max(0, self._clock() - oldest) / 1_000,
            waiting=int(info["num_waiting"]),
        )

    async def _oldest_ms(self, event: EventName, floor: int) -> int | None:
        """Return when the first message above the durable's acknowledged floor was stored."""
        wanted = {"seq": floor + 1, "next_by_subj": event_filter(event)}
        result = await self._ask(f"{_API}.STREAM.MSG.GET.{EVENTS}", json.dumps(wanted).encode())
        return None if result is None else _milliseconds(result["message"]["time"])

    async def _ask(self, subject: str, body: bytes = b"") -> dict[str, Any] | None:
        try:
            answer = await self._holder.connection.request(subject, body, timeout=REQUEST_SECONDS_MAX)
        except (nats.errors.Error, TimeoutError):
            return None
        reported: dict[str, Any] = json.loads(answer.data)
        return None if "error" in reported else reported


def health_trouble(monitoring_url: str) -> str | None:
    """Return what a server says is wrong with it; None if it is well or does not answer. Blocks for HEALTH_SECONDS_MAX.

    A server that does not answer here may still take messages: whether the bus answers is asked of the bus itself.
    """
    try:
        urllib.request.urlopen(f"{monitoring_url.rstrip('/')}/healthz", timeout=HEALTH_SECONDS_MAX).close()  # noqa: S310 - the operator's setting
    except urllib.error.HTTPError as refusal:
        with refusal:
            return _text_of(refusal)
    except (OSError, ValueError):
        return None
    return None


def _text_of(refusal: urllib.error.HTTPError) -> str:
    try:
        said = str(json.loads(refusal.read(HEALTH_TEXT_MAX * 10)).get("error") or "")
    except (OSError, ValueError, AttributeError):
        said = ""
    return " ".join(said.split())[:HEALTH_TEXT_MAX] or f"status {refusal.code}"


class BusHealth:
    """Asks every server every HEALTH_PERIOD_SECONDS; the part has trouble while so many fail that no majority can store."""

    def __init__(
        self, monitoring_urls: str, *, metrics: Metrics, period_seconds: float = HEALTH_PERIOD_SECONDS
    ) -> None:
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


def _milliseconds(text: str) -> int:
    # The server writes up to nine digits of a second; Python reads six.
    seconds, _, fraction = text.removesuffix("Z").partition(".")
    moment = datetime.fromisoformat(f"{seconds}.{fraction[:_FRACTION_DIGITS] or '0':0<6}+00:00")
    return int(moment.timestamp() * 1_000)
