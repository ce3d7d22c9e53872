"""A query is found and begins once without a walk through all threads of its tenant."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from nats.aio.client import Client

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.connection import Held
from querybus.bus.log.journal import Journal
from querybus.bus.log.publish import BusTrouble, FenceLost, Stored, address_of
from querybus.bus.log.query_threads import claim, thread_of
from querybus.core.ids import derived_id
from querybus.core.subjects import StageName
from querybus.ops.clock import system_clock
from querybus.ops.trace import Tracing
from querybus_gateway.bus.stores import FencedEvents
from tests.connected.queries import append, ask, asked, new_id, sizes

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


async def begin(gateway: Client, envelope):
    events = FencedEvents(Held(gateway), clock=system_clock, tracing=Tracing(StageName.GATEWAY))
    return await events.publish(envelope, input_sequence=0, expected_last_sequence=0, until_ms=system_clock() + 20_000)


async def test_a_later_turn_is_found_by_its_id_alone(gateway):
    first, _ = await ask(gateway)
    turn = asked(thread_id=first.thread_id)
    assert isinstance(await begin(gateway, turn), Stored)
    journal = Journal(Held(gateway))
    assert [entry.envelope().query_id for entry in await journal.query("acme", turn.query_id)] == [turn.query_id]
    assert [entry.envelope().query_id for entry in await journal.events("acme", turn.query_id)] == [turn.query_id]


async def test_a_first_question_of_a_drawn_id_needs_no_note_of_its_thread(gateway):
    query = new_id()
    first = asked(query_id=query, thread_id=query)
    assert isinstance(await begin(gateway, first), Stored)
    assert await thread_of(Held(gateway), "acme", query) is None


async def test_a_derived_id_begins_in_one_thread_only(gateway):
    query = derived_id("key", "acme", "ana", "k")
    first, second = asked(query_id=query, thread_id=new_id()), asked(query_id=query, thread_id=new_id())
    assert isinstance(await begin(gateway, first), Stored)
    assert await begin(gateway, second) == FenceLost()
    assert await Journal(Held(gateway)).query("acme", query) != ()


async def test_a_claim_that_was_not_followed_by_the_event_is_claimed_again(gateway):
    query = derived_id("key", "acme", "ana", "k")
    first = asked(query_id=query, thread_id=new_id())
    assert await claim(Held(gateway), address_of(first))
    assert isinstance(await begin(gateway, first), Stored)


async def test_a_log_in_full_is_the_leaders(gateway):
    first, _ = await ask(gateway)
    journal = Journal(Held(gateway))
    assert len(await journal.query_in_full("acme", first.query_id, first.thread_id)) == 1
    assert await journal.query_in_full("acme", new_id(), first.thread_id) == ()


async def test_a_replica_that_lags_is_not_believed(gateway, monkeypatch):
    first, _ = await ask(gateway)
    journal = Journal(Held(gateway))

    async def behind(*_: object) -> tuple[()]:
        return ()

    monkeypatch.setattr(journal, "_last_of", behind)
    with pytest.raises(BusTrouble, match="lags behind"):
        await journal.query_in_full("acme", first.query_id, first.thread_id)


async def test_appending_to_a_log_needs_no_claim(gateway):
    first, sequence = await ask(gateway)
    assert isinstance(
        await append(gateway, asked(query_id=first.query_id, thread_id=first.thread_id), sequence), Stored
    )
