"""How a query is ended that nobody else ends: decisions on its log alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from querybus.core.catalog import Dialect
from querybus.core.envelope import Envelope, concluded, decode, drafted, encode
from querybus.core.failure import FailureCode
from querybus.core.messages import (
    Approved,
    Asked,
    Concluded,
    Draft,
    Drafted,
    Origin,
    Outcome,
)
from querybus.core.subjects import EventAddress, EventName, StageName
from querybus.text.plain_answer import plain_finished
from querybus_gateway.lifecycle.conclusions import (
    UNKNOWN_USER,
    AnswerAgain,
    Ending,
    cancelled,
    dead_lettered,
    expired,
    finished_of,
    outcome_of,
    unrendered,
)

QUERY = "0190a0a0-0000-7000-8000-000000000001"


@dataclass(frozen=True)
class Line:
    sequence: int
    address: EventAddress
    data: bytes
    headers: dict[str, str] = field(default_factory=lambda: {"Querybus-Deadline": "60000"})

    def envelope(self) -> Envelope[Any]:
        return decode(self.address.event, self.data)


ASKED = Envelope[Asked](
    event=EventName.ASKED,
    query_id=QUERY,
    thread_id=QUERY,
    tenant="acme",
    user="ann",
    audience="business",
    connection="shop",
    question="How many?",
    language="en",
    asked_at=1,
    deadline_at=60_000,
    body=Asked(),
)
DRAFTED = drafted(ASKED, Drafted(draft=Draft(sql="SELECT 1", dialect=Dialect.SQLITE, origin=Origin.MODEL)))
CONCLUDED = concluded(DRAFTED, Concluded(outcome=Outcome.ANSWERED, stage=StageName.EXECUTOR))
FINISHED = plain_finished(CONCLUDED)


def log_of(*events: Envelope[Any] | tuple[EventName, bytes]) -> list[Line]:
    lines: list[Line] = []
    for n, item in enumerate(events):
        event, data = item if isinstance(item, tuple) else (item.event, encode(item))
        lines.append(Line(10 + n, EventAddress("acme", QUERY, QUERY, event), data))
    return lines


def ending_of(found: object) -> Ending:
    assert isinstance(found, Ending)
    return found


@pytest.mark.parametrize("decide", [cancelled, expired])
@pytest.mark.parametrize("log", [log_of(ASKED, DRAFTED, CONCLUDED), log_of(ASKED, CONCLUDED, FINISHED), []])
def test_what_is_concluded_or_gone_is_not_ended_again(decide: Any, log: Sequence[Line]) -> None:
    assert decide(log, 70_000) is None


def test_an_expired_query_is_fenced_at_its_last_event_and_keeps_its_attempts() -> None:
    ending = ending_of(expired(log_of(ASKED, DRAFTED), 70_000))
    assert ending.after_sequence == 11
    assert isinstance(ending.envelope.body, Concluded)
    assert ending.envelope.body.outcome is Outcome.EXPIRED
    assert ending.envelope.body.stage == "sweeper"
    assert len(ending.envelope.attempts) == 1
    assert ending.envelope.path[-1].ended_at == 70_000


def test_a_cancelled_query_says_so() -> None:
    body = ending_of(cancelled(log_of(ASKED), 5)).envelope.body
    assert isinstance(body, Concluded)
    assert (body.outcome, body.code, body.stage) == (Outcome.CANCELLED, FailureCode.CANCELLED, StageName.GATEWAY)


@pytest.mark.parametrize("events", [(ASKED,), (ASKED, DRAFTED)])
def test_a_dead_message_concludes_its_query_as_failed(events: tuple[Envelope[Any], ...]) -> None:
    log = log_of(*events)
    ending = ending_of(dead_lettered(log, log[-1].sequence, "validator: deliveries exhausted", 5))
    assert isinstance(ending.envelope.body, Concluded)
    assert ending.envelope.body.code is FailureCode.INTERNAL


def test_a_dead_message_that_the_log_has_passed_changes_nothing() -> None:
    assert dead_lettered(log_of(ASKED, DRAFTED), 10, "late", 5) is None
    assert dead_lettered([], 10, "late", 5) is None


def test_a_dead_conclusion_becomes_finished_with_its_outcome() -> None:
    ending = ending_of(dead_lettered(log_of(ASKED, CONCLUDED), 11, "presenter: gone", 5))
    assert ending.envelope.event is EventName.FINISHED
    assert outcome_of(log_of(ASKED, CONCLUDED, ending.envelope)) is Outcome.ANSWERED


def test_a_dead_finished_only_has_its_answer_published_again() -> None:
    result = dead_lettered(log_of(ASKED, CONCLUDED, FINISHED), 12, "gateway: gone", 5)
    assert isinstance(result, AnswerAgain)
    assert result.envelope == FINISHED


def test_a_conclusion_that_nobody_can_read_ends_as_failed() -> None:
    log = log_of(ASKED, (EventName.CONCLUDED, b"\xff"))
    ending = ending_of(unrendered(log, 5))
    assert finished_of(log_of(ASKED, ending.envelope)) is not None
    assert outcome_of(log_of(ASKED, ending.envelope)) is Outcome.FAILED


@pytest.mark.parametrize("data", [b"", b"\xff", b"[1]", b'{"envelope_version":"9.0"}', b"[" * 50_000])
def test_a_first_event_that_nobody_can_read_is_ended_for_nobody(data: bytes) -> None:
    envelope = ending_of(dead_lettered(log_of((EventName.ASKED, data)), 10, "generator: unreadable", 5)).envelope
    assert envelope.user == UNKNOWN_USER
    assert envelope.audience == "business"
    assert envelope.deadline_at == 60_000
    assert decode(EventName.CONCLUDED, encode(envelope)).query_id == QUERY


def test_whose_it_was_is_taken_from_an_unreadable_event_that_says_it() -> None:
    data = b'{"envelope_version":"9.0","user":"ann","audience":"analyst","question":"How many?"}'
    envelope = ending_of(expired(log_of((EventName.ASKED, data)), 5)).envelope
    assert (envelope.user, envelope.question) == ("ann", "How many?")
    assert envelope.audience == "business", "rights are not taken from what cannot be read"


APPROVED = Envelope[Approved](
    **{name: getattr(DRAFTED, name) for name in type(DRAFTED).model_fields if name not in ("event", "body")},
    event=EventName.APPROVED,
    body=Approved(
        sql="DELETE FROM t",
        dialect=Dialect.SQLITE,
        origin=Origin.USER,
        tables=("t",),
        row_limit=1,
        checked=("static",),
        rows_affected_max=3,
    ),
)


@pytest.mark.parametrize("end", [expired, cancelled, lambda log, now: dead_lettered(log, 11, "dead", now)])
def test_of_an_approved_change_nobody_says_that_it_was_not_made(end: Any) -> None:
    ending = ending_of(end(log_of(ASKED, APPROVED), 9))
    assert isinstance(ending.envelope.body, Concluded)
    assert (ending.envelope.body.outcome, ending.envelope.body.code) == (
        Outcome.FAILED,
        FailureCode.WRITE_OUTCOME_UNKNOWN,
    )
