"""What every API offers: ask, read, wait, cancel, events, answer; an API only translates to and from these.

A query is read by whoever asked it: same tenant, same user, and no business credential reads what was phrased for an
analyst; for everybody else it does not exist. Nothing here says an outcome that the log does not hold.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from querybus.bus.log.journal import LogTooLong
from querybus.bus.log.publish import BusTrouble, FenceLost, Stored, TooLarge, address_of
from querybus.core.credential import Credential
from querybus.core.envelope import Envelope, Undecodable, decode
from querybus.core.ids import is_id
from querybus.core.messages import Asked, Clarifies, Finished, ForkedFrom, Outcome
from querybus.core.requests.refinement import Refinement
from querybus.core.stored.preferences import Preferences
from querybus.core.subjects import EventName, token
from querybus.core.topology import SUBMITTED_MAX
from querybus.ops.clock import Clock, RandomBits
from querybus.ops.log import get_log
from querybus_gateway.access.quotas import Allowances, Limits
from querybus_gateway.admit import RANDOM_BITS, WAIT_SECONDS_MAX, AskRequest, Chance, admit
from querybus_gateway.lifecycle.conclusions import cancelled, finished_of, is_concluded, outcome_of
from querybus_gateway.lifecycle.in_flight import OPEN_QUERIES_MAX
from querybus_gateway.lifecycle.replica import Replica
from querybus_gateway.lifecycle.waiters import Watch
from querybus_gateway.ports import (
    Connections,
    Credentials,
    Entry,
    Events,
    Hints,
    Log,
    PreferencesOf,
    Progress,
    Submissions,
)
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.public.options import OptionDefaults, options_view
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.follow import Following, is_still_known
from querybus_gateway.use_cases.followups.choice import as_chosen
from querybus_gateway.use_cases.followups.learnt_choices import LearntChoices
from querybus_gateway.use_cases.resources import (
    Frame,
    Queued,
    Reply,
    connection_of,
    finished_reply,
    first,
    is_reader,
    may_approve,
    may_read,
    origin_of,
    reply_of,
    resource_of,
)
from querybus_gateway.use_cases.threads import Threads

PUBLISH_MS_MAX: Final = 5_000
CANCEL_MS_MAX: Final = 5_000
CLOSING_PAUSE_SECONDS: Final = 0.2
BUS_RETRY_SECONDS: Final = 2
HELD_MAX: Final = SUBMITTED_MAX
"""Queries of a tenant that may wait: as many as one replica holds, so that each is ended at its deadline."""
_log = get_log(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPorts:
    """Where queries come from and go to."""

    log: Log
    events: Events
    connections: Connections
    submissions: Submissions
    hints: Hints
    progress: Progress
    registry: Credentials
    preferences: PreferencesOf | None = None
    choices: LearntChoices | None = None
    on_refused: Callable[[Credential, Problem, str], None] = lambda credential, problem, about: None  # noqa: ARG005
    """Called for each question that asks for what its caller may not do; `about` is the connection that it names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What decides on a new query.

    `can_wait` says whether a tenant has a queue of its own for what exceeds its cap, `storage_problem` whether the bus
    stores no more questions.
    """

    limits: Limits
    allowances: Allowances
    can_wait: Callable[[str], bool]
    storage_problem: Callable[[], Problem | None] = lambda: None


@dataclass(frozen=True, slots=True)
class Begun:
    """The first event of a query that is on its log or waits in the queue."""

    envelope: Envelope[Asked]
    is_replayed: bool = False
    is_queued: bool = False


_FORBIDDEN: Final = frozenset({ProblemCode.SCOPE, ProblemCode.UNKNOWN_CONNECTION})
_REVOKED: Final = Problem(ProblemCode.UNAUTHENTICATED, "this credential was revoked meanwhile")
_MISSING: Final = Problem(ProblemCode.NOT_FOUND, "there is no such query")


class Queries:
    """The queries of all tenants, as the APIs see them."""

    def __init__(
        self,
        ports: QueryPorts,
        replica: Replica,
        admission: Admission,
        threads: Threads,
        *,
        clock: Clock,
        random_bits: RandomBits,
    ) -> None:
        self._ports = ports
        self._replica = replica
        self._admission = admission
        self.threads = threads
        self._following = Following(ports.log, ports.progress, replica.waiters, clock, self._may_read)
        self._clock = clock
        self._random_bits = random_bits

    async def ask(
        self,
        request: AskRequest,
        credential: Credential,
        *,
        idempotency_key: str | None = None,
        wait_seconds: float = 0,
        continues: Clarifies | Refinement | None = None,
        until_sequence: int | None = None,
    ) -> Reply | Problem:
        """Admit a request and append its first event, or put it where it waits for its tenant's turn.

        Waits up to `wait_seconds` (lowered to WAIT_SECONDS_MAX) for the answer. `continues` names the query whose
        question back this one answers, or whose answer it changes; the caller has found it to be its own. `until_sequence` asks as if nothing
        had come in the thread behind that event.
        """
        # Before anything is read from the bus, which is slow just then; a key may name a query that has begun already.
        left_ms = 1_000 * request.options.deadline_seconds
        if not idempotency_key and (overload := self._overload(credential.tenant, left_ms)) is not None:
            return overload
        try:
            with self._replica.load.admitting(token(credential.tenant)) as name_it:
                if (refused := await self._admission.allowances.take(credential.tenant)) is not None:
                    return refused
                envelope = await self.admitted(request, credential, idempotency_key, continues, until_sequence)
                if isinstance(envelope, Problem):
                    return envelope
                name_it(token(envelope.query_id))
                with self._replica.waiters.watch(token(credential.tenant), envelope.query_id, only_end=True) as watch:
                    begun = await self.begin(envelope, has_key=idempotency_key is not None)
                    self._replica.load.noted(token(credential.tenant), token(envelope.query_id))
                    if isinstance(begun, Problem):
                        return begun
                    return await self._end_of(begun, credential, wait_seconds, watch)
        except BusTrouble as trouble:
            return _trouble(trouble)

    async def _end_of(self, begun: Begun, credential: Credential, seconds: float, watch: Watch) -> Reply | Problem:
        """Return the query once it has finished, or as it stands when the time is over."""
        query = begun.envelope.query_id
        reply = Reply(query, resource_of(begun.envelope, None if begun.is_queued else EventName.ASKED), False)
        if begun.is_replayed and isinstance(result := await self.read(query, credential), Reply):
            reply = result
        until = self._clock() + round(min(seconds, WAIT_SECONDS_MAX) * 1_000)
        while not reply.is_finished and (left := (until - self._clock()) / 1_000) > 0:
            if self._replica.waiters.is_closing:
                break
            await watch.wait(left)
            # It was stored: that its log cannot be read back at once is no reason to refuse it.
            if isinstance(result := await self._look(query, credential, watch), Reply):
                reply = result
        return replace(reply, is_replayed=begun.is_replayed) if await self._may_read(credential) else _REVOKED

    async def _look(self, query: str, credential: Credential, watch: Watch) -> Reply | Problem:
        """Return the query by its last event, if that is in hand, or by its log."""
        if watch.finished is not None and is_reader(watch.finished, credential):
            return finished_reply(query, watch.finished, credential)
        return await self.read(query, credential)

    async def admitted(
        self,
        request: AskRequest,
        credential: Credential,
        idempotency_key: str | None,
        continues: Clarifies | Refinement | None = None,
        asked_until_sequence: int | None = None,
    ) -> Envelope[Asked] | Problem:
        """Return the first event of a request, or the problem with it; appends nothing. BusTrouble."""
        if (spent := await self._admission.allowances.spent(credential)) is not None:
            return spent
        until_sequence = 0
        turns: Sequence[Entry] = ()
        origin: ForkedFrom | None = None
        forked_connection = ""
        if request.thread_id is not None and is_id(request.thread_id):
            try:
                turns = await self._ports.log.thread(credential.tenant, request.thread_id)
            except LogTooLong:
                return Problem(ProblemCode.INVALID, "the thread has too many turns; begin a new one")
            record = None if turns else await self.threads.origin(request.thread_id, credential)
            if turns and may_read(turns, credential):
                until_sequence = turns[-1].sequence
                if asked_until_sequence is not None:
                    until_sequence = min(until_sequence, asked_until_sequence)
                origin = origin_of(turns)
            elif record is not None:
                origin, forked_connection = record.forked_from, record.connection
            else:
                return Problem(ProblemCode.NOT_FOUND, "there is no such thread")
        envelope = admit(
            request,
            credential,
            Chance(self._clock(), self._random_bits(RANDOM_BITS)),
            connections=await self._ports.connections.names(credential.tenant),
            caps=self._admission.limits.caps_of(credential.tenant),
            defaults=self._admission.limits.defaults,
            idempotency_key=idempotency_key,
            thread_until_sequence=until_sequence,
            continues=continues,
            preferences=await self._preferred(credential),
            thread_connection=(connection_of(turns) if until_sequence else None) or forked_connection,
        )
        if isinstance(envelope, Problem) and envelope.code in _FORBIDDEN:
            self._ports.on_refused(credential, envelope, (request.connection or "")[:100])
        if not isinstance(envelope, Problem) and continues is None and asked_until_sequence is None:
            envelope = as_chosen(envelope, turns)
        if origin is not None and not isinstance(envelope, Problem):
            envelope = envelope.with_body(envelope.body.model_copy(update={"forked_from": origin}))
        policy = self._admission.limits.repair_policies.get(credential.tenant)
        if isinstance(envelope, Problem) or envelope.options.repair_policy is not None or policy is None:
            return envelope
        options = envelope.options.model_copy(update={"repair_policy": policy})
        return envelope.with_body(envelope.body, options=options)

    async def wait_for_rate(self, envelope: Envelope[Asked]) -> None:
        """Wait until the tenant may ask once more, at most until the query's deadline. BusTrouble.

        For what nobody waits for at an API: it is slowed down to the tenant's rate instead of refused.
        """
        while (refused := await self._admission.allowances.take(envelope.tenant)) is not None:
            left_seconds = envelope.remaining_ms(self._clock()) / 1_000
            if left_seconds <= 0:
                return
            await asyncio.sleep(min(left_seconds, refused.retry_after_seconds or 1))

    async def options(self, credential: Credential) -> Json | Problem:
        """Return every option: its range for the caller, and what holds where a request is silent."""
        limits = self._admission.limits
        policy = limits.repair_policies.get(credential.tenant)
        try:
            said = OptionDefaults(limits.defaults, policy, await self._preferred(credential))
        except BusTrouble as trouble:
            return _trouble(trouble)
        return options_view(credential, limits.caps_of(credential.tenant), said)

    async def _preferred(self, credential: Credential) -> Preferences:
        """Return what the caller prefers. BusTrouble."""
        if self._ports.preferences is None:
            return Preferences()
        return await self._ports.preferences.read(credential.tenant, credential.user)

    async def begin(self, envelope: Envelope[Asked], *, has_key: bool) -> Begun | Problem:
        if has_key and (known := await self._known(envelope.tenant, envelope.query_id)) is not None:
            return await self._replayed(envelope, known)
        if len(self._replica.open_queries) >= OPEN_QUERIES_MAX:
            return Problem(ProblemCode.QUEUE_FULL, retry_after_seconds=BUS_RETRY_SECONDS)
        if (problem := self._admission.storage_problem()) is not None:
            return problem
        tenant = token(envelope.tenant)
        if has_key and (overload := self._overload(envelope.tenant, envelope.remaining_ms(self._clock()))) is not None:
            return overload
        if self._replica.turns.is_full(tenant):
            waiting = max(self._replica.turns.waiting(tenant), await self._ports.submissions.waiting(tenant))
            if not self._admission.can_wait(tenant) or waiting >= HELD_MAX:
                return Problem(ProblemCode.QUEUE_FULL, retry_after_seconds=BUS_RETRY_SECONDS)
            await self._ports.submissions.put(envelope)
            return Begun(envelope, is_queued=True)
        with self._replica.turns.taken(tenant):
            return await self.mint(envelope)

    def _overload(self, tenant: str, left_ms: float) -> Problem | None:
        """Return the refusal of one more query of a tenant whose queries would not end in time."""
        open_count = self._replica.open_queries.in_flight(token(tenant)) + self._replica.turns.waiting(token(tenant))
        refused = self._replica.load.refusal(token(tenant), open_count, left_ms, self._clock())
        code = ProblemCode.STALLED if refused is not None and refused.stalled else ProblemCode.QUEUE_FULL
        return None if refused is None else Problem(code, retry_after_seconds=refused.seconds)

    async def mint(self, envelope: Envelope[Asked]) -> Begun | Problem:
        """Append the first event. A log that began before with the same request makes it a replay. BusTrouble."""
        now = self._clock()
        try:
            published = await self._ports.events.publish(
                envelope, input_sequence=0, expected_last_sequence=0, until_ms=now + PUBLISH_MS_MAX
            )
        except TooLarge:
            return Problem(ProblemCode.TOO_LARGE)
        if isinstance(published, Stored):
            self._replica.open_queries.note(address_of(envelope), published.sequence, envelope.deadline_at, now)
            self._replica.load.noted(token(envelope.tenant), token(envelope.query_id))
        elif (known := await self._known(envelope.tenant, envelope.query_id)) is not None:
            return await self._replayed(envelope, known)
        elif await self._ports.log.last(address_of(envelope)) is None:
            # The server still knows the message id, but the log was deleted with its thread.
            return Problem(ProblemCode.IDEMPOTENCY_MISMATCH, "what was asked with this key was deleted")
        # The stages are at work on it already: this delays no answer.
        await self.threads.begun(envelope)
        if self._ports.choices is not None:
            await self._ports.choices.note(envelope)
        return Begun(envelope)

    async def _replayed(self, envelope: Envelope[Asked], known: Envelope[Any]) -> Begun | Problem:
        begun = _replay(envelope, known)
        if isinstance(begun, Begun):
            # Whoever began it may have died before the thread was listed.
            await self.threads.begun(begun.envelope)
        return begun

    async def _known(self, tenant: str, query: str) -> Envelope[Asked] | None:
        """Return the first event of a query that has begun or waits to begin."""
        try:
            log = await self._ports.log.query(tenant, query)
            if log:
                return first(log)
            waiting = await self._ports.submissions.get(tenant, query)
            return decode(EventName.ASKED, waiting) if waiting is not None else None
        except Undecodable:
            return None

    async def _find(
        self, query: str, credential: Credential, *, or_approver: bool = False
    ) -> Sequence[Entry] | Queued | Problem:
        if not is_id(query):
            return _MISSING
        log = await self._ports.log.query(credential.tenant, query)
        if log:
            is_approver = or_approver and may_approve(log, credential)
            return log if is_approver or may_read(log, credential) else _MISSING
        waiting = await self._ports.submissions.get(credential.tenant, query)
        try:
            envelope = decode(EventName.ASKED, waiting or b"")
        except Undecodable:
            return _MISSING
        return Queued(envelope) if is_reader(envelope, credential) else _MISSING

    async def read(self, query: str, credential: Credential) -> Reply | Problem:
        """Return the query as its log stands now; to a second person what they have to approve."""
        try:
            result = await self._find(query, credential, or_approver=True)
        except BusTrouble as trouble:
            return _trouble(trouble)
        return result if isinstance(result, Problem) else reply_of(query, result, credential)

    async def wait(
        self, query: str, credential: Credential, seconds: float, *, is_known: bool = False
    ) -> Reply | Problem:
        """Return the query once it has finished, or as it stands when the time is over.

        `is_known`: it was stored a moment ago, so one that is not found has only not reached the replica asked.
        """
        until = self._clock() + round(min(seconds, WAIT_SECONDS_MAX) * 1_000)
        with self._replica.waiters.watch(token(credential.tenant), query, only_end=True) as watch:
            reply = await self.read(query, credential)
            while (left := (until - self._clock()) / 1_000) > 0:
                if isinstance(reply, Reply) and reply.is_finished:
                    break
                if isinstance(reply, Problem) and not is_known and reply.code is not ProblemCode.BUS_UNAVAILABLE:
                    break
                if self._replica.waiters.is_closing:
                    # Who asks again and again while this replica stops must not do so without a pause.
                    await asyncio.sleep(min(left, CLOSING_PAUSE_SECONDS))
                    break
                await watch.wait(left)
                reply = await self._look(query, credential, watch)
        return reply if await self._may_read(credential) else _REVOKED

    async def cancel(self, query: str, credential: Credential) -> Reply | Problem:
        """Conclude the query as cancelled; `already_finished` with the real outcome if it was concluded before."""
        until = self._clock() + CANCEL_MS_MAX
        try:
            result = await self._find(query, credential)
            if isinstance(result, Queued):
                # A query that waits is begun only to be ended: its one `finished` follows from the log alone.
                await self.mint(result.envelope)
                result = await self._find(query, credential)
            has_published = False
            while not isinstance(result, Problem):
                log = () if isinstance(result, Queued) else result
                if is_concluded(log):
                    return self._cancel_outcome(query, log, credential, has_published=has_published)
                ending = cancelled(log, self._clock())
                if ending is not None:
                    published = await self._ports.events.publish(
                        ending.envelope,
                        input_sequence=ending.after_sequence,
                        expected_last_sequence=ending.after_sequence,
                        until_ms=until,
                    )
                    has_published = has_published or not isinstance(published, FenceLost)
                    if has_published:
                        await self._ports.hints.cancel(credential.tenant, query)
                if self._clock() >= until:
                    return Problem(ProblemCode.BUS_UNAVAILABLE, retry_after_seconds=BUS_RETRY_SECONDS)
                result = await self._find(query, credential)
        except BusTrouble as trouble:
            return _trouble(trouble)
        return result

    def _cancel_outcome(
        self, query: str, log: Sequence[Entry], credential: Credential, *, has_published: bool
    ) -> Reply | Problem:
        outcome = outcome_of(log)
        if has_published and outcome is Outcome.CANCELLED:
            return reply_of(query, log, credential)
        return Problem(
            ProblemCode.ALREADY_FINISHED,
            "the query was concluded before it could be cancelled",
            more={"outcome": outcome.value if outcome else None, "query_id": query},
        )

    async def finished(self, query: str, credential: Credential) -> Envelope[Finished] | Problem:
        """Return the query's last event; `not_finished` while it has none."""
        try:
            result = await self._find(query, credential)
        except BusTrouble as trouble:
            return _trouble(trouble)
        if isinstance(result, Problem):
            return result
        ended = None if isinstance(result, Queued) else finished_of(result)
        return ended or Problem(ProblemCode.NOT_FINISHED, "the result is there once the query has finished")

    async def open_stream(self, query: str, credential: Credential) -> Problem | None:
        """Return why this caller may not follow the query, or None if it may."""
        found = await self.finished(query, credential)
        return found if isinstance(found, Problem) and found.code is not ProblemCode.NOT_FINISHED else None

    def stream(self, query: str, credential: Credential, after_sequence: int) -> AsyncGenerator[Frame]:
        """Yield the log's events behind a sequence as they are stored, with progress between; ends with `finished`.

        It ends early where this replica stops or the credential is gone: to be taken up behind the last event.
        """
        return self._following.events(query, credential, after_sequence)

    async def has_ended(self, query: str, credential: Credential, after_sequence: int) -> bool:
        """Return whether no event can follow behind a sequence."""
        return await self._following.has_ended(query, credential, after_sequence)

    @property
    def is_closing(self) -> bool:
        """Whether this replica stops: what callers wait for goes on without it."""
        return self._replica.waiters.is_closing

    async def _may_read(self, credential: Credential) -> bool:
        try:
            return await is_still_known(credential, self._ports.registry, self._clock())
        except BusTrouble:
            # It was let in a moment ago; that the registry cannot be asked just now takes nothing away.
            return True


def _replay(envelope: Envelope[Asked], known: Envelope[Any]) -> Begun | Problem:
    body = cast("object", known.body)
    if isinstance(body, Asked) and body.body_sha256 == envelope.body.body_sha256:
        return Begun(cast("Envelope[Asked]", known), is_replayed=True)
    return Problem(ProblemCode.IDEMPOTENCY_MISMATCH, "use a new key for another request")


def _trouble(trouble: BusTrouble) -> Problem:
    _log.warning("api.bus_trouble", reason=str(trouble))
    return Problem(ProblemCode.BUS_UNAVAILABLE, retry_after_seconds=BUS_RETRY_SECONDS)
