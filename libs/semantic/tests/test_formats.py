"""Files of four tools become layers: nothing of them runs, nothing is lost without a word, and ours comes back equal."""

from __future__ import annotations

import json

import pytest
import yaml

from querybus_semantic.formats.document import BadFileError, read_documents
from querybus_semantic.formats.entries import faults_of, layer_of, pieces_of, with_state
from querybus_semantic.formats.files import Format, read_layers
from querybus_semantic.formats.ossie import read_ossie
from querybus_semantic.formats.ossie_writer import changed_elsewhere, document_of
from querybus_semantic.layer.definitions import Cumulative, Grain, Layer, NonAdditive, Span
from tests.support.semantic_shop import SHOP

DBT = """
semantic_models:
  - name: orders
    model: ref('orders')
    defaults: {agg_time_dimension: day}
    entities: [{name: order, type: primary, expr: id}, {name: customer, type: foreign, expr: customer_id}]
    dimensions: [{name: day, type: time, type_params: {time_granularity: day}}, {name: state, type: categorical}]
    measures: [{name: freight_m, agg: sum, expr: freight}, {name: orders_m, agg: count, expr: id}]
  - name: customers
    model: ref('customers')
    entities: [{name: customer, type: primary, expr: id}]
    dimensions: [{name: region, type: categorical}]
metrics:
  - {name: freight, type: simple, type_params: {measure: freight_m}, filter: "{{ Dimension('order__state') }} = 'paid'"}
  - {name: freight_28, type: cumulative, type_params: {measure: freight_m, cumulative_type_params: {window: 28 days}}}
  - {name: per_order, type: ratio, type_params: {numerator: freight_m, denominator: orders_m}}
  - {name: own, type: derived, type_params: {expr: a, metrics: [{name: freight, alias: a, offset_to_grain: month}]}}
  - {name: code, type: simple, type_params: {measure: freight_m}, filter: "{% if x %} 1 {% endif %}"}
saved_queries: [{name: weekly}]
"""
SNOWFLAKE = """
name: shop
tables:
  - name: ORDERS
    base_table: {database: D, schema: PUBLIC, table: ORDERS}
    primary_key: {columns: [ID]}
    time_dimensions: [{name: DAY, expr: DAY, data_type: DATE}]
    facts: [{name: NET, expr: FREIGHT - REBATE, data_type: NUMBER, access_modifier: private_access}]
    metrics: [{name: FREIGHT, expr: SUM(NET), synonyms: [运费]}, {name: BAD, expr: SUM(NET) OVER (ORDER BY DAY)}]
    filters: [{name: PAID, expr: "STATE = 'paid'"}]
verified_queries: [{name: a, question: "How much freight?", sql: SELECT SUM(FREIGHT) FROM ORDERS}]
"""
CUBE = """
cubes:
  - name: orders
    sql_table: orders
    refresh_key: {every: 1 hour}
    joins: [{name: customers, relationship: many_to_one, sql: "{CUBE}.customer_id = {customers.id}"}]
    dimensions: [{name: id, sql: id, type: number, primary_key: true}, {name: place, type: geo}]
    measures:
      - {name: count, type: count}
      - {name: paid, type: sum, sql: freight, filters: [{sql: "{CUBE}.state = 'paid'"}]}
      - {name: per_order, type: number, sql: "{paid} / NULLIF({count}, 0)"}
  - name: customers
    sql_table: customers
    dimensions: [{name: id, sql: id, type: number, primary_key: true}, {name: region, sql: region, type: string}]
"""


def layer_from(text: str, format_: Format) -> tuple[Layer, list[str]]:
    """Return the one layer of a text, and what was listed."""
    layer, report = read_layers([text], format_, "shop")[0]
    return layer, [one.text for one in report.listed]


def test_a_layer_written_as_ossie_reads_back_equal_whole_and_in_pieces() -> None:
    assert read_ossie(document_of(SHOP))[0][0].version == SHOP.version
    again = layer_of(pieces_of(SHOP))
    assert again is not None
    assert again.version == SHOP.version


@pytest.mark.parametrize(("text", "format_"), [(DBT, "dbt"), (SNOWFLAKE, "snowflake"), (CUBE, "cube")])
def test_what_other_tools_wrote_survives_our_own_round_trip(text: str, format_: Format) -> None:
    layer, _ = layer_from(text, format_)
    assert read_ossie(document_of(layer))[0][0].version == layer.version


def test_export_names_the_metrics_that_other_tools_compute_differently() -> None:
    said = " ".join(changed_elsewhere(SHOP))
    for name in ("closing_stock", "so_far", "freight_before", "freight_share"):
        assert f"metric {name}:" in said
    assert "revenue" not in said


def test_dbt_metrics_take_their_filter_window_and_quotient() -> None:
    layer, listed = layer_from(DBT, "dbt")
    assert layer.metrics["freight"].condition == "orders.state = 'paid'"
    assert layer.metrics["freight_28"].cumulative == Cumulative(Span(28, Grain.DAY))
    assert [one.metric for one in layer.metrics["per_order"].inputs] == ["freight_m", "orders_m"]
    assert [one.role for one in layer.relations] == ["customer"]
    left = " ".join(listed)
    assert "metrics.own" in left
    assert "metrics.code" in left
    assert "saved_queries.weekly" in left
    assert "own" not in layer.metrics


def test_snowflake_names_resolve_and_a_private_fact_is_not_offered() -> None:
    layer, listed = layer_from(SNOWFLAKE, "snowflake")
    assert layer.datasets["ORDERS"].source == "D.PUBLIC.ORDERS"
    assert not layer.datasets["ORDERS"].fields["NET"].words.offered
    assert layer.metrics["FREIGHT"].words.synonyms == ("运费",)
    assert layer.filters["PAID"].dataset == "ORDERS"
    assert layer.verified[0].question == "How much freight?"
    assert any("BAD" in one for one in listed)


def test_cube_filters_stay_inside_their_aggregate_and_what_only_cube_can_do_is_listed() -> None:
    layer, listed = layer_from(CUBE, "cube")
    assert layer.metrics["paid"].expression == "SUM(CASE WHEN (orders.state = 'paid') THEN freight END)"
    assert layer.metrics["count"].expression == "COUNT(orders.id)"
    assert layer.relations[0].many_columns == ("customer_id",)
    said = " ".join(listed)
    assert "refresh_key" in said
    assert "place" in said


def test_both_shapes_of_ossie_are_read_and_an_ontology_is_refused_by_kind() -> None:
    flat = document_of(SHOP)
    wrapped = {"version": "0.1.1", "dialects": ["ANSI_SQL"], "semantic_model": [flat]}
    assert read_ossie(wrapped)[0][0].version == SHOP.version
    with pytest.raises(BadFileError, match="ontology"):
        read_ossie({"ontology": []})
    with pytest.raises(BadFileError, match="both"):
        read_ossie({"semantic_model": [flat], "datasets": []})


def test_a_metric_with_a_key_that_is_not_known_is_closed_as_it_may_change_its_numbers() -> None:
    document = document_of(SHOP)
    document["metrics"] = [
        {
            "name": "m",
            "expression": {"dialects": [{"dialect": "ANSI_SQL", "expression": "SUM(orders.freight)"}]},
            "custom_extensions": [{"vendor_name": "COMMON", "data": json.dumps({"surprise": 1})}],
        }
    ]
    layer, report = read_ossie(document)[0]
    assert layer.metrics == {}
    assert "surprise" in report.listed[0].reason


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: &x [1]\nb: *x\n", "Aliases"),
        ("a: 1\na: 2\n", "twice"),
        ("- 1\n", "no mapping"),
        ("a: [", "no YAML"),
        ("a: " + "[" * 100 + "]" * 100, "nested"),
        ("a: !!python/object:os.system x", "no YAML"),
    ],
)
def test_a_hostile_file_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(BadFileError, match=why):
        read_documents(text)


def test_what_is_listed_has_the_line_it_stands_on() -> None:
    _, listed = layer_from(DBT, "dbt")
    own = next(one for one in listed if one.startswith("metrics.own"))
    assert f"(line {DBT.splitlines().index(next(line for line in DBT.splitlines() if 'name: own' in line)) + 1})" in own


def test_only_definitions_that_can_be_read_are_taken_one_by_one() -> None:
    good = dict(pieces_of(SHOP))
    assert faults_of(good.items()) == []
    bad = {
        "metric:x": json.dumps({"name": "x", "expression": {"dialects": [{"dialect": "MDX", "expression": "x"}]}}),
        "metric:y": json.dumps({"name": "z"}),
        "thing:y": "{}",
    }
    said = faults_of(bad.items())
    assert len(said) >= 3
    assert "metric:x" in said[0]


def test_approving_changes_the_state_and_keeps_who_did() -> None:
    approved = with_state(SHOP, ["draft_one"], "approved", "ada")
    assert approved.metrics["draft_one"].words.state == "approved"
    assert approved.metrics["draft_one"].words.owner == "ada"
    assert approved.metrics["revenue"] == SHOP.metrics["revenue"]


def test_a_level_by_group_and_by_member_survives() -> None:
    assert (
        NonAdditive("stock.day", "last", ("stock.shelf",))
        == read_ossie(document_of(SHOP))[0][0].metrics["last_stock"].non_additive
    )


def test_the_document_is_plain_yaml() -> None:
    assert yaml.safe_load(yaml.safe_dump(document_of(SHOP), allow_unicode=True)) == document_of(SHOP)


def test_of_several_dates_the_one_that_is_called_after_the_table_is_its_own_in_formats_without_a_default() -> None:
    def dated(table: str, *names: str) -> tuple[str, str]:
        dates = "".join(f"    - {{name: {name}, expr: {name}, data_type: DATE}}\n" for name in names)
        file = f"name: x\ntables:\n- name: {table}\n  time_dimensions:\n{dates}"
        (layer, report), *_ = read_layers([file], "snowflake", "x")
        return layer.datasets[table].time, " ".join(one.reason for one in report.listed)

    assert dated("shipments", "shipped_on", "delivered_on") == (
        "shipped_on",
        "names no default date; it is shipped_on, called after shipments, of shipped_on, delivered_on",
    )
    assert dated("fact_orders", "created_at", "order_date")[0] == "order_date"
    assert dated("orders", "created_at", "order_updated_at")[0] == ""
    assert "a period must say which" in dated("orders", "created_at", "paid_at")[1]
    assert dated("orders", "paid_at") == ("paid_at", "")


def test_a_count_is_zero_where_there_are_no_rows_except_in_a_layer_of_cube_and_ossie_keeps_which() -> None:
    (cube, _), *_ = read_layers([CUBE], "cube", "shop")
    assert not cube.zero_counts
    assert not read_ossie(document_of(cube))[0][0].zero_counts
    assert SHOP.zero_counts


def test_every_key_that_no_reader_takes_is_listed_by_name_and_line() -> None:
    unread = {
        "ossie": (
            yaml.safe_dump({**document_of(SHOP), "tone": "x"}, sort_keys=False) + "ai_model: y\n",
            ["tone", "ai_model"],
        ),
        "snowflake": (
            SNOWFLAKE.replace("data_type: DATE}", "data_type: DATE, tagged: 1}"),
            ["tables.ORDERS.DAY.tagged"],
        ),
        "dbt": (
            DBT.replace("agg: sum, expr: freight}", "agg: sum, expr: freight, rounded: 2}").replace(
                "type: cumulative,", "type: cumulative, period: x,"
            ),
            ["models.orders.measures.freight_m.rounded", "metrics.freight_28.period"],
        ),
        "cube": (
            CUBE.replace("{name: count, type: count}", "{name: count, type: count, strict: true}").replace(
                "sql_table: customers", "sql_table: customers\n    ownership: x"
            ),
            ["cubes.orders.measures.count.strict", "cubes.customers.ownership"],
        ),
    }
    formats: list[Format] = ["ossie", "snowflake", "dbt", "cube"]
    for format_ in formats:
        text, paths = unread[format_]
        (_, report), *_ = read_layers([text], format_, "shop")
        found = {one.path: one for one in report.listed if "no counterpart and no effect" in one.reason}
        assert sorted(found) == sorted(paths), format_
        for path, one in found.items():
            assert path.rpartition(".")[2] in text.splitlines()[one.line - 1]


def test_what_a_later_stage_of_cube_or_another_day_of_dbt_would_change_is_left_out_or_said() -> None:
    cube = CUBE.replace(
        "{name: count, type: count}",
        "{name: count, type: count}\n"
        '      - {name: next_year, type: number, multi_stage: true, sql: "{paid}", time_shift: [{interval: 1 year, type: next}]}\n'
        '      - {name: fixed, type: number, multi_stage: true, sql: "{paid}", reduce_by: [place]}\n'
        "      - {name: early, type: sum, sql: freight, rolling_window: {trailing: 7 day, offset: start}}",
    )
    layer, listed = layer_from(cube, "cube")
    assert {"next_year", "fixed", "early"}.isdisjoint(layer.metrics)
    assert all(
        any(f"{name} " in one and "left out" in one for one in listed) for name in ("next_year", "fixed", "early")
    )
    assert any("freight_28" in one and "not the first" in one for one in layer_from(DBT, "dbt")[1])


def test_a_view_of_cube_gives_names_and_says_what_else_it_does_there() -> None:
    view = "views:\n  - {name: report, cubes: [{join_path: orders, includes: [{name: paid, alias: money_in}]}]}\n"
    layer, listed = layer_from(CUBE + view, "cube")
    assert layer.metrics["paid"].words.synonyms == ("money in",)
    assert any(one.startswith("views.report") for one in listed)


def test_a_bare_column_belongs_to_the_one_dataset_that_has_it() -> None:
    document = document_of(SHOP)
    bare = {"name": "m", "expression": {"dialects": [{"dialect": "ANSI_SQL", "expression": "SUM(money)"}]}}
    both = {"name": "d", "expression": {"dialects": [{"dialect": "ANSI_SQL", "expression": "COUNT(day)"}]}}
    layer, report = read_ossie({**document, "metrics": [bare, both]})[0]
    assert layer.metrics["m"].dataset == "refunds"
    assert "d" not in layer.metrics
    assert any(one.path == "metrics.d" for one in report.listed)


MANIFEST_FILTERS = {
    "text": "{{ Dimension('order__state') }} = 'paid'",
    "double quotes": "{{Dimension(\"order__state\")}} = 'paid'",
    "list": ["{{ Dimension('order__state') }} = 'paid'"],
    "manifest": {"where_filters": [{"where_sql_template": "{{ Dimension('order__state') }} = 'paid'"}]},
}


def dbt_with(metrics: list[object], model: str = "ref('orders')", **more: object) -> str:
    """Return a dbt file over orders with these metrics."""
    orders = {
        "name": "orders",
        "model": model,
        "defaults": {"agg_time_dimension": "day"},
        "entities": [{"name": "order", "type": "primary", "expr": "id"}],
        "dimensions": [
            {"name": "day", "type": "time", "type_params": {"time_granularity": "day"}},
            {"name": "state", "type": "categorical"},
        ],
        "measures": [{"name": "freight_m", "agg": "sum", "expr": "freight"}],
    }
    return json.dumps({"semantic_models": [orders | more], "metrics": metrics})


@pytest.mark.parametrize("form", MANIFEST_FILTERS)
@pytest.mark.parametrize("place", ["metric", "measure"])
def test_a_dbt_filter_is_taken_in_every_form_and_at_both_places(form: str, place: str) -> None:
    given = MANIFEST_FILTERS[form]
    measure = {"name": "freight_m", "filter": given if place == "measure" else None}
    metric: dict[str, object] = {"name": "paid", "type": "simple", "type_params": {"measure": measure}}
    metric["filter"] = given if place == "metric" else None

    layer, listed = layer_from(dbt_with([metric]), "dbt")

    assert layer.metrics["paid"].condition == "orders.state = 'paid'"
    assert listed == []


@pytest.mark.parametrize(
    "given",
    [
        {"where": "state = 'paid'"},
        {"where_filters": [{"sql": "state = 'paid'"}]},
        {"where_filters": [], "extra": "state = 'paid'"},
        [["{{ Dimension('order__unknown') }} = 1"]],
        7,
        "{{ Dimension('order__state').upper() }} = 'PAID'",
        "{{ Dimension('order__state', 'day', 'week', 'month') }} = 'paid'",
    ],
)
@pytest.mark.parametrize("kind", ["simple", "cumulative", "conversion"])
def test_a_metric_whose_filter_cannot_be_read_is_no_metric_and_is_listed_with_its_line(
    given: object, kind: str
) -> None:
    params: dict[str, object] = {"measure": {"name": "freight_m", "filter": given}}
    if kind == "conversion":
        params = {"base_measure": {"name": "freight_m", "filter": given}, "conversion_measure": "freight_m"}

    layer, listed = layer_from(dbt_with([{"name": "paid", "type": kind, "type_params": params}]), "dbt")

    assert "paid" not in layer.metrics
    assert any(text.startswith("metrics.paid (line 1): left out") for text in listed), listed


def test_a_derived_metric_of_plain_names_has_its_inputs() -> None:
    metrics: list[object] = [
        {"name": "freight", "type": "simple", "type_params": {"measure": "freight_m"}},
        {"name": "double", "type": "derived", "type_params": {"expr": "2 * freight", "metrics": ["freight"]}},
        {"name": "none", "type": "derived", "type_params": {"expr": "2 * freight", "metrics": []}},
        {"name": "other", "type": "derived", "type_params": {"expr": "2 * net", "metrics": ["freight"]}},
    ]

    layer, listed = layer_from(dbt_with(metrics), "dbt")

    assert [one.metric for one in layer.metrics["double"].inputs] == ["freight"]
    assert {"none", "other"}.isdisjoint(layer.metrics)
    assert len(listed) == 2


def test_what_stands_on_a_metric_that_was_left_out_is_left_out_too() -> None:
    simple = {"name": "paid", "type": "simple", "type_params": {"measure": "freight_m"}, "filter": {"unknown": "x"}}
    share = {"name": "share", "type": "ratio", "type_params": {"numerator": "paid", "denominator": {"name": "all"}}}
    total = {"name": "all", "type": "simple", "type_params": {"measure": "freight_m"}}
    twice = {"name": "twice", "type": "derived", "type_params": {"expr": "2 * share", "metrics": ["share"]}}

    layer, listed = layer_from(dbt_with([twice, share, simple, total]), "dbt")

    assert {name for name, metric in layer.metrics.items() if metric.words.offered} == {"all"}
    assert {text.split(" ")[0] for text in listed} == {"metrics.paid", "metrics.share", "metrics.twice"}


@pytest.mark.parametrize(
    ("model", "source"),
    [
        ("ref('core', 'fct_orders')", "fct_orders"),
        ('{{ ref("fct_orders") }}', "fct_orders"),
        ("ref('core', 'fct_orders', v=2)", "fct_orders_v2"),
        ("source('raw', 'orders')", "raw.orders"),
        ("shop.orders", "shop.orders"),
    ],
)
def test_every_form_of_a_dbt_reference_names_its_table(model: str, source: str) -> None:
    layer, listed = layer_from(dbt_with([], model), "dbt")

    assert layer.datasets["orders"].source == source
    assert listed == []


def test_entries_of_another_shape_and_expressions_that_cannot_be_read_are_listed() -> None:
    measures = [
        {"name": "freight_m", "agg": "sum", "expr": "freight"},
        "weight",
        {"name": "bad", "agg": "sum", "expr": "a +"},
    ]
    dimensions = [{"name": "state", "type": "categorical", "expr": "{{ column }}"}]

    layer, listed = layer_from(dbt_with([], measures=measures, dimensions=dimensions), "dbt")

    assert "state" not in layer.datasets["orders"].fields
    assert len([text for text in listed if "left out" in text]) == 3


BACK_TICKS = """
cubes:
  - name: pupils
    sql_table: school.pupils
    dimensions:
      - {name: id, sql: "{CUBE}.`pupil id`", type: number, primary_key: true}
      - {name: level, sql: "CASE WHEN {CUBE}.`grade level` > 9 THEN \\"upper\\" ELSE \\"lower\\" END", type: string}
    measures:
      - {name: present, sql: "{CUBE}.`days present`", type: sum, filters: [{sql: "{CUBE}.`left` IS NULL"}]}
      - {name: days, sql: "{CUBE}.days", type: sum}
      - {name: rate, sql: "{present} / {days}", type: number}
"""


def test_back_ticks_of_cube_are_quotes() -> None:
    layer, listed = layer_from(BACK_TICKS, "cube")

    assert set(layer.datasets["pupils"].fields) == {"id", "level"}
    assert set(layer.metrics) == {"present", "days", "rate"}
    assert layer.metrics["present"].expression == (
        'SUM(CASE WHEN (pupils."left" IS NULL) THEN pupils."days present" END)'
    )
    assert "'upper'" in layer.datasets["pupils"].fields["level"].expression
    assert listed == []


@pytest.mark.parametrize(
    "faulty",
    ["{CUBE}.`days present", "{{ jinja }}", "SUM({CUBE}.x) OVER (ORDER BY 1) +", ""],
)
def test_what_stands_on_a_member_of_cube_that_was_left_out_is_left_out_too(faulty: str) -> None:
    document = yaml.safe_load(BACK_TICKS)
    document["cubes"][0]["measures"][0]["sql"] = faulty
    document["cubes"][0]["measures"].append({"name": "percent", "sql": "100 * {CUBE.rate}", "type": "number"})
    document["cubes"][0]["measures"].append({"name": "column", "sql": "{CUBE}.present", "type": "max"})

    layer, listed = layer_from(yaml.safe_dump(document), "cube")

    assert set(layer.metrics) == {"days", "column"}
    assert [text.split(" ")[0].rpartition(".")[2] for text in listed] == ["present", "rate", "percent"]
    assert all("(line " in text for text in listed)


@pytest.mark.parametrize("filters", [["paid"], [{"condition": "x"}], {"sql": "x"}, [{"sql": ""}]])
def test_a_measure_of_cube_whose_filter_cannot_be_read_is_no_metric(filters: object) -> None:
    document = yaml.safe_load(BACK_TICKS)
    document["cubes"][0]["measures"][0]["filters"] = filters

    layer, listed = layer_from(yaml.safe_dump(document), "cube")

    assert set(layer.metrics) == {"days"}
    assert len(listed) == 2


def test_a_key_of_cube_with_a_lost_part_is_no_key() -> None:
    document = yaml.safe_load(BACK_TICKS)
    document["cubes"][0]["dimensions"].append(
        {"name": "year", "sql": "{CUBE}.`y", "type": "number", "primary_key": True}
    )

    assert layer_from(yaml.safe_dump(document), "cube")[0].datasets["pupils"].primary_key == ()
