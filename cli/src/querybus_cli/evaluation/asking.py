"""One item on its way through the stages of a query, in this process: the verbs are those of the services, without the bus.

What the model answered first is also run by itself, so that an item that was right before anything touched it and is not
right at the end is seen. An exception is the outcome of its item and of no other.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from querybus.core.catalog import Catalog, Dialect
from querybus.core.envelope import (
    BodyT,
    Delivery,
    Envelope,
    PathStep,
    concluded,
    failed,
    may_vote,
    stamped,
    vote_wanted,
)
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Approved, Asked, Concluded, Drafted, Failed, Origin, Outcome, Result
from querybus.core.options import Agreement, Effort, Mode, Options, RepairPolicy
from querybus.core.policy import Connection, ConnectionPolicy
from querybus.core.requests.rpc import ExplainReply, ExplainRequest, ProbeReply, ProbeRequest
from querybus.core.subjects import EventName, StageName
from querybus.ops.log import redact_text
from querybus.text.language import detect_language
from querybus.text.rows.execution_match import is_ordered, matches
from querybus_cli.evaluation.items import Item
from querybus_cli.evaluation.models import Counted, Recorded, own_statements
from querybus_cli.evaluation.sqlite_rows import Rows, open_read_only, rows_of
from querybus_executor.engines.sqlite.edge import sqlite_edge
from querybus_executor.engines.sqlite.introspect import open_sqlite_catalog
from querybus_executor.ports import Purpose
from querybus_executor.results.second_draft import compared, with_second
from querybus_executor.results.value_suggestions import asked_back
from querybus_generator.conversation.history import NoHistory
from querybus_generator.conversation.turns import ROWS_WHOLE_MAX, Turn
from querybus_generator.generate import BUILTIN, Resources, generate, generation_failed
from querybus_generator.linking.linker import Linker
from querybus_generator.ports import Ports
from querybus_generator.prompts.texts import load_texts
from querybus_presenter.confidence import confidence_of
from querybus_recovery.guidance import load_guidance
from querybus_recovery.recover import recover
from querybus_recovery.rules.candidate import Repair
from querybus_validator.validate import validate

ROWS_MAX: Final = 100_000
SECONDS_PER_ITEM: Final = 60.0
STATEMENT_SECONDS: Final = 20.0
ERROR_LENGTH_MAX: Final = 400
CRASHED: Final = "crashed"
"""The outcome of an item whose way through the stages ended in an exception."""
_POLICY: Final = ConnectionPolicy(rows_max=ROWS_MAX)
_GUIDANCE: Final = load_guidance()
_TEXTS: Final = load_texts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What became of one item; times in milliseconds.

    `first_*` is the model's first answer run by itself, `final_*` what came out at the end; right is who gives the
    reference's rows or ends as expected. `error`: an exception, or why the reference statement does not run.
    """

    id: str
    turn: int
    mode: str
    expect: str | None
    outcome: str
    first_executable: bool
    first_right: bool
    final_executable: bool
    final_right: bool
    first_sql: str
    sql: str | None
    attempts: int
    confidence: float | None
    first_code: str | None
    mended: bool
    milliseconds: float
    rules: tuple[str, ...] = ()
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    error: str = ""
    writer: str = ""
    """Who wrote the statement that was answered with: model, builtin or verified, and `, repaired` where a rule changed it."""
    model_failures: tuple[str, ...] = ()
    """Why calls of the model failed, one text each."""
    question: str = ""
    database: str = ""
    gold: str | None = None

    @property
    def is_broken(self) -> bool:
        """Whether the model's own first answer was right and what came out at the end is not."""
        return self.expect is None and self.first_right and not self.final_right

    @property
    def is_fixed(self) -> bool:
        """Whether what came out at the end is right and the model's own first answer was not."""
        return self.expect is None and self.final_right and not self.first_right


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """The verbs that an item goes through; a self-test puts others in their places."""

    generate: Callable[..., Awaitable[Any]] = generate
    validate: Callable[..., Awaitable[Any]] = validate
    recover: Callable[..., Awaitable[Any]] = recover


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """How all items of a run are asked. `model`: the options' name of it, None for a recorded answer."""

    model: str | None
    mode: Mode
    policy: RepairPolicy | None
    cross_check: bool
    effort: Effort
    stages: Stages


class Place:
    """One database as the verbs see it: catalog, policy and engine."""

    def __init__(self, path: Path, children: Any) -> None:
        self.path = path
        self.catalog: Catalog = open_sqlite_catalog(path)
        self.engine = sqlite_edge(children, path, _POLICY)
        self.plain = open_read_only(path)
        self.linker = Linker()

    async def read(self, connection: str) -> Catalog | None:
        """Return the catalog; there is one connection."""
        del connection
        return self.catalog

    async def get(self, name: str) -> Connection | None:
        """Return the connection under whatever name."""
        return Connection(name=name, dialect=Dialect.SQLITE, policy=_POLICY)

    async def explain(self, tenant: str, connection: str, request: ExplainRequest) -> ExplainReply:
        """Return what the engine says of the statement."""
        del tenant, connection
        said = await self.engine.explain(request.sql, seconds_max=STATEMENT_SECONDS)
        return ExplainReply(failure=said if isinstance(said, Failure) else None)

    async def probe(self, tenant: str, connection: str, request: ProbeRequest) -> ProbeReply:
        """Return nothing: no item asks for a probe."""
        del tenant, connection, request
        return ProbeReply()


class ThreadSoFar(NoHistory):
    """The history of a thread that is asked turn by turn, and the journal in one."""

    def __init__(self) -> None:
        self.said: list[Turn] = []

    async def turns(self, envelope: Envelope[Any]) -> tuple[Turn, ...]:
        """Return the turns that were asked before."""
        del envelope
        return tuple(self.said)

    async def query_in_full(self, tenant: str, query: str, thread: str) -> tuple[Any, ...]:
        """Return none: nothing is ever confirmed here."""
        del tenant, query, thread
        return ()


@dataclass(slots=True, kw_only=True)
class Asking:
    """One item, where it is asked, and what was learnt on its way."""

    item: Item
    place: Place
    model: Recorded | Counted | None
    asker: Asker
    thread: ThreadSoFar
    _repairs: list[Repair] = field(default_factory=list[Repair])
    _code: FailureCode | None = None
    _first_draft: str = ""
    _now: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    _began: float = field(default_factory=time.monotonic)

    async def judged(self) -> Judged:
        """Return what became of the item, and add it to its thread."""
        end: Envelope[Concluded] | None = None
        error = ""
        try:
            end = await self._ended()
        except Exception as caught:  # noqa: BLE001 - whatever a stage raises is what this item ended with
            error = redact_text(f"{type(caught).__name__}: {caught}")[:ERROR_LENGTH_MAX]
        milliseconds = round((time.monotonic() - self._began) * 1_000, 1)
        self.thread.said.append(self._turn(end))
        return self._result(end, error, milliseconds)

    async def _ended(self) -> Envelope[Concluded]:
        at = await self._generated(self._asked())
        while not isinstance(at.body, Concluded):
            match at.body:
                case Drafted():
                    # What stands in for a model that said nothing is no answer of the model.
                    if self.asker.model == BUILTIN or at.body.draft.origin is Origin.MODEL:
                        self._first_draft = self._first_draft or at.body.draft.sql
                    at = await self._validated(at)
                case Approved():
                    at = await self._executed(at)
                case Failed():
                    self._code = self._code or at.body.code
                    at = await self._recovered(at)
                case _:
                    at = await self._generated(at)
        return at

    def _asked(self) -> Envelope[Any]:
        return Envelope[Asked].model_construct(
            event=EventName.ASKED,
            query_id=f"evaluate-{self.item.turn}",
            thread_id="evaluate",
            tenant="local",
            user="evaluate",
            audience="analyst",
            connection=self.item.database,
            question=self.item.question,
            language=detect_language(self.item.question),
            options=Options(
                mode=self._mode,
                rows_max=ROWS_MAX,
                deadline_seconds=SECONDS_PER_ITEM,
                today=self.item.as_of,
                repair_policy=self.asker.policy,
                model=self.asker.model,
                cross_check=self.asker.cross_check,
                effort=self.asker.effort,
            ),
            asked_at=self._now,
            deadline_at=self._now + int(SECONDS_PER_ITEM * 1_000),
            body=Asked.model_construct(),
        )

    @property
    def _mode(self) -> Mode:
        return self.item.mode or self.asker.mode

    async def _generated(self, envelope: Envelope[Any]) -> Envelope[Any]:
        # A recording says the same at each event, and at none of them twice: that would be no second draft.
        model = Recorded(self.model.first) if isinstance(self.model, Recorded) else self.model
        result = await self.asker.stages.generate(
            envelope,
            self._delivery(),
            ports=Ports(catalogs=self.place, connections=self.place, history=self.thread, model=model),
            resources=Resources(linker=self.place.linker, texts=_TEXTS),
        )
        after = generation_failed(envelope, result) if isinstance(result, Failure) else result
        return self._passed(after, StageName.GENERATOR)

    async def _validated(self, envelope: Envelope[Any]) -> Envelope[Any]:
        place = self.place
        checked = await self.asker.stages.validate(
            envelope, self._delivery(), catalogs=place, connections=place, database=place, log=self.thread
        )
        if not isinstance(checked, Failure) and not isinstance(checked.body, Approved):
            checked = Failure.of(FailureCode.SAFETY, "the statement would change data")
        after = failed(envelope, checked, StageName.VALIDATOR) if isinstance(checked, Failure) else checked
        return self._passed(after, StageName.VALIDATOR)

    async def _executed(self, approval: Envelope[Approved]) -> Envelope[Any]:
        """Return the conclusion with the first rows; what is asked back of an empty answer is asked back here as well."""
        body = approval.body
        rows = await self.place.engine.run(
            body.sql, rows_max=ROWS_MAX, seconds_max=STATEMENT_SECONDS, purpose=Purpose.EXECUTE
        )
        if isinstance(rows, Failure):
            return self._passed(failed(approval, rows, StageName.EXECUTOR), StageName.EXECUTOR)
        first = tuple(tuple(row) for row in rows.rows[:ROWS_WHOLE_MAX])
        result = Result(columns=rows.columns, rows=first, row_count=rows.row_count)
        # The validator has checked both drafts; nothing is under a policy here.
        seen = await compared(
            approval, rows, result, self.place.engine, self.place.catalog, lambda _: None, STATEMENT_SECONDS
        )
        body, result = seen.body, seen.result
        if seen.is_undecided and may_vote(approval):
            return self._passed(vote_wanted(approval), StageName.EXECUTOR)
        conclusion = Concluded(
            outcome=Outcome.ANSWERED,
            stage=StageName.EXECUTOR,
            sql=body.sql,
            dialect=body.dialect,
            result=result,
            analysis=body.analysis,
            notes=body.notes,
        )
        conclusion = asked_back(approval, conclusion, self.place.catalog, _POLICY)
        return self._passed(concluded(with_second(approval, body), conclusion), StageName.EXECUTOR)

    async def _recovered(self, envelope: Envelope[Failed]) -> Envelope[Any]:
        after = await self.asker.stages.recover(
            envelope,
            self._delivery(),
            catalogs=self.place,
            connections=self.place,
            guidance=_GUIDANCE,
            on_repair=self._repairs.append,
        )
        return self._passed(after, StageName.RECOVERY)

    def _passed(self, envelope: Envelope[BodyT], stage: StageName) -> Envelope[BodyT]:
        """Return the event with the step on its path that a stage leaves when it publishes."""
        now_ms = self._delivery().now_ms
        return stamped(envelope, PathStep(stage=stage, event=envelope.event, started_at=now_ms, ended_at=now_ms))

    def _delivery(self) -> Delivery:
        spent_ms = round((time.monotonic() - self._began) * 1_000)
        return Delivery(sequence=1, deliveries=1, now_ms=self._now + spent_ms)

    def _first(self) -> tuple[str, Rows | None]:
        """Return the model's first statement, as it runs by itself, and its rows; None where it does not run."""
        answer = self.model.first if self.model is not None else ""
        statements = own_statements(answer) or (self._first_draft,)
        for statement in statements:
            rows = rows_of(self.place.plain, statement)
            if isinstance(rows, list) and statement:
                return statement, rows
        return statements[0], None

    def _turn(self, end: Envelope[Concluded] | None) -> Turn:
        if end is None:
            return Turn(self.item.question)
        body = end.body
        return Turn(
            self.item.question,
            sql=body.sql,
            reply=body.reply,
            enriched=end.enriched_question,
            result=body.result,
            about=body.clarification.about if body.clarification is not None else "",
            query_id=end.query_id,
            analysis=body.analysis,
        )

    def _result(self, end: Envelope[Concluded] | None, error: str, milliseconds: float) -> Judged:
        item, body = self.item, None if end is None else end.body
        outcome = CRASHED if body is None else body.outcome
        # What is asked back about an empty answer gives the answer as well.
        ran = body is not None and body.result is not None
        attempts = end.attempts if end is not None else ()
        sql = (body.sql if body is not None else None) or next((tried.sql for tried in reversed(attempts)), None)
        first_sql, first = self._first()
        reference = None if item.gold is None else rows_of(self.place.plain, item.gold)
        if isinstance(reference, sqlite3.Error):
            error = error or f"the reference statement fails: {reference}"
        final = rows_of(self.place.plain, sql) if ran and sql is not None else None
        return Judged(
            id=item.id,
            turn=item.turn,
            mode=self._mode.value,
            expect=item.expect,
            outcome=outcome,
            first_executable=isinstance(first, list),
            first_right=_is_right(reference, first, item.gold),
            final_executable=ran,
            final_right=_is_right(reference, final, item.gold) if item.expect is None else outcome == item.expect,
            first_sql=first_sql,
            sql=sql,
            attempts=len(attempts),
            confidence=confidence_of(end, ()) if end is not None and ran else None,
            first_code=self._code.value if self._code else None,
            mended=ran and not isinstance(first, list),
            milliseconds=milliseconds,
            rules=tuple(dict.fromkeys(step.rule.value for repair in self._repairs for step in repair.steps)),
            calls=self.model.calls if self.model else 0,
            tokens_in=self.model.tokens_in if self.model else 0,
            tokens_out=self.model.tokens_out if self.model else 0,
            error=error,
            writer=_writer(end) if ran and end is not None else "",
            model_failures=self.model.failures if self.model else (),
            question=item.question,
            database=item.database,
            gold=item.gold,
        )


def _writer(end: Envelope[Concluded]) -> str:
    """Return who wrote the statement that an answer is of; a rule repairs what somebody else wrote."""
    origins = [attempt.origin for attempt in end.attempts]
    if not origins:
        return ""
    author = next((origin for origin in reversed(origins) if origin is not Origin.RULE), Origin.RULE)
    if end.body.analysis.agreement is Agreement.REPLACED and end.body.analysis.second_reading:
        author = Origin.BUILTIN
    return f"{author.value}, repaired" if origins[-1] is Origin.RULE else author.value


def _is_right(reference: Rows | sqlite3.Error | None, got: Rows | sqlite3.Error | None, gold: str | None) -> bool:
    """Return whether the rows are the reference's."""
    if gold is None or not isinstance(reference, list) or not isinstance(got, list):
        return False
    return matches(reference, got, ordered=is_ordered(gold))
