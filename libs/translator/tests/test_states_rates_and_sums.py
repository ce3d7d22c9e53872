"""Questions over a restaurant, a charity and a practice that nobody described: what is open or low, rates of what is stored, sums of what was done."""

from __future__ import annotations

from datetime import date

import pytest

from querybus.core.catalog import Catalog
from querybus_translator import NotRead, Translated, translate
from tests.support.scripted_catalog import catalog_of, rows_of

TODAY = date(2026, 11, 26)

KITCHEN_ROWS = """
CREATE TABLE restaurants (restaurant_id INTEGER, restaurant_name TEXT, city TEXT, seats INTEGER, opened_on DATE, closed_on DATE);
CREATE TABLE employees (employee_id INTEGER, name TEXT, role TEXT, hourly_wage REAL, hired_on DATE, restaurant_id INTEGER);
CREATE TABLE shifts (shift_id INTEGER, employee_id INTEGER, work_date DATE, hours REAL);
CREATE TABLE menu_items (item_id INTEGER, item_name TEXT, course TEXT, price REAL, cost REAL, calories INTEGER);
CREATE TABLE guest_checks (check_id INTEGER, restaurant_id INTEGER, opened_at DATETIME, total REAL, tip REAL, payment TEXT);
CREATE TABLE check_lines (line_id INTEGER, check_id INTEGER, item_id INTEGER, quantity INTEGER);
CREATE TABLE reservations (reservation_id INTEGER, restaurant_id INTEGER, reserved_for DATETIME, people INTEGER, state TEXT);
CREATE TABLE reviews (review_id INTEGER, restaurant_id INTEGER, stars INTEGER, comment TEXT, posted_on DATE);
INSERT INTO restaurants VALUES (1, 'Olive', 'Porto', 60, '2015-01-01', NULL), (2, 'Door', 'Porto', 40, '2018-01-01', NULL), (3, 'Grill', 'Faro', 90, '2012-01-01', '2026-03-31');
INSERT INTO employees VALUES (1, 'Ana Reis', 'waiter', 10, '2014-01-01', 1), (2, 'Rui Melo', 'cook', 12, '2020-01-01', 1), (3, 'Ines Pinto', 'waiter', 9, '2026-02-01', 2);
INSERT INTO shifts VALUES (1, 1, '2026-11-02', 4), (2, 1, '2026-11-03', 4), (3, 2, '2026-11-02', 7), (4, 3, '2025-11-02', 20);
INSERT INTO menu_items VALUES (1, 'Espresso', 'drink', 1.8, 0.2, 5), (2, 'Tart', 'dessert', 3.2, 1, 600), (3, 'Cake', 'dessert', 6, 2, 400);
INSERT INTO guest_checks VALUES (1, 1, '2026-10-05 12:00:00', 30, 3, 'card'), (2, 2, '2026-11-05 20:00:00', 50, 1, 'cash'), (3, 2, '2026-11-06 20:00:00', 120, 9, 'card'), (4, 1, '2026-11-07 20:00:00', 20, 0, 'card');
INSERT INTO check_lines VALUES (1, 1, 1, 2), (2, 1, 1, 3), (3, 2, 1, 7), (4, 3, 2, 1);
INSERT INTO reservations VALUES (1, 1, '2026-11-28 19:00:00', 4, 'confirmed'), (2, 1, '2026-11-21 19:00:00', 6, 'no show'), (3, 2, '2026-11-29 12:00:00', 3, 'seated'), (4, 2, '2026-12-05 12:00:00', 2, 'seated');
INSERT INTO reviews VALUES (1, 1, 5, 'great', '2026-05-01'), (2, 1, 3, 'fine', '2026-06-01'), (3, 2, 1, 'cold', '2026-06-02'), (4, 2, 1, 'slow', '2025-06-02');
"""
KITCHEN = catalog_of(
    KITCHEN_ROWS,
    {
        "city": ("Porto", "Faro"),
        "role": ("waiter", "cook"),
        "course": ("drink", "dessert"),
        "payment": ("card", "cash"),
        "state": ("confirmed", "no show", "seated"),
        "restaurant_name": ("Olive", "Door", "Grill"),
        "item_name": ("Espresso", "Tart", "Cake"),
        "comment": ("great", "fine", "cold", "slow"),
    },
    nullable=frozenset({"closed_on"}),
)

CHARITY_ROWS = """
CREATE TABLE donors (donor_id INTEGER, display_name TEXT, donor_type TEXT, first_contact DATE, newsletter BOOLEAN);
CREATE TABLE campaigns (campaign_id INTEGER, title TEXT, start_date DATE, end_date DATE);
CREATE TABLE donations (donation_id INTEGER, donor_id INTEGER, campaign_id INTEGER, received_on DATE, amount REAL);
CREATE TABLE projects (project_id INTEGER, project_name TEXT, region TEXT, budget REAL, started_on DATE, finished_on DATE);
CREATE TABLE volunteers (volunteer_id INTEGER, first_name TEXT, last_name TEXT, joined_on DATE, left_on DATE);
CREATE TABLE volunteer_hours (entry_id INTEGER, volunteer_id INTEGER, worked_on DATE, hours REAL);
CREATE TABLE grants (grant_id INTEGER, foundation TEXT, awarded REAL, decision TEXT);
INSERT INTO donors VALUES (1, 'Ada', 'individual', '2026-01-05', 1), (2, 'Apex', 'company', '2025-01-05', 0), (3, 'Delta', 'company', '2026-05-05', 1);
INSERT INTO campaigns VALUES (1, 'Winter', '2025-01-01', '2025-05-01'), (2, 'Water', '2026-10-01', '2026-12-31');
INSERT INTO donations VALUES (1, 1, 1, '2025-02-01', 50), (2, 2, 2, '2026-10-05', 70), (3, 2, 2, '2026-11-05', 10);
INSERT INTO projects VALUES (1, 'Wells', 'Africa', 100, '2023-01-01', '2025-01-01'), (2, 'Trees', 'Africa', 50, '2024-01-01', NULL), (3, 'Lunch', 'Asia', 30, '2025-01-01', NULL);
INSERT INTO volunteers VALUES (1, 'Bo', 'Hall', '2024-01-01', NULL), (2, 'Cy', 'Kerr', '2024-02-01', '2025-01-01'), (3, 'Di', 'Lowe', '2025-01-01', NULL);
INSERT INTO volunteer_hours VALUES (1, 1, '2026-10-01', 4), (2, 2, '2024-10-01', 8);
INSERT INTO grants VALUES (1, 'Terra', 40, 'approved'), (2, 'Terra', NULL, 'pending'), (3, 'Lumen', 20, 'approved'), (4, 'Terra', 5, 'approved'), (5, 'Lumen', NULL, 'declined');
"""
CHARITY = catalog_of(
    CHARITY_ROWS,
    {
        "donor_type": ("individual", "company"),
        "title": ("Winter", "Water"),
        "region": ("Africa", "Asia"),
        "foundation": ("Terra", "Lumen"),
        "decision": ("approved", "pending", "declined"),
    },
    nullable=frozenset({"finished_on", "left_on", "awarded"}),
)

PRACTICE_ROWS = """
CREATE TABLE Dentist (dentistId INTEGER, fullName TEXT);
CREATE TABLE Patient (patientId INTEGER, firstName TEXT, lastName TEXT, birthDate DATE, registeredOn DATE, dentistId INTEGER);
CREATE TABLE Appointment (appointmentId INTEGER, patientId INTEGER, dentistId INTEGER, startsAt DATETIME, roomNo INTEGER, status TEXT);
CREATE TABLE TreatmentType (typeId INTEGER, title TEXT);
CREATE TABLE Treatment (treatmentId INTEGER, appointmentId INTEGER, typeId INTEGER, tooth INTEGER);
CREATE TABLE Invoice (invoiceId INTEGER, patientId INTEGER, issuedOn DATE, dueOn DATE, paidOn DATE, total REAL, coveredByInsurance REAL);
CREATE TABLE Supply (supplyId INTEGER, supplyName TEXT, onHand INTEGER, minLevel INTEGER);
INSERT INTO Dentist VALUES (1, 'Nora Falk'), (2, 'Owen Price');
INSERT INTO Patient VALUES (1, 'Eva', 'Ek', '1950-01-01', '2026-01-10', 1), (2, 'Ben', 'Costa', '1980-01-01', '2026-01-20', 2), (3, 'Gina', 'Bauer', '1940-01-01', '2026-02-10', 2);
INSERT INTO Appointment VALUES (1, 1, 1, '2026-03-01 09:00:00', 2, 'no-show'), (2, 1, 1, '2026-04-01 09:00:00', 2, 'completed'), (3, 2, 2, '2025-03-01 09:00:00', 1, 'completed');
INSERT INTO TreatmentType VALUES (1, 'Filling'), (2, 'Crown');
INSERT INTO Treatment VALUES (1, 2, 1, 11), (2, 2, 1, 12), (3, 3, 1, 11), (4, 3, 2, 11);
INSERT INTO Invoice VALUES (1, 1, '2026-01-01', '2026-01-31', '2026-01-11', 100, 40), (2, 2, '2026-01-01', '2026-01-31', '2026-01-21', 50, 10), (3, 2, '2025-06-01', '2025-07-01', NULL, 70, 20);
INSERT INTO Supply VALUES (1, 'Gloves', 5, 20), (2, 'Masks', 90, 20);
"""
PRACTICE = catalog_of(
    PRACTICE_ROWS,
    {"status": ("no-show", "completed"), "title": ("Filling", "Crown"), "supplyName": ("Gloves", "Masks")},
    nullable=frozenset({"paidOn"}),
)


@pytest.mark.parametrize(
    ("catalog", "script", "question", "rows"),
    [
        # How it is now, by the days that say so.
        (KITCHEN, KITCHEN_ROWS, "How many one star reviews did we get this year?", [(1,)]),
        (KITCHEN, KITCHEN_ROWS, "How many restaurants are open?", [(2,)]),
        (CHARITY, CHARITY_ROWS, "Campaigns running now", [("Water",)]),
        (CHARITY, CHARITY_ROWS, "Ongoing projects", [("Trees",), ("Lunch",)]),
        (CHARITY, CHARITY_ROWS, "How many volunteers are active?", [(2,)]),
        (CHARITY, CHARITY_ROWS, "Volunteers who left", [("Cy", "Kerr")]),
        (CHARITY, CHARITY_ROWS, "Former volunteers", [("Cy", "Kerr")]),
        (CHARITY, CHARITY_ROWS, "New donors this year", [("Ada",), ("Delta",)]),
        (PRACTICE, PRACTICE_ROWS, "New patients per month", [("2026-01", 2), ("2026-02", 1)]),
        (PRACTICE, PRACTICE_ROWS, "每月新增患者", [("2026-01", 2), ("2026-02", 1)]),
        (PRACTICE, PRACTICE_ROWS, "Which supplies are running low?", [("Gloves",)]),
        (PRACTICE, PRACTICE_ROWS, "Supplies below the minimum level", [("Gloves",)]),
        (KITCHEN, KITCHEN_ROWS, "How many people are booked for this weekend?", [(7,)]),
        (KITCHEN, KITCHEN_ROWS, "上周末有多少预订？", [(1,)]),
        # Rates of what is stored.
        (CHARITY, CHARITY_ROWS, "Grants still pending", [(2, None, "Terra", "pending")]),
        (KITCHEN, KITCHEN_ROWS, "Share of card payments", [(75.0,)]),
        # Sums of what was done, and of how many there are.
        (KITCHEN, KITCHEN_ROWS, "How many seats do we have in Porto?", [(100,)]),
        (KITCHEN, KITCHEN_ROWS, "Who worked the most hours this year?", [("Ana Reis",)]),
        (KITCHEN, KITCHEN_ROWS, "Hours worked per employee this month", [("Ana Reis", 8.0), ("Rui Melo", 7.0)]),
        (KITCHEN, KITCHEN_ROWS, "How many espressos did we sell last month?", [(5,)]),
        (PRACTICE, PRACTICE_ROWS, "How many fillings did we do in 2026?", [(2,)]),
        (CHARITY, CHARITY_ROWS, "Budget by region", [("Africa", 150.0), ("Asia", 30.0)]),
        (CHARITY, CHARITY_ROWS, "How much did we raise in 2026?", [(80.0,)]),
        (CHARITY, CHARITY_ROWS, "Money raised per campaign", [("Winter", 50.0), ("Water", 80.0)]),
        (CHARITY, CHARITY_ROWS, "How much money did Terra award?", [(45.0,)]),
        (PRACTICE, PRACTICE_ROWS, "How much was covered by insurance in 2025?", [(20.0,)]),
        (PRACTICE, PRACTICE_ROWS, "How much money is outstanding?", [(70.0,)]),
        (PRACTICE, PRACTICE_ROWS, "Who owes us the most?", [("Ben", "Costa")]),
        (KITCHEN, KITCHEN_ROWS, "Average check", [(55.0,)]),
        # Who and which.
        (KITCHEN, KITCHEN_ROWS, "Who works at Olive?", [("Ana Reis",), ("Rui Melo",)]),
        (KITCHEN, KITCHEN_ROWS, "Headcount by role", [("cook", 1), ("waiter", 2)]),
        (CHARITY, CHARITY_ROWS, "How many companies donate to us?", [(1,)]),
        (CHARITY, CHARITY_ROWS, "Donors who get the newsletter", [("Ada",), ("Delta",)]),
        (CHARITY, CHARITY_ROWS, "Volunteers without hours", [("Di", "Lowe")]),
        (PRACTICE, PRACTICE_ROWS, "Which tooth is treated most often?", [(11,)]),
        (PRACTICE, PRACTICE_ROWS, "Most common treatment", [("Filling",)]),
        (PRACTICE, PRACTICE_ROWS, "Last appointment of patient 1", [(2, "2026-04-01 09:00:00", 2, "completed")]),
        (PRACTICE, PRACTICE_ROWS, "Average time to pay an invoice", [(15.0,)]),
        # Stars and prices.
        (KITCHEN, KITCHEN_ROWS, "Average rating per restaurant", [("Olive", 4.0), ("Door", 1.0)]),
        (KITCHEN, KITCHEN_ROWS, "Desserts under 5 euros", [("Tart",)]),
    ],
)
def test_it_is_answered(catalog: Catalog, script: str, question: str, rows: list[tuple[object, ...]]) -> None:
    found = translate(question, catalog, today=TODAY)
    assert isinstance(found, Translated), found
    assert rows_of(script, found.sql) == rows, found.sql


@pytest.mark.parametrize(
    ("catalog", "question", "option"),
    [
        # A tip is no percentage of itself, and an unknown thing is one of the tables.
        (KITCHEN, "Average tip percentage", None),
        (KITCHEN, "Dishes with more than 500 calories", "Menu items with more than 500 calories"),
        (KITCHEN, "What hour of the day is busiest?", "Which hour of the day has the most shifts?"),
        (PRACTICE, "Busiest day of the week", "Which weekday has the most appointments?"),
        (PRACTICE, "Busiest month", "Which month has the most appointments?"),
    ],
)
def test_it_is_asked_back_with_what_it_may_mean(catalog: Catalog, question: str, option: str | None) -> None:
    found = translate(question, catalog, today=TODAY)
    assert isinstance(found, NotRead), found
    assert option is None or option in found.options


def test_a_bill_is_the_check_of_a_guest() -> None:
    found = translate("Bills over 100 euros", KITCHEN, today=TODAY)
    assert isinstance(found, Translated), found
    assert 'FROM "guest_checks" WHERE "total" > 100' in found.sql


def test_an_option_of_several_things_has_their_plural() -> None:
    found = translate("Which zebras are there?", PRACTICE, today=TODAY)
    assert isinstance(found, NotRead)
    assert "How many dentists are there?" in found.options
