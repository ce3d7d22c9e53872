"""What a layer claims is measured: keys, relations, codes, versions; and a layer meets the catalog of its reader."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Table
from querybus_semantic.checks.binding import bound, stored_values
from querybus_semantic.checks.drafting import draft_of
from querybus_semantic.checks.probes import (
    Finding,
    Severity,
    Subject,
    finding_of,
    measured,
    probes,
    static_findings,
)
from querybus_semantic.compiling.compile import compile_request
from querybus_semantic.layer.definitions import Layer, Metric, Type, Validity
from querybus_semantic.layer.refusal import Code, Refusal
from querybus_semantic.layer.request import Dimension, Request
from tests.support.semantic_shop import SHOP, shop_rows


def looked_at(layer: Layer, opened: sqlite3.Connection) -> tuple[Layer, list[Finding]]:
    """Return the layer as measured, and the findings."""
    results: dict[str, Sequence[Sequence[object]]] = {}
    findings: list[Finding] = []
    for probe in probes(layer, Dialect.SQLITE):
        found = opened.execute(probe.sql).fetchall()
        if probe.subject is Subject.RELATION:
            results[probe.about] = found
        finding = finding_of(layer, probe, found)
        if finding is not None:
            findings.append(finding)
    return measured(layer, results), findings


def test_a_true_layer_has_only_the_rows_without_a_match_to_report() -> None:
    _, findings = looked_at(SHOP, shop_rows())
    assert [one.severity for one in findings] == [Severity.WARNING]
    assert findings[0].about == "relation order_customer"
    assert "1 row has no match" in findings[0].detail


def test_a_key_that_the_data_contradicts_is_an_error_with_its_values_and_closes_the_relation() -> None:
    opened = shop_rows()
    opened.executescript(
        "CREATE TABLE other AS SELECT * FROM customers; DROP TABLE customers;"
        "CREATE TABLE customers (id INTEGER, region TEXT); INSERT INTO customers SELECT * FROM other;"
        "INSERT INTO customers VALUES (1, 'North');"
    )
    layer, findings = looked_at(SHOP, opened)
    errors = [one for one in findings if one.severity is Severity.ERROR]
    assert {value for one in errors for value in one.values} == {"1"}
    refusal = compile_request(layer, Request(("freight",), (Dimension("customers.region"),)), Dialect.SQLITE)
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.CLOSED_RELATION


def test_codes_that_the_layer_does_not_list_and_versions_that_overlap_are_found() -> None:
    clubs = SHOP.datasets["clubs"]
    listed = replace(
        clubs, fields={**clubs.fields, "club": replace(clubs.fields["club"], values={"chess": ("Chess",)})}
    )
    tiers = replace(SHOP.datasets["tiers"], validity=Validity("customer_id", "since", "until"))
    opened = shop_rows()
    opened.execute("UPDATE tiers SET until = NULL")
    _, findings = looked_at(replace(SHOP, datasets={**SHOP.datasets, "clubs": listed, "tiers": tiers}), opened)
    details = [one.detail for one in findings]
    assert any("golf" in detail for detail in details)
    assert any("overlap in time: 1" in detail for detail in details)


def test_a_metric_that_cannot_be_compiled_is_found_without_data() -> None:
    layer = replace(SHOP, metrics={"bad": Metric("bad", "SUM(nowhere.x)")})
    (finding,) = static_findings(layer, Dialect.SQLITE)
    assert finding.severity is Severity.ERROR
    assert finding.about == "metric bad"


def _catalog() -> Catalog:
    def table(name: str, *columns: str, key: str = "id", keys: tuple[ForeignKey, ...] = ()) -> Table:
        made = [Column(name=one, type="INTEGER", kind=ColumnKind.INTEGER) for one in columns]
        return Table(name=name, columns=tuple(made), primary_key=(key,), foreign_keys=keys)

    region = Column(name="region", type="TEXT", kind=ColumnKind.TEXT, values=("East", "West"))
    customers = Table(name="customers", columns=(Column(name="id", type="INTEGER"), region), primary_key=("id",))
    link = ForeignKey(columns=("customer_id",), referred_table="customers", referred_columns=("id",))
    return Catalog(
        connection="shop",
        dialect=Dialect.SQLITE,
        tables=(customers, table("orders", "id", "customer_id", "freight", keys=(link,))),
    )


def test_a_dataset_without_a_table_for_this_reader_goes_with_all_that_needs_it() -> None:
    layer, missing = bound(SHOP, _catalog())
    assert set(missing) == {"lines", "refunds", "clubs", "members", "stock", "tiers"}
    assert {one.name for one in layer.relations} == {"order_customer"}
    refusal = compile_request(layer, Request(("revenue",)), Dialect.SQLITE)
    assert isinstance(refusal, Refusal)


def test_types_and_values_come_from_the_catalog() -> None:
    layer, _ = bound(SHOP, _catalog())
    assert layer.datasets["customers"].fields["region"].type is Type.TEXT
    assert stored_values(layer, _catalog())["east"] == (("customers.region", "East"),)


def test_a_draft_fills_in_what_data_settles_and_answers_nothing() -> None:
    layer = draft_of(_catalog())
    assert {one.name for one in layer.relations} == {"orders_customer_id"}
    assert set(layer.metrics) == {"customers_count", "orders_count", "orders_freight"}
    refusal = compile_request(layer, Request(("orders_freight",)), Dialect.SQLITE)
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.NOT_APPROVED
