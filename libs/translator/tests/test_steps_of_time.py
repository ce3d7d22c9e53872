"""Quarters as groups, which step of time was first, and in which order groups stand."""

from __future__ import annotations

import sqlite3
from datetime import date

import pytest
from sqlglot import parse_one

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table
from querybus.sql.conditions.periods import unit_of
from querybus_translator import NotRead, Translated, translate, translate_in_thread

TODAY = date(2026, 6, 30)
ROWS = """
CREATE TABLE repairs (repair_id INTEGER PRIMARY KEY, workshop TEXT, fee REAL, repaired_on DATE);
INSERT INTO repairs VALUES (1, 'North', 50, '2025-01-10'), (2, 'North', 10, '2025-02-11'), (3, 'South', 90, '2025-03-12'),
  (4, 'South', 5, '2025-05-01'), (5, 'South', 5, '2025-05-02'), (6, 'South', 5, '2025-08-09'), (7, 'West', 80, '2026-02-01');
"""


def catalog(dialect: Dialect = Dialect.SQLITE) -> Catalog:
    kinds = {
        "repair_id": ColumnKind.INTEGER,
        "workshop": ColumnKind.TEXT,
        "fee": ColumnKind.NUMBER,
        "repaired_on": ColumnKind.DATE,
    }
    columns = tuple(Column(name=name, type=kind.value, kind=kind, nullable=False) for name, kind in kinds.items())
    table = Table(name="repairs", columns=columns, primary_key=("repair_id",))
    return Catalog(connection="garage", dialect=dialect, tables=(table,))


def sql(question: str, *earlier: str) -> str:
    read = translate_in_thread(question, earlier, catalog(), today=TODAY)
    assert isinstance(read, Translated), read
    return read.sql


def rows(question: str, *earlier: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(":memory:") as opened:
        opened.executescript(ROWS)
        return opened.execute(sql(question, *earlier)).fetchall()


def test_a_quarter_is_shown_by_its_first_day_under_its_own_name() -> None:
    assert sorted(rows("How many repairs per quarter?")) == [
        ("2025-01-01", 3),
        ("2025-04-01", 2),
        ("2025-07-01", 1),
        ("2026-01-01", 1),
    ]
    assert 'AS "quarter"' in sql("How many repairs per quarter?")
    assert sorted(rows("每个季度有多少repairs？")) == sorted(rows("How many repairs per quarter?"))


def test_a_follow_up_cuts_the_same_figure_by_quarter() -> None:
    assert sorted(rows("and by quarter", "total fee in 2025")) == [
        ("2025-01-01", 150),
        ("2025-04-01", 10),
        ("2025-07-01", 5),
    ]


@pytest.mark.parametrize("dialect", Dialect)
def test_every_dialect_cuts_dates_to_quarters(dialect: Dialect) -> None:
    read = translate("How many repairs per quarter?", catalog(dialect), language="en", today=TODAY)
    assert isinstance(read, Translated), read
    tree = parse_one(read.sql, read=dialect.value)
    found = unit_of(tree.expressions[0].unalias())
    assert found is not None
    assert (found[0], found[1].name.lower()) == ("quarter", "repaired_on")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which month had the most repairs?", "2025-05"),
        ("哪个月的repairs最多？", "2025-05"),
        ("In which quarter of 2025 did we have the most repairs?", "2025-01-01"),
        ("Which year had the highest total fee?", "2025"),
        ("Which year had the highest fee?", "2025"),
    ],
)
def test_which_step_of_time_comes_first_is_ranked(question: str, answer: str) -> None:
    assert rows(question) == [(answer,)]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Total fee by workshop, highest first", "South"),
        ("Total fee by month, highest first", "2025-03"),
        ("Average fee by workshop, lowest first", "South"),
        ("Number of repairs by month, newest first", "2026-02"),
        ("Number of repairs by month, in chronological order", "2025-01"),
    ],
)
def test_groups_stand_in_the_order_of_their_figure_or_of_their_time(question: str, first: str) -> None:
    assert rows(question)[0][0] == first
    assert "ORDER BY" in sql(question)


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("How many repairs were there in the first quarter of 2025?", 3),
        ("How many repairs in the second quarter of last year?", 2),
        ("How many repairs in the 3rd quarter of 2025?", 1),
    ],
)
def test_a_quarter_by_its_number_in_words_is_a_period(question: str, count: int) -> None:
    assert rows(question) == [(count,)]


def test_how_much_each_is_the_one_figure_that_adds_up() -> None:
    assert sorted(rows("How much did each workshop get?")) == [
        ("North", 60),
        ("South", 105),
        ("West", 80),
    ]


@pytest.mark.parametrize(
    "more",
    [
        Column(name="tip_amount", type="REAL", kind=ColumnKind.NUMBER),
        # What may not have happened yet: a repair without a day of payment.
        Column(name="paid_on", type="DATE", kind=ColumnKind.DATE, nullable=True),
    ],
)
def test_without_one_figure_that_is_certain_it_is_asked_back(more: Column) -> None:
    table = catalog().tables[0]
    two = table.model_copy(update={"columns": (*table.columns, more)})
    read = translate(
        "How much did each workshop get?", catalog().model_copy(update={"tables": (two,)}), language="en", today=TODAY
    )
    assert isinstance(read, NotRead)


def test_the_days_of_the_week_are_named_in_the_language_of_the_question_and_stand_in_their_order() -> None:
    weekdays = [("Tuesday", 1), ("Wednesday", 1), ("Thursday", 1), ("Friday", 2), ("Saturday", 1), ("Sunday", 1)]
    assert rows("How many repairs per weekday?") == weekdays
    assert rows("repairs by day of the week") == weekdays
    assert rows("按星期几统计repairs") == [
        ("星期二", 1),
        ("星期三", 1),
        ("星期四", 1),
        ("星期五", 2),
        ("星期六", 1),
        ("星期日", 1),
    ]
    assert rows("total fee by weekday")[0] == ("Tuesday", 10)


@pytest.mark.parametrize(
    "question",
    ["Which weekday had the most repairs?", "On which day of the week were there the most repairs?"],
)
def test_the_busiest_day_of_the_week_is_found(question: str) -> None:
    assert rows(question) == [("Friday",)]
    assert rows("周几的repairs最多？") == [("星期五",)]


def test_hours_of_the_day_are_read_of_moments_and_not_of_days() -> None:
    days = catalog()
    columns = tuple(
        column.model_copy(update={"kind": ColumnKind.DATETIME}) if column.name == "repaired_on" else column
        for column in days.tables[0].columns
    )
    moments = days.model_copy(update={"tables": (days.tables[0].model_copy(update={"columns": columns}),)})
    read = translate("repairs by hour of the day", moments, today=TODAY)
    assert isinstance(read, Translated), read
    with sqlite3.connect(":memory:") as opened:
        opened.executescript(ROWS)
        assert opened.execute(read.sql).fetchall() == [(0, 7)]
    assert isinstance(translate("repairs by hour of the day", days, today=TODAY), NotRead)


@pytest.mark.parametrize("dialect", Dialect)
def test_every_dialect_names_weekdays(dialect: Dialect) -> None:
    read = translate("How many repairs per weekday?", catalog(dialect), language="en", today=TODAY)
    assert isinstance(read, Translated), read
    found = unit_of(parse_one(read.sql, read=dialect.value).expressions[0].unalias())
    assert found is not None
    assert (found[0], found[1].name.lower()) == ("weekday", "repaired_on")
