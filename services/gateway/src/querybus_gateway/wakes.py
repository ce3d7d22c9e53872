"""Who waits for which query: a wake-up says "look at the log again", never what stands there.

Wake-ups may be lost, doubled or false (a rejected publish wakes as well), so whoever waits also looks by itself,
after one second first and then less and less often. Progress notes are lossy: a slow reader loses its oldest ones.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Generator
from typing import Final

POLL_SECONDS_MIN: Final = 1.0
POLL_SECONDS_MAX: Final = 15.0
NOTES_MAX: Final = 64


class Watch:
    """One waiter's view of one query."""

    def __init__(self) -> None:
        self._woken = asyncio.Event()
        self._must_look = False
        self._notes: deque[bytes] = deque(maxlen=NOTES_MAX)
        self._poll_seconds = POLL_SECONDS_MIN

    def wake(self, note: bytes | None = None) -> None:
        """Wake the waiter: with a progress note, or because the log may have grown."""
        if note is not None:
            self._notes.append(note)
        else:
            self._must_look = True
        self._woken.set()

    def notes(self) -> tuple[bytes, ...]:
        """Return the progress notes that came since the last call."""
        found = tuple(self._notes)
        self._notes.clear()
        return found

    async def wait(self, seconds: float) -> bool:
        """Return at the next wake-up, at once if one came since the last call, or after the time.

        True: the log should be looked at; False: there are only notes.
        """
        try:
            await asyncio.wait_for(self._woken.wait(), min(seconds, self._poll_seconds))
            self._poll_seconds = POLL_SECONDS_MIN
        except TimeoutError:
            self._poll_seconds = min(2 * self._poll_seconds, POLL_SECONDS_MAX)
            self._must_look = True
        self._woken.clear()
        must_look, self._must_look = self._must_look, False
        return must_look


class Wakes:
    """All waiters of this replica, by tenant and query token."""

    def __init__(self) -> None:
        self._watches: dict[tuple[str, str], set[Watch]] = {}

    @contextlib.contextmanager
    def watch(self, tenant: str, query: str) -> Generator[Watch]:
        """Register a waiter; it is removed at the end of the block, whatever ends it."""
        watch = Watch()
        key = (tenant, query)
        self._watches.setdefault(key, set()).add(watch)
        try:
            yield watch
        finally:
            self._watches[key].discard(watch)
            if not self._watches[key]:
                del self._watches[key]

    def wake(self, tenant: str, query: str, note: bytes | None = None) -> None:
        """Wake everyone who waits for the query."""
        for each in self._watches.get((tenant, query), ()):
            each.wake(note)

    def __len__(self) -> int:
        return len(self._watches)
