"""Claims about follow-ups: what a thread's next words change in the form that was read last, on a small ferry company."""

from __future__ import annotations

import sqlite3
from datetime import date

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Table
from querybus_translator import NotRead, Translated, translate_in_thread
from querybus_translator.answers.follow import follow
from querybus_translator.schema.index import index_of
from querybus_translator.threads.follow_words import FollowUp, follow_up
from querybus_translator.writing.form import Aggregate, Form, Measure

TODAY = date(2026, 6, 30)
ROWS = """
CREATE TABLE harbours (harbour_id INTEGER PRIMARY KEY, harbour_name TEXT, island TEXT);
CREATE TABLE crossings (crossing_id INTEGER PRIMARY KEY, harbour_id INTEGER, ferry TEXT, sailed_on DATE, fare REAL, is_night BOOLEAN);
INSERT INTO harbours VALUES (1, 'Norvik', 'Big'), (2, 'Sandum', 'Big'), (3, 'Holmen', 'Little');
INSERT INTO crossings VALUES (1, 1, 'Elsa', '2025-03-01', 10, 0), (2, 1, 'Elsa', '2025-04-01', 20, 1),
    (3, 2, 'Freya', '2025-04-09', 30, 0), (4, 3, 'Elsa', '2024-04-01', 40, 1), (5, 3, 'Freya', '2026-05-05', 50, 1);
"""


def ferries() -> Catalog:
    def column(name: str, kind: ColumnKind, zh: str = "", values: tuple[str, ...] = ()) -> Column:
        return Column(name=name, type="", kind=kind, display_names={"zh": zh} if zh else {}, values=values)

    harbours = Table(
        name="harbours",
        columns=(
            column("harbour_id", ColumnKind.INTEGER),
            column("harbour_name", ColumnKind.TEXT, "港口名称", ("Norvik", "Sandum", "Holmen")),
            column("island", ColumnKind.TEXT, "岛屿", ("Big", "Little")),
        ),
        primary_key=("harbour_id",),
        display_names={"zh": "港口"},
    )
    crossings = Table(
        name="crossings",
        columns=(
            column("crossing_id", ColumnKind.INTEGER),
            column("harbour_id", ColumnKind.INTEGER),
            column("ferry", ColumnKind.TEXT, "渡轮", ("Elsa", "Freya")),
            column("sailed_on", ColumnKind.DATE, "航行日期"),
            column("fare", ColumnKind.NUMBER, "票价"),
            column("is_night", ColumnKind.BOOLEAN),
        ),
        primary_key=("crossing_id",),
        foreign_keys=(
            ForeignKey(columns=("harbour_id",), referred_table="harbours", referred_columns=("harbour_id",)),
        ),
        display_names={"zh": "航次"},
    )
    return Catalog(connection="ferries", dialect=Dialect.SQLITE, tables=(harbours, crossings))


def answer(*thread: str) -> list[tuple[object, ...]]:
    read = translate_in_thread(thread[-1], thread[:-1], ferries(), today=TODAY)
    assert isinstance(read, Translated), read
    opened = sqlite3.connect(":memory:")
    opened.executescript(ROWS)
    return opened.execute(read.sql).fetchall()


COUNT = "How many crossings were there last year?"
ZAEHLEN = "去年有多少航次？"


@pytest.mark.parametrize(
    ("thread", "rows"),
    [
        ((COUNT, "and by month?"), [("2025-03", 1), ("2025-04", 2)]),
        ((COUNT, "by ferry"), [("Elsa", 2), ("Freya", 1)]),
        ((COUNT, "only Norvik"), [(2,)]),
        ((COUNT, "the same for 2024"), [(1,)]),
        ((COUNT, "by ferry", "and by month instead"), [("2025-03", 1), ("2025-04", 2)]),
        ((COUNT, "by ferry", "also by island"), [("Elsa", "Big", 2), ("Freya", "Big", 1)]),
        ((COUNT, "by ferry", "only Elsa", "what about Freya?"), [("Freya", 1)]),
        ((COUNT, "by ferry", "top 1"), [("Elsa", 2)]),
        (("total fare of crossings by island", "and the average?"), [("Big", 20.0), ("Little", 45.0)]),
        (("How many night crossings were there?", "total fare"), [(110.0,)]),
        (("Which harbour had the most crossings?", "and the fewest?"), [("Sandum",)]),
        (("Which harbour had the most crossings?", "in 2026"), [("Holmen",)]),
        ((COUNT, "by ferry", "only Elsa and Freya"), [("Elsa", 2), ("Freya", 1)]),
        (("total fare of crossings by ferry", "highest first", "just the first one"), [("Freya", 80.0)]),
        (("total fare of crossings by ferry", "which one has the most?"), [("Freya", 80.0)]),
        (("total fare of crossings by ferry", "the two highest"), [("Elsa", 70.0), ("Freya", 80.0)]),
        (
            ("total fare of crossings by ferry", "highest first", "only the first two"),
            [("Elsa", 70.0), ("Freya", 80.0)],
        ),
        (("各渡轮的票价总和", "最高的两个"), [("Elsa", 70.0), ("Freya", 80.0)]),
        ((ZAEHLEN, "再按渡轮分", "最高的是哪个？"), [("Elsa", 2)]),
        ((COUNT, "by ferry", "island instead"), [("Big", 3)]),
        (("How many night crossings were there?", "what is their total fare?"), [(110.0,)]),
        (("How many crossings were there in March 2026?", "what about May?"), [(1,)]),
        ((COUNT, "per harbour"), [("Norvik", 2), ("Sandum", 1)]),
        ((COUNT, "by ferry", "only night crossings"), [("Elsa", 1)]),
        ((COUNT, "only on weekends"), [(1,)]),
        ((COUNT, "only on weekends", "the same for 2024"), [(0,)]),
        ((ZAEHLEN, "再按渡轮分"), [("Elsa", 2), ("Freya", 1)]),
        ((ZAEHLEN, "再按渡轮分", "再按岛屿分"), [("Elsa", "Big", 2), ("Freya", "Big", 1)]),
        ((ZAEHLEN, "只看Sandum"), [(1,)]),
        ((ZAEHLEN, "那2024年呢"), [(1,)]),
        ((ZAEHLEN, "今年呢"), [(1,)]),
        (("How many harbours had crossings last year?", "which ones?"), [("Norvik",), ("Sandum",)]),
        (("How many harbours are there?", "only Little", "list them"), [("Holmen",)]),
        (("有多少港口？", "是哪些？"), [("Norvik",), ("Sandum",), ("Holmen",)]),
        (("How many crossings have a fare above 20?", "and above 40?"), [(1,)]),
        (("How many crossings have a fare of 30?", "and of 50?"), [(1,)]),
        (("票价高于20的航次有多少？", "低于20的呢？"), [(1,)]),
        (("top 2 ferries by total fare", "only 1"), [("Freya",)]),
    ],
)
def test_a_follow_up_changes_what_was_read_last(thread: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    assert sorted(answer(*thread)) == sorted(rows)


@pytest.mark.parametrize("text", ["sort by fare, highest first", "highest first", "sort descending", "从高到低排序"])
def test_groups_are_sorted_by_the_figure_that_they_have(text: str) -> None:
    assert answer("total fare of crossings by island", text) == [("Little", 90.0), ("Big", 60.0)]


def test_days_of_the_week_keep_their_order_in_a_follow_up() -> None:
    assert answer(COUNT, "by weekday") == [("Tuesday", 1), ("Wednesday", 1), ("Saturday", 1)]


def test_a_question_of_its_own_is_read_by_itself() -> None:
    assert answer(COUNT, "only Norvik", "How many harbours are there?") == [(3,)]


def test_a_question_that_was_asked_about_changes_nothing() -> None:
    assert answer(COUNT, "why do gulls scream?", "only Norvik") == [(2,)]


@pytest.mark.parametrize("text", ["why?", "为什么", "and the gulls?", "only Atlantis", "and", "by"])
def test_a_follow_up_that_cannot_be_read_is_asked_about(text: str) -> None:
    assert isinstance(translate_in_thread(text, (COUNT,), ferries(), today=TODAY), NotRead)


def test_which_ones_is_asked_back_where_nothing_was_counted_by_itself() -> None:
    thread = (COUNT, "by ferry")
    assert isinstance(translate_in_thread("which ones?", thread, ferries(), today=TODAY), NotRead)
    assert isinstance(translate_in_thread("which ones?", (), ferries(), today=TODAY), NotRead)


def test_words_of_a_thread_that_only_name_a_column_are_no_question_about_it() -> None:
    """ "As a fare" behind a count must not list the fares."""
    assert isinstance(translate_in_thread("as a fare", (COUNT, "by ferry"), ferries(), today=TODAY), NotRead)


def test_a_follow_up_is_a_pure_change_of_a_form() -> None:
    index = index_of(ferries())
    form = Form(targets=(Measure(aggregate=Aggregate.COUNT, table=1),), tables=(1,))
    changed = follow(form, "only Elsa", index, TODAY)
    assert changed is not None
    assert changed.form.targets == form.targets
    assert len(changed.form.where) == 1
    assert follow(form, "hello there", index, TODAY) is None


def test_the_words_of_a_follow_up_are_reported_from_what_it_says() -> None:
    assert follow_up("And by month?") == FollowUp("by month", adds=False, is_marked=True)
    assert follow_up("再按渡轮分") == FollowUp("按渡轮分", adds=True, is_marked=True)
    assert follow_up("andorra") == FollowUp("andorra", adds=False, is_marked=False)


@pytest.mark.parametrize(
    ("thread", "rows"),
    [
        (("How many crossings were there in 2025?", "only in April"), [(2,)]),
        (("How many crossings were there in 2024?", "only in April"), [(1,)]),
        (("How many crossings were there in 2025?", "only in April", "and in March?"), [(1,)]),
        (("2025年有多少航次？", "只看4月"), [(2,)]),
        (("How many crossings were there in 2025?", "what about last month?"), [(1,)]),
        (("How many crossings were there in 2025?", "and in April 2024?"), [(1,)]),
    ],
)
def test_a_month_is_of_the_year_that_was_spoken_of(thread: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    assert answer(*thread) == rows


def test_a_period_behind_rows_that_lack_others_is_asked_back() -> None:
    thread = ("Which harbours have no crossings?", "and in 2025?")
    assert isinstance(translate_in_thread(thread[1], thread[:1], ferries(), today=TODAY), NotRead)
