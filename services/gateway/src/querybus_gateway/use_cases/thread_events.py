"""A thread's events as they are stored, whichever of its questions they belong to."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator, Collection
from typing import Final

from querybus.core.credential import Credential
from querybus.core.subjects import EventName, token
from querybus.ops.clock import Clock
from querybus_gateway.lifecycle.waiters import Waiters, thread_key
from querybus_gateway.problems import Problem
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.threads import Threads

FOLLOW_SECONDS_MAX: Final = 3_600.0
RUNNING_SECONDS: Final = 0.2
"""How often a thread is looked at while a question of it runs: not every event of it is notified."""
IDLE_SECONDS: Final = 15.0
ENDS_KEPT_MAX: Final = 4_096


class ThreadEvents:
    """Follows threads, for all APIs."""

    def __init__(self, threads: Threads, waiters: Waiters, *, clock: Clock) -> None:
        self._threads = threads
        self._waiters = waiters
        self._clock = clock
        self._ends_shown: OrderedDict[tuple[str, ...], None] = OrderedDict()

    def end_was_shown(self, credential: Credential, thread: str, channels: Collection[str]) -> bool:
        """Whether somebody who follows these channels of a thread has been shown the end of a run of it, here and lately."""
        return _shown_key(credential, thread, channels) in self._ends_shown

    def show_end(self, credential: Credential, thread: str, channels: Collection[str]) -> None:
        """Remember that the end of a run was shown; the ENDS_KEPT_MAX newest are kept."""
        self._ends_shown[_shown_key(credential, thread, channels)] = None
        while len(self._ends_shown) > ENDS_KEPT_MAX:
            self._ends_shown.popitem(last=False)

    async def follow(
        self, thread: str, credential: Credential, *, after_sequence: int, running: Collection[str]
    ) -> AsyncGenerator[Json | None]:
        """Yield the events behind a sequence as `Threads.events` shows them, and None where nothing came for a while.

        `running` are the queries that had not ended at that sequence. Ends after FOLLOW_SECONDS_MAX.
        """
        until = self._clock() + round(FOLLOW_SECONDS_MAX * 1_000)
        still_running = set(running)
        with self._waiters.watch(token(credential.tenant), thread_key(thread)) as watch:
            while self._clock() < until:
                found = await self._threads.events(thread, credential, after_sequence=after_sequence)
                events = [] if isinstance(found, Problem) else found["events"]
                for event in events:
                    after_sequence = event["sequence"]
                    if event["event"] == EventName.FINISHED:
                        still_running.discard(event["query_id"])
                    else:
                        still_running.add(event["query_id"])
                    yield event
                if not events:
                    yield None
                    await watch.wait(RUNNING_SECONDS if still_running else IDLE_SECONDS)


def _shown_key(credential: Credential, thread: str, channels: Collection[str]) -> tuple[str, ...]:
    return (credential.tenant, credential.user, thread, *sorted(channels))
