"""Claims on long results: what is said and drawn is of all rows, whatever the size of a reader's page."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from querybus.bus.log.publish import BusTrouble
from querybus.bus.stores.pages import encode_page, page_sha256
from querybus.core.catalog import Catalog, ColumnKind, Dialect
from querybus.core.envelope import Delivery, Envelope
from querybus.core.messages import (
    Answer,
    Concluded,
    Outcome,
    PagesAddress,
    Result,
    ResultColumn,
    Scalar,
)
from querybus.core.options import Options
from querybus.core.subjects import EventName, StageName
from querybus_presenter import whole_result as module
from querybus_presenter.present import present
from querybus_presenter.wording.texts import load_texts

COLUMNS = (
    ResultColumn(name="day", kind=ColumnKind.DATE),
    ResultColumn(name="orders_count", kind=ColumnKind.INTEGER),
)
DAYS = 90
ROWS = tuple((f"2026-{1 + n // 28:02d}-{1 + n % 28:02d}", 500 if n == 77 else n) for n in range(DAYS))
SQL = "SELECT day, orders_count FROM days ORDER BY day"


class Kept:
    """Pages of ten rows."""

    def __init__(self, rows: Sequence[tuple[Scalar, ...]] = ROWS, *, trouble: Exception | None = None) -> None:
        self.pages = [encode_page(COLUMNS, rows[start : start + 10]) for start in range(0, len(rows), 10)]
        self.trouble = trouble
        self.asked: list[int] = []

    async def get(self, tenant: str, query: str, run: str, page: int) -> bytes | None:
        assert (tenant, query, run) == ("acme", "q", "1-1")
        self.asked.append(page)
        if self.trouble is not None:
            raise self.trouble
        return self.pages[page - 1] if page <= len(self.pages) else None


class NoCatalog:
    async def read(self, connection: str) -> Catalog | None:
        return None


def conclusion(kept: Kept, *, sql: str = SQL, options: Options | None = None) -> Envelope[Concluded]:
    address = PagesAddress(
        run="1-1", count=len(kept.pages), page_size=10, sha256=tuple(map(page_sha256, kept.pages)), rows=(10,) * 9
    )
    result = Result(columns=COLUMNS, rows=ROWS[:10], row_count=DAYS, pages=address)
    body = Concluded(outcome=Outcome.ANSWERED, stage=StageName.EXECUTOR, sql=sql, dialect=Dialect.SQLITE, result=result)
    return Envelope[Concluded](
        event=EventName.CONCLUDED,
        query_id="q",
        thread_id="t",
        tenant="acme",
        user="ann",
        audience="analyst",
        connection="shop",
        question="orders per day",
        language="en",
        options=options or Options(),
        asked_at=0,
        deadline_at=60_000,
        body=body,
    )


async def answered(kept: Kept | None, envelope: Envelope[Concluded] | None = None) -> Answer:
    delivery = Delivery(sequence=1, deliveries=1, now_ms=0)
    envelope = envelope or conclusion(kept or Kept())
    finished = await present(envelope, delivery, catalogs=NoCatalog(), words=load_texts(), pages=kept)
    return finished.body.answer


async def test_a_peak_of_the_eighth_page_is_named_and_drawn_and_the_first_page_is_shown() -> None:
    answer = await answered(Kept())
    assert "22 March 2026 (500)" in answer.summary
    assert "first 10" not in answer.summary
    assert len(answer.rows) == 10
    assert answer.chart is not None
    data = answer.chart["data"]
    assert isinstance(data, dict)
    assert len(data["values"]) == DAYS


@pytest.mark.parametrize(
    "kept",
    [None, Kept(trouble=BusTrouble("away")), Kept(ROWS[:20])],
    ids=["no pages", "the bus is away", "a page is gone"],
)
async def test_in_any_trouble_the_first_rows_are_described_and_that_is_said(kept: Kept | None) -> None:
    answer = await answered(kept, conclusion(Kept()))
    assert "500" not in answer.summary
    assert "first 10" in answer.summary


async def test_a_page_with_other_bytes_than_the_conclusion_names_is_not_believed() -> None:
    forged = Kept([(day, 7) for day, _ in ROWS])
    assert "first 10" in (await answered(forged, conclusion(Kept()))).summary


async def test_pages_are_read_only_where_they_are_needed_and_few(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept()
    await answered(kept, conclusion(kept, options=Options(summary=False, chart="none")))
    assert kept.asked == []
    monkeypatch.setattr(module, "ROWS_MAX", DAYS - 1)
    await answered(kept)
    assert kept.asked == []


async def test_pages_that_do_not_come_keep_no_answer_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Kept):
        async def get(self, tenant: str, query: str, run: str, page: int) -> bytes | None:
            await asyncio.Event().wait()
            return None

    monkeypatch.setattr(module, "SECONDS_MAX", 0.01)
    assert "first 10" in (await answered(Slow())).summary


async def test_of_the_first_lines_of_an_order_no_total_is_said() -> None:
    sql = "SELECT day, orders_count FROM days ORDER BY 2 DESC LIMIT 90"
    kept = Kept()
    assert "Total" in (await answered(kept)).summary
    assert "Total" not in (await answered(kept, conclusion(kept, sql=sql))).summary


async def test_rows_that_are_fewer_than_their_page_because_they_are_long_are_said_to_be() -> None:
    whole = conclusion(Kept())
    assert whole.body.result is not None
    assert not any("shown here" in note for note in (await answered(Kept(), whole)).notes)
    cut = whole.body.result.model_copy(update={"rows": ROWS[:4]})
    answer = await answered(Kept(), whole.model_copy(update={"body": whole.body.model_copy(update={"result": cut})}))
    assert any(note.startswith("4 of the first 10 rows are shown here") for note in answer.notes)
