"""By way of which rows a value is meant, figures in their unit and of the rows that are named, and whose age or name it is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from querybus.core.catalog import Catalog
from querybus_executor.engines.sqlite.introspect import open_sqlite_catalog
from querybus_translator import NotRead, Translated, translate
from tests.support.scripted_catalog import rows_of

TODAY = date(2026, 11, 28)
SCRIPT = """
CREATE TABLE workshop (workshop_id INTEGER PRIMARY KEY, workshop_name TEXT, town TEXT, founded INTEGER);
CREATE TABLE luthier (luthier_id INTEGER PRIMARY KEY, luthier_name TEXT, age INTEGER, workshop_id INTEGER REFERENCES workshop (workshop_id));
CREATE TABLE violin (violin_id INTEGER PRIMARY KEY, label TEXT, wood TEXT, asking_price INTEGER, is_sold TEXT, luthier_id INTEGER REFERENCES luthier (luthier_id));
CREATE TABLE player (player_id INTEGER PRIMARY KEY, player_name TEXT, town TEXT, budget INTEGER, financing TEXT);
CREATE TABLE trial (trial_id INTEGER PRIMARY KEY, violin_id INTEGER REFERENCES violin (violin_id), player_id INTEGER REFERENCES player (player_id), tried_on DATE, rating INTEGER);
CREATE TABLE bid (bid_id INTEGER PRIMARY KEY, violin_id INTEGER REFERENCES violin (violin_id), player_id INTEGER REFERENCES player (player_id), amount INTEGER, state TEXT);
CREATE TABLE store (store_id INTEGER PRIMARY KEY, store_name TEXT, capacity INTEGER, floor_m2 INTEGER);
CREATE TABLE varnish (varnish_id INTEGER PRIMARY KEY, luthier_id INTEGER REFERENCES luthier (luthier_id), resin TEXT, amount_kg REAL, cooked_on DATE);
CREATE TABLE endowment (endowment_id INTEGER PRIMARY KEY, violin_id INTEGER REFERENCES violin (violin_id), endower TEXT, amount INTEGER);
INSERT INTO workshop VALUES (1, 'Ponte', 'Cremona', 1720), (2, 'Elbe', 'Dresden', 1890);
INSERT INTO luthier VALUES (1, 'Ivo Rossi', 61, 1), (2, 'Lia Kern', 34, 2), (3, 'Max Orth', 47, 2);
INSERT INTO violin VALUES (1, 'Dawn', 'maple', 900, 'yes', 1), (2, 'Dusk', 'spruce', 400, 'no', 2), (3, 'Noon', 'maple', 700, 'no', 2);
INSERT INTO player VALUES (1, 'Ann Lowe', 'Bonn', 950, 'cash'), (2, 'Ben Moor', 'Bonn', 300, 'credit'), (3, 'Cleo Park', 'Graz', 600, 'cash');
INSERT INTO trial VALUES (1, 1, 1, '2024-01-02', 5), (2, 2, 2, '2024-02-03', 3), (3, 3, 2, '2024-03-04', 4);
INSERT INTO bid VALUES (1, 1, 2, 250, 'accepted'), (2, 2, 3, 380, 'open'), (3, 1, 1, 890, 'open');
INSERT INTO store VALUES (1, 'Loft', 900, 40), (2, 'Cellar', 60, 700);
INSERT INTO varnish VALUES (1, 1, 'copal', 2.5, '2024-05-01'), (2, 2, 'copal', 1.5, '2024-06-01'), (3, 2, 'amber', 4.0, '2024-06-09');
INSERT INTO endowment VALUES (1, 2, 'Guild', 100);
"""


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """The database as the executor describes it."""
    path: Path = tmp_path_factory.mktemp("by_way_of") / "violins.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SCRIPT)
    return open_sqlite_catalog(path)


ANSWERED = [
    # by way of the rows that are spoken of
    ("Which players had trials of maple violins?", [("Ann Lowe",), ("Ben Moor",)]),
    ("Which players from Bonn bid on a violin of maple?", [("Ann Lowe",), ("Ben Moor",)]),
    # in the unit that is said
    ("Which stores are larger than 500 square meters?", [("Cellar",)]),
    ("How many kilograms of copal were cooked in total?", [(4.0,)]),
    ("How many kg of resin were cooked in June 2024?", [(5.5,)]),
    # the figure of rows that are named, and of another table
    ("What are the labels of violins whose asking price is above the lowest asking price of maple violins?", [("Dawn",)]),
    ("Which players have a budget above the highest asking price?", [("Ann Lowe",)]),
    ("Which players have a budget below the minimum asking price?", [("Ben Moor",)]),
    ("What is the highest open bid?", [(890,)]),
    # whose age, and whose name
    ("How old is Lia Kern?", [(34,)]),
    ("List luthiers and the town of their workshop.", [("Ivo Rossi", "Cremona"), ("Lia Kern", "Dresden"), ("Max Orth", "Dresden")]),
    ("What is the average rating of trials by player Ben Moor?", [(3.5,)]),
    ("What is the total budget of players for each financing type?", [("cash", 1550), ("credit", 300)]),
    # what is not there, where rows of their own have it
    ("How many violins do not have an endower?", [(2,)]),
    ("What share of violins is sold?", [("33.333333333333336",)]),
]  # fmt: skip


@pytest.mark.parametrize(("question", "rows"), ANSWERED)
def test_a_question_is_answered_by_the_rows_that_it_speaks_of(
    question: str, rows: list[tuple[object, ...]], catalog: Catalog
) -> None:
    found = translate(question, catalog, today=TODAY)
    assert isinstance(found, Translated), found
    assert sorted(map(repr, ([str(item) for item in row] for row in rows_of(SCRIPT, found.sql)))) == sorted(
        map(repr, ([str(item) for item in row] for row in rows))
    ), found.sql


def test_persons_stand_from_oldest_to_youngest_by_their_ages(catalog: Catalog) -> None:
    for question in (
        "List the names of luthiers from oldest to youngest.",
        "List luthiers, ordered from oldest to youngest",
    ):
        found = translate(question, catalog, today=TODAY)
        assert isinstance(found, Translated), found
        assert [row[0] for row in rows_of(SCRIPT, found.sql)] == ["Ivo Rossi", "Max Orth", "Lia Kern"]


KEYED = """
CREATE TABLE crew (crew_id INTEGER PRIMARY KEY, crew_name TEXT, town TEXT);
CREATE TABLE race (race_id INTEGER PRIMARY KEY, inner_crew_id INTEGER REFERENCES crew (crew_id), outer_crew_id INTEGER REFERENCES crew (crew_id),
  winner_id INTEGER REFERENCES crew (crew_id), rowed_on DATE, duration_minutes INTEGER, regatta_id INTEGER REFERENCES regatta (regatta_id));
CREATE TABLE regatta (regatta_id INTEGER PRIMARY KEY, regatta_name TEXT);
CREATE TABLE entry (regatta_id INTEGER REFERENCES regatta (regatta_id), crew_id INTEGER REFERENCES crew (crew_id), final_rank INTEGER, prize_won INTEGER);
INSERT INTO crew VALUES (1, 'Herons', 'Bonn'), (2, 'Otters', 'Graz'), (3, 'Swifts', 'Bern');
INSERT INTO regatta VALUES (1, 'Spring Cup'), (2, 'Lake Prize');
INSERT INTO race VALUES (1, 1, 2, 2, '2024-05-01', 12, 1), (2, 2, 3, 2, '2024-05-02', 45, 1), (3, 1, 3, 1, '2025-06-01', 50, 2);
INSERT INTO entry VALUES (1, 1, 2, 10), (1, 2, 1, 50), (2, 3, 4, 0);
"""


@pytest.fixture(scope="module")
def crews(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """A database in which one table refers to another by three keys."""
    path: Path = tmp_path_factory.mktemp("keyed") / "crews.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(KEYED)
    return open_sqlite_catalog(path)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("What is the name of the crew that won the most races?", [("Otters",)]),
        ("Which crews won a race in 2025?", [("Herons",)]),
        ("What are the names of the crews that took part in the Lake Prize?", [("Swifts",)]),
        ("How many races lasted longer than 40 minutes?", [(2,)]),
    ],
)
def test_of_several_keys_the_one_is_taken_that_is_said_or_none_is_needed(
    question: str, rows: list[tuple[object, ...]], crews: Catalog
) -> None:
    found = translate(question, crews, today=TODAY)
    assert isinstance(found, Translated), found
    assert [tuple(row) for row in rows_of(KEYED, found.sql)] == rows, found.sql


@pytest.mark.parametrize(
    "question",
    ["How many races does each crew have?", "Which crews have a race in 2025?", "Which crews rowed a race in 2025?"],
)
def test_which_of_several_keys_is_meant_is_asked_where_nothing_says(question: str, crews: Catalog) -> None:
    assert isinstance(translate(question, crews, today=TODAY), NotRead)
