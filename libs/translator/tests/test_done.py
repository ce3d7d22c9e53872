"""Verbs that name a day say what was done: they are a condition or nothing, and never a column of their own."""

from __future__ import annotations

from datetime import date

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Table
from querybus_translator import Translated, translate

TODAY = date(2026, 6, 1)


def key(name: str) -> Column:
    return Column(name=name, type="INTEGER", kind=ColumnKind.INTEGER, nullable=False)


def day(name: str, *, nullable: bool = False) -> Column:
    return Column(name=name, type="DATE", kind=ColumnKind.DATE, nullable=nullable)


def catalog() -> Catalog:
    """Ferry berths, their boats, and invoices of repairs that not everybody has paid."""
    text, number = ColumnKind.TEXT, ColumnKind.NUMBER
    yards = Table(
        name="yards",
        columns=(key("yard_id"), Column(name="name", type="TEXT", kind=text, nullable=False)),
        primary_key=("yard_id",),
    )
    invoices = Table(
        name="invoices",
        columns=(
            key("invoice_id"),
            key("yard_id"),
            Column(name="amount", type="REAL", kind=number, nullable=False),
            day("issued_on"),
            day("paid_on", nullable=True),
        ),
        primary_key=("invoice_id",),
        foreign_keys=(ForeignKey(columns=("yard_id",), referred_table="yards", referred_columns=("yard_id",)),),
    )
    boats = Table(
        name="boats",
        columns=(key("boat_id"), key("yard_id"), day("sold_on")),
        primary_key=("boat_id",),
        foreign_keys=(ForeignKey(columns=("yard_id",), referred_table="yards", referred_columns=("yard_id",)),),
    )
    return Catalog(connection="yards", dialect=Dialect.SQLITE, tables=(yards, invoices, boats))


def sql(question: str) -> str:
    result = translate(question, catalog(), today=TODAY)
    assert isinstance(result, Translated), (question, result)
    return result.sql


@pytest.mark.parametrize(
    "question",
    ["How many invoices were paid?", "How many paid invoices are there?", "Number of paid invoices"],
)
def test_what_was_paid_is_not_all_that_there_is(question: str) -> None:
    assert sql(question) == 'SELECT COUNT(*) FROM "invoices" WHERE NOT "paid_on" IS NULL'


def test_a_figure_of_what_was_paid_is_of_that_alone() -> None:
    assert 'SUM("amount")' in sql("Total amount of paid invoices")
    assert 'NOT "paid_on" IS NULL' in sql("Total amount of paid invoices")


def test_months_are_those_of_the_day_that_the_verb_names() -> None:
    paid = sql("How many invoices were paid per month?")
    assert "STRFTIME('%Y-%m', \"paid_on\")" in paid
    assert "issued_on" not in paid
    per_year = sql("How many boats were sold per year?")
    assert per_year.count("sold_on") == 3, "shown, grouped and in order"
    assert "WHERE" not in per_year


def test_a_day_that_every_row_has_is_no_condition() -> None:
    assert sql("How many boats were sold?") == 'SELECT COUNT(*) FROM "boats"'


def test_who_did_the_most_is_ranked_by_what_was_done_and_by_no_day() -> None:
    ranked = sql("Which yard sold the most boats?")
    assert "sold_on" not in ranked
    assert "ORDER BY COUNT(*) DESC" in ranked


@pytest.mark.parametrize(
    ("question", "column"), [("When was boat 3 sold?", "sold_on"), ("When was each boat sold?", "sold_on")]
)
def test_when_something_was_done_is_asked_for(question: str, column: str) -> None:
    result = translate(question, catalog(), today=TODAY)
    assert not isinstance(result, Translated) or f'SELECT "{column}"' in result.sql


def test_a_denied_verb_is_never_read_as_done() -> None:
    for question in ("Which invoices were not paid?", "How many invoices were never paid?", "unpaid invoices"):
        result = translate(question, catalog(), today=TODAY)
        assert not isinstance(result, Translated) or "NOT" not in result.sql, question


@pytest.mark.parametrize(
    ("words", "condition"),
    [
        ("sold after 2018", "\"sold_on\" >= '2019-01-01'"),
        ("sold before 2018", "\"sold_on\" < '2018-01-01'"),
        ("sold since 2018", "\"sold_on\" >= '2018-01-01'"),
    ],
)
def test_after_a_year_begins_with_the_next(words: str, condition: str) -> None:
    assert condition in sql(f"How many boats were {words}?")
