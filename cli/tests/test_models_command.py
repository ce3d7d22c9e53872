"""`querybus models test` says step by step whether a model can be asked, and what to do about each miss."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from querybus.core.stored.models import Models
from querybus.llm.settings import ModelServiceSettings
from querybus_cli.app import app
from querybus_cli.connecting.model_checks import CHECKS
from querybus_cli.operations.models import find_model, parse_models, write_models
from querybus_cli.operations.operator import Place
from querybus_cli.runtime import UsageError
from tests.support.scripted_model import ScriptedModel, Seen, Step, fail, garbage, hang_up, say

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(("QUERYBUS_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_test(*arguments: str) -> tuple[int, dict[str, dict[str, str]]]:
    """Return the exit code, and the checks by name in their order."""
    done = CliRunner().invoke(app, ["models", "test", *arguments, "--json"])
    whole = json.loads(done.stdout)
    assert whole["ok"] == (done.exit_code == 0)
    return done.exit_code, {check["name"]: check for check in whole["checks"]}


def counted(text: str, tokens_in: int, tokens_cached: int = 0) -> Step:
    """Return a reply whose address counts these tokens."""
    usage = {
        "prompt_tokens": tokens_in, "completion_tokens": 2, "total_tokens": tokens_in + 2,
        "prompt_tokens_details": {"cached_tokens": tokens_cached},
    }  # fmt: skip
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return Step(body=json.dumps({"choices": [choice], "usage": usage}).encode())


def play_good_model(seen: Seen) -> Step:
    """Play a model that lacks nothing."""
    if tools := seen.json.get("tools"):
        function = {"name": tools[0]["function"]["name"], "arguments": '{"sql": "SELECT 1"}'}
        called = [{"id": "1", "type": "function", "function": function}]
        message = {"role": "assistant", "content": None, "tool_calls": called}
        choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
        return Step(body=json.dumps({"choices": [choice]}).encode())
    if seen.json.get("response_format"):
        return say('{"sql": "SELECT 1"}')
    return counted("MARBLE", 7_900, 7_000) if "MARBLE" in seen.text else say("SELECT 1")


def set_model(monkeypatch: pytest.MonkeyPatch, server: ScriptedModel) -> None:
    monkeypatch.setenv("QUERYBUS_LLM_BASE_URL", server.base_url)
    monkeypatch.setenv("QUERYBUS_LLM_MODEL", "m")


def test_a_model_that_lacks_nothing_passes_every_check_within_seven_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedModel(play_good_model, api_key="k") as server:
        set_model(monkeypatch, server)
        monkeypatch.setenv("QUERYBUS_LLM_API_KEY", "k")
        code, checks = run_test()
        assert len(server.requests) <= 7
    assert tuple(checks) == CHECKS
    assert (code, {check["state"] for check in checks.values()}) == (0, {"ok"}), checks
    assert "89%" in checks["cache"]["detail"]
    assert checks["key"]["detail"] == "QUERYBUS_LLM_API_KEY is accepted"


@pytest.mark.parametrize(
    ("step", "failing", "said", "advice"),
    [
        (fail(401), "key", "refuses the key in QUERYBUS_LLM_API_KEY", "set the variable"),
        (fail(404, code="model_not_found"), "model", "no model of the name in QUERYBUS_LLM_MODEL", "has: large, small"),
        (fail(404), "address", "usually ends in /v1", "correct the address"),
        (garbage(), "address", "is QUERYBUS_LLM_BASE_URL the address of the model's API?", "correct the address"),
        (hang_up(), "address", "broke off", "start the server"),
        (fail(429, code="insufficient_quota"), "key", "quota", "set the variable"),
        (say("SELECT", finish_reason="length"), "reply", "limit of tokens", "another model"),
        (say("  "), "reply", "empty", "another model"),
        (fail(500), "reply", "HTTP 500", "run the test again"),
    ],
)  # fmt: skip
def test_the_first_part_that_fails_is_named_with_what_to_do_and_nothing_behind_it_is_tried(
    monkeypatch: pytest.MonkeyPatch, step: Step, failing: str, said: str, advice: str
) -> None:
    with ScriptedModel(step, models=("small", "large")) as server:
        set_model(monkeypatch, server)
        code, checks = run_test("m")
    place = CHECKS.index(failing)
    assert (code, checks[failing]["state"]) == (1, "fails"), checks
    assert said in checks[failing]["detail"]
    assert advice in checks[failing]["next"]
    assert {checks[name]["state"] for name in CHECKS[:place]} <= {"ok"}
    assert {checks[name]["state"] for name in CHECKS[place + 1 :]} == {"-"}


def test_a_server_that_drops_the_beginning_of_a_long_prompt_fails_by_its_context(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def play(seen: Seen) -> Step:
        return counted("I see no word.", 4_096) if "MARBLE" in seen.text else say("SELECT 1")

    with ScriptedModel(play) as server:
        set_model(monkeypatch, server)
        code, checks = run_test()
        assert code == 1
        assert "only 4,096 are read" in checks["context"]["detail"]
        assert "OLLAMA_CONTEXT_LENGTH" in checks["context"]["next"]
        # Whoever says how long the context is asks no longer prompt than fits it.
        monkeypatch.setenv("QUERYBUS_LLM_CONTEXT_TOKENS", "4096")
        assert run_test()[1]["context"]["state"] == "missing"


def test_what_a_model_may_lack_is_missing_and_does_not_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    def play(seen: Seen) -> Step:
        more = seen.json.get("tools") or seen.json.get("response_format") or seen.json.get("stream")
        return fail(400, message="not supported here") if more else counted("MARBLE", 0)

    with ScriptedModel(play) as server:
        set_model(monkeypatch, server)
        code, checks = run_test()
    missing = {name for name, check in checks.items() if check["state"] == "missing"}
    assert (code, missing) == (0, {"stream", "tools", "structured", "usage", "cache"}), checks
    assert all(checks[name]["next"] for name in missing)


def test_a_model_of_a_file_is_tested_before_it_is_set_and_in_the_words_of_the_file(folder: Path) -> None:
    with ScriptedModel(say("SELECT 1"), api_key="k") as server:
        entry: dict[str, Any] = {
            "name": "fast",
            "base_url": server.base_url,
            "model": "m",
            "api_key_env": "QUERYBUS_FAST_KEY",
        }
        (folder / "models.yaml").write_text(json.dumps({"models": [entry]}))
        code, checks = run_test("--file", "models.yaml")
        assert (code, checks["settings"]["next"]) == (1, "export QUERYBUS_FAST_KEY=...")
        del entry["api_key_env"]
        (folder / "models.yaml").write_text(json.dumps({"models": [entry]}))
        assert "refuses the key in api_key_env" in run_test("fast", "--file", "models.yaml")[1]["key"]["detail"]


def test_a_name_that_no_model_has_lists_those_that_there_are() -> None:
    known = parse_models("models: [{name: fast, base_url: 'http://x/v1', model: m}]")
    assert find_model(None, known, ModelServiceSettings()).name == "fast"
    assert find_model("anthropic:claude", known, ModelServiceSettings()).model == "anthropic:claude"
    with pytest.raises(UsageError, match="no model 'slow'; there are fast"):
        find_model("slow", known, ModelServiceSettings())
    with pytest.raises(UsageError, match="QUERYBUS_LLM_MODEL"):
        find_model(None, Models(), ModelServiceSettings())


async def test_an_address_that_may_not_be_called_is_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    models = parse_models(
        "models: [{name: here, base_url: 'http://127.0.0.1:1/v1', model: m}, {name: far, model: 'openai:gpt-4.1'}]"
    )
    nowhere = Place("nats://127.0.0.1:1", "none", ())
    with pytest.raises(UsageError, match=r"far: QUERYBUS_NOTHING_LEAVES forbids calls of api\.openai\.com"):
        await write_models(nowhere, models)
    monkeypatch.setenv("QUERYBUS_NOTHING_LEAVES", "true")
    with pytest.raises(UsageError, match="far: QUERYBUS_NOTHING_LEAVES"):
        await write_models(Place("nats://127.0.0.1:1", "none"), models)
