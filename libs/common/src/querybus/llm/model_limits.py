"""Limits of a model key that all replicas share, as one small value that they change by turns.

Requests and tokens are two buckets that fill evenly: in any 60 seconds at most the limit and one burst (BURST_SHARE of
it, at least one request) are granted. Slots for calls at once are held by replicas, each for LEASE_MS: what a dead
replica held is free after that. A replica that asks for more than there is gets what there is, and asks again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict

MINUTE_MS: Final = 60_000
BURST_SHARE: Final = 0.1
LEASE_MS: Final = 15_000
AGAIN_MS_MIN: Final = 50


class Holding(BaseModel):
    """The slots of one replica, and until when."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    slots: int
    wants: int
    until: int


class Counters(BaseModel):
    """What is granted now. Levels are what is left in the buckets; tokens may be overdrawn by what replies took."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    at: int = 0
    requests: float = 0.0
    tokens: float = 0.0
    holdings: Mapping[str, Holding] = {}


@dataclass(frozen=True, slots=True)
class Limit:
    """What is allowed; None for no limit."""

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrency_max: int | None = None


@dataclass(frozen=True, slots=True)
class Wish:
    """What a replica needs: calls that wait, with their tokens; calls that run; tokens that earlier replies took more."""

    requests: int
    tokens: int
    running: int
    owed_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Grant:
    """What it got: calls that may begin by count, slots it holds now, and when to ask again for the rest (0: no rest)."""

    requests: int
    slots: int
    again_ms: int


def granted(counters: Counters, replica: str, limit: Limit, wish: Wish, now_ms: int) -> tuple[Counters, Grant]:
    """Return the counters after the wish, and what of it was granted; a call's tokens are taken as the wish's mean."""
    at = max(now_ms, counters.at)
    elapsed = at - counters.at if counters.at else MINUTE_MS
    requests = _filled(counters.requests, limit.requests_per_minute, elapsed, least=1.0)
    tokens_each = wish.tokens / wish.requests if wish.requests else 0.0
    tokens = _filled(counters.tokens, limit.tokens_per_minute, elapsed, least=tokens_each)
    tokens -= wish.owed_tokens if limit.tokens_per_minute is not None else 0
    count = wish.requests
    if limit.requests_per_minute is not None:
        count = min(count, int(requests))
    if limit.tokens_per_minute is not None and tokens_each:
        count = min(count, max(0, int(tokens / tokens_each)))
    held = {name: one for name, one in counters.holdings.items() if one.until > at and name != replica}
    wanted = 0 if limit.concurrency_max is None else wish.running + wish.requests
    slots = 0 if limit.concurrency_max is None else max(wish.running, _share(limit.concurrency_max, wanted, held))
    if limit.concurrency_max is not None:
        count = min(count, slots - wish.running)
    if limit.requests_per_minute is not None:
        requests -= count
    if limit.tokens_per_minute is not None:
        tokens -= count * tokens_each
    if wanted:
        # What a call that waits for its rate does not use is not held.
        held[replica] = Holding(slots=wish.running + count, wants=wanted, until=at + LEASE_MS)
    again = 0
    if wish.requests > count:
        waits = (
            _wait_ms(requests, limit.requests_per_minute, 1.0),
            _wait_ms(tokens, limit.tokens_per_minute, tokens_each),
        )
        again = max(*waits, AGAIN_MS_MIN)
    return Counters(at=at, requests=requests, tokens=tokens, holdings=held), Grant(
        count, wish.running + count if wanted else 0, again
    )


def _filled(level: float, per_minute: int | None, elapsed_ms: int, *, least: float) -> float:
    """Return a bucket's level after some time, never above its burst."""
    if per_minute is None:
        return level
    return min(max(least, per_minute * BURST_SHARE), level + per_minute * elapsed_ms / MINUTE_MS)


def _wait_ms(level: float, per_minute: int | None, needed: float) -> int:
    """Return how long it takes until one more call may be granted."""
    return 0 if per_minute is None else min(MINUTE_MS, round(max(0.0, needed - level) * MINUTE_MS / per_minute))


def _share(slots_max: int, wanted: int, others: Mapping[str, Holding]) -> int:
    """Return the slots that a replica may hold: what the others leave, and no more than its share while they want more."""
    taken = sum(one.slots for one in others.values())
    hungry = sum(1 for one in others.values() if one.wants > one.slots)
    fair = slots_max if not hungry else max(1, slots_max // (len(others) + 1))
    return max(0, min(wanted, fair, slots_max - taken))
