"""Claims on a chosen option: it changes what a model is reported and what it writes; what surrounds a question helps it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from querybus.core.asking_back import OptionAction
from querybus.core.envelope import Attempt, Envelope
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Asked, Clarifies, Drafted, Origin
from querybus.core.stored.models import Prompting
from querybus.llm.dialogue import ChatMessage, ModelReply

from .shop_for_generation import TEXTS, KeptHistory, SpokenModel, asked, run

TRIED = Attempt(
    origin=Origin.MODEL, sql="SELECT 41 + 1", code=FailureCode.TIMEOUT, detail="took too long", validated=True
)
HISTORY = KeptHistory(attempts={"before": (TRIED,)})


class ObedientModel:
    """Writes another statement for each advice that it was given, whatever the question says."""

    async def prompting(self, tenant: str, model: str | None) -> Prompting:
        return Prompting()

    async def reply(
        self, messages: Sequence[ChatMessage], *, timeout_seconds: float, model: str | None = None, **more: Any
    ) -> ModelReply | Failure:
        reported = messages[-1].text
        chosen = [action for action in OptionAction if TEXTS["en"].chosen(action) in reported]
        return ModelReply(f"SELECT {len(reported) if not chosen else list(OptionAction).index(chosen[0])}", 1, 1, "m")


def choosing(action: OptionAction) -> Asked:
    return Asked(clarifies=Clarifies(query_id="before", option_id="1", action=action))


async def sql_of(body: Asked | None = None) -> str:
    after = await run(asked("How many customers?", body=body), model=ObedientModel(), history=HISTORY)
    assert isinstance(after, Envelope)
    assert isinstance(after.body, Drafted)
    return after.body.draft.sql


@pytest.mark.requirement("004.19")
async def test_every_action_changes_the_next_statement() -> None:
    written = [await sql_of(choosing(action)) for action in OptionAction]
    assert len({*written, await sql_of()}) == len(OptionAction) + 1


@pytest.mark.parametrize("action", list(OptionAction))
@pytest.mark.requirement("004.19")
async def test_a_model_is_reported_the_action_the_failed_attempt_and_its_error(action: OptionAction) -> None:
    model = SpokenModel("SELECT 2")
    await run(asked("How many customers?", body=choosing(action)), model=model, history=HISTORY)
    for reported in (TEXTS["en"].chosen(action), "SELECT 41 + 1", "timeout", "took too long"):
        assert reported in model.prompt


async def test_without_a_model_the_first_line_of_an_enriched_question_is_read() -> None:
    plain = await run(asked("How many customers?"))
    rich = await run(asked("anything", enriched_question="How many customers?\nObjective: the growth report"))
    assert isinstance(plain, Envelope)
    assert isinstance(rich, Envelope)
    assert isinstance(rich.body, Drafted)
    assert rich.body == plain.body


@pytest.mark.requirement("003.12")
async def test_a_model_is_reported_what_surrounds_the_question() -> None:
    model = SpokenModel("SELECT 2")
    await run(asked("anything", enriched_question="How many customers?\nObjective: growth"), model=model)
    assert "Objective: growth" in model.prompt
