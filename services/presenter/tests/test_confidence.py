"""What the rows of an answer say of how sure its reading is."""

from __future__ import annotations

from typing import Any

import pytest

from querybus.core.envelope import Attempt, Envelope
from querybus.core.messages import Analysis, Concluded, Origin, Outcome, Result, ResultColumn
from querybus.core.options import Agreement
from querybus.core.subjects import EventName, StageName
from querybus_presenter.confidence import confidence_of, facts_of_draft, facts_of_rows, share_of

DISTINCT = (("Ann", 1), ("Ben", 1))


@pytest.mark.parametrize(
    ("rows", "facts"),
    [
        ((), ("empty",)),
        (DISTINCT, ()),
        ((("Ann",), ("Ann",)), ("repeated",)),
        (((None, None),), ("nothing",)),
        (((None,), (None,)), ("nothing", "repeated")),
        (((1,), (True,)), ()),
    ],
)
def test_what_is_to_be_said_of_rows(rows: tuple[tuple[object, ...], ...], facts: tuple[str, ...]) -> None:
    assert facts_of_rows(rows) == facts


def stated(analysis: Analysis, rows: tuple[tuple[Any, ...], ...], origin: Origin = Origin.BUILTIN) -> float | None:
    result = Result(columns=(ResultColumn(name="a"), ResultColumn(name="b")), rows=rows, row_count=len(rows))
    body = Concluded(
        outcome=Outcome.ANSWERED, stage=StageName.EXECUTOR, sql="SELECT 1", analysis=analysis, result=result
    )
    envelope = Envelope[Concluded](
        event=EventName.CONCLUDED,
        query_id="q",
        thread_id="t",
        tenant="acme",
        user="ann",
        audience="analyst",
        connection="shop",
        question="q",
        language="en",
        asked_at=0,
        deadline_at=60_000,
        attempts=(Attempt(origin=origin, sql="SELECT 1"),),
        body=body,
    )
    return confidence_of(envelope, ())


def test_rows_that_speak_against_a_reading_lower_its_confidence_and_others_leave_it() -> None:
    read = Analysis(confidence=0.8)
    assert stated(read, DISTINCT) == 0.8
    repeated, nothing = stated(read, DISTINCT * 2), stated(read, ())
    assert repeated is not None
    assert nothing is not None
    assert 0 < repeated < nothing < 0.8


def test_rows_say_nothing_of_what_a_model_a_person_or_a_pair_wrote() -> None:
    assert stated(Analysis(confidence=0.8), (), Origin.VERIFIED) == 0.8
    assert stated(Analysis(agreement=Agreement.EQUAL), (), Origin.MODEL) == stated(
        Analysis(agreement=Agreement.EQUAL), DISTINCT, Origin.MODEL
    )
    assert stated(Analysis(), (), Origin.USER) is None


def test_a_reading_beside_a_models_draft_says_more_than_another_of_the_models() -> None:
    def beside(agreement: Agreement | None, reading: str | None) -> float | None:
        return stated(Analysis(agreement=agreement, second_reading=reading), DISTINCT, Origin.MODEL)

    equal, different = beside(Agreement.EQUAL, "Number of orders."), beside(Agreement.DIFFERENT, "Number of orders.")
    assert equal == beside(Agreement.SAME_STATEMENT, "Number of orders.") == pytest.approx(0.961, abs=0.01)
    assert different == pytest.approx(0.41, abs=0.02)
    twice = beside(Agreement.EQUAL, "")
    assert twice is not None
    assert equal is not None
    assert 0.8 < twice < equal, "the model was asked twice"
    # Where nobody could compare, the answer states what such answers are right in.
    assert beside(None, "") == beside(Agreement.NOT_COMPARED, "Number of orders.") == pytest.approx(0.746, abs=0.01)


def test_votes_move_the_confidence_of_a_draft_that_is_read_otherwise_and_of_what_is_shown_instead() -> None:
    def voted(agreement: Agreement, *votes: Agreement) -> float:
        analysis = Analysis(agreement=agreement, second_reading="Names.", votes=votes, confidence=None)
        return stated(analysis, DISTINCT, Origin.MODEL) or 0.0

    alone = voted(Agreement.DIFFERENT)
    assert voted(Agreement.DIFFERENT, Agreement.DIFFERENT) < alone < voted(Agreement.DIFFERENT, Agreement.EQUAL)
    assert voted(Agreement.REPLACED, Agreement.DIFFERENT) > 0.8, "two of three"


@pytest.mark.parametrize(
    ("doubts", "sql", "rows", "fact"),
    [
        (("undeclared_join",), "SELECT 1", DISTINCT, "undeclared_join"),
        (("unused_table",), "SELECT 1", DISTINCT, "unused_table"),
        ((), "SELECT 1 FROM a JOIN b ON a.i = b.i JOIN c ON c.i = a.i", DISTINCT, "unread_joins"),
        ((), "SELECT 1 FROM a WHERE i IN (SELECT i FROM b)", DISTINCT, "unread_selects"),
        ((), "SELECT n FROM a GROUP BY n HAVING COUNT(*) > 1", DISTINCT, "having"),
        ((), "SELECT 1", DISTINCT * 2, "repeated"),
    ],
)
def test_each_fact_of_a_models_answer_lowers_its_confidence(
    doubts: tuple[str, ...], sql: str, rows: tuple[tuple[object, ...], ...], fact: str
) -> None:
    facts = facts_of_draft(Analysis(doubts=doubts), sql, rows)
    assert list(facts) == [fact]
    assert share_of(facts) < share_of({})
    agreed = Analysis(agreement=Agreement.EQUAL, second_reading="Names.", doubts=doubts)
    assert share_of(facts_of_draft(agreed, sql, rows)) > share_of(facts)


def test_a_reading_beside_a_repair_moves_its_confidence_in_place_of_its_rows() -> None:
    def beside(agreement: Agreement | None, reading: str | None) -> float:
        analysis = Analysis(confidence=0.6, agreement=agreement, second_reading=reading)
        found = stated(analysis, DISTINCT * 2, Origin.RULE)
        assert found is not None
        return found

    by_rows, unread = beside(None, None), beside(None, "")
    different, equal = beside(Agreement.DIFFERENT, "Names."), beside(Agreement.EQUAL, "Names.")
    assert unread < different < 0.6 < equal
    assert by_rows < 0.6
    assert beside(Agreement.NOT_COMPARED, "Names.") == 0.6
