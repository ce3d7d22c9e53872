"""Claims on `querybus evaluate`: what counts as executable, right, fixed and broken."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

from querybus_cli.app import app
from querybus_cli.execution_match import matches

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
    (tmp_path / "items.jsonl").write_text("\n".join(json.dumps(each) for each in ITEMS), "utf-8")
    return tmp_path


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
    lines = {each["id"]: each for each in map(json.loads, out.read_text("utf-8").splitlines())}
    assert lines["b"]["confidence"] < 0.5
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
