"""Claims on refining: the part that was named changes, everything else stays, and what cannot be changed is said."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import ValidationError
from sqlglot import exp

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Language, Table
from querybus.core.requests.refinement import Change
from querybus.sql.conditions.parts import aimed, conditions_of, groups_of
from querybus.sql.conditions.scope import scope_of
from querybus.sql.edit import read
from querybus_executor.engines.sqlite.introspect import open_sqlite_catalog
from querybus_translator import CannotRefineError, refine

INTEGER, NUMBER, TEXT, DATETIME = ColumnKind.INTEGER, ColumnKind.NUMBER, ColumnKind.TEXT, ColumnKind.DATETIME


def column(name: str, kind: ColumnKind = TEXT, names: dict[Language, str] | None = None) -> Column:
    return Column(name=name, type=kind.value, kind=kind, display_names=names or {})


TABLES = (
    Table(
        name="orders",
        columns=(
            column("id", INTEGER),
            column("customer_id", INTEGER),
            column("status"),
            column("total", NUMBER),
            column("ordered_at", DATETIME),
        ),
        primary_key=("id",),
        foreign_keys=(ForeignKey(columns=("customer_id",), referred_table="customers", referred_columns=("id",)),),
    ),
    Table(
        name="customers",
        columns=(column("id", INTEGER), column("name"), column("city", TEXT, {"en": "home town", "zh": "所在城市"})),
        primary_key=("id",),
    ),
)
RANKING = """
SELECT customers.name, SUM(orders.total) AS total FROM orders JOIN customers ON customers.id = orders.customer_id
WHERE orders.status = 'paid' AND (orders.total > 5 OR orders.total < 1)
AND orders.ordered_at >= '2026-05-01' AND orders.ordered_at < '2026-06-01'
GROUP BY customers.id, customers.name ORDER BY total DESC LIMIT 5
"""


def catalog(dialect: Dialect = Dialect.SQLITE) -> Catalog:
    return Catalog(connection="shop", dialect=dialect, tables=TABLES)


def changed(sql: str, dialect: Dialect = Dialect.SQLITE, **change: object) -> str:
    return refine(sql, Change.model_validate(change), catalog(dialect), "en")


def where(sql: str) -> list[str]:
    tree = read(sql, Dialect.SQLITE)
    assert isinstance(tree, exp.Select)
    found = conditions_of(scope_of(tree, catalog()))
    return [part.sql() for _, part in found.filters] + [part.sql() for part in found.period_parts]


def test_a_filter_is_taken_away_and_the_others_stay() -> None:
    assert where(changed(RANKING, without=["f1"])) == [
        "orders.total > 5 OR orders.total < 1",
        "orders.ordered_at >= '2026-05-01'",
        "orders.ordered_at < '2026-06-01'",
    ]
    assert where(changed(RANKING, without=["f2", "period"])) == ["orders.status = 'paid'"]
    assert " WHERE " not in changed(RANKING, without=["f1", "f2", "period"])


def test_a_filter_compares_with_another_value_which_stays_a_value() -> None:
    assert where(changed(RANKING, values={"f1": "it's; DROP TABLE orders"}))[0] == (
        "orders.status = 'it''s; DROP TABLE orders'"
    )
    with pytest.raises(CannotRefineError):
        changed(RANKING, values={"f2": "3"})
    with pytest.raises(CannotRefineError, match="numbers"):
        changed("SELECT COUNT(*) FROM orders WHERE total = 5", values={"f1": "many"})


def test_a_period_is_replaced_or_added_with_both_days_included() -> None:
    april = {"first": "2026-04-01", "last": "2026-04-30"}
    once = changed(RANKING, period=april)
    assert where(once)[2:] == ["orders.ordered_at >= '2026-04-01'", "orders.ordered_at < '2026-05-01'"]
    # What was written reads as a period again, so it can be changed a second time.
    assert where(changed(once, period={"first": "2025-01-01"}))[2:] == ["orders.ordered_at >= '2025-01-01'"]
    assert where(changed("SELECT COUNT(*) FROM orders", period=april)) == [
        "orders.ordered_at >= '2026-04-01'",
        "orders.ordered_at < '2026-05-01'",
    ]
    bracketed = (
        "SELECT COUNT(*) FROM orders WHERE total > 5 AND (ordered_at >= '2026-01-01' AND ordered_at < '2026-02-01')"
    )
    assert where(changed(bracketed, period=april)) == [
        "total > 5",
        "ordered_at >= '2026-04-01'",
        "ordered_at < '2026-05-01'",
    ]
    with pytest.raises(CannotRefineError, match="0 dates"):
        changed("SELECT COUNT(*) FROM customers", period=april)


def test_without_its_group_a_ranking_is_one_figure() -> None:
    only = changed(RANKING, without=["g2"])
    assert "GROUP BY" not in only
    assert "ORDER BY" not in only
    assert "LIMIT" not in only
    assert "customers.name" not in only.partition("FROM")[0]


@pytest.mark.parametrize("dialect", list(Dialect))
def test_the_unit_of_time_changes_in_every_dialect(dialect: Dialect) -> None:
    sql = "SELECT ordered_at AS d, COUNT(*) AS n FROM orders GROUP BY ordered_at ORDER BY d"
    by_year = changed(sql, dialect, unit="year")
    tree = read(by_year, dialect)
    assert isinstance(tree, exp.Select)
    assert tree.expressions[0].alias == "year"
    assert [aimed(node, tree) for _, node in groups_of(tree)] == [tree.expressions[0].this]
    assert aimed(tree.args["order"].expressions[0].this, tree) == tree.expressions[0].this


def test_days_of_the_week_that_become_months_are_sorted_by_months() -> None:
    weekday = "CAST(STRFTIME('%w', ordered_at) AS INTEGER)"
    named = f"CASE {weekday} WHEN 0 THEN 'Sunday' ELSE 'another day' END"
    sql = f"SELECT {named} AS weekday, COUNT(*) FROM orders GROUP BY {named} ORDER BY MIN({weekday})"
    made = changed(sql, unit="month")
    assert "%w" not in made
    assert made.endswith("ORDER BY DATE(ordered_at, 'start of month')")


def test_a_group_is_added_by_its_label_from_the_table_or_from_what_it_refers_to() -> None:
    count = "SELECT COUNT(*) AS n FROM orders WHERE status = 'paid'"
    assert changed(count, by="status") == (
        "SELECT orders.status, COUNT(*) AS n FROM orders WHERE status = 'paid' GROUP BY orders.status"
    )
    assert changed(count, by="Home town") == (
        "SELECT customers.city, COUNT(*) AS n FROM orders JOIN customers ON orders.customer_id = customers.id"
        " WHERE status = 'paid' GROUP BY customers.city"
    )
    assert "customers.name" in changed(count, by="customer")
    with pytest.raises(CannotRefineError) as refused:
        changed(count, by="planet")
    assert refused.value.about == "planet"
    with pytest.raises(CannotRefineError, match="list"):
        changed("SELECT id FROM orders", by="status")


def test_a_change_says_something_and_only_what_there_is() -> None:
    for nothing in ({}, {"period": {}}, {"period": {"first": "2026-05-02", "last": "2026-05-01"}}, {"lines": 0}):
        with pytest.raises(ValidationError):
            Change.model_validate(nothing)
    with pytest.raises(CannotRefineError, match="f7"):
        changed(RANKING, without=["f7"])
    with pytest.raises(CannotRefineError, match="plain query"):
        changed("SELECT 1 UNION SELECT 2", without=["f1"])


DATA = Path(os.environ.get("QUERYBUS_DATA", Path(__file__).parents[4] / "shared" / "data")) / "spider"


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared databases are not here (QUERYBUS_DATA)")
def test_every_part_of_people_s_statements_can_be_taken_away_and_what_is_left_runs() -> None:
    """Of the gold statements of Spider's dev questions: nothing raises but CannotRefineError, and all runs."""
    items = json.loads((DATA / "questions_dev.json").read_text())
    ran = refused = 0
    catalogs: dict[str, Catalog] = {}
    for item in items:
        name = item["db_id"]
        file = DATA / "databases" / f"{name}.sqlite"
        if name not in catalogs:
            catalogs[name] = open_sqlite_catalog(file)
        sql = item["gold"]
        tree = read(sql, Dialect.SQLITE)
        if not isinstance(tree, exp.Select):
            continue
        known = conditions_of(scope_of(tree, catalogs[name]))
        ids = [key for key, _ in (*known.filters, *groups_of(tree))] + (["period"] if known.period else [])
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as base:
            for key in ids:
                try:
                    left = refine(sql, Change(without=(key,)), catalogs[name], "en")
                except CannotRefineError:
                    # Only a group can be what all is about.
                    assert key.startswith("g")
                    refused += 1
                    continue
                base.execute(left).fetchmany(1)
                ran += 1
    assert ran > 300
    assert refused < ran // 2
