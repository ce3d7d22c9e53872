"""A draft is compared with the translator's reading, else a doubtful one with another; what comes out alike says more than either."""

from __future__ import annotations

import time
from typing import Any

import pytest
from services.generator.tests.shop_for_generation import SHOP, SpokenModel, asked, run

from querybus.core.asking_back import OptionAction
from querybus.core.catalog import Dialect
from querybus.core.envelope import Attempt, Envelope, Retries
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Analysis, Asked, Clarifies, Draft, Drafted, Operation, Origin, Returned
from querybus.core.options import Agreement, Options
from querybus.text.synonyms import link_words
from querybus_generator import generate as generating
from querybus_generator.linking.index import LinkIndex
from querybus_generator.reply.doubts import DraftDoubt, doubts_of
from querybus_translator import Translated

ABSENT = "SELECT COUNT(*) FROM orders WHERE status = 'OPENED'"
FINE = "SELECT COUNT(*) FROM orders WHERE status = 'open'"
QUESTION = "How many orders are open?"
UNREAD = "How many blorfed orders are open?"


def drafted(found: Any) -> Drafted:
    assert isinstance(found, Envelope), found
    assert isinstance(found.body, Drafted), found.body
    return found.body


async def test_the_translators_reading_is_the_second_draft_where_it_is_sure():
    model = SpokenModel(ABSENT)
    body = drafted(await run(asked(QUESTION), model=model))
    assert body.draft.sql == ABSENT
    assert body.alternative_sql == 'SELECT COUNT(*) FROM "orders" WHERE "status" = \'open\''
    assert body.analysis.doubts == ("absent_value",)
    assert body.analysis.second_reading == "Number of orders, only where status is open."
    assert body.analysis.second_confidence > 0.7
    assert len(model.prompts) == 1, "reading costs no call"


@pytest.mark.parametrize("said", [FINE, "select count(*) as n from Orders as o where o.status = 'open'"])
async def test_what_the_translator_reads_alike_is_an_agreement_and_nothing_to_compare(said: str):
    body = drafted(await run(asked(QUESTION, options=Options(cross_check=True)), model=SpokenModel(said)))
    assert (body.alternative_sql, body.analysis.agreement) == (None, Agreement.SAME_STATEMENT)


async def test_a_question_that_the_translator_cannot_read_is_marked_as_such():
    body = drafted(await run(asked(UNREAD, options=Options(cross_check=True)), model=SpokenModel(FINE)))
    assert (body.alternative_sql, body.analysis.second_reading, body.analysis.agreement) == (None, "", None)


async def test_every_draft_is_read_unless_only_doubtful_ones_are_to_be():
    checked = drafted(await run(asked(QUESTION), model=SpokenModel(FINE)))
    assert checked.analysis.second_reading == "Number of orders, only where status is open."
    fine = drafted(await run(asked(QUESTION, options=Options(cross_check=False)), model=SpokenModel(FINE)))
    assert (fine.analysis.doubts, fine.analysis.second_reading) == ((), None)


async def test_a_reading_that_takes_too_long_holds_up_no_answer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(generating, "READING_SECONDS_MAX", 0.05)
    monkeypatch.setattr(generating, "read_in_thread", lambda *_, **__: time.sleep(0.5))
    body = drafted(await run(asked(QUESTION), model=SpokenModel(FINE)))
    assert (body.draft.sql, body.analysis.second_reading) == (FINE, None)


async def test_a_reading_with_a_doubt_of_its_own_is_marked_where_it_could_replace_the_draft(
    monkeypatch: pytest.MonkeyPatch,
):
    joined = "SELECT COUNT(*) FROM orders AS o JOIN customers AS c ON o.id = c.id"
    body = drafted(await run(asked("How many orders are open?"), model=SpokenModel(joined)))
    assert body.analysis.doubts == ("undeclared_join",)
    reading = Translated(sql=ABSENT, reading="", confidence=0.9, links=(), notes=())
    monkeypatch.setattr(generating, "read_in_thread", lambda *_, **__: reading)
    body = drafted(await run(asked("How many orders are open?"), model=SpokenModel(joined)))
    assert body.analysis.doubts == ("undeclared_join", "second_doubtful")


async def test_a_draft_that_will_have_to_be_repaired_is_read_and_not_asked_for_twice():
    model = SpokenModel("SELECT COUNT(*) FROM orders WHERE stat = 'open'", FINE)
    body = drafted(await run(asked(QUESTION), model=model))
    assert (body.analysis.doubts, len(model.prompts)) == (("unknown_name",), 1)
    assert body.alternative_sql == 'SELECT COUNT(*) FROM "orders" WHERE "status" = \'open\''
    model = SpokenModel("SELECT COUNT(*) FROM orders WHERE stat = 'open'", FINE)
    body = drafted(await run(asked(UNREAD), model=model))
    assert (body.alternative_sql, len(model.prompts)) == (None, 1)


async def test_what_a_person_has_chosen_is_compared_with_nothing():
    chosen = Asked(clarifies=Clarifies(query_id="q0", option_id="1", action=OptionAction.CHOOSE_SOURCE))
    envelope = asked(QUESTION, options=Options(cross_check=True))
    body = drafted(await run(envelope.with_body(chosen), model=SpokenModel(ABSENT, FINE)))
    assert body.analysis.second_reading is None


TODAYS = "SELECT COUNT(*) FROM orders WHERE status = 'paid'"


async def voted(
    question: str, *said: Any, analysis: Analysis | None = None, **more: Any
) -> tuple[Drafted, SpokenModel]:
    """Return what is drafted beside ABSENT, which ran, with the model that was asked."""
    model = SpokenModel(*said)
    draft = Draft(sql=ABSENT, dialect=Dialect.SQLITE, origin=Origin.MODEL)
    said_of = analysis or Analysis(doubts=("absent_value",), second_reading="")
    returning = Returned(operation=Operation.ASK, draft=draft, analysis=said_of, notes=("noted",), **more)
    before = Attempt(origin=Origin.MODEL, sql=ABSENT, validated=True)
    envelope = asked(question, retries=Retries(vote=1), attempts=(before,)).with_body(returning)
    result = await run(envelope, model=model)
    assert isinstance(result, Envelope), result
    assert result.attempts == (before,), "the draft that ran is no further try"
    assert result.model_use.calls == len(model.prompts)
    return drafted(result), model


async def test_a_doubtful_draft_that_the_translator_cannot_read_costs_one_call_until_it_has_run():
    model = SpokenModel(ABSENT, FINE)
    body = drafted(await run(asked(UNREAD), model=model))
    assert (body.draft.sql, body.alternative_sql, body.analysis.doubts) == (ABSENT, None, ("absent_value",))
    assert len(model.prompts) == 1


async def test_another_draft_comes_by_another_prompt_and_stands_beside_the_one_that_ran():
    first = SpokenModel(ABSENT)
    await run(asked(UNREAD), model=first)
    body, model = await voted(UNREAD, FINE)
    assert (body.draft.sql, body.alternative_sql, body.notes) == (ABSENT, FINE, ("noted",))
    assert model.prompts[0] != first.prompts[0], "the same prompt would only say the same again"


async def test_where_the_translator_reads_the_question_another_draft_is_a_vote():
    read = Analysis(second_reading="Number of orders.", second_confidence=0.8)
    body, _ = await voted(QUESTION, TODAYS, analysis=read, alternative_sql=FINE)
    assert (body.alternative_sql, body.analysis.votes_sql) == (FINE, (TODAYS,))


async def test_a_third_draft_stands_behind_the_second_and_is_planned():
    read = Analysis(second_reading="Number of orders.", votes_sql=(TODAYS,))
    body, second = await voted(QUESTION, FINE, analysis=read, alternative_sql=FINE)
    assert body.analysis.votes_sql == (TODAYS, FINE)
    third = SpokenModel(FINE)
    returning = Returned(operation=Operation.ASK, draft=body.draft, analysis=read, alternative_sql=FINE)
    await run(asked(QUESTION, retries=Retries(vote=2)).with_body(returning), model=third)
    assert third.prompts[0] != second.prompts[0]


async def test_a_draft_without_a_doubt_costs_one_call():
    model = SpokenModel(FINE)
    body = drafted(await run(asked(UNREAD), model=model))
    assert (body.alternative_sql, body.analysis.doubts, len(model.prompts)) == (None, (), 1)


async def test_the_same_statement_twice_is_an_agreement_and_nothing_to_compare():
    body, _ = await voted(UNREAD, f"```sql\n{ABSENT}\n```")
    assert (body.alternative_sql, body.analysis.agreement) == (None, Agreement.SAME_STATEMENT)


async def test_a_second_draft_with_a_doubt_of_its_own_is_marked():
    second = "SELECT COUNT(*) FROM orders WHERE status = 'opened up'"
    body, _ = await voted(UNREAD, second)
    assert (body.alternative_sql, body.analysis.doubts) == (second, ("absent_value", "second_doubtful"))


@pytest.mark.parametrize(
    "second",
    ["I cannot say.", "", "DELETE FROM orders", Failure.of(FailureCode.MODEL_UNAVAILABLE, "gone")],
    ids=["prose", "nothing", "change", "away"],
)
async def test_a_further_call_that_brings_nothing_takes_nothing_away(second: Any):
    body, _ = await voted(UNREAD, second)
    assert (body.draft.sql, body.alternative_sql, body.analysis.votes_sql) == (ABSENT, None, ())


async def test_a_draft_that_ran_goes_on_where_the_model_is_gone():
    draft = Draft(sql=ABSENT, dialect=Dialect.SQLITE, origin=Origin.MODEL)
    envelope = asked(UNREAD).with_body(Returned(operation=Operation.ASK, draft=draft))
    assert drafted(await run(envelope, model=None)).draft == draft


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
    assert doubts("SELECT 1 FROM customers", "Who lives in Berlin?") == set()
    assert doubts("SELECT FROM WHERE", "Who lives in Berlin?") == set()


def test_a_draft_that_leaves_out_the_table_of_the_question_is_doubtful():
    index = LinkIndex(SHOP, words=link_words())
    assert doubts_of("SELECT COUNT(*) FROM customers", "How many orders are there?", index) == {DraftDoubt.UNUSED_TABLE}
    assert doubts_of("SELECT COUNT(*) FROM Orders", "How many orders are there?", index) == set()
    # A name that is no table's is repaired: that it is not the question's table is no doubt of its own.
    assert doubts_of("SELECT COUNT(*) FROM ordres", "How many orders are there?", index) == {DraftDoubt.UNKNOWN_NAME}
    # A question that goes on from another is read with it.
    assert doubts_of("SELECT COUNT(*) FROM orders", "And of those?", index, asked="How many orders?") == set()


@pytest.mark.parametrize(
    ("sql", "is_unknown"),
    [
        ("SELECT name FROM customers", False),
        ("SELECT c.name AS n FROM customers AS c ORDER BY n", False),
        ("SELECT COUNT(*) FROM orders AS o JOIN customers AS c ON o.customer_id = c.id WHERE c.city = 'Berlin'", False),
        ("WITH x AS (SELECT id AS k FROM orders) SELECT k FROM x", False),
        ("SELECT s.k FROM (SELECT id AS k FROM orders) AS s", False),
        ("SELECT id FROM orders AS o WHERE EXISTS (SELECT 1 FROM customers AS c WHERE c.id = o.customer_id)", False),
        ('SELECT COUNT(*) FROM customers WHERE city = "Berlin"', False),
        ("SELECT * FROM orders", False),
        ("SELECT nome FROM customers", True),
        ("SELECT o.name FROM orders AS o JOIN customers AS c ON o.customer_id = c.id", True),
        ("SELECT x.name FROM customers AS c", True),
        ("SELECT name FROM clients", True),
    ],
)
def test_a_name_that_is_not_where_it_is_looked_for_is_a_doubt(sql: str, is_unknown: bool):
    found = doubts_of(sql, "q", LinkIndex(SHOP, words=link_words()))
    assert (DraftDoubt.UNKNOWN_NAME in found) is is_unknown


@pytest.mark.parametrize(
    ("sql", "is_undeclared"),
    [
        ("SELECT 1 FROM orders AS o JOIN customers AS c ON o.customer_id = c.id", False),
        ("SELECT 1 FROM orders AS o JOIN customers AS c ON c.id = o.customer_id AND c.city = 'Berlin'", False),
        ("SELECT 1 FROM customers WHERE id IN (SELECT customer_id FROM orders)", False),
        ("SELECT 1 FROM orders AS o JOIN orders AS p ON o.customer_id = p.customer_id", False),
        ("SELECT 1 FROM customers WHERE city = (SELECT MAX(city) FROM customers)", False),
        ("SELECT 1 FROM orders AS o JOIN customers AS c ON o.id = c.id", True),
        ("SELECT 1 FROM orders AS o JOIN customers AS c ON o.status = c.city", True),
        ("SELECT 1 FROM customers WHERE id IN (SELECT id FROM orders)", True),
        ("SELECT 1 FROM customers AS c WHERE EXISTS (SELECT 1 FROM orders AS o WHERE o.id = c.id)", False),
    ],
)
def test_tables_that_are_joined_by_what_no_declared_key_relates_are_a_doubt(sql: str, is_undeclared: bool):
    found = doubts_of(sql, "q", LinkIndex(SHOP, words=link_words()))
    assert (DraftDoubt.UNDECLARED_JOIN in found) is is_undeclared
    without = SHOP.model_copy(
        update={"tables": tuple(table.model_copy(update={"foreign_keys": ()}) for table in SHOP.tables)}
    )
    found = doubts_of(sql, "q", LinkIndex(without, words=link_words()))
    assert DraftDoubt.UNDECLARED_JOIN not in found, "where no key is declared, none is missing"
