"""Which thread a query belongs to, where its id does not say so: one small key in the bucket `querybus_query_threads`.

A query that begins its thread gives it its own id and needs none. A later turn has one so that its log is found without
the server's walk through all threads; a query whose id was derived (from an idempotency key, from a confirmed statement)
has one so that it begins in one thread only: the key is created once, and whoever finds another thread there has lost.
"""

from __future__ import annotations

from querybus.bus.connection import Connected
from querybus.bus.log.stream_reads import last, store
from querybus.core.ids import is_drawn
from querybus.core.subjects import EventAddress, token
from querybus.core.topology import QUERY_THREADS

_STREAM = f"KV_{QUERY_THREADS}"


async def claim(holder: Connected, address: EventAddress) -> bool:
    """Note the thread of a query that is about to begin; False if it belongs to another one. BusTrouble.

    Costs nothing for a query whose id was drawn and names its own thread.
    """
    if is_drawn(address.query) and address.thread == address.query:
        return True
    subject = _subject(address.tenant, address.query)
    fence = {"Nats-Expected-Last-Subject-Sequence": "0"}
    if await store(holder.connection, subject, address.thread.encode(), fence) is not None:
        return True
    return await thread_of(holder, address.tenant, address.query) in (address.thread, None)


async def thread_of(holder: Connected, tenant: str, query: str) -> str | None:
    """Return the token of the thread that was claimed for a query, or None. BusTrouble."""
    kept = await last(holder.connection, _STREAM, _subject(token(tenant), token(query)))
    return kept.data.decode() if kept is not None and kept.data else None


def _subject(tenant: str, query: str) -> str:
    return f"$KV.{QUERY_THREADS}.{tenant}.{query}"
