"""The life of a process: parts that start, answer pings and drain; and the watchdog for a stuck loop."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from typing import Any, Final, Protocol

STUCK_SECONDS_MAX: Final = 10.0
STUCK_EXIT_CODE: Final = 70
CANCEL_AGAIN_SECONDS: Final = 0.5
_TICK_SECONDS: Final = 2.0


class Part(Protocol):
    """Something that a service runs: a stage, a request/reply server, a loop, a pool."""

    @property
    def name(self) -> str: ...

    async def start(self) -> None:
        """Begin; raises if it cannot."""
        ...

    async def drain(self) -> None:
        """Take no more work, finish what runs, then stop; bounded by its own limit."""
        ...

    async def ping(self) -> str | None:
        """Return None if well, else what is wrong, for /readyz."""
        ...


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks until they have ended, however they end.

    Once is not always enough: before Python 3.12 `asyncio.wait_for` loses a cancellation that comes in the same moment
    as what it waits for, and a loop that waits for answers of the bus would go on for ever.
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        done, left = await asyncio.wait(left, timeout=CANCEL_AGAIN_SECONDS)
        for task in done:
            if not task.cancelled():
                # Taken, so that no error is raised that nobody waits for.
                task.exception()


class Watchdog:
    """Ends the process if the event loop has not run for STUCK_SECONDS_MAX.

    A stuck loop cannot answer /livez, nor notice that it is stuck; only a thread can. The limit is far above any
    pause that work in the loop may cause. A process that did not run is not stuck: time by which the thread itself
    woke too late (a paused machine, a starved CPU) does not count.
    """

    def __init__(self, *, stuck_seconds_max: float = STUCK_SECONDS_MAX) -> None:
        self._stuck_seconds_max = stuck_seconds_max
        self._ticked_at = time.monotonic()
        self._stopped = threading.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def tick_age_seconds(self) -> float:
        """Seconds since the loop last ran the tick."""
        return time.monotonic() - self._ticked_at

    def start(self) -> None:
        """Start the tick in the running loop and the thread that watches it."""
        self._ticked_at = time.monotonic()
        self._task = asyncio.get_running_loop().create_task(self._tick())
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def stop(self) -> None:
        """Stop watching."""
        self._stopped.set()
        if self._task is not None:
            self._task.cancel()

    async def _tick(self) -> None:
        while True:
            self._ticked_at = time.monotonic()
            await asyncio.sleep(_TICK_SECONDS)

    def _watch(self) -> None:
        woke_at, ticked_at, not_run_seconds = time.monotonic(), self._ticked_at, 0.0
        while not self._stopped.wait(_TICK_SECONDS):
            now = time.monotonic()
            if self._ticked_at != ticked_at:
                ticked_at, not_run_seconds = self._ticked_at, 0.0
            not_run_seconds += max(0.0, now - woke_at - _TICK_SECONDS)
            woke_at = now
            if now - ticked_at - not_run_seconds > self._stuck_seconds_max:
                os.write(2, b'{"event":"process.stuck","level":"error"}\n')
                os._exit(STUCK_EXIT_CODE)
