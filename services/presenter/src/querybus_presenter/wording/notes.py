"""What a reader should know beside an answer: what was assumed, doubted, cut, masked or repaired, each in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from querybus.core.envelope import Envelope
from querybus.core.failure import TRAITS, FailureCode
from querybus.core.messages import Concluded, Origin, Outcome, Result
from querybus.core.options import Agreement
from querybus.core.subjects import StageName
from querybus.sql.check import NOT_ASKED_NOTE
from querybus_presenter.doubts import Doubt
from querybus_presenter.wording.texts import Texts

_AGREED: Final = (Agreement.SAME_STATEMENT, Agreement.EQUAL)
_SAID_OF_AGREEMENT: Final = (Agreement.DIFFERENT, Agreement.REPLACED)


def notes_of(
    envelope: Envelope[Concluded],
    result: Result,
    doubtful: tuple[Doubt, ...],
    texts: Texts,
    may_say: Callable[[str | None], bool],
) -> tuple[str, ...]:
    """Return the notes of an answer; `may_say` judges whether its reader may see a text that is no template."""
    body = envelope.body
    said = (*(texts.doubts[doubt] for doubt in doubtful), *_cut_note(result, texts))
    assumed = body.analysis.assumptions if body.outcome is Outcome.ANSWERED else ()
    said = (*(texts.notes["assumption"].format(text=text) for text in assumed if may_say(text)), *said)
    agreement = body.analysis.agreement
    if agreement in _AGREED and body.analysis.second_reading and body.outcome is Outcome.ANSWERED and not doubtful:
        said = (texts.notes["agreed"], *said)
    if agreement is not None and agreement in _SAID_OF_AGREEMENT and body.outcome is Outcome.ANSWERED:
        key = "outvoted" if agreement is Agreement.REPLACED and body.analysis.votes else agreement.value
        reading = (body.analysis.second_reading or "").rstrip(".。") if may_say(body.analysis.second_reading) else ""
        said = (texts.notes[f"{key}_as" if reading else key].format(reading=reading), *said)
    stand_in = stand_in_note(envelope, texts)
    if envelope.audience != "business":
        return (*stand_in, *body.notes, *result.warnings, *said)
    if body.outcome is not Outcome.ANSWERED:
        return stand_in
    if any(column.personal for column in result.columns):
        said = (*said, texts.notes["masked"])
    is_repaired = agreement is not Agreement.REPLACED and any(item.origin is Origin.RULE for item in envelope.attempts)
    notes: list[str] = []
    is_unsaid = any(not may_say(text) for text in assumed)
    if is_repaired or is_unsaid or any(note != NOT_ASKED_NOTE for note in body.notes):
        notes.append(texts.notes["mended" if is_repaired else "assumed"])
    if NOT_ASKED_NOTE in body.notes:
        notes.append(texts.notes["unchecked"])
    if result.warnings:
        notes.append(texts.notes["warned"])
    return (*stand_in, *notes, *said)


def _cut_note(result: Result, texts: Texts) -> tuple[str, ...]:
    """Return what is to be known of rows that are wide: an answer holds fewer of them than their first page, or parts."""
    if result.pages is None:
        return ()
    if result.values_cut:
        return (texts.notes["values_cut"].format(count=result.values_cut),)
    count = min(result.row_count, result.pages.page_size)
    if len(result.rows) >= count:
        return ()
    return (texts.notes["rows_cut"].format(shown=len(result.rows), count=count),)


def authorship(envelope: Envelope[Concluded]) -> dict[str, object]:
    """Return who wrote the statement that is shown, and why a model gave none; a repair by rule changes no author."""
    analysis = envelope.body.analysis
    drafts = [item.origin for item in envelope.attempts if item.origin is not Origin.RULE]
    author = drafts[-1] if drafts else None
    if author is not None and analysis.agreement is Agreement.REPLACED and analysis.second_reading:
        author = Origin.BUILTIN
    return {
        "written_by": author,
        "model": (analysis.model or "") if author is Origin.MODEL and envelope.audience != "business" else "",
        "model_trouble": analysis.model_trouble,
        "model_detail": "" if envelope.audience == "business" else analysis.model_detail,
        "model_use": None if envelope.audience == "business" or not envelope.model_use.calls else envelope.model_use,
    }


def failed_step(envelope: Envelope[Concluded], texts: Texts) -> str:
    """Return at which step a statement failed, with its error; empty where none did, and to business readers.

    A statement fails when it is checked; a repaired one fails again; no repair comes; or none is written at all.
    """
    body, attempts = envelope.body, envelope.attempts
    error = body.detail.strip().partition("\n")[0][:ERROR_LENGTH_MAX]
    if not error or body.code is None or not TRAITS[body.code].to_model:
        return ""
    match body.stage:
        case StageName.VALIDATOR:
            step = "sql_repair_failed" if len(attempts) > 1 else "sql_invalid"
        case StageName.GENERATOR if attempts:
            step = "sql_repair_missing"
        case StageName.GENERATOR if body.code not in _SAID_BY_MODEL:
            step = "sql_not_generated"
        case _:
            return ""
    return texts.notes[step].format(error=error)


ERROR_LENGTH_MAX: Final = 300
_SAID_BY_MODEL: Final = frozenset(
    {FailureCode.AMBIGUOUS_QUESTION, FailureCode.MISSING_DATABASE_INFO, FailureCode.LLM_EXPLANATION}
)
"""What a model says in place of a statement has a text of its own."""


def stand_in_note(envelope: Envelope[Concluded], texts: Texts) -> tuple[str, ...]:
    """Return why the translator or a prepared text stands in a model's place; an analyst learns the fault as well."""
    analysis = envelope.body.analysis
    outcome = envelope.body.outcome
    if analysis.model_trouble is None or outcome not in (*_READ_BY_TRANSLATOR, Outcome.REPLIED):
        return ()
    key = "prepared_reply" if outcome is Outcome.REPLIED else "stand_in"
    said = texts.notes[key].format(cause=texts.model_trouble[analysis.model_trouble].rstrip(".。"))
    if envelope.audience == "business" or not analysis.model_detail:
        return (said,)
    return (texts.notes["stand_in_detail"].format(note=said, detail=analysis.model_detail),)


_READ_BY_TRANSLATOR: Final = (Outcome.ANSWERED, Outcome.PREPARED, Outcome.CLARIFICATION)
