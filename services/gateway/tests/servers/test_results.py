"""A result is read by page number, by token and as a whole, in three formats, by its owner alone."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from typing import Any, cast
from urllib.parse import quote

import httpx
import pyarrow as pa
import pytest
from pyarrow import parquet

from querybus.bus.stores.pages import encode_page
from querybus.core.catalog import ColumnKind
from querybus.core.credential import Credential
from querybus.core.envelope import Envelope
from querybus.core.messages import (
    Answer,
    Finished,
    Outcome,
    Result,
    ResultColumn,
)
from querybus.core.options import Options
from querybus.core.subjects import EventName
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.use_cases.results.pages import Results

from .stack_of_tests import SECRET_NAME, ApiStack, pages_of

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

QUESTION = {"question": "有多少 customers?", "connection": "shop"}
COLUMNS = (
    ResultColumn(name=SECRET_NAME, kind=ColumnKind.INTEGER),
    ResultColumn(name="city", kind=ColumnKind.TEXT),
    ResultColumn(name="mixed", kind=ColumnKind.OTHER),
)
ROWS = tuple((n, None if n == 3 else f"城市 {n}", float(n) if n < 4 else f'say "{n}", or\r\nmore') for n in range(7))


@pytest.fixture
def stack(shared_stack: ApiStack) -> ApiStack:
    return shared_stack


async def paged(stack: ApiStack, http: httpx.AsyncClient, size: int = 2) -> str:
    """Return a query whose seven rows are kept as pages."""
    query = (await http.post("/v1/queries", json=QUESTION)).json()["id"]
    store = await stack.pages(query)
    starts = range(0, len(ROWS), size)
    hashes = [
        await store.put("acme", query, "1-1", n, encode_page(COLUMNS, ROWS[start : start + size]))
        for n, start in enumerate(starts, 1)
    ]
    result = Result(columns=COLUMNS, rows=ROWS[:size], row_count=len(ROWS), pages=pages_of("1-1", tuple(hashes), size))
    await stack.answer(query, result=result)
    return query


@pytest.mark.requirement("002.39")
async def test_tokens_walk_through_a_result_and_back(stack: ApiStack) -> None:
    async with stack.http() as http:
        query = await paged(stack, http)
        page = (await http.get(f"/v1/queries/{query}/result")).json()
        seen, back = page["rows"], None
        while page["next_page_token"] is not None:
            assert page["has_next"]
            reply = await http.get(f"/v1/queries/{query}/result", params={"page_token": page["next_page_token"]})
            page = reply.json()
            seen += page["rows"]
            back = page["prev_page_token"]
        assert seen == json.loads(json.dumps(ROWS))
        assert (page["page"], page["total_pages"], page["has_next"], page["has_prev"]) == (4, 4, False, True)
        before = (await http.get(f"/v1/queries/{query}/result", params={"page_token": back})).json()
    assert before["page"] == 3


@pytest.mark.parametrize(("reported", "is_estimate"), [(None, False), (5_000, False), (70_000, True)])
@pytest.mark.requirement("002.39")
async def test_the_total_of_a_cut_result_is_given_where_somebody_knows_it(
    stack: ApiStack, reported: int | None, is_estimate: bool
) -> None:
    async with stack.http() as http:
        query = (await http.post("/v1/queries", json=QUESTION)).json()["id"]
        cut = Result(columns=COLUMNS, rows=ROWS, row_count=len(ROWS), truncated=True)
        await stack.answer(
            query, result=cut.model_copy(update={"total_count": reported, "total_is_estimate": is_estimate})
        )
        page = (await http.get(f"/v1/queries/{query}/result")).json()
        answer = (await http.get(f"/v1/queries/{query}")).json()["answer"]
    for item in (page, answer):
        assert (item["total_count"], item["total_is_estimate"]) == (reported, is_estimate)
    assert page["total_pages"] is None


@pytest.mark.parametrize("size", [1, 3, 5, 1_000])
@pytest.mark.requirement("002.38")
async def test_a_reader_chooses_its_own_page_size(stack: ApiStack, size: int) -> None:
    async with stack.http() as http:
        query = await paged(stack, http)
        seen: list[list[object]] = []
        page: dict[str, Any] = {}
        for number in range(1, -(-len(ROWS) // size) + 1):
            page = (await http.get(f"/v1/queries/{query}/result", params={"page": number, "page_size": size})).json()
            assert page["page_size"] == size
            assert page["total_count"] == 7
            seen += page["rows"]
        assert page["has_next"] is False
        beyond = await http.get(f"/v1/queries/{query}/result", params={"page": page["page"] + 1, "page_size": size})
    assert seen == json.loads(json.dumps(ROWS))
    assert beyond.status_code == 404


async def test_a_token_of_another_query_tenant_or_maker_is_refused(stack: ApiStack) -> None:
    async with stack.http() as http, stack.http("other") as foreign, stack.http("acme", "lab") as colleague:
        query, second = await paged(stack, http), await paged(stack, http)
        token = (await http.get(f"/v1/queries/{query}/result")).json()["next_page_token"]
        changed = ("A" if token[0] != "A" else "B") + token[1:]
        path = f"/v1/queries/{query}/result"
        for text, where in ((token, f"/v1/queries/{second}/result"), (changed, path), ("x", path), ("", path)):
            reply = await http.get(where, params={"page_token": text})
            assert (reply.status_code, reply.json()["code"]) == (400, "bad_page_token"), text
        assert (await foreign.get(path, params={"page_token": token})).status_code == 400
        assert (await colleague.get(path, params={"page_token": token})).status_code == 404
        both = await http.get(path, params={"page_token": token, "page": 2})
        assert (both.status_code, both.json()["code"]) == (422, "invalid")


async def test_a_token_is_worth_something_at_every_replica(stack: ApiStack) -> None:
    async with stack.http() as http, stack.replica() as second, stack.http(address=second) as elsewhere:
        query = await paged(stack, http)
        token = (await http.get(f"/v1/queries/{query}/result")).json()["next_page_token"]
        reply = await elsewhere.get(f"/v1/queries/{query}/result", params={"page_token": token})
    assert reply.json()["page"] == 2


async def test_a_token_expires_with_the_pages_that_it_names() -> None:
    ended_at = 1_000
    envelope = Envelope[Finished](
        event=EventName.FINISHED,
        query_id="q",
        thread_id="q",
        tenant="acme",
        user="ann",
        audience="business",
        connection="shop",
        question="?",
        language="en",
        asked_at=ended_at,
        deadline_at=ended_at,
        options=Options(page_size=1),
        body=Finished(
            answer=Answer(outcome=Outcome.ANSWERED, language="en", message="", rows=((1,), (2,)), row_count=2)
        ),
    )

    class OneQuery:
        async def finished(self, query: str, credential: Credential) -> Envelope[Finished]:
            return envelope

    async def key() -> bytes:
        return b"k" * 32

    now = ended_at
    ann = Credential(name="web", tenant="acme", user="ann")
    results = Results(cast("Any", OneQuery()), cast("Any", None), token_key=key, clock=lambda: now)
    page = await results.page("q", ann)
    assert not isinstance(page, Problem)
    token = page["next_page_token"]
    now = ended_at + 3_599_999
    assert cast("dict[str, Any]", await results.page_of_token("q", ann, token))["rows"] == [[2]]
    now += 1
    late = await results.page_of_token("q", ann, token)
    assert isinstance(late, Problem)
    assert late.code is ProblemCode.RESULT_EXPIRED


async def test_a_result_leaves_as_csv(stack: ApiStack) -> None:
    async with stack.http() as http:
        query = await paged(stack, http)
        reply = await http.get(f"/v1/queries/{query}/export")
    assert reply.headers["content-type"].startswith("text/csv")
    named = f"filename*=UTF-8''{quote('有多少-customers.csv')}"
    assert reply.headers["content-disposition"] == f'attachment; filename="{query}.csv"; {named}'
    assert reply.headers["querybus-rows"] == str(len(ROWS))
    assert "querybus-truncated" not in reply.headers
    result = list(csv.reader(io.StringIO(reply.text, newline="")))
    assert result[0] == ["第1列", "第2列", "第3列"]
    assert result[1:] == [["" if cell is None else str(cell) for cell in row] for row in ROWS]
    assert SECRET_NAME not in reply.text


async def test_a_result_leaves_as_json_lines(stack: ApiStack) -> None:
    async with stack.http() as http:
        query = await paged(stack, http)
        reply = await http.get(f"/v1/queries/{query}/export", params={"format": "jsonl"})
    lines = [json.loads(line) for line in reply.text.splitlines()]
    assert lines == [dict(zip(("c1", "c2", "c3"), row, strict=True)) for row in ROWS]


@pytest.mark.parametrize("size", [2, 100])
async def test_a_result_leaves_as_arrow_with_its_types(stack: ApiStack, size: int) -> None:
    async with stack.http() as http:
        query = await paged(stack, http, size)
        reply = await http.get(f"/v1/queries/{query}/export", params={"format": "arrow"})
    table = pa.ipc.open_stream(reply.content).read_all()
    assert table.column_names == ["c1", "c2", "c3"]
    assert table.schema.field("c1").type == pa.int64()
    assert table.schema.field("c2").type == pa.string()
    assert table.schema.field("c2").metadata[b"querybus.label"].decode() == "第2列"
    assert table.schema.field("c3").metadata[b"querybus.json"] == b"1"
    assert table.column("c1").to_pylist() == [row[0] for row in ROWS]
    assert table.column("c2").to_pylist() == [row[1] for row in ROWS]
    assert [json.loads(cell) for cell in table.column("c3").to_pylist()] == [row[2] for row in ROWS]
    assert SECRET_NAME.encode() not in reply.content


async def test_csv_begins_with_a_byte_order_mark_where_it_is_asked_for(stack: ApiStack) -> None:
    async with stack.http() as http:
        query = await paged(stack, http)
        plain, marked = [
            (await http.get(f"/v1/queries/{query}/export", params=more)).content for more in ({}, {"bom": "true"})
        ]
    assert marked == b"\xef\xbb\xbf" + plain


async def test_a_result_leaves_as_parquet_with_its_types(stack: ApiStack) -> None:
    async with stack.http() as http:
        query = await paged(stack, http, 2)
        reply = await http.get(f"/v1/queries/{query}/export", params={"format": "parquet"})
    table = parquet.read_table(io.BytesIO(reply.content))
    assert table.column_names == ["c1", "c2", "c3"]
    assert table.schema.field("c1").type == pa.int64()
    assert table.column("c2").to_pylist() == [row[1] for row in ROWS]
    assert SECRET_NAME.encode() not in reply.content


CELLS: list[list[Any]] = [["=1+1", 7], ["https://example.org", 2**60], ["上海", 1.5], [None, True]]


async def test_a_result_leaves_as_a_spreadsheet_in_which_no_cell_is_a_formula_or_a_link(stack: ApiStack) -> None:
    columns = (ResultColumn(name="text"), ResultColumn(name="n", kind=ColumnKind.INTEGER))
    async with stack.http() as http:
        query = (await http.post("/v1/queries", json=QUESTION)).json()["id"]
        rows = tuple(map(tuple, CELLS))
        await stack.answer(query, result=Result(columns=columns, rows=rows, row_count=4, truncated=True))
        reply = await http.get(f"/v1/queries/{query}/export", params={"format": "xlsx"})
    assert reply.headers["querybus-truncated"] == "true"
    with zipfile.ZipFile(io.BytesIO(reply.content)) as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
        texts = book.read("xl/sharedStrings.xml").decode()
    assert "<f>" not in sheet
    assert "hyperlink" not in sheet
    assert all(text in texts for text in ("=1+1", "https://example.org", "上海", str(2**60), "…")), texts
    assert "<v>1.5</v>" in sheet
    assert "<v>7</v>" in sheet


async def test_a_result_that_is_too_long_for_a_spreadsheet_says_what_to_take_instead(stack: ApiStack) -> None:
    async with stack.http() as http:
        query = (await http.post("/v1/queries", json=QUESTION)).json()["id"]
        await stack.answer(query, result=Result(columns=COLUMNS, rows=(), row_count=100_001))
        reply = await http.get(f"/v1/queries/{query}/export", params={"format": "xlsx"})
    assert (reply.status_code, reply.json()["code"]) == (413, "too_large")
    assert "csv or parquet" in reply.json()["detail"]


async def test_an_analyst_exports_names(stack: ApiStack) -> None:
    async with stack.http("acme", "lab") as http:
        query = (await http.post("/v1/queries", json=QUESTION)).json()["id"]
        await stack.answer(query)
        text = (await http.get(f"/v1/queries/{query}/export", params={"format": "jsonl"})).text
    assert [json.loads(line) for line in text.splitlines()] == [{SECRET_NAME: "上海"}, {SECRET_NAME: "Rome"}]


@pytest.mark.parametrize("how", ["csv", "arrow", "parquet"])
async def test_an_export_whose_middle_has_gone_is_cut_and_never_looks_whole(stack: ApiStack, how: str) -> None:
    async with stack.http() as http:
        query = (await http.post("/v1/queries", json=QUESTION)).json()["id"]
        store = await stack.pages(query)
        hashes = [
            await store.put("acme", query, "1-1", n, encode_page(COLUMNS, ROWS[2 * n - 2 : 2 * n])) for n in (1, 3)
        ]
        address = pages_of("1-1", (hashes[0], "00", hashes[1]), 2)
        await stack.answer(query, result=Result(columns=COLUMNS, rows=ROWS[:2], row_count=6, pages=address))
        with pytest.raises(httpx.RemoteProtocolError):
            await http.get(f"/v1/queries/{query}/export", params={"format": how})


async def test_what_is_no_longer_kept_is_not_exported(stack: ApiStack) -> None:
    async with stack.http() as http:
        query = (await http.post("/v1/queries", json=QUESTION)).json()["id"]
        early = await http.get(f"/v1/queries/{query}/export")
        assert (early.status_code, early.json()["code"]) == (409, "not_finished")
        result = Result(columns=COLUMNS, rows=(), row_count=7, pages=pages_of("1-1", ("00",), 10))
        await stack.answer(query, result=result)
        gone = await http.get(f"/v1/queries/{query}/export")
        odd = await http.get(f"/v1/queries/{query}/export", params={"format": "xml"})
    assert (gone.status_code, gone.json()["code"]) == (410, "result_expired")
    assert (odd.status_code, odd.json()["code"]) == (422, "invalid")
