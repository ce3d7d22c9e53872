"""`querybus logs` follows a question over the services' logs, and leaves out what is no line of ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from querybus_cli.app import app
from querybus_cli.runtime import UsageError

GENERATOR = """\
{"stage": "generator", "query_id": "q1", "trace_id": "t1", "event": "stage.settled", "level": "info", "timestamp": "2026-11-21T10:00:02Z"}
{"stage": "generator", "query_id": "q2", "trace_id": "t2", "event": "stage.settled", "level": "info", "timestamp": "2026-11-21T10:00:03Z"}
words of a driver
["no", "line"]
"""
GATEWAY = """\
{"event": "call.exception", "trace_id": "t1", "level": "error", "timestamp": "2026-11-21T10:00:01Z", "verb": "ask"}
{"event": "service.started", "level": "info", "timestamp": "2026-11-21T09:00:00Z", "parts": ["http"]}
{"event": "cut of
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/generator-1.log").write_text(GENERATOR)
    (tmp_path / "logs/gateway-1.log").write_text(GATEWAY)
    return tmp_path


def printed(*words: str, given: str | None = None) -> list[str]:
    done = CliRunner().invoke(app, ["logs", *words], input=given, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output.splitlines()


def test_a_querys_lines_are_those_that_name_it_or_its_trace_in_the_order_of_time(store: Path) -> None:
    lines = [json.loads(line) for line in printed("--store", str(store), "--query", "q1", "--json")]
    assert [(line["from"], line["event"]) for line in lines] == [
        ("gateway-1", "call.exception"),
        ("generator-1", "stage.settled"),
    ]


def test_all_lines_are_shown_oldest_first_and_only_ours(store: Path) -> None:
    lines = printed("--store", str(store))
    assert [line.split()[3] for line in lines] == [
        "service.started",
        "call.exception",
        "stage.settled",
        "stage.settled",
    ]
    assert 'parts=["http"]' in lines[0]
    assert "gateway-1" in lines[0]


def test_only_what_is_grave_enough_is_shown(store: Path) -> None:
    (line,) = printed("--store", str(store), "--level", "warning")
    assert "call.exception" in line
    assert "verb=ask" in line


def test_what_kubectl_prints_can_be_piped_in(tmp_path: Path) -> None:
    prefixed = "".join(f"[pod/generator-x/generator] {line}\n" for line in GENERATOR.splitlines())
    lines = printed("-", "--query", "q2", "--json", given=prefixed)
    assert [json.loads(line)["query_id"] for line in lines] == ["q2"]


def test_nothing_to_read_says_what_to_name(tmp_path: Path) -> None:
    for words in (["--store", str(tmp_path)], [str(tmp_path / "none.log")]):
        with pytest.raises(UsageError):
            CliRunner().invoke(app, ["logs", *words], catch_exceptions=False)
