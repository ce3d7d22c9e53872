"""How fast each tenant's queries end, and so how long one more would wait: what will not end in time is refused at once.

A tenant is busy while as many of its queries are open as keep every stage at work. Only then does the rate at which
they end say what the services can do. It counts from when the first query could have ended, since before that nothing
can; how long a query takes by itself is learnt while the tenant is not busy. One more query is refused

- where what is open before it would take more than half of its deadline;
- where the wait has been above a target for STANDING_MS without a break: a queue that stands would only grow older,
  while a burst or a batch is gone by then (the idea of CoDel, RFC 8289);
- where nothing has ended for so long that the services are in trouble.

Whoever is refused comes back: the time to wait grows with how many were refused lately, and is spread by chance.
Pure: time, counts and chance are passed in. Each replica sees the ends of all queries, so all judge alike.
"""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

BUSY_MIN: Final = 32
"""Open queries of a tenant below which it is never refused."""
UNMEASURED_MAX: Final = 1_024
"""Open queries of a tenant beyond which nothing is taken before anything is known of the rate at which they end."""
WINDOW_MS: Final = 5_000
MEASURED_MS_MIN: Final = 500
"""A rate that was seen for less than this is not known."""
OWN_MS_UNKNOWN: Final = 2_000
TARGET_MS: Final = 5_000
"""A standing wait up to this is always taken."""
TARGET_FACTOR: Final = 3
"""Or up to so many times what a query takes by itself, where its deadline leaves time for it."""
TARGET_SHARE: Final = 0.25
STANDING_MS: Final = 5_000
"""How long a wait above the target is taken: longer than a burst needs to pass."""
DEADLINE_SHARE: Final = 0.5
STALLED_MS: Final = 10_000
STALLED_RETRY_SECONDS: Final = 2
REFUSED_WINDOW_MS: Final = 10_000
REFUSED_KEPT_MAX: Final = 4_096
ENDS_KEPT_MAX: Final = 4_096
TENANTS_MAX: Final = 10_000
_SLOWER, _FASTER = 0.05, 0.3
"""How much one query that took longer or less time counts: a slow one may have waited for others, a fast one has not."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """After how many seconds to ask again; `stalled` where nothing ends, so that the services are to blame."""

    seconds: int
    stalled: bool = False


@dataclass(slots=True)
class _Tenant:
    """One tenant's last ends, since when it is busy, and how long its queries take by themselves."""

    ends: deque[int] = field(default_factory=lambda: deque[int](maxlen=ENDS_KEPT_MAX))
    """When its queries ended while it was busy, within the window."""
    refused: deque[int] = field(default_factory=lambda: deque[int](maxlen=REFUSED_KEPT_MAX))
    busy_since: int | None = None
    ended_at: int = 0
    above_since: int | None = None
    """Since when the wait has been above the target."""
    per_second: float | None = None
    """The rate that was last measured; it outlasts calm times."""
    own_ms: float | None = None
    began: OrderedDict[str, int] = field(default_factory=OrderedDict[str, int])


class Load:
    """What is known of the ends of each tenant's queries."""

    def __init__(self, in_flight_max: int, *, chance: Callable[[], float] = lambda: 0.5) -> None:
        """`in_flight_max`: queries of a tenant that the services work at together; `chance` gives numbers in 0..1."""
        self._in_flight_max = in_flight_max
        self._chance = chance
        self._tenants: OrderedDict[str, _Tenant] = OrderedDict()
        self._admitting: dict[str, set[object]] = {}

    @contextmanager
    def admitting(self, tenant: str) -> Generator[Callable[[str], None]]:
        """Count one query as open while it is admitted: all that come meanwhile would pass as one otherwise.

        Gives what takes its id: from `noted` on it is counted among the open ones and no longer here.
        """
        place: object = object()

        def name(query: str) -> None:
            nonlocal place
            places.discard(place)
            place = query
            places.add(place)

        places = self._admitting.setdefault(tenant, set())
        places.add(place)
        try:
            yield name
        finally:
            places.discard(place)
            if not places:
                self._admitting.pop(tenant, None)

    def noted(self, tenant: str, query: str) -> None:
        """Take up that a query is counted among the open ones."""
        self._admitting.get(tenant, set()).discard(query)

    def begun(self, tenant: str, query: str, open_count: int, now_ms: int) -> None:
        """Take up that a query began while so many of its tenant were open."""
        state = self._of(tenant)
        self._mark(state, open_count, now_ms)
        self.noted(tenant, query)
        if open_count < BUSY_MIN:
            state.began[query] = now_ms
            while len(state.began) > BUSY_MIN * 4:
                state.began.popitem(last=False)

    def ended(self, tenant: str, query: str, open_count: int, now_ms: int) -> None:
        """Take up that a query ended."""
        state = self._of(tenant)
        self._mark(state, open_count, now_ms)
        began = state.began.pop(query, None)
        state.ended_at = now_ms
        if state.busy_since is not None:
            state.ends.append(now_ms)
        if began is not None:
            took = max(1, now_ms - began)
            known = took if state.own_ms is None else state.own_ms
            state.own_ms = known + (_SLOWER if took > known else _FASTER) * (took - known)

    def refusal(self, tenant: str, open_count: int, left_ms: float, now_ms: int) -> Refusal | None:
        """Return why and until when one more query is refused, None where it will end in time.

        `open_count` is how many of the tenant's queries have begun or wait; `left_ms` is what the new one has.
        """
        state = self._of(tenant)
        open_count += len(self._admitting.get(tenant, ()))
        self._mark(state, open_count, now_ms)
        if state.busy_since is None:
            return None
        # How long one takes may not be known yet: then nothing is wrong before half of its deadline.
        patience_ms = left_ms * DEADLINE_SHARE if state.own_ms is None else TARGET_FACTOR * state.own_ms
        if now_ms - max(state.busy_since, state.ended_at) > max(STALLED_MS, patience_ms):
            return Refusal(STALLED_RETRY_SECONDS, stalled=True)
        own_ms = OWN_MS_UNKNOWN if state.own_ms is None else state.own_ms
        per_second = self._rate(state, own_ms, now_ms)
        if per_second is None:
            return self._later(state, 0.0, UNMEASURED_MAX, left_ms, now_ms) if open_count >= UNMEASURED_MAX else None
        wait_ms = (open_count + 1) * 1_000 / per_second
        if wait_ms > left_ms * DEADLINE_SHARE:
            return self._later(state, wait_ms - left_ms * DEADLINE_SHARE, per_second, left_ms, now_ms)
        target_ms = max(TARGET_MS, min(TARGET_FACTOR * own_ms, left_ms * TARGET_SHARE))
        if wait_ms <= target_ms:
            state.above_since = None
            return None
        if state.above_since is None:
            state.above_since = now_ms
        if now_ms - state.above_since < STANDING_MS:
            return None
        return self._later(state, wait_ms - target_ms, per_second, left_ms, now_ms)

    def _rate(self, state: _Tenant, own_ms: float, now_ms: int) -> float | None:
        """Return how many queries end in a second, None where nothing says so."""
        if state.busy_since is not None:
            since = max(state.busy_since + own_ms, now_ms - max(WINDOW_MS, 2 * own_ms))
            while state.ends and state.ends[0] <= since:
                state.ends.popleft()
            if now_ms - since >= MEASURED_MS_MIN and state.ends:
                state.per_second = len(state.ends) * 1_000 / (now_ms - since)
        if state.per_second is None and state.own_ms is not None:
            # At best: as many at once as the services take of one tenant.
            return self._in_flight_max * 1_000 / state.own_ms
        return state.per_second

    def _later(self, state: _Tenant, over_ms: float, per_second: float, left_ms: float, now_ms: int) -> Refusal:
        """Return the refusal whose time lets what was refused lately come back at the rate at which queries end."""
        while state.refused and state.refused[0] <= now_ms - REFUSED_WINDOW_MS:
            state.refused.popleft()
        state.refused.append(now_ms)
        seconds = max(over_ms / 1_000, len(state.refused) / per_second)
        return Refusal(max(1, min(math.ceil(left_ms / 1_000), math.ceil(seconds * (0.5 + self._chance())))))

    def _of(self, tenant: str) -> _Tenant:
        state = self._tenants.get(tenant)
        if state is None:
            state = self._tenants[tenant] = _Tenant()
            while len(self._tenants) > TENANTS_MAX:
                self._tenants.popitem(last=False)
        return state

    @staticmethod
    def _mark(state: _Tenant, open_count: int, now_ms: int) -> None:
        if open_count < BUSY_MIN:
            state.busy_since = state.above_since = None
            state.ends.clear()
        elif state.busy_since is None:
            state.busy_since = now_ms
