"""What `querybus operate backup` copies from a running stack a new bus goes on with, and nothing is overwritten or half read."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import sqlite3
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from typer.testing import CliRunner

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.admin.snapshots import Publisher, SnapshotError, StreamState
from querybus.bus.connection import Held
from querybus.bus.log.journal import Entry, Journal
from querybus.bus.log.publish import Stored
from querybus.core.subjects import EventName, StageName
from querybus.core.topology import BACKED_UP, DEAD, EVENTS
from querybus.ops.clock import system_clock
from querybus_cli.app import app
from querybus_cli.local.local_stack import TENANT, Stack, StackPlan
from querybus_cli.operations.backups import (
    MANIFEST,
    UNDER_WAY_SECONDS_MAX,
    Copy,
    back_up,
    read,
    restore,
    taken_at,
    thin_out,
)
from querybus_cli.operations.keys import create, listed
from querybus_cli.operations.operator import Place, history
from querybus_cli.runtime import UsageError
from tests.connected.queries import a_conclusion, append, asked, new_id
from tests.connected.queries import ask as publish

pytestmark = [pytest.mark.connected, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

QUESTION = "How many customers are there?"
LEFT_SECONDS, LONG_SECONDS = 0.5, 300.0
"""Deadlines of queries that are under way when the backup is taken: the first kind is over before a stack works again."""
ENDED_SECONDS_MAX = 60.0


@dataclass(frozen=True)
class Before:
    """What was there when the backup was taken, and where it lies."""

    folder: Path
    connections: Path
    answered: str
    thread: str
    left: str
    left_until_ms: int
    ending: str
    going_on: str
    events: list[dict[str, Any]]
    keys: list[dict[str, Any]]
    copies: tuple[Copy, ...]
    states: dict[str, StreamState | None]


def quiet(_: str, __: int) -> None:
    """Receive of no progress."""


async def states(bus: EmbeddedNats) -> dict[str, StreamState | None]:
    connection = await bus.connect("backup")
    try:
        return {name: await Publisher(connection).state(name) for name in BACKED_UP}
    finally:
        await connection.close()


async def log_of(bus: EmbeddedNats, query: str) -> tuple[Entry, ...]:
    connection = await bus.connect(StageName.GATEWAY)
    try:
        return await Journal(Held(connection)).events(TENANT, query)
    finally:
        await connection.close()


async def ended(bus: EmbeddedNats, query: str) -> tuple[Entry, ...]:
    """Return the log of a query once it has ended."""
    async with asyncio.timeout(ENDED_SECONDS_MAX):
        while (log := await log_of(bus, query))[-1].address.event is not EventName.FINISHED:
            await asyncio.sleep(0.2)
    assert [entry.address.event for entry in log].count(EventName.FINISHED) == 1
    return log


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def before(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Before]:
    folder = tmp_path_factory.mktemp("backup")
    with sqlite3.connect(folder / "shop.sqlite") as shop:
        shop.executescript("CREATE TABLE customers (id INTEGER PRIMARY KEY); INSERT INTO customers VALUES (1), (2);")
    connections = folder / "connections.yaml"
    connections.write_text(json.dumps({"connections": [{"name": "shop", "url": f"sqlite:///{folder}/shop.sqlite"}]}))
    async with EmbeddedNats([TENANT], sync="2m") as bus:
        async with Stack(StackPlan(connections_file=connections), bus) as stack, stack.client("analyst") as client:
            result = await client.call("ask", {"question": QUESTION, "connection": "shop", "wait_seconds": 30})
            assert result["rows"] == [[2]], result
        gateway = Place(bus.url, bus.password("gateway"))
        await create(
            gateway, tenant=TENANT, name="kept", user="ann", audience="analyst", connections=None, replace=False
        )
        # Nobody works on it any more.
        connection = await bus.connect(StageName.GATEWAY)
        left, _ = await publish(connection, asked(seconds=LEFT_SECONDS, tenant=TENANT, user="analyst"))
        ending, sequence = await publish(connection, asked(seconds=LEFT_SECONDS, tenant=TENANT, user="analyst"))
        going_on, _ = await publish(connection, asked(seconds=LONG_SECONDS, tenant=TENANT, user="analyst"))
        await connection.close()
        # One has its conclusion already, but nobody has put it into words.
        connection = await bus.connect(StageName.GENERATOR)
        assert isinstance(await append(connection, a_conclusion(ending), sequence), Stored)
        await connection.close()
        copies = await back_up(Place(bus.url, bus.password("backup")), folder / "kept", quiet)
        operator = Place(bus.url, bus.password("operator"))
        events = await history(operator, TENANT, result["query_id"], 0)
        yield Before(
            folder / "kept",
            connections,
            result["query_id"],
            result["thread_id"],
            left.query_id,
            left.deadline_at,
            ending.query_id,
            going_on.query_id,
            events,
            await listed(gateway, TENANT),
            copies,
            await states(bus),
        )
        with pytest.raises(UsageError, match=r"has KV_querybus_limits, .* already"):
            await restore(Place(bus.url, bus.password("backup")), folder / "kept", quiet, at_once=True)


async def test_a_restored_stack_remembers_answers_and_ends_what_was_under_way(before: Before) -> None:
    async with EmbeddedNats([TENANT], sync="2m") as bus:
        made = await restore(Place(bus.url, bus.password("backup")), before.folder, quiet, at_once=True)
        assert {item.stream for item in made} == set(BACKED_UP)
        assert await states(bus) == before.states
        changed = await bus.migrate()
        assert not any(name in line for line in changed for name in (f"stream {item}:" for item in BACKED_UP)), changed
        operator, gateway = Place(bus.url, bus.password("operator")), Place(bus.url, bus.password("gateway"))
        assert await history(operator, TENANT, before.answered, 0) == before.events
        assert await listed(gateway, TENANT) == before.keys
        # On a quick machine all this takes less than the half second.
        await asyncio.sleep(max(0, before.left_until_ms - system_clock()) / 1_000)
        async with Stack(StackPlan(connections_file=before.connections), bus) as stack:
            assert (await ended(bus, before.left))[-2].envelope().body.outcome == "expired"
            assert (await ended(bus, before.ending))[-2].envelope().body.outcome == "replied"
            assert (await ended(bus, before.going_on))[-2].envelope().body.outcome == "answered"
            async with stack.client("analyst") as client:
                # The thread goes on behind what it had.
                more = {"question": QUESTION, "connection": "shop", "thread_id": before.thread, "wait_seconds": 30}
                result = await client.call("ask", more)
                assert result["rows"] == [[2]], result
        assert (await log_of(bus, result["query_id"]))[0].sequence > before.events[-1]["sequence"]


async def test_one_stream_can_be_restored_alone_and_none_that_is_not_held(before: Before) -> None:
    async with EmbeddedNats((), sync="2m") as bus:
        place = Place(bus.url, bus.password("backup"))
        with pytest.raises(UsageError, match="does not hold KV_querybus_catalog"):
            await restore(place, before.folder, quiet, only=["KV_querybus_catalog"], at_once=True)
        made = await restore(place, before.folder, quiet, only=["KV_querybus_credentials"], replicas=1, at_once=True)
        assert [item.stream for item in made] == ["KV_querybus_credentials"]
        assert [name for name, state in (await states(bus)).items() if state] == ["KV_querybus_credentials"]
        with pytest.raises(UsageError, match="has KV_querybus_credentials already"):
            await restore(place, before.folder, quiet, at_once=True)


async def test_a_large_stream_goes_out_and_in_in_many_parts() -> None:
    parts: list[bytes] = []
    async with EmbeddedNats((), sync="2m") as bus:
        await bus.migrate()
        gateway, connection = await bus.connect(StageName.GATEWAY), await bus.connect("backup")
        for _ in range(40):
            # What cannot be made smaller, so that there is more than the server sends unasked.
            noise = new_id() + "".join(new_id() for _ in range(12_000))
            await gateway.jetstream().publish(f"querybus.v1.event.acme.t1.{new_id()}.asked", noise.encode())
        config, state = await Publisher(connection).take(EVENTS, parts.append)
        held = await Publisher(connection).state(EVENTS)
        with pytest.raises(SnapshotError, match="already in use"):
            await Publisher(connection).put(EVENTS, config, state, parts)
        await gateway.close()
        await connection.close()
    assert len(parts) > 64
    async with EmbeddedNats((), sync="2m") as bus:
        connection = await bus.connect("backup")
        assert await Publisher(connection).put(EVENTS, config, state, parts) == held
        with pytest.raises(SnapshotError, match="stream not found"):
            await Publisher(connection).take(DEAD, parts.append)
        await connection.close()


async def test_a_folder_is_not_written_over_and_not_read_by_halves(before: Before, tmp_path: Path) -> None:
    nowhere = Place("nats://127.0.0.1:1", "x")
    with pytest.raises(UsageError, match="overwrites nothing"):
        await back_up(nowhere, before.folder, quiet)
    with pytest.raises(UsageError, match="no whole backup"):
        read(tmp_path)
    file = before.folder / "QUERYBUS.snapshot"
    data = file.read_bytes()
    try:
        for wrong in (data[:-1], data[:-1] + bytes([data[-1] ^ 1])):
            file.write_bytes(wrong)
            with pytest.raises(UsageError, match=r"QUERYBUS\.snapshot is not what was written"):
                await restore(nowhere, before.folder, quiet, at_once=True)
    finally:
        file.write_bytes(data)
    assert read(before.folder) == before.copies
    with pytest.raises(UsageError, match=r"until \d\d:\d\d:\d\d UTC .* --at-once"):
        await restore(nowhere, before.folder, quiet)
    manifest = before.folder / MANIFEST
    young = manifest.read_text()
    try:
        old = json.loads(young)
        old["taken_at"] = (taken_at(before.folder) - dt.timedelta(seconds=UNDER_WAY_SECONDS_MAX)).isoformat()
        manifest.write_text(json.dumps(old))
        with pytest.raises(UsageError, match="the bus at"):
            await restore(nowhere, before.folder, quiet)
    finally:
        manifest.write_text(young)
    assert before.folder.stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in before.folder.iterdir())
    assert {path.name for path in before.folder.iterdir()} == {MANIFEST, *(copy.file for copy in before.copies)}


async def test_the_command_says_what_a_folder_holds_and_which_bus_it_wants(before: Before, tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["restore", "--check", str(before.folder), "--json"])
    assert shown.exit_code == 0, shown.output
    streams = json.loads(shown.output)["streams"]
    assert {stream["stream"] for stream in streams} == set(BACKED_UP)
    assert all(len(stream["sha256"]) == 64 for stream in streams)
    reported = CliRunner().invoke(app, ["restore", "--check", str(before.folder)])
    assert f"whole: {len(BACKED_UP)} streams" in reported.output
    for command in ("backup", "restore"):
        with pytest.raises(UsageError, match="bus user `backup`"):
            CliRunner().invoke(
                app, [command, str(tmp_path / "x"), "--store", str(tmp_path)], catch_exceptions=False, env={}
            )


async def test_dated_backups_are_thinned_out_and_other_folders_are_left(tmp_path: Path) -> None:
    names = ["20260101T000000Z", "20260102T000000Z", "20260103T000000Z", "20260104T000000Z", "20260105T000000Z"]
    for name in (*names, "by-hand", "20270101T000000Z"):
        (tmp_path / name).mkdir()
        if name != "20260103T000000Z":
            (tmp_path / name / MANIFEST).write_text("{}")
    gone = thin_out(tmp_path, tmp_path / names[-1], 3)
    # The third broke off, the first is one too many.
    assert [path.name for path in gone] == ["20260101T000000Z", "20260103T000000Z"]
    left = {names[1], names[3], names[4], "by-hand", "20270101T000000Z"}
    assert {path.name for path in tmp_path.iterdir()} == left
    assert thin_out(tmp_path, tmp_path / names[-1], 1)[-1].name == names[3]
    with pytest.raises(UsageError, match="--dated"):
        CliRunner().invoke(app, ["backup", str(tmp_path), "--keep", "1"], catch_exceptions=False)
