"""A person's threads, one key each, listed newest first without reading more than the page that is wanted.

Keys are `<tenant>.<user>.<thread>`, in the order in which threads began. A page costs one probe per halving of the
bucket's sequences (about 20 of 0.2 ms), however many threads there are.
"""

from __future__ import annotations

from typing import Final

import nats.errors
from pydantic import ValidationError

from querybus.bus.connection import Connected
from querybus.bus.log.publish import BusTrouble
from querybus.bus.log.stream_reads import MESSAGES_PER_REQUEST_MAX, Kept, last, some_below, store
from querybus.core.stored.thread import ThreadRecord
from querybus.core.subjects import token
from querybus.core.topology import THREADS

LISTED_MAX: Final = MESSAGES_PER_REQUEST_MAX // 2

_STREAM: Final = f"KV_{THREADS}"
_OPERATION: Final = "KV-Operation"
_TOMBSTONE: Final = {_OPERATION: "PURGE", "Nats-Rollup": "sub", "Nats-TTL": "1h"}


class ThreadStore:
    """The bucket `querybus_threads`; names are given as the envelope has them. Everything may raise BusTrouble."""

    def __init__(self, holder: Connected) -> None:
        self._holder = holder

    async def put(self, tenant: str, record: ThreadRecord) -> None:
        """Keep the record of a thread; one that is there already stays as it is."""
        subject = _subject(tenant, record.user, record.thread_id)
        fence = {"Nats-Expected-Last-Subject-Sequence": "0"}
        await store(self._holder.connection, subject, record.model_dump_json().encode(), fence)

    async def replace(self, tenant: str, record: ThreadRecord) -> None:
        """Keep the record of a thread in place of what was kept before; the thread is the newest then."""
        subject = _subject(tenant, record.user, record.thread_id)
        await store(self._holder.connection, subject, record.model_dump_json().encode())

    async def get(self, tenant: str, user: str, thread: str) -> ThreadRecord | None:
        """Return the record, or None if this user has no such thread."""
        kept = await last(self._holder.connection, _STREAM, _subject(tenant, user, thread))
        return None if kept is None else _record(kept)

    async def remove(self, tenant: str, user: str, thread: str) -> None:
        """Forget a thread."""
        await store(self._holder.connection, _subject(tenant, user, thread), b"", _TOMBSTONE)

    async def newest(
        self, tenant: str, user: str, *, limit: int, before: int = 0
    ) -> tuple[tuple[ThreadRecord, ...], int]:
        """Return at most `limit` (up to LISTED_MAX) of the user's threads that began before a sequence (0: all).

        Newest first, and the sequence that the next page stands before, 0 if there is none. A page is shorter where
        threads were removed within the last hour.
        """
        mine = f"$KV.{THREADS}.{token(tenant)}.{token(user)}.>"
        skipped = await self._count(mine, before) if before else 0
        wanted = skipped + min(limit, LISTED_MAX)
        low, high = 1, before or await self._end()
        # How many of them stand from a sequence on only falls: find the last one with enough of them.
        while low + 1 < high:
            middle = (low + high) // 2
            if await self._count(mine, middle) >= wanted:
                low = middle
            else:
                high = middle
        result = await some_below(self._holder.connection, _STREAM, mine, sequence=low, most=wanted - skipped + 1)
        page = [item for item in result if not before or item.sequence < before][-limit:]
        if not page:
            return (), 0
        first = page[0].sequence
        is_last = await self._count(mine, 1) == await self._count(mine, first)
        records = (_record(row) for row in reversed(page))
        return tuple(record for record in records if record is not None), 0 if is_last else first

    async def _end(self) -> int:
        try:
            return (await self._holder.connection.jetstream().stream_info(_STREAM)).state.last_seq + 1
        except (nats.errors.Error, TimeoutError) as error:
            raise BusTrouble(f"{_STREAM} not read: {type(error).__name__}") from error

    async def _count(self, subjects: str, sequence: int) -> int:
        result = await some_below(self._holder.connection, _STREAM, subjects, sequence=sequence, most=1)
        return result[0].pending + 1 if result else 0


def _subject(tenant: str, user: str, thread: str) -> str:
    return f"$KV.{THREADS}.{token(tenant)}.{token(user)}.{token(thread)}"


def _record(kept: Kept) -> ThreadRecord | None:
    if _OPERATION in kept.headers:
        return None
    try:
        return ThreadRecord.model_validate_json(kept.data)
    except ValidationError as error:
        raise BusTrouble("a thread's record cannot be read") from error
