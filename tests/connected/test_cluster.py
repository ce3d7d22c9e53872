"""A real cluster of three servers: every stream has three copies, and the stack answers, fences and settles as on one."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from querybus.bus.admin.embedded_server import EmbeddedBus, EmbeddedNats
from querybus.bus.admin.snapshots import Publisher, StreamState
from querybus.bus.application import NotSafe, assert_sync
from querybus.bus.connection import Held
from querybus.bus.log.journal import Journal
from querybus.bus.log.publish import Duplicate, FenceLost, Stored, address_of
from querybus.core.subjects import EventName, StageName
from querybus.core.topology import BACKED_UP, topology
from querybus_cli.local.local_stack import TENANT, Stack, StackPlan
from querybus_cli.operations.backups import back_up, restore
from querybus_cli.operations.operator import Place
from querybus_cli.runtime import UsageError
from tests.support.embedded_cluster import SERVERS, EmbeddedCluster

from .queries import append, asked, sizes

pytestmark = [pytest.mark.connected, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[EmbeddedCluster]:
    folder = tmp_path_factory.mktemp("cluster")
    async with EmbeddedCluster([TENANT], store=folder, sizes=sizes()) as made:
        await made.migrate()
        yield made


@pytest.mark.requirement("002.25")
async def test_every_stream_and_durable_has_three_copies(cluster: EmbeddedCluster) -> None:
    table = topology(cluster.sizes, cluster.tenants)
    connection = await cluster.connect("migrate")
    try:
        for stream in (*(stream.name for stream in table.streams), *(bucket.stream for bucket in table.buckets)):
            result = json.loads((await connection.request(f"$JS.API.STREAM.INFO.{stream}", timeout=30)).data)
            assert result["config"]["num_replicas"] == SERVERS, stream
            assert len(result["cluster"]["replicas"]) == SERVERS - 1, stream
        for consumer in table.consumers:
            subject = f"$JS.API.CONSUMER.INFO.{consumer.stream}.{consumer.name}"
            result = json.loads((await connection.request(subject, timeout=30)).data)
            assert len(result["cluster"]["replicas"]) == SERVERS - 1, consumer.name
    finally:
        await connection.close()
    assert await cluster.migrate() == ()


async def test_the_start_looks_at_every_server_whether_it_syncs(cluster: EmbeddedCluster) -> None:
    await asyncio.to_thread(assert_sync, cluster.monitoring_url)
    with pytest.raises(NotSafe, match="does not answer"):
        await asyncio.to_thread(assert_sync, f"{cluster.monitoring_url},http://127.0.0.1:1")


async def test_an_event_tried_again_is_known_and_whoever_comes_second_loses(cluster: EmbeddedCluster) -> None:
    connection = await cluster.connect(StageName.GATEWAY)
    try:
        first = asked()
        stored = await append(connection, first, 0)
        assert isinstance(stored, Stored)
        # One server answers "wrong last sequence" here, a cluster "duplicate": both mean the same.
        assert await append(connection, first, 0) == Duplicate(stored.sequence)
        assert await append(connection, first, 0, input_sequence=1) == FenceLost()
        last = await Journal(Held(connection)).last(address_of(first))
        assert last is not None
        assert last.sequence == stored.sequence
    finally:
        await connection.close()


async def test_questions_are_answered_from_end_to_end(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    database = tmp_path / "shop.sqlite"
    with sqlite3.connect(database) as shop:
        shop.executescript("CREATE TABLE customers (id INTEGER PRIMARY KEY); INSERT INTO customers VALUES (1), (2);")
    connections = tmp_path / "connections.yaml"
    connections.write_text(json.dumps({"connections": [{"name": "shop", "url": f"sqlite:///{database}"}]}))
    async with Stack(StackPlan(connections_file=connections), cluster) as stack, stack.client("analyst") as client:
        request = {"question": "How many customers are there?", "connection": "shop", "wait_seconds": 30}
        answers = await asyncio.gather(*(client.call("ask", request) for _ in range(8)))
        assert [answer["rows"] for answer in answers] == [[[2]]] * 8
        connection = await cluster.connect(StageName.GATEWAY)
        try:
            log = await Journal(Held(connection)).events(TENANT, answers[0]["query_id"])
        finally:
            await connection.close()
    assert [entry.address.event for entry in log] == [
        EventName.ASKED,
        EventName.DRAFTED,
        EventName.APPROVED,
        EventName.CONCLUDED,
        EventName.FINISHED,
    ]


async def test_a_backup_of_a_cluster_goes_onto_another_cluster_and_onto_one_server(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    def quiet(_: str, __: int) -> None:
        """Receive of no progress."""

    async def states(bus: EmbeddedBus) -> dict[str, StreamState | None]:
        connection = await bus.connect("backup")
        try:
            return {name: await Publisher(connection).state(name) for name in BACKED_UP}
        finally:
            await connection.close()

    connection = await cluster.connect(StageName.GATEWAY)
    await append(connection, asked(), 0)
    await connection.close()
    copies = await back_up(Place(cluster.url, cluster.password("backup")), tmp_path / "kept", quiet)
    held = {copy.stream: StreamState(copy.messages, copy.state["last_seq"]) for copy in copies}
    assert (held["QUERYBUS"] or StreamState(0, 0)).messages > 0
    async with EmbeddedCluster([TENANT], store=tmp_path / "other", sizes=sizes()) as other:
        await restore(Place(other.url, other.password("backup")), tmp_path / "kept", quiet, at_once=True)
        assert await states(other) == held
        assert not any("stream KV_querybus_threads" in item for item in await other.migrate())
    async with EmbeddedNats([TENANT], sync="2m") as alone:
        place = Place(alone.url, alone.password("backup"))
        with pytest.raises(UsageError, match=r"replicas > 1 .*; restored: nothing; left: "):
            await restore(place, tmp_path / "kept", quiet, at_once=True)
        await restore(place, tmp_path / "kept", quiet, replicas=1, at_once=True)
        assert await states(alone) == held
