"""dbt's semantic models, in the legacy spec (semantic_models, measures) and the latest one (everything in the model).

Equal entity names join: foreign to primary, unique or natural. Filters are Jinja and are never run: four calls are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from querybus_semantic.compiling.expressions import parse
from querybus_semantic.formats.dbt_filters import FilterError, condition_of
from querybus_semantic.formats.document import BadFileError, Document, Lines, Report, items, mapping, text, texts
from querybus_semantic.formats.known_keys import DBT
from querybus_semantic.formats.ossie import span_of
from querybus_semantic.layer.definitions import (
    GRAIN_ORDER,
    Conversion,
    Cumulative,
    Dataset,
    Field,
    Grain,
    Input,
    Layer,
    Metric,
    NonAdditive,
    Range,
    Relation,
    Type,
    Validity,
    Words,
)
from querybus_semantic.layer.refusal import RefusedError

_JOINED_TO: Final = frozenset({"primary", "unique", "natural"})
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


@dataclass(frozen=True, slots=True)
class Entity:
    """A name that joins models; `column` is the field that holds it."""

    name: str
    type: str
    column: str


@dataclass(slots=True)
class Model:
    """One semantic model while files are read."""

    dataset: Dataset
    entities: dict[str, Entity] = field(default_factory=dict[str, Entity])
    primary: str = ""
    measures: dict[str, Document] = field(default_factory=dict[str, Document])


def read_dbt(documents: Sequence[tuple[Document, Lines]], name: str) -> tuple[Layer, Report]:
    """Return the layer that dbt's files make together. None of them a semantic model: BadFileError."""
    report = Report(Lines(tuple(root for _, lines in documents for root in lines.roots)))
    models: dict[str, Model] = {}
    metrics: list[tuple[Document, str]] = []
    for document, _ in documents:
        for node in _legacy_models(document):
            model = _model(node, report, is_latest=False)
            models[model.dataset.name] = model
        for node in items(document.get("models")):
            for grain in items(mapping(node.get("time_spine")).get("custom_granularities")):
                path = f"models.{text(node.get('name'))}.time_spine.custom_granularities.{text(grain.get('name'))}"
                report.list(path, "left out: a grain of an own calendar; fiscal years are said in `calendar`")
            if mapping(node.get("semantic_model")).get("enabled") or node.get("semantic_model") is True:
                model = _model(node, report, is_latest=True)
                models[model.dataset.name] = model
                metrics += [(one, model.dataset.name) for one in items(node.get("metrics"))]
        metrics += [(one, "") for one in _metric_nodes(document)]
        for saved in (
            *items(document.get("saved_queries")),
            *([mapping(document.get("saved_query"))] if "saved_query" in document else []),
        ):
            report.list(
                f"saved_queries.{text(saved.get('name'))}", "left out: it has no words; make it a verified question"
            )
    if not models:
        raise BadFileError("The files hold no semantic model of dbt.")
    for key, model in models.items():
        for entity in model.entities.values():
            is_made = entity.column == f"{entity.name}_key"
            if is_made and not any(entity.name in other.entities for other in models.values() if other is not model):
                report.list(
                    f"models.{key}.{entity.name}", "left out: no other model has this entity, nothing is joined by it"
                )
    layer = Layer(name, {key: model.dataset for key, model in models.items()}, relations=tuple(_relations(models)))
    return _with_metrics(layer, models, metrics, report), report


def _legacy_models(document: Document) -> Iterator[Document]:
    yield from items(document.get("semantic_models"))
    if isinstance(document.get("semantic_model"), dict):
        yield mapping(document.get("semantic_model"))


def _metric_nodes(document: Document) -> Iterator[Document]:
    yield from items(document.get("metrics"))
    if isinstance(document.get("metric"), dict):
        yield mapping(document.get("metric"))


def _source(node: Document, name: str) -> str:
    relation = mapping(node.get("node_relation"))
    if relation:
        schema = text(relation.get("schema_name"))
        return (
            f"{schema}.{text(relation.get('alias'))}" if schema and "$" not in schema else text(relation.get("alias"))
        )
    given = text(node.get("model"))
    if given.startswith("ref("):
        return given[4:].rstrip(")").strip("'\" ")
    if given:
        return given
    return name


def _words(node: Document, *, offered: bool = True) -> Words:
    meta = mapping(mapping(node.get("config")).get("meta"))
    label = text(node.get("label"))
    return Words(
        description=text(node.get("description")),
        label={"en": label} if label else {},
        synonyms=texts(meta.get("synonyms")),
        owner=text(meta.get("owner")),
        offered=offered,
    )


def _model(node: Document, report: Report, *, is_latest: bool) -> Model:
    settings = mapping(node.get("semantic_model"))
    table = text(node.get("name"))
    name = text(settings.get("name")) or table
    path = f"models.{name}"
    report.list_unknown(path, settings if is_latest else node, DBT["semantic_model"])
    for key in ("group", "config"):
        if settings.get(key):
            report.list(f"{path}.{key}", "kept as a note of the owner; it has no effect")
    time = text(node.get("agg_time_dimension")) or text(mapping(node.get("defaults")).get("agg_time_dimension"))
    dimensions = _latest_parts(node, "dimension") if is_latest else list(items(node.get("dimensions")))
    entities = _latest_parts(node, "entity") if is_latest else list(items(node.get("entities")))
    fields: dict[str, Field] = {}
    start = end = ""
    for one in dimensions:
        field_name = text(one.get("name"))
        fields[field_name] = _dimension(one, f"{path}.{field_name}", report)
        validity = mapping(one.get("validity_params")) or mapping(
            mapping(one.get("type_params")).get("validity_params")
        )
        start = field_name if validity.get("is_start") else start
        end = field_name if validity.get("is_end") else end
    model = Model(
        Dataset(name, _source(node, table), time=time, raw_names=True), primary=text(node.get("primary_entity"))
    )
    keys: list[tuple[str, ...]] = []
    for one in entities:
        report.list_unknown(f"{path}.{text(one.get('name'))}", one, DBT["entity"])
        entity, extra = _entity(one, fields)
        fields |= extra
        model.entities[entity.name] = entity
        if entity.type in {"primary", "unique"}:
            keys.append((entity.column,))
        if entity.type == "natural" and start and end:
            keys.append((entity.column, start))
            model.dataset = replace(model.dataset, validity=Validity(entity.column, start, end))
        if entity.type == "primary":
            model.primary = entity.name
    model.dataset = replace(
        model.dataset,
        fields=fields,
        primary_key=keys[0] if keys else (),
        unique_keys=tuple(keys[1:]),
        words=_words(node),
    )
    model.measures = {text(one.get("name")): one for one in items(node.get("measures"))}
    for measure, one in model.measures.items():
        report.list_unknown(f"{path}.measures.{measure}", one, DBT["measure"])
    return model


def _dimension(node: Document, path: str, report: Report) -> Field:
    report.list_unknown(path, node, DBT["dimension"])
    if node.get("is_partition"):
        report.list(f"{path}.is_partition", "joins do not follow partitions here")
    name = text(node.get("name"))
    grain = text(mapping(node.get("type_params")).get("time_granularity")) or text(node.get("granularity"))
    is_time = text(node.get("type")) == "time"
    return Field(
        name,
        text(node.get("expr")) or name,
        type=(Type.DATETIME if grain == "hour" else Type.DATE) if is_time else Type.UNKNOWN,
        is_time=is_time,
        grain=Grain(grain) if grain in set(Grain) and GRAIN_ORDER[Grain(grain)] > GRAIN_ORDER[Grain.DAY] else None,
        values={value: (value,) for value in _accepted(node)},
        words=_words(node),
    )


def _accepted(node: Document) -> tuple[str, ...]:
    for test in items(node.get("data_tests")) + items(node.get("tests")):
        given = mapping(test.get("accepted_values"))
        if given:
            return texts(given.get("values") or mapping(given.get("arguments")).get("values"))
    return ()


def _latest_parts(node: Document, kind: str) -> list[Document]:
    """Return the entities or dimensions of the latest spec in the legacy spec's form."""
    found: list[Document] = []
    for column in items(node.get("columns")):
        given = column.get(kind)
        if given is None:
            continue
        part: dict[str, Any] = dict(mapping(given)) or {"type": text(given)}
        part.setdefault("name", text(column.get("name")))
        part["expr"] = text(column.get("name"))
        if column.get("granularity"):
            part["type_params"] = {
                "time_granularity": column.get("granularity"),
                "validity_params": part.get("validity_params"),
            }
        part["data_tests"] = column.get("data_tests")
        found.append(part)
    plural = {"dimension": "dimensions", "entity": "entities"}[kind]
    found += items(mapping(node.get("derived_semantics")).get(plural))
    return found


def _entity(node: Document, fields: Mapping[str, Field]) -> tuple[Entity, dict[str, Field]]:
    name = text(node.get("name"))
    expression = text(node.get("expr")) or name
    if expression.isidentifier():
        known = [key for key, one in fields.items() if one.expression == expression]
        column = known[0] if known else expression
        return Entity(name, text(node.get("type")), column), {} if known else {
            column: Field(column, expression, words=_words(node))
        }
    column = f"{name}_key"
    return Entity(name, text(node.get("type")), column), {
        column: Field(column, expression, words=_words(node, offered=False))
    }


def _relations(models: Mapping[str, Model]) -> Iterator[Relation]:
    for many_name, many in models.items():
        for entity in many.entities.values():
            for one_name, one in models.items():
                other = one.entities.get(entity.name)
                if one_name == many_name or other is None or other.type not in _JOINED_TO:
                    continue
                validity = one.dataset.validity if other.type == "natural" else None
                if other.type == "natural" and validity is None:
                    continue
                at = many.dataset.time
                yield Relation(
                    name=f"{many_name}.{entity.name}.{one_name}",
                    many=many_name,
                    one=one_name,
                    many_columns=(entity.column, at) if validity else (entity.column,),
                    one_columns=(other.column, validity.valid_from) if validity else (other.column,),
                    role=entity.name,
                    range=Range(at, validity.valid_from, validity.valid_to) if validity else None,
                )


def _with_metrics(
    layer: Layer, models: Mapping[str, Model], nodes: Sequence[tuple[Document, str]], report: Report
) -> Layer:
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
    for name, metric in hidden.items():
        if metric is not None:
            metrics.setdefault(name, replace(metric, words=replace(metric.words, offered=False)))
    return replace(layer, metrics=metrics)


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
        parse(call, "")
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
        words=_words(node),
    )


def _input(given: object) -> Document:
    return mapping(given) if isinstance(given, dict) else {"name": text(given)}


def _metric(
    node: Document, dataset: str, models: Mapping[str, Model], hidden: Mapping[str, Metric | None]
) -> Metric | None:
    name, kind = text(node.get("name")), text(node.get("type")).lower() or "simple"
    params = mapping(node.get("type_params")) or node
    private = bool(params.get("is_private") or node.get("hidden"))
    words = _words(node, offered=not private)

    measured_by = hidden.get(text(_input(params.get("measure")).get("name"))) if "measure" in params else None
    home = dataset or (measured_by.dataset if measured_by is not None else "")

    def condition(value: object) -> str:
        return condition_of(value, models, home)

    if kind == "simple":
        given = _input(params.get("measure")) if "measure" in params else {}
        base = (
            hidden.get(text(given.get("name")))
            if given
            else _measured(models[dataset], node, f"metrics.{name}", Report())
        )
        if base is None:
            raise FilterError(f"its measure `{text(given.get('name')) or name}` is not there")
        fill = given.get("fill_nulls_with", node.get("fill_nulls_with"))
        conditions = [part for part in (condition(given.get("filter")), condition(node.get("filter"))) if part]
        return replace(
            base,
            name=name,
            condition=" AND ".join(f"({part})" for part in conditions) if len(conditions) > 1 else "".join(conditions),
            fill_with=fill if isinstance(fill, int) else None,
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
        return _cumulative(params, name, hidden, models, dataset, words, condition(node.get("filter")))
    if kind == "conversion":
        return _conversion(params, name, words, models)
    raise FilterError(f"metrics of type {kind} are not known")


def _derived(node: Document, params: Document, name: str, words: Words, condition: Any) -> Metric:
    inputs: list[Input] = []
    for one in items(params.get("metrics") or params.get("input_metrics")):
        if one.get("offset_to_grain"):
            raise FilterError("an offset to the start of a grain has no counterpart")
        offset = span_of(one.get("offset_window"))
        if one.get("offset_window") and offset is None:
            raise FilterError(f"the offset `{text(one.get('offset_window'))}` is of an own calendar")
        alias = text(one.get("alias")) or text(one.get("name"))
        inputs.append(Input(text(one.get("name")), alias, offset, condition(one.get("filter"))))
    return Metric(
        name, text(params.get("expr")), inputs=tuple(inputs), condition=condition(node.get("filter")), words=words
    )


def _cumulative(
    params: Document,
    name: str,
    hidden: Mapping[str, Metric | None],
    models: Mapping[str, Model],
    dataset: str,
    words: Words,
    condition: str,
) -> Metric:
    details = mapping(params.get("cumulative_type_params")) or params
    given = _input(params.get("measure") or mapping(details.get("metric")).get("name") or params.get("input_metric"))
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
    base = text(_input(details.get("base_measure") or details.get("base_metric")).get("name"))
    target = text(_input(details.get("conversion_measure") or details.get("conversion_metric")).get("name"))
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
