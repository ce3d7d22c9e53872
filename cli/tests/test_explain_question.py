"""`querybus inspect question` shows a reading and says by its exit code whether the question would be answered."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

from querybus_cli.app import app
from querybus_cli.runtime import UsageError

RUN = CliRunner()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("explain") / "mugs.sqlite"
    with sqlite3.connect(path) as opened:
        opened.execute("CREATE TABLE mugs (mug_id INTEGER PRIMARY KEY, glaze TEXT, price REAL)")
        opened.execute("INSERT INTO mugs VALUES (1, 'blue', 9.5), (2, 'green', 7.0)")
    return f"sqlite:///{path}"


def test_a_question_is_explained_for_people(url: str) -> None:
    shown = RUN.invoke(app, ["explain-question", "How many blue mugs are there?", "--database", url])
    assert shown.exit_code == 0
    for name in ("mugs.glaze = 'blue'", "how many mugs", "Number of mugs", "SELECT COUNT(*)", "0.72 needed"):
        assert name in shown.output


def test_a_question_is_explained_for_programs(url: str) -> None:
    shown = RUN.invoke(app, ["explain-question", "average price of mugs", "--database", url, "--json"])
    reported = json.loads(shown.output.splitlines()[-1])
    assert reported["is_answered"]
    assert reported["sql"] == 'SELECT AVG("price") FROM "mugs"'
    assert [word["text"] for word in reported["words"]] == ["average", "price", "of", "mugs"]


def test_a_question_that_is_asked_about_exits_with_three(url: str) -> None:
    shown = RUN.invoke(app, ["explain-question", "why do important unicorns sing", "--database", url])
    assert shown.exit_code == 3
    assert "asked about" in shown.output


def test_a_database_that_is_away_exits_with_five() -> None:
    away = "postgresql://reader@127.0.0.1:1/shop"
    assert RUN.invoke(app, ["explain-question", "how many?", "--database", away]).exit_code == 5


def test_a_file_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    shown = RUN.invoke(app, ["explain-question", "how many?", "--database", f"sqlite:///{tmp_path / 'none.sqlite'}"])
    assert isinstance(shown.exception, UsageError)


def test_no_database_url_is_a_usage_error() -> None:
    shown = RUN.invoke(app, ["explain-question", "how many?", "--database", "mugs"])
    assert isinstance(shown.exception, UsageError)
