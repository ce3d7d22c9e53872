"""Statements of several tenants share the places of an executor fairly, in seconds and in bytes, whoever comes with how many."""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from querybus_executor.sharing.fair_share import FairShare, Ticket
from querybus_executor.sharing.turns import Turns

COSTS = st.floats(0.01, 30.0)
TENANTS = st.sampled_from("abcde")


class Simulation:
    """A clock without time: work of given lengths runs on the places as the shares say."""

    def __init__(self, places: int, spare: int) -> None:
        self.share = FairShare(places, spare)
        self.now = 0.0
        self.running: list[tuple[float, int, Ticket, float]] = []
        self.costs: dict[Ticket, float] = {}
        self.arrived: dict[Ticket, float] = {}
        self.began: dict[Ticket, float] = {}
        self.order = count()

    def arrive(self, tenant: str, cost: float) -> Ticket:
        ticket = self.share.wait(tenant)
        self.costs[ticket], self.arrived[ticket] = cost, self.now
        self.begin()
        return ticket

    def begin(self) -> None:
        while (ticket := self.share.begin_next()) is not None:
            self.began[ticket] = self.now
            cost = self.costs[ticket]
            heapq.heappush(self.running, (self.now + cost, next(self.order), ticket, cost))

    def step(self) -> Ticket | None:
        """Let the work that ends next end."""
        if not self.running:
            return None
        self.now, _, ticket, cost = heapq.heappop(self.running)
        self.share.end(ticket, cost)
        self.begin()
        return ticket

    def held(self) -> Counter[str]:
        return Counter(ticket.tenant for _, _, ticket, _ in self.running)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 6),
    st.integers(0, 2),
    st.lists(st.tuples(TENANTS, COSTS, st.integers(0, 2)), min_size=1, max_size=80),
)
def test_places_are_never_exceeded_never_left_empty_and_everything_ends(
    places: int, spare: int, work: list[tuple[str, float, int]]
) -> None:
    world = Simulation(places, spare)
    for tenant, cost, steps in work:
        world.arrive(tenant, cost)
        for _ in range(steps):
            world.step()
        held = world.held()
        assert held.total() <= places + spare
        assert all(number <= places for number in held.values())
        if len(world.began) < len(world.costs):
            assert held.total() >= places
    while world.step() is not None:
        pass
    assert len(world.began) == len(work)
    assert not world.share._used, "a tenant without work is forgotten"  # pyright: ignore[reportPrivateUsage]


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 6), st.lists(COSTS, min_size=1, max_size=60), st.lists(COSTS, min_size=1, max_size=10))
def test_a_tenant_with_one_question_is_next_however_many_another_brought(
    places: int, flood: list[float], light: list[float]
) -> None:
    world = Simulation(places, spare=1)
    for cost in flood:
        world.arrive("flood", cost)
    for cost in light:
        ticket = world.arrive("light", cost)
        assert world.began.get(ticket) == world.now, "the spare place is for a tenant that holds none"
        while ticket in (item[2] for item in world.running):
            world.step()


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 6), st.lists(TENANTS.filter(lambda name: name != "a"), min_size=2, max_size=5, unique=True), COSTS
)
def test_tenants_that_come_into_a_full_executor_wait_for_one_end_each(
    places: int, others: list[str], cost: float
) -> None:
    world = Simulation(places, spare=0)
    for _ in range(40):
        world.arrive("a", cost)
    tickets = [world.arrive(tenant, cost) for tenant in others]
    for _ in range(len(others)):
        world.step()
    assert all(ticket in world.began for ticket in tickets)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 6), st.lists(st.tuples(COSTS, COSTS), min_size=150, max_size=150))
def test_long_work_gets_no_more_than_short_work_by_more_than_what_runs(
    places: int, costs: list[tuple[float, float]]
) -> None:
    world = Simulation(places, spare=0)
    for long, short in costs:
        world.arrive("long", long)
        world.arrive("short", short / 10)
    used = {"long": 0.0, "short": 0.0}
    worst = 0.0
    while len(world.began) < len(world.costs) and (ended := world.step()) is not None:
        used[ended.tenant] += world.costs[ended]
        waiting = Counter(ticket.tenant for ticket in world.costs if ticket not in world.began)
        if len(waiting) < 2:
            break
        worst = max(worst, used["long"] - used["short"])
    # Each place may run one long piece that had begun before the other tenant's turn.
    assert worst <= 30.0 * (places + 1)


async def test_a_waiter_that_leaves_takes_no_turn_and_one_that_was_given_its_turn_gives_it_back() -> None:
    turns = Turns(places=1)
    began: list[str] = []
    release = asyncio.Event()

    async def work(name: str, tenant: str) -> None:
        async with turns.turn(tenant) as cost:
            began.append(name)
            await release.wait()
            cost.used = 1.0

    first = asyncio.create_task(work("first", "a"))
    await asyncio.sleep(0)
    left, given_up = asyncio.create_task(work("left", "b")), asyncio.create_task(work("given", "c"))
    last = asyncio.create_task(work("last", "d"))
    await asyncio.sleep(0)
    assert turns.waiting == 3
    left.cancel()
    await asyncio.gather(left, return_exceptions=True)
    release.set()
    await first
    given_up.cancel()
    await asyncio.gather(given_up, last, return_exceptions=True)
    assert began[0] == "first"
    assert "last" in began
    assert turns.waiting == 0
