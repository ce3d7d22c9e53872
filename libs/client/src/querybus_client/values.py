"""What the gateway says, as frozen values; each keeps the whole object that came as `raw`, newer members included.

Times are milliseconds since the epoch. What a key's audience may not see is None or empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cache
from typing import Any, Final, Literal, Self, TypedDict, TypeVar, cast, get_args, get_origin, get_type_hints

Json = Mapping[str, Any]
Scalar = str | int | float | bool | None

T = TypeVar("T")
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
    effort: Literal["quick", "standard", "thorough"]
    cross_check: bool
    only_verified: bool
    summary: bool
    chart: Literal["auto", "none"]
    dry_run: bool
    deadline_seconds: float
    model: str | None
    language: Literal["auto", "en", "zh"]
    today: str | None
    stream_tokens: bool


class TokenWanted(TypedDict, total=False):
    """What a short-lived token shall be good for; left out: what the caller is."""

    user: str
    audience: Literal["business"]
    connections: Sequence[str]
    minutes: int


class NewPeriod(TypedDict, total=False):
    """Days that count, both included, as YYYY-MM-DD; open where one is missing."""

    first: str
    last: str


class Change(TypedDict, total=False):
    """What shall be different about how an answer was read; the ids stand in its `reading`."""

    without: Sequence[str]
    values: Mapping[str, str]
    period: NewPeriod
    unit: Literal["day", "week", "month", "quarter", "year"]
    by: str
    lines: int


@dataclass(frozen=True, slots=True)
class ColumnFormat:
    """How cells are shown: times `factor`, with `digits` behind the point; `kind` is integer, number, money, percent, year, date, datetime, id, boolean or text."""

    kind: str
    digits: int = 0
    unit: str = ""
    factor: float = 1.0
    grain: str = "day"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a result; `kind` is text, integer, number, boolean, date, datetime, time, bytes, json or other."""

    id: str
    label: str
    kind: str
    format: ColumnFormat | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """A way on that an answer offers; give its id to `clarify`."""

    id: str
    text: str
    question: str
    action: str


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
    needs_second_person: bool = False


@dataclass(frozen=True, slots=True)
class ReadingFilter:
    """A condition on the rows of an answer; `refine` takes its id."""

    id: str
    text: str
    field: str
    value: str
    carried: bool = False


@dataclass(frozen=True, slots=True)
class ReadingPeriod:
    """The days that an answer is about, as YYYY-MM-DD; None: open on that side."""

    text: str
    field: str
    first: str | None
    last: str | None
    carried: bool = False


@dataclass(frozen=True, slots=True)
class ReadingGroup:
    """What there is one line for each of; `refine` takes its id."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Reading:
    """How a question was read: in one sentence, and in its parts."""

    text: str
    measures: tuple[str, ...]
    entities: tuple[str, ...]
    filters: tuple[ReadingFilter, ...]
    period: ReadingPeriod | None
    groups: tuple[ReadingGroup, ...]
    order: str
    limit: int | None


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
    reading: Reading | None
    sql: str | None
    raw: Json

    @property
    def is_good(self) -> bool:
        """Whether the question was answered, replied to or prepared."""
        return self.outcome in GOOD_OUTCOMES

    @classmethod
    def of(cls, found: Json) -> Self:
        """Return the answer of a JSON object; KeyError for one that is none."""
        return _read(cls, found, page_count=int((found.get("pages") or {}).get("count", 1)))


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
        """Return the query of a JSON object; KeyError for one that is none."""
        thread = found.get("thread_id") or (found.get("answer") or {}).get("thread_id") or ""
        return _read(cls, found, thread_id=str(thread), deadline_at=found.get("deadline_at"))


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
        return _read(cls, found, number=int(found["page"]), size=int(found["page_size"]))


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
        return _read(cls, found, id=str(found["thread_id"]))


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
        return _read(cls, found)


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
        return _read(cls, found)


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
        return _read(cls, found)


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


_EMPTY: Final[Mapping[type, Any]] = {str: "", int: 0, bool: False}


_hints: Final = cast("Callable[[type[Any]], Mapping[str, Any]]", cache(get_type_hints))


def _read(kind: type[T], found: Json, **given: Any) -> T:
    """Return a value of the class from a JSON object: each attribute from the member of its name, unless it is given.

    Members that are missing are empty or None; text, numbers and truth are made so. What names the object must be
    there: KeyError.
    """
    values = dict(given)
    for name, hint in _hints(kind).items():
        if name not in values:
            values[name] = found if name == "raw" else _value(hint, found[name] if name in _NAMING else found.get(name))
    return kind(**values)


_NAMING: Final = frozenset(
    {"id", "query_id", "thread_id", "outcome", "status", "sequence", "label", "sql_sha256", "totals"}
)
"""Members without which an object is not what it is taken for."""


def _value(hint: Any, value: Any) -> Any:
    if hint in _EMPTY:
        return hint(value) if value is not None else _EMPTY[hint]
    inner = get_args(hint)
    kind = next((item for item in inner if is_dataclass(item)), None)
    if get_origin(hint) is tuple:
        if kind is not None:
            return tuple(_made(kind, item) for item in value or ())
        return rows_of(value) if get_origin(inner[0]) is tuple else tuple(str(item) for item in value or ())
    return _made(kind, value) if kind is not None and value is not None else value


def _made(kind: Any, found: Json) -> Any:
    return kind.of(found) if hasattr(kind, "of") else _read(kind, found)


def _objects(found: Any) -> Sequence[Json]:
    return cast("Sequence[Json]", found or ())
