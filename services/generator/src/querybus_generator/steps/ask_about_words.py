"""Words that mean nothing exact are asked about before any SQL, and never twice in a thread."""

from __future__ import annotations

from dataclasses import replace

from querybus.core.asking_back import Trigger
from querybus.core.envelope import Envelope
from querybus.core.messages import Asked, Concluded
from querybus_generator.conversation.turns import Turn
from querybus_generator.ports import History
from querybus_generator.prompts.template import fill
from querybus_generator.steps.classify import unsettled
from querybus_generator.subject import Subject, clarification, with_header
from querybus_generator.wording.vague_terms import (
    Undefined,
    definition_of,
    readings,
    settled_reading,
    undefined_words,
)


async def ask_about_vague_terms(subject: Subject, body: Asked, _: History) -> Envelope[Concluded] | Subject:
    """Ask about a word that means nothing exact, once in a thread, or leave it to the model, where one is there, with a hint.

    What the thread has settled is read as it was then.
    """
    if body.clarifies is not None:
        return subject
    subject = _with_settled_words(subject)
    undefined = _undefined(subject, subject.turns)
    if isinstance(undefined, Undefined) and subject.model is not None:
        hint = fill(subject.texts.hint_vague, {"word": undefined.word})
        return replace(subject, hints=(*subject.hints, hint))
    if isinstance(undefined, Undefined):
        return clarification(
            with_header(subject, classification=subject.envelope.classification or unsettled()),
            Trigger.AMBIGUOUS_QUESTION,
            undefined.word,
            readings(undefined, subject.question, subject.envelope.language),
        )
    return replace(subject, notes=(*subject.notes, *undefined))


def _with_settled_words(subject: Subject) -> Subject:
    """Return the subject with the words of its question that this thread has settled read as they were then."""
    language = subject.envelope.language
    earlier = [(turn.question, turn.about) for turn in subject.turns]
    for word in undefined_words(subject.question, subject.prepared.names):
        read = settled_reading(word, subject.question, earlier, language)
        if read is not None:
            note = fill(subject.texts.note_settled, {"word": word.word, "question": read})
            # It stands by itself now.
            settled = with_header(subject, enriched_question=read)
            return _with_settled_words(replace(settled, turns=(), notes=(*subject.notes, note)))
    return subject


def _undefined(subject: Subject, turns: tuple[Turn, ...]) -> Undefined | tuple[str, ...]:
    """Return a word to ask about, or what is to be said of the words that somebody has defined."""
    question = subject.question
    said: list[str] = []
    for word in undefined_words(question, subject.prepared.names):
        defined = definition_of(word, question, subject.definitions)
        if defined is not None:
            said.append(fill(subject.texts.note_defined, {"word": defined[0], "meaning": defined[1]}))
        elif not any(word.word.casefold() == turn.about.casefold() for turn in turns):
            return word
    return tuple(said)
