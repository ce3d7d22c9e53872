"""Claims on the words of a confirmation: what, how much, how sure; names for analysts only."""

from __future__ import annotations

import itertools

import pytest

from querybus.core.asking_back import Confirmation
from querybus.core.catalog import Catalog, Column, Dialect, Language, Table
from querybus.core.envelope import Attempt, Audience, Envelope, concluded
from querybus.core.failure import FailureCode
from querybus.core.messages import (
    Asked,
    Concluded,
    Finished,
    Origin,
    Outcome,
    Result,
    ResultColumn,
)
from querybus.core.policy import StatementKind
from querybus.core.subjects import EventName, StageName
from querybus.sql.check import NOT_ASKED_NOTE
from querybus_presenter.present import render
from querybus_presenter.wording.texts import load_texts

WORDS = load_texts()
CATALOG = Catalog(
    connection="shop",
    dialect=Dialect.SQLITE,
    tables=(Table(name="zq_orders", columns=(Column(name="zq_amount", type="INT"),)),),
)
KINDS = [item.value.upper() for item in StatementKind if item.value not in ("query", "describe")]


def said(
    body: Concluded, language: Language, audience: Audience, attempts: tuple[Attempt, ...] = ()
) -> Envelope[Finished]:
    asked = Envelope[Asked](
        event=EventName.ASKED, query_id="q", thread_id="t", tenant="acme", user="ann", audience=audience,
        connection="shop", question="please change it", language=language, asked_at=1, deadline_at=2, attempts=attempts, body=Asked(),
    )  # fmt: skip
    return render(concluded(asked, body), CATALOG, WORDS[language, audience])


def confirmation(**changes: object) -> Concluded:
    values: dict[str, object] = {
        "reason": "write", "kind": "UPDATE", "sql_sha256": "a" * 64, "table": "zq_orders", "columns": ("zq_amount",),
        "rows_affected": 1234, "rows_known": "estimate", "rows_affected_max": 2478,
    }  # fmt: skip
    return Concluded(
        outcome=Outcome.CONFIRMATION,
        stage=StageName.VALIDATOR,
        sql="UPDATE zq_orders SET zq_amount = 1",
        confirmation=Confirmation.model_validate(values | changes),
    )


@pytest.mark.parametrize(
    ("language", "audience", "kind"),
    list(itertools.product(("en", "zh"), ("business", "analyst"), (*KINDS, "SELECT"))),
)
def test_every_change_is_phrased_with_how_much_and_how_sure(language: Language, audience: Audience, kind: str) -> None:
    reason = "cost" if kind == "SELECT" else "write"
    answer = said(confirmation(kind=kind, reason=reason), language, audience).body.answer
    assert answer.outcome is Outcome.CONFIRMATION
    assert "1,234" in answer.message or kind in ("CREATE", "ALTER")
    assert ("zq_orders" in answer.message) is (audience == "analyst")
    assert answer.confirmation is not None
    assert (answer.confirmation.table is None) is (audience == "business")
    assert answer.confirmation.sql_sha256 == "a" * 64
    assert "zq" not in answer.model_dump_json() or audience == "analyst"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_estimate_is_called_one_and_what_is_not_known_is_said_so(language: Language) -> None:
    texts = [
        said(confirmation(rows_known=known, rows_affected=rows), language, "business").body.answer.message
        for known, rows in (("exact", 3), ("estimate", 3), ("unknown", None))
    ]
    assert len(set(texts)) == 3
    assert ("estimate" in texts[1]) or ("估算" in texts[1])
    assert not any(character.isdigit() for character in texts[2])


@pytest.mark.parametrize(("language", "audience"), list(itertools.product(("en", "zh"), ("business", "analyst"))))
def test_what_was_done_is_said_with_its_count(language: Language, audience: Audience) -> None:
    result = Result(columns=(ResultColumn(name="rows_affected"),), rows=((7,),), row_count=1)
    body = Concluded(outcome=Outcome.ANSWERED, stage=StageName.EXECUTOR, sql="UPDATE zq_orders SET zq_amount = 1",
                     result=result, rows_affected=7)  # fmt: skip
    answer = said(body, language, audience).body.answer
    assert "7" in answer.message
    assert answer.rows_affected == 7
    assert "zq" not in answer.message


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("rows", [0, 1])
def test_of_a_change_only_its_count_is_said_and_one_and_none_in_words_of_their_own(
    language: Language, rows: int
) -> None:
    result = Result(columns=(ResultColumn(name="rows_affected"),), rows=((rows,),), row_count=1)
    body = Concluded(outcome=Outcome.ANSWERED, stage=StageName.EXECUTOR, sql="DELETE FROM zq_orders", result=result,
                     rows_affected=rows)  # fmt: skip
    answer = said(body, language, "analyst").body.answer
    assert (answer.summary, answer.explanation, answer.chart) == ("", "", None)
    assert "{" not in answer.message
    assert "entries" not in answer.message
    assert ("1" in answer.message or "one" in answer.message) == (rows == 1)


def test_a_statement_that_was_only_prepared_is_still_explained() -> None:
    body = Concluded(outcome=Outcome.PREPARED, stage=StageName.VALIDATOR, sql="SELECT zq_amount FROM zq_orders")
    assert said(body, "en", "analyst").body.answer.explanation


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_change_of_the_structure_is_done_without_a_count(language: Language) -> None:
    body = Concluded(outcome=Outcome.ANSWERED, stage=StageName.EXECUTOR, sql="DROP TABLE zq_orders")
    message = said(body, language, "business").body.answer.message
    assert not any(character.isdigit() for character in message)


@pytest.mark.parametrize(("language", "audience"), list(itertools.product(("en", "zh"), ("business", "analyst"))))
@pytest.mark.requirement("000.8")
def test_an_answer_that_no_engine_checked_says_so_to_every_reader(language: Language, audience: Audience) -> None:
    result = Result(columns=(ResultColumn(name="n"),), rows=((7,),), row_count=1)
    body = Concluded(outcome=Outcome.ANSWERED, stage=StageName.EXECUTOR, sql="SELECT 7 AS n", result=result)
    plain = said(body, language, audience).body.answer.notes
    unchecked = said(body.model_copy(update={"notes": (NOT_ASKED_NOTE,)}), language, audience).body.answer.notes
    assert len(unchecked) == len(plain) + 1


@pytest.mark.parametrize(("language", "audience"), list(itertools.product(("en", "zh"), ("business", "analyst"))))
def test_a_change_of_too_much_is_not_called_a_lot_of_data(language: Language, audience: Audience) -> None:
    body = Concluded(outcome=Outcome.REFUSED, code=FailureCode.COST, stage=StageName.RECOVERY)
    change = (Attempt(origin=Origin.USER, sql="DELETE FROM zq_orders"),)
    query = (Attempt(origin=Origin.USER, sql="SELECT 1"),)
    messages = {said(body, language, audience, tried).body.answer.message for tried in (change, query)}
    assert len(messages) == 2
    assert WORDS[language, audience].confirmation["too_many"] in messages
