"""One machine settles every message: decode, think, publish, settle. Verbs only think.

Whatever happens to a message (ARCHITECTURE.md, rules of the log), this module publishes at most one event for it, fenced by its
query's log, and settles it after that publish is acknowledged. A stage holds at most `slots` messages.
"""

from __future__ import annotations

import asyncio
import traceback
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, Final, Literal

import nats.errors
from opentelemetry.trace import SpanKind
from pydantic_core import to_json

from querybus.bus.connection import reads_until
from querybus.bus.log.journal import Entry
from querybus.bus.log.publish import (
    MESSAGE_ID,
    SIGNATURE_HEADER,
    BusTrouble,
    Duplicate,
    FenceLost,
    Stored,
    TooLarge,
    address_of,
)
from querybus.bus.ports import Bus, Incoming
from querybus.bus.pull import STOPPED_DELAY_SECONDS, retry_delay_seconds
from querybus.bus.stage_policy import Runtime, StagePolicy, Think
from querybus.core.envelope import (
    Delivery,
    Envelope,
    PathStep,
    Undecodable,
    concluded,
    decode,
    draft_of,
    failed,
    out_of_time,
    stamped,
)
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Analysis, Asked, Concluded
from querybus.core.subjects import (
    READS,
    WRITES,
    EventAddress,
    EventName,
    message_id,
    parse_event_subject,
    progress_subject,
    token,
)
from querybus.ops.log import get_log
from querybus.ops.trace import describe, is_sampled, stage_attributes

Settled = Literal["published", "failed", "expired", "fence_lost", "cancelled", "dead", "nak"]

PUBLISH_GRACE_MS: Final = 5_000
"""How long a publish is tried at least, also when the deadline has passed meanwhile."""
_LAST_PAUSE_SECONDS: Final = 0.2
_LAST_WORD_SECONDS_MAX: Final = 2.0
REASON_LENGTH_MAX: Final = 500
_FRAMES_SHOWN: Final = 6

_log = get_log(__name__)


_SIGNED_FIELDS: Final = ("user", "audience", "options", "shadow_of")
"""What an approval holds for: it is compared with the first event, which only the gateway can write."""


class _Ended(Enum):
    """Why a verb gave no result."""

    EXPIRED = "expired"
    CANCELLED = "cancelled"


@dataclass(eq=False, slots=True)
class _Work:
    message: Incoming
    address: EventAddress
    envelope: Envelope[Any]
    started_at: int
    scope: asyncio.Timeout | None = None
    is_cancelled: bool = False


class Settlement:
    """The settlement table as code; knows the bus only through its ports. One for each stage."""

    def __init__(self, bus: Bus, think: Think, policy: StagePolicy, runtime: Runtime) -> None:
        self._bus = bus
        self._think = think
        self._policy = policy
        self._name = policy.name
        self._on_failure = policy.on_failure or partial(failed, stage=policy.name)
        self._runtime = runtime
        self._metrics = runtime.metrics
        self._tracing = runtime.tracing
        self._running: set[_Work] = set()
        self._reporting: set[asyncio.Task[None]] = set()

    def cancel(self, tenant: str, query: str) -> None:
        """Stop the work on a query (tokens), if it runs here. Only a hint: the log decides."""
        for work in self._running:
            if (work.address.tenant, work.address.query) == (tenant, query) and work.scope is not None:
                work.is_cancelled = True
                if not work.scope.expired():
                    work.scope.reschedule(asyncio.get_running_loop().time())

    async def handle(self, message: Incoming) -> None:
        """Take one message to its end: settled, or (when stopped) given back."""
        started = self._runtime.timer()
        settled: Settled = "nak"
        if message.deliveries > 1:
            self._metrics.redelivery(self._name)
        with (
            self._tracing.span(self._name, message.headers, kind=SpanKind.CONSUMER) if self._tracing else nullcontext()
        ):
            try:
                settled = await self._settle(message)
            finally:
                # Within the span: the line names the trace.
                seconds = self._runtime.timer() - started
                self._metrics.stage_settled(self._name, settled, seconds)
                address = parse_event_subject(message.subject)
                if address is not None:
                    _log.info(
                        "stage.settled",
                        stage=self._name,
                        event_name=address.event,
                        settled=settled,
                        query_id=address.query,
                        tenant=address.tenant,
                        deliveries=message.deliveries,
                        duration_ms=round(seconds * 1_000, 1),
                    )

    async def _settle(self, message: Incoming) -> Settled:
        try:
            address, envelope = self._read(message)
        except Undecodable as error:
            return await self._refuse(message, error)
        work = _Work(message, address, envelope, self._runtime.clock())
        if is_sampled():
            describe(
                stage_attributes(
                    self._name,
                    address.event,
                    message_id=message.headers.get(MESSAGE_ID, ""),
                    deliveries=message.deliveries,
                    query=envelope.query_id,
                    thread=envelope.thread_id,
                )
            )
        patience_ms = max(envelope.remaining_ms(work.started_at), PUBLISH_GRACE_MS)
        try:
            with reads_until(asyncio.get_running_loop().time() + patience_ms / 1_000):
                return await self._work(work)
        except asyncio.CancelledError:
            await self._stop(work)
            raise
        except Exception as error:  # noqa: BLE001 - whatever a verb raises has its row in the table
            return await self._again(work, error)

    def _read(self, message: Incoming) -> tuple[EventAddress, Envelope[Any]]:
        address = parse_event_subject(message.subject)
        if address is None or address.event not in READS[self._name]:
            raise Undecodable("the subject is no event that this stage reads")
        if "Nats-Stream" in message.headers:
            # The server writes it into what it sends by itself: somebody named this subject as a reply.
            raise Undecodable("a copy made by the server, not a published event")
        envelope = decode(address.event, message.data)
        if address_of(envelope) != address:
            raise Undecodable("tenant, thread or query of the body are not those of the subject")
        if self._policy.verify is not None and not self._policy.verify.verify(
            message.subject,
            message.headers.get(MESSAGE_ID, ""),
            message.data,
            message.headers.get(SIGNATURE_HEADER, ""),
        ):
            raise Undecodable("the signature is missing or not valid")
        return address, envelope

    async def _refuse(self, message: Incoming, error: Undecodable) -> Settled:
        if error.newer and not message.is_last_delivery:
            # A rolling deployment brings the reader that knows this version.
            await self._give_back(message)
            return "nak"
        try:
            is_new = await self._bus.dead_letter(self._name, message, error.reason)
        except (BusTrouble, TooLarge) as trouble:
            _log.error("stage.not_buried", stage=self._name, sequence=message.sequence, error=type(trouble).__name__)
            await self._give_back(message)
            return "nak"
        if is_new:
            self._metrics.dead_letter(self._name)
        _log.error("stage.refused", stage=self._name, sequence=message.sequence, reason=error.reason)
        await message.term()
        return "dead"

    async def _work(self, work: _Work) -> Settled:
        message, envelope = work.message, work.envelope
        if message.deliveries > 1:
            last = await self._last(work)
            if last is not None and last.sequence > message.sequence:
                return await self._was_first(work, is_own=self._is_own(work, last))
        now_ms = work.started_at if message.deliveries == 1 else self._runtime.clock()
        remaining_seconds = envelope.remaining_ms(now_ms) / 1_000
        if self._policy.proceeds:
            remaining_seconds = max(remaining_seconds, self._policy.grace_seconds)
            if message.is_last_delivery:
                # Four deliveries did not end it, perhaps because the verb ends the process: do without the verb.
                return await self._publish_failure(work, Failure.of(FailureCode.INTERNAL, "last delivery"))
        elif remaining_seconds <= 0:
            return await self._publish(work, self._expired(envelope), "expired")
        note = asyncio.get_running_loop().call_later(self._policy.announce_after_seconds, self._announce, work)
        try:
            thought = await self._think_within(work, remaining_seconds, now_ms)
        finally:
            note.cancel()
        match thought:
            case Failure() as failure:
                return await self._publish_failure(work, failure)
            case _Ended.CANCELLED:
                return await self._leave_cancelled(work)
            case _Ended.EXPIRED if self._policy.proceeds:
                return await self._publish_failure(work, Failure.of(FailureCode.TIMEOUT, "the stage's own time"))
            case _Ended.EXPIRED:
                return await self._publish(work, self._expired(envelope), "expired")
            case result:
                self._vet(work, result)
                if self._policy.sign is not None and result.event is EventName.APPROVED:
                    await self._compare_with_first(work, result)
                return await self._publish(work, result, "published")

    async def _last(self, work: _Work) -> Entry | None:
        """Return the last event of the query's log. BusTrouble once the query's time is over.

        While a cluster chooses a leader the message is held: one that is given back uses up a delivery.
        """
        until_ms = max(work.envelope.deadline_at, work.started_at + PUBLISH_GRACE_MS)
        while True:
            try:
                return await self._bus.last(work.address)
            except BusTrouble:
                if self._runtime.clock() >= until_ms:
                    raise
            await asyncio.sleep(_LAST_PAUSE_SECONDS)

    async def _think_within(self, work: _Work, seconds: float, now_ms: int) -> Envelope[Any] | Failure | _Ended:
        delivery = Delivery(work.message.sequence, work.message.deliveries, now_ms)
        scope = asyncio.timeout(seconds)
        try:
            async with scope:
                work.scope = scope
                self._running.add(work)
                result = await self._think(work.envelope, delivery)
        except TimeoutError:
            if not scope.expired():
                raise
            return _Ended.CANCELLED if work.is_cancelled else _Ended.EXPIRED
        finally:
            self._running.discard(work)
        return _Ended.CANCELLED if work.is_cancelled else result

    def _vet(self, work: _Work, result: Envelope[Any]) -> None:
        before = work.envelope
        if result.event not in WRITES[self._name]:
            raise ValueError(f"{self._name} must not publish {result.event}")
        if (result.query_id, result.thread_id, result.tenant) != (before.query_id, before.thread_id, before.tenant):
            raise ValueError(f"{self._name} changed the query that it works on")

    async def _compare_with_first(self, work: _Work, result: Envelope[Any]) -> None:
        """Refuse to sign for another user, audience, connection or other options than the query began with.

        What lies between was written by services that hold no key. Raises BusTrouble where the replica that was asked
        does not have the first event yet.
        """
        first = await self._bus.first(work.address)
        if first is None:
            raise BusTrouble("the query's first event is not readable here yet")
        # Where the request named no connection, the gateway has said which the caller may use.
        choices = first.body.connections if isinstance(first.body, Asked) else ()
        is_other = result.connection not in (first.connection, *choices)
        if is_other or any(getattr(first, name) != getattr(result, name) for name in _SIGNED_FIELDS):
            raise ValueError("the query is not the one that was asked")

    async def _publish(self, work: _Work, event: Envelope[Any], settled: Settled) -> Settled:
        now_ms = self._runtime.clock()
        step = PathStep(stage=self._name, event=event.event, started_at=work.started_at, ended_at=now_ms)
        event = stamped(event, step)
        try:
            published = await self._bus.publish(
                event,
                input_sequence=work.message.sequence,
                until_ms=max(work.envelope.deadline_at, now_ms + PUBLISH_GRACE_MS),
                sign=self._policy.sign if event.event is EventName.APPROVED else None,
            )
        except TooLarge as error:
            if settled != "published":
                raise
            return await self._publish_failure(work, Failure.of(FailureCode.RESOURCE_LIMIT, f"event of {error}"))
        match published:
            case FenceLost():
                return await self._was_first(work, is_own=False)
            case Stored():
                self._stored(event)
            case Duplicate(retried=True) if work.message.deliveries == 1:
                # Nobody else has had this message, so the try that went unanswered was the one that stored it.
                self._stored(event)
            case Duplicate():
                pass
        # After the last event nobody would notice a lost ack before ack_wait: be sure of it.
        await work.message.ack(confirmed=event.event is EventName.FINISHED)
        return settled

    async def _publish_failure(self, work: _Work, failure: Failure) -> Settled:
        self._metrics.failure(self._name, failure.code)
        with self._tracing.kept(self._name, failure.code) if self._tracing else nullcontext():
            return await self._publish(work, self._on_failure(work.envelope, failure), "failed")

    def _stored(self, event: Envelope[Any]) -> None:
        if event.event is EventName.FINISHED:
            self._metrics.query_finished(event, self._runtime.clock())

    def _expired(self, envelope: Envelope[Any]) -> Envelope[Concluded]:
        draft = draft_of(envelope)
        outcome, code = out_of_time(envelope)
        body = Concluded(
            outcome=outcome,
            code=code,
            stage=self._name,
            sql=draft.sql if draft else None,
            dialect=draft.dialect if draft else None,
            analysis=getattr(envelope.body, "analysis", Analysis()),
        )
        return concluded(envelope, body)

    def _is_own(self, work: _Work, last: Entry) -> bool:
        ids = (message_id(work.address.query, event, work.message.sequence) for event in WRITES[self._name])
        return last.message_id in ids

    async def _was_first(self, work: _Work, *, is_own: bool) -> Settled:
        """Ack and drop: the log already goes on from this message."""
        await work.message.ack()
        if is_own:
            return "published"
        self._metrics.fence_lost(self._name)
        _log.info("stage.fence_lost", stage=self._name, query_id=work.envelope.query_id)
        return "fence_lost"

    async def _leave_cancelled(self, work: _Work) -> Settled:
        for pause in self._policy.cancel_pauses_seconds:
            await asyncio.sleep(pause)
            last = await self._bus.last(work.address)
            if last is not None and last.sequence > work.message.sequence:
                await work.message.ack()
                return "cancelled"
        await self._give_back(work.message)
        return "cancelled"

    async def _again(self, work: _Work, error: Exception) -> Settled:
        """An unexpected exception, or the bus itself in trouble: later, or on the last delivery as a failure."""
        message = work.message
        _log.error(
            "stage.exception",
            stage=self._name,
            query_id=work.envelope.query_id,
            deliveries=message.deliveries,
            error=type(error).__name__,
            # Neither the message nor the locals: both may hold SQL or a secret.
            where=_where(error),
        )
        if message.settled:
            return "nak"
        if not message.is_last_delivery and not self._must_end_now(work, error):
            await self._give_back(message)
            return "nak"
        code = error.code if isinstance(error, BusTrouble) else FailureCode.INTERNAL
        try:
            return await self._publish_failure(work, Failure.of(code, type(error).__name__))
        except Exception as second:  # noqa: BLE001 - nothing is left but the sweeper, which finds it at the deadline
            _log.critical("stage.last_delivery_lost", stage=self._name, error=type(second).__name__)
            await self._give_back(message)
            return "nak"

    def _must_end_now(self, work: _Work, error: Exception) -> bool:
        # All deliveries of the end stage take longer than a query may be late, and it needs no verb to end one.
        if not self._policy.proceeds or isinstance(error, BusTrouble):
            return False
        delay_seconds = retry_delay_seconds(work.message.deliveries, lambda: 0.0)
        return work.envelope.remaining_ms(self._runtime.clock()) < delay_seconds * 1_000

    async def _stop(self, work: _Work) -> None:
        """The process stops: another worker takes the message; the last delivery gets its last word here."""
        message = work.message
        if message.settled:
            return
        if message.is_last_delivery:
            with suppress(Exception):
                async with asyncio.timeout(_LAST_WORD_SECONDS_MAX):
                    await self._publish_failure(work, Failure.of(FailureCode.INTERNAL, "stopped on its last delivery"))
                    return
        with suppress(nats.errors.Error):
            await message.nak(STOPPED_DELAY_SECONDS)

    async def _give_back(self, message: Incoming) -> None:
        # Without a connection the message comes back by itself after its ack_wait.
        with suppress(nats.errors.Error):
            await message.nak(retry_delay_seconds(message.deliveries, self._runtime.jitter))

    def _announce(self, work: _Work) -> None:
        if work.envelope.shadow_of is None:
            task = asyncio.get_running_loop().create_task(self._report(work))
            self._reporting.add(task)
            task.add_done_callback(self._reporting.discard)

    async def _report(self, work: _Work) -> None:
        envelope = work.envelope
        subject = progress_subject(work.address.tenant, token(envelope.user), envelope.audience, work.address.query)
        word = {"n": work.message.sequence, "stage": self._name, "state": "started", "at": work.started_at}
        with suppress(BusTrouble):
            await self._bus.announce(subject, to_json(word))


def _where(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES_SHOWN:]
    return " > ".join(f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}:{frame.name}" for frame in frames)
