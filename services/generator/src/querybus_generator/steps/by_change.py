"""An answer read otherwise: the statement that was drafted for it, with what the person changed, and no model."""

from __future__ import annotations

import asyncio

from querybus.core.envelope import Envelope
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Analysis, Asked, Concluded, Draft, Drafted, Trigger
from querybus_generator.ports import History
from querybus_generator.subject import Subject, clarification, drafted_envelope, settled_classification, with_header
from querybus_translator import CannotRefineError, refine

Reached = Envelope[Drafted] | Envelope[Concluded] | Failure | Subject


async def answer_by_change(subject: Subject, body: Asked, history: History) -> Reached:
    """Return the changed draft, or the question back about what cannot be changed so; the subject where words were asked."""
    if body.refines is None:
        return subject
    subject = with_header(subject, classification=settled_classification(subject.envelope))
    tried = await history.attempts(subject.envelope, body.refines.query_id)
    if not tried:
        return Failure.of(FailureCode.MISSING_DATABASE_INFO, "the answer to be changed is no longer kept")
    draft = tried[-1]
    catalog, language = subject.catalog, subject.envelope.language
    try:
        sql = await asyncio.to_thread(refine, draft.sql, body.refines.change, catalog, language)
    except CannotRefineError as error:
        return clarification(subject, Trigger.AMBIGUOUS_QUESTION, error.about, ())
    return drafted_envelope(
        subject,
        Draft(sql=sql, dialect=catalog.dialect, origin=draft.origin),
        Analysis(catalog_fingerprint=catalog.fingerprint),
    )
