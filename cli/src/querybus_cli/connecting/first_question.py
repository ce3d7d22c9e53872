"""Asks the first question of a new connection and compares the answer with rows that were counted directly."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from querybus_cli.connecting.dialogue import Dialogue
from querybus_client import Client, QueryBusError
from querybus_executor.connections.set_up.examine import CountedTable

Answer = Mapping[str, Any]
Ask = Callable[[str], Answer]
"""Asks a question of the new connection and returns the public answer, or the problem."""

QUESTIONS_MAX: Final = 3
LISTED_SECONDS_MAX: Final = 330.0
"""The executor takes at most 300 s to read the files of a folder; a slow machine needs some of them."""
PROGRESS_SECONDS: Final = 5.0
LIST_PAUSE_SECONDS: Final = 0.5
_STEP: Final = "question"


def ask_first(dialogue: Dialogue, counted: Sequence[CountedTable], ask: Ask, name: str) -> None:
    """Ask until an answer agrees with its count, and report it; what disagrees is reported as that."""
    if not counted:
        dialogue.say(
            _STEP, "note", "no first question: no table's name can be read",
            f"`querybus describe --connection {name}` drafts names for people",
        )  # fmt: skip
        return
    wrong: tuple[CountedTable, str] | None = None
    for item in counted[:QUESTIONS_MAX]:
        dialogue.work(f"asking: {item.question}")
        answer = ask(item.question)
        figure = figure_of(answer)
        if figure == item.rows:
            text = f"{item.question} {figure:,}, the same as counted directly"
            dialogue.say(_STEP, "ok", text, question=item.question, answer=figure, counted=item.rows)
            return
        said = str(answer.get("message") or answer.get("detail") or answer.get("title") or "no answer")
        wrong = wrong or (item, said if figure is None else f"{figure:,}")
    if wrong is not None:
        item, said = wrong
        text = f"{item.question} The answer was: {said}. Counted directly: {item.rows:,}"
        dialogue.say(_STEP, "note", text, question=item.question, answer=said, counted=item.rows)


def figure_of(answer: Answer) -> int | None:
    """Return the one whole number that an answer holds, or None."""
    rows = answer.get("rows") or []
    if answer.get("outcome") != "answered" or len(rows) != 1 or len(rows[0]) != 1:
        return None
    try:
        return int(rows[0][0])
    except (TypeError, ValueError):
        return None


def ask_over_http(dialogue: Dialogue, url: str, key: str, connection: str) -> Ask:
    """Return what asks a running gateway, which first has to list the connection and know its tables."""
    from querybus_cli.operations.remote import calling

    def ask(question: str) -> Answer:
        with calling(url, key) as client:
            begun = time.monotonic()
            reported = begun
            while not _is_known(client, connection):
                now = time.monotonic()
                if now - begun > LISTED_SECONDS_MAX:
                    return {
                        "detail": f"the running stack has not read {connection} within {LISTED_SECONDS_MAX:g} s: "
                        f"`querybus connections test {connection}` says what it waits for"
                    }
                if now - reported > PROGRESS_SECONDS:
                    reported = now
                    dialogue.work(f"the running stack reads the tables of {connection}, {now - begun:.0f} s")
                time.sleep(LIST_PAUSE_SECONDS)
            return client.ask(question, connection=connection).raw

    return ask


def _is_known(client: Client, connection: str) -> bool:
    is_listed = connection in {str(item["name"]) for item in client.connections()}
    try:
        return is_listed and bool(client.catalog(connection).get("tables"))
    except QueryBusError:
        # Not read yet.
        return False
