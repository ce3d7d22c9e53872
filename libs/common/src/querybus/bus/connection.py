"""A plain connection to the bus as one user, with that user's own inbox prefix.

It reconnects for ever; what the server refuses or drops is only reported to `on_error`, because a permission violation
is asynchronous: nothing is raised at the place that caused it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar, cast

import nats.errors
from nats.aio.client import Client

from querybus.bus.log.publish import BusTrouble

PENDING_BYTES_MAX: Final = 8 * 1_024 * 1_024
CONNECT_TIMEOUT_SECONDS: Final = 5
RECONNECT_WAIT_SECONDS: Final = 0.5
START_REQUESTS_SECONDS: Final = (5.0, 10.0, 30.0)
"""How long a request at the start of a process waits for its answer, the first time and when it is made again."""

LATE_PAUSE_SECONDS: Final = 0.1
LATE_SECONDS_MAX: Final = 10.0
"""The longest that one request is waited for: it may have been lost with the leader that it was sent to."""

_until: ContextVar[float | None] = ContextVar("reads_until", default=None)

Answer = TypeVar("Answer")

OnError = Callable[[Exception], Awaitable[None]]


class Connected(Protocol):
    """Whatever holds a connection once it is started; a BusBroker is one."""

    @property
    def connection(self) -> Client: ...


@dataclass(frozen=True, slots=True)
class Held:
    """A connection that exists already."""

    connection: Client


def inbox_prefix(user: str) -> str:
    """Return the inbox prefix of a service user, without the trailing dot."""
    return f"_INBOX.{user}"


async def reach(connection: Client) -> None:
    """Return once everything that was published or subscribed so far has reached the server.

    One `flush` is not enough: the client writes its PING past the commands that it still buffers, so the answer to
    the first says only that these have left, and the answer to the second that they have arrived.
    """
    await connection.flush()
    await connection.flush()


async def until_answered(request: Callable[[float], Awaitable[Answer]]) -> Answer:
    """Return what `request` returns, which is given the seconds that it may wait; made again while nothing answers.

    A cluster whose leader is just gone drops a request without a word, so to wait longer for that one is no use; a
    server whose disk is busy takes its time, so the last one waits long. Raises TimeoutError when none is answered.
    """
    for seconds in START_REQUESTS_SECONDS[:-1]:
        with suppress(TimeoutError):
            return await request(seconds)
    return await request(START_REQUESTS_SECONDS[-1])


@contextmanager
def reads_until(loop_time: float) -> Generator[None]:
    """Let the reads of a block wait for late answers until this time of the loop's clock."""
    before = _until.set(loop_time)
    try:
        yield
    finally:
        _until.reset(before)


async def answer_of(read: Callable[[float], Awaitable[Answer]], seconds: float) -> Answer:
    """Return what `read` returns, which is given the seconds that it may wait. BusTrouble.

    Asked again with twice the time where nothing came in time and the work at hand has time left. Fixed seconds fail
    together with what slows down: a process that is starved of its CPU finds them over before it has looked at an
    answer that came in time; given up, the message would come again, use up a delivery and repeat all work.
    """
    loop = asyncio.get_running_loop()
    while True:
        try:
            return await read(seconds)
        except BusTrouble as trouble:
            until = _until.get()
            if not isinstance(trouble.__cause__, TimeoutError) or until is None or loop.time() >= until:
                raise
        await asyncio.sleep(LATE_PAUSE_SECONDS)
        seconds = min(2 * seconds, LATE_SECONDS_MAX)


async def _ignore(_: Exception) -> None:
    """Reconnecting is the client's own business; the next request shows what is lasting."""


class BusRefused(Exception):
    """The bus cannot be reached within the time, or it does not let this user in."""


async def connect(
    url: str,
    user: str,
    password: str,
    *,
    inbox: str | None = None,
    on_error: OnError | None = None,
    timeout_seconds: float = CONNECT_TIMEOUT_SECONDS,
) -> Client:
    """Return a connection as `user` to one of the comma-separated addresses, whose inboxes lie below `inbox` (default: the user's own prefix).

    The first connection must come about within the timeout, else BusRefused; a later loss is repaired for ever.
    """
    client = Client()
    trouble: list[Exception] = []
    refused = asyncio.Event()
    report = on_error or _ignore

    async def received(error: Exception) -> None:
        trouble.append(error)
        del trouble[:-1]
        if "authorization" in str(error).lower():
            refused.set()
        await report(error)

    connecting = asyncio.create_task(
        client.connect(
            url.split(","),
            user=user,
            password=password,
            name=user,
            inbox_prefix=(inbox or inbox_prefix(user)).encode(),
            error_cb=received,
            connect_timeout=CONNECT_TIMEOUT_SECONDS,
            max_reconnect_attempts=-1,
            # The client's type says int, its code waits for fractions as well.
            reconnect_time_wait=cast("int", RECONNECT_WAIT_SECONDS),
            ping_interval=10,
            max_outstanding_pings=2,
            pending_size=PENDING_BYTES_MAX,
        )
    )
    refusal = asyncio.create_task(refused.wait())
    try:
        await asyncio.wait({connecting, refusal}, timeout=timeout_seconds, return_when=asyncio.FIRST_COMPLETED)
        if connecting.done() and not refused.is_set():
            await connecting
            if client.is_connected:
                return client
    except nats.errors.Error as error:
        raise BusRefused(f"the bus at {url} does not let {user} in: {error}") from error
    finally:
        refusal.cancel()
        if not connecting.done():
            connecting.cancel()
    await client.close()
    reason = str(trouble[-1]) if trouble else "no answer"
    within = "" if refused.is_set() else f" within {timeout_seconds:g} s"
    raise BusRefused(f"the bus at {url} does not let {user} in{within}: {reason}")
