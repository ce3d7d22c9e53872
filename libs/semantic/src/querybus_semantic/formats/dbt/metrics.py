"""dbt's measures and metrics: what one lacks leaves it out, and all that stands on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from sqlglot import exp

from querybus_semantic.compiling.expressions import parse_unlabelled
from querybus_semantic.formats.dbt.filters import FilterError, condition_of, filter_texts
from querybus_semantic.formats.dbt.models import Model, words_of
from querybus_semantic.formats.dependents import fallen
from querybus_semantic.formats.document import Document, Report, items, mapping, text, texts
from querybus_semantic.formats.known_keys import DBT
from querybus_semantic.formats.ossie import span_of
from querybus_semantic.layer.definitions import (
    Conversion,
    Cumulative,
    Grain,
    Input,
    Layer,
    Metric,
    NonAdditive,
    Words,
)
from querybus_semantic.layer.refusal import RefusedError

_AGGREGATES: Final = {
    "sum": "SUM({})",
    "count": "COUNT({})",
    "count_distinct": "COUNT(DISTINCT {})",
    "average": "AVG({})",
    "min": "MIN({})",
    "max": "MAX({})",
    "median": "MEDIAN({})",
    "sum_boolean": "SUM(CASE WHEN {} THEN 1 ELSE 0 END)",
}


def with_metrics(
    layer: Layer, models: Mapping[str, Model], nodes: Sequence[tuple[Document, str]], report: Report
) -> Layer:
    """Return the layer with the metrics that these nodes define, each of the model whose name stands beside it."""
    measures = {name: (model, node) for model in models.values() for name, node in model.measures.items()}
    metrics: dict[str, Metric] = {}
    for name, (_, node) in measures.items():
        if node.get("create_metric"):
            nodes = [*nodes, ({"name": name, "type": "simple", "type_params": {"measure": name}}, "")]
    hidden = {name: _measured(model, node, f"measures.{name}", report) for name, (model, node) in measures.items()}
    for node, dataset in nodes:
        name = text(node.get("name"))
        report.list_unknown(f"metrics.{name}", node, DBT["metric"])
        report.list_unknown(f"metrics.{name}", mapping(node.get("type_params")), DBT["type_params"])
        try:
            metric = _metric(node, dataset, models, hidden)
        except (FilterError, RefusedError) as error:
            reason = error.refusal.detail if isinstance(error, RefusedError) else str(error)
            report.list(f"metrics.{name}", f"left out: {reason}")
            continue
        if metric is not None:
            metrics[name] = metric
            if metric.cumulative is not None and _shown(node) != "last":
                report.list(
                    f"metrics.{name}", f"of a longer step than a day its last value is shown, not the {_shown(node)}"
                )
    for name, part in _fallen(metrics, nodes, hidden).items():
        del metrics[name]
        report.list(f"metrics.{name}", f"left out: it stands on `{part}`, which is not there or was left out")
    for name, metric in hidden.items():
        if metric is not None:
            metrics.setdefault(name, replace(metric, words=replace(metric.words, offered=False)))
    return replace(layer, metrics=metrics)


def _fallen(
    metrics: Mapping[str, Metric], nodes: Sequence[tuple[Document, str]], hidden: Mapping[str, Metric | None]
) -> dict[str, str]:
    """Return the metrics that lack an input, each with its name."""
    uses = {
        name: [one.metric for one in metric.inputs]
        + ([metric.conversion.base, metric.conversion.conversion] if metric.conversion is not None else [])
        for name, metric in metrics.items()
    }
    present = {*metrics, *(name for name, metric in hidden.items() if metric is not None)}
    wanted = {part for parts in uses.values() for part in parts} | {text(node.get("name")) for node, _ in nodes}
    return fallen(uses, wanted - present)


def _measured(model: Model, node: Document, path: str, report: Report) -> Metric | None:
    """Return a measure as a metric of its own dataset."""
    name = text(node.get("name"))
    aggregate = text(node.get("agg")).lower()
    expression = text(node.get("expr")) or name
    if aggregate == "count" and expression == "1":
        expression = model.entities[model.primary].column if model.primary in model.entities else "*"
    if aggregate == "percentile":
        share = float(text(mapping(node.get("agg_params")).get("percentile") or node.get("percentile") or 0.5))
        params = mapping(node.get("agg_params"))
        is_discrete = params.get("use_discrete_percentile") or node.get("percentile_type") == "discrete"
        function = "PERCENTILE_DISC" if is_discrete else "PERCENTILE_CONT"
        call = f"{function}({share / 100 if share > 1 else share}) WITHIN GROUP (ORDER BY {expression})"
    elif aggregate in _AGGREGATES:
        call = _AGGREGATES[aggregate].format(expression)
    else:
        report.list(path, f"left out: aggregate `{aggregate}`")
        return None
    try:
        call = parse_unlabelled(call).sql()
    except RefusedError as error:
        report.list(path, f"left out: {error.refusal.detail}")
        return None
    time = text(node.get("agg_time_dimension")) or model.dataset.time
    level = mapping(node.get("non_additive_dimension"))
    per = texts(level.get("window_groupings") or level.get("group_by"))
    dataset = model.dataset.name
    return Metric(
        name=name,
        expression=call,
        dataset=dataset,
        time=f"{dataset}.{time}" if time else "",
        non_additive=NonAdditive(
            f"{dataset}.{text(level.get('name'))}",
            "first" if text(level.get("window_choice") or level.get("window_agg")) == "min" else "last",
            tuple(f"{dataset}.{model.entities[one].column if one in model.entities else one}" for one in per),
        )
        if level
        else None,
        words=words_of(node),
    )


def _input(given: object) -> Document:
    """Return an input of a metric, which is a mapping or the plain name; FilterError for anything else."""
    if given is None or isinstance(given, str):
        return {"name": text(given)}
    if not isinstance(given, dict):
        raise FilterError(f"its input is no name and no mapping: {str(given)[:80]}")
    return mapping(given)


def _inputs(given: object) -> list[Document]:
    """Return the inputs of a derived metric; FilterError where there are none."""
    found = [_input(one) for one in cast("list[object]", given)] if isinstance(given, list) else []
    if not found:
        raise FilterError("it has no inputs that can be read")
    return found


def _metric(
    node: Document, dataset: str, models: Mapping[str, Model], hidden: Mapping[str, Metric | None]
) -> Metric | None:
    name, kind = text(node.get("name")), text(node.get("type")).lower() or "simple"
    params = mapping(node.get("type_params")) or node
    private = bool(params.get("is_private") or node.get("hidden"))
    words = words_of(node, offered=not private)

    measure = params.get("measure")
    measured_by = hidden.get(text(_input(measure).get("name"))) if measure is not None else None
    home = dataset or (measured_by.dataset if measured_by is not None else "")

    def condition(value: object) -> str:
        return condition_of(value, models, home)

    if kind == "simple":
        given = _input(measure) if "measure" in params else {}
        base = (
            hidden.get(text(given.get("name")))
            if given
            else _measured(models[dataset], node, f"metrics.{name}", Report())
        )
        if base is None:
            raise FilterError(f"its measure `{text(given.get('name')) or name}` is not there")
        fill = given.get("fill_nulls_with", node.get("fill_nulls_with"))
        if fill is not None and not isinstance(fill, int):
            raise FilterError(f"`fill_nulls_with` is no whole number: {str(fill)[:80]}")
        return replace(
            base,
            name=name,
            condition=_both(condition(given.get("filter")), condition(node.get("filter"))),
            fill_with=fill,
            words=words,
        )
    if kind == "ratio":
        pair = [_input(params.get(side)) for side in ("numerator", "denominator")]
        inputs = tuple(
            Input(text(one.get("name")), alias, None, condition(one.get("filter")))
            for one, alias in zip(pair, ("n", "d"), strict=True)
        )
        return Metric(name, "n / NULLIF(d, 0)", inputs=inputs, condition=condition(node.get("filter")), words=words)
    if kind == "derived":
        return _derived(node, params, name, words, condition)
    if kind == "cumulative":
        return _cumulative(params, name, hidden, models, dataset, words, condition, node.get("filter"))
    if kind == "conversion":
        if filter_texts(node.get("filter")):
            raise FilterError("a filter of a conversion has no counterpart")
        return _conversion(params, name, words, models)
    raise FilterError(f"metrics of type {kind} are not known")


def _both(one: str, other: str) -> str:
    """Return two conditions as one; either may be empty."""
    return f"({one}) AND ({other})" if one and other else one or other


def _derived(node: Document, params: Document, name: str, words: Words, condition: Any) -> Metric:
    inputs: list[Input] = []
    for one in _inputs(params.get("metrics") or params.get("input_metrics")):
        if one.get("offset_to_grain"):
            raise FilterError("an offset to the start of a grain has no counterpart")
        offset = span_of(one.get("offset_window"))
        if one.get("offset_window") and offset is None:
            raise FilterError(f"the offset `{text(one.get('offset_window'))}` is of an own calendar")
        alias = text(one.get("alias")) or text(one.get("name"))
        inputs.append(Input(text(one.get("name")), alias, offset, condition(one.get("filter"))))
    expression = parse_unlabelled(text(params.get("expr")))
    aliases = {one.alias for one in inputs}
    unknown = sorted(column.name for column in expression.find_all(exp.Column) if column.name not in aliases)
    if unknown:
        raise FilterError(f"`{unknown[0]}` is none of its inputs")
    return Metric(name, expression.sql(), inputs=tuple(inputs), condition=condition(node.get("filter")), words=words)


def _cumulative(
    params: Document,
    name: str,
    hidden: Mapping[str, Metric | None],
    models: Mapping[str, Model],
    dataset: str,
    words: Words,
    condition_of_one: Callable[[object], str],
    own_filter: object,
) -> Metric:
    details = mapping(params.get("cumulative_type_params")) or params
    given = _input(params.get("measure") or details.get("metric") or params.get("input_metric"))
    condition = _both(condition_of_one(given.get("filter")), condition_of_one(own_filter))
    base = hidden.get(text(given.get("name")))
    if base is None and dataset:
        inner = [one for one in models[dataset].measures.values() if text(one.get("name")) == text(given.get("name"))]
        base = _measured(models[dataset], inner[0], name, Report()) if inner else None
    if base is None:
        return Metric(
            name,
            "x",
            inputs=(Input(text(given.get("name")), "x"),),
            cumulative=_span(details),
            condition=condition,
            words=words,
        )
    return replace(base, name=name, cumulative=_span(details), condition=condition, words=words)


def _shown(node: Document) -> str:
    """Return which of its daily values a running metric shows for a week or a month: dbt's default is the first."""
    params = mapping(node.get("type_params")) or node
    return text((mapping(params.get("cumulative_type_params")) or params).get("period_agg")).lower() or "first"


def _span(details: Document) -> Cumulative:
    window = span_of(details.get("window"))
    if details.get("window") and window is None:
        raise FilterError(f"the window `{text(details.get('window'))}` is of an own calendar")
    to_date = text(details.get("grain_to_date"))
    return Cumulative(window, Grain(to_date) if to_date in set(Grain) else None)


def _conversion(params: Document, name: str, words: Words, models: Mapping[str, Model]) -> Metric:
    details = mapping(params.get("conversion_type_params")) or params
    sides = [_input(details.get(f"{side}_measure") or details.get(f"{side}_metric")) for side in ("base", "conversion")]
    if any(filter_texts(side.get("filter")) for side in sides):
        raise FilterError("a filter of a side of a conversion has no counterpart")
    base, target = (text(side.get("name")) for side in sides)
    entity = text(details.get("entity"))
    columns = {model.entities[entity].column for model in models.values() if entity in model.entities}
    column = columns.pop() if len(columns) == 1 else entity
    constant = tuple(
        (text(pair.get("base_property")).rpartition("__")[2], text(pair.get("conversion_property")).rpartition("__")[2])
        for pair in items(details.get("constant_properties"))
    )
    rule = Conversion(
        base,
        target,
        column,
        span_of(details.get("window")),
        rate=text(details.get("calculation")) != "conversions",
        constant=constant,
    )
    return Metric(name, "COUNT(*)", conversion=rule, words=words)
