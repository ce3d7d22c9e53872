"""The stage on a real bus, with the real permissions: redelivery, heartbeats, drain, dead letters, cancel."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
from nats.aio.client import Client

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.log.publish import BusTrouble, Stored
from querybus.bus.log.sign import Signer, Verifier
from querybus.bus.stage_policy import ANNOUNCE_AFTER_SECONDS
from querybus.core.catalog import Dialect
from querybus.core.envelope import Envelope, approved, encode
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Approved, Asked, Origin, Outcome
from querybus.core.subjects import EventName, StageName, cancel_subject, event_subject, progress_subject
from tests.connected.queries import (
    Verb,
    a_conclusion,
    a_draft,
    a_finish,
    append,
    ask,
    asked,
    drafting,
    log_of,
    running,
    sizes,
    until,
)

pytestmark = pytest.mark.connected

GENERATOR = StageName.GENERATOR


@pytest.fixture
async def bus() -> AsyncIterator[EmbeddedNats]:
    quick = dict.fromkeys(StageName, 1.0)
    async with EmbeddedNats(sync="2m", sizes=sizes(ack_wait_seconds=quick)) as server:
        await server.migrate()
        yield server


@pytest.fixture
async def gateway(bus: EmbeddedNats) -> AsyncIterator[Client]:
    connection = await bus.connect(StageName.GATEWAY)
    yield connection
    await connection.close()


async def waiting(bus: EmbeddedNats, name: StageName = GENERATOR) -> int:
    """Return how many messages of a stage are not settled yet."""
    connection = await bus.connect("migrate")
    info = await connection.jetstream(timeout=30).consumer_info("QUERYBUS", name)
    await connection.close()
    return (info.num_pending or 0) + (info.num_ack_pending or 0)


async def dead_letters(bus: EmbeddedNats, stage: StageName) -> int:
    connection = await bus.connect("migrate")
    info = await connection.jetstream(timeout=30).stream_info(
        "QUERYBUS_DEAD", subjects_filter=f"querybus.v1.dead.{stage}"
    )
    await connection.close()
    return info.state.messages


async def test_an_event_becomes_the_next_one_and_is_settled(bus, gateway):
    async with running(bus, GENERATOR, drafting()) as worker:
        envelope, _ = await ask(gateway)
        await until(lambda: worker.metrics.value("querybus_stage_seconds_count", stage="generator") == 1)
        assert await log_of(gateway, envelope) == ["asked", "drafted"]
        assert await waiting(bus) == 0
        assert worker.metrics.value("querybus_permission_violations_total") == 0


@pytest.mark.requirement("000.1", "002.58", "card.1")
async def test_a_query_passes_three_stages_to_its_end(bus, gateway):
    async def conclude(envelope: Envelope[Any]) -> Any:
        return a_conclusion(envelope, stage=StageName.VALIDATOR)

    async def finish(envelope: Envelope[Any]) -> Any:
        return a_finish(envelope)

    async with (
        running(bus, GENERATOR, drafting()),
        running(bus, StageName.VALIDATOR, Verb(conclude)),
        running(bus, StageName.PRESENTER, Verb(finish), after_deadline="proceed", on_failure=a_finish) as presenter,
    ):
        envelope, _ = await ask(gateway)
        await until(
            lambda: (
                presenter.metrics.value("querybus_queries_total", outcome="replied", **{"pass": "first"}) == 0
                and presenter.metrics.value("querybus_queries_total", outcome="replied", **{"pass": "none"}) == 1
            )
        )
        assert await log_of(gateway, envelope) == ["asked", "drafted", "concluded", "finished"]


@pytest.mark.requirement("002.11")
async def test_a_message_of_a_worker_that_died_goes_to_another(bus, gateway):
    async def never(_: Envelope[Any]) -> Any:
        await asyncio.sleep(3_600)

    hanging, second = Verb(never), drafting()
    async with running(bus, GENERATOR, hanging, slots=1) as first:
        envelope, _ = await ask(gateway)
        await asyncio.wait_for(hanging.started.wait(), 60)
        # Dead, as far as the bus can say: no heartbeat, no settlement.
        await first.broker.connection.close()
        async with running(bus, GENERATOR, second):
            await until(lambda: bool(second.calls))
            await until(lambda: log_has(gateway, envelope, "drafted"))
            assert second.deliveries == [2]
            assert await waiting(bus) == 0


async def log_has(gateway: Client, envelope: Envelope[Any], event: str) -> bool:
    return event in await log_of(gateway, envelope)


async def test_a_handler_longer_than_ack_wait_runs_once(bus, gateway):
    verb = drafting(seconds=2.5)
    async with running(bus, GENERATOR, verb):
        envelope, _ = await ask(gateway)
        await until(lambda: log_has(gateway, envelope, "drafted"))
        assert verb.calls == [envelope.query_id]


async def test_a_crash_between_publish_and_ack_does_not_run_the_verb_again(bus, gateway):
    generator = await bus.connect(GENERATOR)
    envelope, sequence = await ask(gateway)
    inbox = generator.new_inbox()
    subscription = await generator.subscribe(inbox)
    await generator.publish("$JS.API.CONSUMER.MSG.NEXT.QUERYBUS.generator", b'{"batch":1}', reply=inbox)
    assert (await subscription.next_msg(2)).data == encode(envelope)
    assert isinstance(await append(generator, a_draft(envelope), sequence), Stored)
    await generator.close()
    verb = drafting()
    async with running(bus, GENERATOR, verb) as worker:
        await until(lambda: worker.metrics.value("querybus_redeliveries_total", stage="generator") == 1)
        await until(lambda: waiting_is_over(bus))
        assert verb.calls == []
        assert worker.metrics.value("querybus_fence_lost_total", stage="generator") == 0
    assert await log_of(gateway, envelope) == ["asked", "drafted"]


async def waiting_is_over(bus: EmbeddedNats) -> bool:
    return await waiting(bus) == 0


async def test_an_exception_is_tried_again_after_a_delay(bus, gateway):
    async def flaky(envelope: Envelope[Any]) -> Any:
        if len(verb.calls) == 1:
            raise RuntimeError("once")
        return a_draft(envelope)

    verb = Verb(flaky)
    loop = asyncio.get_running_loop()
    async with running(bus, GENERATOR, verb):
        began = loop.time()
        envelope, _ = await ask(gateway)
        await until(lambda: log_has(gateway, envelope, "drafted"))
        assert verb.deliveries == [1, 2]
        assert loop.time() - began >= 1.0


async def test_a_drain_finishes_what_runs_and_leaves_the_rest_on_the_bus(bus, gateway):
    verb = drafting(seconds=0.6)
    async with running(bus, GENERATOR, verb, slots=2) as worker:
        envelopes = [(await ask(gateway))[0] for _ in range(5)]
        await until(lambda: verb.running == 2)
        await worker.part.drain()
        assert verb.running == 0
        assert len(verb.calls) == 2
        done = [envelope for envelope in envelopes if await log_has(gateway, envelope, "drafted")]
        assert len(done) == 2
        assert await waiting(bus) == 3
        assert await worker.part.ping() == "draining"


async def test_work_that_outlives_the_drain_goes_to_another_worker_long_before_its_ack_wait():
    async def never(_: Envelope[Any]) -> Any:
        await asyncio.sleep(3_600)

    stuck, second = Verb(never), drafting()
    patient = sizes(ack_wait_seconds=dict.fromkeys(StageName, 600.0))
    async with EmbeddedNats(sync="2m", sizes=patient) as bus:
        await bus.migrate()
        gateway = await bus.connect(StageName.GATEWAY)
        async with running(bus, GENERATOR, stuck, drain_seconds=0.1):
            envelope, _ = await ask(gateway)
            await asyncio.wait_for(stuck.started.wait(), 60)
        async with running(bus, GENERATOR, second):
            await until(lambda: log_has(gateway, envelope, "drafted"))
            assert second.deliveries == [2]
        await gateway.close()


@pytest.mark.parametrize("body", [b"not json", b'{"envelope_version": "1.0"}', b""])
async def test_rubbish_dies_with_its_reason_and_is_not_delivered_again(bus, gateway, body):
    envelope = asked()
    subject = event_subject("acme", envelope.thread_id, envelope.query_id, EventName.ASKED)
    ack = await gateway.jetstream().publish(subject, body)
    verb = drafting()
    # A durable starts with what comes next, so the stage is there first.
    async with running(bus, GENERATOR, verb) as worker:
        await until(lambda: worker.metrics.value("querybus_dead_letters_total", stage="generator") == 1)
        assert verb.calls == []
        assert await waiting(bus) == 0
    reader = await bus.connect(GENERATOR)
    assert await dead_letters(bus, GENERATOR) == 1
    again = await reader.jetstream().publish(
        "querybus.v1.dead.generator", body, headers={"Nats-Msg-Id": f"dead-QUERYBUS-{ack.seq}"}
    )
    assert again.duplicate
    await reader.close()


async def test_an_envelope_in_anothers_subject_dies(bus, gateway):
    envelope = asked(tenant="other")
    subject = event_subject("acme", envelope.thread_id, envelope.query_id, EventName.ASKED)
    await gateway.jetstream().publish(subject, encode(envelope))
    verb = drafting()
    async with running(bus, GENERATOR, verb) as worker:
        await until(lambda: worker.metrics.value("querybus_dead_letters_total", stage="generator") == 1)
        assert verb.calls == []


@pytest.mark.requirement("card.14")
async def test_a_newer_version_waits_for_its_reader(bus, gateway):
    envelope = asked(envelope_version="9.0")
    await ask(gateway, envelope)
    verb = drafting()
    async with running(bus, GENERATOR, verb) as worker:
        await until(lambda: worker.metrics.value("querybus_redeliveries_total", stage="generator") >= 1)
        assert verb.calls == []
        assert await dead_letters(bus, GENERATOR) == 0
        assert await waiting(bus) == 1


def an_approval(envelope: Envelope[Any]) -> Envelope[Approved]:
    return approved(
        a_draft(envelope),
        Approved(
            sql="SELECT 1",
            dialect=Dialect.SQLITE,
            origin=Origin.MODEL,
            tables=(),
            row_limit=1,
            checked=("static",),
        ),
    )


@pytest.mark.requirement("000.20")
async def test_an_approval_forged_through_a_reply_subject_is_not_executed(bus, gateway):
    envelope, _ = await ask(gateway)
    verb = Verb(lambda item: forbidden())
    async with running(bus, StageName.EXECUTOR, verb, verify=Verifier(bus.verify_key)) as worker:
        # A service that was taken over stores the body where it may, and has the server copy it to where it may not.
        generator = await bus.connect(GENERATOR)
        allowed = event_subject("acme", envelope.thread_id, envelope.query_id, EventName.FAILED)
        forged = event_subject("acme", envelope.thread_id, envelope.query_id, EventName.APPROVED)
        stored = await generator.jetstream().publish(allowed, encode(an_approval(envelope)))
        request = json.dumps({"seq": stored.seq}).encode()
        await generator.publish("$JS.API.DIRECT.GET.QUERYBUS", request, reply=forged)
        await until(lambda: worker.metrics.value("querybus_dead_letters_total", stage="executor") == 1)
        assert verb.calls == []
        assert await log_of(gateway, envelope) == ["asked", "failed", "approved"]
        await generator.close()


async def forbidden() -> Any:
    raise AssertionError("the verb was called")


async def test_a_signed_approval_is_executed(bus, gateway):
    async def conclude(envelope: Envelope[Any]) -> Any:
        return a_conclusion(envelope, Outcome.ANSWERED, StageName.EXECUTOR)

    async def approve(envelope: Envelope[Any]) -> Any:
        return an_approval(envelope)

    async with (
        running(bus, GENERATOR, drafting()),
        running(bus, StageName.VALIDATOR, Verb(approve), sign=Signer(bus.signing_key)),
        running(bus, StageName.EXECUTOR, Verb(conclude), verify=Verifier(bus.verify_key)),
    ):
        envelope, _ = await ask(gateway)
        await until(lambda: log_has(gateway, envelope, "concluded"))


@pytest.mark.parametrize(("chosen", "is_signed"), [("crm", True), ("hidden", False)])
async def test_an_approval_is_signed_for_a_connection_that_the_caller_may_use_and_for_no_other(
    bus, gateway, chosen: str, is_signed: bool
):
    async def draft(envelope: Envelope[Any]) -> Any:
        draft = a_draft(envelope)
        return draft.with_body(draft.body, connection=chosen)

    async def approve(envelope: Envelope[Any]) -> Any:
        return an_approval(envelope).with_body(an_approval(envelope).body, connection=envelope.connection)

    async with (
        running(bus, GENERATOR, Verb(draft)),
        running(bus, StageName.VALIDATOR, Verb(approve), sign=Signer(bus.signing_key)) as worker,
    ):
        envelope, _ = await ask(gateway, body=Asked(connections=("crm", "shop")))
        if is_signed:
            await until(lambda: log_has(gateway, envelope, "approved"))
        else:
            await until(lambda: worker.metrics.value("querybus_redeliveries_total", stage="validator") >= 1)
            assert "approved" not in await log_of(gateway, envelope)


async def test_a_cancelled_query_stops_its_worker_which_publishes_nothing(bus, gateway):
    stopped = asyncio.Event()

    async def long(envelope: Envelope[Any]) -> Any:
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            stopped.set()
            raise

    verb = Verb(long)
    async with running(bus, GENERATOR, verb) as worker:
        envelope, sequence = await ask(gateway)
        await asyncio.wait_for(verb.started.wait(), 60)
        await append(gateway, a_conclusion(envelope, Outcome.CANCELLED), sequence, input_sequence=0)
        await gateway.publish(cancel_subject("acme", envelope.query_id))
        await asyncio.wait_for(stopped.wait(), 60)
        await until(lambda: waiting_is_over(bus))
        assert worker.metrics.value("querybus_stage_messages_total", stage="generator", outcome="cancelled") == 1
    assert await log_of(gateway, envelope) == ["asked", "concluded"]


async def test_a_worker_that_missed_the_hint_loses_its_fence(bus, gateway):
    verb = drafting(seconds=0.5)
    async with running(bus, GENERATOR, verb) as worker:
        envelope, sequence = await ask(gateway)
        await asyncio.wait_for(verb.started.wait(), 60)
        await append(gateway, a_conclusion(envelope, Outcome.CANCELLED), sequence, input_sequence=0)
        await until(lambda: worker.metrics.value("querybus_fence_lost_total", stage="generator") == 1)
        await until(lambda: waiting_is_over(bus))
    assert await log_of(gateway, envelope) == ["asked", "concluded"]


async def test_the_deadline_ends_a_query_whose_verb_hangs(bus, gateway):
    async def never(_: Envelope[Any]) -> Any:
        await asyncio.sleep(3_600)

    async with running(bus, GENERATOR, Verb(never)):
        envelope, _ = await ask(gateway, seconds=0.7)
        await until(lambda: log_has(gateway, envelope, "concluded"), 3)


@pytest.mark.requirement("002.58")
async def test_a_failure_reaches_recovery(bus, gateway):
    async def fail(_: Envelope[Any]) -> Any:
        return Failure.of(FailureCode.MODEL_UNAVAILABLE)

    async def conclude(envelope: Envelope[Any]) -> Any:
        return a_conclusion(envelope, Outcome.FAILED, StageName.RECOVERY)

    recovery = Verb(conclude)
    async with running(bus, GENERATOR, Verb(fail)), running(bus, StageName.RECOVERY, recovery):
        envelope, _ = await ask(gateway)
        await until(lambda: log_has(gateway, envelope, "concluded"))
        assert await log_of(gateway, envelope) == ["asked", "failed", "concluded"]


async def test_whoever_listens_receives_that_a_stage_has_started(bus, gateway):
    envelope = asked()
    subscription = await gateway.subscribe(progress_subject("acme", "ann", envelope.audience, envelope.query_id))
    await gateway.flush()
    async with running(bus, GENERATOR, drafting(seconds=2 * ANNOUNCE_AFTER_SECONDS)):
        _, sequence = await ask(gateway, envelope)
        word = json.loads((await subscription.next_msg(5)).data)
    assert (word["stage"], word["state"], word["n"]) == ("generator", "started", sequence)


async def test_work_goes_on_after_the_bus_restarts(bus, gateway):
    verb = drafting()
    async with running(bus, GENERATOR, verb) as worker:
        first, _ = await ask(gateway)
        await until(lambda: log_has(gateway, first, "drafted"))
        await bus.restart(by_force=True)
        await until(lambda: worker.broker.connection.is_connected and gateway.is_connected)
        second = asked()
        await append(gateway, second, 0)
        await until(lambda: log_has_or_not_yet(gateway, second, "drafted"), 10)
        assert await worker.part.ping() is None


async def log_has_or_not_yet(gateway: Client, envelope: Envelope[Any], event: str) -> bool:
    try:
        return await log_has(gateway, envelope, event)
    except BusTrouble:
        return False


async def test_nothing_is_lost_or_done_twice_when_bus_and_worker_are_killed_under_work(bus, gateway):
    async def think(envelope: Envelope[Any]) -> Any:
        await asyncio.sleep(0.02)
        return a_draft(envelope)

    envelopes = [asked(seconds=60) for _ in range(300)]

    async def publish_all() -> None:
        for envelope in envelopes:
            await append(gateway, envelope, 0, until_ms=envelope.deadline_at)
            await asyncio.sleep(0.005)

    async with running(bus, GENERATOR, Verb(think), slots=8), running(bus, GENERATOR, Verb(think), slots=8) as victim:
        publishing = asyncio.create_task(publish_all())
        await asyncio.sleep(0.3)
        await victim.broker.connection.close()
        await bus.restart(by_force=True)
        await asyncio.sleep(1.0)
        assert not publishing.done()
        await bus.restart(by_force=True)
        await publishing
        for envelope in envelopes:
            await until(partial(log_has_or_not_yet, gateway, envelope, "drafted"), 20)
        await until(lambda: waiting_is_over(bus), 20)
    info = await gateway.jetstream().stream_info("QUERYBUS")
    assert info.state.messages == 2 * len(envelopes)
