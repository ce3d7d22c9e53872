"""Questions over a club that votes and a cinema that nobody described: roles, other names of columns, negations, extremes."""

from __future__ import annotations

import random
from datetime import date

import pytest

from querybus.core.catalog import Catalog
from querybus_translator import NotRead, Translated, translate
from querybus_translator.schema.other_names import other_names
from tests.support.scripted_catalog import catalog_of, rows_of

TODAY = date(2026, 11, 26)

CLUB_ROWS = """
CREATE TABLE member (member_no INTEGER, given TEXT, major TEXT, age INTEGER);
CREATE TABLE ballot (ballot_no INTEGER, season TEXT, chair_choice INTEGER REFERENCES member (member_no), purser_choice INTEGER REFERENCES member (member_no));
INSERT INTO member VALUES (1, 'Ann', 'law', 20), (2, 'Bob', 'art', 30), (3, 'Cem', 'law', 40);
INSERT INTO ballot VALUES (1, 'spring', 1, 2), (2, 'autumn', 1, 3), (3, 'autumn', 2, NULL);
"""
CLUB = catalog_of(
    CLUB_ROWS,
    {"season": ("spring", "autumn"), "major": ("law", "art"), "given": ("Ann", "Bob", "Cem")},
    nullable=frozenset({"chair_choice", "purser_choice"}),
)

CINEMA_ROWS = """
CREATE TABLE film (film_id INTEGER, title TEXT, directed_by TEXT, size_mib INTEGER, film_type_code TEXT, released INTEGER);
CREATE TABLE critic (critic_id INTEGER, critic_name TEXT, address_line_1 TEXT);
CREATE TABLE rating (rating_id INTEGER, film_id INTEGER, critic_id INTEGER, stars INTEGER);
CREATE TABLE owners_and_tenants (party_id INTEGER, name TEXT, phone TEXT);
CREATE TABLE hall (hall_id INTEGER, name TEXT, hall_number INTEGER, party_id INTEGER, opened DATE);
CREATE TABLE broadcast (broadcast_id INTEGER, film_id INTEGER, hall_id INTEGER);
INSERT INTO film VALUES (1, 'Salt', 'Mia', 700, 'short', 2001), (2, 'Dust', 'Leo', 900, 'long', 2002), (3, 'Echo Express', 'Leo', 300, 'long', 2003);
INSERT INTO critic VALUES (1, 'Sara', 'Hill 1'), (2, 'Tom', 'Dale 2');
INSERT INTO rating VALUES (1, 1, 1, 5), (2, 1, 2, 3), (3, 2, 2, 4), (4, 3, 2, 2);
INSERT INTO owners_and_tenants VALUES (1, 'Ida', '11'), (2, 'Jon', '22');
INSERT INTO hall VALUES (1, 'Astor', 7, 1, '2001-01-01'), (2, 'Lumen', 8, 1, '2002-01-01');
INSERT INTO broadcast VALUES (1, 2, 1), (2, 2, 2), (3, 1, 1);
"""
CINEMA = catalog_of(
    CINEMA_ROWS,
    {
        "title": ("Salt", "Dust", "Echo Express"),
        "directed_by": ("Mia", "Leo"),
        "critic_name": ("Sara", "Tom"),
        "film_type_code": ("short", "long"),
    },
)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Find the majors of members who have chair choices.", [("law",), ("art",)]),
        ("How many members have a purser choice?", [(2,)]),
        ("How many members have no purser choice?", [(1,)]),
        ("What is the average age of members with purser choices in the autumn season?", [(40.0,)]),
    ],
)
def test_a_role_of_what_is_asked_for_says_by_which_key_it_is_known(
    question: str, rows: list[tuple[object, ...]]
) -> None:
    assert _answer(question, CLUB, CLUB_ROWS) == rows


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Show all directors", [("Mia",), ("Leo",)]),
        ("List all directors along with the number of films directed by each director", [("Leo", 2), ("Mia", 1)]),
        ("What is the average size of films?", [(pytest.approx(633.33, abs=0.01),)]),
        ("What is the most common film type?", [("long",)]),
        ("What is the address of each critic?", [("Hill 1",), ("Dale 2",)]),
        ("What are the phones of the owners or tenants?", [("11",), ("22",)]),
        ("Find the number of halls", [(2,)]),
    ],
)
def test_a_column_is_found_by_what_people_call_it(question: str, rows: list[tuple[object, ...]]) -> None:
    assert sorted(_answer(question, CINEMA, CINEMA_ROWS), key=str) == sorted(rows, key=str)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("What is the lowest and highest size of films?", [(300, 900)]),
        ("Find the maximum and minimum number of stars", [(5, 2)]),
        ("Show the directors who made one film", [("Mia",)]),
        ("For all directors who made more than one film, return the titles of films and the director", [("Leo", "Dust"), ("Leo", "Echo Express")]),
        ("Show the film types that have not included films with the director Mia", [("long",)]),
        ("Show the director names", [("Mia",), ("Leo",), ("Leo",)]),
        ("How many films have 'Express' in their titles?", [(1,)]),
        ("How many film ratings have more than 3 stars?", [(2,)]),
        ("Show the titles of films. Sort the results by title", [("Dust",), ("Echo Express",), ("Salt",)]),
        ("What are the average stars of films that are not rated by Sara?", [(3.0,)]),
        ("Find the name of the critic and the title of the film of each rating", [("Sara", "Salt"), ("Tom", "Salt"), ("Tom", "Dust"), ("Tom", "Echo Express")]),
        ("Find the title of the film that is broadcast most frequently", [("Dust",)]),
        ("Which critics did not give 4 stars?", [("Sara",)]),
    ],
)  # fmt: skip
def test_extremes_parts_of_texts_and_negations_are_read(question: str, rows: list[tuple[object, ...]]) -> None:
    found = _answer(question, CINEMA, CINEMA_ROWS)
    assert sorted(map(sorted_row, found)) == sorted(map(sorted_row, rows))


BUREAU_ROWS = """
CREATE TABLE town (town_id INTEGER, town_name TEXT, residents INTEGER, total_horses INTEGER);
CREATE TABLE contest (contest_id INTEGER, theme TEXT, month TEXT, host_town_id INTEGER REFERENCES town (town_id));
CREATE TABLE office (office_id INTEGER, place TEXT, town_id INTEGER, WiFi TEXT, opened_year INTEGER);
CREATE TABLE clerk (clerk_id INTEGER, clerk_name TEXT, age INTEGER);
CREATE TABLE clerk_enrolment (enrolment_id INTEGER, clerk_id INTEGER, contest_id INTEGER, fee INTEGER);
CREATE TABLE rating (rating_id INTEGER, contest_id INTEGER, stars INTEGER);
INSERT INTO town VALUES (1, 'Ulm', 900, 10), (2, 'Bonn', 5000, 30);
INSERT INTO contest VALUES (1, 'Jam', 'May', 1), (2, 'Bread', 'June', 2), (3, 'Cake', 'May', 2);
INSERT INTO office VALUES (1, 'Port', 1, 'No', 2001), (2, 'Port', 1, 'Yes', 2009), (3, 'Hill', 2, 'No', 2011);
INSERT INTO clerk VALUES (1, 'Ann Roe', 30), (2, 'Bob Poe', 50), (3, 'Cat Moe', 70);
INSERT INTO clerk_enrolment VALUES (1, 1, 1, 5), (2, 1, 2, 7), (3, 2, 2, 9);
INSERT INTO rating VALUES (1, 1, 5), (2, 1, 4), (3, 2, 3);
"""
BUREAU = catalog_of(
    BUREAU_ROWS,
    {
        "town_name": ("Ulm", "Bonn"),
        "month": ("May", "June"),
        "theme": ("Jam", "Bread", "Cake"),
        "place": ("Port", "Hill"),
        "WiFi": ("Yes", "No"),
        "clerk_name": ("Ann Roe", "Bob Poe", "Cat Moe"),
    },
)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("What are the themes of contests with host towns having more than 1000 residents?", [("Bread",), ("Cake",)]),
        ("What is the total number of horses in Bonn?", [(30,)]),
        ("How many contests are in May?", [(2,)]),
        ("How many offices were opened after the year 2008?", [(2,)]),
        ("How many offices have no wifi?", [(2,)]),
        ("What are all the places with an office?", [("Port",), ("Hill",)]),
        ("How many distinct clerks are enrolled in contests?", [(2,)]),
        ("What are the different months, and how many contests have each?", [("May", 2), ("June", 1)]),
        ("What is the average age of clerks enrolled in contests in Bonn?", [(40.0,)]),
        ("Find the names of clerks who are enrolled in contests with stars above 2", [("Ann Roe",), ("Bob Poe",)]),
        ("Show the theme and highest stars for each contest", [("Jam", 5), ("Bread", 3)]),
        ("What is the theme of the contest with the highest average rating?", [("Jam",)]),
        ("Which places opened after 2005?", [("Port",), ("Hill",)]),
        ("Show the themes and ratings of contests", [("Jam", 5), ("Jam", 4), ("Bread", 3)]),
        ("Which clerks are above age 40 but not under age 60?", [("Cat Moe",)]),
        ("Find the clerks whose maximum fee is above 8", [("Bob Poe",)]),
    ],
)
def test_host_towns_stored_months_and_rows_that_would_stand_twice(
    question: str, rows: list[tuple[object, ...]]
) -> None:
    found = _answer(question, BUREAU, BUREAU_ROWS)
    assert sorted(map(sorted_row, found)) == sorted(map(sorted_row, rows))


@pytest.mark.parametrize(
    "question",
    [
        "Show the names of clerks that have more than one record",
        "How many clerks are enrolled in a fee",
    ],
)
def test_what_counts_or_leaves_out_itself_is_asked_back(question: str) -> None:
    assert isinstance(translate(question, BUREAU, today=TODAY), NotRead)


@pytest.mark.parametrize(
    "question",
    [
        "Halls with an opening bigger than 2",
        "Which films were not rated by any critic with blue stars?",
        "What are the highest stars of the worst?",
    ],
)
def test_what_is_said_of_a_figure_or_a_column_is_never_passed_over(question: str) -> None:
    assert isinstance(translate(question, CINEMA, today=TODAY), NotRead)


def test_other_names_are_those_of_whoever_did_it_of_types_and_of_each_of_two() -> None:
    assert list(other_names(("published", "by"))) == [("publisher",), ("publishor",), ("publishr",)]
    assert list(other_names(("address", "line", "1"))) == [("address",)]
    assert list(other_names(("order", "type", "code"))) == [("order", "type")]
    assert list(other_names(("course", "author", "and", "tutor"))) == [
        ("course", "author"),
        ("tutor",),
        ("course", "tutor"),
    ]
    assert list(other_names(("by",))) == []


_WORDS = [
    "not",
    "never",
    "without",
    "''",
    '""',
    "each",
    "of",
    "the",
    "and",
    "or",
    ",",
    ".",
    "?",
    "highest",
    "lowest",
    "average",
    "number",
    "per",
    "by",
    "from",
    "to",
    "more",
    "than",
    "less",
    "than",
    "5",
    "2020",
    "May",
    "last",
    "first",
    "most",
    "fewest",
    "total",
    "their",
    "its",
    "who",
    "which",
    "'Salt'",
    "between",
    "longer",
    "than",
    "60",
    "minutes",
    "still",
    "running",
    "called",
    "do",
    "have",
    "films",
    "critics",
    "stars",
    "halls",
    "broadcast",
    "directors",
    "owners",
    "names",
    "titles",
    "count",
    "of",
    "rated",
    "opened",
    "after",
    "before",
    "how",
    "many",
    "what",
    "is",
    "show",
]


@pytest.mark.long
@pytest.mark.parametrize("questions", [60, pytest.param(600, marks=pytest.mark.slow)])
def test_no_order_of_words_ends_in_an_exception(questions: int) -> None:
    draw = random.Random(7)
    for _ in range(questions):
        question = " ".join(draw.choices(_WORDS, k=draw.randint(1, 12)))
        assert translate(question, draw.choice((CLUB, CINEMA, BUREAU)), today=TODAY) is not None, question


def sorted_row(row: tuple[object, ...]) -> list[str]:
    """Columns may stand in any order."""
    return sorted(map(str, row))


def _answer(question: str, catalog: Catalog, script: str) -> list[tuple[object, ...]]:
    found = translate(question, catalog, today=TODAY)
    assert isinstance(found, Translated), found
    return rows_of(script, found.sql)
