"""The same question with its words in another order, another clause or another language has the same answer, or is asked back."""

from __future__ import annotations

from datetime import date

import pytest

from querybus_translator import NotRead, Translated, translate
from tests.support.scripted_catalog import catalog_of, rows_of

TODAY = date(2026, 6, 30)
ROWS = """
CREATE TABLE theater (theater_id INTEGER PRIMARY KEY, name TEXT, town TEXT, open_date DATE, financed_by TEXT, seat_count INTEGER);
CREATE TABLE actor (actor_id INTEGER PRIMARY KEY, name TEXT, age INTEGER, country TEXT, guild TEXT, year_join INTEGER);
CREATE TABLE play (play_id INTEGER PRIMARY KEY, title TEXT, play_type TEXT, writer TEXT, theater_id INTEGER REFERENCES theater (theater_id),
  year INTEGER);
CREATE TABLE reservation (reservation_id INTEGER PRIMARY KEY, play_id INTEGER REFERENCES play (play_id), guests INTEGER);
CREATE TABLE artwork (artwork_id INTEGER PRIMARY KEY, name TEXT, theater_id INTEGER REFERENCES theater (theater_id));
CREATE TABLE workshop (workshop_id INTEGER PRIMARY KEY, subject TEXT, date TEXT, venue TEXT);
INSERT INTO theater VALUES (1, 'Globe', 'Ulm', '1999-05-01', 'Fonds A', 300), (2, 'Rose', 'Bonn', '1985-03-01', 'Fonds B', 120),
  (3, 'Swan', 'Ulm', '2010-09-01', 'Fonds A', 80);
INSERT INTO actor VALUES (1, 'Ann', 61, 'Chile', 'Stage', 2001), (2, 'Bo', 35, 'Chile', 'Screen', 1999), (3, 'Cid', 47, 'Peru', 'Stage', 2010);
INSERT INTO play VALUES (1, 'Rye', 'comedy', 'Otis', 1, 1990), (2, 'Salt', 'drama', 'Otis', 1, 1995), (3, 'Fog', 'comedy', 'Mara', 2, 1990),
  (4, 'Ash', 'comedy', 'Mara', 3, 2001);
INSERT INTO reservation VALUES (1, 1, 2), (2, 1, 5), (3, 2, 1), (4, 3, 4);
INSERT INTO artwork VALUES (1, 'Dawn', 1), (2, 'Noon', 2);
INSERT INTO workshop VALUES (1, 'Light', '2020-01-02', 'Attic'), (2, 'Sound', '2021-03-04', 'Cellar');
"""
STAGE = catalog_of(ROWS, {})


def _ask(question: str) -> list[tuple[object, ...]]:
    found = translate(question, STAGE, today=TODAY)
    assert isinstance(found, Translated), found
    return rows_of(ROWS, found.sql)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("In which guild are the most actors?", [("Stage",)]),
        ("Which guild do most actors belong to?", [("Stage",)]),
        ("Which play type occurs most often?", [("comedy",)]),
        ("In which year were the most plays written?", [(1990,)]),
        ("Which plays have one reservation at most?", [("Salt",), ("Fog",)]),
        ("Which writers have a play in 1990 as well as in 2001?", [("Mara",)]),
        ("How many kinds of plays are there?", [(2,)]),
        ("What is the name of every theater and when did it open?", [("Globe", "1999-05-01"), ("Rose", "1985-03-01"), ("Swan", "2010-09-01")]),

    ],
)  # fmt: skip
def test_an_english_question_says_the_same_in_another_order(question: str, rows: list[tuple[object, ...]]) -> None:
    assert sorted(_ask(question), key=str) == sorted(rows, key=str)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Who are the actors, from old to young?", ["Ann", "Cid", "Bo"]),
        ("列出演员的年龄和姓名，按姓名排序。", [61, 35, 47]),
    ],
)
def test_the_order_that_is_said_is_the_order_of_the_rows(question: str, rows: list[object]) -> None:
    assert [row[0] for row in _ask(question)] == rows


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("列出年龄大于40的演员的不同国家。", [("Chile",), ("Peru",)]),
        ("座位数至少为120的剧院有多少个？", [(2,)]),
        ("哪些作家在1990年和2001年都有戏剧？", [("Mara",)]),
        ("最常见的戏剧类型是什么，有多少个？", [("comedy", 3)]),
        ("加入最晚的演员叫什么名字？", [("Cid",)]),
        ("所有演员年龄的最大值和最小值是多少？", [(61, 35)]),
        ("哪些城镇只有1个剧院？", [("Bonn",)]),
        ("有多少件艺术品？", [(2,)]),
    ],
)
def test_a_chinese_question_over_english_names_is_answered(question: str, rows: list[tuple[object, ...]]) -> None:
    assert sorted(_ask(question), key=str) == sorted(rows, key=str)


@pytest.mark.parametrize(
    "question",
    [
        # No theater knows when it closed: the day of its opening is another one.
        "List the theaters in the order in which they closed.",
        # 订购日期 is a day of ordering.
        "Give each actor's name, kind and age.",
    ],
)
def test_what_has_no_place_in_the_tables_is_asked_back(question: str) -> None:
    assert isinstance(translate(question, STAGE, today=TODAY), NotRead)


OFFICE_ROWS = """
CREATE TABLE users (user_id INTEGER PRIMARY KEY, name TEXT, username TEXT, main_town TEXT);
CREATE TABLE branches (branch_id INTEGER PRIMARY KEY, branch_name TEXT, headcount INTEGER);
CREATE TABLE rooms (room_id INTEGER PRIMARY KEY, branch_id INTEGER REFERENCES branches (branch_id), room_type TEXT);
CREATE TABLE customers (customer_id INTEGER PRIMARY KEY, name TEXT, branch_id INTEGER REFERENCES branches (branch_id));
CREATE TABLE orders (order_id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (customer_id), order_date DATE, overall_cost REAL);
INSERT INTO users VALUES (1, 'Ann', 'ann1', 'Ulm'), (2, 'Bo', 'bo2', 'Bonn');
INSERT INTO branches VALUES (1, 'North', 5), (2, 'South', 9);
INSERT INTO rooms VALUES (1, 1, 'single'), (2, 1, 'single'), (3, 2, 'double');
INSERT INTO customers VALUES (1, 'Cid', 1), (2, 'Dee', 1), (3, 'Eva', 2);
INSERT INTO orders VALUES (1, 1, '2019-02-01', 5), (2, 1, '2020-02-01', 6), (3, 2, '2019-05-01', 7);
"""
OFFICE = catalog_of(OFFICE_ROWS, {})


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("What are the names of users?", [("Ann",), ("Bo",)]),
        ("What is the overall cost of order 2?", [(6,)]),
        ("In which branch are the most customers?", [("North",)]),
        ("Who was the first customer to order?", [("Cid",)]),
        ("在2019年和2020年一共有多少订单？", [(3,)]),
    ],
)
def test_words_that_merely_look_so_keep_their_meaning(question: str, rows: list[tuple[object, ...]]) -> None:
    found = translate(question, OFFICE, today=TODAY)
    assert isinstance(found, Translated), found
    assert sorted(rows_of(OFFICE_ROWS, found.sql), key=str) == sorted(rows, key=str)


@pytest.mark.parametrize(
    "question",
    [
        # What is single is of a kind, and not one of them.
        "Which branches have a single room?",
        # Heads are no headcount.
        "What is the count of heads in each branch?",
        # To complain is more than to be there.
        "In which branch do most customers complain?",
        # No order is of two years.
        "Which customers placed orders in 2019 as well as in 2020?",
        "How many orders were placed both in 2019 and in 2020?",
        "在2019年和2020年都下过订单的客户有哪些？",
        # The main users are no towns.
        "主要用户有哪些？",
    ],
)
def test_what_would_lose_a_word_is_asked_back(question: str) -> None:
    assert isinstance(translate(question, OFFICE, today=TODAY), NotRead)
