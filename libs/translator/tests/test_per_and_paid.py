"""What stands per or by something, what was paid and by whom, and what rows have: over a boat hire that nobody described."""

from __future__ import annotations

from datetime import date

import pytest

from querybus.core.catalog import Catalog
from querybus_translator import NotRead, Translated, translate
from tests.support.scripted_catalog import catalog_of, rows_of

TODAY = date(2026, 6, 30)
ROWS = """
CREATE TABLE harbours (harbour_id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE boats (boat_id INTEGER PRIMARY KEY, name TEXT, kind TEXT, price_per_day REAL, berth_number TEXT, harbour_id INTEGER);
CREATE TABLE sailors (sailor_id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT, level TEXT, joined_on DATE);
CREATE TABLE crew (crew_id INTEGER PRIMARY KEY, name TEXT, harbour_id INTEGER);
CREATE TABLE hires (hire_id INTEGER PRIMARY KEY, boat_id INTEGER, sailor_id INTEGER, opened_on DATE, closed_on DATE, passengers INTEGER, state TEXT, from_phone BOOLEAN);
CREATE TABLE payments (payment_id INTEGER PRIMARY KEY, hire_id INTEGER, paid_on DATE, amount REAL, method TEXT);
CREATE TABLE reviews (review_id INTEGER PRIMARY KEY, hire_id INTEGER, rating INTEGER, written_on DATE);
INSERT INTO harbours VALUES (1, 'North'), (2, 'South');
INSERT INTO boats VALUES (1, 'Gull', 'dinghy', 40, '7', 1), (2, 'Tern', 'yacht', 90, '9', 1), (3, 'Auk', 'dinghy', 50, '3', 2);
INSERT INTO sailors VALUES (1, 'Ann', 'Wolf', 'gold', '2024-01-01'), (2, 'Bob', 'Wolf', 'silver', '2025-01-01'), (3, 'Ann', 'Koch', 'gold', '2026-01-01');
INSERT INTO crew VALUES (1, 'Ida', 1), (2, 'Kai', 2), (3, 'Leo', 2);
INSERT INTO hires VALUES
  (1, 1, 1, '2025-05-01', '2025-06-03', 2, 'closed', 1), (2, 2, 1, '2025-05-02', NULL, 0, 'open', 0),
  (3, 3, 2, '2025-06-05', '2025-06-09', 3, 'closed', 1), (4, 1, 2, '2025-06-07', NULL, 0, 'no_show', 1);
INSERT INTO payments VALUES
  (1, 1, '2025-05-01', 80, 'card'), (2, 2, '2026-01-05', 10, 'cash'), (3, 3, NULL, 500, 'card'), (4, 4, '2025-06-07', 50, 'cash');
INSERT INTO reviews VALUES (1, 1, 2, '2025-06-04'), (2, 2, 3, '2025-06-05'), (3, 3, 4, '2025-06-10');
"""
HELD = {
    "kind": ("dinghy", "yacht"),
    "level": ("gold", "silver"),
    "state": ("closed", "open", "no_show"),
    "method": ("card", "cash"),
}


def hire() -> Catalog:
    return catalog_of(ROWS, HELD, nullable=frozenset({"closed_on", "paid_on", "passengers"}))


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        # What stands per something is a figure of each, and no bare list.
        ("passengers per harbour", [("North", 2), ("South", 3)]),
        ("rating per harbour", [("North", 2.5), ("South", 4.0)]),
        ("average rating per harbour", [("North", 2.5), ("South", 4.0)]),
        ("price per day by kind", [("dinghy", 45.0), ("yacht", 90.0)]),
        ("price per day per boat", [("Gull", 40.0), ("Tern", 90.0), ("Auk", 50.0)]),
        ("no-shows per harbour", [("North", 1)]),
        ("dinghies by harbour", [("North", 1), ("South", 1)]),
        ("closed hires per harbour", [("North", 1), ("South", 1)]),
        ("which harbour is rated best", [("South",)]),
        ("top 1 sailors by number of hires", [("Ann", "Wolf")]),
        # The month in which it was done.
        ("hires opened per month", [("2025-05", 2), ("2025-06", 2)]),
        ("hires closed by month", [("2025-06", 2)]),
        # What verbs of money are about.
        ("How much was paid in cash?", [(60.0,)]),
        ("How much was paid in 2025?", [(130.0,)]),
        ("How much was paid per month in 2025?", [("2025-05", 80.0), ("2025-06", 50.0)]),
        ("How much did each sailor pay?", [("Ann", "Wolf", 90.0), ("Bob", "Wolf", 50.0)]),
        ("Which sailor spent the most?", [("Ann", "Wolf")]),
        # By whom, and what rows have.
        ("How many hires were closed from phone?", [(2,)]),
        ("hires with passengers", [(1, "2025-05-01", 2, "closed"), (3, "2025-06-05", 3, "closed")]),
        ("How many hires have no passengers?", [(2,)]),
        # Persons by general words.
        ('How many people work at "South"?', [(2,)]),
        ("How many gold members do we have?", [(2,)]),
        ("Which sailors never opened a hire?", [("Ann", "Koch")]),
        ("newest members", [("Ann", "Koch"), ("Bob", "Wolf"), ("Ann", "Wolf")]),
    ],
)
def test_it_is_answered_right(question: str, rows: list[tuple[object, ...]]) -> None:
    found = translate(question, hire(), today=TODAY)
    assert isinstance(found, Translated), found
    assert (
        sorted(rows_of(ROWS, found.sql)) == sorted(rows)
        if "newest" not in question
        else rows_of(ROWS, found.sql) == rows
    )


def test_a_price_per_something_is_no_price_of_something_else() -> None:
    rows = """
    CREATE TABLE boats (boat_id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE repairs (repair_id INTEGER PRIMARY KEY, boat_id INTEGER, repaired_on DATE, cost REAL);
    CREATE TABLE fuellings (fuelling_id INTEGER PRIMARY KEY, boat_id INTEGER, price_per_litre REAL);
    INSERT INTO boats VALUES (1, 'Gull'), (2, 'Tern');
    INSERT INTO repairs VALUES (1, 1, '2026-01-01', 5), (2, 1, '2026-01-02', 6), (3, 2, '2026-01-02', 7);
    INSERT INTO fuellings VALUES (1, 1, 2);
    """
    found = translate("Repair costs per boat", catalog_of(rows, {}), today=TODAY)
    assert isinstance(found, Translated), found
    assert sorted(rows_of(rows, found.sql)) == [("Gull", 11.0), ("Tern", 7.0)]


def test_sailors_of_one_name_are_two_where_sums_rank_them() -> None:
    found = translate("Which sailor paid the most?", hire(), today=TODAY)
    assert isinstance(found, Translated)
    assert '"sailor_id"' in found.sql.split("GROUP BY")[1]


def test_what_others_pay_is_no_pay_of_the_crew() -> None:
    assert isinstance(translate("How much was the crew paid in 2025?", hire(), today=TODAY), NotRead)
    assert isinstance(translate("Which crew member was paid the most?", hire(), today=TODAY), NotRead)


def test_where_several_amounts_may_be_meant_it_is_asked_back() -> None:
    two = (
        ROWS.replace("amount REAL", "amount REAL, tax REAL")
        .replace("'card')", "1, 'card')")
        .replace("'cash')", "1, 'cash')")
    )
    assert isinstance(translate("How much was paid in cash?", catalog_of(two, HELD), today=TODAY), NotRead)
