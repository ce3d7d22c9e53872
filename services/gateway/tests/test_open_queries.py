"""What this replica knows of open queries, who waits for them and whose turn it is."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querybus.core.subjects import EventAddress, EventName
from querybus_gateway.lifecycle.fair_queue import Turns
from querybus_gateway.lifecycle.in_flight import ENDED_KEPT_MAX, LATE_MS_MAX, UNRENDERED_MS_MAX, OpenQueries
from querybus_gateway.lifecycle.waiters import NOTES_MAX, Waiters


def at(query: str, event: EventName, tenant: str = "acme") -> EventAddress:
    return EventAddress(tenant, query, query, event)


def test_a_query_is_open_until_it_has_finished() -> None:
    queries = OpenQueries()
    queries.note(at("q", EventName.ASKED), 1, 100, 0)
    queries.note(at("q", EventName.DRAFTED), 2, 100, 0)
    assert queries.in_flight("acme") == 1
    queries.note(at("q", EventName.FINISHED), 3, 100, 0)
    assert queries.in_flight("acme") == 0
    assert len(queries) == 0


def test_only_what_is_past_its_deadline_and_not_concluded_is_due() -> None:
    queries = OpenQueries()
    queries.note(at("late", EventName.ASKED), 1, 100, 0)
    queries.note(at("later", EventName.ASKED), 2, 50, 0)
    queries.note(at("early", EventName.ASKED), 3, 900, 0)
    queries.note(at("done", EventName.ASKED), 4, 100, 0)
    queries.note(at("done", EventName.CONCLUDED), 5, 100, 0)
    assert [item.query for item in queries.due(500)] == ["later", "late"]


def test_a_conclusion_without_words_is_reported_after_a_long_while() -> None:
    queries = OpenQueries()
    queries.note(at("q", EventName.CONCLUDED), 1, 10 * UNRENDERED_MS_MAX, 1_000)
    assert queries.unrendered(1_000 + UNRENDERED_MS_MAX) == ()
    assert [item.query for item in queries.unrendered(1_001 + UNRENDERED_MS_MAX)] == ["q"]


def test_a_conclusion_without_words_is_reported_soon_after_its_deadline() -> None:
    queries = OpenQueries()
    queries.note(at("in time", EventName.CONCLUDED), 1, 2_000, 1_000)
    queries.note(at("expired", EventName.CONCLUDED), 2, 500, 2_500)
    assert queries.unrendered(2_000 + LATE_MS_MAX) == ()
    assert [item.query for item in queries.unrendered(2_001 + LATE_MS_MAX)] == ["in time"]
    assert [item.query for item in queries.unrendered(2_501 + LATE_MS_MAX)] == ["in time", "expired"]


def test_an_event_received_again_does_not_take_a_conclusion_back() -> None:
    queries = OpenQueries()
    queries.note(at("q", EventName.ASKED), 1, 100, 0)
    queries.note(at("q", EventName.CONCLUDED), 2, 100, 0)
    queries.note(at("q", EventName.ASKED), 1, 100, 0)
    assert queries.due(500) == ()


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["acme", "other"]), st.sampled_from(list(EventName))),
        max_size=40,
    )
)
def test_the_count_of_a_tenant_is_always_that_of_its_open_queries(events: list[tuple[str, str, EventName]]) -> None:
    queries = OpenQueries()
    is_open: dict[tuple[str, str], bool] = {}
    for n, (query, tenant, event) in enumerate(events, 1):
        queries.note(at(query, event, tenant), n, 100, 0)
        is_open[tenant, query] = event is not EventName.FINISHED
    for tenant in ("acme", "other"):
        assert queries.in_flight(tenant) == sum(value for key, value in is_open.items() if key[0] == tenant)


async def test_a_turn_comes_when_a_query_of_the_tenant_finishes() -> None:
    queries = OpenQueries()
    turns = Turns(queries, in_flight_max=1)
    queries.note(at("a", EventName.ASKED), 1, 100, 0)
    order: list[str] = []

    async def wait(name: str) -> None:
        async with turns.turn("acme", 5) as has_turn:
            assert has_turn
            order.append(name)

    waiting = [asyncio.create_task(wait(name)) for name in "xyz"]
    await asyncio.sleep(0)
    assert turns.waiting("acme") == 3
    assert turns.is_full("acme")
    async with turns.turn("other", 0) as has_turn:
        assert has_turn, "another tenant does not wait behind this one"
    queries.note(at("a", EventName.FINISHED), 2, 100, 0)
    for _ in range(3):
        turns.give()
        await asyncio.sleep(0.01)
    await asyncio.gather(*waiting)
    assert order == ["x", "y", "z"]
    assert not turns.is_full("acme")


async def test_a_turn_that_does_not_come_in_time_is_reported_and_leaves_no_place_taken() -> None:
    queries = OpenQueries()
    turns = Turns(queries, in_flight_max=1)
    queries.note(at("a", EventName.ASKED), 1, 100, 0)
    async with turns.turn("acme", 0.01) as has_turn:
        assert not has_turn
    assert turns.waiting("acme") == 0
    waiting = asyncio.create_task(turns.turn("acme", 5).__aenter__())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert turns.waiting("acme") == 0
    queries.note(at("a", EventName.FINISHED), 2, 100, 0)
    turns.give()
    assert not turns.is_full("acme")


async def test_a_notify_up_before_the_wait_is_not_lost() -> None:
    waiters = Waiters()
    with waiters.watch("acme", "q") as watch:
        watch.note(b"note")
        assert not await asyncio.wait_for(watch.wait(600), 60), "a note is no reason to look at the log"
        assert watch.notes() == (b"note",)
        waiters.notify("acme", "q", EventName.DRAFTED)
        assert await asyncio.wait_for(watch.wait(600), 60)
        assert watch.notes() == ()
        waiters.notify("acme", "other", EventName.FINISHED)
    assert len(waiters) == 0, "nothing stays behind a reader that left"


async def test_who_waits_for_the_end_alone_is_not_notified_before_it() -> None:
    waiters = Waiters()
    with waiters.watch("acme", "q", only_end=True) as watch:
        waiters.notify("acme", "q", EventName.CONCLUDED)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(watch.wait(60), 0.05)
        waiters.notify("acme", "q", EventName.FINISHED)
        assert await asyncio.wait_for(watch.wait(600), 60)


async def test_a_slow_reader_loses_its_oldest_notes() -> None:
    waiters = Waiters()
    with waiters.watch("acme", "q") as watch:
        for n in range(NOTES_MAX + 5):
            watch.note(str(n).encode())
        notes = watch.notes()
    assert len(notes) == NOTES_MAX
    assert notes[0] == b"5"


class Crowd:
    """Tenants whose queries begin when they are given a turn and finish when a test says so."""

    def __init__(self, share: int, total: int) -> None:
        self.queries = OpenQueries()
        self.turns = Turns(self.queries, share, total)
        self.begun: list[str] = []
        self._waiting: list[asyncio.Task[None]] = []

    async def ask(self, tenant: str, count: int) -> None:
        self._waiting += [asyncio.create_task(self._one(tenant)) for _ in range(count)]
        await asyncio.sleep(0)

    async def _one(self, tenant: str) -> None:
        async with self.turns.turn(tenant, 60) as has_turn:
            if has_turn:
                name = f"{tenant}{len(self.begun)}"
                self.queries.note(at(name, EventName.ASKED, tenant), len(self.begun) + 1, 10**15, 0)
                self.begun.append(tenant)

    async def finish(self, tenant: str) -> None:
        name = next(item.query for item in self.queries.due(10**16) if item.tenant == tenant)
        self.queries.note(at(name, EventName.FINISHED, tenant), 10**6, 0, 0)
        self.turns.give()
        for _ in range(3):
            await asyncio.sleep(0)

    async def close(self) -> None:
        for task in self._waiting:
            task.cancel()
        await asyncio.gather(*self._waiting, return_exceptions=True)


async def test_what_nobody_uses_is_lent_and_a_newcomer_has_its_share_at_once() -> None:
    crowd = Crowd(share=4, total=10)
    await crowd.ask("a", 30)
    assert crowd.queries.in_flight("a") == 10
    await crowd.ask("b", 30)
    assert crowd.queries.in_flight("b") == 4
    await crowd.close()


async def test_a_turn_goes_to_whoever_has_the_fewest_in_flight_and_round_robin_among_equals() -> None:
    crowd = Crowd(share=1, total=6)
    await crowd.ask("a", 30)
    await crowd.ask("b", 30)
    await crowd.ask("c", 30)
    assert [crowd.queries.in_flight(item) for item in "abc"] == [6, 1, 1]
    while crowd.queries.in_flight("a") > 2:
        await crowd.finish("a")
    # Two went without replacement, because all together had more than the total; two went to the others.
    assert [crowd.queries.in_flight(item) for item in "abc"] == [2, 2, 2]
    before = len(crowd.begun)
    for tenant in "abc" * 5:
        await crowd.finish(tenant)
    assert crowd.begun[before:] == list("abc" * 5)
    await crowd.close()


@pytest.mark.long
@given(st.lists(st.sampled_from("abc"), max_size=60), st.integers(1, 5), st.integers(0, 12))
@pytest.mark.requirement("002.53")
def test_turns_never_exceed_share_and_total_and_never_idle(order: list[str], share: int, more: int) -> None:
    async def run() -> None:
        crowd = Crowd(share, share + more)
        for tenant in "abc":
            await crowd.ask(tenant, 20)
        for tenant in order:
            if crowd.queries.in_flight(tenant):
                await crowd.finish(tenant)
            flying = {item: crowd.queries.in_flight(item) for item in "abc"}
            for name, count in flying.items():
                has_waiters = crowd.turns.waiting(name) > 0
                assert not (has_waiters and count < share), "a share is never kept back"
            assert sum(flying.values()) <= share + more + 2 * share
            if any(crowd.turns.waiting(item) for item in "abc"):
                assert sum(flying.values()) >= share + more, "what is free is lent"
        await crowd.close()

    asyncio.run(run())


def test_a_query_that_ended_before_its_first_event_was_acknowledged_is_not_open() -> None:
    queries = OpenQueries()
    asked = EventAddress("a", "t", "q", EventName.ASKED)
    queries.note(EventAddress("a", "t", "q", EventName.FINISHED), 7, 60_000, 0)
    queries.note(asked, 3, 60_000, 0)
    assert (queries.in_flight("a"), len(queries)) == (0, 0)
    # What is remembered for that is bounded.
    for number in range(ENDED_KEPT_MAX):
        queries.note(EventAddress("a", "t", f"q{number}", EventName.FINISHED), 8 + number, 60_000, 0)
    queries.note(asked, 3, 60_000, 0)
    assert queries.in_flight("a") == 1
