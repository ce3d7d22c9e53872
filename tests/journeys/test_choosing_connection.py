"""Over a running stack with several databases a question that names none goes where its words stand, or is asked about."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.test_up import Running

pytestmark = [pytest.mark.connected, pytest.mark.slow]
SCRIPTS = {
    "clinic": """
        CREATE TABLE patients (patient_id INTEGER PRIMARY KEY, full_name TEXT, ward TEXT, age INTEGER);
        INSERT INTO patients VALUES (1, 'Ada', 'north', 30), (2, 'Bo', 'south', 50);
    """,
    "library": """
        CREATE TABLE books (book_id INTEGER PRIMARY KEY, title TEXT, author TEXT);
        CREATE TABLE readers (reader_id INTEGER PRIMARY KEY, full_name TEXT, age INTEGER);
        INSERT INTO books VALUES (1, 'Dune', 'Herbert'), (2, 'Emma', 'Austen'), (3, 'Persuasion', 'Austen');
        INSERT INTO readers VALUES (1, 'Cy', 20);
    """,
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    folder: Path = tmp_path_factory.mktemp("choosing")
    entries: list[dict[str, str]] = []
    for name, script in SCRIPTS.items():
        with contextlib.closing(sqlite3.connect(folder / f"{name}.sqlite")) as file:
            file.executescript(script)
        entries.append({"name": name, "url": f"sqlite:///{folder / name}.sqlite", "description": f"The {name}"})
    (folder / "connections.yaml").write_text(json.dumps({"connections": entries}))
    running = Running(folder)
    try:
        running.wait_ready()
        yield running
    finally:
        if running.process.poll() is None:
            running.stop()


def asked(stack: Running, question: str, **more: Any) -> dict[str, Any]:
    status, query = stack.http("POST", "/v1/queries", {"question": question, **more}, Prefer="wait=30")
    assert status == 200, query
    return query["answer"]


def test_a_question_goes_where_its_words_stand_and_the_answer_says_where(stack: Running) -> None:
    books = asked(stack, "How many books are there?")
    assert (books["connection"], books["rows"]) == ("library", [[3]])
    assert books["connection_label"] == "The library"
    assert asked(stack, "How many patients are in each ward?")["connection"] == "clinic"


def test_where_words_do_not_decide_a_person_chooses_and_the_thread_stays_there(stack: Running) -> None:
    asking = asked(stack, "What is the average age?")
    assert asking["outcome"] == "clarification"
    options = {option["connection"]: option for option in asking["options"]}
    assert {name: option["text"] for name, option in options.items()} == {
        "clinic": "The clinic",
        "library": "The library",
    }
    thread = asking["thread_id"]
    chosen = asked(stack, options["library"]["id"], thread_id=thread)
    assert (chosen["connection"], chosen["rows"]) == ("library", [[20]])
    assert asked(stack, "How many readers are there?", thread_id=thread)["connection"] == "library"
    assert (
        asked(stack, "How many patients are there in the clinic database?", thread_id=thread)["connection"] == "clinic"
    )
    status, query = stack.http(
        "POST", f"/v1/queries/{asking['query_id']}/clarify", {"option_id": options["clinic"]["id"]}, Prefer="wait=30"
    )
    assert (status, query["answer"]["connection"], query["answer"]["rows"]) == (200, "clinic", [[40]])
