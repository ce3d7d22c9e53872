"""What every edge promises, tried on every engine that runs here: limits, pages, codes, cancels, waiting.

What only one engine can do, and its own attacks, stand in the engine's own file.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from sqlglot import exp

from querybus.bus.stores.pages import Batch, cells_of
from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Scalar
from querybus.ops.metrics import Metrics
from querybus_executor.connections.config import parse_connections
from querybus_executor.connections.databases import ConnectedDatabase
from querybus_executor.engines.registry import Engines
from querybus_executor.ports import Edge, Estimate, Purpose, Rows
from querybus_semantic.compiling.dates import days_between, hour_of_day, time_between, weekday
from tests.support.database_servers import ClickhouseServer, clickhouse_server
from tests.support.engine_evidence import ON_CLICKHOUSE, ON_DUCKDB, ON_MARIADB, ON_POSTGRES, ON_SQLITE

ENGINES = [
    pytest.param("sqlite", marks=ON_SQLITE),
    pytest.param("duckdb", marks=ON_DUCKDB),
    pytest.param("postgres", marks=[pytest.mark.servers, ON_POSTGRES]),
    pytest.param("mariadb", marks=[pytest.mark.servers, ON_MARIADB]),
    pytest.param("clickhouse", marks=[pytest.mark.servers, ON_CLICKHOUSE]),
]
SERIES = {
    "sqlite": "(WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT {0}) SELECT n FROM r) AS s",
    "duckdb": "(SELECT range + 1 AS n FROM range({0})) AS s",
    "postgres": "(SELECT n FROM generate_series(1, {0}) AS g(n)) AS s",
    "mariadb": "(SELECT seq AS n FROM seq_1_to_{0}) AS s",
    "clickhouse": "(SELECT number + 1 AS n FROM numbers({0})) AS s",
}
ENDLESS = {
    "sqlite": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
    "duckdb": "SELECT count(*) FROM range(10000000000) AS a, range(1000000) AS b WHERE a.range % 7 = b.range % 5",
    "postgres": "SELECT count(*) FROM generate_series(1, 1000000) AS a, generate_series(1, 1000000) AS b",
    "mariadb": "SELECT count(*) FROM seq_1_to_100000000 AS a, seq_1_to_1000000 AS b WHERE a.seq % 7 = b.seq % 5",
    "clickhouse": "SELECT number FROM numbers(1000000000000) WHERE sipHash64(number) = 1",
}
CODES = [
    ("SELECT nosuch FROM item", FailureCode.COLUMN_NOT_FOUND),
    ("SELECT * FROM nosuch", FailureCode.TABLE_NOT_FOUND),
    ("SELECT FROM WHERE", FailureCode.SYNTAX_ERROR),
    ("SELECT nosuchfunction(id) FROM item", FailureCode.FUNCTION_NOT_FOUND),
    ("SELECT z.id FROM item", None),
    ("SELECT id FROM item WHERE sum(id) > 1", FailureCode.AGGREGATE_MISUSE),
]


@dataclass
class Subject:
    """One engine's database with a small table, as the executor opens it."""

    name: str
    database: ConnectedDatabase
    metrics: Metrics

    @property
    def edge(self) -> Edge:
        return self.database.edge

    def series(self, rows: int) -> str:
        return SERIES[self.name].format(rows)

    async def run(
        self,
        sql: str,
        rows_max: int = 100,
        seconds_max: float = 20,
        pages: Any = None,
        purpose: Purpose = Purpose.EXECUTE,
    ) -> Rows | Failure:
        return await self.database.run(sql, rows_max=rows_max, seconds_max=seconds_max, purpose=purpose, pages=pages)

    async def idle(self) -> None:
        async with asyncio.timeout(60):
            while (load := self.edge.load()).idle < load.open:
                await asyncio.sleep(0.01)


@dataclass
class Shelf:
    """Keeps pages in memory."""

    first_rows: int = 100
    rows: list[tuple[Scalar, ...]] = field(default_factory=list[tuple[Scalar, ...]])

    async def put(self, batches: Sequence[Batch]) -> bool:
        for batch in batches:
            self.rows += cells_of(batch)
        return True


@pytest.fixture(scope="module")
def clickhouse() -> Iterator[ClickhouseServer]:
    with clickhouse_server() as running:
        yield running


def made(name: str, folder: Path, request: pytest.FixtureRequest) -> str:
    """Make the table `item` (1, 'a'), (2, 'b'), (3, NULL) and return the URL of its database."""
    script = ["CREATE TABLE item (id INT, name VARCHAR(20))", "INSERT INTO item VALUES (1, 'a'), (2, 'b'), (3, NULL)"]
    if name == "sqlite":
        with closing(sqlite3.connect(folder / "a.sqlite")) as opened:
            opened.executescript(";".join(script))
        return f"sqlite:///{folder}/a.sqlite"
    if name == "duckdb":
        import duckdb

        with duckdb.connect(str(folder / "a.duckdb")) as opened:
            for item in script:
                opened.execute(item)
        return f"duckdb:///{folder}/a.duckdb"
    server: Any = request.getfixturevalue(name)
    if name == "clickhouse":
        server.execute("CREATE DATABASE IF NOT EXISTS contract")
        server.execute("DROP TABLE IF EXISTS contract.item")
        server.execute("CREATE TABLE contract.item (id Int32, name Nullable(String)) ENGINE = MergeTree ORDER BY id")
        server.execute("INSERT INTO contract.item VALUES (1, 'a'), (2, 'b'), (3, NULL)")
        return str(server.url("contract"))
    if name == "postgres":
        server.execute(
            "DROP DATABASE IF EXISTS contract; CREATE DATABASE contract;\n\\c contract\n" + ";".join(script) + ";"
        )
        return str(server.url(database="contract"))
    server.execute("DROP DATABASE IF EXISTS contract; CREATE DATABASE contract; USE contract;" + ";".join(script) + ";")
    return str(server.url("root", "contract"))


@pytest.fixture(params=ENGINES)
async def subject(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Subject]:
    name = str(request.param)
    url = await asyncio.to_thread(made, name, tmp_path, request)
    entry = {"name": "it", "url": url, "role_may_write": True, "pool": {"size": 4, "overflow": 0}}
    engines, metrics = Engines(children=4, reserved=1), Metrics("t")
    (database,) = engines.connected(parse_connections({"connections": [entry]}), metrics=metrics)
    await engines.start()
    yield Subject(name, database, metrics)
    await engines.drain()


async def test_it_is_the_engine_that_the_page_names(subject: Subject) -> None:
    import duckdb

    if subject.name == "duckdb":
        assert duckdb.__version__.startswith("2.0"), "its edge refuses version()"
        return
    asked = "SELECT sqlite_version()" if subject.name == "sqlite" else "SELECT version()"
    result = await subject.run(asked)
    assert isinstance(result, Rows), result
    version = str(result.rows[0][0])
    named = {"sqlite": sqlite3.sqlite_version, "postgres": "PostgreSQL 18", "mariadb": "MariaDB", "clickhouse": "2"}
    assert named[subject.name] in version


async def test_rows_come_in_order_with_their_columns(subject: Subject) -> None:
    result = await subject.run("SELECT id, name FROM item ORDER BY id")
    assert isinstance(result, Rows), result
    assert [tuple(row) for row in result.rows] == [(1, "a"), (2, "b"), (3, None)]
    assert [column.name for column in result.columns] == ["id", "name"]
    nothing = await subject.run("SELECT id FROM item WHERE id > 9")
    assert isinstance(nothing, Rows)
    assert (list(nothing.rows), [column.name for column in nothing.columns]) == ([], ["id"])


async def test_one_row_more_only_shows_that_there_are_more(subject: Subject) -> None:
    cut, whole = (
        await subject.run("SELECT id FROM item", rows_max=2),
        await subject.run("SELECT id FROM item", rows_max=3),
    )
    assert isinstance(cut, Rows)
    assert isinstance(whole, Rows)
    assert (cut.row_count, cut.truncated, whole.row_count, whole.truncated) == (2, True, 3, False)
    for rows in (500, 501):
        many = await subject.run(f"SELECT n FROM {subject.series(rows)}", rows_max=500)
        assert isinstance(many, Rows), many
        assert (many.row_count, many.truncated, many.cut_bytes) == (500, rows > 500, False)


async def test_bytes_are_cut_at_their_limit(subject: Subject) -> None:
    engines = Engines(children=1, reserved=1, bytes_max=10_000)
    (database,) = engines.connected([subject.database.config], metrics=Metrics("t"))
    wide = "printf('%.*c', 900, 'x')" if subject.name == "sqlite" else "repeat('x', 900)"
    sql = f"SELECT {wide} FROM {subject.series(400)}"
    result = await database.run(sql, rows_max=500, seconds_max=20, purpose=Purpose.EXECUTE)
    await engines.drain()
    assert isinstance(result, Rows), result
    assert (result.row_count, result.truncated, result.cut_bytes) == (11, True, True)


async def test_many_rows_come_whole_and_in_order(subject: Subject) -> None:
    result = await subject.run(f"SELECT n FROM {subject.series(30_000)} ORDER BY n", rows_max=30_000)
    assert isinstance(result, Rows), result
    assert [int(str(row[0])) for row in result.rows] == list(range(1, 30_001))
    assert result.truncated is False


async def test_many_rows_become_pages_and_only_the_first_ones_are_held(subject: Subject) -> None:
    shelf = Shelf()
    result = await subject.run(f"SELECT n, n * 2 AS twice FROM {subject.series(20_000)}", rows_max=20_000, pages=shelf)
    assert isinstance(result, Rows), result
    assert (result.row_count, len(result.rows), result.truncated) == (20_000, 100, False)
    assert sorted(int(str(row[0])) for row in shelf.rows) == list(range(1, 20_001))
    assert list(result.rows) == shelf.rows[:100]
    assert all(row[1] == 2 * int(str(row[0])) for row in shelf.rows)


@pytest.mark.parametrize(("sql", "code"), CODES, ids=[code[0] for code in CODES])
async def test_an_error_has_the_code_of_its_class(subject: Subject, sql: str, code: FailureCode | None) -> None:
    result = await subject.run(sql)
    assert isinstance(result, Failure)
    assert result.code in ({code} if code else {FailureCode.MISSING_ALIAS, FailureCode.COLUMN_NOT_FOUND})


async def test_nothing_that_writes_gets_through(subject: Subject) -> None:
    for name in ("INSERT INTO item VALUES (4, 'x')", "DELETE FROM item", "DROP TABLE item", "CREATE TABLE x (a INT)"):
        assert isinstance(await subject.run(name), Failure), name
    assert isinstance(await subject.run("SELECT 1; DELETE FROM item"), Failure)
    result = await subject.run("SELECT count(*) FROM item")
    assert isinstance(result, Rows)
    assert result.rows[0][0] == 3


async def test_a_statement_ends_at_its_limit_and_the_next_one_runs(subject: Subject) -> None:
    await subject.run("SELECT 1")
    result = await subject.run(ENDLESS[subject.name], seconds_max=1)
    assert isinstance(result, Failure)
    assert result.code is FailureCode.TIMEOUT
    assert isinstance(await subject.run("SELECT 1"), Rows)
    assert 'querybus_database_timeouts_total{connection="it"} 1.0' in subject.metrics.exposition().decode()


async def test_a_cancel_ends_the_statement_in_the_database(subject: Subject) -> None:
    await subject.run("SELECT 1")
    task = asyncio.create_task(subject.run(ENDLESS[subject.name], seconds_max=3_600))
    await asyncio.sleep(0.7)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    await subject.idle()
    assert isinstance(await subject.run("SELECT 1"), Rows)


async def test_an_explain_says_what_is_wrong_without_running(subject: Subject) -> None:
    good = await subject.database.explain("SELECT id FROM item", seconds_max=20)
    bad = await subject.database.explain("SELECT id FROM nosuch", seconds_max=20)
    assert isinstance(good, Estimate), good
    assert isinstance(bad, Failure)
    assert bad.code is FailureCode.TABLE_NOT_FOUND


async def test_what_asks_for_a_plan_gives_it_as_rows_and_runs_nothing(subject: Subject) -> None:
    asking = "EXPLAIN QUERY PLAN" if subject.name == "sqlite" else "EXPLAIN"
    if subject.name == "clickhouse":
        refused = await subject.run(f"{asking} SELECT id FROM item")
        assert isinstance(refused, Failure), "its edge takes queries alone, so the validator asks it for none"
        return
    plan = await subject.run(f"{asking} SELECT id FROM item WHERE id > 1")
    assert isinstance(plan, Rows), plan
    assert plan.rows
    assert any("item" in str(cell).lower() for row in plan.rows for cell in row)
    await subject.run(f"{asking} DELETE FROM item")
    left = await subject.run("SELECT id FROM item")
    assert isinstance(left, Rows)
    assert len(left.rows) == 3


async def test_a_full_pool_is_waited_for_and_never_by_an_explain(subject: Subject) -> None:
    await subject.run("SELECT 1")
    await subject.database.explain("SELECT id FROM item", seconds_max=20)
    slow = [asyncio.create_task(subject.run(ENDLESS[subject.name], seconds_max=60)) for _ in range(4)]
    await asyncio.sleep(0.3)
    late = asyncio.create_task(subject.run("SELECT 1", seconds_max=60))
    in_vain = await subject.run("SELECT 1", seconds_max=0.1)
    assert isinstance(in_vain, Failure)
    assert in_vain.code is FailureCode.TIMEOUT
    assert subject.edge.load().waiting == 1
    explained = await subject.database.explain("SELECT id FROM item", seconds_max=20)
    assert isinstance(explained, Estimate)
    assert not any(task.done() for task in (*slow, late)), "it came while all others worked or waited"
    for task in slow:
        task.cancel()
    assert isinstance(await late, Rows)
    await asyncio.wait(slow)
    said = subject.metrics.exposition().decode()
    assert 'querybus_database_wait_seconds_count{connection="it"}' in said


async def test_a_slow_database_does_not_starve_another_of_its_kind(tmp_path: Path) -> None:
    entries: list[dict[str, Any]] = []
    for name in ("slow", "other"):
        with closing(sqlite3.connect(tmp_path / f"{name}.sqlite")) as opened:
            opened.execute("CREATE TABLE item (id INT)")
        entries.append({"name": name, "url": f"sqlite:///{tmp_path}/{name}.sqlite"})
    engines = Engines(children=1, reserved=1)
    slow, other = engines.connected(parse_connections({"connections": entries}), metrics=Metrics("t"))
    tasks = [
        asyncio.create_task(slow.run(ENDLESS["sqlite"], rows_max=1, seconds_max=200, purpose=Purpose.EXECUTE))
        for _ in range(3)
    ]
    await asyncio.sleep(0.3)
    result = await other.run("SELECT count(*) FROM item", rows_max=1, seconds_max=100, purpose=Purpose.EXECUTE)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await engines.drain()
    assert isinstance(result, Rows), result


async def test_weekdays_hours_and_times_between_are_worked_out_alike(subject: Subject) -> None:
    dialect = {"postgres": Dialect.POSTGRESQL, "mariadb": Dialect.MYSQL}.get(subject.name) or Dialect(subject.name)

    def written(text: str, kind: Literal["DATE", "TIMESTAMP"]) -> exp.Expr:
        literal = exp.Literal.string(text)
        return (
            literal
            if dialect is Dialect.SQLITE
            else exp.cast(literal, "DATETIME" if dialect is Dialect.MYSQL else kind)
        )

    monday, sunday = (weekday(written(day, "DATE"), dialect) for day in ("2025-02-10", "2025-02-16"))
    hour = hour_of_day(written("2025-02-10 20:59:00", "TIMESTAMP"), dialect)
    days = days_between(written("2025-01-30", "DATE"), written("2025-03-01", "DATE"), dialect)
    start, day_after = (written(f"2025-02-{day} 20:15:00", "TIMESTAMP") for day in ("10", "11"))
    minutes = time_between(start, day_after, "minutes", dialect)
    hours = time_between(start, written("2025-02-11 21:45:00", "TIMESTAMP"), "hours", dialect)
    sql = exp.select(monday[0], sunday[0], hour, days, minutes, hours).sql(dialect=dialect.value)
    result = await subject.run(sql)
    assert isinstance(result, Rows), (sql, result)
    figures = [round(float(str(cell)), 3) for cell in result.rows[0]]
    assert figures == [monday[1], sunday[1] + 6, 20, 30, 1440, 25.5]
