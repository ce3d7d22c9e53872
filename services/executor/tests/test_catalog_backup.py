"""Catalogs are read at the start, on request and in doubt, seldom enough, and written each time."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import weakref
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import Connection, Reader
from querybus.core.subjects import refresh_subject, token
from querybus.ops.metrics import Metrics
from querybus_executor.catalog.publisher import CatalogPublisher
from querybus_executor.connections.config import parse_connections
from querybus_executor.connections.databases import Connected, ConnectedDatabase
from querybus_executor.engines.sqlite.catalog import read_sqlite_catalog
from querybus_executor.engines.sqlite.edge import sqlite_children, sqlite_edge
from querybus_executor.guard_cache import Verdicts
from querybus_executor.ports import Edge


@dataclass
class Written:
    """Both stores: what was written last, and how often."""

    catalogs: list[Catalog] = field(default_factory=list[Catalog])
    connections: list[Connection] = field(default_factory=list[Connection])


@dataclass
class CatalogShelf:
    written: Written

    async def write(self, catalog: Catalog) -> str:
        self.written.catalogs.append(catalog)
        return catalog.fingerprint


@dataclass
class ConnectionShelf:
    written: Written

    async def all(self) -> list[Connection]:
        return list(self.written.connections)

    async def remove(self, name: str) -> None:
        self.written.connections = [connection for connection in self.written.connections if connection.name != name]

    async def write(self, connection: Connection) -> None:
        self.written.connections.append(connection)


class Subscriber:
    """A bus that carries one word at a time."""

    def __init__(self) -> None:
        self.received: Callable[[str], Awaitable[None]] | None = None

    async def subscribe(
        self, _subject: str, received: Callable[[str], Awaitable[None]]
    ) -> Callable[[], Awaitable[None]]:
        self.received = received

        async def stop() -> None:
            self.received = None

        return stop

    async def say(self, subject: str) -> None:
        assert self.received is not None
        await self.received(subject)


class Watch:
    """A timer that is set by hand."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


@dataclass
class Kept:
    backup: CatalogPublisher
    databases: Connected
    written: Written
    subscriber: Subscriber
    watch: Watch

    async def settled(self, count: int) -> None:
        async with asyncio.timeout(60):
            while len(self.written.catalogs) < count:
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        assert len(self.written.catalogs) == count


def kept(**files: Path) -> Kept:
    entries = parse_connections({"connections": [{"name": n, "url": f"sqlite:///{p}"} for n, p in files.items()]})
    written, subscriber, watch = Written(), Subscriber(), Watch()
    children = sqlite_children(size=1, reserved=1)
    databases = Connected(
        [
            ConnectedDatabase(
                entry,
                sqlite_edge(children, entry.file_path, entry.applied_policy),
                partial(asyncio.to_thread, partial(read_sqlite_catalog, entry)),
                metrics=Metrics("t"),
                timer=watch,
            )
            for entry in entries
        ]
    )
    backup = CatalogPublisher(
        databases,
        catalogs=CatalogShelf(written),
        connections=ConnectionShelf(written),
        subscribe=subscriber.subscribe,
        timer=watch,
    )
    return Kept(backup, databases, written, subscriber, watch)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE t (a)")
    return path


async def test_all_connections_are_listed_and_all_readable_databases_read_at_the_start(
    file: Path, tmp_path: Path
) -> None:
    it = kept(shop=file, gone=tmp_path / "gone.sqlite")
    await it.backup.start()
    listed = {connection.name: connection.trouble for connection in it.written.connections}
    assert list(listed) == ["shop", "gone"]
    # Whoever asks about it gets this reason, though there is no catalog.
    assert (listed["shop"], listed["gone"] and listed["gone"].code) == (None, FailureCode.SETUP)
    assert [catalog.connection for catalog in it.written.catalogs] == ["shop"]
    await it.backup.drain()
    assert it.subscriber.received is None


async def test_a_connection_that_was_removed_while_no_executor_ran_is_listed_no_more(file: Path) -> None:
    for result, listed in ((kept(shop=file), ["shop"]), (kept(), [])):
        gone = Connection(name="gone", dialect=Dialect.SQLITE)
        result.written.connections.append(gone)
        await result.backup.start()
        assert list(dict.fromkeys(item.name for item in result.written.connections)) == listed
        await result.backup.drain()


async def test_a_request_to_refresh_reads_once_however_often_it_is_said(file: Path) -> None:
    it = kept(My_Shop=file)
    await it.backup.start()
    for _ in range(20):
        await it.subscriber.say(refresh_subject("any", token("My_Shop")))
        await it.subscriber.say(refresh_subject("any", "unknown"))
    await it.settled(2)
    it.watch.seconds += 6
    await it.subscriber.say(refresh_subject("any", token("My_Shop")))
    await it.settled(3)
    await it.backup.drain()


async def test_a_doubt_reads_again_but_not_twice_in_half_a_minute(file: Path) -> None:
    it = kept(shop=file)
    await it.backup.start()
    database = it.databases.get("shop")
    assert database is not None
    with closing(sqlite3.connect(file)) as opened:
        opened.execute("CREATE TABLE later (a)")
    database.doubt()
    await it.settled(1)
    it.watch.seconds += 31
    database.doubt()
    database.doubt()
    await it.settled(2)
    assert it.written.catalogs[-1].table("later") is not None
    await it.backup.drain()


async def test_an_unread_database_gives_its_reason_and_is_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "late.sqlite"
    it = kept(late=path)
    await it.backup.start()
    database = it.databases.get("late")
    assert database is not None
    for make, words in (
        (lambda: None, "does not exist"),
        (path.mkdir, "is a folder"),
        (lambda: (path.rmdir(), path.write_text("only text" * 500)), "not a database"),
    ):
        make()
        it.watch.seconds += 3
        result = await database.catalog()
        assert isinstance(result, Failure)
        assert result.code is FailureCode.SETUP
        assert words in result.detail
        assert str(tmp_path) not in result.detail
    path.unlink()
    with closing(sqlite3.connect(path)) as opened:
        opened.execute("CREATE TABLE t (a)")
    assert isinstance(await database.catalog(), Failure), "it was read a moment ago"
    it.watch.seconds += 3
    assert isinstance(await database.catalog(), Catalog)
    path.unlink()
    assert isinstance(await database.refresh(), Failure)
    assert isinstance(await database.catalog(), Catalog), "what was known stays"
    await it.backup.drain()


@pytest.mark.long
async def test_a_locked_database_is_a_connection_that_says_locked(file: Path) -> None:
    it = kept(shop=file)
    with closing(sqlite3.connect(file, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        database = it.databases.get("shop")
        assert database is not None
        result = await database.catalog()
    assert isinstance(result, Failure)
    assert (result.code, result.facts.native_code) == (FailureCode.CONNECTION, "SQLITE_BUSY")
    assert "locked by another program" in result.detail


@pytest.mark.long
async def test_a_database_that_did_not_change_keeps_one_catalog_and_one_set_of_verdicts() -> None:
    """Five thousand readings, one new statement after each: what was made of older catalogs is let go."""
    config = parse_connections({"connections": [{"name": "shop", "url": "sqlite:////nowhere.sqlite"}]})[0]
    made: list[weakref.ref[Catalog]] = []
    rows = 0

    async def read() -> Catalog:
        catalog = Catalog(
            connection="shop",
            dialect=Dialect.SQLITE,
            tables=(Table(name="t", columns=(Column(name="id", type="INTEGER"),), row_estimate=rows),),
        )
        made.append(weakref.ref(catalog))
        return catalog

    database = ConnectedDatabase(config, cast("Edge", None), read, metrics=Metrics("t"))
    verdicts, reader = Verdicts(), Reader("acme", "ann")
    catalog: Catalog | Failure | None = None
    for number in range(5_000):
        rows = number // 20
        catalog = await database.refresh()
        assert isinstance(catalog, Catalog)
        assert not verdicts.refusal(
            f"SELECT id FROM t WHERE id = {number}", Dialect.SQLITE, catalog, database.policy, reader, checks_size=True
        )
    catalog = None

    def living() -> int:
        gc.collect()
        return sum(reference() is not None for reference in made)

    for _ in range(50):
        if living() == 1:
            break
        # What a thread of the pool or a finished task still holds goes in a moment.
        await asyncio.sleep(0.02)
    assert living() == 1
