"""LangGraph's own client at the paths of its server: pages of rows, the words alone, how an answer came about, what was taught."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any, cast

import pytest
import pytest_asyncio
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError, UnprocessableEntityError

from querybus.bus.connection import Held
from querybus.bus.stores.catalogs import CatalogStore
from querybus.core.asking_back import Option, OptionAction
from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.envelope import Envelope, PathStep, approved, concluded, drafted, failed, returned, stamped
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import (
    Advice,
    Analysis,
    Approved,
    Concluded,
    Draft,
    Drafted,
    Link,
    Operation,
    Origin,
    Outcome,
    Returned,
)
from querybus.core.subjects import StageName
from querybus.text.plain_answer import plain_finished

from .stack_of_tests import SECRET_NAME, SQL, ApiStack, conclusion, frames_of, key_of

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

ASSISTANT = "shop"
STATE_FIELDS = {
    "query_analysis",
    "schema_info",
    "validation_result",
    "retry_count",
    "current_stage",
    "error_history",
}
ROWS = [["上海"], ["Rome"]]
"""What the stages of these tests answer."""


def asked(**more: Any) -> Any:
    return {"messages": [{"role": "human", "content": "Which cities are there?"}], **more}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stack(shared_stack: ApiStack) -> ApiStack:
    return shared_stack


@pytest_asyncio.fixture(loop_scope="module")
async def answering(stack: ApiStack) -> AsyncGenerator[ApiStack]:
    async with stack.stages():
        yield stack


def client_of(stack: ApiStack, credential: str = "lab") -> LangGraphClient:
    return get_client(url=stack.address, api_key=key_of("acme", credential))


@pytest.mark.parametrize("pagination", [{"page": 2, "page_size": 1}, {"limit": 1, "offset": 1}])
@pytest.mark.requirement("002.51")
async def test_a_run_shows_the_page_that_its_input_asks_for(answering: ApiStack, pagination: Any) -> None:
    async with client_of(answering) as client:
        thread = (await client.threads.create())["thread_id"]
        waited: Any = await client.runs.wait(None, ASSISTANT, input=asked(pagination=pagination))
        in_thread: Any = await client.runs.wait(thread, ASSISTANT, input=asked(pagination=pagination))
        streamed = client.runs.stream(None, ASSISTANT, input=asked(pagination=pagination), stream_mode=["values"])
        parts: Any = [part async for part in streamed]
    for values in (waited, in_thread, parts[-2].data):
        assert values["rows"] == [["Rome"]]
        page = values["pagination"]
        assert (page["page"], page["page_size"], page["total_pages"], page["has_prev"]) == (2, 1, 2, True)
        assert "Rows 2 to 2 of 2" in values["messages"][-1]["content"]
        assert "上海" not in values["messages"][-1]["content"]


@pytest.mark.requirement("002.51")
async def test_a_stream_that_is_taken_up_again_and_a_run_that_is_joined_show_the_same_page(answering: ApiStack) -> None:
    headers = {"x-api-key": key_of("acme", "lab")}
    async with answering.http("acme", "lab") as http:
        body = {"assistant_id": ASSISTANT, "input": asked(pagination={"page": 2, "page_size": 1})}
        waited = await http.post("/runs/wait", json=body, headers=headers)
        joined = (await http.get(waited.headers["location"])).json()
        streamed = await http.post("/runs/stream", json=body | {"stream_mode": "values"})
        resumed = await http.get(streamed.headers["location"])
    assert joined["rows"] == [["Rome"]]
    assert json.loads(frames_of(resumed.text)[-2]["data"])["rows"] == [["Rome"]]


@pytest.mark.parametrize(
    ("pagination", "named"),
    [
        ({"page": 0}, "input.pagination.page"),
        ({"page": "2"}, "input.pagination.page"),
        ({"page": 1, "page_size": 1_001}, "input.pagination.page_size"),
        ({"pgae": 2}, "input.pagination.pgae"),
        ({"limit": 10, "offset": 15}, "multiple of limit"),
        ({"offset": 10}, "offset needs a limit"),
        ({"page": 2, "limit": 10, "offset": 10}, "page and page_size, or limit and offset"),
        ([2, 10], "input.pagination"),
    ],
)
@pytest.mark.requirement("002.51")
async def test_pagination_that_names_no_page_is_refused_before_anything_is_asked(
    stack: ApiStack, pagination: Any, named: str
) -> None:
    async with client_of(stack) as client:
        thread = (await client.threads.create())["thread_id"]
        with pytest.raises(UnprocessableEntityError, match=named):
            await client.runs.create(thread, ASSISTANT, input=asked(pagination=pagination))
        assert await client.runs.list(thread) == []
    run = {"assistant_id": ASSISTANT, "input": asked(pagination=pagination)}
    async with stack.http() as http:
        for path in ("/runs/wait", "/runs/stream", f"/threads/{thread}/runs/wait"):
            refused = await http.post(path, json=run)
            assert (refused.status_code, named in refused.json()["detail"]) == (422, True)
        for path in ("/api/v1/query", "/api/v1/query/sync", "/query/stream"):
            refused = await http.post(path, json=asked(pagination=pagination))
            assert (refused.status_code, named in refused.json()["detail"]) == (422, True)


@pytest.mark.requirement("002.51")
async def test_a_page_that_is_not_there_and_a_run_that_shows_none_are_refused_in_words(answering: ApiStack) -> None:
    beyond = asked(pagination={"page": 3, "page_size": 1})
    async with client_of(answering) as client:
        ended: Any = await client.runs.wait(None, ASSISTANT, input=beyond, raise_error=False)
        assert "with 1 rows a page there are 2" in ended["__error__"]["message"]
        parts = [part async for part in client.runs.stream(None, ASSISTANT, input=beyond, stream_mode="values")]
        assert (parts[-1].event, parts[-1].data["error"]) == ("error", "not_found")
        with pytest.raises(UnprocessableEntityError, match="/v1/queries/"):
            await client.runs.create(None, ASSISTANT, input=beyond)


@pytest.mark.parametrize("path", ["/api/v1/query", "/query/stream"])
@pytest.mark.requirement("002.37", "002.49")
async def test_a_question_without_a_stream_mode_streams_pairs_of_words_and_nothing_else(
    answering: ApiStack, path: str
) -> None:
    async with answering.http() as http:
        shown = await http.post(path, json=asked(thread_id="chat-1", config={"connection": "shop"}))
        lines = [line[6:] for line in shown.text.splitlines() if line.startswith("data: ")]
        pairs = [json.loads(line) for line in lines]
        assert all(len(pair) == 2 and pair[0]["type"] == "AIMessageChunk" for pair in pairs)
        assert {frame["event"] for frame in frames_of(shown.text)} == {"messages"}
        words = "".join(chunk["content"] for chunk, _ in pairs)
        assert "上海" in words
        assert pairs[-1][0]["response_metadata"]["outcome"] == "answered"
        run = pairs[0][1]
        thread = (await http.get(f"/threads/{run['thread_id']}/state")).json()
        assert thread["values"]["messages"][-1]["content"] == words
        more = asked(config={"connection": "shop"}, stream_mode=["values", "messages-tuple"])
        names = [frame["event"] for frame in frames_of((await http.post(path, json=more)).text)]
        assert (names[0], names[-1], set(names[1:-1])) == ("metadata", "end", {"values", "messages"})


@pytest.mark.requirement("002.37")
async def test_a_stream_of_words_begins_at_the_page_that_is_wanted(answering: ApiStack) -> None:
    async with answering.http() as http:
        second = {"query": "Which cities are there?", "pagination": {"page": 2, "page_size": 1}}
        shown = await http.post("/query/stream", json=second | {"config": {"connection": "shop"}})
    pairs = [json.loads(frame["data"]) for frame in frames_of(shown.text)]
    words = "".join(chunk["content"] for chunk, _ in pairs)
    assert "Rome" in words
    assert "上海" not in words
    assert pairs[-1][0]["response_metadata"]["pagination"]["page"] == 2


ANALYSIS = Analysis(links=(Link(text="cities", table="zq_secret_table", score=1.0),), tables=("zq_secret_table",))


async def repaired(stack: ApiStack, query: str) -> None:
    """Bring a query to its answer over a draft that failed at the executor and came back from the model."""

    async def store(stage: StageName, made: Envelope[Any]) -> None:
        last = (await stack.log(query))[-1]
        step = PathStep(stage=stage, event=made.event, started_at=made.asked_at, ended_at=made.asked_at + 1)
        await stack.publish(stage, stamped(made, step), last)

    async def last() -> Envelope[Any]:
        return (await stack.log(query))[-1].envelope()

    draft = Draft(sql=SQL, dialect=Dialect.SQLITE, origin=Origin.MODEL)
    ready = Approved(
        sql=SQL,
        dialect=Dialect.SQLITE,
        origin=Origin.MODEL,
        tables=("zq_secret_table",),
        row_limit=100,
        checked=("static",),
        analysis=ANALYSIS,
    )
    await store(StageName.GENERATOR, drafted(await last(), Drafted(draft=draft, analysis=ANALYSIS)))
    await store(StageName.VALIDATOR, approved(await last(), ready))
    broken = Failure(code=FailureCode.COLUMN_NOT_FOUND, detail=f"no such column: {SECRET_NAME}")
    await store(StageName.EXECUTOR, failed(await last(), broken, StageName.EXECUTOR))
    advice = Advice(code=FailureCode.COLUMN_NOT_FOUND)
    await store(
        StageName.RECOVERY, returned(await last(), Returned(operation=Operation.ASK, draft=draft, advice=advice))
    )
    await store(StageName.GENERATOR, drafted(await last(), Drafted(draft=draft, analysis=ANALYSIS)))
    await store(StageName.VALIDATOR, approved(await last(), ready))
    ended = conclusion(await last())
    body = ended.body.model_copy(update={"analysis": ANALYSIS})
    await store(StageName.EXECUTOR, concluded(await last(), body, duration_ms=3.0))
    await store(StageName.PRESENTER, plain_finished(await last()))


async def begun(client: LangGraphClient) -> tuple[str, str]:
    thread = (await client.threads.create())["thread_id"]
    return thread, (await client.runs.create(thread, ASSISTANT, input=asked()))["run_id"]


@pytest.mark.requirement("002.12", "002.19")
async def test_the_state_says_how_an_answer_came_about_alike_in_every_call(stack: ApiStack) -> None:
    async with client_of(stack) as client:
        thread, run = await begun(client)
        early: Any = (await client.threads.get_state(thread))["values"]
        assert (early["current_stage"], early["retry_count"], early["query_analysis"]) == ("schema_analysis", 0, None)
        await repaired(stack, run)
        joined: Any = await client.runs.join(thread, run)
        streamed: Any = [part async for part in client.runs.join_stream(thread, run, stream_mode=["values"])]
        state: Any = (await client.threads.get_state(thread))["values"]
        history: Any = await client.threads.get_history(thread)
    assert set(streamed[1].data) >= STATE_FIELDS
    for values in (joined, streamed[-2].data, state, history[0]["values"]):
        assert values["query_analysis"]["question"] == "Which cities are there?"
        assert values["query_analysis"]["links"][0]["table"] == "zq_secret_table"
        assert values["schema_info"]["tables"] == ["zq_secret_table"]
        assert values["validation_result"] == {"is_valid": True, "code": None}
        assert (values["retry_count"], values["current_stage"]) == (1, "completed")
        (error,) = values["error_history"]
        assert (error["stage"], error["code"], error["sql"]) == ("executor", "column_not_found", SQL)
        assert SECRET_NAME in error["detail"]
    assert history[1]["values"]["current_stage"] == "schema_analysis"


@pytest.mark.requirement("002.12")
async def test_a_business_reader_gets_the_same_fields_without_names_and_statements(stack: ApiStack) -> None:
    async with client_of(stack, "web") as client:
        thread, run = await begun(client)
        await repaired(stack, run)
        joined: Any = await client.runs.join(thread, run)
        state: Any = (await client.threads.get_state(thread))["values"]
    for values in (joined, state):
        assert values.keys() >= STATE_FIELDS
        assert values["retry_count"] == 1
        assert values["error_history"][0]["code"] == "column_not_found"
        shown = json.dumps(values, ensure_ascii=False)
        for hidden in ("SELECT", "zq_secret", '"sql"', "detail", "links", "tables"):
            assert hidden not in shown, hidden


async def test_what_the_validator_refused_is_no_valid_statement(stack: ApiStack) -> None:
    async with client_of(stack) as client:
        thread, run = await begun(client)
        last = (await stack.log(run))[-1]
        draft = Draft(sql=SQL, dialect=Dialect.SQLITE, origin=Origin.MODEL)
        await stack.publish(StageName.GENERATOR, drafted(last.envelope(), Drafted(draft=draft)), last)
        last = (await stack.log(run))[-1]
        unsafe = failed(
            last.envelope(), Failure(code=FailureCode.SAFETY, detail="not allowed: DROP"), StageName.VALIDATOR
        )
        step = PathStep(stage="validator", event=unsafe.event, started_at=1, ended_at=2)
        await stack.publish(StageName.VALIDATOR, stamped(unsafe, step), last)
        last = (await stack.log(run))[-1]
        ending = Concluded(outcome=Outcome.REFUSED, code=FailureCode.SAFETY, stage=StageName.RECOVERY)
        await stack.publish(StageName.RECOVERY, concluded(last.envelope(), ending), last)
        await stack.finish(run)
        values: Any = (await client.threads.get_state(thread))["values"]
    assert (values["validation_result"]["is_valid"], values["validation_result"]["code"]) == (False, "safety")
    assert values["error_history"][0]["detail"] == "not allowed: DROP"


@pytest.mark.requirement("002.36")
async def test_a_run_is_streamed_in_every_mode_that_is_named(answering: ApiStack) -> None:
    async with client_of(answering) as client:
        for modes in ("messages-tuple", "values", "updates", ["messages-tuple", "values", "updates"]):
            stream = client.runs.stream(None, ASSISTANT, input=asked(), stream_mode=cast("Any", modes))
            names = [part.event async for part in stream]
            wanted = [modes] if isinstance(modes, str) else modes
            shown = {"messages" if mode == "messages-tuple" else mode for mode in wanted}
            assert (names[0], names[-1], set(names[1:-1])) == ("metadata", "end", shown)


@pytest.mark.requirement("002.16", "002.45", "002.48", "002.52")
async def test_the_ordered_assistants_and_roles_are_taken(answering: ApiStack) -> None:
    async with client_of(answering) as client, answering.http("acme", "lab") as http:
        thread = (await client.threads.create())["thread_id"]
        for assistant in ("text2sql_agent", "text2sql_stream"):
            # Whose thread it is the credential says.
            named: Any = {"configurable": {"connection": "shop", "user_id": "ann"}}
            values: Any = await client.runs.wait(None, assistant, input=asked(), config=named)
            assert values["rows"] == ROWS
            in_thread: Any = await client.runs.wait(thread, assistant, input=asked(), config=named)
            assert in_thread["messages"][-2] == values["messages"][0] | {"id": in_thread["messages"][-2]["id"]}
        async with client_of(answering, "web") as ann:
            with pytest.raises(NotFoundError):
                await ann.threads.get(thread)
        # Studio sends JSON as text.
        plain = await http.post("/assistants/search", content="{}", headers={"content-type": "text/plain"})
        assert plain.json()[0]["graph_id"] == "text2sql_agent"
        refused = await http.post("/runs/wait", json={"assistant_id": "nobody", "input": asked()})
        assert (refused.status_code, "no such assistant" in refused.json()["detail"]) == (422, True)


@pytest.mark.requirement("002.50")
async def test_a_question_in_messages_is_answered_at_once_with_its_page(answering: ApiStack) -> None:
    async with answering.http() as http:
        body = asked(thread_id="conversation-1", pagination={"page": 2, "page_size": 1}, config={"connection": "shop"})
        answer = (await http.post("/api/v1/query/sync", json=body)).json()
        again = (await http.post("/api/v1/query/sync", json=asked(thread_id="conversation-1"))).json()
    assert (answer["status"], answer["rows"], answer["row_count"]) == ("success", [["Rome"]], 2)
    assert (answer["pagination"]["page"], answer["pagination"]["total_pages"]) == (2, 2)
    assert "Rows 2 to 2 of 2" in answer["messages"][0]["content"]
    assert (again["thread_id"], again["rows"]) == (answer["thread_id"], ROWS)


@pytest.mark.requirement("002.17")
async def test_a_run_that_asks_back_is_interrupted_and_resumed_by_an_option(stack: ApiStack) -> None:
    async with client_of(stack) as client:
        thread, run = await begun(client)
        await stack.conclude(run, Outcome.CLARIFICATION)
        options = (Option(id="o1", text="Cities", question="Which cities?", action=OptionAction.REPLACE_DIMENSION),)
        await stack.finish(run, options=options)
        state: Any = await client.threads.get_state(thread)
        (waiting,) = state["interrupts"]
        assert waiting["value"]["options"][0]["id"] == "o1"
        assert state["next"]
        assert (await client.runs.get(thread, run))["status"] == "interrupted"
        resumed: Any = await client.runs.create(thread, ASSISTANT, command={"resume": "o1"})
        await stack.answer(resumed["run_id"])
        values: Any = await client.runs.join(thread, resumed["run_id"])
        assert values["rows"] == ROWS
        assert values["messages"][-2]["content"] == "Which cities?"
        assert (await client.threads.get_state(thread))["next"] == []


CATALOG = Catalog(
    connection="shop",
    dialect=Dialect.SQLITE,
    tables=(Table(name="orders", columns=(Column(name="id", type="INTEGER"),)),),
)
TAUGHT: Any = {
    "pairs": [
        {"question": "How many orders?", "sql": "SELECT COUNT(*) FROM orders"},
        {"question": "Which is the newest order?", "sql": "SELECT MAX(id) FROM orders"},
    ],
    "terms": {"big order": "an order above 1000"},
}


@pytest.mark.requirement("002.24")
async def test_long_term_memory_is_searched_as_langgraphs_store(stack: ApiStack) -> None:
    await CatalogStore(Held(await stack.user(StageName.EXECUTOR))).write(CATALOG)
    async with stack.http("acme", "lab") as http:
        assert (await http.post("/v1/connections/shop/knowledge", json=TAUGHT)).status_code == 200
    async with client_of(stack) as analyst, client_of(stack, "web") as business:
        found = (await analyst.store.search_items(["shop", "pair"], query="number of orders"))["items"]
        assert found[0]["namespace"] == ["shop", "pair"]
        assert found[0]["value"]["key"] == "How many orders?"
        assert found[0]["value"]["text"] == "SELECT COUNT(*) FROM orders"
        assert (found[0].get("score") or 0) > 0
        everywhere = (await analyst.store.search_items([], query="有多少订单"))["items"]
        assert everywhere[0]["key"] == found[0]["key"]
        listed = (await analyst.store.search_items(["shop"]))["items"]
        assert {item["namespace"][1] for item in listed} == {"pair", "term"}
        assert len((await analyst.store.search_items(["shop"], limit=1, offset=2))["items"]) == 1
        chosen = (await analyst.store.search_items(["shop"], filter={"kind": "term"}))["items"]
        assert [item["value"]["key"] for item in chosen] == ["big order"]
        seen = (await business.store.search_items(["shop"], query="number of orders"))["items"]
        assert "SELECT" not in json.dumps(seen)
        assert seen[0]["value"]["key"] == "How many orders?"
        with pytest.raises(UnprocessableEntityError, match="the kinds are pair"):
            await analyst.store.search_items(["shop", "pears"])
        with pytest.raises(UnprocessableEntityError, match="/v1/connections/"):
            await analyst.store.put_item(["shop", "pair"], "k", {"question": "How many?"})
    async with get_client(url=stack.address, api_key=key_of("other", "web")) as stranger:
        assert (await stranger.store.search_items([], query="number of orders"))["items"] == []
