"""A query, its answer, its events and pages as every API shows them; times are milliseconds since the epoch.

This is the one place where a member of an answer is named: what a View does not name does not leave. The OpenAPI and
AsyncAPI documents are made from these types, answers over HTTP and the bus by `redaction.shown`, messages of gRPC from
what that returns.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from querybus.core.asking_back import OptionAction, Trigger
from querybus.core.catalog import ColumnKind, Language
from querybus.core.failure import FailureCode, ModelTrouble
from querybus.core.messages import FormatKind, Grain, Operation, Origin, Outcome
from querybus.core.subjects import EventName, StageName

ANALYSTS: Final = "for analysts"
"""Marks a member that business readers do not get."""

Cell = str | int | float | bool | None
Status = Literal["queued", "running", "finished"]


class View(BaseModel):
    """An object of an answer: what it names is what leaves. Members for analysts only bear the mark ANALYSTS."""

    model_config = ConfigDict(defer_build=True, extra="allow")


class FormatView(View):
    """How a column's cells are shown: a cell times `factor`, with thousands apart and so many digits; cells stay as they are."""

    kind: FormatKind
    digits: int = Field(description="behind the decimal point at most, and at least the smaller of it and 2")
    unit: str = Field(description="what amounts are in, such as a currency; empty where nobody has said it")
    factor: float = Field(description="100 for a share that is shown in percent, 0.01 for cents; else 1")
    grain: Grain = Field(description="of a date: what one of them stands for")


class ColumnView(View):
    id: str = Field(description="`c1`..`cn` for business readers")
    label: str
    kind: ColumnKind
    format: FormatView | None = Field(
        default=None, description="null where it is not decided: show the cells as they are"
    )


class OptionView(View):
    """A way on that can be chosen: answer with its id."""

    id: str
    text: str
    question: str
    action: OptionAction
    connection: str | None = Field(default=None, description="where it is asked, if not where this question was")


class PagesView(View):
    count: int
    page_size: int


class RetriesView(View):
    generation: int = Field(description="new drafts by a model or the translator")
    mend: int = Field(description="drafts repaired by rule")


class AttemptView(View):
    """A statement that was tried."""

    origin: Origin
    stage: StageName | None = Field(description="where it failed")
    code: FailureCode | None
    duration_ms: float | None
    validated: bool
    executed: bool
    sql: Annotated[str | None, ANALYSTS] = Field(default=None, description="for analysts")
    detail: Annotated[str, ANALYSTS] = Field(default="", description="for analysts")


class StepView(View):
    """A stage that was passed."""

    stage: str
    event: EventName
    started_at: int
    ended_at: int


class ClassificationView(View):
    """What the question was taken for."""

    kind: str
    confidence: float
    method: str
    reason: Annotated[str, ANALYSTS] = Field(default="", description="for analysts")


class ConfirmationView(View):
    """What a yes is asked for."""

    reason: Literal["write", "cost"]
    kind: str
    sql_sha256: str = Field(pattern="^[0-9a-f]{64}$")
    rows_affected: int | None
    rows_known: Literal["exact", "estimate", "unknown"]
    rows_affected_max: int
    needs_second_person: bool = Field(default=False, description="an analyst other than the asker has to confirm it")
    table: Annotated[str | None, ANALYSTS] = Field(default=None, description="for analysts")
    columns: Annotated[list[str], ANALYSTS] = Field(default=[], description="for analysts")


class ChartView(View):
    """A Vega-Lite specification with its data."""

    schema_: str = Field(alias="$schema")
    data: dict[str, Any]
    mark: dict[str, Any]
    encoding: dict[str, Any]


class ReadingFilterView(View):
    """A condition on the rows of an answer; `id` names it in a refinement."""

    id: str
    text: str
    field: str
    value: str
    carried: bool = Field(description="set by the question before, which this one changes")


class ReadingPeriodView(View):
    """The days that an answer is about, as YYYY-MM-DD; null: open on that side."""

    text: str
    field: str
    first: str | None
    last: str | None
    carried: bool = Field(description="set by the question before, which this one changes")


class ReadingGroupView(View):
    """What there is one line for each of; `id` names it in a refinement."""

    id: str
    text: str


class ReadingView(View):
    """How the question was read, from the statement that was run: in one sentence, and in its parts."""

    text: str
    measures: list[str] = Field(description="the figures; empty for a list")
    entities: list[str] = Field(description="what is looked at")
    filters: list[ReadingFilterView]
    period: ReadingPeriodView | None
    groups: list[ReadingGroupView]
    order: str
    limit: int | None
    definitions: list[str] = Field(
        default=[], description="the owner's definitions that were used; each has a page of its own"
    )


class ModelUseView(View):
    """What the calls of chat models took for a query, those without a statement and the summary's included."""

    calls: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int = Field(description="of `tokens_in`: read from the provider's prompt cache")
    tokens_reasoning: int = Field(description="of `tokens_out`: thoughts that are not in the reply")
    cost: float = Field(description="in the unit of the models' prices; 0 where none is set")


class AnswerView(View):
    """How a query ended, in words for its reader."""

    query_id: str
    thread_id: str
    connection: str
    connection_label: str = Field(
        default="", description="what people call the connection, where it was chosen among several"
    )
    question: str
    enriched_question: str | None = Field(description="how the question was read in its thread, if it goes on from it")
    language: Language
    outcome: Outcome
    code: FailureCode | None
    message: str
    next_step: str
    options: list[OptionView]
    trigger: Trigger | None = Field(description="why a person is asked how to go on; null where nothing is asked")
    needs_user_confirmation: bool = Field(
        default=False, description="whether the query waits for a person: a choice among options, or a yes"
    )
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
    written_by: Origin | None = Field(
        default=None, description="who wrote the statement: `model`, `builtin` (the translator), `verified`, `user`"
    )
    model: Annotated[str, ANALYSTS] = Field(
        default="", description="for analysts: the model that wrote the statement; empty where none did"
    )
    model_trouble: Annotated[ModelTrouble | None, ANALYSTS] = Field(
        default=None, description="for analysts: why a model that was asked gave no statement"
    )
    model_detail: Annotated[str, ANALYSTS] = Field(default="", description="for analysts: its fault, with the setting")
    model_use: Annotated[ModelUseView | None, ANALYSTS] = Field(
        default=None, description="for analysts: what the calls of models took; null where none was made"
    )
    reading: ReadingView | None = Field(default=None, description="null where no statement was run")
    classification: ClassificationView | None
    retries: RetriesView
    attempts: list[AttemptView]
    path: list[StepView]
    asked_at: int
    deadline_at: int
    sql: Annotated[str | None, ANALYSTS] = Field(default=None, description="the last statement, for analysts")
    detail: Annotated[str, ANALYSTS] = Field(default="", description="for analysts")


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


class ProgressView(View):
    """A stage has begun or stored its event; analysts may also get `text`, what a model has written so far."""

    stage: str
    state: Literal["started", "stored", "tokens", "mending"] = "started"
    n: int = 0
    at: int = 0
