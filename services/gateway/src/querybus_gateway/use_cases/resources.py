"""A query as every API shows it, made from its log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from querybus.core.credential import Credential
from querybus.core.envelope import Envelope, Undecodable
from querybus.core.messages import Answer, Asked, Concluded, Confirmed, Finished, ForkedFrom, Outcome
from querybus.core.subjects import EventName
from querybus_gateway.lifecycle.conclusions import finished_of
from querybus_gateway.ports import Entry
from querybus_gateway.public.redaction import Json, public_answer, public_event, status_of


@dataclass(frozen=True, slots=True)
class Reply:
    """The query resource; `is_finished` if it holds the answer, `is_replayed` for a key that was used before."""

    query_id: str
    resource: Json
    is_finished: bool
    is_replayed: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a query's stream of events; a progress note has no sequence."""

    event: str
    data: Json
    sequence: int | None = None


@dataclass(frozen=True, slots=True)
class Queued:
    """A query that waits for its tenant's turn: its log has not begun."""

    envelope: Envelope[Asked]


def resource_of(envelope: Envelope[Any], last: EventName | None) -> Json:
    """Return the query resource without its answer."""
    query = envelope.query_id
    path = f"/v1/queries/{query}"
    return {
        "id": query,
        "thread_id": envelope.thread_id,
        "status": status_of((last,) if last else ()),
        "last_event": last.value if last else None,
        "created_at": envelope.asked_at,
        "deadline_at": envelope.deadline_at,
        "message": "not finished yet",
        "answer": None,
        "links": {
            "self": path,
            "events": f"{path}/events",
            "cancel": f"{path}/cancel",
            "result": f"{path}/result",
            "export": f"{path}/export",
            "clarify": f"{path}/clarify",
            "refine": f"{path}/refine",
        },
    }


def reply_of(query: str, found: Sequence[Entry] | Queued, credential: Credential) -> Reply:
    if isinstance(found, Queued):
        return Reply(query, resource_of(found.envelope, None), is_finished=False)
    resource = resource_of(first(found), found[-1].address.event)
    finished = finished_of(found)
    if finished is None:
        return Reply(query, resource, is_finished=False)
    if is_reader(finished, credential):
        return finished_reply(query, finished, credential)
    return _approver_reply(query, finished, asked_confirmation(found), credential)


def _approver_reply(
    query: str, finished: Envelope[Finished], asking: Envelope[Concluded] | None, credential: Credential
) -> Reply:
    """Return what a second person sees of somebody else's query: the question, the statement, and how it ended."""
    answer = finished.body.answer
    kept = ("outcome", "code", "language", "message", "rows_affected", "confirmation")
    seen = Finished(answer=Answer(**{name: getattr(answer, name) for name in kept}))
    bare = finished.with_body(seen, attempts=(), path=(), enriched_question=None, classification=None)
    reply = finished_reply(query, bare, credential)
    if asking is not None and asking.body.confirmation is not None:
        # Whoever approves sees what would run, also where the asker reads no statements.
        shown = {"sql": asking.body.sql, "confirmation": asking.body.confirmation.model_dump(mode="json")}
        reply.resource["answer"] = {**reply.resource["answer"], **shown}
    return reply


def finished_reply(query: str, finished: Envelope[Finished], credential: Credential) -> Reply:
    resource = resource_of(finished, EventName.FINISHED)
    answer = public_answer(finished, credential.audience)
    return Reply(query, resource | {"message": answer["message"], "answer": answer}, is_finished=True)


def frame(entry: Entry, credential: Credential) -> Frame:
    event = entry.address.event
    try:
        view = public_event(entry.envelope(), credential.audience)
    except Undecodable:
        view = {"event": event.value, "query_id": entry.address.query, "thread_id": entry.address.thread}
    return Frame(event.value, view, entry.sequence)


def first(log: Sequence[Entry]) -> Envelope[Any]:
    """Return the earliest event that can be read; raises Undecodable if none can."""
    for entry in log[:-1]:
        try:
            return entry.envelope()
        except Undecodable:
            continue
    return log[-1].envelope()


def is_reader(envelope: Envelope[Any], credential: Credential) -> bool:
    """Return whether the credential may read the query that this event belongs to.

    A credential for some connections reads nothing of others: of an undecided question it may use every candidate. One for
    verified questions alone reads what was asked under the same limit.
    """
    is_free = not credential.caps.only_verified_always or envelope.options.only_verified
    is_own = (envelope.tenant, envelope.user, envelope.shadow_of) == (credential.tenant, credential.user, None)
    is_for_audience = credential.audience == "analyst" or envelope.audience == "business"
    return (
        is_own and is_free and is_for_audience and all(credential.may_use(name) for name in _connections_of(envelope))
    )


def asked_confirmation(log: Sequence[Entry]) -> Envelope[Concluded] | None:
    """Return the conclusion that asked for a confirmation; None for a query that ended otherwise."""
    for entry in log:
        if entry.address.event is EventName.CONCLUDED:
            try:
                envelope = cast("Envelope[Concluded]", entry.envelope())
            except Undecodable:
                return None
            body = envelope.body
            if body.outcome is Outcome.CONFIRMATION and body.confirmation is not None and envelope.path:
                return envelope
    return None


def may_approve(log: Sequence[Entry], credential: Credential) -> bool:
    """Return whether the credential may say the second person's yes to a change that the query asks for."""
    asking = asked_confirmation(log)
    return (
        asking is not None
        and asking.body.confirmation is not None
        and asking.body.confirmation.needs_second_person
        and is_second_person(asking, credential)
    )


def is_second_person(asking: Envelope[Any], credential: Credential) -> bool:
    """Return whether the credential may say yes to what somebody else wants to change.

    A key that the asker made is the asker's: whoever makes a key has seen it.
    """
    is_other = asking.user not in (credential.user, credential.made_by)
    is_seen = asking.tenant == credential.tenant and asking.shadow_of is None
    return is_other and credential.may_teach and is_seen and credential.may_use(asking.connection)


def may_read(log: Sequence[Entry], credential: Credential) -> bool:
    """Return whether the credential may read the query of a log that has begun: its asker, or who began it by a yes."""
    try:
        envelope = first(log)
    except Undecodable:
        return False
    decided = connection_of(log)
    if decided is not None and not credential.may_use(decided):
        return False
    body: object = envelope.body
    has_said_yes = isinstance(body, Confirmed) and body.confirmed_by == credential.user
    return is_reader(envelope, credential) or (has_said_yes and is_second_person(envelope, credential))


def connection_of(turns: Sequence[Entry]) -> str | None:
    """Return where the last question of a thread was asked; one whose connection is not chosen yet does not count."""
    for entry in reversed(turns):
        try:
            envelope = entry.envelope()
        except Undecodable:
            continue
        if not _is_undecided(envelope.body):
            return envelope.connection
    return None


def _connections_of(envelope: Envelope[Any]) -> Sequence[str]:
    """Return where an event's question is asked: one connection, or those among which the choice is still open."""
    return _candidates(envelope.body) or (envelope.connection,)


def _is_undecided(body: object) -> bool:
    """Whether an event leaves open where its question is asked: it was not routed yet, or a person has to choose."""
    return bool(_candidates(body))


def _candidates(body: object) -> Sequence[str]:
    match body:
        case Asked():
            return body.connections
        case Concluded() if body.clarification is not None:
            return [item.connection for item in body.clarification.options if item.connection]
        case Finished():
            return [item.connection for item in body.answer.options if item.connection]
        case _:
            return ()


def origin_of(turns: Sequence[Entry]) -> ForkedFrom | None:
    """Return where a thread was forked from: every question of it says so."""
    for entry in reversed(turns):
        if entry.address.event is EventName.ASKED:
            try:
                return cast("Envelope[Asked]", entry.envelope()).body.forked_from
            except Undecodable:
                continue
    return None
