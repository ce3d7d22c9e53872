"""Claims on the validator: what becomes an approval, who is asked before, and what concludes instead."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.delivery import Delivery
from querybus.core.envelope import Envelope, drafted
from querybus.core.failure import Facts, Failure, FailureCode
from querybus.core.messages import (
    Approved,
    Asked,
    Concluded,
    Confirmed,
    Draft,
    Drafted,
    Operation,
    Origin,
    Outcome,
)
from querybus.core.options import ExecutionMode, Options
from querybus.core.policy import Connection, ConnectionPolicy
from querybus.core.rpc import ExplainReply, ExplainRequest, ProbeReply, ProbeRequest
from querybus.core.subjects import EventName
from querybus_validator.validate import ENGINE_MS_MAX, NOT_ASKED_NOTE, OVERRULED_NOTE, validate

NOW = 1_000_000
DELIVERY = Delivery(sequence=7, deliveries=1, now_ms=NOW)
SHOP = Catalog(
    connection="shop",
    dialect=Dialect.SQLITE,
    tables=(Table(name="customer", columns=(Column(name="id", type="INT"), Column(name="name", type="TEXT"))),),
)


@dataclass
class Stores:
    """The catalog and the connection of one shop, in memory."""

    catalog: Catalog | None = SHOP
    policy: ConnectionPolicy = field(default_factory=ConnectionPolicy)

    async def read(self, connection: str) -> Catalog | None:
        return self.catalog

    async def get(self, name: str) -> Connection | None:
        return Connection(name=name, dialect=Dialect.SQLITE, policy=self.policy)


@dataclass
class Engine:
    """An executor that remembers what it was asked."""

    against: Failure | None = None
    explained: list[ExplainRequest] = field(default_factory=list)
    probed: list[ProbeRequest] = field(default_factory=list)

    async def explain(self, tenant: str, connection: str, request: ExplainRequest) -> ExplainReply:
        self.explained.append(request)
        return ExplainReply(failure=self.against)

    async def probe(self, tenant: str, connection: str, request: ProbeRequest) -> ProbeReply:
        self.probed.append(request)
        return ProbeReply(failure=self.against)


def draft_of(sql: str, *, operation: Operation = Operation.ASK, probe: bool = False, **options: Any) -> Envelope[Any]:
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
    draft = Draft(sql=sql, dialect=Dialect.SQLITE, origin=Origin.MODEL)
    return drafted(asked, Drafted(draft=draft, operation=operation, probe=probe, notes=("noted",)))


async def run(envelope: Envelope[Any], stores: Stores | None = None, engine: Engine | None = None) -> Any:
    stores = stores or Stores()
    return await validate(
        envelope, DELIVERY, catalogs=stores, connections=stores, database=engine if engine is not None else Engine()
    )


async def test_a_good_draft_becomes_an_approval_of_our_own_text() -> None:
    engine = Engine()
    result = await run(draft_of("select name from customer -- all", rows_max=20), engine=engine)
    assert isinstance(result.body, Approved)
    assert result.body.sql == "SELECT name FROM customer LIMIT 21"
    assert (result.body.row_limit, result.body.tables) == (20, ("customer",))
    assert result.body.checked == ("static", "explain")
    assert result.body.notes == ("noted",)
    assert result.attempts[-1].validated
    assert [each.sql for each in engine.explained] == [result.body.sql]


async def test_rows_are_capped_by_the_policy_as_well() -> None:
    result = await run(draft_of("SELECT name FROM customer"), Stores(policy=ConnectionPolicy(rows_max=3)))
    assert (result.body.row_limit, result.body.sql) == (3, "SELECT name FROM customer LIMIT 4")


async def test_a_refused_draft_never_reaches_the_engine() -> None:
    engine = Engine()
    for sql in ("DROP TABLE customer", "SELECT load_extension('x')", "SELECT x.id FROM customer", "SELECT 1; SELECT 2"):
        assert isinstance(await run(draft_of(sql, probe=True), engine=engine), Failure)
    assert (engine.explained, engine.probed) == ([], [])


async def test_a_refused_kind_is_named_for_the_words_of_the_refusal() -> None:
    result = await run(draft_of("DELETE FROM customer"))
    assert (result.code, result.facts.name, result.facts.rule) == (FailureCode.SAFETY, "DELETE", "statement_kind")


async def test_with_the_check_by_the_engine_off_nothing_is_asked_and_the_answer_says_so() -> None:
    engine = Engine()
    result = await run(draft_of("SELECT name FROM customer", enable_syntax_validation=False, probe=True), engine=engine)
    assert result.body.checked == ("static",)
    assert result.body.notes == ("noted", NOT_ASKED_NOTE)
    assert (engine.explained, engine.probed) == ([], [])


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


async def test_a_draft_is_probed_only_when_it_asks_and_the_mode_allows() -> None:
    engine = Engine()
    mode = ExecutionMode.ALLOW_EXECUTION
    await run(draft_of("SELECT name FROM customer", probe=True), engine=engine)
    await run(draft_of("SELECT name FROM customer", execution_mode=mode), engine=engine)
    assert engine.probed == []
    result = await run(draft_of("SELECT name FROM customer", probe=True, execution_mode=mode), engine=engine)
    assert result.body.checked == ("static", "explain", "probe")
    assert len(engine.probed) == 1


async def test_the_engine_has_until_the_deadline_or_its_own_limit() -> None:
    engine = Engine()
    await run(draft_of("SELECT name FROM customer"), engine=engine)
    assert engine.explained[0].deadline_at == NOW + ENGINE_MS_MAX


@pytest.mark.parametrize("operation", [Operation.GENERATE, Operation.VALIDATE, Operation.EXPLAIN])
async def test_what_shall_not_run_is_concluded_as_prepared(operation: Operation) -> None:
    result = await run(draft_of("SELECT name FROM customer", operation=operation))
    assert isinstance(result.body, Concluded)
    assert (result.body.outcome, result.body.sql) == (Outcome.PREPARED, "SELECT name FROM customer LIMIT 10001")


async def test_a_dry_run_is_concluded_as_prepared() -> None:
    result = await run(draft_of("SELECT name FROM customer", dry_run=True))
    assert result.body.outcome is Outcome.PREPARED


async def test_a_statement_that_only_describes_has_no_dry_run() -> None:
    engine = Engine()
    result = await run(draft_of("EXPLAIN QUERY PLAN SELECT name FROM customer"), engine=engine)
    assert result.body.checked == ("static",)
    assert engine.explained == []


async def test_without_a_catalog_the_connection_has_failed() -> None:
    result = await run(draft_of("SELECT name FROM customer"), Stores(catalog=None))
    assert result.code is FailureCode.CONNECTION


async def test_a_confirmed_write_is_refused_because_no_connection_takes_writes() -> None:
    confirmed = Confirmed(asking_query_id="p", sql_sha256="0" * 64, rows_affected_max=1)
    engine = Engine()
    result = await run(draft_of("SELECT 1").with_body(confirmed), engine=engine)
    assert (result.body.outcome, result.body.code) == (Outcome.REFUSED, FailureCode.PERMISSION)
    assert engine.explained == []
