"""What a model says beside its statement is read, and what another dialect would mean otherwise is put right."""

from __future__ import annotations

import json

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table
from querybus.core.envelope import Envelope
from querybus.core.failure import Failure
from querybus.core.messages import Drafted
from querybus.core.stored.models import Prompting
from querybus_generator.reply.own_dialect import in_own_dialect
from querybus_generator.reply.read import ASSUMPTIONS_MAX, SaidReply, read_reply

from .shop_for_generation import SpokenModel, asked, run

SAID = SaidReply("SELECT 1, 2", "films by year", ("a year begins in May",), ("Year", "Films"))
FORMS = {
    "comment lines": "```sql\n-- reading: films by year\n-- assumptions: a year begins in May\n"
    "-- columns: Year | Films\nSELECT 1, 2\n```",
    "a plan before": "1. films\n2. by year\n```sql\n-- reading: films by year\n-- columns: Year | Films\n"
    "-- assumptions: a year begins in May\nSELECT 1, 2;\n```",
    "no fence": "-- reading: films by year\n-- assumptions: a year begins in May\n-- columns: Year | Films\nSELECT 1, 2",
    "JSON": json.dumps(
        {
            "reading": "films by year",
            "assumptions": ["a year begins in May"],
            "labels": ["Year", "Films"],
            "sql": "SELECT 1, 2",
        }
    ),
    "JSON with labels by column": '```json\n{"sql": "SELECT 1, 2", "reading": "films by year", '
    '"assumptions": "a year begins in May", "labels": {"y": "Year", "n": "Films"}}\n```',
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_reading_assumptions_and_labels_are_read_in_every_form(text: str) -> None:
    assert read_reply(text, Dialect.SQLITE) == SAID


@pytest.mark.parametrize(
    "text",
    ["```sql\nSELECT 1\n```", "SELECT 1", "<think>x</think>SELECT 1;", '{"sql": "SELECT 1"}', "Here:\n\nSELECT 1"],
)
def test_older_forms_read_as_before(text: str) -> None:
    assert read_reply(text, Dialect.SQLITE) == SaidReply("SELECT 1")


def test_a_reading_that_sounds_like_a_statement_is_none() -> None:
    text = "-- reading: select customers from Berlin\nSELECT name FROM customers WHERE city = 'Berlin'"
    said = read_reply(text, Dialect.SQLITE)
    assert said == SaidReply("SELECT name FROM customers WHERE city = 'Berlin'", "select customers from Berlin")


def test_what_is_said_is_bounded_and_on_one_line() -> None:
    lines = "\n".join(["-- reading: " + "x" * 5_000, "-- assumptions: none", "-- columns: A\x1b[31m | " + "y" * 500])
    said = read_reply(f"```sql\n{lines}\nSELECT 1, 2\n```", Dialect.SQLITE)
    assert said == SaidReply("SELECT 1, 2", "", (), ("A[31m", ""))
    many = json.dumps({"sql": "SELECT 1", "assumptions": ["one"] * 50})
    reply = read_reply(many, Dialect.SQLITE)
    assert not isinstance(reply, Failure)
    assert len(reply.assumptions) == ASSUMPTIONS_MAX


async def test_the_draft_carries_what_the_model_said_of_it() -> None:
    made = await run(asked("films by year"), model=SpokenModel(FORMS["comment lines"]))
    assert isinstance(made, Envelope)
    assert isinstance(made.body, Drafted)
    assert made.body.draft.sql == "SELECT 1, 2"
    analysis = made.body.analysis
    assert (analysis.reading, analysis.assumptions, analysis.column_labels) == (
        "films by year",
        ("a year begins in May",),
        ("Year", "Films"),
    )


async def test_a_plan_and_general_examples_are_asked_for_only_where_a_model_wants_them() -> None:
    class Planning(SpokenModel):
        async def prompting(self, tenant: str, model: str | None) -> Prompting:
            return Prompting(reasoning="short", examples=True)

    plain, planning = SpokenModel("SELECT 1"), Planning("SELECT 1")
    for model in (plain, planning):
        await run(asked("how many orders?"), model=model)
    assert "plan of at most three short lines" not in plain.prompt
    assert "plan of at most three short lines" in planning.prompt
    assert planning.prompt.count("```sql\nSELECT") == 3


@pytest.mark.parametrize(
    ("dialect", "written", "meant"),
    [
        (Dialect.MYSQL, 'SELECT "name" FROM "guests"', "SELECT `name` FROM `guests`"),
        (Dialect.MYSQL, 'SELECT name FROM guests WHERE city = "York"', 'SELECT name FROM guests WHERE city = "York"'),
        (Dialect.MYSQL, "SELECT name || ', ' || city FROM guests", "SELECT CONCAT(name, ', ', city) FROM guests"),
        (Dialect.MYSQL, "SELECT 1 FROM guests WHERE id = 1 || id = 2", "SELECT 1 FROM guests WHERE id = 1 || id = 2"),
        (Dialect.BIGQUERY, 'SELECT "name" FROM "guests"', "SELECT `name` FROM `guests`"),
        (Dialect.SQLITE, "SELECT came::timestamp FROM guests", "SELECT DATETIME(came) FROM guests"),
        (Dialect.SQLITE, "SELECT FORMAT(came, 'yyyy-MM') FROM guests", "SELECT STRFTIME('%Y-%m', came) FROM guests"),
        (Dialect.SQLITE, "SELECT FORMAT('%d', id) FROM guests", "SELECT FORMAT('%d', id) FROM guests"),
        (Dialect.POSTGRESQL, 'SELECT "name" FROM "guests"', 'SELECT "name" FROM "guests"'),
    ],
)
def test_what_would_run_and_mean_something_else_is_put_right(dialect: Dialect, written: str, meant: str) -> None:
    kinds = {"id": ColumnKind.INTEGER, "name": ColumnKind.TEXT, "city": ColumnKind.TEXT, "came": ColumnKind.DATETIME}
    columns = tuple(Column(name=name, type="x", kind=kind) for name, kind in kinds.items())
    catalog = Catalog(connection="inn", dialect=dialect, tables=(Table(name="guests", columns=columns),))
    assert in_own_dialect(written, catalog) == meant


def test_what_is_said_within_the_object_of_the_statement_is_said_of_something_else() -> None:
    reply = read_reply('{"sql": "SELECT 1", "schema": {"columns": ["a"], "reading": "b"}}', Dialect.SQLITE)
    assert reply == SaidReply("SELECT 1")


def test_the_arguments_of_a_call_say_what_the_statement_is_and_shows() -> None:
    call = '{"name": "run_sql", "arguments": {"sql": "SELECT 1", "reading": "one", "labels": ["One"]}}'
    assert read_reply(call, Dialect.SQLITE) == SaidReply("SELECT 1", reading="one", labels=("One",))
