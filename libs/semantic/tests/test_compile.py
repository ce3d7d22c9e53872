"""Compiled numbers are right where the obvious join gives wrong ones, and what no rule covers is refused with a way on."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import date

import pytest
import sqlglot
from sqlglot import exp

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.policy import ConnectionPolicy, Reader
from querybus.core.requests.metrics_query import MetricsQuery
from querybus.sql.check import Checked, check
from querybus_semantic.compiling.compile import Compiled, compile_request
from querybus_semantic.compiling.notes import Note, NoteKind
from querybus_semantic.formats.ossie import read_ossie
from querybus_semantic.formats.ossie_writer import document_of
from querybus_semantic.layer.definitions import (
    Calendar,
    Cardinality,
    Cumulative,
    Dataset,
    Field,
    Grain,
    Input,
    Layer,
    Metric,
    NamedFilter,
    Range,
    Relation,
)
from querybus_semantic.layer.refusal import Code, Refusal
from querybus_semantic.layer.request import Asker, Dimension, Filter, Op, Order, Period, Request, request_of
from tests.support.semantic_shop import SHOP, shop_rows, without_bridge

REGION = Dimension("customers.region")
MONTH = Dimension("default", grain=None)
QUARTER = Period("default", date(2025, 1, 1), date(2025, 4, 1))


def asked(**fields: object) -> Request:
    """Return a request as programs send it."""
    return request_of(MetricsQuery.model_validate(fields))


def rows(request: Request, layer: Layer = SHOP) -> list[tuple[object, ...]]:
    """Return what a request gives on the shop."""
    compiled = compile_request(layer, request, Dialect.SQLITE)
    assert isinstance(compiled, Compiled), compiled
    return shop_rows().execute(compiled.sql).fetchall()


def refused(request: Request, layer: Layer = SHOP) -> Refusal:
    """Return why a request has no number."""
    compiled = compile_request(layer, request, Dialect.SQLITE)
    assert isinstance(compiled, Refusal), compiled
    return compiled


def test_each_fact_is_added_up_at_its_own_grain_before_anything_is_joined() -> None:
    result = rows(Request(("revenue", "freight"), (REGION,)))
    assert sorted(result, key=str) == sorted([("East", 40, 30), ("West", 7, 5), (None, None, 7)], key=str)


def test_two_facts_keep_each_others_groups_and_a_missing_sum_is_empty() -> None:
    result = {row[0]: row[1:] for row in rows(Request(("freight", "refunded"), (REGION,)))}
    assert result == {"East": (30, 4), "West": (5, 1), None: (7, 2)}


def test_a_ratio_is_the_quotient_of_sums_and_keeps_its_fraction() -> None:
    assert rows(Request(("refund_rate",))) == [(pytest.approx(7 / 47),)]
    assert rows(Request(("refund_rate",), filters=(Filter("customers.region", Op.EQUAL, ("nowhere",)),))) == [(None,)]


def test_a_bridge_counts_a_row_once_in_each_group_and_says_so() -> None:
    compiled = compile_request(SHOP, Request(("customer_count",), (Dimension("clubs.club"),)), Dialect.SQLITE)
    assert isinstance(compiled, Compiled)
    assert sorted(shop_rows().execute(compiled.sql).fetchall()) == [("chess", 1), ("golf", 2)]
    assert compiled.notes == (Note(NoteKind.ONCE_PER_GROUP, ("customers",)),)


def test_without_a_rule_a_sum_across_a_bridge_is_refused_and_a_count_is_not() -> None:
    layer = without_bridge()
    freight = Request(("freight",), (Dimension("clubs.club"),))
    assert refused(freight, layer).code is Code.NO_PATH
    assert sorted(rows(Request(("customer_count",), (Dimension("clubs.club"),)), layer)) == [("chess", 1), ("golf", 2)]


def test_a_dimension_below_the_grain_is_refused_by_name() -> None:
    refusal = refused(Request(("freight",), (Dimension("lines.product"),)))
    assert refusal.code is Code.NO_PATH
    assert "orders cannot be split by lines" in refusal.detail


def test_a_condition_on_the_many_side_counts_a_row_once() -> None:
    some = Filter("lines.product", Op.SOME, ("pen",))
    none = Filter("lines.product", Op.NONE, ("pen",))
    assert rows(Request(("freight",), filters=(some,))) == [(30,)]
    assert rows(Request(("freight",), filters=(none,))) == [(12,)]


def test_a_condition_on_a_metric_for_each_row_also_counts_rows_without_any() -> None:
    lines = Metric("line_count", "COUNT(lines.id)")
    layer = replace(SHOP, metrics={**SHOP.metrics, "line_count": lines})
    few = Filter("line_count", Op.LESS, (2,), per="row")
    many = Filter("line_count", Op.GREATER, (1,), per="row")
    assert rows(Request(("freight",), filters=(few,)), layer) == [(32,)]
    assert rows(Request(("freight",), filters=(many,)), layer) == [(10,)]


def test_a_condition_on_the_result_cuts_groups_not_rows() -> None:
    wanted = Request(("revenue",), (REGION,), (Filter("revenue", Op.GREATER, (10,)),))
    assert rows(wanted) == [("East", 40)]


def test_a_level_is_its_last_value_by_day_or_by_member_never_a_sum_over_time() -> None:
    month = asked(metrics=["closing_stock"], group_by=[{"field": "stock.day", "grain": "month"}])
    assert rows(month) == [("2025-01-01", 15), ("2025-02-01", 7)]
    members = asked(metrics=["last_stock"], group_by=[{"field": "stock.day", "grain": "month"}])
    assert rows(members) == [("2025-01-01", 15), ("2025-02-01", 11)]
    assert rows(Request(("last_stock",))) == [(11,)]


def test_the_version_that_held_on_the_day_counts_from_included_to_excluded() -> None:
    result = rows(Request(("freight",), (Dimension("tiers.tier"),), (Filter("customers.region", Op.EQUAL, ("East",)),)))
    assert sorted(result) == [("gold", 20), ("silver", 10)]


def test_a_running_value_shows_periods_without_rows_and_is_not_cut_by_the_period() -> None:
    request = asked(
        metrics=["so_far"],
        group_by=[{"field": "default", "grain": "month"}],
        period={"from": "2025-02-01", "until": "2025-05-01"},
    )
    assert rows(request) == [("2025-02-01", 30), ("2025-03-01", 30), ("2025-04-01", 42)]


def test_a_running_value_of_another_metric_runs_over_that_metrics_rows() -> None:
    running = Metric("running", "x", inputs=(Input("freight", "x"),), cumulative=Cumulative())
    layer = replace(SHOP, metrics={**SHOP.metrics, "running": running})
    request = asked(metrics=["running"], group_by=[{"field": "default", "grain": "month"}])
    assert rows(request, layer) == [("2025-01-01", 10), ("2025-02-01", 30), ("2025-04-01", 42)]
    assert rows(request, read_ossie(document_of(layer))[0][0]) == rows(request, layer)


def test_the_month_before_is_by_the_calendar_and_is_read_though_it_is_not_shown() -> None:
    month = asked(metrics=["freight", "freight_before"], group_by=[{"field": "default", "grain": "month"}])
    assert rows(month) == [("2025-01-01", 10, None), ("2025-02-01", 20, 10), ("2025-04-01", 12, None)]
    february = asked(metrics=["freight", "freight_before"], period={"from": "2025-02-01", "until": "2025-03-01"})
    assert rows(february) == [(20, 10)]


def test_a_share_is_of_everything_that_the_filters_leave() -> None:
    assert rows(Request(("freight_share",), (REGION,), period=QUARTER)) == [("East", 1.0)]


def test_empty_periods_are_shown_where_that_is_asked_and_only_counts_are_zero() -> None:
    request = asked(
        metrics=["orders_count", "freight"],
        group_by=[{"field": "default", "grain": "month"}],
        period={"from": "2025-01-01", "until": "2025-04-01"},
        fill=True,
    )
    assert rows(request) == [("2025-01-01", 1, 10), ("2025-02-01", 1, 20), ("2025-03-01", 0, None)]


def test_every_day_of_a_year_is_one_statement_that_an_engine_with_limits_takes() -> None:
    request = asked(
        metrics=["orders_count"],
        group_by=[{"field": "default", "grain": "day"}],
        period={"from": "2025-01-01", "until": "2026-01-01"},
        fill=True,
    )
    compiled = compile_request(SHOP, request, Dialect.SQLITE)
    assert isinstance(compiled, Compiled)
    shop = shop_rows()
    # As the executor limits it.
    shop.setlimit(sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 100)
    assert len(shop.execute(compiled.sql).fetchall()) == 365


def test_a_fiscal_year_begins_when_the_owner_says() -> None:
    layer = replace(SHOP, calendar=Calendar(fiscal_starts_month=4))
    request = asked(metrics=["freight"], group_by=[{"field": "default", "grain": "fiscal_year"}])
    assert rows(request, layer) == [("2024-04-01", 30), ("2025-04-01", 12)]


def test_two_ways_to_a_dimension_are_a_question_back_that_names_both() -> None:
    again = Relation("order_payer", "orders", "customers", ("id",), ("id",), role="payer")
    layer = replace(SHOP, relations=(*SHOP.relations, again))
    refusal = refused(Request(("freight",), (REGION,)), layer)
    assert refusal.code is Code.AMBIGUOUS_PATH
    assert set(refusal.options) == {"order_customer", "payer"}
    assert rows(Request(("freight",), (Dimension("customers.region", via=("payer",)),)), layer)


def test_a_relation_is_closed_where_no_key_covers_it_or_measuring_found_duplicates() -> None:
    measured = [
        replace(one, measured=Cardinality.N_TO_M) if one.name == "order_customer" else one for one in SHOP.relations
    ]
    refusal = refused(Request(("freight",), (REGION,)), replace(SHOP, relations=tuple(measured)))
    assert refusal.code is Code.CLOSED_RELATION
    keyless = {**SHOP.datasets, "customers": replace(SHOP.datasets["customers"], primary_key=())}
    assert refused(Request(("freight",), (REGION,)), replace(SHOP, datasets=keyless)).code is Code.CLOSED_RELATION


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (Request(("nothing",)), Code.UNKNOWN_METRIC),
        (Request(("draft_one",)), Code.NOT_APPROVED),
        (Request(("freight",), (Dimension("nowhere.x"),)), Code.UNKNOWN_FIELD),
        (Request(("freight",), named=("nothing",)), Code.UNKNOWN_FILTER),
        (Request(()), Code.UNKNOWN_METRIC),
        (Request(("freight",), limit=10_000_000), Code.TOO_MUCH),
        (Request(("customer_count",), period=QUARTER), Code.NO_DATE),
    ],
)
def test_what_is_missing_is_said(request_: Request, code: Code) -> None:
    assert refused(request_).code is code


@pytest.mark.parametrize(
    "expression",
    ["SUM((SELECT 1))", "SUM(lines.amount); DROP TABLE lines", "DELETE FROM lines", "SUM(", "lines.amount", "1"],
)
def test_an_owners_expression_is_one_expression_and_nothing_else(expression: str) -> None:
    layer = replace(SHOP, metrics={"bad": Metric("bad", expression)})
    assert refused(Request(("bad",)), layer).code is Code.BAD_EXPRESSION


def test_a_metric_that_is_defined_by_itself_is_refused() -> None:
    layer = replace(SHOP, metrics={"a": Metric("a", "b + 1"), "b": Metric("b", "a + 1")})
    assert refused(Request(("a",)), layer).code is Code.CYCLE


def test_a_field_that_stands_for_an_expression_is_expanded_before_its_name_is_taken_for_a_column() -> None:
    net = Field("amount", "amount - 1")
    lines = replace(SHOP.datasets["lines"], fields={**SHOP.datasets["lines"].fields, "net": Field("net", "amount - 1")})
    layer = replace(
        SHOP,
        datasets={**SHOP.datasets, "lines": lines},
        metrics={"net": Metric("net", "SUM(lines.net)")},
    )
    assert rows(Request(("net",)), layer) == [(43,)]
    circle = replace(lines, fields={"amount": net, "other": Field("other", "other + 1")})
    assert rows(
        Request(("x",)), replace(layer, datasets={"lines": circle}, metrics={"x": Metric("x", "SUM(lines.amount)")})
    )


def test_two_rows_of_one_name_stay_two_where_the_key_is_kept_hidden() -> None:
    request = Request(("orders_count",), (REGION, Dimension("customers.id", hidden=True)))
    compiled = compile_request(SHOP, request, Dialect.SQLITE)
    assert isinstance(compiled, Compiled)
    assert [output.name for output in compiled.outputs] == ["region", "orders_count"]
    assert len(shop_rows().execute(compiled.sql).fetchall()) == 3


def test_ties_and_missing_values_have_a_settled_order() -> None:
    request = Request(("freight",), (REGION,), order=(Order("freight", descending=True),), limit=2)
    assert rows(request) == [("East", 30), (None, 7)]


@pytest.mark.parametrize("dialect", list(Dialect))
def test_the_same_request_is_the_same_text_and_parses_in_each_dialect(dialect: Dialect) -> None:
    request = asked(
        metrics=["revenue", "refunded", "refund_rate", "so_far", "freight_before"],
        group_by=[{"field": "customers.region"}, {"field": "default", "grain": "month"}],
        period={"from": "2025-01-01", "until": "2026-01-01"},
    )
    first, second = (compile_request(SHOP, request, dialect) for _ in range(2))
    assert isinstance(first, Compiled)
    assert first == second
    assert sqlglot.parse_one(first.sql, read=dialect.value)


@pytest.mark.parametrize("dialect", [Dialect.SQLITE, Dialect.MYSQL, Dialect.BIGQUERY])
def test_an_engine_without_a_median_refuses_it_by_name(dialect: Dialect) -> None:
    layer = Layer(
        "x", {"t": Dataset("t", "t", fields={"a": Field("a", "a")})}, metrics={"m": Metric("m", "MEDIAN(t.a)")}
    )
    refusal = compile_request(layer, Request(("m",)), dialect)
    assert isinstance(refusal, Refusal)
    assert dialect.value in refusal.detail


def test_compiled_statements_hold_row_filters_like_any_other() -> None:
    policy = ConnectionPolicy(row_filters={"orders": "customer_id = 1"})
    opened = shop_rows()
    opened.execute("DELETE FROM orders WHERE customer_id <> 1")
    catalog = Catalog(
        connection="shop",
        dialect=Dialect.SQLITE,
        tables=tuple(
            Table(
                name=name,
                columns=tuple(Column(name=row[1], type=row[2]) for row in opened.execute(f"PRAGMA table_info({name})")),
            )
            for name in SHOP.datasets
        ),
    )
    for metric in ("revenue", "freight", "buyers", "refund_rate", "so_far", "freight_share"):
        compiled = compile_request(SHOP, Request((metric,), (REGION,) if metric != "so_far" else ()), Dialect.SQLITE)
        assert isinstance(compiled, Compiled)
        checked = check(
            compiled.sql,
            dialect=Dialect.SQLITE,
            catalog=catalog,
            policy=policy,
            row_limit=100,
            reader=Reader(tenant="t", user="u"),
        )
        assert isinstance(checked, Checked), checked
        assert shop_rows().execute(checked.sql).fetchall() == opened.execute(compiled.sql).fetchall()


def carded(time: str = "day") -> Layer:
    """Return the shop with a card between an order and the tiers of its customer; cards have no date."""
    cards = Dataset(
        "cards",
        "SELECT id, id AS customer_id FROM customers",
        ("id",),
        fields=fields("id", "customer_id"),
    )
    return replace(
        SHOP,
        datasets={**SHOP.datasets, "cards": cards, "orders": replace(SHOP.datasets["orders"], time=time)},
        relations=(
            *(relation for relation in SHOP.relations if relation.name != "tier_then"),
            Relation("order_card", "orders", "cards", ("customer_id",), ("id",)),
            Relation(
                "card_tier",
                "cards",
                "tiers",
                ("customer_id", ""),
                ("customer_id", "since"),
                range=Range("", "since", "until"),
            ),
        ),
    )


def fields(*names: str) -> dict[str, Field]:
    return {name: Field(name, name) for name in names}


def test_a_version_behind_a_table_without_a_date_is_that_of_the_day_of_what_is_counted() -> None:
    result = rows(Request(("freight",), (Dimension("tiers.tier"),)), carded())
    assert sorted(result, key=str) == sorted([("gold", 20), ("silver", 15), (None, 7)], key=str)


def test_a_version_is_refused_where_nothing_counted_has_a_date() -> None:
    assert (
        "has no date to choose one by" in refused(Request(("freight",), (Dimension("tiers.tier"),)), carded("")).detail
    )


def test_values_that_meet_in_two_facts_are_refused_until_a_metric_says_which() -> None:
    shelf = Dataset("shops", "SELECT 1 AS id, 'Main' AS shop", ("id",), fields=fields("id", "shop"))
    layer = replace(
        SHOP,
        datasets={**SHOP.datasets, "shops": shelf},
        relations=(
            *SHOP.relations,
            Relation("order_shop", "orders", "shops", ("freight",), ("id",)),
            Relation("refund_shop", "refunds", "shops", ("money",), ("id",)),
        ),
    )
    refusal = refused(Request((), (REGION, Dimension("shops.shop"))), layer)
    assert refusal.code is Code.AMBIGUOUS_PATH
    assert refusal.options == ("orders", "refunds")
    assert rows(Request(("refunded",), (REGION, Dimension("shops.shop"))), layer)


def of_asker(expression: str) -> Layer:
    """Return the shop with one filter on its customers and one on its orders."""
    return replace(
        SHOP,
        filters={
            "mine": NamedFilter("mine", "customers", "customers.region = :user"),
            "recent": NamedFilter("recent", "orders", expression),
        },
    )


def test_a_filter_is_filled_in_with_who_asks_and_when() -> None:
    layer = of_asker("orders.day >= :today - INTERVAL '60' DAY")
    request = Request(("freight",), named=("mine", "recent"))
    compiled = compile_request(layer, request, Dialect.SQLITE, Asker(date(2025, 3, 1), "East"))
    assert isinstance(compiled, Compiled), compiled
    assert shop_rows().execute(compiled.sql).fetchall() == [(30,)]
    later = compile_request(layer, request, Dialect.SQLITE, Asker(date(2025, 3, 20), "East"))
    assert isinstance(later, Compiled)
    assert shop_rows().execute(later.sql).fetchall() == [(20,)]


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("user", ["o'neil", "back\\", "\\' OR 1 = 1 --", "''", "名"])
def test_whoever_asks_stays_one_text_in_every_dialect(dialect: Dialect, user: str) -> None:
    request = Request(("freight",), named=("mine",))
    compiled = compile_request(of_asker("TRUE"), request, dialect, Asker(date(2025, 3, 1), user))
    assert isinstance(compiled, Compiled), compiled
    texts = [node.name for node in sqlglot.parse_one(compiled.sql, read=dialect.value).find_all(exp.Literal)]
    assert user in texts
    assert not any("OR 1" in text for text in texts if text != user)


def test_the_day_alone_needs_nobodys_name() -> None:
    request = Request(("freight",), named=("recent",))
    compiled = compile_request(of_asker("orders.day < :today"), request, Dialect.SQLITE, Asker(date(2025, 2, 1), ""))
    assert isinstance(compiled, Compiled), compiled
    assert shop_rows().execute(compiled.sql).fetchall() == [(10,)]


def test_what_depends_on_who_asks_is_refused_where_nobody_does_and_other_placeholders_always() -> None:
    assert ":user" in refused(Request(("freight",), named=("mine",)), of_asker("TRUE")).detail
    assert ":tenant" in refused(Request(("freight",), named=("recent",)), of_asker("orders.day > :tenant")).detail


@pytest.mark.parametrize("dialect", Dialect)
def test_a_day_so_long_ago_is_written_as_each_engine_moves_dates(dialect: Dialect) -> None:
    layer = of_asker("orders.day >= :today - INTERVAL '2 months'")
    compiled = compile_request(layer, Request(("freight",), named=("recent",)), dialect, Asker(date(2025, 3, 1), "ann"))
    assert isinstance(compiled, Compiled), compiled
    catalog = Catalog(
        connection="shop",
        dialect=dialect,
        tables=tuple(
            Table(name=name, columns=tuple(Column(name=field, type="TEXT") for field in dataset.fields))
            for name, dataset in SHOP.datasets.items()
        ),
    )
    checked = check(compiled.sql, dialect=dialect, catalog=catalog, policy=ConnectionPolicy(), row_limit=10)
    assert isinstance(checked, Checked), checked
    assert "2025-03-01" in compiled.sql


def test_a_way_that_no_relation_is_called_after_is_refused_with_the_ways_there_are() -> None:
    refusal = refused(Request(("revenue",), (replace(REGION, via=("by_worker",)),)))
    assert refusal.code is Code.NO_PATH
    assert refusal.options == ("line_order > order_customer",)
    assert "leads over by_worker; there is: line_order > order_customer" in refusal.detail


def test_a_group_without_rows_of_a_count_shows_zero_or_nothing_as_the_layer_says() -> None:
    layer = replace(SHOP, metrics={**SHOP.metrics, "orders": Metric("orders", "COUNT(orders.id)")})
    by_month = Request(("refunded", "orders"), (Dimension("default", Grain.MONTH),))
    assert ("2025-05-01", 3, 0) in rows(by_month, layer)
    assert ("2025-05-01", 3, None) in rows(by_month, replace(layer, zero_counts=False))


def test_cut_groups_of_a_period_are_noted_but_not_the_one_that_still_runs() -> None:
    month = Dimension("default", Grain.MONTH)
    cut = Request(("freight",), (month,), period=Period("default", date(2025, 1, 15), date(2025, 3, 10)))

    def noted(request: Request, today: date) -> tuple[Note, ...]:
        compiled = compile_request(SHOP, request, Dialect.SQLITE, Asker(today, "ann"))
        assert isinstance(compiled, Compiled)
        return compiled.notes

    first = Note(NoteKind.FIRST_IS_CUT, ("month",), date(2025, 1, 15))
    assert noted(cut, date(2025, 6, 1)) == (first, Note(NoteKind.LAST_IS_CUT, ("month",), date(2025, 3, 9)))
    assert noted(cut, date(2025, 3, 9)) == (first,)
    assert noted(replace(cut, period=QUARTER), date(2025, 6, 1)) == ()


def test_months_that_have_not_begun_are_not_filled_up() -> None:
    year = Period("default", date(2025, 1, 1), date(2026, 1, 1))
    request = Request(("orders_count",), (Dimension("default", Grain.MONTH),), period=year, fill=True)
    compiled = compile_request(SHOP, request, Dialect.SQLITE, Asker(date(2025, 5, 20), "ann"))
    assert isinstance(compiled, Compiled)
    months = dict(shop_rows().execute(compiled.sql).fetchall())
    assert months == {"2025-01-01": 1, "2025-02-01": 1, "2025-03-01": 0, "2025-04-01": 2, "2025-05-01": 0}
