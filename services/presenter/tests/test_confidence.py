"""What the rows of an answer say of how sure its reading is."""

from __future__ import annotations

from typing import Any

import pytest

from querybus.core.envelope import Attempt, Envelope
from querybus.core.messages import Agreement, Analysis, Concluded, Origin, Outcome, Result, ResultColumn
from querybus.core.subjects import EventName, StageName
from querybus_presenter.confidence import confidence_of, facts_of_rows

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
    assert stated(Analysis(agreement=Agreement.EQUAL), (), Origin.MODEL) == 0.85
    assert stated(Analysis(), ()) is None
