"""A database server behind a bounded pool: waiting, deadlines, cancels, short retries and a breaker, for any driver.

What differs between engines is a Driver. Every statement has a session of its own from `begin` to `reset`; a session
that cannot be reset in time is closed, not lent again. A blip is tried again for a moment; a server that stays away
opens the connection's breaker, and every question fails at once. Explain, probe and the catalog have their own
small pool, so they never wait behind the statements that fill the other.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from querybus.core.failure import Facts, Failure, FailureCode
from querybus.core.policy import Reader
from querybus.ops.metrics import Metrics
from querybus_executor.engines.pool import Lent, Pool
from querybus_executor.ports import Estimate, Load, PageSink, Purpose, Rows, reader_of_statement
from querybus_executor.results.receive import Receiver

CONNECT_SECONDS_MAX: Final = 5.0
GRACE_SECONDS: Final = 0.25
RESET_SECONDS_MAX: Final = 2.0
RESERVED_CONNECTIONS: Final = 2
RETRY_PAUSES_SECONDS: Final = (0.05, 0.25)
BREAKER_FAILURES: Final = 3
BREAKER_SECONDS: Final = 5.0
OWN_BYTES_MAX: Final = 256 << 20
T = TypeVar("T", Rows, Estimate)

_RETRIED: Final = frozenset({FailureCode.CONNECTION, FailureCode.LOCK})


class NoReaderError(Exception):
    """A statement without a reader, where the database itself decides on rows by its reader."""

    def __init__(self) -> None:
        super().__init__("nobody is named for whom the database shows rows (policy.native)")


@dataclass(frozen=True, slots=True)
class Asked:
    """One statement, what takes its rows, and what is left of its time when it begins. `own`: no text from outside."""

    sql: str
    into: Receiver
    seconds: float
    own: bool = False


class Driver(Protocol):
    """What one engine's driver does with one of its sessions."""

    async def begin(self, session: Any, seconds: float) -> None:
        """Open a read-only transaction with these limits."""
        ...

    async def run(self, session: Any, asked: Asked) -> Rows | Failure:
        """Run a statement as a stream into its receiver."""
        ...

    async def explain(self, session: Any, sql: str) -> Estimate | Failure:
        """Return what the engine expects of a statement."""
        ...

    async def stop(self, session: Any) -> None:
        """End what the session does, after its task was cancelled."""
        ...

    async def reset(self, session: Any) -> None:
        """Undo whatever a statement may have left in the session."""
        ...

    def failure(self, error: BaseException, sql: str) -> Failure | None:
        """Return what an error means, or None where it is no error of the engine."""
        ...


NameReader = Callable[[Any, Reader | None], Awaitable[None]]
"""Names the reader of a transaction to the database's own row security until it ends; NoReaderError without one."""


class Server:
    """One database on a server. Nothing is connected before the first statement.

    With `name_reader` nothing but our own statements runs without a reader (`ports.reading_for`).
    """

    def __init__(
        self,
        name: str,
        driver: Driver,
        pool: Pool,
        reserved: Pool,
        *,
        bytes_max: int,
        metrics: Metrics,
        timer: Callable[[], float] = time.monotonic,
        closing: Callable[[], None] = lambda: None,
        name_reader: NameReader | None = None,
    ) -> None:
        self._name = name
        self._closing = closing
        self._name_reader = name_reader
        self.driver = driver
        self._pools = {False: pool, True: reserved}
        self._bytes_max = bytes_max
        self._metrics = metrics
        self._timer = timer
        self._waiting = 0
        self._generation = 0
        self._failures = 0
        self._closed_until = 0.0
        self._settling: set[asyncio.Task[None]] = set()

    async def run(
        self, sql: str, *, rows_max: int, seconds_max: float, purpose: Purpose, pages: PageSink | None = None
    ) -> Rows | Failure:
        """Return at most `rows_max` rows, or why there are none, within `seconds_max` and a moment."""
        into = Receiver(rows_max=rows_max, bytes_max=self._bytes_max, pages=pages)
        return await self._rows(sql, into, seconds_max, reserved=purpose is not Purpose.EXECUTE)

    async def own(self, sql: str, rows_max: int, seconds_max: float) -> Rows | Failure:
        """Run a statement of our own about the database's tables."""
        into = Receiver(rows_max=rows_max, bytes_max=OWN_BYTES_MAX)
        return await self._rows(sql, into, seconds_max, reserved=True, own=True)

    async def explain(self, sql: str, *, seconds_max: float) -> Estimate | Failure:
        """Return what the engine expects of the statement, or has against it; it is not run."""

        async def ask(session: Any, _seconds: float) -> Estimate | Failure:
            await self._named(session)
            return await self.driver.explain(session, sql)

        return await self._tried(ask, sql, seconds_max, reserved=True)

    def load(self) -> Load:
        """Return how busy the pool for statements is."""
        pool = self._pools[False]
        return Load(open=pool.open, idle=pool.idle, waiting=self._waiting)

    async def close(self) -> None:
        """Close all connections."""
        if self._settling:
            await asyncio.gather(*self._settling, return_exceptions=True)
        for pool in self._pools.values():
            await pool.close()
        self._closing()

    async def _rows(
        self, sql: str, into: Receiver, seconds_max: float, *, reserved: bool, own: bool = False
    ) -> Rows | Failure:
        async def ask(session: Any, seconds: float) -> Rows | Failure:
            if not own:
                await self._named(session)
            return await self.driver.run(session, Asked(sql, into, seconds, own))

        return await self._tried(ask, sql, seconds_max, reserved=reserved, into=into)

    async def _named(self, session: Any) -> None:
        if self._name_reader is not None:
            await self._name_reader(session, reader_of_statement())

    async def _tried(
        self,
        ask: Callable[[Any, float], Awaitable[T | Failure]],
        sql: str,
        seconds_max: float,
        *,
        reserved: bool,
        into: Receiver | None = None,
    ) -> T | Failure:
        if self._timer() < self._closed_until:
            return Failure.of(
                FailureCode.CONNECTION, "the database did not answer a moment ago; it is tried again soon"
            )
        if self._failures >= BREAKER_FAILURES:
            # One asks whether it is back; until then the others get an error at once.
            self._closed_until = self._timer() + min(seconds_max, CONNECT_SECONDS_MAX)
        until = self._timer() + seconds_max
        result = await self._once(ask, sql, until, reserved=reserved)
        for pause in RETRY_PAUSES_SECONDS:
            if not isinstance(result, Failure) or result.code not in _RETRIED or self._timer() + pause >= until:
                break
            if into is not None and into.has_begun:
                break  # its first rows are on their way to the reader
            await asyncio.sleep(pause)
            self._metrics.database_reconnected(self._name)
            result = await self._once(ask, sql, until, reserved=reserved)
        self._note(is_away=isinstance(result, Failure) and result.code is FailureCode.CONNECTION)
        return result

    def _note(self, *, is_away: bool) -> None:
        was_open = self._failures >= BREAKER_FAILURES
        self._failures = self._failures + 1 if is_away else 0
        is_open = self._failures >= BREAKER_FAILURES
        self._closed_until = self._timer() + BREAKER_SECONDS if is_open else 0.0
        if is_open != was_open:
            self._metrics.breaker("database", self._name, is_open=is_open)

    async def _once(
        self, ask: Callable[[Any, float], Awaitable[T | Failure]], sql: str, until: float, *, reserved: bool
    ) -> T | Failure:
        lent: Lent | None = None
        session: Any = None
        finished = False
        generation = self._generation
        try:
            async with asyncio.timeout(max(0.001, until - self._timer()) + GRACE_SECONDS):
                self._waiting += not reserved
                asked_at = self._timer()
                try:
                    lent = await self._pools[reserved].lend()
                finally:
                    self._waiting -= not reserved
                    self._metrics.database_waited(self._name, self._timer() - asked_at)
                session = lent.session
                left = max(0.001, until - self._timer())
                await self.driver.begin(session, left)
                result = await ask(session, left)
                finished = True
                if isinstance(result, Failure) and result.code is FailureCode.CONNECTION:
                    await self._renew(generation)
                return result
        except (TimeoutError, PoolTimeout) as error:
            if session is None and self._timer() < until and not isinstance(error, PoolTimeout):
                return Failure.of(
                    FailureCode.CONNECTION, "no connection: the database does not answer", Facts(native_code="timeout")
                )
            if session is None:
                return Failure.of(FailureCode.TIMEOUT, "no connection to the database became free in time")
            return Failure.of(FailureCode.TIMEOUT, "the statement was ended at its time limit")
        except Exception as error:
            finished = session is not None
            if isinstance(error, NoReaderError):
                return Failure.of(FailureCode.PERMISSION, str(error))
            failure = self.driver.failure(_cause(error), sql)
            if failure is None:
                raise
            if session is None:
                # Whatever a server says while it connects, a connection is what there is not.
                return Failure.of(FailureCode.CONNECTION, f"no connection: {failure.detail}", failure.facts)
            if failure.code is FailureCode.CONNECTION:
                await self._renew(generation)
            return failure
        finally:
            if lent is not None:
                # The caller does not wait for this: the session is cleaned, or closed where that fails.
                task = asyncio.get_running_loop().create_task(self._settle(lent, session, finished=finished))
                self._settling.add(task)
                task.add_done_callback(self._settling.discard)

    async def _renew(self, generation: int) -> None:
        """Close the idle sessions that are as old as one which was found dead: a server that restarted ended them all."""
        if generation != self._generation:
            return
        self._generation += 1
        try:
            async with asyncio.timeout(RESET_SECONDS_MAX):
                await asyncio.gather(*(pool.close() for pool in self._pools.values()), return_exceptions=True)
        except TimeoutError:
            return  # what is left of them is found dead when it is lent

    async def _settle(self, lent: Lent, session: Any, *, finished: bool) -> None:
        try:
            async with asyncio.timeout(RESET_SECONDS_MAX):
                if not finished:
                    await self.driver.stop(session)
                await self.driver.reset(session)
        except Exception:  # noqa: BLE001 - whatever is wrong with a session, it is not lent again
            await lent.drop()
        else:
            await lent.give_back()


def away(error: BaseException) -> Failure:
    """Return the failure of an error of the network, with what went wrong as its native code.

    >>> away(ConnectionRefusedError()).facts.native_code, away(OSError("x")).facts.native_code
    ('refused', 'OSError')
    """
    inner = error if error.__cause__ is None else error.__cause__
    causes = (error, inner)
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        code = "certificate"
    elif any(isinstance(cause, ssl.SSLError) or "SSL" in str(cause) for cause in causes):
        code = "tls"
    elif any(isinstance(cause, socket.gaierror) for cause in causes):
        code = "host"
    elif any(isinstance(cause, ConnectionRefusedError) or "refused" in str(cause).lower() for cause in causes):
        code = "refused"
    else:
        code = type(error).__name__
    return Failure.of(
        FailureCode.CONNECTION, f"the database does not answer ({type(error).__name__})", Facts(native_code=code)
    )


def _cause(error: BaseException) -> BaseException:
    """Return the driver's own error under SQLAlchemy's wrapping."""
    if isinstance(error, DBAPIError) and error.orig is not None:
        return error.orig.__cause__ or error.orig
    if isinstance(error, SQLAlchemyError) and error.__cause__ is not None:
        return error.__cause__
    return error
