"""failed -> drafted | returned | concluded: repair what is provably broken, ask for a new draft, or end the query.

Pure apart from reading the catalog and the connection's policy. Recovery never fails: whatever it cannot repair it
concludes. Limits: 3 repairs in a row and 6 per query, `options.retries_max` new drafts, and never a SQL twice.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from querybus.core.asking_back import Clarification, Option, OptionAction, Trigger
from querybus.core.catalog import Catalog, Language
from querybus.core.envelope import (
    Attempt,
    Delivery,
    Envelope,
    concluded,
    draft_of,
    drafted,
    may_probe,
    returned,
)
from querybus.core.failure import TRAITS, Ending, Facts, Failure, FailureCode
from querybus.core.messages import Advice, Analysis, Concluded, Draft, Drafted, Failed, Origin, Outcome, Returned
from querybus.core.options import Agreement, OnExecutionFailure, RepairPolicy
from querybus.core.policy import Connection, Reader
from querybus.core.subjects import EventName, StageName
from querybus.ops.log import redact_text
from querybus.sql.check import check
from querybus.sql.render import normalise
from querybus_recovery.guidance import Guidance
from querybus_recovery.ports import Catalogs, Connections
from querybus_recovery.rules.candidate import Repair
from querybus_recovery.rules.confidence import confidence
from querybus_recovery.rules.pipeline import SECONDS_MAX, repairs

REPAIRS_PER_FAILURE_MAX: Final = 3
REPAIRS_PER_QUERY_MAX: Final = 6
CONFIDENCE_MIN: Final = 1 / 7
"""A repair that is wrong more often than six times in seven is not run: the person is asked."""
REPAIR_MS_MIN: Final = 100
RETRY_MS_MIN: Final = 1_000
ERROR_LENGTH_MAX: Final = 600

_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_BLANKS = re.compile(r"\s+")

_OUTCOMES: Final = {
    Ending.FAILED: Outcome.FAILED,
    Ending.REFUSED: Outcome.REFUSED,
    Ending.CLARIFICATION: Outcome.CLARIFICATION,
    Ending.EXPIRED: Outcome.EXPIRED,
    Ending.CANCELLED: Outcome.CANCELLED,
}
_NO_DRAFT_CAME: Final = (
    FailureCode.UNKNOWN_GENERATION_FAILURE,
    FailureCode.MODEL_UNAVAILABLE,
    FailureCode.SAME_SQL,
)
"""A new draft was asked for and none came, or none that is new: what is left is the last one that failed."""
_ASKED_ABOUT: Final = (FailureCode.TIMEOUT, FailureCode.PERMISSION)
"""No new statement helps against these, yet a person may ask for less or for other data."""
_TRIGGERS: Final = {
    FailureCode.MISSING_DATABASE_INFO: Trigger.MISSING_DATABASE_INFO,
    FailureCode.AMBIGUOUS_QUESTION: Trigger.AMBIGUOUS_QUESTION,
    FailureCode.LLM_EXPLANATION: Trigger.AMBIGUOUS_QUESTION,
    FailureCode.COST: Trigger.COST,
}


async def recover(
    envelope: Envelope[Failed],
    delivery: Delivery,
    *,
    catalogs: Catalogs,
    connections: Connections,
    guidance: Mapping[Language, Guidance],
    on_repair: Callable[[Repair], None] | None = None,
) -> Envelope[Drafted] | Envelope[Returned] | Envelope[Concluded]:
    """Return the event that follows a failure; never a Failure. `on_repair` learns of the repair that becomes a draft."""
    body = envelope.body
    texts = guidance[envelope.language]
    failure = Failure.of(body.code, clean_error(body.detail), body.facts)
    if _should_ask_first(envelope):
        return _ask_first(envelope, failure)
    if not _may_go_on(envelope):
        return conclude(envelope, failure)
    repairs: tuple[Repair, ...] = ()
    remaining_ms = envelope.remaining_ms(delivery.now_ms)
    draft = body.draft
    last = _last_of_model(envelope)
    cause = _cause(envelope, last, texts)
    if remaining_ms >= REPAIR_MS_MIN and (last is not None or (draft is not None and TRAITS[body.code].by_rule)):
        known = await catalogs.read(envelope.connection)
        connection = await connections.get(envelope.connection)
        if known is not None and connection is not None:
            why = failure
            if last is not None:
                draft = Draft(sql=last.sql, dialect=connection.dialect, origin=last.origin)
                why = Failure.of(last.code or failure.code, last.detail, Facts(name=last.name))
            # The search may take tens of milliseconds: it must not hold up the loop.
            if draft is not None:
                repairs = await asyncio.to_thread(_new_repairs, envelope, draft, why, known, connection)
    after = decide(envelope, failure, repairs, texts, draft=draft, remaining_ms=remaining_ms, cause=cause)
    if on_repair is not None and isinstance(after.body, Drafted) and after.body.draft.origin is Origin.RULE:
        sql = after.body.draft.sql
        on_repair(next(attempt for attempt in repairs if attempt.sql == sql))
    return after


def decide(
    envelope: Envelope[Failed],
    failure: Failure,
    found: tuple[Repair, ...],
    texts: Guidance,
    *,
    draft: Draft | None,
    remaining_ms: int,
    cause: Failure | None = None,
) -> Envelope[Drafted] | Envelope[Returned] | Envelope[Concluded]:
    """Choose between the repairs that were found, a new draft and the end.

    A person's own statement is never changed: what would pass is reported. Under `model_first` a model gets a retry
    rather than a repair that assumes something; such repairs travel as hints. Where no new draft can come, an assumed
    repair is better than nothing, unless it is hardly ever right, and without one the translator's reading, if it is sure
    of any: else the person is asked. `draft` is what the repairs were found for, `cause` what a person is to learn of an end:
    why the last draft failed, and not that it came again.
    """
    policy = policy_of(envelope)
    author = author_of(envelope)
    likely = tuple(item for item in found if _is_likely(item))
    if author is Origin.USER:
        hints = "\n".join(texts.suggestion(attempt.sql) for attempt in found)
        return conclude(envelope, _detailed(failure, f"{failure.detail}\n{hints}".strip()))
    allowed = [
        item
        for item in likely
        if item.keeps_meaning or author is not Origin.MODEL or policy is not RepairPolicy.MODEL_FIRST
    ]
    if allowed and envelope.body.draft is not None and draft is not None and _may_repair(envelope):
        return _repaired(envelope, draft, allowed[0], texts)
    is_repeated = repeats(envelope)
    is_over = (
        policy is RepairPolicy.RULES_ONLY
        or envelope.retries.generation >= envelope.options.retries_max
        or remaining_ms < RETRY_MS_MIN
        or _is_exhausted(envelope)
    )
    if author is not Origin.MODEL or not TRAITS[failure.code].to_model or is_repeated or is_over:
        if likely and draft is not None and _may_repair(envelope):
            # No new draft will come: a repair that says what it assumes is better than nothing.
            return _repaired(envelope, draft, likely[0], texts)
        is_readable = author is Origin.MODEL and policy is not RepairPolicy.OFF
        read = _as_read(envelope, cause or failure) if is_readable else None
        if read is not None:
            return read
        if found and not likely:
            return _ask_first(envelope, failure)
        if author is Origin.MODEL and TRAITS[failure.code].to_model and is_repeated:
            return conclude(envelope, _detailed(failure, texts.same_sql(failure.detail)))
        return conclude(envelope, cause or failure)
    return _to_model(envelope, failure, found, texts)


def _to_model(
    envelope: Envelope[Failed], failure: Failure, found: tuple[Repair, ...], texts: Guidance
) -> Envelope[Returned]:
    """Ask for a new draft, with what is known of the failed one."""
    body = envelope.body
    advice = Advice(
        code=failure.code,
        detail=failure.detail,
        guidance=texts.advice(failure.code),
        facts=failure.facts,
        candidates_sql=tuple(attempt.sql for attempt in found),
    )
    return returned(
        envelope,
        Returned(
            operation=body.operation,
            draft=body.draft,
            advice=advice,
            analysis=body.analysis,
            alternative_sql=body.alternative_sql,
        ),
    )


def _as_read(envelope: Envelope[Failed], failure: Failure) -> Envelope[Drafted] | Envelope[Concluded] | None:
    """Return the translator's reading as the draft, where a model's came to nothing and it was not tried; else None.

    Words that the reading passes over are asked about, with the reading as what may be meant.
    """
    body, analysis = envelope.body, envelope.body.analysis
    second, draft = body.alternative_sql, body.draft
    if not analysis.second_reading or second is None or draft is None or not TRAITS[failure.code].to_model:
        return None
    if any(attempt.sql == second for attempt in envelope.attempts):
        return None
    if analysis.second_unread:
        return _ask_about_unread(envelope, analysis.second_reading, analysis.second_unread, failure)
    changes = {
        "reading": analysis.second_reading,
        "confidence": analysis.second_confidence,
        "agreement": Agreement.REPLACED,
        "assumptions": (),
        "column_labels": (),
    }
    return drafted(
        envelope,
        Drafted(
            draft=Draft(sql=second, dialect=draft.dialect, origin=Origin.BUILTIN),
            operation=body.operation,
            analysis=analysis.model_copy(update=changes),
            probe=may_probe(envelope),
        ),
    )


def _ask_about_unread(
    envelope: Envelope[Failed], reading: str, unread: tuple[str, ...], failure: Failure
) -> Envelope[Concluded]:
    """Ask about the words that a reading passes over; the reading itself is the first option."""
    offered = Option(id="1", text=reading, question=reading, action=OptionAction.CHOOSE_SOURCE)
    about = (", " if envelope.language == "en" else "、").join(unread)
    asked = Clarification(trigger=Trigger.AMBIGUOUS_QUESTION, about=about, options=(offered,))
    return _concluded(envelope, failure, Outcome.CLARIFICATION, clarification=asked)


def conclude(envelope: Envelope[Any], failure: Failure) -> Envelope[Concluded]:
    """Return the end that the failure's code asks for, with the SQL and the error kept for analysts."""
    outcome = _OUTCOMES[TRAITS[failure.code].ending]
    clarification = None
    reply = None
    if outcome is Outcome.CLARIFICATION:
        clarification = Clarification(
            trigger=_TRIGGERS.get(failure.code, Trigger.SQL_EXECUTION_ERROR), about=failure.facts.name or ""
        )
    if failure.code is FailureCode.LLM_EXPLANATION:
        reply = failure.detail
    return _concluded(
        envelope,
        failure,
        outcome,
        clarification=clarification,
        reply=reply,
        refused_kind=failure.facts.name if failure.code is FailureCode.SAFETY else None,
    )


def conclude_failed(envelope: Envelope[Any], failure: Failure) -> Envelope[Concluded]:
    """Return the end of a query whose recovery itself failed: the stage's `on_failure`, never `failed` again."""
    return _concluded(envelope, failure, Outcome.FAILED)


def policy_of(envelope: Envelope[Any]) -> RepairPolicy:
    """Return who repairs: what was asked for, else a model first; `off` also where repair is switched off."""
    if not envelope.options.enable_auto_repair:
        return RepairPolicy.OFF
    return envelope.options.repair_policy or RepairPolicy.MODEL_FIRST


def author_of(envelope: Envelope[Failed]) -> Origin | None:
    """Return who wrote the SQL that the failure goes back to: the author before the rules; None if nobody did.

    Without any SQL, the codes that a new draft may help come from a model only.
    """
    author = next(
        (attempt.origin for attempt in reversed(envelope.attempts) if attempt.origin is not Origin.RULE), None
    )
    if author is not None:
        return author
    draft = envelope.body.draft
    if draft is not None and draft.origin is not Origin.RULE:
        return draft.origin
    return Origin.MODEL if draft is None and TRAITS[envelope.body.code].to_model else None


def repeats(envelope: Envelope[Failed]) -> bool:
    """Return whether the SQL that failed had been tried before, compared after normalising."""
    draft = envelope.body.draft
    if draft is None or not envelope.attempts:
        return False
    last = normalise(draft.sql, draft.dialect)
    return any(normalise(attempt.sql, draft.dialect) == last for attempt in envelope.attempts[:-1])


def clean_error(detail: str) -> str:
    """Return an error in one bounded line without terminal escapes and secrets.

    >>> clean_error("no such\\n  column")
    'no such column'
    """
    return redact_text(_BLANKS.sub(" ", _ESCAPES.sub("", detail)).strip())[:ERROR_LENGTH_MAX]


def _may_go_on(envelope: Envelope[Failed]) -> bool:
    """Default deny: a query goes on only if its options, its code and its beginning allow it."""
    traits = TRAITS[envelope.body.code]
    is_open = traits.to_model or traits.by_rule or (envelope.body.code in _NO_DRAFT_CAME and bool(envelope.attempts))
    return policy_of(envelope) is not RepairPolicy.OFF and not _began_confirmed(envelope) and is_open


def _should_ask_first(envelope: Envelope[Failed]) -> bool:
    """Whether the person chooses after a failed execution, before anything is repaired or ended."""
    traits = TRAITS[envelope.body.code]
    return (
        envelope.options.on_execution_failure is OnExecutionFailure.CLARIFY_FIRST
        and envelope.body.stage is StageName.EXECUTOR
        and policy_of(envelope) is not RepairPolicy.OFF
        and not _began_confirmed(envelope)
        and (traits.to_model or traits.by_rule or envelope.body.code in _ASKED_ABOUT)
    )


def _began_confirmed(envelope: Envelope[Failed]) -> bool:
    return any(step.event is EventName.CONFIRMED for step in envelope.path)


def _last_of_model(envelope: Envelope[Failed]) -> Attempt | None:
    """Return a model's last draft where it was asked for another and none came.

    The event still has the draft that was returned to the model, which may be a repair of the model's own.
    """
    if envelope.body.code not in _NO_DRAFT_CAME:
        return None
    return next(
        (attempt for attempt in reversed(envelope.attempts) if attempt.origin is Origin.MODEL and attempt.code), None
    )


def _is_exhausted(envelope: Envelope[Failed]) -> bool:
    """Whether a repair has failed that stands in for the draft which a model, asked for another, did not give."""
    of_generator = [step.event for step in envelope.path if step.stage == StageName.GENERATOR]
    return envelope.body.stage is not StageName.GENERATOR and of_generator[-1:] == [EventName.FAILED]


def _cause(envelope: Envelope[Failed], last: Attempt | None, texts: Guidance) -> Failure | None:
    """Return why the last draft failed where the same one came again."""
    if last is None or last.code is None or envelope.body.code is not FailureCode.SAME_SQL:
        return None
    return Failure.of(last.code, texts.same_sql(last.detail), Facts(name=last.name))


def _may_repair(envelope: Envelope[Failed]) -> bool:
    in_a_row = 0
    for attempt in reversed(envelope.attempts):
        if attempt.origin is not Origin.RULE:
            break
        in_a_row += 1
    return in_a_row < REPAIRS_PER_FAILURE_MAX and envelope.retries.mend < REPAIRS_PER_QUERY_MAX


def _new_repairs(
    envelope: Envelope[Failed], draft: Draft, failure: Failure, catalog: Catalog, connection: Connection
) -> tuple[Repair, ...]:
    """Return the rules' results that were not tried before in this query."""

    def still_fails(sql: str) -> Failure | None:
        checked = check(
            sql,
            dialect=draft.dialect,
            catalog=catalog,
            policy=connection.policy,
            row_limit=envelope.options.rows_max,
            reader=Reader(envelope.tenant, envelope.user),
        )
        return checked if isinstance(checked, Failure) else None

    # The search has a thread of its own: what others take of a busy machine is not counted against it.
    ends = time.thread_time() + SECONDS_MAX

    def in_time() -> bool:
        return time.thread_time() < ends

    if envelope.body.code in _NO_DRAFT_CAME:
        failure = still_fails(draft.sql) or failure
    search = partial(repairs, catalog=catalog, check=still_fails, in_time=in_time, question=envelope.question)
    result = search(draft, failure) if TRAITS[failure.code].by_rule else ()
    first = next((attempt for attempt in reversed(envelope.attempts) if attempt.origin is not Origin.RULE), None)
    if draft.origin is Origin.RULE and first is not None and first.code is not None:
        # The engine refused a repair: what else the author's own draft could have meant comes after it.
        why = still_fails(first.sql) or Failure.of(first.code, first.detail, Facts(name=first.name))
        result += search(draft.model_copy(update={"sql": first.sql}), why)
    # The search itself never gives the draft back; earlier attempts are compared after normalising.
    earlier = {attempt.sql for attempt in envelope.attempts} - {draft.sql}
    if not earlier:
        return result
    tried = {normalise(item, draft.dialect) for item in (*earlier, draft.sql)}
    return tuple(attempt for attempt in result if normalise(attempt.sql, draft.dialect) not in tried)


def _repaired(envelope: Envelope[Failed], draft: Draft, repair: Repair, texts: Guidance) -> Envelope[Drafted]:
    body = envelope.body
    # That a second draft said the same speaks of the statement that failed.
    analysis = body.analysis.model_copy(update={"agreement": None})
    sure = confidence(repair)
    if sure is not None:
        stated = analysis.confidence if analysis.confidence is not None else 1.0
        analysis = analysis.model_copy(update={"confidence": min(stated, sure)})
    return drafted(
        envelope,
        Drafted(
            draft=Draft(sql=repair.sql, dialect=draft.dialect, origin=Origin.RULE),
            operation=body.operation,
            analysis=analysis,
            alternative_sql=body.alternative_sql,
            probe=may_probe(envelope),
            rules=tuple(step.rule.value for step in repair.steps),
            notes=(*body.notes, *(texts.note(step) for step in repair.steps)),
        ),
    )


def _is_likely(repair: Repair) -> bool:
    sure = confidence(repair)
    return sure is None or sure >= CONFIDENCE_MIN


def _ask_first(envelope: Envelope[Failed], failure: Failure) -> Envelope[Concluded]:
    return _concluded(
        envelope,
        failure,
        Outcome.CLARIFICATION,
        clarification=Clarification(trigger=Trigger.SQL_EXECUTION_ERROR),
    )


def _concluded(
    envelope: Envelope[Any],
    failure: Failure,
    outcome: Outcome,
    *,
    clarification: Clarification | None = None,
    reply: str | None = None,
    refused_kind: str | None = None,
) -> Envelope[Concluded]:
    draft = draft_of(envelope)
    return concluded(
        envelope,
        Concluded(
            outcome=outcome,
            code=failure.code,
            detail=failure.detail,
            stage=getattr(envelope.body, "stage", StageName.RECOVERY),
            sql=draft.sql if draft else None,
            dialect=draft.dialect if draft else None,
            clarification=clarification,
            reply=reply,
            refused_kind=refused_kind,
            analysis=getattr(envelope.body, "analysis", Analysis()),
            notes=getattr(envelope.body, "notes", ()),
        ),
    )


def _detailed(failure: Failure, detail: str) -> Failure:
    return Failure.of(failure.code, detail, failure.facts)
