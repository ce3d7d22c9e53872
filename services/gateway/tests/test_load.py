"""Claims on overload: what would end in time is let in, what would not is refused at once, and it heals.

The services are a simulation with a clock of its own: so many slots, each of which takes as long as one query takes.
Nothing ends before that time is over, so each load begins with a fill in which nothing can be measured.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter, deque
from contextlib import ExitStack

import pytest

from querybus_gateway.lifecycle.load import BUSY_MIN, STALLED_MS, UNMEASURED_MAX, Load, Refusal

DEADLINE_MS = 60_000
STEP_MS = 10


class Service:
    """Slots that take the waiting queries first come first served, each for as long as a query takes."""

    def __init__(self, slots: int, own_ms: int) -> None:
        self.dice = random.Random(1)
        self.load = Load(slots, chance=self.dice.random)
        self.slots, self.own_ms, self.now = slots, own_ms, 0
        self.waiting: deque[tuple[str, str, int]] = deque()
        self.running: list[tuple[int, str, str, int]] = []
        self.opened: Counter[str] = Counter()
        self.waits: list[int] = []
        self.in_time = self.late = 0
        self.is_stopped = False
        self._numbers = iter(range(10**9))

    def offer(self, tenant: str = "acme", deadline_ms: int = DEADLINE_MS) -> Refusal | None:
        refusal = self.load.refusal(tenant, self.opened[tenant], deadline_ms, self.now)
        if refusal is None:
            query = f"q{next(self._numbers)}"
            self.load.begun(tenant, query, self.opened[tenant], self.now)
            self.opened[tenant] += 1
            self.waiting.append((tenant, query, self.now))
        return refusal

    def step(self) -> int:
        """Let a step of time pass; return how many queries ended in it."""
        self.now += STEP_MS
        ended = 0
        while self.running and self.running[0][0] <= self.now and not self.is_stopped:
            _, tenant, query, asked = heapq.heappop(self.running)
            self.opened[tenant] -= 1
            self.load.ended(tenant, query, self.opened[tenant], self.now)
            self.waits.append(self.now - asked)
            in_time = self.now - asked <= DEADLINE_MS
            self.in_time, self.late = self.in_time + in_time, self.late + (not in_time)
            ended += 1
        while self.waiting and len(self.running) < self.slots:
            tenant, query, asked = self.waiting.popleft()
            heapq.heappush(self.running, (self.now + self.own_ms, tenant, query, asked))
        return ended

    def rest(self) -> None:
        """Let everything end."""
        while self.waiting or self.running:
            self.step()


def run(service: Service, per_second: float, seconds: int, *, obeys: bool = False) -> list[int]:
    """Offer so much for a while; return how many ended in time in each ten seconds. Who `obeys` comes back when asked to."""
    slices: list[int] = []
    due = 0.0
    returning: list[int] = []
    for step in range(seconds * 1_000 // STEP_MS):
        if step % (10_000 // STEP_MS) == 0:
            slices.append(-service.in_time)
        due += per_second * STEP_MS / 1_000
        offers = int(due)
        due -= offers
        while returning and returning[0] <= service.now:
            heapq.heappop(returning)
            offers += 1
        for _ in range(offers):
            if (refusal := service.offer()) is not None and obeys:
                heapq.heappush(returning, service.now + 1_000 * refusal.seconds)
        service.step()
        if (step + 1) % (10_000 // STEP_MS) == 0:
            slices[-1] += service.in_time
    return slices


def closed_loop(service: Service, callers: int, seconds: int) -> int:
    """Let so many callers ask again as soon as they are answered; return how many requests were refused."""
    refused, idle = 0, callers
    for _ in range(seconds * 1_000 // STEP_MS):
        offers, idle = idle, 0
        for _ in range(offers):
            if service.offer() is not None:
                refused, idle = refused + 1, idle + 1
        idle += service.step()
    return refused


SERVICES = [(10, 10), (14, 280), (64, 2_000), (64, 10_000)]


@pytest.mark.long
@pytest.mark.parametrize("obeys", [False, True], ids=["who does not obey", "who obeys"])
@pytest.mark.parametrize("times", [2, 4])
@pytest.mark.parametrize(("slots", "own_ms"), SERVICES[1:])
def test_at_several_times_the_capacity_every_ten_seconds_reach_nine_tenths_of_it(
    slots: int, own_ms: int, times: int, obeys: bool
) -> None:
    service = Service(slots, own_ms)
    capacity = slots * 1_000 / own_ms
    slices = run(service, capacity * times, 300, obeys=obeys)
    # Nothing can end before the first is done.
    fill = 1 + own_ms // 10_000
    assert min(slices[fill:]) >= 0.9 * capacity * 10
    assert service.late == 0


@pytest.mark.long
@pytest.mark.parametrize("callers", [64, 128])
@pytest.mark.parametrize(("slots", "own_ms"), SERVICES)
def test_callers_who_wait_for_their_answers_are_never_refused(slots: int, own_ms: int, callers: int) -> None:
    service = Service(slots, own_ms)
    assert closed_loop(service, callers, 120) == 0


@pytest.mark.parametrize("size", [200, 500])
@pytest.mark.parametrize(("slots", "own_ms"), SERVICES)
@pytest.mark.parametrize("is_known", [False, True], ids=["after a start", "after calm times"])
def test_a_burst_that_ends_within_half_of_its_deadline_is_taken(
    slots: int, own_ms: int, size: int, is_known: bool
) -> None:
    service = Service(slots, own_ms)
    if is_known:
        for _ in range(20):
            service.offer()
            service.rest()
    refused = sum(service.offer() is not None for _ in range(size))
    service.rest()
    fits = slots * DEADLINE_MS / 2 / own_ms >= size
    # Of a model of ten seconds nothing is known before its first answer: what is too much then ends late.
    assert (refused == 0) == (fits or not is_known)
    assert service.late == 0 or not (fits or is_known)


def test_below_the_capacity_nobody_is_refused() -> None:
    service = Service(14, 280)
    run(service, 45, 120)
    assert len(service.waits) >= 45 * 119


def test_a_flood_out_of_nowhere_is_bounded_before_anything_is_known() -> None:
    service = Service(14, 280)
    refusals = [service.offer() for _ in range(3_000)]
    assert refusals.count(None) == UNMEASURED_MAX
    assert None not in refusals[UNMEASURED_MAX:]


def test_after_the_load_the_next_query_is_taken_at_once() -> None:
    service = Service(14, 280)
    run(service, 200, 60)
    service.rest()
    assert service.offer() is None


def test_while_nothing_ends_for_a_moment_nobody_is_refused_and_afterwards_the_services_are_said_to_be_in_trouble() -> (
    None
):
    service = Service(14, 280)
    run(service, 20, 30)
    service.is_stopped = True
    for _ in range(2 * BUSY_MIN):
        assert service.offer() is None
    for _ in range(STALLED_MS // STEP_MS):
        service.step()
    service.step()
    refusal = service.offer()
    assert refusal is not None
    assert (refusal.stalled, refusal.seconds) == (True, 2)
    assert service.offer("light") is None
    service.is_stopped = False
    for _ in range(100):
        service.step()
    assert service.offer() is None


def test_what_would_not_end_within_half_of_a_short_deadline_is_refused() -> None:
    service = Service(14, 280)
    run(service, 45, 20)
    for _ in range(200):
        service.offer()
    assert service.offer(deadline_ms=60_000) is None
    assert service.offer(deadline_ms=5_000) is not None


def test_the_time_to_wait_grows_with_those_who_were_refused_lately_and_is_spread() -> None:
    service = Service(14, 280)
    run(service, 200, 60)
    first = service.offer()
    seconds = [refusal.seconds for _ in range(1_000) if (refusal := service.offer()) is not None]
    assert first is not None
    assert len(set(seconds)) > 10
    assert max(seconds) <= DEADLINE_MS / 1_000
    assert sum(seconds[-100:]) > sum(seconds[:100])


def test_what_is_being_admitted_counts_as_open_until_it_is_noted() -> None:
    service = Service(14, 280)
    run(service, 45, 20)
    service.rest()
    for _ in range(40):
        service.offer()
    load, now = service.load, service.now
    assert load.refusal("acme", 40, DEADLINE_MS, now) is None
    with ExitStack() as admitting:
        named = [admitting.enter_context(load.admitting("acme")) for _ in range(3_000)]
        assert load.refusal("acme", 40, DEADLINE_MS, now) is not None
        assert load.refusal("other", 40, DEADLINE_MS, now) is None
        for number, name in enumerate(named):
            name(f"n{number}")
            load.noted("acme", f"n{number}")
        assert load.refusal("acme", 40, DEADLINE_MS, now) is None
    assert load.refusal("acme", 40, DEADLINE_MS, now) is None
