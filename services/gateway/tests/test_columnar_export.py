"""A whole result as Arrow and as Parquet keeps the types of its pages; one that breaks off never looks whole."""

from __future__ import annotations

import io
from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from querybus.bus.stores.pages import encode_page
from querybus.core.messages import Answer, AnswerColumn, Outcome, ResultColumn
from querybus_gateway.use_cases.results.columnar import ParquetFailed, parquet_stream
from querybus_gateway.use_cases.results.export import Format, export_stream
from querybus_gateway.use_cases.results.pages import Export, PageGone

pytestmark = pytest.mark.process
VALUES: dict[str, tuple[Any, ...]] = {
    "amount": (Decimal("1.50"), None, Decimal("-20123456789.25")),
    "wide": (Decimal("9" * 60), Decimal(-(10**50)), None),
    "day": (date(2026, 1, 31), None, date(1, 1, 1)),
    "at": (datetime(2026, 1, 31, 9, tzinfo=UTC), datetime(1999, 12, 31, 23, 59, 59, 7, tzinfo=UTC), None),
    "clock": (time(9, 5), None, time(23, 59, 59, 999_999)),
    "wait": (timedelta(hours=-1), None, timedelta(days=400)),
    "code": (b"\x00\xff", b"", None),
    "Name": ("甲", None, ""),
    "name": (1, 2, None),
    "yes": (True, None, False),
}


def export_of(names: Sequence[str], pages: Sequence[bytes | Exception], passes: int = 99) -> Export:
    """Return a result of an analyst; from the pass after `passes` on its last page has gone."""
    begun = 0

    async def kept() -> AsyncGenerator[bytes]:
        nonlocal begun
        begun += 1
        for number, page in enumerate(pages, 1):
            if begun > passes and number == len(pages):
                raise PageGone(number)
            assert isinstance(page, bytes)
            yield page

    columns = tuple(AnswerColumn(id=name, label=name) for name in names)
    answer = Answer(outcome=Outcome.ANSWERED, language="en", message="", columns=columns, row_count=3)
    return Export("q", "?", answer, "analyst", kept)


def pages_of(values: dict[str, tuple[Any, ...]]) -> list[bytes]:
    """Return the rows, each on a page of its own."""
    heads = tuple(ResultColumn(name=name) for name in values)
    return [encode_page(heads, [row]) for row in zip(*values.values(), strict=True)]


async def whole(export: Export, how: Format) -> Any:
    data = b"".join([chunk async for chunk in export_stream(export, how)])
    return pa.ipc.open_stream(data).read_all() if how is Format.ARROW else parquet.read_table(io.BytesIO(data))


@pytest.mark.parametrize("how", [Format.ARROW, Format.PARQUET])
async def test_every_type_leaves_as_it_is_kept(how: Format) -> None:
    table = await whole(export_of(list(VALUES), pages_of(VALUES)), how)
    assert {name: tuple(table.column(name).to_pylist()) for name in VALUES} == VALUES
    assert table.schema.field("at").type == pa.timestamp("us", "+00:00")
    assert table.schema.field("amount").metadata[b"querybus.label"] == b"amount"


@pytest.mark.parametrize("how", [Format.ARROW, Format.PARQUET])
async def test_a_column_whose_pages_differ_leaves_as_json_text(how: Format) -> None:
    table = await whole(export_of(["v"], pages_of({"v": (1, "a", None)})), how)
    assert table.column("v").to_pylist() == ["1", '"a"', None]
    assert table.schema.field("v").metadata[b"querybus.json"] == b"1"


@pytest.mark.parametrize("how", [Format.ARROW, Format.PARQUET])
async def test_a_result_without_rows_keeps_its_columns(how: Format) -> None:
    table = await whole(export_of(["a", "b"], [encode_page((ResultColumn(name="a"), ResultColumn(name="b")), [])]), how)
    assert (table.column_names, table.num_rows) == (["a", "b"], 0)


async def test_parquet_whose_last_page_has_gone_meanwhile_is_cut_before_its_end() -> None:
    export = export_of(list(VALUES), pages_of(VALUES), passes=1)
    chunks: list[bytes] = []

    async def collect() -> None:
        async for chunk in parquet_stream(export, list(VALUES)):
            chunks.append(chunk)  # noqa: PERF401 - what came before the error is looked at

    with pytest.raises(PageGone):
        await collect()
    assert not b"".join(chunks).endswith(b"PAR1")


async def test_a_writer_of_parquet_that_ends_early_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("querybus_gateway.use_cases.results.columnar.PARQUET_CHILD", "querybus_gateway.nowhere")
    with pytest.raises(ParquetFailed):
        _ = [chunk async for chunk in parquet_stream(export_of(list(VALUES), pages_of(VALUES)), list(VALUES))]
