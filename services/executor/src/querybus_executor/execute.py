"""An approved statement becomes rows: guarded again, run within what is left of the deadline, kept as pages.

Rows are kept as pages while they come. The first page, up to 256 KB as JSON, stands in the conclusion; a result that
fits there is kept nowhere else.
A full result store costs the further pages, not the answer. Failures come back as values with the engine's code.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Final

from querybus.core.envelope import Delivery, Envelope, checks_size, concluded, may_vote, vote_wanted
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Approved, Concluded, Outcome, Result, Returned
from querybus.core.policy import ConnectionPolicy, Reader
from querybus.core.subjects import StageName, run_token
from querybus_executor.guard_cache import Verdict, Verdicts
from querybus_executor.ports import Database, Databases, Pages, PageWriter, Purpose, Rows, Run, Runs, reading_for
from querybus_executor.results.hidden_values import engine_warnings, without_values
from querybus_executor.results.receive import CELL_CHARACTERS_MAX, first_page
from querybus_executor.results.second_draft import VOTE_SECONDS_MIN, compared, with_second
from querybus_executor.results.ties import is_cut_at_tie
from querybus_executor.results.total import total_of
from querybus_executor.results.value_suggestions import asked_back
from querybus_executor.sharing.connection_turns import ConnectionTurns

PUBLISHING_SECONDS: Final = 0.3
"""What is kept of the deadline for pages and the conclusion itself."""

_ENGINE_MISSES_A_NAME: Final = frozenset({FailureCode.TABLE_NOT_FOUND, FailureCode.COLUMN_NOT_FOUND})

WARNING_BYTES: Final = "the result was cut at the limit of its size in bytes"
WARNING_LONG_CELL: Final = f"a cell was cut at {CELL_CHARACTERS_MAX:,} characters"
WARNING_LONG_ROW: Final = "a row is too long to be kept: only the first page was kept; select fewer or shorter columns"
WARNING_STORE: Final = "the result store was full: only the first page was kept"

Ended = Envelope[Concluded] | Envelope[Returned]
Execute = Callable[[Envelope[Approved], Delivery], Awaitable[Ended | Failure]]


async def execute_again(
    envelope: Envelope[Approved], delivery: Delivery, *, execute: Execute, runs: Runs
) -> Ended | Failure:
    """Return what `execute` returns, or a failure where the statement was begun before and its process died.

    What ended two executors may well end the next, with all that runs beside it. The count of deliveries does not say
    that: a stopping executor gives back, and a cluster that chooses a leader counts some that reached nobody. A first
    delivery is not written down, as nearly every one ends: so at most two processes die of one statement.
    """
    if delivery.deliveries == 1:
        return await execute(envelope, delivery)
    if not await runs.begin(envelope.query_id, delivery.sequence):
        return Failure.of(FailureCode.RESOURCE_LIMIT, "the statement was begun twice and never ended")
    try:
        return await execute(envelope, delivery)
    finally:
        await runs.end(envelope.query_id, delivery.sequence)


async def execute_in_turn(
    envelope: Envelope[Approved],
    delivery: Delivery,
    *,
    execute: Execute,
    turns: ConnectionTurns,
    timer: Callable[[], float] = time.monotonic,
) -> Ended | Failure:
    """Return what `execute` returns once the tenant has its turn at the connection, which it pays for in seconds.

    A statement that gets no turn within its time is the failure `timeout`.
    """
    place = turns.of(envelope.connection)
    if place is None:
        return await execute(envelope, delivery)
    asked_at = timer()
    seconds_max = max(0.0, envelope.remaining_ms(delivery.now_ms) / 1000 - PUBLISHING_SECONDS)
    async with AsyncExitStack() as stack:
        try:
            async with asyncio.timeout(seconds_max):
                cost = await stack.enter_async_context(place.turn(envelope.tenant))
        except TimeoutError:
            return Failure.of(FailureCode.TIMEOUT, f"no statement slot became free within {seconds_max:g} s")
        began = timer()
        try:
            waited_ms = int((began - asked_at) * 1000)
            return await execute(envelope, replace(delivery, now_ms=delivery.now_ms + waited_ms))
        finally:
            cost.used = timer() - began


async def execute(
    envelope: Envelope[Approved],
    delivery: Delivery,
    *,
    databases: Databases,
    pages: Pages,
    verdicts: Verdicts,
    timer: Callable[[], float] = time.monotonic,
) -> Ended | Failure:
    """Return the conclusion with the first page, the wish for another draft, or the typed failure of guard or engine."""
    with reading_for(Reader(envelope.tenant, envelope.user)):
        return await _execute(envelope, delivery, databases, pages, verdicts, timer)


async def _execute(
    envelope: Envelope[Approved],
    delivery: Delivery,
    databases: Databases,
    pages: Pages,
    verdicts: Verdicts,
    timer: Callable[[], float],
) -> Ended | Failure:
    body = envelope.body
    database = databases.get(envelope.connection)
    if database is None:
        return Failure.of(FailureCode.CONNECTION, "the connection is not configured here")
    if (unfit := _refused_here(envelope, database)) is not None:
        return unfit
    catalog = await database.catalog()
    if isinstance(catalog, Failure):
        return catalog
    policy = database.policy.of(envelope.tenant)
    reader = Reader(envelope.tenant, envelope.user)

    def verdict_on(sql: str) -> Verdict:
        return verdicts.of(sql, body.dialect, catalog, policy, reader, checks_size=checks_size(envelope))

    def refusal(sql: str) -> Failure | None:
        return verdict_on(sql).refusal

    began, verdict = timer(), verdict_on(body.sql)
    if (refused := verdict.refusal) is not None:
        return refused
    left_seconds = envelope.remaining_ms(delivery.now_ms) / 1000 - PUBLISHING_SECONDS
    if left_seconds <= 0:
        return Failure.of(FailureCode.EXPIRED, "no time was left to run the statement")
    run = Run(envelope.tenant, envelope.query_id, run_token(delivery.sequence, delivery.deliveries))
    rows_max, seconds_max = min(body.row_limit, policy.rows_max), min(left_seconds, policy.statement_timeout_seconds)
    async with pages.writer(run, envelope.options.page_size) as writer:
        run_began = timer()
        outcome = await database.run(
            body.sql, rows_max=rows_max, seconds_max=seconds_max, purpose=Purpose.EXECUTE, pages=writer
        )
        if isinstance(outcome, Failure):
            if outcome.code in _ENGINE_MISSES_A_NAME:
                database.doubt()
            return _timed(without_values(outcome, policy), timer() - run_began)
        warnings = engine_warnings(outcome.warnings, policy, has_hidden_rows=verdict.has_hidden_rows)
        result = await _kept(outcome, warnings, envelope.options.page_size, writer)
    compared_seconds_max = left_seconds - (timer() - began)
    seen = await compared(envelope, outcome, result, database, catalog, refusal, compared_seconds_max)
    body, result = seen.body, seen.result
    if seen.is_undecided and may_vote(envelope) and left_seconds - (timer() - began) >= VOTE_SECONDS_MIN:
        return vote_wanted(envelope)
    verdict = verdict_on(body.sql)
    is_tied = await is_cut_at_tie(verdict.last_two, result, outcome, database, refusal)
    result = _noted(result, verdict, policy).model_copy(update={"cut_at_tie": is_tied})
    if outcome.truncated and envelope.options.count_total:
        seconds, estimates = left_seconds - (timer() - began), not verdict.has_hidden_rows
        total, is_estimate = await total_of(body, outcome.row_count, database, refusal, seconds, estimates=estimates)
        result = result.model_copy(update={"total_count": total, "total_is_estimate": is_estimate})
    conclusion = asked_back(envelope, _answered(body, result), catalog, database.policy)
    return concluded(with_second(envelope, body), conclusion, duration_ms=round(outcome.duration_ms, 3))


def _refused_here(envelope: Envelope[Approved], database: Database) -> Failure | None:
    """Return why this database may not run what was approved: another tenant's, or another engine."""
    if not database.policy.serves(envelope.tenant):
        return Failure.of(FailureCode.PERMISSION, "this tenant may not use the connection")
    dialect = envelope.body.dialect
    if dialect is not database.dialect:
        return Failure.of(FailureCode.INTERNAL, f"approved for {dialect}, the connection is {database.dialect}")
    return None


def _timed(failure: Failure, seconds: float) -> Failure:
    """Return the failure of a run with its duration; where no session was there, nothing was run."""
    if failure.code is FailureCode.CONNECTION:
        return failure
    facts = failure.facts.model_copy(update={"duration_ms": round(seconds * 1000, 3)})
    return failure.model_copy(update={"facts": facts})


def _answered(body: Approved, result: Result) -> Concluded:
    return Concluded(
        outcome=Outcome.ANSWERED,
        stage=StageName.EXECUTOR,
        sql=body.sql,
        dialect=body.dialect,
        result=result,
        analysis=body.analysis,
        notes=body.notes,
    )


def _noted(result: Result, verdict: Verdict, policy: ConnectionPolicy) -> Result:
    """Return the result with what its engine did silently, and with the columns that are masked for business readers."""
    warnings = (*result.warnings, *verdict.silent.of(result.rows))
    if policy.personal_for_business == "shown":
        return result.model_copy(update={"warnings": warnings})
    kinds = verdict.personal.of(len(result.columns))
    columns = tuple(
        column if kind is None else column.model_copy(update={"personal": kind})
        for column, kind in zip(result.columns, kinds, strict=True)
    )
    return result.model_copy(update={"warnings": warnings, "columns": columns})


async def _kept(found: Rows, reported: tuple[str, ...], page_size: int, writer: PageWriter) -> Result:
    cut = ((WARNING_BYTES, found.cut_bytes), (WARNING_LONG_CELL, found.cut_cells))
    warnings = (*reported, *(warning for warning, was_cut in cut if was_cut))
    first = first_page(found.rows, page_size)
    whole = Result(
        columns=found.columns,
        rows=first.rows,
        row_count=found.row_count,
        truncated=found.truncated,
        values_cut=first.values_cut,
        warnings=warnings,
    )
    if first.is_whole(found.row_count):
        return whole
    address = await writer.kept()
    if address is None:
        return whole.model_copy(
            update={
                "row_count": len(first.rows),
                "truncated": True,
                "total_count": None if found.truncated else found.row_count,
                "warnings": (*warnings, WARNING_LONG_ROW if writer.has_long_row else WARNING_STORE),
            }
        )
    return whole.model_copy(update={"pages": address})
