"""How the gateway ends a query that nobody else will: cancelled, expired, or dead-lettered with a dead message.

Pure decisions on a query's log. An ending is fenced by its publisher at the sequence that is named here, so a log
that moved on meanwhile makes it void and the decision is taken again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from querybus.bus.log.publish import DEADLINE_HEADER
from querybus.core.envelope import QUESTION_BYTES_MAX, Envelope, PathStep, Undecodable, concluded, out_of_time, stamped
from querybus.core.failure import DETAIL_LENGTH_MAX, FailureCode
from querybus.core.messages import Asked, Concluded, Finished, Outcome
from querybus.core.subjects import EventAddress, EventName, StageName
from querybus.text.plain_answer import plain_finished
from querybus_gateway.ports import Entry

UNKNOWN_USER: Final = "unknown"


@dataclass(frozen=True, slots=True)
class Ending:
    """An event to publish, fenced at `after_sequence`."""

    envelope: Envelope[Concluded] | Envelope[Finished]
    after_sequence: int


@dataclass(frozen=True, slots=True)
class AnswerAgain:
    """The query has finished; its answer has to be published once more."""

    envelope: Envelope[Finished]


def is_concluded(log: Sequence[Entry]) -> bool:
    """Return whether the log holds its conclusion."""
    return any(entry.address.event in (EventName.CONCLUDED, EventName.FINISHED) for entry in log)


def finished_of(log: Sequence[Entry]) -> Envelope[Finished] | None:
    """Return the log's `finished` event, or None."""
    for entry in reversed(log):
        if entry.address.event is EventName.FINISHED:
            try:
                return cast("Envelope[Finished]", entry.envelope())
            except Undecodable:
                return None
    return None


def outcome_of(log: Sequence[Entry]) -> Outcome | None:
    """Return the outcome that the log holds, or None while it has none."""
    for entry in reversed(log):
        if entry.address.event in (EventName.CONCLUDED, EventName.FINISHED):
            try:
                body = entry.envelope().body
            except Undecodable:
                return Outcome.FAILED
            return body.outcome if isinstance(body, Concluded) else cast("Finished", body).answer.outcome
    return None


def cancelled(log: Sequence[Entry], now_ms: int) -> Ending | None:
    """Return the conclusion that cancels the query, or None if it is concluded already."""
    outcome, code = Outcome.CANCELLED, FailureCode.CANCELLED
    if log and out_of_time(_last_envelope(log))[0] is not Outcome.EXPIRED:
        # A change that was approved may be under way: cancelling it cannot say that it was not made.
        outcome, code = out_of_time(_last_envelope(log))
    body = Concluded(outcome=outcome, code=code, stage=StageName.GATEWAY)
    return _conclusion(log, body, StageName.GATEWAY, now_ms)


def expired(log: Sequence[Entry], now_ms: int) -> Ending | None:
    """Return the conclusion of a query past its deadline, or None if it is concluded already."""
    outcome, code = out_of_time(_last_envelope(log)) if log else (Outcome.EXPIRED, FailureCode.EXPIRED)
    body = Concluded(outcome=outcome, code=code, stage="sweeper")
    return _conclusion(log, body, "sweeper", now_ms)


def unrendered(log: Sequence[Entry], now_ms: int) -> Ending | None:
    """Return `finished` from the plain template for a log that ends in `concluded`, else None."""
    if not log or log[-1].address.event is not EventName.CONCLUDED:
        return None
    last = log[-1]
    try:
        conclusion = cast("Envelope[Concluded]", last.envelope())
    except Undecodable as error:
        lost = Concluded(
            outcome=Outcome.FAILED, code=FailureCode.INTERNAL, stage="sweeper", detail=error.reason[:DETAIL_LENGTH_MAX]
        )
        conclusion = concluded(_last_envelope(log), lost)
    return Ending(_stamp(plain_finished(conclusion), "sweeper", EventName.FINISHED, now_ms), last.sequence)


def dead_lettered(log: Sequence[Entry], dead_sequence: int, reason: str, now_ms: int) -> Ending | AnswerAgain | None:
    """Return what follows from the death of the message at `dead_sequence`; None if the log has moved past it.

    A dead `concluded` becomes `finished` from the plain template, a dead `finished` only has its answer published
    again, any other dead message concludes its query as failed/internal.
    """
    if not log or log[-1].sequence != dead_sequence:
        return None
    match log[-1].address.event:
        case EventName.FINISHED:
            finished = finished_of(log)
            return AnswerAgain(finished) if finished is not None else None
        case EventName.CONCLUDED:
            return unrendered(log, now_ms)
        case _:
            _, code = out_of_time(_last_envelope(log))
            body = Concluded(
                outcome=Outcome.FAILED,
                code=FailureCode.INTERNAL if code is FailureCode.EXPIRED else code,
                stage="sweeper",
                detail=reason[:DETAIL_LENGTH_MAX],
            )
            return _conclusion(log, body, "sweeper", now_ms)


def _conclusion(log: Sequence[Entry], body: Concluded, step: str, now_ms: int) -> Ending | None:
    if not log or is_concluded(log):
        return None
    envelope = _stamp(concluded(_last_envelope(log), body), step, EventName.CONCLUDED, now_ms)
    return Ending(envelope, log[-1].sequence)


def _stamp(envelope: Envelope[Any], step: str, event: EventName, now_ms: int) -> Envelope[Any]:
    return stamped(envelope, PathStep(stage=step, event=event, started_at=now_ms, ended_at=now_ms))


def _last_envelope(log: Sequence[Entry]) -> Envelope[Any]:
    """Return the newest event of the log that can be read; if none can, what is known of the query at all."""
    for entry in reversed(log):
        try:
            return entry.envelope()
        except Undecodable:
            continue
    return salvaged(log[0].data, log[0].address, log[0].headers)


def salvaged(data: bytes, address: EventAddress, headers: Mapping[str, str]) -> Envelope[Asked]:
    """Return an `asked` for a message that is no envelope, so that its query can still be ended.

    Whose query it was is taken from the bytes where they say it, else it is nobody's: the ending stands on the log.
    """
    try:
        result: object = json.loads(data)
    except (ValueError, RecursionError):
        result = None
    known = cast("Mapping[str, object]", result) if isinstance(result, dict) else {}

    def text(name: str, otherwise: str) -> str:
        value = known.get(name)
        return value[:QUESTION_BYTES_MAX] if isinstance(value, str) else otherwise

    deadline = headers.get(DEADLINE_HEADER, "")
    deadline_at = int(deadline) if deadline.isascii() and deadline.isdigit() else 0
    return Envelope[Asked](
        event=EventName.ASKED,
        query_id=address.query,
        thread_id=address.thread,
        tenant=address.tenant,
        user=text("user", UNKNOWN_USER),
        # The reader with the fewest rights: what is not known is not granted.
        audience="business",
        connection=text("connection", ""),
        question=text("question", ""),
        language="zh" if known.get("language") == "zh" else "en",
        asked_at=deadline_at,
        deadline_at=deadline_at,
        body=Asked(),
    )
