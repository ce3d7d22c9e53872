"""Pools of sessions to a database server: SQLAlchemy's where it has an asynchronous dialect, else a small one.

A session that is dropped is closed and its place is free; one that is given back is lent again until it is too old.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Protocol, TypeVar

from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.pool import QueuePool

from querybus_executor.connections.config import PoolLimits

T = TypeVar("T")
_SPARE_THREADS: Final = 4
"""For opening and cancelling while all sessions work."""


class Lent(Protocol):
    """A session in use."""

    @property
    def session(self) -> Any:
        """What the driver calls a connection or client."""
        ...

    async def give_back(self) -> None: ...

    async def drop(self) -> None: ...


class Pool(Protocol):
    """Sessions to lend."""

    @property
    def open(self) -> int: ...

    @property
    def idle(self) -> int: ...

    async def lend(self) -> Lent:
        """Return a session, opened or waited for; PoolTimeout or the driver's own error if there is none."""
        ...

    async def close(self) -> None:
        """Close the idle sessions; further ones can be lent."""
        ...


class SqlalchemyPool:
    """The pool of a SQLAlchemy engine."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    @property
    def open(self) -> int:
        pool = self._engine.sync_engine.pool
        return pool.checkedin() + pool.checkedout() if isinstance(pool, QueuePool) else 0

    @property
    def idle(self) -> int:
        pool = self._engine.sync_engine.pool
        return pool.checkedin() if isinstance(pool, QueuePool) else 0

    async def lend(self) -> Lent:
        connection = await self._engine.connect()
        try:
            return _OfSqlalchemy(connection, (await connection.get_raw_connection()).driver_connection)
        except BaseException:
            await connection.close()
            raise

    async def close(self) -> None:
        await self._engine.dispose()


class _OfSqlalchemy:
    def __init__(self, connection: AsyncConnection, session: Any) -> None:
        self.session = session
        self._connection = connection

    async def give_back(self) -> None:
        await self._connection.close()

    async def drop(self) -> None:
        await self._connection.invalidate()
        await self._connection.close()


class SessionPool:
    """At most `size` and `overflow` sessions; beyond `size` they are closed when they come back."""

    def __init__(
        self,
        opening: Callable[[], Awaitable[Any]],
        closing: Callable[[Any], Awaitable[None]],
        limits: PoolLimits,
        *,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._opening = opening
        self._closing = closing
        self._limits = limits
        self._timer = timer
        self._free = asyncio.Semaphore(limits.size + limits.overflow)
        self._idle: list[_OfPool] = []
        self.open = 0

    @property
    def idle(self) -> int:
        return len(self._idle)

    async def lend(self) -> Lent:
        try:
            async with asyncio.timeout(self._limits.wait_seconds):
                await self._free.acquire()
        except TimeoutError as error:
            raise PoolTimeout("no session became free") from error
        try:
            while self._idle:
                lent = self._idle.pop()
                if self._timer() - lent.born <= self._limits.recycle_seconds:
                    return lent
                await self._end(lent)
            session = await self._opening()
        except BaseException:
            self._free.release()
            raise
        self.open += 1
        return _OfPool(self, session, self._timer())

    async def close(self) -> None:
        idle, self._idle = self._idle, []
        for item in idle:
            await self._end(item)

    async def give_back(self, lent: _OfPool) -> None:
        try:
            if len(self._idle) < self._limits.size:
                self._idle.append(lent)
            else:
                await self._end(lent)
        finally:
            self._free.release()

    async def drop(self, lent: _OfPool) -> None:
        try:
            await self._end(lent)
        finally:
            self._free.release()

    async def _end(self, lent: _OfPool) -> None:
        self.open -= 1
        await self._closing(lent.session)


class _OfPool:
    def __init__(self, pool: SessionPool, session: Any, born: float) -> None:
        self.session = session
        self.born = born
        self._pool = pool

    async def give_back(self) -> None:
        await self._pool.give_back(self)

    async def drop(self) -> None:
        await self._pool.drop(self)


class Threads:
    """Threads of one connection's own, for drivers that block: a slow database takes no thread of another."""

    def __init__(self, limits: PoolLimits, reserved: int) -> None:
        self._threads = ThreadPoolExecutor(limits.size + limits.overflow + reserved + _SPARE_THREADS)

    async def run(self, call: Callable[..., T], *arguments: Any) -> T:
        """Return what the call returns; leaving early does not end the call."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *arguments)

    def close(self) -> None:
        """Take no more calls."""
        self._threads.shutdown(wait=False, cancel_futures=True)
