"""The total of a result that was cut: counted when asked for, within its own time and behind the guard; else estimated."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Approved, Origin, ResultColumn
from querybus.core.policy import ConnectionPolicy, Reader
from querybus.ops.metrics import Metrics
from querybus.sql.check import Checked, check, guard
from querybus.sql.limits.row_limit import unbind
from querybus_executor.connections.config import parse_connections
from querybus_executor.engines.registry import Engines
from querybus_executor.ports import Estimate, PageSink, Purpose, Rows
from querybus_executor.results import total
from querybus_executor.results.total import total_of
from tests.support.database_servers import PostgresServer

CATALOG = Catalog(
    connection="shop",
    dialect=Dialect.SQLITE,
    tables=(
        Table(
            name="orders",
            columns=(
                Column(name="id", type="INTEGER", kind=ColumnKind.INTEGER),
                Column(name="shop", type="TEXT", kind=ColumnKind.TEXT),
            ),
        ),
    ),
)


@dataclass
class Counter:
    """A database that counts so many rows, or expects so many, and remembers what it was asked."""

    counted: int | Failure
    expected: int | None = None
    dialect: Dialect = Dialect.SQLITE
    policy: ConnectionPolicy = field(default_factory=ConnectionPolicy)
    asked: list[str] = field(default_factory=list[str])
    explained: list[str] = field(default_factory=list[str])

    async def catalog(self) -> Catalog:
        return CATALOG

    async def refresh(self) -> Catalog:
        return CATALOG

    def doubt(self) -> None: ...

    async def run(
        self, sql: str, *, rows_max: int, seconds_max: float, purpose: Purpose, pages: PageSink | None = None
    ) -> Rows | Failure:
        self.asked.append(sql)
        if isinstance(self.counted, Failure):
            return self.counted
        return Rows((ResultColumn(name="n"),), [[self.counted]], truncated=False, cut_bytes=False, duration_ms=1)

    async def explain(self, sql: str, *, seconds_max: float) -> Estimate | Failure:
        self.explained.append(sql)
        return Estimate(rows=self.expected)


def approved(sql: str, *, limit_asked: int | None = None, dialect: Dialect = Dialect.SQLITE) -> Approved:
    return Approved(
        sql=sql,
        dialect=dialect,
        origin=Origin.MODEL,
        tables=("orders",),
        row_limit=10,
        limit_asked=limit_asked,
        checked=("static",),
    )


def allowed(sql: str) -> Failure | None:
    return guard(sql, Dialect.SQLITE, CATALOG, ConnectionPolicy())


async def reported(
    database: Counter, sql: str = "SELECT id FROM orders ORDER BY id LIMIT 11", limit_asked: int | None = None
) -> object:
    return await total_of(approved(sql, limit_asked=limit_asked), 10, database, allowed, seconds_left=60)


TIMEOUT = Failure.of(FailureCode.TIMEOUT, "too long")


async def test_the_rows_are_counted_without_the_bound_and_without_the_order() -> None:
    database = Counter(5_000)
    assert await reported(database) == (5_000, False)
    assert database.asked == ["SELECT COUNT(*) FROM (SELECT id FROM orders) AS counted"]


async def test_what_cannot_be_counted_in_time_is_a_marked_estimate_and_one_below_what_was_read_is_none() -> None:
    database = Counter(TIMEOUT, expected=70_000)
    assert await reported(database) == (70_000, True)
    assert database.explained == ["SELECT id FROM orders"]
    assert await reported(Counter(TIMEOUT, expected=9)) == (None, False)
    assert await reported(Counter(TIMEOUT)) == (None, False)


@pytest.mark.parametrize("counted", [5_000, TIMEOUT])
async def test_a_limit_of_the_statement_itself_bounds_its_total(counted: int | Failure) -> None:
    assert await reported(Counter(counted, expected=5_000), limit_asked=200) == (200, isinstance(counted, Failure))


async def test_without_time_nothing_is_asked() -> None:
    database = Counter(5_000)
    result = await total_of(approved("SELECT id FROM orders LIMIT 11"), 10, database, allowed, seconds_left=1)
    assert (result, database.asked, database.explained) == ((None, False), [], [])


async def test_what_the_guard_refuses_is_neither_counted_nor_explained() -> None:
    database = Counter(5_000, expected=5_000)
    assert await reported(database, "SELECT name FROM sqlite_master LIMIT 11") == (None, False)
    assert (database.asked, database.explained) == ([], [])


@pytest.mark.parametrize(
    ("sql", "total_asked"),
    [
        ("SELECT id FROM orders", None),
        ("SELECT id FROM orders LIMIT 5", None),
        ("SELECT id FROM orders LIMIT 11", 11),
        ("SELECT id FROM orders LIMIT 900 OFFSET 3", 900),
        ("WITH w AS (SELECT id FROM orders) SELECT id FROM w UNION ALL SELECT id FROM orders ORDER BY 1", None),
    ],
)
async def test_a_count_sees_only_the_rows_that_a_filter_leaves(sql: str, total_asked: int | None) -> None:
    policy, reader = ConnectionPolicy(row_filters={"orders": "shop = :tenant"}), Reader("acme", "ann")
    checked = check(sql, dialect=Dialect.SQLITE, catalog=CATALOG, policy=policy, row_limit=10, reader=reader)
    assert isinstance(checked, Checked), checked
    assert checked.limit_asked == total_asked
    unbound = unbind(checked.sql, Dialect.SQLITE, 11)
    assert unbound is not None
    assert "'acme'" in unbound.counting
    assert guard(unbound.counting, Dialect.SQLITE, CATALOG, policy, reader) is None
    bare = unbound.counting.replace("'acme'", "'other'")
    assert isinstance(guard(bare, Dialect.SQLITE, CATALOG, policy, reader), Failure), (
        "a count is filtered like any read"
    )


async def counted_and_estimated(
    url: str, series: str, dialect: Dialect, monkeypatch: pytest.MonkeyPatch
) -> Sequence[object]:
    entry = {"name": "it", "url": url, "role_may_write": True}
    engines = Engines(children=2, reserved=1)
    (database,) = engines.connected(parse_connections({"connections": [entry]}), metrics=Metrics("t"))
    await engines.start()

    async def of(sql: str) -> tuple[int | None, bool]:
        return await total_of(approved(sql, dialect=dialect), 10, database, lambda _: None, seconds_left=60)

    # A busy machine must not make an estimate of what is to be counted.
    monkeypatch.setattr(total, "COUNT_SECONDS_MAX", 30.0)
    monkeypatch.setattr(total, "ESTIMATE_SECONDS_MAX", 20.0)
    try:
        small = await of(f"SELECT a.id FROM item AS a, {series.format(700)} LIMIT 11")
        monkeypatch.setattr(total, "COUNT_SECONDS_MAX", 0.5)
        endless = await of(
            f"SELECT a.id FROM item AS a, {series.format(900_000)}, item AS b, {series.format(900_001)} LIMIT 11"
        )
        return small, endless
    finally:
        await engines.drain()


async def test_sqlite_counts_and_has_no_estimate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as opened:
        opened.executescript("CREATE TABLE item (id INT); INSERT INTO item VALUES (1), (2), (3)")
    series = "(WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT {0}) SELECT n FROM r) AS s{0}"
    result = await counted_and_estimated(f"sqlite:///{tmp_path}/a.sqlite", series, Dialect.SQLITE, monkeypatch)
    assert result == ((2_100, False), (None, False))


@pytest.mark.servers
async def test_postgresql_counts_and_else_estimates(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    script = (
        "DROP TABLE IF EXISTS item; CREATE TABLE item (id INT); INSERT INTO item VALUES (1), (2), (3); ANALYZE item;"
    )
    await asyncio.to_thread(postgres.execute, script)
    series = "(SELECT n FROM GENERATE_SERIES(1, {0}) AS g(n)) AS s{0}"
    small, endless = await counted_and_estimated(postgres.url(), series, Dialect.POSTGRESQL, monkeypatch)
    assert small == (2_100, False)
    assert isinstance(endless, tuple)
    assert endless[1] is True
    assert endless[0] > 1_000_000_000
