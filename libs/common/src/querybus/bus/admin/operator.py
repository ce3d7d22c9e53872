"""What an operator does on the bus: read dead letters and logs, drop a letter, ask a question again.

With the rights of the bus user `operator`: it publishes no event and reads no secret. What it asks again goes through
the submit queue, where the gateway admits it like any other question.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, Final

import nats.errors
from nats.aio.client import Client

from querybus.bus.admin.audit_export import exported_lines
from querybus.bus.connection import Held
from querybus.bus.log.journal import Entry, Journal, epoch_ms_of
from querybus.bus.log.publish import BusTrouble, publish_message
from querybus.bus.log.stream_reads import Kept, some_below
from querybus.core.envelope import Envelope, encode
from querybus.core.messages import Asked
from querybus.core.subjects import StageName, dead_filter, dead_subject, submit_subject, token
from querybus.core.topology import DEAD
from querybus.ops.clock import Clock, system_clock

DROP_SECONDS_MAX: Final = 5.0
SUBMIT_MS_MAX: Final = 5_000
LETTERS_MAX: Final = 500

_NOT_FOUND: Final = frozenset({10_037, 10_043, 10_057})


@dataclass(frozen=True, slots=True)
class Letter:
    """One dead letter: the raw message as it was, and why, where and after how many deliveries it died."""

    sequence: int
    stored_at: int
    stage: str
    reason: str
    subject: str
    subject_sequence: int
    deliveries: int
    data: bytes


class OperatorActions:
    """An operator's connection. Everything may raise BusTrouble."""

    def __init__(self, connection: Client, *, clock: Clock = system_clock) -> None:
        self._connection = connection
        self._clock = clock
        self._journal = Journal(Held(connection))

    async def letters(
        self, *, stage: StageName | None = None, after: int = 0, limit: int = LETTERS_MAX
    ) -> tuple[Letter, ...]:
        """Return the dead letters behind a sequence, oldest first."""
        subject = dead_filter() if stage is None else dead_subject(stage)
        most = min(limit, LETTERS_MAX)
        result = await some_below(self._connection, DEAD, subject, sequence=after + 1, most=most)
        return tuple(map(_letter, result))

    async def letter(self, sequence: int) -> Letter | None:
        """Return one dead letter, or None if there is none of that sequence."""
        result = await some_below(self._connection, DEAD, dead_filter(), sequence=max(1, sequence), most=1)
        return _letter(result[0]) if result and result[0].sequence == sequence else None

    async def drop(self, sequence: int) -> bool:
        """Delete a dead letter for good; False if there was none of that sequence."""
        body = json.dumps({"seq": sequence}).encode()
        try:
            reply = await self._connection.request(f"$JS.API.STREAM.MSG.DELETE.{DEAD}", body, timeout=DROP_SECONDS_MAX)
        except (nats.errors.Error, TimeoutError) as error:
            raise BusTrouble(f"not dropped: {type(error).__name__}") from error
        answer: dict[str, Any] = json.loads(reply.data)
        error = answer.get("error")
        if error is not None and error.get("err_code") not in _NOT_FOUND:
            raise BusTrouble(f"not dropped: {error.get('description', 'no reason given')}")
        return bool(answer.get("success"))

    async def query(self, tenant: str, query: str) -> tuple[Entry, ...]:
        """Return every event of a query that is still kept."""
        return await self._journal.events(tenant, query)

    async def thread(self, tenant: str, thread: str) -> tuple[Entry, ...]:
        """Return every event of a thread; LogTooLong for one that cannot be listed."""
        entries: list[Entry] = []
        while True:
            some = await self._journal.thread_events(
                tenant, thread, after_sequence=entries[-1].sequence if entries else 0
            )
            if not some:
                return tuple(entries)
            entries += some

    def audit_lines(
        self, *, tenant: str | None, since_ms: int, until_ms: int | None, follow: bool
    ) -> AsyncGenerator[str]:
        """Give the lines of an export of the audit, as `exported_lines` does."""
        return exported_lines(self._connection, tenant=tenant, since_ms=since_ms, until_ms=until_ms, follow=follow)

    async def submit(self, asked: Envelope[Asked]) -> None:
        """Put a question where the gateway takes it from, once by its id. BusTrouble, TooLarge."""
        await publish_message(
            self._connection.jetstream(),
            submit_subject(token(asked.tenant), asked.query_id),
            encode(asked),
            identity=f"{asked.query_id}:submitted",
            until_ms=self._clock() + SUBMIT_MS_MAX,
            clock=self._clock,
        )

    async def resubmit(self, letter: Letter) -> None:
        """Put a submitted question that died back under its own credential. BusTrouble, TooLarge."""
        key = f"replay-{letter.sequence}"
        await publish_message(
            self._connection.jetstream(),
            letter.subject,
            letter.data,
            identity=f"{letter.subject}:{key}",
            headers={"Idempotency-Key": key},
            until_ms=self._clock() + SUBMIT_MS_MAX,
            clock=self._clock,
        )


def _letter(kept: Kept) -> Letter:
    reported = kept.headers

    def number(name: str) -> int:
        value = reported.get(name, "")
        return int(value) if value.isascii() and value.isdigit() else 0

    return Letter(
        sequence=kept.sequence,
        stored_at=epoch_ms_of(reported.get("Nats-Time-Stamp", "")),
        stage=reported.get("Querybus-Stage", kept.subject.rpartition(".")[2]),
        reason=reported.get("Querybus-Reason", ""),
        subject=reported.get("Querybus-Subject", ""),
        subject_sequence=number("Querybus-Sequence"),
        deliveries=number("Querybus-Deliveries"),
        data=kept.data,
    )
