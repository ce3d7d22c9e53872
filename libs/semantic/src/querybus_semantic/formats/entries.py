"""A layer in pieces, one for each definition, as they are kept beside what else people teach of a connection."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from querybus_semantic.formats.document import BadFileError, json_mapping, mapping
from querybus_semantic.formats.ossie import read_ossie
from querybus_semantic.formats.ossie_writer import document_of
from querybus_semantic.layer.definitions import Layer

_LISTS: Final = {"dataset": "datasets", "relation": "relationships", "metric": "metrics"}
MODEL: Final = "model"

Piece = tuple[str, str]
"""A key, such as `metric:revenue`, and the definition as JSON."""


def pieces_of(layer: Layer) -> list[Piece]:
    """Return a layer's definitions, each by its key; the model's own words and calendar are one of them."""
    document = document_of(layer)
    pieces: list[Piece] = []
    for kind, plural in _LISTS.items():
        for node in document.pop(plural, []):
            name = mapping(node).get("name")
            pieces.append((f"{kind}:{name}", json.dumps(node, ensure_ascii=False)))
    return [(f"{MODEL}:{layer.name}", json.dumps(document, ensure_ascii=False)), *pieces]


def layer_of(pieces: Iterable[Piece]) -> Layer | None:
    """Return the layer that definitions make together; None where there is no dataset among them.

    A definition that cannot be read is left out: it was checked when it was taught. Bad JSON: BadFileError.
    """
    document: dict[str, Any] = {plural: [] for plural in _LISTS.values()}
    for key, text in pieces:
        kind, _, name = key.partition(":")
        try:
            node = json.loads(text)
        except ValueError as error:
            raise BadFileError(f"{key} is no JSON.") from error
        if not isinstance(node, dict):
            raise BadFileError(f"{key} is no definition.")
        if kind == MODEL:
            document = {**node, **{plural: document[plural] for plural in _LISTS.values()}, "name": name}
        elif kind in _LISTS:
            document[_LISTS[kind]].append(node)
    if not document["datasets"]:
        return None
    return read_ossie(document)[0][0]


def faults_of(pieces: Iterable[Piece]) -> list[str]:
    """Return what is wrong with definitions that are to be taught, each by its key: an unknown kind, no name, no sense."""
    faults: list[str] = []
    for key, text in pieces:
        kind, _, name = key.partition(":")
        node = json_mapping(text)
        if kind not in {*_LISTS, MODEL} or not name:
            faults.append(f"{key}: a definition is metric:, dataset:, relation: or model: and its name")
        elif kind != MODEL and node.get("name") != name:
            faults.append(f"{key}: `name` must be {name}")
        elif kind in {"metric", "dataset"}:
            faults += [f"{key}: {one}" for one in _unread(kind, node)]
    return faults


def _unread(kind: str, node: Mapping[str, Any]) -> list[str]:
    stand_in = {"name": "x", "expression": "x"}
    document: dict[str, Any] = {"name": "checked", "datasets": [{"name": "x", "source": "x", "fields": [stand_in]}]}
    document[_LISTS[kind]] = [*document.get(_LISTS[kind], []), node]
    if kind == "metric":
        # Which datasets there are is not known here; that a name says one is looked at when the layer is checked.
        document["datasets"].append({"name": "y", "source": "y", "fields": []})
    try:
        _, report = read_ossie(document)[0]
    except BadFileError as error:
        return [str(error)]
    return [one.reason for one in report.listed if one.reason.startswith("left out")]


def with_state(layer: Layer, names: Iterable[str], state: str, by: str) -> Layer:
    """Return the layer with these metrics approved or made drafts; `by` is kept as the owner where none is named."""
    wanted = set(names)
    changed: Mapping[str, Any] = {
        key: replace(
            metric,
            words=replace(
                metric.words, state="draft" if state == "draft" else "approved", owner=metric.words.owner or by
            ),
        )
        if key in wanted
        else metric
        for key, metric in layer.metrics.items()
    }
    return replace(layer, metrics=changed)
