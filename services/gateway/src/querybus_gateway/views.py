"""What the doors answer, as types: for the OpenAPI and AsyncAPI documents, and for tests that hold answers to them.

Answers are made elsewhere (`core/redact.py` and the use cases) and may have further fields; what stands here is
always there. Times are milliseconds since the epoch.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from querybus.core.catalog import ColumnKind, Language
from querybus.core.failure import FailureCode
from querybus.core.knowledge import EntryKind
from querybus.core.messages import OptionAction, Outcome, Trigger
from querybus.core.subjects import EventName
from querybus_gateway.problems import ProblemCode

Cell = str | int | float | bool | None
Status = Literal["queued", "running", "finished"]


class View(BaseModel):
    """An object of an answer."""

    model_config = ConfigDict(extra="allow")


class FieldFault(View):
    pointer: str = Field(description="JSON pointer into the request")
    message: str


class ProblemView(View):
    """A refusal (RFC 9457)."""

    type: str
    title: str
    status: int = Field(ge=400, le=599)
    detail: str
    instance: str
    code: ProblemCode
    trace_id: str = Field(pattern="^[0-9a-f]{32}$")
    errors: list[FieldFault]


class EntryView(View):
    """A piece of knowledge; analysts also get `text`, `by` and why it is `stale`."""

    id: str
    kind: EntryKind
    source: str
    at: int


class KnowledgeView(View):
    connection: str
    entries: list[EntryView]


class HitView(EntryView):
    score: float = Field(ge=0, le=1)


class HitsView(View):
    connection: str
    hits: list[HitView]


class TaughtView(View):
    connection: str
    entries: int = Field(description="entries of the connection now")


class FeedbackView(View):
    query_id: str
    verdict: Literal["right", "wrong"]
    entries: int = Field(description="entries of the connection now")


class ColumnView(View):
    id: str = Field(description="`c1`..`cn` for business readers")
    label: str
    kind: ColumnKind


class OptionView(View):
    """A way on that can be chosen: answer with its id."""

    id: str
    text: str
    question: str
    action: OptionAction


class PagesView(View):
    count: int
    page_size: int


class AnswerView(View):
    """How a query ended, in words for its reader; analysts get `sql`, `detail` and `enriched_question` as well."""

    query_id: str
    thread_id: str
    connection: str
    question: str
    language: Language
    outcome: Outcome
    code: FailureCode | None
    message: str
    next_step: str
    options: list[OptionView]
    trigger: Trigger | None
    columns: list[ColumnView]
    rows: list[list[Cell]] = Field(description="the first page")
    row_count: int
    truncated: bool
    pages: PagesView | None
    summary: str
    chart: dict[str, Any] | None = Field(description="a Vega-Lite specification with its data")
    notes: list[str]
    explanation: str
    retries: dict[str, int]
    attempts: list[dict[str, Any]]
    path: list[dict[str, Any]]
    asked_at: int
    deadline_at: int


class QueryView(View):
    """A query: where it stands, and its answer once it has finished."""

    id: str
    status: Status
    answer: AnswerView | None
    thread_id: str = ""
    last_event: EventName | None = None
    created_at: int = 0
    deadline_at: int = 0
    message: str = ""
    links: dict[str, str] = {}


class PageView(View):
    """One page of a result."""

    query_id: str
    columns: list[ColumnView]
    rows: list[list[Cell]]
    page: int
    page_size: int
    has_next: bool
    has_prev: bool
    total_count: int | None = Field(description="null where the database had more rows than were kept")
    total_pages: int | None
    total_is_estimate: bool
    next_page_token: str | None
    prev_page_token: str | None


class ConnectionView(View):
    """A connection; analysts get its dialect and access as well."""

    name: str
    description: str


class ConnectionsView(View):
    connections: list[ConnectionView]


class CatalogView(View):
    """What stands in a connection: labels, and for analysts names, types and keys."""

    connection: str
    tables: list[dict[str, Any]]
    glossary: dict[str, str]


class SuggestionsView(View):
    connection: str
    questions: list[str]


class RunningCallView(View):
    """A query that has not finished, as the bus says it."""

    query_id: str
    thread_id: str
    status: Literal["queued", "running"]
    last_event: EventName | None
    created_at: int
    deadline_at: int
    message: str


class FinishedCallView(AnswerView):
    """A finished query, as the bus says it: the answer itself."""

    status: Literal["finished"]


class ProblemCallView(View):
    """A refusal, as the bus says it: without `status`, which there is the query's."""

    type: str
    title: str
    detail: str
    instance: str
    code: ProblemCode
    trace_id: str
    errors: list[FieldFault]


class ProgressView(View):
    """A stage has begun or stored its event; analysts may also get `text`, what a model has written so far."""

    stage: str
    state: Literal["started", "stored"] = "started"
    n: int = 0
    at: int = 0
