"""What the gateway records in the audit: ends of queries, sign-ins, refusals, confirmations and changes of keys.

A deed is recorded before it takes effect or is acknowledged. Refusals that are alike are counted and recorded together
every few seconds, so that whoever is refused again and again fills no store; what is not yet recorded when the process
dies is lost.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, cast

from querybus.bus.log.publish import BusTrouble
from querybus.core.credential import Credential
from querybus.core.envelope import Envelope, Undecodable, decode
from querybus.core.messages import Concluded, Finished
from querybus.core.stored.audit import UNKNOWN_TENANT, AuditFacts, AuditKind, Words, salt_of
from querybus.core.subjects import EventAddress, EventName
from querybus.ops.clock import Clock
from querybus.ops.log import get_log
from querybus.ops.run import end
from querybus_gateway.problems import Problem

FLUSH_SECONDS: Final = 5.0
REFUSALS_MAX: Final = 200
"""Different refusals of a chain that are recorded apart at once; the rest of a burst is counted together, by tenant and code."""
REFUSALS_PER_SECOND: Final = 0.5
"""How fast a chain may take different ones again: 43,000 a day are 20 MB, so that no flood drives others' records out."""
_log = get_log(__name__)

Conclusion = Callable[[EventAddress], Awaitable[tuple[int, bytes] | None]]
"""Sequence and bytes of how a query was concluded. Raises BusTrouble."""


class AuditChains(Protocol):
    """Appends records. Raises BusTrouble."""

    async def record(self, facts: AuditFacts, words: Words | None = None) -> None: ...


class AuditTrail:
    """Makes records of what happens at the gateway. A part."""

    def __init__(self, chains: AuditChains, conclusion: Conclusion, *, clock: Clock) -> None:
        self.name = "audit"
        self._chains = chains
        self._conclusion = conclusion
        self._clock = clock
        self._refused: Counter[AuditFacts] = Counter()
        self._left: dict[str, tuple[float, int]] = {}
        """By tenant: how many different refusals may still be recorded, as of a time in ms."""
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to record refusals."""
        self._task = asyncio.create_task(self._flush_on_and_on())

    async def drain(self) -> None:
        """Record what was refused until now."""
        if self._task is not None:
            await end(self._task)
        await self._flush()

    async def ping(self) -> str | None:
        return None

    async def record(
        self, kind: AuditKind, credential: Credential, *, about: str = "", query_id: str = "", thread_id: str = ""
    ) -> None:
        """Record what a caller does. BusTrouble."""
        await self._chains.record(
            AuditFacts(
                kind=kind,
                at=self._clock(),
                tenant=credential.tenant,
                user=credential.user,
                credential=credential.name,
                audience=credential.audience,
                about=about,
                query_id=query_id,
                thread_id=thread_id,
            )
        )

    async def record_end(self, envelope: Envelope[Finished], address: EventAddress) -> None:
        """Record how a query ended and which statement it ran, with a hash of its words. BusTrouble."""
        answer = envelope.body.answer
        found = await self._conclusion(address)
        words = None if found is None else _words_of(envelope.question, found[1])
        facts = AuditFacts(
            kind=AuditKind.STATEMENT,
            at=self._clock(),
            tenant=envelope.tenant,
            user=envelope.user,
            audience=envelope.audience,
            connection=envelope.connection,
            query_id=envelope.query_id,
            thread_id=envelope.thread_id,
            outcome=answer.outcome,
            code=answer.code or "",
            row_count=answer.row_count,
            rows_affected=answer.rows_affected,
            shadow_of=envelope.shadow_of or "",
            event_sequence=0 if found is None or words is None else found[0],
            words_sha256="" if words is None else words.digest,
        )
        await self._chains.record(facts, words)

    def note_refusal(self, credential: Credential, problem: Problem, about: str = "") -> None:
        """Count a refusal of what a caller may not do."""
        self._note(
            AuditFacts(
                kind=AuditKind.REFUSAL,
                at=0,
                tenant=credential.tenant,
                user=credential.user,
                credential=credential.name,
                about=about,
                code=problem.code,
            )
        )

    def note_stranger(self, source: str, claimed: str, code: str) -> None:
        """Count a refusal of somebody whom no key or token names; `claimed` is the public part of what was sent."""
        self._note(
            AuditFacts(
                kind=AuditKind.REFUSAL, at=0, tenant=UNKNOWN_TENANT, source=source[:100], about=claimed, code=code
            )
        )

    def _note(self, facts: AuditFacts) -> None:
        if facts not in self._refused and not self._takes(facts.tenant):
            facts = AuditFacts(kind=AuditKind.REFUSAL, at=0, tenant=facts.tenant, code=facts.code)
        self._refused[facts] += 1

    def _takes(self, tenant: str) -> bool:
        """Take one of the tenant's places for a different refusal, if there is one."""
        now = self._clock()
        left, at = self._left.get(tenant, (float(REFUSALS_MAX), now))
        left = min(REFUSALS_MAX, left + (now - at) / 1_000 * REFUSALS_PER_SECOND)
        self._left[tenant] = (max(0.0, left - 1), now)
        return left >= 1

    async def _flush_on_and_on(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            await self._flush()

    async def _flush(self) -> None:
        noted, self._refused = self._refused, Counter()
        for facts, count in noted.items():
            try:
                await self._chains.record(facts.model_copy(update={"at": self._clock(), "count": count}))
            except BusTrouble as trouble:
                _log.warning("audit.not_written", reason=str(trouble))
                self._refused[facts] += count


def _words_of(question: str, event: bytes) -> Words | None:
    try:
        body = decode(EventName.CONCLUDED, event).body
    except Undecodable:
        return None
    return Words(question=question, sql=cast("Concluded", body).sql, salt=salt_of(event))
