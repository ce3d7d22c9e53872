"""Questions over flats to let and over tickets of a helpdesk that nobody described, as those who run them would ask."""

from __future__ import annotations

from datetime import date

import pytest

from querybus_translator import Translated, translate
from tests.support.scripted_catalog import catalog_of, rows_of

TODAY = date(2026, 11, 29)

FLATS_ROWS = """
CREATE TABLE landlords (landlord_id INTEGER, name TEXT, city TEXT, email TEXT);
CREATE TABLE buildings (building_id INTEGER, address TEXT, city TEXT, built_year INTEGER, has_lift BOOLEAN, landlord_id INTEGER);
CREATE TABLE flats (flat_id INTEGER, building_id INTEGER, floor INTEGER, rooms INTEGER, area_sqm REAL, monthly_rent REAL);
CREATE TABLE repairs (repair_id INTEGER, flat_id INTEGER, reported_on DATE, category TEXT, cost REAL, status TEXT);
INSERT INTO landlords VALUES (1, 'Ada Hall', 'Leeds', 'a@x.org'), (2, 'Bo Jung', 'York', 'b@x.org');
INSERT INTO buildings VALUES (1, '3 Mill Street', 'Leeds', 1930, 0, 1), (2, '8 Park Lane', 'Leeds', 1990, 1, 2), (3, '9 High Street', 'York', 2005, 1, 1);
INSERT INTO flats VALUES (1, 1, 0, 2, 55, 700), (2, 1, 1, 3, 82, 950), (3, 2, 2, 1, 30, 500), (4, 3, 1, 5, 120, 1600);
INSERT INTO repairs VALUES (1, 1, '2023-02-01', 'heating', 100, 'done'), (2, 1, '2024-03-01', 'heating', 50, 'open'),
    (3, 2, '2024-05-01', 'plumbing', 900, 'done'), (4, 4, '2024-06-01', 'plumbing', 300, 'open');
"""
FLATS = catalog_of(
    FLATS_ROWS,
    {"city": ("Leeds", "York"), "category": ("heating", "plumbing"), "status": ("done", "open")},
)

TICKETS_ROWS = """
CREATE TABLE companies (company_id INTEGER, name TEXT, industry TEXT, country TEXT, employees INTEGER);
CREATE TABLE contacts (contact_id INTEGER, company_id INTEGER, first_name TEXT, last_name TEXT);
CREATE TABLE agents (agent_id INTEGER, name TEXT, team TEXT);
CREATE TABLE tickets (ticket_id INTEGER, contact_id INTEGER, agent_id INTEGER, subject TEXT, status TEXT, opened_at DATETIME);
CREATE TABLE ratings (rating_id INTEGER, ticket_id INTEGER, score INTEGER);
INSERT INTO companies VALUES (1, 'Nordwind', 'Energy', 'Spain', 40), (2, 'Seatech', 'Software', 'Austria', 900), (3, 'Lumex', 'Energy', 'Spain', 10);
INSERT INTO contacts VALUES (1, 1, 'Ann', 'Lee'), (2, 2, 'Ben', 'Fox'), (3, 3, 'Cleo', 'Ray');
INSERT INTO agents VALUES (1, 'Dora Frank', 'Billing'), (2, 'Emil Hess', 'Technical'), (3, 'Fay Kunz', 'Technical');
INSERT INTO tickets VALUES (1, 1, 1, 'Login', 'open', '2024-01-01 09:00:00'), (2, 1, 2, 'Page', 'closed', '2024-01-02 09:00:00'), (3, 1, 2, 'Page', 'closed', '2024-01-03 09:00:00'),
    (4, 2, 1, 'Login', 'open', '2024-01-04 09:00:00'), (5, 2, 1, 'Login', 'open', '2024-01-05 09:00:00');
INSERT INTO ratings VALUES (1, 1, 5), (5, 2, 1), (3, 3, 4);
"""
TICKETS = catalog_of(
    TICKETS_ROWS,
    {
        "industry": ("Energy", "Software"),
        "country": ("Austria", "Spain"),
        "team": ("Billing", "Technical"),
        "subject": ("Login", "Page"),
        "status": ("closed", "open"),
    },
)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Which buildings have no lift?", [("3 Mill Street",)]),
        ("How many flats does each building have?", [("3 Mill Street", 2), ("8 Park Lane", 1), ("9 High Street", 1)]),
        ("How many flats have 2 to 3 rooms?", [(2,)]),
        ("How many flats have 3+ rooms?", [(2,)]),
        ("What is the average rent in York?", [(1600,)]),
        ("Which city has the most flats?", [("Leeds",)]),
        ("How many repairs are done?", [(2,)]),
        ("How many repairs are not done?", [(2,)]),
    ],
)
def test_of_flats(question: str, rows: list[tuple[object, ...]]) -> None:
    found = translate(question, FLATS, today=TODAY)
    assert isinstance(found, Translated), found
    assert rows_of(FLATS_ROWS, found.sql) == rows


@pytest.mark.parametrize(
    "question", ["How much do we spend on heating per year?", "How much did plumbing cost per year?"]
)
def test_how_much_was_spent_is_never_answered_by_how_many(question: str) -> None:
    found = translate(question, FLATS, today=TODAY)
    assert not isinstance(found, Translated) or "COUNT(" not in found.sql


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        # The state in which tickets are is another word than what is done.
        ("Which company opens the most tickets?", [("Nordwind",)]),
        ("How many people work in each team?", [("Billing", 1), ("Technical", 2)]),
        ("How many tickets were rated 5?", [(1,)]),
        ("How many tickets got one star?", [(1,)]),
        ("Which industries do our companies work in?", [("Energy",), ("Software",)]),
        ("Which countries are our companies in?", [("Spain",), ("Austria",)]),
    ],
)
def test_of_tickets(question: str, rows: list[tuple[object, ...]]) -> None:
    found = translate(question, TICKETS, today=TODAY)
    assert isinstance(found, Translated), found
    assert rows_of(TICKETS_ROWS, found.sql) == rows
