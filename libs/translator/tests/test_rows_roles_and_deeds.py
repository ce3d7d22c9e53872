"""Plain questions over a harbour, a kitchen and a forum: results by their verbs, whose a figure is, roles, what is only so or never so."""

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

HARBOUR_ROWS = """
CREATE TABLE harbor (harbor_code TEXT PRIMARY KEY, harbor_name TEXT, nation TEXT, depth_m REAL, berths INTEGER);
CREATE TABLE owner (owner_id INTEGER PRIMARY KEY, company TEXT, hq_city TEXT, founded INTEGER, revenue_million REAL);
CREATE TABLE vessel (vessel_id INTEGER PRIMARY KEY, vessel_name TEXT, type TEXT, tonnage INTEGER, built_year INTEGER, flag TEXT,
    owner_id INTEGER REFERENCES owner (owner_id));
CREATE TABLE voyage (voyage_id INTEGER PRIMARY KEY, vessel_id INTEGER REFERENCES vessel (vessel_id), source_harbor TEXT REFERENCES harbor (harbor_code),
    destination_harbor TEXT REFERENCES harbor (harbor_code), departure_date DATE, duration_days INTEGER, cargo_tons REAL);
CREATE TABLE inspection (inspection_id INTEGER PRIMARY KEY, vessel_id INTEGER REFERENCES vessel (vessel_id), inspector TEXT, inspection_date DATE,
    result TEXT, defects INTEGER);
INSERT INTO harbor VALUES ('GEN', 'Genoa', 'Italy', 15, 40), ('BER', 'Bergen', 'Norway', 11, 50), ('TRI', 'Trieste', 'Italy', 15, 45), ('OSL', 'Oslo Dock', 'Norway', 12, 20);
INSERT INTO owner VALUES (1, 'Nordline', 'Oslo', 1920, 850), (2, 'Adria', 'Split', 1988, 95), (3, 'Hellas', 'Athens', 1955, 430);
INSERT INTO vessel VALUES (1, 'Aurora', 'Tanker', 90, 1999, 'Norway', 1), (2, 'Triton', 'Ferry', 20, 2012, 'Norway', 1), (3, 'Calypso', 'Tanker', 150, 2005, 'Greece', 2),
    (4, 'Hermes', 'Ferry', 30, 1988, 'Italy', 2), (5, 'Sirius', 'Tanker', 60, 2020, 'Panama', NULL);
INSERT INTO voyage VALUES (1, 1, 'GEN', 'BER', '2023-05-01', 9, 700), (2, 1, 'BER', 'GEN', '2024-02-01', 3, 100), (3, 3, 'GEN', 'TRI', '2023-07-01', 14, 50),
    (4, 2, 'BER', 'GEN', '2023-08-01', 6, 20), (5, 2, 'TRI', 'BER', '2023-09-01', 5, 20),
    (6, 1, 'BER', 'TRI', '2024-08-01', 2, 30);
INSERT INTO inspection VALUES (1, 1, 'K. Olsen', '2024-03-01', 'Pass', 1), (2, 2, 'K. Olsen', '2024-04-01', 'Fail', 7), (3, 3, 'G. Bruno', '2025-01-01', 'Pass', 2),
    (4, 3, 'G. Bruno', '2024-01-01', 'Pass', 0);
"""
KITCHEN_ROWS = """
CREATE TABLE chefs (chef_id INTEGER PRIMARY KEY, first_name TEXT, middle_name TEXT, last_name TEXT, salary REAL);
CREATE TABLE recipes (recipe_id INTEGER PRIMARY KEY, recipe_name TEXT, cuisine TEXT, chef_id INTEGER REFERENCES chefs (chef_id), prep_minutes INTEGER, calories INTEGER,
    is_vegan TEXT);
CREATE TABLE ingredients (ingredient_id INTEGER PRIMARY KEY, ingredient_name TEXT);
CREATE TABLE recipe_ingredients (recipe_id INTEGER REFERENCES recipes (recipe_id), ingredient_id INTEGER REFERENCES ingredients (ingredient_id),
    PRIMARY KEY (recipe_id, ingredient_id));
CREATE TABLE customers (customer_id INTEGER PRIMARY KEY, customer_name TEXT, city TEXT, sex TEXT, age INTEGER);
CREATE TABLE recipe_reviews (review_id INTEGER PRIMARY KEY, recipe_id INTEGER REFERENCES recipes (recipe_id), customer_id INTEGER REFERENCES customers (customer_id), stars INTEGER);
CREATE TABLE classes (class_id INTEGER PRIMARY KEY, class_date DATE, price REAL, chef_id INTEGER REFERENCES chefs (chef_id), recipe_id INTEGER REFERENCES recipes (recipe_id));
CREATE TABLE bookings (booking_id INTEGER PRIMARY KEY, class_id INTEGER REFERENCES classes (class_id), customer_id INTEGER REFERENCES customers (customer_id),
    booking_date DATE, status TEXT);
INSERT INTO chefs VALUES (1, 'Julia', 'A', 'Moss', 50), (2, 'Marco', 'B', 'Bell', 60);
INSERT INTO recipes VALUES (1, 'Lasagna', 'Italian', 1, 60, 700, 'N'), (2, 'Pad Thai', 'Thai', 2, 30, 800, 'N'), (3, 'Salad', 'Italian', 1, 10, 200, 'Y');
INSERT INTO ingredients VALUES (1, 'Basil'), (2, 'Rice'), (3, 'Cream');
INSERT INTO recipe_ingredients VALUES (1, 1), (1, 3), (2, 2), (3, 1);
INSERT INTO customers VALUES (1, 'Ada Long', 'Boston', 'F', 30), (2, 'Ben Short', 'Austin', 'M', 50), (3, 'Cleo Park', 'Boston', 'F', 40);
INSERT INTO recipe_reviews VALUES (1, 1, 1, 5), (2, 1, 2, 3), (3, 2, 1, 4), (4, 3, 2, 2), (5, 1, 1, 1);
INSERT INTO classes VALUES (1, '2024-01-05', 25, 2, 1), (2, '2024-03-05', 40, 2, 3), (3, '2025-03-05', 80, 1, 2);
INSERT INTO bookings VALUES (1, 1, 1, '2024-01-01', 'Confirmed'), (2, 2, 1, '2024-02-01', 'Confirmed'), (3, 3, 2, '2025-02-01', 'Cancelled'), (4, 1, 2, '2023-12-01', 'Confirmed');
"""
FORUM_ROWS = """
CREATE TABLE member (id INTEGER PRIMARY KEY, name TEXT, city TEXT, karma INTEGER);
CREATE TABLE follows (member_id INTEGER REFERENCES member (id), follower_id INTEGER REFERENCES member (id), PRIMARY KEY (member_id, follower_id));
CREATE TABLE post (id INTEGER PRIMARY KEY, author_id INTEGER REFERENCES member (id), title TEXT, topic TEXT, publication_year INTEGER);
CREATE TABLE upvote (post_id INTEGER REFERENCES post (id), member_id INTEGER REFERENCES member (id), PRIMARY KEY (post_id, member_id));
CREATE TABLE duel (duel_id INTEGER PRIMARY KEY, winner_id INTEGER REFERENCES member (id), loser_id INTEGER REFERENCES member (id), winner_age INTEGER);
CREATE TABLE event (event_id INTEGER PRIMARY KEY, event_name TEXT, year INTEGER);
INSERT INTO member VALUES (1, 'Kyle', 'York', 10), (2, 'Haley', 'Bath', 40), (3, 'Tiffany', 'York', 90), (4, 'Gabriel', 'Leeds', 5);
INSERT INTO follows VALUES (1, 2), (1, 3), (2, 3), (3, 1);
INSERT INTO post VALUES (1, 1, 'Trains', 'Travel', 2020), (2, 1, 'Soup', 'Cooking', 2021), (3, 3, 'Boats', 'Travel', 2021);
INSERT INTO upvote VALUES (1, 2), (1, 4), (3, 4), (2, 3);
INSERT INTO duel VALUES (1, 1, 2, 30), (2, 1, 3, 31), (3, 2, 3, 20);
INSERT INTO event VALUES (1, 'Meetup', 1999);
"""
SCRIPTS = {"harbour": HARBOUR_ROWS, "kitchen": KITCHEN_ROWS, "forum": FORUM_ROWS}


@pytest.fixture(scope="module")
def catalogs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Catalog]:
    """The databases as the executor describes them."""
    folder = tmp_path_factory.mktemp("rows_roles_and_deeds")
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
        ("Which vessels failed an inspection?", [("Triton",)]),
        ("Show the names of vessels that passed an inspection in 2024.", [("Aurora",), ("Calypso",)]),
        ("Which vessels have never failed an inspection?", [("Aurora",), ("Calypso",), ("Hermes",), ("Sirius",)]),
        ("What percentage of inspections failed?", [(25.0,)]),
        ("Which inspectors have never failed a vessel?", [("G. Bruno",)]),
        ("Which companies have a revenue above 400 million?", [("Nordline",), ("Hellas",)]),
        ("Find the owner with the largest total tonnage.", [("Adria",)]),
        ("Show the name of each owner.", [("Nordline",), ("Adria",), ("Hellas",)]),
        ("List the name of each company along with the average tonnage of its vessels.", [("Adria", 90.0), ("Nordline", 55.0)]),
        ("When was Nordline founded?", [(1920,)]),
        ("In which year was Triton built?", [(2012,)]),
        ("How many voyages departed in 2023?", [(4,)]),
        ("Which vessels sailed to Genoa in 2023?", [("Triton",)]),
        ("What is the name of the vessel with the longest voyage?", [("Calypso",)]),
        ("Which flags are used by tankers but not by ferries?", [("Greece",), ("Panama",)]),
        ("Which companies own only ferries?", []),
        ("Which companies own at least two tankers?", []),
        ("Which flags have no failed inspections?", [("Greece",), ("Italy",), ("Panama",)]),
        ("Which harbors have no voyages?", [("Oslo Dock",)]),
        ("How many voyages started from Genoa?", [(2,)]),
        ("How many voyages ended in Bergen?", [(2,)]),
        ("How many vessels are Norwegian?", [(2,)]),
        ("What is the depth of the harbor with the most berths?", [(11.0,)]),
        ("Which nation has the most berths?", [("Italy",)]),
        ("Show the first 2 vessels in ascending order of tonnage.", [("Triton",), ("Hermes",)]),
        ("Which vessel made the most voyages and how many?", [("Aurora", 3)]),
        ("List the vessels built after 2000 with their tonnage.", [("Triton", 20), ("Calypso", 150), ("Sirius", 60)]),

    ],
)  # fmt: skip
def test_a_harbour_is_asked_by_verbs_results_and_ends(
    question: str, rows: list[tuple[object, ...]], catalogs: Mapping[str, Catalog]
) -> None:
    is_answered("harbour", question, rows, catalogs)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Which recipes contain Basil?", [("Lasagna",), ("Salad",)]),
        ("Which recipe has the most ingredients?", [("Lasagna",)]),
        ("What is the average preparation time of Italian recipes?", [(35.0,)]),
        ("What is the average star rating of each recipe?", [("Lasagna", 3.0), ("Pad Thai", 4.0), ("Salad", 2.0)]),
        ("Which customers have never cancelled a booking?", [("Ada Long",), ("Cleo Park",)]),
        ("List the names of customers with at least 2 confirmed bookings.", [("Ada Long",)]),
        ("Find the first names of chefs that have taught a class for Pad Thai.", [("Julia",)]),
        ("Which customers booked a class taught by Marco Bell?", [("Ada Long",), ("Ben Short",)]),
        ("What are the recipes reviewed by Ben Short?", [("Lasagna",), ("Salad",)]),
        ("What is the average age of male and female customers?", [("F", 35.0), ("M", 50.0)]),
        ("List the names and salaries of all chefs.", [("Julia", "Moss", 50.0), ("Marco", "Bell", 60.0)]),
        ("Which chef has the highest salary and what is the salary?", [("Marco", "Bell", 60.0)]),
        ("Which recipes are not vegan?", [("Lasagna",), ("Pad Thai",)]),
        ("Which chefs have no vegan recipes?", [("Marco", "Bell")]),
        ("Show the recipe with the most calories.", [("Pad Thai",)]),
    ],
)  # fmt: skip
def test_a_kitchen_is_asked_who_did_what_to_which(
    question: str, rows: list[tuple[object, ...]], catalogs: Mapping[str, Catalog]
) -> None:
    is_answered("kitchen", question, rows, catalogs)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("What is the topic distribution of posts?", [("Cooking", 1), ("Travel", 2)]),
        ("How many followers does Kyle have?", [(2,)]),
        ("Show the names of all of Kyle's followers.", [("Haley",), ("Tiffany",)]),
        ("Which member has the most followers?", [("Kyle",)]),
        ("Which members have no followers?", [("Gabriel",)]),
        ("Find the average karma of the followers of Kyle.", [(65.0,)]),
        ("Which members upvoted posts about Travel?", [("Haley",), ("Gabriel",)]),
        ("Which members upvoted Trains but not Boats?", [("Haley",)]),
        ("List the members who live in the same city as Kyle.", [("Kyle",), ("Tiffany",)]),
        ("Which member won the most duels?", [("Kyle",)]),
        ("Which members have never won a duel?", [("Tiffany",), ("Gabriel",)]),
        ("How many duels did Tiffany lose?", [(2,)]),
        ("What is the average age of winners?", [(27.0,)]),
        ("How many posts were published in 2021?", [(2,)]),
        ("How many posts were published each year?", [(2020, 1), (2021, 2)]),

    ],
)  # fmt: skip
def test_a_forum_is_asked_by_the_roles_that_members_play(
    question: str, rows: list[tuple[object, ...]], catalogs: Mapping[str, Catalog]
) -> None:
    is_answered("forum", question, rows, catalogs)


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("forum", "Which members follow each other?"),
        ("harbour", "Where do the voyages start?"),
        ("forum", "Which members upvoted their own posts?"),
        ("kitchen", "Show the chefs and their longest recipe."),
        ("kitchen", "Which recipes were reviewed but not taught?"),
    ],
)
def test_what_no_reading_says_is_asked_back(name: str, question: str, catalogs: Mapping[str, Catalog]) -> None:
    assert isinstance(translate(question, catalogs[name], today=TODAY), NotRead)
