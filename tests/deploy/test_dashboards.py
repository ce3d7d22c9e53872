"""The dashboards are what their generator makes, and keep the rules that Grafana itself does not check."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from querybus.ops.metrics import TABLE

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy/grafana/dashboards"
NAMES = ("overview", "stages", "sql", "models", "tenants")
BUILT_IN_VARIABLES = {"__rate_interval", "__range", "__all"}


def generator() -> Any:
    spec = importlib.util.spec_from_file_location("dashboards_make", ROOT / "tools/dashboards.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def dashboards() -> dict[str, dict[str, Any]]:
    return {file.stem: json.loads(file.read_text()) for file in sorted(FOLDER.glob("*.json"))}


def faults(board: dict[str, Any]) -> list[str]:
    """Return what is wrong with a dashboard."""
    wrong: list[str] = []
    panels = board["panels"]
    ids = [panel.get("id") for panel in panels]
    if None in ids or len(set(ids)) != len(ids):
        wrong.append("panel ids are missing or not unique")
    variables = {item["name"] for item in board["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(board))) - BUILT_IN_VARIABLES
    wrong += [f"variable {name} is not defined" for name in used - variables]
    wrong += [f"variable {name} is not used" for name in variables - used]
    taken: dict[tuple[int, int], str] = {}
    for panel in panels:
        name = panel["title"]
        if not panel.get("description"):
            wrong.append(f"{name}: no description")
        if not panel["fieldConfig"]["defaults"].get("unit"):
            wrong.append(f"{name}: no unit")
        if "legend" not in panel["options"]:
            wrong.append(f"{name}: no legend set")
        for item in (panel, *panel["targets"]):
            if (item.get("datasource") or {}).get("uid") != "${datasource}":
                wrong.append(f"{name}: the datasource is not the variable")
        if not panel["targets"] or not all(target["legendFormat"] for target in panel["targets"]):
            wrong.append(f"{name}: no query or no legend")
        refs = [target["refId"] for target in panel["targets"]]
        if len(set(refs)) != len(refs):
            wrong.append(f"{name}: two queries of one name")
        place = panel["gridPos"]
        if place["x"] + place["w"] > 24:
            wrong.append(f"{name}: beyond the right edge")
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                if (x, y) in taken:
                    wrong.append(f"{name}: overlaps {taken[x, y]}")
                taken[x, y] = name
    return sorted(set(wrong))


def test_what_is_committed_is_what_the_generator_makes() -> None:
    made = generator().files()
    for file, text in made.items():
        assert file.read_text() == text, f"{file.name} is old: run python tools/dashboards.py"
    assert {file for file in made if file.suffix == ".json"} == set(FOLDER.glob("*.json"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.requirement("card.20")
def test_a_dashboard_has_no_fault(name: str) -> None:
    assert faults(dashboards()[name]) == []


def test_the_five_dashboards_have_names_of_their_own() -> None:
    boards = dashboards()
    assert set(boards) == set(NAMES)
    assert (
        len({board["uid"] for board in boards.values()})
        == len({board["title"] for board in boards.values()})
        == len(NAMES)
    )


def test_the_lint_sees_each_fault() -> None:
    board = dashboards()["tenants"]
    one, two, three, *_ = board["panels"]
    one["id"] = two["id"]
    one["description"] = ""
    two["fieldConfig"]["defaults"]["unit"] = ""
    two["gridPos"]["x"] = 0
    three["datasource"] = None
    three["targets"][0]["expr"] += "$nowhere"
    assert len(faults(board)) >= 6


@pytest.mark.requirement("card.20")
def test_every_metric_of_the_table_is_shown_or_recorded() -> None:
    shown = "\n".join(
        file.read_text() for file in (*FOLDER.glob("*.json"), *(ROOT / "deploy/prometheus").glob("*.yaml"))
    )
    assert {row.name for row in TABLE if row.name not in shown} == set()
