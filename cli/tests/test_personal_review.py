"""`querybus connections review`: what looks personal is listed with how it was recognised, and the owner's word is kept."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

from querybus_cli.app import app
from querybus_cli.runtime import UsageError
from querybus_executor.connections.described import read_described

pytestmark = pytest.mark.process


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "clinic.sqlite") as database:
        database.execute(
            "CREATE TABLE patients (id INTEGER PRIMARY KEY, name TEXT, home_phone TEXT, reach TEXT, city TEXT)"
        )
        database.executemany(
            "INSERT INTO patients VALUES (?, ?, ?, ?, ?)",
            [(n, f"Zed {n}", f"555-01{n:02}", f"z{n}@x.org", "Bern") for n in range(5)],
        )
    path = tmp_path / "connections.yaml"
    path.write_text(
        f"connections:\n- name: clinic\n  url: sqlite:///{tmp_path}/clinic.sqlite\n  described: {tmp_path}/said.yaml\n"
    )
    (tmp_path / "said.yaml").write_text("# by hand\nsynonyms: {patients: [clients]}  # kept\n")
    return path


def states(file: Path, *more: str, typed: str | None = None) -> dict[str, tuple[str, str]]:
    ran = CliRunner().invoke(
        app, ["connections", "review", "clinic", "--file", str(file), "--json", *more], input=typed
    )
    assert ran.exit_code == 0, ran.output
    columns = json.loads(ran.stdout.splitlines()[-1])["columns"]
    return {item["column"]: (item["recognised"], item["state"]) for item in columns}


def test_what_was_recognised_is_listed_with_how_and_nothing_is_decided_yet(file: Path) -> None:
    undecided = "hidden, not decided"
    assert states(file) == {
        "patients.name": ("by its name", undecided),
        "patients.home_phone": ("by its name", undecided),
        "patients.reach": ("by the form of its values", undecided),
    }


def test_decisions_are_kept_in_the_described_file_beside_what_stands_there(file: Path) -> None:
    states(file, "--show", "patients.name", "--hide", "patients.city")
    described = file.parent / "said.yaml"
    said = read_described(described)
    assert (said.personal, said.not_personal, dict(said.synonyms)) == (
        ("patients.city",),
        ("patients.name",),
        {"patients": ("clients",)},
    )
    assert "# by hand" in described.read_text()
    assert "# kept" in described.read_text()
    after = states(file)
    assert after["patients.name"] == ("by its name", "shown")
    assert after["patients.city"] == ("by its owner", "hidden")
    assert states(file, "--hide", "patients.name")["patients.name"][1] == "hidden"
    assert read_described(described).not_personal == ()


def test_asked_one_by_one_a_no_shows_the_column(file: Path) -> None:
    after = states(file, "--ask", typed="n\ny\ny\n")
    assert [state for _, state in after.values()] == ["shown", "hidden", "hidden"]
    assert [state for _, state in states(file).values()] == ["shown", "hidden", "hidden"]


def test_a_connection_that_is_not_there_and_a_decision_without_a_place_are_said(file: Path) -> None:
    ran = CliRunner().invoke(app, ["connections", "review", "shop", "--file", str(file)])
    assert isinstance(ran.exception, UsageError)
    assert "has no connection shop; it has clinic" in str(ran.exception)
    file.write_text(file.read_text().replace(f"\n  described: {file.parent}/said.yaml", ""))
    ran = CliRunner().invoke(app, ["connections", "review", "clinic", "--file", str(file), "--hide", "patients.city"])
    assert "say with --out" in str(ran.exception)
