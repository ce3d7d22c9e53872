"""Claims on `querybus evaluate`: what counts as executable, right, fixed and broken."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from querybus.text.rows.execution_match import matches
from querybus_cli.app import app
from querybus_cli.commands.evaluate import collected
from querybus_cli.evaluation.asking import Judged, Stages
from querybus_cli.evaluation.models import own_statements
from querybus_cli.evaluation.self_test import self_test
from querybus_cli.evaluation.sqlite_rows import open_read_only, rows_of
from querybus_cli.runtime import UsageError
from tests.support.scripted_model import ScriptedModel, fail, say

RIGHT = {"id": "a", "db_id": "shop", "question": "Which cities?", "gold": "SELECT city FROM customers"}
ITEMS = [
    {**RIGHT, "pred": "SELECT city FROM customers"},
    {**RIGHT, "id": "b", "pred": "SELECT citty FROM customers"},
    {**RIGHT, "id": "c", "pred": "SELECT name FROM customers"},
    {**RIGHT, "id": "d", "pred": "SELECT income FROM customers"},
    {**RIGHT, "id": "e", "pred": "DROP TABLE customers"},
    {**RIGHT, "id": "f", "pred": ""},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    opened = sqlite3.connect(tmp_path / "shop.sqlite")
    opened.executescript(
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT);"
        "INSERT INTO customers VALUES (1, 'Ann', 'Bern'), (2, 'Bob', 'Rome');"
    )
    opened.close()
    (tmp_path / "items.jsonl").write_text("\n".join(json.dumps(item) for item in ITEMS), "utf-8")
    return tmp_path


@pytest.mark.long
def test_a_replay_counts_what_was_right_and_what_recovery_fixed(folder: Path) -> None:
    out = folder / "out.jsonl"
    arguments = ["evaluate", str(folder / "items.jsonl"), "--databases", str(folder), "--items-out", str(out), "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert figures["items"] == 6
    assert (figures["first_executable"], figures["first_right"]) == (2, 1)
    assert (figures["final_executable"], figures["final_right"]) == (5, 4)
    assert (figures["fixed"], figures["broken"]) == (3, 0)
    lines = {line["id"]: line for line in map(json.loads, out.read_text("utf-8").splitlines())}
    assert lines["b"]["confidence"] > 0.9, "the translator reads what it was repaired to"
    assert lines["b"]["attempts"] == 2
    assert lines["a"]["confidence"] > 0.9, "the translator reads it alike"
    assert lines["f"]["writer"] == "builtin", "the translator stands in for an empty reply"
    assert lines["d"]["outcome"] == "answered", "no rule knows what income is, the translator reads the question"
    assert lines["d"]["rules"] == []
    assert lines["e"]["outcome"] == "refused"
    again = CliRunner().invoke(app, [*arguments[:4], "--against", str(out), "--json"])
    assert json.loads(again.stdout)["against"] == {"items_in_both": 6, "only_here": [], "only_there": [], "p": 1.0}


@pytest.mark.long
def test_a_cross_check_says_how_sure_every_draft_is(folder: Path) -> None:
    out = folder / "out.jsonl"
    arguments = ["evaluate", str(folder / "items.jsonl"), "--databases", str(folder), "--items-out", str(out)]
    result = CliRunner().invoke(app, [*arguments, "--cross-check", "--json"])
    assert result.exit_code == 0, result.output
    tenths = json.loads(result.stdout)["by_confidence"]
    assert {name: (figures["items"], figures["right"]) for name, figures in tenths.items()} == {
        "0.4": (1, 0.0),
        "0.9": (4, 1.0),
    }
    lines = {line["id"]: line for line in map(json.loads, out.read_text("utf-8").splitlines())}
    assert lines["c"]["confidence"] < 0.5, "names were asked for, which is not what the translator reads"
    assert 0.9 < lines["b"]["confidence"] < lines["a"]["confidence"]


def test_rows_match_as_multisets_with_permuted_columns_and_near_numbers() -> None:
    assert matches([(1, "a"), (2, "b")], [("b", 2.0), ("a", 1)], ordered=False)
    assert not matches([(1, "a"), (2, "b")], [("b", 2), ("a", 1)], ordered=True)
    assert not matches([(1,), (1,)], [(1,), (2,)], ordered=False)
    assert matches([(0.1 + 0.2,)], [(0.3,)], ordered=False)
    assert not matches([(1,)], [("1",)], ordered=False)


def test_integers_match_exactly_and_other_numbers_but_for_rounding() -> None:
    assert not matches([(1_234_567,)], [(1_234_568,)], ordered=False)
    assert not matches([(1_234_567,)], [(1_234_568.0,)], ordered=False)
    assert not matches([(10**18,)], [(10**18 + 1,)], ordered=False)
    assert matches([(1_234_567,)], [(1_234_567.0000001,)], ordered=False)
    assert matches([(0.1 + 0.2, "b"), (0.3, "a")], [(0.3, "b"), (0.3, "a")], ordered=False)
    assert matches([(9.9999999,), (10.0,), (None,)], [(None,), (10,), (9.9999998,)], ordered=False)


def figures_of(
    folder: Path, items: Sequence[Mapping[str, object]], *arguments: str
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    (folder / "asked.jsonl").write_text("\n".join(json.dumps(item) for item in items), "utf-8")
    out = folder / "judged.jsonl"
    given = ["evaluate", str(folder / "asked.jsonl"), "--databases", str(folder), "--items-out", str(out), "--json"]
    result = CliRunner().invoke(app, [*given, *arguments])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout), [json.loads(line) for line in out.read_text("utf-8").splitlines()]


@pytest.mark.process
def test_a_named_model_is_asked_again_with_advice_and_its_calls_are_counted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedModel([say("SELECT income FROM customers"), say("SELECT city FROM customers")]) as model:
        monkeypatch.setenv("QUERYBUS_LLM_BASE_URL", model.base_url)
        figures, (judged,) = figures_of(folder, [RIGHT], "--model", "scripted")
    assert (judged["first_executable"], judged["final_right"], judged["attempts"]) == (False, True, 2)
    assert (figures["calls"], figures["fixed"]) == (2, 1)
    assert int(str(figures["tokens_in"])) > 0
    assert int(str(figures["tokens_out"])) > 0


@pytest.mark.process
def test_a_model_that_fails_is_right_in_nothing_and_makes_the_run_fail(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [{**RIGHT, "id": f"{number}"} for number in range(3)]
    (folder / "asked.jsonl").write_text("\n".join(map(json.dumps, asked)), "utf-8")
    page = folder / "report.html"
    with ScriptedModel([fail(404)]) as model:
        monkeypatch.setenv("QUERYBUS_LLM_BASE_URL", model.base_url)
        arguments = ["evaluate", str(folder / "asked.jsonl"), "--databases", str(folder), "--model", "nobody"]
        result = CliRunner().invoke(app, [*arguments, "--json", "--report", str(page)])
    figures = json.loads(result.stdout)
    assert result.exit_code == 1
    assert "3 of 3 calls failed" in result.stderr
    assert "model_unavailable" in result.stderr
    assert (figures["first_executable"], figures["first_right"], figures["calls_failed"]) == (0, 0, 3)
    assert figures["by_writer"] == {"builtin": {"items": 3, "right": 3}}, "the translator stood in, and is named"
    assert "This is no measurement of nobody" in page.read_text("utf-8")


@pytest.mark.long
def test_the_report_shows_the_worst_items_first_and_escapes_what_came_from_outside(folder: Path) -> None:
    items = [
        {**RIGHT, "id": "fine", "pred": "SELECT city FROM customers"},
        {**RIGHT, "id": "dead", "pred": "DROP TABLE customers"},
        {**RIGHT, "id": "odd", "question": "Which <b>cities</b>?", "pred": "SELECT name FROM customers"},
    ]
    page = folder / "report.html"
    figures, judged = figures_of(folder, items, "--report", str(page), "--price-in", "2", "--price-out", "8")
    said = page.read_text("utf-8")
    assert {item["writer"] for item in judged} == {"model", ""}
    assert "Which &lt;b&gt;cities&lt;/b&gt;?" in said
    assert said.index(">odd: Wrong") < said.index(">dead: Failed")
    assert ">fine:" not in said
    assert figures["final_right_interval"][0] < 1 / 3 < figures["final_right_interval"][1]
    assert set(figures["milliseconds_per_item"]) == {"p50", "p90", "p99"}
    assert figures["cost"] == 0.0
    assert {name: counts["items"] for name, counts in figures["by_confidence"].items()} == {"0.7": 1, "0.9": 1}


def test_a_model_without_an_address_is_a_mistake_of_use(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUERYBUS_LLM_BASE_URL", raising=False)
    arguments = ["evaluate", str(folder / "items.jsonl"), "--databases", str(folder), "--model", "nobody"]
    refused = CliRunner().invoke(app, arguments).exception
    assert isinstance(refused, UsageError)
    assert "QUERYBUS_LLM_BASE_URL" in str(refused)


@pytest.mark.long
def test_what_a_rule_fixed_is_counted_under_its_name_and_off_repairs_nothing(folder: Path) -> None:
    item = ITEMS[1]
    figures, judged = figures_of(folder, [item])
    assert figures["outcomes"] == {"answered": 1}, judged
    assert figures["by_rule"] == {"rename_column": {"items": 1, "executable": 1, "right": 1}}
    assert figures["by_first_failure"] == {"column_not_found": {"items": 1, "executable": 1, "right": 1}}
    off, _ = figures_of(folder, [item], "--policy", "off")
    assert (off["final_executable"], off["by_rule"]) == (0, {})


def test_the_day_of_an_item_counts_as_today(folder: Path) -> None:
    opened = sqlite3.connect(folder / "shop.sqlite")
    opened.executescript(
        "CREATE TABLE visits (id INTEGER PRIMARY KEY, visited_on DATE);"
        "INSERT INTO visits VALUES (1, '2024-05-03'), (2, '2023-05-03'), (3, '2024-01-01');"
    )
    opened.close()
    question = "How many visits are there this year?"
    items = [
        {"id": day, "db_id": "shop", "question": question, "gold": f"SELECT {count}", "as_of": day}
        for day, count in (("2024-06-01", 2), ("2023-06-01", 1))
    ]
    figures, _ = figures_of(folder, items, "--model", "builtin")
    assert figures["final_right"] == 2


def test_a_database_may_lie_in_a_folder_of_its_own(folder: Path) -> None:
    (folder / "shop").mkdir()
    (folder / "shop.sqlite").rename(folder / "shop" / "shop.sqlite")
    figures, _ = figures_of(folder, ITEMS[:1])
    assert figures["final_right"] == 1


def test_what_is_broken_fixed_and_crashed_on_the_way_is_found() -> None:
    planted = CliRunner().invoke(app, ["evaluate", "self-test", "--json"])
    assert planted.exit_code == 0, planted.output
    assert set(json.loads(planted.output).values()) == {""}


@pytest.mark.process
async def test_where_nothing_is_spoilt_the_self_test_finds_nothing_broken() -> None:
    missed = await self_test(Stages())
    assert {name for name, what in missed.items() if what} == {"broken", "crashed"}
    assert "is_broken is False" in missed["broken"]


def test_a_question_may_be_expected_to_be_asked_back_refused_or_replied_to(folder: Path) -> None:
    asked = [("How many blorfs are there?", "clarification"), ("Delete all customers", "refused"), ("hello", "replied")]
    items = [{"db_id": "shop", "question": question, "expect": expect} for question, expect in asked]
    items.append({"db_id": "shop", "question": "How many customers are there?", "expect": "clarification"})
    figures, judged = figures_of(folder, items, "--model", "builtin", "--mode", "hybrid")
    assert [line["final_right"] for line in judged] == [True, True, True, False]
    assert figures["expected"] == {
        "clarification": {"clarification": 1, "answered": 1},
        "refused": {"refused": 1},
        "replied": {"replied": 1},
    }
    assert (figures["fixed"], figures["broken"]) == (0, 0)


def test_an_item_may_have_a_mode_of_its_own(folder: Path) -> None:
    items = [
        {"db_id": "shop", "question": "hello", "expect": "replied", "mode": mode} for mode in ("hybrid", "database")
    ]
    figures, _ = figures_of(folder, items, "--model", "builtin")
    assert figures["by_mode"] == {"hybrid": {"items": 1, "right": 1}, "database": {"items": 1, "right": 0}}


def test_the_turns_of_a_thread_are_asked_one_behind_the_other(folder: Path) -> None:
    turns = [
        {"question": "List the names of customers.", "gold": "SELECT name FROM customers"},
        {"question": "only from Bern", "gold": "SELECT name FROM customers WHERE city = 'Bern'"},
        {"question": "how many are they?", "gold": "SELECT COUNT(*) FROM customers WHERE city = 'Bern'"},
    ]
    figures, judged = figures_of(folder, [{"id": "t", "db_id": "shop", "turns": turns}], "--model", "builtin")
    assert [line["id"] for line in judged] == ["t#1", "t#2", "t#3"]
    assert figures["follow_ups"] == {"items": 2, "right": 2, "after_right": 2, "right_after_right": 2}


def test_a_reference_that_does_not_run_is_said_with_its_item(folder: Path) -> None:
    figures, (judged,) = figures_of(folder, [{**RIGHT, "pred": RIGHT["gold"], "gold": "SELECT income FROM customers"}])
    assert "the reference statement fails: no such column" in str(judged["error"])
    assert figures["references_failed"] == 1


async def test_what_is_known_is_written_before_the_next_item_is_asked(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    seen: list[int] = []

    async def results() -> AsyncGenerator[Judged]:
        for _ in range(2):
            yield EMPTY
            seen.append(len(out.read_text("utf-8").splitlines()))
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="disk"):
        await collected(results(), 3, out)
    assert seen == [1, 2]


EMPTY = Judged(
    id="a", turn=0, mode="database", expect=None, outcome="failed", first_executable=False, first_right=False,
    final_executable=False, final_right=False, first_sql="", sql=None, attempts=0, confidence=None, first_code=None,
    mended=False, milliseconds=0.0,
)  # fmt: skip


def test_the_items_may_be_named_as_an_option_but_only_once(folder: Path) -> None:
    items = str(folder / "items.jsonl")
    given = ["evaluate", "--items", items, "--databases", str(folder), "--model", "builtin", "--json"]
    # On a slow machine progress stands on the other stream.
    assert json.loads(CliRunner().invoke(app, given).stdout)["items"] == 6
    assert "once" in str(CliRunner().invoke(app, [*given, items]).exception)
    assert "--databases" in str(CliRunner().invoke(app, given[:3]).exception)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 1 is no JSON"),
        ("[1]", "item 1 is no JSON object"),
        ('{"question": "x", "gold": "SELECT 1"}', "needs db_id"),
        ('{"db_id": "shop", "question": " ", "gold": "SELECT 1"}', "needs a question"),
        ('{"db_id": "shop", "question": "x"}', "gold, the reference statement, or expect"),
        ('{"db_id": "shop", "question": "x", "gold": "SELECT 1", "expect": "refused"}', "and not both"),
        ('{"db_id": "shop", "question": "x", "expect": "answered"}', "expect is one of"),
        ('{"db_id": "shop", "question": "x", "expect": "refused", "as_of": "May"}', "isoformat"),
        ('{"db_id": "shop", "question": "x", "expect": "refused", "mode": "fast"}', "fast"),
        ('{"db_id": "shop", "turns": []}', "turns is a list"),
        ('{"id": 1, "db_id": "a", "question": "x", "gold": "y"}\n' * 2, "two items have the id 1"),
        ("", "has no items"),
    ],
)
def test_what_is_no_item_is_said_before_any_is_asked(folder: Path, line: str, said: str) -> None:
    (folder / "odd.jsonl").write_text(line, "utf-8")
    refused = CliRunner().invoke(app, ["evaluate", str(folder / "odd.jsonl"), "--databases", str(folder)]).exception
    assert isinstance(refused, UsageError)
    assert said in str(refused)


@pytest.mark.parametrize(
    ("answer", "statement"),
    [
        ("SELECT 1;", "SELECT 1"),
        ("Sure!\n```sql\nSELECT 1\nFROM a;\n```\nDone.", "SELECT 1\nFROM a"),
        ('```json\n{"sql": "SELECT 1"}\n```', "SELECT 1"),
        ("SQL: SELECT 1", "SELECT 1"),
        ("<think>maybe SELECT 2</think>\nSELECT 1", "SELECT 1"),
        ('{"sql": broken', '{"sql": broken'),
    ],
)
def test_an_answers_own_statement_is_among_its_plain_readings(answer: str, statement: str) -> None:
    assert statement in own_statements(answer)


def test_an_empty_answer_has_no_statement() -> None:
    assert own_statements(" ") == ()


@pytest.mark.parametrize(
    "sql",
    [
        "ATTACH '{folder}/other.sqlite' AS other",
        "VACUUM INTO '{folder}/other.sqlite'",
        "CREATE TEMP TABLE t (a)",
        "DROP TABLE customers",
        "PRAGMA query_only=OFF",
        "SELECT randomblob(100000000)",
    ],
)
def test_what_a_model_wrote_can_only_read_when_it_is_run_by_itself(folder: Path, sql: str) -> None:
    with closing(open_read_only(folder / "shop.sqlite")) as opened:
        assert isinstance(rows_of(opened, sql.format(folder=folder)), sqlite3.Error)
        assert rows_of(opened, "SELECT COUNT(*) FROM customers") == [(2,)]
    assert not (folder / "other.sqlite").exists()
