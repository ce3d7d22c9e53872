"""An option that is chosen by its place: where its question is asked, and where it is not."""

from __future__ import annotations

import pytest

from querybus.bus.log.journal import Entry
from querybus.core.asking_back import Clarification, Option, OptionAction, Trigger
from querybus.core.envelope import Envelope, concluded, encode
from querybus.core.failure import FailureCode
from querybus.core.messages import Asked, Concluded, Outcome
from querybus.core.subjects import EventAddress, EventName, StageName
from querybus.text.plain_answer import plain_finished
from querybus_gateway.use_cases.followups.choice import as_chosen

THREAD = "0190a0a0-0000-7000-8000-000000000001"
NEXT = "0190a0a0-0000-7000-8000-000000000002"
OPTIONS = tuple(
    Option(id=name, text=name, question="How many?", action=OptionAction.CHOOSE_SOURCE, connection=name)
    for name in ("library", "clinic")
)


def asked(connections: tuple[str, ...], connection: str = "library") -> Envelope[Asked]:
    return Envelope[Asked](
        event=EventName.ASKED,
        query_id=NEXT,
        thread_id=THREAD,
        tenant="acme",
        user="ann",
        audience="analyst",
        connection=connection,
        question="2",
        language="en",
        asked_at=1,
        deadline_at=60_000,
        body=Asked(connections=connections),
    )


def turn_that_asked_back() -> Entry:
    question = asked(()).with_body(Asked(), query_id=THREAD, question="How many?")
    clarification = Clarification(trigger=Trigger.AMBIGUOUS_QUESTION, about="", options=OPTIONS)
    finished = plain_finished(
        concluded(
            question,
            Concluded(
                outcome=Outcome.CLARIFICATION,
                code=FailureCode.AMBIGUOUS_QUESTION,
                stage=StageName.GENERATOR,
                clarification=clarification,
            ),
        )
    )
    return Entry(9, EventAddress("acme", THREAD, THREAD, finished.event), {}, encode(finished), 0)


def test_a_chosen_connection_is_asked_and_nothing_is_left_to_choose() -> None:
    chosen = as_chosen(asked(("clinic", "library")), [turn_that_asked_back()])
    assert (chosen.connection, chosen.question, chosen.body.connections) == ("clinic", "How many?", ())
    assert chosen.body.clarifies is not None


@pytest.mark.parametrize("others", [("library", "warehouse"), ("warehouse",)])
def test_an_option_of_a_connection_that_this_credential_may_not_use_is_not_chosen(others: tuple[str, ...]) -> None:
    question = asked(others, connection=others[0])
    assert as_chosen(question, [turn_that_asked_back()]) == question


def test_a_connection_that_the_request_names_is_the_one_that_is_asked() -> None:
    chosen = as_chosen(asked((), connection="warehouse"), [turn_that_asked_back()])
    assert (chosen.connection, chosen.question) == ("warehouse", "How many?")
