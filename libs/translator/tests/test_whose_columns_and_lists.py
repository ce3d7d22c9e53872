"""Whose a column is, what is worked out where a column is called alike, lists of what is asked for, and what is no other reading."""

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

TODAY = date(2026, 11, 26)

ZOO_ROWS = """
CREATE TABLE keeper (keeper_id INTEGER PRIMARY KEY, name TEXT, age INTEGER, diploma TEXT);
CREATE TABLE animal (animal_id INTEGER PRIMARY KEY, species TEXT, age INTEGER, mass REAL);
CREATE TABLE care (keeper_id INTEGER REFERENCES keeper (keeper_id), animal_id INTEGER REFERENCES animal (animal_id), PRIMARY KEY (keeper_id, animal_id));
CREATE TABLE feeding (feeding_id INTEGER PRIMARY KEY, name TEXT, theme TEXT, animal_id INTEGER REFERENCES animal (animal_id), note TEXT);
INSERT INTO keeper VALUES (1, 'Ida', 30, 'Birds'), (2, 'Jon', 45, 'Reptiles'), (3, 'Kim', 3, 'Birds');
INSERT INTO animal VALUES (1, 'otter', 3, 9.5), (2, 'gecko', 7, 0.1), (3, 'otter', 12, 11);
INSERT INTO care VALUES (1, 1), (1, 2), (2, 3), (2, 2);
INSERT INTO feeding VALUES (1, 'Dawn', 'Fish', 1, 'cold'), (2, 'Noon', 'Crickets', 2, 'live'), (3, 'Dusk', 'Fish', 3, 'cold');
"""
ARENA_ROWS = """
CREATE TABLE arena (arena_id INTEGER PRIMARY KEY, arena_name TEXT, city TEXT, state TEXT, capacity INTEGER, highest INTEGER, average REAL, opened INTEGER);
CREATE TABLE gig (gig_id INTEGER PRIMARY KEY, title TEXT, arena_id INTEGER REFERENCES arena (arena_id), guests INTEGER, rpm REAL);
INSERT INTO arena VALUES (1, 'Dome', 'Austin', 'TX', 900, 800, 300.5, 1990), (2, 'Shed', 'Dayton', 'OH', 300, 250, 90, 1990), (3, 'Pit', 'Dallas', 'TX', 600, 590, 400, 2001);
INSERT INTO gig VALUES (1, 'Roar', 1, 700, 33), (2, 'Hush', 1, 100, 45), (3, 'Roar on', 2, 200, 33);
"""
CARS_ROWS = """
CREATE TABLE region (region_code TEXT PRIMARY KEY, region_label TEXT);
CREATE TABLE brand (brand_id INTEGER PRIMARY KEY, brand_name TEXT, region_code TEXT REFERENCES region (region_code), country TEXT);
CREATE TABLE model (model_id INTEGER PRIMARY KEY, maker INTEGER REFERENCES brand (brand_id), model TEXT, power TEXT, mpg REAL, make TEXT);
INSERT INTO region VALUES ('N', 'North'), ('S', 'South'), ('W', 'West');
INSERT INTO brand VALUES (1, 'Volta', 'N', 'USA'), (2, 'Corsa Works', 'S', 'Italy'), (3, 'Ohm', 'N', 'USA');
INSERT INTO model VALUES (1, 1, 'V1', '90', 30, 'open'), (2, 1, 'V2', '110', 40, 'van'), (3, 2, 'C1', 'n/a', 20, 'open');
"""
BANK_ROWS = """
CREATE TABLE donor (donor_id INTEGER PRIMARY KEY, donor_name TEXT, blood_type TEXT, city TEXT, is_regular INTEGER);
CREATE TABLE campaign (campaign_id INTEGER PRIMARY KEY, title TEXT, organizer_id INTEGER REFERENCES donor (donor_id), is_paid INTEGER);
CREATE TABLE visit (donor_id INTEGER REFERENCES donor (donor_id), campaign_id INTEGER REFERENCES campaign (campaign_id), PRIMARY KEY (donor_id, campaign_id));
CREATE TABLE peak (peak_id INTEGER PRIMARY KEY, peak_name TEXT, country TEXT, height_m INTEGER);
CREATE TABLE tour (tour_id INTEGER PRIMARY KEY, peak_id INTEGER REFERENCES peak (peak_id), cost REAL);
INSERT INTO donor VALUES (1, 'Olga', 'A+', 'Riga', 1), (2, 'Pavel', 'O-', 'Tartu', 0), (3, 'Rita', 'A+', 'Riga', 1);
INSERT INTO campaign VALUES (1, 'Spring', 1, 1), (2, 'Autumn', 1, 0), (3, 'Winter', 2, 1);
INSERT INTO visit VALUES (2, 1), (3, 1), (3, 2);
INSERT INTO peak VALUES (1, 'Makalu', 'Nepal', 8485), (2, 'Eiger', 'Switzerland', 3967), (3, 'Lhotse', 'Nepal', 8516);
INSERT INTO tour VALUES (1, 1, 100), (2, 2, 10), (3, 3, 300);
"""
SCRIPTS = {"bank": BANK_ROWS, "zoo": ZOO_ROWS, "arena": ARENA_ROWS, "cars": CARS_ROWS}


@pytest.fixture(scope="module")
def catalogs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Catalog]:
    """The databases as the executor describes them."""
    folder = tmp_path_factory.mktemp("whose_columns")
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
        ("How many animals are owned by keepers that have an age above 40?", [(2,)]),
        ("What is the diploma of the keeper who has an otter that is 3 years old?", [("Birds",)]),
        ("Find the diploma of the keeper who has an otter that is age 12.", [("Reptiles",)]),
        ("Show the name and theme of each feeding.", [("Dawn", "Fish"), ("Noon", "Crickets"), ("Dusk", "Fish")]),
        ("What diploma has every keeper who does not have an otter, and also how old are they?", [("Birds", 3)]),
        ("What is the age of the animal in the feeding 'Noon'?", [(7,)]),
        ("List all keepers", [("Ida",), ("Jon",), ("Kim",)]),
        ("Which feedings have the theme 'Fish'?", [("Dawn",), ("Dusk",)]),
    ],
)  # fmt: skip
def test_a_column_is_of_whom_the_sentence_says(
    question: str, rows: list[tuple[object, ...]], catalogs: Mapping[str, Catalog]
) -> None:
    is_answered("zoo", question, rows, catalogs)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("What is the average and maximum capacity of all arenas?", [(600.0, 900)]),
        ("What is the average, minimum and maximum capacity of arenas in TX?", [(750.0, 600, 900)]),
        ("Which arena has the highest capacity?", [("Dome",)]),
        ("What is the average of the arena Shed?", [(90.0,)]),
        ("How many gigs took place in the arena with the highest capacity?", [(2,)]),
        ("Show the titles of gigs in the largest arena by capacity.", [("Roar",), ("Hush",)]),
        ("Which arenas are in Ohio?", [("Shed",)]),
        ("Which gigs have revolutions per minute above 40?", [("Hush",)]),
        ("How many different cities and states are there among the arenas?", [(3, 2)]),
        ("In which years were arenas opened?", [(1990,), (2001,)]),
        ("What is the average number of guests for different arenas?", [("Dome", 400.0), ("Shed", 200.0)]),
        ("What are the names of arenas where there is not a single gig?", [("Pit",)]),
        ("Show the 2 arenas with the highest capacity that have a gig.", [("Dome",), ("Shed",)]),
    ],
)  # fmt: skip
def test_what_is_worked_out_is_worked_out_though_columns_are_called_so(
    question: str, rows: list[tuple[object, ...]], catalogs: Mapping[str, Catalog]
) -> None:
    is_answered("arena", question, rows, catalogs)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("What is the highest miles per gallon of all models?", [(40.0,)]),
        ("What is the average miles per gallon(mpg) of the models?", [(30.0,)]),
        ("Which brands are from the United States?", [("Volta",), ("Ohm",)]),
        ("How many brands have more than 1 model?", [(1,)]),
        ("Which region codes have at least 2 brands?", [("N",)]),
        ("What is the region code with the most brands?", [("N",)]),
        ("Show the make of the model 'V2'.", [("van",)]),
        ("Which brands have a name that contains 'Works'?", [("Corsa Works",)]),
    ],
)
def test_lists_initials_and_keys_that_are_the_same_are_read(
    question: str, rows: list[tuple[object, ...]], catalogs: Mapping[str, Catalog]
) -> None:
    is_answered("cars", question, rows, catalogs)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Which donors have blood type A+?", [("Olga",), ("Rita",)]),
        ("How many donors have blood type O-?", [(1,)]),
        ("How many campaigns are paid?", [(2,)]),
        ("How many unpaid campaigns are there?", [(1,)]),
        ("Which countries have peaks with a height above 8000?", [("Nepal",)]),
        ("Show the names of regulars.", [("Olga",), ("Rita",)]),
        ("Which regulars live in Riga?", [("Olga",), ("Rita",)]),
    ],
)
def test_signs_flags_and_heights_are_read(
    question: str, rows: list[tuple[object, ...]], catalogs: Mapping[str, Catalog]
) -> None:
    is_answered("bank", question, rows, catalogs)


@pytest.mark.parametrize(
    "question",
    [
        # They organised campaigns, and took part in others: whoever takes part has not organised.
        "Which donors have blood type A?",
        "Show the donors with the thickest visit.",
    ],
)
def test_what_says_more_than_was_read_is_asked_about(question: str, catalogs: Mapping[str, Catalog]) -> None:
    assert isinstance(translate(question, catalogs["bank"], today=TODAY), NotRead)


@pytest.mark.parametrize(
    "question",
    [
        # Of texts that are no numbers throughout nothing is the largest, and to count them is another question.
        "Which model has the minimum power?",
        "What is the model with the highest power?",
        "Which model has the most power?",
    ],
)
def test_what_cannot_be_ranked_is_asked_about(question: str, catalogs: Mapping[str, Catalog]) -> None:
    assert isinstance(translate(question, catalogs["cars"], today=TODAY), NotRead)
