"""How the queries of a tenant ended, read from the log: for looking at, not for deciding."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from querybus.bus.connection import Connected
from querybus.bus.log.journal import Entry, entry_of
from querybus.bus.log.publish import last_message
from querybus.bus.log.stream_reads import some_below
from querybus.core.subjects import EventAddress, EventName, tenant_event_filter, token
from querybus.core.topology import EVENTS

ENDINGS_PER_READ_MAX: Final = 256


async def conclusion_of(holder: Connected, address: EventAddress) -> tuple[int, bytes] | None:
    """Return sequence and bytes of how the address's query was concluded, as the stream's leader has it. BusTrouble."""
    subject = replace(address, event=EventName.CONCLUDED).subject
    found = await last_message(holder.connection.jetstream(), subject)
    return None if found is None else (found.seq or 0, found.data or b"")


class Endings:
    """The `finished` events of tenants."""

    def __init__(self, holder: Connected) -> None:
        self._holder = holder

    async def since(self, tenant: str, since_ms: int, after: int = 0) -> tuple[Sequence[Entry], int]:
        """Return endings since a time, oldest first, and the place to go on behind (0: no more). BusTrouble.

        ENDINGS_PER_READ_MAX at most; `after` is the place that the call before returned.
        """
        found = await some_below(
            self._holder.connection,
            EVENTS,
            tenant_event_filter(token(tenant), EventName.FINISHED),
            sequence=after + 1 if after else 0,
            since=dt.datetime.fromtimestamp(since_ms / 1_000, dt.UTC).isoformat(),
            most=ENDINGS_PER_READ_MAX,
        )
        entries = [entry for kept in found if (entry := entry_of(kept.headers, kept.data)) is not None]
        return entries, found[-1].sequence if found and found[-1].pending else 0
