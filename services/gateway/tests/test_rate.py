"""A tenant's bucket fills with time, never beyond its burst, and never by a clock that went back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from querybus_gateway.access.rate import Bucket, Rate, refilled


def test_a_new_bucket_is_full() -> None:
    assert refilled(None, Rate(per_second=1, burst=3), 1_000) == Bucket(3.0, 1_000)


@given(st.floats(0, 5), st.integers(0, 10_000), st.integers(0, 10_000))
def test_a_bucket_fills_with_time_and_never_beyond_its_burst(tokens: float, at: int, now: int) -> None:
    rate = Rate(per_second=2, burst=5)
    bucket = refilled(Bucket(tokens, at), rate, now)
    assert tokens <= bucket.tokens <= rate.burst
    assert bucket.at_ms == max(at, now)
    if now <= at:
        assert bucket.tokens == tokens
