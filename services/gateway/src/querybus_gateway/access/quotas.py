"""What a tenant may use over all replicas: questions a second, and a day's tokens and cost of models.

The tenant's bucket of questions lies in a store that all replicas share; a replica takes a handful at a time, so
that most questions cost no look. Over any time t no more than burst + rate x t questions pass, however many replicas
there are; clocks that differ add their difference. Tokens and cost are counted once a query has ended, so the queries in
flight when the last of them is spent still end.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from querybus.bus.log.publish import BusTrouble
from querybus.core.credential import Credential, Group
from querybus.core.envelope import Envelope
from querybus.core.options import Effort, OptionCaps, RepairPolicy
from querybus.core.stored.models import ModelUse
from querybus.core.subjects import token
from querybus.ops.clock import Clock
from querybus.ops.log import get_log
from querybus.ops.metrics import Metrics
from querybus_gateway.access.rate import Bucket, Rate, refilled
from querybus_gateway.admit import RequestOptions
from querybus_gateway.problems import Problem, ProblemCode

TRIES_MAX: Final = 8
SHARE: Final = 20
"""A replica takes a twentieth of the burst at once."""
SPENT_TRUST_MS: Final = 1_000
SPENT_KEPT_MAX: Final = 10_000
"""Of tenants, users and days whose count is remembered for that long."""
WARNED_SHARE: Final = 0.8
"""From here on the log says that a budget of the day will soon be spent."""
COST_PARTS: Final = 1_000_000
"""Cost is counted in millionths of the unit of the models' prices."""
_DAY_MS: Final = 86_400_000

_log = get_log(__name__)


class TenantLimits(BaseModel):
    """A tenant's limits where they differ from everybody's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rate_per_second: float | None = Field(default=None, gt=0)
    rate_burst: int | None = Field(default=None, ge=1)
    tokens_per_day: int | None = Field(default=None, ge=0, description="0: no limit")
    tokens_per_day_user: int | None = Field(default=None, ge=0, description="of each of its users; 0: no limit")
    cost_per_day: float | None = Field(
        default=None, ge=0, description="of models, in the unit of their prices; 0: no limit"
    )
    cost_per_day_user: float | None = Field(default=None, ge=0, description="of each of its users; 0: no limit")
    effort_max: Effort = Field(default=Effort.THOROUGH, description="what its requests may ask of a model at most")


@dataclass(frozen=True, slots=True)
class Limits:
    """What the server allows, and takes where a request is silent."""

    caps: OptionCaps = field(default_factory=OptionCaps)
    defaults: RequestOptions = field(default_factory=RequestOptions)
    repair_policies: Mapping[str, RepairPolicy] = field(default_factory=dict[str, RepairPolicy])
    """Who repairs, by tenant, where a request does not say."""
    tenants: Mapping[str, TenantLimits] = field(default_factory=dict[str, TenantLimits])

    def caps_of(self, tenant: str) -> OptionCaps:
        """Return the most that a request of a tenant may ask for."""
        own = self.tenants.get(tenant)
        if own is None:
            return self.caps
        efforts = (self.caps.effort_max, own.effort_max)
        return self.caps.model_copy(update={"effort_max": min(efforts, key=lambda effort: effort.drafts_max)})


@dataclass(frozen=True, slots=True)
class Budget:
    """What a tenant, or each of its users, may use of models in a UTC day; `most` in tokens, or in COST_PARTS."""

    name: Literal["tokens_per_day", "tokens_per_day_user", "cost_per_day", "cost_per_day_user"]
    most: int

    @property
    def is_users(self) -> bool:
        """Whether each user has it alone."""
        return self.name.endswith("_user")

    def taken_by(self, use: ModelUse) -> int:
        """Return what a query takes of it."""
        return round(use.cost * COST_PARTS) if self.name.startswith("cost") else use.tokens

    def key(self, now_ms: int, tenant: str, user: str) -> str:
        """Return the counter of the day."""
        day = dt.datetime.fromtimestamp(now_ms / 1_000, tz=dt.UTC).strftime("%Y%m%d")
        unit = self.name.partition("_")[0]
        return f"{unit}.{token(tenant)}.{day}" + (f".{token(user)}" if self.is_users else "")


@dataclass(frozen=True, slots=True)
class Allowed:
    """Everybody's limits and those of single tenants; 0 tokens and 0 cost are no limit."""

    rate: Rate
    tokens_per_day: int = 0
    tokens_per_day_user: int = 0
    cost_per_day: float = 0.0
    cost_per_day_user: float = 0.0
    tenants: Mapping[str, TenantLimits] = field(default_factory=dict[str, TenantLimits])
    groups: Mapping[str, Group] = field(default_factory=dict[str, Group])

    def rate_of(self, tenant: str) -> Rate:
        """Return how often a tenant may ask."""
        own = self.tenants.get(tenant, TenantLimits())
        return Rate(own.rate_per_second or self.rate.per_second, own.rate_burst or self.rate.burst)

    def budgets_of(self, tenant: str, group: str = "") -> tuple[Budget, ...]:
        """Return the budgets of a tenant's day that are limited; of a group's users the fewer tokens count."""
        own = self.tenants.get(tenant, TenantLimits())
        tokens = self.tokens_per_day if own.tokens_per_day is None else own.tokens_per_day
        tokens_user = self.tokens_per_day_user if own.tokens_per_day_user is None else own.tokens_per_day_user
        of_group = self.groups.get(group, Group()).tokens_per_day_user
        if of_group is not None:
            tokens_user = min(of_group, tokens_user or of_group)
        cost = self.cost_per_day if own.cost_per_day is None else own.cost_per_day
        cost_user = self.cost_per_day_user if own.cost_per_day_user is None else own.cost_per_day_user
        every = (
            Budget("tokens_per_day", tokens),
            Budget("tokens_per_day_user", tokens_user),
            Budget("cost_per_day", round(cost * COST_PARTS)),
            Budget("cost_per_day_user", round(cost_user * COST_PARTS)),
        )
        return tuple(budget for budget in every if budget.most)

    def counted_of(self, tenant: str) -> tuple[Budget, ...]:
        """Return what is counted of a tenant: its budgets, and its users' tokens if a group limits them."""
        budgets = self.budgets_of(tenant)
        is_limited = any(group.tokens_per_day_user for group in self.groups.values())
        is_counted = not is_limited or any(budget.name == "tokens_per_day_user" for budget in budgets)
        return budgets if is_counted else (*budgets, Budget("tokens_per_day_user", 0))


@dataclass(frozen=True, slots=True)
class BudgetShare:
    """The share of a budget that is spent, before a query and after it."""

    budget: Budget
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
        """Return the refusal of a tenant or a user whose budget for today is used up, else None. BusTrouble."""
        now = self._clock()
        for budget in self._allowed.budgets_of(caller.tenant, caller.group):
            if await self._spent_today(budget.key(now, caller.tenant, caller.user)) >= budget.most:
                whose = "the person's" if budget.is_users else "the tenant's"
                return Problem(
                    ProblemCode.TOKENS_SPENT,
                    f"{whose} allowance ({budget.name}) is renewed at midnight UTC",
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

    async def spend(self, tenant: str, user: str, query: str, use: ModelUse) -> tuple[BudgetShare, ...]:
        """Count what a query took, once; return the share of each budget that it takes of. BusTrouble."""
        now, shares = self._clock(), list[BudgetShare]()
        for budget in self._allowed.counted_of(tenant):
            if taken := budget.taken_by(use):
                once = f"{query}.user" if budget.is_users else query
                after = await self._add(budget.key(now, tenant, user), once, taken)
                if budget.most:
                    shares.append(BudgetShare(budget, (after - taken) / budget.most, after / budget.most))
        return tuple(shares)

    async def _add(self, key: str, once: str, tokens: int) -> int:
        for _ in range(TRIES_MAX):
            data, revision = await self._counters.read(key)
            after = int(data or b"0") + tokens
            if await self._counters.write(key, str(after).encode(), revision, once=once):
                return after
        raise BusTrouble("what models took could not be counted: too many others count")


class Meter:
    """Counts what finished queries took of models, of tenants and users that have a budget."""

    def __init__(self, allowances: Allowances, metrics: Metrics) -> None:
        self._allowances = allowances
        self._metrics = metrics

    async def count(self, envelope: Envelope[Any]) -> None:
        """Count what a query used, summaries and calls without a statement included. BusTrouble."""
        tenant = envelope.tenant
        shares = await self._allowances.spend(tenant, envelope.user, envelope.query_id, envelope.model_use)
        of_tenant = [share.after for share in shares if not share.budget.is_users]
        if of_tenant:
            self._metrics.tenant_budget(tenant, max(of_tenant))
        for share in shares:
            if share.before < WARNED_SHARE <= share.after:
                _log.warning(
                    "budget.nearly_spent",
                    tenant=tenant,
                    budget=share.budget.name,
                    spent_percent=round(100 * share.after),
                    next=f"raise {share.budget.name} in QUERYBUS_TENANT_LIMITS, or wait for midnight UTC",
                )


def _kept(data: bytes) -> _Kept | None:
    try:
        return _Kept.model_validate_json(data) if data else None
    except ValidationError:
        return None
