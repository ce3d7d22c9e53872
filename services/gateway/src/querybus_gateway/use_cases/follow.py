"""A query's events as they are stored: each once and in order, with progress between, until the last one.

A stream ends without the last event where this replica stops, the caller's credential is gone, or the longest time has
passed; it is taken up behind its last event at any replica.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from querybus.bus.log.publish import BusTrouble
from querybus.core.credential import TOKEN_CREDENTIAL, Credential
from querybus.core.subjects import EventName, every_progress_filter, token
from querybus.ops.clock import Clock
from querybus_gateway.lifecycle.waiters import Waiters
from querybus_gateway.ports import Credentials, Entry, Log, Progress
from querybus_gateway.public.redaction import public_progress
from querybus_gateway.use_cases.resources import Frame, frame

STREAM_SECONDS_MAX: Final = 700.0
"""A stream of events outlives the longest deadline (600 s) and the time that the sweeper and the presenter take."""


async def is_still_known(credential: Credential, registry: Credentials, now_ms: int) -> bool:
    """Return whether a caller would still be let in: its key was not revoked, its token has not ended."""
    if credential.expires_at is not None and credential.expires_at <= now_ms:
        return False
    if credential.name == TOKEN_CREDENTIAL:
        return True
    known = await registry.get(token(credential.tenant), token(credential.name))
    # What is kept with a batch has no hash of a key.
    return known is not None and credential.key_sha256 in ("", known.key_sha256)


@dataclass(frozen=True, slots=True)
class Following:
    """What following a query needs."""

    log: Log
    progress: Progress
    waiters: Waiters
    clock: Clock
    may_read: Callable[[Credential], Awaitable[bool]]

    async def has_ended(self, query: str, credential: Credential, after_sequence: int) -> bool:
        """Return whether nothing can follow behind a sequence."""
        log = await self._known_log(query, credential)
        return bool(log) and _is_over(log, after_sequence)

    async def events(self, query: str, credential: Credential, after_sequence: int) -> AsyncGenerator[Frame]:
        """Yield the log's events behind a sequence. A sequence of another query can only skip."""
        tenant = token(credential.tenant)
        until = self.clock() + round(STREAM_SECONDS_MAX * 1_000)
        notes_subject = every_progress_filter(tenant, token(credential.user), token(query))
        with self.waiters.watch(tenant, query) as watch:
            log = await self._known_log(query, credential)
            if log and _is_over(log, after_sequence):
                return
            thread = log[0].address.thread if log else None
            async with self.progress.receive(notes_subject, watch.note):
                must_look = True
                while self.clock() < until and not self.waiters.is_closing and await self.may_read(credential):
                    for note in watch.notes():
                        view = public_progress(note, credential.audience)
                        if view is not None:
                            # A stage that starts has an event in hand that is on the log.
                            must_look = must_look or view.get("state") == "started"
                            yield Frame("progress", view)
                    result = await self._new_events(query, credential, after_sequence, thread) if must_look else ()
                    for entry in result:
                        after_sequence, thread = entry.sequence, entry.address.thread
                        yield frame(entry, credential)
                        if entry.address.event is EventName.FINISHED:
                            return
                    must_look = await watch.wait(STREAM_SECONDS_MAX)

    async def _new_events(
        self, query: str, credential: Credential, after_sequence: int, thread: str | None
    ) -> Sequence[Entry]:
        try:
            return await self.log.events(credential.tenant, query, after_sequence, thread=thread)
        except BusTrouble:
            return ()

    async def _known_log(self, query: str, credential: Credential) -> Sequence[Entry]:
        try:
            return await self.log.query(credential.tenant, query)
        except BusTrouble:
            return ()


def _is_over(log: Sequence[Entry], after_sequence: int) -> bool:
    return log[-1].address.event is EventName.FINISHED and log[-1].sequence <= after_sequence
