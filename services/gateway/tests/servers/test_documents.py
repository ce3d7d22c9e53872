"""The OpenAPI and AsyncAPI documents leave nothing open: each answer has a schema, each refusal is a problem."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from querybus.bus.admin.permissions import Outsider, outside_rights
from querybus_gateway.bus.api import VERBS
from querybus_gateway.problems import PROBLEM_MEDIA_TYPE, STATUS

from .documents import Json, calls, openapi


def responses() -> Iterator[tuple[str, str, Json]]:
    for path, operations in openapi()["paths"].items():
        for method, operation in operations.items():
            for status, response in operation["responses"].items():
                yield f"{method.upper()} {path}", status, response


def test_every_answer_over_http_has_a_schema_that_says_something() -> None:
    loose = [
        (name, status, media_type)
        for name, status, response in responses()
        for media_type, described in response.get("content", {}).items()
        if not described.get("schema")
    ]
    assert loose == []
    silent = [(name, status) for name, status, response in responses() if "content" not in response]
    assert sorted(silent) == [
        ("DELETE /v1/threads/{thread_id}", "204"),
        ("GET /v1/batches/{batch_id}/events", "204"),
        ("GET /v1/queries/{query_id}/events", "204"),
    ]


def test_the_document_is_valid_openapi_3_1() -> None:
    assert openapi()["openapi"].startswith("3.1")
    assert [error.message for error in OpenAPIV31SpecValidator(openapi()).iter_errors()] == []


def test_every_refusal_over_http_is_a_problem() -> None:
    problem = {"schema": {"$ref": "#/components/schemas/ProblemView"}}
    documented: dict[str, set[str]] = {}
    for name, status, response in responses():
        known = documented.setdefault(name, set())
        if int(status) >= 400:
            assert response["content"] == {PROBLEM_MEDIA_TYPE: problem}, (name, status)
            known.add(status)
    every = {str(status) for status, _ in STATUS.values()}
    assert {name for name, known in documented.items() if known != every} == {"GET /v1/asyncapi.json"}


def test_every_reply_over_the_bus_has_a_schema_of_its_own_and_may_be_a_problem() -> None:
    schemas = calls()["components"]["schemas"]
    for verb in VERBS:
        names = [
            item["$ref"].rpartition("/")[2]
            for item in calls()["components"]["messages"][f"{verb}.reply"]["payload"]["anyOf"]
        ]
        assert names[-1] == "ProblemCallView"
        assert len(names) > 1
        assert all(schemas[name]["properties"] for name in names), verb


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(result := value.get("$ref"), str):  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            yield result
        for element in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from references(element)
    elif isinstance(value, list):
        for element in value:  # pyright: ignore[reportUnknownVariableType]
            yield from references(element)


@pytest.mark.parametrize("document", [openapi, calls])
def test_no_reference_leads_nowhere(document: Any) -> None:
    for reference in references(document()):
        result: Any = document()
        for part in reference.removeprefix("#/").split("/"):
            assert part in result, reference
            result = result[part]


def test_what_a_generated_client_calls_an_operation_is_said_once() -> None:
    names = [operation["operationId"] for path in openapi()["paths"].values() for operation in path.values()]
    assert sorted(names) == sorted(set(names))
    assert {"queries_ask", "queries_show", "results_result", "threads_turns"} <= set(names)


def test_the_subjects_of_the_bus_are_those_that_a_caller_may_use() -> None:
    rights = outside_rights(Outsider("tenant", "credential", "user", "analyst"))
    granted = [*rights.publish, *rights.subscribe]
    addressed = [channel for channel in calls()["channels"].values() if channel["address"] is not None]
    assert len(addressed) == len(VERBS) + 3
    for channel in addressed:
        address = re.sub(
            r"{(\w+)}", lambda place: "analyst" if place[1] == "audience" else place[1], channel["address"]
        )
        pattern = [re.escape(subject).replace(r"\*", "[^.]+") for subject in granted]
        assert any(re.fullmatch(subject, address) for subject in pattern), address
