"""Another picture of the newest answer: its statement is run again as it was drafted, and no model is asked."""

from __future__ import annotations

from querybus.core.envelope import Envelope
from querybus.core.failure import Failure
from querybus.core.messages import (
    Analysis,
    Asked,
    Concluded,
    Draft,
    Drafted,
    Origin,
)
from querybus.text.picture_words import picture_wish, without_picture
from querybus.text.words import HAN
from querybus_generator.ports import History
from querybus_generator.steps.classify import unsettled
from querybus_generator.subject import Subject, drafted_envelope, with_header

Reached = Envelope[Drafted] | Envelope[Concluded] | Failure | Subject


async def answer_by_picture(subject: Subject, _: Asked, history: History) -> Reached:
    """Return the last answer's draft where nothing but another picture is asked for; else the subject."""
    envelope = subject.envelope
    if picture_wish(envelope.question) is None:
        return subject
    turns = await history.turns(envelope)
    last = next((turn for turn in reversed(turns) if turn.result is not None and turn.result.columns), None)
    tried = await history.attempts(envelope, last.query_id) if last is not None else ()
    if last is None or not tried:
        return subject
    parting = "，" if envelope.language == "zh" else ", "
    subject = with_header(
        subject,
        classification=envelope.classification or unsettled(),
        enriched_question=f"{without_picture(last.standing).rstrip(' .?!。？！')}{parting}{envelope.question}",
    )
    draft = Draft(sql=tried[-1].sql, dialect=subject.catalog.dialect, origin=Origin.BUILTIN)
    # What was said in one language is no label of an answer in the other.
    is_spoken_alike = bool(HAN.search(last.analysis.reading)) == (envelope.language == "zh")
    analysis = Analysis(
        catalog_fingerprint=subject.catalog.fingerprint,
        reading=last.analysis.reading if is_spoken_alike else "",
        labels=last.analysis.labels if is_spoken_alike else (),
        confidence=last.analysis.confidence,
    )
    return drafted_envelope(subject, draft, analysis)
