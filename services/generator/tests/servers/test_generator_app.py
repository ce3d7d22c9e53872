"""What the generator is made of: no model client without a model, the thread from the log, one user's turns only."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, cast

import pytest
from services.generator.tests.shop_for_generation import asked
from tools.synonyms import TARGET, gathered, text

from querybus.bus.log.journal import Entry, Journal
from querybus.bus.log.publish import address_of
from querybus.core.envelope import Envelope, encode
from querybus.core.messages import Asked, Concluded, ForkedFrom, Outcome
from querybus.core.subjects import StageName
from querybus.text.synonyms import link_words
from querybus_generator.app import build
from querybus_generator.conversation.history import JournalHistory
from querybus_generator.conversation.turns import Turn
from querybus_generator.settings import Settings

_CLIENTS = ("langchain_core", "langchain_openai", "openai", "httpx2", "tiktoken")


def test_without_a_model_its_client_is_never_imported():
    code = (
        "import sys, querybus_generator.app as app; from querybus_generator.settings import Settings; "
        "app.build(Settings(llm_base_url='')); "
        f"print([each for each in {_CLIENTS} if each in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.strip() == "[]"


def test_the_words_that_every_service_finds_are_those_that_were_gathered():
    assert link_words() == gathered(), "write them anew: make synonyms"
    assert TARGET.read_text() == text()


@pytest.mark.parametrize("address", ["", "http://127.0.0.1:9/v1"])
def test_models_are_a_part_that_is_drained_also_where_the_first_one_may_come_later(address: str):
    parts = [part.name for part in build(Settings(llm_base_url=address)).parts]
    assert parts.index("model") < parts.index("pull-generator")


class KeptLog:
    """A journal in memory."""

    def __init__(self, *envelopes: Envelope[Any]) -> None:
        self._entries = tuple(
            Entry(
                sequence=number,
                address=address_of(envelope),
                headers={},
                data=encode(envelope),
                stored_at=0,
            )
            for number, envelope in enumerate(envelopes, 1)
        )

    async def query(self, tenant: str, query: str, *, thread: str | None = None) -> tuple[Entry, ...]:
        mine = (entry for entry in self._entries if thread is None or entry.address.thread == thread)
        return tuple(entry for entry in mine if entry.address.query == query)

    async def thread(self, tenant: str, thread: str, *, until_sequence: int = 0, **_: Any) -> tuple[Entry, ...]:
        own = (entry for entry in self._entries if entry.address.thread == thread)
        return tuple(item for item in own if item.sequence <= until_sequence)


def history(*envelopes: Envelope[Any]) -> JournalHistory:
    return JournalHistory(cast("Journal", KeptLog(*envelopes)))


def turn(query: str, question: str, sql: str | None, **header: Any) -> tuple[Envelope[Any], Envelope[Any]]:
    first = asked(question, query_id=query, **header)
    outcome = Outcome.ANSWERED if sql else Outcome.REPLIED
    return first, first.with_body(
        Concluded(outcome=outcome, stage=StageName.EXECUTOR, sql=sql, reply=None if sql else "hi")
    )


async def test_the_turns_are_those_of_the_same_user_and_connection_up_to_the_question():
    envelopes = [
        *turn("q1", "first", "SELECT 1"),
        *turn("q2", "another's", "SELECT 2", user="bob"),
        *turn("q3", "elsewhere", "SELECT 3", connection="hr"),
        *turn("q4", "hello", None),
        *turn("q5", "too late", "SELECT 5"),
    ]
    question = asked("and now?", query_id="q9", body=Asked(thread_until_sequence=8))
    assert await history(*envelopes).turns(question) == (Turn("first", "SELECT 1"), Turn("hello", None, "hi"))


async def test_a_fork_of_a_fork_knows_every_turn_before_it():
    from_first = Asked(forked_from=ForkedFrom(thread_id="t1", sequence=2))
    envelopes = [
        *turn("q1", "first", "SELECT 1", thread_id="t1"),
        *turn("q2", "unknown to forks", "SELECT 2", thread_id="t1"),
        *turn("q3", "in the fork", "SELECT 3", thread_id="t2", body=from_first),
    ]
    question = asked(
        "and now?", query_id="q9", thread_id="t3", body=Asked(forked_from=ForkedFrom(thread_id="t2", sequence=6))
    )
    known = await history(*envelopes).turns(question)
    assert known == (Turn("first", "SELECT 1"), Turn("in the fork", "SELECT 3"))


async def test_a_first_question_reads_nothing():
    assert await history(*turn("q1", "first", "SELECT 1")).turns(asked("new", query_id="q9")) == ()


async def test_a_retry_sees_the_thread_that_its_question_saw():
    question = asked("and now?", query_id="q9", body=Asked(thread_until_sequence=2))
    again = question.with_body(Concluded(outcome=Outcome.FAILED, stage=StageName.EXECUTOR))
    assert await history(*turn("q1", "first", "SELECT 1"), question).turns(again) == (Turn("first", "SELECT 1"),)


async def test_attempts_of_another_user_are_nobodys_business():
    mine, theirs = asked("x", query_id="q1"), asked("x", query_id="q2", user="bob")
    log = history(mine, theirs)
    assert await log.attempts(asked("y"), "q2") == ()
    assert await log.attempts(asked("y"), "q1") == mine.attempts
