"""Claims on `querybus inspect sql --policy` and `querybus confirm`, as far as they need no stack."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from querybus_cli.app import app
from querybus_cli.operations.setup import judge_lines

CATALOG = {"tables": {"orders": {"id": "INT", "tenant_id": "TEXT", "phone": "TEXT"}, "secret": {"x": "INT"}}}
POLICY = """
access: read_write
tables_allowed: [orders]
columns_masked: {orders: [phone]}
row_filters: {orders: "tenant_id = :tenant"}
"""
STATEMENTS = [
    ("SELECT id FROM orders", "allow", None, ""),
    ("SELECT x FROM secret", "refuse", "permission", "permission denied"),
    ("SELECT id FROM orders WHERE phone = '1'", "refuse", "permission", "masked"),
    ("DELETE FROM orders WHERE id = 1", "allow", None, "after a confirmation"),
    ("UPDATE orders SET tenant_id = 'x'", "refuse", "permission", "filtered"),
    ("DROP TABLE orders", "refuse", "permission", "DROP"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "catalog.json").write_text(json.dumps(CATALOG))
    (tmp_path / "policy.yaml").write_text(POLICY)
    lines = [json.dumps({"id": n, "sql": sql}) for n, (sql, *_) in enumerate(STATEMENTS)]
    (tmp_path / "sql.jsonl").write_text("\n".join(lines))
    return tmp_path


def test_a_policy_file_judges_as_the_service_does(folder: Path) -> None:
    result = list(
        judge_lines(folder / "sql.jsonl", folder / "catalog.json", "sqlite", folder / "policy.yaml", "acme", "ann")
    )
    for line, (sql, verdict, code, words) in zip(result, STATEMENTS, strict=True):
        assert (line["verdict"], line["code"]) == (verdict, code), sql
        assert words in str(line["detail"]), (sql, line)


def test_without_a_policy_a_change_is_refused(folder: Path) -> None:
    result = list(judge_lines(folder / "sql.jsonl", folder / "catalog.json", "sqlite"))
    assert [item["verdict"] for item in result] == ["allow", "allow", "allow", "refuse", "refuse", "refuse"]


@pytest.mark.parametrize("text", ["access: everything", "tables: [orders]", "a: [", "- 1"])
def test_a_policy_file_that_cannot_be_meant_is_a_usage_error(folder: Path, text: str) -> None:
    (folder / "policy.yaml").write_text(text)
    with pytest.raises(ValueError, match=r"policy\.yaml"):
        list(judge_lines(folder / "sql.jsonl", folder / "catalog.json", "sqlite", folder / "policy.yaml"))


def test_what_is_piped_in_confirms_nothing() -> None:
    arguments = ["confirm", "0190a6c2-0000-7000-8000-000000000000", "--hash", "0" * 64, "--url", "http://127.0.0.1:9"]
    result = CliRunner().invoke(app, arguments, input="yes\nyes\n")
    assert result.exit_code != 0
    assert "typed at a terminal" in str(result.exception)
