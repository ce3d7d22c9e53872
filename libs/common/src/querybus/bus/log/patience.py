"""How long a read of the bus is waited for: while work on a query has time left, an answer that comes late is waited for.

Fixed seconds fail together with what slows down: a process that is starved of its CPU finds them over before it has
looked at an answer that came in time. Given up, the message would come again, use up a delivery and repeat all work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeVar

from querybus.bus.log.publish import BusTrouble

PAUSE_SECONDS: Final = 0.1
READ_SECONDS_MAX: Final = 10.0
"""The longest that one request is waited for: it may have been lost with the leader that it was sent to."""

_until: ContextVar[float | None] = ContextVar("reads_until", default=None)
_Answer = TypeVar("_Answer")


@contextmanager
def reads_until(loop_time: float) -> Generator[None]:
    """Let the reads of a block wait for late answers until this time of the loop's clock."""
    before = _until.set(loop_time)
    try:
        yield
    finally:
        _until.reset(before)


async def answer_of(read: Callable[[float], Awaitable[_Answer]], seconds: float) -> _Answer:
    """Return what `read` returns, which is given the seconds that it may wait. BusTrouble.

    Asked again with twice the time where nothing came in time and the work at hand has time left.
    """
    loop = asyncio.get_running_loop()
    while True:
        try:
            return await read(seconds)
        except BusTrouble as trouble:
            until = _until.get()
            if not isinstance(trouble.__cause__, TimeoutError) or until is None or loop.time() >= until:
                raise
        await asyncio.sleep(PAUSE_SECONDS)
        seconds = min(2 * seconds, READ_SECONDS_MAX)
