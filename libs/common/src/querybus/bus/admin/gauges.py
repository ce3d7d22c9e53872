"""How the bus stands, as its leaders say it: lag, age and workers of the stage's own durables, and stream sizes.

Each replica asks about its own stage's durables only, the gateway about the streams as well; the rights for both exist
anyway. A leader alone answers such a request, so a follower's stale view is never shown. The age is too high after a
message was given up by count, until the durable has been idle once.
"""

from __future__ import annotations

import asyncio
import json
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


def _milliseconds(text: str) -> int:
    # The server writes up to nine digits of a second; Python reads six.
    seconds, _, fraction = text.removesuffix("Z").partition(".")
    moment = datetime.fromisoformat(f"{seconds}.{fraction[:_FRACTION_DIGITS] or '0':0<6}+00:00")
    return int(moment.timestamp() * 1_000)
