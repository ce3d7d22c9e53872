"""Which connection of a file is asked: the one that is named, or the only one; else the question chooses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from querybus_cli.local.answers import Quick, connections_of
from querybus_cli.runtime import UsageError


def asked(file: Path, connection: str | None) -> str | None:
    with connections_of(Quick("q", None, file, connection, "analyst")) as (_, name):
        return name


def connections(folder: Path, *names: str) -> Path:
    file = folder / "connections.yaml"
    file.write_text(json.dumps({"connections": [{"name": name, "url": "sqlite:///x.sqlite"} for name in names]}))
    return file


def test_the_only_connection_needs_no_name(tmp_path: Path) -> None:
    assert asked(connections(tmp_path, "shop"), None) == "shop"
    assert asked(connections(tmp_path, "shop", "crm"), "crm") == "crm"


def test_of_several_the_question_chooses_and_a_name_that_is_none_of_them_says_which_there_are(tmp_path: Path) -> None:
    assert asked(connections(tmp_path, "shop", "crm"), None) is None
    with pytest.raises(UsageError, match="shop, crm"):
        asked(connections(tmp_path, "shop", "crm"), "sales")


def test_a_file_that_is_none_of_connections_is_a_usage_error(tmp_path: Path) -> None:
    file = tmp_path / "connections.yaml"
    file.write_text("connections: [{name: 7")
    with pytest.raises(UsageError, match="no YAML"):
        asked(file, None)
