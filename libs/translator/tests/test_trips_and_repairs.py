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
CREATE TABLE station (station_id INTEGER, station_name TEXT, docks INTEGER);
CREATE TABLE trip (trip_id INTEGER, rider_id INTEGER, bike_id INTEGER, started_at DATETIME, ended_at DATETIME, distance_km REAL, charge REAL,
    start_station_id INTEGER REFERENCES station (station_id), end_station_id INTEGER REFERENCES station (station_id));
CREATE TABLE mechanic (mechanic_id INTEGER, mechanic_name TEXT, hourly_wage REAL);
CREATE TABLE repair (repair_id INTEGER, bike_id INTEGER, mechanic_id INTEGER, fixed_on DATE, cost REAL);
INSERT INTO rider VALUES (1, 'Ada Hall', 1950, 'Basel'), (2, 'Bo Jung', 2000, 'Bern');
INSERT INTO bike VALUES (1, 'City', 1), (2, 'Cargo', 0), (3, 'Cargo', 1);
INSERT INTO trip VALUES (1, 1, 1, '2026-11-02 08:10:00', '2026-11-02 08:30:00', 4, 1, 1, 2), (2, 1, 2, '2026-11-03 08:00:00', NULL, 70, 9, 1, 3), (3, 2, 1, '2026-11-03 17:00:00', '2026-11-03 18:00:00', 9, 2, 3, 2);
INSERT INTO station VALUES (1, 'Central', 20), (2, 'Museum', 12), (3, 'Old Mill', 16);
INSERT INTO mechanic VALUES (1, 'Rolf Stein', 25), (2, 'Mara Weiss', 31);
INSERT INTO repair VALUES (1, 1, 2, '2026-11-01', 10), (2, 2, 2, '2026-11-02', 20), (3, 1, 1, NULL, 30);
"""
BIKES = catalog_of(
    ROWS,
    {"city": ("Basel", "Bern"), "station_name": ("Central", "Museum", "Old Mill"), "model": ("City", "Cargo")},
    nullable=frozenset({"ended_at", "fixed_on"}),
)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("How many trips are still running?", [(1,)]),
        ("Which mechanic fixed the most bikes?", [("Mara Weiss",)]),
        ("Which mechanics earn more than 27 an hour?", [("Mara Weiss",)]),
        ("How old is the oldest rider?", [(76,)]),
        ("How old is the youngest rider?", [(26,)]),
        ("Which model do most bikes have?", [("Cargo",)]),
        ("Total charge of trips in November 2026", [(12.0,)]),
        ("What is the average trip length in minutes?", [(pytest.approx(40.0),)]),
        ("How long does a trip take on average?", [(pytest.approx(2 / 3),)]),
        ("How many hours does a trip take on average?", [(pytest.approx(2 / 3),)]),
        ("How many trips were longer than 30 minutes?", [(1,)]),
        ("How many trips took less than 1 hour?", [(1,)]),
        ("Number of trips that lasted at least 20 minutes", [(2,)]),
        ("How many trips were longer than 50 km?", [(1,)]),
        ("行程平均多少分钟？", [(pytest.approx(40.0),)]),
        ("How many trips ended at Museum?", [(2,)]),
        ("How many trips started at the Old Mill?", [(1,)]),
        ("How many trips are there from Central to Museum?", [(1,)]),
        ("Total charge of trips to Old Mill", [(9.0,)]),
    ],
)
def test_it_is_answered(question: str, rows: list[tuple[object, ...]]) -> None:
    found = translate(question, BIKES, today=TODAY)
    assert isinstance(found, Translated), found
    assert rows_of(ROWS, found.sql) == rows


@pytest.mark.parametrize(
    "question",
    [
        "Trips that took longer than the average",
        "Number of trips by electric and non-electric bikes",
    ],
)
def test_lengths_of_time_are_no_distances_and_one_group_compares_nothing(question: str) -> None:
    assert isinstance(translate(question, BIKES, today=TODAY), NotRead)


def test_which_end_of_its_trips_a_station_is_meant_by_is_asked_and_then_answered() -> None:
    asked = translate("Which station has the most trips?", BIKES, today=TODAY)
    assert isinstance(asked, NotRead)
    assert set(asked.options) == {"Which end station has the most trips?", "Which start station has the most trips?"}
    for option, name in (("end", "Museum"), ("start", "Central")):
        found = translate(f"Which {option} station has the most trips?", BIKES, today=TODAY)
        assert isinstance(found, Translated), found
        assert rows_of(ROWS, found.sql) == [(name,)]
