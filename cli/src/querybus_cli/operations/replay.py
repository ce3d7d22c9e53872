"""A question asked again by an operator: as itself, for its asker, or as a shadow that nobody ever learns of.

A write is never asked again: what began with a person's yes has no second beginning.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from querybus.core.envelope import Envelope, PathStep, Retries
from querybus.core.messages import Asked, ForkedFrom
from querybus.core.subjects import EventName, StageName


def asked_again(first: Envelope[Any], *, query_id: str, now_ms: int) -> Envelope[Asked] | None:
    """Return the question as a new query of the same thread and user; None if it began with a confirmation."""
    if not isinstance(first.body, Asked):
        return None
    return _begun(first, first.body, query_id, now_ms)


def shadow_of(first: Envelope[Any], *, query_id: str, now_ms: int) -> Envelope[Asked] | None:
    """Return the question as a shadow, which knows what the original knew: its thread up to then, its day.

    It stands in a thread of its own. None if the query began with a confirmation.
    """
    body = first.body
    if not isinstance(body, Asked):
        return None
    known = (
        ForkedFrom(thread_id=first.thread_id, sequence=body.thread_until_sequence)
        if body.thread_until_sequence
        else body.forked_from
    )
    asked_on = dt.datetime.fromtimestamp(first.asked_at / 1_000, dt.UTC).date()
    options = first.options.model_copy(update={"today": first.options.today or asked_on})
    alone = body.model_copy(update={"thread_until_sequence": 0, "forked_from": known})
    shadow = _begun(first, alone, query_id, now_ms)
    return shadow.with_body(alone, thread_id=query_id, options=options, shadow_of=first.query_id)


def _begun(first: Envelope[Any], body: Asked, query_id: str, now_ms: int) -> Envelope[Asked]:
    step = PathStep(stage=StageName.GATEWAY, event=EventName.ASKED, started_at=now_ms, ended_at=now_ms)
    return first.with_body(
        body,
        query_id=query_id,
        asked_at=now_ms,
        deadline_at=now_ms + first.deadline_at - first.asked_at,
        enriched_question=None,
        classification=None,
        retries=Retries(),
        attempts=(),
        path=(step,),
    )
