"""Threads, batches, connections and knowledge as every API shows them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from querybus.core.envelope import Audience
from querybus.core.failure import FailureCode
from querybus.core.messages import Outcome
from querybus.core.stored.batch import Status as ItemStatus
from querybus.core.subjects import EventName
from querybus.text.knowledge import EntryKind
from querybus_gateway.public.answer import ANALYSTS, AnswerView, ConfirmationView, EventView, Status, View


class EntryView(View):
    """A piece of knowledge; `text`, `by`, why it is `stale` and its review reach analysts only."""

    id: str
    kind: EntryKind
    source: str = Field(description="api, import, feedback or suggestion; a reviewed one is approved or rejected")
    at: int = Field(description="milliseconds since the epoch")
    key: str | None = Field(default=None, description="question, title, word or name; of a business reader's, words")
    text: str | None = Field(default=None, description="SQL, instruction, meaning, other word or definition")
    by: str | None = Field(default=None, description="who said so")
    stale: str | None = Field(default=None, description="why it no longer fits the schema")
    is_stale: bool | None = Field(default=None, description="for business readers")
    reviewed_by: str | None = None
    reviewed_at: int | None = Field(default=None, description="milliseconds since the epoch")


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


class MetricView(View):
    """A defined figure; analysts get its expression and condition as well, and business readers its label as `name`."""

    name: str
    label: str
    description: str
    synonyms: list[str]
    unit: str
    owner: str
    version: str


class DefinitionView(MetricView):
    connection: str


class DefinitionsView(View):
    connection: str
    version: str = Field(description="of all definitions together; empty where there are none")
    metrics: list[MetricView]


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


class DescribedThreadView(ThreadView):
    """A thread with what LangGraph's clients keep with it."""

    metadata: dict[str, Any]


class ThreadsView(View):
    """Threads, those that began last first."""

    threads: list[ThreadView]
    next_cursor: str | None = Field(description="`cursor` of the next page; null on the last")


class TurnView(View):
    """A question of a thread and what became of it; analysts get its `sql` as well."""

    query_id: str
    connection: str
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
    sql: Annotated[str | None, ANALYSTS] = Field(default=None, description="for analysts")


class ListedQueryView(TurnView):
    """A question of one's own."""

    thread_id: str


class QueriesView(View):
    """One's questions, newest thread first."""

    queries: list[ListedQueryView]
    next_cursor: str | None


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
    """A failure of an item."""

    code: str
    stage: str | None
    detail: Annotated[str, ANALYSTS] = Field(default="", description="for analysts")


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


class MeView(View):
    """Who is calling, and what it may do."""

    tenant: str
    user: str
    credential: str
    audience: Audience
    connections: list[str] | None = Field(description="null: all of the tenant's")
    may_run_sql: bool
    is_owner: bool
    may_share_boards: bool
    expires_at: int | None = Field(
        description="until when its token or key lets it in, in ms since the epoch; null: no end"
    )
    answers: str = Field(
        description="the subject of the bus at which its answers come; empty for a key that is narrowed to connections or "
        "to verified questions: it reads them by call"
    )
    deadline_seconds_max: float
    rows_max: int


class WaitingChangeView(View):
    """A change that somebody else asked for and that waits for the caller's yes."""

    query_id: str = Field(description="of the query that asks: confirm it")
    asked_by: str
    connection: str
    question: str
    sql: str | None
    confirmation: ConfirmationView
    asked_at: int
    ends_at: int = Field(description="until when it can be confirmed, in ms since the epoch")


class WaitingChangesView(View):
    changes: list[WaitingChangeView]


class TokenView(View):
    """A short-lived token, sent like a key."""

    token: str
    expires_at: int = Field(description="in ms since the epoch")


class CodeView(View):
    """What signs in once."""

    code: str
    expires_at: int = Field(description="in ms since the epoch")


class TicketView(View):
    """What opens the events of one query, and nothing else."""

    ticket: str
    expires_at: int = Field(description="in ms since the epoch")
