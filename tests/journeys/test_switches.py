"""Claims on the switches: what each combination, in each mode, asks of a database before approval and what it refuses.

Validator and recovery are called as the stages call them, with an executor that counts.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import pytest

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.envelope import Audience, Delivery, Envelope, drafted, failed
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import (
    Approved,
    Asked,
    Concluded,
    Draft,
    Drafted,
    Origin,
    Outcome,
    Returned,
)
from querybus.core.options import ExecutionMode, Mode, Options
from querybus.core.policy import Connection, ConnectionPolicy
from querybus.core.requests.rpc import ExplainReply, ExplainRequest, ProbeReply, ProbeRequest
from querybus.core.subjects import EventName, StageName
from querybus.sql.check import NOT_ASKED_NOTE
from querybus_recovery.guidance import load_guidance
from querybus_recovery.recover import recover
from querybus_validator.validate import validate

NOW = 1_000_000
DELIVERY = Delivery(1, 1, NOW)
COMBINATIONS = list(itertools.product(Mode, ExecutionMode, (True, False), (True, False), (True, False)))
IDS = [f"{mode}-{run}-{'explain' if e else ''}-{'guard' if g else ''}-{'mend' if m else ''}" for mode, run, e, g, m in COMBINATIONS]  # fmt: skip
WRITES = ("DELETE FROM t", "DROP TABLE t", "UPDATE t SET id = 1", "INSERT INTO t VALUES (1)")
ALWAYS = (
    ("SELECT 1; DROP TABLE t", FailureCode.SAFETY),
    ("SELECT load_extension('x')", FailureCode.SAFETY),
    ("SELECT * FROM sqlite_master", FailureCode.SAFETY),
    ("SELECT secret FROM t", FailureCode.PERMISSION),
    ("SELECT id FROM hidden", FailureCode.PERMISSION),
    ("SELECT nothing()", FailureCode.FUNCTION_NOT_FOUND),
)
COSTLY = (
    "SELECT printf('%1000000000d', 1)",
    "SELECT id FROM t WHERE name LIKE '%a%a%a%a%a%a%a%a%a%a%a%'",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT COUNT(*) FROM r",
    "SELECT COUNT(*) FROM t a, t b, t c, t d",
)


@dataclass
class Stack:
    """The stores and the executor of one small shop; counts what the database was asked."""

    asked: list[str] = field(default_factory=list)
    dialect: Dialect = Dialect.SQLITE

    async def read(self, connection: str) -> Catalog:
        columns = tuple(Column(name=name, type="TEXT") for name in ("id", "name", "secret"))
        return Catalog(
            connection=connection,
            dialect=self.dialect,
            tables=(Table(name="t", columns=columns), Table(name="hidden", columns=columns)),
        )

    async def get(self, name: str) -> Connection:
        policy = ConnectionPolicy(tables_allowed=("t",), columns_denied={"t": ("secret",)})
        return Connection(name=name, dialect=self.dialect, policy=policy)

    async def explain(self, tenant: str, connection: str, request: ExplainRequest) -> ExplainReply:
        self.asked.append("explain")
        return ExplainReply()

    async def probe(self, tenant: str, connection: str, request: ProbeRequest) -> ProbeReply:
        self.asked.append("probe")
        return ProbeReply()

    async def query_in_full(self, tenant: str, query: str, thread: str) -> list[Any]:
        return []


def draft(sql: str, options: Options, audience: Audience = "analyst") -> Envelope[Drafted]:
    asked = Envelope[Asked](
        event=EventName.ASKED, query_id="q", thread_id="t", tenant="acme", user="ann", audience=audience,
        connection="shop", question="?", language="en", options=options, asked_at=NOW, deadline_at=NOW + 60_000,
        body=Asked(),
    )  # fmt: skip
    body = Drafted(draft=Draft(sql=sql, dialect=Dialect.SQLITE, origin=Origin.MODEL), probe=True)
    return drafted(asked, body)


async def judged(
    sql: str, options: Options, audience: Audience = "analyst", dialect: Dialect = Dialect.SQLITE
) -> tuple[Any, Stack]:
    stack = Stack(dialect=dialect)
    result = await validate(
        draft(sql, options, audience), DELIVERY, catalogs=stack, connections=stack, database=stack, log=stack
    )
    return result, stack


def options_of(combination: tuple[Mode, ExecutionMode, bool, bool, bool]) -> Options:
    mode, execution, explain, check, repair = combination
    return Options(
        mode=mode,
        execution_mode=execution,
        enable_syntax_validation=explain,
        enable_forbidden_check=check,
        enable_auto_repair=repair,
    )


@pytest.mark.parametrize("dialect", [Dialect.DUCKDB, Dialect.SQLITE])
@pytest.mark.parametrize("combination", COMBINATIONS, ids=IDS)
async def test_each_combination_asks_the_database_only_what_it_allows(combination: Any, dialect: Dialect) -> None:
    options = options_of(combination)
    result, stack = await judged("SELECT id FROM t", options, dialect=dialect)
    assert isinstance(result.body, Approved)
    allowed = options.execution_mode is ExecutionMode.ALLOW_EXECUTION
    # What SQLite has against a statement it says when the run prepares it.
    explains = options.enable_syntax_validation and dialect is not Dialect.SQLITE
    expected = ["explain"] * explains + ["probe"] * allowed
    assert stack.asked == expected
    assert result.body.checked == ("static", *expected)
    assert (NOT_ASKED_NOTE in result.body.notes) is not options.enable_syntax_validation


@pytest.mark.parametrize("combination", COMBINATIONS, ids=IDS)
@pytest.mark.requirement("000.38")
async def test_no_combination_lets_through_what_must_never_run(combination: Any) -> None:
    options = options_of(combination)
    for sql, code in (*((write, FailureCode.SAFETY) for write in WRITES), *ALWAYS):
        result, stack = await judged(sql, options)
        assert isinstance(result, Failure), (sql, result)
        assert (result.code, stack.asked) == (code, []), sql


@pytest.mark.parametrize("combination", COMBINATIONS, ids=IDS)
async def test_only_the_forbidden_check_decides_on_what_a_text_may_cost_and_only_for_analysts(combination: Any) -> None:
    options = options_of(combination)
    for sql in COSTLY:
        result, _ = await judged(sql, options)
        assert isinstance(result, Failure) is options.enable_forbidden_check, (sql, result)
        assert not isinstance(result, Failure) or result.code in (FailureCode.COST, FailureCode.JOIN_ERROR)
        business, _ = await judged(sql, options, "business")
        assert isinstance(business, Failure), sql


@pytest.mark.parametrize("combination", COMBINATIONS, ids=IDS)
async def test_repair_goes_on_only_where_it_is_switched_on_and_never_after_a_refusal(combination: Any) -> None:
    options = options_of(combination)
    stack = Stack()
    for sql, code in (("SELECT nam FROM t", FailureCode.COLUMN_NOT_FOUND), ("DROP TABLE t", FailureCode.SAFETY)):
        envelope = failed(draft(sql, options), Failure.of(code, "no such column: nam"), StageName.VALIDATOR)
        after = await recover(envelope, DELIVERY, catalogs=stack, connections=stack, guidance=load_guidance())
        goes_on = options.enable_auto_repair and code is not FailureCode.SAFETY
        assert isinstance(after.body, Drafted | Returned) is goes_on, (sql, after.body)
        if not goes_on:
            assert isinstance(after.body, Concluded)
            assert after.body.outcome is (Outcome.REFUSED if code is FailureCode.SAFETY else Outcome.FAILED)
