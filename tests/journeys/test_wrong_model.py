"""A wrong model is survived: whatever it says, the query ends in time, typed, with exact counts, and no data is lost."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from querybus.core.subjects import StageName
from querybus_cli.commands.ask import ask
from querybus_cli.local.local_stack import Stack, StackPlan
from tests.support.scripted_model import (
    ScriptedModel,
    Seen,
    Step,
    cut_json,
    empty_choice,
    fail,
    garbage,
    hang,
    in_order,
    say,
)

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

RIGHT = "SELECT COUNT(name) FROM customers"
FENCED = "Here it is:\n```sql\nSELECT COUNT(*) FROM customers;\n```\nHave fun!"


class Context:
    """A model whose script depends on the question that it is asked."""

    def __init__(self) -> None:
        self._scripts: dict[str, Callable[[Seen], Step]] = {}
        self.calls: dict[str, int] = {}
        self._number = 0

    def question(self, *steps: Step, readable: str = "") -> str:
        """Return a new question that will be answered by these steps in turn, the last repeated.

        The translator cannot read it, unless one is given that it can.
        """
        self._number += 1
        text = readable or f"How many customers are there, case {self._number:03}?"
        self._scripts[text] = in_order(steps)
        self.calls[text] = 0
        return text

    def __call__(self, seen: Seen) -> Step:
        for text, script in self._scripts.items():
            if text in seen.text:
                self.calls[text] += 1
                return script(seen)
        return fail(400)


class Place:
    """One stack with one model and one database for this module's tests."""

    def __init__(self, stack: Stack, context: Context, file: Path) -> None:
        self.stack = stack
        self.context = context
        self.file = file

    async def ask(self, question: str, **options: Any) -> dict[str, Any]:
        async with self.stack.client("analyst") as client:
            return await ask(client, {"question": question, "connection": "shop", "options": options}, lambda _: None)

    def customers(self) -> int:
        with sqlite3.connect(self.file) as connection:
            return connection.execute("SELECT COUNT(*) FROM customers").fetchone()[0]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Place]:
    directory = tmp_path_factory.mktemp("wrong-model")
    file = directory / "shop.sqlite"
    with sqlite3.connect(file) as connection:
        connection.executescript(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT);"
            "INSERT INTO customers VALUES (1,'Ann','Lyon'),(2,'Bob','Paris'),(3,'Cid','Lyon');"
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id), total REAL);"
            "INSERT INTO orders VALUES (11,2,5.0),(12,2,7.0),(13,1,9.0);"
        )
    connections = directory / "connections.yaml"
    connections.write_text(json.dumps({"connections": [{"name": "shop", "url": f"sqlite:///{file}"}]}))
    context = Context()
    with ScriptedModel(context) as model:
        address = {"llm_base_url": model.base_url}
        # The breaker is for a model that is down for everybody; here each question has a model of its own.
        extra = {StageName.GENERATOR: {**address, "llm_breaker_failures": "1000"}, StageName.RECOVERY: address}
        async with Stack(StackPlan(connections_file=connections, sync="2m", extra=extra)) as stack:
            yield Place(stack, context, file)


@pytest.mark.requirement("001.7", "000.16")
async def test_a_wrong_column_first_and_right_second_is_answered_with_one_retry(place: Place) -> None:
    question = place.context.question(say("SELECT COUNT(surname_of_somebody) FROM customers"), say(RIGHT))
    answer = await place.ask(question)
    assert answer["outcome"] == "answered", answer
    assert answer["rows"] == [[3]]
    assert answer["retries"]["generation"] == 1
    assert [attempt["executed"] for attempt in answer["attempts"]] == [False, True]
    assert answer["attempts"][0]["code"] == "column_not_found"
    assert place.context.calls[question] == 2


@pytest.mark.parametrize("retries", [0, 1, 5])
@pytest.mark.requirement("001.10")
async def test_an_always_wrong_model_stops_at_the_budget(place: Place, retries: int) -> None:
    steps = [say(f"SELECT COUNT(nonsense_column_{number}) FROM customers") for number in range(9)]
    question = place.context.question(*steps)
    answer = await place.ask(question, retries_max=retries)
    assert answer["outcome"] == "failed", answer
    assert answer["retries"]["generation"] == retries
    assert len(answer["attempts"]) == retries + 1
    assert place.context.calls[question] == retries + 1


async def test_the_same_wrong_sql_again_ends_the_retries(place: Place) -> None:
    question = place.context.question(say("SELECT COUNT(nonsense_column) FROM customers"))
    answer = await place.ask(question, retries_max=5)
    assert answer["outcome"] == "failed"
    assert place.context.calls[question] == 2


async def test_the_same_sql_again_is_repaired_by_rule_and_says_what_was_assumed(place: Place) -> None:
    question = place.context.question(say("SELECT COUNT(naem) FROM customers"))
    answer = await place.ask(question, retries_max=5)
    assert answer["outcome"] == "answered", answer
    assert answer["rows"] == [[3]]
    assert any("naem" in note for note in answer["notes"])
    assert place.context.calls[question] == 2


async def test_prose_without_sql_is_asked_back_or_failed_but_never_run(place: Place) -> None:
    question = place.context.question(
        say("I am sorry, I cannot help with that. Could you tell me more about the data?")
    )
    answer = await place.ask(question)
    assert answer["outcome"] in ("clarification", "failed")
    assert not any(attempt["executed"] for attempt in answer["attempts"])
    assert place.context.calls[question] <= 3


async def test_a_fenced_answer_is_taken_out_of_its_fence(place: Place) -> None:
    answer = await place.ask(place.context.question(say(FENCED)))
    assert answer["rows"] == [[3]]
    assert answer["retries"] == {"generation": 0, "mend": 0}


@pytest.mark.parametrize(
    "statement", ["DROP TABLE customers", "DELETE FROM customers", "SELECT 1; DROP TABLE customers"]
)
@pytest.mark.requirement("000.13")
async def test_a_statement_that_harms_is_refused_and_the_table_is_still_there(place: Place, statement: str) -> None:
    answer = await place.ask(place.context.question(say(f"```sql\n{statement}\n```")))
    assert answer["outcome"] in (("refused",) if ";" not in statement else ("refused", "failed")), answer
    assert not any(attempt["executed"] for attempt in answer["attempts"])
    assert place.customers() == 3


async def test_two_statements_are_not_run_and_a_second_draft_may_be_right(place: Place) -> None:
    answer = await place.ask(place.context.question(say("SELECT 1; SELECT COUNT(*) FROM customers"), say(RIGHT)))
    assert answer["outcome"] == "answered", answer
    assert answer["rows"] == [[3]]
    assert answer["retries"]["generation"] == 1


async def test_a_model_that_knows_no_name_is_answered_for_by_the_translator_which_is_said(place: Place) -> None:
    question = place.context.question(say("SELECT zzz FROM qqq"), readable="How many customers live in Lyon?")
    answer = await place.ask(question)
    assert (answer["outcome"], answer["rows"]) == ("answered", [[2]]), answer
    assert [(tried["origin"], tried["executed"]) for tried in answer["attempts"]] == [
        ("model", False),
        ("builtin", True),
    ]
    assert any("did not work" in note for note in answer["notes"])
    assert answer["confidence"] > 0.7
    assert place.context.calls[question] == 2, "the model has its retry first"


async def test_a_join_by_no_key_that_finds_nothing_gives_way_to_one_by_the_key(place: Place) -> None:
    joined = "SELECT COUNT(*) FROM orders AS o JOIN customers AS c ON o.id = c.id WHERE c.city = 'Paris'"
    question = place.context.question(say(joined), readable="How many orders have customers from Paris?")
    answer = await place.ask(question)
    assert answer["rows"] == [[2]], answer
    assert [tried["origin"] for tried in answer["attempts"]] == ["model", "builtin"]
    assert answer["retries"] == {"generation": 0, "mend": 0}
    assert place.context.calls[question] == 1, "reading costs no call"


async def test_a_cross_check_says_how_sure_a_draft_without_a_doubt_is_and_how_else_the_question_reads(
    place: Place,
) -> None:
    question = place.context.question(
        say("SELECT name FROM customers"), readable="What are the names and cities of all customers?"
    )
    alone = await place.ask(question, cross_check=False)
    assert alone["confidence"] > 0.7
    assert alone["notes"] == []
    answer = await place.ask(question, effort="quick")
    assert answer["confidence"] < 0.45
    assert any("Read as" in note and "city" in note for note in answer["notes"]), answer["notes"]
    assert len(answer["rows"]) == 3, "what ran is not passed over"


async def test_a_draft_that_is_read_otherwise_is_put_to_a_vote_and_what_two_of_three_give_is_shown(
    place: Place,
) -> None:
    question = place.context.question(
        say("SELECT name FROM customers"),
        say("SELECT name, city FROM customers ORDER BY name"),
        readable="What are the names and cities of all customers?",
    )
    answer = await place.ask(question)
    assert (answer["outcome"], len(answer["rows"][0]), answer["written_by"]) == ("answered", 2, "builtin"), answer
    assert place.context.calls[question] == 2
    assert answer["model_use"]["calls"] == 2
    assert answer["confidence"] > 0.7
    assert any("two give this result" in note for note in answer["notes"]), answer["notes"]
    assert [(tried["origin"], tried["executed"]) for tried in answer["attempts"]][-1] == ("builtin", True)


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("429", fail(429, retry_after_seconds=0.1)),
        ("500", fail(500)),
        ("401", fail(401)),
        ("hang", hang()),
        ("cut", cut_json()),
        ("garbage", garbage()),
        ("empty", empty_choice()),
        ("silence", say("")),
    ],
)
async def test_a_model_that_breaks_down_gives_a_clear_outcome_in_time_and_no_storm(
    place: Place, name: str, step: Step
) -> None:
    question = place.context.question(step)
    # It hangs for an hour where it hangs; how late an end may be is measured by `make faults`.
    answer = await place.ask(question, deadline_seconds=8, retries_max=1)
    # Where the model fails, the built-in translator may still answer; it says so. Otherwise the outcome is typed.
    assert answer["outcome"] in ("answered", "clarification", "failed", "expired"), (name, answer)
    assert answer["message"]
    assert place.context.calls[question] <= 4, f"a storm of {place.context.calls[question]} calls"


async def test_an_instruction_in_the_models_answer_reaches_no_reader_of_business(place: Place) -> None:
    question = place.context.question(say("SELECT COUNT(nonsense_column) FROM customers"))
    async with place.stack.client("business") as client:
        answer = await ask(client, {"question": question, "connection": "shop"}, lambda _: None)
    reported = json.dumps({key: value for key, value in answer.items() if key != "question"})
    assert "nonsense_column" not in reported
    assert "SELECT" not in reported
