"""Which queries have begun and not finished, by tenant, with their deadlines: in memory, fed by the followed log.

Bounded by OPEN_QUERIES_MAX, which admission respects; a query beyond it that another replica let in is still
noted, because an accepted query must be concluded. Nothing here reads a clock or the bus.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass, replace
from typing import Final

from querybus.core.subjects import EventAddress, EventName

OPEN_QUERIES_MAX: Final = 100_000
ENDED_KEPT_MAX: Final = 4_096
"""Ended queries that are remembered: far more than end while one acknowledgement is on its way."""
UNRENDERED_MS_MAX: Final = 180_000
"""How long a conclusion may stay without `finished` before the sweeper words it from the template. Far above the
time that all deliveries to the presenter take, so that only a conclusion whose death nobody noticed is meant."""
LATE_MS_MAX: Final = 5_000
"""The same once the query's deadline has passed: longer than the presenter may take then, so nobody waits for more."""


@dataclass(frozen=True, slots=True)
class OpenQuery:
    """A log without `finished`. Tokens as in its subject; times in milliseconds since the epoch."""

    tenant: str
    thread: str
    query: str
    deadline_at: int
    last_sequence: int
    concluded_at: int | None = None


class OpenQueries:
    """The open queries that this replica knows of."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], OpenQuery] = {}
        self._by_tenant: Counter[str] = Counter()
        self._ended: OrderedDict[tuple[str, str], int] = OrderedDict()

    def note(self, address: EventAddress, sequence: int, deadline_at: int, now_ms: int) -> None:
        """Take up one stored event; an older one than the last that is known changes nothing."""
        key = (address.tenant, address.query)
        if address.event is EventName.FINISHED:
            self.forget(address.tenant, address.query)
            self._ended[key] = sequence
            while len(self._ended) > ENDED_KEPT_MAX:
                self._ended.popitem(last=False)
            return
        # Who stored the first event may learn of it only after the whole query has ended.
        if sequence < self._ended.get(key, 0):
            return
        known = self._open.get(key)
        if known is None:
            self._by_tenant[address.tenant] += 1
            known = OpenQuery(address.tenant, address.thread, address.query, deadline_at, 0)
        if sequence > known.last_sequence:
            concluded_at = now_ms if address.event is EventName.CONCLUDED else None
            self._open[key] = replace(known, last_sequence=sequence, concluded_at=concluded_at)

    def forget(self, tenant: str, query: str) -> None:
        """Drop a query that has finished, or whose log is gone."""
        if self._open.pop((tenant, query), None) is not None:
            self._by_tenant[tenant] -= 1

    def in_flight(self, tenant: str) -> int:
        """Return how many queries of the tenant have begun and not finished."""
        return self._by_tenant[tenant]

    def oldest_sequence(self) -> int | None:
        """Return the lowest sequence that an open query's last known event has, None where no query is open."""
        return min((item.last_sequence for item in self._open.values()), default=None)

    def __len__(self) -> int:
        return len(self._open)

    def due(self, now_ms: int) -> tuple[OpenQuery, ...]:
        """Return the queries past their deadline without a conclusion, the oldest deadline first."""
        result = [item for item in self._open.values() if item.concluded_at is None and item.deadline_at < now_ms]
        return tuple(sorted(result, key=lambda item: item.deadline_at))

    def unrendered(self, now_ms: int) -> tuple[OpenQuery, ...]:
        """Return the queries whose conclusion has waited too long for its words."""
        return tuple(
            item
            for item in self._open.values()
            if item.concluded_at is not None
            and now_ms
            > min(item.concluded_at + UNRENDERED_MS_MAX, max(item.concluded_at, item.deadline_at) + LATE_MS_MAX)
        )
