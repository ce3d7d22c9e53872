"""A plain database is made readable by a draft; nothing of it counts before its owner names it."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table
from querybus_cli.app import app
from querybus_cli.describing.by_model import with_reply
from querybus_cli.describing.draft import Description, drafted, measure_word_of
from querybus_cli.describing.relations import candidates
from querybus_cli.runtime import UsageError
from querybus_executor.catalog.described import as_described
from querybus_executor.connections.config import parse_connections
from querybus_executor.connections.described import read_described
from querybus_executor.engines.sqlite.catalog import read_sqlite_catalog
from tests.support.scripted_model import ScriptedModel, say

SCRIPT = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, email TEXT, reach_me TEXT);
CREATE TABLE orders (order_id INTEGER PRIMARY KEY, customer_id INTEGER, zorb_x TEXT, ordered_on TEXT);
CREATE TABLE reviews (review_id INTEGER PRIMARY KEY, order_id INTEGER, rating INTEGER);
INSERT INTO customers VALUES (1,'Ann','a@x.org','+49 30 1234567'),(2,'Bo','b@x.org','+49 30 7654321'),(3,'Cy','c@x.org','030-5551234');
INSERT INTO orders VALUES (1,1,'a','2026-01-05'),(2,1,'b','2026-02-07'),(3,3,'a','2026-03-09');
INSERT INTO reviews VALUES (1,1,5),(2,99,4);
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with contextlib.closing(sqlite3.connect(tmp_path / "shop.sqlite")) as database:
        database.executescript(SCRIPT)
    return tmp_path / "shop.sqlite"


def described(file: Path, *more: str) -> dict[str, object]:
    ran = CliRunner().invoke(app, ["describe", "--database", str(file), "--json", *more])
    assert ran.exit_code == 0, ran.output
    return json.loads(ran.stdout)


@pytest.mark.process
def test_names_measure_words_synonyms_and_spans_are_drafted_in_both_languages(file: Path):
    said = described(file)
    names = said["display_names"]
    assert names["reviews.rating"]["zh"] == "评分"  # type: ignore[index]
    assert names["customers"] == {"en": "Customers", "zh": "客户"}  # type: ignore[index]
    assert "orders.zorb_x" not in names, "a name that is no word has no name for people"  # type: ignore[operator]
    assert said["measure_words"] == {"customers": "位", "orders": "笔", "reviews": "条"}
    assert "client" in said["synonyms"]["customers"]  # type: ignore[index]
    assert "顾客" in said["synonyms"]["customers"]  # type: ignore[index]
    assert said["descriptions"]["orders"] == "from 2026-01-05 to 2026-03-09, by ordered_on"  # type: ignore[index]


@pytest.mark.process
def test_personal_columns_are_found_by_name_and_by_the_form_of_their_values(file: Path):
    said = described(file)
    assert said["personal"] == ["customers.name", "customers.email", "customers.reach_me"]


@pytest.mark.process
def test_a_relation_is_drafted_only_where_every_row_has_its_counterpart(file: Path):
    said = described(file)
    assert said["relations"] == ["orders.customer_id = customers.id"], "review 2 refers to no order"
    assert said["measured"] == {"orders.customer_id = customers.id": 3}
    assert described(file, "--no-relations")["relations"] == []


@pytest.mark.process
def test_the_file_says_that_nothing_counts_yet_and_is_read_as_it_stands(file: Path, tmp_path: Path):
    out = tmp_path / "shop.described.yaml"
    ran = CliRunner().invoke(app, ["describe", "--database", str(file), "--out", str(out)])
    assert ran.exit_code == 0, ran.output
    text = out.read_text(encoding="utf-8")
    assert "Nothing of it counts until the connection's entry names the file: `described: shop.described.yaml`." in text
    assert "- customers.reach_me  # by the form of its values" in text
    assert "# holds for all 3 rows" in text
    assert yaml.safe_load(text)["measure_words"]["orders"] == "笔"
    assert read_described(out).relations == ("orders.customer_id = customers.id",)
    again = CliRunner().invoke(app, ["describe", "--database", str(file), "--out", str(out)])
    assert isinstance(again.exception, UsageError)
    assert "is there already" in str(again.exception)


@pytest.mark.process
def test_what_the_owner_named_counts_and_the_entry_outweighs_it(file: Path, tmp_path: Path):
    out = tmp_path / "shop.described.yaml"
    CliRunner().invoke(app, ["describe", "--database", str(file), "--out", str(out)])
    plain = {"name": "shop", "url": f"sqlite:///{file}"}
    named = plain | {"described": str(out), "display_names": {"customers": {"en": "Buyers"}}}
    before, after = (parse_connections({"connections": [entry]})[0] for entry in (plain, named))
    catalogs: list[Catalog] = []
    for config in (before, after):
        catalog = read_sqlite_catalog(config)
        assert isinstance(catalog, Catalog)
        catalogs.append(as_described(catalog, config))
    old, new = (catalog.table("customers") for catalog in catalogs)
    assert old is not None
    assert new is not None
    assert (old.measure_word, dict(old.display_names)) == ("", {})
    assert (new.measure_word, dict(new.display_names)) == ("位", {"en": "Buyers"})
    assert [column.name for column in new.columns if column.personal] == ["name", "email", "reach_me"]
    orders = catalogs[1].table("orders")
    assert orders is not None
    assert [(key.columns, key.referred_table) for key in orders.foreign_keys] == [(("customer_id",), "customers")]
    assert catalogs[0].fingerprint != catalogs[1].fingerprint


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("display_names: [", "no YAML in line 1"),
        ("names: {}", "names"),
        ("measure_words: {orders: 一个很长的词}", "measure_words.orders"),
        ("relations: [orders to customers]", "relations[0]"),
    ],
)
def test_a_file_that_is_wrong_says_what_is_wrong(file: Path, tmp_path: Path, text: str, reason: str):
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(text, encoding="utf-8")
    entry = {"name": "shop", "url": f"sqlite:///{file}", "described": str(wrong)}
    with pytest.raises(Exception, match=r"wrong\.yaml") as caught:
        parse_connections({"connections": [entry]})
    assert reason in str(caught.value)


@pytest.mark.process
def test_a_model_names_what_a_rule_cannot_and_what_it_says_amiss_is_passed_over(
    file: Path, monkeypatch: pytest.MonkeyPatch
):
    reply = {
        "table": {
            "en": "Orders of the shop",
            "zh": "商城订单",
            "measure_word": "单",
            "description": "One row per order.",
        },
        "columns": {
            "ZORB_X": {"en": "Kind of packing", "zh": "包装种类"},
            "nothing": {"en": "No such column"},
            "order_id": {"en": 7},
        },
    }
    with ScriptedModel(say(f"Here it is: {json.dumps(reply)}")) as server:
        monkeypatch.setenv("QUERYBUS_LLM_BASE_URL", server.base_url)
        said = described(file, "--model")
        shown = "\n".join(str(seen) for seen in server.requests)
    assert said["display_names"]["orders.zorb_x"] == {"en": "Kind of packing", "zh": "包装种类"}  # type: ignore[index]
    assert said["measure_words"]["orders"] == "单"  # type: ignore[index]
    assert "No such column" not in json.dumps(said)
    assert "a@x.org" not in shown, "a personal value was shown to a model"
    monkeypatch.delenv("QUERYBUS_LLM_BASE_URL")
    ran = CliRunner().invoke(app, ["describe", "--database", str(file), "--model"])
    assert isinstance(ran.exception, UsageError)
    assert "QUERYBUS_LLM_BASE_URL" in str(ran.exception)


def test_a_reply_of_any_shape_leaves_the_draft_whole():
    table = Table(name="t", columns=(Column(name="c", type="TEXT", kind=ColumnKind.TEXT),))
    first = Description(display_names={"t": {"en": "Things"}})
    for said in (
        {},
        {"table": None},
        {"table": []},
        {"table": {"en": "x" * 41}},
        {"columns": [1]},
        {"table": {"en": "a\x1b[31m"}},
    ):
        assert with_reply(first, table, said) == first


def test_what_the_connection_already_says_is_not_drafted_again():
    table = Table(
        name="orders",
        display_names={"en": "Purchases"},
        synonyms=("buys",),
        measure_word="单",
        comment="All orders",
        columns=(),
    )
    said = drafted(Catalog(connection="shop", dialect=Dialect.SQLITE, tables=(table,)))
    assert said.display_names == {"orders": {"zh": "订单"}}
    assert (said.measure_words, said.synonyms, said.descriptions) == ({}, {}, {})


def test_a_column_is_a_candidate_by_its_name_and_kind_alone():
    def column(name: str, kind: ColumnKind = ColumnKind.INTEGER) -> Column:
        return Column(name=name, type="x", kind=kind)

    tables = (
        Table(name="users", columns=(column("id"),), primary_key=("id",)),
        Table(
            name="logs", columns=(column("id"), column("user_id"), column("users_id", ColumnKind.TEXT), column("paid"))
        ),
    )
    catalog = Catalog(connection="shop", dialect=Dialect.SQLITE, tables=tables)
    assert [(one.name, a.name, two.name, b.name) for one, a, two, b in candidates(catalog)] == [
        ("logs", "user_id", "users", "id")
    ]


@pytest.mark.parametrize(
    ("name", "word"), [("Patients", "位"), ("order_lines", "条"), ("tbl_invoice", "笔"), ("qqq", "个")]
)
def test_a_measure_word_follows_the_last_word_that_is_known(name: str, word: str):
    assert measure_word_of(name) == word
