"""Questions over a club that votes and a cinema that nobody described: roles, other names of columns, negations, extremes."""

from __future__ import annotations

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


def sorted_row(row: tuple[object, ...]) -> list[str]:
    """Columns may stand in any order."""
    return sorted(map(str, row))


def _answer(question: str, catalog: Catalog, script: str) -> list[tuple[object, ...]]:
    found = translate(question, catalog, today=TODAY)
    assert isinstance(found, Translated), found
    return rows_of(script, found.sql)
