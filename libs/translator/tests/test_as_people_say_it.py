"""Questions as people say them of a plain database, in both languages, are answered with what was asked for, or asked back."""

from __future__ import annotations

from datetime import date

import pytest

from querybus.core.catalog import Catalog
from querybus_translator import NotRead, Translated, translate
from tests.support.scripted_catalog import catalog_of, rows_of

TODAY = date(2026, 6, 30)
ROWS = """
CREATE TABLE plans (plan_id INTEGER PRIMARY KEY, plan_name TEXT, monthly_price REAL);
CREATE TABLE riders (rider_id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT, town TEXT, plan_id INTEGER, is_active BOOLEAN);
CREATE TABLE captains (captain_id INTEGER PRIMARY KEY, full_name TEXT, salary REAL, port TEXT);
CREATE TABLE ferries (ferry_id INTEGER PRIMARY KEY, name TEXT, model_year INTEGER, capacity_kg INTEGER, kind TEXT, is_heated BOOLEAN);
CREATE TABLE shifts (shift_id INTEGER PRIMARY KEY, captain_id INTEGER, weekday TEXT);
CREATE TABLE crossings (crossing_id INTEGER PRIMARY KEY, ferry_id INTEGER,
  captain_id INTEGER, destination TEXT, distance_km REAL, sailed_on DATE);
CREATE TABLE reservations (reservation_id INTEGER PRIMARY KEY, rider_id INTEGER,
  crossing_id INTEGER, reason TEXT, visit_date DATE);
CREATE TABLE repairs (repair_id INTEGER PRIMARY KEY, ferry_id INTEGER, cost REAL, repaired_on DATE);
CREATE TABLE snacks (snack_id INTEGER PRIMARY KEY, name TEXT, stock INTEGER);
INSERT INTO plans VALUES (1, 'Basic', 29), (2, 'Premium', 49);
INSERT INTO riders VALUES (1, 'Ann', 'Wolf', 'Bonn', 1, 1), (2, 'Bo', 'Koch', 'Ulm', 2, 0), (3, 'Cid', 'Roth', 'Ulm', NULL, 1);
INSERT INTO captains VALUES (1, 'Ida Lund', 70, 'Kiel'), (2, 'Kai Moe', 60, 'Oslo');
INSERT INTO ferries VALUES (1, 'Gull', 2009, 800, 'car', 1), (2, 'Tern', 2018, 2000, 'car', 0), (3, 'Skua', 2021, 900, 'foot', 1);
INSERT INTO crossings VALUES (1, 1, 1, 'Porto', 10, '2024-01-02'), (2, 1, 1, 'Bergen', 20, '2024-02-02'), (3, 2, 2, 'Bergen', 15, '2025-01-03');
INSERT INTO shifts VALUES (1, 1, 'Monday'), (2, 2, 'Monday'), (3, 1, 'Friday');
INSERT INTO reservations VALUES (1, 1, 1, 'work', '2024-01-01'), (2, 1, 2, 'work', '2024-02-01'), (3, 2, 3, 'leisure', '2025-01-01');
INSERT INTO repairs VALUES (1, 1, 100, '2023-05-01'), (2, 1, 50, '2023-06-01'), (3, 2, 70, '2024-01-01');
INSERT INTO snacks VALUES (1, 'Nuts', 0), (2, 'Soup', 12);
"""
HELD = {
    "kind": ("car", "foot"), "destination": ("Porto", "Bergen"), "weekday": ("Monday", "Friday"), "reason": ("work", "leisure"),
    "town": ("Bonn", "Ulm"), "port": ("Kiel", "Oslo"), "plan_name": ("Basic", "Premium"),
}  # fmt: skip
PERSONS = frozenset({"first_name", "last_name", "full_name"})


def _port() -> Catalog:
    """Return the catalog with the columns that hold names of persons marked, as reading a database does."""
    found = catalog_of(ROWS, HELD, nullable=frozenset({"plan_id"}))
    tables = tuple(
        table.model_copy(
            update={
                "columns": tuple(
                    item.model_copy(update={"person_name": item.name in PERSONS}) for item in table.columns
                )
            }
        )
        for table in found.tables
    )
    return found.model_copy(update={"tables": tables})


PORT = _port()


def _ask(question: str) -> list[tuple[object, ...]]:
    found = translate(question, PORT, today=TODAY)
    assert isinstance(found, Translated), found
    return rows_of(ROWS, found.sql)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Show me all plans under 30 francs", [("Basic",)]),
        ("Which riders are no longer active?", [("Bo", "Koch")]),
        ("Who made the most crossings?", [("Ida Lund",)]),
        ("Which captains work out of Kiel?", [("Ida Lund",)]),
        ("How many kilometres did we sail in 2024?", [(30.0,)]),
        ("Which car ferries are heated?", [("Gull",)]),
        ("Which riders have made the most reservations so far? Show the top 1.", [("Ann", "Wolf")]),
        ("Which riders never reserved anything?", [("Cid", "Roth")]),
        ("Which kinds are heated?", [("car",), ("foot",)]),
    ],
)
def test_what_people_say_is_what_rows_say(question: str, rows: list[tuple[object, ...]]) -> None:
    assert sorted(_ask(question), key=str) == sorted(rows, key=str)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("平均每次维修的费用是多少？", [(220 / 3,)]),
    ],
)
def test_a_chinese_question_is_read_by_the_words_that_the_catalog_has(
    question: str, rows: list[tuple[object, ...]]
) -> None:
    assert sorted(_ask(question), key=str) == sorted(rows, key=str)


@pytest.mark.parametrize(
    "question",
    [
        # A price for a month is none for a night.
        "How much is the Premium plan per night?",
        # No wage of captains who once took those across who have it.
        "Who repaired the Gull?",
    ],
)
def test_what_rows_do_not_say_is_asked_back(question: str) -> None:
    assert isinstance(translate(question, PORT, today=TODAY), NotRead)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Which crossings are no longer than 12 km?", [(1,)]),
        ("Which captains are in Kiel?", [("Ida Lund",)]),
    ],
)
def test_a_word_that_looks_alike_says_what_it_says(question: str, rows: list[tuple[object, ...]]) -> None:
    assert [row[:1] for row in _ask(question)] == rows
