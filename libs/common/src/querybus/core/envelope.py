"""The query envelope: one header for every event and one body type per event, JSON on the wire.

An envelope is frozen; a hop makes a new one. All functions here are pure: times are passed in, in milliseconds
since the epoch (UTC). Unknown fields survive a hop, so an additive change stays version 1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from querybus.core.catalog import Language
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import (
    Alternative,
    Analysis,
    Approved,
    Asked,
    Body,
    Concluded,
    Confirmed,
    Draft,
    Drafted,
    Failed,
    Finished,
    Operation,
    Origin,
    Outcome,
    Returned,
)
from querybus.core.options import ExecutionMode, Options
from querybus.core.stored.models import NO_USE, ModelUse, is_nothing_used
from querybus.core.subjects import EventName, StageName
from querybus.core.value import Value

ENVELOPE_VERSION: Final = "1.0"
MAJOR: Final = 1
QUESTION_BYTES_MAX: Final = 8_192
ATTEMPTS_MAX: Final = 32

Audience = Literal["business", "analyst"]

BodyT = TypeVar("BodyT", bound=Value)
OtherT = TypeVar("OtherT", bound=Value)


class Classification(Value):
    """Set once; never changed by a later failure."""

    kind: Literal["database", "chat"]
    confidence: float = Field(ge=0, le=1)
    reason: str = ""
    method: Literal["forced", "rule", "model"]


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a verb may know of the message in hand: its stream sequence, how often it was delivered (1 = first), epoch milliseconds."""

    sequence: int
    deliveries: int
    now_ms: int


class Retries(Value):
    """`generation` counts `returned` events, `mend` counts drafts by rule; a redelivery changes neither."""

    generation: int = 0
    mend: int = 0
    vote: int = Field(default=0, exclude_if=lambda value: not value, description="drafts wanted beside one that ran")


class Attempt(Value):
    """One SQL that was tried."""

    origin: Origin
    sql: str
    stage: StageName | None = Field(default=None, description="where it failed")
    code: FailureCode | None = None
    detail: str = ""
    name: str | None = Field(default=None, description="the name that the failure was about, as written")
    duration_ms: float | None = Field(default=None, description="of the execution")
    validated: bool = False
    executed: bool = False
    probed: bool = Field(default=False, description="ten rows of it, or its count, were read before approval")
    probed_rows: int | None = Field(default=None, description="rows that the probe has read")
    rules: tuple[str, ...] = Field(default=(), description="the rules that repaired it, in order")


class PathStep(Value):
    """One stage that was passed."""

    stage: str
    event: EventName
    started_at: int
    ended_at: int


class Envelope(BaseModel, Generic[BodyT]):
    """Header and body of one event."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="allow")

    envelope_version: str = ENVELOPE_VERSION
    event: EventName
    query_id: str
    thread_id: str
    tenant: str
    user: str
    audience: Audience
    connection: str
    question: str
    enriched_question: str | None = None
    language: Language
    options: Options = Options()
    asked_at: int
    deadline_at: int
    classification: Classification | None = None
    retries: Retries = Retries()
    attempts: tuple[Attempt, ...] = ()
    path: tuple[PathStep, ...] = ()
    correlation_id: str | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="by which whoever submitted the question knows its answer; theirs, or their message's number",
    )
    shadow_of: str | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="the query that this one repeats for an operator: nobody is answered, nobody can read it",
    )
    model_use: ModelUse = Field(
        default=NO_USE, exclude_if=is_nothing_used, description="what the calls of chat models took so far"
    )
    body: BodyT

    def with_body(self, body: OtherT, **header: object) -> Envelope[OtherT]:
        """Return the envelope of the next event; `header` replaces header fields."""
        event = cast("EventName", type(body).event)  # type: ignore[attr-defined]
        values: dict[str, Any] = {name: getattr(self, name) for name in _HEADER_FIELDS}
        values.update(self.__pydantic_extra__ or {})
        values.update(header)
        values.update(event=event, body=body)
        return cast("Envelope[OtherT]", ENVELOPES[event].model_validate(values))

    def remaining_ms(self, now_ms: int) -> int:
        """Return the milliseconds until the deadline; negative once it has passed."""
        return self.deadline_at - now_ms


_HEADER_FIELDS: Final = tuple(name for name in Envelope.model_fields if name not in ("event", "body"))

ENVELOPES: Final[dict[EventName, type[Envelope[Any]]]] = {
    EventName.ASKED: Envelope[Asked],
    EventName.RETURNED: Envelope[Returned],
    EventName.DRAFTED: Envelope[Drafted],
    EventName.CONFIRMED: Envelope[Confirmed],
    EventName.APPROVED: Envelope[Approved],
    EventName.FAILED: Envelope[Failed],
    EventName.CONCLUDED: Envelope[Concluded],
    EventName.FINISHED: Envelope[Finished],
}


class Undecodable(Exception):
    """These bytes are no envelope of this event. `newer` is True for a newer major version."""

    def __init__(self, reason: str, *, newer: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.newer = newer


_VERSION = re.compile(rb'"envelope_version"\s*:\s*"(\d{1,4})\.\d{1,4}"')


def decode(event: EventName, data: bytes) -> Envelope[Any]:
    """Return the envelope in these bytes; raises Undecodable, never anything else."""
    version = _VERSION.search(data)
    if version is None:
        raise Undecodable(f"the body has no envelope_version of the form {ENVELOPE_VERSION}")
    if int(version.group(1)) > MAJOR:
        raise Undecodable(f"envelope of version {int(version.group(1))}, this service reads {MAJOR}", newer=True)
    if int(version.group(1)) < MAJOR:
        raise Undecodable(f"unknown envelope version {int(version.group(1))}")
    try:
        envelope = ENVELOPES[event].model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "body"
        raise Undecodable(f"not an envelope of {event}: {where}: {first['msg']}"[:500]) from None
    if envelope.event != event:
        raise Undecodable(f"the body says {envelope.event}, the subject {event}")
    return envelope


def encode(envelope: Envelope[Any]) -> bytes:
    """Return the wire form: UTF-8 JSON."""
    return envelope.model_dump_json().encode()


def operation_of(envelope: Envelope[Any]) -> Operation:
    """Return what the caller wanted, as far as the event carries it."""
    return getattr(envelope.body, "operation", Operation.ASK)


def checks_size(envelope: Envelope[Any]) -> bool:
    """Return whether the guard's limits on what a text may cost hold: always for business readers."""
    return envelope.options.enable_forbidden_check or envelope.audience == "business"


def may_probe(envelope: Envelope[Any]) -> bool:
    """Return whether a corrected draft may be tried once before it is approved: where the caller allows it, once a query."""
    spent = any(attempt.probed for attempt in envelope.attempts)
    return envelope.options.execution_mode is ExecutionMode.ALLOW_EXECUTION and not spent


def draft_of(envelope: Envelope[Any]) -> Draft | None:
    """Return the SQL that the event is about, if any."""
    body = cast("Body", envelope.body)
    match body:
        case Drafted() | Failed() | Returned():
            return body.draft
        case Approved():
            return Draft(sql=body.sql, dialect=body.dialect, origin=body.origin)
        case _:
            return None


def drafted(envelope: Envelope[Any], body: Drafted, **header: object) -> Envelope[Drafted]:
    """Return the `drafted` event; the SQL becomes a new attempt, a draft by rule a counted repair."""
    attempt = Attempt(origin=body.draft.origin, sql=body.draft.sql, rules=body.rules)
    retries = envelope.retries
    if body.draft.origin is Origin.RULE:
        retries = retries.model_copy(update={"mend": retries.mend + 1})
    attempts = (*envelope.attempts, attempt)[-ATTEMPTS_MAX:]
    return envelope.with_body(body, attempts=attempts, retries=retries, **header)


def approved(envelope: Envelope[Any], body: Approved) -> Envelope[Approved]:
    """Return the `approved` event; the last attempt is marked validated."""
    probed = "probe" in body.checked
    changes = {"validated": True, "probed": probed, "probed_rows": body.probed_rows}
    return envelope.with_body(body, attempts=_amend_last(envelope, **changes))


def returned(envelope: Envelope[Any], body: Returned) -> Envelope[Returned]:
    """Return the `returned` event: one retry more."""
    retries = envelope.retries.model_copy(update={"generation": envelope.retries.generation + 1})
    return envelope.with_body(body, retries=retries)


def may_vote(envelope: Envelope[Approved]) -> bool:
    """Return whether a model may be asked for another draft beside its own, which ran: as long as the effort lasts.

    This alone decides on calls for certainty. What a person has confirmed, written or verified is not put to a vote.
    """
    is_confirmed = any(step.event is EventName.CONFIRMED for step in envelope.path)
    drafts = 1 + envelope.retries.vote
    return envelope.body.origin is Origin.MODEL and not is_confirmed and drafts < envelope.options.drafts_max


def vote_wanted(envelope: Envelope[Approved]) -> Envelope[Returned]:
    """Return the `returned` event of a draft that ran: another is wanted beside it, which is no retry."""
    body = envelope.body
    written = envelope.attempts[-1].sql if envelope.attempts else body.sql
    retries = envelope.retries.model_copy(update={"vote": envelope.retries.vote + 1})
    returning = Returned(
        operation=Operation.ASK,
        draft=Draft(sql=written, dialect=body.dialect, origin=body.origin),
        notes=body.notes,
        analysis=body.analysis,
        alternative_sql=_alternative_of(envelope),
    )
    return envelope.with_body(returning, retries=retries)


def failed(envelope: Envelope[Any], failure: Failure, stage: StageName) -> Envelope[Failed]:
    """Return the `failed` event; the attempt that failed keeps the code and the stage."""
    draft = draft_of(envelope)
    analysis = failure.on(getattr(envelope.body, "analysis", Analysis()))
    attempts = envelope.attempts
    if draft is not None and envelope.event in (EventName.DRAFTED, EventName.APPROVED):
        was = envelope.attempts[-1].probed if envelope.attempts else False
        probed = was or failure.facts.probed
        attempts = _amend_last(
            envelope,
            stage=stage,
            code=failure.code,
            detail=failure.detail,
            name=failure.facts.name,
            probed=probed,
            executed=failure.facts.duration_ms is not None,
            duration_ms=failure.facts.duration_ms,
        )
    body = Failed(
        code=failure.code,
        stage=stage,
        detail=failure.detail,
        facts=failure.facts,
        draft=draft,
        operation=operation_of(envelope),
        analysis=analysis,
        alternative_sql=_alternative_of(envelope),
        notes=getattr(envelope.body, "notes", ()),
    )
    used = envelope.model_use.plus(failure.facts.model_use or NO_USE)
    return envelope.with_body(body, attempts=attempts, model_use=used)


def _alternative_of(envelope: Envelope[Any]) -> str | None:
    """Return the second draft that goes with an event's SQL, as it was written."""
    body = cast("Body", envelope.body)
    match body:
        case Drafted() | Failed() | Returned():
            return body.alternative_sql
        case Approved(alternative=Alternative(draft=written)):
            return written
        case _:
            return None


def concluded(envelope: Envelope[Any], body: Concluded, *, duration_ms: float | None = None) -> Envelope[Concluded]:
    """Return the `concluded` event; an answer marks its attempt executed."""
    attempts = envelope.attempts
    if body.outcome is Outcome.ANSWERED and attempts:
        attempts = _amend_last(envelope, executed=True, duration_ms=duration_ms)
    return envelope.with_body(body, attempts=attempts)


def out_of_time(envelope: Envelope[Any]) -> tuple[Outcome, FailureCode]:
    """Return how a query ends whose time ran out in this event: of an approved change nobody says that it was not made."""
    body = envelope.body
    if isinstance(body, Approved) and body.rows_affected_max is not None:
        return Outcome.FAILED, FailureCode.WRITE_OUTCOME_UNKNOWN
    return Outcome.EXPIRED, FailureCode.EXPIRED


def stamped(envelope: Envelope[BodyT], step: PathStep) -> Envelope[BodyT]:
    """Return the envelope with one more step on its path."""
    return envelope.model_copy(update={"path": (*envelope.path, step)})


def _amend_last(envelope: Envelope[Any], **changes: object) -> tuple[Attempt, ...]:
    if not envelope.attempts:
        return ()
    return (*envelope.attempts[:-1], envelope.attempts[-1].model_copy(update=changes))
