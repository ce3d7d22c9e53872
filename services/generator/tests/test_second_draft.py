"""A doubtful first draft is asked for once more; what comes out alike says more than either."""

from __future__ import annotations

from typing import Any

import pytest
from services.generator.tests.shop_for_generation import SHOP, SpokenModel, asked, run

from querybus.core.envelope import Envelope
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Agreement, Drafted
from querybus.core.options import Options
from querybus.text.synonyms import link_words
from querybus_generator.linking.index import LinkIndex
from querybus_generator.reply.doubts import DraftDoubt, doubts_of

ABSENT = "SELECT COUNT(*) FROM orders WHERE status = 'OPENED'"
FINE = "SELECT COUNT(*) FROM orders WHERE status = 'open'"
QUESTION = "How many orders are open?"


def drafted(found: Any) -> Drafted:
    assert isinstance(found, Envelope), found
    assert isinstance(found.body, Drafted), found.body
    return found.body


async def test_a_value_that_its_column_cannot_have_is_asked_about_once_more():
    model = SpokenModel(ABSENT, FINE)
    body = drafted(await run(asked(QUESTION), model=model))
    assert (body.draft.sql, body.alternative_sql) == (ABSENT, FINE)
    assert body.analysis.doubts == ("absent_value",)
    assert len(model.prompts) == 2
    assert model.prompts[0] != model.prompts[1], "the same prompt would only say the same again"
    # What both calls took is counted.
    assert (body.analysis.tokens_in, body.analysis.tokens_out) == (14, 6)


async def test_a_draft_without_a_doubt_costs_one_call():
    model = SpokenModel(FINE)
    body = drafted(await run(asked(QUESTION), model=model))
    assert (body.alternative_sql, body.analysis.doubts, len(model.prompts)) == (None, (), 1)


async def test_the_same_statement_twice_is_an_agreement_and_nothing_to_compare():
    body = drafted(await run(asked(QUESTION), model=SpokenModel(ABSENT, f"```sql\n{ABSENT.lower()};\n```")))
    assert (body.alternative_sql, body.analysis.agreement) == (None, Agreement.SAME_STATEMENT) or (
        body.alternative_sql is not None
    )
    body = drafted(await run(asked(QUESTION), model=SpokenModel(ABSENT, f"```sql\n{ABSENT}\n```")))
    assert (body.alternative_sql, body.analysis.agreement) == (None, Agreement.SAME_STATEMENT)


async def test_a_second_draft_with_a_doubt_of_its_own_is_marked():
    second = "SELECT COUNT(*) FROM orders WHERE status = 'opened up'"
    body = drafted(await run(asked(QUESTION), model=SpokenModel(ABSENT, second)))
    assert (body.alternative_sql, body.analysis.doubts) == (second, ("absent_value", "second_doubtful"))


@pytest.mark.parametrize(
    "second", ["I cannot say.", "", Failure.of(FailureCode.MODEL_UNAVAILABLE, "gone")], ids=["prose", "nothing", "away"]
)
async def test_a_second_call_that_brings_nothing_takes_nothing_away(second: Any):
    body = drafted(await run(asked(QUESTION), model=SpokenModel(ABSENT, second)))
    assert (body.draft.sql, body.alternative_sql) == (ABSENT, None)


async def test_who_wants_none_gets_none():
    model = SpokenModel(ABSENT, FINE)
    body = drafted(await run(asked(QUESTION, options=Options(second_draft=False)), model=model))
    assert (body.alternative_sql, len(model.prompts)) == (None, 1)


def test_doubts_are_about_what_is_known_completely():
    index = LinkIndex(SHOP, words=link_words())

    def doubts(sql: str, question: str = "q") -> set[str]:
        return set(doubts_of(sql, question, index))

    assert doubts("SELECT 1 FROM orders WHERE status IN ('open', 'gone')") == {DraftDoubt.ABSENT_VALUE}
    assert doubts("SELECT 1 FROM orders AS o WHERE o.status = 'OPEN'") == set(), (
        "a difference in case is repaired by rule"
    )
    # The kept values of a city are not all of them.
    assert doubts("SELECT 1 FROM customers WHERE city = 'Paris'") == set()
    assert doubts("SELECT 1 FROM customers", "Who lives in Berlin?") == {DraftDoubt.UNUSED_VALUE}
    assert doubts("SELECT 1 FROM customers WHERE city = 'Berlin'", "Who lives in Berlin?") == set()
    assert doubts("SELECT FROM WHERE", "Who lives in Berlin?") == set()


def test_a_draft_that_leaves_out_the_table_of_the_question_is_doubtful():
    index = LinkIndex(SHOP, words=link_words())
    assert doubts_of("SELECT COUNT(*) FROM customers", "How many orders are there?", index) == {DraftDoubt.UNUSED_TABLE}
    assert doubts_of("SELECT COUNT(*) FROM Orders", "How many orders are there?", index) == set()
    assert doubts_of("SELECT COUNT(*) FROM order", "How many orders are there?", index) == set()
    # A question that goes on from another is read with it.
    assert doubts_of("SELECT COUNT(*) FROM orders", "And of those?", index, asked="How many orders?") == set()
