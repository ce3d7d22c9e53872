"""Figures that are compared with amounts stored in cents: people say whole units, as the amounts are shown."""

from __future__ import annotations

from datetime import date

import pytest

from querybus.core.catalog import Catalog
from querybus_translator import Translated, translate, translate_in_thread
from tests.support.scripted_catalog import catalog_of, rows_of

TODAY = date(2026, 6, 1)
FERRY = """
CREATE TABLE travellers (traveller_id INTEGER PRIMARY KEY, name TEXT NOT NULL, port TEXT NOT NULL);
CREATE TABLE crossings (crossing_id INTEGER PRIMARY KEY, traveller_id INTEGER NOT NULL, fare_cents INTEGER NOT NULL, tip_pence INTEGER NOT NULL,
  weight INTEGER NOT NULL, crossed_on DATE NOT NULL);
INSERT INTO travellers VALUES (1, 'Ann', 'Ghent'), (2, 'Bob', 'Dover'), (3, 'Cem', 'Dover');
INSERT INTO crossings VALUES (1, 1, 9900, 100, 150, '2026-01-02'), (2, 1, 10000, 300, 40, '2026-02-03'), (3, 2, 12550, 0, 90, '2026-02-09'),
  (4, 2, 4000, 250, 120, '2026-03-01'), (5, 3, 30000, 900, 10, '2026-04-01');
"""


def catalog() -> Catalog:
    return catalog_of(FERRY, {})


def read(question: str) -> Translated:
    found = translate(question, catalog(), today=TODAY)
    assert isinstance(found, Translated), (question, found)
    return found


@pytest.mark.parametrize(
    ("question", "rows", "assumed"),
    [
        ("How many crossings have a fare over 100?", [(2,)], ("100",)),
        ("How many crossings have a fare over 100 euros?", [(2,)], ()),
        ("How many crossings have a fare above $125.50?", [(1,)], ()),
        ("How many crossings have a fare of at least 125.50?", [(2,)], ("125.50",)),
        ("How many crossings have a fare between 50 and 110?", [(2,)], ("50", "110")),
        ("How many crossings have a fare between 40 and 10000?", [(5,)], ("40", "10000")),
        ("How many crossings have a fare over 5000 cents?", [(4,)], ()),
        ("How many crossings have fare_cents over 12000?", [(2,)], ()),
        ("How many crossings have a tip over 2?", [(3,)], ("2",)),
        ("How many crossings have a weight over 100?", [(2,)], ()),
        ("fare超过100的crossings有多少？", [(2,)], ("100",)),
    ],
)
def test_a_figure_is_in_whole_units_unless_cents_are_said(
    question: str, rows: list[tuple[object, ...]], assumed: tuple[str, ...]
) -> None:
    found = read(question)
    assert rows_of(FERRY, found.sql) == rows, found.sql
    assert found.in_whole_units == assumed


def test_sums_of_groups_are_compared_in_whole_units_and_counts_are_not() -> None:
    found = read("Which ports have a total fare over 200?")
    assert "20000" in found.sql, found.sql
    counted = read("Which travellers have more than 1 crossing?")
    assert "100" not in counted.sql, counted.sql


def test_another_figure_in_a_thread_is_in_whole_units_too() -> None:
    found = translate_in_thread("over 120?", ["How many crossings have a fare over 100?"], catalog(), today=TODAY)
    assert isinstance(found, Translated), found
    assert rows_of(FERRY, found.sql) == [(2,)], found.sql
    assert "12000" in found.sql
