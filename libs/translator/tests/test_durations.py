"""Days from one date to another are averaged where two dates are named, and offered where a deed alone is."""

from __future__ import annotations

import sqlite3
from datetime import date

import pytest
from sqlglot import parse_one

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Table
from querybus.core.policy import ConnectionPolicy
from querybus.sql.check import Checked, check
from querybus.sql.conditions.periods import days_between, time_between
from querybus_translator import NotRead, Translated, translate

TODAY = date(2026, 6, 30)
ROWS = """
CREATE TABLE bookings (booking_id INTEGER PRIMARY KEY, booked_on DATE);
CREATE TABLE transports (transport_id INTEGER PRIMARY KEY, booking_id INTEGER, haulier TEXT, loaded_on DATE, unloaded_on DATE);
INSERT INTO bookings VALUES (1, '2025-01-01'), (2, '2026-01-01');
INSERT INTO transports VALUES (1, 1, 'Nord', '2025-01-03', '2025-01-05'), (2, 1, 'West', '2025-01-04', '2025-01-10'),
  (3, 2, 'West', '2026-01-02', NULL);
"""


def catalog(dialect: Dialect = Dialect.SQLITE) -> Catalog:
    def column(name: str, kind: ColumnKind) -> Column:
        return Column(name=name, type=kind.value, kind=kind, nullable=name == "unloaded_on")

    bookings = Table(
        name="bookings",
        columns=(column("booking_id", ColumnKind.INTEGER), column("booked_on", ColumnKind.DATE)),
        primary_key=("booking_id",),
    )
    transports = Table(
        name="transports",
        columns=(
            column("transport_id", ColumnKind.INTEGER),
            column("booking_id", ColumnKind.INTEGER),
            column("haulier", ColumnKind.TEXT),
            column("loaded_on", ColumnKind.DATE),
            column("unloaded_on", ColumnKind.DATE),
        ),
        primary_key=("transport_id",),
        foreign_keys=(
            ForeignKey(columns=("booking_id",), referred_table="bookings", referred_columns=("booking_id",)),
        ),
    )
    return Catalog(connection="haulage", dialect=dialect, tables=(bookings, transports))


def rows(question: str) -> list[tuple[object, ...]]:
    read = translate(question, catalog(), today=TODAY)
    assert isinstance(read, Translated), read
    with sqlite3.connect(":memory:") as opened:
        opened.executescript(ROWS)
        return opened.execute(read.sql).fetchall()


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("average days from loaded on to unloaded on", [(4.0,)]),
        ("How many days are there on average between loading and unloading?", [(4.0,)]),
        ("What is the average time from booking to loading?", [(2.0,)]),
        ("average number of days between loaded on and unloaded on for each haulier", [("Nord", 2.0), ("West", 6.0)]),
        ("从loaded on到unloaded on平均几天？", [(4.0,)]),
        ("average days from loaded on to unloaded on of transports in 2026", [(None,)]),
    ],
)
def test_days_between_two_dates_are_averaged(question: str, answer: list[tuple[object, ...]]) -> None:
    assert sorted(rows(question)) == answer


@pytest.mark.parametrize(
    "question",
    ["How long does a transport take?", "How many days does a transport take on average?", "average transport time"],
)
def test_how_long_a_deed_takes_offers_the_dates_of_its_rows(question: str) -> None:
    read = translate(question, catalog(), today=TODAY)
    assert isinstance(read, NotRead), read
    assert read.options[0] == "Average days from loaded on to unloaded on"


@pytest.mark.parametrize("question", ["average transport", "平均多少天booking？", "average booking time per day"])
def test_no_key_is_averaged_and_no_rows_are_counted_as_days(question: str) -> None:
    assert isinstance(translate(question, catalog(), today=TODAY), NotRead)


@pytest.mark.parametrize("dialect", Dialect)
def test_every_dialect_counts_days_between_dates(dialect: Dialect) -> None:
    read = translate("average days from loaded on to unloaded on", catalog(dialect), language="en", today=TODAY)
    assert isinstance(read, Translated), read
    found = days_between(parse_one(read.sql, read=dialect.value).expressions[0].unalias().this)
    assert found is not None
    assert [column.name.lower() for column in found] == ["loaded_on", "unloaded_on"]


def _in_case_of(dialect: Dialect, named: Catalog, days: ColumnKind) -> Catalog:
    """Return a catalog with its names in the case in which a dialect keeps them, and its dates of another kind."""

    def own(name: str) -> str:
        return name.upper() if dialect in (Dialect.ORACLE, Dialect.SNOWFLAKE) else name

    tables: list[Table] = []
    for table in named.tables:
        columns = tuple(
            column.model_copy(
                update={"name": own(column.name), "kind": days if column.kind is ColumnKind.DATE else column.kind}
            )
            for column in table.columns
        )
        keys = tuple(
            key.model_copy(
                update={
                    "columns": tuple(map(own, key.columns)),
                    "referred_table": own(key.referred_table),
                    "referred_columns": tuple(map(own, key.referred_columns)),
                }
            )
            for key in table.foreign_keys
        )
        update = {"name": own(table.name), "columns": columns, "foreign_keys": keys}
        tables.append(table.model_copy(update={**update, "primary_key": tuple(map(own, table.primary_key))}))
    return named.model_copy(update={"tables": tuple(tables)})


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize(("said", "unit"), [("hours", "hours"), ("minutes", "minutes"), ("time", "hours")])
def test_every_dialect_counts_hours_and_minutes_between_moments(dialect: Dialect, said: str, unit: str) -> None:
    moments = _in_case_of(dialect, catalog(dialect), ColumnKind.DATETIME)
    read = translate(f"average {said} from loaded on to unloaded on", moments, language="en", today=TODAY)
    assert isinstance(read, Translated), read
    figure = parse_one(read.sql, read=dialect.value).expressions[0]
    found = time_between(figure.unalias().this)
    assert figure.alias == f"average_{unit}"
    assert found is not None
    assert (found[0].name.lower(), found[1].name.lower(), found[2]) == ("loaded_on", "unloaded_on", unit)
    passed = check(read.sql, dialect=dialect, catalog=moments, policy=ConnectionPolicy(), row_limit=100)
    assert isinstance(passed, Checked), passed
    assert not passed.warnings


def test_no_date_is_cut_into_minutes() -> None:
    assert isinstance(translate("average minutes from loaded on to unloaded on", catalog(), today=TODAY), NotRead)
