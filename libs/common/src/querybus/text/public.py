"""What each audience may see of an event, an answer, a page or a progress note is decided here and nowhere else.

Everything is an allow-list: a field that no line here names does not leave, whatever a newer service adds to a
message. Business readers get no SQL, no name of a table or column, no driver text; their columns are `c1`..`cn`.
Cell values, the person's own question and the texts that the presenter phrased for the reader pass unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from querybus.core.envelope import Attempt, Audience, Envelope, PathStep
from querybus.core.messages import (
    Analysis,
    Answer,
    AnswerColumn,
    Approved,
    Asked,
    Body,
    Concluded,
    Confirmed,
    Drafted,
    Failed,
    Finished,
    Option,
    Outcome,
    Result,
    Returned,
)
from querybus.core.subjects import EventName, StageName
from querybus.text.disclosure import is_own_speech
from querybus.text.plain_answer import LABEL_TEXTS

Json = dict[str, Any]
"""A JSON object: text, numbers, booleans, None, lists and objects."""

PROGRESS_BYTES_MAX: Final = 16_384

_STEPS: Final = frozenset({*StageName, "sweeper"})
_PROGRESS_STATES: Final = frozenset({"started", "stored", "tokens"})


def public_event(envelope: Envelope[Any], audience: Audience) -> Json:
    """Return the view of one event of a log.

    Always: event, query_id, thread_id, at. By kind: outcome and code of an end, code and stage of a failure, the
    whole `public_answer` of `finished`. Analysts also get SQL, details, attempts and the analysis.
    """
    view: Json = {
        "event": envelope.event.value,
        "query_id": envelope.query_id,
        "thread_id": envelope.thread_id,
        "at": envelope.path[-1].ended_at if envelope.path else envelope.asked_at,
        "retries": _retries(envelope),
    }
    body = cast("Body", envelope.body)
    is_analyst = audience == "analyst"
    match body:
        case Asked():
            view |= {
                "question": envelope.question,
                "language": envelope.language,
                "operation": body.operation.value,
                "asked_at": envelope.asked_at,
                "deadline_at": envelope.deadline_at,
            }
        case Failed():
            view |= {"code": body.code.value, "stage": body.stage.value}
            if is_analyst:
                view |= {"detail": body.detail, "sql": body.draft.sql if body.draft else None}
        case Returned():
            view |= {"code": body.advice.code.value}
            if is_analyst:
                view |= {"detail": body.advice.detail, "sql": body.draft.sql if body.draft else None}
        case Drafted():
            if is_analyst:
                view |= {
                    "sql": body.draft.sql,
                    "dialect": body.draft.dialect.value,
                    "origin": body.draft.origin.value,
                    "notes": list(body.notes),
                    "analysis": _analysis(body.analysis),
                }
        case Approved():
            view |= {"checked": list(body.checked)}
            if is_analyst:
                view |= {"sql": body.sql, "dialect": body.dialect.value, "tables": list(body.tables)}
        case Confirmed():
            view |= {"rows_affected_max": body.rows_affected_max}
        case Concluded():
            view |= {"outcome": body.outcome.value, "code": body.code.value if body.code else None}
            if body.result is not None:
                view |= {"result": _early_result(body.result, envelope, audience)}
            if is_analyst:
                view |= {"sql": body.sql, "detail": body.detail}
        case Finished():
            view |= {"answer": public_answer(cast("Envelope[Finished]", envelope), audience)}
    return view


def public_answer(envelope: Envelope[Finished], audience: Audience) -> Json:
    """Return the whole answer of a finished query as its reader may have it."""
    is_analyst = audience == "analyst"
    answer = envelope.body.answer
    view: Json = {
        "query_id": envelope.query_id,
        "thread_id": envelope.thread_id,
        "connection": envelope.connection,
        "question": envelope.question,
        "enriched_question": _read_as(envelope, is_analyst=is_analyst),
        "language": answer.language,
        "outcome": answer.outcome.value,
        "code": answer.code.value if answer.code else None,
        "message": answer.message,
        "next_step": answer.next_step,
        "options": [_option(option) for option in answer.options],
        "trigger": answer.trigger.value if answer.trigger else None,
        "confirmation": _confirmation(answer, is_analyst=is_analyst),
        "rows_affected": answer.rows_affected,
        "columns": public_columns(answer, audience),
        "rows": [list(row) for row in answer.rows],
        "row_count": answer.row_count,
        "truncated": answer.truncated,
        "total_count": total_of(answer),
        "total_is_estimate": answer.total_is_estimate,
        "pages": _pages(answer),
        "summary": answer.summary,
        "chart": answer.chart,
        "notes": list(answer.notes),
        "mended": list(answer.mended),
        "confidence": answer.confidence,
        "explanation": answer.explanation,
        "classification": _classification(envelope, is_analyst=is_analyst),
        "retries": _retries(envelope),
        "attempts": [_attempt(attempt, is_analyst=is_analyst) for attempt in envelope.attempts],
        "path": [_step(step) for step in envelope.path if step.stage in _STEPS],
        "asked_at": envelope.asked_at,
        "deadline_at": envelope.deadline_at,
    }
    if is_analyst:
        view |= {
            "sql": envelope.body.sql,
            "detail": envelope.body.detail,
        }
    return view


def _read_as(envelope: Envelope[Any], *, is_analyst: bool) -> str | None:
    """Return the question as it was read in its thread: for business readers if no word of it is written as a name."""
    read = envelope.enriched_question
    if read is None or is_analyst or is_own_speech(read, envelope.language, said=envelope.question):
        return read
    return None


def total_of(answer: Answer) -> int | None:
    """Return how many rows the whole result has, or None where there is none or nobody knows."""
    if answer.outcome is not Outcome.ANSWERED or not answer.columns:
        return None
    return answer.total_count if answer.truncated else answer.row_count


def public_columns(answer: Answer, audience: Audience) -> list[Json]:
    """Return a result's columns; for business readers the ids are `c1`..`cn` whatever the answer says."""
    return [_column(column, n, audience) for n, column in enumerate(answer.columns, 1)]


def public_page(answer: Answer, rows: Sequence[Sequence[Any]], audience: Audience) -> Json:
    """Return one page of a result; the columns are those of the answer, never those of the stored page."""
    return {"columns": public_columns(answer, audience), "rows": [list(row) for row in rows]}


def public_progress(data: bytes, audience: Audience) -> Json | None:
    """Return a progress note, or None for bytes that are none; model tokens reach analysts only."""
    if len(data) > PROGRESS_BYTES_MAX:
        return None
    try:
        note = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(note, dict):
        return None
    note = cast("Mapping[str, object]", note)
    view: Json = {}
    for name, known in (("stage", _STEPS), ("state", _PROGRESS_STATES)):
        if isinstance(value := note.get(name), str) and value in known:
            view[name] = value
    for name in ("n", "at"):
        if isinstance(note.get(name), int):
            view[name] = note[name]
    if audience == "analyst" and isinstance(note.get("text"), str):
        view["text"] = note["text"]
    return view if "stage" in view else None


def status_of(events: Sequence[EventName]) -> str:
    """Return a log's status by the events that it holds: `queued`, `running` or `finished`."""
    if not events:
        return "queued"
    return "finished" if EventName.FINISHED in events else "running"


def _column(column: AnswerColumn, n: int, audience: Audience) -> Json:
    return {"id": column.id if audience == "analyst" else f"c{n}", "label": column.label, "kind": column.kind.value}


def _early_result(result: Result, envelope: Envelope[Any], audience: Audience) -> Json:
    """Return the rows of a conclusion, which the presenter has not labelled yet."""
    label = LABEL_TEXTS[envelope.language]
    names = [
        (column.name, column.name) if audience == "analyst" else (f"c{n}", label.format(n=n))
        for n, column in enumerate(result.columns, 1)
    ]
    return {
        "columns": [
            {"id": name, "label": shown, "kind": column.kind.value}
            for (name, shown), column in zip(names, result.columns, strict=True)
        ],
        "rows": [list(row) for row in result.rows],
        "row_count": result.row_count,
        "truncated": result.truncated,
    }


def _pages(answer: Answer) -> Json | None:
    if answer.pages is None:
        return None
    size = answer.pages.page_size
    return {"count": max(1, -(-answer.row_count // size)), "page_size": size}


def _option(option: Option) -> Json:
    return {"id": option.id, "text": option.text, "question": option.question, "action": option.action.value}


def _confirmation(answer: Answer, *, is_analyst: bool) -> Json | None:
    if answer.confirmation is None:
        return None
    asked = answer.confirmation if is_analyst else answer.confirmation.without_names()
    view: Json = {
        "reason": asked.reason,
        "kind": asked.kind,
        "sql_sha256": asked.sql_sha256,
        "rows_affected": asked.rows_affected,
        "rows_known": asked.rows_known,
        "rows_affected_max": asked.rows_affected_max,
    }
    if is_analyst:
        view |= {"table": asked.table, "columns": list(asked.columns)}
    return view


def _retries(envelope: Envelope[Any]) -> Json:
    return {"generation": envelope.retries.generation, "mend": envelope.retries.mend}


def _step(step: PathStep) -> Json:
    return {
        "stage": str(step.stage),
        "event": step.event.value,
        "started_at": step.started_at,
        "ended_at": step.ended_at,
    }


def _attempt(attempt: Attempt, *, is_analyst: bool) -> Json:
    view: Json = {
        "origin": attempt.origin.value,
        "stage": attempt.stage.value if attempt.stage else None,
        "code": attempt.code.value if attempt.code else None,
        "duration_ms": attempt.duration_ms,
        "validated": attempt.validated,
        "executed": attempt.executed,
    }
    if is_analyst:
        view |= {"sql": attempt.sql, "detail": attempt.detail}
    return view


def _classification(envelope: Envelope[Any], *, is_analyst: bool) -> Json | None:
    result = envelope.classification
    if result is None:
        return None
    view: Json = {"kind": result.kind, "confidence": result.confidence, "method": result.method}
    if is_analyst:
        view["reason"] = result.reason
    return view


def _analysis(analysis: Analysis) -> Json:
    return {
        "tables": list(analysis.tables),
        "links": [
            {
                "text": link.text,
                "table": link.table,
                "column": link.column,
                "value": link.value,
                "score": link.score,
                "reason": link.reason,
            }
            for link in analysis.links
        ],
        "model": analysis.model,
        "prompt_version": analysis.prompt_version,
        "tokens_in": analysis.tokens_in,
        "tokens_out": analysis.tokens_out,
        "reading": analysis.reading,
        "confidence": analysis.confidence,
        "embeddings": analysis.embeddings,
    }
