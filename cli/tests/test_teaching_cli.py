"""Knowledge and models in and out as YAML, over a real bus; a prompt is shown as it would be sent."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.connection import Held
from querybus.bus.stores.buckets import ConnectionStore
from querybus.bus.stores.catalogs import CatalogStore
from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.policy import Connection
from querybus.core.stored.models import Models, NamedModel
from querybus.text.knowledge import SUGGESTION, Entry, EntryKind, Knowledge
from querybus_cli.app import app
from querybus_cli.operations.models import parse_models, read_models, write_models
from querybus_cli.operations.operator import Place
from querybus_cli.operations.teaching import bring_in, document, known, listed, read_document, reviewed, searched
from querybus_cli.runtime import UsageError
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


UNFIT = """
connection: shop
pairs:
  - question: How many customers?
    sql: SELECT COUNT(*) FROM customer
  - {question: Away with it, sql: DROP TABLE customers}
  - {question: This makes no sense, sql: SELECT FROM WHERE}
  - question: Customers of this month
    sql: SELECT COUNT(*) FROM customers WHERE since >= date(:today, 'start of month')
synonyms:
  customers.nam: [called]
  customers: [buyer]
"""


@pytest.mark.process
@pytest.mark.connected
async def test_an_import_refuses_line_by_line_what_does_not_fit_and_names_the_nearest():
    async with EmbeddedNats(()) as bus:
        await bus.migrate()
        columns = (Column(name="name", type="TEXT"), Column(name="since", type="TEXT"))
        catalog = Catalog(connection="shop", dialect=Dialect.SQLITE, tables=(Table(name="customers", columns=columns),))
        executor = await bus.connect("executor")
        await CatalogStore(Held(executor)).write(catalog)
        await ConnectionStore(Held(executor)).write(Connection(name="shop", dialect=Dialect.SQLITE))
        await executor.close()
        place = ["--nats-url", bus.url, "--password", bus.password("gateway")]
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(UNFIT)
            file.flush()
            ran = await asyncio.to_thread(CliRunner().invoke, app, ["knowledge", "import", file.name, *place])
        assert ran.exit_code == 1, ran.output
        lines = ran.stderr.splitlines()
        assert [line.split(":")[0] for line in lines] == ["line 4", "line 6", "line 7", "line 11"], ran.stderr
        assert "did you mean customers?" in lines[0]
        assert "did you mean name?" in lines[3]
        assert "2 entries taught, 4 refused" in ran.stdout
        kept = await known(Place(bus.url, bus.password("gateway")), "local", "shop")
        assert [entry.key for entry in kept.entries] == ["Customers of this month", "customers"]


@pytest.mark.process
@pytest.mark.connected
async def test_suggestions_wait_until_somebody_approves_or_rejects_them_and_who_did_is_kept():
    async with EmbeddedNats(()) as bus:
        await bus.migrate()
        place = Place(bus.url, bus.password("gateway"))
        words = [
            Entry(kind=EntryKind.PAIR, key=f"question {n}", text="SELECT 1", source=SUGGESTION, by="ann")
            for n in range(3)
        ]
        suggested = Knowledge(connection="shop", entries=tuple(words))
        await bring_in(place, "local", suggested, replace=False)
        waiting = await reviewed(place, "local", "shop", (), (), "")
        assert [entry["key"] for entry in waiting] == ["question 0", "question 1", "question 2"]
        left = await reviewed(place, "local", "shop", [words[0].id], [words[1].id], "bob")
        assert [entry["key"] for entry in left] == ["question 2"]
        kept = await known(place, "local", "shop")
        assert [(entry.source, entry.reviewed_by) for entry in kept.entries] == [
            ("approved", "bob"),
            ("rejected", "bob"),
            ("suggestion", ""),
        ]
        assert [entry.key for entry in kept.of(EntryKind.PAIR)] == ["question 0"]
        # The same is not suggested twice.
        await bring_in(place, "local", suggested, replace=False)
        assert [entry["key"] for entry in await reviewed(place, "local", "shop", (), (), "")] == ["question 2"]
        with pytest.raises(UsageError, match="no suggestion waits"):
            await reviewed(place, "local", "shop", [words[0].id], (), "bob")


@pytest.mark.process
@pytest.mark.connected
async def test_knowledge_and_models_are_set_over_the_bus_by_those_who_may():
    async with EmbeddedNats(()) as bus:
        await bus.migrate()
        gateway = Place(bus.url, bus.password("gateway"))
        operator = Place(bus.url, bus.password("operator"))
        first = await bring_in(gateway, "local", read_document(TEXT), replace=False)
        # Nothing is known of the connection yet, so nothing can be checked against it.
        assert (first.taught, first.entries, first.is_checked) == (5, 5, False)
        more = read_document("connection: shop\nterms: {a: b}")
        assert (await bring_in(gateway, "local", more, replace=False)).entries == 6
        assert document(await known(gateway, "local", "shop"))["terms"] == {
            "大客户": "订单总额超过一万元的客户",
            "a": "b",
        }
        assert (await known(gateway, "other", "shop")).entries == ()
        assert [entry["key"] for entry in await listed(gateway, "local", "shop", EntryKind.TERM)] == ["大客户", "a"]
        result = searched(await known(gateway, "local", "shop"), EntryKind.PAIR, "customers how many", 3)
        assert [item["key"] for item in result] == ["How many customers?"]
        only = read_document("connection: shop\nterms: {c: d}")
        assert (await bring_in(gateway, "local", only, replace=True)).entries == 1

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
    assert "values:" in first["messages"][0]["content"]
    assert not any("values:" in message["content"] for message in second["messages"])
    assert first["tokens_estimated"] > second["tokens_estimated"] > 500
    parts = {part["part"]: part["tokens_estimated"] for part in first["parts"]}
    assert max(parts, key=parts.__getitem__) == "system: Schema"
    assert sum(parts.values()) == pytest.approx(first["tokens_estimated"], rel=0.02)
