"""`querybus preferences` shows what a person prefers and chose, and forgets the choices."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from typer.testing import CliRunner

from querybus_cli.app import app
from querybus_cli.operations import remote


class Gateway:
    """What a gateway keeps of one person."""

    def __init__(self) -> None:
        self.kept = [
            {"kind": "amount", "option": "aggregate", "count": 4},
            {"kind": "column", "option": "retry_as_is", "count": 1},
        ]

    def preferences(self) -> dict[str, Any]:
        return {"language": None, "page_size": 20}

    def choices(self) -> dict[str, Any]:
        return {"choices": self.kept}

    def forget_choices(self, kind: str | None = None) -> dict[str, Any]:
        self.kept = [item for item in self.kept if kind and item["kind"] != kind]
        return self.choices()


@pytest.fixture(autouse=True)
def gateway(monkeypatch: pytest.MonkeyPatch) -> Gateway:
    made = Gateway()

    @contextmanager
    def calling(*_: object) -> Generator[Gateway]:
        yield made

    monkeypatch.setattr(remote, "calling", calling)
    monkeypatch.setenv("QUERYBUS_KEY", "qb.local.analyst.secret")
    return made


def said(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["preferences", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_preferences_and_choices_are_shown_and_as_json_for_programs() -> None:
    assert said("show").splitlines() == [
        "page_size: 20",
        "chosen 4× for amount: aggregate",
        "chosen 1× for column: retry_as_is",
    ]
    assert json.loads(said("show", "--json"))["choices"][0]["count"] == 4


def test_the_choices_of_one_kind_or_all_are_forgotten() -> None:
    assert said("forget", "--kind", "amount").splitlines() == ["chosen 1× for column: retry_as_is"]
    assert said("forget").splitlines() == ["no choice is remembered"]
