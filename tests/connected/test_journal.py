"""Reading logs: a query's, a thread's, and all of them as they grow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import nats.errors
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.connection import START_REQUESTS_SECONDS, Held
from querybus.bus.log.follower import Follower
from querybus.bus.log.journal import Entry, Journal
from querybus.bus.log.publish import BusTrouble, Stored, address_of
from querybus.core.messages import Outcome
from querybus.core.subjects import EventName, StageName
from querybus.ops.clock import system_clock
from tests.connected.queries import a_conclusion, a_draft, a_finish, append, ask, asked, new_id, sizes, until

pytestmark = pytest.mark.connected


@pytest.fixture
async def bus() -> AsyncIterator[EmbeddedNats]:
    async with EmbeddedNats(sync="2m", sizes=sizes()) as server:
        await server.migrate()
        yield server


@pytest.fixture
async def gateway(bus: EmbeddedNats) -> AsyncIterator[Client]:
    connection = await bus.connect(StageName.GATEWAY)
    yield connection
    await connection.close()


@pytest.fixture
def journal(gateway: Client) -> Journal:
    return Journal(Held(gateway))


async def end(gateway: Client, envelope, sequence: int) -> int:
    """Conclude and finish a query; return the last sequence."""
    conclusion = a_conclusion(envelope, Outcome.CANCELLED)
    stored = await append(gateway, conclusion, sequence)
    assert isinstance(stored, Stored)
    last = await append(gateway, a_finish(conclusion), stored.sequence)
    assert isinstance(last, Stored)
    return last.sequence


@pytest.mark.requirement("002.20", "002.61")
async def test_a_query_is_read_in_order_with_its_headers_and_bodies(bus, gateway, journal):
    before = system_clock()
    envelope, sequence = await ask(gateway)
    generator = await bus.connect(StageName.GENERATOR)
    await append(generator, a_draft(envelope), sequence)
    await generator.close()
    await ask(gateway)
    entries = await journal.query("acme", envelope.query_id)
    assert [entry.address.event for entry in entries] == [EventName.ASKED, EventName.DRAFTED]
    assert entries[0].sequence == sequence
    assert entries[0].message_id == f"{envelope.query_id}:asked:0"
    assert entries[1].envelope().body.draft.sql == "SELECT count(*) FROM customer"
    assert before - 1_000 <= entries[0].stored_at <= system_clock() + 1_000
    assert await journal.query_at(address_of(envelope)) == entries


async def test_an_unknown_query_or_another_tenants_is_empty(gateway, journal):
    envelope, _ = await ask(gateway)
    assert await journal.query("acme", new_id()) == ()
    assert await journal.query("other", envelope.query_id) == ()
    assert await journal.query("acme", "../> *") == ()


async def test_the_last_event_is_found_whatever_its_kind(gateway, journal):
    envelope, sequence = await ask(gateway)
    assert (await journal.last(address_of(envelope))).sequence == sequence
    last = await end(gateway, envelope, sequence)
    entry = await journal.last(address_of(envelope))
    assert entry is not None
    assert (entry.sequence, entry.address.event) == (last, EventName.FINISHED)
    assert entry.envelope().body.answer.outcome is Outcome.CANCELLED
    assert abs(entry.stored_at - system_clock()) < 5_000


async def test_large_events_are_read_in_several_batches(gateway, journal):
    thread = new_id()
    for _ in range(12):
        await ask(gateway, thread_id=thread, question="x" * 900_000)
    entries = await journal.thread("acme", thread, events=())
    assert len(entries) == 12
    assert sum(len(entry.data) for entry in entries) > 10_000_000


async def test_the_whole_log_has_every_event_behind_a_sequence(gateway, journal):
    envelope, sequence = await ask(gateway, question="x" * 900_000)
    await ask(gateway)
    sequences = [sequence]
    # The same kind of event again and again, as after retries, and more than one batch can hold.
    for _ in range(10):
        stored = await append(gateway, a_conclusion(envelope), sequences[-1])
        assert isinstance(stored, Stored)
        sequences.append(stored.sequence)
    everything = await journal.events("acme", envelope.query_id)
    assert [entry.sequence for entry in everything] == sequences
    assert [entry.sequence for entry in await journal.events("acme", envelope.query_id, sequences[4])] == sequences[5:]
    assert await journal.events("acme", envelope.query_id, sequences[-1]) == ()


async def test_a_thread_shows_its_newest_turns_up_to_a_sequence(gateway, journal):
    thread = new_id()
    ends: list[int] = []
    queries: list[str] = []
    for _ in range(5):
        envelope, sequence = await ask(gateway, thread_id=thread)
        ends.append(await end(gateway, envelope, sequence))
        queries.append(envelope.query_id)
    await ask(gateway)
    newest = await journal.thread("acme", thread, turns_max=2)
    assert [(entry.address.query, entry.address.event.value) for entry in newest] == [
        (query, event) for query in queries[3:] for event in ("asked", "concluded", "finished")
    ]
    early = await journal.thread("acme", thread, until_sequence=ends[1], events=(EventName.FINISHED,))
    assert [entry.address.query for entry in early if entry.address.event is EventName.FINISHED] == queries[:2]
    assert await journal.thread("acme", new_id()) == ()


async def test_a_follower_receives_every_event_once_and_in_order_without_bodies(gateway, journal):
    received: list[Entry] = []

    async def note(entry: Entry) -> None:
        received.append(entry)

    old, _ = await ask(gateway)
    follower = Follower(Held(gateway), note)
    await follower.start()
    await asyncio.wait_for(follower.caught_up(), 60)
    assert [entry.address.query for entry in received] == [old.query_id]
    envelope, sequence = await ask(gateway)
    await end(gateway, envelope, sequence)
    await until(lambda: len(received) == 4)
    assert [entry.sequence for entry in received] == [1, 2, 3, 4]
    assert [entry.address.event.value for entry in received] == ["asked", "asked", "concluded", "finished"]
    assert all(entry.data == b"" for entry in received)
    assert received[1].headers["Querybus-Deadline"] == str(envelope.deadline_at)
    assert await follower.ping() is None
    await follower.drain()
    assert gateway.last_error is None


@pytest.mark.parametrize("dropped", [2, 3])
async def test_a_follower_asks_again_for_its_consumer_where_a_cluster_without_a_leader_drops_the_request(
    gateway, journal, monkeypatch, dropped
):
    received: list[int] = []
    waited: list[float] = []
    request = gateway.request

    async def note(entry: Entry) -> None:
        received.append(entry.sequence)

    async def drops(subject: str, payload: bytes, *, timeout: float) -> Msg:
        waited.append(timeout)
        if len(waited) <= dropped:
            raise nats.errors.TimeoutError
        return await request(subject, payload, timeout=timeout)

    await ask(gateway)
    monkeypatch.setattr(gateway, "request", drops)
    follower = Follower(Held(gateway), note)
    if dropped == len(START_REQUESTS_SECONDS):
        with pytest.raises(BusTrouble, match="nothing answers"):
            await follower.start()
    else:
        await follower.start()
        await until(lambda: received == [1])
    await follower.drain()
    assert waited == list(START_REQUESTS_SECONDS)


async def test_a_follower_goes_on_where_it_was_after_a_restart_of_the_bus(bus, gateway, journal):
    received: list[int] = []

    async def note(entry: Entry) -> None:
        received.append(entry.sequence)

    await ask(gateway)
    follower = Follower(Held(gateway), note)
    await follower.start()
    await until(lambda: received == [1])
    await bus.restart(by_force=True)
    await until(lambda: gateway.is_connected)
    await append(gateway, asked(), 0)
    await until(lambda: received == [1, 2], 5)
    await follower.drain()


@pytest.mark.parametrize("event_comes", [True, False], ids=["an event", "a heartbeat"])
async def test_a_follower_whose_consumer_was_made_though_the_answer_came_late_is_ready_again(
    bus, gateway, journal, monkeypatch, event_comes
):
    received: list[int] = []
    late: list[str] = []
    request = gateway.request

    async def note(entry: Entry) -> None:
        received.append(entry.sequence)

    async def answers_late(subject: str, payload: bytes = b"", **options: Any) -> Msg:
        reply = await request(subject, payload, **options)
        if "CONSUMER.CREATE" in subject and not late:
            late.append(subject)
            raise nats.errors.TimeoutError
        return reply

    follower = Follower(Held(gateway), note)
    await follower.start()
    monkeypatch.setattr(gateway, "request", answers_late)
    await bus.restart(by_force=True)
    await until(lambda: bool(late))
    assert await follower.ping() is not None
    if event_comes:
        await append(gateway, asked(), 0)
        await until(lambda: received == [1], 5)
    async with asyncio.timeout(10):
        while await follower.ping() is not None:
            await asyncio.sleep(0.05)
    assert len(late) == 1
    await follower.drain()


async def test_a_follower_does_not_lose_an_event_that_its_reader_choked_on(gateway, journal):
    received: list[int] = []

    async def choke(entry: Entry) -> None:
        if entry.sequence == 2 and 0 not in received:
            received.append(0)
            raise RuntimeError
        received.append(entry.sequence)

    for _ in range(4):
        await ask(gateway)
    follower = Follower(Held(gateway), choke)
    await follower.start()
    await until(lambda: received == [1, 0, 2, 3, 4], 5)
    await follower.drain()


async def test_a_follower_keeps_up_with_many_events(gateway, journal):
    received: list[int] = []

    async def note(entry: Entry) -> None:
        received.append(entry.sequence)

    follower = Follower(Held(gateway), note)
    await follower.start()
    for _ in range(5):
        await asyncio.gather(*(ask(gateway) for _ in range(200)))
    await until(lambda: len(received) == 1_000)
    assert received == list(range(1, 1_001))
    await follower.drain()
