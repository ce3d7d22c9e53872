"""`migrate` makes the bus what the table says, again and again, and takes nothing away; services look before they start."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from nats.aio.client import Client

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.admin.migrate import MigrateError, TopologyError, assert_topology, migrate
from querybus.bus.connection import Held
from querybus.bus.log.journal import Journal
from querybus.core.subjects import EventName, StageName
from querybus.core.topology import Sizes, Topology, topology
from querybus_cli.operations.setup import migrate_bus, stream_sizes

from .queries import a_draft, append, ask

pytestmark = pytest.mark.connected


@pytest.fixture
async def bus() -> AsyncGenerator[EmbeddedNats]:
    async with EmbeddedNats(["acme"], sync="2m") as server:
        yield server


@pytest.fixture
async def migrator(bus: EmbeddedNats) -> AsyncGenerator[Client]:
    connection = await bus.connect("migrate")
    yield connection
    await connection.close()


async def config(connection: Client, kind: str, name: str) -> dict[str, Any]:
    answer = await connection.request(f"$JS.API.{kind}.INFO.{name}", b"", timeout=30)
    return json.loads(answer.data)["config"]


def without(table: Topology, name: str) -> Topology:
    return dataclasses.replace(
        table, consumers=tuple(consumer for consumer in table.consumers if consumer.name != name)
    )


async def test_the_first_run_makes_everything_and_the_second_changes_nothing(bus: EmbeddedNats) -> None:
    table = topology(tenants=("acme",))
    made = await bus.migrate()
    assert len(made) == len(table.streams) + len(table.buckets) + len(table.consumers)
    assert all(line.endswith(": created") for line in made)
    assert await bus.migrate() == ()


async def test_the_streams_are_what_the_plan_says(bus: EmbeddedNats, migrator: Client) -> None:
    await bus.migrate()
    events = await config(migrator, "STREAM", "QUERYBUS")
    assert events["subjects"] == [f"querybus.v1.event.*.*.*.{event}" for event in EventName]
    assert (events["retention"], events["storage"], events["discard"]) == ("limits", "file", "old")
    assert events["max_age"] == 90 * 86_400 * 10**9
    assert events["allow_msg_ttl"] is True
    assert events["duplicate_window"] == 600 * 10**9
    assert events["allow_direct"] is True
    submit = await config(migrator, "STREAM", "QUERYBUS_SUBMIT")
    assert (submit["retention"], submit["discard"]) == ("workqueue", "new")
    validator = await config(migrator, "CONSUMER", "QUERYBUS.validator")
    assert validator["filter_subject"] == "querybus.v1.event.*.*.*.drafted"
    confirmed = await config(migrator, "CONSUMER", "QUERYBUS.validator-confirmed")
    assert confirmed["filter_subject"] == "querybus.v1.event.*.*.*.confirmed"
    assert (validator["deliver_policy"], validator["ack_policy"]) == ("new", "explicit")
    assert (validator["ack_wait"], validator["max_deliver"], validator["max_waiting"]) == (15 * 10**9, 5, 512)
    assert "deliver_subject" not in validator
    tenant = await config(migrator, "CONSUMER", "QUERYBUS_SUBMIT.acme")
    assert tenant["filter_subject"] == "querybus.v1.submit.acme.*"


async def test_an_operator_chooses_how_long_and_how_much_is_kept(bus: EmbeddedNats, migrator: Client) -> None:
    await bus.migrate()
    sizes = stream_sizes(1, events_gib=0.5, events_days=7)
    changed = await migrate_bus(bus.url, bus.password("migrate"), ("acme",), sizes)
    assert any(text.startswith("stream QUERYBUS: changed max_age") for text in changed)
    result = await config(migrator, "STREAM", "QUERYBUS")
    assert (result["max_age"], result["max_bytes"]) == (7 * 86_400 * 10**9, int(0.5 * 2**30))
    assert (await config(migrator, "STREAM", "KV_querybus_threads"))["max_age"] == 7 * 86_400 * 10**9
    for stage in StageName:
        connection = await bus.connect(stage)
        await assert_topology(connection, stage, tenants=("acme",))
        await connection.close()


async def test_work_between_beginning_and_end_is_kept_three_days_the_rest_as_long_as_the_log(
    bus: EmbeddedNats,
) -> None:
    await bus.migrate()
    gateway, generator = await bus.connect("gateway"), await bus.connect("generator")
    first, sequence = await ask(gateway)
    await append(generator, a_draft(first), sequence)
    entries = await Journal(Held(gateway)).events(first.tenant, first.query_id)
    assert [entry.headers.get("Nats-TTL") for entry in entries] == [None, "259200s"]
    # The server keeps to it.
    await generator.jetstream().publish(entries[1].address.subject, b"{}", headers={"Nats-TTL": "1s"})
    async with asyncio.timeout(60):
        while len(await Journal(Held(gateway)).events(first.tenant, first.query_id)) > 2:
            await asyncio.sleep(0.1)
    await gateway.close()
    await generator.close()


async def test_a_log_of_the_version_before_becomes_one_whose_messages_say_how_long_they_are_kept(
    bus: EmbeddedNats, migrator: Client
) -> None:
    before = {
        "name": "QUERYBUS",
        "subjects": [f"querybus.v1.event.*.*.*.{event}" for event in EventName],
        "retention": "limits",
        "storage": "file",
        "discard": "new",
        "max_age": 72 * 3_600 * 10**9,
        "max_bytes": 2**30,
        "duplicate_window": 600 * 10**9,
        "allow_direct": True,
        "num_replicas": 1,
    }
    await migrator.request("$JS.API.STREAM.CREATE.QUERYBUS", json.dumps(before).encode(), timeout=30)
    gateway = await bus.connect("gateway")
    kept, _ = await ask(gateway)
    changed = await bus.migrate()
    (line,) = (line for line in changed if line.startswith("stream QUERYBUS:"))
    assert all(word in line for word in ("allow_msg_ttl", "discard", "max_age"))
    assert len(await Journal(Held(gateway)).events(kept.tenant, kept.query_id)) == 1
    await gateway.close()


async def test_changed_sizes_are_updated_and_what_the_table_does_not_name_stays(
    bus: EmbeddedNats, migrator: Client
) -> None:
    await bus.migrate()
    events = await config(migrator, "STREAM", "QUERYBUS")
    events["metadata"] = {"owner": "operations"}
    await migrator.request("$JS.API.STREAM.UPDATE.QUERYBUS", json.dumps(events).encode(), timeout=30)
    table = topology(
        dataclasses.replace(
            bus.sizes, events_bytes_max=2**28, max_ack_pending=99, ack_wait_seconds={StageName.EXECUTOR: 3.0}
        ),
        ("acme",),
    )
    changes = await migrate(migrator, table)
    assert "stream QUERYBUS: changed max_bytes" in changes
    assert "consumer QUERYBUS.executor: changed ack_wait, max_ack_pending" in changes
    events = await config(migrator, "STREAM", "QUERYBUS")
    assert events["max_bytes"] == 2**28
    assert events["metadata"]["owner"] == "operations"
    assert (await config(migrator, "CONSUMER", "QUERYBUS.executor"))["ack_wait"] == 3 * 10**9
    assert await migrate(migrator, table) == ()


async def test_an_update_moves_no_durable_and_deletes_nothing(bus: EmbeddedNats, migrator: Client) -> None:
    await bus.migrate()
    gateway, generator = await bus.connect("gateway"), await bus.connect("generator")
    await gateway.jetstream().publish("querybus.v1.event.acme.t1.q1.asked", b"waiting")
    await migrate(migrator, topology(dataclasses.replace(bus.sizes, max_ack_pending=50), ("acme",)))
    # A table without the stage takes nothing away either.
    await migrate(migrator, without(topology(bus.sizes, ("acme",)), "generator"))
    pull = await generator.jetstream().pull_subscribe_bind(durable="generator", stream="QUERYBUS")
    (message,) = await pull.fetch(1, timeout=30)
    assert message.data == b"waiting"
    await gateway.close()
    await generator.close()


async def test_a_durable_made_late_starts_with_what_comes_next_or_where_it_is_reported(
    bus: EmbeddedNats, migrator: Client
) -> None:
    table = topology(bus.sizes, ("acme",))
    await migrate(migrator, without(without(table, "generator"), "gateway"))
    gateway, generator = await bus.connect("gateway"), await bus.connect("generator")
    js = gateway.jetstream()
    for number in (1, 2, 3):
        await js.publish(f"querybus.v1.event.acme.t1.q{number}.asked", b"old")
        await js.publish(f"querybus.v1.event.acme.t1.q{number}.finished", b"old")
    await migrate(migrator, without(table, "gateway"))
    await js.publish("querybus.v1.event.acme.t1.q4.asked", b"new")
    pull = await generator.jetstream().pull_subscribe_bind(durable="generator", stream="QUERYBUS")
    assert [message.data for message in await pull.fetch(1, timeout=30)] == [b"new"]
    await migrate(migrator, table, start_sequence=4)
    pull = await gateway.jetstream().pull_subscribe_bind(durable="gateway", stream="QUERYBUS")
    (message,) = await pull.fetch(1, timeout=30)
    assert message.metadata.sequence.stream == 4
    await gateway.close()
    await generator.close()


async def test_a_durable_of_two_events_becomes_two_and_what_waited_is_delivered_by_its_own(
    bus: EmbeddedNats, migrator: Client
) -> None:
    table = topology(bus.sizes, ("acme",))
    await migrate(migrator, without(without(table, "generator"), "generator-returned"))
    before = {
        "durable_name": "generator",
        "name": "generator",
        "deliver_policy": "new",
        "ack_policy": "explicit",
        "ack_wait": 10 * 10**9,
        "max_deliver": 5,
        "filter_subjects": [f"querybus.v1.event.*.*.*.{event}" for event in ("asked", "returned")],
    }
    created = await migrator.request(
        "$JS.API.CONSUMER.CREATE.QUERYBUS.generator",
        json.dumps({"stream_name": "QUERYBUS", "config": before}).encode(),
        timeout=30,
    )
    assert "error" not in json.loads(created.data)
    gateway, recovery, generator = [await bus.connect(name) for name in ("gateway", "recovery", "generator")]
    await gateway.jetstream().publish("querybus.v1.event.acme.t1.q1.asked", b"first")
    pull = await generator.jetstream().pull_subscribe_bind(durable="generator", stream="QUERYBUS")
    (message,) = await pull.fetch(1, timeout=30)
    await message.ack_sync()
    await recovery.jetstream().publish("querybus.v1.event.acme.t1.q1.returned", b"waits")
    changes = await migrate(migrator, table)
    assert "consumer QUERYBUS.generator-returned: created" in changes
    assert any(line.startswith("consumer QUERYBUS.generator: changed") for line in changes)
    assert "filter_subjects" not in await config(migrator, "CONSUMER", "QUERYBUS.generator")
    pull = await generator.jetstream().pull_subscribe_bind(durable="generator-returned", stream="QUERYBUS")
    (message,) = await pull.fetch(1, timeout=30)
    assert message.data == b"waits"
    assert await migrate(migrator, table) == ()
    for connection in (gateway, recovery, generator):
        await connection.close()


async def test_what_the_server_refuses_is_reported_in_its_words(migrator: Client) -> None:
    with pytest.raises(MigrateError, match=r"stream QUERYBUS\w*: the server refuses to create it: replicas > 1"):
        await migrate(migrator, topology(Sizes(replicas=3)))


@pytest.mark.parametrize("stage", list(StageName))
async def test_a_service_on_an_empty_bus_says_what_to_type(bus: EmbeddedNats, stage: StageName) -> None:
    connection = await bus.connect(stage)
    with pytest.raises(TopologyError, match=r"QUERYBUS is missing.*type: querybus operate migrate"):
        await assert_topology(connection, stage)
    await connection.close()


async def test_a_service_learns_its_durable_from_the_server(bus: EmbeddedNats, migrator: Client) -> None:
    sizes = dataclasses.replace(bus.sizes, max_ack_pending=77, ack_wait_seconds={StageName.EXECUTOR: 2.0})
    table = topology(sizes, ("acme",))
    await migrate(migrator, table)
    connection = await bus.connect("executor")
    durable = await assert_topology(connection, StageName.EXECUTOR)
    assert (durable.ack_wait_seconds, durable.max_deliver, durable.max_ack_pending) == (2.0, 5, 77)
    await connection.close()


async def test_a_durable_that_differs_is_named_with_its_difference(bus: EmbeddedNats, migrator: Client) -> None:
    sizes = dataclasses.replace(bus.sizes, ack_wait_seconds={StageName.EXECUTOR: 60.0})
    await migrate(migrator, topology(sizes, ("acme",)))
    connection = await bus.connect("executor")
    with pytest.raises(TopologyError, match=r"consumer QUERYBUS\.executor differs in ack_wait"):
        await assert_topology(connection, StageName.EXECUTOR)
    # Whoever chose it says so.
    await assert_topology(connection, StageName.EXECUTOR, table=topology(sizes))
    await connection.close()


async def test_a_tenant_without_its_durable_is_named(bus: EmbeddedNats) -> None:
    await bus.migrate()
    connection = await bus.connect("gateway")
    await assert_topology(connection, StageName.GATEWAY, tenants=("acme",))
    with pytest.raises(TopologyError, match=r"QUERYBUS_SUBMIT\.newcomer gives no answer"):
        await assert_topology(connection, StageName.GATEWAY, tenants=("acme", "newcomer"))
    await connection.close()


@pytest.mark.requirement("002.56")
async def test_one_credential_cannot_fill_the_queue_of_the_others(bus: EmbeddedNats, migrator: Client) -> None:
    table = topology(bus.sizes, ("acme",))
    streams = tuple(
        dataclasses.replace(stream, messages_per_subject_max=3) if stream.name == "QUERYBUS_SUBMIT" else stream
        for stream in table.streams
    )
    await migrate(migrator, dataclasses.replace(table, streams=streams))
    gateway = await bus.connect("gateway")
    for _ in range(3):
        await gateway.jetstream().publish("querybus.v1.submit.acme.app", b"{}")
    with pytest.raises(Exception, match="maximum messages per subject"):
        await gateway.jetstream().publish("querybus.v1.submit.acme.app", b"{}")
    await gateway.jetstream().publish("querybus.v1.submit.acme.other", b"{}")
    await gateway.close()
