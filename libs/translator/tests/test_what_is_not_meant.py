"""Readings that look whole and are not what was asked, over a sports club that nobody described: another is found, or it is asked back."""

from __future__ import annotations

import sqlite3
from datetime import date

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Table
from querybus_translator import NotRead, Translated, translate
from tests.support.scripted_catalog import catalog_of, rows_of

TODAY = date(2026, 6, 30)
ROWS = """
CREATE TABLE clubs (club_id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE members (member_id INTEGER PRIMARY KEY, last_name TEXT, joined_at DATE, left_at DATE, club_id INTEGER, newsletter BOOLEAN);
CREATE TABLE trainers (trainer_id INTEGER PRIMARY KEY, name TEXT, club_id INTEGER, salary INTEGER, hourly_wage REAL);
CREATE TABLE courses (course_id INTEGER PRIMARY KEY, title TEXT, trainer_id INTEGER, max_people INTEGER);
CREATE TABLE payments (payment_id INTEGER PRIMARY KEY, member_id INTEGER, paid_on DATE, amount REAL, method TEXT);
CREATE TABLE machines (machine_id INTEGER PRIMARY KEY, club_id INTEGER, model TEXT, price REAL);
CREATE TABLE rentals (rental_id INTEGER PRIMARY KEY, machine_id INTEGER, days INTEGER, started_on DATE);
CREATE TABLE stock (stock_id INTEGER PRIMARY KEY, club_id INTEGER, on_hand INTEGER, reorder_level INTEGER);
CREATE TABLE reviews (review_id INTEGER PRIMARY KEY, club_id INTEGER, comment TEXT, stars INTEGER);
INSERT INTO rentals VALUES (1, 1, 9, '2025-01-01'), (2, 1, 3, '2025-02-01'), (3, 1, 5, '2025-03-01');
INSERT INTO reviews VALUES (1, 1, 'fine', 4), (2, 1, 'bad', 1);
INSERT INTO clubs VALUES (1, 'North');
INSERT INTO members VALUES (1, 'Wolf', '2025-02-01', '2026-01-01', 1, 1), (2, 'Koch', '2024-03-01', NULL, 1, 0), (3, 'Klein', '2025-05-05', NULL, 1, 1);
INSERT INTO trainers VALUES (1, 'Ida', 1, 20, 15), (2, 'Kai', 1, 30, 12);
INSERT INTO courses VALUES (1, 'Yoga', 1, 12), (2, 'Boxing', 2, 8);
INSERT INTO payments VALUES (1, 1, '2025-01-01', 10, 'cash'), (2, 2, '2025-02-01', 20, 'card'), (3, 2, '2025-03-01', 30, 'card');
INSERT INTO machines VALUES (1, 1, 'Rower', 500), (2, 1, 'Bike', 600), (3, 1, 'Bike', 100);
"""
HELD = {"title": ("Yoga", "Boxing"), "method": ("cash", "card"), "model": ("Rower", "Bike")}


def club() -> Catalog:
    return catalog_of(ROWS, HELD, nullable=frozenset({"left_at"}))


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("How many members have left?", [(1,)]),
        ("Which members left this year?", [("Wolf",)]),
        ("How many members get the newsletter?", [(2,)]),
        ("What did the machines cost in total?", [(1200.0,)]),
        ("Total payments by method", [("card", 50.0), ("cash", 10.0)]),
        ("List the last 2 payments", [(3, "2025-03-01", 30.0, "card"), (2, "2025-02-01", 20.0, "card")]),
        ("Last names of members", [("Wolf",), ("Koch",), ("Klein",)]),
        ("2025年有多少会员加入？", [(2,)]),
        ("Highest priced machine", [(2, 600.0, "Bike")]),
        ("What models do we have?", [("Rower",), ("Bike",)]),
        ("How many days were machines rented in total?", [(17,)]),
        # Members and trainers have nothing to do with each other but a club: the trainers' pay is not what members pay.
        ("How much did members pay in 2025?", [(60.0,)]),
        ("How much was paid by card?", [(50.0,)]),
        # The name that was said is no answer: who teaches it is a trainer.
        ("Which member paid the most?", [("Koch",)]),
        ("How much did each member pay?", [("Wolf", 10.0), ("Koch", 50.0)]),
        # A rating is counted in stars, where there is no other figure for it.
        ("Average rating", [(2.5,)]),
        ("last 2 rentals", [(3, "2025-03-01", 5), (2, "2025-02-01", 3)]),
    ],
)
def test_what_is_meant_is_found(question: str, rows: list[tuple[object, ...]]) -> None:
    found = translate(question, club(), today=TODAY)
    assert isinstance(found, Translated), found
    assert rows_of(ROWS, found.sql) == rows


@pytest.mark.parametrize("question", ["Average rating", "Reviews with a rating below 2"])
def test_a_comment_is_no_figure_though_a_review_may_be_called_a_rating(question: str) -> None:
    without_stars = ROWS.replace(", stars INTEGER", "").replace("'fine', 4", "'fine'").replace("'bad', 1", "'bad'")
    assert isinstance(translate(question, catalog_of(without_stars, HELD), today=TODAY), NotRead)


@pytest.mark.parametrize(
    "question",
    [
        # Members and trainers have nothing to do with each other but a club: their pay is not what members pay.
        "How many members pay less than 25?",
        # There is one course of that name; how many people fit into it is another question.
        "How many people can attend Yoga?",
        # Rentals are of another table, of which nothing would be read.
        "How many machines are rented?",
        # So many pieces, and not so many rows.
        "Total stock by club",
        "Which club holds the most stock?",
        # An hourly wage is no length of service.
        "Longest serving trainer",
        "What do we teach in Yoga?",
        # How many days nobody asked.
        "Cheapest machine per day",
    ],
)
def test_what_is_not_meant_is_asked_back(question: str) -> None:
    assert isinstance(translate(question, club(), today=TODAY), NotRead)


SCHOOL = """
CREATE TABLE 学生 (学号 INTEGER PRIMARY KEY, 姓名 TEXT);
CREATE TABLE 课程 (课程编号 INTEGER PRIMARY KEY, 课程名 TEXT);
CREATE TABLE 成绩 (成绩编号 INTEGER PRIMARY KEY, 学号 INTEGER, 课程编号 INTEGER, 分数 REAL);
CREATE TABLE 缴费 (缴费编号 INTEGER PRIMARY KEY, 学号 INTEGER, 金额 REAL);
INSERT INTO 学生 VALUES (1, '王芳'), (2, '李娜');
INSERT INTO 课程 VALUES (1, '数学'), (2, '语文');
INSERT INTO 成绩 VALUES (1, 1, 1, 90), (2, 2, 1, 70), (3, 1, 2, 60);
INSERT INTO 缴费 VALUES (1, 1, 500), (2, 1, 500), (3, 2, 1200);
"""


def school() -> tuple[sqlite3.Connection, Catalog]:
    database = sqlite3.connect(":memory:")
    database.executescript(SCHOOL)

    def table(name: str, *columns: tuple[str, ColumnKind], refers: tuple[tuple[str, str], ...] = ()) -> Table:
        return Table(
            name=name,
            columns=tuple(
                Column(
                    name=column,
                    type="",
                    kind=kind,
                    values=("数学", "语文") if column == "课程名" else (),
                    values_complete=column == "课程名",
                )
                for column, kind in columns
            ),
            primary_key=(columns[0][0],),
            foreign_keys=tuple(
                ForeignKey(columns=(column,), referred_table=other, referred_columns=(column,))
                for column, other in refers
            ),
        )

    whole, text, number = ColumnKind.INTEGER, ColumnKind.TEXT, ColumnKind.NUMBER
    students = table("学生", ("学号", whole), ("姓名", text))
    courses = table("课程", ("课程编号", whole), ("课程名", text))
    marks = table(
        "成绩",
        ("成绩编号", whole),
        ("学号", whole),
        ("课程编号", whole),
        ("分数", number),
        refers=(("学号", "学生"), ("课程编号", "课程")),
    )
    fees = table("缴费", ("缴费编号", whole), ("学号", whole), ("金额", number), refers=(("学号", "学生"),))
    return database, Catalog(connection="school", dialect=Dialect.SQLITE, tables=(students, courses, marks, fees))


@pytest.mark.parametrize(
    "question", ["谁的数学成绩最好？", "语文课是谁教的？", "缴费最多的前5名学生", "每个学生平均缴费多少？"]
)
def test_a_name_or_an_amount_is_asked_for_and_nothing_else_is_said(question: str) -> None:
    _, catalog = school()
    assert isinstance(translate(question, catalog, today=TODAY), NotRead)


@pytest.mark.parametrize("question", ["one repair only", "repair"])
def test_a_word_that_resembles_nothing_is_asked_about_without_a_guess(question: str):
    answer = translate(question, states(), today=TODAY)
    assert isinstance(answer, NotRead)
    assert (answer.about, answer.best) == ("repair", "")


@pytest.mark.parametrize("question", ["status", "wage", "How many jobs are there by status?"])
def test_a_word_of_a_name_and_what_stands_beside_one_are_read(question: str):
    assert not isinstance(answer := translate(question, states(), today=TODAY), NotRead), answer


def states() -> Catalog:
    return catalog_of(
        "CREATE TABLE jobs (job_id INTEGER PRIMARY KEY, status TEXT, hourly_wage REAL); INSERT INTO jobs VALUES (1, 'open', 5)",
        {},
    )
