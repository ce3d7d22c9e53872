"""The fields of a graph's state that say how an answer came about, and the page that a client asks for."""

from __future__ import annotations

from typing import Any

import pytest

from querybus.core.subjects import EventName
from querybus_gateway.http.compatible.langgraph.requests import Pagination, pagination_of
from querybus_gateway.http.compatible.langgraph.state_fields import STATE_FIELDS, state_fields
from querybus_gateway.http.compatible.langgraph.stream import turn_of

ANSWER: dict[str, Any] = {
    "query_id": "q",
    "thread_id": "t",
    "connection": "shop",
    "question": "How many?",
    "enriched_question": None,
    "outcome": "answered",
    "code": None,
    "message": "",
    "summary": "",
    "asked_at": 0,
    "classification": {"kind": "database"},
    "reading": {"entities": ["customers"]},
    "retries": {"generation": 0, "mend": 0},
    "attempts": [],
    "path": [{"stage": "validator", "event": "approved"}],
}
UNSAFE = {"stage": "validator", "code": "safety", "duration_ms": None, "executed": False}


def fields(**answer: Any) -> dict[str, Any]:
    return state_fields(turn_of({**ANSWER, **answer}))


@pytest.mark.parametrize("event", EventName)
def test_every_event_leads_to_a_stage(event: EventName) -> None:
    running = state_fields({"last_event": event.value})
    assert tuple(running) == STATE_FIELDS
    assert running["current_stage"]
    assert (running["validation_result"], running["retry_count"], running["error_history"]) == (None, 0, [])


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ({}, {"is_valid": True, "code": None}),
        ({"path": []}, None),
        (
            {"outcome": "confirmation", "path": [{"stage": "validator", "event": "concluded"}]},
            {"is_valid": True, "code": None},
        ),
        (
            {"outcome": "refused", "path": [{"stage": "validator", "event": "concluded"}]},
            {"is_valid": False, "code": None},
        ),
        (
            {
                "outcome": "refused",
                "code": "safety",
                "attempts": [UNSAFE],
                "path": [{"stage": "validator", "event": "failed"}],
            },
            {"is_valid": False, "code": "safety"},
        ),
    ],
)
def test_the_last_verdict_of_the_validator_counts(answer: dict[str, Any], verdict: Any) -> None:
    assert fields(**answer)["validation_result"] == verdict


def test_a_query_that_ended_without_a_statement_has_its_failure_in_the_history() -> None:
    (error,) = fields(outcome="clarification", code="llm_explanation", path=[])["error_history"]
    assert (error["stage"], error["code"], error["executed"]) == (None, "llm_explanation", False)
    assert fields(outcome="refused", code="safety", attempts=[UNSAFE])["error_history"] == [UNSAFE]


def test_an_answer_is_whole_though_its_thread_does_not_know_it_yet() -> None:
    behind = {"query_id": "q", "status": "running", "answer": None}
    assert turn_of(ANSWER, [behind])["answer"] is ANSWER
    known = {**behind, "analysis": {"tables": ["customer"], "links": []}}
    assert state_fields(turn_of(ANSWER, [known]))["schema_info"]["tables"] == ["customer"]


@pytest.mark.parametrize(
    ("asked", "number", "size"),
    [
        ({}, 1, None),
        ({"page": 3}, 3, None),
        ({"page": 3, "page_size": 7}, 3, 7),
        ({"page": 2, "limit": 7}, 2, 7),
        ({"limit": 7, "offset": 14}, 3, 7),
        ({"page_size": 7, "offset": 0}, 1, 7),
    ],
)
def test_a_page_is_named_by_its_number_or_by_the_rows_before_it(asked: Any, number: int, size: int | None) -> None:
    page = pagination_of(asked, "pagination")
    assert isinstance(page, Pagination)
    assert (page.number, page.size) == (number, size)


def test_no_pagination_is_none() -> None:
    assert pagination_of(None, "pagination") is None
