"""A tenant's token bucket: how often it may ask, as values; each replica keeps its own.

So the limit holds per replica: a tenant may reach the rate times the number of replicas.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rate:
    """`per_second` on average, `burst` at once."""

    per_second: float
    burst: int


@dataclass(frozen=True, slots=True)
class Bucket:
    """The tokens left at a time in milliseconds."""

    tokens: float
    at_ms: int


@dataclass(frozen=True, slots=True)
class Taken:
    """The bucket afterwards; `retry_after_seconds` is None if a token was there."""

    bucket: Bucket
    retry_after_seconds: int | None


def take(bucket: Bucket | None, rate: Rate, now_ms: int) -> Taken:
    """Return the bucket after taking one token, or how long to wait for it.

    >>> take(Bucket(0.0, 0), Rate(2.0, 5), 0).retry_after_seconds
    1
    """
    known = bucket or Bucket(float(rate.burst), now_ms)
    filled = min(float(rate.burst), known.tokens + max(0, now_ms - known.at_ms) / 1_000 * rate.per_second)
    if filled >= 1:
        return Taken(Bucket(filled - 1, now_ms), None)
    return Taken(Bucket(filled, now_ms), max(1, math.ceil((1 - filled) / rate.per_second)))
