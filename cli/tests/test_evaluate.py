"""Claims on `querybus evaluate`: what counts as executable, right, fixed and broken."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from querybus.text.rows.execution_match import matches
from querybus_cli.app import app
from querybus_cli.runtime import UsageError
from tests.support.scripted_model import ScriptedModel, say

RIGHT = {"id": "a", "db_id": "shop", "question": "Which cities?", "gold": "SELECT city FROM customers"}
ITEMS = [
    {**RIGHT, "pred": "SELECT city FROM customers"},
    {**RIGHT, "id": "b", "pred": "SELECT citty FROM customers"},
    {**RIGHT, "id": "c", "pred": "SELECT name FROM customers"},
    {**RIGHT, "id": "d", "pred": "SELECT income FROM customers"},
    {**RIGHT, "id": "e", "pred": "DROP TABLE customers"},
    {**RIGHT, "id": "f", "pred": ""},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    opened = sqlite3.connect(tmp_path / "shop.sqlite")
    opened.executescript(
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT);"
        "INSERT INTO customers VALUES (1, 'Ann', 'Bern'), (2, 'Bob', 'Rome');"
    )
    opened.close()
    (tmp_path / "items.jsonl").write_text("\n".join(json.dumps(item) for item in ITEMS), "utf-8")
    return tmp_path


@pytest.mark.long
def test_a_replay_counts_what_was_right_and_what_recovery_fixed(folder: Path) -> None:
    out = folder / "out.jsonl"
    arguments = ["evaluate", str(folder / "items.jsonl"), "--databases", str(folder), "--items-out", str(out), "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    figures = json.loads(result.output)
    assert figures["items"] == 6
    assert (figures["first_executable"], figures["first_right"]) == (2, 1)
    assert (figures["final_executable"], figures["final_right"]) == (3, 2)
    assert (figures["fixed"], figures["broken"]) == (1, 0)
    lines = {line["id"]: line for line in map(json.loads, out.read_text("utf-8").splitlines())}
    assert lines["b"]["confidence"] < 0.7
    assert lines["b"]["attempts"] == 2
    assert lines["a"]["confidence"] is None
    assert lines["d"]["outcome"] == "failed"
    assert lines["e"]["outcome"] == "refused"
    again = CliRunner().invoke(app, [*arguments[:4], "--against", str(out), "--json"])
    assert json.loads(again.output)["against"] == {"only_here": [], "only_there": []}


def test_rows_match_as_multisets_with_permuted_columns_and_near_numbers() -> None:
    assert matches([(1, "a"), (2, "b")], [("b", 2.0), ("a", 1)], ordered=False)
    assert not matches([(1, "a"), (2, "b")], [("b", 2), ("a", 1)], ordered=True)
    assert not matches([(1,), (1,)], [(1,), (2,)], ordered=False)
    assert matches([(0.1 + 0.2,)], [(0.3,)], ordered=False)
    assert not matches([(1,)], [("1",)], ordered=False)


def figures_of(
    folder: Path, items: Sequence[Mapping[str, object]], *arguments: str
) -> tuple[dict[str, object], list[dict[str, object]]]:
    (folder / "asked.jsonl").write_text("\n".join(json.dumps(item) for item in items), "utf-8")
    out = folder / "judged.jsonl"
    given = ["evaluate", str(folder / "asked.jsonl"), "--databases", str(folder), "--items-out", str(out), "--json"]
    result = CliRunner().invoke(app, [*given, *arguments])
    assert result.exit_code == 0, result.output
    return json.loads(result.output), [json.loads(line) for line in out.read_text("utf-8").splitlines()]


@pytest.mark.process
def test_a_named_model_is_asked_again_with_advice_and_its_calls_are_counted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedModel([say("SELECT income FROM customers"), say("SELECT city FROM customers")]) as model:
        monkeypatch.setenv("QUERYBUS_LLM_BASE_URL", model.base_url)
        figures, (judged,) = figures_of(folder, [RIGHT], "--model", "scripted")
    assert (judged["first_executable"], judged["final_right"], judged["attempts"]) == (False, True, 2)
    assert (figures["calls"], figures["fixed"]) == (2, 1)
    assert int(str(figures["tokens_in"])) > 0
    assert int(str(figures["tokens_out"])) > 0


def test_a_model_without_an_address_is_a_mistake_of_use(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUERYBUS_LLM_BASE_URL", raising=False)
    arguments = ["evaluate", str(folder / "items.jsonl"), "--databases", str(folder), "--model", "nobody"]
    refused = CliRunner().invoke(app, arguments).exception
    assert isinstance(refused, UsageError)
    assert "QUERYBUS_LLM_BASE_URL" in str(refused)


@pytest.mark.long
def test_what_a_rule_fixed_is_counted_under_its_name_and_off_repairs_nothing(folder: Path) -> None:
    item = ITEMS[1]
    figures, _ = figures_of(folder, [item])
    assert figures["by_rule"] == {"rename_column": {"items": 1, "executable": 1, "right": 1}}
    assert figures["by_first_failure"] == {"column_not_found": {"items": 1, "executable": 1, "right": 1}}
    off, _ = figures_of(folder, [item], "--policy", "off")
    assert (off["final_executable"], off["by_rule"]) == (0, {})


def test_the_day_of_an_item_counts_as_today(folder: Path) -> None:
    opened = sqlite3.connect(folder / "shop.sqlite")
    opened.executescript(
        "CREATE TABLE visits (id INTEGER PRIMARY KEY, visited_on DATE);"
        "INSERT INTO visits VALUES (1, '2024-05-03'), (2, '2023-05-03'), (3, '2024-01-01');"
    )
    opened.close()
    question = "How many visits are there this year?"
    items = [
        {"id": day, "db_id": "shop", "question": question, "gold": f"SELECT {count}", "as_of": day}
        for day, count in (("2024-06-01", 2), ("2023-06-01", 1))
    ]
    figures, _ = figures_of(folder, items, "--model", "builtin")
    assert figures["final_right"] == 2


def test_a_database_may_lie_in_a_folder_of_its_own(folder: Path) -> None:
    (folder / "shop").mkdir()
    (folder / "shop.sqlite").rename(folder / "shop" / "shop.sqlite")
    figures, _ = figures_of(folder, ITEMS[:1])
    assert figures["final_right"] == 1
