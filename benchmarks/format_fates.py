"""What becomes of each part of files that use every part of their format: taken, listed, refused or of no meaning."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from querybus_semantic.formats.document import BadFileError, Report
from querybus_semantic.formats.files import Format, read_layers
from querybus_semantic.layer.definitions import Layer

FORMATS: tuple[tuple[str, Format], ...] = ((".cube.", "cube"), (".dbt_", "dbt"), (".snowflake.", "snowflake"))
KINDS = re.compile(r"^(?:dimension|entity|metric|measures?) ")
GROUPS = frozenset(
    {
        "metrics",
        "measures",
        "fields",
        "filters",
        "joins",
        "datasets",
        "relationships",
        "segments",
        "sql",
        "extends",
        "source",
    }
)


@dataclass(slots=True)
class Fates:
    """How the parts of one file end."""

    name: str
    asked: int = 0
    wrong: list[str] = field(default_factory=list[str])


def fates(folder: Path) -> Iterator[Fates]:
    """Yield for each file which of its parts do not have the fate that they must have."""
    parts = [json.loads(line) for line in (folder / "expect.jsonl").read_text().splitlines()]
    for file in dict.fromkeys(part["file"] for part in parts):
        marked: list[Format] = [kind for mark, kind in FORMATS if mark in file]
        found = Fates(file)
        try:
            layers = read_layers([(folder / file).read_text()], marked[0] if marked else "ossie", "x")
        except BadFileError:
            layers = []
        for part in (part for part in parts if part["file"] == file):
            found.asked += 1
            if not _is_so(part, layers):
                found.wrong.append(f"{file}: {part['name']} must be {part['fate']}: {part.get('why', '')}")
        yield found


def _is_so(part: dict[str, Any], layers: list[tuple[Layer, Report]]) -> bool:
    if part["fate"] == "refused":
        return not layers
    if part["fate"] == "ignored":
        return bool(layers)
    names = _names(part["name"])
    listed = [one for _, report in layers for one in report.listed]
    if part["fate"] == "listed" or "or listed" in part.get("why", ""):
        said = [set(_steps(one.path)) for one in listed]
        if all(any(not steps.isdisjoint(_steps(name)) for steps in said) for name in names):
            return True
    left = [_steps(one.path) for one in listed if one.reason.startswith("left out")]
    text = " ".join(repr(layer) for layer, _ in layers)
    # A whole file or a settings block is taken if what it holds is; a named part must stand in the layer.
    return bool(layers) and all(_steps(name)[-1] in text and not _is_left(name, left, layers) for name in names)


def _is_left(name: str, left: list[list[str]], layers: list[tuple[Layer, Report]]) -> bool:
    steps = _steps(name)
    # A table is not left out because a field elsewhere, which is, has its name.
    is_table = len(steps) == 1 and any(layer.dataset(name) is not None for layer, _ in layers)
    return not is_table and any(path[-len(steps) :] == steps for path in left)


def _names(given: str) -> list[str]:
    """Return the names of a part without the words for their kinds: "measures count, km" are two."""
    if given.startswith(
        ("document", "dialects", "data_tests", "custom_instructions", "verified_queries", "views.", "granularities")
    ):
        return []
    names = [KINDS.sub("", one.strip()) for one in given.split(",")]
    return [".".join(step for step in _steps(name) if step not in GROUPS) for name in names]


def _steps(path: str) -> list[str]:
    return [step for step in re.split(r"[.\[\]]", path) if step]
