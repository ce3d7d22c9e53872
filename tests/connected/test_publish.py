"""Fencing and duplicates on a real bus: a log is linear, and an event is on it once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from nats.aio.client import Client

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.admin.migrate import migrate
from querybus.bus.log.publish import BusTrouble, Duplicate, FenceLost, Stored, TooLarge
from querybus.bus.log.sign import Signer, Verifier, generate_keys
from querybus.core.ids import derived_id
from querybus.core.messages import Confirmed, Outcome
from querybus.core.subjects import StageName
from querybus.core.topology import EVENTS, topology
from querybus.ops.clock import system_clock
from tests.connected.queries import a_conclusion, a_draft, append, ask, asked, log_of, new_id, sizes
from tests.support.full_streams import without_space

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
async def generator(bus: EmbeddedNats) -> AsyncIterator[Client]:
    connection = await bus.connect(StageName.GENERATOR)
    yield connection
    await connection.close()


async def test_of_twenty_racers_exactly_one_wins(gateway, generator):
    envelope, sequence = await ask(gateway)
    answers = await asyncio.gather(
        *(
            append(
                generator, a_draft(envelope) if racer % 2 else a_conclusion(envelope), sequence, input_sequence=racer
            )
            for racer in range(20)
        )
    )
    assert [type(answer) for answer in answers].count(Stored) == 1
    assert [type(answer) for answer in answers].count(FenceLost) == 19
    assert len(await log_of(gateway, envelope)) == 2


async def test_the_same_event_twice_is_stored_once_and_known_as_ones_own(gateway, generator):
    envelope, sequence = await ask(gateway)
    first = await append(generator, a_draft(envelope), sequence)
    second = await append(generator, a_draft(envelope), sequence)
    assert isinstance(first, Stored)
    assert second == Duplicate(first.sequence)
    assert await log_of(gateway, envelope) == ["asked", "drafted"]


async def test_the_same_event_after_the_log_went_on_is_lost(gateway, generator):
    envelope, sequence = await ask(gateway)
    stored = await append(generator, a_draft(envelope), sequence)
    assert isinstance(stored, Stored)
    validator_conclusion = a_conclusion(a_draft(envelope), Outcome.CANCELLED)
    assert isinstance(await append(gateway, validator_conclusion, stored.sequence), Stored)
    assert await append(generator, a_conclusion(envelope), sequence) == FenceLost()


async def test_a_query_of_a_derived_id_begins_once_in_its_thread(gateway):
    envelope, sequence = await ask(gateway, query_id=derived_id("key", "acme", "ann", new_id()))
    assert await append(gateway, envelope, 0) == Duplicate(sequence)
    # Another first event has another id: here it is the fence alone that refuses.
    confirmed = envelope.with_body(Confirmed(asking_query_id=new_id(), sql_sha256="0" * 64, rows_affected_max=0))
    assert await append(gateway, confirmed, 0) == FenceLost()
    assert await log_of(gateway, envelope) == ["asked"]


async def test_a_later_event_cannot_slip_into_another_thread(gateway, generator):
    envelope, sequence = await ask(gateway)
    elsewhere = a_draft(envelope).model_copy(update={"thread_id": new_id()})
    assert await append(generator, elsewhere, sequence) == FenceLost()
    assert await log_of(gateway, envelope) == ["asked"]


async def test_an_approval_carries_a_signature_over_what_was_stored(gateway, bus):
    private, public = generate_keys()
    envelope, sequence = await ask(gateway)
    await append(gateway, a_conclusion(envelope), sequence, sign=Signer(private))
    last = await gateway.jetstream().get_msg("QUERYBUS", seq=sequence + 1)
    assert last.headers is not None
    assert last.data is not None
    assert last.subject is not None
    signature = last.headers["Querybus-Signature"]
    assert Verifier(public).verify(last.subject, last.headers["Nats-Msg-Id"], last.data, signature)


async def test_headers_report_event_deadline_tenant_and_version(gateway):
    envelope, sequence = await ask(gateway, tenant="Ärger & Söhne")
    stored = await gateway.jetstream().get_msg("QUERYBUS", seq=sequence)
    assert stored.headers is not None
    assert stored.headers["Querybus-Event"] == "asked"
    assert stored.headers["Querybus-Deadline"] == str(envelope.deadline_at)
    assert stored.headers["Querybus-Tenant"].startswith("x-")
    assert stored.headers["Querybus-Version"] == "1.0"


async def test_an_event_over_the_limit_says_so_at_once(gateway):
    with pytest.raises(TooLarge):
        await append(gateway, asked(question="x" * 1_100_000), 0)


async def test_a_full_stream_is_distinguished_from_a_silent_one():
    async with EmbeddedNats(sync="2m") as bus:
        migrator = await bus.connect("migrate")
        await migrate(migrator, without_space(topology(bus.sizes), EVENTS, 65_536))
        await migrator.close()
        gateway = await bus.connect(StageName.GATEWAY)

        async def flood() -> None:
            for _ in range(20):
                await append(gateway, asked(question="x" * 8_000), 0)

        with pytest.raises(BusTrouble) as trouble:
            await flood()
        assert trouble.value.full
        await gateway.close()


async def test_a_publish_waits_for_a_bus_that_restarts_and_is_stored_once(bus, gateway):
    envelope = asked()
    bus.kill()
    publishing = asyncio.create_task(append(gateway, envelope, 0, until_ms=system_clock() + 15_000))
    await asyncio.sleep(0.3)
    await bus.start()
    assert isinstance(await publishing, Stored | Duplicate)
    assert await log_of(gateway, envelope) == ["asked"]


async def test_a_publish_gives_up_when_its_time_is_over(bus, gateway):
    bus.kill()
    with pytest.raises(BusTrouble) as trouble:
        await append(gateway, asked(), 0, until_ms=system_clock() + 300)
    assert not trouble.value.full
    await bus.start()
    # A client that is closed while it connects again leaves a task behind that cannot be cancelled.
    async with asyncio.timeout(60):
        while not gateway.is_connected:
            await asyncio.sleep(0.05)
