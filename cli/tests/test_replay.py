"""What is asked again keeps what it knew and starts over; a person's yes to a write is never repeated."""

from __future__ import annotations

import datetime as dt
from typing import Any

from querybus.core.envelope import Attempt, Envelope, decode, encode
from querybus.core.messages import Asked, Confirmed, ForkedFrom, Origin
from querybus.core.subjects import EventName
from querybus_cli.operations.replay import asked_again, shadow_of

ID = "0190a0a0-0000-7000-8000-000000000001"
OTHER = "0190a0a0-0000-7000-8000-000000000002"
ASKED_AT = 1_750_000_000_000


def first(body: Any = None, **header: Any) -> Envelope[Any]:
    values: dict[str, Any] = {
        "event": EventName.ASKED,
        "query_id": ID,
        "thread_id": "0190a0a0-0000-7000-8000-00000000000f",
        "tenant": "acme",
        "user": "ann",
        "audience": "business",
        "connection": "shop",
        "question": "How many last month?",
        "language": "en",
        "asked_at": ASKED_AT,
        "deadline_at": ASKED_AT + 30_000,
        "attempts": (Attempt(origin=Origin.MODEL, sql="SELECT 1"),),
        "body": body or Asked(thread_until_sequence=7, body_sha256="a" * 64),
    }
    return Envelope[Any](**(values | header))


def test_a_question_asked_again_is_the_same_question_with_a_new_life() -> None:
    again = asked_again(first(), query_id=OTHER, now_ms=ASKED_AT + 1_000_000)
    assert again is not None
    assert (again.query_id, again.thread_id, again.user, again.shadow_of) == (OTHER, first().thread_id, "ann", None)
    assert again.deadline_at - again.asked_at == 30_000
    assert again.attempts == ()
    assert again.body.thread_until_sequence == 7


def test_a_shadow_stands_alone_and_knows_what_the_original_knew() -> None:
    shadow = shadow_of(first(), query_id=OTHER, now_ms=ASKED_AT + 1_000_000)
    assert shadow is not None
    assert (shadow.query_id, shadow.thread_id, shadow.shadow_of) == (OTHER, OTHER, ID)
    assert shadow.body.forked_from == ForkedFrom(thread_id=first().thread_id, sequence=7)
    assert shadow.body.thread_until_sequence == 0
    assert shadow.options.today == dt.date(2025, 6, 15)
    assert decode(EventName.ASKED, encode(shadow)).shadow_of == ID


def test_a_shadow_of_a_forks_first_question_knows_the_forked_thread() -> None:
    origin = ForkedFrom(thread_id=ID, sequence=3)
    shadow = shadow_of(first(Asked(forked_from=origin)), query_id=OTHER, now_ms=ASKED_AT)
    assert shadow is not None
    assert shadow.body.forked_from == origin


def test_a_confirmed_write_is_never_asked_again() -> None:
    write = first(Confirmed(asking_query_id=ID, sql_sha256="b" * 64, rows_affected_max=1), event=EventName.CONFIRMED)
    assert asked_again(write, query_id=OTHER, now_ms=ASKED_AT) is None
    assert shadow_of(write, query_id=OTHER, now_ms=ASKED_AT) is None


def test_a_query_of_a_person_says_nothing_of_shadows_on_the_wire() -> None:
    assert b"shadow" not in encode(first())
