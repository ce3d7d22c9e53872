"""The same scenario through HTTP, gRPC and the bus: what a caller meets is the same, field by field."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import grpc
import pytest
import pytest_asyncio

from querybus.bus.client import BusClient, NotAccepted
from querybus.bus.connection import BusRefused, Held
from querybus.bus.stores.catalogs import CatalogStore
from querybus.core.asking_back import Clarification, Confirmation, Option, OptionAction, Trigger
from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table
from querybus.core.envelope import concluded
from querybus.core.failure import FailureCode
from querybus.core.messages import Concluded, Outcome, Result, ResultColumn
from querybus.core.subjects import EventName, StageName
from querybus.text.plain_answer import plain_finished
from querybus_gateway.v1 import query_service_pb2 as v1

from .every_api import NO_QUERY, WAIT, Api, BusFace, GrpcFace, HttpFace, Json, Reported, compared, faces
from .grpc_caller import Refusal, grpc_caller, question
from .stack_of_tests import OUTSIDERS, ApiStack, api_stack

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

QUESTION: Json = {"question": "How many customers?", "connection": "shop"}
HASH = "ab" * 32
CATALOG = Catalog(
    connection="shop",
    dialect=Dialect.SQLITE,
    definitions={
        "dataset:cust_master": json.dumps({"name": "cust_master", "source": "cust_master", "primary_key": ["cust_id"]}),
        "metric:customers": json.dumps(
            {
                "name": "customers",
                "expression": {"dialects": [{"dialect": "ANSI_SQL", "expression": "COUNT(cust_master.cust_id)"}]},
                "custom_extensions": [
                    {"vendor_name": "COMMON", "data": json.dumps({"labels": {"en": "Customer count"}})}
                ],
            }
        ),
    },
    tables=(
        Table(
            name="cust_master",
            display_names={"en": "customers", "zh": "客户"},
            primary_key=("cust_id",),
            row_estimate=12,
            columns=(
                Column(name="cust_id", type="INTEGER", kind=ColumnKind.INTEGER),
                Column(name="city_nm", type="TEXT", kind=ColumnKind.TEXT, display_names={"en": "city", "zh": "城市"}),
            ),
        ),
    ),
)
MIXED = Result(
    columns=(
        ResultColumn(name="city", kind=ColumnKind.TEXT),
        ResultColumn(name="n", kind=ColumnKind.INTEGER),
        ResultColumn(name="share", kind=ColumnKind.NUMBER),
        ResultColumn(name="is_open", kind=ColumnKind.BOOLEAN),
        ResultColumn(name="since", kind=ColumnKind.DATE),
    ),
    rows=(
        ("上海", 9_007_199_254_740_993, 0.1, True, "2025-01-31"),
        ("", -1, 1e300, False, None),
        (None, None, None, None, None),
    ),
    row_count=3,
)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stack() -> AsyncGenerator[ApiStack]:
    async with api_stack(grpc_port=0, rate_per_second=10_000) as made:
        yield made


Scenario = Callable[[Api, str], Awaitable[list[Any]]]


async def same(stack: ApiStack, scenario: Scenario, *, credential: str = "web") -> list[Any]:
    """Run a scenario through each API, compare what it met, and return it."""
    async with faces(stack, "acme", credential) as apis:
        met = {name: await scenario(api, name) for name, api in apis.items()}
    seen = {name: compared(value) for name, value in met.items()}
    assert seen["grpc"] == seen["http"]
    assert seen["bus"] == seen["http"]
    return met["http"]


async def conclude(stack: ApiStack, query: str, outcome: Outcome, *, chart: Json | None = None, **body: Any) -> None:
    last = (await stack.log(query))[-1]
    result = Concluded(outcome=outcome, stage=StageName.GENERATOR, dialect=Dialect.SQLITE, **body)
    await stack.publish(StageName.GENERATOR, concluded(last.envelope(), result), last)
    last = (await stack.log(query))[-1]
    finished = plain_finished(last.envelope())
    if result.clarification is not None or chart is not None:
        # The template has no ways on and draws nothing; the presenter does.
        options = result.clarification.options if result.clarification is not None else ()
        answer = finished.body.answer.model_copy(update={"options": options, "chart": chart})
        finished = finished.model_copy(update={"body": finished.body.model_copy(update={"answer": answer})})
    await stack.publish(StageName.PRESENTER, finished, last)


def id_of(found: Json | Reported) -> str:
    assert isinstance(found, dict), found
    return found["id"]


@pytest.mark.parametrize("credential", ["web", "lab"])
@pytest.mark.requirement("card.19")
async def test_an_answer(stack: ApiStack, credential: str) -> None:
    async def scenario(api: Api, _: str) -> list[Any]:
        asked = await api.ask(QUESTION)
        query = id_of(asked)
        before = await api.read(query)
        await stack.draft(query)
        await conclude(stack, query, Outcome.ANSWERED, result=MIXED, sql="SELECT 1")
        return [asked, before, await api.read(query, wait=WAIT), await api.page(query)]

    asked, before, after, page = await same(stack, scenario, credential=credential)
    assert (asked["status"], before["status"], after["status"]) == ("running", "running", "finished")
    assert after["answer"]["outcome"] == "answered"
    assert page["rows"] == after["answer"]["rows"]
    assert page["rows"][0][1] == 9_007_199_254_740_993
    assert ("sql" in after["answer"]) == (credential == "lab")


async def test_an_answer_in_one_call(stack: ApiStack) -> None:
    async def scenario(api: Api, _: str) -> list[Any]:
        return [await api.ask(QUESTION, wait=WAIT)]

    async with stack.stages():
        (answered,) = await same(stack, scenario)
    assert answered["answer"]["row_count"] == 2


@pytest.mark.parametrize("credential", ["web", pytest.param("lab", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("outcome", "body"),
    [
        (Outcome.REFUSED, {"code": FailureCode.SAFETY, "refused_kind": "DELETE", "detail": "secret_table"}),
        (Outcome.FAILED, {"code": FailureCode.CONNECTION, "detail": "secret_host:5432 refused"}),
        (Outcome.FAILED, {"code": FailureCode.COLUMN_NOT_FOUND, "sql": "SELECT secret_x", "detail": "secret_x"}),
        (Outcome.PREPARED, {"sql": "SELECT 1"}),
        (Outcome.REPLIED, {"reply": "Hello there"}),
        (Outcome.EXPIRED, {"code": FailureCode.EXPIRED}),
    ],
)
async def test_each_other_outcome(stack: ApiStack, credential: str, outcome: Outcome, body: Json) -> None:
    async def scenario(api: Api, _: str) -> list[Any]:
        query = id_of(await api.ask(QUESTION))
        await conclude(stack, query, outcome, **body)
        return [await api.read(query, wait=WAIT), await api.page(query), await api.cancel(query)]

    result, page, cancel = await same(stack, scenario, credential=credential)
    assert result["answer"]["outcome"] == outcome.value
    assert page.code == "not_found"
    assert cancel.code == "already_finished"
    assert dict(cancel.more)["outcome"] == outcome.value
    if credential == "web":
        assert "secret" not in str(result)


async def test_a_clarification_and_its_answer(stack: ApiStack) -> None:
    options = (
        Option(id="o1", text="Shanghai", question="How many in Shanghai?", action=OptionAction.ADD_FILTER),
        Option(id="o2", text="all", question="How many in all?", action=OptionAction.RETRY_AS_IS),
    )
    asked_back = Clarification(trigger=Trigger.AMBIGUOUS_QUESTION, about="city", options=options)

    async def scenario(api: Api, name: str) -> list[Any]:
        first = id_of(await api.ask(QUESTION))
        unfinished = await api.clarify(first, {"option_id": "o1"})
        await conclude(
            stack, first, Outcome.CLARIFICATION, code=FailureCode.AMBIGUOUS_QUESTION, clarification=asked_back
        )
        shown = await api.read(first, wait=WAIT)
        second = await api.clarify(first, {"option_id": "o1"}, key=f"clarified-{name}")
        again = await api.clarify(first, {"option_id": "o1"}, key=f"clarified-{name}")
        other = await api.clarify(first, {"option_id": "o2"}, key=f"clarified-{name}")
        own = await api.clarify(first, {"question": "How many in Rome?"})
        refused = [await api.clarify(first, item) for item in ({}, {"option_id": "o9"})]
        log = await stack.log(id_of(second))
        words = log[0].envelope().question
        await stack.answer(id_of(second))
        answered = await api.read(id_of(second))
        none_left = await api.clarify(id_of(second), {"option_id": "o1"})
        return [unfinished, shown, second, again, other, own, *refused, words, answered, none_left]

    unfinished, shown, second, again, other, own, nothing, unknown, words, answered, none_left = await same(
        stack, scenario
    )
    assert unfinished.code == "not_finished"
    assert [option["id"] for option in shown["answer"]["options"]] == ["o1", "o2"]
    assert second["thread_id"] == own["thread_id"] == shown["thread_id"]
    assert again["idempotency_replayed"]
    assert other.code == "idempotency_mismatch"
    assert (nothing.code, unknown.code, none_left.code) == ("invalid", "unknown_option", "no_clarification")
    assert words == "How many in Shanghai?"
    assert answered["answer"]["outcome"] == "answered"


@pytest.mark.parametrize("credential", ["web", "lab"])
async def test_a_confirmation_and_its_yes(stack: ApiStack, credential: str) -> None:
    asked = Confirmation(
        reason="write",
        kind="UPDATE",
        sql_sha256=HASH,
        table="secret_table",
        columns=("secret_price",),
        rows_affected=12,
        rows_known="estimate",
        rows_affected_max=20,
    )

    async def scenario(api: Api, _: str) -> list[Any]:
        query = id_of(await api.ask(QUESTION))
        early = await api.confirm(query, {"sql_sha256": HASH})
        await conclude(stack, query, Outcome.CONFIRMATION, confirmation=asked, sql="UPDATE secret_table SET x = 1")
        shown = await api.read(query, wait=WAIT)
        wrong = await api.confirm(query, {"sql_sha256": "cd" * 32})
        bad = await api.confirm(query, {"sql_sha256": "short"})
        yes = await api.confirm(query, {"sql_sha256": HASH, "rows_affected_max": 15})
        again = await api.confirm(query, {"sql_sha256": HASH})
        body = (await stack.log(id_of(yes)))[0].envelope().body
        await conclude(stack, id_of(yes), Outcome.ANSWERED, result=MIXED)
        done = await api.read(id_of(yes), wait=WAIT)
        return [early, shown, wrong, bad, yes, again, body.rows_affected_max, done]

    early, shown, wrong, bad, yes, again, rows, done = await same(stack, scenario, credential=credential)
    assert (early.code, wrong.code, bad.code) == ("not_confirmable", "not_confirmable", "invalid")
    assert shown["answer"]["confirmation"]["rows_affected_max"] == 20
    assert ("secret" in str(shown)) == (credential == "lab")
    assert yes["id"] == again["id"] != shown["id"]
    assert again["idempotency_replayed"]
    assert rows == 15
    assert done["answer"]["outcome"] == "answered"


async def test_a_second_persons_yes(stack: ApiStack) -> None:
    asked = Confirmation(
        reason="write",
        kind="UPDATE",
        sql_sha256=HASH,
        table="orders",
        columns=("x",),
        rows_affected_max=20,
        needs_second_person=True,
    )

    async def scenario(api: Api, _: str) -> list[Any]:
        async with stack.client() as ann:
            query = (await ann.call("ask", QUESTION))["query_id"]
        hidden = await api.read(query)
        await conclude(stack, query, Outcome.CONFIRMATION, confirmation=asked, sql="UPDATE orders SET x = 1")
        async with stack.client() as ann:
            own = await ann.call("confirm", {"query_id": query, "sql_sha256": HASH})
        shown = await api.read(query, wait=WAIT)
        yes = await api.confirm(query, {"sql_sha256": HASH, "rows_affected_max": 15})
        body = (await stack.log(id_of(yes)))[0].envelope().body
        await conclude(stack, id_of(yes), Outcome.ANSWERED, result=MIXED)
        done = await api.read(id_of(yes), wait=WAIT)
        async with stack.client() as ann:
            hers = await ann.call("answer", {"query_id": id_of(yes)})
        return [hidden, own["code"], shown, body.confirmed_by, done, hers["outcome"]]

    hidden, own, shown, approver, done, hers = await same(stack, scenario, credential="lab")
    assert (hidden.code, own, approver) == ("not_found", "scope", "bob")
    assert shown["answer"]["sql"] == "UPDATE orders SET x = 1"
    assert shown["answer"]["confirmation"]["needs_second_person"]
    assert (done["answer"]["outcome"], hers) == ("answered", "answered")


async def test_a_cancellation(stack: ApiStack) -> None:
    async def scenario(api: Api, _: str) -> list[Any]:
        query = id_of(await api.ask(QUESTION))
        cancelled = await api.cancel(query)
        await stack.finish(query)
        return [cancelled, await api.read(query, wait=WAIT), await api.cancel(query)]

    cancelled, after, again = await same(stack, scenario)
    assert cancelled["status"] == "running"
    assert after["answer"]["outcome"] == "cancelled"
    assert again.code == "already_finished"


async def test_paging(stack: ApiStack) -> None:
    rows = tuple((f"city {number}",) for number in range(250))
    result = Result(columns=(ResultColumn(name="city", kind=ColumnKind.TEXT),), rows=rows, row_count=250)

    async def scenario(api: Api, _: str) -> list[Any]:
        query = id_of(await api.ask(QUESTION))
        early = await api.page(query)
        await conclude(stack, query, Outcome.ANSWERED, result=result)
        first, third = await api.page(query), await api.page(query, page=3)
        small = await api.page(query, page=2, page_size=60)
        assert isinstance(first, dict)
        by_token = await api.page(query, page_token=first["next_page_token"])
        beyond = await api.page(query, page=4)
        forged = await api.page(query, page_token=first["next_page_token"][:-2] + "xx")
        return [early, first, third, small, by_token, beyond, forged]

    early, first, third, small, by_token, beyond, forged = await same(stack, scenario)
    assert early.code == "not_finished"
    assert (len(first["rows"]), first["has_next"], first["total_count"], first["total_pages"]) == (100, True, 250, 3)
    assert (len(third["rows"]), third["has_next"]) == (50, False)
    assert small["rows"][0] == ["city 60"]
    assert by_token["page"] == 2
    assert (beyond.code, forged.code) == ("not_found", "bad_page_token")


async def test_idempotency(stack: ApiStack) -> None:
    async def scenario(api: Api, name: str) -> list[Any]:
        key = f"once-{name}"
        first = await api.ask(QUESTION, key=key)
        again = await api.ask(QUESTION, key=key)
        other = await api.ask(QUESTION | {"question": "How many orders?"}, key=key)
        await stack.answer(id_of(first))
        answered = await api.ask(QUESTION, key=key, wait=WAIT)
        return [first, again, other, answered, await api.ask(QUESTION, key="bad key")]

    first, again, other, answered, bad = await same(stack, scenario)
    assert first["id"] == again["id"] == answered["id"]
    assert again["idempotency_replayed"]
    assert other.code == "idempotency_mismatch"
    assert bad.code == "invalid"


async def test_one_key_is_one_query_whatever_the_api(stack: ApiStack) -> None:
    async with faces(stack) as apis:
        asked = [await api.ask(QUESTION, key="any-api") for api in apis.values()]
    assert len({id_of(item) for item in asked}) == 1
    assert [isinstance(item, dict) and item.get("idempotency_replayed", False) for item in asked] == [
        False,
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("tenant", "credential"), [("other", "web"), pytest.param("acme", "desk", marks=pytest.mark.slow)]
)
async def test_another_callers_ids_do_not_exist(stack: ApiStack, tenant: str, credential: str) -> None:
    async with faces(stack) as own:
        query = id_of(await own["http"].ask(QUESTION))
        await stack.answer(query)
        batch = id_of(await own["http"].submit({"items": [{"id": "a", **QUESTION}]}))

    async with faces(stack, tenant, credential) as apis:
        met: dict[str, list[Any]] = {}
        for name, api in apis.items():
            met[name] = [
                result
                for item, of_batch in ((query, batch), (NO_QUERY, NO_QUERY), ("no id", "no id"))
                for result in (
                    await api.read(item),
                    await api.read(item, wait=1),
                    await api.cancel(item),
                    await api.page(item),
                    await api.clarify(item, {"question": "q"}),
                    await api.confirm(item, {"sql_sha256": HASH}),
                    await api.ask(QUESTION | {"thread_id": item}),
                    await api.turns(item),
                    await api.state(item),
                    await api.thread_events(item),
                    await api.fork(item, {}),
                    await api.delete(item),
                    await api.batch(of_batch),
                    await api.batch_cancel(of_batch),
                    await api.batch_retry(of_batch),
                )
            ]
    assert compared(met["grpc"]) == compared(met["http"]) == compared(met["bus"])
    assert {outcome.code for outcome in met["http"]} == {"not_found"}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"question": " "},
        {"question": "x" * 20_000, "connection": "shop"},
        {"question": "q", "connection": "nowhere"},
        {"question": "q", "connection": "shop", "operation": "run"},
        {"question": "q", "connection": "shop", "operation": "run", "sql": "SELECT 1"},
        {"question": "q", "connection": "shop", "sql": "SELECT 1"},
        {"question": "q", "connection": "shop", "options": {"retries_max": 99}},
        {"question": "q", "connection": "shop", "options": {"deadline_seconds": 0.0}},
        {"question": "q", "connection": "shop", "options": {"language": "fr"}},
        {"question": "q", "connection": "shop", "options": {"today": "no day"}},
    ],
)
async def test_each_bad_request(stack: ApiStack, body: Json) -> None:
    async def scenario(api: Api, _: str) -> list[Any]:
        return [await api.ask(body)]

    (problem,) = await same(stack, scenario)
    assert isinstance(problem, Reported)


@pytest.mark.slow
async def test_a_deadline(stack: ApiStack) -> None:
    async def scenario(api: Api, _: str) -> list[Any]:
        query = id_of(await api.ask(QUESTION | {"options": {"deadline_seconds": 0.3}}))
        await stack.until(query, EventName.CONCLUDED)
        await stack.finish(query)
        return [await api.read(query, wait=WAIT)]

    (result,) = await same(stack, scenario)
    assert result["answer"]["outcome"] == "expired"


async def test_threads(stack: ApiStack) -> None:
    async def scenario(api: Api, _: str) -> list[Any]:
        first = await api.ask(QUESTION, wait=WAIT)
        thread = id_of(first)
        second = await api.ask(QUESTION | {"question": "And orders?", "thread_id": thread}, wait=WAIT)
        listed = await api.threads(limit=1)
        turns = await api.turns(thread)
        assert isinstance(turns, dict)
        state = await api.state(thread)
        earlier = await api.state(thread, turns["turns"][0]["last_sequence"])
        events = await api.thread_events(thread)
        later = await api.thread_events(thread, turns["turns"][0]["last_sequence"])
        forked = await api.fork(thread, {"query_id": id_of(first)})
        assert isinstance(forked, dict)
        third = await api.ask(QUESTION | {"thread_id": forked["thread_id"]}, wait=WAIT)
        gone = await api.delete(thread)
        missing = await api.turns(thread)
        return [first, second, listed, turns, state, earlier, events, later, forked, third, gone, missing]

    async with stack.stages():
        _, second, listed, turns, state, earlier, events, later, forked, third, gone, missing = await same(
            stack, scenario
        )
    assert second["thread_id"] == turns["thread_id"] == listed["threads"][0]["thread_id"]
    assert [turn["question"] for turn in turns["turns"]] == ["How many customers?", "And orders?"]
    assert len(state["turns"]) == 2
    assert len(earlier["turns"]) == 1
    assert len(events["events"]) == 6
    assert len(later["events"]) == 3
    assert third["thread_id"] == forked["thread_id"] != turns["thread_id"]
    assert forked["forked_from"]["thread_id"] == turns["thread_id"]
    assert gone == {}
    assert missing.code == "not_found"


async def test_a_thread_with_a_running_question_is_not_deleted(stack: ApiStack) -> None:
    async def scenario(api: Api, _: str) -> list[Any]:
        return [await api.delete(id_of(await api.ask(QUESTION)))]

    (problem,) = await same(stack, scenario)
    assert problem.code == "not_finished"


async def ended(api: Api, batch: str) -> Json:
    async with asyncio.timeout(60):
        while True:
            result = await api.batch(batch)
            assert isinstance(result, dict), result
            if result["status"] == "finished":
                return result
            await asyncio.sleep(0.1)


async def test_batches(stack: ApiStack) -> None:
    items = [{"id": f"i{number}", "name": f"item {number}", **QUESTION} for number in range(5)]

    async def scenario(api: Api, name: str) -> list[Any]:
        body = {"items": items, "options": {"language": "en"}, "concurrency": 1}
        submitted = await api.submit(body, key=f"report-{name}")
        again = await api.submit(body, key=f"report-{name}")
        other = await api.submit({"items": items[:2]}, key=f"report-{name}")
        result = await ended(api, id_of(submitted))
        rest = await api.batch(id_of(submitted), 3)
        refused = [await api.batch_cancel(id_of(submitted)), await api.batch_retry(id_of(submitted))]
        for item in (submitted, again):
            # How far it is by then is a matter of chance.
            assert isinstance(item, dict)
            item["totals"] = {"items": item["totals"]["items"]}
            item.pop("ended_at", None)
            item["status"] = "any"
        return [submitted, again, other, result, rest, *refused]

    async with stack.stages():
        submitted, again, other, result, rest, cancelled, retried = await same(stack, scenario)
    assert again["id"] == submitted["id"]
    assert again["idempotency_replayed"]
    assert other.code == "idempotency_mismatch"
    assert [item["answer"]["outcome"] for item in result["items"]] == ["answered"] * 5
    assert result["totals"]["answered"] == 5
    assert [item["id"] for item in rest["items"]] == ["i3", "i4"]
    assert (cancelled.code, retried.code) == ("already_finished", "already_finished")


@pytest.mark.parametrize(
    "body",
    [
        {"items": []},
        {"items": [{"id": "a", **QUESTION}, {"id": "a", **QUESTION}]},
        {"items": [{"id": "bad id", **QUESTION}]},
        {"items": [{"id": "a", "question": "q", "connection": "nowhere"}]},
        {"items": [{"id": "a", **QUESTION}], "concurrency": 99},
    ],
)
async def test_each_bad_batch(stack: ApiStack, body: Json) -> None:
    async def scenario(api: Api, _: str) -> list[Any]:
        return [await api.submit(body)]

    (problem,) = await same(stack, scenario)
    assert isinstance(problem, Reported)


TAUGHT: Json = {
    "pairs": [{"question": "How many orders?", "sql": "SELECT COUNT(*) FROM orders"}],
    "instructions": ["Leave test accounts out."],
    "terms": {"vip": "level gold"},
    "synonyms": {"orders": ["sales", "deals"]},
}


async def test_what_is_taught_found_and_forgotten(stack: ApiStack) -> None:
    async def scenario(api: Api, _: str) -> list[Any]:
        taught = await api.teach("shop", TAUGHT)
        known = await api.known("shop", "synonym")
        hits = await api.search("shop", "number of orders")
        assert isinstance(hits, dict)
        refused = [
            await api.teach("nowhere", TAUGHT),
            await api.teach("shop", {"pairs": [{"question": "", "sql": "SELECT 1"}]}),
            await api.forget("shop", "nothing"),
            await api.review("shop", "nothing", "approve"),
        ]
        entries = [
            identifier["id"]
            for kind in ("pair", "instruction", "term", "synonym")
            for identifier in await ids(api, kind)
        ]
        gone = [await api.forget("shop", entry) for entry in entries]
        return [taught, known, hits, *refused, gone]

    async def ids(api: Api, kind: str) -> list[Json]:
        result = await api.known("shop", kind)
        assert isinstance(result, dict)
        return result["entries"]

    taught, known, hits, nowhere, empty, nothing, unknown, gone = await same(stack, scenario, credential="lab")
    assert taught["taught"] == 5
    assert unknown.code == "not_found"
    assert {entry["text"] for entry in known["entries"]} == {"sales", "deals"}
    assert hits["hits"][0]["text"] == "SELECT COUNT(*) FROM orders"
    assert (nowhere.code, empty.code, nothing.code) == ("not_found", "invalid", "not_found")
    assert gone[-1]["entries"] == 0


async def test_business_readers_teach_nothing_but_judge_answers(stack: ApiStack) -> None:
    async def scenario(api: Api, _: str) -> list[Any]:
        query = id_of(await api.ask(QUESTION))
        early = await api.feedback(query, "right")
        await stack.draft(query)
        await conclude(stack, query, Outcome.ANSWERED, result=MIXED, sql="SELECT 1")
        right, known = await api.feedback(query, "right"), await api.known("shop", "pair")
        wrong = await api.feedback(query, "wrong")
        return [early, right, known, wrong, await api.teach("shop", TAUGHT)]

    early, right, known, wrong, refused = await same(stack, scenario)
    assert early.code == "not_finished"
    assert (right["verdict"], right["entries"], wrong["entries"]) == ("right", 1, 0)
    assert "text" not in known["entries"][0]
    assert refused.code == "scope"


async def test_preferences(stack: ApiStack) -> None:
    async def scenario(api: Api, _: str) -> list[Any]:
        kept = await api.prefer({"language": "zh", "connection": "shop", "summary": False, "page_size": 7})
        read = await api.preferences()
        asked = id_of(await api.ask({"question": "How many?"}))
        options = (await stack.log(asked))[0].envelope().options
        refused = [await api.prefer({"connection": "nowhere"}), await api.prefer({"page_size": 0})]
        return [kept, read, options.page_size, *refused, await api.prefer({}), await api.preferences()]

    kept, read, size, nowhere, invalid, cleared, empty = await same(stack, scenario, credential="desk")
    assert kept == read == {"language": "zh", "connection": "shop", "summary": False, "page_size": 7}
    assert size == 7
    assert (nowhere.code, invalid.code) == ("unknown_connection", "invalid")
    assert cleared == empty == {}


@pytest.mark.parametrize("credential", ["web", "lab"])
async def test_connections_catalogs_and_suggestions(stack: ApiStack, credential: str) -> None:
    executor = await stack.user(StageName.EXECUTOR)
    await CatalogStore(Held(executor)).write(CATALOG)

    async def scenario(api: Api, _: str) -> list[Any]:
        async with asyncio.timeout(60):
            while isinstance(await api.catalog("shop"), Reported):
                await asyncio.sleep(0.05)
        return [
            await api.connections(),
            await api.catalog("shop"),
            await api.suggestions("shop"),
            await api.definitions("shop"),
            await api.catalog("nowhere"),
        ]

    listed, catalog, suggested, defined, nowhere = await same(stack, scenario, credential=credential)
    assert [connection["name"] for connection in listed["connections"]] == ["crm", "shop"]
    assert ("cust_master" in str(catalog)) == (credential == "lab")
    assert suggested["questions"]
    assert [one["label"] for one in defined["metrics"]] == ["Customer count"]
    assert ("expression" in defined["metrics"][0]) == (credential == "lab")
    assert nowhere.code == "not_found"


@pytest.mark.parametrize("credential", ["web", "lab"])
@pytest.mark.requirement("card.19")
async def test_the_events_of_a_query_over_http_and_grpc(stack: ApiStack, credential: str) -> None:
    async with faces(stack, "acme", credential) as apis:
        query = id_of(await apis["bus"].ask(QUESTION))
        await stack.draft(query)
        await conclude(stack, query, Outcome.ANSWERED, result=MIXED, sql="SELECT 1")
        over_http, over_grpc = apis["http"], apis["grpc"]
        assert isinstance(over_http, HttpFace)
        assert isinstance(over_grpc, GrpcFace)
        events = await over_http.events(query)
        assert await over_grpc.events(query) == events
    assert [event["event"] for event in events] == ["asked", "drafted", "concluded", "finished"]


CHART: Json = {
    "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
    "mark": {"type": "bar"},
    "data": {"values": [{"city": "上海", "n": 2}, {"city": "Rome", "n": 1}]},
    "encoding": {"x": {"field": "city", "type": "nominal"}, "y": {"field": "n", "type": "quantitative"}},
}


async def test_exports_over_http_and_grpc(stack: ApiStack) -> None:
    rows = tuple((f"城市 {number}",) for number in range(250))
    result = Result(columns=(ResultColumn(name="city", kind=ColumnKind.TEXT),), rows=rows, row_count=250)
    async with stack.http() as http, grpc_caller(stack) as caller:
        query = (await http.post("/v1/queries", json=QUESTION)).json()["id"]
        with pytest.raises(Refusal) as caught:
            _ = [event async for event in caller.stream("ExportResult", v1.ExportResultRequest(query_id=query))]
        assert caught.value.reason == "not_finished"
        await conclude(stack, query, Outcome.ANSWERED, result=result)
        for name in ("csv", "jsonl", "arrow", "parquet"):
            whole = (await http.get(f"/v1/queries/{query}/export?format={name}")).content
            request = v1.ExportResultRequest(query_id=query, format=f"EXPORT_FORMAT_{name.upper()}")
            assert b"".join([event.data async for event in caller.stream("ExportResult", request)]) == whole
            rest = await http.get(f"/v1/queries/{query}/export?format={name}&first_row=201")
            if name in ("csv", "jsonl"):
                # What broke off after 200 rows is whole with what follows them.
                lines = whole.splitlines(keepends=True)
                assert b"".join(lines[: len(lines) - 50]) + rest.content == whole
            else:
                assert (rest.status_code, rest.json()["code"]) == (422, "invalid")
        unknown = v1.ExportResultRequest(query_id=query, format=99)  # pyright: ignore[reportArgumentType]
        with pytest.raises(Refusal) as caught:
            _ = [event async for event in caller.stream("ExportResult", unknown)]
        assert caught.value.reason == "invalid"


async def test_charts(stack: ApiStack) -> None:
    async def scenario(api: Api, _: str) -> list[Any]:
        query = id_of(await api.ask(QUESTION))
        early = await api.picture(query)
        await conclude(stack, query, Outcome.ANSWERED, result=MIXED, chart=CHART)
        bare = id_of(await api.ask(QUESTION))
        await stack.answer(bare)
        return [early, await api.read(query, wait=WAIT), await api.picture(bare)]

    early, answered, none = await same(stack, scenario)
    assert (early.code, none.code) == ("not_finished", "not_found")
    assert answered["answer"]["chart"] == CHART
    async with faces(stack) as apis:
        over_http, over_bus = apis["http"], apis["bus"]
        assert isinstance(over_http, HttpFace)
        assert isinstance(over_bus, BusFace)
        # Over gRPC the specification is a field of the answer.
        assert await over_http.chart(answered["id"]) == await over_bus.chart(answered["id"]) == CHART


@pytest.mark.slow
async def test_pictures(stack: ApiStack) -> None:
    async with faces(stack) as apis:
        query = id_of(await apis["http"].ask(QUESTION))
        await conclude(stack, query, Outcome.ANSWERED, result=MIXED, chart=CHART)
        drawn = [await api.picture(query) for api in apis.values()]
    assert isinstance(drawn[0], bytes)
    assert b"<svg" in drawn[0]
    assert drawn == [drawn[0]] * 3


@pytest.mark.parametrize(
    ("operation", "sql", "outcome"),
    [
        ("generate", None, Outcome.PREPARED),
        ("run", "SELECT city FROM shops", Outcome.ANSWERED),
        ("validate", "SELECT city FROM shops", Outcome.PREPARED),
        ("explain", "SELECT city FROM shops", Outcome.ANSWERED),
    ],
)
async def test_each_operation_beside_asking(stack: ApiStack, operation: str, sql: str | None, outcome: Outcome) -> None:
    body = QUESTION | {"operation": operation} | ({"sql": sql} if sql else {})

    async def scenario(api: Api, _: str) -> list[Any]:
        query = id_of(await api.ask(body))
        asked = (await stack.log(query))[0].envelope().body
        result = MIXED if outcome is Outcome.ANSWERED else None
        await conclude(stack, query, outcome, sql="SELECT city FROM shops LIMIT 10", result=result)
        return [asked.operation.value, asked.sql, await api.read(query, wait=WAIT)]

    said, given, matches = await same(stack, scenario, credential="lab")
    assert (said, given, matches["answer"]["outcome"]) == (operation, sql, outcome.value)
    assert matches["answer"]["sql"] == "SELECT city FROM shops LIMIT 10"
    assert bool(matches["answer"]["rows"]) == (outcome is Outcome.ANSWERED)


async def test_a_request_of_too_many_bytes_is_read_by_no_api(stack: ApiStack) -> None:
    body = QUESTION | {"question": "x" * 300_000}
    async with stack.http() as http:
        refused = await http.post("/v1/queries", json=body)
    assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
    # The library, and the client of the bus or else its server, refuse it before the gateway sees it.
    async with grpc_caller(stack) as caller:
        with pytest.raises(Refusal) as caught:
            await caller.call("Ask", v1.AskRequest(question=question(body["question"])))
    assert caught.value.code is grpc.StatusCode.RESOURCE_EXHAUSTED
    async with stack.client() as client:
        with pytest.raises(NotAccepted):
            await client.call("ask", body)


async def test_a_wrong_credential_enters_by_no_api(stack: ApiStack) -> None:
    async with stack.http() as http:
        refused = await http.post("/v1/queries", json=QUESTION, headers={"Authorization": "Bearer qb.acme.web.wrong"})
    async with grpc_caller(stack, key="qb.acme.web.wrong") as caller:
        with pytest.raises(Refusal) as caught:
            await caller.call("Ask", v1.AskRequest(question=question()))
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")
    assert (caught.value.code, caught.value.reason) == (grpc.StatusCode.UNAUTHENTICATED, "unauthenticated")
    # On the bus the server itself lets nobody in, so that no subject is met at all.
    with pytest.raises(BusRefused):
        async with BusClient.connected(stack.bus.url, OUTSIDERS["acme", "web"], "wrong"):
            pass
