"""Claims on `check-words` and `chart`: JSON lines in, JSON lines out, the same code as the presenter's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from querybus_cli.app import app
from querybus_cli.runtime import UsageError

RUNNER = CliRunner()


def spoken(text: str, tmp_path: Path) -> list[dict[str, object]]:
    catalog = tmp_path / "catalog.json"
    catalog.write_text(json.dumps({"tables": {"cust_tbl": {"cust_id": "INTEGER", "city": "TEXT"}}}))
    done = RUNNER.invoke(app, ["check-words", "--catalog", str(catalog)], input=text)
    assert done.exit_code == 0
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_each_line_is_judged_and_what_was_found_is_named(tmp_path: Path) -> None:
    lines = [
        {"id": "a", "text": "There is no cust_id.", "lang": "en"},
        {"id": "b", "text": "各城市的客户数", "lang": "zh"},
        {"id": 3, "text": "使用了cust_tbl.city。", "lang": "zh"},
    ]
    assert spoken("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), tmp_path) == [
        {"id": "a", "leak": True, "found": ["cust_id"]},
        {"id": "b", "leak": False, "found": []},
        {"id": 3, "leak": True, "found": ["cust_tbl", "cust_tbl.city"]},
    ]


def test_each_result_gets_its_picture_in_the_language_of_the_question() -> None:
    columns = [{"name": "city", "type": "VARCHAR(20)"}, {"name": "sales", "type": "decimal"}]
    lines = [
        {"columns": columns, "rows": [["Bern", "3.50"], ["Lyon", 4]], "row_count": 2, "question": "sales by city"},
        {"columns": columns, "rows": [["Bern", 3], ["Lyon", -4]], "row_count": 2, "question": "画成饼图"},
        {"columns": columns[:1], "rows": [["Bern"]], "question": ""},
    ]
    done = RUNNER.invoke(app, ["chart"], input="\n".join(map(json.dumps, lines)))
    first, second, third = (json.loads(line) for line in done.stdout.splitlines())
    assert first["chart"] == "bar"
    assert first["spec"]["data"]["values"] == [{"city": "Bern", "sales": 3.5}, {"city": "Lyon", "sales": 4}]
    assert second["chart"] == "bar"
    assert second["spec"]["usermeta"]["notes"] == ["饼图需要少量构成整体的正数。"]
    assert third == {"chart": "table", "spec": None}


@pytest.mark.parametrize("line", ["x", "[1]", '{"columns": 1}', '{"columns": [{"name": "a"}], "rows": [[1, 2]]}'])
def test_a_line_of_another_shape_is_a_usage_error_that_names_the_line(line: str) -> None:
    done = RUNNER.invoke(app, ["chart"], input=line)
    assert isinstance(done.exception, UsageError)
    assert "line 1" in str(done.exception)
