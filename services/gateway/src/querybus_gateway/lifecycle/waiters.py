"""Who waits for which query: a notification says "look at the log again"; only the stored last event is handed over.

Notifications may be lost or doubled, so whoever waits also looks by itself, after two seconds first and then less and less
often. Progress notes are lossy: a slow reader loses its oldest ones.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Generator
from typing import Final

from querybus.core.envelope import Envelope
from querybus.core.messages import Finished
from querybus.core.subjects import EventName

POLL_SECONDS_MIN: Final = 2.0
POLL_SECONDS_MAX: Final = 15.0
NOTES_MAX: Final = 64
HANDOVER_SECONDS: Final = 0.01
"""How long the last event itself may come behind the word that it is stored, before the log is asked for it."""


class Watch:
    """One waiter's view of one query; `only_end`: nothing before the last event is worth a look."""

    def __init__(self, *, only_end: bool) -> None:
        self._only_end = only_end
        self._notified = asyncio.Event()
        self._must_look = False
        self._notes: deque[bytes] = deque(maxlen=NOTES_MAX)
        self._poll_seconds = POLL_SECONDS_MIN
        self.finished: Envelope[Finished] | None = None
        """The query's last event, if this replica had it in its hands."""

    def notify(self, event: EventName) -> None:
        """Notify the waiter: the log has this event now."""
        if not self._only_end:
            self._look()
        elif event is EventName.FINISHED:
            # The event itself is on its way to one of the replicas, most often to this one.
            asyncio.get_running_loop().call_later(HANDOVER_SECONDS, self._look)

    def close(self) -> None:
        """Notify the waiter: this replica stops."""
        self._look()

    def note(self, note: bytes) -> None:
        """Notify the waiter with a progress note."""
        self._notes.append(note)
        self._notified.set()

    def finish(self, finished: Envelope[Finished]) -> None:
        """Notify the waiter with the last event, which is stored."""
        self.finished = finished
        self._look()

    def _look(self) -> None:
        self._must_look = True
        self._notified.set()

    def notes(self) -> tuple[bytes, ...]:
        """Return the progress notes that came since the last call."""
        result = tuple(self._notes)
        self._notes.clear()
        return result

    async def wait(self, seconds: float) -> bool:
        """Return at the next notification, at once if one came since the last call, or after the time.

        True: the log should be looked at; False: there are only notes.
        """
        try:
            async with asyncio.timeout(min(seconds, self._poll_seconds)):
                await self._notified.wait()
            self._poll_seconds = POLL_SECONDS_MIN
        except TimeoutError:
            self._poll_seconds = min(2 * self._poll_seconds, POLL_SECONDS_MAX)
            self._must_look = True
        self._notified.clear()
        must_look, self._must_look = self._must_look, False
        return must_look


def thread_key(thread: str) -> str:
    """Return what a thread is waited for by, beside the query that it has its id of."""
    return f"thread:{thread}"


class Waiters:
    """All waiters of this replica, by tenant and query token. A part, drained before the listeners close."""

    def __init__(self) -> None:
        self.name = "waiters"
        self._watches: dict[tuple[str, str], set[Watch]] = {}
        self.is_closing = False
        """Whether this replica stops, so that nobody should wait here any longer."""

    async def start(self) -> None:
        """Do nothing yet."""

    async def drain(self) -> None:
        """Let everybody go, for good: what they wait for goes on without this replica."""
        self.is_closing = True
        for watches in self._watches.values():
            for watch in watches:
                watch.close()

    @contextlib.contextmanager
    def watch(self, tenant: str, query: str, *, only_end: bool = False) -> Generator[Watch]:
        """Register a waiter; it is removed at the end of the block, whatever ends it."""
        watch = Watch(only_end=only_end)
        key = (tenant, query)
        self._watches.setdefault(key, set()).add(watch)
        try:
            yield watch
        finally:
            self._watches[key].discard(watch)
            if not self._watches[key]:
                del self._watches[key]

    def notify(self, tenant: str, query: str, event: EventName) -> None:
        """Notify everyone who waits for the query: its log has this event now."""
        for item in self._watches.get((tenant, query), ()):
            item.notify(event)

    def finish(self, tenant: str, query: str, finished: Envelope[Finished]) -> None:
        """Hand the query's stored last event to everyone who waits for it."""
        for item in self._watches.get((tenant, query), ()):
            item.finish(finished)

    async def ping(self) -> str | None:
        return None

    def __len__(self) -> int:
        return len(self._watches)
