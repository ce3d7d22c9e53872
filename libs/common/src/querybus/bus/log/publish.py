"""An event is published once: fenced by its query's log and known by its message id, however often it is tried.

Every publish names the stream sequence that the query's log must end with. A retry carries the same id, so it is
either stored, or recognised as stored before, or the fence is lost. Source: docs/adr/, "fencing".
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import nats.errors
from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.api import PubAck, RawStreamMsg
from nats.js.errors import APIError, BadRequestError, NoStreamResponseError, NotFoundError

from querybus.bus.log.sign import Signer
from querybus.core.envelope import Envelope, encode
from querybus.core.failure import FailureCode
from querybus.core.subjects import EventAddress, EventName, message_id, token
from querybus.core.topology import EVENTS, REMEMBERED, WORK_AGE_SECONDS
from querybus.ops.clock import Clock, system_clock

MESSAGE_ID: Final = "Nats-Msg-Id"
EVENT_HEADER: Final = "Querybus-Event"
DEADLINE_HEADER: Final = "Querybus-Deadline"
TENANT_HEADER: Final = "Querybus-Tenant"
VERSION_HEADER: Final = "Querybus-Version"
SIGNATURE_HEADER: Final = "Querybus-Signature"
AGE_HEADER: Final = "Nats-TTL"
"""Tells the server how long it keeps a message; without it as long as the stream keeps any."""
_WORK_AGE: Final = f"{WORK_AGE_SECONDS:.0f}s"

FIRST_EVENTS: Final = (EventName.ASKED, EventName.CONFIRMED)
"""What a query's log begins with."""

PUBLISH_SECONDS_MAX: Final = 2.0
"""How long one try waits for its acknowledgement; a write into a connection that just died gets none."""
_TRY_SECONDS_MIN: Final = 0.5
_PAUSE_SECONDS: Final = 0.1

# The server's error codes; the numbers are its API, the texts are not.
_WRONG_LAST_SEQUENCE: Final = frozenset({10071, 10164})
_TOO_LARGE: Final = frozenset({10054, 10063})
_FULL: Final = frozenset({10023, 10028, 10047, 10077})


@dataclass(frozen=True, slots=True)
class Stored:
    """The event is on the log, at this stream sequence, by this very publish."""

    sequence: int


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The same event was on the log already.

    `retried`: an earlier try of this call went unanswered, so that try may well have stored it.
    """

    sequence: int
    retried: bool = False


@dataclass(frozen=True, slots=True)
class FenceLost:
    """The log has moved on: somebody else was first, this event is not stored and never will be."""


Published = Stored | Duplicate | FenceLost


class BusTrouble(Exception):
    """The bus could not take or give something. `full`: it refuses because a limit of its storage is reached."""

    def __init__(self, reason: str, *, full: bool = False) -> None:
        super().__init__(reason)
        self.full = full

    @property
    def code(self) -> FailureCode:
        """The failure code of a query that ends because of it."""
        return FailureCode.RESOURCE_LIMIT if self.full else FailureCode.INTERNAL


class TooLarge(Exception):
    """The message is larger than the bus takes; no retry can help."""


def address_of(envelope: Envelope[Any]) -> EventAddress:
    """Return where this event belongs: the tokens of its tenant, thread and query."""
    return EventAddress(token(envelope.tenant), token(envelope.thread_id), token(envelope.query_id), envelope.event)


async def publish_event(
    js: JetStreamContext,
    envelope: Envelope[Any],
    *,
    input_sequence: int,
    expected_last_sequence: int,
    until_ms: int,
    sign: Signer | None = None,
    headers: Mapping[str, str] | None = None,
    clock: Clock = system_clock,
) -> Published:
    """Append an event to its query's log.

    `input_sequence` is the stream sequence of the event that caused it and `expected_last_sequence` that of the
    log's last event, both 0 for a first event. A publish that goes unanswered is tried again with the same id
    until `until_ms` (at least once). `headers` are added as they are (trace context). `sign` signs the event.
    The fence holds within the event's thread: whoever begins a query whose id was derived, and so could begin in two
    threads, claims the id for one of them first (query_threads).
    Raises BusTrouble if nothing certain is known then, or at once when the stream is full; TooLarge.
    """
    address = address_of(envelope)
    subject = address.subject
    identity = message_id(address.query, address.event, input_sequence)
    body = encode(envelope)
    wire = {
        **(headers or {}),
        MESSAGE_ID: identity,
        "Nats-Expected-Last-Subject-Sequence": str(expected_last_sequence),
        "Nats-Expected-Last-Subject-Sequence-Subject": address.log_filter,
        EVENT_HEADER: address.event,
        DEADLINE_HEADER: str(envelope.deadline_at),
        TENANT_HEADER: address.tenant,
        VERSION_HEADER: envelope.envelope_version,
    }
    if address.event not in REMEMBERED:
        wire[AGE_HEADER] = _WORK_AGE
    if sign is not None:
        wire[SIGNATURE_HEADER] = sign.sign(subject, identity, body)
    retried = False
    while True:
        try:
            ack, retried = await _send(js, subject, body, wire, until_ms=until_ms, clock=clock, retried=retried)
        except _Fenced as fenced:
            retried = fenced.retried
            whose = await _whose(js, address, identity, expected_last_sequence, retried=retried)
            if whose is not None:
                return whose
            if clock() >= until_ms:
                raise BusTrouble("not published: another write to the same log is on its way") from None
            await asyncio.sleep(_PAUSE_SECONDS)
            continue
        if not ack.duplicate:
            return Stored(ack.seq)
        return Duplicate(ack.seq, retried) if ack.seq > input_sequence else FenceLost()


async def publish_message(
    js: JetStreamContext,
    subject: str,
    data: bytes,
    *,
    identity: str,
    until_ms: int,
    headers: Mapping[str, str] | None = None,
    clock: Clock = system_clock,
) -> bool:
    """Store a message that is no event (an answer, a dead letter), once by its id; return False if it was there.

    Raises BusTrouble or TooLarge as publish_event does.
    """
    wire = {**(headers or {}), MESSAGE_ID: identity}
    ack, retried = await _send(js, subject, data, wire, until_ms=until_ms, clock=clock)
    # After an unanswered try the copy that is there is most likely this call's own.
    return retried or not ack.duplicate


async def send(connection: Client, subject: str, data: bytes) -> None:
    """Send a message that no stream keeps to whoever listens. Raises BusTrouble, TooLarge."""
    try:
        await connection.publish(subject, data)
    except nats.errors.MaxPayloadError:
        raise TooLarge(f"{len(data)} bytes on {subject}") from None
    except nats.errors.Error as error:
        raise BusTrouble(f"not sent: {_named(error)}") from error


async def last_message(js: JetStreamContext, subject: str) -> RawStreamMsg | None:
    """Return the last message of QUERYBUS on this subject or filter, as the stream's leader knows it.

    Raises BusTrouble. A read from a follower (direct get) may lag, so nothing is decided on one.
    """
    try:
        return await js.get_msg(EVENTS, subject=subject, direct=False)
    except NotFoundError:
        return None
    except (nats.errors.Error, TimeoutError) as error:
        raise BusTrouble(f"no last message: {_named(error)}") from error


class _Fenced(Exception):
    def __init__(self, *, retried: bool) -> None:
        super().__init__()
        self.retried = retried


async def _send(
    js: JetStreamContext,
    subject: str,
    data: bytes,
    headers: dict[str, str],
    *,
    until_ms: int,
    clock: Clock,
    retried: bool = False,
) -> tuple[PubAck, bool]:
    while True:
        left = (until_ms - clock()) / 1_000
        try:
            ack = await js.publish(
                subject, data, timeout=max(_TRY_SECONDS_MIN, min(PUBLISH_SECONDS_MAX, left)), headers=headers
            )
        except nats.errors.MaxPayloadError:
            raise TooLarge(f"{len(data)} bytes on {headers.get(EVENT_HEADER, 'a message')}") from None
        except (nats.errors.ConnectionClosedError, nats.errors.ConnectionDrainingError) as error:
            raise BusTrouble(f"not published: {_named(error)}") from error
        except BadRequestError as error:
            if error.err_code in _WRONG_LAST_SEQUENCE:
                raise _Fenced(retried=retried) from None
            if error.err_code in _TOO_LARGE:
                raise TooLarge(f"{len(data)} bytes on {headers.get(EVENT_HEADER, 'a message')}") from None
            raise BusTrouble(f"not published: {_named(error)}") from error
        except (nats.errors.TimeoutError, nats.errors.OutboundBufferLimitError, NoStreamResponseError) as error:
            trouble: Exception = error
        except APIError as error:
            if error.err_code in _FULL:
                raise BusTrouble(f"the stream is full: {_named(error)}", full=True) from error
            trouble = error
        else:
            return ack, retried
        retried = True
        if clock() >= until_ms:
            raise BusTrouble(f"not published: {_named(trouble)}") from trouble
        await asyncio.sleep(_PAUSE_SECONDS)


async def _whose(
    js: JetStreamContext, address: EventAddress, identity: str, expected_last_sequence: int, *, retried: bool
) -> Duplicate | FenceLost | None:
    """Return who moved the log on, None if nobody has: then the server still holds a write that may yet be dropped.

    A leader refuses for the fence also while an earlier write to the same log waits for its other replicas, this
    event's own first try among them. If that leader dies, the write may be lost with it.
    """
    # One replica checks the fence before the id, so an own earlier publish also answers "wrong last sequence".
    last = await last_message(js, address.log_filter)
    last_sequence = 0 if last is None else last.seq or 0
    if last is not None and (last.headers or {}).get(MESSAGE_ID) == identity:
        return Duplicate(last_sequence, retried)
    return None if last_sequence == expected_last_sequence else FenceLost()


def _named(error: Exception) -> str:
    code = getattr(error, "err_code", None)
    return f"{type(error).__name__} {code}" if code else type(error).__name__
