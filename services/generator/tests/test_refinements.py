"""What refines an answer in a thread goes on, with and without a model; what changes stored data does not."""

from __future__ import annotations

import pytest
from services.generator.tests.said_in_threads import CHANGES_IN_THREAD, REFINEMENTS
from services.generator.tests.shop_for_generation import KeptHistory, SpokenModel, asked, run

from querybus.core.messages import Concluded, Drafted, Outcome
from querybus.core.options import Mode, Options
from querybus.core.policy import Access, ConnectionPolicy
from querybus_generator.conversation.turns import Turn
from querybus_generator.subject import bare_words
from querybus_generator.wording.refinement import refines_answer
from querybus_generator.wording.write_intent import write_intent

SAID = "```sql\nSELECT city, count(*) FROM customers GROUP BY city\n```"


@pytest.mark.parametrize(("before", "said"), REFINEMENTS)
def test_its_object_is_the_answer(before: str, said: str) -> None:
    assert refines_answer(said, bare_words(before), bare_words(said))


@pytest.mark.parametrize(("before", "said"), CHANGES_IN_THREAD)
def test_the_object_of_a_change_is_stored(before: str, said: str) -> None:
    assert write_intent(said) is not None
    assert not refines_answer(said, bare_words(before), bare_words(said))


@pytest.mark.parametrize("access", [Access.READ_ONLY, Access.READ_WRITE])
@pytest.mark.parametrize(("before", "said"), REFINEMENTS)
async def test_a_refinement_reaches_the_model_with_the_thread_and_becomes_a_statement(
    before: str, said: str, access: Access
) -> None:
    model = SpokenModel(SAID)
    history = KeptHistory(Turn(before, sql="SELECT city FROM customers"))
    made = await run(asked(said), model=model, history=history, policy=ConnectionPolicy(access=access))
    assert isinstance(made.body, Drafted)  # type: ignore[union-attr]
    # Only where the words ask for a change in any case does the answer say that there was none.
    assert made.body.notes == ()  # type: ignore[union-attr]
    assert [message.text for message in model.prompts[0]][1] == before


@pytest.mark.parametrize(("before", "said"), REFINEMENTS)
async def test_a_refinement_is_not_refused_without_a_model_either(before: str, said: str) -> None:
    history = KeptHistory(Turn(before, sql="SELECT city FROM customers"))
    options = Options(mode=Mode.DATABASE)
    made = await run(asked(said, options=options), history=history)
    assert not isinstance(made.body, Concluded) or made.body.outcome is not Outcome.REFUSED  # type: ignore[union-attr]


@pytest.mark.parametrize(("before", "said"), CHANGES_IN_THREAD)
async def test_a_change_in_a_thread_is_refused_by_a_model_that_writes_none(before: str, said: str) -> None:
    model = SpokenModel("That would change stored data, which is not possible here.")
    history = KeptHistory(Turn(before, sql="SELECT city FROM customers"))
    for asked_of in (model, None):
        made = await run(asked(said), model=asked_of, history=history)
        assert isinstance(made.body, Concluded)  # type: ignore[union-attr]
        assert made.body.outcome is Outcome.REFUSED  # type: ignore[union-attr]
    assert "may ask to change stored data" in model.prompt or "可能要求更改" in model.prompt


async def test_praise_before_a_question_does_not_make_it_small_talk() -> None:
    history = KeptHistory(Turn("How many customers are there per city?", sql="SELECT city FROM customers"))
    model = SpokenModel(SAID)
    made = await run(asked("Good job! Can we see the same thing for suburbs?"), model=model, history=history)
    assert isinstance(made.body, Drafted)  # type: ignore[union-attr]
