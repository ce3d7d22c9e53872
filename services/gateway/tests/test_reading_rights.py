"""A credential for some connections reads nothing that came from others: its list is a limit for reading too."""

from __future__ import annotations

from typing import Any

import pytest

from querybus.core.asking_back import Clarification, Option, OptionAction, Trigger
from querybus.core.credential import Credential
from querybus.core.envelope import Audience, Envelope
from querybus.core.messages import Answer, Asked, Concluded, Finished, Outcome
from querybus.core.subjects import StageName
from querybus_gateway.use_cases.resources import is_reader

ASKED: Envelope[Asked] = Envelope(
    event=Asked.event,
    query_id="0190a0a0-0000-7000-8000-000000000001",
    thread_id="0190a0a0-0000-7000-8000-000000000001",
    tenant="acme",
    user="ann",
    audience="business",
    connection="shop",
    question="how many?",
    language="en",
    asked_at=1,
    deadline_at=60_000,
    body=Asked(),
)
FINISHED = ASKED.with_body(Finished(answer=Answer(outcome=Outcome.ANSWERED, language="en", message="3")))
UNDECIDED = ASKED.with_body(Asked(connections=("shop", "staff")))
CHOICE = ASKED.with_body(
    Concluded(
        outcome=Outcome.CLARIFICATION,
        stage=StageName.GENERATOR,
        clarification=Clarification(
            trigger=Trigger.AMBIGUOUS_QUESTION,
            options=tuple(
                Option(id=name, text=name, question="how many?", action=OptionAction.CHOOSE_SOURCE, connection=name)
                for name in ("shop", "staff")
            ),
        ),
    )
)


def credential(*connections: str, user: str = "ann", audience: Audience = "business") -> Credential:
    return Credential(name="c", tenant="acme", user=user, audience=audience, connections=connections or None)


@pytest.mark.parametrize("event", [ASKED, FINISHED, UNDECIDED, CHOICE], ids=lambda event: type(event.body).__name__)
def test_a_credential_without_a_list_reads_all_that_is_its_own(event: Envelope[Any]) -> None:
    assert is_reader(event, credential())
    assert is_reader(event, credential("shop", "staff"))
    assert not is_reader(event, credential(user="bob"))


@pytest.mark.parametrize("event", [ASKED, FINISHED], ids=lambda event: type(event.body).__name__)
def test_a_credential_for_one_connection_reads_nothing_of_another(event: Envelope[Any]) -> None:
    assert is_reader(event, credential("shop"))
    assert not is_reader(event, credential("staff"))


@pytest.mark.parametrize("event", [UNDECIDED, CHOICE], ids=lambda event: type(event.body).__name__)
def test_an_open_choice_is_read_only_by_who_may_use_every_candidate(event: Envelope[Any]) -> None:
    assert not is_reader(event, credential("shop"))
    assert not is_reader(event, credential("staff"))
