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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from querybus.bus.log.publish import BusTrouble
from querybus.core.envelope import Envelope, Undecodable
from querybus.core.messages import Analysis, Concluded, Drafted, Failed
from querybus.core.subjects import StageName, token
from querybus.ops.clock import Clock
from querybus_gateway.access.rate import Bucket, Rate, refilled
from querybus_gateway.ports import Entry
from querybus_gateway.problems import Problem, ProblemCode

TRIES_MAX: Final = 8
SHARE: Final = 20
"""A replica takes a twentieth of the burst at once."""
SPENT_TRUST_MS: Final = 1_000
_DAY_MS: Final = 86_400_000


class TenantLimits(BaseModel):
    """A tenant's limits where they differ from everybody's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rate_per_second: float | None = Field(default=None, gt=0)
    rate_burst: int | None = Field(default=None, ge=1)
    tokens_per_day: int | None = Field(default=None, ge=0, description="0: no limit")


@dataclass(frozen=True, slots=True)
class Allowed:
    """Everybody's limits and those of single tenants; `tokens_per_day` 0 is no limit."""

    rate: Rate
    tokens_per_day: int = 0
    tenants: Mapping[str, TenantLimits] = field(default_factory=dict[str, TenantLimits])

    def rate_of(self, tenant: str) -> Rate:
        """Return how often a tenant may ask."""
        own = self.tenants.get(tenant, TenantLimits())
        return Rate(own.rate_per_second or self.rate.per_second, own.rate_burst or self.rate.burst)

    def tokens_of(self, tenant: str) -> int:
        """Return a tenant's tokens a day, 0 for no limit."""
        own = self.tenants.get(tenant, TenantLimits())
        return self.tokens_per_day if own.tokens_per_day is None else own.tokens_per_day


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

    async def spent(self, tenant: str) -> Problem | None:
        """Return the refusal of a tenant whose tokens for today are used up, else None. BusTrouble."""
        budget = self._allowed.tokens_of(tenant)
        if budget and await self._spent_today(tenant) >= budget:
            left_ms = _DAY_MS - self._clock() % _DAY_MS
            return Problem(
                ProblemCode.TOKENS_SPENT,
                "the allowance is renewed at midnight UTC",
                retry_after_seconds=math.ceil(left_ms / 1_000),
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

    async def _spent_today(self, tenant: str) -> int:
        now = self._clock()
        known = self._spent.get(tenant)
        if known is None or now - known[1] > SPENT_TRUST_MS:
            data, _ = await self._counters.read(_tokens_key(tenant, now))
            known = self._spent[tenant] = (int(data or b"0"), now)
        return known[0]

    def is_metered(self, tenant: str) -> bool:
        """Return whether the tenant's tokens are counted."""
        return self._allowed.tokens_of(tenant) > 0

    async def spend(self, tenant: str, query: str, tokens: int) -> None:
        """Count a query's tokens, once. BusTrouble."""
        for _ in range(TRIES_MAX):
            key = _tokens_key(tenant, self._clock())
            data, revision = await self._counters.read(key)
            if await self._counters.write(key, str(int(data or b"0") + tokens).encode(), revision, once=query):
                return
        raise BusTrouble("the tokens could not be counted: too many others count")


class Meter:
    """Counts the tokens of finished queries of tenants that have a budget."""

    def __init__(self, allowances: Allowances, events: Callable[[str, str, int], Any]) -> None:
        """`events` reads every event of a query's log behind a sequence, as `Log.events` does."""
        self._allowances = allowances
        self._events = events

    async def count(self, envelope: Envelope[Any]) -> None:
        """Count what a query used. BusTrouble."""
        if not self._allowances.is_metered(envelope.tenant):
            return
        used = tokens_of(await self._events(envelope.tenant, envelope.query_id, 0))
        if used:
            await self._allowances.spend(envelope.tenant, envelope.query_id, used)


def tokens_of(log: Sequence[Entry]) -> int:
    """Return the tokens that a model read and wrote for a query: those of its drafts, and of ends without one."""
    used = 0
    for entry in log:
        try:
            body = entry.envelope().body
        except Undecodable:
            continue
        match body:
            case Drafted(analysis=analysis):
                used += _tokens(analysis)
            case Failed(stage=StageName.GENERATOR, analysis=analysis):
                used += _tokens(analysis)
            case Concluded(stage=StageName.GENERATOR, analysis=analysis):
                used += _tokens(analysis)
            case _:
                pass
    return used


def _tokens(analysis: Analysis) -> int:
    return analysis.tokens_in + analysis.tokens_out


def _tokens_key(tenant: str, now_ms: int) -> str:
    day = dt.datetime.fromtimestamp(now_ms / 1_000, tz=dt.UTC).strftime("%Y%m%d")
    return f"tokens.{token(tenant)}.{day}"


def _kept(data: bytes) -> _Kept | None:
    try:
        return _Kept.model_validate_json(data) if data else None
    except ValidationError:
        return None
