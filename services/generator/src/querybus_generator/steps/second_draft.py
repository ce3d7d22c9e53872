"""A second draft beside a model's: how the built-in translator reads the question, else the model once more where it is doubtful.

Drafts that came about in other ways agree by chance less often than a model agrees with itself, and reading costs no call but some
ten milliseconds of CPU. The translator's reading counts only where it is sure; what both come to is compared by the executor
(`make bench-drafts`).
"""

from __future__ import annotations

from typing import Final

from querybus.core.failure import Failure
from querybus.core.messages import Agreement, Analysis
from querybus.sql.conditions.missing_value import as_held
from querybus.sql.render import is_same_query, normalise
from querybus_generator.linking.near import Near
from querybus_generator.prompts.of_subject import question_prompt
from querybus_generator.reply.doubts import DraftDoubt, doubts_of
from querybus_generator.reply.own_dialect import in_own_dialect
from querybus_generator.reply.read import read_reply
from querybus_generator.subject import Subject
from querybus_translator import NotRead, Translated

SECOND_SECONDS_MIN: Final = 5.0
SECOND_SECONDS_SHARE: Final = 0.3
"""Of the time that the first call had."""


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


async def second_by_model(
    subject: Subject, asked: str, sql: str, analysis: Analysis, seconds: float, near: Near
) -> tuple[Analysis, str | None]:
    """Return the analysis with what a second call came to, and its draft where that is another statement.

    It is asked for once and of a doubtful draft only, with another schema text and no examples; what a model says of it beyond
    the statement is not used.
    """
    catalog = subject.catalog
    # What has to be repaired is drafted again anyhow; as long again as the first might have taken leaves nothing for what follows.
    is_doubtful = bool(set(analysis.doubts) - {DraftDoubt.UNKNOWN_NAME.value})
    if not is_doubtful or subject.model is None or seconds < SECOND_SECONDS_MIN:
        return analysis, None
    question = question_prompt(subject, asked, near, turns=subject.turns, attempts=(), advice=None, is_second=True)
    reply = await subject.model.reply(
        question.messages,
        timeout_seconds=seconds * SECOND_SECONDS_SHARE,
        model=subject.envelope.options.model,
        tenant=subject.envelope.tenant,
    )
    if isinstance(reply, Failure):
        return analysis, None
    tokens = {"tokens_in": analysis.tokens_in + reply.tokens_in, "tokens_out": analysis.tokens_out + reply.tokens_out}
    analysis = analysis.model_copy(update=tokens)
    said = read_reply(reply.text, catalog.dialect, is_cut=reply.is_cut)
    if isinstance(said, Failure):
        return analysis, None
    own = in_own_dialect(said.sql, catalog)
    second = as_held(own, catalog.dialect, catalog, subject.prepared.policy).sql
    if normalise(second, catalog.dialect) == normalise(sql, catalog.dialect):
        return analysis.model_copy(update={"agreement": Agreement.SAME_STATEMENT}), None
    if doubts_of(second, subject.question, subject.prepared.index, asked=asked):
        analysis = analysis.model_copy(update={"doubts": (*analysis.doubts, DraftDoubt.SECOND_DOUBTFUL)})
    return analysis, second
