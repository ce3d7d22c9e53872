"""Claims on the table of what was ordered: no row is lost, and none stands without a test or a reason."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.requirements.rows import DOCUMENTS, ROWS
from tests.requirements.table import ROOT, Requirement, marked_tests, shown_by

ROWS_OF = {"000": 39, "001": 13, "002": 69, "003": 24, "004": 22, "card": 20}
TESTS = shown_by(marked_tests())


def key_of(row: Requirement) -> str:
    return row.key


def test_every_row_of_every_document_is_there_once_in_its_order() -> None:
    assert Counter(row.document for row in ROWS) == ROWS_OF
    assert list(DOCUMENTS) == list(ROWS_OF)
    assert [row.key for row in ROWS] == [
        f"{name}.{number}" for name, rows in ROWS_OF.items() for number in range(1, rows + 1)
    ]


def test_a_mark_names_rows_that_are_there() -> None:
    assert {key for test in marked_tests() for key in test.keys} <= {row.key for row in ROWS}


@pytest.mark.parametrize("row", ROWS, ids=key_of)
def test_a_row_is_shown_by_a_test_that_runs_everywhere_or_says_why_not(row: Requirement) -> None:
    shown = TESTS.get(row.key, [])
    assert shown or row.otherwise or row.short, "mark the test that shows it, or say why it is met otherwise"
    assert not (row.otherwise and row.short)
    if shown and not row.needs:
        assert any(test.runs_everywhere for test in shown), "one of its tests belongs into `make test`"


@pytest.mark.parametrize("row", ROWS, ids=key_of)
def test_a_row_names_a_page_that_is_there(row: Requirement) -> None:
    assert (ROOT / row.page).exists()
    assert row.claim
