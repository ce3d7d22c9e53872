"""A connections file is changed by single entries: comments, other entries and secrets stay where they are."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
import yaml

from querybus_executor.connections.config import BadConnections, load_connections
from querybus_executor.connections.set_up.file_edit import (
    add_connection,
    remove_connection,
    rename_connection,
    secret_file,
    set_password,
)

FILE = """\
# Ours, since 2024.
connections:
  # the shop
  - name: shop   # sells
    url: sqlite:////data/shop.sqlite
    description: |
      the shop,
      online

    personal:
      - customers.name
  # the clinic: ask Ann before a change
  - {name: clinic, url: "postgresql://ann:${CLINIC_PW}@h/clinic"}
# the end
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "connections.yaml"
    made.write_text(FILE)
    return made


def entries(file: Path) -> list[dict[str, object]]:
    return yaml.safe_load(file.read_text())["connections"]


def test_an_entry_is_added_without_touching_a_line_of_the_others(file: Path) -> None:
    add_connection(file, {"name": "sales", "url": "postgresql://bob:s%40fe@h/sales", "access": "read_only"})
    text = file.read_text()
    assert [line for line in text.splitlines() if line in FILE.splitlines()] == FILE.splitlines()
    assert [item["name"] for item in entries(file)] == ["shop", "clinic", "sales"]
    assert "s@fe" not in text
    assert "s%40fe" not in text
    loaded = load_connections(file, {"CLINIC_PW": "x"})
    assert loaded[2].parsed_url.password == "s@fe"
    secret = secret_file(file, "sales")
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert stat.S_IMODE(secret.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "before", ["", "connections:\n", "connections: []\n", '{"connections": [{"name": "a", "url": "x"}]}']
)
def test_an_entry_is_added_to_an_empty_file_and_to_one_of_json(tmp_path: Path, before: str) -> None:
    file = tmp_path / "connections.yaml"
    file.write_text(before)
    add_connection(file, {"name": "b", "url": "sqlite:////b"})
    assert entries(file)[-1] == {"name": "b", "url": "sqlite:////b"}


def test_a_file_that_is_not_there_is_made_and_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "new" / "connections.yaml"
    add_connection(file, {"name": "b", "url": "sqlite:////b"})
    with pytest.raises(BadConnections, match="choose another name"):
        add_connection(file, {"name": "b", "url": "postgresql://u:p@h/d"})
    assert not secret_file(file, "b").exists()
    with pytest.raises(BadConnections, match="letters, digits"):
        add_connection(file, {"name": "no name", "url": "sqlite:////b"})


def test_an_entry_is_removed_with_its_secret_and_the_last_one_leaves_an_empty_list(file: Path) -> None:
    add_connection(file, {"name": "sales", "url": "postgresql://bob:pw@h/sales"})
    remove_connection(file, "sales")
    assert file.read_text() == FILE
    assert not secret_file(file, "sales").exists()
    remove_connection(file, "shop")
    assert "ask Ann" in file.read_text()
    remove_connection(file, "clinic")
    assert load_connections(file) == ()
    with pytest.raises(BadConnections, match="there are: none"):
        remove_connection(file, "clinic")


def test_a_renamed_connection_keeps_its_secret_and_its_comments(file: Path) -> None:
    add_connection(file, {"name": "sales", "url": "postgresql://bob:pw@h/sales"})
    rename_connection(file, "sales", "vertrieb")
    assert load_connections(file, {"CLINIC_PW": "x"})[2].parsed_url.password == "pw"
    rename_connection(file, "clinic", "praxis")
    assert [item["name"] for item in entries(file)] == ["shop", "praxis", "vertrieb"]
    with pytest.raises(BadConnections, match="already"):
        rename_connection(file, "praxis", "shop")


def test_a_new_password_goes_to_the_file_of_the_old_one_or_to_a_new_file(file: Path) -> None:
    add_connection(file, {"name": "sales", "url": "postgresql://bob:pw@h/sales"})
    add_connection(file, {"name": "other", "url": "postgresql://bob@h/sales"})
    for name in ("sales", "other"):
        set_password(file, name, "n:e/w@")
    loaded = load_connections(file, {"CLINIC_PW": "x"})
    assert [item.parsed_url.password for item in loaded[2:]] == ["n:e/w@", "n:e/w@"]
    with pytest.raises(BadConnections, match="CLINIC_PW"):
        set_password(file, "clinic", "x")
    with pytest.raises(BadConnections, match="names no user"):
        set_password(file, "shop", "x")


def test_a_form_that_cannot_be_changed_is_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    file = tmp_path / "connections.yaml"
    for text in ("connections: [{name: a, url: x}]  \n# a comment\n", "connections: 3\n", "- a\n", "connections: [\n"):
        file.write_text(text)
        with pytest.raises(BadConnections):
            add_connection(file, {"name": "b", "url": "y"})
        assert file.read_text() == text


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadConnections, match="cannot be written"):
        add_connection(tmp_path / "file" / "connections.yaml", {"name": "b", "url": "y"})
    assert (tmp_path / "file").read_text() == "x"
