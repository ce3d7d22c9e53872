"""A request to change data: whether the connection takes it, and how it is drafted without a model."""

from __future__ import annotations

from dataclasses import replace

from querybus.core.asking_back import Trigger
from querybus.core.envelope import Envelope
from querybus.core.failure import Failure
from querybus.core.messages import Analysis, Concluded, Draft, Drafted, Origin
from querybus.core.policy import KINDS, StatementKind
from querybus_generator.conversation.turns import Turn
from querybus_generator.subject import Subject, bare_words, clarification, drafted_envelope
from querybus_generator.wording.refinement import refines_answer
from querybus_generator.wording.write_intent import write_intent
from querybus_translator import translate_change


def asked_change(subject: Subject, turns: tuple[Turn, ...]) -> str | None:
    """Return the kind of change to stored data that is asked for; None for a question, and for what refines the last answer."""
    question = subject.envelope.question
    if turns and refines_answer(question, bare_words(turns[-1].standing), bare_words(question)):
        return None
    return write_intent(question)


def takes_change(subject: Subject, kind: str) -> bool:
    """Whether the connection takes changes of a kind (DELETE, CREATE, ...) from this tenant."""
    access = subject.connection.policy.of(subject.envelope.tenant).access
    return kind.lower() in {known.value for known in StatementKind} and StatementKind(kind.lower()) in KINDS[access]


def change_by_translator(
    subject: Subject, instead_of: Failure | None = None
) -> Envelope[Drafted] | Envelope[Concluded] | Failure:
    """Return the change that the translator reads; where it reads none, the model's failure or a question back."""
    envelope, catalog = subject.envelope, subject.catalog
    sql = translate_change(envelope.question, catalog, language=envelope.language, today=subject.today)
    if sql is None:
        return instead_of or clarification(
            subject, Trigger.AMBIGUOUS_QUESTION, "", (), reply=subject.texts.change_not_read
        )
    analysis = Analysis(catalog_fingerprint=catalog.fingerprint)
    subject = replace(subject, model_failure=instead_of)
    return drafted_envelope(subject, Draft(sql=sql, dialect=catalog.dialect, origin=Origin.BUILTIN), analysis)
