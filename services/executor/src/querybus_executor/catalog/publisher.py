"""Keeps the catalogs in the bus's stores: at start, on schedule, when asked to, and when one changed.

The executor is the only writer of both stores. A database that cannot be read is listed all the same, so that a
question to it ends with its reason. Requests to refresh are rate-limited for each connection.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure
from querybus.core.policy import Connection
from querybus.core.subjects import refresh_subject
from querybus.ops.log import get_log
from querybus.ops.run import end
from querybus.text.labels import count_readable_names
from querybus_executor.connections.databases import Connected, ConnectedDatabase

REFRESH_SECONDS_MIN: Final = 5.0
START_SECONDS_MAX: Final = 20.0
_AT_ONCE_MAX: Final = 2

_log = get_log(__name__)


class Catalogs(Protocol):
    """The store of catalogs."""

    async def write(self, catalog: Catalog) -> str: ...


class Connections(Protocol):
    """The store of connections, without secrets."""

    async def all(self) -> Sequence[Connection]: ...

    async def write(self, connection: Connection) -> None: ...

    async def remove(self, name: str) -> None: ...


Subscribe = Callable[[str, Callable[[str], Awaitable[None]]], Awaitable[Callable[[], Awaitable[None]]]]
"""Listens on a subject, calls back with each message's subject, returns how to stop."""


class CatalogPublisher:
    """The part that reads all databases and writes what it found."""

    def __init__(
        self,
        databases: Connected,
        *,
        catalogs: Catalogs,
        connections: Connections,
        subscribe: Subscribe,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = "catalogs"
        self._databases = databases
        self._catalogs = catalogs
        self._connections = connections
        self._subscribe = subscribe
        self._timer = timer
        self._asked_at: dict[str, float] = {}
        self._stop_listening: Callable[[], Awaitable[None]] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._schedules: dict[ConnectedDatabase, asyncio.Task[None]] = {}
        self._at_once = asyncio.Semaphore(_AT_ONCE_MAX)

    async def start(self) -> None:
        """List the connections and no others, read each database once, then keep them fresh."""
        for known in await self._connections.all():
            if self._databases.get(known.name) is None:
                # Removed while no executor ran.
                await self._connections.remove(known.name)
        for item in self._databases.all:
            await self._list(item)
        reading = [self._spawn(self._refresh(item)) for item in self._databases.all]
        # A huge or unreachable database must not keep the others waiting; it is listed when it is read.
        if reading:
            await asyncio.wait(reading, timeout=START_SECONDS_MAX)
        self._stop_listening = await self._subscribe(refresh_subject("any", "any").replace("any", "*"), self._asked)
        for item in self._databases.all:
            self._schedules[item] = self._spawn(self._on_schedule(item))

    async def adopt(self, added: Sequence[ConnectedDatabase], removed: Sequence[ConnectedDatabase]) -> None:
        """List and read what is new, forget what is gone."""
        for item in removed:
            schedule = self._schedules.pop(item, None)
            if schedule is not None:
                schedule.cancel()
            if self._databases.get(item.config.name) is None:
                await self._connections.remove(item.config.name)
        for item in added:
            await self._list(item)
            self._spawn(self._refresh(item))
            self._schedules[item] = self._spawn(self._on_schedule(item))

    async def drain(self) -> None:
        """Stop listening and reading."""
        if self._stop_listening is not None:
            await self._stop_listening()
        await end(*self._tasks)

    async def ping(self) -> str | None:
        """Return None: a database that cannot be read is no fault of this process."""
        return None

    async def _list(self, item: ConnectedDatabase) -> None:
        """Write the connection into the store, and again whenever its trouble, its warning or its names have changed."""
        listed = item.config.public()
        await self._connections.write(listed)

        async def update(**changes: Any) -> None:
            nonlocal listed
            now = listed.model_copy(update=changes)
            if now != listed:
                await self._connections.write(now)
                listed = now

        async def read(catalog: Catalog) -> None:
            await self._catalogs.write(catalog)
            readable, names = await asyncio.to_thread(count_readable_names, catalog)
            await update(names=names, names_readable=readable)

        async def changed(trouble: Failure | None) -> None:
            await update(trouble=trouble, warning=item.role.warning)

        item.on_catalog, item.on_trouble = read, changed

    async def _asked(self, subject: str) -> None:
        database = self._databases.by_token(subject.rpartition(".")[2])
        if database is None:
            return
        now, name = self._timer(), database.config.name
        if now - self._asked_at.get(name, -REFRESH_SECONDS_MIN) < REFRESH_SECONDS_MIN:
            return
        self._asked_at[name] = now
        self._spawn(self._refresh(database))

    async def _on_schedule(self, database: ConnectedDatabase) -> None:
        while True:
            await asyncio.sleep(database.config.catalog_seconds)
            await self._refresh(database)

    async def _refresh(self, database: ConnectedDatabase) -> None:
        async with self._at_once:
            try:
                await database.refresh()
            except Exception as error:  # noqa: BLE001 - one database's trouble must not end the keeping of the others
                _log.error("catalog.unwritten", connection=database.config.name, error=type(error).__name__)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def subscriber(connection: Callable[[], Any]) -> Subscribe:
    """Return how to listen through a connected bus client."""

    async def subscribe(subject: str, received: Callable[[str], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
        async def callback(message: Any) -> None:
            await received(message.subject)

        subscription = await connection().subscribe(subject, cb=callback)

        async def stop() -> None:
            with suppress(Exception):
                await subscription.unsubscribe()

        return stop

    return subscribe
