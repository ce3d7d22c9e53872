"""Every conclusion has plain words in both languages, and none of them says a business reader a name."""

from __future__ import annotations

import re

import pytest

from querybus.core.asking_back import Clarification, Option, OptionAction, Trigger
from querybus.core.catalog import Dialect, Language
from querybus.core.envelope import Attempt, Audience, Envelope, decode, encode
from querybus.core.failure import FailureCode
from querybus.core.messages import (
    Concluded,
    Origin,
    Outcome,
    Result,
    ResultColumn,
)
from querybus.core.subjects import EventName, StageName
from querybus.text.plain_answer import CODE_TEXTS, NEXT_STEP_TEXTS, OUTCOME_TEXTS, plain_finished

SECRET = "zq7_secret_name"


def concluded(
    outcome: Outcome, audience: Audience, language: Language = "en", code: FailureCode | None = None
) -> Envelope[Concluded]:
    return Envelope[Concluded](
        event=EventName.CONCLUDED,
        query_id="0190a0a0-0000-7000-8000-000000000001",
        thread_id="0190a0a0-0000-7000-8000-000000000001",
        tenant="acme",
        user="ann",
        audience=audience,
        connection="shop",
        question="How many?",
        language=language,
        asked_at=0,
        deadline_at=60_000,
        attempts=(Attempt(origin=Origin.MODEL, sql=f"SELECT {SECRET}", detail=SECRET),),
        body=Concluded(
            outcome=outcome,
            code=code,
            detail=f"no such column: {SECRET}",
            stage=StageName.EXECUTOR,
            sql=f"SELECT {SECRET}",
            dialect=Dialect.SQLITE,
            result=Result(columns=(ResultColumn(name=SECRET),), rows=((1,), (2,)), row_count=2),
            reply=f"look into {SECRET}",
            clarification=Clarification(
                trigger=Trigger.SQL_EXECUTION_ERROR,
                about=SECRET,
                options=(
                    Option(id="1", text=SECRET, question=SECRET, action=OptionAction.RETRY_AS_IS),
                    Option(id="2", text=SECRET, question=SECRET, action=OptionAction.CHOOSE_SOURCE),
                ),
            ),
            refused_kind="DROP",
            notes=(SECRET,),
        ),
    )


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("outcome", list(Outcome))
@pytest.mark.parametrize("code", [None, *FailureCode])
def test_every_outcome_and_code_has_words_that_name_nothing_to_the_business(
    outcome: Outcome, language: Language, code: FailureCode | None
) -> None:
    finished = plain_finished(concluded(outcome, "business", language, code))
    assert finished.body.answer.message
    assert finished.body.answer.outcome is outcome
    assert SECRET not in finished.body.model_dump_json()
    assert decode(EventName.FINISHED, encode(finished)) == finished


def test_the_texts_use_no_technical_word() -> None:
    texts = [
        text
        for table in (OUTCOME_TEXTS, CODE_TEXTS, NEXT_STEP_TEXTS)
        for row in table.values()
        for text in row.values()
    ]
    for text in texts:
        assert not re.search(r"SQL|\btable\b|\bcolumn\b|database|表|字段|数据库", text, re.IGNORECASE), text


def test_an_analyst_is_reported_everything_that_the_conclusion_holds() -> None:
    finished = plain_finished(concluded(Outcome.FAILED, "analyst", code=FailureCode.COLUMN_NOT_FOUND))
    assert finished.body.sql == f"SELECT {SECRET}"
    assert SECRET in finished.body.detail
    assert finished.body.answer.columns[0].label == SECRET
    assert len(finished.body.answer.options) == 2


def test_business_columns_are_numbered_and_the_rows_stay() -> None:
    answer = plain_finished(concluded(Outcome.ANSWERED, "business", "zh")).body.answer
    assert [(column.id, column.label) for column in answer.columns] == [("c1", "第1列")]
    assert answer.rows == ((1,), (2,))
    assert answer.message == "结果共有 2 行。"
