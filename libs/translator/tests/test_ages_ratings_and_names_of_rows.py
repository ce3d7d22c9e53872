"""Questions over a film festival and an insurer that nobody described: ages of births, ratings by points, units of times, what rows are called."""

from __future__ import annotations

from datetime import date

import pytest

from querybus.core.catalog import Catalog
from querybus_translator import NotRead, Translated, translate
from tests.support.scripted_catalog import catalog_of, rows_of

TODAY = date(2026, 11, 26)

FESTIVAL_ROWS = """
CREATE TABLE venue (venue_id INTEGER, venue_name TEXT, capacity INTEGER, district TEXT);
CREATE TABLE film (film_id INTEGER, title TEXT, genre TEXT, runtime_min INTEGER, release_year INTEGER, age_rating INTEGER);
CREATE TABLE screening (screening_id INTEGER, film_id INTEGER, venue_id INTEGER, starts_at DATETIME, sold_out BOOLEAN);
CREATE TABLE visitor (visitor_id INTEGER, visitor_name TEXT, birth_year INTEGER);
CREATE TABLE ticket (ticket_id INTEGER, screening_id INTEGER, visitor_id INTEGER, bought_at DATETIME);
CREATE TABLE rating (rating_id INTEGER, film_id INTEGER, points INTEGER);
CREATE TABLE award (award_id INTEGER, film_id INTEGER, prize_money REAL);
INSERT INTO venue VALUES (1, 'Astor', 400, 'Old Town'), (2, 'Lumen', 200, 'Old Town'), (3, 'Open', 900, 'Park');
INSERT INTO film VALUES (1, 'Salt', 'drama', 150, 2019, 12), (2, 'Dust', 'comedy', 80, 2026, 16), (3, 'Echo', 'drama', 125, 2020, 6);
INSERT INTO screening VALUES (1, 1, 1, '2026-11-26 20:00:00', 1), (2, 2, 2, '2026-11-27 20:00:00', 0);
INSERT INTO visitor VALUES (1, 'Ada Hall', 1986), (2, 'Bo Jung', 1996);
INSERT INTO ticket VALUES (1, 1, 1, '2026-11-01 10:00:00'), (2, 2, 1, '2026-11-02 10:00:00'), (3, 2, 2, '2026-11-03 10:00:00');
INSERT INTO rating VALUES (1, 1, 4), (2, 1, 10), (3, 2, 8), (4, 3, 3);
INSERT INTO award VALUES (1, 1, 500), (2, 1, 300), (3, 2, 700);
"""
FESTIVAL = catalog_of(
    FESTIVAL_ROWS,
    {
        "genre": ("drama", "comedy"),
        "title": ("Salt", "Dust", "Echo"),
        "district": ("Old Town", "Park"),
        "venue_name": ("Astor", "Lumen", "Open"),
    },
)

INSURER_ROWS = """
CREATE TABLE insured (insured_id INTEGER, given_name TEXT, family_name TEXT, date_of_birth DATE, region TEXT, customer_since DATE);
CREATE TABLE contracts (contract_no INTEGER, insured_id INTEGER, begins DATE, ends DATE, yearly_premium REAL);
CREATE TABLE damages (damage_id INTEGER, contract_no INTEGER, reported_on DATE, settled_on DATE, cause TEXT, claimed REAL, paid_out REAL, fraud_suspected BOOLEAN);
INSERT INTO insured VALUES (1, 'Eva', 'Ek', '1966-11-26', 'North', '2026-01-05'), (2, 'Ben', 'Costa', '2000-11-26', 'South', '2020-01-05'), (3, 'Gina', 'Bauer', '2001-11-26', 'South', '2021-01-05');
INSERT INTO contracts VALUES (7, 1, '2026-01-01', '2027-01-01', 100), (8, 1, '2020-01-01', '2021-01-01', 50), (9, 2, '2020-01-01', '2021-01-01', 70);
INSERT INTO damages VALUES (1, 7, '2026-01-01', NULL, 'fire', 10, NULL, 1), (2, 8, '2026-01-01', '2026-02-01', 'fire', 20, 10, 0), (3, 9, '2026-03-01', NULL, 'theft', 30, NULL, 0);
"""
INSURER = catalog_of(
    INSURER_ROWS,
    {"region": ("North", "South"), "cause": ("fire", "theft")},
    nullable=frozenset({"settled_on", "paid_out"}),
)


@pytest.mark.parametrize(
    ("catalog", "script", "question", "rows"),
    [
        (FESTIVAL, FESTIVAL_ROWS, "Longest film", [("Salt",)]),
        (FESTIVAL, FESTIVAL_ROWS, "Shortest drama", [("Echo",)]),
        (FESTIVAL, FESTIVAL_ROWS, "Films longer than two hours", [("Salt",), ("Echo",)]),
        (FESTIVAL, FESTIVAL_ROWS, "Average runtime by genre", [("comedy", 80.0), ("drama", 137.5)]),
        (FESTIVAL, FESTIVAL_ROWS, "How many tickets did we sell?", [(3,)]),
        (FESTIVAL, FESTIVAL_ROWS, "Sold out screenings", [(1, "2026-11-26 20:00:00")]),
        (FESTIVAL, FESTIVAL_ROWS, "Best rated film", [("Dust",)]),
        (FESTIVAL, FESTIVAL_ROWS, "Worst rated film", [("Echo",)]),
        (FESTIVAL, FESTIVAL_ROWS, "Which film won the most prize money?", [("Salt",)]),
        (FESTIVAL, FESTIVAL_ROWS, "Capacity by district", [("Old Town", 600), ("Park", 900)]),
        (FESTIVAL, FESTIVAL_ROWS, "Who bought the most tickets?", [("Ada Hall",)]),
        (FESTIVAL, FESTIVAL_ROWS, "Average age of visitors", [(35.0,)]),
        (FESTIVAL, FESTIVAL_ROWS, "观众的平均年龄", [(35.0,)]),
        (INSURER, INSURER_ROWS, "Oldest customer", [("Eva", "Ek")]),
        (INSURER, INSURER_ROWS, "Customers by region", [("North", 1), ("South", 2)]),
        (INSURER, INSURER_ROWS, "Customers without a contract", [("Gina", "Bauer")]),
        (INSURER, INSURER_ROWS, "New customers this year", [("Eva", "Ek")]),
        (INSURER, INSURER_ROWS, "How many contracts does customer 1 have?", [(2,)]),
        (INSURER, INSURER_ROWS, "How many contracts are active?", [(1,)]),
        (INSURER, INSURER_ROWS, "Fraud rate by cause", [("fire", 50.0), ("theft", 0.0)]),
    ],
)
def test_it_is_answered(catalog: Catalog, script: str, question: str, rows: list[tuple[object, ...]]) -> None:
    found = translate(question, catalog, today=TODAY)
    assert isinstance(found, Translated), found
    assert rows_of(script, found.sql) == rows, found.sql


@pytest.mark.parametrize("question", ["How old are our customers on average?", "How old is the average customer?"])
def test_ages_are_counted_from_births_to_the_day_of_the_question(question: str) -> None:
    found = translate(question, INSURER, today=TODAY)
    assert isinstance(found, Translated), found
    ((years,),) = rows_of(INSURER_ROWS, found.sql)
    assert isinstance(years, float)
    assert abs(years - (60 + 26 + 25) / 3) < 0.01


@pytest.mark.parametrize(
    ("catalog", "question", "option"),
    [
        # Nothing is called a no-show, and a share of each amount is no answer.
        (FESTIVAL, "No-show rate", None),
        (INSURER, "Share of claims paid in full", None),
        (FESTIVAL, "Most popular film", "Which film has the most tickets?"),
        (FESTIVAL, "Revenue per venue", "total capacity per venue"),
    ],
)
def test_it_is_asked_back_in_whole_sentences(catalog: Catalog, question: str, option: str | None) -> None:
    found = translate(question, catalog, today=TODAY)
    assert isinstance(found, NotRead), found
    assert option is None or option in found.options
    assert "noshow" not in found.about
