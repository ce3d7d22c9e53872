"""Whose turn it is: queries above their tenant's cap wait here, first come first served within a tenant.

Turns are given round robin over the tenants, each up to its cap of queries in flight; a turn that was given counts
against the cap until its query is on the log. Each replica counts all queries but knows only its own waiters.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import AsyncGenerator

from querybus_gateway.open_queries import OpenQueries


class Turns:
    """The waiting queries of this replica."""

    def __init__(self, open_queries: OpenQueries, in_flight_max: int) -> None:
        self._open = open_queries
        self._in_flight_max = in_flight_max
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._given: Counter[str] = Counter()

    def waiting(self, tenant: str) -> int:
        """Return how many queries of the tenant wait here."""
        return len(self._waiting.get(tenant, ()))

    def is_full(self, tenant: str) -> bool:
        """Return whether a new query of the tenant has to wait."""
        in_flight = self._open.in_flight(tenant) + self._given[tenant]
        return in_flight >= self._in_flight_max or self.waiting(tenant) > 0

    @contextlib.asynccontextmanager
    async def turn(self, tenant: str, seconds: float) -> AsyncGenerator[bool]:
        """Wait for a turn; the block gets False if none came in time. Its end gives the turn back."""
        if not self.is_full(tenant):
            self._given[tenant] += 1
            has_turn = True
        else:
            has_turn = await self._wait(tenant, seconds)
        try:
            yield has_turn
        finally:
            if has_turn:
                self._given[tenant] -= 1

    async def _wait(self, tenant: str, seconds: float) -> bool:
        place = asyncio.get_running_loop().create_future()
        queue = self._waiting.setdefault(tenant, deque())
        queue.append(place)
        try:
            await asyncio.wait((place,), timeout=max(0.0, seconds))
        except asyncio.CancelledError:
            if place.done():
                self._given[tenant] -= 1
            raise
        finally:
            if not place.done():
                place.cancel()
            if place in queue:
                queue.remove(place)
            if not queue:
                self._waiting.pop(tenant, None)
        return not place.cancelled()

    def give(self) -> None:
        """Give turns as long as a tenant has both a waiter and room; called whenever a query finishes."""
        given = True
        while given:
            given = False
            for tenant, queue in list(self._waiting.items()):
                room = self._in_flight_max - self._open.in_flight(tenant) - self._given[tenant]
                if room > 0 and queue:
                    place = queue.popleft()
                    if not place.done():
                        self._given[tenant] += 1
                        place.set_result(None)
                    given = True
