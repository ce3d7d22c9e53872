"""A layer as an Ossie document in the flat shape; what Ossie has no field for stands in our extension, vendor COMMON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from querybus_semantic.formats.ossie import VENDOR, as_json
from querybus_semantic.layer.definitions import (
    Calendar,
    Dataset,
    Field,
    Layer,
    Metric,
    Relation,
    Span,
    Type,
    Words,
)

VERSION: Final = "0.2.0.dev0"
Json = dict[str, Any]
_TYPES: Final = {
    Type.TEXT: "String",
    Type.INTEGER: "Integer",
    Type.NUMBER: "Decimal",
    Type.BOOLEAN: "Boolean",
    Type.DATE: "Date",
    Type.DATETIME: "DateTime",
    Type.TIME: "Time",
}
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def document_of(layer: Layer) -> Json:
    """Return a layer as Ossie has it; reading it again gives an equal layer."""
    extension: Json = {}
    if layer.calendar != Calendar():
        extension["calendar"] = _calendar(layer.calendar)
    if not layer.zero_counts:
        extension["zero_counts"] = False
    if layer.verified:
        extension["verified"] = [{"name": one.name, "question": one.question, "sql": one.sql} for one in layer.verified]
    if layer.filters:
        extension["filters"] = [
            {
                "name": one.name,
                "dataset": one.dataset,
                "expression": one.expression,
                "description": one.words.description,
                "synonyms": list(one.words.synonyms),
            }
            for one in layer.filters.values()
        ]
    return {
        "version": VERSION,
        "name": layer.name,
        **({"description": layer.description} if layer.description else {}),
        **({"ai_context": {"instructions": layer.instructions}} if layer.instructions else {}),
        "datasets": [_dataset(one) for one in layer.datasets.values()],
        **({"relationships": [_relation(one) for one in layer.relations]} if layer.relations else {}),
        **({"metrics": [_metric(key, one) for key, one in layer.metrics.items()]} if layer.metrics else {}),
        **_extended(extension),
    }


def changed_elsewhere(layer: Layer) -> list[str]:
    """Return the metrics that other tools compute differently, as they do not read the extension; each with why."""
    found: list[str] = []
    for key, metric in layer.metrics.items():
        special = [
            name
            for name, given in (
                ("not additive over time", metric.non_additive),
                ("cumulative", metric.cumulative),
                ("a conversion", metric.conversion),
                ("of earlier periods", any(one.offset for one in metric.inputs)),
                ("a share of the whole", metric.share_of_total or metric.of_total),
                ("narrowed by a condition", metric.condition),
            )
            if given
        ]
        if special:
            found.append(f"metric {key}: {', '.join(special)}; Ossie has no field for that")
    return found


def _extended(extension: Mapping[str, Any]) -> Json:
    kept = {key: value for key, value in extension.items() if value not in ("", None, [], {})}
    return {"custom_extensions": [{"vendor_name": VENDOR, "data": as_json(kept)}]} if kept else {}


def _words(words: Words) -> tuple[Json, Json]:
    """Return what Ossie has a place for, and what goes into the extension."""
    plain: Json = {}
    if words.description:
        plain["description"] = words.description
    if words.synonyms:
        plain["ai_context"] = {"synonyms": list(words.synonyms)}
    extension = {
        "owner": words.owner,
        "version": words.version,
        "state": words.state if words.state == "draft" else "",
        "labels": dict(words.label),
        "offered": None if words.offered else False,
    }
    return plain, extension


def _expression(text: str) -> Json:
    return {"dialects": [{"dialect": "ANSI_SQL", "expression": text}]}


def _dataset(dataset: Dataset) -> Json:
    plain, extension = _words(dataset.words)
    if dataset.validity is not None:
        extension["validity"] = {
            "key": dataset.validity.key,
            "from": dataset.validity.valid_from,
            "to": dataset.validity.valid_to,
        }
    extension |= {"time": dataset.time, "raw_names": dataset.raw_names or None}
    return {
        "name": dataset.name,
        "source": dataset.source,
        **({"primary_key": list(dataset.primary_key)} if dataset.primary_key else {}),
        **({"unique_keys": [list(key) for key in dataset.unique_keys]} if dataset.unique_keys else {}),
        **plain,
        "fields": [_field(one) for one in dataset.fields.values()],
        **_extended(extension),
    }


def _field(item: Field) -> Json:
    plain, extension = _words(item.words)
    values = {code: said[0] if len(said) == 1 else list(said) for code, said in item.values.items()}
    extension |= {"grain": item.grain.value if item.grain else "", "values": values, "unit": item.unit}
    return {
        "name": item.name,
        "expression": _expression(item.expression),
        "dimension": {"is_time": item.is_time},
        **({"datatype": _TYPES[item.type]} if item.type in _TYPES else {}),
        **plain,
        **_extended(extension),
    }


def _relation(relation: Relation) -> Json:
    extension: Json = {"role": relation.role}
    if relation.range is not None:
        extension["range"] = {"at": relation.range.at, "from": relation.range.valid_from, "to": relation.range.valid_to}
    if relation.asof is not None:
        extension["asof"] = {"left": relation.asof.left, "right": relation.asof.right, "match": "latest not after"}
    if relation.bridge is not None:
        extension["bridge"] = {"rule": relation.bridge.rule, "weight": relation.bridge.weight}
    if relation.measured is not None:
        extension["measured"] = relation.measured.value
    return {
        "name": relation.name,
        "from": relation.many,
        "to": relation.one,
        "from_columns": list(relation.many_columns),
        "to_columns": list(relation.one_columns),
        **_extended(extension),
    }


def _span(span: Span | None) -> str:
    return "" if span is None else f"{span.count} {span.unit.value}{'s' if span.count != 1 else ''}"


def _metric(key: str, metric: Metric) -> Json:
    plain, extension = _words(metric.words)
    extension |= {
        "dataset": metric.dataset,
        "dialect": metric.dialect,
        "time": metric.time,
        "condition": metric.condition,
        "unit": metric.unit,
        "measure_word": metric.measure_word,
        "fill_nulls_with": metric.fill_with,
        "share_of_total": metric.share_of_total or None,
        "of_total": metric.of_total or None,
        "within": list(metric.within),
        "as": key if key != metric.name else "",
    }
    extension |= _kind_of(metric)
    return {
        "name": metric.name,
        "expression": _expression(metric.expression),
        **({"datatype": _TYPES[metric.type]} if metric.type in _TYPES else {}),
        **plain,
        **_extended(extension),
    }


def _kind_of(metric: Metric) -> Json:
    """Return what makes a metric more than its expression."""
    extension: Json = {}
    if metric.non_additive is not None:
        level = metric.non_additive
        extension["non_additive"] = {
            "time": level.time,
            "choice": level.choice,
            **({"per": list(level.per)} if level.per else {}),
            **({"by_group": True} if level.by_group else {}),
        }
    if metric.conversion is not None:
        rule = metric.conversion
        extension |= {
            "kind": "conversion",
            "base": rule.base,
            "conversion": rule.conversion,
            "entity": rule.entity,
            "window": _span(rule.window),
            "calculation": "conversion_rate" if rule.rate else "conversions",
            "through": None if rule.through else False,
            "constant": [list(pair) for pair in rule.constant],
        }
    if metric.inputs:
        extension |= {
            "kind": "derived",
            "formula": metric.expression,
            "inputs": [
                {
                    "name": one.metric,
                    "alias": one.alias,
                    **({"offset": _span(one.offset)} if one.offset else {}),
                    **({"condition": one.condition} if one.condition else {}),
                }
                for one in metric.inputs
            ],
        }
    if metric.cumulative is not None:
        extension |= {
            "kind": "cumulative",
            "window": _span(metric.cumulative.window),
            "grain_to_date": metric.cumulative.to_date.value if metric.cumulative.to_date else "",
        }
    return extension


def _calendar(calendar: Calendar) -> Json:
    return {
        "fiscal_year_starts": f"{calendar.fiscal_starts_month:02}-{calendar.fiscal_starts_day:02}",
        "fiscal_year_named_after": "the year in which it ends"
        if calendar.fiscal_named_after_end
        else "the year in which it begins",
        "week_starts": _WEEKDAYS[calendar.week_starts],
    }
