"""A time that is said of being hired, opened or closed is the day of that, and of nothing else that has a day."""

from __future__ import annotations

from datetime import date

import pytest

from querybus_translator import NotRead, Translated, translate
from tests.support.scripted_catalog import catalog_of, rows_of

TODAY = date(2026, 6, 30)
ROWS = """
CREATE TABLE branches (branch_id INTEGER PRIMARY KEY, branch_name TEXT, open_year INTEGER);
CREATE TABLE bakers (baker_id INTEGER PRIMARY KEY, name TEXT, branch_id INTEGER REFERENCES branches (branch_id), start_date DATE);
CREATE TABLE apprentices (apprentice_id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE awards (award_id INTEGER PRIMARY KEY, baker_id INTEGER REFERENCES bakers (baker_id),
  apprentice_id INTEGER REFERENCES apprentices (apprentice_id), award_year INTEGER);
CREATE TABLE sales (sale_id INTEGER PRIMARY KEY, branch_id INTEGER REFERENCES branches (branch_id), sale_date DATE);
CREATE TABLE ovens (oven_id INTEGER PRIMARY KEY, name TEXT, renovated_year INTEGER);
CREATE TABLE contracts (contract_id INTEGER PRIMARY KEY, value REAL, expires_on DATE);
CREATE TABLE orders (order_id INTEGER PRIMARY KEY, amount REAL, order_date DATE);
CREATE TABLE books (book_id INTEGER PRIMARY KEY, title TEXT, release_date DATE);
CREATE TABLE complaints (complaint_id INTEGER PRIMARY KEY, topic TEXT, received_on DATE, resolved_on DATE);
INSERT INTO branches VALUES (1, 'North', 2009), (2, 'South', 2015);
INSERT INTO bakers VALUES (1, 'Ann', 1, '2018-05-01'), (2, 'Bo', 2, '2021-02-01'), (3, 'Cid', 2, '2019-03-01');
INSERT INTO apprentices VALUES (1, 'Dee'), (2, 'Eli');
INSERT INTO awards VALUES (1, 1, NULL, 2020), (2, 2, NULL, 2018), (3, NULL, 1, 2021);
INSERT INTO sales VALUES (1, 1, '2020-03-01'), (2, 2, '2021-03-01');
INSERT INTO ovens VALUES (1, 'Old Ben', 1999), (2, 'Iron', 2005);
INSERT INTO contracts VALUES (1, 10.0, '2022-05-01'), (2, 20.0, '2023-05-01');
INSERT INTO orders VALUES (1, 5.0, '2021-05-01'), (2, 6.0, '2021-06-01');
INSERT INTO books VALUES (1, 'Rye', '2010-05-01'), (2, 'Salt', '2012-05-01');
INSERT INTO complaints VALUES (1, 'crust', '2024-11-02', '2025-01-07'), (2, 'price', '2025-02-01', '2025-02-03'), (3, 'noise', '2023-01-01', '2024-01-01');
"""
BAKERY = catalog_of(ROWS, {})


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Show the names of bakers hired since 2019", [("Bo",), ("Cid",)]),
        ("How many bakers were hired in 2021?", [(1,)]),
        (
            "Show the names of bakers hired since 2019 and the names of their branches",
            [("Bo", "South"), ("Cid", "South")],
        ),
        ("Which bakers won an award in 2020?", [("Ann",)]),
        ("Which branches opened in 2015?", [("South",)]),
        ("Names of branches opened before 2010", [("North",)]),
        ("How many complaints were closed in 2025?", [(2,)]),
        ("Which ovens were renovated in 1999?", [("Old Ben",)]),
        ("How many contracts expire in 2022?", [(1,)]),
        ("How many orders were placed in May 2021?", [(1,)]),
        ("Which books were written in 2010?", [("Rye",)]),
    ],
)
def test_it_is_the_day_of_the_deed(question: str, rows: list[tuple[object, ...]]) -> None:
    found = translate(question, BAKERY, today=TODAY)
    assert isinstance(found, Translated), found
    assert sorted(rows_of(ROWS, found.sql), key=str) == sorted(rows, key=str)


@pytest.mark.parametrize(
    "question",
    [
        # A branch has the year of its opening, and days of sales.
        "Which branches closed in 2020?",
        "How many branches were closed in 2020?",
        "Which ovens were built in 1999?",
        "How many contracts were signed in 2022?",
        "How many orders were shipped in May 2021?",
        "How many orders were paid in May 2021?",
        # An apprentice has awards by year alone.
        "Show the names of apprentices hired since 2019",
    ],
)
def test_where_the_deed_has_no_day_it_is_asked_back(question: str) -> None:
    assert isinstance(translate(question, BAKERY, today=TODAY), NotRead)
