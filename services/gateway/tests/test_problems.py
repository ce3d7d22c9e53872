"""Every problem has a status, a title and the members that RFC 9457 and our clients expect."""

from __future__ import annotations

import json

import pytest

from querybus_gateway.problems import STATUS, FieldError, Problem, ProblemCode


@pytest.mark.parametrize("code", list(ProblemCode))
def test_every_code_has_a_status_and_a_body(code: ProblemCode) -> None:
    status, title = STATUS[code]
    body = Problem(code).body(instance="/v1/queries", trace_id="0" * 32)
    assert 400 <= status <= 503
    assert body["status"] == status
    assert body["title"] == body["detail"] == title
    assert body["code"] == code.value
    assert isinstance(body["detail"], str), "clients read `detail` as text"
    json.dumps(body)


def test_a_problem_names_the_place_and_carries_what_more_is_known() -> None:
    problem = Problem(
        ProblemCode.ALREADY_FINISHED, errors=(FieldError("/question", "too long"),), more={"outcome": "answered"}
    )
    body = problem.body(instance="/v1/queries/1/cancel", trace_id="ab")
    assert body["errors"] == [{"pointer": "/question", "message": "too long"}]
    assert body["outcome"] == "answered"
    assert body["trace_id"] == "ab"
