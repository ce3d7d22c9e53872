"""The HTTP API against a real bus: what a client sees, from the question to the last page."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest
import pytest_asyncio

from querybus.bus.stores.pages import encode_page
from querybus.core.catalog import ColumnKind
from querybus.core.messages import Outcome, Result, ResultColumn
from querybus.core.subjects import EventName, StageName

from .stack_of_tests import SECRET_NAME, SQL, ApiStack, api_stack, data_of, frames_of, key_of, pages_of

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

QUESTION = {"question": "有多少 customers?", "connection": "shop"}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stack() -> AsyncGenerator[ApiStack]:
    async with api_stack() as made:
        yield made


async def asked(http: httpx.AsyncClient, **more: Any) -> str:
    reply = await http.post("/v1/queries", json=QUESTION | more)
    assert reply.status_code == 202, reply.text
    return reply.json()["id"]


async def test_a_question_is_accepted_and_says_where_to_look(stack: ApiStack) -> None:
    async with stack.http() as http:
        reply = await http.post("/v1/queries", json=QUESTION, headers={"X-Request-Id": "mine-1"})
        assert reply.status_code == 202
        query = reply.json()["id"]
        assert reply.headers["location"] == f"/v1/queries/{query}"
        assert reply.headers["retry-after"] == "1"
        assert reply.headers["x-request-id"] == "mine-1"
        assert reply.json()["status"] == "running"
        shown = (await http.get(reply.headers["location"])).json()
        assert shown["answer"] is None
        assert shown["message"] == "not finished yet"
    envelope = (await stack.log(query))[0].envelope()
    assert (envelope.tenant, envelope.user, envelope.audience, envelope.language) == ("acme", "ann", "business", "zh")


async def test_a_wait_that_is_long_enough_gets_the_answer_in_place(stack: ApiStack) -> None:
    async with stack.http() as http, stack.stages():
        reply = await http.post("/v1/queries", json=QUESTION, headers={"Prefer": "respond-async, wait=20"})
    assert reply.status_code == 200
    assert reply.headers["preference-applied"] == "wait=20"
    answer = reply.json()["answer"]
    assert answer["outcome"] == "answered"
    assert answer["rows"] == [["上海"], ["Rome"]]
    assert answer["columns"] == [{"id": "c1", "label": "第1列", "kind": "text", "format": None}]
    assert "上海" in reply.text, "Chinese is not escaped"
    assert SECRET_NAME not in reply.text


async def test_a_wait_that_is_too_short_says_not_finished_yet(stack: ApiStack) -> None:
    async with stack.http() as http:
        reply = await http.post("/v1/queries", json=QUESTION, headers={"Prefer": "wait=1"})
        assert reply.status_code == 202
        assert "preference-applied" not in reply.headers
        assert reply.json()["message"] == "not finished yet"
        query = reply.json()["id"]
        waiting = asyncio.create_task(http.get(f"/v1/queries/{query}", headers={"Prefer": "wait=20"}))
        await asyncio.sleep(0.1)
        await stack.answer(query)
        late = await waiting
    assert late.json()["status"] == "finished"
    assert late.headers["preference-applied"] == "wait=20"


async def test_a_key_asks_once_whatever_happens(stack: ApiStack) -> None:
    headers = {"Idempotency-Key": "order-77"}
    async with stack.http() as http, stack.http("acme", "lab") as other:
        both = await asyncio.gather(*(http.post("/v1/queries", json=QUESTION, headers=headers) for _ in range(4)))
        assert {item.status_code for item in both} == {202}
        assert len({item.json()["id"] for item in both}) == 1
        query = both[0].json()["id"]
        assert (await stack.events(query)) == ["asked"]
        again = await http.post("/v1/queries", json=QUESTION, headers=headers)
        assert again.headers["idempotency-replayed"] == "true"
        different = await http.post("/v1/queries", json=QUESTION | {"question": "other?"}, headers=headers)
        assert different.status_code == 422
        assert different.json()["code"] == "idempotency_mismatch"
        foreign = await other.post("/v1/queries", json=QUESTION, headers=headers)
        assert foreign.json()["id"] != query, "another user's key is another query"
        await stack.answer(query)
        done = await http.post("/v1/queries", json=QUESTION, headers=headers)
        assert done.status_code == 200
        assert done.json()["answer"]["outcome"] == "answered"
        assert done.headers["idempotency-replayed"] == "true"


@pytest.mark.parametrize(
    ("content", "media_type", "status", "code"),
    [
        (b"{", "application/json", 400, "malformed"),
        (b'{"question": ""}', "application/json", 422, "question_empty"),
        (b'{"question": "x", "connection": "nowhere"}', "application/json", 422, "unknown_connection"),
        (b'{"question": "x", "tenant": "other"}', "application/json", 422, "unknown_field"),
        (json.dumps({"question": "x" * 20_000}).encode(), "application/json", 422, "question_too_long"),
        (b'{"question": "' + b"x" * 300_000 + b'"}', "application/json", 413, "too_large"),
        (b'{"question": "x"}', "text/plain", 415, "unsupported_media_type"),
        (b"", "application/json", 400, "malformed"),
    ],
)
async def test_a_bad_request_is_a_problem(
    stack: ApiStack, content: bytes, media_type: str, status: int, code: str
) -> None:
    async with stack.http() as http:
        reply = await http.post("/v1/queries", content=content, headers={"Content-Type": media_type})
    assert reply.status_code == status
    assert reply.headers["content-type"] == "application/problem+json"
    body = reply.json()
    assert body["code"] == code
    assert body["status"] == status
    assert re.fullmatch(r"[0-9a-f]{32}", body["trace_id"])
    assert body["trace_id"] != "0" * 32
    assert body["instance"] == "/v1/queries"


async def test_a_body_without_a_length_is_cut_at_the_limit(stack: ApiStack) -> None:
    async def endless() -> AsyncGenerator[bytes]:
        for _ in range(100):
            yield b" " * 10_000

    async with stack.http() as http:
        reply = await http.post("/v1/queries", content=endless(), headers={"Content-Type": "application/json"})
    assert reply.status_code == 413


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Basic abc"},
        {"Authorization": f"Bearer {key_of('acme', 'web')}x"},
        {"Authorization": f"Bearer {key_of('acme', 'nobody')}"},
        {"x-api-key": "qb.acme.web.guess"},
        {"x-api-key": "qb.*.>.x"},
        {"x-api-key": "x" * 5_000},
    ],
)
@pytest.mark.requirement("002.47")
async def test_without_a_valid_key_nobody_comes_in(stack: ApiStack, headers: dict[str, str]) -> None:
    async with httpx.AsyncClient(base_url=stack.address) as http:
        for method, path in (("POST", "/v1/queries"), ("GET", f"/v1/queries/{'0' * 8}-0000-7000-8000-{'0' * 12}")):
            reply = await http.request(method, path, json=QUESTION, headers=headers)
            assert reply.status_code == 401
            assert reply.json()["code"] == "unauthenticated"
            assert reply.headers["www-authenticate"].startswith("Bearer")


async def test_either_header_takes_a_key(stack: ApiStack) -> None:
    async with httpx.AsyncClient(base_url=stack.address, headers={"x-api-key": key_of("acme", "web")}) as http:
        assert (await http.post("/v1/queries", json=QUESTION)).status_code == 202


async def test_another_tenants_or_users_query_does_not_exist(stack: ApiStack) -> None:
    async with stack.http() as http, stack.http("other") as foreign, stack.http("acme", "lab") as colleague:
        query = await asked(http)
        for item in (foreign, colleague):
            for method, path in (("GET", ""), ("GET", "/events"), ("POST", "/cancel"), ("GET", "/result")):
                reply = await item.request(method, f"/v1/queries/{query}{path}")
                assert reply.status_code == 404, path
                assert reply.json()["code"] == "not_found"
        own = await http.get("/v1/queries/not-an-id")
        assert own.status_code == 404
    assert (await stack.events(query)) == ["asked"]


async def test_what_was_phrased_for_an_analyst_is_not_read_by_a_business_credential(stack: ApiStack) -> None:
    async with stack.http("acme", "lab") as analyst, stack.http("acme", "desk") as business:
        query = await asked(analyst)
        await stack.draft(query)
        await stack.answer(query)
        seen = await analyst.get(f"/v1/queries/{query}")
        assert seen.json()["answer"]["sql"] == SQL
        assert (await business.get(f"/v1/queries/{query}")).status_code == 404


@pytest.mark.requirement("002.15")
async def test_a_thread_goes_on_for_its_owner_only(stack: ApiStack) -> None:
    async with stack.http() as http, stack.http("acme", "lab") as colleague:
        first = await asked(http)
        await stack.answer(first)
        second = await asked(http, thread_id=first)
        envelope = (await stack.log(second))[0].envelope()
        assert envelope.thread_id == first
        assert envelope.body.thread_until_sequence == (await stack.log(first))[-1].sequence
        refused = await colleague.post("/v1/queries", json=QUESTION | {"thread_id": first})
        assert refused.status_code == 404


@pytest.mark.requirement("002.35")
async def test_the_stream_of_events_has_the_log_and_ends_with_finished(stack: ApiStack) -> None:
    async with stack.http() as http:
        query = await asked(http)
        generator = await stack.user(StageName.GENERATOR)
        note = json.dumps({"n": 1, "stage": "generator", "state": "started", "at": 1, "text": SQL})
        async with http.stream("GET", f"/v1/queries/{query}/events") as reply:
            chunks = reply.aiter_text()
            # Progress is kept nowhere: it reaches those who follow already.
            text = await anext(chunks)
            await generator.publish(f"querybus.v1.progress.acme.ann.business.{query}", note.encode())
            await stack.draft(query)
            await stack.answer(query)
            text += "".join([chunk async for chunk in chunks])
    assert reply.headers["content-type"].startswith("text/event-stream")
    frames = frames_of(text)
    durable = [frame for frame in frames if "id" in frame]
    assert [item["event"] for item in durable] == ["asked", "drafted", "concluded", "finished"]
    assert [int(item["id"]) for item in durable] == [entry.sequence for entry in await stack.log(query)]
    progress = [frame for frame in frames if frame["event"] == "progress"]
    assert [data_of(item) for item in progress] == [{"stage": "generator", "state": "started", "n": 1, "at": 1}]
    assert frames[0]["retry"] == "2000"
    assert data_of(frames[-1])["answer"]["outcome"] == "answered"
    assert "上海" in text
    assert SECRET_NAME not in text


async def test_a_stream_resumes_behind_the_last_event_seen(stack: ApiStack) -> None:
    async with stack.http() as http:
        query = await asked(http)
        await stack.draft(query)
        await stack.answer(query)
        log = await stack.log(query)
        for cut in range(len(log)):
            seen = str(log[cut].sequence)
            by_header = await http.get(f"/v1/queries/{query}/events", headers={"Last-Event-ID": seen})
            by_query = await http.get(f"/v1/queries/{query}/events", params={"after": seen})
            wanted = [str(entry.sequence) for entry in log[cut + 1 :]]
            assert [frame["id"] for frame in frames_of(by_header.text)] == wanted
            assert [frame["id"] for frame in frames_of(by_query.text)] == wanted
        for bad in ("x", "-1", "1.5", "9" * 30):
            refused = await http.get(f"/v1/queries/{query}/events", headers={"Last-Event-ID": bad})
            assert refused.status_code == 400
            assert refused.json()["code"] == "malformed"


async def test_a_stream_goes_on_at_any_replica_from_where_it_broke_off(stack: ApiStack) -> None:
    async with stack.http() as http, stack.replica() as second, stack.http(address=second) as elsewhere:
        query = await asked(http)
        await stack.draft(query)
        async with http.stream("GET", f"/v1/queries/{query}/events") as reply:
            seen = [line.removeprefix("id: ") async for line in first_ids(reply, 2)]
        following = asyncio.create_task(
            elsewhere.get(f"/v1/queries/{query}/events", headers={"Last-Event-ID": seen[-1]})
        )
        await asyncio.sleep(0.2)
        await stack.answer(query)
        rest = [frame["id"] for frame in frames_of((await following).text) if "id" in frame]
    assert [*seen, *rest] == [str(entry.sequence) for entry in await stack.log(query)]


async def first_ids(reply: httpx.Response, count: int) -> AsyncGenerator[str]:
    async for line in reply.aiter_lines():
        if line.startswith("id: "):
            yield line
            count -= 1
            if count == 0:
                return


async def test_a_silent_stream_beats_and_shows_rows_before_they_are_phrased(
    stack: ApiStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fastapi.routing._PING_INTERVAL", 0.1)
    async with stack.http() as http:
        query = await asked(http)
        following = asyncio.create_task(http.get(f"/v1/queries/{query}/events"))
        await asyncio.sleep(0.5)
        await stack.answer(query)
        text = (await following).text
    assert ": ping" in text
    ended = next(data_of(frame) for frame in frames_of(text) if frame.get("event") == "concluded")
    assert ended["result"]["rows"] == [["上海"], ["Rome"]]
    assert ended["result"]["columns"] == [{"id": "c1", "label": "第1列", "kind": "text"}]


async def test_a_reader_that_goes_away_cancels_only_if_it_asked_for_that(stack: ApiStack) -> None:
    async with stack.http() as http:
        left, dropped = await asked(http), await asked(http)
        for query, path in ((left, ""), (dropped, "?on_disconnect=cancel")):
            async with http.stream("GET", f"/v1/queries/{query}/events{path}") as reply:
                async for line in reply.aiter_lines():
                    if line.startswith("data:"):
                        break
    log = await stack.until(dropped, EventName.CONCLUDED)
    assert log[-1].envelope().body.outcome is Outcome.CANCELLED
    assert (await stack.events(left)) == ["asked"]


@pytest.mark.slow
async def test_a_gateway_that_stops_cancels_no_query_whatever_its_readers_asked_for() -> None:
    async with api_stack() as closing, closing.http() as http:
        query = await asked(http)

        async def read() -> None:
            with contextlib.suppress(httpx.HTTPError):
                await http.get(f"/v1/queries/{query}/events?on_disconnect=cancel", timeout=30)

        reading = asyncio.create_task(read())
        await asyncio.sleep(0.5)
        await closing.gateway.stop()
        await reading
        assert await closing.events(query) == ["asked"]


async def test_a_cancel_concludes_the_query_and_says_so_only_once(stack: ApiStack) -> None:
    async with stack.http() as http:
        query = await asked(http)
        await stack.draft(query)
        hints = await (await stack.user(StageName.GENERATOR)).subscribe(f"querybus.v1.ctl.cancel.acme.{query}")
        await (await stack.user(StageName.GENERATOR)).flush()
        reply = await http.post(f"/v1/queries/{query}/cancel")
        assert reply.status_code == 202
        await hints.next_msg(2)
        assert (await stack.events(query)) == ["asked", "drafted", "concluded"]
        again = await http.post(f"/v1/queries/{query}/cancel")
        assert again.status_code == 409
        assert again.json()["code"] == "already_finished"
        assert again.json()["outcome"] == "cancelled"
        await stack.finish(query)
        shown = (await http.get(f"/v1/queries/{query}")).json()
        assert shown["answer"]["outcome"] == "cancelled"


async def test_a_cancel_that_comes_too_late_reports_the_real_outcome(stack: ApiStack) -> None:
    async with stack.http() as http:
        query = await asked(http)
        await stack.answer(query)
        reply = await http.post(f"/v1/queries/{query}/cancel")
    assert reply.status_code == 409
    assert reply.json()["outcome"] == "answered"


async def test_a_cancel_beats_every_event_that_comes_between(stack: ApiStack) -> None:
    async with stack.http() as http:
        query = await asked(http)
        reply, _ = await asyncio.gather(http.post(f"/v1/queries/{query}/cancel"), stack.draft(query))
    assert reply.status_code == 202
    assert (await stack.log(query))[-1].envelope().body.outcome is Outcome.CANCELLED


async def test_pages_come_by_number_until_there_are_no_more(stack: ApiStack) -> None:
    columns = (ResultColumn(name=SECRET_NAME, kind=ColumnKind.INTEGER),)
    rows = [(n,) for n in range(5)]
    async with stack.http() as http:
        query = await asked(http)
        store = await stack.pages(query)
        hashes = tuple(
            [
                await store.put("acme", query, "1-1", n, encode_page(columns, rows[2 * n - 2 : 2 * n]))
                for n in range(1, 4)
            ]
        )
        early = await http.get(f"/v1/queries/{query}/result")
        assert early.status_code == 409
        assert early.json()["code"] == "not_finished"
        result = Result(columns=columns, rows=tuple(rows[:2]), row_count=5, pages=pages_of("1-1", hashes, 2))
        await stack.answer(query, result=result)
        first = (await http.get(f"/v1/queries/{query}/result")).json()
        assert first["rows"] == [[0], [1]]
        assert (first["page"], first["page_size"], first["has_next"], first["has_prev"]) == (1, 2, True, False)
        assert (first["total_count"], first["total_pages"], first["total_is_estimate"]) == (5, 3, False)
        assert first["columns"] == [{"id": "c1", "label": "第1列", "kind": "integer", "format": None}]
        last = await http.get(f"/v1/queries/{query}/result", params={"page": 3})
        assert last.json()["rows"] == [[4]]
        assert last.json()["has_next"] is False
        assert SECRET_NAME not in last.text
        assert (await http.get(f"/v1/queries/{query}/result", params={"page": 4})).status_code == 404
        assert (await http.get(f"/v1/queries/{query}/result", params={"page": 0})).status_code == 422
        assert (await http.get(f"/v1/queries/{query}/result", params={"page": "x"})).json()["code"] == "invalid"


async def test_a_result_that_is_no_longer_kept_is_gone(stack: ApiStack) -> None:
    columns = (ResultColumn(name="n", kind=ColumnKind.INTEGER),)
    async with stack.http() as http:
        query = await asked(http)
        await stack.answer(
            query, result=Result(columns=columns, rows=((1,),), row_count=1, pages=pages_of("1-1", ("00",), 1))
        )
        reply = await http.get(f"/v1/queries/{query}/result")
    assert reply.status_code == 410
    assert reply.json()["code"] == "result_expired"


async def test_a_path_or_method_that_is_not_offered_is_a_problem(stack: ApiStack) -> None:
    async with stack.http() as http:
        for method, path, status in (("GET", "/v2", 404), ("DELETE", "/v1/queries", 405), ("GET", "/metrics", 404)):
            reply = await http.request(method, path)
            assert reply.status_code == status
            assert reply.headers["content-type"] == "application/problem+json"


async def test_a_refusal_says_what_to_do(stack: ApiStack) -> None:
    async with stack.http() as http, httpx.AsyncClient(base_url=stack.address) as nobody:
        assert "Authorization: Bearer" in (await nobody.get("/v1/connections")).json()["detail"]
        assert "lets nobody in" in (await nobody.get("/v1/connections", headers={"x-api-key": "x"})).json()["detail"]
        assert "/v1/openapi.json" in (await http.get("/v1/nothing")).json()["detail"]
        assert (await http.delete("/v1/queries")).headers["allow"] == "GET, HEAD, POST"
        paged = await http.get("/v1/queries/x/result", params={"page": 0})
        assert paged.json()["detail"].startswith("/query/page: ")
        bare = await http.post("/v1/queries", content=b"{}")
        assert "Content-Type: application/json" in bare.json()["detail"]


async def test_the_document_describes_the_question(stack: ApiStack) -> None:
    async with stack.http() as http:
        document = (await http.get("/v1/openapi.json")).json()
    assert document["openapi"].startswith("3.1")
    assert "question" in document["components"]["schemas"]["AskRequest"]["properties"]
    assert "RequestOptions" in document["components"]["schemas"]


async def test_the_probes_know_whether_the_gateway_can_work(stack: ApiStack) -> None:
    while troubles := await stack.gateway.troubles():
        # A busy machine may answer late; what does not pass ends this test by its time limit.
        await asyncio.sleep(0.1)
    assert troubles == {}
    assert stack.gateway.metrics.value("querybus_permission_violations_total") == 0


@pytest.mark.requirement("002.62")
async def test_a_chart_is_there_as_a_specification_and_as_a_picture_under_the_rule_of_the_answer(
    stack: ApiStack,
) -> None:
    spec = {"mark": "bar", "data": {"values": [{"城市": "上海", "n": 3}]}, "encoding": {"x": {"field": "城市"}}}
    async with stack.http() as http:
        query = await asked(http)
        path = f"/v1/queries/{query}/chart"
        early = await http.get(path)
        assert (early.status_code, early.json()["code"]) == (409, "not_finished")
        await stack.conclude(query)
        await stack.finish(query, chart=spec)
        assert (await http.get(path)).json() == spec
        drawn = await http.get(path, params={"format": "svg"})
        for _ in range(20):
            # A busy machine says when to ask again, as it would to anybody.
            if drawn.status_code != 503:
                break
            await asyncio.sleep(int(drawn.headers["retry-after"]))
            drawn = await http.get(path, params={"format": "svg"})
        assert drawn.status_code == 200, drawn.text
        assert drawn.headers["content-type"].startswith("image/svg+xml")
        assert "script" not in drawn.headers["content-security-policy"]
        assert "上海" in drawn.text
        assert (await http.get(path, params={"format": "exe"})).status_code == 422
    async with stack.http("acme", "desk") as other:
        assert (await other.get(path, params={"format": "png"})).status_code == 404


async def test_an_answer_without_a_chart_says_so(stack: ApiStack) -> None:
    async with stack.http() as http, stack.stages():
        reply = await http.post("/v1/queries", json=QUESTION, headers={"Prefer": "wait=20"})
        result = await http.get(f"/v1/queries/{reply.json()['id']}/chart", params={"format": "png"})
    assert (result.status_code, result.json()["code"]) == (404, "not_found")


async def test_head_is_get_without_a_body_and_allow_names_every_method_of_a_path(stack: ApiStack) -> None:
    async with stack.http("acme", "lab") as http:
        got, head = await http.get("/v1/connections"), await http.head("/v1/connections")
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-type"] == got.headers["content-type"]
        assert (await http.head("/v1/queries/nothing")).status_code == 404
        for path, allowed in (
            ("/v1/connections/shop/knowledge", "GET, HEAD, POST"),
            ("/v1/preferences", "GET, HEAD, PUT"),
            ("/v1/queries", "GET, HEAD, POST"),
        ):
            refused = await http.patch(path)
            assert (refused.status_code, allowed in refused.headers["allow"]) == (405, True), refused.headers["allow"]


async def test_head_of_a_stream_ends_at_once(stack: ApiStack) -> None:
    async with stack.http("acme", "lab") as http:
        query = (await http.post("/v1/queries", json={"question": "how many?", "connection": "shop"})).json()["id"]
        async with asyncio.timeout(60):
            head = await http.head(f"/v1/queries/{query}/events")
        assert (head.status_code, head.content) == (200, b"")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"summary": 0}, "/options/summary: must be true or false"),
        ({"rows_max": True}, "/options/rows_max: must be a whole number"),
        ({"rows_max": "5"}, "/options/rows_max: must be a whole number"),
        ({"rows_max": 0}, "/options/rows_max: must be at least 1"),
        ({"today": "soon"}, "/options/today: must be a day, as YYYY-MM-DD"),
    ],
)
async def test_what_is_written_as_something_else_is_refused_in_plain_words(
    stack: ApiStack, options: dict[str, Any], text: str
) -> None:
    async with stack.http() as http:
        refused = await http.post("/v1/queries", json={"question": "q", "connection": "shop", "options": options})
    assert (refused.status_code, refused.json()["detail"]) == (422, text)


async def test_a_query_parameter_that_does_nothing_is_refused(stack: ApiStack) -> None:
    async with stack.http("acme", "lab") as http:
        refused = await http.get("/v1/connections?tenant=other")
        assert (refused.status_code, refused.json()["code"]) == (422, "unknown_field")
        close = await http.get("/v1/connections/shop/catalog?langage=zh")
        assert close.json()["detail"] == "there is no query parameter `langage`; did you mean `language`?"


async def test_a_long_head_and_a_slash_in_a_name_are_refused_before_anything_reads_them(stack: ApiStack) -> None:
    async with stack.http("acme", "lab") as http:
        long = await http.get("/v1/connections", headers={"x-nothing": "x" * 33_000})
        assert (long.status_code, long.json()["code"]) == (413, "too_large")
        far = await http.get(f"/v1/connections/{'x' * 40_000}")
        assert far.status_code == 413
        hidden = await http.get("/v1/connections/shop%2fcatalog")
        assert (hidden.status_code, hidden.json()["code"]) == (404, "not_found")


async def test_two_keys_that_differ_let_nobody_in(stack: ApiStack) -> None:
    async with stack.http("acme", "lab") as http:
        refused = await http.get("/v1/connections", headers={"x-api-key": "qb.acme.web.other"})
        assert (refused.status_code, refused.json()["detail"]) == (401, "more than one key was sent")


async def test_ones_questions_are_listed_with_filters_and_pages_and_nobody_elses(stack: ApiStack) -> None:
    async with (
        stack.http("acme", "lab") as http,
        stack.http("acme", "web") as other,
        stack.client("acme", "lab") as bus,
    ):
        asked: dict[str, str] = {}
        for question, connection in (
            ("how many otters?", "shop"),
            ("how many Herons?", "crm"),
            ("list otters", "shop"),
        ):
            body = {"question": question, "connection": connection}
            asked[question] = (await http.post("/v1/queries", json=body)).json()["id"]
        await stack.answer(asked["list otters"])

        async def listed(**more: Any) -> list[str]:
            page = (await http.get("/v1/queries", params=more)).json()
            return [query["question"] for query in page["queries"] if query["query_id"] in asked.values()]

        assert await listed() == ["list otters", "how many Herons?", "how many otters?"]
        assert await listed(q="OTTER") == ["list otters", "how many otters?"]
        assert await listed(q="otter", outcome="answered") == ["list otters"]
        assert await listed(connection="crm", status="running") == ["how many Herons?"]
        assert await listed(q="otter", since=2**50) == []
        first = (await http.get("/v1/queries", params={"limit": 1})).json()
        assert (first["queries"][0]["question"], first["queries"][0]["thread_id"]) == (
            "list otters",
            asked["list otters"],
        )
        over_bus = await bus.call("queries", {"q": "heron"})
        assert [query["query_id"] for query in over_bus["queries"]] == [asked["how many Herons?"]]
        assert (await http.get("/v1/queries?outcome=perhaps")).status_code == 422
        theirs = (await other.get("/v1/queries")).json()["queries"]
        assert not {query["query_id"] for query in theirs} & set(asked.values())


async def test_every_page_of_ones_questions_together_has_each_once(stack: ApiStack) -> None:
    async with stack.http("acme", "lab") as http:
        seen: list[str] = []
        cursor = ""
        while True:
            page = (await http.get("/v1/queries", params={"limit": 2, "cursor": cursor})).json()
            seen += [query["query_id"] for query in page["queries"]]
            cursor = page["next_cursor"] or ""
            if not cursor:
                break
        assert len(seen) == len(set(seen)) > 3
