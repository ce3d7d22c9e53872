"""A tenant's bucket fills with time and never beyond its burst."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from querybus_gateway.rate import Bucket, Rate, take


def test_a_burst_passes_and_the_next_one_waits() -> None:
    bucket = None
    for _ in range(3):
        taken = take(bucket, Rate(per_second=1, burst=3), 1_000)
        assert taken.retry_after_seconds is None
        bucket = taken.bucket
    assert take(bucket, Rate(per_second=1, burst=3), 1_000).retry_after_seconds == 1
    assert take(bucket, Rate(per_second=1, burst=3), 2_000).retry_after_seconds is None


@given(st.lists(st.integers(min_value=0, max_value=10_000), max_size=50))
def test_no_tenant_gets_more_than_burst_plus_rate(gaps: list[int]) -> None:
    rate = Rate(per_second=2, burst=5)
    bucket: Bucket | None = None
    now = passed = 0
    for gap in gaps:
        now += gap
        taken = take(bucket, rate, now)
        bucket = taken.bucket
        passed += taken.retry_after_seconds is None
    assert passed <= rate.burst + rate.per_second * now / 1_000 + 1
