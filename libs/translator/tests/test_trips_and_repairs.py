"""Questions over bikes for hire that nobody described: what still goes on, who did it, ages of the oldest, hours, units that do not fit."""

from __future__ import annotations

from datetime import date

import pytest

from querybus_translator import NotRead, Translated, translate
from tests.support.scripted_catalog import catalog_of, rows_of

TODAY = date(2026, 11, 26)

ROWS = """
CREATE TABLE rider (rider_id INTEGER, rider_name TEXT, birth_year INTEGER, city TEXT);
CREATE TABLE bike (bike_id INTEGER, model TEXT, is_electric BOOLEAN);
CREATE TABLE trip (trip_id INTEGER, rider_id INTEGER, bike_id INTEGER, started_at DATETIME, ended_at DATETIME, distance_km REAL, charge REAL);
CREATE TABLE mechanic (mechanic_id INTEGER, mechanic_name TEXT, hourly_wage REAL);
CREATE TABLE repair (repair_id INTEGER, bike_id INTEGER, mechanic_id INTEGER, fixed_on DATE, cost REAL);
INSERT INTO rider VALUES (1, 'Ada Hall', 1950, 'Basel'), (2, 'Bo Jung', 2000, 'Bern');
INSERT INTO bike VALUES (1, 'City', 1), (2, 'Cargo', 0), (3, 'Cargo', 1);
INSERT INTO trip VALUES (1, 1, 1, '2026-11-02 08:10:00', '2026-11-02 08:30:00', 4, 1), (2, 1, 2, '2026-11-03 08:00:00', NULL, 70, 9), (3, 2, 1, '2026-11-03 17:00:00', '2026-11-03 18:00:00', 9, 2);
INSERT INTO mechanic VALUES (1, 'Rolf Stein', 25), (2, 'Mara Weiss', 31);
INSERT INTO repair VALUES (1, 1, 2, '2026-11-01', 10), (2, 2, 2, '2026-11-02', 20), (3, 1, 1, NULL, 30);
"""
BIKES = catalog_of(
    ROWS, {"city": ("Basel", "Bern"), "model": ("City", "Cargo")}, nullable=frozenset({"ended_at", "fixed_on"})
)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("How many trips are still running?", [(1,)]),
        ("Which mechanic fixed the most bikes?", [("Mara Weiss",)]),
        ("Which mechanics earn more than 27 an hour?", [("Mara Weiss",)]),
        ("How old is the oldest rider?", [(76,)]),
        ("How old is the youngest rider?", [(26,)]),
        ("At what hour do most trips start?", [(8,)]),
        ("Which model do most bikes have?", [("Cargo",)]),
        ("Total charge of trips in November 2026", [(12.0,)]),
    ],
)
def test_it_is_answered(question: str, rows: list[tuple[object, ...]]) -> None:
    found = translate(question, BIKES, today=TODAY)
    assert isinstance(found, Translated), found
    assert rows_of(ROWS, found.sql) == rows


@pytest.mark.parametrize(
    "question",
    [
        "What is the average trip length in minutes?",
        "How long does a trip take on average?",
        "Trips longer than 60 minutes",
        "Number of trips by electric and non-electric bikes",
    ],
)
def test_lengths_of_time_are_no_distances_and_no_days_and_one_group_compares_nothing(question: str) -> None:
    assert isinstance(translate(question, BIKES, today=TODAY), NotRead)
