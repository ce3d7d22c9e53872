"""Turns at one scarce thing of the executor, a connection's sessions or the threads that write pages, fair by tenant."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from querybus_executor.sharing.fair_share import FairShare, Ticket


class Cost:
    """What one piece of work has used when it ends."""

    def __init__(self) -> None:
        self.used = 0.0


class Turns:
    """The waiting work of all tenants for `places`, and `spare` more for tenants that hold none."""

    def __init__(self, places: int, spare: int = 0) -> None:
        self._share = FairShare(places, spare)
        self._futures: dict[Ticket, asyncio.Future[None]] = {}

    @property
    def waiting(self) -> int:
        """Return how much work waits."""
        return len(self._futures)

    @asynccontextmanager
    async def turn(self, tenant: str) -> AsyncGenerator[Cost]:
        """Wait for the tenant's turn, so wrap it in a timeout; the block says what it used, which is charged at its end."""
        ticket = self._share.wait(tenant)
        future = self._futures[ticket] = asyncio.get_running_loop().create_future()
        self._begin()
        try:
            await future
        except asyncio.CancelledError:
            if self._futures.pop(ticket, None) is not None:
                self._share.withdraw(ticket)
            else:
                self._end(ticket, 0.0)
            raise
        cost = Cost()
        try:
            yield cost
        finally:
            self._end(ticket, cost.used)

    def _end(self, ticket: Ticket, cost: float) -> None:
        self._share.end(ticket, cost)
        self._begin()

    def _begin(self) -> None:
        while (ticket := self._share.begin_next()) is not None:
            future = self._futures.pop(ticket)
            if not future.done():
                future.set_result(None)
