"""Questions over a clinic for animals that nobody described: units in names, kinds in a table of their own, what was last, shares of amounts."""

from __future__ import annotations

from datetime import date

import pytest

from querybus_translator import NotRead, Translated, translate
from tests.support.scripted_catalog import catalog_of, rows_of

TODAY = date(2026, 6, 30)
ROWS = """
CREATE TABLE owners (owner_id INTEGER, first_name TEXT, last_name TEXT, city TEXT, joined_on DATE);
CREATE TABLE species (species_id INTEGER, species_name TEXT);
CREATE TABLE animals (animal_id INTEGER, owner_id INTEGER, species_id INTEGER, name TEXT, birth_date DATE, weight_kg REAL);
CREATE TABLE vets (vet_id INTEGER, full_name TEXT, hired_on DATE);
CREATE TABLE visits (visit_id INTEGER, animal_id INTEGER, vet_id INTEGER, visited_at DATETIME, duration_minutes INTEGER);
CREATE TABLE invoices (invoice_id INTEGER, visit_id INTEGER, issued_on DATE, paid_on DATE, amount REAL, payment_method TEXT);
INSERT INTO owners VALUES (1, 'Ada', 'Wolf', 'Ghent', '2025-01-01'), (2, 'Bo', 'Maes', 'Bruges', '2026-02-01');
INSERT INTO species VALUES (1, 'dog'), (2, 'cat');
INSERT INTO animals VALUES (1, 1, 1, 'Rex', '2012-01-01', 30), (2, 1, 2, 'Luna', '2024-05-01', 4), (3, 2, 2, 'Milo', '2020-03-01', 6);
INSERT INTO vets VALUES (1, 'Eva Nijs', '2020-01-01'), (2, 'Tom Baert', '2023-01-01');
INSERT INTO visits VALUES (1, 1, 1, '2026-03-01 09:00:00', 20), (2, 2, 1, '2026-06-01 09:00:00', 40), (3, 3, 2, '2026-05-01 09:00:00', 60);
INSERT INTO invoices VALUES (1, 1, '2026-03-01', '2026-03-02', 50, 'card'), (2, 2, '2026-06-01', NULL, 30, 'cash'), (3, 3, '2026-05-01', NULL, 120, 'card');
"""
HELD = {"species_name": ("dog", "cat"), "payment_method": ("card", "cash"), "city": ("Ghent", "Bruges")}
CLINIC = catalog_of(ROWS, HELD, nullable=frozenset({"paid_on", "payment_method"}))


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        # What a name says beyond the word is only what it is measured in.
        ("What is the average weight of cats?", [(5.0,)]),
        ("Average visit duration by vet", [("Eva Nijs", 30.0), ("Tom Baert", 60.0)]),
        ("Which animals are older than 10 years?", [("Rex",)]),
        # A reading that passes over "by city" is no rival of one that reads it.
        ("What is the average invoice amount by city?", [("Bruges", 120.0), ("Ghent", 40.0)]),
        ("Owners in Ghent with a cat", [("Ada", "Wolf")]),
        # A dog is an animal of that kind.
        ("How many dogs are there?", [(1,)]),
        ("List all cats", [("Luna",), ("Milo",)]),
        ("The heaviest cat", [("Milo",)]),
        ("cats of owners in Ghent", [("Luna",)]),
        # The latest is no matter of minutes, and the last is no last name.
        ("Which visit was the most recent?", [(2, "2026-06-01 09:00:00", 40)]),
        ("Which vet was hired most recently?", [("Tom Baert",)]),
        ("Which owner joined last?", [("Bo", "Maes")]),
        ("Last names of the owners", [("Maes",), ("Wolf",)]),
        ('How many animals does the owner "Ada Wolf" have?', [(2,)]),
        # Of an amount, and of what has no day of payment.
        ("Share of the amount by payment method", [("card", 85.0), ("cash", 15.0)]),
        ("What share of the invoiced amount is cash?", [(15.0,)]),
        ("What percentage of invoices are unpaid?", [(200 / 3,)]),
        # What has no day of payment, and not what has no method of it.
        ("未付款的发票有多少张？", [(2,)]),
    ],
)
def test_a_plain_question_is_answered(question: str, rows: list[tuple[object, ...]]) -> None:
    found = translate(question, CLINIC, today=TODAY)
    assert isinstance(found, Translated), found
    assert sorted(rows_of(ROWS, found.sql), key=str) == sorted(rows, key=str)


@pytest.mark.parametrize(
    "question",
    [
        "Latest visit of each animal",
        "What is the heaviest animal of each species?",
        "The last visit per animal",
    ],
)
def test_what_would_be_another_question_is_asked_back(question: str) -> None:
    assert isinstance(translate(question, CLINIC, today=TODAY), NotRead)
