"""Claims on a batch's manifest: order, derived ids, leases, totals, and which items run again."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from pydantic import ValidationError

from querybus.core.credential import Credential
from querybus.core.ids import is_id
from querybus.core.messages import Outcome
from querybus.core.stored.batch import (
    LEASE_MS,
    BatchItem,
    ItemState,
    Manifest,
    TimeWindow,
    again,
    begun,
    due,
    ended,
    enriched,
    mending,
    not_begun,
    totals,
)

NOW = 1_000_000


def manifest(items: int = 3, concurrency: int = 2) -> Manifest:
    return Manifest(
        batch_id="b",
        credential=Credential(name="web", tenant="acme", user="ann"),
        language="en",
        concurrency=concurrency,
        deadline_seconds=60,
        created_at=NOW,
        deadline_at=NOW + 60_000,
        items=tuple(BatchItem(id=f"i{n}", question=f"question {n}") for n in range(items)),
        states=tuple(ItemState() for _ in range(items)),
    )


def answer(outcome: Outcome, *codes: str | None, code: str | None = None) -> dict[str, Any]:
    attempts = [{"code": code, "stage": "validator" if code else None, "detail": code} for code in codes]
    return {"outcome": outcome.value, "code": code, "attempts": attempts}


def test_items_begin_in_their_order_and_no_more_than_the_concurrency() -> None:
    made = manifest()
    assert due(made, NOW) == (0, 1)
    made = begun(begun(made, 0), 1)
    assert due(made, NOW) == ()
    assert due(ended(made, 1, answer(Outcome.ANSWERED, None), NOW), NOW) == (2,)


def test_nothing_begins_after_the_deadline_or_once_cancelled() -> None:
    assert due(manifest(), NOW + 60_000) == ()
    assert due(manifest().model_copy(update={"cancelled": True}), NOW) == ()


def test_whoever_asks_an_item_asks_the_same_query_and_another_run_asks_another() -> None:
    first = begun(manifest(), 0)
    assert is_id(first.query_id(0))
    assert first.query_id(0) == begun(manifest(), 0).query_id(0)
    assert first.query_id(0) != begun(first, 0).query_id(0)
    assert first.query_id(0) != begun(first, 1).query_id(1)


def test_a_failed_item_keeps_its_first_and_its_last_failure() -> None:
    made = begun(manifest(), 0)
    made = ended(made, 0, answer(Outcome.FAILED, "syntax_error", "timeout", code="timeout"), NOW)
    state = made.states[0]
    assert (state.first_failure.code, state.last_failure.code) == ("syntax_error", "timeout")  # type: ignore[union-attr]
    assert state.attempts == 2


def test_an_item_that_never_made_a_statement_reports_why_it_ended() -> None:
    made = ended(begun(manifest(), 0), 0, answer(Outcome.CLARIFICATION, code="ambiguous_question"), NOW)
    assert made.states[0].last_failure is not None
    assert made.states[0].last_failure.code == "ambiguous_question"


@pytest.mark.requirement("003.21", "003.22")
def test_first_pass_and_retry_success_are_counted_apart() -> None:
    made = manifest(items=4)
    for place, given in enumerate(
        (
            answer(Outcome.ANSWERED, None),
            answer(Outcome.ANSWERED, "syntax_error", None),
            answer(Outcome.FAILED, "syntax_error", "syntax_error"),
            answer(Outcome.CLARIFICATION, code="ambiguous_question"),
        )
    ):
        made = ended(begun(made, place), place, given, NOW)
    result = totals(made)
    assert (result["first_pass"], result["after_retry"], result["answered"], result["failed"]) == (1, 1, 2, 2)
    assert (result["first_pass_success"], result["retry_success"]) == (0.3333, 0.5)


def test_the_order_of_completion_is_kept_beside_the_order_of_items() -> None:
    made = begun(begun(manifest(), 0), 1)
    made = ended(made, 1, answer(Outcome.ANSWERED, None), NOW)
    made = ended(made, 0, answer(Outcome.ANSWERED, None), NOW)
    assert [state.finished_as for state in made.states] == [2, 1, None]


@pytest.mark.requirement("003.10")
def test_only_failed_items_run_again_and_the_first_failure_stays() -> None:
    made = manifest()
    made = ended(begun(made, 0), 0, answer(Outcome.ANSWERED, None), NOW)
    made = ended(begun(made, 1), 1, answer(Outcome.FAILED, "timeout", code="timeout"), NOW)
    made = not_begun(made.model_copy(update={"cancelled": True}), NOW)
    reopened = again(made, NOW + 5)
    assert reopened is not None
    assert [state.status for state in reopened.states] == ["finished", "waiting", "waiting"]
    assert reopened.deadline_at == NOW + 5 + 60_000
    assert not reopened.cancelled
    second = ended(begun(reopened, 1), 1, answer(Outcome.FAILED, "connection", code="connection"), NOW)
    assert second.states[1].first_failure.code == "timeout"  # type: ignore[union-attr]
    assert second.states[1].last_failure.code == "connection"  # type: ignore[union-attr]


def test_a_batch_without_a_failed_item_has_nothing_to_run_again() -> None:
    made = manifest(items=1)
    assert again(ended(begun(made, 0), 0, answer(Outcome.ANSWERED, None), NOW), NOW) is None


def test_what_was_cancelled_before_any_statement_failed_is_not_counted_as_being_repaired() -> None:
    made = begun(manifest(items=3), 0).model_copy(update={"cancelled": True})
    made = not_begun(ended(made, 0, answer(Outcome.CANCELLED, None, code="cancelled"), NOW), NOW)
    counted = totals(made)
    assert (counted["failed"], counted["mending"]) == (3, 0)
    assert all(state.last_failure is not None and state.last_failure.code == "cancelled" for state in made.states)


def test_a_lease_keeps_others_away_until_it_is_over() -> None:
    held = manifest().leased("one", NOW)
    assert held.is_free("one", NOW)
    assert not held.is_free("other", NOW + LEASE_MS)
    assert held.is_free("other", NOW + LEASE_MS + 1)


@pytest.mark.requirement("003.12", "003.13")
def test_what_surrounds_a_question_follows_it_and_its_period_is_in_its_first_line() -> None:
    item = BatchItem(
        id="a",
        question="How many orders?",
        requirements="by city",
        time_window=TimeWindow(start=dt.date(2024, 1, 1), end=dt.date(2024, 3, 31)),
    )
    assert enriched(item, "en") == "How many orders between 2024-01-01 and 2024-03-31\nRequirements: by city"
    assert enriched(BatchItem(id="a", question="q"), "en") is None
    whole = BatchItem(id="a", question="q", requirements="by city", objective="growth", context="a report")
    text = enriched(whole, "en")
    assert text is not None
    assert all(said in text for said in ("by city", "growth", "a report"))


@pytest.mark.parametrize(
    "fault",
    [{"id": "no spaces here"}, {"id": ""}, {"id": "a", "tenant": "other"}, {"id": "a", "question": "x" * 9_000}],
)
def test_an_item_that_is_none_is_refused(fault: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        BatchItem.model_validate(fault)


@pytest.mark.requirement("003.13")
def test_a_time_window_does_not_end_before_it_begins() -> None:
    with pytest.raises(ValidationError):
        TimeWindow(start=dt.date(2024, 2, 1), end=dt.date(2024, 1, 1))


@pytest.mark.requirement("003.11")
def test_the_progress_of_a_batch_is_phrased_as_the_owner_asked() -> None:
    assert mending(3, "zh") == "发现 3 个查询执行失败，启动自动修正..."
    assert mending(3, "en") == "3 queries failed; mending them ..."
