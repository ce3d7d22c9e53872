"""dbt's semantic models: the latest spec (everything in the model) is read in the legacy spec's form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from querybus_semantic.compiling.expressions import parse_unlabelled
from querybus_semantic.formats.dbt.jinja import read_call
from querybus_semantic.formats.document import Document, Report, items, mapping, text, texts
from querybus_semantic.formats.known_keys import DBT
from querybus_semantic.layer.definitions import (
    GRAIN_ORDER,
    Dataset,
    Field,
    Grain,
    Type,
    Validity,
    Words,
)
from querybus_semantic.layer.refusal import RefusedError


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


def _source(node: Document, name: str, path: str, report: Report) -> str:
    """Return the table of a model: `ref` with or without package and version, `source`, a relation, else its own name."""
    relation = mapping(node.get("node_relation"))
    if relation:
        schema = text(relation.get("schema_name"))
        return (
            f"{schema}.{text(relation.get('alias'))}" if schema and "$" not in schema else text(relation.get("alias"))
        )
    given = text(node.get("model")).strip()
    if given.startswith("{{") and given.endswith("}}"):
        given = given[2:-2].strip()
    if "(" not in given:
        return given or name
    call = read_call(given)
    version = call.named.get("v", call.named.get("version")) if call is not None else None
    match call.texts if call is not None and call.then is None else ():
        case (table,) | (_, table) if call is not None and call.name == "ref":
            return table if version is None else f"{table}_v{version}"
        case (schema, table) if call is not None and call.name == "source":
            return f"{schema}.{table}"
        case _:
            report.list(f"{path}.model", f"not read: {given[:80]}; the table is taken to be called {name}")
            return name


def words_of(node: Document, *, offered: bool = True) -> Words:
    """Return what a node is called and who owns it."""
    meta = mapping(mapping(node.get("config")).get("meta"))
    label = text(node.get("label"))
    return Words(
        description=text(node.get("description")),
        label={"en": label} if label else {},
        synonyms=texts(meta.get("synonyms")),
        owner=text(meta.get("owner")),
        offered=offered,
    )


def model_of(node: Document, report: Report, *, is_latest: bool) -> Model:
    """Return one semantic model; what of it is not taken is listed."""
    settings = mapping(node.get("semantic_model"))
    table = text(node.get("name"))
    name = text(settings.get("name")) or table
    path = f"models.{name}"
    report.list_unknown(path, settings if is_latest else node, DBT["semantic_model"])
    for key in ("group", "config"):
        if settings.get(key):
            report.list(f"{path}.{key}", "kept as a note of the owner; it has no effect")
    time = text(node.get("agg_time_dimension")) or text(mapping(node.get("defaults")).get("agg_time_dimension"))
    dimensions = _latest_parts(node, "dimension") if is_latest else report.entries(path, node, "dimensions")
    entities = _latest_parts(node, "entity") if is_latest else report.entries(path, node, "entities")
    fields: dict[str, Field] = {}
    start = end = ""
    for one in dimensions:
        field_name = text(one.get("name"))
        dimension = _dimension(one, f"{path}.{field_name}", report)
        if dimension is None:
            continue
        fields[field_name] = dimension
        validity = mapping(one.get("validity_params")) or mapping(
            mapping(one.get("type_params")).get("validity_params")
        )
        start = field_name if validity.get("is_start") else start
        end = field_name if validity.get("is_end") else end
    model = Model(
        Dataset(name, _source(node, table, path, report), time=time, raw_names=True),
        primary=text(node.get("primary_entity")),
    )
    keys: list[tuple[str, ...]] = []
    for one in entities:
        report.list_unknown(f"{path}.{text(one.get('name'))}", one, DBT["entity"])
        fault = _fault_of(text(one.get("expr")) or text(one.get("name")))
        if fault:
            report.list(f"{path}.{text(one.get('name'))}", f"left out: {fault}")
            continue
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
        words=words_of(node),
    )
    model.measures = {text(one.get("name")): one for one in report.entries(path, node, "measures")}
    for measure, one in model.measures.items():
        report.list_unknown(f"{path}.measures.{measure}", one, DBT["measure"])
    return model


def _fault_of(expression: str) -> str:
    """Return why an expression cannot be read, "" where it can."""
    try:
        parse_unlabelled(expression)
    except RefusedError as error:
        return error.refusal.detail
    return ""


def _neutral(expression: str) -> str:
    """Return an expression as the neutral grammar writes it; a plain name stays as it is."""
    return expression if expression.isidentifier() else parse_unlabelled(expression).sql()


def _dimension(node: Document, path: str, report: Report) -> Field | None:
    report.list_unknown(path, node, DBT["dimension"])
    if node.get("is_partition"):
        report.list(f"{path}.is_partition", "joins do not follow partitions here")
    name = text(node.get("name"))
    expression = text(node.get("expr")) or name
    fault = _fault_of(expression)
    if fault:
        report.list(path, f"left out: {fault}")
        return None
    grain = text(mapping(node.get("type_params")).get("time_granularity")) or text(node.get("granularity"))
    is_time = text(node.get("type")) == "time"
    return Field(
        name,
        _neutral(expression),
        type=(Type.DATETIME if grain == "hour" else Type.DATE) if is_time else Type.UNKNOWN,
        is_time=is_time,
        grain=Grain(grain) if grain in set(Grain) and GRAIN_ORDER[Grain(grain)] > GRAIN_ORDER[Grain.DAY] else None,
        values={value: (value,) for value in _accepted(node)},
        words=words_of(node),
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
            column: Field(column, expression, words=words_of(node))
        }
    column = f"{name}_key"
    return Entity(name, text(node.get("type")), column), {
        column: Field(column, _neutral(expression), words=words_of(node, offered=False))
    }
