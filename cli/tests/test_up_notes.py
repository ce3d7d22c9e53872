"""The start of a stack says which connections cannot be read, and whose role may write."""

from __future__ import annotations

from pathlib import Path

import pytest

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import Connection
from querybus_cli.local.model_trial import try_in_process
from querybus_cli.local.up import connection_notes, entry_lines, example_lines
from tests.support.scripted_model import ScriptedModel, fail, say


def test_a_role_that_may_write_and_a_database_that_is_away_are_said_with_the_next_command() -> None:
    away = Failure.of(FailureCode.CONNECTION, "nobody listens at port 5433. Next: querybus connections test crm")
    connections = (
        Connection(name="crm", dialect=Dialect.POSTGRESQL, trouble=away),
        Connection(name="sales", dialect=Dialect.POSTGRESQL, warning="the role owner may write"),
        Connection(name="shop", dialect=Dialect.SQLITE),
    )
    assert connection_notes(connections) == [
        "failed: crm cannot be read: nobody listens at port 5433. Next: querybus connections test crm",
        "warning: sales: the role owner may write; `querybus connections test sales` says what to do",
    ]


def test_without_a_terminal_the_start_names_the_file_of_keys_and_prints_none() -> None:
    said = "\n".join((*entry_lines("http://127.0.0.1:8080", None, Path("store/keys.json")),
                      *example_lines("http://127.0.0.1:8080", None)))  # fmt: skip
    assert "store/keys.json" in said
    assert "Bearer <key>" in said
    assert "#code=" not in said
    assert "Bearer qb-1" in "\n".join(example_lines("http://127.0.0.1:8080", "qb-1"))


@pytest.mark.process
async def test_a_model_that_does_not_work_is_said_with_its_cause_and_the_command_that_shows_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUERYBUS_LLM_MODEL", "m")
    with ScriptedModel(fail(401)) as server:
        monkeypatch.setenv("QUERYBUS_LLM_BASE_URL", server.base_url)
        said = await try_in_process("m", tmp_path)
        assert len(server.requests) == 1
    assert said.startswith("warning: the model m does not work (key: HTTP 401")
    assert "`querybus models test m`" in said
    with ScriptedModel(say("SELECT 1")) as server:
        monkeypatch.setenv("QUERYBUS_LLM_BASE_URL", server.base_url)
        assert await try_in_process("m", tmp_path) == "the model m replies"
        assert len(server.requests) == 1
