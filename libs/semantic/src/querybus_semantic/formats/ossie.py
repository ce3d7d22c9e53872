"""Apache Ossie: read in all three document shapes, written in the flat one. Meaning that Ossie lacks is our extension.

Extension data is JSON as text under vendor COMMON: `time`, `non_additive`, `kind`, `of`, `window`, `grain_to_date`,
`share_of_total`, `inputs`, `formula`, `fill_nulls_with`, `unit`, `validity`, `values`, `grain`, `role`, `range`, `asof`,
`bridge`, `calendar`, `owner`, `version`, `state`. A metric with a key that is not known is closed: it may change numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Literal, cast

from sqlglot import exp

from querybus_semantic.compiling.expressions import aggregates, datasets_of, is_windowed, parse
from querybus_semantic.formats.document import (
    NOWHERE,
    BadFileError,
    Document,
    Lines,
    Report,
    items,
    json_mapping,
    mapping,
    text,
    texts,
)
from querybus_semantic.formats.known_keys import EXTENSIONS, OSSIE
from querybus_semantic.layer.definitions import (
    TIME_TYPES,
    AsOf,
    Bridge,
    Calendar,
    Cardinality,
    Conversion,
    Cumulative,
    Dataset,
    Field,
    Grain,
    Input,
    Layer,
    Metric,
    NamedFilter,
    NonAdditive,
    Range,
    Relation,
    Span,
    Type,
    Validity,
    VerifiedQuery,
    Words,
)
from querybus_semantic.layer.refusal import RefusedError

VENDOR: Final = "COMMON"
_DIALECTS: Final = {
    "ANSI_SQL": "",
    "OSSIE_SQL_2026": "",
    "SNOWFLAKE": "snowflake",
    "DATABRICKS": "databricks",
    "BIGQUERY": "bigquery",
}
_TYPES: Final = {
    "string": Type.TEXT,
    "integer": Type.INTEGER,
    "decimal": Type.NUMBER,
    "number": Type.NUMBER,
    "float": Type.NUMBER,
    "boolean": Type.BOOLEAN,
    "date": Type.DATE,
    "time": Type.TIME,
    "datetime": Type.DATETIME,
    "datetimetz": Type.DATETIME,
    "timestamp": Type.DATETIME,
}
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def read_ossie(document: Document, lines: Lines = NOWHERE) -> list[tuple[Layer, Report]]:
    """Return the layers of an Ossie document, one per model. Another kind of document: BadFileError."""
    if "ontology" in document or "ontology_mappings" in document:
        raise BadFileError("This is an ontology, not a semantic model.")
    wrapped = document.get("semantic_model")
    if wrapped is not None and "datasets" in document:
        raise BadFileError("The file has both `semantic_model` and `datasets`; it must be one of the two shapes.")
    models = items(wrapped) if isinstance(wrapped, list) else [mapping(wrapped)] if wrapped else [document]
    if not models or not all(items(model.get("datasets")) for model in models):
        raise BadFileError("The file has neither `semantic_model` nor `datasets`: it is no Ossie model.")
    read = [_model(model, Report(lines)) for model in models]
    if wrapped is not None:
        for _, report in read:
            report.list("semantic_model", "the older shape, with the model inside a wrapper: read like the flat one")
    return read


def _extension(node: Document, path: str, kind: str, report: Report) -> Document:
    result: dict[str, Any] = {}
    report.list_unknown("" if kind == "model" else path, node, OSSIE[kind])
    for extension in items(node.get("custom_extensions")):
        vendor = text(extension.get("vendor_name"))
        if vendor.upper() == VENDOR:
            result.update(json_mapping(extension.get("data")))
        else:
            report.list(f"{path}.custom_extensions[{vendor}]", "another vendor's data: it has no effect here")
    if kind != "metric":
        # A metric with a key that is not known is left out whole.
        report.list_unknown(f"{path}.custom_extensions[{VENDOR}]", result, EXTENSIONS[kind])
    return result


def _words(node: Document, extension: Document, path: str, report: Report) -> Words:
    context = node.get("ai_context")
    synonyms = texts(mapping(context).get("synonyms")) if isinstance(context, dict) else ()
    note = text(context) if isinstance(context, str) else text(mapping(context).get("instructions"))
    for key in mapping(context):
        if key not in {"synonyms", "instructions", "examples"}:
            report.list(f"{path}.ai_context.{key}", "unknown key: it has no effect here")
    state: Literal["draft", "approved"] = "draft" if extension.get("state") == "draft" else "approved"
    labels = {str(key): text(value) for key, value in mapping(extension.get("labels")).items()}
    if node.get("label") and "en" not in labels:
        labels["en"] = text(node.get("label"))
    return Words(
        description=text(node.get("description")) or note,
        label=labels,
        synonyms=synonyms,
        owner=text(extension.get("owner")),
        version=text(extension.get("version")),
        state=state,
        offered=extension.get("offered") is not False,
    )


def _expression(node: Document, path: str, report: Report) -> tuple[str, str] | None:
    """Return (expression, sqlglot dialect): ANSI first, then OSSIE_SQL_2026, then the first SQL dialect."""
    given = {
        text(one.get("dialect")) or "ANSI_SQL": text(one.get("expression"))
        for one in items(mapping(node.get("expression")).get("dialects"))
    }
    if isinstance(node.get("expression"), str):
        given = {"ANSI_SQL": text(node.get("expression"))}
    known = [name for name in _DIALECTS if name in given]
    for name in given:
        if name not in _DIALECTS and known:
            report.list(f"{path}.{name}", f"{name} is no SQL; {known[0]} is read instead")
    if not known:
        report.list(path, f"left out: only {', '.join(given) or 'nothing'} is given, which is no SQL")
        return None
    return given[known[0]], _DIALECTS[known[0]]


def _model(model: Document, report: Report) -> tuple[Layer, Report]:
    name = text(model.get("name"))
    extension = _extension(model, "model", "model", report)
    _words(model, extension, "model", report)
    datasets = {text(node.get("name")): _dataset(node, report) for node in items(model.get("datasets"))}
    layer = Layer(
        name=name,
        datasets=datasets,
        relations=tuple(
            relation
            for node in items(model.get("relationships"))
            if (relation := _relation(node, datasets, report)) is not None
        ),
        filters={
            text(node.get("name")): NamedFilter(
                text(node.get("name")),
                text(node.get("dataset")),
                text(node.get("expression")),
                Words(description=text(node.get("description")), synonyms=texts(node.get("synonyms"))),
            )
            for node in items(extension.get("filters"))
        },
        calendar=_calendar(mapping(extension.get("calendar"))),
        zero_counts=extension.get("zero_counts") is not False,
        verified=tuple(
            VerifiedQuery(text(one.get("name")), text(one.get("question")), text(one.get("sql")))
            for one in items(extension.get("verified"))
        ),
        description=text(model.get("description")),
        instructions=text(mapping(model.get("ai_context")).get("instructions")),
    )
    metrics: dict[str, Metric] = {}
    for node in items(model.get("metrics")):
        metric = _metric(node, layer, report)
        if metric is not None:
            key = text(_extension(node, "", "metric", Report()).get("as")) or metric.name
            metrics[key] = metric
    for relation in layer.relations:
        one = layer.dataset(relation.one)
        if one is not None and not one.keys:
            report.list(
                f"relationships.{relation.name}",
                f"no key of {relation.one} is declared: its cardinality must be measured before it may be used",
            )
    return replace(layer, metrics=metrics), report


def _dataset(node: Document, report: Report) -> Dataset:
    name = text(node.get("name"))
    path = f"datasets.{name}"
    extension = _extension(node, path, "dataset", report)
    validity = mapping(extension.get("validity"))
    fields: dict[str, Field] = {}
    for one in items(node.get("fields")):
        field = _field(one, name, report)
        if field is not None:
            fields[field.name] = field
    return Dataset(
        name=name,
        source=text(node.get("source")) or name,
        primary_key=texts(node.get("primary_key")),
        unique_keys=tuple(texts(key) for key in cast("list[object]", node.get("unique_keys") or [])),
        fields=fields,
        time=text(extension.get("time")),
        raw_names=bool(extension.get("raw_names")),
        validity=Validity(text(validity.get("key")), text(validity.get("from")), text(validity.get("to")))
        if validity
        else None,
        words=_words(node, extension, path, report),
    )


def _field(node: Document, dataset: str, report: Report) -> Field | None:
    name = text(node.get("name"))
    path = f"datasets.{dataset}.fields.{name}"
    extension = _extension(node, path, "field", report)
    expression = _expression(node, path, report)
    if expression is None:
        return None
    try:
        tree = parse(*expression)
    except RefusedError as error:
        report.list(path, f"left out: {error.refusal.detail}")
        return None
    if aggregates(tree) or is_windowed(tree):
        report.list(path, "left out: a field is a value of one row, this is an aggregate")
        return None
    kind = _TYPES.get(text(node.get("datatype")).lower(), Type.UNKNOWN)
    is_time = mapping(node.get("dimension")).get("is_time")
    grain = text(extension.get("grain"))
    if is_time is None and kind in TIME_TYPES:
        report.list(path, "read as a date because of its type; nothing in the file says so")
    return Field(
        name=name,
        expression=tree.sql(),
        type=kind,
        is_time=kind in TIME_TYPES if is_time is None else bool(is_time),
        grain=Grain(grain) if grain in set(Grain) else None,
        values={str(key): _meanings(value) for key, value in mapping(extension.get("values")).items()},
        unit=text(extension.get("unit")),
        words=_words(node, extension, path, report),
    )


def _meanings(given: object) -> tuple[str, ...]:
    """Return what a code means: one text, a list of them, or one for each language."""
    return texts(list(mapping(given).values()) if isinstance(given, Mapping) else given) or (text(given),)


def _relation(node: Document, datasets: Mapping[str, Dataset], report: Report) -> Relation | None:
    name = text(node.get("name"))
    path = f"relationships.{name}"
    extension = _extension(node, path, "relationship", report)
    many, one = text(node.get("from")), text(node.get("to"))
    many_columns, one_columns = texts(node.get("from_columns")), texts(node.get("to_columns"))
    if many not in datasets or one not in datasets or not many_columns or len(many_columns) != len(one_columns):
        report.list(path, "left out: it names a dataset that is not there, or its columns do not pair")
        return None
    between, asof, bridge = (
        mapping(extension.get("range")),
        mapping(extension.get("asof")),
        mapping(extension.get("bridge")),
    )
    return Relation(
        name=name,
        many=many,
        one=one,
        many_columns=many_columns,
        one_columns=one_columns,
        role=text(extension.get("role")),
        range=Range(text(between.get("at")), text(between.get("from")), text(between.get("to"))) if between else None,
        measured=_measured(extension),
        asof=AsOf(text(asof.get("left")), text(asof.get("right"))) if asof else None,
        bridge=Bridge("weighted" if bridge.get("rule") == "weighted" else "once_per_group", text(bridge.get("weight")))
        if bridge
        else None,
    )


def _measured(extension: Document) -> Cardinality | None:
    given = text(extension.get("measured"))
    return Cardinality(given) if given in set(Cardinality) else None


def span_of(given: object) -> Span | None:
    """Return "28 days" or "1 month" as a span, None for anything else."""
    found = re.fullmatch(r"\s*(\d{1,6})\s+([a-z]+?)s?\s*", text(given).lower())
    if found is None or found.group(2) not in set(Grain):
        return None
    return Span(int(found.group(1)), Grain(found.group(2)))


def _metric(node: Document, layer: Layer, report: Report) -> Metric | None:
    name = text(node.get("name"))
    path = f"metrics.{name}"
    extension = _extension(node, path, "metric", report)
    expression = _expression(node, path, report)
    if expression is None:
        return None
    unknown = sorted(set(extension) - EXTENSIONS["metric"])
    if unknown:
        report.list(path, f"left out: `{', '.join(unknown)}` is not known and may change its numbers")
        return None
    kind = text(extension.get("kind"))
    level = mapping(extension.get("non_additive"))
    fill = extension.get("fill_nulls_with")
    metric = Metric(
        name=name,
        expression=expression[0],
        dialect=text(extension.get("dialect")) or expression[1],
        dataset=text(extension.get("dataset")),
        time=text(extension.get("time")),
        condition=text(extension.get("condition")),
        non_additive=NonAdditive(
            text(level.get("time")),
            cast("Literal['last', 'first', 'average']", text(level.get("choice")) or "last"),
            texts(level.get("per")),
            by_group=bool(level.get("by_group")),
        )
        if level
        else None,
        cumulative=_cumulative(extension) if kind == "cumulative" else None,
        conversion=_conversion(extension) if kind == "conversion" else None,
        inputs=tuple(
            Input(
                text(one.get("name")),
                text(one.get("alias")) or text(one.get("name")),
                span_of(one.get("offset")),
                text(one.get("condition")),
            )
            for one in items(extension.get("inputs"))
        ),
        share_of_total=bool(extension.get("share_of_total")),
        of_total=bool(extension.get("of_total")),
        fill_with=fill if isinstance(fill, int) else None,
        within=texts(extension.get("within")),
        type=_TYPES.get(text(node.get("datatype")).lower(), Type.UNKNOWN),
        unit=text(extension.get("unit")),
        measure_word=text(extension.get("measure_word")),
        words=_words(node, extension, path, report),
    )
    if metric.inputs:
        metric = replace(metric, expression=text(extension.get("formula")) or metric.inputs[0].alias, dialect="")
    elif not metric.dataset:
        metric = replace(metric, dataset=_home_of(metric, layer))
    return metric if _stands(metric, layer, path, report) else None


def _home_of(metric: Metric, layer: Layer) -> str:
    """Return the one dataset that has all columns which a metric names without a dataset, "" where none or several do."""
    try:
        bare = {
            column.name for column in parse(metric.expression, metric.dialect).find_all(exp.Column) if not column.table
        }
    except RefusedError:
        return ""
    homes = [name for name, one in layer.datasets.items() if bare and all(one.named(column) for column in bare)]
    return homes[0] if len(homes) == 1 and len(layer.datasets) > 1 else ""


def _stands(metric: Metric, layer: Layer, path: str, report: Report) -> bool:
    """Whether a metric's expression can be read at all; what cannot is listed with the reason."""
    try:
        tree = parse(metric.expression, metric.dialect)
    except RefusedError as error:
        report.list(path, f"left out: {error.refusal.detail}")
        return False
    if is_windowed(tree):
        report.list(
            path, "left out: a window over an aggregate; define it as cumulative, with a window or a grain to date"
        )
        return False
    calls = aggregates(tree)
    if (
        any(not datasets_of(call) for call in calls)
        and len(layer.datasets) > 1
        and not metric.dataset
        and metric.conversion is None
    ):
        report.list(path, "left out: COUNT(*) and unqualified columns name no dataset")
        return False
    return True


def _cumulative(extension: Document) -> Cumulative:
    to_date = text(extension.get("grain_to_date"))
    return Cumulative(span_of(extension.get("window")), Grain(to_date) if to_date in set(Grain) else None)


def _conversion(extension: Document) -> Conversion:
    return Conversion(
        base=text(extension.get("base")),
        conversion=text(extension.get("conversion")),
        entity=text(extension.get("entity")),
        window=span_of(extension.get("window")),
        rate=text(extension.get("calculation")) == "conversion_rate",
        through=extension.get("through") is not False,
        constant=tuple((pair[0], pair[1]) for pair in cast("list[list[str]]", extension.get("constant") or [])),
    )


def _calendar(node: Document) -> Calendar:
    found = re.fullmatch(r"(\d{1,2})-(\d{1,2})", text(node.get("fiscal_year_starts")))
    week = text(node.get("week_starts")).lower()
    return Calendar(
        fiscal_starts_month=int(found.group(1)) if found else 1,
        fiscal_starts_day=int(found.group(2)) if found else 1,
        fiscal_named_after_end="end" in text(node.get("fiscal_year_named_after") or "end"),
        week_starts=_WEEKDAYS.index(week) if week in _WEEKDAYS else 0,
    )


def as_json(value: Mapping[str, Any]) -> str:
    """Return extension data as Ossie wants it: JSON as a text."""
    return json.dumps(value, ensure_ascii=False)
