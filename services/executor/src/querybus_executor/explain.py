"""Answers the validator's `explain` and `probe`: guarded again, on reserved slots, never after the deadline.

A probe returns at most ten rows and keeps no pages. Both have a limit of their own, well below a statement's.
"""

from __future__ import annotations

from typing import Final

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Result
from querybus.core.policy import Reader
from querybus.core.requests.rpc import PROBE_ROWS_MAX, ExplainReply, ExplainRequest, ProbeReply, ProbeRequest
from querybus.core.subjects import token
from querybus_executor.guard_cache import Verdict, Verdicts
from querybus_executor.ports import Database, Databases, Purpose, reading_for
from querybus_executor.results.hidden_values import without_values
from querybus_executor.results.receive import first_page

EXPLAIN_SECONDS_MAX: Final = 5.0
PROBE_SECONDS_MAX: Final = 5.0


async def explain(
    tenant: str, connection: str, request: ExplainRequest, *, databases: Databases, verdicts: Verdicts, now_ms: int
) -> ExplainReply:
    """Return what the engine has against the statement; `tenant` and `connection` are the subject's tokens."""
    admitted = await _admitted(tenant, connection, request, databases, verdicts, now_ms)
    if isinstance(admitted, Failure):
        return ExplainReply(failure=admitted)
    database, verdict = admitted
    seconds = min(EXPLAIN_SECONDS_MAX, (request.deadline_at - now_ms) / 1000)
    with reading_for(Reader(request.tenant, request.user)):
        result = await database.explain(request.sql, seconds_max=seconds)
    if not isinstance(result, Failure):
        if verdict.has_hidden_rows:
            return ExplainReply()
        return ExplainReply(rows_estimate=result.rows, rows_read_estimate=result.rows_read, cost_estimate=result.cost)
    if result.code is FailureCode.TABLE_NOT_FOUND:
        database.doubt()
    return ExplainReply(failure=without_values(result, database.policy.of(request.tenant)))


async def probe(
    tenant: str, connection: str, request: ProbeRequest, *, databases: Databases, verdicts: Verdicts, now_ms: int
) -> ProbeReply:
    """Return the first rows of the statement; `tenant` and `connection` are the subject's tokens."""
    admitted = await _admitted(tenant, connection, request, databases, verdicts, now_ms)
    if isinstance(admitted, Failure):
        return ProbeReply(failure=admitted)
    database, _ = admitted
    with reading_for(Reader(request.tenant, request.user)):
        result = await database.run(
            request.sql,
            rows_max=min(request.rows_max, PROBE_ROWS_MAX),
            seconds_max=min(PROBE_SECONDS_MAX, (request.deadline_at - now_ms) / 1000),
            purpose=Purpose.PROBE,
        )
    if isinstance(result, Failure):
        return ProbeReply(failure=without_values(result, database.policy.of(request.tenant)))
    rows = first_page(result.rows, PROBE_ROWS_MAX).rows
    cut = result.truncated or len(rows) < len(result.rows)
    return ProbeReply(result=Result(columns=result.columns, rows=rows, row_count=len(rows), truncated=cut))


async def _admitted(
    tenant: str, connection: str, request: ExplainRequest, databases: Databases, verdicts: Verdicts, now_ms: int
) -> tuple[Database, Verdict] | Failure:
    if request.deadline_at <= now_ms:
        return Failure.of(FailureCode.EXPIRED, "the deadline passed before the database was asked")
    if tenant != token(request.tenant):
        return Failure.of(FailureCode.INTERNAL, "asked under another tenant's subject")
    database = databases.by_token(connection)
    if database is None:
        return Failure.of(FailureCode.CONNECTION, "the connection is not configured here")
    if not database.policy.serves(request.tenant):
        return Failure.of(FailureCode.PERMISSION, "this tenant may not use the connection")
    if request.dialect is not database.dialect:
        return Failure.of(FailureCode.INTERNAL, f"meant for {request.dialect}, the connection is {database.dialect}")
    catalog = await database.catalog()
    if not isinstance(catalog, Catalog):
        return catalog
    reader = Reader(request.tenant, request.user)
    verdict = verdicts.of(
        request.sql,
        database.dialect,
        catalog,
        database.policy.of(request.tenant),
        reader,
        checks_size=request.checks_size,
    )
    return verdict.refusal or (database, verdict)
