"""Two periods side by side: either is meant where days cannot lie in both, and a figure for each where they are compared."""

from __future__ import annotations

import sqlite3
from datetime import date

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Table
from querybus_translator import NotRead, Translated, translate
from querybus_translator.language.time.periods import read_period, whole_year
from querybus_translator.language.tokens import tokenize
from querybus_translator.writing.contradictions import are_contradictory
from querybus_translator.writing.form import AllOf, AnyOf, ColumnRef, Comparison, Literal, Measure, Operator

TODAY = date(2026, 6, 30)
ROWS = """
CREATE TABLE divers (diver_id INTEGER PRIMARY KEY, nickname TEXT, birth_date DATE);
CREATE TABLE dives (dive_id INTEGER PRIMARY KEY, diver_id INTEGER, depth REAL, price REAL, dived_on DATE);
INSERT INTO divers VALUES (1, 'Ann', '1980-05-05'), (2, 'Ben', '1981-06-06'), (3, 'Cy', '1982-07-07');
INSERT INTO dives VALUES (1, 1, 10, 5, '2023-03-01'), (2, 1, 20, 5, '2024-03-02'), (3, 1, 30, 5, '2024-07-03'),
  (4, 2, 40, 9, '2025-03-04'), (5, 2, 50, 9, '2025-04-05'), (6, 2, 60, 9, '2026-03-06');
"""


def catalog() -> Catalog:
    def column(name: str, kind: ColumnKind) -> Column:
        return Column(name=name, type=kind.value, kind=kind, nullable=False)

    divers = Table(
        name="divers",
        columns=(
            column("diver_id", ColumnKind.INTEGER),
            column("nickname", ColumnKind.TEXT),
            column("birth_date", ColumnKind.DATE),
        ),
        primary_key=("diver_id",),
    )
    dives = Table(
        name="dives",
        columns=(
            column("dive_id", ColumnKind.INTEGER),
            column("diver_id", ColumnKind.INTEGER),
            column("depth", ColumnKind.NUMBER),
            column("price", ColumnKind.NUMBER),
            column("dived_on", ColumnKind.DATE),
        ),
        primary_key=("dive_id",),
        foreign_keys=(ForeignKey(columns=("diver_id",), referred_table="divers", referred_columns=("diver_id",)),),
    )
    return Catalog(connection="reef", dialect=Dialect.SQLITE, tables=(divers, dives))


def rows(question: str) -> list[tuple[object, ...]]:
    read = translate(question, catalog(), today=TODAY)
    assert isinstance(read, Translated), (question, read)
    with sqlite3.connect(":memory:") as opened:
        opened.executescript(ROWS)
        return sorted(opened.execute(read.sql).fetchall())


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("How many dives were there in 2024 and 2025?", 4),
        ("How many dives were there in 2023, 2024 and 2025?", 5),
        ("How many dives in March 2025 and 2026?", 2),
        ("How many dives in the first quarter of 2025 and 2026?", 2),
        ("How many dives were there between 2024 and 2025?", 4),
        ("2024年和2025年有多少dives？", 4),
        ("2025年和2026年第一季度有多少dives？", 2),
    ],
)
def test_the_second_of_two_years_is_a_period_like_the_first(question: str, count: int) -> None:
    assert rows(question) == [(count,)]


def test_only_what_opens_a_range_right_before_it_makes_a_second_year_its_end() -> None:
    assert read_period(tokenize("dives from Ann in 2023 and 2024"), 6, TODAY) == (7, whole_year(2024))
    assert read_period(tokenize("dives between March 2023 and 2024"), 5, TODAY) is None


@pytest.mark.parametrize(
    ("question", "figures"),
    [
        ("Compare the dives in 2024 and 2025", [("2024", 2), ("2025", 2)]),
        ("dives in 2024 vs 2025", [("2024", 2), ("2025", 2)]),
        ("compare the total price in March 2025 and March 2026", [("2025", 9.0), ("2026", 9.0)]),
        ("compare prices in March and April 2025", [("2025-03", 9.0), ("2025-04", 9.0)]),
        ("比较2024年和2025年的dives", [("2024", 2), ("2025", 2)]),
        ("比较2025年和2026年第一季度的price", [("2025", 9.0), ("2026", 9.0)]),
    ],
)
def test_compared_periods_have_a_figure_each(question: str, figures: list[tuple[str, float]]) -> None:
    assert rows(question) == figures


@pytest.mark.parametrize(
    "question", ["Compare dives and divers", "Compare the dives in 2024", "compare dives of Ann vs Ben"]
)
def test_what_else_is_compared_is_asked_back(question: str) -> None:
    assert isinstance(translate(question, catalog(), today=TODAY), NotRead)


@pytest.mark.parametrize(
    "question",
    [
        "average dives per diver",
        "average number of dives per diver",
        "How many dives does a diver have on average?",
        "每位divers平均有多少次dives？",
        "每位divers平均有几次dives？",
    ],
)
def test_how_many_each_has_on_average_is_one_figure(question: str) -> None:
    assert rows(question) == [(3.0,)]


def test_a_verb_before_a_superlative_is_not_asked_for() -> None:
    read = translate("Which divers dive most by depth?", catalog(), today=TODAY)
    assert not isinstance(read, Translated) or "dived_on" not in read.sql.partition("FROM")[0]


def test_spans_that_have_nothing_in_common_contradict_each_other() -> None:
    def span(column: int, first: str, last: str) -> AllOf:
        measure = Measure(ColumnRef(0, column))
        return AllOf(
            (
                Comparison(measure, Operator.AT_LEAST, Literal(first)),
                Comparison(measure, Operator.LESS, Literal(last)),
            )
        )

    in_2024, in_2025 = span(0, "2024-01-01", "2025-01-01"), span(0, "2025-01-01", "2026-01-01")
    assert are_contradictory([in_2024, in_2025])
    assert not are_contradictory([in_2024, span(0, "2024-12-01", "2025-02-01")])
    assert not are_contradictory([in_2024, span(1, "2025-01-01", "2026-01-01")])
    assert not are_contradictory([AnyOf((in_2024, in_2025))])


def test_a_period_is_not_about_when_somebody_was_born_where_something_else_has_a_day() -> None:
    assert len(rows("dives of divers in 2024")) == 2
    assert rows("How many divers were born in 1980 and 1981?") == [(2,)]
