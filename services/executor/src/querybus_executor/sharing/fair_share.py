"""Which tenant's work begins next, where many share a few places: pure, its costs are given by the caller.

A place goes to the waiting tenant that holds the fewest, among equals to the one that has used the least, then to the
one that has waited longest. A few spare places are only for a tenant that holds none, so that no tenant can take them
all. A tenant that comes back after a pause begins at the level of the others: a pause saves nothing up, and what it
used before it is forgotten.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    """One piece of work of a tenant: it waits, then holds a place."""

    tenant: str


class FairShare:
    """Who waits, who holds a place and what each tenant has used."""

    def __init__(self, places: int, spare: int = 0) -> None:
        """Share `places`, and `spare` more for tenants that hold none."""
        self._places = places
        self._spare = spare
        self._waiting: dict[str, deque[Ticket]] = {}
        self._held: Counter[str] = Counter()
        self._used: dict[str, float] = {}

    def wait(self, tenant: str) -> Ticket:
        """Return a ticket that waits for its place."""
        if tenant not in self._used:
            self._used[tenant] = min(self._used.values(), default=0.0)
        ticket = Ticket(tenant)
        self._waiting.setdefault(tenant, deque()).append(ticket)
        return ticket

    def begin_next(self) -> Ticket | None:
        """Give a place to the ticket whose turn it is and return it; None where none may begin."""
        held = self._held.total()
        ready = [
            tenant
            for tenant in self._waiting
            if held < self._places or (not self._held[tenant] and held < self._places + self._spare)
        ]
        if not ready:
            return None
        tenant = min(ready, key=lambda name: (self._held[name], self._used[name]))
        ticket = self._waiting[tenant].popleft()
        self._held[tenant] += 1
        # A tenant that was given a place goes to the end: among equals the order is the round.
        queue = self._waiting.pop(tenant)
        if queue:
            self._waiting[tenant] = queue
        return ticket

    def withdraw(self, ticket: Ticket) -> None:
        """Take a ticket back that still waits."""
        queue = self._waiting[ticket.tenant]
        queue.remove(ticket)
        if not queue:
            del self._waiting[ticket.tenant]
        self._forget(ticket.tenant)

    def end(self, ticket: Ticket, cost: float) -> None:
        """Free the ticket's place; `cost` is what the work used, in the unit that the caller chose."""
        self._held[ticket.tenant] -= 1
        self._used[ticket.tenant] += cost
        self._forget(ticket.tenant)

    def _forget(self, tenant: str) -> None:
        """Forget a tenant that neither waits nor holds a place: what is known stays as small as what goes on."""
        if not self._held[tenant] and tenant not in self._waiting:
            del self._held[tenant]
            del self._used[tenant]
