"""`querybus definitions` on files and databases: what is checked, compared and drafted needs no bus."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from querybus_cli.app import app
from querybus_semantic.formats.ossie_writer import document_of
from querybus_semantic.layer.definitions import VerifiedQuery
from tests.support.semantic_shop import SHOP, shop_rows

pytestmark = pytest.mark.process


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    file = tmp_path / "shop.sqlite"
    with sqlite3.connect(file) as opened:
        shop_rows().backup(opened)
    (tmp_path / "layer.yaml").write_text(yaml.safe_dump(document_of(SHOP), allow_unicode=True))
    return tmp_path


def semantic(*words: object) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(app, ["semantic", *map(str, words)])


def test_a_check_of_a_true_layer_ends_with_zero(shop: Path) -> None:
    ran = semantic("check", shop / "layer.yaml", "--database", shop / "shop.sqlite")
    assert ran.exit_code == 0, ran.output
    assert "warning: relation order_customer" in ran.output


def test_a_check_finds_a_key_that_is_none_and_says_so_to_programs(shop: Path) -> None:
    with sqlite3.connect(shop / "shop.sqlite") as opened:
        opened.executescript(
            "CREATE TABLE other AS SELECT * FROM customers; DROP TABLE customers; ALTER TABLE other RENAME TO customers;"
            "INSERT INTO customers VALUES (1, 'North');"
        )
    ran = semantic("check", shop / "layer.yaml", "--database", shop / "shop.sqlite", "--json")
    assert ran.exit_code == 1
    found = json.loads(ran.output)["findings"]
    assert {one["severity"] for one in found} >= {"error"}
    assert any(one["values"] == ["1"] for one in found)


def test_a_diff_names_whose_numbers_change(shop: Path) -> None:
    changed = (shop / "layer.yaml").read_text().replace("SUM(orders.freight)", "MAX(orders.freight)")
    (shop / "new.yaml").write_text(changed)
    ran = semantic("diff", shop / "layer.yaml", shop / "new.yaml", "--database", shop / "shop.sqlite", "--json")
    assert ran.exit_code == 0, ran.output
    changes = {one["metric"]: one for one in map(json.loads, ran.output.splitlines())}
    assert (changes["freight"]["before"], changes["freight"]["after"]) == (42, 20)
    assert "revenue" not in changes


def test_a_draft_is_a_file_that_a_check_reads(shop: Path) -> None:
    drafted = semantic("draft", "--database", shop / "shop.sqlite")
    assert drafted.exit_code == 0, drafted.output
    (shop / "draft.yaml").write_text(drafted.output)
    again = semantic("check", shop / "draft.yaml", "--database", shop / "shop.sqlite")
    assert again.exit_code == 0, again.output


def test_a_dry_run_lists_what_would_not_be_taken(tmp_path: Path) -> None:
    file = tmp_path / "cube.yml"
    file.write_text(
        "cubes: [{name: a, sql_table: a, refresh_key: {every: 1 hour}, measures: [{name: n, type: count}]}]"
    )
    ran = semantic("import", file, "--from", "cube", "--connection", "x", "--dry-run")
    assert ran.exit_code == 0, ran.output
    assert "refresh_key (line 1)" in ran.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", "nothing.yaml", "--database", "nothing.sqlite"], "nothing.yaml"),
        (["import", "x.yaml", "--from", "lookml", "--connection", "x"], "none of ossie"),
    ],
)
def test_what_cannot_be_done_says_why(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = semantic(*words)
    assert ran.exit_code != 0
    assert said in ran.output + str(ran.exception)


def with_examples(shop: Path, name: str, *, freight: str = "SUM(orders.freight)", sql: str) -> Path:
    """Write the shop's layer with one verified question."""
    layer = replace(SHOP, verified=(VerifiedQuery("by region", "freight by region", sql),))
    file = shop / name
    file.write_text(yaml.safe_dump(document_of(layer), allow_unicode=True).replace("SUM(orders.freight)", freight))
    return file


REGIONS = (
    "SELECT SUM(o.freight), c.region FROM orders o LEFT JOIN customers c ON c.id = o.customer_id GROUP BY c.region"
)


def test_a_check_finds_the_verified_question_that_the_definitions_answer_otherwise(shop: Path) -> None:
    database = shop / "shop.sqlite"
    agreeing = with_examples(shop, "agreeing.yaml", sql=REGIONS)
    assert semantic("check", agreeing, "--database", database).exit_code == 0
    ran = semantic("check", with_examples(shop, "other.yaml", sql="SELECT 3"), "--database", database)
    assert ran.exit_code == 1
    assert "verified question by region: By the definitions it is 3 rows" in ran.output
    ran = semantic("check", with_examples(shop, "broken.yaml", sql="SELECT x FROM y"), "--database", database)
    assert "verified question by region: It could not be run" in ran.output


def test_a_diff_names_the_verified_questions_whose_answers_change(shop: Path) -> None:
    before = with_examples(shop, "before.yaml", sql=REGIONS)
    after = with_examples(shop, "after.yaml", sql=REGIONS, freight="MIN(orders.freight)")
    ran = semantic("diff", before, after, "--database", shop / "shop.sqlite")
    assert "freight by region: 3 rows, the first" in ran.output
    assert "answers to 1 verified questions change" in ran.output


def test_a_draft_takes_figures_with_their_conditions_from_verified_questions(shop: Path) -> None:
    pairs = {
        "connection": "shop",
        "pairs": [
            {
                "question": "how much freight over 5?",
                "sql": "SELECT SUM(freight) AS heavy FROM orders WHERE freight > 5",
            },
            {"question": "freight in May", "sql": "SELECT SUM(freight) FROM orders WHERE day >= '2025-05-01'"},
            {
                "question": "joined",
                "sql": "SELECT SUM(o.freight) AS twice FROM orders o JOIN lines l ON l.order_id = o.id",
            },
        ],
    }
    (shop / "pairs.yaml").write_text(yaml.safe_dump(pairs))
    ran = semantic("draft", "--database", shop / "shop.sqlite", "--pairs", shop / "pairs.yaml")
    assert ran.exit_code == 0, ran.output
    metrics = {one["name"]: one for one in yaml.safe_load(ran.output)["metrics"]}
    heavy = json.loads(metrics["heavy"]["custom_extensions"][0]["data"])
    assert (heavy["condition"], heavy["state"]) == ("orders.freight > 5", "draft")
    assert metrics["sum_orders_freight"]["expression"]["dialects"][0]["expression"] == "SUM(orders.freight)"
    assert "condition" not in json.loads(metrics["sum_orders_freight"]["custom_extensions"][0]["data"])
    assert "twice" not in metrics
