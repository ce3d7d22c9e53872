"""The verb: guarded again, bounded by policy and deadline, first page inline, the rest kept, failures as values."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from querybus.bus.admin.permissions import PAYLOAD_BYTES_MAX
from querybus.bus.stores.pages import Batch, cells_of
from querybus.core import envelope as envelopes
from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table
from querybus.core.envelope import Attempt, Delivery, Envelope
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import (
    Alternative,
    Analysis,
    Approved,
    Concluded,
    Origin,
    Outcome,
    PagesAddress,
    ResultColumn,
    Returned,
    Scalar,
)
from querybus.core.options import Agreement, Effort, Options
from querybus.core.policy import ConnectionPolicy, Reader
from querybus.core.requests.rpc import ExplainRequest, ProbeRequest
from querybus.core.subjects import EventName, StageName, token
from querybus_executor.connections.config import parse_connections
from querybus_executor.execute import (
    WARNING_BYTES,
    WARNING_LONG_CELL,
    WARNING_LONG_ROW,
    WARNING_STORE,
    execute,
    execute_in_turn,
)
from querybus_executor.explain import explain, probe
from querybus_executor.guard_cache import Verdicts
from querybus_executor.ports import Estimate, PageSink, Purpose, Rows, Run
from querybus_executor.results.engine_quirks import FIRST_ROW_WARNING, ZERO_WARNING
from querybus_executor.results.receive import CELL_CHARACTERS_MAX, FIRST_PAGE_BYTES_MAX, Receiver
from querybus_executor.sharing.connection_turns import ConnectionTurns

NOW = 1_700_000_000_000
CATALOG = Catalog(
    connection="shop",
    dialect=Dialect.SQLITE,
    tables=(Table(name="orders", columns=(Column(name="id", type="INTEGER", kind=ColumnKind.INTEGER),)),),
)


@dataclass
class ShelfDatabase:
    """A database that gives the rows put into it and remembers what it was asked."""

    rows: Sequence[Sequence[Scalar]] = ((1,), (2,))
    found: Rows | Failure | None = None
    known: Catalog | Failure = CATALOG
    policy: ConnectionPolicy = field(default_factory=ConnectionPolicy)
    dialect: Dialect = Dialect.SQLITE
    asked: list[tuple[str, int, float, Purpose]] = field(default_factory=list[tuple[str, int, float, Purpose]])
    explained: list[str] = field(default_factory=list[str])
    doubts: int = 0
    bytes_max: int = 1 << 20

    async def catalog(self) -> Catalog | Failure:
        return self.known

    async def run(
        self, sql: str, *, rows_max: int, seconds_max: float, purpose: Purpose, pages: PageSink | None = None
    ) -> Rows | Failure:
        self.asked.append((sql, rows_max, seconds_max, purpose))
        if self.found is not None:
            return self.found
        into = Receiver(rows_max=rows_max, bytes_max=self.bytes_max, pages=pages)
        names = ("id", *(f"c{number}" for number in range(1, len(self.rows[0]) if self.rows else 1)))
        await into.take([ResultColumn(name=name, kind=ColumnKind.INTEGER) for name in names], self.rows)
        return replace(await into.rows(), duration_ms=1.5)

    async def explain(self, sql: str, *, seconds_max: float) -> Estimate | Failure:
        self.explained.append(sql)
        return self.found if isinstance(self.found, Failure) else Estimate(rows=7)

    async def refresh(self) -> Catalog | Failure:
        return self.known

    def doubt(self) -> None:
        self.doubts += 1


@dataclass
class Shelf:
    """The databases by name."""

    databases: dict[str, ShelfDatabase]

    def get(self, connection: str) -> ShelfDatabase | None:
        return self.databases.get(connection)

    def by_token(self, name_token: str) -> ShelfDatabase | None:
        return next((database for name, database in self.databases.items() if token(name) == name_token), None)


@dataclass
class KeptPages:
    """Pages by run and number; `space` is how many it takes."""

    capacity: int = 1_000
    kept: dict[tuple[str, str, str, int], Sequence[Sequence[Scalar]]] = field(
        default_factory=dict[tuple[str, str, str, int], Sequence[Sequence[Scalar]]]
    )

    def writer(self, run: Run, page_size: int) -> KeptRun:
        return KeptRun(self, run, page_size)


@dataclass
class KeptRun:
    """The pages of one run."""

    pages: KeptPages
    run: Run
    first_rows: int
    rows: list[int] = field(default_factory=list[int])
    is_full: bool = False
    has_long_row: bool = False

    async def __aenter__(self) -> KeptRun:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def put(self, batches: Sequence[Batch]) -> bool:
        if len(self.pages.kept) >= self.pages.capacity:
            self.is_full = True
            return False
        if sum(batch.nbytes for batch in batches) > PAYLOAD_BYTES_MAX:
            self.is_full = self.has_long_row = True
            return False
        rows = [row for batch in batches for row in cells_of(batch)]
        self.rows.append(len(rows))
        self.pages.kept[self.run.tenant, self.run.query, self.run.token, len(self.rows)] = rows
        return True

    async def kept(self) -> PagesAddress | None:
        if self.is_full:
            return None
        sha256 = tuple(f"{page:064x}" for page in range(1, len(self.rows) + 1))
        return PagesAddress(
            run=self.run.token, count=len(sha256), page_size=self.first_rows, sha256=sha256, rows=tuple(self.rows)
        )


def approved(
    sql: str = "SELECT id FROM orders LIMIT 11", *, deadline_ms: int = 60_000, page_size: int = 100, row_limit: int = 10
) -> Envelope[Approved]:
    return Envelope[Approved](
        event=EventName.APPROVED,
        query_id="q1",
        thread_id="t1",
        tenant="Acme Ltd",
        user="ann",
        audience="analyst",
        connection="shop",
        question="how many?",
        language="en",
        options=Options(page_size=page_size),
        asked_at=NOW,
        deadline_at=NOW + deadline_ms,
        attempts=(Attempt(origin=Origin.MODEL, sql=sql, validated=True),),
        body=Approved(
            sql=sql,
            dialect=Dialect.SQLITE,
            origin=Origin.MODEL,
            tables=("orders",),
            row_limit=row_limit,
            checked=("static",),
            notes=("assumed",),
        ),
    )


async def run(
    envelope: Envelope[Approved], database: ShelfDatabase, pages: KeptPages | None = None, deliveries: int = 1
) -> Envelope[Concluded] | Envelope[Returned] | Failure:
    return await execute(
        envelope,
        Delivery(7, deliveries, NOW),
        databases=Shelf({"shop": database}),
        pages=pages or KeptPages(),
        verdicts=Verdicts(),
    )


async def answered(
    envelope: Envelope[Approved], database: ShelfDatabase, pages: KeptPages | None = None, deliveries: int = 1
) -> Envelope[Concluded]:
    result = await run(envelope, database, pages, deliveries)
    assert isinstance(result, Envelope), result
    assert isinstance(result.body, Concluded), result
    return cast("Envelope[Concluded]", result)


async def failed(envelope: Envelope[Approved], database: ShelfDatabase) -> Failure:
    result = await run(envelope, database)
    assert isinstance(result, Failure)
    return result


@pytest.mark.requirement("001.6")
async def test_rows_conclude_the_query_as_answered_with_the_attempt_marked_executed() -> None:
    concluded = await answered(approved(), ShelfDatabase())
    result = concluded.body.result
    assert result is not None
    assert (concluded.body.outcome, concluded.body.notes) == (Outcome.ANSWERED, ("assumed",))
    assert (result.rows, result.row_count, result.truncated, result.pages) == (((1,), (2,)), 2, False, None)
    assert (concluded.attempts[-1].executed, concluded.attempts[-1].duration_ms) == (True, 1.5)


async def test_a_ranking_whose_cut_parts_equal_rows_says_so_and_two_more_rows_are_all_that_is_asked_for() -> None:
    sql = "SELECT `orders`.`id` AS `id` FROM `orders` ORDER BY `id` DESC LIMIT 2"

    @dataclass
    class Ranked(ShelfDatabase):
        behind: Scalar = None

        async def run(self, sql: str, **more: Any) -> Rows | Failure:
            self.rows = [(1, 1), (self.behind, self.behind)] if "OFFSET 1" in sql else [(2,), (1,)]
            return await super().run(sql, **more)

    for behind, expected in ((1, True), (0, False)):
        database = Ranked(behind=behind)
        concluded = await answered(approved(sql), database)
        assert concluded.body.result is not None
        assert (concluded.body.result.cut_at_tie, len(database.asked), database.asked[1][1]) == (expected, 2, 2)
    unsorted = ShelfDatabase(rows=[(2,), (1,)])
    await answered(approved("SELECT `orders`.`id` AS `id` FROM `orders` LIMIT 2"), unsorted)
    assert len(unsorted.asked) == 1


async def test_a_column_of_personal_data_is_marked_unless_the_owner_shows_it_to_business_readers() -> None:
    mail = Column(name="mail", type="TEXT", kind=ColumnKind.TEXT, personal=True)
    known = CATALOG.model_copy(update={"tables": (CATALOG.tables[0].model_copy(update={"columns": (mail,)}),)})
    for shown, expected in (("masked", "contact"), ("shown", None)):
        policy = ConnectionPolicy.model_validate({"personal_for_business": shown})
        database = ShelfDatabase(rows=[("a@x.org",)], known=known, policy=policy)
        concluded = await answered(approved("SELECT `orders`.`mail` AS `mail` FROM `orders`"), database)
        result = concluded.body.result
        assert result is not None
        assert (result.rows, result.columns[0].personal) == ((("a@x.org",),), expected)


@pytest.mark.requirement("002.40")
async def test_a_result_of_several_pages_is_kept_by_run_and_page() -> None:
    pages, database = KeptPages(), ShelfDatabase(rows=[(n,) for n in range(10)])
    concluded = await answered(approved(page_size=4), database, pages, deliveries=2)
    result = concluded.body.result
    assert result is not None
    assert result.pages is not None
    assert (result.pages.run, result.pages.count, result.pages.page_size) == ("7-2", 1, 4)
    assert (result.rows, result.row_count, result.pages.rows) == (((0,), (1,), (2,), (3,)), 10, (10,))
    assert list(pages.kept["Acme Ltd", "q1", "7-2", 1]) == [(n,) for n in range(10)]


async def test_a_result_beyond_half_a_megabyte_is_kept_as_several_pages_whose_rows_are_named() -> None:
    pages, database = KeptPages(), ShelfDatabase(rows=[(f"{n:04d}" * 1_000,) for n in range(250)])
    concluded = await answered(approved(page_size=4, row_limit=250), database, pages)
    result = concluded.body.result
    assert result is not None
    assert result.pages is not None
    assert result.pages.count == len(result.pages.rows) == len(pages.kept) == 2
    assert (sum(result.pages.rows), result.row_count, result.truncated) == (250, 250, False)
    number, begin, end = result.pages.spans(249, 1)[0]
    assert pages.kept["Acme Ltd", "q1", "7-1", number][begin:end] == [("0249" * 1_000,)]
    assert result.pages.sha256 == tuple(f"{page:064x}" for page in (1, 2))


async def test_more_rows_than_the_limit_are_cut_and_said_to_be() -> None:
    concluded = await answered(approved(row_limit=3), ShelfDatabase(rows=[(n,) for n in range(9)]))
    assert concluded.body.result is not None
    assert (concluded.body.result.row_count, concluded.body.result.truncated) == (3, True)


async def test_rows_beyond_the_limit_are_counted_only_where_that_was_asked_for() -> None:
    for asked in (False, True):
        database = ShelfDatabase(rows=[(n,) for n in range(11)])
        envelope = approved()
        envelope = envelope.model_copy(update={"options": Options(count_total=asked)})
        result = (await answered(envelope, database)).body.result
        assert result is not None
        # The shelf's first row is what it counts.
        assert (len(database.asked), result.total_count, result.total_is_estimate) == (
            (2, 0, False) if asked else (1, None, False)
        )
        assert database.asked[-1][0].startswith("SELECT COUNT(*)") is asked
    whole = ShelfDatabase()
    await answered(envelope, whole)
    assert len(whole.asked) == 1, "a whole result needs no count"


async def test_what_the_engine_does_silently_becomes_a_warning_of_the_answer() -> None:
    sql = "SELECT id, 5 / (id - 1) FROM orders WHERE id = (SELECT id FROM orders) LIMIT 11"
    result = (await answered(approved(sql), ShelfDatabase(rows=[(1,), (None,)]))).body.result
    assert result is not None
    assert result.warnings == (FIRST_ROW_WARNING, ZERO_WARNING.format("nothing"))


async def test_a_first_page_beyond_256_kb_is_cut_there_and_kept_whole_as_a_page() -> None:
    pages, wide = KeptPages(), [("x" * 50_000,)] * 10
    concluded = await answered(approved(), ShelfDatabase(rows=wide), pages)
    result = concluded.body.result
    assert result is not None
    assert 0 < len(result.rows) < 10
    assert len(result.model_dump_json()) < FIRST_PAGE_BYTES_MAX + 2_000
    assert (result.row_count, result.truncated) == (10, False)
    assert len(pages.kept["Acme Ltd", "q1", "7-1", 1]) == 10


@pytest.mark.parametrize("row_count", [1, 3])
async def test_a_row_that_is_longer_than_a_page_shows_the_beginnings_of_its_values(row_count: int) -> None:
    pages, long = KeptPages(), [(f"{number}{'漢' * FIRST_PAGE_BYTES_MAX}",) for number in range(row_count)]
    concluded = await answered(approved(), ShelfDatabase(rows=long, bytes_max=1 << 25), pages)
    result = concluded.body.result
    assert result is not None
    assert [str(row[0])[:3] for row in result.rows] == [f"{number}漢漢" for number in range(row_count)]
    assert all(str(row[0]).endswith("漢…") for row in result.rows)
    assert (result.values_cut, result.row_count, result.truncated) == (row_count, row_count, False)
    assert sum(len(page) for page in pages.kept.values()) == row_count


async def test_a_full_result_store_costs_the_further_pages_but_not_the_answer() -> None:
    pages, database = KeptPages(capacity=0), ShelfDatabase(rows=[(n,) for n in range(10)])
    concluded = await answered(approved(page_size=4), database, pages)
    result = concluded.body.result
    assert result is not None
    assert (result.pages, result.row_count, result.truncated, len(result.rows)) == (None, 4, True, 4)
    assert result.warnings == (WARNING_STORE,)


@pytest.mark.parametrize("page_size", [10, 1_000])
async def test_how_many_rows_are_kept_does_not_depend_on_the_page_size(page_size: int) -> None:
    pages, wide = KeptPages(), [("x" * 9_000,)] * 1_000
    concluded = await answered(
        approved(page_size=page_size, row_limit=1_000), ShelfDatabase(rows=wide, bytes_max=1 << 26), pages
    )
    result = concluded.body.result
    assert result is not None
    assert (result.row_count, result.warnings) == (1_000, ())
    assert sum(map(len, pages.kept.values())) == 1_000


async def test_a_row_that_is_too_long_to_be_kept_is_said_as_that() -> None:
    cells = PAYLOAD_BYTES_MAX // CELL_CHARACTERS_MAX + 1
    rows = [("x" * CELL_CHARACTERS_MAX,) * cells, ("y",) * cells]
    concluded = await answered(approved(page_size=1), ShelfDatabase(rows=rows, bytes_max=1 << 26), KeptPages())
    result = concluded.body.result
    assert result is not None
    assert (result.pages, result.warnings) == (None, (WARNING_LONG_ROW,))


async def test_a_cell_that_is_too_long_is_cut_and_the_answer_says_so() -> None:
    rows = [("x" * (CELL_CHARACTERS_MAX + 5),), ("y",)]
    concluded = await answered(approved(page_size=1), ShelfDatabase(rows=rows, bytes_max=1 << 26), KeptPages())
    result = concluded.body.result
    assert result is not None
    assert result.warnings == (WARNING_LONG_CELL,)
    assert result.row_count == 2


async def test_a_tenant_waits_for_its_turn_no_longer_than_its_question_lasts_and_runs_with_what_is_left() -> None:
    config = parse_connections({"connections": [{"name": "shop", "url": "sqlite:///x.db"}]})[0]
    database: Any = SimpleNamespace(config=config)
    turns = ConnectionTurns(lambda _: database, children=1)
    done: Any = object()
    seen: list[int] = []

    async def running(envelope: Envelope[Approved], delivery: Delivery) -> Any:
        seen.append(delivery.now_ms)
        await asyncio.sleep(0.6)
        return done

    def ask(tenant: str, seconds: float) -> Any:
        envelope = approved().model_copy(update={"tenant": tenant})
        delivery = Delivery(1, 1, envelope.deadline_at - int(seconds * 1_000))
        return execute_in_turn(envelope, delivery, execute=running, turns=turns), delivery.now_ms

    began = [ask("a", 5), ask("b", 5), ask("c", 0.5), ask("d", 5)]
    results = await asyncio.gather(*(asking for asking, _ in began))
    # One place and one spare: two run at once, the others wait.
    assert [item for item in results if not isinstance(item, Failure)] == [done, done, done]
    assert isinstance(results[2], Failure)
    assert results[2].code is FailureCode.TIMEOUT
    assert seen[:2] == [now for _, now in began[:2]]
    assert seen[2] >= began[3][1] + 500


def with_alternative(
    envelope: Envelope[Approved], *doubts: str, sql: str = "SELECT id FROM orders"
) -> Envelope[Approved]:
    alternative = Alternative(draft="SELECT id FROM orders -- as written", sql=sql)
    analysis = Analysis(doubts=doubts)
    return envelope.with_body(envelope.body.model_copy(update={"alternative": alternative, "analysis": analysis}))


async def test_a_second_draft_that_agrees_is_compared_and_changes_nothing() -> None:
    database = ShelfDatabase()
    body = (await answered(with_alternative(approved()), database)).body
    assert [asked[0] for asked in database.asked] == ["SELECT id FROM orders LIMIT 11", "SELECT id FROM orders"]
    assert (body.analysis.agreement, body.sql) == (Agreement.EQUAL, "SELECT id FROM orders LIMIT 11")


async def test_a_second_draft_is_shown_where_the_first_found_nothing_by_a_value_that_is_not_there() -> None:
    class Empty(ShelfDatabase):
        async def run(self, sql: str, **how: Any) -> Rows | Failure:
            self.rows = () if sql.endswith("LIMIT 11") else ((7,),)
            return await super().run(sql, **how)

    concluded = await answered(with_alternative(approved(), "absent_value"), Empty())
    result = concluded.body.result
    assert result is not None
    assert (concluded.body.analysis.agreement, result.rows) == (Agreement.REPLACED, ((7,),))
    # It is a try of its own, so that it counts as one and is what an answer is called right for.
    assert concluded.attempts[-1].sql == "SELECT id FROM orders -- as written"
    assert concluded.attempts[-1].executed
    once = with_alternative(approved(), "absent_value", "second_doubtful")
    kept = await answered(once.model_copy(update={"options": Options(effort=Effort.QUICK)}), Empty())
    assert kept.body.result is not None
    assert (kept.body.analysis.agreement, kept.body.result.rows) == (Agreement.DIFFERENT, ())


async def test_a_reading_that_finds_what_a_repair_did_not_is_shown_as_what_it_is() -> None:
    class Other(ShelfDatabase):
        async def run(self, sql: str, **how: Any) -> Rows | Failure:
            self.rows = () if sql.endswith("LIMIT 11") else ((7,),)
            return await super().run(sql, **how)

    envelope = with_alternative(approved())
    analysis = Analysis(
        confidence=0.4, second_reading="Numbers of orders.", second_confidence=0.9, column_labels=("wrong",)
    )
    changes = {"analysis": analysis, "origin": Origin.RULE, "notes": ("`nr` was read as `id`",)}
    concluded = await answered(envelope.with_body(envelope.body.model_copy(update=changes)), Other())
    body, result = concluded.body, concluded.body.result
    assert result is not None
    assert (body.analysis.agreement, result.rows) == (Agreement.REPLACED, ((7,),))
    assert (body.analysis.reading, body.analysis.confidence) == ("Numbers of orders.", 0.9)
    # What was said of the repair and of the model's columns is not said of another statement.
    assert (body.analysis.column_labels, body.notes) == ((), ())
    assert (concluded.attempts[-1].origin, concluded.attempts[-1].executed) == (Origin.BUILTIN, True)


async def test_a_draft_without_a_doubt_that_took_long_is_not_run_beside_another() -> None:
    slow = Rows((ResultColumn(name="id"),), [(1,)], truncated=False, cut_bytes=False, duration_ms=1_500.0)
    database = ShelfDatabase(found=slow)
    body = (await answered(with_alternative(approved()), database)).body
    assert ([asked[0] for asked in database.asked], body.analysis.agreement) == (
        ["SELECT id FROM orders LIMIT 11"],
        None,
    )
    database = ShelfDatabase(found=slow)
    body = (await answered(with_alternative(approved(), "unused_table"), database)).body
    assert body.analysis.agreement is Agreement.EQUAL, "a doubt is worth the time"


async def test_a_second_draft_that_the_guard_refuses_is_not_run() -> None:
    database = ShelfDatabase()
    body = (await answered(with_alternative(approved(), sql="DELETE FROM orders"), database)).body
    assert ([asked[0] for asked in database.asked], body.analysis.agreement) == (
        ["SELECT id FROM orders LIMIT 11"],
        None,
    )


async def test_a_result_cut_at_its_bytes_says_so() -> None:
    result = Rows((ResultColumn(name="id"),), [(1,)], truncated=True, cut_bytes=True, duration_ms=1.0)
    concluded = await answered(approved(), ShelfDatabase(found=result))
    assert concluded.body.result is not None
    assert concluded.body.result.warnings == (WARNING_BYTES,)


async def test_a_tenant_that_the_connection_does_not_serve_runs_nothing() -> None:
    database = ShelfDatabase(policy=ConnectionPolicy(tenants_allowed=("globex",)))
    result = await run(approved(), database)
    assert isinstance(result, Failure)
    assert (result.code, database.asked) == (FailureCode.PERMISSION, [])


async def test_what_an_engine_quotes_of_hidden_rows_reaches_nobody() -> None:
    guarded = ConnectionPolicy(columns_masked={"customer": ("name",)})
    warned = Rows(
        (ResultColumn(name="id"),),
        [(1,)],
        truncated=False,
        cut_bytes=False,
        duration_ms=1.0,
        warnings=("incorrect value: 'Bob'", "and 'Mia'"),
    )
    for policy, warnings in ((guarded, ("the database gave 2 warnings",)), (ConnectionPolicy(), warned.warnings)):
        concluded = await answered(approved(), ShelfDatabase(found=warned, policy=policy))
        assert concluded.body.result is not None
        assert concluded.body.result.warnings == warnings
    failed = Failure.of(FailureCode.TYPE_MISMATCH, 'invalid input syntax for type integer: "Bob\'s 4711"')
    result = await run(approved(), ShelfDatabase(found=failed, policy=guarded))
    assert isinstance(result, Failure)
    assert result.detail == "invalid input syntax for type integer: …"


@pytest.mark.parametrize(
    "sql", ["DROP TABLE orders", "SELECT 1; SELECT 2", "SELECT load_extension('x')", "DELETE FROM orders"]
)
async def test_what_the_guard_refuses_never_reaches_the_database(sql: str) -> None:
    database = ShelfDatabase()
    failure = await failed(approved(sql), database)
    assert failure.code in (FailureCode.SAFETY, FailureCode.MULTI_STATEMENT)
    assert database.asked == []


@pytest.mark.requirement("003.20")
async def test_the_time_of_a_statement_is_the_smaller_of_policy_and_what_is_left() -> None:
    patient = ShelfDatabase(policy=ConnectionPolicy(statement_timeout_seconds=5))
    await answered(approved(deadline_ms=60_000), patient)
    hurried = ShelfDatabase()
    await answered(approved(deadline_ms=2_000), hurried)
    assert patient.asked[0][2] == 5
    assert 1.5 < hurried.asked[0][2] < 2.0
    late = ShelfDatabase()
    assert (await failed(approved(deadline_ms=100), late)).code is FailureCode.EXPIRED
    assert late.asked == []


async def test_an_unknown_connection_an_unread_database_and_a_foreign_dialect_are_failures() -> None:
    unknown = await execute(
        approved(), Delivery(7, 1, NOW), databases=Shelf({}), pages=KeptPages(), verdicts=Verdicts()
    )
    assert isinstance(unknown, Failure)
    assert unknown.code is FailureCode.CONNECTION
    trouble = Failure.of(FailureCode.CONNECTION, "the database file does not exist")
    assert await run(approved(), ShelfDatabase(known=trouble)) == trouble
    foreign = await failed(approved(), ShelfDatabase(dialect=Dialect.DUCKDB))
    assert foreign.code is FailureCode.INTERNAL


async def test_a_name_that_the_engine_misses_puts_the_catalog_in_doubt() -> None:
    missing = ShelfDatabase(found=Failure.of(FailureCode.TABLE_NOT_FOUND, "no such table: orders"))
    assert (await failed(approved(), missing)).code is FailureCode.TABLE_NOT_FOUND
    slow = ShelfDatabase(found=Failure.of(FailureCode.TIMEOUT))
    await failed(approved(), slow)
    assert (missing.doubts, slow.doubts) == (1, 0)


def request(sql: str = "SELECT id FROM orders", *, deadline_ms: int = 1_000) -> ExplainRequest:
    return ExplainRequest(
        query_id="q1", tenant="acme", user="ann", sql=sql, dialect=Dialect.SQLITE, deadline_at=NOW + deadline_ms
    )


@pytest.mark.requirement("003.6")
async def test_a_run_that_failed_says_that_it_ran_and_for_how_long() -> None:
    failure = await failed(approved(), ShelfDatabase(found=Failure.of(FailureCode.TIMEOUT)))
    attempt = envelopes.failed(approved(), failure, StageName.EXECUTOR).attempts[-1]
    assert failure.facts.duration_ms is not None
    assert (attempt.executed, attempt.duration_ms) == (True, failure.facts.duration_ms)
    away = await failed(approved(), ShelfDatabase(found=Failure.of(FailureCode.CONNECTION, "no connection")))
    assert not envelopes.failed(approved(), away, StageName.EXECUTOR).attempts[-1].executed


async def test_an_explain_is_guarded_and_asks_the_engine() -> None:
    database = ShelfDatabase()
    shelf = Shelf({"My Shop": database})
    assert (
        await explain("acme", token("My Shop"), request(), databases=shelf, verdicts=Verdicts(), now_ms=NOW)
    ).failure is None
    refused = await explain(
        "acme", token("My Shop"), request("DROP TABLE orders"), databases=shelf, verdicts=Verdicts(), now_ms=NOW
    )
    late = await explain(
        "acme", token("My Shop"), request(deadline_ms=0), databases=shelf, verdicts=Verdicts(), now_ms=NOW
    )
    unknown = await explain("acme", "nowhere", request(), databases=shelf, verdicts=Verdicts(), now_ms=NOW)
    assert [item.failure.code for item in (refused, late, unknown) if item.failure] == [
        FailureCode.SAFETY,
        FailureCode.EXPIRED,
        FailureCode.CONNECTION,
    ]
    assert database.explained == ["SELECT id FROM orders"]


@pytest.mark.requirement("003.4")
async def test_a_probe_gives_at_most_ten_rows_on_reserved_slots() -> None:
    database = ShelfDatabase(rows=[(n,) for n in range(30)])
    asked = ProbeRequest(**request(deadline_ms=1_000).model_dump())
    reply = await probe("acme", "shop", asked, databases=Shelf({"shop": database}), verdicts=Verdicts(), now_ms=NOW)
    assert reply.result is not None
    assert (reply.result.row_count, reply.result.truncated, reply.result.pages) == (10, True, None)
    assert database.asked == [("SELECT id FROM orders", 10, 1.0, Purpose.PROBE)]


def test_a_verdict_is_kept_for_the_same_text_reader_and_rules_alone() -> None:
    text = "SELECT id FROM orders"
    catalog, policy, reader = CATALOG, ConnectionPolicy(), Reader("acme", "ann")
    verdicts = Verdicts()
    assert verdicts.refusal(text, Dialect.SQLITE, catalog, policy, reader, checks_size=True) is None
    hidden = ConnectionPolicy(tables_allowed=("nothing_else",))
    refused = verdicts.refusal(text, Dialect.SQLITE, catalog, hidden, reader, checks_size=True)
    assert refused is not None
    assert verdicts.refusal(text, Dialect.SQLITE, catalog, hidden, reader, checks_size=True) is refused
    assert verdicts.refusal("DROP TABLE orders", Dialect.SQLITE, catalog, policy, reader, checks_size=True) is not None
    assert verdicts.refusal(
        text, Dialect.SQLITE, Catalog(connection="shop", dialect=Dialect.SQLITE), policy, reader, checks_size=True
    )
