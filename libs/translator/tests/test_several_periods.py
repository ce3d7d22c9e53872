"""Two periods side by side: either is meant where days cannot lie in both, and a figure for each where they are compared."""

from __future__ import annotations

import sqlite3
from datetime import date

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Table
from querybus_translator import NotRead, Translated, translate

TODAY = date(2026, 6, 30)
ROWS = """
CREATE TABLE divers (diver_id INTEGER PRIMARY KEY, nickname TEXT);
CREATE TABLE dives (dive_id INTEGER PRIMARY KEY, diver_id INTEGER, depth REAL, price REAL, dived_on DATE);
INSERT INTO divers VALUES (1, 'Ann'), (2, 'Ben'), (3, 'Cy');
INSERT INTO dives VALUES (1, 1, 10, 5, '2023-03-01'), (2, 1, 20, 5, '2024-03-02'), (3, 1, 30, 5, '2024-07-03'),
  (4, 2, 40, 9, '2025-03-04'), (5, 2, 50, 9, '2025-04-05'), (6, 2, 60, 9, '2026-03-06');
"""


def catalog() -> Catalog:
    def column(name: str, kind: ColumnKind) -> Column:
        return Column(name=name, type=kind.value, kind=kind, nullable=False)

    divers = Table(
        name="divers",
        columns=(column("diver_id", ColumnKind.INTEGER), column("nickname", ColumnKind.TEXT)),
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
