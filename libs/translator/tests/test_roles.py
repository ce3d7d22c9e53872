"""Claims about tables in several roles: sender and receiver, employee and manager."""

from __future__ import annotations

import sqlite3
from datetime import date

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Table
from querybus_translator import NotRead, Translated, translate
from querybus_translator.schema.roles import roles_of

TODAY = date(2026, 6, 30)
ROWS = """
CREATE TABLE people (person_id INTEGER PRIMARY KEY, full_name TEXT, boss_id INTEGER REFERENCES people (person_id), pay INTEGER);
CREATE TABLE letters (letter_id INTEGER PRIMARY KEY, writer_id INTEGER REFERENCES people (person_id),
    reader_id INTEGER REFERENCES people (person_id), pages INTEGER);
INSERT INTO people VALUES (1, 'Ann Roe', NULL, 90), (2, 'Bob Poe', 1, 50), (3, 'Cat Moe', 1, 40), (4, 'Dan Loe', 2, 30);
INSERT INTO letters VALUES (1, 1, 2, 3), (2, 1, 3, 5), (3, 4, 2, 8), (4, 2, 1, 1);
"""


def catalog() -> Catalog:
    def number(name: str) -> Column:
        return Column(name=name, type="INTEGER", kind=ColumnKind.INTEGER)

    def key(name: str) -> ForeignKey:
        return ForeignKey(columns=(name,), referred_table="people", referred_columns=("person_id",))

    names = ("Ann Roe", "Bob Poe", "Cat Moe", "Dan Loe")
    people = Table(
        name="people",
        columns=(
            number("person_id"), Column(name="full_name", type="TEXT", kind=ColumnKind.TEXT, values=names),
            number("boss_id"), number("pay"),
        ),
        primary_key=("person_id",),
        foreign_keys=(key("boss_id"),),
    )  # fmt: skip
    letters = Table(
        name="letters",
        columns=(number("letter_id"), number("writer_id"), number("reader_id"), number("pages")),
        primary_key=("letter_id",),
        foreign_keys=(key("writer_id"), key("reader_id")),
    )
    return Catalog(connection="post", dialect=Dialect.SQLITE, tables=(people, letters))


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("How many letters are there for each writer?", [("Ann Roe", 2), ("Bob Poe", 1), ("Dan Loe", 1)]),
        ("How many letters are there for each reader?", [("Ann Roe", 1), ("Bob Poe", 2), ("Cat Moe", 1)]),
        ("Which reader has the most letters?", [("Bob Poe",)]),
        ("people whose boss is Bob Poe", [("Dan Loe",)]),
        ("names of people and their bosses", [("Bob Poe", "Ann Roe"), ("Cat Moe", "Ann Roe"), ("Dan Loe", "Bob Poe")]),
        ("How many people does each boss have?", [("Ann Roe", 2), ("Bob Poe", 1)]),
        ("How many people have no boss?", [(1,)]),
    ],
)
def test_each_role_is_read_as_rows_of_its_own(question: str, rows: list[tuple[object, ...]]) -> None:
    read = translate(question, catalog(), today=TODAY)
    assert isinstance(read, Translated), read
    opened = sqlite3.connect(":memory:")
    opened.executescript(ROWS)
    assert sorted(opened.execute(read.sql).fetchall(), key=repr) == sorted(rows, key=repr), read.sql


def test_a_key_called_like_a_table_is_no_role() -> None:
    read = catalog()
    self_named = read.tables[0].model_copy(
        update={
            "columns": tuple(
                column.model_copy(update={"name": "letter_id"}) if column.name == "boss_id" else column
                for column in read.tables[0].columns
            ),
            "foreign_keys": (
                ForeignKey(columns=("letter_id",), referred_table="people", referred_columns=("person_id",)),
            ),
        }
    )
    roles = roles_of(read.model_copy(update={"tables": (self_named, read.tables[1])}))
    assert {role.column for role in roles} == {"writer_id", "reader_id"}


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("How many letters are there for each person?", {"writer", "reader"}),
        ("number of letters by person", {"writer", "reader"}),
    ],
)
def test_rows_that_are_joined_by_several_keys_alike_are_asked_about(question: str, options: set[str]) -> None:
    read = translate(question, catalog(), today=TODAY)
    assert isinstance(read, NotRead)
    assert read.about == "person"
    assert {question.replace("person", option) for option in options} == set(read.options)
    for option in read.options:
        assert isinstance(translate(option, catalog(), today=TODAY), Translated)


def test_ways_of_equal_length_over_different_tables_are_asked_about() -> None:
    def table(name: str, *columns: str, keys: tuple[str, ...] = ()) -> Table:
        return Table(
            name=name + "s",
            columns=tuple(
                Column(
                    name=text,
                    type="",
                    kind=ColumnKind.INTEGER if text.endswith("_id") else ColumnKind.TEXT,
                    nullable=False,
                )
                for text in (f"{name}_id", *columns, *(f"{key}_id" for key in keys))
            ),
            primary_key=(f"{name}_id",),
            foreign_keys=tuple(
                ForeignKey(columns=(f"{key}_id",), referred_table=key + "s", referred_columns=(f"{key}_id",))
                for key in keys
            ),
        )

    tables = (
        table("valley", "valley_name"), table("farmer", "farmer_name", keys=("valley",)),
        table("mill", "mill_name", keys=("valley",)), table("harvest", keys=("farmer", "mill")),
    )  # fmt: skip
    diamond = Catalog(connection="diamond", dialect=Dialect.SQLITE, tables=tables)
    read = translate("How many harvests are there for each valley?", diamond, today=TODAY)
    assert isinstance(read, NotRead)
    assert len(read.options) == 2
    for option, between in zip(sorted(read.options), ("farmers", "mills"), strict=True):
        answer = translate(option, diamond, today=TODAY)
        assert isinstance(answer, Translated)
        assert f'"{between}"' in answer.sql
