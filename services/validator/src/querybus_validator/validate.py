"""Draft to approval: nothing reaches a database that this verb has not read, decided on and written anew.

The static check comes first and is never overruled where it refuses for safety, policy or cost. The engine is then
asked about our own rendering only. Its word counts for names and types: a column that we could not resolve but the
engine knows is approved, with a note. Without the engine (`enable_syntax_validation` off) our doubt decides. A change
is never approved as a draft: it asks for a confirmation, and only a query that began with one gets an approval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from querybus.core.asking_back import Clarification, Confirmation, Trigger
from querybus.core.catalog import Catalog
from querybus.core.envelope import (
    Attempt,
    Delivery,
    Envelope,
    Undecodable,
    approved,
    checks_size,
    concluded,
    may_probe,
)
from querybus.core.failure import Facts, Failure, FailureCode
from querybus.core.messages import (
    Alternative,
    Approved,
    Concluded,
    Confirmed,
    Drafted,
    Operation,
    Origin,
    Outcome,
)
from querybus.core.options import OnExecutionFailure, Options
from querybus.core.policy import Access, Connection, ConnectionPolicy, Reader
from querybus.core.requests.rpc import ExplainReply, ExplainRequest, ProbeRequest
from querybus.core.subjects import EventName, StageName
from querybus.engines import ENGINES
from querybus.sql.check import NOT_ASKED_NOTE, Checked, check_in_doubt
from querybus.sql.write import CheckedWrite, check_write, count_of, is_change, sha256_of
from querybus_validator.opinion import PLAN_RULE, Check, Opinion, is_over_soft, over_hard, rows_of
from querybus_validator.ports import Catalogs, Connections, Database, Log

OVERRULED_NOTE: Final = "The engine knows a column that the catalog does not."

NO_PLAN_NOTE: Final = "This engine gives no plan that could be read safely."

_PREPARED: Final = frozenset({Operation.GENERATE, Operation.VALIDATE, Operation.EXPLAIN})


async def validate(
    envelope: Envelope[Any],
    delivery: Delivery,
    *,
    catalogs: Catalogs,
    connections: Connections,
    database: Database,
    log: Log,
) -> Envelope[Any] | Failure:
    """Return the approval of a draft, its conclusion as prepared, a question to confirm, or why it cannot run."""
    connection = await connections.get(envelope.connection)
    catalog = await catalogs.read(envelope.connection)
    if connection is None or catalog is None:
        return Failure.of(FailureCode.CONNECTION, "no catalog of this connection is there yet")
    if not connection.policy.serves(envelope.tenant):
        return Failure.of(FailureCode.PERMISSION, "this tenant may not use the connection")
    context = _Context(envelope, delivery, connection, catalog, connection.policy.of(envelope.tenant), database)
    if _only_verified(context) and not (isinstance(envelope.body, Drafted) and _is_verified(envelope.body)):
        return Failure.of(FailureCode.NOT_VERIFIED, "the statement is that of no verified question and no definition")
    if isinstance(envelope.body, Confirmed):
        return await _confirmed(context, await _asking(envelope, log))
    body = cast("Drafted", envelope.body)
    if context.policy.access is not Access.READ_ONLY and is_change(body.draft.sql, connection.dialect):
        return await _ask_to_change(context, body)
    return await _read(context, body)


def _only_verified(context: _Context) -> bool:
    return context.envelope.options.only_verified or context.policy.only_verified


def _is_verified(body: Drafted) -> bool:
    """Whether a draft is a verified statement or made of definitions, as it was made and without a second one."""
    is_known = body.draft.origin is Origin.VERIFIED or bool(body.analysis.definitions)
    return is_known and not body.rules and body.alternative_sql is None


def rows_allowed(options: Options, policy: ConnectionPolicy) -> int:
    """Return how many rows of a result may be fetched."""
    return min(options.rows_max, policy.rows_max)


@dataclass(frozen=True, slots=True)
class _Context:
    """One draft with all that it is judged by; `policy` is the tenant's."""

    envelope: Envelope[Any]
    delivery: Delivery
    connection: Connection
    catalog: Catalog
    policy: ConnectionPolicy
    database: Database

    @property
    def reader(self) -> Reader:
        return Reader(self.envelope.tenant, self.envelope.user)

    @property
    def may_probe(self) -> bool:
        """Whether the query's one probe is still there: a redelivery may come after a probe that nobody recorded."""
        return may_probe(self.envelope) and self.delivery.deliveries == 1

    @property
    def is_checked_by_running(self) -> bool:
        """Whether a run follows that says all that the engine would say now, and its failures are treated alike."""
        body, options = self.envelope.body, self.envelope.options
        if not ENGINES[self.connection.dialect].explains_by_preparing or options.dry_run:
            return False
        runs = isinstance(body, Confirmed) or body.operation not in _PREPARED
        return runs and options.on_execution_failure is not OnExecutionFailure.CLARIFY_FIRST

    def static(self, sql: str, row_limit: int) -> Checked | Failure:
        return check_in_doubt(
            sql,
            dialect=self.connection.dialect,
            catalog=self.catalog,
            policy=self.connection.policy,
            row_limit=row_limit,
            reader=self.reader,
            checks_size=checks_size(self.envelope),
        )

    def request(self, sql: str) -> ExplainRequest:
        return ExplainRequest(
            query_id=self.envelope.query_id,
            tenant=self.envelope.tenant,
            user=self.envelope.user,
            sql=sql,
            dialect=self.connection.dialect,
            # The executor bounds the statement itself; until then one that is being replaced is waited for.
            deadline_at=self.envelope.deadline_at,
            checks_size=checks_size(self.envelope),
        )

    async def explained(self, sql: str) -> ExplainReply:
        return await self.database.explain(self.envelope.tenant, self.envelope.connection, self.request(sql))


async def _read(context: _Context, body: Drafted) -> Envelope[Any] | Failure:
    """Return what follows from the draft of a query."""
    envelope, row_limit = context.envelope, rows_allowed(context.envelope.options, context.policy)
    static = context.static(body.draft.sql, row_limit)
    if isinstance(static, Failure):
        return static
    opinion = await _ask_engine(context, static, probe=body.probe and context.may_probe)
    if isinstance(opinion, Failure):
        return opinion
    notes = tuple(dict.fromkeys((*body.notes, *static.warnings, *opinion.notes)))
    over = over_hard(opinion, context.policy)
    if over is not None:
        return over
    plan = _plan_of(context, body, row_limit)
    if isinstance(plan, Checked):
        static = plan
    elif body.operation in _PREPARED or envelope.options.dry_run:
        unplanned = (NO_PLAN_NOTE,) if body.operation is Operation.EXPLAIN else ()
        return _prepared(context, body, static.sql, (*notes, *unplanned))
    if is_over_soft(opinion, context.policy):
        return _ask_about_cost(context, body, static.sql, opinion, notes)
    return approved(
        envelope,
        Approved(
            sql=static.sql,
            dialect=context.connection.dialect,
            origin=body.draft.origin,
            tables=static.tables,
            alternative=_alternative(context, body.alternative_sql, row_limit),
            votes=tuple(
                checked
                for sql in body.analysis.votes_sql
                if (checked := _alternative(context, sql, row_limit)) is not None
            ),
            row_limit=row_limit,
            limit_asked=static.limit_asked,
            checked=opinion.checked,
            probed_rows=opinion.probed_rows,
            analysis=body.analysis,
            notes=notes,
        ),
    )


def _alternative(context: _Context, sql: str | None, row_limit: int) -> Alternative | None:
    """Return another draft as it may run, checked like the first; None where it may not, for it was only a check."""
    checked = context.static(sql, row_limit) if sql is not None else None
    if sql is None or not isinstance(checked, Checked) or checked.doubt is not None or not checked.is_query:
        return None
    return Alternative(draft=sql, sql=checked.sql)


def _plan_of(context: _Context, body: Drafted, row_limit: int) -> Checked | None:
    """Return the statement that asks the engine for its plan, where that is what was asked for and it can be read so."""
    if body.operation is not Operation.EXPLAIN or context.envelope.options.dry_run:
        return None
    asking = ENGINES[context.connection.dialect].plan_form
    if asking is None:
        return None
    checked = context.static(f"{asking} {body.draft.sql}", row_limit)
    return checked if isinstance(checked, Checked) and checked.doubt is None else None


async def _ask_engine(context: _Context, static: Checked, *, probe: bool) -> Opinion | Failure:
    """Return what the engine says of a query, or what it has against it."""
    checked: tuple[Check, ...] = ("static",)
    notes: tuple[str, ...] = ()
    reply = ExplainReply()
    # A limit of the connection holds whatever the request asks for.
    asks = context.envelope.options.enable_syntax_validation or context.policy.limits_plans
    if asks and static.is_query and (static.doubt is not None or not context.is_checked_by_running):
        reply = await context.explained(static.sql)
        if reply.failure is not None:
            return _better(reply.failure, static.doubt)
        checked = (*checked, "explain")
        if static.doubt is not None:
            notes = (OVERRULED_NOTE,)
    elif static.doubt is not None:
        return static.doubt
    elif not asks or not static.is_query:
        notes = (NOT_ASKED_NOTE,)
    rows = reply.rows_read_estimate
    opinion = Opinion(checked, notes, rows_of(static, context.catalog) if rows is None else rows, reply.cost_estimate)
    if not probe or over_hard(opinion, context.policy) is not None or is_over_soft(opinion, context.policy):
        return opinion
    probed = await context.database.probe(
        context.envelope.tenant,
        context.envelope.connection,
        ProbeRequest.model_validate(context.request(static.sql).model_dump()),
    )
    if probed.failure is not None:
        spent = probed.failure.facts.model_copy(update={"probed": True})
        return probed.failure.model_copy(update={"facts": spent})
    read = probed.result.row_count if probed.result is not None else None
    return Opinion((*checked, "probe"), notes, opinion.rows, opinion.cost, probed_rows=read)


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


def _prepared(context: _Context, body: Drafted, sql: str, notes: tuple[str, ...]) -> Envelope[Concluded]:
    return concluded(
        context.envelope,
        Concluded(
            outcome=Outcome.PREPARED,
            stage=StageName.VALIDATOR,
            sql=sql,
            dialect=context.connection.dialect,
            analysis=body.analysis,
            notes=notes,
        ),
    )


def _ask_about_cost(
    context: _Context, body: Drafted, sql: str, opinion: Opinion, notes: tuple[str, ...]
) -> Envelope[Concluded]:
    """Return the question whether an expensive query may run: an analyst can say yes, others learn how to ask."""
    is_analyst = context.envelope.audience == "analyst"
    known = "estimate" if opinion.rows is not None else "unknown"
    return concluded(
        context.envelope,
        Concluded(
            outcome=Outcome.CONFIRMATION if is_analyst else Outcome.CLARIFICATION,
            code=FailureCode.COST,
            detail=f"rows expected: {opinion.rows}, cost expected: {opinion.cost}",
            stage=StageName.VALIDATOR,
            sql=sql,
            dialect=context.connection.dialect,
            clarification=None if is_analyst else Clarification(trigger=Trigger.COST),
            confirmation=Confirmation(
                reason="cost",
                kind="SELECT",
                sql_sha256=sha256_of(sql),
                rows_affected=opinion.rows,
                rows_known=known,
            )
            if is_analyst
            else None,
            analysis=body.analysis,
            notes=notes,
        ),
    )


async def _ask_to_change(context: _Context, body: Drafted) -> Envelope[Concluded] | Failure:
    """Return the question whether a change may be made, with what it would change. Nothing is changed here."""
    change = _change(context, body.draft.sql)
    if isinstance(change, Failure):
        return change
    if body.operation in _PREPARED or context.envelope.options.dry_run:
        return _prepared(context, body, change.sql, body.notes)
    counted = await _rows_affected(context, change, is_counted=body.draft.origin is not Origin.USER)
    if isinstance(counted, Failure):
        return counted
    rows, known = counted
    most = context.policy.rows_affected_max
    if known == "exact" and rows is not None and rows > most and not change.is_structure:
        detail = f"it would change {rows} rows; this connection takes at most {most} at once"
        return Failure.of(FailureCode.COST, detail, Facts(rule=PLAN_RULE))
    # An estimate may be too low by a little without being another change; what is not known is held to the limit.
    proposed = rows if known == "exact" else 2 * rows + 10 if rows is not None else most
    return concluded(
        context.envelope,
        Concluded(
            outcome=Outcome.CONFIRMATION,
            stage=StageName.VALIDATOR,
            sql=change.sql,
            dialect=context.connection.dialect,
            confirmation=Confirmation(
                reason="write",
                kind=change.kind.value.upper(),
                sql_sha256=change.sql_sha256,
                table=change.table,
                columns=change.columns,
                rows_affected=rows,
                rows_known=known,
                rows_affected_max=min(proposed if proposed is not None else most, most),
                needs_second_person=context.policy.second_person,
            ),
            analysis=body.analysis,
            notes=body.notes,
        ),
    )


def _change(context: _Context, sql: str) -> CheckedWrite | Failure:
    return check_write(
        sql,
        dialect=context.connection.dialect,
        catalog=context.catalog,
        policy=context.connection.policy,
        reader=context.reader,
    )


async def _rows_affected(
    context: _Context, change: CheckedWrite, *, is_counted: bool
) -> tuple[int | None, Literal["exact", "estimate", "unknown"]] | Failure:
    """Return how many rows a change would touch, and how sure that is.

    Exact from the text or by a count under the same condition: of a change that was asked for in words (`is_counted`),
    because its asker has not seen the statement, else where execution is allowed, by the query's one probe.
    """
    if change.rows is not None:
        return change.rows, "exact"
    if change.counted is None:
        return None, "unknown"
    if is_counted or context.may_probe:
        counting = context.static(count_of(change.counted, context.connection.dialect), 1)
        if isinstance(counting, Failure):
            return counting
        request = ProbeRequest.model_validate(context.request(counting.sql).model_dump())
        result = await context.database.probe(context.envelope.tenant, context.envelope.connection, request)
        if result.failure is not None:
            return result.failure
        if result.result is not None and result.result.rows and isinstance(result.result.rows[0][0], int):
            return int(result.result.rows[0][0]), "exact"
        return None, "unknown"
    if not context.envelope.options.enable_syntax_validation and not context.policy.limits_plans:
        return None, "unknown"
    reading = context.static(change.counted, 1_000_000_000)
    if isinstance(reading, Failure):
        return reading
    reply = await context.explained(reading.sql)
    if reply.failure is not None:
        return reply.failure
    return (None, "unknown") if reply.rows_estimate is None else (reply.rows_estimate, "estimate")


async def _asking(envelope: Envelope[Confirmed], log: Log) -> tuple[Drafted, Concluded] | None:
    """Return the draft and the conclusion of the query that asked, if they are this user's and ask for just this."""
    drafted: Drafted | None = None
    asked: Concluded | None = None
    for entry in await log.query_in_full(envelope.tenant, envelope.body.asking_query_id, envelope.thread_id):
        if entry.address.event not in (EventName.DRAFTED, EventName.CONCLUDED):
            continue
        try:
            result = entry.envelope()
        except Undecodable:
            return None
        if (result.tenant, result.user, result.connection) != (envelope.tenant, envelope.user, envelope.connection):
            return None
        if entry.address.event is EventName.DRAFTED:
            drafted = cast("Drafted", result.body)
        else:
            asked = cast("Concluded", result.body)
    if drafted is None or asked is None or asked.outcome is not Outcome.CONFIRMATION or asked.confirmation is None:
        return None
    return (drafted, asked) if asked.confirmation.sql_sha256 == envelope.body.sql_sha256 else None


async def _confirmed(context: _Context, asking: tuple[Drafted, Concluded] | None) -> Envelope[Any] | Failure:
    """Return the approval of what was confirmed, read and judged again from the asking query's draft."""
    if asking is None:
        return _not_confirmed(context, "nothing on the log asked for this")
    drafted, asked = asking
    confirmation = cast("Confirmation", asked.confirmation)
    confirmed = cast("Confirmed", context.envelope.body)
    tried = (Attempt(origin=drafted.draft.origin, sql=drafted.draft.sql),)
    envelope = context.envelope.with_body(confirmed, attempts=tried)
    context = _Context(
        envelope, context.delivery, context.connection, context.catalog, context.policy, context.database
    )
    if confirmation.reason == "cost":
        return await _read_anyway(context, drafted, confirmed)
    change = _change(context, drafted.draft.sql)
    if isinstance(change, Failure):
        return change
    if context.policy.second_person and confirmed.confirmed_by in ("", envelope.user):
        return _not_confirmed(context, "this connection takes changes that a second person has confirmed")
    if change.sql_sha256 != confirmed.sql_sha256:
        return _not_confirmed(context, "the statement would no longer be what was confirmed; ask again")
    if confirmed.rows_affected_max > context.policy.rows_affected_max:
        return _not_confirmed(context, f"this connection takes at most {context.policy.rows_affected_max} rows at once")
    return approved(
        envelope,
        Approved(
            sql=change.sql,
            dialect=context.connection.dialect,
            origin=drafted.draft.origin,
            tables=(change.table,),
            row_limit=1,
            checked=("static",),
            rows_affected_max=confirmed.rows_affected_max,
            analysis=drafted.analysis,
            notes=drafted.notes,
        ),
    )


async def _read_anyway(context: _Context, drafted: Drafted, confirmed: Confirmed) -> Envelope[Any] | Failure:
    row_limit = rows_allowed(context.envelope.options, context.policy)
    static = context.static(drafted.draft.sql, row_limit)
    if isinstance(static, Failure):
        return static
    if sha256_of(static.sql) != confirmed.sql_sha256:
        return _not_confirmed(context, "the statement would no longer be what was confirmed; ask again")
    opinion = await _ask_engine(context, static, probe=False)
    if isinstance(opinion, Failure):
        return opinion
    return over_hard(opinion, context.policy) or approved(
        context.envelope,
        Approved(
            sql=static.sql,
            dialect=context.connection.dialect,
            origin=drafted.draft.origin,
            tables=static.tables,
            row_limit=row_limit,
            limit_asked=static.limit_asked,
            checked=opinion.checked,
            analysis=drafted.analysis,
            notes=(*drafted.notes, *static.warnings, *opinion.notes),
        ),
    )


def _not_confirmed(context: _Context, detail: str) -> Envelope[Concluded]:
    return concluded(
        context.envelope,
        Concluded(outcome=Outcome.REFUSED, code=FailureCode.PERMISSION, detail=detail, stage=StageName.VALIDATOR),
    )
