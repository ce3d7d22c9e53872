"""Small words that change what is counted: flags, un-, out of, how much; and what is offered where nothing but sureness lacks."""

from __future__ import annotations

from datetime import date

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Table
from querybus_translator import NotRead, Translated, translate

TODAY = date(2026, 6, 30)


def column(name: str, kind: ColumnKind, *, nullable: bool = False) -> Column:
    return Column(name=name, type=kind.value, kind=kind, nullable=nullable)


GUESTS = Table(
    name="guests",
    columns=(column("guest_id", ColumnKind.INTEGER), column("name", ColumnKind.TEXT)),
    primary_key=("guest_id",),
)
BOOKINGS = Table(
    name="bookings",
    columns=(
        column("booking_id", ColumnKind.INTEGER),
        column("guest_id", ColumnKind.INTEGER),
        column("fee", ColumnKind.NUMBER),
        column("nights", ColumnKind.INTEGER),
        column("is_corporate", ColumnKind.BOOLEAN),
        column("booked_on", ColumnKind.DATE),
        column("settled_on", ColumnKind.DATE, nullable=True),
    ),
    primary_key=("booking_id",),
    foreign_keys=(ForeignKey(columns=("guest_id",), referred_table="guests", referred_columns=("guest_id",)),),
)
INN = Catalog(connection="inn", dialect=Dialect.SQLITE, tables=(GUESTS, BOOKINGS))


def sql(question: str) -> str:
    read = translate(question, INN, language="en", today=TODAY)
    assert isinstance(read, Translated), read
    return read.sql


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("How many corporate bookings are there?", '"is_corporate" = TRUE'),
        ("How many unsettled bookings are there?", '"settled_on" IS NULL'),
        ("Which bookings are unsettled?", '"settled_on" IS NULL'),
        ("Fees of the last three months", 'SUM("fee")'),
    ],
)
def test_a_small_word_stands_in_the_statement(question: str, part: str) -> None:
    assert part in sql(question)


def test_a_verb_that_resembles_a_date_is_no_column_that_is_asked_for() -> None:
    assert sql("How many corporate bookings did we book?").startswith("SELECT COUNT(*) FROM")
    assert "booked_on" not in sql("How many corporate bookings did we book?")


def test_rows_that_only_have_a_number_are_listed_with_what_people_know_them_by() -> None:
    listed = sql("List all bookings")
    assert all(f'"{name}"' in listed for name in ("booking_id", "booked_on", "fee", "nights"))
    assert '"guest_id"' not in listed
    assert sql("List all guests").count('"name"') == 1


def test_an_amount_that_is_asked_for_and_not_found_is_asked_back() -> None:
    assert isinstance(translate("How much did each guest book?", INN, language="en", today=TODAY), NotRead)


def test_the_best_reading_is_offered_with_what_it_leaves_out_and_given_once_it_is_accepted() -> None:
    question = "How many bookings are there that nobody wanted?"
    read = translate(question, INN, language="en", today=TODAY)
    assert isinstance(read, NotRead)
    assert read.best.startswith("Number of bookings")
    assert not read.likely
    accepted = translate(question, INN, language="en", today=TODAY, accepted=True)
    assert isinstance(accepted, Translated)
    assert accepted.left_out == ("nobody", "wanted")
    whole = translate("How many bookings are there?", INN, language="en", today=TODAY, accepted=True)
    assert isinstance(whole, Translated)
    assert whole.left_out == ()


def test_a_reading_of_every_word_is_offered_in_words_and_answered_once_it_is_accepted() -> None:
    question = "How much did bookings cost per night"
    read = translate(question, INN, language="en", today=TODAY)
    assert isinstance(read, NotRead)
    assert read.likely.startswith("Fee of bookings")
    accepted = translate(question, INN, language="en", today=TODAY, accepted=True)
    assert isinstance(accepted, Translated)
    assert accepted.sql == 'SELECT "fee", "nights" FROM "bookings"'
    unread = translate("How many zorbs are there?", INN, language="en", today=TODAY, accepted=True)
    assert isinstance(unread, NotRead), "a word that was not read is never passed over"


@pytest.mark.parametrize(
    ("said", "first", "behind"),
    [
        ("from May 3 to June 1", "2026-05-03", "2026-06-02"),
        ("between May 3 and June 1, 2025", "2025-05-03", "2025-06-02"),
        ("from May to June 2025", "2025-05-01", "2025-07-01"),
        ("between November and February", "2025-11-01", "2026-03-01"),
        ("on May 3", "2026-05-03", "2026-05-04"),
        ("May 2025 to June 2025", "2025-05-01", "2025-07-01"),
        ("between May 3, 2025 and June 1", "2025-05-03", "2025-06-02"),
        ("from Q2 2025 to Q3", "2025-04-01", "2025-10-01"),
    ],
)
def test_a_range_of_days_may_lack_a_year_and_is_what_lies_between(said: str, first: str, behind: str):
    where = f"""WHERE "booked_on" >= '{first}' AND "booked_on" < '{behind}'"""
    assert sql(f"How many bookings {said}?") == f'SELECT COUNT(*) FROM "bookings" {where}'


def test_two_months_share_the_year_that_is_said_once():
    assert "'2025-05-01'" in sql("How many bookings in May and June 2025?")
    assert " OR " in sql("How many bookings in May and June 2025?")


def test_a_figure_elsewhere_and_a_year_of_something_else_are_no_year_of_a_day():
    assert "'2026-05-03'" in sql("How many bookings with a fee from 2000 to 2100 on May 3?")
    assert "'2026-05-04'" in sql("How many bookings after May 3 and before 2027?")
