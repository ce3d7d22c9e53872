"""Snowflake's semantic views and semantic models, as YAML. Expressions are Snowflake SQL; names refer to logical tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from querybus_semantic.compiling.expressions import aggregates, is_windowed, parse
from querybus_semantic.formats.default_date import default_date
from querybus_semantic.formats.document import (
    NOWHERE,
    BadFileError,
    Document,
    Lines,
    Report,
    items,
    mapping,
    text,
    texts,
)
from querybus_semantic.formats.known_keys import SNOWFLAKE
from querybus_semantic.layer.definitions import (
    Dataset,
    Field,
    Layer,
    Metric,
    NamedFilter,
    NonAdditive,
    Relation,
    Type,
    VerifiedQuery,
    Words,
)
from querybus_semantic.layer.refusal import RefusedError

_DIALECT: Final = "snowflake"
_NO_COUNTERPART: Final = {
    "cortex_search_service": "a search service of Snowflake",
    "cortex_search_service_name": "a search service of Snowflake",
    "default_aggregation": "deprecated there, and no aggregate is guessed",
}


def read_snowflake(document: Document, lines: Lines = NOWHERE) -> tuple[Layer, Report]:
    """Return the layer of one semantic view. No tables: BadFileError."""
    report = Report(lines)
    tables = items(document.get("tables"))
    if not tables:
        raise BadFileError("The file has no `tables`: it is no semantic view of Snowflake.")
    report.list_unknown("", document, SNOWFLAKE["view"])
    if document.get("comments"):
        report.list("comments", "not taken")
    datasets = {text(node.get("name")): _dataset(node, report) for node in tables}
    relations = tuple(
        relation
        for node in items(document.get("relationships"))
        if (relation := _relation(node, datasets, report)) is not None
    )
    instructions = [
        text(document.get("custom_instructions")),
        *[text(one) for one in mapping(document.get("module_custom_instructions")).values()],
    ]
    for node in tables:
        for one in items(node.get("filters")):
            report.list_unknown(
                f"tables.{text(node.get('name'))}.filters.{text(one.get('name'))}", one, SNOWFLAKE["filter"]
            )
    for one in items(document.get("verified_queries")):
        report.list_unknown(f"verified_queries.{text(one.get('name'))}", one, SNOWFLAKE["verified_query"])
    filters = {
        text(one.get("name")): NamedFilter(
            text(one.get("name")), text(node.get("name")), _neutral(text(one.get("expr"))), _words(one)
        )
        for node in tables
        for one in items(node.get("filters"))
    }
    return (
        Layer(
            name=text(document.get("name")),
            datasets=datasets,
            relations=relations,
            metrics=_metrics(document, tables, report),
            filters=filters,
            verified=tuple(
                VerifiedQuery(text(one.get("name")), text(one.get("question")), text(one.get("sql")))
                for one in items(document.get("verified_queries"))
            ),
            instructions="\n".join(part for part in instructions if part),
            description=text(document.get("description")),
        ),
        report,
    )


def _metrics(document: Document, tables: Sequence[Document], report: Report) -> dict[str, Metric]:
    metrics: dict[str, Metric] = {}
    names = [text(one.get("name")) for node in tables for one in items(node.get("metrics"))]
    for node in tables:
        for one in items(node.get("metrics")):
            metric = _metric(one, text(node.get("name")), report)
            if metric is not None:
                key = metric.name if names.count(metric.name) == 1 else f"{metric.dataset}.{metric.name}"
                metrics[key] = metric
    for one in items(document.get("metrics")):
        metric = _metric(one, "", report)
        if metric is not None:
            metrics[metric.name] = metric
    return metrics


def _neutral(expression: str) -> str:
    try:
        return parse(expression, _DIALECT).sql()
    except RefusedError:
        return expression


def _words(node: Document) -> Words:
    return Words(
        description=text(node.get("description")),
        synonyms=texts(node.get("synonyms")),
        offered=text(node.get("access_modifier")) != "private_access",
    )


def _kind(node: Document) -> Type:
    name = text(node.get("data_type")).upper()
    for start, kind in (
        ("TIMESTAMP", Type.DATETIME),
        ("DATETIME", Type.DATETIME),
        ("DATE", Type.DATE),
        ("TIME", Type.TIME),
        ("BOOL", Type.BOOLEAN),
        ("INT", Type.INTEGER),
        ("NUMBER", Type.NUMBER),
        ("FLOAT", Type.NUMBER),
        ("DECIMAL", Type.NUMBER),
        ("VARCHAR", Type.TEXT),
        ("TEXT", Type.TEXT),
        ("STRING", Type.TEXT),
    ):
        if name.startswith(start):
            return kind
    return Type.UNKNOWN


def _dataset(node: Document, report: Report) -> Dataset:
    name = text(node.get("name"))
    report.list_unknown(f"tables.{name}", node, SNOWFLAKE["table"])
    base = mapping(node.get("base_table"))
    place = ".".join(part for part in (text(base.get(key)) for key in ("database", "schema", "table")) if part)
    fields: dict[str, Field] = {}
    unique = [texts(mapping(key).get("columns")) for key in items(node.get("unique_keys"))]
    for group in ("dimensions", "time_dimensions", "facts", "measures", "columns"):
        for one in items(node.get(group)):
            field = _field(one, name, group, report)
            if field is not None:
                fields[field.name] = field
                if one.get("unique") is True:
                    unique.append((field.name,))
    return Dataset(
        name=name,
        source=place or name,
        primary_key=texts(mapping(node.get("primary_key")).get("columns")),
        unique_keys=tuple(key for key in unique if key),
        fields=fields,
        time=default_date(name, fields.values(), f"tables.{name}", report),
        words=_words(node),
    )


def _field(node: Document, table: str, group: str, report: Report) -> Field | None:
    name = text(node.get("name"))
    path = f"tables.{table}.{name}"
    report.list_unknown(path, node, SNOWFLAKE["field"])
    for key, reason in _NO_COUNTERPART.items():
        if node.get(key):
            report.list(f"{path}.{key}", reason)
    try:
        tree = parse(text(node.get("expr")) or name, _DIALECT)
    except RefusedError as error:
        report.list(path, f"left out: {error.refusal.detail}")
        return None
    if aggregates(tree) or is_windowed(tree):
        report.list(path, "left out: it aggregates a finer table; define a metric per row of this table instead")
        return None
    kind = _kind(node)
    values = texts(node.get("sample_values")) if node.get("is_enum") else ()
    return Field(
        name=name,
        expression=tree.sql(),
        type=kind,
        is_time=group == "time_dimensions",
        values={value: (value,) for value in values},
        words=_words(node),
    )


def _relation(node: Document, datasets: Mapping[str, Dataset], report: Report) -> Relation | None:
    name = text(node.get("name"))
    report.list_unknown(f"relationships.{name}", node, SNOWFLAKE["relationship"])
    for key in ("join_type", "relationship_type"):
        if node.get(key):
            report.list(
                f"relationships.{name}.{key}", "a claim of the old format: cardinality comes from keys and is measured"
            )
    many, one = text(node.get("left_table")), text(node.get("right_table"))
    pairs = items(node.get("relationship_columns"))
    if many not in datasets or one not in datasets or not pairs:
        report.list(f"relationships.{name}", "left out: it names a table that is not there, or no columns")
        return None
    return Relation(
        name=name,
        many=many,
        one=one,
        many_columns=tuple(text(pair.get("left_column")) for pair in pairs),
        one_columns=tuple(text(pair.get("right_column")) for pair in pairs),
        role=name,
    )


def _metric(node: Document, table: str, report: Report) -> Metric | None:
    name = text(node.get("name"))
    path = f"tables.{table}.metrics.{name}" if table else f"metrics.{name}"
    report.list_unknown(path, node, SNOWFLAKE["metric"])
    try:
        tree = parse(text(node.get("expr")), _DIALECT)
    except RefusedError as error:
        report.list(path, f"left out: {error.refusal.detail}")
        return None
    if is_windowed(tree):
        report.list(path, "left out: a window over an aggregate; define it as cumulative or shifted")
        return None
    levels = items(node.get("non_additive_dimensions"))
    level: NonAdditive | None = None
    if len(levels) > 1:
        report.list(path, "left out: it is not additive over more than one dimension")
        return None
    if levels:
        falling = text(levels[0].get("sort_direction")).lower() == "descending"
        choice: Literal["last", "first"] = "first" if falling else "last"
        owner = text(levels[0].get("table")) or table
        level = NonAdditive(f"{owner}.{text(levels[0].get('dimension'))}", choice, by_group=True)
    return Metric(
        name=name,
        expression=text(node.get("expr")),
        dialect=_DIALECT,
        dataset=table,
        non_additive=level,
        within=texts(node.get("using_relationships")),
        words=_words(node),
    )
