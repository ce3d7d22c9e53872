"""A business caller's bytes, at every API, hold no name, no SQL and no driver text, however a query ends.

The catalog's identifiers are random strings, so that finding one is a leak and nothing else. The presenter is the
real one; the other stages are played by hand, so that each failure comes with everything that could give it away.
"""

from __future__ import annotations

import json
import random
import re
import string
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import httpx
import pytest
import pytest_asyncio

from querybus.bus.connection import Held
from querybus.bus.stores.catalogs import CatalogStore
from querybus.bus.stores.pages import encode_page
from querybus.core.asking_back import Clarification, Confirmation, Option, OptionAction, Trigger
from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Table
from querybus.core.envelope import concluded, drafted, failed, returned
from querybus.core.failure import Facts, Failure, FailureCode
from querybus.core.messages import (
    Advice,
    Analysis,
    Concluded,
    Draft,
    Drafted,
    Link,
    Operation,
    Origin,
    Outcome,
    Result,
    ResultColumn,
    Returned,
)
from querybus.core.subjects import EventName, StageName
from querybus_gateway.v1 import query_service_pb2 as v1
from querybus_presenter.app import build as build_presenter
from querybus_presenter.settings import Settings as PresenterSettings

from .compatible_paths import answer_of, compatible_paths
from .grpc_caller import grpc_address
from .stack_of_tests import ApiStack, api_stack, key_of, pages_of

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

_dice = random.Random(20_250_131)


def _name() -> str:
    return _dice.choice(string.ascii_lowercase) + "".join(_dice.choices(string.ascii_lowercase + string.digits, k=11))


SCHEMA, TABLE, OTHER, VIEW, ID, CITY, AMOUNT, BARE, KEY = (_name() for _ in range(9))
NAMES = (SCHEMA, TABLE, OTHER, VIEW, ID, CITY, AMOUNT, BARE, KEY)
CATALOG = Catalog(
    connection="shop",
    dialect=Dialect.POSTGRESQL,
    default_schema=SCHEMA,
    glossary={"revenue": f"sum of {AMOUNT} in {TABLE}", AMOUNT: "money"},
    tables=(
        Table(
            name=TABLE,
            schema_name=SCHEMA,
            display_names={"en": "Orders", "zh": "订单"},
            comment=f"see {OTHER}.{KEY}",
            primary_key=(ID,),
            foreign_keys=(ForeignKey(columns=(KEY,), referred_table=OTHER, referred_columns=(ID,)),),
            columns=(
                Column(name=ID, type="integer", kind=ColumnKind.INTEGER),
                Column(name=CITY, type="text", kind=ColumnKind.TEXT, display_names={"en": "City"}, distinct_count=3),
                Column(name=AMOUNT, type="numeric", kind=ColumnKind.NUMBER, comment=f"copy of {TABLE}.{AMOUNT}"),
                Column(name=BARE, type="text", kind=ColumnKind.TEXT),
                Column(name=KEY, type="integer", kind=ColumnKind.INTEGER, comment=f"refers to {OTHER}"),
            ),
        ),
        Table(name=OTHER, schema_name=SCHEMA, columns=(Column(name=ID, type="integer"),)),
        Table(name=VIEW, schema_name=SCHEMA, kind="view", comment=VIEW, columns=(Column(name=BARE, type="text"),)),
    ),
)
EXPRESSION = {"dialects": [{"dialect": "ANSI_SQL", "expression": f"SUM({TABLE}.{AMOUNT})"}]}
DEFINITIONS: dict[str, dict[str, Any]] = {
    f"dataset:{TABLE}": {"name": TABLE, "source": f"{SCHEMA}.{TABLE}", "primary_key": [ID]},
    "metric:total_revenue": {
        "name": "total_revenue",
        "expression": EXPRESSION,
        "description": f"the sum of {TABLE}.{AMOUNT}",
        "ai_context": {"synonyms": ["money", AMOUNT]},
        "custom_extensions": [{"vendor_name": "COMMON", "data": json.dumps({"labels": {"en": "Revenue"}})}],
    },
    f"metric:{AMOUNT}": {"name": AMOUNT, "expression": EXPRESSION, "description": "money"},
}
SQL = f'SELECT "{CITY}", sum({AMOUNT}) AS {BARE} FROM {SCHEMA}.{TABLE} GROUP BY 1'
DISCLOSING = (
    b"asyncpg",
    b"psycopg",
    b"traceback",
    b"group by",
    b"undefinedcolumn",
    b"sqlstate",
    b"10.20.30.40",
    b"hunter2",
    b"qzsecretmodel",
)
DETAIL = (
    f'asyncpg.exceptions.UndefinedColumnError: column "{BARE}" of relation "{TABLE}" does not exist\n'
    f"HINT: Perhaps you meant {SCHEMA}.{TABLE}.{CITY}. SQLSTATE 42703\n{SQL}\n"
    "postgresql://app:hunter2@10.20.30.40:5432/prod\nTraceback (most recent call last):\n  File executor/postgres.py"
)
ANALYSIS = Analysis(
    links=(Link(text="city", table=TABLE, column=CITY, value=BARE, score=0.9, reason=f"{CITY} of {TABLE}"),),
    tables=(TABLE, OTHER),
    model="qzsecretmodel",
    prompt_version="qzsecretmodel-7",
    reading=f"sum of {AMOUNT} by {CITY}",
)
DRAFT = Draft(sql=SQL, dialect=Dialect.POSTGRESQL, origin=Origin.MODEL)
OPTIONS = (
    Option(id="a", text=f"Use {CITY}", question=f"How much by {CITY}?", action=OptionAction.REPLACE_DIMENSION),
    Option(id="b", text="Ask again", question="How much?", action=OptionAction.RETRY_AS_IS),
    Option(id="c", text="Last year", question=f"{BARE} of last year?", action=OptionAction.NARROW_PERIOD),
)
COLUMNS = (
    ResultColumn(name=CITY, kind=ColumnKind.TEXT, type="text"),
    ResultColumn(name=f"sum({AMOUNT})", kind=ColumnKind.NUMBER, type="numeric"),
    ResultColumn(name=BARE, kind=ColumnKind.TEXT, type="text"),
)
ROWS = (("Rome", 1.5, "x"), ("Bern", 2.5, "y"), ("上海", 3.5, None))
PHRASED: dict[str, Any] = {
    "detail": DETAIL,
    "sql": SQL,
    "dialect": Dialect.POSTGRESQL,
    "analysis": ANALYSIS,
    "notes": (f"assumed {CITY} of {TABLE}", SQL),
}
CONFIRMATION = Confirmation(
    reason="write", kind="UPDATE", sql_sha256="ab" * 32, table=TABLE, columns=(CITY,), rows_affected=3,
    rows_known="exact", rows_affected_max=3,
)  # fmt: skip


def endings() -> Iterator[tuple[str, Concluded]]:
    """Give every way in which a query can end, each with all that could give something away.

    Every code comes with one of the outcomes that a failure may have, by turns.
    """
    outcomes = (Outcome.FAILED, Outcome.CLARIFICATION, Outcome.REFUSED)
    for n, code in enumerate(FailureCode):
        outcome = outcomes[n % 3]
        clarification = Clarification(trigger=Trigger.SQL_EXECUTION_ERROR, about=f"{CITY} of {TABLE}", options=OPTIONS)
        yield (
            f"{outcome}-{code}",
            Concluded(
                outcome=outcome,
                code=code,
                stage=StageName.RECOVERY,
                refused_kind="UPDATE",
                reply=f"I looked at {TABLE} and {SQL}",
                clarification=clarification if outcome is not Outcome.REFUSED else None,
                **PHRASED,
            ),
        )
    for outcome in (Outcome.PREPARED, Outcome.CANCELLED, Outcome.EXPIRED):
        yield outcome, Concluded(outcome=outcome, stage=StageName.RECOVERY, **PHRASED)
    reply = f"You can ask about {TABLE}; its {CITY} is text. {SQL}"
    yield "replied", Concluded(outcome=Outcome.REPLIED, stage=StageName.RECOVERY, reply=reply, **PHRASED)
    yield (
        "confirmation",
        Concluded(outcome=Outcome.CONFIRMATION, stage=StageName.RECOVERY, confirmation=CONFIRMATION, **PHRASED),
    )
    for trigger in Trigger:
        asked = Clarification(trigger=trigger, about=f"the {BARE} column", options=OPTIONS)
        yield (
            f"asked-{trigger}",
            Concluded(
                outcome=Outcome.CLARIFICATION, stage=StageName.RECOVERY, clarification=asked, reply=reply, **PHRASED
            ),
        )


class Walk:
    """A business caller that keeps every byte that it is sent, with headers and subjects."""

    def __init__(self, stack: ApiStack, http: httpx.AsyncClient, bus: Any, channel: Any) -> None:
        self.stack = stack
        self.http = http
        self.bus = bus
        self.channel = channel
        self.kept: list[tuple[str, bytes]] = []
        self.received: list[tuple[str, bytes]] = []

    async def get(self, path: str, method: str = "GET", **more: Any) -> httpx.Response:
        reply = await self.http.request(method, path, **more)
        head = b"".join(name + b": " + value + b"\n" for name, value in reply.headers.raw)
        self.kept.append((f"{method} {path}", head + reply.content))
        return reply

    async def call(self, verb: str, **body: Any) -> dict[str, Any]:
        reply = await self.bus.request(f"querybus.v1.call.acme.web.{verb}", json.dumps(body).encode(), timeout=10)
        self.kept.append((f"call {verb}", repr(reply.headers).encode() + reply.data))
        return json.loads(reply.data)

    async def rpc(self, name: str, request: Any) -> None:
        path = f"/querybus.v1.QueryService/{name}"
        metadata = (("authorization", f"Bearer {key_of('acme', 'web')}"),)
        data = request.SerializeToString()
        parts: list[bytes] = []
        try:
            if name == "Follow":
                call = self.channel.unary_stream(path)(data, metadata=metadata, timeout=10)
                parts += [item async for item in call]
            else:
                call = self.channel.unary_unary(path)(data, metadata=metadata, timeout=10)
                parts.append(await call)
            parts.append(repr(tuple(await call.trailing_metadata())).encode())
        except grpc.aio.AioRpcError as error:
            parts.append(repr((error.details(), tuple(error.trailing_metadata()))).encode())
        self.kept.append((f"grpc {name}", b"".join(parts)))

    async def every_api(self, query: str, thread: str) -> None:
        """Ask for everything that there is of a query."""
        own = f"/v1/queries/{query}"
        for path in (
            "",
            "/events",
            "/result",
            "/export",
            "/export?format=jsonl",
            "/export?format=arrow",
            "/export?format=parquet",
            "/export?format=xlsx",
        ):
            await self.get(own + path)
        page = await self.get(f"{own}/result?page=1&page_size=1")
        if page.status_code == 200 and page.json()["next_page_token"]:
            await self.get(f"{own}/result", params={"page_token": page.json()["next_page_token"]})
        for path in ("", "/turns", "/events"):
            await self.get(f"/v1/threads/{thread}{path}")
        await self.get(f"{own}/cancel", "POST")
        await self.get(f"{own}/confirm", "POST", json={"sql_sha256": "cd" * 32})
        await self.get(f"{own}/clarify", "POST", json={"option_id": "nothing"})
        await self.get(f"{own}/feedback", "POST", json={"verdict": "wrong"})
        await self.call("answer", query_id=query)
        await self.call("page", query_id=query)
        await self.call("cancel", query_id=query)
        await self.call("clarify", query_id=query, option_id="nothing")
        await self.call("turns", thread_id=thread)
        await self.call("state", thread_id=thread)
        await self.call("thread-events", thread_id=thread)
        for wanted in compatible_paths(query, thread, "shop"):
            _, data = await answer_of(self.http, wanted)
            self.kept.append((f"{wanted.method} {wanted.path} {wanted.body}", data))
        await self.rpc("GetQuery", v1.GetQueryRequest(query_id=query))
        await self.rpc("GetResultPage", v1.GetResultPageRequest(query_id=query))
        await self.rpc("Follow", v1.FollowRequest(query_id=query))

    def leaks(self) -> list[tuple[str, str]]:
        """Return what was sent that nobody outside may see, and where."""
        forbidden = [name.encode() for name in NAMES] + list(DISCLOSING)
        pattern = re.compile(b"|".join(map(re.escape, forbidden)), re.IGNORECASE)
        select = re.compile(rb"select\s+\S+.{0,80}\bfrom\b", re.IGNORECASE | re.DOTALL)
        pairs: list[tuple[str, str]] = []
        for where, data in (*self.kept, *self.received):
            for item in (pattern, select):
                if match := item.search(data):
                    around = data[max(0, match.start() - 60) : match.end() + 60]
                    pairs.append((where, around.decode("utf-8", "replace")))
        return pairs


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stack() -> AsyncGenerator[ApiStack]:
    async with api_stack(grpc_port=0, rate_per_second=10_000) as made:
        executor = await made.bus.connect("executor")
        await CatalogStore(Held(executor)).write(CATALOG)
        await executor.close()
        settings: dict[str, Any] = {"nats_url": made.bus.url, "nats_password": made.bus.password("presenter")}
        presenter = build_presenter(PresenterSettings(**settings, drain_seconds=1))
        await presenter.start()
        try:
            yield made
        finally:
            await presenter.stop()


@asynccontextmanager
async def walk(stack: ApiStack) -> AsyncGenerator[Walk]:
    async with (
        stack.http() as http,
        stack.outside() as bus,
        grpc.aio.insecure_channel(grpc_address(stack)) as channel,
    ):
        walking = Walk(stack, http, bus, channel)

        async def receive(message: Any) -> None:
            walking.received.append((message.subject, repr(message.headers).encode() + message.data))

        await bus.subscribe("querybus.v1.answer.acme.ann.business.*", cb=receive)
        await bus.subscribe("querybus.v1.progress.acme.ann.business.*", cb=receive)
        await bus.flush()
        yield walking


async def begin(stack: ApiStack, walking: Walk, language: str) -> str:
    question = "How much by city?" if language == "en" else "各城市的金额是多少？"
    reply = await walking.get("/v1/queries", "POST", json={"question": question, "connection": "shop"})
    return reply.json()["id"]


async def fail(stack: ApiStack, query: str, code: FailureCode) -> None:
    """Let a draft fail, be returned with advice, and fail again."""
    failure = Failure(
        code=code,
        detail=DETAIL,
        facts=Facts(name=BARE, qualifier=TABLE, candidates=(CITY, AMOUNT), owners=(TABLE,), tables=(TABLE, OTHER)),
    )
    for again in (False, True):
        last = (await stack.log(query))[-1]
        body = Drafted(draft=DRAFT, analysis=ANALYSIS, notes=(f"took {CITY}",))
        await stack.publish(StageName.GENERATOR, drafted(last.envelope(), body), last)
        last = (await stack.log(query))[-1]
        await stack.publish(StageName.VALIDATOR, failed(last.envelope(), failure, StageName.VALIDATOR), last)
        if not again:
            last = (await stack.log(query))[-1]
            advice = Advice(
                code=code, detail=DETAIL, guidance=f"use {CITY}", facts=failure.facts, candidates_sql=(SQL,)
            )
            body_again = Returned(operation=Operation.ASK, draft=DRAFT, advice=advice)
            await stack.publish(StageName.RECOVERY, returned(last.envelope(), body_again), last)


async def whisper(stack: ApiStack, query: str) -> None:
    """Send progress with everything in it that a service could put there."""
    note = {"n": 1, "stage": "generator", "state": "started", "at": 1, "text": SQL, "sql": SQL, "table": TABLE}
    connection = await stack.user(StageName.GENERATOR)
    await connection.publish(f"querybus.v1.progress.acme.ann.business.{query}", json.dumps(note).encode())
    await connection.flush()


ENDINGS = dict(endings())
AT_ONCE = ("failed-syntax_error", "clarification-multi_statement", "confirmation")


@pytest.mark.parametrize(
    "name", [*AT_ONCE, *(pytest.param(ending, marks=pytest.mark.slow) for ending in ENDINGS if ending not in AT_ONCE)]
)
async def test_however_a_query_ends_no_api_gives_a_name_away(stack: ApiStack, name: str) -> None:
    conclusion = ENDINGS[name]
    language = "zh" if len(name) % 2 else "en"
    async with walk(stack) as walking:
        query = await begin(stack, walking, language)
        await fail(stack, query, conclusion.code or FailureCode.COLUMN_NOT_FOUND)
        last = (await stack.log(query))[-1]
        await stack.publish(StageName.RECOVERY, concluded(last.envelope(), conclusion), last)
        await stack.until(query, EventName.FINISHED)
        await walking.every_api(query, query)
    assert len(walking.kept) > 20
    assert walking.leaks() == []


async def test_an_answer_gives_no_name_away_at_any_api(stack: ApiStack) -> None:
    async with walk(stack) as walking:
        for language in ("en", "zh"):
            query = await begin(stack, walking, language)
            await fail(stack, query, FailureCode.COLUMN_NOT_FOUND)
            store = await stack.pages(query)
            hashes = [
                await store.put("acme", query, "1-1", n, encode_page(COLUMNS, ROWS[2 * n - 2 : 2 * n])) for n in (1, 2)
            ]
            result = Result(
                columns=COLUMNS,
                rows=ROWS[:2],
                row_count=3,
                pages=pages_of("1-1", tuple(hashes), 2),
                warnings=(f"{TABLE} is large: {SQL}",),
            )
            last = (await stack.log(query))[-1]
            body = Concluded(outcome=Outcome.ANSWERED, stage=StageName.RECOVERY, result=result, **PHRASED)
            await stack.publish(StageName.RECOVERY, concluded(last.envelope(), body), last)
            await stack.until(query, EventName.FINISHED)
            await walking.every_api(query, query)
            shown = (await walking.get(f"/v1/queries/{query}")).json()["answer"]
            assert shown["rows"] == [["Rome", 1.5, "x"], ["Bern", 2.5, "y"]]
            assert shown["attempts"], "there was something to hide"
    assert walking.leaks() == []


async def test_connections_suggestions_and_knowledge_give_no_name_away(stack: ApiStack) -> None:
    taught = {
        "pairs": [{"question": "How much by city?", "sql": SQL}, {"question": f"What is {BARE}?", "sql": SQL}],
        "instructions": [f"Use {TABLE}.{AMOUNT} for money", "Money is in euros"],
        "terms": {"revenue": f"sum of {AMOUNT}", "big customer": "more than 1,000 a year", AMOUNT: "money"},
        "synonyms": {f"{TABLE}.{CITY}": ["town"], TABLE: ["purchases"]},
        "definitions": DEFINITIONS,
    }
    async with stack.http("acme", "lab") as analyst:
        reply = await analyst.post("/v1/connections/shop/knowledge", json=taught)
        assert reply.status_code == 200, reply.text
        defined = (await analyst.get("/v1/connections/shop/definitions")).json()["metrics"]
        assert [one["name"] for one in defined] == ["total_revenue", AMOUNT]
        assert AMOUNT in defined[0]["expression"]
        seen = await analyst.get("/v1/connections/shop/knowledge")
        assert SQL.split()[1] in json.dumps(seen.json(), ensure_ascii=False).replace('\\"', '"')
    async with walk(stack) as walking:
        for path in (
            "",
            "/shop",
            "/shop/catalog",
            "/shop/catalog?language=zh",
            "/shop/suggestions",
            "/shop/definitions",
            "/shop/definitions?language=zh",
            "/shop/knowledge",
        ):
            await walking.get(f"/v1/connections{path}")
        for words in ("city", "money", "town", BARE):
            await walking.get("/v1/connections/shop/knowledge/search", params={"q": words})
            await walking.call("knowledge", action="search", connection="shop", query=words)
        await walking.call("knowledge", connection="shop")
        await walking.call("definitions", connection="shop")
        shown = (await walking.get("/v1/connections/shop/definitions")).json()["metrics"]
        # A figure that has no name for people is not there, words that give a name away are not shown.
        assert [(one["name"], one["description"], one["synonyms"]) for one in shown] == [("Revenue", "", ["money"])]
        await walking.call("preferences")
        await walking.get("/v1/preferences")
        await walking.get("/v1/threads")
        await walking.get("/v1/openapi.json")
        await walking.get("/v1/asyncapi.json")
        for operation in ("run", "validate", "explain"):
            refused = await walking.get(
                "/v1/queries", "POST", json={"operation": operation, "sql": "DELETE", "connection": "shop"}
            )
            assert refused.status_code == 403
        await walking.call("threads")
    assert walking.leaks() == []


async def test_an_analyst_sees_all_of_it(stack: ApiStack) -> None:
    """The same walk finds the names where they may be seen: the search is not blind."""
    async with stack.http("acme", "lab") as http:
        query = (await http.post("/v1/queries", json={"question": "How much by city?", "connection": "shop"})).json()[
            "id"
        ]
        await fail(stack, query, FailureCode.COLUMN_NOT_FOUND)
        last = (await stack.log(query))[-1]
        body = Concluded(outcome=Outcome.FAILED, code=FailureCode.COLUMN_NOT_FOUND, stage=StageName.RECOVERY, **PHRASED)
        await stack.publish(StageName.RECOVERY, concluded(last.envelope(), body), last)
        await stack.until(query, EventName.FINISHED)
        text = (await http.get(f"/v1/queries/{query}")).text + (await http.get(f"/v1/queries/{query}/events")).text
    walking = Walk(stack, http, None, None)
    walking.kept.append(("analyst", text.encode()))
    assert walking.leaks()
    for item in (TABLE, CITY, "asyncpg"):
        assert item in text
