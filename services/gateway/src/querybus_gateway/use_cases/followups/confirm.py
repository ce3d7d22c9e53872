"""A person's yes: what a query asked to be confirmed becomes the first event of a new query, once.

The new query's id is derived from (tenant, asking query, SQL hash), so a second yes loses the fence and gives the same
query back. The statement stays where it is, on the asking query's log: the validator reads and checks it again. What
was asked longer ago than CONFIRM_MS_MAX has to be asked again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from querybus.bus.log.publish import BusTrouble, Stored, address_of
from querybus.core.credential import Credential
from querybus.core.envelope import Envelope, PathStep, Retries
from querybus.core.ids import derived_id, is_id
from querybus.core.messages import Confirmed
from querybus.core.stored.audit import AuditKind
from querybus.core.stored.models import NO_USE
from querybus.core.subjects import EventName, StageName
from querybus.ops.clock import Clock
from querybus_gateway.lifecycle.in_flight import OPEN_QUERIES_MAX, OpenQueries
from querybus_gateway.ports import Audit, Entry, Events, Log
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.use_cases.queries import BUS_RETRY_SECONDS, PUBLISH_MS_MAX, Queries
from querybus_gateway.use_cases.resources import Reply, asked_confirmation, first, is_second_person, resource_of

CONFIRM_MS_MAX: Final = 3_600_000
"""How long after its conclusion a query can be confirmed."""
_REFUSALS: Final = frozenset({ProblemCode.SCOPE, ProblemCode.NOT_CONFIRMABLE, ProblemCode.NOT_FOUND})


class ConfirmRequest(BaseModel):
    """What is confirmed: exactly that statement, and at most so many rows."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sql_sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="as the confirmation gave it")
    rows_affected_max: int | None = Field(
        default=None, ge=0, le=1_000_000_000, description="rolled back beyond it; default: what was proposed"
    )


class Confirmations:
    """Confirms what queries of their own asked, for all APIs."""

    def __init__(
        self, queries: Queries, *, log: Log, events: Events, open_queries: OpenQueries, clock: Clock, audit: Audit
    ) -> None:
        self._queries = queries
        self._log = log
        self._events = events
        self._open = open_queries
        self._clock = clock
        self._audit = audit

    async def confirm(
        self, query: str, request: ConfirmRequest, credential: Credential, *, wait_seconds: float = 0
    ) -> Reply | Problem:
        """Begin the query that runs what `query` asked to be confirmed; a second yes gives the same one back."""
        begun: tuple[Envelope[Confirmed], bool] | Reply | Problem = await self._queries.read(query, credential)
        if isinstance(begun, Reply):
            try:
                begun = await self._begin(query, request, credential)
            except BusTrouble:
                begun = Problem(ProblemCode.BUS_UNAVAILABLE, retry_after_seconds=BUS_RETRY_SECONDS)
        if isinstance(begun, Problem):
            if begun.code in _REFUSALS:
                self._audit.note_refusal(credential, begun, f"confirmation of {query[:80]}")
            return begun
        envelope, is_new = begun
        reply = await self._queries.wait(envelope.query_id, credential, wait_seconds, is_known=True)
        if isinstance(reply, Problem):
            reply = Reply(envelope.query_id, resource_of(envelope, EventName.CONFIRMED), is_finished=False)
        return Reply(reply.query_id, reply.resource, reply.is_finished, is_replayed=not is_new)

    async def _begin(
        self, query: str, request: ConfirmRequest, credential: Credential
    ) -> tuple[Envelope[Confirmed], bool] | Problem:
        log = await self._log.query(credential.tenant, query) if is_id(query) else ()
        now = self._clock()
        envelope = confirmed(log, request, credential, now)
        if isinstance(envelope, Problem):
            return envelope
        if (known := await self._known(envelope)) is not None:
            return known
        if len(self._open) >= OPEN_QUERIES_MAX:
            return Problem(ProblemCode.QUEUE_FULL, retry_after_seconds=BUS_RETRY_SECONDS)
        await self._audit.record(
            AuditKind.CONFIRMATION, credential, query_id=envelope.query_id, about=f"{query} {request.sql_sha256}"
        )
        published = await self._events.publish(
            envelope, input_sequence=0, expected_last_sequence=0, until_ms=now + PUBLISH_MS_MAX
        )
        if not isinstance(published, Stored):
            return await self._known(envelope) or (envelope, False)
        self._open.note(address_of(envelope), published.sequence, envelope.deadline_at, now)
        return envelope, True

    async def _known(self, envelope: Envelope[Confirmed]) -> tuple[Envelope[Confirmed], bool] | Problem | None:
        """Return the yes that was said before, a problem if somebody else said it, None if nobody did. BusTrouble."""
        log = await self._log.query(envelope.tenant, envelope.query_id)
        if not log:
            return None
        body: object = first(log).body
        is_same = isinstance(body, Confirmed) and body.confirmed_by == envelope.body.confirmed_by
        return (envelope, False) if is_same else Problem(ProblemCode.NOT_CONFIRMABLE, "somebody else has confirmed it")


def confirmed(
    log: Sequence[Entry], request: ConfirmRequest, credential: Credential, now_ms: int
) -> Envelope[Confirmed] | Problem:
    """Return the first event of the new query, or why there is nothing to confirm; `log` is the asking query's."""
    asking = asked_confirmation(log)
    confirmation = None if asking is None else asking.body.confirmation
    if asking is None or confirmation is None:
        return Problem(ProblemCode.NOT_CONFIRMABLE, "the query did not end by asking for a confirmation")
    is_asker = asking.user == credential.user
    if confirmation.needs_second_person and not is_second_person(asking, credential):
        return Problem(
            ProblemCode.SCOPE,
            "another analyst of your tenant has to confirm this change, with a key for its connection that the asker "
            "did not make: they find it with `querybus confirm` and at the page",
        )
    if not (is_asker or confirmation.needs_second_person):
        return Problem(ProblemCode.NOT_CONFIRMABLE, "only its asker confirms this query")
    if not credential.may_use(asking.connection):
        return Problem(ProblemCode.SCOPE, "this credential may not use that connection any more")
    if confirmation.reason == "cost" and credential.audience != "analyst":
        return Problem(ProblemCode.SCOPE, "expensive questions are for analysts")
    if request.sql_sha256 != confirmation.sql_sha256:
        return Problem(ProblemCode.NOT_CONFIRMABLE, "`sql_sha256` is not that of the statement that was shown")
    if now_ms - max(step.ended_at for step in asking.path) > CONFIRM_MS_MAX:
        return Problem(ProblemCode.NOT_CONFIRMABLE, "it was asked too long ago; ask the question again")
    rows = confirmation.rows_affected_max if request.rows_affected_max is None else request.rows_affected_max
    return asking.with_body(
        Confirmed(
            asking_query_id=asking.query_id,
            sql_sha256=confirmation.sql_sha256,
            rows_affected_max=rows,
            confirmed_by="" if is_asker else credential.user,
        ),
        query_id=derived_id("confirmed", asking.tenant, asking.query_id, confirmation.sql_sha256),
        asked_at=now_ms,
        deadline_at=now_ms + round(asking.options.deadline_seconds * 1_000),
        retries=Retries(),
        attempts=(),
        model_use=NO_USE,
        path=(PathStep(stage=StageName.GATEWAY, event=EventName.CONFIRMED, started_at=now_ms, ended_at=now_ms),),
    )
