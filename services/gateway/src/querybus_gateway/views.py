"""What the APIs answer, as types: for the OpenAPI and AsyncAPI documents, and for tests that hold answers to them.

Answers are made elsewhere (`text/public.py` and the use cases) and may have further fields; what stands here is
always there. Times are milliseconds since the epoch.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from querybus.core.catalog import ColumnKind, Language
from querybus.core.failure import FailureCode
from querybus.core.messages import Operation, OptionAction, Origin, Outcome, Trigger
from querybus.core.stored.batch import Status as ItemStatus
from querybus.core.subjects import EventName, StageName
from querybus.text.knowledge import EntryKind
from querybus_gateway.problems import ProblemCode
from querybus_gateway.use_cases.charts import ChartForm

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


class RetriesView(View):
    generation: int = Field(description="new drafts by a model or the translator")
    mend: int = Field(description="drafts repaired by rule")


class AttemptView(View):
    """A statement that was tried; analysts get `sql` and `detail` as well."""

    origin: Origin
    stage: StageName | None = Field(description="where it failed")
    code: FailureCode | None
    duration_ms: float | None
    validated: bool
    executed: bool


class StepView(View):
    """A stage that was passed."""

    stage: str
    event: EventName
    started_at: int
    ended_at: int


class ClassificationView(View):
    """What the question was taken for; analysts get the `reason` as well."""

    kind: str
    confidence: float
    method: str


class ConfirmationView(View):
    """What a yes is asked for; analysts get `table` and `columns` as well."""

    reason: Literal["write", "cost"]
    kind: str
    sql_sha256: str = Field(pattern="^[0-9a-f]{64}$")
    rows_affected: int | None
    rows_known: Literal["exact", "estimate", "unknown"]
    rows_affected_max: int


class ChartView(View):
    """A Vega-Lite specification with its data."""

    schema_: str = Field(alias="$schema")
    data: dict[str, Any]
    mark: dict[str, Any]
    encoding: dict[str, Any]


class AnswerView(View):
    """How a query ended, in words for its reader; analysts get `sql` and `detail` as well."""

    query_id: str
    thread_id: str
    connection: str
    question: str
    enriched_question: str | None = Field(description="how the question was read in its thread, if it goes on from it")
    language: Language
    outcome: Outcome
    code: FailureCode | None
    message: str
    next_step: str
    options: list[OptionView]
    trigger: Trigger | None
    confirmation: ConfirmationView | None
    rows_affected: int | None = Field(description="rows that a confirmed write has changed")
    columns: list[ColumnView]
    rows: list[list[Cell]] = Field(description="the first page")
    row_count: int
    truncated: bool
    total_count: int | None = Field(description="all rows of the result; null where nobody knows: see count_total")
    total_is_estimate: bool
    pages: PagesView | None
    summary: str
    chart: ChartView | None
    notes: list[str]
    mended: list[str] = Field(description="what rules changed in the statement that was run")
    confidence: float | None = Field(description="from 0 to 1; null where nobody can say")
    explanation: str
    classification: ClassificationView | None
    retries: RetriesView
    attempts: list[AttemptView]
    path: list[StepView]
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


class EarlyResultView(View):
    """The first page of a result before it is phrased: business readers get numbered labels."""

    columns: list[ColumnView]
    rows: list[list[Cell]]
    row_count: int
    truncated: bool


class EventView(View):
    """A stored event; what stands behind `at` depends on its kind, and analysts get more of it, such as `sql`."""

    event: EventName
    query_id: str
    thread_id: str
    at: int = 0
    retries: RetriesView = RetriesView(generation=0, mend=0)
    question: str = Field(default="", description="of `asked`")
    operation: Operation = Field(default=Operation.ASK, description="of `asked`")
    stage: StageName | None = Field(default=None, description="of `failed`")
    code: FailureCode | None = Field(default=None, description="of `failed`, `returned` and `concluded`")
    outcome: Outcome | None = Field(default=None, description="of `concluded`")
    result: EarlyResultView | None = Field(default=None, description="of `concluded`, where there is one")
    answer: AnswerView | None = Field(default=None, description="of `finished`, the last event of every query")


class PageView(View):
    """One page of a result."""

    query_id: str
    columns: list[ColumnView]
    rows: list[list[Cell]]
    page: int
    page_size: int
    has_next: bool
    has_prev: bool
    total_count: int | None = Field(description="all rows of the result; null where nobody knows: see count_total")
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


class ForkedFromView(View):
    """The event of another thread that a thread begins behind."""

    thread_id: str
    sequence: int


class ThreadView(View):
    """A thread as a list shows it."""

    thread_id: str
    title: str
    connection: str
    created_at: int
    forked_from: ForkedFromView | None


class ThreadsView(View):
    """Threads, those that began last first."""

    threads: list[ThreadView]
    next_cursor: str | None = Field(description="`cursor` of the next page; null on the last")


class TurnView(View):
    """A question of a thread and what became of it; analysts get its `sql` as well."""

    query_id: str
    question: str
    status: Status
    outcome: Outcome | None
    code: FailureCode | None
    message: str
    summary: str
    row_count: int
    asked_at: int
    deadline_at: int
    sequence: int = Field(description="of its first event")
    last_sequence: int


class TurnsView(View):
    """Turns of a thread, oldest first."""

    thread_id: str
    forked_from: ForkedFromView | None
    turns: list[TurnView]


class ThreadStateView(TurnsView):
    """A thread as it stood once an event was stored: that event, and the turns up to it."""

    connection: str
    sequence: int
    at: int
    event: EventName
    query_id: str
    status: Status


class ThreadEventView(EventView):
    sequence: int = Field(description="what a state and a fork take")


class ThreadEventsView(View):
    """Events of a thread, oldest first."""

    thread_id: str
    events: list[ThreadEventView]
    next_after: int | None = Field(description="`after` of the next page; null on the last")


class BatchTotalsView(View):
    """Counts of items, and shares from 0 to 1: null while nothing was tried."""

    items: int
    waiting: int
    running: int
    finished: int
    answered: int
    failed: int
    first_pass: int
    after_retry: int
    mending: int
    first_pass_success: float | None
    retry_success: float | None


class BatchView(View):
    """A batch without its items."""

    id: str
    status: Literal["running", "finished"]
    cancelled: bool
    created_at: int
    deadline_at: int
    ended_at: int | None
    concurrency: int
    totals: BatchTotalsView
    links: dict[str, str]


class ItemFailureView(View):
    """A failure of an item; analysts get its `detail` as well."""

    code: str
    stage: str | None


class BatchItemView(View):
    """An item of a batch, with its answer once it has finished."""

    id: str
    name: str
    status: ItemStatus
    outcome: Outcome | None
    run: int = Field(description="counts its queries")
    attempts: int
    finished_as: int | None = Field(description="its place in the order of completion")
    first_failure: ItemFailureView | None
    last_failure: ItemFailureView | None
    query_id: str | None
    answer: AnswerView | None


class BatchItemsView(BatchView):
    """A batch with its items in their order, as many as fit one reading."""

    offset: int
    items: list[BatchItemView]
    next_offset: int | None = Field(description="`offset` of the next reading; null once all items are there")


class RepairingView(View):
    """So many queries of a batch have failed and are repaired."""

    n: int
    message: str


class DeletedThreadView(View):
    """A thread that is gone, as the bus says it."""

    thread_id: str
    deleted: Literal[True]


class AsyncApiView(View):
    """The document of the bus."""

    asyncapi: Literal["3.0.0"]
    info: dict[str, str]
    channels: dict[str, dict[str, Any]]
    operations: dict[str, dict[str, Any]]
    components: dict[str, dict[str, Any]]


class ChartCallView(View):
    """A chart as the bus says it: the specification, or a picture as Base64."""

    query_id: str
    format: ChartForm
    chart: ChartView | None
    data_base64: str | None


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
    state: Literal["started", "stored", "tokens", "mending"] = "started"
    n: int = 0
    at: int = 0
