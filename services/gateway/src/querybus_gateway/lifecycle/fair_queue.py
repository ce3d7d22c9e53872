"""Whose turn it is: what exceeds a tenant's share waits here, first come first served within a tenant.

A tenant may always have its share of queries in flight, and beyond it what nobody else uses of the total. A turn goes
to the waiting tenant that has the fewest in flight, and among equals round robin, so a tenant that comes with few
queries passes one that came with many. A turn that was given counts until its query is on the log. Each replica counts
the queries of all replicas but knows only its own waiters.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import AsyncGenerator, Generator

from querybus_gateway.lifecycle.in_flight import OpenQueries


class Turns:
    """The waiting queries of this replica."""

    def __init__(self, open_queries: OpenQueries, in_flight_max: int, in_flight_total_max: int | None = None) -> None:
        """`in_flight_max` is a tenant's share; `in_flight_total_max` (default: the share) what is lent up to."""
        self._open = open_queries
        self._share = in_flight_max
        self._total = in_flight_total_max or in_flight_max
        # A tenant that was given a turn goes to the end: the order is the round.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._given: Counter[str] = Counter()

    def waiting(self, tenant: str) -> int:
        """Return how many queries of the tenant wait here."""
        return len(self._waiting.get(tenant, ()))

    def is_full(self, tenant: str) -> bool:
        """Return whether a new query of the tenant has to wait."""
        return self.waiting(tenant) > 0 or not self._has_capacity(tenant)

    @contextlib.contextmanager
    def taken(self, tenant: str) -> Generator[None]:
        """Count a turn as given while the block brings its query onto the log."""
        self._given[tenant] += 1
        try:
            yield
        finally:
            self._given[tenant] -= 1

    @contextlib.asynccontextmanager
    async def turn(self, tenant: str, seconds: float) -> AsyncGenerator[bool]:
        """Wait for a turn; the block gets False if none came in time. Its end gives the turn back."""
        if not self.is_full(tenant):
            with self.taken(tenant):
                yield True
            return
        has_turn = await self._wait(tenant, seconds)
        try:
            yield has_turn
        finally:
            if has_turn:
                self._given[tenant] -= 1

    def give(self) -> None:
        """Give turns as long as a tenant has both a waiter and space; called whenever a query finishes."""
        while ready := [tenant for tenant in self._waiting if self._has_capacity(tenant)]:
            tenant = min(ready, key=self._in_flight)
            queue = self._waiting.pop(tenant)
            place = queue.popleft()
            if queue:
                self._waiting[tenant] = queue
            if not place.done():
                self._given[tenant] += 1
                place.set_result(None)

    def _has_capacity(self, tenant: str) -> bool:
        return self._in_flight(tenant) < self._share or len(self._open) + self._given.total() < self._total

    def _in_flight(self, tenant: str) -> int:
        return self._open.in_flight(tenant) + self._given[tenant]

    async def _wait(self, tenant: str, seconds: float) -> bool:
        place = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tenant, deque()).append(place)
        try:
            await asyncio.wait((place,), timeout=max(0.0, seconds))
        except asyncio.CancelledError:
            if place.done():
                self._given[tenant] -= 1
            raise
        finally:
            if not place.done():
                place.cancel()
            queue = self._waiting.get(tenant)
            if queue is not None and place in queue:
                queue.remove(place)
                if not queue:
                    del self._waiting[tenant]
        return not place.cancelled()
