"""A thread's words are purged where they are kept: log and pages; as a bus user that can only purge.

Only what stands up to a sequence goes from the log, so a question that comes meanwhile is never lost. The connection
lives for one deletion: no service holds the right to purge.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any, Final

import nats.errors
from nats.aio.client import Client

from querybus.bus.admin.permissions import PURGE_USER
from querybus.bus.connection import BusRefused, connect
from querybus.bus.log.publish import BusTrouble
from querybus.core.subjects import pages_filter, thread_log_filter, token
from querybus.core.topology import EVENTS, QUERY_THREADS, RESULTS

PURGE_SECONDS_MAX: Final = 5.0
AT_ONCE_MAX: Final = 16


class ThreadPurge:
    """Purges threads; names are given as the envelope has them."""

    def __init__(self, url: str, password: str) -> None:
        self._url = url
        self._password = password

    async def erase(self, tenant: str, thread: str, queries: Iterable[str], *, until_sequence: int) -> None:
        """Purge the thread's log up to a sequence, and the pages of its queries. BusTrouble."""
        try:
            connection = await connect(self._url, PURGE_USER, self._password)
        except BusRefused as error:
            raise BusTrouble("the bus does not let the user `purge` in") from error
        try:
            log = thread_log_filter(token(tenant), token(thread))
            await _purge(connection, EVENTS, {"filter": log, "seq": until_sequence + 1})
            places = asyncio.Semaphore(AT_ONCE_MAX)

            async def of_query(query: str) -> None:
                async with places:
                    await _purge(connection, RESULTS, {"filter": pages_filter(token(tenant), token(query))})
                    claimed = f"$KV.{QUERY_THREADS}.{token(tenant)}.{token(query)}"
                    await _purge(connection, f"KV_{QUERY_THREADS}", {"filter": claimed})

            async with asyncio.TaskGroup() as group:
                for query in queries:
                    group.create_task(of_query(query))
        except* BusTrouble as troubles:
            raise BusTrouble(str(troubles.exceptions[0])) from troubles
        finally:
            await connection.close()


async def _purge(connection: Client, stream: str, request: dict[str, Any]) -> None:
    try:
        reply = await connection.request(
            f"$JS.API.STREAM.PURGE.{stream}", json.dumps(request).encode(), timeout=PURGE_SECONDS_MAX
        )
    except (nats.errors.Error, TimeoutError) as error:
        raise BusTrouble(f"{stream} not purged: {type(error).__name__}") from error
    answer = json.loads(reply.data)
    if not answer.get("success"):
        raise BusTrouble(f"{stream} not purged: {answer.get('error', {}).get('description', 'no reason given')}")
