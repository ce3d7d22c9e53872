"""What the gateway says, as frozen values; each keeps the whole object that came as `raw`, newer members included.

Times are milliseconds since the epoch. What a key's audience may not see is None or empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Self, TypedDict, cast

Json = Mapping[str, Any]
Scalar = str | int | float | bool | None

GOOD_OUTCOMES: Final = frozenset({"answered", "prepared", "replied"})


class Options(TypedDict, total=False):
    """The options of a question; docs/options.md says what each does. What is not set has the gateway's default."""

    mode: Literal["hybrid", "database", "chat"]
    execution_mode: Literal["static_only", "allow_execution"]
    enable_syntax_validation: bool
    enable_forbidden_check: bool
    enable_auto_repair: bool
    on_execution_failure: Literal["repair_first", "clarify_first"]
    repair_policy: Literal["rules_first", "model_first", "rules_only", "off"] | None
    allow_llm_to_see_data: bool
    retries_max: int
    rows_max: int
    page_size: int
    count_total: bool
    summary: bool
    chart: Literal["auto", "none"]
    dry_run: bool
    deadline_seconds: float
    model: str | None
    language: Literal["auto", "en", "zh"]
    today: str | None
    stream_tokens: bool


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a result; `kind` is text, integer, number, boolean, date, datetime, time, bytes, json or other."""

    id: str
    label: str
    kind: str

    @classmethod
    def of(cls, found: Json) -> Self:
        return cls(str(found["id"]), str(found["label"]), str(found["kind"]))


@dataclass(frozen=True, slots=True)
class Choice:
    """A way on that an answer offers; give its id to `clarify`."""

    id: str
    text: str
    question: str
    action: str

    @classmethod
    def of(cls, found: Json) -> Self:
        return cls(str(found["id"]), str(found["text"]), str(found["question"]), str(found["action"]))


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What an answer asks to be confirmed; give it to `confirm`."""

    reason: str
    kind: str
    sql_sha256: str
    rows_affected: int | None
    rows_known: str
    rows_affected_max: int
    raw: Json

    @classmethod
    def of(cls, found: Json) -> Self:
        return cls(
            str(found["reason"]),
            str(found["kind"]),
            str(found["sql_sha256"]),
            found.get("rows_affected"),
            str(found.get("rows_known", "unknown")),
            int(found.get("rows_affected_max", 0)),
            found,
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """How a query ended, phrased for its reader; `rows` is the first page, `page_count` says how many there are."""

    query_id: str
    thread_id: str
    outcome: str
    message: str
    code: str | None
    next_step: str
    options: tuple[Choice, ...]
    confirmation: Confirmation | None
    columns: tuple[Column, ...]
    rows: tuple[tuple[Scalar, ...], ...]
    row_count: int
    truncated: bool
    total_count: int | None
    total_is_estimate: bool
    page_count: int
    summary: str
    chart: Json | None
    notes: tuple[str, ...]
    mended: tuple[str, ...]
    confidence: float | None
    explanation: str
    sql: str | None
    raw: Json

    @property
    def is_good(self) -> bool:
        """Whether the question was answered, replied to or prepared."""
        return self.outcome in GOOD_OUTCOMES

    @classmethod
    def of(cls, found: Json) -> Self:
        confirmation = found.get("confirmation")
        return cls(
            query_id=str(found["query_id"]),
            thread_id=str(found["thread_id"]),
            outcome=str(found["outcome"]),
            message=str(found.get("message") or ""),
            code=found.get("code"),
            next_step=str(found.get("next_step") or ""),
            options=tuple(Choice.of(item) for item in _objects(found.get("options"))),
            confirmation=None if confirmation is None else Confirmation.of(confirmation),
            columns=tuple(Column.of(item) for item in _objects(found.get("columns"))),
            rows=rows_of(found.get("rows")),
            row_count=int(found.get("row_count") or 0),
            truncated=bool(found.get("truncated")),
            total_count=found.get("total_count"),
            total_is_estimate=bool(found.get("total_is_estimate")),
            page_count=int((found.get("pages") or {}).get("count", 1)),
            summary=str(found.get("summary") or ""),
            chart=found.get("chart"),
            notes=tuple(str(note) for note in found.get("notes") or ()),
            mended=tuple(str(item) for item in found.get("mended") or ()),
            confidence=found.get("confidence"),
            explanation=str(found.get("explanation") or ""),
            sql=found.get("sql"),
            raw=found,
        )


@dataclass(frozen=True, slots=True)
class Query:
    """A query as it stands: `status` is queued, running or finished; then it has its answer."""

    id: str
    thread_id: str
    status: str
    deadline_at: int | None
    answer: Answer | None
    raw: Json

    @property
    def is_finished(self) -> bool:
        return self.status == "finished"

    @classmethod
    def of(cls, found: Json) -> Self:
        answer = found.get("answer")
        return cls(
            id=str(found["id"]),
            thread_id=str(found.get("thread_id") or (answer or {}).get("thread_id") or ""),
            status=str(found["status"]),
            deadline_at=found.get("deadline_at"),
            answer=None if answer is None else Answer.of(answer),
            raw=found,
        )


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream: stored ones have a sequence to resume from, `progress` has none.

    `finished` is the last one of a query and holds its answer.
    """

    name: str
    sequence: int | None
    data: Json

    @property
    def answer(self) -> Answer | None:
        """The answer that `finished` brings, and a batch's `item` once its query has finished."""
        result = self.data.get("answer")
        return None if result is None else Answer.of(result)


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a result; totals are None where the database had more rows than were kept."""

    query_id: str
    number: int
    size: int
    columns: tuple[Column, ...]
    rows: tuple[tuple[Scalar, ...], ...]
    has_next: bool
    has_prev: bool
    total_count: int | None
    total_pages: int | None
    raw: Json

    @classmethod
    def of(cls, found: Json) -> Self:
        return cls(
            query_id=str(found["query_id"]),
            number=int(found["page"]),
            size=int(found["page_size"]),
            columns=tuple(Column.of(item) for item in _objects(found["columns"])),
            rows=rows_of(found["rows"]),
            has_next=bool(found["has_next"]),
            has_prev=bool(found["has_prev"]),
            total_count=found["total_count"],
            total_pages=found["total_pages"],
            raw=found,
        )


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation in the list of them."""

    id: str
    title: str
    connection: str
    created_at: int
    raw: Json

    @classmethod
    def of(cls, found: Json) -> Self:
        return cls(
            str(found["thread_id"]), str(found["title"]), str(found["connection"]), int(found["created_at"]), found
        )


@dataclass(frozen=True, slots=True)
class Turn:
    """One question of a thread and what became of it."""

    query_id: str
    question: str
    status: str
    outcome: str | None
    message: str
    row_count: int
    sequence: int
    last_sequence: int
    sql: str | None
    raw: Json

    @classmethod
    def of(cls, found: Json) -> Self:
        return cls(
            query_id=str(found["query_id"]),
            question=str(found["question"]),
            status=str(found["status"]),
            outcome=found.get("outcome"),
            message=str(found.get("message") or ""),
            row_count=int(found.get("row_count") or 0),
            sequence=int(found["sequence"]),
            last_sequence=int(found["last_sequence"]),
            sql=found.get("sql"),
            raw=found,
        )


@dataclass(frozen=True, slots=True)
class ThreadState:
    """A thread as it stood at one of its events."""

    thread_id: str
    sequence: int
    status: str
    turns: tuple[Turn, ...]
    raw: Json

    @classmethod
    def of(cls, found: Json) -> Self:
        turns = tuple(Turn.of(item) for item in _objects(found["turns"]))
        return cls(str(found["thread_id"]), int(found["sequence"]), str(found["status"]), turns, found)


@dataclass(frozen=True, slots=True)
class BatchItem:
    """What became of one item of a batch."""

    id: str
    status: str
    outcome: str | None
    query_id: str | None
    answer: Answer | None
    raw: Json

    @classmethod
    def of(cls, found: Json) -> Self:
        answer = found.get("answer")
        return cls(
            id=str(found["id"]),
            status=str(found["status"]),
            outcome=found.get("outcome"),
            query_id=found.get("query_id"),
            answer=None if answer is None else Answer.of(answer),
            raw=found,
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as it stands; `items` in their order, empty where only the batch itself was asked for."""

    id: str
    status: str
    totals: Mapping[str, Any]
    items: tuple[BatchItem, ...]
    raw: Json

    @property
    def is_finished(self) -> bool:
        return self.status == "finished"

    @classmethod
    def of(cls, found: Json, items: Sequence[Json] | None = None) -> Self:
        views = _objects(found.get("items")) if items is None else items
        return cls(
            str(found["id"]), str(found["status"]), found["totals"], tuple(BatchItem.of(view) for view in views), found
        )


def rows_of(rows: Any) -> tuple[tuple[Scalar, ...], ...]:
    """Return rows as tuples."""
    return tuple(tuple(row) for row in cast("Sequence[Sequence[Scalar]]", rows or ()))


def _objects(found: Any) -> Sequence[Json]:
    return cast("Sequence[Json]", found or ())
