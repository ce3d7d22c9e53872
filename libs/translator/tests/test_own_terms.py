"""What a question defines itself holds for it, and words around an owner's figures that people add are read or left unread."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import date

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table
from querybus_semantic.checks.binding import stored_values
from querybus_semantic.layer.definitions import Dataset, Field, Layer, Metric, Relation
from querybus_semantic.layer.request import Asker
from querybus_translator.definitions.answer import ByDefinition, Defined, NotByDefinition, answer_question
from tests.support.semantic_shop import SHOP, shop_rows

ASKER = Asker(date(2025, 6, 15), "ann")


def answer(question: str, layer: Layer = SHOP, *, tables: tuple[Table, ...] = ()) -> object:
    """Return the answer over a layer whose catalog has these tables."""
    catalog = Catalog(connection="shop", dialect=Dialect.SQLITE, tables=tables)
    return answer_question(question, (), Defined(layer, catalog, stored_values(layer, catalog)), ASKER, "en")


def rows(question: str, layer: Layer = SHOP, opened: sqlite3.Connection | None = None) -> set[tuple[object, ...]]:
    found = answer(question, layer)
    assert isinstance(found, ByDefinition), found
    return set((opened or shop_rows()).execute(found.sql).fetchall())


@pytest.mark.parametrize(
    "question",
    [
        "The sum of revenue and freight by region",
        "What is the sum of the revenue, freight by region?",
        "Outlay by region, where outlay is the sum of revenue and freight",
        "revenue与freight之和按region",
    ],
)
def test_a_sum_of_figures_is_one_figure_each_at_its_own_grain(question: str) -> None:
    assert {row[:2] for row in rows(question)} == {("East", 70), ("West", 12), (None, 7)}


@pytest.mark.parametrize(
    "question", ["Revenue divided by the orders count by region", "revenue除以orders count按region"]
)
def test_a_figure_divided_by_another_is_a_quotient_of_sums(question: str) -> None:
    assert {row[:2] for row in rows(question)} == {("East", 20.0), ("West", 7.0), (None, None)}


def test_the_askers_definition_holds_where_the_owner_has_another_of_that_name() -> None:
    total = SHOP.metrics["revenue"]
    layer = replace(SHOP, metrics={**SHOP.metrics, "total_cost": replace(total, name="total_cost")})
    asked = "What is the total cost, which is the sum of freight and refunded, by region?"
    assert {("East", 40), ("West", 7)} <= rows("total cost by region", layer)
    found = answer(asked, layer)
    assert isinstance(found, ByDefinition)
    assert set(shop_rows().execute(found.sql).fetchall()) == {("East", 34), ("West", 6), (None, 9)}
    assert "the sum of freight, refunded" in found.read_as.text
    assert "definition" not in found.read_as.text


@pytest.mark.parametrize(
    "question",
    [
        "The sum of revenue and happiness by region",
        "Happiness divided by revenue",
        "revenue与幸福之和",
        "The sum of revenue by region and joy",
    ],
)
def test_a_part_that_no_definition_has_leaves_the_question_unread(question: str) -> None:
    assert answer(question) is None


def test_the_last_day_of_each_month_is_of_each_members_last_row_unless_a_day_with_rows_is_asked_for() -> None:
    levels = {name: SHOP.metrics[name] for name in ("closing_stock", "last_stock")}
    layer = replace(SHOP, metrics=levels)
    assert {row[-1] for row in rows("pieces on the last day of each month", layer)} == {15, 11}
    assert {row[-1] for row in rows("pieces on the last day of each month that has figures", layer)} == {15, 7}


def test_a_noun_beside_a_field_of_its_own_is_shown_by_that_field() -> None:
    fields = {name: Field(name, name) for name in ("id", "number", "amount")}
    layer = Layer(
        "claims",
        {"claims": Dataset("claims", "claims", ("id",), fields=fields)},
        (),
        {"loss": Metric("loss", "SUM(claims.amount)")},
    )
    opened = sqlite3.connect(":memory:")
    opened.executescript(
        "CREATE TABLE claims (id INTEGER, number TEXT, amount INTEGER);"
        "INSERT INTO claims VALUES (1, 'A', 5), (2, 'A', 6), (3, 'B', 7);"
    )
    assert rows("loss of each claim by number", layer, opened) == {("A", 5), ("A", 6), ("B", 7)}
    assert rows("loss of each claim", layer, opened) == {(1, 5), (2, 6), (3, 7)}


def test_a_member_above_another_is_called_by_both_names() -> None:
    accounts = Dataset(
        "accounts", "accounts", ("id",), fields={name: Field(name, name) for name in ("id", "account_name", "above")}
    )
    tops = replace(
        accounts, name="tops", fields={"id": Field("id", "id"), "top_name": Field("top_name", "account_name")}
    )
    invoices = Dataset(
        "invoices", "invoices", ("id",), fields={name: Field(name, name) for name in ("id", "account", "amount")}
    )
    layer = Layer(
        "groups",
        {"accounts": accounts, "tops": tops, "invoices": invoices},
        (
            Relation("of", "invoices", "accounts", ("account",), ("id",)),
            Relation("below", "accounts", "tops", ("above",), ("id",)),
        ),
        {"total": Metric("total", "SUM(invoices.amount)")},
    )
    opened = sqlite3.connect(":memory:")
    opened.executescript(
        "CREATE TABLE accounts (id INTEGER PRIMARY KEY, account_name TEXT, above INTEGER);"
        "CREATE TABLE invoices (id INTEGER, account INTEGER, amount INTEGER);"
        "INSERT INTO accounts VALUES (1, 'Group', 1), (2, 'Shop', 1);"
        "INSERT INTO invoices VALUES (1, 1, 3), (2, 2, 4);"
    )
    assert rows("total by top account", layer, opened) == {("Group", 7)}
    assert rows("按上级account的total", layer, opened) == {("Group", 7)}


def test_per_person_is_the_one_figure_that_is_made_so() -> None:
    per_user = Metric("actions_per_user", "1.0 * COUNT(orders.id) / COUNT(DISTINCT orders.customer_id)")
    layer = replace(SHOP, metrics={**SHOP.metrics, "actions_per_user": per_user})
    assert rows("人均次数", layer) == {(4 / 3,)}
    other = replace(per_user, name="clicks_per_customer")
    assert answer("人均次数", replace(layer, metrics={**layer.metrics, "clicks_per_customer": other})) is None


def test_amounts_of_several_currencies_are_not_added_up_as_they_are_stored() -> None:
    usd = Metric("revenue_usd", "SUM(lines.amount)", time="orders.day")
    layer = replace(SHOP, metrics={"revenue_usd": usd})
    for question, without in (("Revenue without conversion", "Revenue"), ("不换算的revenue", "revenue")):
        found = answer(question, layer)
        assert isinstance(found, NotByDefinition)
        assert found.options == (without,)
    # Nothing says that the shop's own amounts are in several currencies.
    assert answer("Revenue without conversion") is None


def test_a_country_is_found_by_its_name_where_its_code_is_stored() -> None:
    def column(name: str, *values: str) -> Column:
        return Column(name=name, type="TEXT", kind=ColumnKind.TEXT, values=values)

    table = Table(name="customers", columns=(column("id"), column("region"), column("country", "DE", "US")))
    fields = {**SHOP.datasets["customers"].fields, "country": Field("country", "country")}
    datasets = {**SHOP.datasets, "customers": replace(SHOP.datasets["customers"], fields=fields)}
    layer = replace(SHOP, datasets=datasets)
    for question in ("revenue in Germany", "德国的收入", "revenue of customers in Germany"):
        found = answer(question, layer, tables=(table,))
        assert isinstance(found, ByDefinition), question
        assert "country = 'DE'" in found.sql
