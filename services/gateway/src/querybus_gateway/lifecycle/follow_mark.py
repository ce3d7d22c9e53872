"""From where a starting gateway follows the log: behind everything that some replica saw end.

A full log takes minutes to read, and for so long the sweeper would be blind. Every replica writes down, half a minute
apart, the lowest sequence at which a query that it knows is still open, or else where it follows. A mark that is too low
costs time; one that is higher than the log's end belongs to another log and is not believed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, Protocol

from querybus.bus.log.publish import BusTrouble
from querybus.ops.run import end
from querybus_gateway.access.quotas import Counters
from querybus_gateway.lifecycle.in_flight import OpenQueries

KEY: Final = "log.followed"
SAVE_SECONDS: Final = 30.0


class Follows(Protocol):
    """What follows the log."""

    @property
    def next_sequence(self) -> int: ...


class FollowMark:
    """The mark, and the loop that writes it. A part."""

    def __init__(self, counters: Counters, open_queries: OpenQueries, log_end: Callable[[], Awaitable[int]]) -> None:
        """`log_end` is the sequence of the log's last event; raises BusTrouble."""
        self.name = "follow-mark"
        self._counters = counters
        self._open = open_queries
        self._log_end = log_end
        self._follower: Follows | None = None
        self._loop: asyncio.Task[None] | None = None

    async def start_sequence(self) -> int:
        """Return the sequence to follow from, 1 where nothing is known. BusTrouble."""
        data, _ = await self._counters.read(KEY)
        marked = int(data) if data.isdigit() else 1
        return marked if marked <= await self._log_end() + 1 else 1

    def attach(self, follower: Follows) -> None:
        """Take up who follows the log."""
        self._follower = follower

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop().create_task(self._run(), name=self.name)

    async def drain(self) -> None:
        if self._loop is not None:
            await end(self._loop)
            await self.save()

    async def ping(self) -> str | None:
        return None if self._loop is not None and not self._loop.done() else "not running"

    async def save(self) -> None:
        """Write the mark; while the bus is away the one before stands."""
        if self._follower is None:
            return
        marked = min(self._follower.next_sequence, self._open.oldest_sequence() or self._follower.next_sequence)
        with suppress(BusTrouble):
            _, revision = await self._counters.read(KEY)
            await self._counters.write(KEY, str(marked).encode(), revision)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(SAVE_SECONDS)
            await self.save()
