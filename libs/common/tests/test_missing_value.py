"""Claims on texts that do not occur: which differences are near, which are not, and what is never suggested from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table
from querybus.core.policy import ConnectionPolicy
from querybus.sql.conditions.missing_value import MissingValue, as_held, instead, missing_value, near

CITIES = ("Beijing", "New York", "Saint-Denis", "Oslo", "Dogs", "Copenhagen")


def shop(*, complete: bool = True, personal: bool = False) -> Catalog:
    city = Column(
        name="city", type="TEXT", kind=ColumnKind.TEXT, values=CITIES, values_complete=complete, personal=personal
    )
    number = Column(name="id", type="INTEGER", kind=ColumnKind.INTEGER)
    tables = (Table(name="customers", columns=(number, city)), Table(name="shops", columns=(number,)))
    return Catalog(connection="shop", dialect=Dialect.SQLITE, tables=tables)


def found(sql: str, catalog: Catalog | None = None, policy: ConnectionPolicy | None = None) -> MissingValue | None:
    return missing_value(sql, Dialect.SQLITE, catalog or shop(), policy or ConnectionPolicy())


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("beijing", "Beijing"),
        ("new  york", "New York"),
        ("Saint Denis", "Saint-Denis"),
        ("dog", "Dogs"),
        ("Bejing", "Beijing"),
        ("Copenhagne", "Copenhagen"),
        ("Kopenhaven", "Copenhagen"),
    ],
)
def test_a_small_difference_is_near(written: str, meant: str) -> None:
    missing = found(f"SELECT id FROM customers WHERE city = '{written}'")
    assert missing is not None
    assert (missing.text, missing.near, missing.column) == (written, (meant,), "city")


@pytest.mark.parametrize("written", ["NY", "New", "Peking", "Os", "Kopenhavn", "", "Rome"])
def test_an_abbreviation_or_another_word_is_not(written: str) -> None:
    assert found(f"SELECT id FROM customers WHERE city = '{written}'") is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM customers WHERE city = 'Oslo'",
        "SELECT id FROM customers WHERE city <> 'oslo'",
        "SELECT id FROM customers WHERE NOT city IN ('oslo')",
        "SELECT id FROM customers WHERE city LIKE '%oslo%'",
        "SELECT id FROM customers WHERE id = 'oslo'",
        "SELECT id FROM shops WHERE city = 'oslo'",
        "this is no statement",
    ],
)
def test_nothing_is_missing_where_no_text_is_asked_for_that_the_column_lacks(sql: str) -> None:
    assert found(sql) is None


def test_a_text_in_a_list_or_a_sub_query_counts_too() -> None:
    assert found("SELECT id FROM customers WHERE city IN ('Oslo', 'BEIJING')") is not None
    assert found("SELECT * FROM shops WHERE id IN (SELECT c.id FROM customers AS c WHERE c.city = 'oslo')") is not None


@pytest.mark.parametrize(
    "policy",
    [
        ConnectionPolicy(columns_denied={"customers": ("City",)}),
        ConnectionPolicy(columns_masked={"main.customers": ("city",)}),
        ConnectionPolicy(row_filters={"Customers": "tenant_id = :tenant"}),
        ConnectionPolicy(tables_allowed=("shops",)),
    ],
)
def test_what_a_policy_hides_is_never_suggested_from(policy: ConnectionPolicy) -> None:
    assert found("SELECT id FROM customers WHERE city = 'oslo'", policy=policy) is None


def test_a_persons_own_data_is_never_suggested() -> None:
    assert found("SELECT id FROM customers WHERE city = 'oslo'", shop(personal=True)) is None


def test_of_values_that_are_not_all_known_only_another_spelling_is_suggested() -> None:
    assert found("SELECT id FROM customers WHERE city = 'oslo'", shop(complete=False)) is not None
    assert found("SELECT id FROM customers WHERE city = 'Bejing'", shop(complete=False)) is None


def test_figures_are_not_near_to_each_other() -> None:
    assert near("Room 2041", ["Room 2042", "Room 2043"]) == ()


def test_the_question_is_asked_with_the_value_in_the_place_of_the_text() -> None:
    missing = MissingValue("oslo", "customers", "city", ("Oslo",))
    assert instead("Who lives in OSLO?", missing, "Oslo") == "Who lives in Oslo?"
    assert instead("Who lives there?", missing, "Oslo") == "Who lives there? (Oslo)"


def held(
    sql: str, *values: str, complete: bool = True, policy: ConnectionPolicy | None = None, personal: bool = False
) -> str:
    city = Column(
        name="city", type="TEXT", kind=ColumnKind.TEXT, values=values, values_complete=complete, personal=personal
    )
    tables = (Table(name="customers", columns=(city,)),)
    catalog = Catalog(connection="shop", dialect=Dialect.SQLITE, tables=tables)
    return as_held(sql, Dialect.SQLITE, catalog, policy or ConnectionPolicy()).sql


BERN = "SELECT 1 FROM customers WHERE city = 'bern'"


@pytest.mark.parametrize(
    ("written", "values"),
    [
        (BERN, ("bern", "Bern")),
        (BERN, ("Bern", "BERN")),
        (BERN, ("Bern ", "Rome")),
        (BERN, ("Berne", "Rome")),
        ("SELECT 1 FROM customers WHERE city LIKE 'bern'", ("Bern",)),
        ("SELECT 'bern' FROM customers", ("Bern",)),
        ("SELECT city FROM customers WHERE nowhere = 'bern'", ("Bern",)),
        ("SELECT broken FROM (", ("Bern",)),
    ],
)
def test_a_text_is_left_as_it_is_where_it_is_not_certain_what_it_stands_for(
    written: str, values: tuple[str, ...]
) -> None:
    assert held(written, *values) == written


def test_a_text_is_compared_only_with_values_that_are_all_known_and_hidden_from_nobody() -> None:
    assert held(BERN, "Bern").endswith("city = 'Bern'")
    assert held(BERN, "Bern", complete=False) == BERN
    assert held(BERN, "Bern", personal=True) == BERN
    for policy in (
        ConnectionPolicy(row_filters={"customers": "city <> 'Bern'"}),
        ConnectionPolicy(columns_denied={"customers": ("city",)}),
        ConnectionPolicy(columns_masked={"customers": ("city",)}),
    ):
        assert held(BERN, "Bern", policy=policy) == BERN


@given(st.text(max_size=12), st.lists(st.text(min_size=1, max_size=8), max_size=6, unique=True))
def test_what_a_column_holds_is_never_changed(text: str, values: list[str]) -> None:
    sql = f"SELECT 1 FROM customers WHERE city = {exp.Literal.string(text).sql('sqlite')}"
    changed = held(sql, *values)
    assert changed == sql or text not in values
