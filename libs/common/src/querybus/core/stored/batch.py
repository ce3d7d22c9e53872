"""A batch is one manifest: items in their order, each a query with a derived id, and what became of each.

A manifest is a frozen value; every change is a new one, written over the revision that it was made from. Whoever holds
the lease runs it; after the lease anybody may, because asking an item again is asking the same query. Limits: ITEMS_MAX
items, CONCURRENCY_MAX queries at once, RUNS_MAX runs of an item. Times are milliseconds since the epoch.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator

from querybus.core.catalog import Language
from querybus.core.credential import Credential
from querybus.core.ids import derived_id
from querybus.core.messages import Outcome
from querybus.core.options import Options
from querybus.core.value import Value

ITEMS_MAX: Final = 1_000
CONCURRENCY_MAX: Final = 16
RUNS_MAX: Final = 10
DEADLINE_SECONDS_MAX: Final = 3_600.0
LEASE_MS: Final = 10_000
LATE_MS_MAX: Final = 20_000
"""How long after the deadline a query may still report its end: the sweeper's ten seconds, and space for the presenter."""
DETAIL_LENGTH_MAX: Final = 300
TEXT_LENGTH_MAX: Final = 2_000

GOOD: Final = frozenset({Outcome.ANSWERED, Outcome.PREPARED, Outcome.REPLIED})
"""The outcomes of an item that need no further run."""

REPAIRING: Final[Mapping[Language, str]] = {
    "en": "{n} queries failed; mending them ...",
    "zh": "发现 {n} 个查询执行失败，启动自动修正...",
}
_LINES: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "time_window": "{question} between {start} and {end}",
        "requirements": "Requirements: {text}",
        "objective": "Objective: {text}",
        "context": "Context: {text}",
    },
    "zh": {
        "time_window": "{start}到{end}，{question}",
        "requirements": "要求：{text}",
        "objective": "目标：{text}",
        "context": "背景：{text}",
    },
}

Status = Literal["waiting", "running", "finished"]


class TimeWindow(BaseModel):
    """Days, both included."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    start: dt.date
    end: dt.date

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.end < self.start:
            raise ValueError("a time window ends after it begins")
        return self


class BatchItem(BaseModel):
    """One figure of a report: a question with what surrounds it, or a statement of one's own."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[A-Za-z0-9._-]{1,64}$", description="unique in the batch")
    name: str = Field(default="", max_length=200)
    question: str = Field(default="", max_length=8_192)
    sql: str | None = Field(default=None, max_length=65_536, description="analysts: run this instead of a question")
    connection: str | None = Field(default=None, max_length=200, description="else the batch's")
    requirements: str = Field(default="", max_length=TEXT_LENGTH_MAX)
    objective: str = Field(default="", max_length=TEXT_LENGTH_MAX)
    context: str = Field(default="", max_length=TEXT_LENGTH_MAX)
    time_window: TimeWindow | None = None


class FailureSeen(Value):
    """One failure of an item; `detail` is for analysts."""

    code: str
    stage: str | None = None
    detail: str = ""


class ItemState(Value):
    """What became of one item. `run` counts its queries; `finished_as` is its place in the order of completion."""

    run: int = 0
    status: Status = "waiting"
    outcome: Outcome | None = None
    attempts: int = 0
    has_failed: bool = Field(default=False, description="a statement of the current run has failed")
    first_failure: FailureSeen | None = None
    last_failure: FailureSeen | None = None
    finished_as: int | None = None
    finished_at: int | None = None


class Lease(Value):
    """Who runs the batch, and until when nobody else does."""

    owner: str
    until: int


class Manifest(Value):
    """A whole batch; `states` are those of `items`, in the same order."""

    batch_id: str
    credential: Credential = Field(description="whose batch it is, as it was then, without the key's hash")
    language: Language
    connection: str | None = None
    options: Options = Options()
    options_said: tuple[str, ...] | None = Field(
        default=None, description="which options the request set; None: of a manifest that does not say, all"
    )
    concurrency: int = Field(ge=1, le=CONCURRENCY_MAX)
    deadline_seconds: float
    created_at: int
    deadline_at: int
    body_sha256: str = ""
    items: tuple[BatchItem, ...]
    states: tuple[ItemState, ...]
    lease: Lease | None = None
    cancelled: bool = False
    ended_at: int | None = None

    def key(self, place: int) -> str:
        """Return the idempotency key of an item's current run: the same query, whoever asks it."""
        return f"batch:{self.batch_id}:{self.items[place].id}:{self.states[place].run}"

    def query_id(self, place: int) -> str:
        """Return the id of the query of an item's current run."""
        return derived_id("key", self.credential.tenant, self.credential.user, self.key(place))

    def with_state(self, place: int, **changes: object) -> Manifest:
        """Return the manifest with one item's state changed."""
        changed = self.states[place].model_copy(update=changes)
        return self.model_copy(update={"states": (*self.states[:place], changed, *self.states[place + 1 :])})

    def leased(self, owner: str, now_ms: int) -> Manifest:
        """Return the manifest with a fresh lease."""
        return self.model_copy(update={"lease": Lease(owner=owner, until=now_ms + LEASE_MS)})

    def is_free(self, owner: str, now_ms: int) -> bool:
        """Return whether this runner may take the batch."""
        return self.lease is None or self.lease.owner == owner or self.lease.until < now_ms


def due(manifest: Manifest, now_ms: int) -> tuple[int, ...]:
    """Return the items to begin now: the first that wait, as many as the concurrency leaves space for."""
    if manifest.cancelled or now_ms >= manifest.deadline_at:
        return ()
    capacity = manifest.concurrency - sum(state.status == "running" for state in manifest.states)
    waiting = [place for place, state in enumerate(manifest.states) if state.status == "waiting"]
    return tuple(waiting[: max(0, capacity)])


def begun(manifest: Manifest, place: int) -> Manifest:
    """Return the manifest with an item's next run begun."""
    return manifest.with_state(place, run=manifest.states[place].run + 1, status="running", has_failed=False)


def ended(manifest: Manifest, place: int, answer: Mapping[str, Any], now_ms: int) -> Manifest:
    """Return the manifest with what an item's query ended in; `answer` is the public answer of its owner."""
    outcome = Outcome(str(answer["outcome"]))
    attempts = cast("Sequence[Mapping[str, Any]]", answer.get("attempts") or ())
    failures = [
        _seen(attempt["code"], attempt.get("stage"), attempt.get("detail"))
        for attempt in attempts
        if attempt.get("code")
    ]
    # What was cancelled or ran out of time before any statement had none that failed.
    has_failed = bool(failures)
    if outcome not in GOOD and not failures and answer.get("code"):
        failures.append(_seen(answer["code"], None, answer.get("detail")))
    state = manifest.states[place]
    return manifest.with_state(
        place,
        status="finished",
        outcome=outcome,
        attempts=len(attempts),
        has_failed=state.has_failed or has_failed,
        first_failure=state.first_failure or (failures[0] if failures else None),
        last_failure=failures[-1] if failures else None,
        finished_as=1 + max((state.finished_as or 0 for state in manifest.states), default=0),
        finished_at=now_ms,
    )


def not_begun(manifest: Manifest, now_ms: int) -> Manifest:
    """Return the manifest with what still waits ended as cancelled or expired."""
    outcome = Outcome.CANCELLED if manifest.cancelled else Outcome.EXPIRED
    for place, state in enumerate(manifest.states):
        if state.status == "waiting":
            manifest = ended(manifest, place, {"outcome": outcome.value, "code": outcome.value}, now_ms)
    return manifest


def again(manifest: Manifest, now_ms: int) -> Manifest | None:
    """Return the ended batch with its failed items waiting for another run, or None where there is nothing to run."""
    places = [
        place
        for place, state in enumerate(manifest.states)
        if state.outcome not in GOOD and state.run < RUNS_MAX and state.status == "finished"
    ]
    if not places:
        return None
    for place in places:
        manifest = manifest.with_state(place, status="waiting", outcome=None, finished_as=None, finished_at=None)
    return manifest.model_copy(
        update={
            "lease": None,
            "cancelled": False,
            "ended_at": None,
            "deadline_at": now_ms + round(manifest.deadline_seconds * 1_000),
        }
    )


def failing(manifest: Manifest) -> int:
    """Return how many items had a statement fail in their current run: those that are or were repaired."""
    return sum(state.has_failed for state in manifest.states)


def totals(manifest: Manifest) -> dict[str, Any]:
    """Return counts and shares: a first pass is one attempt and an answer, a retry more than one.

    Shares are of the finished items that made an attempt, respectively more than one; None where there are none.
    """
    finished = [state for state in manifest.states if state.status == "finished"]
    good = [outcome for outcome in finished if outcome.outcome in GOOD]
    tried = [item for item in finished if item.attempts]
    retried = [item for item in tried if item.attempts > 1]
    first = sum(item.attempts == 1 for item in good)
    after = sum(item.attempts > 1 for item in good)
    return {
        "items": len(manifest.items),
        "waiting": sum(state.status == "waiting" for state in manifest.states),
        "running": sum(state.status == "running" for state in manifest.states),
        "finished": len(finished),
        "answered": len(good),
        "failed": len(finished) - len(good),
        "first_pass": first,
        "after_retry": after,
        "mending": failing(manifest),
        "first_pass_success": round(first / len(tried), 4) if tried else None,
        "retry_success": round(after / len(retried), 4) if retried else None,
    }


def enriched(item: BatchItem, language: Language) -> str | None:
    """Return the question with what surrounds it, or None where nothing does.

    The first line is a question by itself, with the time window in it; the further lines add what a model needs.

    >>> enriched(BatchItem(id="a", question="How many orders?", objective="growth"), "en")
    'How many orders?\\nObjective: growth'
    """
    lines = _LINES[language]
    first = item.question.strip()
    if item.time_window is not None:
        stem = first.rstrip("?？.。 ")
        first = lines["time_window"].format(question=stem, start=item.time_window.start, end=item.time_window.end)
    further = [
        lines[name].format(text=text.strip())
        for name in ("requirements", "objective", "context")
        if (text := str(getattr(item, name))).strip()
    ]
    return "\n".join((first, *further)) if further or item.time_window is not None else None


def mending(n: int, language: Language) -> str:
    """Return the progress text of a batch of which n queries failed.

    >>> mending(2, "zh")
    '发现 2 个查询执行失败，启动自动修正...'
    """
    return REPAIRING[language].format(n=n)


def _seen(code: Any, stage: Any, detail: Any) -> FailureSeen:
    return FailureSeen(
        code=str(code), stage=str(stage) if stage else None, detail=str(detail or "")[:DETAIL_LENGTH_MAX]
    )
