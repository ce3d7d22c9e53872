"""dbt's semantic models, in the legacy spec (semantic_models, measures) and the latest one (everything in the model).

Equal entity names join: foreign to primary, unique or natural.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from querybus_semantic.formats.dbt.metrics import with_metrics
from querybus_semantic.formats.dbt.models import Model, model_of
from querybus_semantic.formats.document import BadFileError, Document, Lines, Report, items, mapping, text
from querybus_semantic.layer.definitions import (
    Layer,
    Range,
    Relation,
)

_JOINED_TO: Final = frozenset({"primary", "unique", "natural"})


def read_dbt(documents: Sequence[tuple[Document, Lines]], name: str) -> tuple[Layer, Report]:
    """Return the layer that dbt's files make together. None of them a semantic model: BadFileError."""
    report = Report(Lines(tuple(root for _, lines in documents for root in lines.roots)))
    models: dict[str, Model] = {}
    metrics: list[tuple[Document, str]] = []
    for document, _ in documents:
        for node in _legacy_models(document):
            model = model_of(node, report, is_latest=False)
            models[model.dataset.name] = model
        for node in items(document.get("models")):
            for grain in items(mapping(node.get("time_spine")).get("custom_granularities")):
                path = f"models.{text(node.get('name'))}.time_spine.custom_granularities.{text(grain.get('name'))}"
                report.list(path, "left out: a grain of an own calendar; fiscal years are said in `calendar`")
            if mapping(node.get("semantic_model")).get("enabled") or node.get("semantic_model") is True:
                model = model_of(node, report, is_latest=True)
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
    return with_metrics(layer, models, metrics, report), report


def _legacy_models(document: Document) -> Iterator[Document]:
    yield from items(document.get("semantic_models"))
    if isinstance(document.get("semantic_model"), dict):
        yield mapping(document.get("semantic_model"))


def _metric_nodes(document: Document) -> Iterator[Document]:
    yield from items(document.get("metrics"))
    if isinstance(document.get("metric"), dict):
        yield mapping(document.get("metric"))


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
