"""The figures of linking are counted as they are said to be."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus_cli.app import app
from querybus_cli.evaluation import linking as evaluation

SPIDER = Path(os.environ.get("QUERYBUS_DATA", Path(__file__).parents[3] / "shared" / "data")) / "spider"


def catalog(name: str, **tables: str) -> Catalog:
    return Catalog(
        connection=name,
        dialect=Dialect.SQLITE,
        tables=tuple(
            Table(name=name, columns=tuple(Column(name=column, type="TEXT") for column in columns.split()))
            for name, columns in tables.items()
        ),
    )


def folder_of(path: Path) -> Path:
    (path / "databases").mkdir()
    for name, script in {
        "zoo": "CREATE TABLE keeper (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE animal (id INTEGER, weight REAL);"
        "CREATE TABLE cage (id INTEGER, area REAL)",
        "mill": "CREATE TABLE keeper (id INTEGER PRIMARY KEY); CREATE TABLE grain (id INTEGER, price REAL)",
    }.items():
        with sqlite3.connect(path / "databases" / f"{name}.sqlite") as database:
            database.executescript(script)
    questions = [
        {"db_id": "zoo", "question": "what is the weight of each animal?", "gold": "SELECT weight FROM animal"},
        {"db_id": "mill", "question": "price of grain", "gold": "SELECT T1.price FROM grain AS T1"},
    ]
    (path / "questions_dev.json").write_text(json.dumps(questions))
    return path


def test_only_names_that_several_databases_have_are_prefixed():
    merged = evaluation.merge({"a": catalog("a", t="x", own="y"), "b": catalog("b", T="x")})
    assert [table.name for table in merged.catalog.tables] == ["a_t", "own", "b_T"]
    assert merged.names["a", "t"] == "a_t"


def test_the_needed_columns_are_those_of_the_scope_that_names_them():
    known = catalog("c", a="id x", b="id y")
    tables, columns = evaluation.needed(
        "SELECT T1.x FROM a AS T1 WHERE T1.id IN (SELECT T1.id FROM b AS T1 WHERE y = 1)", known
    ) or (None, None)
    assert tables == {"a", "b"}
    assert columns == {("a", "x"), ("a", "id"), ("b", "id"), ("b", "y")}


def test_a_label_of_a_table_that_is_not_there_is_a_slip_that_is_named():
    with pytest.raises(ValueError, match="no table lion"):
        evaluation.evaluate_labels(
            {"zoo": catalog("zoo", backup="id")}, evaluation.label_items("zoo | how many? | lion")
        )


def test_a_lost_table_is_counted_and_shown():
    others = {f"t{n}": "id words" for n in range(40)}
    known = {"zoo": catalog("zoo", lion="id weight", cage="id area", **others)}
    labels = evaluation.label_items("zoo | how heavy is each lion? | lion\nzoo | nothing of the kind, lion | cage")
    figures = evaluation.evaluate_labels(known, labels)
    assert figures["all_tables_kept_at_12"]["linking"] == 0.5
    assert figures["lost"] == ["nothing of the kind, lion (cage)"]


@pytest.mark.long
def test_the_command_prints_bm25_beside_linking(tmp_path: Path):
    ran = CliRunner().invoke(
        app, ["evaluate", "linking", "--data", str(folder_of(tmp_path)), "--tables", "50", "--json"]
    )
    assert ran.exit_code == 0, ran.output
    figures = json.loads(ran.output)
    assert (figures["databases"], figures["tables"], figures["questions"]) == (2, 5, 2)
    assert set(figures["all_tables_kept_at_12"]) == {"linking", "bm25"}
    assert figures["chinese_over_the_shop"]["questions"] >= 150
    assert figures["chinese_over_the_shop"]["all_tables_kept_at_12"]["linking"] >= 0.9


def test_a_folder_without_databases_is_a_usage_error(tmp_path: Path):
    with pytest.raises(ValueError, match="has no databases"):
        evaluation.read_folder(tmp_path)


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.skipif(not SPIDER.is_dir(), reason=f"{SPIDER} is not there")
def test_linking_keeps_what_questions_need_of_ninety_nine_databases():
    catalogs, raw = evaluation.read_folder(SPIDER)
    items, unread = evaluation.items_of(raw, catalogs)
    figures = evaluation.evaluate_linking(catalogs, items[::4])
    assert unread == 0
    assert figures["all_tables_kept_at_12"]["linking"] >= 0.92
    assert figures["all_tables_kept_at_20"]["linking"] >= 0.96
    assert figures["half_of_the_columns_dropped"]["columns_kept"] >= 0.97
    assert figures["half_of_the_tables_dropped"]["linking"] >= 0.94
    assert figures["tokens_of_schema"]["linked"] * 10 < figures["tokens_of_schema"]["whole"]
