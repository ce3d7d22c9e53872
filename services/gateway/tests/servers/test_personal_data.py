"""Personal data reaches analysts; business readers see it masked, in the early result, the answer, every page and every export."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from io import BytesIO
from zipfile import ZipFile

import pyarrow as pa
import pytest
import pytest_asyncio
from pyarrow import parquet

from querybus.bus.stores.pages import encode_page
from querybus.core.catalog import ColumnKind
from querybus.core.messages import Result, ResultColumn

from .compatible_paths import answer_of, compatible_paths
from .stack_of_tests import ApiStack, api_stack, pages_of

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

COLUMNS = (
    ResultColumn(name="who", kind=ColumnKind.TEXT, personal="name"),
    ResultColumn(name="mail", kind=ColumnKind.TEXT, personal="contact"),
    ResultColumn(name="born", kind=ColumnKind.DATE, personal="contact"),
    ResultColumn(name="city", kind=ColumnKind.TEXT),
)
ROWS = [(f"Zebra{n} Quagga", f"okapi{n}@x.org", "1971-03-04", "Bern") for n in range(5)]
SECRETS = (b"ebra", b"uagga", b"okapi", b"1971")
IDS = re.compile(rb"[0-9a-f-]{32,}")
FORMATS = ("csv", "jsonl", "arrow", "parquet", "xlsx")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stack() -> AsyncGenerator[ApiStack]:
    async with api_stack(
        rate_per_second=10_000, apis=("openai", "langgraph", "mcp", "mcp-sql", "antvis", "page")
    ) as made:
        yield made


async def answered(stack: ApiStack, credential: str) -> str:
    """Ask, and answer with five rows kept as pages of two."""
    async with stack.http("acme", credential) as http:
        query = (await http.post("/v1/queries", json={"question": "Who is there?", "connection": "shop"})).json()["id"]
    store = await stack.pages(query)
    hashes = [
        await store.put("acme", query, "1-1", n, encode_page(COLUMNS, ROWS[start : start + 2]))
        for n, start in enumerate(range(0, 5, 2), 1)
    ]
    result = Result(columns=COLUMNS, rows=tuple(ROWS[:2]), row_count=5, pages=pages_of("1-1", tuple(hashes), 2))
    await stack.answer(query, result=result)
    return query


def cells(how: str, data: bytes) -> list[list[object]]:
    """Return the rows of a file that keeps them as columns."""
    table = parquet.read_table(BytesIO(data)) if how == "parquet" else pa.ipc.open_stream(data).read_all()
    return [list(row.values()) for row in table.to_pylist()]


async def test_an_analyst_sees_every_cell(stack: ApiStack) -> None:
    query = await answered(stack, "lab")
    async with stack.http("acme", "lab") as http:
        text = (await http.get(f"/v1/queries/{query}/export")).text
        assert all(secret.decode() in text for secret in SECRETS)
        assert (await http.get(f"/v1/queries/{query}/result?page=3")).json()["rows"] == [list(ROWS[4])]


async def test_a_business_reader_sees_initials_and_stars_on_every_page_and_in_every_file(stack: ApiStack) -> None:
    query = await answered(stack, "web")
    async with stack.http("acme", "web") as http:
        for number in (1, 2, 3):
            page = (await http.get(f"/v1/queries/{query}/result?page={number}")).json()
            assert {tuple(row) for row in page["rows"]} == {("Z. Q.", "***", "***", "Bern")}
        for how in FORMATS:
            reply = await http.get(f"/v1/queries/{query}/export", params={"format": how})
            assert reply.status_code == 200, reply.text
            if how in ("arrow", "parquet"):
                assert cells(how, reply.content) == [["Z. Q.", "***", "***", "Bern"]] * 5
                continue
            content = reply.content
            if how == "xlsx":
                with ZipFile(BytesIO(content)) as book:
                    content = b"".join(book.read(name) for name in book.namelist())
            assert b"Z. Q." in content, how
            assert not any(secret in content for secret in SECRETS), content


async def test_no_other_api_and_no_event_gives_a_business_reader_more(stack: ApiStack) -> None:
    query = await answered(stack, "web")
    async with stack.http("acme", "web") as http:
        shown: list[bytes] = []
        for wanted in compatible_paths(query, query, "shop"):
            status, data = await answer_of(http, wanted)
            assert status < 500, (wanted, data)
            shown.append(data)
        paths = (f"/v1/queries/{query}", f"/v1/queries/{query}/events", f"/v1/threads/{query}")
        shown += [(await http.get(path)).content for path in paths]
    assert sum(b"Z. Q." in data for data in shown) >= 5, "the answer itself is not shown"
    for data in shown:
        # The hexadecimal digits of an id may happen to be a year.
        said = IDS.sub(b"", data)
        assert not any(secret in said for secret in SECRETS), data
