"""Reads of a stream's last messages without a consumer: one request, one answer or a batch of them.

Served by any replica, so a read right after a write may still see the value before it. Raises BusTrouble when there
is no answer in time, which is also how a missing right shows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.errors import APIError, NoStreamResponseError

from querybus.bus.connection import answer_of
from querybus.bus.log.publish import BusTrouble, TooLarge

READ_SECONDS_MAX: Final = 5.0
WRITE_SECONDS_MAX: Final = 5.0
SUBJECTS_PER_REQUEST_MAX: Final = 512
"""The server lists at most 1024 subjects in one answer."""

MESSAGES_PER_REQUEST_MAX: Final = 512
_FULL: Final = frozenset({10_023, 10_028, 10_047, 10_077})
_TOO_LARGE: Final = frozenset({10_054, 10_063})


@dataclass(frozen=True, slots=True)
class Kept:
    """A stored message."""

    subject: str
    sequence: int
    data: bytes
    headers: Mapping[str, str]

    @property
    def pending(self) -> int:
        """How many messages that the read's filter matches stand behind this one."""
        return int(self.headers.get("Nats-Num-Pending", "0"))


async def last(connection: Client, stream: str, subject: str) -> Kept | None:
    """Return the last message on exactly this subject, or None."""
    message = await _request(connection, stream, f"$JS.API.DIRECT.GET.{stream}.{subject}", b"")
    kept = _kept(message.headers or {}, message.data)
    if kept is None and (message.headers or {}).get("Status") != "404":
        raise BusTrouble(f"{stream} not read: {(message.headers or {}).get('Description', 'no reason given')}")
    return kept


async def stored_at(connection: Client, stream: str, sequence: int) -> Kept | None:
    """Return the message at a sequence of the stream, or None where it is not kept."""
    body = json.dumps({"seq": sequence}).encode()
    message = await _request(connection, stream, f"$JS.API.DIRECT.GET.{stream}", body)
    return _kept(message.headers or {}, message.data)


async def last_of_each(connection: Client, stream: str, subjects: Sequence[str]) -> dict[str, Kept]:
    """Return the last message of each of these subjects that has one, by subject; any number of subjects."""
    messages: dict[str, Kept] = {}
    for start in range(0, len(subjects), SUBJECTS_PER_REQUEST_MAX):
        some = list(subjects[start : start + SUBJECTS_PER_REQUEST_MAX])
        request = {"multi_last": some, "batch": len(some)}
        for kept in await _batch(connection, stream, request):
            messages[kept.subject] = kept
    return messages


async def all_below(connection: Client, stream: str, filtered: str) -> list[Kept]:
    """Return every stored message that the filter matches, oldest first: of a bucket, the value of each key."""
    messages: list[Kept] = []
    sequence = 1
    while True:
        some = await some_below(connection, stream, filtered, sequence=sequence, most=MESSAGES_PER_REQUEST_MAX)
        messages += some
        if len(some) < MESSAGES_PER_REQUEST_MAX:
            return messages
        sequence = some[-1].sequence + 1


async def some_below(
    connection: Client, stream: str, filtered: str, *, sequence: int = 0, since: str = "", most: int
) -> list[Kept]:
    """Return the first messages that the filter matches from a sequence or an RFC 3339 time on.

    At most MESSAGES_PER_REQUEST_MAX.
    """
    place: dict[str, object] = {"seq": sequence} if sequence else {"start_time": since}
    request = place | {"next_by_subj": filtered, "batch": min(most, MESSAGES_PER_REQUEST_MAX)}
    return await _batch(connection, stream, request)


async def unsettled_of(connection: Client, stream: str, durable: str) -> int:
    """Return how many messages of a durable wait for delivery or for their settlement."""
    try:
        info = await connection.jetstream().consumer_info(stream, durable)
    except (nats.errors.Error, TimeoutError) as error:
        raise BusTrouble(f"{durable} of {stream} not read: {type(error).__name__}") from error
    return (info.num_pending or 0) + (info.num_ack_pending or 0)


async def store(connection: Client, subject: str, data: bytes, headers: Mapping[str, str] | None = None) -> int | None:
    """Publish to a stream and return the sequence; None if the message's own fence refused it.

    Raises TooLarge for what no retry can help, else BusTrouble, also where the outcome is not known.
    """
    try:
        ack = await connection.jetstream().publish(
            subject, data, timeout=WRITE_SECONDS_MAX, headers=dict(headers) if headers else None
        )
    except APIError as error:
        if error.err_code in (10_071, 10_164):
            return None
        if error.err_code in _TOO_LARGE:
            raise TooLarge(f"{subject}: {error.description}") from error
        raise BusTrouble(f"not stored: {error.description}", full=error.err_code in _FULL) from error
    except nats.errors.MaxPayloadError as error:
        raise TooLarge(f"{subject}: {len(data)} bytes are more than the bus takes") from error
    except NoStreamResponseError as error:
        raise BusTrouble("not stored: no stream answers") from error
    except (nats.errors.Error, TimeoutError) as error:
        raise BusTrouble(f"not stored: {type(error).__name__}") from error
    return ack.seq


async def _request(connection: Client, stream: str, subject: str, body: bytes) -> Msg:
    async def read(seconds: float) -> Msg:
        try:
            return await connection.request(subject, body, timeout=seconds)
        except (nats.errors.Error, TimeoutError) as error:
            raise BusTrouble(f"{stream} not read: {type(error).__name__}") from error

    return await answer_of(read, READ_SECONDS_MAX)


async def _batch(connection: Client, stream: str, request: Mapping[str, object]) -> list[Kept]:
    return await answer_of(partial(_batch_within, connection, stream, request), READ_SECONDS_MAX)


async def _batch_within(connection: Client, stream: str, request: Mapping[str, object], seconds: float) -> list[Kept]:
    """Return a batch, each message of which comes within the seconds after the one before it."""
    inbox = connection.new_inbox()
    messages: list[Kept] = []
    try:
        subscription = await connection.subscribe(inbox)
        try:
            await connection.publish(f"$JS.API.DIRECT.GET.{stream}", json.dumps(request).encode(), reply=inbox)
            while True:
                message = await subscription.next_msg(seconds)
                headers = message.headers or {}
                kept = _kept(headers, message.data)
                if kept is not None:
                    messages.append(kept)
                    continue
                # 204 ends a batch, 404 says that there is nothing.
                if headers.get("Status") in ("204", "404"):
                    return messages
                raise BusTrouble(f"{stream} not read: {headers.get('Description', 'no reason given')}")
        finally:
            with suppress(nats.errors.Error):
                await subscription.unsubscribe()
    except (nats.errors.Error, TimeoutError) as error:
        raise BusTrouble(f"{stream} not read: {type(error).__name__}") from error


def _kept(headers: Mapping[str, str], data: bytes) -> Kept | None:
    sequence = headers.get("Nats-Sequence", "")
    subject = headers.get("Nats-Subject", "")
    if not subject or not sequence.isdigit():
        return None
    return Kept(subject, int(sequence), data, headers)
