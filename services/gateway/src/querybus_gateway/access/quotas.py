"""What a tenant may use over all replicas: questions a second, and a model's tokens a day.

The tenant's bucket of questions lies in a store that all replicas share; a replica takes a handful at a time, so
that most questions cost no look. Over any time t no more than burst + rate x t questions pass, however many replicas
there are; clocks that differ add their difference. Tokens are counted once a query has ended, so the queries in
flight when the last token is spent still end.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from querybus.bus.log.publish import BusTrouble
from querybus.core.credential import Credential, Group
from querybus.core.envelope import Envelope
from querybus.core.subjects import token
from querybus.ops.clock import Clock
from querybus.ops.log import get_log
from querybus.ops.metrics import Metrics
from querybus_gateway.access.rate import Bucket, Rate, refilled
from querybus_gateway.problems import Problem, ProblemCode

TRIES_MAX: Final = 8
SHARE: Final = 20
"""A replica takes a twentieth of the burst at once."""
SPENT_TRUST_MS: Final = 1_000
SPENT_KEPT_MAX: Final = 10_000
"""Of tenants, users and days whose count is remembered for that long."""
WARNED_SHARE: Final = 0.8
"""From here on the log says that a tenant's tokens of the day will soon be spent."""
_DAY_MS: Final = 86_400_000

_log = get_log(__name__)


class TenantLimits(BaseModel):
    """A tenant's limits where they differ from everybody's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rate_per_second: float | None = Field(default=None, gt=0)
    rate_burst: int | None = Field(default=None, ge=1)
    tokens_per_day: int | None = Field(default=None, ge=0, description="0: no limit")
    tokens_per_day_user: int | None = Field(default=None, ge=0, description="of each of its users; 0: no limit")


@dataclass(frozen=True, slots=True)
class Allowed:
    """Everybody's limits and those of single tenants; 0 tokens are no limit."""

    rate: Rate
    tokens_per_day: int = 0
    tokens_per_day_user: int = 0
    tenants: Mapping[str, TenantLimits] = field(default_factory=dict[str, TenantLimits])
    groups: Mapping[str, Group] = field(default_factory=dict[str, Group])

    def rate_of(self, tenant: str) -> Rate:
        """Return how often a tenant may ask."""
        own = self.tenants.get(tenant, TenantLimits())
        return Rate(own.rate_per_second or self.rate.per_second, own.rate_burst or self.rate.burst)

    def tokens_of(self, tenant: str) -> int:
        """Return a tenant's tokens a day, 0 for no limit."""
        own = self.tenants.get(tenant, TenantLimits())
        return self.tokens_per_day if own.tokens_per_day is None else own.tokens_per_day

    def tokens_of_user(self, tenant: str, group: str = "") -> int:
        """Return the tokens a day of each user of a tenant, or of a group of it: the fewer, 0 for no limit."""
        own = self.tenants.get(tenant, TenantLimits())
        tokens = self.tokens_per_day_user if own.tokens_per_day_user is None else own.tokens_per_day_user
        of_group = self.groups.get(group, Group()).tokens_per_day_user
        return tokens if of_group is None else min(of_group, tokens or of_group)

    def counts_users(self, tenant: str) -> bool:
        """Return whether the tokens of a tenant's users are counted: any of them may be in a group with a budget."""
        return self.tokens_of_user(tenant) > 0 or any(item.tokens_per_day_user for item in self.groups.values())


@dataclass(frozen=True, slots=True)
class BudgetShare:
    """The share of a day's tokens that is spent, before a query and after it."""

    before: float
    after: float


class Counters(Protocol):
    """Small values that all replicas share. Raises BusTrouble."""

    async def read(self, key: str) -> tuple[bytes, int]:
        """Return a value and its revision; empty and 0 where there is none."""
        ...

    async def write(self, key: str, value: bytes, revision: int, *, once: str = "") -> bool:
        """Replace the value of that revision; False if it has another by now. `once` names a change made only once."""
        ...


class _Kept(BaseModel):
    tokens: float = 0.0
    at_ms: int = 0


class Allowances:
    """The allowances of all tenants."""

    def __init__(self, counters: Counters, allowed: Allowed, *, clock: Clock) -> None:
        self._counters = counters
        self._allowed = allowed
        self._clock = clock
        self._in_hand: dict[str, int] = {}
        self._empty_until: dict[str, int] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._spent: dict[str, tuple[int, int]] = {}

    async def take(self, tenant: str) -> Problem | None:
        """Take one question from the tenant's allowance, or say why there is none. BusTrouble."""
        wait = await self._take(tenant)
        return None if wait is None else Problem(ProblemCode.RATE_LIMITED, retry_after_seconds=wait)

    async def spent(self, caller: Credential) -> Problem | None:
        """Return the refusal of a tenant or a user whose tokens for today are used up, else None. BusTrouble."""
        now, tenant, user = self._clock(), caller.tenant, caller.user
        for budget, key, whose in (
            (self._allowed.tokens_of(tenant), _day_key(now, tenant), "the tenant's"),
            (self._allowed.tokens_of_user(tenant, caller.group), _day_key(now, tenant, user), "the person's"),
        ):
            if budget and await self._spent_today(key) >= budget:
                return Problem(
                    ProblemCode.TOKENS_SPENT,
                    f"{whose} allowance is renewed at midnight UTC",
                    retry_after_seconds=math.ceil((_DAY_MS - now % _DAY_MS) / 1_000),
                )
        return None

    async def _take(self, tenant: str) -> int | None:
        if self._in_hand.get(tenant, 0) > 0:
            self._in_hand[tenant] -= 1
            return None
        async with self._locks.setdefault(tenant, asyncio.Lock()):
            if self._in_hand.get(tenant, 0) > 0:
                self._in_hand[tenant] -= 1
                return None
            now = self._clock()
            if now < (until := self._empty_until.get(tenant, 0)):
                return math.ceil((until - now) / 1_000)
            return await self._fetch(tenant)

    async def _fetch(self, tenant: str) -> int | None:
        """Take a handful out of the shared bucket, and one of it."""
        rate = self._allowed.rate_of(tenant)
        key = f"rate.{token(tenant)}"
        for _ in range(TRIES_MAX):
            data, revision = await self._counters.read(key)
            now = self._clock()
            kept = _kept(data)
            bucket = refilled(Bucket(kept.tokens, kept.at_ms) if kept is not None else None, rate, now)
            if bucket.tokens < 1:
                wait = (1 - bucket.tokens) / rate.per_second
                self._empty_until[tenant] = now + math.ceil(wait * 1_000)
                return max(1, math.ceil(wait))
            taken = min(max(1, rate.burst // SHARE), math.floor(bucket.tokens))
            left = _Kept(tokens=bucket.tokens - taken, at_ms=bucket.at_ms)
            if await self._counters.write(key, left.model_dump_json().encode(), revision):
                self._in_hand[tenant] = taken - 1
                return None
        # So many others took at the same moment that there can be little left.
        return 1

    async def _spent_today(self, key: str) -> int:
        now = self._clock()
        known = self._spent.get(key)
        if known is None or now - known[1] > SPENT_TRUST_MS:
            if len(self._spent) >= SPENT_KEPT_MAX:
                self._spent.clear()
            data, _ = await self._counters.read(key)
            known = self._spent[key] = (int(data or b"0"), now)
        return known[0]

    def is_metered(self, tenant: str) -> bool:
        """Return whether the tenant's tokens, or those of its users, are counted."""
        return self._allowed.tokens_of(tenant) > 0 or self._allowed.counts_users(tenant)

    async def spend(self, tenant: str, user: str, query: str, tokens: int) -> BudgetShare | None:
        """Count a query's tokens, once; return the tenant's share of its day before and after, None without a budget. BusTrouble."""
        now = self._clock()
        if self._allowed.counts_users(tenant):
            await self._add(_day_key(now, tenant, user), f"{query}.user", tokens)
        budget = self._allowed.tokens_of(tenant)
        if not budget:
            return None
        after = await self._add(_day_key(now, tenant), query, tokens)
        return BudgetShare((after - tokens) / budget, after / budget)

    async def _add(self, key: str, once: str, tokens: int) -> int:
        for _ in range(TRIES_MAX):
            data, revision = await self._counters.read(key)
            after = int(data or b"0") + tokens
            if await self._counters.write(key, str(after).encode(), revision, once=once):
                return after
        raise BusTrouble("the tokens could not be counted: too many others count")


class Meter:
    """Counts the tokens of finished queries, of tenants and users that have a budget."""

    def __init__(self, allowances: Allowances, metrics: Metrics) -> None:
        self._allowances = allowances
        self._metrics = metrics

    async def count(self, envelope: Envelope[Any]) -> None:
        """Count what a query used, summaries and calls without a statement included. BusTrouble."""
        tenant, used = envelope.tenant, envelope.model_use.tokens
        if not used or not self._allowances.is_metered(tenant):
            return
        share = await self._allowances.spend(tenant, envelope.user, envelope.query_id, used)
        if share is None:
            return
        self._metrics.tenant_budget(tenant, share.after)
        if share.before < WARNED_SHARE <= share.after:
            _log.warning(
                "tokens.nearly_spent",
                tenant=tenant,
                spent_percent=round(100 * share.after),
                next="raise tokens_per_day in QUERYBUS_TENANT_LIMITS, or wait for midnight UTC",
            )


def _day_key(now_ms: int, tenant: str, user: str | None = None) -> str:
    day = dt.datetime.fromtimestamp(now_ms / 1_000, tz=dt.UTC).strftime("%Y%m%d")
    return f"tokens.{token(tenant)}.{day}" + ("" if user is None else f".{token(user)}")


def _kept(data: bytes) -> _Kept | None:
    try:
        return _Kept.model_validate_json(data) if data else None
    except ValidationError:
        return None
