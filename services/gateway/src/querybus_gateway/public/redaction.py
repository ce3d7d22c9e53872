"""What each audience may see of an event, an answer, a page or a progress note is decided here and nowhere else.

Everything is an allow-list: a member that no view and no line here names does not leave, whatever a newer service adds
to a message. Business readers get no SQL, no name of a table or column, no driver text; their columns are `c1`..`cn`.
Cell values, the person's own question and the texts that the presenter phrased for the reader pass unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any, Final, cast, get_args

from querybus.core.catalog import Personal
from querybus.core.envelope import Audience, Envelope
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
    Outcome,
    Result,
    ResultColumn,
    Returned,
)
from querybus.core.subjects import EventName, StageName
from querybus.text.disclosure import is_own_speech
from querybus.text.plain_answer import LABEL_TEXTS
from querybus.text.rows.masking import masked_rows
from querybus_gateway.public.answer import ANALYSTS, AnswerView, ChartView, ColumnView, RetriesView, View

Json = dict[str, Any]
"""A JSON object: text, numbers, booleans, None, lists and objects."""

PROGRESS_BYTES_MAX: Final = 16_384

_STEPS: Final = frozenset({*StageName, "sweeper"})
_PROGRESS_STATES: Final = frozenset({"started", "stored", "tokens"})


def shown(view: type[View], audience: Audience, *sources: object) -> Json:
    """Return the public form of an object: the members that the view names, each from the first source that has it.

    Sources are dicts or values; what is a view of its own is made likewise. Raises KeyError for a member that no
    source has and the view requires.
    """
    result: Json = {}
    for member in _members(view):
        if member.is_for_analysts and audience != "analyst":
            continue
        value = _first(member.name, sources)
        if value is _ABSENT:
            if member.is_required:
                raise KeyError(f"{view.__name__}.{member.name}")
            continue
        result[member.name] = _plain(value, member.view, audience)
    return result


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    view: type[View] | None
    is_for_analysts: bool
    is_required: bool


@cache
def _members(view: type[View]) -> tuple[_Member, ...]:
    return tuple(
        _Member(name, _view_in(field.annotation), ANALYSTS in field.metadata, field.is_required())
        for name, field in view.model_fields.items()
    )


def _view_in(annotation: object) -> type[View] | None:
    """Return the view of `View`, `View | None` or `list[View]`."""
    if isinstance(annotation, type) and issubclass(annotation, View):
        return annotation
    return next((inner for part in get_args(annotation) if (inner := _view_in(part)) is not None), None)


_ABSENT: Final = object()


def _first(name: str, sources: Sequence[object]) -> object:
    for source in sources:
        if isinstance(source, dict):
            value = cast("Json", source).get(name, _ABSENT)
        elif name in _names(type(source)):
            value = getattr(source, name, _ABSENT)
        else:
            continue
        if value is not _ABSENT:
            return cast("object", value)
    return _ABSENT


@cache
def _names(kind: type) -> frozenset[str]:
    """Return what values of a type have by name: a model that is asked for anything else takes long to say no."""
    fields = getattr(kind, "model_fields", None) or getattr(kind, "__dataclass_fields__", {})
    return frozenset((*fields, *dir(kind)))


def _plain(value: Any, view: type[View] | None, audience: Audience) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list | tuple):
        items = cast("Sequence[Any]", value)
        if view is not None:
            return [shown(view, audience, item) for item in items]
        return [item.value if isinstance(item, Enum) else item for item in items]
    if view is None or view is ChartView:
        return value
    return shown(view, audience, value)


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
        "retries": shown(RetriesView, audience, envelope.retries),
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
            if body.advice is not None:
                view |= {"code": body.advice.code.value}
            if is_analyst:
                detail = body.advice.detail if body.advice is not None else ""
                view |= {"detail": detail, "sql": body.draft.sql if body.draft else None}
        case Drafted():
            if is_analyst:
                view |= {
                    "sql": body.draft.sql,
                    "dialect": body.draft.dialect.value,
                    "origin": body.draft.origin.value,
                    "notes": list(body.notes),
                    "analysis": public_analysis(body.analysis),
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
    """Return the whole answer of a finished query as its reader may have it: what AnswerView names."""
    answer = envelope.body.answer
    is_analyst = audience == "analyst"
    asked = answer.confirmation if answer.confirmation is None or is_analyst else answer.confirmation.without_names()
    made = {
        "enriched_question": _read_as(envelope, is_analyst=is_analyst),
        "columns": public_columns(answer, audience),
        "rows": seen_rows(answer.rows, answer.columns, audience),
        "total_count": total_of(answer),
        "pages": _pages(answer),
        "confirmation": asked,
        "needs_user_confirmation": bool(answer.options) or asked is not None,
        "path": [step for step in envelope.path if step.stage in _STEPS],
    }
    return shown(AnswerView, audience, made, answer, envelope.body, envelope)


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
    return {"columns": public_columns(answer, audience), "rows": seen_rows(rows, answer.columns, audience)}


def seen_rows(
    rows: Sequence[Sequence[Any]], columns: Sequence[ResultColumn | AnswerColumn], audience: Audience
) -> list[list[Any]]:
    """Return rows as they leave: for business readers with the personal data in them masked."""
    kinds: list[Personal | None] = [column.personal for column in columns]
    is_masked = audience == "business" and any(kinds)
    return [list(row) for row in (masked_rows(rows, kinds) if is_masked else rows)]


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
    own = {} if audience == "analyst" else {"id": f"c{n}"}
    return shown(ColumnView, audience, own, column)


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
        "rows": seen_rows(result.rows, result.columns, audience),
        "row_count": result.row_count,
        "truncated": result.truncated,
    }


def _pages(answer: Answer) -> Json | None:
    if answer.pages is None:
        return None
    size = answer.pages.page_size
    return {"count": max(1, -(-answer.row_count // size)), "page_size": size}


def public_analysis(analysis: Analysis) -> Json:
    """Return how a draft came about, for analysts: it names tables and columns."""
    left_out = {"catalog_fingerprint", "example_ids"}
    return analysis.model_dump(mode="json", exclude=left_out)
