"""Rows in the order of a figure of theirs, lists of whose things are, first and fastest ones, flags of what happened, and years."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import date

import pytest

from querybus.core.catalog import Catalog
from querybus_executor.engines.sqlite.introspect import open_sqlite_catalog
from querybus_translator import NotRead, Translated, translate
from tests.support.scripted_catalog import rows_of

TODAY = date(2026, 11, 28)

PARKS_ROWS = """
CREATE TABLE operator (operator_id INTEGER PRIMARY KEY, name TEXT, revenue REAL);
CREATE TABLE park (park_id INTEGER PRIMARY KEY, park_name TEXT, country TEXT, opening_year INTEGER, area REAL, operator_id INTEGER REFERENCES operator (operator_id));
CREATE TABLE ride (ride_id INTEGER PRIMARY KEY, name TEXT, type TEXT, max_speed INTEGER, height REAL, park_id INTEGER REFERENCES park (park_id));
CREATE TABLE visit (visit_id INTEGER PRIMARY KEY, park_id INTEGER REFERENCES park (park_id), visit_date DATE, rating INTEGER, inspector_name TEXT);
INSERT INTO operator VALUES (1, 'Merlo', 410), (2, 'Funland', 980), (3, 'Nordic', 120);
INSERT INTO park VALUES (1, 'Garda', 'Italy', 1975, 60, 1), (2, 'Thrill', 'Spain', 1990, 120, 2), (3, 'Alpina', 'Italy', 2010, 22, 2);
INSERT INTO ride VALUES (1, 'Tornado', 'Coaster', 80, 33, 1), (2, 'Fall', 'Tower', 95, 60, 2), (3, 'Titan', 'Coaster', 137, 75, 2), (4, 'Splash', 'Water', 50, 15, 3), (5, 'Drop', 'Tower', 90, 70, 2);
INSERT INTO visit VALUES (1, 1, '2023-05-01', 5, 'Olga'), (2, 2, '2023-07-12', 4, 'Ivan'), (3, 2, '2024-01-03', 2, 'Olga'), (4, 1, '2024-02-03', 5, 'Olga'), (5, 2, '2024-03-03', 3, 'Pia'), (6, 2, '2024-04-03', 3, 'Pia');
"""
RUNS_ROWS = """
CREATE TABLE race (race_id INTEGER PRIMARY KEY, race_name TEXT, distance REAL);
CREATE TABLE club (club_id INTEGER PRIMARY KEY, club_name TEXT, founded_year INTEGER);
CREATE TABLE runner (runner_id INTEGER PRIMARY KEY, runner_name TEXT, birth_year INTEGER, club_id INTEGER REFERENCES club (club_id));
CREATE TABLE result (race_id INTEGER REFERENCES race (race_id), runner_id INTEGER REFERENCES runner (runner_id), position INTEGER, finish_minutes REAL, disqualified TEXT, PRIMARY KEY (race_id, runner_id));
INSERT INTO race VALUES (1, 'Spring Ten', 10), (2, 'River Half', 21);
INSERT INTO club VALUES (1, 'Harriers', 1901), (2, 'Striders', 1988);
INSERT INTO runner VALUES (1, 'Alan', 1985, 1), (2, 'Beth', 1992, 2), (3, 'Cara', 1999, 2);
INSERT INTO result VALUES (1, 1, 1, 38.5, 'N'), (1, 2, 2, 41, 'N'), (1, 3, 3, 44, 'Y'), (2, 2, 1, 88, 'N');
"""
SCHOOL_ROWS = """
CREATE TABLE dept (dept_no INTEGER PRIMARY KEY, dept_name TEXT);
CREATE TABLE teacher (t_id INTEGER PRIMARY KEY, FName TEXT, LName TEXT, hire_date DATE, salary REAL, dept_no INTEGER REFERENCES dept (dept_no));
CREATE TABLE hall (hall_no TEXT PRIMARY KEY, seats INTEGER);
CREATE TABLE lesson (lesson_id INTEGER PRIMARY KEY, subject TEXT, t_id INTEGER REFERENCES teacher (t_id), hall_no TEXT REFERENCES hall (hall_no), weekday TEXT, start_hour INTEGER);
CREATE TABLE host (host_id INTEGER PRIMARY KEY, full_name TEXT);
CREATE TABLE fair (fair_id INTEGER PRIMARY KEY, title TEXT);
CREATE TABLE hosting (fair_id INTEGER REFERENCES fair (fair_id), host_id INTEGER REFERENCES host (host_id), role TEXT, PRIMARY KEY (fair_id, host_id));
INSERT INTO dept VALUES (1, 'Mathematics'), (2, 'Languages');
INSERT INTO teacher VALUES (1, 'Rita', 'Hahn', '2001-08-15', 52000, 1), (2, 'Omar', 'Said', '2012-09-01', 45000, 2), (3, 'Lena', 'Kraus', '2018-02-01', 39000, 2);
INSERT INTO hall VALUES ('A1', 30), ('B1', 40);
INSERT INTO lesson VALUES (1, 'Algebra', 1, 'A1', 'Monday', 8), (2, 'French', 2, 'B1', 'Monday', 10), (3, 'German', 3, 'B1', 'Friday', 9);
INSERT INTO host VALUES (1, 'Ada Brand'), (2, 'Luis Vega');
INSERT INTO fair VALUES (1, 'Spring fair'), (2, 'Book fair');
INSERT INTO hosting VALUES (1, 1, 'main'), (1, 2, 'aide'), (2, 1, 'aide');
"""
PUPILS_ROWS = """
CREATE TABLE list (last_name TEXT, first_name TEXT, class INTEGER);
INSERT INTO list VALUES ('Lund', 'Mia', 9), ('Beck', 'Noah', 9), ('Roth', 'Ella', 10);
"""
CARGO_ROWS = """
CREATE TABLE captain (captain_id INTEGER PRIMARY KEY, name TEXT, age INTEGER);
CREATE TABLE vessel (vessel_id INTEGER PRIMARY KEY, name TEXT, captain_id INTEGER REFERENCES captain (captain_id));
CREATE TABLE voyage (voyage_id INTEGER PRIMARY KEY, vessel_id INTEGER REFERENCES vessel (vessel_id), cargo_tons REAL, departure DATE);
INSERT INTO captain VALUES (1, 'Otto', 51), (2, 'Lia', 39);
INSERT INTO vessel VALUES (1, 'Aurora', 1), (2, 'Brisa', 2);
INSERT INTO voyage VALUES (1, 1, 60, '2024-01-05'), (2, 1, 58, '2024-03-01'), (3, 2, 90, '2024-05-05');
"""
FARMS_ROWS = """
CREATE TABLE farms (farm_id INTEGER PRIMARY KEY, farm_name TEXT, county TEXT, hectares REAL, price_in_dollars REAL, price_in_euros REAL);
CREATE TABLE crops (crop_id INTEGER PRIMARY KEY, crop_name TEXT, season TEXT, sown REAL);
CREATE TABLE harvests (harvest_id INTEGER PRIMARY KEY, farm_id INTEGER REFERENCES farms (farm_id), crop_id INTEGER REFERENCES crops (crop_id), year INTEGER, kg REAL);
CREATE TABLE showing (showing_id INTEGER PRIMARY KEY, critic TEXT, farm_id INTEGER REFERENCES farms (farm_id), show_date DATE, start_time TEXT);
CREATE TABLE train (train_id INTEGER PRIMARY KEY, train_number INTEGER, origin TEXT, destination TEXT);
INSERT INTO farms VALUES (1, 'Acre', 'Kent', 40, 900, 600), (2, 'Hill', 'Devon', 120, 800, 750), (3, 'Brook', 'Kent', 15, 650, 500);
INSERT INTO crops VALUES (1, 'Apple', 'Autumn', 3), (2, 'Berry', 'Summer', 4), (3, 'Potato', 'Autumn', 1);
INSERT INTO harvests VALUES (1, 1, 1, 2022, 50), (2, 1, 2, 2022, 8), (3, 2, 3, 2022, 90), (4, 2, 1, 2023, 70), (5, 3, 2, 2023, 6);
INSERT INTO showing VALUES (1, 'Eve', 1, '2023-11-05', '20:00'), (2, 'Gus', 2, '2023-11-05', '09:30'), (3, 'Eve', 3, '2023-11-06', '08:00');
INSERT INTO train VALUES (1, 71, 'Riga', 'Tartu'), (2, 72, 'Tartu', 'Riga'), (3, 73, 'Riga', 'Riga');
"""
CINEMA_ROWS = """
CREATE TABLE movie (movie_id INTEGER PRIMARY KEY, title TEXT, release_date DATE);
CREATE TABLE showing (showing_id INTEGER PRIMARY KEY, movie_id INTEGER REFERENCES movie (movie_id), show_date DATE, seats INTEGER);
CREATE TABLE authorship (movie_id INTEGER REFERENCES movie (movie_id), writer_id INTEGER, author_order INTEGER, PRIMARY KEY (movie_id, writer_id));
CREATE TABLE review (review_id INTEGER PRIMARY KEY, movie_id INTEGER REFERENCES movie (movie_id), score REAL);
INSERT INTO movie VALUES (1, 'Red Dunes', '2022-03-04'), (2, 'Iron Sea', '2023-10-01');
INSERT INTO showing VALUES (1, 1, '2022-03-10', 20), (2, 2, '2023-11-05', 30);
INSERT INTO authorship VALUES (1, 5, 1), (1, 6, 2), (2, 5, 1);
INSERT INTO review VALUES (1, 1, 7.5), (2, 2, 9);
"""
PODCAST_ROWS = """
CREATE TABLE listeners (listener_id INTEGER PRIMARY KEY, username TEXT);
CREATE TABLE shows (show_id INTEGER PRIMARY KEY, title TEXT);
CREATE TABLE subscriptions (listener_id INTEGER REFERENCES listeners (listener_id), show_id INTEGER REFERENCES shows (show_id), subscribed_on DATE, PRIMARY KEY (listener_id, show_id));
INSERT INTO listeners VALUES (1, 'owl'), (2, 'mango'), (3, 'rhein');
INSERT INTO shows VALUES (1, 'Night Talk'), (2, 'Science Hour');
INSERT INTO subscriptions VALUES (1, 1, '2021-02-01'), (2, 1, '2021-06-01'), (3, 2, '2022-03-01');
"""
SCRIPTS = {
    "podcast": PODCAST_ROWS,
    "cinema": CINEMA_ROWS,
    "farms": FARMS_ROWS,
    "parks": PARKS_ROWS,
    "runs": RUNS_ROWS,
    "school": SCHOOL_ROWS,
    "pupils": PUPILS_ROWS,
    "cargo": CARGO_ROWS,
}


@pytest.fixture(scope="module")
def catalogs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Catalog]:
    """The databases as the executor describes them."""
    folder = tmp_path_factory.mktemp("rows_in_order")
    for name, script in SCRIPTS.items():
        with closing(sqlite3.connect(folder / f"{name}.sqlite")) as database:
            database.executescript(script)
    return {name: open_sqlite_catalog(folder / f"{name}.sqlite") for name in SCRIPTS}


def is_answered(name: str, question: str, rows: list[tuple[object, ...]], catalogs: Mapping[str, Catalog]) -> None:
    found = translate(question, catalogs[name], today=TODAY)
    assert isinstance(found, Translated), found
    assert rows_of(SCRIPTS[name], found.sql) == rows, found.sql


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("List the parks by the number of rides, from most to least.", [("Thrill",), ("Garda",), ("Alpina",)]),
        ("Show the operators by number of parks in descending order.", [("Funland",), ("Merlo",)]),
        ("List the operators by the number of parks they own, largest first.", [("Funland",), ("Merlo",)]),
        ("List the parks by average rating, best first.", [("Garda",), ("Thrill",)]),
        ("List ride types by average height, highest first.", [("Tower", 65.0), ("Coaster", 54.0), ("Water", 15.0)]),
        ("Show countries by total area of their parks in descending order.", [("Spain", 120.0), ("Italy", 82.0)]),
        ("Rank the parks by area.", [("Thrill",), ("Garda",), ("Alpina",)]),
        ("Rank the parks by area in ascending order.", [("Alpina",), ("Garda",), ("Thrill",)]),
        ("Rank the operators by number of parks.", [("Funland",), ("Merlo",)]),
    ],
)  # fmt: skip
def test_rows_stand_in_the_order_of_the_figure_that_is_said(
    question: str, rows: list[tuple[object, ...]], catalogs: Mapping[str, Catalog]
) -> None:
    is_answered("parks", question, rows, catalogs)


@pytest.mark.parametrize(
    ("name", "question", "rows"),
    [
        ("parks", "Show the rides faster than 92 and their parks.", [("Fall", "Thrill"), ("Titan", "Thrill")]),
        ("parks", "List the parks opened after 1980 and their operators.", [("Thrill", "Funland"), ("Alpina", "Funland")]),
        ("school", "List the teachers who were hired after 2010 and their departments.", [("Omar", "Said", "Languages"), ("Lena", "Kraus", "Languages")]),
        ("school", "List all hosts and their roles in Spring fair.", [("Ada Brand", "main"), ("Luis Vega", "aide")]),
        ("runs", "Show the runners and their positions in River Half.", [("Beth", 1)]),
        ("school", "Show the subjects and the halls where they are taught.", [("Algebra", "A1"), ("French", "B1"), ("German", "B1")]),
        ("school", "List the names of teachers with a salary above 50000.", [("Rita", "Hahn")]),
    ],
)  # fmt: skip
def test_whose_things_are_is_listed_as_well(
    name: str, question: str, rows: list[tuple[object, ...]], catalogs: Mapping[str, Catalog]
) -> None:
    is_answered(name, question, rows, catalogs)


@pytest.mark.parametrize(
    ("name", "question", "rows"),
    [
        ("runs", "Find the fastest finish time in the Spring Ten.", [(38.5,)]),
        ("runs", "What is the slowest finish time?", [(88.0,)]),
        ("runs", "What is the best finish time in the Spring Ten?", [(38.5,)]),
        ("parks", "What is the first park?", [("Garda",)]),
        ("parks", "What is the date of the first visit of Thrill?", [("2023-07-12",)]),
        ("school", "Who was hired first?", [("Rita", "Hahn")]),
        ("school", "Who was hired last?", [("Lena", "Kraus")]),
        ("parks", "Which inspector has the most visits?", [("Olga",)]),
        ("parks", "Who did the most visits?", [("Olga",)]),
        ("parks", "In which year did Garda open?", [(1975,)]),
        ("parks", "What year did Thrill open?", [(1990,)]),
    ],
)  # fmt: skip
def test_the_first_and_the_fastest_and_the_year_are_found(
    name: str, question: str, rows: list[tuple[object, ...]], catalogs: Mapping[str, Catalog]
) -> None:
    is_answered(name, question, rows, catalogs)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Find the names of runners who were disqualified.", [("Cara",)]),
        ("Which runners were disqualified in the Spring Ten?", [("Cara",)]),
        ("Which runners were not disqualified?", [("Alan",), ("Beth",)]),
        ("List the clubs whose runners were disqualified.", [("Striders",)]),
    ],
)
def test_what_happened_to_those_who_are_named_is_a_condition(
    question: str, rows: list[tuple[object, ...]], catalogs: Mapping[str, Catalog]
) -> None:
    is_answered("runs", question, rows, catalogs)


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("runs", "Who is the fastest runner?"),
        ("runs", "Who was disqualified?"),
        ("school", "What is the first lesson on Monday?"),
        ("farms", "Show the farm with the largest harvest in 2022."),
        ("cinema", "Who wrote the review with the highest score?"),
        ("cinema", "List the titles of the movies and their authors."),
        ("cinema", "Find the titles of movies that have exactly two authors."),
    ],
)
def test_what_nothing_ranks_and_nobody_names_is_asked_about(
    name: str, question: str, catalogs: Mapping[str, Catalog]
) -> None:
    assert isinstance(translate(question, catalogs[name], today=TODAY), NotRead)


@pytest.mark.parametrize(
    ("name", "question", "rows"),
    [
        ("pupils", "How many students are there?", [(3,)]),
        ("pupils", "What are the first names of the students in class 9?", [("Mia",), ("Noah",)]),
        ("pupils", "Which class has the most students?", [(9,)]),
        ("runs", "How many clubs are in this network?", [(2,)]),
        ("runs", "Which clubs were founded in the 20th century?", [("Harriers",), ("Striders",)]),
        ("runs", "How many clubs were founded in the nineteenth century?", [(0,)]),
        ("runs", "Which clubs have at least a runner?", [("Harriers",), ("Striders",)]),
        ("runs", "Which clubs have more than a single runner?", [("Striders",)]),
        ("runs", "List the race names in ascending manner.", [("River Half",), ("Spring Ten",)]),
        ("runs", "How many runners does each club have? List the club name and the number.", [(1, "Harriers"), (2, "Striders")]),
        ("runs", "In which race did runner 3 take part?", [("Spring Ten",)]),
        ("parks", "Which parks have a ride that requires a height above 65?", [("Thrill",)]),
        ("parks", "Which country has the most rides?", [("Spain",)]),
        ("parks", "Which country's parks have the most rides?", [("Spain",)]),
        ("parks", "Which park has the most park rides?", [("Thrill",)]),
        ("farms", "Which year had the largest total harvest?", [(2022,)]),
        ("cinema", "List the movies in 2023 by release date.", [("Iron Sea",)]),
        ("runs", "Which runner has the best average position?", [("Alan",)]),
        ("parks", "Show the name of each ride with its park and the park's country.", [("Tornado", "Garda", "Italy"), ("Fall", "Thrill", "Spain"), ("Titan", "Thrill", "Spain"), ("Splash", "Alpina", "Italy"), ("Drop", "Thrill", "Spain")]),
        ("farms", "Which counties have only one farm?", [("Devon",)]),
        ("farms", "Which critic had the most showings?", [("Eve",)]),
        ("farms", "What is the earliest start time on 2023-11-05?", [("09:30",)]),
        ("farms", "Which farms grew both apples and berries?", [("Acre",)]),
        ("farms", "Which farm is the smallest?", [("Brook",)]),
        ("farms", "Which county has the largest total area of farms?", [("Devon",)]),
        ("farms", "Which farms have a price above 700 dollars?", [("Acre",), ("Hill",)]),
        ("farms", "What is the number of the train from Tartu to Riga?", [(72,)]),
        ("farms", "How many crops fall into each season?", [("Autumn", 2), ("Summer", 1)]),
        ("cinema", "Find the titles of the movies that were shown after November 1, 2023.", [("Iron Sea",)]),
        ("cinema", "Which movies were released after November 1, 2023?", []),
        ("cargo", "Show the vessel names and the names of their captains.", [("Aurora", "Otto"), ("Brisa", "Lia")]),
        ("cargo", "Show the name of the oldest captain and the vessels he commands.", [("Otto", "Aurora")]),
        ("cargo", "Which vessel carried the most cargo?", [("Aurora",)]),
    ],
)  # fmt: skip
def test_small_words_and_collections_are_read(
    name: str, question: str, rows: list[tuple[object, ...]], catalogs: Mapping[str, Catalog]
) -> None:
    is_answered(name, question, rows, catalogs)
