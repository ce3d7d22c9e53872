"""The audit's chains on the bus: many processes append to a tenant's chain, and none of them breaks it.

Each message of `QUERYBUS_AUDIT` holds one or more records of a tenant, a line each. It names the sequence of the message
before it on its subject, so that of two writers one is refused, reads on and tries again. What waits meanwhile in one
process goes into one message. A record whose fate is not known is written again: it may occur twice, with another number.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import random
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from pydantic import ValidationError

from querybus.bus.connection import Connected
from querybus.bus.log.journal import epoch_ms_of
from querybus.bus.log.publish import BusTrouble, TooLarge, send
from querybus.bus.log.stream_reads import Kept, last, some_below, store
from querybus.core.stored.audit import WORDS, AuditFacts, AuditRecord, Words, chained
from querybus.core.subjects import audit_subject, siem_subject, token
from querybus.core.topology import AUDIT

RECORDS_PER_MESSAGE_MAX: Final = 200
TRIES_MAX: Final = 50
PAUSE_SECONDS_MAX: Final = 0.02
HEADS_MAX: Final = 4_096
"""Tenants whose last record a process remembers; of others it reads it again."""
_EXPECTED: Final = "Nats-Expected-Last-Subject-Sequence"


@dataclass(frozen=True, slots=True)
class _Head:
    sequence: int
    record: AuditRecord | None


@dataclass(slots=True, eq=False)
class _Waiting:
    facts: AuditFacts
    words: Words | None
    done: asyncio.Future[None]


@dataclass(slots=True)
class _Chain:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: list[_Waiting] = field(default_factory=list[_Waiting])
    head: _Head | None = None


class AuditLog:
    """Appends to the chains. Each method may raise BusTrouble."""

    def __init__(self, holder: Connected) -> None:
        self._holder = holder
        self._chains: OrderedDict[str, _Chain] = OrderedDict()

    async def record(self, facts: AuditFacts, words: Words | None = None) -> None:
        """Append the facts to their tenant's chain and give the whole line to whoever listens for a SIEM."""
        chain = self._chains.setdefault(token(facts.tenant), _Chain())
        self._chains.move_to_end(token(facts.tenant))
        mine = _Waiting(facts, words, asyncio.get_running_loop().create_future())
        chain.waiting.append(mine)
        try:
            async with chain.lock:
                while not mine.done.done():
                    await self._write(token(facts.tenant), chain)
        finally:
            if not mine.done.done():
                mine.done.cancel()
            with suppress(ValueError):
                chain.waiting.remove(mine)
            self._forget_idle()
        mine.done.result()

    async def _write(self, tenant: str, chain: _Chain) -> None:
        batch, chain.waiting = chain.waiting[:RECORDS_PER_MESSAGE_MAX], chain.waiting[RECORDS_PER_MESSAGE_MAX:]
        trouble = BusTrouble("the audit was not written: the process that wrote it was stopped")
        try:
            records = await self._append(tenant, chain, [item.facts for item in batch])
            for item in batch:
                if not item.done.done():
                    item.done.set_result(None)
        except BusTrouble as error:
            trouble = error
            raise
        finally:
            for item in batch:
                if not item.done.done():
                    item.done.set_exception(trouble)
                    # Taken, so that no error is raised that nobody waits for.
                    item.done.exception()
        # Without the bus, or with a line that is too long for it, a listener sees the gap by the numbers.
        with suppress(BusTrouble, TooLarge):
            for record, item in zip(records, batch, strict=True):
                await send(self._holder.connection, siem_subject(tenant), line_of(record, item.words).encode())

    async def _append(self, tenant: str, chain: _Chain, batch: list[AuditFacts]) -> list[AuditRecord]:
        subject = audit_subject(tenant)
        for _ in range(TRIES_MAX):
            head, chain.head = chain.head or await self._last(subject), None
            records: list[AuditRecord] = []
            for facts in batch:
                records.append(chained(facts, records[-1] if records else head.record))
            data = "\n".join(record.model_dump_json() for record in records).encode()
            sequence = await store(self._holder.connection, subject, data, {_EXPECTED: str(head.sequence)})
            if sequence is not None:
                chain.head = _Head(sequence, records[-1])
                return records
            await asyncio.sleep(random.uniform(0, PAUSE_SECONDS_MAX))  # noqa: S311 - spreads writers, hides nothing
        raise BusTrouble(f"the audit was not written: others were first {TRIES_MAX} times")

    async def _last(self, subject: str) -> _Head:
        kept = await last(self._holder.connection, AUDIT, subject)
        return _Head(0, None) if kept is None else _Head(kept.sequence, records_of(kept)[-1])

    def _forget_idle(self) -> None:
        while len(self._chains) > HEADS_MAX:
            name = next((name for name, item in self._chains.items() if not item.lock.locked()), None)
            if name is None:
                return
            del self._chains[name]


def line_of(record: AuditRecord, words: Words | None) -> str:
    """Return a record as a line of an export, with its words where they are known."""
    if words is None:
        return record.model_dump_json()
    return f'{record.model_dump_json()[:-1]},"{WORDS}":{words.model_dump_json()}}}'


def records_of(kept: Kept) -> tuple[AuditRecord, ...]:
    """Return the records of one message, in their order. BusTrouble for a message that cannot be read."""
    try:
        return tuple(AuditRecord.model_validate_json(line) for line in kept.data.splitlines())
    except ValidationError as error:
        raise BusTrouble(f"message {kept.sequence} of {AUDIT} cannot be read") from error


async def stored_records(
    holder: Connected, *, tenant: str | None, since_ms: int, after: int = 0
) -> AsyncGenerator[tuple[int, int, AuditRecord]]:
    """Give the stored records from a time on, oldest first: sequence of the message, when it was stored in ms, record.

    `after` is the sequence of the last message that was seen before; then the time is not looked at. BusTrouble.
    """
    subject = audit_subject("*" if tenant is None else token(tenant))
    since = dt.datetime.fromtimestamp(since_ms / 1_000, dt.UTC).isoformat()
    while True:
        messages = await some_below(
            holder.connection,
            AUDIT,
            subject,
            sequence=after + 1 if after else 0,
            since=since,
            most=RECORDS_PER_MESSAGE_MAX,
        )
        if not messages:
            return
        for kept in messages:
            after = kept.sequence
            stored_ms = epoch_ms_of(kept.headers.get("Nats-Time-Stamp", ""))
            # A time behind the last message, and one that the server cannot count to, give it no place to begin at.
            for record in records_of(kept) if stored_ms >= since_ms else ():
                yield kept.sequence, stored_ms, record
