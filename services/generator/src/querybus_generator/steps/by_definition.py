"""What definitions cover is answered by them alone, without a model: the numbers are the owner's, or there are none."""

from __future__ import annotations

import asyncio

from querybus.core.envelope import Envelope
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Analysis, Asked, Concluded, Draft, Drafted, Origin, Trigger
from querybus_generator.steps.classify import unsettled
from querybus_generator.subject import Subject, clarification, drafted_envelope, with_header
from querybus_translator.definitions.answer import (
    CONFIDENCE,
    ByDefinition,
    NotByDefinition,
    answer_metrics,
    answer_question,
)


async def answer_by_definition(
    subject: Subject, body: Asked
) -> Envelope[Drafted] | Envelope[Concluded] | Failure | Subject:
    """Return the draft or the refusal that definitions lead to; the subject where they do not cover the question."""
    defined = subject.prepared.defined
    language = subject.envelope.language
    if body.metrics is not None:
        if defined is None:
            return Failure.of(FailureCode.MISSING_DATABASE_INFO, "nothing is defined for this connection")
        found = await asyncio.to_thread(answer_metrics, body.metrics, defined, language)
        if isinstance(found, NotByDefinition):
            return Failure.of(FailureCode.MISSING_DATABASE_INFO, found.detail)
        return _drafted(subject, found)
    if defined is None:
        return subject
    earlier = tuple(turn.question for turn in subject.turns)
    read = await asyncio.to_thread(
        answer_question, subject.envelope.question, earlier, defined, subject.today, language
    )
    if read is None:
        return subject
    if isinstance(read, ByDefinition):
        return _drafted(subject, read)
    subject = with_header(subject, classification=subject.envelope.classification or unsettled())
    return clarification(subject, Trigger.AMBIGUOUS_QUESTION, read.about, read.options)


def _drafted(subject: Subject, found: ByDefinition) -> Envelope[Drafted]:
    subject = with_header(subject, classification=subject.envelope.classification or unsettled())
    catalog = subject.catalog
    analysis = Analysis(catalog_fingerprint=catalog.fingerprint, reading=found.reading, confidence=CONFIDENCE)
    draft = Draft(sql=found.sql, dialect=catalog.dialect, origin=Origin.BUILTIN)
    return drafted_envelope(subject, draft, analysis, (found.reading, *found.notes))
