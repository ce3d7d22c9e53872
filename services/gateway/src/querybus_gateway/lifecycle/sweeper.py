"""The sweeper ends what nobody else will: queries past their deadline, and queries whose message died.

A loop in every replica, harmless in parallel: all it publishes is fenced and carries an id that is the same
wherever it is made. It follows the log by headers and keeps open queries in memory; it never scans.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, cast

from querybus.bus.log.journal import Entry, Journal
from querybus.bus.log.publish import DEADLINE_HEADER, BusTrouble, FenceLost, Stored, TooLarge, address_of
from querybus.bus.pull import Message
from querybus.core.envelope import Envelope
from querybus.core.messages import Finished
from querybus.core.subjects import STAGE_OF_DURABLE, EventAddress, EventName, StageName
from querybus.core.topology import EVENTS
from querybus.ops.clock import Clock
from querybus.ops.log import get_log
from querybus.ops.metrics import Metrics
from querybus.ops.run import end
from querybus_gateway.bus.stores import DeadLetters
from querybus_gateway.lifecycle.conclusions import AnswerAgain, Ending, dead_lettered, expired, finished_of, unrendered
from querybus_gateway.lifecycle.in_flight import OpenQuery
from querybus_gateway.lifecycle.replica import Replica
from querybus_gateway.lifecycle.waiters import thread_key
from querybus_gateway.ports import Answers, Events

TICK_SECONDS: Final = 1.0
GRACE_MS: Final = 500
"""After the deadline a stage that holds the message concludes by itself; the sweeper comes just behind it."""
SWEPT_PER_TICK_MAX: Final = 256
SWEPT_AT_ONCE_MAX: Final = 16
PUBLISH_MS_MAX: Final = 2_000
DEADLINE_UNKNOWN_MS: Final = 600_000
STALE_SECONDS_MAX: Final = 10.0
NOTED: Final = (EventName.ASKED, EventName.CONFIRMED, EventName.CONCLUDED, EventName.FINISHED)
"""What begins a query and what ends it. Of what lies between, whoever follows one query learns by its progress."""


_log = get_log(__name__)


class Sweeper:
    """The loop, and what it does to one query. A part."""

    def __init__(
        self,
        *,
        journal: Journal,
        events: Events,
        answers: Answers,
        dead_letters: DeadLetters,
        replica: Replica,
        metrics: Metrics,
        clock: Clock,
    ) -> None:
        self.name = "sweeper"
        self._journal = journal
        self._events = events
        self._answers = answers
        self._dead_letters = dead_letters
        self._open = replica.open_queries
        self._turns = replica.turns
        self._waiters = replica.waiters
        self._load = replica.load
        self._metrics = metrics
        self._clock = clock
        self._places = asyncio.Semaphore(SWEPT_AT_ONCE_MAX)
        self._ticked_at = 0
        self._loop: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._ticked_at = self._clock()
        self._loop = asyncio.get_running_loop().create_task(self._run(), name=self.name)

    async def drain(self) -> None:
        if self._loop is not None:
            await end(self._loop)

    async def ping(self) -> str | None:
        if self._loop is None or self._loop.done():
            return "not running"
        silent_seconds = (self._clock() - self._ticked_at) / 1_000
        return f"no tick for {silent_seconds:.0f} s" if silent_seconds > STALE_SECONDS_MAX else None

    async def note(self, entry: Entry) -> None:
        """Take up one event of the followed log: of the kinds in NOTED."""
        deadline = entry.headers.get(DEADLINE_HEADER, "")
        deadline_at = (
            int(deadline) if deadline.isascii() and deadline.isdigit() else entry.stored_at + DEADLINE_UNKNOWN_MS
        )
        tenant, query, now = entry.address.tenant, entry.address.query, self._clock()
        open_count = self._open.in_flight(tenant) + self._turns.waiting(tenant)
        if entry.address.event is EventName.FINISHED:
            self._load.ended(tenant, query, open_count, now)
        elif entry.address.event is not EventName.CONCLUDED:
            self._load.begun(tenant, query, open_count, now)
        self._open.note(entry.address, entry.sequence, deadline_at, now)
        for key in (entry.address.query, thread_key(entry.address.thread)):
            self._waiters.notify(entry.address.tenant, key, entry.address.event)
        if entry.address.event is EventName.FINISHED:
            self._turns.give()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            try:
                await self.tick()
            except Exception as error:  # noqa: BLE001 - the loop must outlive whatever one query brings
                _log.error("sweeper.exception", error=type(error).__name__)
            self._ticked_at = self._clock()

    async def tick(self) -> None:
        """End what is due now."""
        now = self._clock()
        self._turns.give()
        due = self._open.due(now - GRACE_MS)[:SWEPT_PER_TICK_MAX]
        late = self._open.unrendered(now)[: SWEPT_PER_TICK_MAX - len(due)]
        await asyncio.gather(*(self._sweep(item) for item in (*due, *late)))

    async def _sweep(self, query: OpenQuery) -> None:
        address = EventAddress(query.tenant, query.thread, query.query, EventName.ASKED)
        async with self._places:
            try:
                await (self.expire(address) if query.concluded_at is None else self._word(address))
            except (BusTrouble, TooLarge) as trouble:
                _log.warning("sweeper.not_ended", reason=str(trouble))

    async def expire(self, address: EventAddress) -> None:
        """Conclude a query as expired unless its log says otherwise. Raises BusTrouble."""
        log = await self._read(address)
        ending = expired(log, self._clock())
        if ending is None:
            self._learn(address, log)
        else:
            await self._publish(ending)

    async def _word(self, address: EventAddress) -> None:
        log = await self._read(address)
        ending = unrendered(log, self._clock())
        if ending is None:
            self._learn(address, log)
        else:
            await self._publish(ending)

    async def _read(self, address: EventAddress) -> tuple[Entry, ...]:
        """Return the query's log. Raises BusTrouble where a replica that lags shows none of it.

        A query that is forgotten is never ended, so that there is no log counts only from the stream's leader.
        """
        log = await self._journal.query_at(address)
        if not log and await self._journal.last(address) is not None:
            raise BusTrouble("the log was read from a replica that lags behind")
        return log

    def _learn(self, address: EventAddress, log: tuple[Entry, ...]) -> None:
        """Take up what a log says that was found to need nothing: it has ended, or is gone."""
        if not log or finished_of(log) is not None:
            self._open.forget(address.tenant, address.query)
            return
        last = log[-1]
        self._open.note(last.address, last.sequence, 0, self._clock())

    async def _publish(self, ending: Ending) -> bool:
        now = self._clock()
        published = await self._events.publish(
            ending.envelope,
            input_sequence=ending.after_sequence,
            expected_last_sequence=ending.after_sequence,
            until_ms=now + PUBLISH_MS_MAX,
        )
        if isinstance(published, FenceLost):
            return False
        self._open.note(address_of(ending.envelope), published.sequence, ending.envelope.deadline_at, now)
        if isinstance(published, Stored):
            _log.info("sweeper.ended", query_id=ending.envelope.query_id, event_name=ending.envelope.event)
            if ending.envelope.event is EventName.FINISHED:
                self._metrics.query_finished(cast("Envelope[Finished]", ending.envelope), self._clock())
        return True

    async def handle_advisory(self, message: Message) -> None:
        """Dead-letter the message that an advisory speaks of, and end its query. Raises BusTrouble: then again later."""
        notice = _notice(message.data)
        stage = STAGE_OF_DURABLE.get(str(notice.get("consumer")))
        sequence = notice.get("stream_seq")
        if notice.get("stream") != EVENTS or stage is None or not isinstance(sequence, int):
            await message.ack()
            return
        entry = await self._journal.at(sequence)
        if entry is not None:
            deliveries = notice.get("deliveries")
            way = "terminated" if str(notice.get("type", "")).endswith(".terminated") else "deliveries exhausted"
            reason = str(notice.get("reason") or way)
            await self.dead_letter(
                stage, entry, deliveries=deliveries if isinstance(deliveries, int) else 0, reason=reason
            )
        await message.ack()

    async def dead_letter(self, stage: StageName, entry: Entry, *, deliveries: int, reason: str) -> None:
        """Copy a dead event to the dead letters and end its query. Raises BusTrouble."""
        with suppress(TooLarge):
            if await self._dead_letters.dead_letter_event(stage, entry, deliveries=deliveries, reason=reason):
                self._metrics.dead_letter(stage)
        until = self._clock() + PUBLISH_MS_MAX
        while True:
            log = await self._journal.query_at(entry.address)
            match dead_lettered(log, entry.sequence, f"{stage}: {reason}", self._clock()):
                case None:
                    return
                case AnswerAgain(envelope):
                    if envelope.shadow_of is None:
                        await self._answers.put(envelope)
                    return
                case Ending() as ending:
                    if await self._publish(ending):
                        return
            if self._clock() > until:
                raise BusTrouble("the log of a dead message does not settle")


def _notice(data: bytes) -> Mapping[str, Any]:
    try:
        result: object = json.loads(data)
    except ValueError:
        return {}
    return cast("Mapping[str, Any]", result) if isinstance(result, dict) else {}
