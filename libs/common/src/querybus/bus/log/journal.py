"""A query's log and a thread's turns, read from the stream that is their only record; nothing is kept twice.

Names (tenant, thread, query) are given as the envelope has them; an EventAddress has them as tokens already.
Reads of several events may be served by a follower and so lag; `last` asks the stream's leader.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import nats.errors
from nats.aio.msg import Msg
from nats.js.errors import NotFoundError

from querybus.bus.connection import Connected, answer_of
from querybus.bus.log.publish import FIRST_EVENTS, MESSAGE_ID, BusTrouble, address_of, last_message
from querybus.bus.log.query_threads import thread_of
from querybus.core.envelope import Envelope, Undecodable, decode
from querybus.core.subjects import (
    EventAddress,
    EventName,
    event_subject,
    parse_event_subject,
    thread_event_filter,
    thread_log_filter,
    token,
)
from querybus.core.topology import EVENTS

READ_SECONDS_MAX: Final = 2.0
READ_BYTES_MAX: Final = 8 * 1_024 * 1_024
EVENTS_PER_READ_MAX: Final = 256


class LogTooLong(Exception):
    """A thread has more turns than can be listed."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One event as it stands on the log; `data` is empty where only headers were read."""

    sequence: int
    address: EventAddress
    headers: Mapping[str, str]
    data: bytes
    stored_at: int
    """Milliseconds since the epoch; 0 where it is not known."""

    @property
    def message_id(self) -> str:
        return self.headers.get(MESSAGE_ID, "")

    def envelope(self) -> Envelope[Any]:
        """Return the event; raises Undecodable, also for one that speaks of another tenant, thread or query."""
        envelope = decode(self.address.event, self.data)
        if address_of(envelope) != self.address:
            raise Undecodable("tenant, thread or query of the body are not those of the subject")
        return envelope


class Journal:
    """The logs of QUERYBUS, read with the rights of the connection's user."""

    def __init__(self, holder: Connected) -> None:
        self._holder = holder

    async def query(self, tenant: str, query: str, *, thread: str | None = None) -> tuple[Entry, ...]:
        """Return the last event of each kind of a query's log, oldest first; empty if there is none. BusTrouble.

        An event that occurs again (`drafted` after a retry) shows its last; its envelope holds all attempts. Without
        the thread the user needs the right to read which thread a query belongs to.
        """
        if thread is not None:
            return await self._last_of([_log_filter(tenant, thread, query)])
        own = await self._last_of([_log_filter(tenant, query, query)])
        if own or (elsewhere := await thread_of(self._holder, tenant, query)) is None:
            return own
        return await self._last_of([_log_filter(tenant, elsewhere, query)])

    async def first(self, address: EventAddress) -> Envelope[Any] | None:
        """Return the event that the address's query began with. BusTrouble, Undecodable."""
        both = await asyncio.gather(*(self._last_on(replace(address, event=event).subject) for event in FIRST_EVENTS))
        entries = [entry for entry in both if entry is not None]
        # The earlier of the two: a later one was never what the query began with.
        return min(entries, key=lambda entry: entry.sequence).envelope() if entries else None

    async def query_in_full(self, tenant: str, query: str, thread: str) -> tuple[Entry, ...]:
        """Return the same as the stream's leader has it, for what is decided once and for all.

        Raises BusTrouble where the replica that was asked lags behind the leader: a moment later it does not.
        """
        log_filter = _log_filter(tenant, thread, query)
        entries = await self._last_of([log_filter])
        newest = await last_message(self._holder.connection.jetstream(), log_filter)
        if newest is not None and (not entries or entries[-1].sequence < (newest.seq or 0)):
            raise BusTrouble("the log was read from a replica that lags behind")
        return entries

    async def query_at(self, address: EventAddress) -> tuple[Entry, ...]:
        """Return the same for the query of an address."""
        return await self._last_of([address.log_filter])

    async def events(
        self, tenant: str, query: str, after_sequence: int = 0, *, thread: str | None = None
    ) -> tuple[Entry, ...]:
        """Return every event of a query's log behind a sequence, oldest first. BusTrouble.

        As `query` with the thread, where it is known.
        """
        if thread is not None:
            return await self._events(_log_filter(tenant, thread, query), after_sequence)
        own = await self._events(_log_filter(tenant, query, query), after_sequence)
        if own or (elsewhere := await thread_of(self._holder, tenant, query)) is None:
            return own
        return await self._events(_log_filter(tenant, elsewhere, query), after_sequence)

    async def _events(self, log_filter: str, after_sequence: int) -> tuple[Entry, ...]:
        entries: list[Entry] = []
        request: dict[str, object] = {
            "next_by_subj": log_filter,
            "batch": EVENTS_PER_READ_MAX,
            "max_bytes": READ_BYTES_MAX,
        }
        next_sequence = after_sequence + 1
        while next_sequence:
            batch, next_sequence, _ = await self._batch(request | {"seq": next_sequence})
            entries += batch
        return tuple(entries)

    async def thread(
        self,
        tenant: str,
        thread: str,
        *,
        until_sequence: int = 0,
        turns_max: int = 20,
        events: Sequence[EventName] = (EventName.CONCLUDED, EventName.FINISHED),
    ) -> tuple[Entry, ...]:
        """Return the newest turns of a thread, oldest first: each one's first event and the last of `events`.

        Only what is stored up to `until_sequence` counts (0: everything). Raises BusTrouble, LogTooLong.
        """
        here, conversation = token(tenant), token(thread)
        firsts = await self._last_of(
            [thread_event_filter(here, conversation, event) for event in FIRST_EVENTS], until_sequence
        )
        newest = firsts[-turns_max:]
        if not newest or not events:
            return newest
        rest = await self._last_of(
            [event_subject(here, conversation, entry.address.query, event) for entry in newest for event in events],
            until_sequence,
        )
        return tuple(sorted((*newest, *rest), key=lambda entry: entry.sequence))

    async def thread_ends(self, tenant: str, thread: str) -> tuple[Entry, ...]:
        """Return the first event and, where there is one, `finished` of every query of a thread. As `thread` raises."""
        here, conversation = token(tenant), token(thread)
        kinds = (FIRST_EVENTS, (EventName.FINISHED,))
        filters = [[thread_event_filter(here, conversation, event) for event in events] for events in kinds]
        firsts, ends = await asyncio.gather(*(self._last_of(item) for item in filters))
        return tuple(sorted((*firsts, *ends), key=lambda entry: entry.sequence))

    async def thread_events(
        self, tenant: str, thread: str, *, after_sequence: int = 0, events_max: int = EVENTS_PER_READ_MAX
    ) -> tuple[Entry, ...]:
        """Return the events of all queries of a thread behind a sequence, oldest first, at most `events_max`.

        Of old queries, how they began and ended (`core.topology.REMEMBERED`). Raises BusTrouble, LogTooLong.
        """
        log_filter = thread_log_filter(token(tenant), token(thread))
        request = {
            "seq": after_sequence + 1,
            "next_by_subj": log_filter,
            "batch": min(events_max, EVENTS_PER_READ_MAX),
            "max_bytes": READ_BYTES_MAX,
        }
        entries, _, _ = await self._batch(request)
        return tuple(entries)

    async def last(self, address: EventAddress) -> Entry | None:
        """Return the last event of the address's query, from the stream's leader. BusTrouble."""
        raw = await last_message(self._holder.connection.jetstream(), address.log_filter)
        if raw is None or raw.subject is None or raw.seq is None:
            return None
        where = parse_event_subject(raw.subject)
        if where is None:
            return None
        return Entry(raw.seq, where, raw.headers or {}, raw.data or b"", epoch_ms(raw.time))

    async def at(self, sequence: int) -> Entry | None:
        """Return the event at a stream sequence, from the stream's leader; None if it is not kept. BusTrouble."""
        try:
            raw = await self._holder.connection.jetstream().get_msg(EVENTS, seq=sequence, direct=False)
        except NotFoundError:
            return None
        except (nats.errors.Error, TimeoutError) as error:
            raise BusTrouble(f"event {sequence} not read: {type(error).__name__}") from error
        where = parse_event_subject(raw.subject or "")
        return None if where is None else Entry(sequence, where, raw.headers or {}, raw.data or b"", epoch_ms(raw.time))

    async def _last_on(self, subject: str) -> Entry | None:
        """Return the last message of one subject: one request and one reply, without a subscription of its own."""
        request = json.dumps({"last_by_subj": subject}).encode()

        async def read(seconds: float) -> Msg:
            try:
                return await self._holder.connection.request(f"$JS.API.DIRECT.GET.{EVENTS}", request, timeout=seconds)
            except (nats.errors.Error, TimeoutError) as error:
                raise BusTrouble(f"log not read: {type(error).__name__}") from error

        reply = await answer_of(read, READ_SECONDS_MAX)
        headers = reply.headers or {}
        status = headers.get("Status")
        if status is None or reply.data:
            return entry_of(headers, reply.data)
        if status == "404":
            return None
        raise BusTrouble(f"log not read: {status} {headers.get('Description', '')}")

    async def _last_of(self, filters: Sequence[str], until_sequence: int = 0) -> tuple[Entry, ...]:
        """Return the last message of each subject that a filter matches, in order of sequence."""
        entries: list[Entry] = []
        request: dict[str, object] = {"multi_last": list(filters), "max_bytes": READ_BYTES_MAX}
        if until_sequence:
            request["up_to_seq"] = until_sequence
        while True:
            batch, next_sequence, until = await self._batch(request)
            entries += batch
            if not next_sequence:
                return tuple(entries)
            request |= {"seq": next_sequence, "up_to_seq": until}

    async def _batch(self, request: Mapping[str, object]) -> tuple[list[Entry], int, int]:
        """Return a batch, the stream's sequence that the next one begins at (0: none), and the last that counts."""
        return await answer_of(partial(self._batch_within, request), READ_SECONDS_MAX)

    async def _batch_within(self, request: Mapping[str, object], seconds: float) -> tuple[list[Entry], int, int]:
        connection = self._holder.connection
        inbox = connection.new_inbox()
        entries: list[Entry] = []
        try:
            subscription = await connection.subscribe(inbox)
            try:
                await connection.publish(f"$JS.API.DIRECT.GET.{EVENTS}", json.dumps(request).encode(), reply=inbox)
                async with asyncio.timeout(seconds):
                    async for message in subscription.messages:
                        headers = message.headers or {}
                        status = headers.get("Status")
                        if status is None or message.data:
                            entry = entry_of(headers, message.data)
                            if entry is not None:
                                entries.append(entry)
                        elif status == "204":
                            pending = int(headers.get("Nats-Num-Pending", "0"))
                            last = int(headers.get("Nats-Last-Sequence", "0"))
                            return entries, last + 1 if pending else 0, int(headers.get("Nats-UpTo-Sequence", "0"))
                        elif status == "404":
                            return [], 0, 0
                        elif status == "413":
                            raise LogTooLong(headers.get("Description", "too many results"))
                        else:
                            raise BusTrouble(f"log not read: {status} {headers.get('Description', '')}")
            finally:
                with suppress(nats.errors.Error):
                    await subscription.unsubscribe()
        except (nats.errors.Error, TimeoutError) as error:
            raise BusTrouble(f"log not read: {type(error).__name__}") from error
        raise BusTrouble("log not read: the connection ended")

    async def log_end(self) -> int:
        """Return the sequence of the log's last event. BusTrouble."""
        try:
            return (await self._holder.connection.jetstream().stream_info(EVENTS)).state.last_seq
        except (nats.errors.Error, TimeoutError) as error:
            raise BusTrouble(f"the log's end not read: {type(error).__name__}") from error


def _log_filter(tenant: str, thread: str, query: str) -> str:
    """Return the filter of a query's log. Most queries began their thread, which then has the query's id.

    A filter over any thread would make the server walk all threads of the tenant, so where neither the caller nor the
    id names the thread, it is looked up.
    """
    return EventAddress(token(tenant), token(thread), token(query), EventName.ASKED).log_filter


def entry_of(headers: Mapping[str, str], data: bytes) -> Entry | None:
    """Return the entry in a reply to a direct get."""
    address = parse_event_subject(headers.get("Nats-Subject", ""))
    sequence = headers.get("Nats-Sequence", "")
    if address is None or not sequence.isdigit():
        return None
    return Entry(int(sequence), address, headers, data, epoch_ms_of(headers.get("Nats-Time-Stamp", "")))


def entry_at(message: Msg, sequence: int, stored_at: int) -> Entry | None:
    """Return the entry in a message of a consumer."""
    address = parse_event_subject(message.subject)
    if address is None:
        return None
    return Entry(sequence, address, message.headers or {}, message.data, stored_at)


def epoch_ms_of(text: str) -> int:
    """Return the milliseconds of a `Nats-Time-Stamp`; 0 for none."""
    # Nanoseconds, and as many digits as are needed: cut to microseconds for the standard library.
    head, _, fraction = text.rstrip("Z").partition(".")
    try:
        moment = dt.datetime.fromisoformat(head).replace(tzinfo=dt.UTC)
    except ValueError:
        return 0
    return int(moment.timestamp()) * 1_000 + int((fraction + "000")[:3])


def epoch_ms(moment: object) -> int:
    """Return the milliseconds of a client's timestamp; 0 for none."""
    return int(moment.timestamp() * 1_000) if isinstance(moment, dt.datetime) else 0
