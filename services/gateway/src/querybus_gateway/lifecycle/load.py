"""How fast each tenant's queries end, and so how long one more would wait: what will not end in time is refused at once.

A tenant is busy while as many of its queries are open as keep every stage at work. Only then does the rate at which
they end say what the services can do; how long a query takes by itself is learnt while the tenant is not busy. A
query is let in as long as what is open before it ends within half of its own deadline and, beyond the tenant's share,
within one and a half times what one takes by itself.
Pure: time and counts are passed in. Each replica sees the ends of all queries, so all judge alike.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict, deque
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

BUSY_MIN: Final = 32
"""Open queries of a tenant below which it is never refused."""
BURST_MAX: Final = 5 * BUSY_MIN
"""Open queries of a tenant beyond which nothing is taken before the rate at which they end is known."""
WINDOW_MS: Final = 5_000
MEASURED_MS_MIN: Final = 1_000
"""A rate that was seen for less than this is not known."""
BURST_RETRY_SECONDS: Final = 1
WAIT_SECONDS_MIN: Final = 0.8
"""A wait up to this is always taken."""
WAIT_FACTOR: Final = 1.5
DEADLINE_SHARE: Final = 0.5
RETRY_SECONDS_MAX: Final = 60
ENDS_KEPT_MAX: Final = 4_096
TENANTS_MAX: Final = 10_000
_SLOWER, _FASTER = 0.05, 0.3
"""How much one query that took longer or less time counts: a slow one may have waited for others, a fast one has not."""


@dataclass(slots=True)
class _Tenant:
    """One tenant's last ends, since when it is busy, and how long its queries take by themselves."""

    ends: deque[int] = field(default_factory=lambda: deque[int](maxlen=ENDS_KEPT_MAX))
    """When its queries ended while it was busy, within the window."""
    busy_since: int | None = None
    own_ms: float | None = None
    began: OrderedDict[str, int] = field(default_factory=OrderedDict[str, int])


class Load:
    """What is known of the ends of each tenant's queries."""

    def __init__(self, share: int) -> None:
        """`share` of open queries each tenant may always have: they are refused only where they would not end in time."""
        # What has just ended, and whose caller asks again at once, is still counted as open for a moment.
        self._share = share + share // 4
        self._tenants: OrderedDict[str, _Tenant] = OrderedDict()
        self._admitting = Counter[str]()

    @contextmanager
    def admitting(self, tenant: str) -> Generator[None]:
        """Count one query as open while it is admitted: all that come meanwhile would pass as one otherwise."""
        self._admitting[tenant] += 1
        try:
            yield
        finally:
            self._admitting[tenant] -= 1
            if not self._admitting[tenant]:
                del self._admitting[tenant]

    def begun(self, tenant: str, query: str, open_count: int, now_ms: int) -> None:
        """Take up that a query began while so many of its tenant were open."""
        state = self._of(tenant)
        self._mark(state, open_count, now_ms)
        if open_count < BUSY_MIN:
            state.began[query] = now_ms
            while len(state.began) > BUSY_MIN * 4:
                state.began.popitem(last=False)

    def ended(self, tenant: str, query: str, open_count: int, now_ms: int) -> None:
        """Take up that a query ended."""
        state = self._of(tenant)
        self._mark(state, open_count, now_ms)
        began = state.began.pop(query, None)
        if state.busy_since is not None:
            state.ends.append(now_ms)
        if began is not None:
            took = max(1, now_ms - began)
            known = took if state.own_ms is None else state.own_ms
            state.own_ms = known + (_SLOWER if took > known else _FASTER) * (took - known)

    def refusal_seconds(self, tenant: str, open_count: int, left_ms: float, now_ms: int) -> int | None:
        """Return after how many seconds to ask again, or None where one more query will end in time.

        `open_count` is how many of the tenant's queries have begun or wait; `left_ms` is what the new one has.
        """
        state = self._of(tenant)
        open_count += self._admitting[tenant]
        self._mark(state, open_count, now_ms)
        # A rate that was seen for less than a query takes says little; how long that is may not be known yet.
        own_ms = left_ms * DEADLINE_SHARE if state.own_ms is None else state.own_ms
        if state.busy_since is None:
            return None
        if now_ms - state.busy_since < max(MEASURED_MS_MIN, own_ms):
            return BURST_RETRY_SECONDS if open_count >= BURST_MAX else None
        since = max(state.busy_since, now_ms - max(WINDOW_MS, round(own_ms)))
        while state.ends and state.ends[0] <= since:
            state.ends.popleft()
        per_second = len(state.ends) * 1_000 / (now_ms - since)
        wait = (open_count + 1) / per_second if per_second else math.inf
        taken = left_ms / 1_000 * DEADLINE_SHARE
        if open_count >= self._share:
            taken = min(taken, max(WAIT_SECONDS_MIN, WAIT_FACTOR * own_ms / 1_000))
        if wait <= taken:
            return None
        return RETRY_SECONDS_MAX if math.isinf(wait) else max(1, min(RETRY_SECONDS_MAX, math.ceil(wait - taken)))

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
            state.busy_since = None
            state.ends.clear()
        elif state.busy_since is None:
            state.busy_since = now_ms
