"""What the rows of an answer say of how sure its reading is."""

from __future__ import annotations

import pytest

from querybus.core.messages import Agreement, Analysis
from querybus_presenter.confidence import confidence_of, facts_of_rows
from querybus_presenter.doubts import Doubt

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


def test_rows_that_speak_against_a_reading_lower_its_confidence_and_others_leave_it() -> None:
    read = Analysis(confidence=0.8)
    assert confidence_of(read, (), DISTINCT, is_reading=True) == 0.8
    repeated = confidence_of(read, (), DISTINCT * 2, is_reading=True)
    nothing = confidence_of(read, (), (), is_reading=True)
    assert repeated is not None
    assert nothing is not None
    assert 0 < repeated < nothing < 0.8


def test_rows_say_nothing_of_what_a_model_a_person_or_a_pair_wrote() -> None:
    assert confidence_of(Analysis(confidence=0.8), (), (), is_reading=False) == 0.8
    assert confidence_of(Analysis(agreement=Agreement.EQUAL), (), (), is_reading=False) == 0.85
    assert confidence_of(Analysis(), (), (), is_reading=True) is None


def test_a_doubt_is_never_outweighed() -> None:
    assert confidence_of(Analysis(confidence=1.0), tuple(Doubt)[:1], DISTINCT, is_reading=True) == 0.4
