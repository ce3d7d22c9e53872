"""Chinese questions at work over a schema in English: who has most, what was not done, how much in all, and persons by general words."""

from __future__ import annotations

from datetime import date

import pytest

from querybus_translator import Translated, translate
from tests.support.scripted_catalog import catalog_of, rows_of

TODAY = date(2026, 6, 30)
ROWS = """
CREATE TABLE hotels (hotel_id INTEGER PRIMARY KEY, name TEXT, opened_on DATE);
CREATE TABLE guests (guest_id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT, tier TEXT, registered_on DATE, is_blocked BOOLEAN);
CREATE TABLE employees (employee_id INTEGER PRIMARY KEY, name TEXT, salary REAL, hotel_id INTEGER);
CREATE TABLE payments (payment_id INTEGER PRIMARY KEY, guest_id INTEGER, paid_at DATE, amount REAL, method TEXT);
CREATE TABLE fines (fine_id INTEGER PRIMARY KEY, guest_id INTEGER, amount REAL, paid_on DATE);
CREATE TABLE books (book_id INTEGER PRIMARY KEY, title TEXT, pages INTEGER);
INSERT INTO hotels VALUES (1, 'North', '1990-01-01'), (2, 'South', '2005-01-01');
INSERT INTO guests VALUES (1, 'Ann', 'Wolf', 'gold', '2025-02-01', 0), (2, 'Bob', 'Koch', 'silver', '2026-02-01', 1);
INSERT INTO employees VALUES (1, 'Ida', 3000, 1), (2, 'Kai', 4000, 2);
INSERT INTO payments VALUES (1, 1, '2025-05-01', 80, 'cash'), (2, 2, '2025-06-01', 20, 'cash'), (3, 1, '2026-01-01', 40, 'card');
INSERT INTO fines VALUES (1, 1, 4, '2026-01-01'), (2, 2, 8, NULL);
INSERT INTO books VALUES (1, 'Long', 700), (2, 'Short', 90);
"""
HELD = {"tier": ("gold", "silver"), "method": ("cash", "card")}


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("谁的工资最高？", [("Kai",)]),
        ("最早开业的酒店", [("North",)]),
        ("去年现金付款一共多少？", [(100.0,)]),
        ("平均罚款是多少？", [(6.0,)]),
        ("有多少金卡会员？", [(1,)]),
        ("2025年注册的客人有多少？", [(1,)]),
        ("有多少客人被冻结？", [(1,)]),
        ("超过500页的书", [("Long",)]),
    ],
)
def test_it_is_answered_right(question: str, rows: list[tuple[object, ...]]) -> None:
    found = translate(question, catalog_of(ROWS, HELD, nullable=frozenset({"paid_on"})), today=TODAY)
    assert isinstance(found, Translated), found
    assert rows_of(ROWS, found.sql) == rows, found.sql
