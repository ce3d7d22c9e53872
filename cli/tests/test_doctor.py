"""`querybus doctor` says of bus, model and each database whether it works, and the next command where it does not."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from querybus.ops.sandbox import Walls, offered_walls
from querybus_cli.app import app
from querybus_cli.local.doctor import State, sandbox_check
from tests.support.scripted_model import ScriptedModel, say


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(("QUERYBUS_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(*arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
    done = CliRunner().invoke(app, ["doctor", "--json", *arguments])
    return done.exit_code, {check["part"] + " " + check["name"]: check for check in json.loads(done.stdout)["checks"]}


def test_an_empty_folder_lacks_nothing_that_was_set_and_names_what_comes_next() -> None:
    code, checks = checked()
    assert code == 0
    assert {name: check["state"] for name, check in checks.items()} == {
        "bus bus": "off",
        "model builtin": "off",
        "database shop": "off",
        "sandbox children": "off" if offered_walls().missing else "ok",
    }
    assert checks["bus bus"]["next"] == "querybus up"
    assert checks["database shop"]["next"] == "querybus connect URL"


def test_a_kernel_without_a_wall_is_said_with_what_that_lets_a_child_do() -> None:
    check = sandbox_check(Walls(landlock=0, has_seccomp=True))
    assert check.state is State.OFF
    assert check.detail == "no Landlock: it can read every file of its user"
    assert "Linux" in check.next
    assert sandbox_check(Walls(landlock=4, has_seccomp=True)).state is State.OK
    assert len(Walls().missing) == 2


def test_each_database_of_the_file_is_tried(folder: Path) -> None:
    with sqlite3.connect(folder / "good.sqlite") as connection:
        connection.execute("CREATE TABLE trips (id INTEGER PRIMARY KEY, minutes INTEGER)")
    (folder / "empty.sqlite").touch()
    entries = [{"name": name, "url": f"sqlite:///{folder}/{name}.sqlite"} for name in ("good", "empty", "away")]
    (folder / "connections.yaml").write_text(json.dumps({"connections": entries}))
    code, checks = checked()
    assert code == 1
    states = {name: checks[f"database {name}"]["state"] for name in ("good", "empty", "away")}
    assert states == {"good": "ok", "empty": "fails", "away": "fails"}
    assert checks["database good"]["detail"] == "sqlite, 1 table"
    assert "no table" in checks["database empty"]["detail"]
    assert checks["database away"]["next"] == "querybus connections test away --file connections.yaml"


def test_a_model_that_does_not_answer_and_one_that_has_no_name_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUERYBUS_LLM_BASE_URL", "http://127.0.0.1:1/v1")
    code, checks = checked()
    assert (code, checks["model http://127.0.0.1:1/v1"]["next"]) == (1, "set QUERYBUS_LLM_MODEL")
    monkeypatch.setenv("QUERYBUS_LLM_MODEL", "qwen2.5-coder:7b")
    code, checks = checked()
    assert (code, checks["model qwen2.5-coder:7b at http://127.0.0.1:1/v1"]["state"]) == (1, "fails")


def test_a_bus_that_was_left_behind_fails(folder: Path) -> None:
    store = folder / ".querybus"
    store.mkdir()
    (store / "operator.json").write_text(json.dumps({"nats_url": "nats://127.0.0.1:1", "nats_password": "x"}))
    code, checks = checked()
    assert (code, checks["bus nats://127.0.0.1:1"]["state"]) == (1, "fails")


@pytest.mark.requirement("000.32")
def test_the_defaults_of_options_that_differ_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUERYBUS_OPTION_DEFAULTS", '{"summary": false, "chart": "auto", "retries_max": 1}')
    code, checks = checked()
    assert code == 0
    shown = checks["options QUERYBUS_OPTION_DEFAULTS"]["detail"]
    assert shown == "retries_max is 1, not 2, summary is false, not true"


@pytest.mark.parametrize(
    ("text", "said"),
    [('{"sumary": false}', "there is no option sumary"), ('{"retries_max": 9}', "retries_max: "), ("summary", "JSON")],
)
def test_defaults_that_a_gateway_would_not_start_with_fail(
    monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.setenv("QUERYBUS_OPTION_DEFAULTS", text)
    code, checks = checked()
    check = checks["options QUERYBUS_OPTION_DEFAULTS"]
    assert (code, check["state"], said in check["detail"]) == (1, "fails", True), check


def test_prompts_of_an_own_directory_are_checked_with_file_and_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts = folder / "prompts"
    monkeypatch.setenv("QUERYBUS_PROMPTS_DIRECTORY", str(prompts))
    assert checked()[1][f"prompts {prompts}"]["detail"] == "there is no such folder"
    prompts.mkdir()
    (prompts / "summary.zh.md").write_text("用一句话总结。")
    assert checked()[1][f"prompts {prompts}"]["state"] == "ok"
    (prompts / "system.en.md").write_text("In {{dialect}}\non {{day}}")
    code, checks = checked()
    assert (code, checks[f"prompts {prompts}"]["state"]) == (1, "fails")
    assert "system.en.md:2: {{day}} is no place of this prompt" in checks[f"prompts {prompts}"]["detail"]


@pytest.mark.process
def test_a_model_that_may_not_be_called_is_refused_in_words_and_never_connected_to(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(url: str) -> bool:
        return False

    monkeypatch.setattr("querybus.llm.wire.transport.is_loopback", never)
    shop = folder / "shop.sqlite"
    with sqlite3.connect(shop) as connection:
        connection.execute("CREATE TABLE trips (id INTEGER PRIMARY KEY, minutes INTEGER)")
    with ScriptedModel(say("SELECT 1"), models=("m",)) as server:
        monkeypatch.setattr("querybus.llm.model_search.OPENAI_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")
        monkeypatch.setenv("QUERYBUS_NOTHING_LEAVES", "true")
        connected = CliRunner().invoke(app, ["connect", str(shop), "--no-start", "--json"])
        monkeypatch.setenv("QUERYBUS_LLM_MODEL", "m")
        monkeypatch.setenv("QUERYBUS_LLM_BASE_URL", server.base_url)
        code, checks = checked()
        assert server.connections_made == 0
    assert "QUERYBUS_NOTHING_LEAVES forbids calls of 127.0.0.1" in connected.stdout
    assert code != 0
    assert "QUERYBUS_NOTHING_LEAVES forbids calls of 127.0.0.1" in checks["model settings"]["detail"]
