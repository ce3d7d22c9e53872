"""A tenant's token bucket: how often it may ask, as values. Where the bucket lies is `allowances`' matter."""

from __future__ import annotations

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


def refilled(bucket: Bucket | None, rate: Rate, now_ms: int) -> Bucket:
    """Return the bucket as it is now: full if there was none; a clock that went back adds nothing.

    >>> refilled(Bucket(0.0, 0), Rate(2.0, 5), 1_000).tokens
    2.0
    """
    if bucket is None:
        return Bucket(float(rate.burst), now_ms)
    passed = max(0, now_ms - bucket.at_ms) / 1_000
    return Bucket(min(float(rate.burst), bucket.tokens + passed * rate.per_second), max(now_ms, bucket.at_ms))
