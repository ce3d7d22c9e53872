"""The gRPC API's translation: requests into what is admitted, the public JSON of a query into messages.

No decision is taken here: what a caller may see was decided before (`text/public.py`), and a value of an enum that is
not known is handed on as it came, for admission to refuse. What the contract has no field for travels in `more`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from querybus.text.public import Json
from querybus_gateway.use_cases.resources import Frame
from querybus_gateway.v1 import query_pb2 as v1
from querybus_gateway.v1 import query_service_pb2 as service

INT64_MAX: Final = 2**63 - 1

_ENUM_OPTIONS: Final[Mapping[str, Any]] = {
    "mode": service.Mode,
    "execution_mode": service.ExecutionMode,
    "on_execution_failure": service.OnExecutionFailure,
    "repair_policy": service.RepairPolicy,
}


def question_json(question: service.Question) -> Json:
    """Return a question as the JSON body that the other APIs take."""
    body: Json = {"question": question.question, "options": options_json(question.options)}
    for name in ("connection", "sql", "thread_id"):
        if question.HasField(name):
            body[name] = getattr(question, name)
    if question.operation:
        body["operation"] = word(service.Operation, question.operation)
    return body


def options_json(options: service.Options) -> Json:
    """Return the options that are set, as the other APIs take them."""
    result: Json = {}
    for field, value in options.ListFields():
        known = _ENUM_OPTIONS.get(field.name)
        result[field.name] = value if known is None else word(known, value)
    return result


def word(enum: Any, number: int) -> str:
    """Return the word of an enum's number, `run` for OPERATION_RUN; the number itself if it is not known."""
    if number not in enum.values():
        return str(number)
    return enum.Name(number)[len(_prefix(enum)) :].lower()


def number_of(enum: Any, text: object) -> Any:
    """Return the number of an enum's word; 0 for one that the contract does not know."""
    name = f"{_prefix(enum)}{str(text).upper()}"
    return enum.Value(name) if name in enum.keys() else 0  # noqa: SIM118 - a wrapper, no mapping


def _prefix(enum: Any) -> str:
    return enum.Name(0).removesuffix("UNSPECIFIED")


def query_message(resource: Json) -> v1.Query:
    """Return a query resource as a message."""
    answer = resource.get("answer")
    return v1.Query(
        id=resource["id"],
        thread_id=resource.get("thread_id") or "",
        status=number_of(v1.QueryStatus, resource["status"]),
        last_event=resource.get("last_event"),
        created_at_ms=resource.get("created_at") or 0,
        deadline_at_ms=resource.get("deadline_at") or 0,
        message=resource.get("message") or "",
        answer=None if answer is None else answer_message(answer),
    )


_ANSWER_AS_IT_IS: Final = (
    "query_id",
    "thread_id",
    "connection",
    "question",
    "language",
    "code",
    "message",
    "next_step",
    "trigger",
    "row_count",
    "truncated",
    "total_count",
    "total_is_estimate",
    "summary",
    "notes",
    "explanation",
    "sql",
    "detail",
    "enriched_question",
    "rows_affected",
    "mended",
    "confidence",
)
_ANSWER_TRANSLATED: Final = frozenset(
    {
        "outcome",
        "options",
        "columns",
        "rows",
        "confirmation",
        "pages",
        "chart",
        "classification",
        "retries",
        "attempts",
        "path",
        "asked_at",
        "deadline_at",
    }
)
_ANSWER_LEFT_OUT: Final = frozenset({"status", "audience"})
"""What the stored form of an answer adds for its reading."""
_ANSWER_KNOWN: Final = _ANSWER_TRANSLATED | _ANSWER_LEFT_OUT | frozenset(_ANSWER_AS_IT_IS)


def answer_message(answer: Json) -> v1.Answer:
    """Return a public answer as a message."""
    chart = answer.get("chart")
    result = v1.Answer(
        **{name: answer[name] for name in _ANSWER_AS_IT_IS if answer.get(name) is not None},
        outcome=number_of(v1.Outcome, answer["outcome"]),
        options=[v1.Choice(**option) for option in answer.get("options") or ()],
        columns=columns_of(answer.get("columns") or ()),
        rows=rows_of(answer.get("rows") or ()),
        confirmation=_made(v1.Confirmation, answer.get("confirmation")),
        pages=_made(v1.PageCount, answer.get("pages")),
        chart_json=None if chart is None else json.dumps(chart, ensure_ascii=False, separators=(",", ":")),
        classification=_made(v1.Classification, answer.get("classification")),
        retries=_made(v1.Retries, answer.get("retries")),
        attempts=[v1.Attempt(**attempt) for attempt in answer.get("attempts") or ()],
        path=[
            v1.Step(
                stage=step["stage"],
                event=step["event"],
                started_at_ms=step["started_at"],
                ended_at_ms=step["ended_at"],
            )
            for step in answer.get("path") or ()
        ],
        asked_at_ms=answer.get("asked_at") or 0,
        deadline_at_ms=answer.get("deadline_at") or 0,
    )
    more = {name: value for name, value in answer.items() if name not in _ANSWER_KNOWN and value is not None}
    if more:
        result.more.update(more)
    return result


def _made(message: Any, found: Json | None) -> Any:
    return None if found is None else message(**found)


def columns_of(columns: Iterable[Json]) -> list[v1.Column]:
    """Return columns as messages."""
    return [
        v1.Column(id=column["id"], label=column["label"], kind=number_of(v1.ColumnKind, column["kind"]))
        for column in columns
    ]


def rows_of(rows: Iterable[Sequence[Any]]) -> list[v1.Row]:
    """Return rows as messages; an integer beyond 64 bits travels as text."""
    return [v1.Row(cells=[_cell(cell) for cell in row]) for row in rows]


def _cell(value: Any) -> v1.Cell:
    if isinstance(value, str):
        return v1.Cell(text=value)
    if value is None:
        return v1.Cell()
    if isinstance(value, bool):
        return v1.Cell(truth=value)
    if isinstance(value, int):
        return v1.Cell(integer=value) if -INT64_MAX <= value <= INT64_MAX else v1.Cell(text=str(value))
    return v1.Cell(number=value)


def page_message(page: Json) -> service.GetResultPageResponse:
    """Return one page of a result as a message."""
    return service.GetResultPageResponse(
        query_id=page["query_id"],
        columns=columns_of(page["columns"]),
        rows=rows_of(page["rows"]),
        page=page["page"],
        page_size=page["page_size"],
        has_next=page["has_next"],
        has_prev=page["has_prev"],
        total_count=page["total_count"],
        total_pages=page["total_pages"],
        total_is_estimate=page["total_is_estimate"],
        next_page_token=page.get("next_page_token") or "",
        prev_page_token=page.get("prev_page_token") or "",
    )


_EVENT_FIELDS: Final = frozenset({"event", "sequence", "query_id", "thread_id", "at", "retries", "answer", "result"})


def event_message(frame: Frame) -> v1.Event:
    """Return a stored event as a message."""
    view = frame.data
    answer = view.get("answer")
    result = v1.Event(
        name=frame.event,
        sequence=frame.sequence or 0,
        query_id=view["query_id"],
        thread_id=view["thread_id"],
        at_ms=view.get("at") or 0,
        retries=_made(v1.Retries, view.get("retries")),
        answer=None if answer is None else answer_message(answer),
        result=None if view.get("result") is None else _early_result(view["result"]),
    )
    details = {name: value for name, value in view.items() if name not in _EVENT_FIELDS}
    if details:
        result.details.update(details)
    return result


def _early_result(result: Json) -> v1.EarlyResult:
    return v1.EarlyResult(
        columns=columns_of(result["columns"]),
        rows=rows_of(result["rows"]),
        row_count=result["row_count"],
        truncated=result["truncated"],
    )


def progress_message(frame: Frame) -> v1.Progress:
    """Return a progress note as a message."""
    note = frame.data
    return v1.Progress(
        stage=note["stage"],
        state=note.get("state") or "",
        n=note.get("n") or 0,
        at_ms=note.get("at") or 0,
        text=note.get("text") or "",
    )


def frame_fields(frame: Frame) -> dict[str, Any]:
    """Return the field of an update that this frame sets: `event` or `progress`."""
    if frame.sequence is None:
        return {"progress": progress_message(frame)}
    return {"event": event_message(frame)}
