"""Claims on confirming: one yes, one query; the statement is the asking query's, never the request's."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import pytest

from querybus.bus.admin.audit_export import exported_lines
from querybus.bus.connection import Held
from querybus.bus.stores.buckets import ConnectionStore
from querybus.core.asking_back import Confirmation
from querybus.core.catalog import Dialect
from querybus.core.credential import Credential
from querybus.core.envelope import Envelope, PathStep, concluded
from querybus.core.ids import derived_id
from querybus.core.messages import Asked, Concluded, Outcome
from querybus.core.options import OptionCaps
from querybus.core.policy import Access, Connection, ConnectionPolicy
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
        (BOB.model_copy(update={"made_by": "ann"}), SECOND, NOW, ProblemCode.SCOPE),
        (BOB.model_copy(update={"caps": OptionCaps(only_verified_always=True)}), SECOND, NOW, ProblemCode.SCOPE),
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
        ({"made_by": "ann"}, SECOND, False),
        ({"made_by": "eve"}, SECOND, True),
        ({"caps": OptionCaps(only_verified_always=True)}, SECOND, False),
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


@pytest.mark.connected
async def test_a_second_person_sees_question_and_statement_and_reads_nothing_else_of_the_asker() -> None:
    async with api_stack() as apis:
        query = await _asking(apis, SECOND)
        async with apis.http(credential="lab") as bob, apis.http() as ann:
            seen = await bob.get(f"/v1/queries/{query}")
            answer = seen.json()["answer"]
            assert (seen.status_code, answer["question"], answer["sql"]) == (200, "delete order 3", SQL)
            assert (answer["attempts"], answer["path"], answer["notes"]) == ([], [], [])
            for path in ("events", "result", "export", "chart"):
                assert (await bob.get(f"/v1/queries/{query}/{path}")).status_code == 404, path
            for path, body in (
                ("cancel", {}),
                ("clarify", {"question": "why?"}),
                ("refine", {"without": ["a"]}),
                ("feedback", {"verdict": "right"}),
                ("ticket", {}),
            ):
                assert (await bob.post(f"/v1/queries/{query}/{path}", json=body)).status_code == 404, path
            assert (await bob.get(f"/v1/threads/{seen.json()['thread_id']}/turns")).status_code == 404
            own = await ann.post(f"/v1/queries/{query}/confirm", json={"sql_sha256": HASH})
            assert own.status_code == 403
            yes = await bob.post(f"/v1/queries/{query}/confirm", json={"sql_sha256": HASH})
            assert yes.status_code == 202
            await apis.put_person("lee", "lee", audience="analyst")
            async with apis.http(credential="lee") as lee:
                late = await lee.post(f"/v1/queries/{query}/confirm", json={"sql_sha256": HASH})
                assert (late.status_code, late.json()["code"]) == (409, "not_confirmable")
                assert (await lee.get(f"/v1/queries/{yes.json()['id']}")).status_code == 404


@pytest.mark.connected
async def test_a_change_waits_in_the_list_of_those_who_may_confirm_it_until_one_of_them_has() -> None:
    async with api_stack() as apis:
        await _asking(apis)
        query = await _asking(apis, SECOND)
        await apis.put_person("hers", "carl", audience="analyst", made_by="ann")
        await apis.put_person("crm", "dora", audience="analyst", connections=("crm",))
        await apis.put_person("shop", "emil", audience="analyst", connections=("shop",))

        connections = ConnectionStore(Held(await apis.user(StageName.EXECUTOR)))

        async def waiting(credential: str, tenant: str = "acme") -> list[str]:
            async with apis.http(tenant, credential) as caller:
                found = await caller.get("/v1/confirmations")
            return (
                [item["query_id"] for item in found.json()["changes"]] if found.is_success else [found.json()["code"]]
            )

        assert await waiting("lab") == []
        policy = ConnectionPolicy(access=Access.READ_WRITE, second_person=True)
        await connections.write(Connection(name="shop", dialect=Dialect.SQLITE, policy=policy))
        assert await waiting("lab") == await waiting("shop") == [query]
        assert await waiting("hers") == await waiting("crm") == []
        assert await waiting("web") == await waiting("web", "other") == ["scope"]
        async with apis.http(credential="lab") as bob:
            (change,) = (await bob.get("/v1/confirmations")).json()["changes"]
            assert (change["asked_by"], change["question"], change["sql"]) == ("ann", "delete order 3", SQL)
            yes = await bob.post(
                f"/v1/queries/{query}/confirm", json={"sql_sha256": change["confirmation"]["sql_sha256"]}
            )
            assert yes.status_code == 202
        assert await waiting("lab") == await waiting("shop") == []
        later = await _asking(apis, SECOND)
        assert await waiting("lab") == await waiting("shop") == [later]


@pytest.mark.connected
async def test_who_said_yes_and_who_was_refused_stands_in_the_audit() -> None:
    async with api_stack() as apis:
        query = await _asking(apis, SECOND)
        await apis.put_person("hers", "carl", audience="analyst", made_by="ann")
        async with apis.http() as ann, apis.http(credential="hers") as hers, apis.http("other") as eve:
            for caller in (ann, hers, eve):
                assert not (await caller.post(f"/v1/queries/{query}/confirm", json={"sql_sha256": HASH})).is_success
        async with apis.http(credential="lab") as bob:
            for _ in range(2):
                assert (await bob.post(f"/v1/queries/{query}/confirm", json={"sql_sha256": HASH})).is_success
        await apis.gateway.stop()
        operator = await apis.bus.connect("operator")
        lines = [line async for line in exported_lines(operator, tenant=None, since_ms=0, until_ms=None)]
        await operator.close()
    records = [json.loads(line) for line in lines]
    refused = {(item["user"], item["code"]) for item in records if item["kind"] == "refusal"}
    assert refused == {("ann", "scope"), ("carl", "not_found"), ("eve", "not_found")}
    assert all(query in item["about"] for item in records if item["kind"] == "refusal")
    assert [item["user"] for item in records if item["kind"] == "confirmation"] == ["bob"]


@pytest.mark.connected
async def test_a_key_for_verified_questions_alone_reads_nothing_that_was_asked_freely_and_teaches_nothing() -> None:
    only = OptionCaps(only_verified_always=True)
    async with api_stack() as apis:
        await apis.put_person("only", "bob", audience="analyst", role="owner", caps=only)
        async with apis.http(credential="lab") as free, apis.http(credential="only") as bound:
            asked = await free.post("/v1/queries", json={"question": "how many?", "connection": "shop"})
            query, thread = asked.json()["id"], asked.json()["thread_id"]
            await apis.answer(query)
            assert (await free.get(f"/v1/queries/{query}/result")).status_code == 200
            for path in ("", "/events", "/result", "/export", "/chart"):
                assert (await bound.get(f"/v1/queries/{query}{path}")).status_code == 404, path
            assert (await bound.get(f"/v1/threads/{thread}/turns")).status_code == 404
            assert (await bound.get("/v1/queries")).json()["queries"] == []
            assert (await bound.get("/v1/threads")).json()["threads"] == []
            history = await bound.post(f"/threads/{thread}/history", json={})
            assert history.status_code == 404 or history.json() == []
            verdict = await bound.post(f"/v1/queries/{query}/feedback", json={"verdict": "right"})
            assert verdict.status_code == 404
            taught = await bound.post(
                "/v1/connections/shop/knowledge", json={"pairs": [{"question": "all?", "sql": "SELECT 1"}]}
            )
            assert (taught.status_code, taught.json()["code"]) == (403, "scope")
            me = (await bound.get("/v1/me")).json()
            assert (me["may_run_sql"], me["is_owner"], me["answers"]) == (False, False, "")
            assert (await bound.post("/v1/admin/keys", json={"name": "free", "user": "bob"})).status_code == 403


async def _asking(apis: ApiStack, confirmation: Confirmation = WRITE) -> str:
    async with apis.client() as client:
        asked = await client.call("ask", {"question": "delete order 3", "connection": "shop"})
    query = asked["query_id"]
    last = (await apis.log(query))[-1]
    body = Concluded(outcome=Outcome.CONFIRMATION, stage=StageName.GENERATOR, sql=SQL, confirmation=confirmation)
    await apis.publish(StageName.GENERATOR, concluded(last.envelope(), body), last)
    await apis.finish(query)
    return query
