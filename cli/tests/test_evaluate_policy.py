"""Claims on `querybus evaluate policy`: it finds what leaks, says that nothing does, and changes nothing."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from querybus_cli.app import app
from querybus_cli.runtime import UsageError
from tests.support.policy_twins import BY_TENANT, make_database


def connections(folder: Path, policy: dict[str, Any]) -> Path:
    file = folder / "connections.yaml"
    url = make_database("sqlite", folder, None, own=False)
    file.write_text(yaml.safe_dump({"connections": [{"name": "shop", "url": url, "policy": policy}]}))
    return file


def evaluated(file: Path, *more: str) -> Any:
    return CliRunner().invoke(app, ["evaluate", "policy", "shop", "--tenant", "acme", "--file", str(file), *more])


def test_a_policy_that_holds_is_said_to_hold_and_nothing_is_changed(tmp_path: Path) -> None:
    file = connections(tmp_path, BY_TENANT)
    before = hashlib.sha256((tmp_path / "hidden_all.sqlite").read_bytes()).hexdigest()
    result = evaluated(file, "--count", "60", "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["made"] == 60
    assert report["differ"] == 0
    assert report["refused_although_harmless"] == 0
    hidden = {table["table"]: (table["rows"], table["hidden_rows"]) for table in report["tables"]}
    assert hidden == {"customers": (20, 20), "orders": (40, 80), "items": (67, 133)}
    assert hashlib.sha256((tmp_path / "hidden_all.sqlite").read_bytes()).hexdigest() == before


def test_what_leaks_is_shown_with_its_statement_and_ends_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The engine is handed what was asked, as if nobody had put the row filters in.
    monkeypatch.setattr(
        "querybus_cli.evaluation.hidden_rows.trial.Trial.check",
        lambda self, sql: self.check_without_protection(sql),
    )
    result = evaluated(connections(tmp_path, BY_TENANT), "--count", "40")
    assert result.exit_code == 1
    assert result.stdout.startswith("LEAK  ")
    assert "SELECT" in result.stdout
    assert "statements reveal hidden rows or values." in result.stdout


def test_an_open_view_over_a_filtered_table_is_named(tmp_path: Path) -> None:
    import sqlite3

    file = connections(tmp_path, {**BY_TENANT, "views_open": ["every_note"]})
    with sqlite3.connect(tmp_path / "hidden_all.sqlite") as opened:
        opened.execute("CREATE VIEW every_note AS SELECT id, note FROM orders")
    opened.close()
    result = evaluated(file, "--count", "5")
    assert "values of these rows are also in every_note.note, which is shown" in result.stdout


@pytest.mark.parametrize(
    ("policy", "tenant", "why"),
    [
        ({}, "acme", "hides no row and no column"),
        ({"row_filters": {"orders": "tenant_id = :tenant"}, "tenants_allowed": ["globex"]}, "acme", "tenants_allowed"),
    ],
)
def test_where_nothing_can_be_tried_the_setting_is_named(
    tmp_path: Path, policy: dict[str, Any], tenant: str, why: str
) -> None:
    result = CliRunner().invoke(
        app, ["evaluate", "policy", "shop", "--tenant", tenant, "--file", str(connections(tmp_path, policy))]
    )
    assert isinstance(result.exception, UsageError)
    assert why in str(result.exception)
