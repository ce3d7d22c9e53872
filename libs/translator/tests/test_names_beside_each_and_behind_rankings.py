"""Whose name is meant beside "each" and in a second sentence, what is asked for behind a ranking, and names to the letter."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from querybus.core.catalog import Catalog
from querybus_executor.engines.sqlite.introspect import open_sqlite_catalog
from querybus_translator import NotRead, Translated, translate
from tests.support.scripted_catalog import catalog_of, rows_of

TODAY = date(2026, 11, 28)

HALLS_ROWS = """
CREATE TABLE hall (hall_id INTEGER PRIMARY KEY, name TEXT, country TEXT, seats INTEGER);
CREATE TABLE organ (organ_id INTEGER PRIMARY KEY, name TEXT, country TEXT, built_year INTEGER, pipes INTEGER, hall_id INTEGER REFERENCES hall (hall_id));
CREATE TABLE grants (grant_id INTEGER PRIMARY KEY, hall_id INTEGER REFERENCES hall (hall_id), amount INTEGER, result TEXT, rank_of_the_year INTEGER);
CREATE TABLE patron (patron_id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT, hall_id INTEGER REFERENCES hall (hall_id));
CREATE TABLE club (club_id INTEGER PRIMARY KEY, club_name TEXT, country TEXT, no_of_members INTEGER, average INTEGER);
CREATE TABLE members (member_id INTEGER PRIMARY KEY, member_name TEXT, country TEXT, club_id INTEGER REFERENCES club (club_id));
INSERT INTO hall VALUES (1, 'Kuppel', 'Austria', 900), (2, 'Arkade', 'Spain', 400), (3, 'Silo', 'Austria', 120), (4, 'Silo', 'Norway', 60);
INSERT INTO organ VALUES (1, 'Great Rieger', 'Austria', 1920, 5000, 1), (2, 'Small Rieger', 'Austria', 1960, 800, 1), (3, 'Trompeta', 'Spain', 1890, 2300, 2), (4, 'Positiv', 'Austria', 2001, 300, 3);
INSERT INTO grants VALUES (1, 1, 40, 'Granted', 3), (2, 1, 50, 'Declined', 2), (3, 2, 70, 'Granted', 1), (4, 3, 5, 'Declined', 4), (5, 4, 6, 'Declined', 7), (6, 4, 1, 'Declined', 6);
INSERT INTO patron VALUES (1, 'Mia', 'Lund', 1), (2, 'Noah', 'Beck', 1), (3, 'Mia', 'Roth', 2), (4, 'Ella', 'Mia', 3);
INSERT INTO club VALUES (1, 'Bellows', 'Spain', 30, 5), (2, 'Stops', 'Norway', 12, 9);
INSERT INTO members VALUES (1, 'Ada', 'Japan', 1), (2, 'Bo', 'Japan', 1), (3, 'Cy', 'Norway', 2);
"""
SPEECH_ROWS = """
CREATE TABLE team (team_id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE player (player_id INTEGER PRIMARY KEY, name TEXT, team_id INTEGER REFERENCES team (team_id));
INSERT INTO team VALUES (1, 'Oak'), (2, 'Elm');
INSERT INTO player VALUES (1, 'J. C. Marsh', 1), (2, 'Ann Hill', 2), (3, 'Bea Rook', 2);
"""
SCRIPTS = {"halls": HALLS_ROWS, "teams": SPEECH_ROWS}


@pytest.fixture(scope="module")
def catalogs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Catalog]:
    """The databases as the executor describes them."""
    folder = tmp_path_factory.mktemp("names_beside_each")
    for name, script in SCRIPTS.items():
        with closing(sqlite3.connect(folder / f"{name}.sqlite")) as database:
            database.executescript(script)
    return {name: open_sqlite_catalog(folder / f"{name}.sqlite") for name in SCRIPTS}


def is_answered(
    question: str, rows: list[tuple[object, ...]], catalogs: Mapping[str, Catalog], name: str = "halls"
) -> None:
    """Assert that a question is answered with these rows, in any order of rows and columns."""
    found = translate(question, catalogs[name], today=TODAY)
    assert isinstance(found, Translated), found
    given = sorted(tuple(sorted(map(str, row))) for row in rows_of(SCRIPTS[name], found.sql))
    assert given == sorted(tuple(sorted(map(str, row))) for row in rows), found.sql


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Show the name and the number of organs for each hall that has more than 1 organs.", [("Kuppel", 2)]),
        ("Give the number of organs per hall together with the name.", [("Kuppel", 2), ("Arkade", 1), ("Silo", 1)]),
        ("For every hall, give the name and the mean pipes of its organs.", [("Kuppel", 2900.0), ("Arkade", 2300.0), ("Silo", 300.0)]),
        ("For each hall, how many organs with country Spain are there? List the name as well.", [("Arkade", 1)]),
        ("Which hall has the organ with the largest pipes? Give the name.", [("Kuppel",)]),
        ("Show the name of each organ and the name of its hall.", [("Great Rieger", "Kuppel"), ("Small Rieger", "Kuppel"), ("Trompeta", "Arkade"), ("Positiv", "Silo")]),
        ("List every organ's name along with the name of the hall.", [("Great Rieger", "Kuppel"), ("Small Rieger", "Kuppel"), ("Trompeta", "Arkade"), ("Positiv", "Silo")]),
        ("For the organ with the greatest pipes, give the name and the name of the hall.", [("Great Rieger", "Kuppel")]),
        ("What is the name of Trompeta's hall?", [("Arkade",)]),
        ("Which country is most common among organs?", [("Austria",)]),
    ],
)  # fmt: skip
def test_a_name_is_that_of_what_the_question_is_about(
    question: str, rows: list[tuple[object, ...]], catalogs: Mapping[str, Catalog]
) -> None:
    is_answered(question, rows, catalogs)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("What is the name of the organ with the highest pipes, and the name of its hall?", [("Great Rieger", "Kuppel")]),
        ("Which hall has the grant with the largest amount? Give the name.", [("Arkade",)]),
        ("Which halls have more than one grant? Show their name and the number of grants.", [("Kuppel", 2), ("Silo", 2)]),
        ("What are the names of organs whose pipes is above the average?", [("Great Rieger",), ("Trompeta",)]),
        ("Which organs have the 2 lowest values of pipes? Give the names.", [("Positiv",), ("Small Rieger",)]),
    ],
)  # fmt: skip
def test_rankings_are_of_single_rows_and_counts_of_rows_of_the_same_name_apart(
    question: str, rows: list[tuple[object, ...]], catalogs: Mapping[str, Catalog]
) -> None:
    is_answered(question, rows, catalogs)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("List the names of the organs of Kuppel by built year, highest first.", [("Small Rieger",), ("Great Rieger",)]),
        ("List the names and countries of the organs by built year.", [("Trompeta", "Spain"), ("Great Rieger", "Austria"), ("Small Rieger", "Austria"), ("Positiv", "Austria")]),
        ("Show the names and pipes of all organs from the highest pipes to the lowest.", [("Great Rieger", 5000), ("Trompeta", 2300), ("Small Rieger", 800), ("Positiv", 300)]),
    ],
)  # fmt: skip
def test_a_list_stands_in_the_order_that_is_said_behind_it(
    question: str, rows: list[tuple[object, ...]], catalogs: Mapping[str, Catalog]
) -> None:
    found = translate(question, catalogs["halls"], today=TODAY)
    assert isinstance(found, Translated), found
    assert rows_of(HALLS_ROWS, found.sql) == rows, found.sql


def test_by_how_many_they_have_counts_them(catalogs: Mapping[str, Catalog]) -> None:
    question = "What are the names of halls, ordered by how many organs they have, from most to fewest?"
    found = translate(question, catalogs["halls"], today=TODAY)
    assert isinstance(found, Translated), found
    first, *others = rows_of(HALLS_ROWS, found.sql)
    assert (first, sorted(others)) == (("Kuppel",), [("Arkade",), ("Silo",)]), found.sql


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("How many patrons have first name Mia or Ella?", [(3,)]),
        ("List the last names of patrons with first name either Noah or Ella.", [("Beck",), ("Mia",)]),
        ("What are the last names of patrons whose first name is not Mia?", [("Beck",), ("Mia",)]),
        ("Which patrons have Mia as first name? Show their last names.", [("Lund",), ("Roth",)]),
        ("List the last names of the patrons that do not have Mia as their first name.", [("Beck",), ("Mia",)]),
    ],
)  # fmt: skip
def test_names_of_persons_are_read_behind_or_not_and_before_as(
    question: str, rows: list[tuple[object, ...]], catalogs: Mapping[str, Catalog]
) -> None:
    is_answered(question, rows, catalogs)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("What is the average rank of the year of grants?", [(23 / 6,)]),
        ("Which halls have grants with result Granted as well as grants with result Declined? Show the names.", [("Kuppel",)]),
        ("Find the names of the halls that have both a grant with result Declined and a grant with result Granted.", [("Kuppel",)]),
        ("What is the total no of members across all clubs?", [(42,)]),
        ("How many members are from Japan?", [(2,)]),
        ("What is the number of members with Japan as country?", [(2,)]),

    ],
)  # fmt: skip
def test_columns_are_named_to_the_letter_and_hold_what_is_said_behind_them(
    question: str, rows: list[tuple[object, ...]], catalogs: Mapping[str, Catalog]
) -> None:
    is_answered(question, rows, catalogs)


@pytest.mark.parametrize("question", ["What is the name of the team of the player named J. C. Marsh?", "Which team does the player J. C. Marsh belong to? Show its name."])  # fmt: skip
def test_a_name_with_initials_is_one_name(question: str, catalogs: Mapping[str, Catalog]) -> None:
    is_answered(question, [("Oak",)], catalogs, "teams")


SHIPS_ROWS = """
CREATE TABLE school (school_id INTEGER PRIMARY KEY, school_name TEXT, football_class TEXT, hockey_class TEXT, head_name TEXT, deputy_name TEXT);
CREATE TABLE booking (code INTEGER PRIMARY KEY, guest TEXT, adults INTEGER, hall TEXT REFERENCES lounge (lounge_id));
CREATE TABLE lounge (lounge_id TEXT PRIMARY KEY, lounge_name TEXT);
CREATE TABLE train (train_number INTEGER PRIMARY KEY, origin TEXT, market_total INTEGER, start_date DATE);
INSERT INTO school VALUES (1, 'North', 'AA', 'AAA', 'Ann Lee', 'Bo Kern'), (2, 'South', 'AAA', 'A', 'Bo Kern', 'Cy Dunn'), (3, 'East', 'A', 'AAA', 'Di Falk', 'Ann Lee');
INSERT INTO lounge VALUES ('R1', 'Blue'), ('R2', 'Green');
INSERT INTO booking VALUES (71, 'Ada', 2, 'R1'), (72, 'Ben', 4, 'R2'), (73, 'Ida', 3, 'R1');
INSERT INTO train VALUES (51, 'Riga', 5, '2020-01-02'), (52, 'Riga', 7, '2021-01-02'), (53, 'Tartu', 9, '2019-01-02');
"""


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("List the school names of schools with football class either AA or AAA.", [("North",), ("South",)]),
        ("What are the school names of schools whose deputy name is Ann Lee?", [("East",)]),
        ("What are the school names of schools whose deputy name is not Ann Lee?", [("North",), ("South",)]),
        ("What are the ids of bookings with adults greater than 2?", [(72,), (73,)]),
        ("Show the guest and id of the booking with the highest adults.", [("Ben", 72)]),
        ("Count the number of different origins of trains.", [(2,)]),
        ("For each origin, show the highest and lowest market total of the trains.", [("Riga", 7, 5), ("Tartu", 9, 9)]),
        ("Sort the bookings by adults and show their guests.", [("Ada",), ("Ida",), ("Ben",)]),
        ("List the origins of trains from the most recent start date to the oldest.", [("Riga",), ("Riga",), ("Tartu",)]),
    ],
)  # fmt: skip
def test_what_is_said_of_one_column_is_read_of_no_other(
    question: str, rows: list[tuple[object, ...]], tmp_path: Path
) -> None:
    path = tmp_path / "ships.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SHIPS_ROWS)
    found = translate(question, open_sqlite_catalog(path), today=TODAY)
    assert isinstance(found, Translated), found
    given = rows_of(SHIPS_ROWS, found.sql)
    is_ordered = question.startswith(("Sort", "List the origins"))
    assert (given if is_ordered else sorted(given, key=str)) == (rows if is_ordered else sorted(rows, key=str)), (
        found.sql
    )


FAIR_ROWS = """
CREATE TABLE museum (museum_id INTEGER PRIMARY KEY, name TEXT, city TEXT);
CREATE TABLE painting (painting_id INTEGER PRIMARY KEY, title TEXT, technique TEXT, museum_id INTEGER REFERENCES museum (museum_id), indoor TEXT);
CREATE TABLE loan (loan_id INTEGER PRIMARY KEY, painting_id INTEGER REFERENCES painting (painting_id), lender_id INTEGER REFERENCES museum (museum_id), borrower_id INTEGER REFERENCES museum (museum_id), fee INTEGER, status TEXT);
CREATE TABLE visitor (visitor_id INTEGER PRIMARY KEY, full_name TEXT, city TEXT);
CREATE TABLE ticket (ticket_id INTEGER PRIMARY KEY, visitor_id INTEGER REFERENCES visitor (visitor_id), kind TEXT, sold_on DATE);
INSERT INTO museum VALUES (1, 'Nordhaus', 'Kiel'), (2, 'Lumen', 'Graz'), (3, 'Sund', 'Oslo');
INSERT INTO painting VALUES (1, 'Dawn', 'oil', 1, 'yes'), (2, 'Blue', 'chalk', 2, 'no'), (3, 'Barn', 'oil', 1, 'yes'), (4, 'Snow', 'oil', 2, 'no');
INSERT INTO loan VALUES (1, 1, 1, 2, 50, 'done'), (2, 2, 2, 3, 30, 'done'), (3, 3, 1, 3, 45, 'open'), (4, 3, 1, 2, 40, 'done');
INSERT INTO visitor VALUES (1, 'Ana Holt', 'Kiel'), (2, 'Ben Ito', 'Kiel');
INSERT INTO ticket VALUES (1, 1, 'weekend', '2025-03-03'), (2, 2, 'day', '2025-03-08');
"""


@pytest.fixture(scope="module")
def fair(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Museums that lend each other paintings, as the executor describes them."""
    path = tmp_path_factory.mktemp("fair") / "fair.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(FAIR_ROWS)
    return open_sqlite_catalog(path)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Which paintings are indoors?", [("Dawn",), ("Barn",)]),
        ("Visitors from Kiel with a weekend ticket", [("Ana Holt",)]),
        ("How many paintings are there for each technique and museum?", [("oil", "Nordhaus", 2), ("chalk", "Lumen", 1), ("oil", "Lumen", 1)]),
        ("Show each loan with the lender and the borrower.", [(1, "Nordhaus", "Lumen"), (2, "Lumen", "Sund"), (3, "Nordhaus", "Sund"), (4, "Nordhaus", "Lumen")]),
        ("Show each loan with its lender and borrower.", [(1, "Nordhaus", "Lumen"), (2, "Lumen", "Sund"), (3, "Nordhaus", "Sund"), (4, "Nordhaus", "Lumen")]),
        ("List all oil paintings with the museum that owns them.", [("Dawn", "Nordhaus"), ("Barn", "Nordhaus"), ("Snow", "Lumen")]),
    ],
)  # fmt: skip
def test_flags_kinds_groups_of_two_and_all_that_is_listed_beside_are_read(
    question: str, rows: list[tuple[object, ...]], fair: Catalog
) -> None:
    found = translate(question, fair, today=TODAY)
    assert isinstance(found, Translated), found
    given = sorted(tuple(sorted(map(str, row))) for row in rows_of(FAIR_ROWS, found.sql))
    assert given == sorted(tuple(sorted(map(str, row))) for row in rows), found.sql


@pytest.mark.parametrize(
    "question",
    [
        "Which paintings were done before 2020 and at which museum are they?",
    ],
)
def test_what_a_reading_passes_over_is_asked_about(question: str, fair: Catalog) -> None:
    found = translate(question, fair, today=TODAY)
    assert isinstance(found, NotRead), found.sql


def test_departing_flights_are_those_that_a_port_is_the_origin_of() -> None:
    script = """
    CREATE TABLE port (port_code TEXT PRIMARY KEY, port_name TEXT);
    CREATE TABLE flight (flight_no TEXT PRIMARY KEY, origin TEXT REFERENCES port (port_code), destination TEXT REFERENCES port (port_code));
    INSERT INTO port VALUES ('OSL', 'Oslo'), ('LIS', 'Lisbon');
    INSERT INTO flight VALUES ('SK1', 'OSL', 'LIS');
    """
    found = translate("Which ports have no departing flights?", catalog_of(script, {}), today=TODAY)
    assert isinstance(found, Translated), found
    assert rows_of(script, found.sql) == [("Lisbon",)], found.sql
