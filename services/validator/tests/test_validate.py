"""Claims on the validator: what becomes an approval, who is asked before, and what concludes instead."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from querybus.core.asking_back import Trigger
from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.envelope import Delivery, Envelope, PathStep, drafted, failed
from querybus.core.failure import Facts, Failure, FailureCode
from querybus.core.messages import (
    Analysis,
    Approved,
    Asked,
    Concluded,
    Confirmed,
    Draft,
    Drafted,
    Operation,
    Origin,
    Outcome,
    Result,
    ResultColumn,
)
from querybus.core.options import ExecutionMode, OnExecutionFailure, Options
from querybus.core.policy import Access, Connection, ConnectionPolicy
from querybus.core.requests.rpc import ExplainReply, ExplainRequest, ProbeReply, ProbeRequest
from querybus.core.subjects import EventAddress, EventName, StageName
from querybus.ops.metrics import Metrics
from querybus.sql.check import NOT_ASKED_NOTE
from querybus.sql.write import sha256_of
from querybus_validator.explain_cache import KEPT_MS_MAX, ExplainCache
from querybus_validator.validate import OVERRULED_NOTE, validate

NOW = 1_000_000
SHOP = Catalog(
    connection="shop",
    dialect=Dialect.DUCKDB,
    tables=(Table(name="customer", columns=(Column(name="id", type="INT"), Column(name="name", type="TEXT"))),),
)


@dataclass
class Stores:
    """The catalog and the connection of one shop, in memory."""

    catalog: Catalog | None = SHOP
    policy: ConnectionPolicy = field(default_factory=ConnectionPolicy)
    dialect: Dialect = Dialect.DUCKDB

    async def read(self, connection: str) -> Catalog | None:
        return self.catalog

    async def get(self, name: str) -> Connection | None:
        return Connection(name=name, dialect=self.dialect, policy=self.policy)


def in_sqlite() -> Stores:
    return Stores(dialect=Dialect.SQLITE)


@dataclass(frozen=True)
class Stored:
    """One event of a log in memory."""

    event: Envelope[Any]

    @property
    def address(self) -> EventAddress:
        return EventAddress("acme", "t", self.event.query_id, self.event.event)

    def envelope(self) -> Envelope[Any]:
        return self.event


@dataclass
class Logs:
    """The logs of other queries, in memory."""

    entries: list[Stored] = field(default_factory=list)

    async def query_in_full(self, tenant: str, query: str, thread: str) -> list[Stored]:
        return [entry for entry in self.entries if (entry.event.tenant, entry.event.query_id) == (tenant, query)]


@dataclass
class Engine:
    """An executor that remembers what it was asked; `rows` and `cost` are what it expects, `count` what it counts."""

    against: Failure | None = None
    rows: int | None = None
    rows_read: int | None = None
    cost: float | None = None
    count: int = 0
    explained: list[ExplainRequest] = field(default_factory=list)
    probed: list[ProbeRequest] = field(default_factory=list)

    async def explain(self, tenant: str, connection: str, request: ExplainRequest) -> ExplainReply:
        self.explained.append(request)
        return ExplainReply(
            failure=self.against,
            rows_estimate=self.rows,
            rows_read_estimate=self.rows_read,
            cost_estimate=self.cost,
        )

    async def probe(self, tenant: str, connection: str, request: ProbeRequest) -> ProbeReply:
        self.probed.append(request)
        result = Result(columns=(ResultColumn(name="n"),), rows=((self.count,),), row_count=1)
        return ProbeReply(failure=self.against, result=None if self.against else result)


def draft_of(
    sql: str,
    *,
    operation: Operation = Operation.ASK,
    probe: bool = False,
    origin: Origin = Origin.MODEL,
    **options: Any,
) -> Envelope[Any]:
    asked = Envelope[Asked](
        event=EventName.ASKED,
        query_id="q",
        thread_id="t",
        tenant="acme",
        user="ann",
        audience="analyst",
        connection="shop",
        question="Who buys?",
        language="en",
        options=Options(**options),
        asked_at=NOW - 1_000,
        deadline_at=NOW + 60_000,
        body=Asked(),
    )
    draft = Draft(sql=sql, dialect=Dialect.DUCKDB, origin=origin)
    return drafted(asked, Drafted(draft=draft, operation=operation, probe=probe, notes=("noted",)))


async def run(
    envelope: Envelope[Any],
    stores: Stores | None = None,
    engine: Engine | None = None,
    *,
    logs: Logs | None = None,
    deliveries: int = 1,
) -> Any:
    stores = stores or Stores()
    return await validate(
        envelope,
        Delivery(sequence=7, deliveries=deliveries, now_ms=NOW),
        catalogs=stores,
        connections=stores,
        database=engine if engine is not None else Engine(),
        log=logs or Logs(),
    )


@pytest.mark.requirement("000.7")
async def test_a_good_draft_becomes_an_approval_of_our_own_text() -> None:
    engine = Engine()
    result = await run(draft_of("select name from customer -- all", rows_max=20), engine=engine)
    assert isinstance(result.body, Approved)
    assert result.body.sql == "SELECT name FROM customer LIMIT 21"
    assert (result.body.row_limit, result.body.tables) == (20, ("customer",))
    assert result.body.checked == ("static", "explain")
    assert result.body.notes == ("noted",)
    assert result.attempts[-1].validated
    assert [attempt.sql for attempt in engine.explained] == [result.body.sql]


@pytest.mark.parametrize(
    ("options", "policy"),
    [({"only_verified": True}, ConnectionPolicy()), ({}, ConnectionPolicy(only_verified=True))],
    ids=["key", "connection"],
)
async def test_where_only_verified_questions_are_answered_no_other_draft_is_approved(
    options: dict[str, Any], policy: ConnectionPolicy
) -> None:
    stores, sql = Stores(policy=policy), "SELECT name FROM customer"
    verified = await run(draft_of(sql, origin=Origin.VERIFIED, **options), stores)
    assert isinstance(verified.body, Approved)
    defined = draft_of(sql, origin=Origin.BUILTIN, **options)
    defined = defined.with_body(defined.body.model_copy(update={"analysis": Analysis(definitions=("turnover",))}))
    assert isinstance((await run(defined, stores)).body, Approved)
    repaired = draft_of(sql, origin=Origin.VERIFIED, **options)
    repaired = repaired.with_body(repaired.body.model_copy(update={"rules": ("fuzzy_name",)}))
    others = [draft_of(sql, origin=origin, **options) for origin in Origin if origin is not Origin.VERIFIED]
    for refused in (*others, repaired, draft_of(sql, operation=Operation.VALIDATE, origin=Origin.USER, **options)):
        result = await run(refused, stores)
        assert isinstance(result, Failure)
        assert result.code is FailureCode.NOT_VERIFIED


async def test_rows_are_capped_by_the_policy_as_well() -> None:
    result = await run(draft_of("SELECT name FROM customer"), Stores(policy=ConnectionPolicy(rows_max=3)))
    assert (result.body.row_limit, result.body.sql) == (3, "SELECT name FROM customer LIMIT 4")


@pytest.mark.requirement("000.13", "000.15")
async def test_a_refused_draft_never_reaches_the_engine() -> None:
    engine = Engine()
    for sql in ("DROP TABLE customer", "SELECT load_extension('x')", "SELECT x.id FROM customer", "SELECT 1; SELECT 2"):
        assert isinstance(await run(draft_of(sql, probe=True), engine=engine), Failure)
    assert (engine.explained, engine.probed) == ([], [])


@pytest.mark.requirement("000.10")
async def test_a_refused_kind_is_named_for_the_words_of_the_refusal() -> None:
    result = await run(draft_of("DELETE FROM customer"))
    assert (result.code, result.facts.name, result.facts.rule) == (FailureCode.SAFETY, "DELETE", "statement_kind")


@pytest.mark.requirement("000.8")
async def test_with_the_check_by_the_engine_off_nothing_is_asked_and_the_answer_says_so() -> None:
    engine = Engine()
    result = await run(draft_of("SELECT name FROM customer", enable_syntax_validation=False, probe=True), engine=engine)
    assert result.body.checked == ("static",)
    assert result.body.notes == ("noted", NOT_ASKED_NOTE)
    assert (engine.explained, engine.probed) == ([], [])


@pytest.mark.requirement("000.7")
async def test_what_the_engine_has_against_a_statement_is_the_failure() -> None:
    said = Failure.of(FailureCode.TYPE_MISMATCH, "no such operator")
    assert await run(draft_of("SELECT name FROM customer"), engine=Engine(against=said)) == said


async def test_an_engine_that_cannot_be_reached_is_a_failure_of_the_connection() -> None:
    said = Failure.of(FailureCode.CONNECTION, "no executor is there")
    result = await run(draft_of("SELECT nam FROM customer"), engine=Engine(against=said))
    assert result.code is FailureCode.CONNECTION


async def test_the_engine_wins_about_a_column_that_we_do_not_know() -> None:
    result = await run(draft_of("SELECT hidden FROM customer"))
    assert result.body.sql.startswith("SELECT hidden FROM customer")
    assert OVERRULED_NOTE in result.body.notes


async def test_a_column_that_nobody_knows_comes_with_our_candidates_and_the_engines_code() -> None:
    said = Failure.of(FailureCode.COLUMN_NOT_FOUND, "no such column: nam", Facts(native_code="1"))
    result = await run(draft_of("SELECT nam FROM customer"), engine=Engine(against=said))
    assert (result.facts.name, result.facts.candidates, result.facts.native_code) == ("nam", ("name",), "1")


async def test_without_the_engine_our_doubt_decides() -> None:
    result = await run(draft_of("SELECT nam FROM customer", enable_syntax_validation=False))
    assert result.code is FailureCode.COLUMN_NOT_FOUND


@pytest.mark.requirement("003.1")
async def test_a_draft_is_probed_only_when_it_asks_and_the_mode_allows() -> None:
    engine = Engine()
    mode = ExecutionMode.ALLOW_EXECUTION
    await run(draft_of("SELECT name FROM customer", probe=True), engine=engine)
    await run(draft_of("SELECT name FROM customer", execution_mode=mode), engine=engine)
    assert engine.probed == []
    result = await run(draft_of("SELECT name FROM customer", probe=True, execution_mode=mode), engine=engine)
    assert result.body.checked == ("static", "explain", "probe")
    assert len(engine.probed) == 1


async def test_an_executor_may_be_waited_for_until_the_deadline() -> None:
    engine = Engine()
    envelope = draft_of("SELECT name FROM customer")
    await run(envelope, engine=engine)
    assert engine.explained[0].deadline_at == envelope.deadline_at


@pytest.mark.parametrize("operation", [Operation.GENERATE, Operation.VALIDATE])
async def test_what_shall_not_run_is_concluded_as_prepared(operation: Operation) -> None:
    result = await run(draft_of("SELECT name FROM customer", operation=operation))
    assert isinstance(result.body, Concluded)
    assert (result.body.outcome, result.body.sql) == (Outcome.PREPARED, "SELECT name FROM customer LIMIT 10001")


async def test_a_second_draft_is_checked_like_the_first_and_left_out_where_it_may_not_run() -> None:
    first = draft_of("SELECT name FROM customer")
    for second, sql in (
        ("SELECT name FROM customer ORDER BY name", "SELECT name FROM customer ORDER BY name LIMIT 10001"),
        ("DELETE FROM customer", None),
        ("SELECT nosuch FROM customer", None),
    ):
        result = await run(first.with_body(first.body.model_copy(update={"alternative_sql": second})))
        assert isinstance(result.body, Approved)
        found = result.body.alternative
        assert (None if found is None else (found.draft, found.sql)) == (None if sql is None else (second, sql))


async def test_to_explain_is_to_run_what_asks_the_engine_for_its_plan() -> None:
    result = await run(draft_of("SELECT name FROM customer", operation=Operation.EXPLAIN), in_sqlite())
    assert isinstance(result.body, Approved)
    assert result.body.sql == "EXPLAIN QUERY PLAN SELECT name FROM customer"
    dry = await run(draft_of("SELECT name FROM customer", operation=Operation.EXPLAIN, dry_run=True))
    assert dry.body.outcome is Outcome.PREPARED
    harmful = await run(draft_of("DELETE FROM customer", operation=Operation.EXPLAIN))
    assert harmful.code is FailureCode.SAFETY


@pytest.mark.requirement("000.9")
async def test_where_running_begins_with_preparing_the_engine_is_not_asked_before() -> None:
    engine = Engine()
    result = await run(draft_of("SELECT name FROM customer"), in_sqlite(), engine=engine)
    assert (result.body.checked, result.body.notes) == (("static",), ("noted",))
    assert engine.explained == []


@pytest.mark.parametrize(
    ("sql", "more"),
    [
        ("SELECT name FROM customer", {"dry_run": True}),
        ("SELECT name FROM customer", {"operation": Operation.VALIDATE}),
        ("SELECT name FROM customer", {"on_execution_failure": OnExecutionFailure.CLARIFY_FIRST}),
        ("SELECT name, unknown_here FROM customer", {}),
    ],
    ids=["dry run", "only validated", "failures of the run are asked about", "a column that the catalog lacks"],
)
@pytest.mark.requirement("000.9")
async def test_the_engine_is_asked_before_where_no_run_follows_or_it_decides(sql: str, more: dict[str, Any]) -> None:
    engine = Engine()
    await run(draft_of(sql, **more), in_sqlite(), engine=engine)
    assert len(engine.explained) == 1


async def test_a_dry_run_is_concluded_as_prepared() -> None:
    result = await run(draft_of("SELECT name FROM customer", dry_run=True))
    assert result.body.outcome is Outcome.PREPARED


async def test_a_statement_that_only_describes_has_no_dry_run() -> None:
    engine = Engine()
    result = await run(draft_of("EXPLAIN QUERY PLAN SELECT name FROM customer"), in_sqlite(), engine=engine)
    assert result.body.checked == ("static",)
    assert engine.explained == []


async def test_without_a_catalog_the_connection_has_failed() -> None:
    result = await run(draft_of("SELECT name FROM customer"), Stores(catalog=None))
    assert result.code is FailureCode.CONNECTION


# --- probes ------------------------------------------------------------------------------------------------------

ALLOWED: dict[str, Any] = {"execution_mode": ExecutionMode.ALLOW_EXECUTION}


@pytest.mark.requirement("003.2")
async def test_a_query_is_probed_once_whatever_is_drafted_or_delivered_again() -> None:
    engine = Engine()
    first = await run(draft_of("SELECT name FROM customer", probe=True, **ALLOWED), engine=engine)
    assert first.attempts[-1].probed
    assert first.attempts[-1].probed_rows == first.body.probed_rows
    again = draft_of("SELECT id FROM customer", probe=True, **ALLOWED)
    second = await run(again.model_copy(update={"attempts": (*first.attempts, *again.attempts)}), engine=engine)
    assert second.body.checked == ("static", "explain")
    redelivered = await run(draft_of("SELECT name FROM customer", probe=True, **ALLOWED), engine=engine, deliveries=2)
    assert redelivered.body.checked == ("static", "explain")
    assert len(engine.probed) == 1


async def test_a_probe_that_failed_is_spent_as_well() -> None:
    @dataclass
    class Refusing(Engine):
        async def probe(self, tenant: str, connection: str, request: ProbeRequest) -> ProbeReply:
            self.probed.append(request)
            return ProbeReply(failure=Failure.of(FailureCode.DIVISION_BY_ZERO))

    engine = Refusing()
    draft = draft_of("SELECT name FROM customer", probe=True, **ALLOWED)
    failure = await run(draft, engine=engine)
    after = failed(draft, failure, StageName.VALIDATOR)
    assert after.attempts[-1].probed
    mended = drafted(after, draft.body)
    assert (await run(mended, engine=engine)).body.checked == ("static", "explain")
    assert len(engine.probed) == 1


# --- rows by tenant ----------------------------------------------------------------------------------------------


async def test_a_draft_is_narrowed_to_its_reader_before_anybody_sees_it() -> None:
    engine = Engine()
    stores = Stores(policy=ConnectionPolicy(row_filters={"customer": "name = :user AND id > 0"}))
    result = await run(draft_of("SELECT id FROM customer"), stores, engine)
    assert "name = 'ann'" in result.body.sql
    assert (engine.explained[0].tenant, engine.explained[0].user) == ("acme", "ann")


async def test_a_tenant_that_the_connection_does_not_serve_is_refused_before_the_engine_is_asked() -> None:
    engine = Engine()
    stores = Stores(policy=ConnectionPolicy(tenants_allowed=("globex",)))
    result = await run(draft_of("SELECT id FROM customer"), stores, engine)
    assert (result.code, engine.explained) == (FailureCode.PERMISSION, [])


# --- cost --------------------------------------------------------------------------------------------------------

COSTLY = ConnectionPolicy(plan_rows_soft_max=100, plan_rows_hard_max=1_000, plan_cost_hard_max=50.0)


async def test_within_the_limits_a_query_is_approved() -> None:
    assert isinstance(
        (await run(draft_of("SELECT id FROM customer"), Stores(policy=COSTLY), Engine(rows_read=100))).body, Approved
    )


async def test_over_the_soft_limit_an_analyst_is_asked_and_may_run_it_anyway() -> None:
    stores, engine = Stores(policy=COSTLY), Engine(rows_read=101)
    draft = draft_of("SELECT id FROM customer")
    asked = await run(draft, stores, engine)
    confirmation = asked.body.confirmation
    assert (asked.body.outcome, confirmation.reason, confirmation.rows_affected) == (Outcome.CONFIRMATION, "cost", 101)
    logs = Logs([Stored(draft), Stored(asked)])
    result = await run(yes(asked), stores, engine, logs=logs)
    assert isinstance(result.body, Approved)
    assert (result.body.sql, result.body.rows_affected_max) == (asked.body.sql, None)


async def test_over_the_soft_limit_a_business_reader_is_reported_how_to_ask() -> None:
    draft = draft_of("SELECT id FROM customer").model_copy(update={"audience": "business"})
    asked = await run(draft, Stores(policy=COSTLY), Engine(rows_read=101))
    assert (asked.body.outcome, asked.body.clarification.trigger) == (Outcome.CLARIFICATION, Trigger.COST)
    assert asked.body.confirmation is None


@pytest.mark.parametrize("engine", [Engine(rows_read=1_001), Engine(cost=50.5)])
async def test_over_the_hard_limit_nobody_runs_it_and_nothing_is_probed(engine: Engine) -> None:
    result = await run(draft_of("SELECT id FROM customer", probe=True, **ALLOWED), Stores(policy=COSTLY), engine)
    assert (result.code, result.facts.rule) == (FailureCode.COST, "plan")
    assert engine.probed == []
    draft = draft_of("SELECT id FROM customer")
    asked = await run(draft, Stores(policy=COSTLY), Engine(rows_read=101))
    refused = await run(yes(asked), Stores(policy=COSTLY), engine, logs=Logs([Stored(draft), Stored(asked)]))
    assert refused.code is FailureCode.COST


@pytest.mark.parametrize("engine", [Engine(rows_read=1_001), Engine(cost=50.5)])
async def test_no_option_of_a_request_switches_a_limit_of_the_connection_off(engine: Engine) -> None:
    draft = draft_of("SELECT id FROM customer", enable_syntax_validation=False)
    result = await run(draft, Stores(policy=COSTLY), engine)
    assert (result.code, len(engine.explained)) == (FailureCode.COST, 1)


async def test_where_an_engine_expects_nothing_the_catalog_s_figure_counts() -> None:
    big = SHOP.model_copy(update={"tables": (SHOP.tables[0].model_copy(update={"row_estimate": 5_000}),)})
    result = await run(draft_of("SELECT id FROM customer"), Stores(catalog=big, policy=COSTLY))
    assert result.code is FailureCode.COST
    off = draft_of("SELECT id FROM customer", enable_syntax_validation=False)
    assert (await run(off, Stores(catalog=big, policy=COSTLY))).code is FailureCode.COST


# --- changes -----------------------------------------------------------------------------------------------------

WRITES = Stores(policy=ConnectionPolicy(access=Access.READ_WRITE, rows_affected_max=50))
DELETE = "delete from customer where id < 9"


def own(sql: str, **options: Any) -> Envelope[Any]:
    """Return a draft that its asker has written."""
    return draft_of(sql, origin=Origin.USER, **options)


def yes(asked: Envelope[Any], **changes: Any) -> Envelope[Any]:
    """Return the first event of the query that a person's yes begins."""
    confirmation = asked.body.confirmation
    said: dict[str, Any] = {
        "asking_query_id": asked.query_id,
        "sql_sha256": confirmation.sql_sha256,
        "rows_affected_max": confirmation.rows_affected_max,
    }
    step = PathStep(stage="gateway", event=EventName.CONFIRMED, started_at=NOW, ended_at=NOW)
    return asked.with_body(Confirmed(**(said | changes)), query_id="q2", attempts=(), path=(step,))


@pytest.mark.requirement("002.65")
async def test_a_change_is_never_approved_as_a_draft_but_asks() -> None:
    engine = Engine(rows=7)
    asked = await run(own(DELETE), WRITES, engine)
    confirmation = asked.body.confirmation
    assert (asked.body.outcome, asked.body.sql) == (Outcome.CONFIRMATION, "DELETE FROM customer WHERE id < 9")
    assert (confirmation.reason, confirmation.kind, confirmation.table) == ("write", "DELETE", "customer")
    assert (confirmation.rows_affected, confirmation.rows_known, confirmation.rows_affected_max) == (7, "estimate", 24)
    assert confirmation.sql_sha256 == sha256_of(asked.body.sql)
    assert [attempt.sql.split(" FROM")[0] for attempt in engine.explained] == ["SELECT 1"]


async def test_where_execution_is_allowed_the_rows_are_counted_by_the_query_s_one_probe() -> None:
    engine = Engine(count=3)
    asked = await run(own(DELETE, **ALLOWED), WRITES, engine)
    confirmation = asked.body.confirmation
    assert (confirmation.rows_affected, confirmation.rows_known, confirmation.rows_affected_max) == (3, "exact", 3)
    assert len(engine.probed) == 1
    assert engine.probed[0].sql.startswith("SELECT COUNT(*) FROM (SELECT 1 FROM customer WHERE id < 9)")
    again = await run(own(DELETE, **ALLOWED), WRITES, engine, deliveries=2)
    assert again.body.confirmation.rows_known == "unknown"
    assert len(engine.probed) == 1


async def test_a_change_that_was_asked_for_in_words_is_counted_whatever_the_options_say() -> None:
    static: list[dict[str, Any]] = [{}, {"enable_syntax_validation": False}]
    for options in static:
        engine = Engine(count=3)
        asked = await run(draft_of(DELETE, **options), WRITES, engine)
        assert (asked.body.confirmation.rows_affected, asked.body.confirmation.rows_known) == (3, "exact")
        assert len(engine.probed) == 1


async def test_without_the_engine_the_rows_are_not_known_and_nothing_is_asked() -> None:
    engine = Engine(rows=7)
    asked = await run(own(DELETE, enable_syntax_validation=False), WRITES, engine)
    assert (asked.body.confirmation.rows_affected, asked.body.confirmation.rows_known) == (None, "unknown")
    assert asked.body.confirmation.rows_affected_max == 50
    assert (engine.explained, engine.probed) == ([], [])


async def test_a_change_of_more_rows_than_the_connection_takes_is_not_even_asked() -> None:
    result = await run(own(DELETE, **ALLOWED), WRITES, Engine(count=51))
    assert result.code is FailureCode.COST


async def test_values_say_themselves_how_many_rows_they_are() -> None:
    engine = Engine()
    asked = await run(draft_of("INSERT INTO customer VALUES (1, 'a'), (2, 'b')"), WRITES, engine)
    assert (asked.body.confirmation.rows_affected, asked.body.confirmation.rows_known) == (2, "exact")
    assert (engine.explained, engine.probed) == ([], [])


async def test_a_confirmed_change_is_judged_again_from_the_asking_query_s_draft_and_approved() -> None:
    draft = own(DELETE)
    asked = await run(draft, WRITES)
    logs = Logs([Stored(draft), Stored(asked)])
    result = await run(yes(asked, rows_affected_max=5), WRITES, logs=logs)
    assert isinstance(result.body, Approved)
    assert (result.body.sql, result.body.rows_affected_max) == (asked.body.sql, 5)
    assert [(attempt.sql, attempt.validated) for attempt in result.attempts] == [(DELETE, True)]


async def test_where_a_second_person_is_needed_the_askers_own_yes_is_not_approved() -> None:
    both = Stores(policy=ConnectionPolicy(access=Access.READ_WRITE, rows_affected_max=50, second_person=True))
    draft = own(DELETE)
    asked = await run(draft, both)
    assert asked.body.confirmation.needs_second_person
    logs = Logs([Stored(draft), Stored(asked)])
    for approver in ("", asked.user):
        refused = await run(yes(asked, confirmed_by=approver), both, logs=logs)
        assert not (isinstance(refused, Envelope) and isinstance(refused.body, Approved)), approver
    approved = await run(yes(asked, confirmed_by="bob"), both, logs=logs)
    assert isinstance(approved.body, Approved)


async def test_what_nobody_asked_is_not_approved() -> None:
    draft = own(DELETE)
    asked = await run(draft, WRITES)
    logs = Logs([Stored(draft), Stored(asked)])
    foreign = asked.with_body(asked.body, user="eve")
    narrower = Stores(policy=ConnectionPolicy(access=Access.READ_WRITE, row_filters={"customer": "name = :user"}))
    fewer = Stores(policy=ConnectionPolicy(access=Access.READ_WRITE, rows_affected_max=1))
    for said, stores, log in (
        (yes(asked), WRITES, Logs()),
        (yes(asked, sql_sha256="0" * 64), WRITES, logs),
        (yes(asked, rows_affected_max=51), WRITES, logs),
        (yes(asked), WRITES, Logs([Stored(draft), Stored(foreign)])),
        (yes(asked), narrower, logs),
        (yes(asked), fewer, logs),
    ):
        result = await run(said, stores, logs=log)
        assert (result.body.outcome, result.body.code) == (Outcome.REFUSED, FailureCode.PERMISSION)
    shut = await run(yes(asked), Stores(), logs=logs)
    assert shut.code is FailureCode.PERMISSION


@pytest.mark.requirement("000.11")
async def test_a_read_only_connection_refuses_a_change_whatever_the_options_say() -> None:
    for check in (True, False):
        result = await run(own(DELETE, enable_forbidden_check=check, **ALLOWED))
        assert result.code is FailureCode.SAFETY


async def test_a_dry_run_of_a_change_is_prepared_and_asks_nothing() -> None:
    result = await run(own(DELETE, dry_run=True), WRITES)
    assert (result.body.outcome, result.body.confirmation) == (Outcome.PREPARED, None)


# --- the engine's opinions, kept ---------------------------------------------------------------------------------


async def test_an_engine_is_asked_once_about_a_text_for_a_while() -> None:
    engine, now = Engine(), [NOW]
    cache = ExplainCache(engine, clock=lambda: now[0], metrics=Metrics(StageName.VALIDATOR))
    ask = ExplainRequest(query_id="q", sql="SELECT 1", dialect=Dialect.DUCKDB, deadline_at=NOW)
    for _ in range(3):
        await cache.explain("acme", "shop", ask)
    assert len(engine.explained) == 1
    await cache.explain("other", "shop", ask)
    await cache.explain("acme", "shop", ask.model_copy(update={"sql": "SELECT 2"}))
    assert len(engine.explained) == 3
    now[0] += KEPT_MS_MAX
    await cache.explain("acme", "shop", ask)
    assert len(engine.explained) == 4


@pytest.mark.parametrize(("code", "times"), [(FailureCode.COLUMN_NOT_FOUND, 1), (FailureCode.CONNECTION, 2)])
async def test_only_what_an_engine_has_against_the_statement_is_kept(code: FailureCode, times: int) -> None:
    engine = Engine(against=Failure.of(code))
    cache = ExplainCache(engine, clock=lambda: NOW, metrics=Metrics(StageName.VALIDATOR))
    ask = ExplainRequest(query_id="q", sql="SELECT 1", dialect=Dialect.DUCKDB, deadline_at=NOW)
    for _ in range(2):
        await cache.explain("acme", "shop", ask)
    assert len(engine.explained) == times
