"""Draft to approval: nothing reaches a database that this verb has not read, decided on and written anew.

The static check comes first and is never overruled where it refuses for safety, policy or cost. The engine is then
asked about our own rendering only. Its word counts for names and types: a column that we could not resolve but the
engine knows is approved, with a note. Without the engine (`enable_syntax_validation` off) our doubt decides.
"""

from __future__ import annotations

from typing import Any, Final, Literal, cast

from querybus.core.catalog import Dialect
from querybus.core.delivery import Delivery
from querybus.core.envelope import Envelope, approved, concluded
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Approved, Concluded, Confirmed, Drafted, Operation, Outcome
from querybus.core.options import ExecutionMode, Options
from querybus.core.policy import ConnectionPolicy
from querybus.core.rpc import ExplainRequest, ProbeRequest
from querybus.core.sql.check import Checked, check_in_doubt
from querybus.core.subjects import StageName
from querybus_validator.ports import Catalogs, Connections, Database

ENGINE_MS_MAX: Final = 10_000
"""Milliseconds that one EXPLAIN or probe may take; less where the deadline is nearer."""

OVERRULED_NOTE: Final = "The engine knows a column that the catalog does not."
NOT_ASKED_NOTE: Final = "Not checked by the engine."

_PREPARED: Final = frozenset({Operation.GENERATE, Operation.VALIDATE, Operation.EXPLAIN})
_Check = Literal["static", "explain", "probe"]


async def validate(
    envelope: Envelope[Any],
    delivery: Delivery,
    *,
    catalogs: Catalogs,
    connections: Connections,
    database: Database,
) -> Envelope[Any] | Failure:
    """Return the approval of a draft, its conclusion as prepared, or why it must not or cannot run.

    A confirmed write is concluded as refused: no connection takes writes.
    """
    if isinstance(envelope.body, Confirmed):
        return _refuse_write(envelope)
    body = cast("Drafted", envelope.body)
    connection = await connections.get(envelope.connection)
    catalog = await catalogs.read(envelope.connection)
    if connection is None or catalog is None:
        return Failure.of(FailureCode.CONNECTION, "no catalog of this connection is there yet")
    row_limit = rows_allowed(envelope.options, connection.policy)
    static = check_in_doubt(
        body.draft.sql, dialect=connection.dialect, catalog=catalog, policy=connection.policy, row_limit=row_limit
    )
    if isinstance(static, Failure):
        return static
    asked = await _ask_engine(envelope, delivery, static, connection.dialect, database)
    if isinstance(asked, Failure):
        return asked
    checked, notes = asked
    notes = (*body.notes, *static.warnings, *notes)
    if body.operation in _PREPARED or envelope.options.dry_run:
        return concluded(
            envelope,
            Concluded(
                outcome=Outcome.PREPARED,
                stage=StageName.VALIDATOR,
                sql=static.sql,
                dialect=connection.dialect,
                analysis=body.analysis,
                notes=notes,
            ),
        )
    return approved(
        envelope,
        Approved(
            sql=static.sql,
            dialect=connection.dialect,
            origin=body.draft.origin,
            tables=static.tables,
            row_limit=row_limit,
            checked=checked,
            analysis=body.analysis,
            notes=notes,
        ),
    )


def rows_allowed(options: Options, policy: ConnectionPolicy) -> int:
    """Return how many rows of a result may be fetched."""
    return min(options.rows_max, policy.rows_max)


async def _ask_engine(
    envelope: Envelope[Any], delivery: Delivery, static: Checked, dialect: Dialect, database: Database
) -> tuple[tuple[_Check, ...], tuple[str, ...]] | Failure:
    """Return what was checked, with notes, or what the engine has against the statement."""
    checked: tuple[_Check, ...] = ("static",)
    notes: tuple[str, ...] = ()
    request = ExplainRequest(
        query_id=envelope.query_id,
        tenant=envelope.tenant,
        user=envelope.user,
        sql=static.sql,
        dialect=dialect,
        deadline_at=min(envelope.deadline_at, delivery.now_ms + ENGINE_MS_MAX),
    )
    if envelope.options.enable_syntax_validation and static.is_query:
        reply = await database.explain(envelope.tenant, envelope.connection, request)
        if reply.failure is not None:
            return _better(reply.failure, static.doubt)
        checked = (*checked, "explain")
        if static.doubt is not None:
            notes = (OVERRULED_NOTE,)
    elif static.doubt is not None:
        return static.doubt
    else:
        notes = (NOT_ASKED_NOTE,)
    if cast("Drafted", envelope.body).probe and envelope.options.execution_mode is ExecutionMode.ALLOW_EXECUTION:
        probed = await database.probe(
            envelope.tenant, envelope.connection, ProbeRequest.model_validate(request.model_dump())
        )
        if probed.failure is not None:
            return probed.failure
        checked = (*checked, "probe")
    return checked, notes


def _better(said: Failure, doubt: Failure | None) -> Failure:
    """Return the engine's failure, or our doubt about the same thing, which names the candidates."""
    if doubt is None or said.code not in (
        doubt.code,
        FailureCode.COLUMN_NOT_FOUND,
        FailureCode.MISSING_ALIAS,
        FailureCode.AMBIGUOUS_COLUMN,
    ):
        return said
    facts = doubt.facts.model_copy(update={"native_code": said.facts.native_code})
    return doubt.model_copy(update={"facts": facts})


def _refuse_write(envelope: Envelope[Any]) -> Envelope[Concluded]:
    return concluded(
        envelope,
        Concluded(
            outcome=Outcome.REFUSED,
            code=FailureCode.PERMISSION,
            detail="no connection takes writes",
            stage=StageName.VALIDATOR,
            refused_kind="WRITE",
        ),
    )
