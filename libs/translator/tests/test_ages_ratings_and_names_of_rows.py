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
CREATE TABLE film (film_id INTEGER, title TEXT, director TEXT, genre TEXT, runtime_min INTEGER, release_year INTEGER, age_rating INTEGER);
CREATE TABLE screening (screening_id INTEGER, film_id INTEGER, venue_id INTEGER, starts_at DATETIME, sold_out BOOLEAN);
CREATE TABLE visitor (visitor_id INTEGER, visitor_name TEXT, birth_year INTEGER);
CREATE TABLE ticket (ticket_id INTEGER, screening_id INTEGER, visitor_id INTEGER, bought_at DATETIME, price_paid REAL);
CREATE TABLE rating (rating_id INTEGER, film_id INTEGER, points INTEGER);
CREATE TABLE award (award_id INTEGER, film_id INTEGER, prize_money REAL);
INSERT INTO venue VALUES (1, 'Astor', 400, 'Old Town'), (2, 'Lumen', 200, 'Old Town'), (3, 'Open', 900, 'Park');
INSERT INTO film VALUES (1, 'Salt', 'Mia Sand', 'drama', 150, 2019, 12), (2, 'Dust', 'Leo Brandt', 'comedy', 80, 2026, 16), (3, 'Echo', 'Leo Brandt', 'drama', 125, 2020, 6);
INSERT INTO screening VALUES (1, 1, 1, '2026-11-26 20:00:00', 1), (2, 2, 2, '2026-11-27 20:00:00', 0);
INSERT INTO visitor VALUES (1, 'Ada Hall', 1986), (2, 'Bo Jung', 1996);
INSERT INTO ticket VALUES (1, 1, 1, '2026-11-01 10:00:00', 5), (2, 2, 1, '2026-11-02 10:00:00', 6), (3, 2, 2, '2026-11-03 10:00:00', 30);
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


FARMS_ROWS = """
CREATE TABLE farms (farm_id INTEGER, farm_name TEXT, owner TEXT);
CREATE TABLE crops (crop_id INTEGER, crop_name TEXT);
CREATE TABLE fields (field_id INTEGER, farm_id INTEGER, irrigated BOOLEAN);
CREATE TABLE harvests (harvest_id INTEGER, field_id INTEGER, crop_id INTEGER, harvested_on DATE, tons REAL);
CREATE TABLE machines (machine_id INTEGER, kind TEXT, bought_on DATE, purchase_price REAL, retired_on DATE);
CREATE TABLE bookings (booking_id INTEGER, machine_id INTEGER, farm_id INTEGER, start_date DATE, end_date DATE);
CREATE TABLE workers (worker_id INTEGER, full_name TEXT, farm_id INTEGER, position TEXT, started DATE, ended DATE);
CREATE TABLE deliveries (delivery_id INTEGER, farm_id INTEGER, delivered_on DATE, tons REAL, paid_amount REAL, buyer TEXT);
INSERT INTO farms VALUES (1, 'Hill', 'Meg Dunn'), (2, 'Brook', 'Tom Hale');
INSERT INTO crops VALUES (1, 'Wheat'), (2, 'Apple');
INSERT INTO fields VALUES (1, 1, 1), (2, 1, 0), (3, 2, 1), (4, 1, 1);
INSERT INTO harvests VALUES (1, 1, 1, '2026-07-01', 5), (2, 2, 1, '2026-08-01', 6), (3, 3, 2, '2026-08-02', 9), (4, 3, 2, '2025-08-02', 50);
INSERT INTO machines VALUES (1, 'tractor', '2015-01-01', 100, NULL), (2, 'tractor', '2012-01-01', 50, '2025-12-31'), (3, 'baler', '2020-01-01', 30, NULL);
INSERT INTO bookings VALUES (1, 1, 1, '2026-11-20', '2026-11-30'), (2, 3, 2, '2026-01-01', '2026-01-03');
INSERT INTO workers VALUES (1, 'Ada Hall', 1, 'picker', '2016-01-01', NULL), (2, 'Bo Jung', 1, 'driver', '2017-01-01', '2020-01-01'), (3, 'Cy Kerr', 2, 'picker', '2018-01-01', NULL);
INSERT INTO deliveries VALUES (1, 1, '2026-10-01', 3, 30, 'MillCo'), (2, 1, '2026-10-05', 4, 35, 'MillCo'), (3, 2, '2026-11-05', 5, 50, 'Export');
"""
FARMS = catalog_of(
    FARMS_ROWS,
    {
        "farm_name": ("Hill", "Brook"),
        "crop_name": ("Wheat", "Apple"),
        "kind": ("tractor", "baler"),
        "position": ("picker", "driver"),
        "buyer": ("MillCo", "Export"),
    },
    nullable=frozenset({"retired_on", "ended"}),
)

CHARITY_ROWS = """
CREATE TABLE donors (donor_id INTEGER, display_name TEXT);
CREATE TABLE donations (donation_id INTEGER, donor_id INTEGER, received_on DATE, amount REAL);
INSERT INTO donors VALUES (1, 'Ann'), (2, 'Bea'), (3, 'Ann');
INSERT INTO donations VALUES (1, 1, '2025-03-01', 30), (2, 1, '2026-03-01', 31), (3, 2, '2026-04-01', 40), (4, 3, '2026-05-01', 35);
"""
CHARITY = catalog_of(CHARITY_ROWS, {})


@pytest.mark.parametrize(
    ("catalog", "script", "question", "rows"),
    [
        (FARMS, FARMS_ROWS, "Retired machines", [(2, "2012-01-01", 50.0, "tractor")]),
        (FARMS, FARMS_ROWS, "How many machines are in use?", [(2,)]),
        (FARMS, FARMS_ROWS, "Total value of machines", [(180.0,)]),
        (FARMS, FARMS_ROWS, "Oldest machine", [(2, "2012-01-01", 50.0, "tractor")]),
        (FARMS, FARMS_ROWS, "How many workers are employed right now?", [(2,)]),
        (FARMS, FARMS_ROWS, "现在有多少工人？", [(2,)]),
        (FARMS, FARMS_ROWS, "Harvest by crop", [("Wheat", 11.0), ("Apple", 59.0)]),
        (FARMS, FARMS_ROWS, "Harvests by crop", [("Wheat", 2), ("Apple", 2)]),
        (FARMS, FARMS_ROWS, "Which crop had the biggest harvest in 2026?", [("Wheat",)]),
        (FARMS, FARMS_ROWS, "Tons delivered per month", [("2026-10", 7.0), ("2026-11", 5.0)]),
        (FARMS, FARMS_ROWS, "Current bookings", [(1, "2026-11-20")]),
        (FARMS, FARMS_ROWS, "Longest booking", [(1, "2026-11-20")]),
        (FARMS, FARMS_ROWS, "Average booking length", [(6.0,)]),
        (FARMS, FARMS_ROWS, "Deliveries by farm and month", [("Hill", "2026-10", 2), ("Brook", "2026-11", 1)]),
        (FARMS, FARMS_ROWS, "Tons delivered by month and farm", [("2026-10", "Hill", 7.0), ("2026-11", "Brook", 5.0)]),
        (FARMS, FARMS_ROWS, "Deliveries per buyer and year", [("Export", "2026", 1), ("MillCo", "2026", 2)]),
        (
            FARMS,
            FARMS_ROWS,
            "Workers by position and year",
            [("picker", "2016", 1), ("driver", "2017", 1), ("picker", "2018", 1)],
        ),
        (FARMS, FARMS_ROWS, "How many tons were harvested?", [(70.0,)]),
        (FARMS, FARMS_ROWS, "Owner of each farm", [("Hill", "Meg Dunn"), ("Brook", "Tom Hale")]),
        (FESTIVAL, FESTIVAL_ROWS, "Capacity by venue", [("Astor", 400), ("Lumen", 200), ("Open", 900)]),
        (FESTIVAL, FESTIVAL_ROWS, "每个场馆的容量", [("Astor", 400), ("Lumen", 200), ("Open", 900)]),
        (FESTIVAL, FESTIVAL_ROWS, "Venues and their capacity", [("Astor", 400), ("Lumen", 200), ("Open", 900)]),
        (FESTIVAL, FESTIVAL_ROWS, "Films and genres", [("Salt", "drama"), ("Dust", "comedy"), ("Echo", "drama")]),
        (FESTIVAL, FESTIVAL_ROWS, "Runtime of each film", [("Salt", 150), ("Dust", 80), ("Echo", 125)]),
        (FESTIVAL, FESTIVAL_ROWS, "Which films have an average rating above 6?", [("Salt",), ("Dust",)]),
        (FESTIVAL, FESTIVAL_ROWS, "Films with an average rating of more than 7", [("Dust",)]),
        (CHARITY, CHARITY_ROWS, "Donors who gave more than 50", [("Ann",)]),
        (CHARITY, CHARITY_ROWS, "How many donors gave more than 30?", [(3,)]),
        (CHARITY, CHARITY_ROWS, "Donors who gave less than 50 in 2026", [("Ann",), ("Bea",), ("Ann",)]),
        (CHARITY, CHARITY_ROWS, "Donors with total donations over 50", [("Ann",)]),
        (CHARITY, CHARITY_ROWS, "Donors with an average donation above 32", [("Bea",), ("Ann",)]),
        (
            CHARITY,
            CHARITY_ROWS,
            "Total donated by donor and year",
            [("Ann", "2025", 30.0), ("Ann", "2026", 31.0), ("Bea", "2026", 40.0), ("Ann", "2026", 35.0)],
        ),
        (CHARITY, CHARITY_ROWS, "First donation", [(1, "2025-03-01", 30.0)]),
        (CHARITY, CHARITY_ROWS, "Latest donation", [(4, "2026-05-01", 35.0)]),
        (CHARITY, CHARITY_ROWS, "How much was the largest donation?", [(40.0,)]),
        (CHARITY, CHARITY_ROWS, "Largest donation", [(3, "2026-04-01", 40.0)]),
        (CHARITY, CHARITY_ROWS, "Donors who donated more than once", [("Ann",)]),
        (CHARITY, CHARITY_ROWS, "Donors who donated at least twice", [("Ann",)]),
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
        (FESTIVAL, FESTIVAL_ROWS, "Who spent the most on tickets?", [("Bo Jung",)]),
        (INSURER, INSURER_ROWS, "Oldest customer", [("Eva", "Ek")]),
        (INSURER, INSURER_ROWS, "Customers by region", [("North", 1), ("South", 2)]),
        (INSURER, INSURER_ROWS, "Customers without a contract", [("Gina", "Bauer")]),
        (INSURER, INSURER_ROWS, "New customers this year", [("Eva", "Ek")]),
        (INSURER, INSURER_ROWS, "How many contracts does customer 1 have?", [(2,)]),
        (INSURER, INSURER_ROWS, "How many contracts are active?", [(1,)]),
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
        (FESTIVAL, "Most popular film", "Which film has the most ratings?"),
        (FESTIVAL, "Revenue per venue", "total capacity per venue"),
    ],
)
def test_it_is_asked_back_in_whole_sentences(catalog: Catalog, question: str, option: str | None) -> None:
    found = translate(question, catalog, today=TODAY)
    assert isinstance(found, NotRead), found
    assert option is None or option in found.options
    assert "noshow" not in found.about
