"""Reads the audit with the words that the event log still holds: the lines of `querybus audit export`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator

from nats.aio.client import Client

from querybus.bus.connection import Held
from querybus.bus.log.audit import line_of, stored_records
from querybus.bus.log.stream_reads import stored_at
from querybus.core.envelope import Undecodable, decode
from querybus.core.messages import Concluded
from querybus.core.stored.audit import AuditRecord, Words, salt_of
from querybus.core.subjects import EventName, parse_event_subject
from querybus.core.topology import EVENTS

FOLLOW_SECONDS = 1.0
"""How often whoever follows looks for new records."""


async def exported_lines(
    connection: Client, *, tenant: str | None, since_ms: int, until_ms: int | None, follow: bool = False
) -> AsyncGenerator[str]:
    """Give the lines of an export, oldest first; with `follow` also what is recorded from now on. BusTrouble.

    The times are those at which the bus stored a record. The connection is the bus user `operator`'s.
    """
    async for record in _chosen(Held(connection), tenant, since_ms, until_ms, follow=follow):
        yield line_of(record, await _words(connection, record))


async def _chosen(
    holder: Held, tenant: str | None, since_ms: int, until_ms: int | None, *, follow: bool
) -> AsyncIterator[AuditRecord]:
    after = 0
    while True:
        began_ms = time.time_ns() // 1_000_000
        async for sequence, stored_ms, record in stored_records(holder, tenant=tenant, since_ms=since_ms, after=after):
            if until_ms is not None and stored_ms >= until_ms:
                return
            after = sequence
            yield record
        if not follow or (until_ms is not None and began_ms >= until_ms):
            return
        await asyncio.sleep(FOLLOW_SECONDS)


async def _words(connection: Client, record: AuditRecord) -> Words | None:
    """Return what was asked and run, None where the log does not hold it any more."""
    if not record.event_sequence:
        return None
    kept = await stored_at(connection, EVENTS, record.event_sequence)
    address = None if kept is None else parse_event_subject(kept.subject)
    if kept is None or address is None or address.query != record.query_id:
        return None
    try:
        envelope = decode(EventName.CONCLUDED, kept.data)
    except Undecodable:
        return None
    body = envelope.body
    return Words(
        question=envelope.question, sql=body.sql if isinstance(body, Concluded) else None, salt=salt_of(kept.data)
    )
