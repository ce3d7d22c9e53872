"""What days say without being named, deeds without a row, money that is spent or owed, and names of persons: over a music school."""

from __future__ import annotations

from datetime import date

import pytest

from querybus.core.catalog import Catalog
from querybus_translator import NotRead, Translated, translate
from tests.support.scripted_catalog import catalog_of, rows_of

TODAY = date(2026, 6, 30)
ROWS = """
CREATE TABLE instruments (instrument_id INTEGER PRIMARY KEY, title TEXT, make TEXT, weight_kg REAL);
CREATE TABLE copies (copy_id INTEGER PRIMARY KEY, instrument_id INTEGER, acquired_on DATE, purchase_price REAL);
CREATE TABLE pupils (pupil_id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT);
CREATE TABLE tutors (tutor_id INTEGER PRIMARY KEY, full_name TEXT);
CREATE TABLE lends (lend_id INTEGER PRIMARY KEY, copy_id INTEGER, pupil_id INTEGER, tutor_id INTEGER, lent_on DATE, due_on DATE, returned_on DATE, days INTEGER);
CREATE TABLE fines (fine_id INTEGER PRIMARY KEY, lend_id INTEGER, amount REAL, paid_on DATE);
CREATE TABLE halls (hall_id INTEGER PRIMARY KEY, hall_state TEXT, kind TEXT, area_sqm REAL);
CREATE TABLE offers (offer_id INTEGER PRIMARY KEY, hall_id INTEGER, offered_on DATE, amount REAL);
CREATE TABLE sales (sale_id INTEGER PRIMARY KEY, offer_id INTEGER, sold_on DATE, sale_price REAL);
CREATE TABLE concerts (concert_id INTEGER PRIMARY KEY, title TEXT, held_on DATE, ticket_sku TEXT);
INSERT INTO instruments VALUES (1, 'Violin', 'Amati', 1), (2, 'Cello', 'Stern', 4), (3, 'Tuba', 'Stern', 9);
INSERT INTO copies VALUES (1, 1, '2024-05-01', 100), (2, 2, '2025-05-01', 300), (3, 3, '2025-06-01', 500);
INSERT INTO pupils VALUES (1, 'Ann', 'Wolf'), (2, 'Bob', 'Koch'), (3, 'Cid', 'Lam');
INSERT INTO tutors VALUES (1, 'Ida Roth'), (2, 'Kai Lund');
INSERT INTO lends VALUES
  (1, 1, 1, 1, '2026-01-01', '2026-02-01', '2026-01-20', 19), (2, 1, 1, 1, '2026-03-01', '2026-04-01', '2026-04-09', 39),
  (3, 2, 2, 2, '2026-05-01', '2026-06-01', NULL, NULL), (4, 2, 1, 2, '2026-06-20', '2026-07-20', NULL, NULL),
  (5, 2, 2, 2, '2026-02-01', '2026-03-01', '2026-02-20', 19);
INSERT INTO fines VALUES (1, 2, 4, '2026-05-01'), (2, 3, 7, NULL);
INSERT INTO halls VALUES (1, 'available', 'studio', 80), (2, 'sold', 'studio', 300), (3, 'available', 'stage', 500);
INSERT INTO offers VALUES (1, 1, '2026-02-01', 100), (2, 2, '2026-03-01', 300);
INSERT INTO sales VALUES (1, 2, '2026-04-01', 290), (2, 1, '2026-05-01', 110);
INSERT INTO concerts VALUES (1, 'Spring', '2026-04-01', 'S1'), (2, 'Autumn', '2026-10-01', 'A1');
"""
HELD = {"make": ("Amati", "Stern"), "hall_state": ("available", "sold"), "kind": ("studio", "stage")}
EMPTY = frozenset({"returned_on", "paid_on", "days"})


def school() -> Catalog:
    found = catalog_of(ROWS, HELD, nullable=EMPTY)
    persons = {("pupils", "first_name"), ("pupils", "last_name"), ("tutors", "full_name")}
    tables = [
        table.model_copy(
            update={
                "columns": tuple(
                    column.model_copy(update={"personal": True, "person_name": True})
                    if (table.name, column.name) in persons
                    else column
                    for column in table.columns
                )
            }
        )
        for table in found.tables
    ]
    return found.model_copy(update={"tables": tuple(tables)})


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("How many lends are overdue?", [(1,)]),
        ("Overdue lends by instrument", [("Cello", 1)]),
        ("How many lends were returned late?", [(1,)]),
        ("How many lends were returned late in 2025?", [(0,)]),
        ("How many lends are late?", [(2,)]),
        ("Share of lends returned on time", [(40.0,)]),
        ("Upcoming concerts", [("Autumn",)]),
        ("Which instruments are currently on lends?", [("Cello",)]),
        # No row between, however many tables lie there.
        ("Which instruments were never lent?", [("Tuba",)]),
        ("Which pupils never lent a copy?", [("Cid", "Lam")]),
        ("Which instrument is lent most often?", [("Cello",)]),
        ("Pupils who have lent more than 2 times", [("Ann", "Wolf")]),
        # Money that goes out, that is owed, and rows that are money.
        ("What did we spend on copies in 2025?", [(800.0,)]),
        ("How much do pupils still owe?", [(7.0,)]),
        ("Average fine", [(5.5,)]),
        # A column that is called as a small word.
        ("Average weight by make", [("Amati", 1.0), ("Stern", 6.5)]),
        # What is stored just so, though the word says little elsewhere.
        ("How many halls are available?", [(2,)]),
        ("How many available studios are there?", [(1,)]),
        ("How many halls are larger than 200 sqm?", [(2,)]),
        # Rows have one amount, or one price.
        ("Highest offer", [(2, "2026-03-01", 300.0)]),
        ("Average offer", [(200.0,)]),
        ("Total sales this year", [(400.0,)]),
        # Names of persons, whom the catalog does not list.
        ("Fines of pupil Bob Koch", [(2, None, 7.0)]),
        ("How many lends did tutor Ida Roth make?", [(2,)]),
        ("How many lends did pupil Ann Wolf make?", [(3,)]),
    ],
)
def test_it_is_answered_right(question: str, rows: list[tuple[object, ...]]) -> None:
    found = translate(question, school(), today=TODAY)
    assert isinstance(found, Translated), found
    assert sorted(rows_of(ROWS, found.sql), key=str) == sorted(rows, key=str), found.sql


def test_whose_name_it_is_is_asked_where_it_may_be_that_of_several() -> None:
    read = translate("Lends of Ida Roth", school(), today=TODAY)
    assert isinstance(read, NotRead)
    assert read.options[:2] == ("Lends of pupil Ida Roth", "Lends of tutor Ida Roth")


def test_a_name_of_ordinary_words_is_offered_as_whose_it_may_be() -> None:
    read = translate("Lends of Green Stone", school(), today=TODAY)
    assert isinstance(read, NotRead)
    assert read.options[:2] == ("Lends of pupil Green Stone", "Lends of tutor Green Stone")


@pytest.mark.parametrize(
    "question",
    [
        # What we pay is not what is paid to us.
        "How much did we spend in 2026?",
        # How long something took is no weight.
        "Which instruments took longest?",
        # Pupils and tutors may be meant.
        "Who never lent a copy?",
        # A figure that is written in capitals is nobody's name.
        "What is the Net Promoter Score?",
        # Places stand behind "in" and "from", and are no persons.
        "Lends from New Harbour",
    ],
)
def test_what_would_be_another_question_is_asked_back(question: str) -> None:
    assert isinstance(translate(question, school(), today=TODAY), NotRead)
