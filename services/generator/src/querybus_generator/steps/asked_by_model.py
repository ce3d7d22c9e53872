"""A model that asks back or says what is missing: its words are kept, and the alternatives that it names become options.

Whether a reader may see the words is looked at where they are shown. Alternatives are read from lists and from the sentence
that asks, in English and Chinese; a question that yes or no answers offers these two.
"""

from __future__ import annotations

from typing import Final

from querybus.core.asking_back import Clarification, Option, OptionAction, Trigger
from querybus.core.envelope import Envelope, concluded
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Concluded, Outcome
from querybus.core.subjects import StageName
from querybus.sql.reply.asking import alternatives, is_yes_or_no, question_in
from querybus_generator.steps.talk import REPLY_LENGTH_MAX
from querybus_generator.subject import Subject

_TRIGGERS: Final = {
    FailureCode.AMBIGUOUS_QUESTION: Trigger.AMBIGUOUS_QUESTION,
    FailureCode.MISSING_DATABASE_INFO: Trigger.MISSING_DATABASE_INFO,
}


def asked_by_model(subject: Subject, failure: Failure) -> Envelope[Concluded] | None:
    """Return the question back in the model's words; None for a failure of another kind."""
    trigger = _TRIGGERS.get(failure.code)
    if trigger is None:
        return None
    is_english = subject.envelope.language == "en"
    asked = subject.question.rstrip(" ?？。.")
    options = tuple(
        Option(
            id=str(number),
            text=text,
            question=f"{asked} ({read})?" if is_english else f"{asked}（{read}）？",
            action=OptionAction.CHOOSE_SOURCE,
        )
        for number, (text, read) in enumerate(_choices(subject, failure.detail), 1)
    )
    body = Concluded(
        outcome=Outcome.CLARIFICATION,
        code=failure.code,
        stage=StageName.GENERATOR,
        reply=failure.detail[:REPLY_LENGTH_MAX],
        clarification=Clarification(trigger=trigger, options=options),
    )
    return concluded(subject.envelope, body)


def _choices(subject: Subject, said: str) -> tuple[tuple[str, str], ...]:
    """Return what a question offers, each as it is shown and as it reads behind the question that was asked."""
    offered = alternatives(said)
    question = question_in(said)
    if offered or question is None or not is_yes_or_no(question):
        return tuple((text, text) for text in offered)
    words = ("Yes", "No") if subject.envelope.language == "en" else ("是", "否")
    return tuple((word, f"{question} {word}") for word in words)
