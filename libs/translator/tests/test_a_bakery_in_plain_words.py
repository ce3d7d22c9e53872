"""Questions over bakeries that nobody described: flags of what has happened, what was paid by what, whose period it is, and who is meant."""

from __future__ import annotations

from datetime import date

import pytest

from querybus_translator import NotRead, Translated, translate
from tests.support.scripted_catalog import catalog_of, rows_of

TODAY = date(2026, 6, 30)
ROWS = """
CREATE TABLE shops (shop_id INTEGER, shop_name TEXT, town TEXT, opened_on DATE);
CREATE TABLE staff (staff_id INTEGER, name TEXT, shop_id INTEGER, position TEXT, hourly_pay REAL);
CREATE TABLE product_groups (group_id INTEGER, group_name TEXT);
CREATE TABLE products (product_id INTEGER, product_name TEXT, group_id INTEGER, price REAL, discontinued BOOLEAN);
CREATE TABLE sales (sale_id INTEGER, shop_id INTEGER, sold_at DATETIME, payment TEXT);
CREATE TABLE sale_items (item_id INTEGER, sale_id INTEGER, product_id INTEGER, quantity INTEGER);
CREATE TABLE waste (waste_id INTEGER, shop_id INTEGER, product_id INTEGER, thrown_on DATE);
INSERT INTO shops VALUES (1, 'Sun', 'Nice', '2010-01-01'), (2, 'Moon', 'Lyon', '2026-02-01');
INSERT INTO staff VALUES (1, 'Ada', 1, 'baker', 14), (2, 'Bo', 2, 'cashier', 15), (3, 'Cy', 2, 'cashier', 13);
INSERT INTO product_groups VALUES (1, 'bread'), (2, 'cake'), (3, 'drinks');
INSERT INTO products VALUES (1, 'rye loaf', 1, 3.5, 0), (2, 'eclair', 2, 2.8, 0), (3, 'tart', 2, 3.2, 1), (4, 'coffee', 3, 2, 0);
INSERT INTO sales VALUES (1, 1, '2026-05-01 10:00:00', 'card'), (2, 2, '2025-05-01 10:00:00', 'cash');
INSERT INTO sale_items VALUES (1, 1, 1, 2), (2, 2, 2, 1);
INSERT INTO waste VALUES (1, 1, 1, '2026-01-02'), (2, 1, 2, '2025-01-02');
"""
HELD = {
    "town": ("Nice", "Lyon"),
    "position": ("baker", "cashier"),
    "group_name": ("bread", "cake", "drinks"),
    "payment": ("card", "cash"),
    "product_name": ("rye loaf", "eclair", "tart", "coffee"),
}
BAKERY = catalog_of(ROWS, HELD)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Which products have been discontinued?", [("tart",)]),
        ("How many sales were paid by card?", [(1,)]),
        ("How many bakers work for us?", [(1,)]),
        ("How many breads and how many cakes do we have?", [("bread", 1), ("cake", 2)]),
        ("Waste by shop in 2026", [("Sun", 1)]),
        ("Who works in Nice?", [("Ada",)]),
    ],
)
def test_a_plain_question_is_answered(question: str, rows: list[tuple[object, ...]]) -> None:
    found = translate(question, BAKERY, today=TODAY)
    assert isinstance(found, Translated), found
    assert sorted(rows_of(ROWS, found.sql), key=str) == rows


@pytest.mark.parametrize(
    "question",
    [
        # Revenue is no number of sales; what is not thrown away may still be sold.
        "Revenue by shop",
    ],
)
def test_what_would_be_another_question_is_asked_back(question: str) -> None:
    assert isinstance(translate(question, BAKERY, today=TODAY), NotRead)
