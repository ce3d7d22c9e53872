"""Which questions of a tenant failed, were asked back, refused, repaired or called wrong, the most frequent first.

Read from how queries ended, at most QUERIES_READ_MAX of them; questions that differ in case, spaces and end marks only are
one. Nobody's name is among what is returned, only how many people asked.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from querybus.bus.log.publish import BusTrouble
from querybus.core.credential import Credential
from querybus.core.envelope import Envelope, Undecodable
from querybus.core.messages import Finished, Outcome
from querybus.core.stored.quality import Quality
from querybus.ops.clock import Clock
from querybus_gateway.ports import Entry
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.queries import BUS_RETRY_SECONDS

QUERIES_READ_MAX: Final = 5_000
DAYS_MAX: Final = 90
LISTED_MAX: Final = 200
DAY_MS: Final = 86_400_000
NOT_OWNER: Final = Problem(
    ProblemCode.SCOPE, "the administration is for owners: keys create --owner --audience analyst"
)
TROUBLE: Final = Problem(ProblemCode.BUS_UNAVAILABLE, retry_after_seconds=BUS_RETRY_SECONDS)

Kind = Literal["wrong", "failed", "asked_back", "refused", "repaired"]

_ENDED: Final[dict[Outcome, Kind]] = {
    Outcome.FAILED: "failed",
    Outcome.EXPIRED: "failed",
    Outcome.CLARIFICATION: "asked_back",
    Outcome.REFUSED: "refused",
}
_NOISE: Final = re.compile(r"[\s?？!！.。,，]+")


class AskedRequest(BaseModel):
    """Which questions the quality shows."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind | None = Field(default=None, description="left out: of every kind")
    connection: str | None = Field(default=None, max_length=200)
    days: int = Field(default=7, ge=1, le=DAYS_MAX, description="how far back")
    limit: int = Field(default=50, ge=1, le=LISTED_MAX)


class EndingsLog(Protocol):
    """How queries of a tenant ended. Raises BusTrouble."""

    async def since(self, tenant: str, since_ms: int, after: int = 0) -> tuple[Sequence[Entry], int]: ...


class QualityKept(Protocol):
    """The quality by tenant and connection. Raises BusTrouble."""

    async def read(self, tenant: str, name: str) -> Quality: ...


class KnownNames(Protocol):
    """The names of all connections that a tenant may use. Raises BusTrouble."""

    async def names(self, tenant: str) -> Sequence[str]: ...


async def refusal(credential: Credential, connection: str, known: KnownNames) -> Problem | None:
    """Return why a caller may not look after a connection; None for its owner. BusTrouble."""
    if not credential.is_owner:
        return NOT_OWNER
    is_own = credential.may_use(connection)
    if not is_own or connection not in await known.names(credential.tenant):
        return Problem(ProblemCode.NOT_FOUND, "there is no such connection for this credential")
    return None


@dataclass
class _Group:
    """Questions that are the same, of one kind and connection; what is shown is of the last one."""

    last: Envelope[Finished]
    count: int = 0
    people: set[str] = field(default_factory=set[str])

    def add(self, finished: Envelope[Finished]) -> None:
        self.count += 1
        self.people.add(finished.user)
        if finished.asked_at >= self.last.asked_at:
            self.last = finished


class AskedQuestions:
    """What people of a tenant asked."""

    def __init__(self, log: EndingsLog, quality: QualityKept, *, clock: Clock) -> None:
        self._log = log
        self._quality = quality
        self._clock = clock
        # One at a time: who asks in a loop waits for itself and not for everybody's processor.
        self._reading = asyncio.Semaphore(1)

    async def listed(self, credential: Credential, wanted: AskedRequest) -> Json | Problem:
        """Return `{questions, since, read, is_partial}`."""
        if not credential.is_owner:
            return NOT_OWNER
        async with self._reading:
            return await self._listed(credential, wanted)

    async def _listed(self, credential: Credential, wanted: AskedRequest) -> Json | Problem:
        since_ms = self._clock() - wanted.days * DAY_MS
        groups: dict[tuple[Kind, str, str], _Group] = {}
        read, after = 0, 0
        marked: dict[str, Collection[str]] = {}
        try:
            while True:
                entries, after = await self._log.since(credential.tenant, since_ms, after)
                for finished in await asyncio.to_thread(_finished_of, entries):
                    if not _is_seen(finished, credential, wanted.connection):
                        continue
                    name = finished.connection
                    if name not in marked:
                        quality = await self._quality.read(credential.tenant, name)
                        marked[name] = {mark.query_id for mark in quality.marks}
                    kind = kind_of(finished, finished.query_id in marked[name])
                    if kind is not None and wanted.kind in (None, kind):
                        key = (kind, name, _NOISE.sub(" ", question_of(finished)).strip().casefold())
                        groups.setdefault(key, _Group(finished)).add(finished)
                read += len(entries)
                if not after or read >= QUERIES_READ_MAX:
                    break
        except BusTrouble:
            return TROUBLE
        ranked = sorted(groups.items(), key=lambda item: (-item[1].count, -item[1].last.asked_at))
        return {
            "questions": [_row(key[0], group) for key, group in ranked[: wanted.limit]],
            "since": since_ms,
            "read": read,
            "is_partial": bool(after),
        }


def kind_of(finished: Envelope[Finished], is_marked: bool) -> Kind | None:
    """Return why an owner would look at it; None for an answer that nothing is wrong with."""
    outcome = finished.body.answer.outcome
    if outcome is Outcome.ANSWERED:
        return "wrong" if is_marked else "repaired" if len(finished.attempts) > 1 else None
    return _ENDED.get(outcome)


def question_of(finished: Envelope[Finished]) -> str:
    """Return the question as it stands by itself."""
    return finished.enriched_question or finished.question


def _finished_of(entries: Sequence[Entry]) -> list[Envelope[Finished]]:
    found: list[Envelope[Finished]] = []
    for entry in entries:
        with suppress(Undecodable):
            envelope: Envelope[Any] = entry.envelope()
            found += [envelope] if isinstance(envelope.body, Finished) else []
    return found


def _is_seen(finished: Envelope[Finished], credential: Credential, connection: str | None) -> bool:
    if finished.shadow_of is not None or not question_of(finished).strip():
        return False
    is_own = credential.may_use(finished.connection)
    return is_own and connection in (None, finished.connection)


def _row(kind: Kind, group: _Group) -> Json:
    finished = group.last
    answer = finished.body.answer
    attempt = finished.attempts[-1] if finished.attempts else None
    return {
        "kind": kind,
        "question": question_of(finished),
        "language": finished.language,
        "connection": finished.connection,
        "count": group.count,
        "people": len(group.people),
        "last_at": finished.asked_at,
        "query_id": finished.query_id,
        "outcome": answer.outcome.value,
        "code": answer.code.value if answer.code else None,
        "message": answer.message,
        "sql": attempt.sql if attempt else None,
    }
