"""Times of day: as they are written in both languages, and what they bound."""

from __future__ import annotations

import sqlite3
from datetime import date

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table
from querybus_translator import NotRead, Translated, translate
from querybus_translator.language.time.clock import read_clock
from querybus_translator.language.tokens import tokenize

TODAY = date(2026, 6, 30)


def catalog(name: str, kind: ColumnKind) -> Catalog:
    columns = (
        Column(name="sailing_id", type="INTEGER", kind=ColumnKind.INTEGER, nullable=False),
        Column(name="harbour", type="TEXT", kind=ColumnKind.TEXT, nullable=False),
        Column(name=name, type="TEXT", kind=kind, nullable=False),
    )
    table = Table(name="sailings", columns=columns, primary_key=("sailing_id",))
    return Catalog(connection="ferry", dialect=Dialect.SQLITE, tables=(table,))


def count(question: str, name: str, kind: ColumnKind, *stored: str) -> object:
    read = translate(question, catalog(name, kind), today=TODAY)
    assert isinstance(read, Translated), (question, read)
    with sqlite3.connect(":memory:") as opened:
        opened.execute(f"CREATE TABLE sailings (sailing_id INTEGER PRIMARY KEY, harbour TEXT, {name} TEXT)")
        opened.executemany(f"INSERT INTO sailings (harbour, {name}) VALUES ('Kiel', ?)", [(item,) for item in stored])
        return opened.execute(read.sql).fetchall()


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("8 pm", "20:00"),
        ("8pm", "20:00"),
        ("10am", "10:00"),
        ("7:30 pm", "19:30"),
        ("7:30pm", "19:30"),
        ("20:00", "20:00"),
        ("9:05:30", "09:05"),
        ("12 am", "00:00"),
        ("12 pm", "12:00"),
    ],
)
def test_a_time_is_read_as_it_is_written_in_english(written: str, read: str) -> None:
    tokens = tokenize(written)
    assert read_clock(tokens, 0) == (len(tokens), read)


@pytest.mark.parametrize("written", ["8", "8 dollars", "25:00", "8:75", "13th", "pm", "1,200", "3.5"])
def test_figures_are_no_times(written: str) -> None:
    assert read_clock(tokenize(written), 0) is None


def test_a_word_with_the_sign_of_an_hour_is_not_cut() -> None:
    read = translate("有多少个景点？", catalog("sailed_on", ColumnKind.DATE), today=TODAY)
    assert isinstance(read, NotRead)
    assert read.about == "景点"


@pytest.mark.parametrize("stored", [("19:59", "20:00", "20:01"), ("19:59:59", "20:00:00", "20:00:01")])
@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("How many sailings after 8 pm?", 1),
        ("How many sailings depart after 8pm?", 1),
        ("How many sailings before 20:00?", 1),
        ("晚上8点以后有多少sailings？", 1),
        ("下午八点以前有多少sailings？", 1),
    ],
)
def test_a_time_of_day_bounds_a_column_of_times(question: str, number: int, stored: tuple[str, ...]) -> None:
    assert count(question, "departs_at", ColumnKind.TIME, *stored) == [(number,)]


@pytest.mark.parametrize(
    ("question", "number"), [("How many sailings after 8 pm?", 2), ("How many sailings before 8 pm?", 1)]
)
def test_full_hours_bound_moments(question: str, number: int) -> None:
    stored = ("2026-01-01 19:59:00", "2026-01-02 20:00:00", "2026-01-03 23:00:00")
    assert count(question, "departed_at", ColumnKind.DATETIME, *stored) == [(number,)]


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many sailings after 8 pm?", ColumnKind.DATE),
        ("How many sailings after 8:30 pm?", ColumnKind.DATETIME),
        ("sailings at 8 pm", ColumnKind.TIME),
    ],
)
def test_a_time_that_nothing_can_be_compared_with_is_asked_back(question: str, kind: ColumnKind) -> None:
    assert isinstance(translate(question, catalog("departs", kind), today=TODAY), NotRead)


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("How many sailings were there on Mondays?", 2),
        ("How many sailings were there on weekends?", 1),
        ("How many sailings on Mondays and Tuesdays in 2026?", 2),
        ("周末有多少sailings？", 1),
        ("每周一有多少sailings？", 2),
    ],
)
def test_days_of_all_weeks_bound_a_date(question: str, number: int) -> None:
    stored = ("2025-06-02", "2026-06-01", "2026-06-02", "2026-06-07")
    assert count(question, "sailed_on", ColumnKind.DATE, *stored) == [(number,)]


@pytest.mark.parametrize(
    "question", ["sailings per weekend", "sailings not on weekends", "How many sailings on Monday?"]
)
def test_a_day_that_may_mean_something_else_is_asked_back(question: str) -> None:
    assert isinstance(translate(question, catalog("sailed_on", ColumnKind.DATE), today=TODAY), NotRead)
