"""What a model asks back is put to the person in its own words, and what the person answers reaches the next prompt."""

from __future__ import annotations

from typing import Any

import pytest
from services.generator.tests.said_in_threads import QUESTIONS_BACK, STATEMENTS_WITHOUT_SQL
from services.generator.tests.shop_for_generation import KeptHistory, SpokenModel, asked, run
from services.generator.tests.test_flows import drafted

from querybus.core.asking_back import OptionAction, Trigger
from querybus.core.failure import FailureCode
from querybus.core.messages import Asked, Clarifies, Concluded, Outcome
from querybus.sql.reply.asking import alternatives
from querybus.sql.reply.extract import no_sql
from querybus_generator.conversation.turns import Turn

LOYAL = (
    "Could you clarify what makes a customer loyal: the number of orders, the membership level, or the loyalty points?"
)


def concluded(made: Any) -> Concluded:
    assert isinstance(made.body, Concluded)
    return made.body


async def test_a_models_question_is_kept_and_its_alternatives_are_options() -> None:
    body = concluded(await run(asked("Which customers are loyal?"), model=SpokenModel(LOYAL)))
    assert (body.outcome, body.code, body.reply) == (Outcome.CLARIFICATION, FailureCode.AMBIGUOUS_QUESTION, LOYAL)
    assert body.clarification is not None
    assert body.clarification.trigger is Trigger.AMBIGUOUS_QUESTION
    assert [option.text for option in body.clarification.options] == [
        "number of orders",
        "membership level",
        "loyalty points",
    ]
    assert body.clarification.options[1].question == "Which customers are loyal (membership level)?"


@pytest.mark.requirement("000.23")
async def test_a_models_reason_for_missing_data_is_kept() -> None:
    said = "The database does not contain any weather data, so this cannot be answered."
    body = concluded(await run(asked("How was the weather?"), model=SpokenModel(said)))
    assert (body.code, body.reply) == (FailureCode.MISSING_DATABASE_INFO, said)


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("Do you mean the order date or the payment date?", ("order date", "payment date")),
        ("Please choose one:\n1. by revenue\n2. by profit\n", ("by revenue", "by profit")),
        (
            "\u8bf7\u8bf4\u660e\uff1a\u6309\u5929\u3001\u6309\u6708\u8fd8\u662f\u6309\u5e74\uff1f",
            ("\u6309\u5929", "\u6309\u6708", "\u6309\u5e74"),
        ),
        ("Which year do you mean?", ()),
        ("Can you clarify?", ()),
        ("Is it this: a very long sentence " + "that goes on " * 9 + ", or that?", ()),
    ],
)
def test_alternatives_are_read_where_they_are_plain(text: str, offered: tuple[str, ...]) -> None:
    assert alternatives(text) == offered


@pytest.mark.parametrize("is_chosen", [True, False])
async def test_the_answer_to_it_reaches_the_next_prompt_as_one_and_as_no_failure(is_chosen: bool) -> None:
    clarifies = Clarifies(query_id="before", option_id="2", action=OptionAction.CHOOSE_SOURCE)
    body = Asked(clarifies=clarifies) if is_chosen else Asked()
    history = KeptHistory(Turn("Which customers are loyal?", reply=LOYAL))
    model = SpokenModel("SELECT name FROM customers")
    made = await run(asked("those with many orders", body=body), model=model, history=history)
    assert drafted(made).draft.sql == "SELECT name FROM customers"
    said = [(message.role, message.text) for message in model.prompts[0]]
    assert ("assistant", LOYAL) in said
    assert "those with many orders" in said[-1][1]
    assert "failed" not in said[-1][1]


@pytest.mark.parametrize("said", QUESTIONS_BACK)
async def test_a_question_of_a_model_is_put_to_the_person(said: str) -> None:
    body = concluded(await run(asked("Which patients were late?"), model=SpokenModel(said)))
    assert (body.outcome, body.code) == (Outcome.CLARIFICATION, FailureCode.AMBIGUOUS_QUESTION)
    assert body.reply == " ".join(said.split())


OPEN = (
    "Which year",
    "For which",
    "how should ties",
    "How many should",
    "which warehouse",
    "哪一年",
    "哪个仓库",
    "Which one?",
)
"""Questions of the collection that offer nothing to choose from."""


@pytest.mark.parametrize("said", [text for text in QUESTIONS_BACK if not any(word in text for word in OPEN)])
async def test_what_it_offers_are_options(said: str) -> None:
    body = concluded(await run(asked("Which patients were late?"), model=SpokenModel(said)))
    assert body.clarification is not None
    assert len(body.clarification.options) >= 2


@pytest.mark.parametrize("said", STATEMENTS_WITHOUT_SQL)
def test_a_statement_asks_nothing(said: str) -> None:
    assert no_sql(said).code is not FailureCode.AMBIGUOUS_QUESTION
