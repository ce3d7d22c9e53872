"""An approved statement becomes rows: guarded again, run within what is left of the deadline, kept as pages.

The first page, up to 256 KB as JSON, stands in the conclusion; a result that fits there is kept nowhere else.
A full result store costs the further pages, not the answer. Failures come back as values with the engine's code.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Final

from querybus.core.delivery import Delivery
from querybus.core.envelope import Envelope, concluded
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import (
    Approved,
    Concluded,
    Outcome,
    PagesAddress,
    Result,
    Scalar,
)
from querybus.core.sql.guard import guard
from querybus.core.subjects import StageName, run_token
from querybus_executor.ports import Databases, Pages, Purpose, Rows, Run

FIRST_PAGE_BYTES_MAX: Final = 256 * 1024
PAGES_AT_ONCE_MAX: Final = 8
PUBLISHING_SECONDS: Final = 0.3
"""What is kept of the deadline for pages and the conclusion itself."""

_ENGINE_MISSES_A_NAME: Final = frozenset({FailureCode.TABLE_NOT_FOUND, FailureCode.COLUMN_NOT_FOUND})

WARNING_BYTES: Final = "the result was cut at the limit of its size in bytes"
WARNING_STORE: Final = "the result store was full: only the first page was kept"


async def execute(
    envelope: Envelope[Approved], delivery: Delivery, *, databases: Databases, pages: Pages
) -> Envelope[Concluded] | Failure:
    """Return the conclusion with the first page, or the typed failure of guard or engine."""
    body = envelope.body
    database = databases.get(envelope.connection)
    if database is None:
        return Failure.of(FailureCode.CONNECTION, "the connection is not configured here")
    if body.dialect is not database.dialect:
        return Failure.of(FailureCode.INTERNAL, f"approved for {body.dialect}, the connection is {database.dialect}")
    catalog = await database.catalog()
    if isinstance(catalog, Failure):
        return catalog
    refused = guard(body.sql, database.dialect, catalog, database.policy)
    if refused is not None:
        return refused
    left_seconds = envelope.remaining_ms(delivery.now_ms) / 1000 - PUBLISHING_SECONDS
    if left_seconds <= 0:
        return Failure.of(FailureCode.TIMEOUT, "no time was left to run the statement")
    found = await database.run(
        body.sql,
        rows_max=min(body.row_limit, database.policy.rows_max),
        seconds_max=min(left_seconds, database.policy.statement_timeout_seconds),
        purpose=Purpose.EXECUTE,
    )
    if isinstance(found, Failure):
        if found.code in _ENGINE_MISSES_A_NAME:
            database.doubt()
        return found
    run = Run(envelope.tenant, envelope.query_id, run_token(delivery.sequence, delivery.deliveries))
    result = await _kept(found, run, envelope.options.page_size, pages)
    conclusion = Concluded(
        outcome=Outcome.ANSWERED,
        stage=StageName.EXECUTOR,
        sql=body.sql,
        dialect=body.dialect,
        result=result,
        analysis=body.analysis,
        notes=body.notes,
    )
    return concluded(envelope, conclusion, duration_ms=round(found.duration_ms, 3))


async def _kept(found: Rows, run: Run, page_size: int, pages: Pages) -> Result:
    warnings = (*found.warnings, *((WARNING_BYTES,) if found.cut_bytes else ()))
    first = first_page(found.rows, page_size)
    whole = Result(
        columns=found.columns,
        rows=first,
        row_count=len(found.rows),
        truncated=found.truncated,
        warnings=warnings,
    )
    if len(first) == len(found.rows):
        return whole
    slices = [found.rows[start : start + page_size] for start in range(0, len(found.rows), page_size)]
    at_once = asyncio.Semaphore(PAGES_AT_ONCE_MAX)

    async def put(page: int, rows: Sequence[Sequence[Scalar]]) -> str | None:
        async with at_once:
            return await pages.put(run, page, found.columns, rows)

    async with asyncio.TaskGroup() as group:
        puts = [group.create_task(put(number, rows)) for number, rows in enumerate(slices, start=1)]
    hashes = [each.result() for each in puts]
    sha256 = tuple(each for each in hashes if each is not None)
    if len(sha256) < len(hashes):
        return whole.model_copy(
            update={"row_count": len(first), "truncated": True, "warnings": (*warnings, WARNING_STORE)}
        )
    address = PagesAddress(run=run.token, count=len(slices), page_size=page_size, sha256=sha256)
    return whole.model_copy(update={"pages": address})


def first_page(rows: Sequence[Sequence[Scalar]], page_size: int) -> tuple[tuple[Scalar, ...], ...]:
    """Return the first page's rows, as many as 256 KB of JSON hold."""
    kept: list[tuple[Scalar, ...]] = []
    used = 2
    for row in rows[:page_size]:
        used += len(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()) + 1
        if used > FIRST_PAGE_BYTES_MAX:
            break
        kept.append(tuple(row))
    return tuple(kept)
