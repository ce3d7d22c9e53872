"""Which word of a question is counted and which is compared, where a verb is also the name of a column, or of an order."""

from __future__ import annotations

import sqlite3
from datetime import date

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Table
from querybus_translator import NotRead, Translated, translate

TODAY = date(2026, 6, 30)
ROWS = """
CREATE TABLE plants (plant_id INTEGER PRIMARY KEY, name TEXT, cost REAL, kind TEXT);
CREATE TABLE growers (grower_id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE orders (order_id INTEGER PRIMARY KEY, grower_id INTEGER, plant_id INTEGER, ordered_on DATE);
INSERT INTO plants VALUES (1, 'Rose', 12, 'shrubs'), (2, 'Fern', 5, 'ferns'), (3, 'Box', 30, 'shrubs');
INSERT INTO growers VALUES (1, 'Ida'), (2, 'Kai');
INSERT INTO orders VALUES (1, 1, 1, '2026-05-03'), (2, 1, 2, '2026-05-09'), (3, 2, 3, '2025-05-09');
"""


def nursery() -> Catalog:
    def table(name: str, key: str, *columns: tuple[str, ColumnKind], refers: tuple[tuple[str, str], ...] = ()) -> Table:
        return Table(
            name=name,
            columns=tuple(
                Column(
                    name=column,
                    type="",
                    kind=kind,
                    values=("shrubs", "ferns") if column == "kind" else (),
                    values_complete=column == "kind",
                )
                for column, kind in ((key, ColumnKind.INTEGER), *columns)
            ),
            primary_key=(key,),
            foreign_keys=tuple(
                ForeignKey(columns=(column,), referred_table=other, referred_columns=(column,))
                for column, other in refers
            ),
        )

    text, number, day = ColumnKind.TEXT, ColumnKind.NUMBER, ColumnKind.DATE
    return Catalog(
        connection="nursery",
        dialect=Dialect.SQLITE,
        tables=(
            table("plants", "plant_id", ("name", text), ("cost", number), ("kind", text)),
            table("growers", "grower_id", ("name", text)),
            table(
                "orders",
                "order_id",
                ("grower_id", ColumnKind.INTEGER),
                ("plant_id", ColumnKind.INTEGER),
                ("ordered_on", day),
                refers=(("grower_id", "growers"), ("plant_id", "plants")),
            ),
        ),
    )


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("How many plants cost more than 10?", [(2,)]),
        ("How many plants cost between 10 and 20?", [(1,)]),
        ("How many plants cost more than the average?", [(1,)]),
        ("How much does a plant cost?", [("Rose", 12.0), ("Fern", 5.0), ("Box", 30.0)]),
        ("What is the total cost of plants?", [(47.0,)]),
        ("How many growers ordered in May 2026?", [(1,)]),
        ("Which growers ordered last month?", [("Ida",)]),
        ("List plants ordered by cost", [("Fern",), ("Rose",), ("Box",)]),
    ],
)
def test_a_verb_that_names_a_column_or_an_order_is_read_by_what_stands_behind_it(
    question: str, rows: list[tuple[object, ...]]
) -> None:
    found = translate(question, nursery(), today=TODAY)
    assert isinstance(found, Translated), found
    database = sqlite3.connect(":memory:")
    database.executescript(ROWS)
    assert database.execute(found.sql).fetchall() == rows


@pytest.mark.parametrize("question", ["How many orders contain shrubs?", "Which orders contain moss?"])
def test_what_rows_contain_is_not_searched_in_their_numbers(question: str) -> None:
    found = translate(question, nursery(), today=TODAY)
    assert isinstance(found, NotRead) or "LIKE" not in found.sql
