"""What a follow-up takes over from the last question is marked, and nothing else is."""

from __future__ import annotations

from datetime import date

import pytest

from querybus.core.catalog import Catalog
from querybus_translator import Translated, translate_in_thread
from tests.support.scripted_catalog import catalog_of

TODAY = date(2026, 6, 15)
BAKERY = """
CREATE TABLE branches (branch_id INTEGER PRIMARY KEY, city TEXT NOT NULL);
CREATE TABLE sales (sale_id INTEGER PRIMARY KEY, branch_id INTEGER NOT NULL, sold_on DATE NOT NULL, status TEXT NOT NULL,
  amount REAL NOT NULL);
INSERT INTO branches VALUES (1, 'Ghent'), (2, 'Dover');
INSERT INTO sales VALUES (1, 1, '2026-05-02', 'paid', 9.5), (2, 2, '2026-05-03', 'open', 4), (3, 2, '2026-04-03', 'paid', 7);
"""


def catalog() -> Catalog:
    return catalog_of(BAKERY, {"city": ("Ghent", "Dover"), "status": ("open", "paid")})


@pytest.mark.parametrize(
    ("earlier", "question", "carried"),
    [
        (["How many sales are there in May 2026?"], "only those in Ghent", ("period",)),
        (["How many sales are there in May 2026?"], "and in April 2026?", ()),
        (["How many paid sales are there in May 2026?"], "and in April 2026?", ("f1",)),
        (["How many sales are there in May 2026?"], "by city", ("period",)),
        (["How many paid sales are there in Ghent?"], "only in Dover", ("f1",)),
        (["How many sales are there in May 2026?"], "how many branches are there?", ()),
        (["How many sales are there in May 2026?"], "how many sales are there in Ghent?", ()),
        (["2026年5月有多少个sales？"], "只看Ghent的", ("period",)),
    ],
)
def test_a_condition_of_the_last_question_is_marked_and_one_that_was_asked_now_is_not(
    earlier: list[str], question: str, carried: tuple[str, ...]
) -> None:
    found = translate_in_thread(question, earlier, catalog(), today=TODAY)
    assert isinstance(found, Translated), found
    assert found.carried == carried, found.sql
