"""What definitions cover is answered by them alone, without a model: the numbers are the owner's, or there are none."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
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
from querybus.text.knowledge import EntryKind
from querybus.text.picture_words import without_picture
from querybus_generator.conversation.turns import earlier_questions
from querybus_generator.linking.linker import Prepared
from querybus_generator.ports import History
from querybus_generator.prompts.template import fill
from querybus_generator.steps.classify import unsettled
from querybus_generator.subject import OPTIONS_MAX, Subject, clarification, drafted_envelope, with_header
from querybus_semantic.layer.request import Asker
from querybus_translator.definitions.answer import (
    CONFIDENCE,
    ByDefinition,
    NotByDefinition,
    answer_metrics,
    answer_question,
    without_unread,
)
from querybus_translator.definitions.describe import relevant_lines
from querybus_translator.translation import NotRead, Translated

LINES_MAX: Final = 8
Reached = Envelope[Drafted] | Envelope[Concluded] | Failure | Subject


async def answer_metrics_by_name(subject: Subject, body: Asked, _: History) -> Reached:
    """Return the draft or the failure of a request for figures by name; the subject where words were asked."""
    if body.metrics is None:
        return subject
    defined = subject.prepared.defined
    if defined is None:
        return Failure.of(FailureCode.MISSING_DATABASE_INFO, "nothing is defined for this connection")
    found = await asyncio.to_thread(answer_metrics, body.metrics, defined, subject.envelope.language, _asker(subject))
    if isinstance(found, NotByDefinition):
        return Failure.of(FailureCode.MISSING_DATABASE_INFO, found.detail)
    return drafted_by_definition(subject, found)


async def answer_by_definition(subject: Subject, _: Asked, __: History) -> Reached:
    """Return the draft or the question back that definitions lead to; the subject where they do not cover the question."""
    defined, envelope = subject.prepared.defined, subject.envelope
    if defined is None:
        return subject
    earlier = earlier_questions(subject.turns)
    # In the loop: most questions are left at their first word that no definition has, long before a thread would have begun.
    read = answer_question(without_picture(envelope.question), earlier, defined, _asker(subject), envelope.language)
    if read is None:
        return subject
    if isinstance(read, ByDefinition):
        return drafted_by_definition(subject, read)
    subject = with_header(subject, classification=envelope.classification or unsettled())
    return clarification(subject, Trigger.AMBIGUOUS_QUESTION, read.about, read.options)


async def ask_without_unread(
    subject: Subject, reading: Translated | NotRead
) -> tuple[Translated | NotRead, Envelope[Drafted] | None]:
    """Return what is asked back with the definitions' reading first, and the answer that this reading has.

    As it was where definitions do not read the question but for a few words. A list of lines is no answer to a question
    about a figure that is defined: "gross revenue" is asked about, not shown line by line.
    """
    defined, envelope = subject.prepared.defined, subject.envelope
    if defined is None or (isinstance(reading, Translated) and _ADDS_UP.search(reading.sql) is not None):
        return reading, None
    question, earlier = without_picture(envelope.question), earlier_questions(subject.turns)
    known = await asyncio.to_thread(without_unread, question, earlier, defined, _asker(subject), envelope.language)
    if known is None:
        return reading, None
    about, texts = known
    found = await asyncio.to_thread(answer_question, texts[0], earlier, defined, _asker(subject), envelope.language)
    others = reading.options if isinstance(reading, NotRead) and reading.read_as else ()
    options = tuple(dict.fromkeys((*texts[:1], *others, *texts[1:])))[:OPTIONS_MAX]
    asked = NotRead(Trigger.AMBIGUOUS_QUESTION, about, options, read_as=texts[0])
    said = fill(subject.texts.note_left_out, {"word": about, "question": texts[0]})
    noted = replace(subject, notes=(*subject.notes, said))
    return asked, drafted_by_definition(noted, found) if isinstance(found, ByDefinition) else None


_ADDS_UP: Final = re.compile(r"\b(?:count|sum|avg|min|max)\s*\(", re.IGNORECASE)


def _asker(subject: Subject) -> Asker:
    return Asker(subject.today, subject.envelope.user)


def instruction_lines(prepared: Prepared, question: str) -> list[str]:
    """Return what a model is to mind: what was taught, and the definitions that a question speaks of without being covered."""
    taught = [entry.text for entry in prepared.knowledge.of(EntryKind.INSTRUCTION)]
    defined = prepared.defined
    return taught if defined is None else [*taught, *relevant_lines(defined.layer, question, LINES_MAX)]


def drafted_by_definition(subject: Subject, found: ByDefinition) -> Envelope[Drafted]:
    """Return the draft of what definitions answered, with how they read it."""
    subject = with_header(subject, classification=subject.envelope.classification or unsettled())
    catalog = subject.catalog
    analysis = Analysis(
        catalog_fingerprint=catalog.fingerprint,
        reading=found.read_as.text,
        confidence=CONFIDENCE,
        labels=found.labels,
        units=found.units,
        definitions=found.read_as.definitions,
        read_as=found.read_as,
    )
    draft = Draft(sql=found.sql, dialect=catalog.dialect, origin=Origin.BUILTIN)
    return drafted_envelope(subject, draft, analysis)
