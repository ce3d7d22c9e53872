"""Knowledge and models in and out as YAML, over a real bus; a prompt is shown as it would be sent."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.core.stored.models import Models, NamedModel
from querybus.text.knowledge import EntryKind
from querybus_cli.app import app
from querybus_cli.operations.models import parse_models, read_models, write_models
from querybus_cli.operations.operator import Place
from querybus_cli.operations.teaching import bring_in, document, known, listed, read_document, searched
from tests.support.scripted_model import ScriptedModel, by_letters, fail, say

TEXT = """
connection: shop
pairs:
  - question: How many customers?
    sql: SELECT COUNT(*) FROM customers
instructions: [Amounts are in euro.]
terms: {大客户: 订单总额超过一万元的客户}
synonyms: {customers: [buyer, 买家]}
"""


def test_what_is_exported_is_what_was_imported():
    first = document(read_document(TEXT))
    again = document(read_document(yaml.safe_dump(first, allow_unicode=True)))
    assert first == again == yaml.safe_load(TEXT)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("- a list", "mapping"),
        ("a: [", "no YAML"),
        ("pairs: []", "which connection"),
        ("connection: c\npears: []", "pears"),
        ("connection: c\npairs: [{question: x}]", "sql"),
    ],
)
def test_a_file_that_is_wrong_says_what_is_wrong(text: str, reason: str):
    with pytest.raises(ValueError, match=reason):
        read_document(text)


def test_a_model_that_is_named_and_missing_is_a_usage_error():
    with pytest.raises(ValueError, match="there is no model 'b'"):
        parse_models("models: [{name: a, base_url: 'http://x/v1', model: a}]\ndefault: b")
    with pytest.raises(ValueError, match="api_key"):
        parse_models("models: [{name: a, base_url: 'http://x/v1', model: a, api_key: secret}]")


def test_a_search_of_a_file_needs_no_bus(tmp_path: Path):
    file = tmp_path / "shop.yaml"
    file.write_text(TEXT, encoding="utf-8")
    ran = CliRunner().invoke(app, ["knowledge", "search", "number of customers", "--file", str(file), "--json"])
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.output)["key"] == "How many customers?"


@pytest.mark.process
def test_a_search_receives_an_embeddings_model_where_one_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "shop.yaml"
    file.write_text(TEXT, encoding="utf-8")
    command = ["knowledge", "search", "howmany customerz", "--file", str(file), "--json"]
    assert CliRunner().invoke(app, command).output == ""
    with ScriptedModel(say(""), embed=by_letters) as server:
        monkeypatch.setenv("QUERYBUS_EMBEDDINGS_BASE_URL", server.base_url)
        result = CliRunner().invoke(app, command)
    assert json.loads(result.output)["key"] == "How many customers?"
    with ScriptedModel(say(""), embed=fail(503)) as server:
        monkeypatch.setenv("QUERYBUS_EMBEDDINGS_BASE_URL", server.base_url)
        alone = CliRunner().invoke(app, command)
    assert (alone.exit_code, alone.stdout) == (0, "")
    assert "by words alone" in alone.stderr
    assert "503" in alone.stderr


@pytest.mark.process
@pytest.mark.connected
async def test_knowledge_and_models_are_set_over_the_bus_by_those_who_may():
    async with EmbeddedNats(()) as bus:
        await bus.migrate()
        gateway = Place(bus.url, bus.password("gateway"))
        operator = Place(bus.url, bus.password("operator"))
        assert await bring_in(gateway, "local", read_document(TEXT), replace=False) == 5
        assert await bring_in(gateway, "local", read_document("connection: shop\nterms: {a: b}"), replace=False) == 6
        assert document(await known(gateway, "local", "shop"))["terms"] == {
            "大客户": "订单总额超过一万元的客户",
            "a": "b",
        }
        assert (await known(gateway, "other", "shop")).entries == ()
        assert [entry["key"] for entry in await listed(gateway, "local", "shop", EntryKind.TERM)] == ["大客户", "a"]
        result = searched(await known(gateway, "local", "shop"), EntryKind.PAIR, "customers how many", 3)
        assert [item["key"] for item in result] == ["How many customers?"]
        assert await bring_in(gateway, "local", read_document("connection: shop\nterms: {c: d}"), replace=True) == 1

        models = Models(models=(NamedModel(name="m", base_url="http://x/v1", model="m", concurrency_max=3),))
        assert (await read_models(operator)).models == ()
        await write_models(operator, models)
        assert await read_models(operator) == models


@pytest.mark.slow
@pytest.mark.connected
def test_a_prompt_is_shown_with_its_tokens_and_without_values_where_none_may_be_seen():
    command = [sys.executable, "-m", "querybus_cli.app", "prompt", "Which 5 products have the highest price?", "--json"]
    first, second = (
        json.loads(subprocess.run([*command, *more], capture_output=True, text=True, timeout=100, check=True).stdout)
        for more in ([], ["--no-values"])
    )
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    assert "values:" in first["messages"][1]["content"]
    assert "values:" not in second["messages"][1]["content"]
    assert first["tokens_estimated"] > second["tokens_estimated"] > 500
    parts = {part["part"]: part["tokens_estimated"] for part in first["parts"]}
    assert max(parts, key=parts.__getitem__) == "user: Schema"
    assert sum(parts.values()) == pytest.approx(first["tokens_estimated"], rel=0.02)
