"""Further drafts beside a model's: how the built-in translator reads the question, and the model once more where drafts disagree.

Drafts that came about in other ways agree by chance less often than a model agrees with itself, and reading costs no call but some
ten milliseconds of CPU. The translator's reading counts only where it is sure; what both come to is compared by the executor
(`make bench-drafts`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from querybus.core.envelope import Envelope
from querybus.core.failure import Failure
from querybus.core.messages import Analysis, Draft, Drafted, Returned
from querybus.core.options import Agreement
from querybus.sql.conditions.missing_value import as_held
from querybus.sql.render import is_same_query, normalise
from querybus.sql.write import is_change
from querybus_generator.conversation.turns import Turn
from querybus_generator.linking.near import Near
from querybus_generator.ports import ChatModel
from querybus_generator.prompts.of_subject import question_prompt
from querybus_generator.reply.doubts import DraftDoubt, doubts_of
from querybus_generator.reply.own_dialect import in_own_dialect
from querybus_generator.reply.read import read_reply
from querybus_generator.subject import Subject
from querybus_translator import NotRead, Translated

SECOND_SECONDS_MIN: Final = 5.0
SECOND_SECONDS_SHARE: Final = 0.5
"""Of the time that is left: the first draft is run once more behind it."""


def second_by_translator(
    subject: Subject, sql: str, analysis: Analysis, reading: Translated | NotRead | None
) -> tuple[Analysis, str | None]:
    """Return the analysis with how the translator reads the question, and its statement where that is another one."""
    if reading is None:
        return analysis, None
    if isinstance(reading, NotRead) or reading.left_out:
        return analysis.model_copy(update={"second_reading": ""}), None
    said: dict[str, object] = {
        "second_reading": reading.in_words,
        "second_confidence": reading.confidence,
        "second_unread": reading.unread,
    }
    if is_same_query(reading.sql, sql, subject.catalog.dialect):
        return analysis.model_copy(update={**said, "agreement": Agreement.SAME_STATEMENT}), None
    # It is shown in the place of a first draft with such a join, if it has no doubt of its own.
    if DraftDoubt.UNDECLARED_JOIN in analysis.doubts and doubts_of(
        reading.sql, subject.question, subject.prepared.index
    ):
        said["doubts"] = (*analysis.doubts, DraftDoubt.SECOND_DOUBTFUL)
    return analysis.model_copy(update=said), reading.sql


async def draft_beside(subject: Subject, body: Returned, draft: Draft, seconds: float) -> Envelope[Drafted]:
    """Return the draft that ran, once more, with another of the model's beside it: by a prompt that is built otherwise.

    Where no other comes of the call the first goes on alone. What a model says beyond the statement is not used.
    """
    analysis, alternative = body.analysis, body.alternative_sql
    model = subject.model if seconds >= SECOND_SECONDS_MIN else None
    sql = None if model is None else await _further_draft(subject, model, seconds)
    if sql is not None and alternative is None and not analysis.second_reading:
        if normalise(sql, draft.dialect) == normalise(draft.sql, draft.dialect):
            analysis = analysis.model_copy(update={"agreement": Agreement.SAME_STATEMENT})
        else:
            alternative = sql
            if doubts_of(sql, subject.question, subject.prepared.index):
                analysis = analysis.model_copy(update={"doubts": (*analysis.doubts, DraftDoubt.SECOND_DOUBTFUL)})
    elif sql is not None:
        analysis = analysis.model_copy(update={"votes_sql": (*analysis.votes_sql, sql)})
    again = Drafted(
        draft=draft, operation=body.operation, analysis=analysis, alternative_sql=alternative, notes=body.notes
    )
    # It is the try that ran, not one more.
    return subject.envelope.with_body(again)


async def _further_draft(subject: Subject, model: ChatModel, seconds: float) -> str | None:
    """Return another draft of the model; None where no statement comes in time.

    The linked tables stand in another order and no examples; for a third draft the model plans before it writes.
    """
    catalog, asked = subject.catalog, asked_in_thread(subject, subject.prompt_turns)
    if subject.envelope.retries.vote > 1:
        subject = replace(subject, prompting=subject.prompting.model_copy(update={"reasoning": "short"}))
    question = question_prompt(
        subject, asked, Near(), turns=subject.prompt_turns, attempts=(), advice=None, is_second=True
    )
    reply = await model.reply(
        question.messages,
        timeout_seconds=seconds * SECOND_SECONDS_SHARE,
        model=subject.envelope.options.model,
        tenant=subject.envelope.tenant,
    )
    said = reply if isinstance(reply, Failure) else read_reply(reply.text, catalog.dialect, is_cut=reply.is_cut)
    if isinstance(said, Failure) or is_change(said.sql, catalog.dialect):
        return None
    return as_held(in_own_dialect(said.sql, catalog), catalog.dialect, catalog, subject.prepared.policy).sql


def asked_in_thread(subject: Subject, turns: tuple[Turn, ...]) -> str:
    """Return what is linked: what goes on from the thread names its tables there."""
    if subject.envelope.enriched_question or not turns:
        return subject.question
    return "\n".join((subject.question, *(turn.question for turn in turns[-3:])))
