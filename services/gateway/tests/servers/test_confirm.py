"""Claims on confirming: one yes, one query; the statement is the asking query's, never the request's."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import pytest

from querybus.core.asking_back import Confirmation
from querybus.core.credential import Credential
from querybus.core.envelope import Envelope, PathStep, concluded
from querybus.core.ids import derived_id
from querybus.core.messages import Asked, Concluded, Outcome
from querybus.core.stored.models import NO_USE, ModelUse
from querybus.core.subjects import EventAddress, EventName, StageName
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.use_cases.followups.confirm import CONFIRM_MS_MAX, ConfirmRequest, confirmed
from querybus_gateway.use_cases.resources import may_approve

from .stack_of_tests import ApiStack, api_stack

NOW = 1_000_000_000
SQL = "DELETE FROM orders WHERE id = 3"
HASH = hashlib.sha256(SQL.encode()).hexdigest()
ANN = Credential(name="web", tenant="acme", user="ann", audience="business")
BOB = Credential(name="lab", tenant="acme", user="bob", audience="analyst")
WRITE = Confirmation(
    reason="write", kind="DELETE", sql_sha256=HASH, table="orders", rows_affected=1, rows_known="exact",
    rows_affected_max=1,
)  # fmt: skip


@dataclass(frozen=True)
class Stored:
    """One event of a log in memory."""

    event: Envelope[Any]
    sequence: int = 5
    data: bytes = b""

    @property
    def address(self) -> EventAddress:
        return EventAddress("acme", "t", "q", self.event.event)

    @property
    def headers(self) -> dict[str, str]:
        return {}

    def envelope(self) -> Envelope[Any]:
        return self.event


def asking(
    confirmation: Confirmation | None = WRITE, outcome: Outcome = Outcome.CONFIRMATION, use: ModelUse = NO_USE
) -> Stored:
    step = PathStep(stage=StageName.VALIDATOR, event=EventName.CONCLUDED, started_at=NOW, ended_at=NOW)
    asked = Envelope[Asked](
        event=EventName.ASKED,
        query_id="q",
        thread_id="t",
        tenant="acme",
        user="ann",
        audience="business",
        connection="shop",
        question="delete order 3",
        language="en",
        asked_at=NOW,
        deadline_at=NOW + 1,
        path=(step,),
        model_use=use,
        body=Asked(),
    )
    body = Concluded(outcome=outcome, stage=StageName.VALIDATOR, sql=SQL, confirmation=confirmation)
    return Stored(concluded(asked, body))


def yes(sql_sha256: str = HASH, rows: int | None = None) -> ConfirmRequest:
    return ConfirmRequest(sql_sha256=sql_sha256, rows_affected_max=rows)


def test_a_yes_becomes_the_first_event_of_a_query_with_a_derived_id_and_a_deadline_of_its_own() -> None:
    made = confirmed([asking()], yes(), ANN, NOW + 10)
    assert isinstance(made, Envelope)
    assert made.query_id == derived_id("confirmed", "acme", "q", HASH)
    assert (made.body.asking_query_id, made.body.rows_affected_max, made.thread_id) == ("q", 1, "t")
    assert made.deadline_at == NOW + 10 + 60_000
    assert [step.event for step in made.path] == [EventName.CONFIRMED]
    assert "DELETE" not in made.model_dump_json()


def test_a_yes_takes_no_tokens_over_that_the_question_before_it_was_counted_for() -> None:
    made = confirmed([asking(use=ModelUse(calls=1, tokens_in=900, cost=0.5))], yes(), ANN, NOW)
    assert isinstance(made, Envelope)
    assert made.model_use == NO_USE


def test_a_yes_to_fewer_rows_counts_as_said() -> None:
    made = confirmed([asking()], yes(rows=0), ANN, NOW)
    assert isinstance(made, Envelope)
    assert made.body.rows_affected_max == 0


@pytest.mark.parametrize(
    ("log", "request_", "credential", "now", "code"),
    [
        ([], yes(), ANN, NOW, ProblemCode.NOT_CONFIRMABLE),
        ([asking(outcome=Outcome.ANSWERED)], yes(), ANN, NOW, ProblemCode.NOT_CONFIRMABLE),
        ([asking(confirmation=None)], yes(), ANN, NOW, ProblemCode.NOT_CONFIRMABLE),
        ([asking()], yes("0" * 64), ANN, NOW, ProblemCode.NOT_CONFIRMABLE),
        ([asking()], yes(), ANN, NOW + CONFIRM_MS_MAX + 1, ProblemCode.NOT_CONFIRMABLE),
        ([asking()], yes(), ANN.model_copy(update={"connections": ("other",)}), NOW, ProblemCode.SCOPE),
        ([asking(WRITE.model_copy(update={"reason": "cost"}))], yes(), ANN, NOW, ProblemCode.SCOPE),
    ],
)
def test_what_was_not_asked_this_way_cannot_be_confirmed(
    log: list[Stored], request_: ConfirmRequest, credential: Credential, now: int, code: ProblemCode
) -> None:
    made = confirmed(log, request_, credential, now)
    assert isinstance(made, Problem)
    assert made.code is code


SECOND = WRITE.model_copy(update={"needs_second_person": True})


def test_a_change_that_needs_a_second_person_is_confirmed_by_another_analyst_for_its_asker() -> None:
    made = confirmed([asking(SECOND)], yes(), BOB, NOW)
    assert isinstance(made, Envelope)
    assert (made.user, made.audience, made.body.confirmed_by) == ("ann", "business", "bob")
    own = confirmed([asking()], yes(), ANN, NOW)
    assert isinstance(own, Envelope)
    assert "confirmed_by" not in own.model_dump_json()


@pytest.mark.parametrize(
    ("credential", "confirmation", "now", "code"),
    [
        (ANN, SECOND, NOW, ProblemCode.SCOPE),
        (ANN.model_copy(update={"audience": "analyst"}), SECOND, NOW, ProblemCode.SCOPE),
        (BOB.model_copy(update={"audience": "business"}), SECOND, NOW, ProblemCode.SCOPE),
        (BOB.model_copy(update={"connections": ("other",)}), SECOND, NOW, ProblemCode.SCOPE),
        (BOB, SECOND, NOW + CONFIRM_MS_MAX + 1, ProblemCode.NOT_CONFIRMABLE),
        (BOB, WRITE, NOW, ProblemCode.NOT_CONFIRMABLE),
    ],
)
def test_nobody_else_says_the_second_yes(
    credential: Credential, confirmation: Confirmation, now: int, code: ProblemCode
) -> None:
    made = confirmed([asking(confirmation)], yes(), credential, now)
    assert isinstance(made, Problem)
    assert made.code is code


@pytest.mark.parametrize(
    ("changes", "confirmation", "may"),
    [
        ({}, SECOND, True),
        ({}, WRITE, False),
        ({"user": "ann"}, SECOND, False),
        ({"audience": "business"}, SECOND, False),
        ({"tenant": "other"}, SECOND, False),
        ({"connections": ("other",)}, SECOND, False),
        ({"connections": ("shop",)}, SECOND, True),
    ],
)
def test_an_analyst_of_the_tenant_reads_another_persons_query_only_to_approve_it(
    changes: dict[str, Any], confirmation: Confirmation, may: bool
) -> None:
    assert may_approve([asking(confirmation)], BOB.model_copy(update=changes)) is may


@pytest.mark.connected
@pytest.mark.requirement("002.65")
async def test_over_the_bus_and_http_a_second_yes_gives_the_same_query_and_another_user_finds_nothing() -> None:
    async with api_stack() as apis:
        query = await _asking(apis)
        async with apis.client() as client:
            wrong = await client.call("confirm", {"query_id": query, "sql_sha256": "0" * 64})
            assert wrong["code"] == "not_confirmable"
            first = await client.call("confirm", {"query_id": query, "sql_sha256": HASH})
            second = await client.call("confirm", {"query_id": query, "sql_sha256": HASH, "rows_affected_max": 9})
        assert first["query_id"] == second["query_id"] == derived_id("confirmed", "acme", query, HASH)
        assert await apis.events(first["query_id"]) == ["confirmed"]
        assert (await apis.log(first["query_id"]))[0].envelope().body.rows_affected_max == 1
        async with apis.http() as http:
            third = await http.post(f"/v1/queries/{query}/confirm", json={"sql_sha256": HASH})
            assert (third.status_code, third.json()["id"]) == (202, first["query_id"])
            assert third.headers["idempotency-replayed"] == "true"
        async with apis.http("other", "web") as http:
            foreign = await http.post(f"/v1/queries/{query}/confirm", json={"sql_sha256": HASH})
            assert foreign.status_code == 404
        async with apis.http() as http:
            cancelled = await http.post(f"/v1/queries/{first['query_id']}/cancel")
            assert cancelled.status_code in (202, 409)


async def _asking(apis: ApiStack) -> str:
    async with apis.client() as client:
        asked = await client.call("ask", {"question": "delete order 3", "connection": "shop"})
    query = asked["query_id"]
    last = (await apis.log(query))[-1]
    body = Concluded(outcome=Outcome.CONFIRMATION, stage=StageName.GENERATOR, sql=SQL, confirmation=WRITE)
    await apis.publish(StageName.GENERATOR, concluded(last.envelope(), body), last)
    await apis.finish(query)
    return query
