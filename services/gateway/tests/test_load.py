"""Claims on overload: what is let in ends in time, what is not is refused at once with a true time, and it heals."""

from __future__ import annotations

from collections import deque
from contextlib import ExitStack

import pytest

from querybus_gateway.lifecycle.load import BURST_MAX, BUSY_MIN, Load

DEADLINE_MS = 60_000
SHARE = 64


class Service:
    """A queue that ends so many queries a second, first come first served; time goes in steps of 10 ms."""

    def __init__(self, per_second: float, own_ms: int = 200) -> None:
        self.load, self.now, self.per_second, self.own_ms = Load(SHARE), 0, per_second, own_ms
        self.waiting: deque[tuple[str, str, int]] = deque()
        self.waits: list[int] = []
        self.refused = self.accepted = 0
        self._credit = 0.0
        self._numbers = iter(range(10**9))

    def open(self, tenant: str) -> int:
        return sum(1 for name, _, _ in self.waiting if name == tenant)

    def offer(self, tenant: str = "acme") -> int | None:
        wait = self.load.refusal_seconds(tenant, self.open(tenant), DEADLINE_MS, self.now)
        if wait is None:
            query = f"q{next(self._numbers)}"
            self.load.begun(tenant, query, self.open(tenant), self.now)
            self.waiting.append((tenant, query, self.now))
            self.accepted += 1
        else:
            self.refused += 1
        return wait

    def step(self) -> None:
        self.now += 10
        self._credit = min(self._credit + self.per_second / 100, 4.0)
        while self._credit >= 1 and self.waiting and self.now - self.waiting[0][2] >= self.own_ms:
            tenant, query, asked = self.waiting.popleft()
            self._credit -= 1
            self.waits.append(self.now - asked)
            self.load.ended(tenant, query, self.open(tenant), self.now)


def run(service: Service, offered_per_second: float, seconds: int) -> list[int]:
    """Offer so much for a while; return how many queries ended in each slice of ten seconds."""
    slices: list[int] = []
    due = 0.0
    for _ in range(seconds // 10):
        before = len(service.waits)
        for _ in range(1_000):
            due += offered_per_second / 100
            while due >= 1:
                service.offer()
                due -= 1
            service.step()
        slices.append(len(service.waits) - before)
    return slices


@pytest.mark.long
@pytest.mark.parametrize("times", [2, 4])
def test_at_several_times_the_capacity_the_goodput_stays_and_nothing_waits_beyond_its_time(times: int) -> None:
    service = Service(per_second=50)
    run(service, 40, 20)
    slices = run(service, 50 * times, 300)
    assert min(slices[2:]) >= 0.9 * 500
    assert max(service.waits) <= 6_000
    assert service.refused > 50 * (times - 1.2) * 280


def test_below_the_capacity_nobody_is_refused() -> None:
    service = Service(per_second=50)
    run(service, 45, 120)
    assert service.refused == 0


def test_a_burst_after_quiet_is_taken() -> None:
    service = Service(per_second=50)
    run(service, 1, 30)
    assert [service.offer() for _ in range(150)] == [None] * 150


def test_a_flood_out_of_nowhere_is_bounded_before_the_rate_is_known() -> None:
    service = Service(per_second=50)
    run(service, 1, 30)
    waits = [service.offer() for _ in range(1_000)]
    assert service.accepted < BURST_MAX + 40
    assert set(waits) == {None, 1}
    for _ in range(600):
        service.step()
    assert max(service.waits) < 5_000


def test_a_slow_model_is_not_taken_for_overload() -> None:
    service = Service(per_second=6.4, own_ms=10_000)
    run(service, 5, 300)
    assert service.refused == 0


@pytest.mark.long
def test_after_the_load_the_next_query_is_taken_at_once() -> None:
    service = Service(per_second=50)
    run(service, 200, 60)
    for _ in range(500):
        service.step()
    assert service.offer() is None


def test_where_nothing_ends_any_more_a_busy_tenant_is_refused_and_a_light_one_is_not() -> None:
    service = Service(per_second=0)
    for _ in range(BUSY_MIN + 10):
        service.offer()
    for _ in range(3_100):
        service.step()
    assert service.offer() == 60
    assert service.offer("light") is None


def test_a_share_is_refused_only_for_the_deadline_and_what_is_beyond_it_for_a_long_wait() -> None:
    service = Service(per_second=30)
    run(service, 20, 20)
    run(service, 120, 20)
    assert service.load.refusal_seconds("acme", SHARE, DEADLINE_MS, service.now) is None
    assert service.load.refusal_seconds("acme", 2 * SHARE, DEADLINE_MS, service.now) is not None
    assert service.load.refusal_seconds("acme", SHARE, 3_000, service.now) is not None


def test_what_is_being_admitted_counts_as_open() -> None:
    load = Load(SHARE)
    load.begun("acme", "alone", 1, 0)
    load.ended("acme", "alone", 0, 5)
    for number in range(1, 200):
        load.begun("acme", f"q{number}", 40, number * 10)
        load.ended("acme", f"q{number}", 40, number * 10 + 5)
    now = 2_100
    assert load.refusal_seconds("acme", 40, 60_000, now) is None
    with ExitStack() as admitting:
        for _ in range(1_000):
            admitting.enter_context(load.admitting("acme"))
        assert load.refusal_seconds("acme", 40, 60_000, now) is not None
        assert load.refusal_seconds("other", 40, 60_000, now) is None
    assert load.refusal_seconds("acme", 40, 60_000, now) is None
