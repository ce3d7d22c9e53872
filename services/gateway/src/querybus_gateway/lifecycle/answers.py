"""Every finished query has its answer published once more, reduced for its reader; then the message is acked.

It is what bus clients receive; what they miss they read by `call...answer`, from the log. A `finished` that cannot be
read is dead-lettered with its reason.
"""

from __future__ import annotations

from typing import Final, Protocol

from pydantic_core import to_json

from querybus.bus.log.publish import BusTrouble, TooLarge, address_of
from querybus.bus.pull import Message, retry_delay_seconds
from querybus.core.envelope import Envelope, Undecodable, decode
from querybus.core.failure import FailureCode
from querybus.core.messages import Finished
from querybus.core.subjects import EventAddress, EventName, StageName, parse_event_subject
from querybus.ops.clock import Jitter
from querybus.ops.log import get_log
from querybus.ops.metrics import Metrics
from querybus_gateway.lifecycle.undecodable import Refusals
from querybus_gateway.ports import Answers, DeadLetters
from querybus_gateway.public.redaction import public_answer

_UNKNOWN: Final = frozenset({FailureCode.TABLE_NOT_FOUND, FailureCode.COLUMN_NOT_FOUND})

_log = get_log(__name__)


def answer_bytes(envelope: Envelope[Finished]) -> bytes:
    """Return an answer as bus clients receive it: the public view for the audience that asked."""
    answer = public_answer(envelope, envelope.audience) | {"status": "finished", "audience": envelope.audience}
    if envelope.correlation_id is not None:
        answer["correlation_id"] = envelope.correlation_id
    return to_json(answer)


class Metered(Protocol):
    """Counts what a finished query used. Raises BusTrouble."""

    async def count(self, envelope: Envelope[Finished]) -> None: ...


class Audited(Protocol):
    """Records how a query ended. Raises BusTrouble."""

    async def record_end(self, envelope: Envelope[Finished], address: EventAddress) -> None: ...


class Refreshes(Protocol):
    """Where the executors are asked to read a catalog again; lossy."""

    async def refresh(self, tenant: str, connection: str) -> None: ...


class OnAnswered(Protocol):
    """Called for each finished query: tenant and query token, and the event, which is stored."""

    def __call__(self, tenant: str, query: str, finished: Envelope[Finished]) -> None: ...


class AnswerCalls:
    """Handles the messages of the durable `gateway`."""

    def __init__(
        self,
        answers: Answers,
        dead_letters: DeadLetters,
        *,
        meter: Metered,
        audit: Audited,
        metrics: Metrics,
        jitter: Jitter,
        refreshes: Refreshes,
        on_answered: OnAnswered,
    ) -> None:
        self._answers = answers
        self._meter = meter
        self._audit = audit
        self._refusals = Refusals(dead_letters, metrics=metrics, jitter=jitter)
        self._metrics = metrics
        self._jitter = jitter
        self._refreshes = refreshes
        self._on_answered = on_answered

    async def handle(self, message: Message) -> None:
        """Publish one answer and settle its message."""
        if message.deliveries > 1:
            self._metrics.redelivery(StageName.GATEWAY)
        try:
            envelope = _read(message)
        except Undecodable as error:
            if error.newer and not message.is_last_delivery:
                await message.nak(retry_delay_seconds(message.deliveries, self._jitter))
            else:
                await self._refusals.refuse(message, error.reason)
            return
        # Whoever waits here need not wait for the copy: the log holds the answer already.
        address = address_of(envelope)
        self._on_answered(address.tenant, address.query, envelope)
        try:
            if envelope.shadow_of is None:
                await self._answers.put(envelope)
            await self._meter.count(envelope)
            await self._audit.record_end(envelope, address)
            if envelope.body.answer.code in _UNKNOWN and envelope.connection:
                # What is not known may be new there.
                await self._refreshes.refresh(envelope.tenant, envelope.connection)
        except TooLarge as error:
            await self._refusals.refuse(message, str(error))
            return
        except BusTrouble as trouble:
            _log.warning("answer.not_sent", query_id=envelope.query_id, reason=str(trouble))
            await message.nak(retry_delay_seconds(message.deliveries, self._jitter))
            return
        await message.ack()


def _read(message: Message) -> Envelope[Finished]:
    address = parse_event_subject(message.subject)
    if address is None or address.event is not EventName.FINISHED:
        raise Undecodable("the subject is no finished event")
    if "Nats-Stream" in message.headers:
        # The server writes it into what it sends by itself: somebody named this subject as a reply.
        raise Undecodable("a copy made by the server, not a published event")
    envelope = decode(address.event, message.data)
    if address_of(envelope) != address:
        raise Undecodable("tenant, thread or query of the body are not those of the subject")
    return envelope
