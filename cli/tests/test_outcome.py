"""An answer as the command line gives it: what a program gets of a change, and what a person reads of it."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from querybus_cli.terminal.outcome import as_json, exit_code, show, yes_question

ASKED: dict[str, Any] = {
    "outcome": "confirmation",
    "sql": "UPDATE stock SET amount = 1",
    "message": "This would change 2 entries.",
    "confirmation": {"reason": "write", "kind": "UPDATE", "sql_sha256": "ab" * 32, "rows_affected_max": 2},
}
DONE: dict[str, Any] = {
    "outcome": "answered",
    "sql": "UPDATE stock SET amount = 1",
    "message": "Done: 2 entries were changed.",
    "rows_affected": 2,
    "columns": [{"id": "rows_affected", "label": "rows_affected", "kind": "integer"}],
    "rows": [[2]],
    "row_count": 1,
}


def shown(answer: dict[str, Any]) -> str:
    out = io.StringIO()
    show(answer, Console(file=out, width=120))
    return out.getvalue()


def test_a_program_gets_what_it_needs_to_confirm_and_how_much_was_changed() -> None:
    assert (as_json(ASKED)["confirmation"]["sql_sha256"], exit_code(ASKED)) == ("ab" * 32, 3)
    assert (as_json(ASKED)["rows_affected"], as_json(DONE)["rows_affected"]) == (None, 2)


def test_of_a_change_a_person_reads_its_count_once() -> None:
    assert "UPDATE stock" in shown(DONE)
    assert shown(DONE).count("2") == 1
    assert "rows_affected" not in shown(DONE)


def test_a_yes_is_asked_for_with_what_it_allows() -> None:
    assert "at most 1 row?" in yes_question("write", 1)
    assert "at most 1,200 rows?" in yes_question("write", 1_200)
    assert "Run it anyway?" in yes_question("cost", 0)


def test_an_analyst_reads_which_model_wrote_the_statement_and_what_its_calls_took() -> None:
    use = {"calls": 1, "tokens_in": 1_200, "tokens_out": 30, "tokens_cached": 0, "tokens_reasoning": 0, "cost": 0.0}
    answer = {"outcome": "answered", "message": "There are 3.", "model": "gpt-8", "model_use": use}
    out = Console(width=120, record=True, file=io.StringIO())
    show(answer, out, with_path=True)
    assert "model gpt-8: 1 call, 1,200 tokens in, 30 out" in out.export_text()
    assert (as_json(answer)["model"], as_json(answer)["model_use"]) == ("gpt-8", use)
    assert as_json({"outcome": "answered"})["model_use"] is None
