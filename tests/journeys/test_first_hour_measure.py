"""Claims on how the first hour is measured: what counts as right, as masked wrongly, and as a question back that leads on."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
import sqlglot

from benchmarks.first_hour_judge import (
    has_masks,
    hidden_though_harmless,
    is_right,
    is_sure,
    leads_on,
    shown_though_personal,
)
from benchmarks.first_hour_schemas import Schema, load_schemas

DAY = dt.date(2026, 6, 30)
SCHEMAS = load_schemas(1, DAY)


def ids(schema: Schema) -> str:
    return schema.name


def test_ten_databases_are_looked_at_and_ten_others_are_not() -> None:
    assert [schema.is_held_out for schema in SCHEMAS] == [False] * 10 + [True] * 10
    tables = [{table.name.lower() for table in schema.tables} for schema in SCHEMAS]
    assert len({schema.name for schema in SCHEMAS}) == 20
    assert not any(own & others and own <= others for own in tables[10:] for others in tables[:10])


@pytest.mark.parametrize("schema", SCHEMAS, ids=ids)
def test_a_database_is_one_of_a_business_with_rows_up_to_today_and_questions_that_have_an_answer(
    schema: Schema,
) -> None:
    assert 6 <= len(schema.tables) <= 12
    assert 15 <= len(schema.questions) <= 20
    assert {question.mark for question in schema.questions} == {"?", ">", "!", "~"}
    assert {question.language for question in schema.questions} == {"en", "zh"}
    assert schema.personal_columns()
    days = [cell for rows in schema.rows.values() for row in rows for cell in row if isinstance(cell, dt.date)]
    newest = max(day.date() if isinstance(day, dt.datetime) else day for day in days)
    assert DAY - dt.timedelta(days=14) <= newest <= DAY
    for question in schema.questions:
        assert (question.gold is None) == (question.mark in "!~")
        assert question.gold is None or sqlglot.parse_one(question.gold, dialect="postgres")


def test_another_seed_makes_other_rows_and_the_same_seed_the_same() -> None:
    again, other = load_schemas(1, DAY)[0], load_schemas(2, DAY)[0]
    assert again.rows == SCHEMAS[0].rows
    assert other.rows != SCHEMAS[0].rows


def test_rows_are_right_under_any_label_and_order_and_wrong_where_a_group_has_anothers_figure() -> None:
    gold = [("Rome", 2), ("Oslo", 5)]
    assert is_right(["city", "count"], gold, [[5, "Oslo", "x"], [2, "Rome", "y"]])
    assert not is_right(["city", "count"], gold, [[2, "Oslo"], [5, "Rome"]])
    assert not is_right(["city", "count"], gold, [[5, "Oslo"]])


def test_personal_columns_of_the_reference_are_compared_by_number_of_rows_only() -> None:
    assert is_right(["hidden", "count"], [("Ann", 1)], [["A.", 1]])
    assert not is_right(["hidden", "count"], [("Ann", 1)], [["A.", 2]])
    assert not is_right(["hidden"], [("Ann",), ("Bo",)], [["A."]])


def test_a_masked_column_is_hidden_wrongly_only_where_it_holds_nothing_personal() -> None:
    seen = [["***", 3], ["***", 4]]
    assert has_masks({"rows": seen})
    assert hidden_though_harmless(seen, [["Spain", 3], ["Japan", 4]], {"Ann Lee"})
    assert not hidden_though_harmless(seen, [["Ann Lee", 3], ["Bo Li", 4]], {"Ann Lee", "Bo Li"})
    assert not has_masks({"rows": [["N. Ireland", 3]]})
    assert has_masks({"rows": [["张*", 3]]})


@pytest.mark.parametrize(
    "answer",
    [
        {"rows": [["Ann Lee", 3]]},
        {"rows": [], "summary": "Ann Lee has the most."},
        {"rows": [], "options": [{"text": "Only of Ann Lee"}]},
        {"rows": [], "chart": {"data": {"values": [{"c1": "Ann Lee"}]}}},
    ],
)
def test_a_personal_value_counts_as_shown_wherever_it_stands(answer: dict[str, Any]) -> None:
    assert shown_though_personal(answer, {"Ann Lee"}, "Who has the most orders?") == "Ann Lee"
    assert shown_though_personal(answer, {"Ann Lee"}, "How many orders has Ann Lee?") is None
    assert shown_though_personal(answer, {"Bo Li"}, "Who has the most orders?") is None


def test_a_question_back_leads_on_where_it_names_a_thing_and_not_where_it_says_the_same_to_everybody() -> None:
    things = ["shop.invoices", "invoices.issued_on"]
    generic = {"message": "Please describe it in more detail.", "options": [{"text": "Name a period"}]}
    assert not leads_on(generic, "How is business going?", things)
    assert leads_on(generic | {"next_step": "I know invoices."}, "How is business going?", things)
    assert leads_on(generic | {"options": [{"text": "How many invoices are there?"}]}, "How is business going?", things)
    assert leads_on({"message": "What counts as recent?"}, "recent orders", things)
    assert not leads_on(
        {"message": "Try later.", "options": [{"text": "orders", "action": "retry_as_is"}]}, "x", things
    )
    assert leads_on({"message": "“销售额”指的是什么？"}, "上个月的销售额", things)


def test_an_answer_is_sure_unless_it_asks_to_be_checked_or_its_confidence_is_low() -> None:
    assert is_sure({"confidence": 0.9, "notes": ["Asked of “shop”."]})
    assert not is_sure({"confidence": 0.4, "notes": []})
    assert not is_sure({"confidence": 0.9, "notes": ["This reading is not certain; please check it."]})
