"""Another picture of the newest answer runs its draft again; a picture asked for beside a question is no word of it."""

from __future__ import annotations

import pytest
from services.generator.tests.shop_for_generation import KeptHistory, SpokenModel, asked, run

from querybus.core.catalog import ColumnKind
from querybus.core.envelope import Attempt, Envelope
from querybus.core.messages import (
    Analysis,
    Drafted,
    Origin,
    Result,
    ResultColumn,
)
from querybus_generator.conversation.turns import Turn

ANSWERED = Turn(
    "orders by status?",
    sql="SELECT wrapped",
    result=Result(columns=(ResultColumn(name="n", kind=ColumnKind.INTEGER),), rows=((1,),), row_count=1),
    query_id="q0",
    analysis=Analysis(reading="Orders by status.", labels=("Status", "Orders")),
)
DRAFT = "SELECT status, COUNT(*) FROM orders GROUP BY status"


@pytest.mark.parametrize(
    ("wish", "read"),
    [
        ("as a pie", "orders by status, as a pie"),
        ("Now show it as bars, please.", "orders by status, Now show it as bars, please."),
        ("画成饼图", "orders by status，画成饼图"),
    ],
)
async def test_a_wish_for_another_picture_drafts_the_last_answer_again_and_asks_no_model(wish: str, read: str) -> None:
    model = SpokenModel("```sql\nSELECT 1 FROM orders\n```")
    history = KeptHistory(ANSWERED, Turn("as a line"), attempts={"q0": (Attempt(origin=Origin.MODEL, sql=DRAFT),)})
    made = await run(asked(wish), model=model, history=history)
    assert isinstance(made, Envelope)
    assert isinstance(made.body, Drafted)
    assert (made.body.draft.sql, made.enriched_question, model.prompts) == (DRAFT, read, [])
    # A label in English is no label of a Chinese answer.
    assert bool(made.body.analysis.labels) == (made.language == "en")


async def test_without_an_answer_before_it_a_wish_is_a_question_like_any_other() -> None:
    model = SpokenModel("```sql\nSELECT 1 FROM orders\n```")
    await run(asked("as a pie"), model=model, history=KeptHistory(Turn("hello", reply="Hello.")))
    assert len(model.prompts) == 1


async def test_the_built_in_translator_reads_a_question_without_the_picture_that_it_asks_for() -> None:
    plain, drawn = [await run(asked(text)) for text in ("orders by status", "orders by status as a pie chart")]
    assert isinstance(plain, Envelope)
    assert isinstance(drawn, Envelope)
    assert isinstance(plain.body, Drafted)
    assert isinstance(drawn.body, Drafted)
    assert plain.body.draft.sql == drawn.body.draft.sql
