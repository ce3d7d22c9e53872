"""A confirmed change runs at most once, in one transaction, and is rolled back if it touches more than was confirmed.

The query's key is created in the store of writes before anything begins; whoever finds it there never runs the change
again and says that its outcome is not known. The guard runs once more on what was approved. From COMMIT on nothing
interrupts the change: what is not known at the end is said, never guessed.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

from querybus.core.catalog import ColumnKind
from querybus.core.envelope import Delivery, Envelope, concluded
from querybus.core.failure import Facts, Failure, FailureCode
from querybus.core.messages import (
    Approved,
    Concluded,
    Outcome,
    Result,
    ResultColumn,
)
from querybus.core.policy import Reader
from querybus.core.subjects import StageName
from querybus.sql.write import guard_write
from querybus_executor.ports import Database, Databases, reading_for

PUBLISHING_SECONDS: Final = 0.5
"""What is kept of the deadline for COMMIT and the conclusion itself."""
LAST_SECONDS: Final = 2.0
"""How long a change that was interrupted is waited for, to say what became of it."""
CATALOG_SECONDS: Final = 5.0
"""How long the answer to a change of the structure waits for the new catalog."""
TOO_MANY_RULE: Final = "rows_affected"


@dataclass(frozen=True, slots=True)
class Written:
    """What a change did; `rows_affected` is None where the engine counts none (a change of the structure)."""

    rows_affected: int | None
    duration_ms: float


class Writer(Protocol):
    """One database's writer."""

    async def write(self, sql: str, *, rows_affected_max: int, seconds_max: float) -> Written | Failure:
        """Run one change in one transaction of its own; rolled back if it touches more rows.

        A failure says that nothing was changed, but for code write_outcome_unknown.
        """
        ...


class Writers(Protocol):
    """The databases that take changes."""

    def get(self, connection: str) -> Writer | None:
        """Return the writer of that connection, or None: it takes no changes."""
        ...


class Writes(Protocol):
    """Which queries have begun to write."""

    async def create(self, query: str) -> bool:
        """Return True for the first caller of this query only; raises BusTrouble if that is not known."""
        ...


async def write(
    envelope: Envelope[Approved], delivery: Delivery, *, databases: Databases, writers: Writers, writes: Writes
) -> Envelope[Concluded] | Failure:
    """Return the conclusion of a confirmed change, or why it was not made, or that this is not known."""
    body = envelope.body
    database, writer = databases.get(envelope.connection), writers.get(envelope.connection)
    if database is None:
        return Failure.of(FailureCode.CONNECTION, "the connection is not configured here")
    if not database.policy.serves(envelope.tenant):
        return Failure.of(FailureCode.PERMISSION, "this tenant may not use the connection")
    if body.rows_affected_max is None or writer is None:
        return Failure.of(FailureCode.PERMISSION, "this connection takes no changes")
    if body.dialect is not database.dialect:
        return Failure.of(FailureCode.INTERNAL, f"approved for {body.dialect}, the connection is {database.dialect}")
    catalog = await database.catalog()
    if isinstance(catalog, Failure):
        return catalog
    reader, policy = Reader(envelope.tenant, envelope.user), database.policy.of(envelope.tenant)
    refused = guard_write(body.sql, database.dialect, catalog, database.policy, reader)
    if refused is not None:
        return refused
    if body.rows_affected_max > policy.rows_affected_max:
        return Failure.of(FailureCode.PERMISSION, f"this connection takes at most {policy.rows_affected_max} rows")
    left_seconds = envelope.remaining_ms(delivery.now_ms) / 1000 - PUBLISHING_SECONDS
    if left_seconds <= 0:
        return Failure.of(FailureCode.TIMEOUT, "no time was left to make the change")
    if not await writes.create(envelope.query_id):
        return _unknown("the change had begun before, and was not begun again")
    seconds_max = min(left_seconds, policy.statement_timeout_seconds)
    with reading_for(reader):
        result = await _run(writer, body.sql, body.rows_affected_max, seconds_max)
    if isinstance(result, Failure):
        return result
    if result.rows_affected is None:
        # The structure is another one now: the next question is to find it so.
        await asyncio.wait({asyncio.ensure_future(_reread(database))}, timeout=CATALOG_SECONDS)
    conclusion = Concluded(
        outcome=Outcome.ANSWERED,
        stage=StageName.EXECUTOR,
        sql=body.sql,
        dialect=body.dialect,
        result=_result(result),
        rows_affected=result.rows_affected,
        analysis=body.analysis,
        notes=body.notes,
    )
    return concluded(envelope, conclusion, duration_ms=round(result.duration_ms, 3))


async def _reread(database: Database) -> None:
    # The change is made: no trouble with the catalog may make it look otherwise.
    with suppress(Exception):
        await database.refresh()


async def _run(writer: Writer, sql: str, rows_affected_max: int, seconds_max: float) -> Written | Failure:
    """Run the change; an interruption does not reach it, and what became of it is returned if that is known soon."""
    task = asyncio.ensure_future(writer.write(sql, rows_affected_max=rows_affected_max, seconds_max=seconds_max))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=LAST_SECONDS)
        if task.done() and not task.cancelled() and task.exception() is None:
            return task.result()
        task.cancel()
        return _unknown("the change was interrupted")
    except Exception as error:  # noqa: BLE001 - the change has begun: whatever went wrong, it must not run again
        return _unknown(f"the change broke off ({type(error).__name__})")


def too_many(rows: int, rows_affected_max: int) -> Failure:
    """Return the failure of a change that was rolled back."""
    detail = f"it would have touched {rows} rows; {rows_affected_max} were confirmed; nothing was changed"
    return Failure.of(FailureCode.COST, detail, Facts(rule=TOO_MANY_RULE))


def _unknown(detail: str) -> Failure:
    return Failure.of(FailureCode.WRITE_OUTCOME_UNKNOWN, detail)


def _result(found: Written) -> Result | None:
    if found.rows_affected is None:
        return None
    column = ResultColumn(name="rows_affected", kind=ColumnKind.INTEGER)
    return Result(columns=(column,), rows=((found.rows_affected,),), row_count=1)
