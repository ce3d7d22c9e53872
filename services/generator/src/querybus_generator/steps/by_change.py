"""An answer read otherwise, without a model: the request or the statement that it was given for, with what the person changed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from querybus.core.asking_back import Trigger
from querybus.core.envelope import Envelope
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import (
    Analysis,
    Asked,
    Concluded,
    Draft,
    Drafted,
    Origin,
)
from querybus.core.requests.refinement import Change
from querybus.text.picture_words import without_picture
from querybus_generator.conversation.turns import earlier_questions
from querybus_generator.ports import History
from querybus_generator.steps.by_definition import drafted_by_definition
from querybus_generator.subject import Subject, clarification, drafted_envelope, settled_classification, with_header
from querybus_semantic.layer.request import Asker
from querybus_translator import CannotRefineError, refine, refine_defined
from querybus_translator.definitions.answer import ByDefinition

CHANGES_MAX: Final = 20
"""Changes of changes that are followed back to the question; the statement is edited beyond them."""

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
        defined = await _by_definition(subject, body, history) if draft.origin is Origin.BUILTIN else None
        if defined is not None:
            return drafted_by_definition(subject, defined)
        sql = await asyncio.to_thread(refine, draft.sql, body.refines.change, catalog, language)
    except CannotRefineError as error:
        return clarification(subject, Trigger.AMBIGUOUS_QUESTION, error.about, ())
    return drafted_envelope(
        subject,
        Draft(sql=sql, dialect=catalog.dialect, origin=draft.origin),
        Analysis(catalog_fingerprint=catalog.fingerprint),
    )


async def _by_definition(subject: Subject, body: Asked, history: History) -> ByDefinition | None:
    """Return the changed answer of definitions; None where it is none of theirs. Raises CannotRefineError."""
    defined = subject.prepared.defined
    first, changes = await _first(subject, body, history) if defined is not None else (None, ())
    if defined is None or first is None:
        return None
    asked = first.body.metrics or without_picture(first.question)
    earlier = earlier_questions(await history.turns(first))
    asker = Asker(subject.day_of(first), first.user)
    return await asyncio.to_thread(refine_defined, asked, earlier, changes, defined, asker, subject.envelope.language)


async def _first(subject: Subject, body: Asked, history: History) -> tuple[Envelope[Asked] | None, Sequence[Change]]:
    """Return the question whose answer was changed, and the changes from the first on; no question where it is not kept."""
    changes: list[Change] = []
    while body.refines is not None and len(changes) < CHANGES_MAX:
        changes.insert(0, body.refines.change)
        first = await history.asked(subject.envelope, body.refines.query_id)
        if first is None or first.body.refines is None:
            return first, changes
        body = first.body
    return None, ()
