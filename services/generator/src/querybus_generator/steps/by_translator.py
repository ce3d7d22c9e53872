"""Draft by the built-in translator: where there is no model, and where the model gave no statement."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from querybus.core.asking_back import Trigger
from querybus.core.catalog import Catalog, Language
from querybus.core.envelope import Attempt, Envelope
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import (
    Analysis,
    Asked,
    Concluded,
    Draft,
    Drafted,
    Origin,
)
from querybus.sql.render import normalise
from querybus.text.labels import has_few_readable_names
from querybus.text.picture_words import without_picture
from querybus_generator.conversation.turns import Turn, earlier_questions
from querybus_generator.prompts.template import fill
from querybus_generator.steps.by_definition import ask_without_unread
from querybus_generator.steps.change_request import asked_change, change_by_translator, takes_change
from querybus_generator.steps.classify import unsettled
from querybus_generator.steps.unsupported_language import is_third_language
from querybus_generator.subject import (
    Subject,
    drafted_envelope,
    not_read,
    other_language,
    with_header,
    write_refused,
)
from querybus_translator import NotRead, Translated, translate, translate_in_thread

Outgoing = Envelope[Drafted] | Envelope[Concluded]


async def draft_by_translator(
    subject: Subject, *, turns: tuple[Turn, ...] = (), instead_of: Failure | None = None
) -> Outgoing | Failure:
    """Draft by the built-in translator; `instead_of` is the failure of the model that it stands in for.

    In a model's place it asks back as it does alone, and about words that it would pass over alone. A question of which
    it knows nothing stays the model's failure.
    """
    envelope, catalog = subject.envelope, subject.catalog
    if (kind := asked_change(subject, turns or subject.turns)) is not None:
        # Read as a question, a request to change data would be answered as one.
        if not takes_change(subject, kind):
            return write_refused(subject, kind)
        return await asyncio.to_thread(change_by_translator, subject, instead_of)
    if is_third_language(subject.readable):
        return instead_of or other_language(subject)
    if not turns:
        subject = _note_names(subject)
    reading = await asyncio.to_thread(read_in_thread, subject, turns)
    if instead_of is not None:
        subject = with_header(
            replace(subject, model_failure=instead_of),
            classification=envelope.classification or unsettled(),
        )
        reading = reading if is_accepted(subject, turns) else asked_about_unread(reading)
    assumed: tuple[str, ...] = ()
    if instead_of is None:
        reading, defined = await ask_without_unread(subject, reading)
        if defined is not None and isinstance(reading, NotRead) and _was_asked_about(reading, turns):
            return defined
    if isinstance(reading, NotRead) and _was_asked_about(reading, turns):
        # Nobody is asked twice about a word: the best reading without it is given, and said.
        assumed = (fill(subject.texts.note_left_out, {"word": reading.about, "question": reading.read_as}),)
        reading = await asyncio.to_thread(
            translate, reading.read_as, catalog, language=envelope.language, today=subject.today
        )
    if isinstance(reading, NotRead):
        is_unknown = reading.trigger is Trigger.MISSING_DATABASE_INFO
        return instead_of if instead_of is not None and is_unknown else not_read(subject, reading)
    if reading.left_out:
        words = _LISTED[envelope.language].join(reading.left_out)
        assumed = (fill(subject.texts.note_left_out, {"word": words, "question": reading.reading}),)
    if reading.in_whole_units:
        figures = _LISTED[envelope.language].join(reading.in_whole_units)
        assumed = (*assumed, fill(subject.texts.note_whole_units, {"figures": figures}))
    if is_known_statement(reading.sql, catalog, envelope.attempts):
        return instead_of or Failure.of(FailureCode.SAME_SQL, "the translator reads the question as it did before")
    return drafted_envelope(
        subject,
        Draft(sql=reading.sql, dialect=catalog.dialect, origin=Origin.BUILTIN),
        _read(reading, catalog, assumed),
        reading.notes,
    )


def _note_names(subject: Subject) -> Subject:
    """Add what to do where the translator can read few names of the database; a thread's first answer says so."""
    readable, names = subject.prepared.readable_names, subject.prepared.names_counted
    if not has_few_readable_names(readable, names):
        return subject
    note = fill(subject.texts.note_names, {"readable": str(readable), "names": str(names)})
    return replace(subject, notes=(*subject.notes, note))


def asked_about_unread(reading: Translated | NotRead) -> Translated | NotRead:
    """Return what is asked back where a sure reading passes words over; the reading stays the first option."""
    if isinstance(reading, NotRead) or not reading.unread:
        return reading
    return NotRead(Trigger.AMBIGUOUS_QUESTION, ", ".join(reading.unread), (), best=reading.in_words)


def _was_asked_about(reading: NotRead, turns: tuple[Turn, ...]) -> bool:
    """Whether the thread has asked about the same words before, and there is a reading without them."""
    asked = {word for turn in turns for word in _PARTING.split(turn.about.casefold())}
    return bool(reading.about and reading.read_as) and asked.issuperset(_PARTING.split(reading.about.casefold()))


_LISTED: Final[Mapping[Language, str]] = {"en": ", ", "zh": "、"}
_PARTING: Final = re.compile(r"[,，、]\s*")


def read_in_thread(subject: Subject, turns: tuple[Turn, ...], *, asks_back: bool = True) -> Translated | NotRead:
    """Read what was asked as a change of what the thread asked before, else by itself with what the thread added to it."""
    catalog, language, today = subject.catalog, subject.envelope.language, subject.today
    accepted = is_accepted(subject, turns)
    if turns and not accepted:
        earlier = earlier_questions(turns)
        followed = translate_in_thread(
            without_picture(subject.envelope.question),
            earlier,
            catalog,
            language=language,
            today=today,
            asks_back=asks_back,
        )
        if isinstance(followed, Translated):
            return followed
    question = without_picture(subject.envelope.question if accepted else subject.readable)
    return translate(question, catalog, language=language, today=today, accepted=accepted, asks_back=asks_back)


def is_accepted(subject: Subject, turns: tuple[Turn, ...]) -> bool:
    """Whether the reading that was offered is wanted: chosen as an option, or by asking the same question again."""
    question, body = subject.envelope.question.strip().casefold(), subject.envelope.body
    last = turns[-1] if turns else None
    is_again = last is not None and last.result is None and last.question.strip().casefold() == question
    return is_again or (isinstance(body, Asked) and body.clarifies is not None)


def _read(reading: Translated, catalog: Catalog, assumed: tuple[str, ...]) -> Analysis:
    return Analysis(
        links=reading.links,
        tables=tuple(dict.fromkeys(link.table for link in reading.links)),
        catalog_fingerprint=catalog.fingerprint,
        reading=reading.reading,
        assumptions=assumed,
        carried=reading.carried,
        confidence=reading.confidence,
    )


def is_known_statement(sql: str, catalog: Catalog, attempts: tuple[Attempt, ...]) -> bool:
    if not attempts:
        return False
    wanted = normalise(sql, catalog.dialect)
    return any(normalise(attempt.sql, catalog.dialect) == wanted for attempt in attempts)
