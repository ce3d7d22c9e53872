"""Requests on one subject, received in a queue group: each in a task of its own, at most `slots` at once.

What exceeds the slots waits in the subscription's own buffer. A request is received by one replica only and is lost with
it: whoever asks sets the limit of its patience. FastStream's own dispatch costs 0.3 ms of CPU a request (docs/adr/,
"the pull loop").
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import nats.errors
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from querybus.bus.connection import Connected, reach
from querybus.ops.log import get_log
from querybus.ops.run import end

UNSUBSCRIBE_SECONDS_MAX: Final = 2.0

_log = get_log(__name__)


class Requests:
    """The requests of one subject; `handle` answers each by itself."""

    def __init__(
        self,
        holder: Connected,
        subject: str,
        *,
        queue: str,
        handle: Callable[[Msg], Awaitable[None]],
        slots: int,
    ) -> None:
        self._holder = holder
        self._subject = subject
        self._queue = queue
        self._handle = handle
        self._free = asyncio.Semaphore(slots)
        self._running: set[asyncio.Task[None]] = set()
        self._subscription: Subscription | None = None

    async def start(self) -> None:
        """Begin to receive; returns once the server knows of it."""
        connection = self._holder.connection
        self._subscription = await connection.subscribe(self._subject, queue=self._queue, cb=self._receive)
        await reach(connection)

    async def drain(self, seconds: float) -> None:
        """Receive no more, and let what was received be answered within that time; the rest is cancelled."""
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            with suppress(nats.errors.Error, TimeoutError):
                await asyncio.wait_for(subscription.drain(), UNSUBSCRIBE_SECONDS_MAX)
        if self._running:
            _, late = await asyncio.wait(list(self._running), timeout=seconds)
            await end(*late)

    @property
    def is_open(self) -> bool:
        """Whether requests are received."""
        return self._subscription is not None

    async def _receive(self, request: Msg) -> None:
        await self._free.acquire()
        task = asyncio.get_running_loop().create_task(self._answer(request))
        self._running.add(task)
        task.add_done_callback(self._answered)

    async def _answer(self, request: Msg) -> None:
        try:
            await self._handle(request)
        except Exception as error:  # noqa: BLE001 - one request must not make the API deaf
            _log.error("request.handler_raised", subject=self._subject, error=type(error).__name__)

    def _answered(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._free.release()
