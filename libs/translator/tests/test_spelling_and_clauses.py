"""The catalog's own spelling, records that are of somebody, and clauses behind "and" that ask for one thing more."""

from __future__ import annotations

from datetime import date

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Table
from querybus_translator import NotRead, Translated, translate

TODAY = date(2026, 6, 1)


def column(name: str, kind: ColumnKind = ColumnKind.TEXT, **more: object) -> Column:
    return Column.model_validate({"name": name, "type": kind.value, "kind": kind, "nullable": False, **more})


def museum() -> Catalog:
    """Painters, their paintings, and a record for each of a painter's prizes."""
    painters = Table(
        name="painter",
        columns=(
            column("painter_id", ColumnKind.INTEGER),
            column("name"),
            column("home_town"),
            column("email"),
            column("born_in", ColumnKind.INTEGER),
            column("is_retired", ColumnKind.BOOLEAN),
        ),
        primary_key=("painter_id",),
    )
    paintings = Table(
        name="painting",
        columns=(
            column("painting_id", ColumnKind.INTEGER),
            column("title"),
            column("color", values=("red", "blue"), values_complete=True),
            column("description"),
            column("price", ColumnKind.NUMBER),
            column("painter_id", ColumnKind.INTEGER),
        ),
        primary_key=("painting_id",),
        foreign_keys=(ForeignKey(columns=("painter_id",), referred_table="painter", referred_columns=("painter_id",)),),
    )
    records = Table(
        name="painter_record",
        columns=(column("record_id", ColumnKind.INTEGER), column("painter_id", ColumnKind.INTEGER), column("prize")),
        primary_key=("record_id",),
        foreign_keys=(ForeignKey(columns=("painter_id",), referred_table="painter", referred_columns=("painter_id",)),),
    )
    work = Table(
        name="work",
        columns=(
            column("painter_id", ColumnKind.INTEGER),
            column("painting_id", ColumnKind.INTEGER),
            column("hours", ColumnKind.NUMBER),
        ),
        primary_key=("painter_id", "painting_id"),
        foreign_keys=tuple(
            ForeignKey(columns=(f"{name}_id",), referred_table=name, referred_columns=(f"{name}_id",))
            for name in ("painter", "painting")
        ),
    )
    return Catalog(connection="museum", dialect=Dialect.SQLITE, tables=(painters, paintings, records, work))


def read(question: str) -> Translated | NotRead:
    return translate(question, museum(), language="en", today=TODAY)


def sql(question: str) -> str:
    result = read(question)
    assert isinstance(result, Translated), (question, result)
    return result.sql


@pytest.mark.parametrize(
    ("asked", "plainer"),
    [
        ("How many colours of paintings are there?", "How many colors of paintings are there?"),
        ("painters from Z to A", "List the names of painters in reverse alphabetical order"),
        (
            'Which painters have "@example.org" in their email?',
            'Which painters are there whose email contains "@example.org"?',
        ),
    ],
)
def test_it_is_read_as_the_catalog_says_it(asked: str, plainer: str) -> None:
    assert sql(asked) == sql(plainer)


def test_rows_in_alphabetical_order_stand_by_their_names_and_those_by_size_are_asked_about() -> None:
    assert sql("painters from A to Z").endswith('ORDER BY "name" ASC')
    assert sql("List all painters alphabetically").endswith('ORDER BY "name" ASC')
    for question in (
        "painters from the smallest to the largest",
        "Where are the painters, from the largest to the smallest?",
    ):
        assert isinstance(read(question), NotRead), question


def test_records_are_of_the_one_table_that_is_called_so() -> None:
    counted = sql("How many records does each painter have?")
    assert "COUNT(" in counted
    assert '"painter_record"' in counted
    assert "GROUP BY" in counted


@pytest.mark.parametrize(
    "question",
    [
        "Who are the painters and where do they come from?",
        "What were the paintings about, and how much did they cost?",
        "Which painters painted, and since when?",
        "Whose painting is blue?",
        "Painters with their email and where they are",
        "How much has been spent altogether, and what is a painting's price on average?",
    ],
)
def test_what_is_asked_for_and_not_shown_is_asked_back(question: str) -> None:
    answer = read(question)
    assert isinstance(answer, NotRead), answer


def test_a_clause_that_leads_in_asks_for_nothing() -> None:
    assert "MAX" in sql("Of all the paintings, what is the highest price?")


def test_who_and_whose_thing_are_asked_for_are_shown_or_asked_back() -> None:
    for question in (
        "Which painting has the highest price and who is the painter?",
        "Who has never been given a painting?",
    ):
        answer = read(question)
        shown = answer.sql.partition(" FROM ")[0] if isinstance(answer, Translated) else '"name"'
        assert '"name"' in shown, (question, answer)


def test_what_is_noted_of_pairs_adds_up() -> None:
    assert 'SUM(t2."hours")' in sql("top 2 painters by hours")
