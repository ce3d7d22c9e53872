"""A conversation with a gateway that is a small fake: what a line does, and what is never done by itself."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console

from querybus_cli.commands.chat import Chat
from querybus_cli.operations.remote import STORE_KEYS, key_of
from querybus_cli.runtime import UsageError
from querybus_client import Answer, Client, Event, Page, Query, Refused

THREAD = "0190a0a0-0000-7000-8000-00000000beef"
HASH = "ab" * 32


class Gateway:
    """Ends every query as it was reported, and keeps what it was asked."""

    def __init__(self, *endings: dict[str, Any]) -> None:
        self._endings = list(endings)
        self.asked: list[tuple[Any, ...]] = []
        self.interrupts = False

    def _begun(self, *asked: Any) -> Query:
        self.asked.append(asked)
        return Query.of({"id": THREAD, "thread_id": THREAD, "status": "running", "answer": None})

    def submit(self, question: str, **how: Any) -> Query:
        if question == "refuse me":
            raise Refused(422, {"code": "invalid", "detail": "not like that"})
        return self._begun("ask", question, how["thread_id"])

    def submit_clarification(self, query_id: str, *, option_id: str) -> Query:
        return self._begun("clarify", option_id)

    def submit_confirmation(self, query_id: str, confirmation: Any, *, rows_affected_max: int | None) -> Query:
        return self._begun("confirm", confirmation.sql_sha256, rows_affected_max)

    def follow(self, query_id: str) -> Iterator[Event]:
        yield Event("progress", None, {"stage": "generator"})
        if self.interrupts:
            raise KeyboardInterrupt
        ending = self._endings.pop(0)
        yield Event("finished", 9, {"answer": {"query_id": THREAD, "thread_id": THREAD, "message": "", **ending}})

    def cancel(self, query_id: str) -> None:
        self.asked.append(("cancel",))

    def query(self, query_id: str, *, wait_seconds: int) -> Query:
        answer = {"query_id": THREAD, "thread_id": THREAD, "outcome": "cancelled", "message": "Cancelled."}
        return Query.of({"id": THREAD, "status": "finished", "answer": answer})

    def turns(self, thread_id: str) -> list[Any]:
        return []

    def export(self, query_id: str, how: str) -> Iterator[bytes]:
        yield b"city\nRome\n"

    def page(self, query_id: str, number: int, *, size: int) -> Page:
        self.asked.append(("page", number, size))
        rows = [[f"city {n}"] for n in range(45)][(number - 1) * size : number * size]
        return Page.of({"query_id": query_id, "page": number, "page_size": size, "rows": rows, "has_next": number < 3})

    def chart(self, query_id: str, how: str) -> bytes:
        return f"<{how}>".encode()

    def feedback(self, query_id: str, verdict: str) -> None:
        self.asked.append(("feedback", verdict))


def converse(gateway: Gateway, *lines: str, is_terminal: bool = True) -> str:
    """Return what the conversation showed."""
    waiting = list(lines)

    def read(_: str) -> str:
        if not waiting:
            raise EOFError
        return waiting.pop(0)

    out = io.StringIO()
    Chat(
        cast("Client", gateway),
        Console(file=out, width=160),
        read,
        lambda: nullcontext(lambda _: None),
        connection=None,
        options={},
        is_terminal=is_terminal,
    ).run()
    return out.getvalue()


ANSWERED = {
    "outcome": "answered",
    "sql": "SELECT 1",
    "columns": [{"id": "city", "label": "city", "kind": "text"}],
    "rows": [["Rome"]],
    "row_count": 1,
}
ASKED_BACK = {
    "outcome": "clarification",
    "message": "Which city?",
    "options": [
        {"id": "o1", "text": "Rome", "question": "How many in Rome?", "action": "add_filter"},
        {"id": "o2", "text": "Bonn", "question": "How many in Bonn?", "action": "add_filter"},
    ],
}
WRITE = {
    "outcome": "confirmation",
    "message": "This changes 3 rows.",
    "confirmation": {"reason": "write", "kind": "UPDATE", "sql_sha256": HASH, "rows_affected_max": 3},
}


def test_a_follow_up_stays_in_the_thread_until_a_new_one_is_begun() -> None:
    gateway = Gateway(ANSWERED, ANSWERED, ANSWERED)
    converse(gateway, "first", "second", "/new", "third")
    assert [item[2] for item in gateway.asked] == [None, THREAD, None]


def test_more_shows_the_rows_behind_those_that_were_shown_until_there_are_none() -> None:
    gateway = Gateway({**ANSWERED, "rows": [[f"city {n}"] for n in range(45)], "row_count": 45})
    shown = converse(gateway, "/more", "which", "/more", "/more", "/more")
    assert "there is no result" in shown
    assert gateway.asked[1:] == [("page", 2, 20), ("page", 3, 20)]
    assert "rows 41 to 45 of 45" in shown
    assert "city 44" in shown
    assert "these are all rows" in shown


def test_a_chart_is_saved_where_there_is_one_and_nothing_is_overwritten(tmp_path: Path) -> None:
    gateway, file = Gateway({**ANSWERED, "chart": {"mark": "bar"}}, ANSWERED), tmp_path / "c.svg"
    shown = converse(
        gateway, "which", f"/chart {file}", f"/chart {file}", f"/chart {tmp_path / 'c.gif'}", "which", "/chart x.svg"
    )
    assert file.read_bytes() == b"<svg>"
    for text in ("is there already", "with one of .svg, .png", "there is no chart"):
        assert text in shown


def test_a_number_chooses_a_way_on() -> None:
    gateway = Gateway(ASKED_BACK, ANSWERED)
    shown = converse(gateway, "how many", "9", "2")
    assert gateway.asked[1:] == [("clarify", "o2")]
    assert "How many in Bonn?" in shown
    assert "say a number from 1 to 2" in shown


def test_a_number_is_a_question_where_nothing_is_offered() -> None:
    gateway = Gateway(ANSWERED, ANSWERED)
    converse(gateway, "how many", "2")
    assert gateway.asked[1][:2] == ("ask", "2")


@pytest.mark.parametrize(("said", "is_done"), [("yes", True), ("YES", True), ("y", False), ("no", False), ("", False)])
def test_a_change_is_made_only_after_a_typed_yes(said: str, is_done: bool) -> None:
    gateway = Gateway(WRITE, ANSWERED)
    shown = converse(gateway, "raise the prices", said)
    assert (("confirm", HASH, 3) in gateway.asked) == is_done
    assert ("nothing was done" in shown) == (not is_done)


def test_what_is_piped_in_confirms_nothing() -> None:
    gateway = Gateway(WRITE, ANSWERED)
    shown = converse(gateway, "raise the prices", "yes", is_terminal=False)
    assert not [item for item in gateway.asked if item[0] == "confirm"]
    assert f"--hash {HASH}" in shown.replace("\n", " ")


def test_an_interrupt_cancels_the_query_that_runs_and_the_conversation_goes_on() -> None:
    gateway = Gateway(ANSWERED)
    gateway.interrupts = True
    shown = converse(gateway, "slow question", "/sql")
    assert ("cancel",) in gateway.asked
    assert "Cancelled." in shown
    assert "no statement" in shown


def test_a_refused_question_is_said_and_the_conversation_goes_on() -> None:
    shown = converse(Gateway(ANSWERED), "refuse me", "fine question")
    assert "not like that" in shown
    assert "Rome" in shown


def test_the_commands(tmp_path: Path) -> None:
    gateway, file = Gateway(ANSWERED), tmp_path / "rows.csv"
    shown = converse(
        gateway, "/export x.csv", "q", "/sql", f"/export {file}", f"/export {file}", "/export x.pdf", "/right", "/what"
    )
    assert "no result to export" in shown
    assert "SELECT 1" in shown
    assert file.read_bytes() == b"city\nRome\n"
    assert "is there already" in shown.replace("\n", " ")
    assert "/export FILE" in shown
    assert ("feedback", "right") in gateway.asked
    assert "/help lists them" in shown


def test_a_key_comes_from_the_environment_a_file_or_a_stack_of_this_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="QUERYBUS_KEY"):
        key_of(None, None, "analyst")
    STORE_KEYS.parent.mkdir()
    STORE_KEYS.write_text('{"analyst": "qb.local.analyst.x"}')
    assert key_of(None, None, "analyst") == "qb.local.analyst.x"
    (tmp_path / "key").write_text("qb.a.b.c\n")
    assert key_of(None, tmp_path / "key", "analyst") == "qb.a.b.c"
    assert key_of("given", tmp_path / "key", "analyst") == "given"


def test_an_answer_has_its_confirmation() -> None:
    answer = Answer.of({"query_id": THREAD, "thread_id": THREAD, **WRITE})
    assert answer.confirmation is not None
    assert not answer.is_good
