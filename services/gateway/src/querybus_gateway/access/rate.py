"""A tenant's token bucket: how often it may ask, as values. Where the bucket lies is `allowances`' matter."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rate:
    """`per_second` on average, `burst` at once."""

    per_second: float
    burst: int

    @classmethod
    def of(cls, per_second: float) -> Rate:
        """Return a rate of which two seconds' worth may come at once, one question at least.

        >>> Rate.of(500), Rate.of(0.01)
        (Rate(per_second=500, burst=1000), Rate(per_second=0.01, burst=1))
        """
        return cls(per_second, max(1, round(2 * per_second)))


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
