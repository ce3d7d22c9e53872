"""A service's stage: the bus as settlement needs it, and the loop that hands messages to a verb."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import nats.errors
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js import JetStreamContext

from querybus.bus.connection import Connected
from querybus.bus.log.journal import Entry, Journal
from querybus.bus.log.publish import (
    Published,
    publish_event,
    publish_message,
    send,
)
from querybus.bus.log.sign import Signer
from querybus.bus.ports import Incoming
from querybus.bus.pull import PullLoop
from querybus.bus.settlement import (
    PUBLISH_GRACE_MS,
    REASON_LENGTH_MAX,
    Settlement,
)
from querybus.bus.stage_policy import Runtime, StagePolicy, Think
from querybus.core.envelope import (
    Envelope,
)
from querybus.core.subjects import (
    EventAddress,
    StageName,
    dead_message_id,
    dead_subject,
    durables_of,
    every_cancel_filter,
)
from querybus.core.topology import EVENTS
from querybus.ops.clock import Clock, system_clock
from querybus.ops.trace import Tracing


class NatsBus:
    """The bus as it is."""

    def __init__(self, holder: Connected, *, clock: Clock = system_clock, tracing: Tracing | None = None) -> None:
        self._holder = holder
        self._journal = Journal(holder)
        self._clock = clock
        self._tracing = tracing
        self._jetstream: JetStreamContext | None = None

    @property
    def _js(self) -> JetStreamContext:
        # A connection lives as long as its service; it heals, it is not replaced.
        if self._jetstream is None:
            self._jetstream = self._holder.connection.jetstream()
        return self._jetstream

    async def publish(
        self, envelope: Envelope[Any], *, input_sequence: int, until_ms: int, sign: Signer | None
    ) -> Published:
        headers: dict[str, str] = {}
        if self._tracing is not None:
            self._tracing.inject(headers)
        return await publish_event(
            self._js,
            envelope,
            input_sequence=input_sequence,
            expected_last_sequence=input_sequence,
            until_ms=until_ms,
            sign=sign,
            headers=headers,
            clock=self._clock,
        )

    async def last(self, address: EventAddress) -> Entry | None:
        return await self._journal.last(address)

    async def first(self, address: EventAddress) -> Envelope[Any] | None:
        return await self._journal.first(address)

    async def dead_letter(self, stage: StageName, message: Incoming, reason: str) -> bool:
        return await publish_message(
            self._js,
            dead_subject(stage),
            message.data,
            identity=dead_message_id(message.stream, message.sequence),
            until_ms=self._clock() + PUBLISH_GRACE_MS,
            headers={
                "Querybus-Reason": _header(reason),
                "Querybus-Stage": stage,
                "Querybus-Subject": _header(message.subject),
                "Querybus-Sequence": str(message.sequence),
                "Querybus-Deliveries": str(message.deliveries),
            },
            clock=self._clock,
        )

    async def announce(self, subject: str, data: bytes) -> None:
        await send(self._holder.connection, subject, data)


def _header(text: str) -> str:
    return "".join(character if " " <= character <= "~" else "?" for character in text[:REASON_LENGTH_MAX])


class Stage:
    """A stage as a part: its pull loops, and its subscriber for cancel hints."""

    def __init__(
        self, holder: Connected, settlement: Settlement, loops: Sequence[PullLoop], *, receives_cancel: bool
    ) -> None:
        self.name = loops[0].name
        self._holder = holder
        self._settlement = settlement
        self._loops = tuple(loops)
        self._receives_cancel = receives_cancel
        self._subscription: Subscription | None = None

    async def start(self) -> None:
        """Begin to take messages; LookupError if the durable does not exist."""
        if self._receives_cancel:
            self._subscription = await self._holder.connection.subscribe(every_cancel_filter(), cb=self._hint)
        for loop in self._loops:
            await loop.start()

    async def drain(self) -> None:
        """Take no more messages, finish what runs, give the rest back."""
        await asyncio.gather(*(loop.drain() for loop in self._loops))
        if self._subscription is not None:
            with suppress(nats.errors.Error):
                await self._subscription.unsubscribe()

    async def ping(self) -> str | None:
        for loop in self._loops:
            trouble = await loop.ping()
            if trouble is not None:
                return trouble
        return None

    async def _hint(self, message: Msg) -> None:
        tenant, query = message.subject.split(".")[-2:]
        self._settlement.cancel(tenant, query)


def stage(
    broker: Connected, think: Think, policy: StagePolicy, runtime: Runtime, *, slots: int, drain_seconds: float = 25.0
) -> Stage:
    """Return the part that consumes a stage's events, at most `slots` of each at once, and settles each one after `think`."""
    bus = NatsBus(broker, clock=runtime.clock, tracing=runtime.tracing)
    settlement = Settlement(bus, think, policy, runtime)
    loops = [
        PullLoop(
            broker,
            stream=EVENTS,
            durable=durable,
            slots=slots,
            handle=settlement.handle,
            drain_seconds=drain_seconds,
            jitter=runtime.jitter,
        )
        for durable in durables_of(policy.name)
    ]
    return Stage(broker, settlement, loops, receives_cancel=not policy.proceeds)
