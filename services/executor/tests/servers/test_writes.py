"""Claims on confirmed changes: at most once, one transaction, rolled back beyond what was confirmed, never guessed."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table
from querybus.core.envelope import Attempt, Delivery, Envelope
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Approved, Origin, Outcome
from querybus.core.policy import Access, ConnectionPolicy
from querybus.core.subjects import EventName
from querybus.ops.metrics import Metrics
from querybus_executor.connections.config import BadConnections, ConnectionConfig, parse_connections
from querybus_executor.connections.writers import Writers
from querybus_executor.engines.registry import Engines
from querybus_executor.engines.sqlite.errors import sqlite_failure
from querybus_executor.execute import execute
from querybus_executor.guard_cache import Verdicts
from querybus_executor.ports import Purpose, Rows
from querybus_executor.workers.embedded import child_command
from querybus_executor.workers.embedded_write import EmbeddedWriter
from querybus_executor.workers.pool import Children
from querybus_executor.write import Written, write
from tests.support.database_servers import MariadbServer, PostgresServer
from tests.support.write_processes import writing_processes

NOW = 1_700_000_000_000
CATALOG = Catalog(
    connection="shop",
    dialect=Dialect.SQLITE,
    tables=(Table(name="orders", columns=tuple(Column(name=name, type="INTEGER", kind=ColumnKind.INTEGER) for name in ("id", "amount"))),),
)  # fmt: skip
SQL = "UPDATE orders SET amount = amount + 1 WHERE id < 3"


def approved(sql: str = SQL, rows: int | None = 5, **header: Any) -> Envelope[Approved]:
    values: dict[str, Any] = {
        "event": EventName.APPROVED, "query_id": "q1", "thread_id": "t1", "tenant": "acme", "user": "ann",
        "audience": "analyst", "connection": "shop", "question": "?", "language": "en", "asked_at": NOW,
        "deadline_at": NOW + 10_000, "attempts": (Attempt(origin=Origin.USER, sql=sql),),
        "body": Approved(sql=sql, dialect=Dialect.SQLITE, origin=Origin.USER, tables=("orders",), row_limit=1,
                         checked=("static",), rows_affected_max=rows),
    }  # fmt: skip
    return Envelope[Approved](**(values | header))


@dataclass
class Place:
    """One database that takes changes, its writer, and the store of writes; all in memory."""

    said: Written | Failure | Callable[[], Awaitable[Written | Failure]] = field(
        default_factory=lambda: Written(2, 1.0)
    )
    policy: ConnectionPolicy = field(default_factory=lambda: ConnectionPolicy(access=Access.READ_WRITE))
    dialect: Dialect = Dialect.SQLITE
    begun: set[str] = field(default_factory=set)
    written: list[tuple[str, int]] = field(default_factory=list)
    refreshed: int = 0

    def get(self, connection: str) -> Any:
        return self if connection == "shop" else None

    def by_token(self, name_token: str) -> Any:
        return self.get(name_token)

    async def catalog(self) -> Catalog:
        return CATALOG

    async def refresh(self) -> Catalog:
        self.refreshed += 1
        return CATALOG

    def doubt(self) -> None:
        raise AssertionError("a change of the structure is read again at once")

    async def create(self, query: str) -> bool:
        is_first = query not in self.begun
        self.begun.add(query)
        return is_first

    async def write(self, sql: str, *, rows_affected_max: int, seconds_max: float) -> Written | Failure:
        assert self.begun == {"q1"}, "the key is created before anything begins"
        self.written.append((sql, rows_affected_max))
        return await self.said() if callable(self.said) else self.said


async def make(place: Place, envelope: Envelope[Approved] | None = None, deliveries: int = 1) -> Any:
    delivery = Delivery(sequence=9, deliveries=deliveries, now_ms=NOW)
    return await write(envelope or approved(), delivery, databases=place, writers=place, writes=place)


@pytest.mark.requirement("001.11")
async def test_a_confirmed_change_is_made_and_says_how_many_rows_it_touched() -> None:
    place = Place()
    result = await make(place)
    assert (result.body.outcome, result.body.rows_affected, result.body.sql) == (Outcome.ANSWERED, 2, SQL)
    assert place.written == [(SQL, 5)]
    assert result.attempts[-1].executed


async def test_a_change_that_had_begun_is_never_begun_again() -> None:
    place = Place()
    await make(place)
    again = await make(place, deliveries=2)
    assert again.code is FailureCode.WRITE_OUTCOME_UNKNOWN
    assert len(place.written) == 1


async def test_what_breaks_off_without_a_word_is_not_known() -> None:
    async def broken() -> Written | Failure:
        raise RuntimeError("the driver gave up")

    assert (await make(Place(said=broken))).code is FailureCode.WRITE_OUTCOME_UNKNOWN


async def test_an_interruption_does_not_reach_a_change_that_is_about_to_end() -> None:
    begun = asyncio.Event()

    async def slow() -> Written | Failure:
        begun.set()
        await asyncio.sleep(0.3)
        return Written(2, 300.0)

    task = asyncio.create_task(make(Place(said=slow)))
    await begun.wait()
    task.cancel()
    assert (await task).body.rows_affected == 2


@pytest.mark.parametrize(
    ("envelope", "policy", "code"),
    [
        (approved("DROP TABLE orders"), Access.READ_WRITE, FailureCode.PERMISSION),
        (approved("DELETE FROM orders RETURNING id"), Access.READ_WRITE, FailureCode.SAFETY),
        (approved("SELECT id FROM orders"), Access.READ_WRITE, FailureCode.SAFETY),
        (approved(), Access.READ_ONLY, FailureCode.PERMISSION),
        (approved(rows=1_001), Access.READ_WRITE, FailureCode.PERMISSION),
        (approved(rows=None), Access.READ_WRITE, FailureCode.PERMISSION),
        (approved(connection="other"), Access.READ_WRITE, FailureCode.CONNECTION),
        (approved(deadline_at=NOW + 100), Access.READ_WRITE, FailureCode.TIMEOUT),
    ],
)
async def test_what_is_refused_here_has_not_begun(envelope: Any, policy: Access, code: FailureCode) -> None:
    place = Place(policy=ConnectionPolicy(access=policy))
    result = await make(place, envelope)
    assert result.code is code
    assert (place.begun, place.written) == (set(), [])


async def test_a_change_never_passes_for_a_query() -> None:
    place: Any = Place()
    result = await execute(approved(), Delivery(1, 1, NOW), databases=place, pages=place, verdicts=Verdicts())
    assert isinstance(result, Failure)
    assert result.code is FailureCode.SAFETY


# --- SQLite and DuckDB -------------------------------------------------------------------------------------------


def rows_of(engine: str, path: Path, sql: str = "SELECT id, amount FROM orders ORDER BY id") -> list[tuple[Any, ...]]:
    opened: Any = sqlite3.connect(path) if engine == "sqlite" else duckdb.connect(str(path))
    try:
        return [tuple(item) for item in opened.execute(sql).fetchall()]
    finally:
        opened.close()


def filled(engine: str, folder: Path) -> Path:
    path = folder / f"shop.{engine}"
    opened: Any = sqlite3.connect(path) if engine == "sqlite" else duckdb.connect(str(path))
    opened.execute("CREATE TABLE orders (id INTEGER, amount INTEGER)")
    opened.execute("CREATE TABLE other (id INTEGER)")
    opened.execute("INSERT INTO orders VALUES (1, 10), (2, 20), (3, 30)")
    if engine == "sqlite":
        opened.commit()
    opened.close()
    return path


@dataclass
class Opened:
    """A real file with its writer."""

    engine: str
    path: Path
    writers: Writers
    config: ConnectionConfig
    engines: Engines

    async def write(self, sql: str, rows: int = 5, seconds: float = 60.0) -> Written | Failure:
        writer = self.writers.get("shop")
        assert writer is not None
        return await writer.write(sql, rows_affected_max=rows, seconds_max=seconds)

    def rows(self) -> list[tuple[Any, ...]]:
        return rows_of(self.engine, self.path)


@pytest.fixture(params=["sqlite", pytest.param("duckdb", marks=pytest.mark.slow)])
async def opened(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Opened]:
    path = filled(request.param, tmp_path)
    entry = {"name": "shop", "url": f"{request.param}:///{path}", "access": "full"}
    config = parse_connections({"connections": [entry]})[0]
    engines = Engines(children=1, reserved=1)
    engines.connected([config], metrics=Metrics("t"))
    writers = Writers([config], alone=engines.without_duckdb_readers)
    yield Opened(request.param, path, writers, config, engines)
    await engines.drain()


async def test_a_change_is_committed_and_counted(opened: Opened) -> None:
    result = await opened.write(SQL)
    assert isinstance(result, Written), result
    assert result.rows_affected == 2
    assert opened.rows() == [(1, 11), (2, 21), (3, 30)]


async def test_a_change_of_more_rows_than_confirmed_leaves_everything_as_it_was(opened: Opened) -> None:
    result = await opened.write("DELETE FROM orders", rows=2)
    assert isinstance(result, Failure)
    assert (result.code, result.facts.rule) == (FailureCode.COST, "rows_affected")
    assert len(opened.rows()) == 3


async def test_an_error_of_the_engine_leaves_everything_as_it_was(opened: Opened) -> None:
    result = await opened.write("INSERT INTO orders (id, nope) VALUES (1, 2)")
    assert isinstance(result, Failure)
    assert result.code in (FailureCode.COLUMN_NOT_FOUND, FailureCode.SYNTAX_ERROR)
    assert len(opened.rows()) == 3


async def test_a_change_that_takes_too_long_is_ended_and_nothing_was_changed(opened: Opened) -> None:
    many = (
        "(WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 900000000) SELECT COUNT(*) FROM r)"
    )
    result = await opened.write(f"UPDATE orders SET amount = {many}", seconds=0.3)
    assert isinstance(result, Failure)
    assert result.code is FailureCode.TIMEOUT
    assert opened.rows()[0] == (1, 10)


@pytest.mark.requirement("001.11")
async def test_the_structure_can_be_changed_and_counts_no_rows(opened: Opened) -> None:
    result = await opened.write("CREATE TABLE fresh (id INTEGER)", rows=0)
    assert isinstance(result, Written), result
    assert result.rows_affected is None
    assert rows_of(opened.engine, opened.path, "SELECT COUNT(*) FROM fresh") == [(0,)]
    assert isinstance(await opened.write("DROP TABLE other", rows=0), Written)


async def test_reading_goes_on_around_a_change(opened: Opened) -> None:
    edge = opened.engines.connected([opened.config], metrics=Metrics("t"))[0]

    async def read() -> int:
        result = await edge.run("SELECT id FROM orders", rows_max=9, seconds_max=10, purpose=Purpose.EXECUTE)
        assert isinstance(result, Rows), result
        return result.row_count

    assert await read() == 3
    counts = await asyncio.gather(read(), opened.write("DELETE FROM orders WHERE id = 1"), read(), read())
    assert isinstance(counts[1], Written), counts
    assert await read() == 2


async def test_a_trigger_and_a_cascade_count_as_touched_on_sqlite(tmp_path: Path) -> None:
    path = filled("sqlite", tmp_path)
    with sqlite3.connect(path) as database:
        database.execute("CREATE TRIGGER t AFTER DELETE ON orders BEGIN INSERT INTO other VALUES (old.id); END")
    writer = EmbeddedWriter(Dialect.SQLITE, path, child_command("workers.write_worker"), sqlite_failure)
    result = await writer.write("DELETE FROM orders WHERE id = 1", rows_affected_max=1, seconds_max=60)
    assert isinstance(result, Failure)
    assert "2 rows" in result.detail
    assert len(rows_of("sqlite", path)) == 3


@pytest.mark.parametrize(
    "sql",
    ["INSERT INTO other VALUES (1); DELETE FROM orders", "ATTACH 'x' AS y", "DELETE FROM orders RETURNING id",
     "PRAGMA journal_mode=OFF", "DELETE FROM sqlite_master", "VACUUM", "COMMIT"],
)  # fmt: skip
async def test_without_the_guard_the_process_itself_makes_only_one_plain_change(opened: Opened, sql: str) -> None:
    result = await opened.write(sql)
    assert isinstance(result, Failure), result
    assert result.code is not FailureCode.WRITE_OUTCOME_UNKNOWN
    assert len(opened.rows()) == 3


async def test_a_process_that_dies_before_it_commits_has_changed_nothing(tmp_path: Path) -> None:
    path = filled("sqlite", tmp_path)
    writer = EmbeddedWriter(Dialect.SQLITE, path, child_command("workers.write_worker"), sqlite_failure)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    task = asyncio.ensure_future(writer.write(SQL, rows_affected_max=5, seconds_max=600))
    while not writing_processes():
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.4)
    for pid in writing_processes():
        os.kill(pid, signal.SIGKILL)
    result = await task
    holder.execute("ROLLBACK")
    holder.close()
    assert isinstance(result, Failure)
    assert result.code is FailureCode.TIMEOUT
    assert rows_of("sqlite", path)[0] == (1, 10)


async def test_nobody_reads_a_pool_that_is_lent_as_a_whole() -> None:
    pool = Children(child_command("engines.sqlite.worker"), size=1, reserved=1)
    await pool.start()
    assert pool.open == 2
    async with pool.alone():
        assert pool.open == 0
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1), pool.child():
                pass
    async with pool.child():
        assert pool.open == 1
    await pool.drain()


# --- configuration -----------------------------------------------------------------------------------------------


def test_a_connection_that_is_read_only_has_no_api_for_changes(tmp_path: Path) -> None:
    entry = {"name": "shop", "url": f"sqlite:///{filled('sqlite', tmp_path)}"}
    config = parse_connections({"connections": [entry]})[0]
    assert Writers([config], alone=Engines(children=1, reserved=1).without_duckdb_readers).get("shop") is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"write_url": "postgresql://w@h/d"}, "read_write or full"),
        ({"write_url": "mysql://w@h/d", "access": "full"}, "another role of the same server"),
        ({"access": "full", "policy": {"row_filters": {"t": "a = :nope"}}}, "row filter of t"),
        ({"policy": {"tenants": {"acme": {"row_filters": {"t": "a ="}}}}}, "row filter of t"),
    ],
)
def test_a_configuration_that_cannot_be_meant_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadConnections, match=words):
        parse_connections({"connections": [{"name": "pg", "url": "postgresql://r@h/d", **changes}]})


def test_the_url_for_changes_takes_its_secret_from_the_environment_too() -> None:
    entry = {"name": "pg", "url": "postgresql://r@h/d", "write_url": "postgresql://w:${PW}@h/d", "access": "full"}
    config = parse_connections({"connections": [entry]}, {"PW": "zz"})[0]
    assert (config.writing_url.username, config.writing_url.password) == ("w", "zz")
    assert "zz" not in repr(config)


# --- servers -----------------------------------------------------------------------------------------------------


async def _on_server(url: str, look: Callable[[str], str]) -> None:
    entry = {"name": "shop", "url": url, "access": "full", "role_may_write": True}
    config = parse_connections({"connections": [entry]})[0]
    writers = Writers([config], alone=Engines(children=1, reserved=1).without_duckdb_readers)
    writer = writers.get("shop")
    assert writer is not None
    count = "SELECT COUNT(*) FROM written"
    try:
        assert isinstance(
            await writer.write("CREATE TABLE written (id INT)", rows_affected_max=0, seconds_max=60), Written
        )
        result = await writer.write("INSERT INTO written VALUES (1), (2), (3)", rows_affected_max=3, seconds_max=60)
        assert isinstance(result, Written), result
        assert result.rows_affected == 3
        result = await writer.write("UPDATE written SET id = id WHERE id > 1", rows_affected_max=2, seconds_max=60)
        assert isinstance(result, Written), result
        assert result.rows_affected == 2
        result = await writer.write("DELETE FROM written", rows_affected_max=2, seconds_max=60)
        assert isinstance(result, Failure)
        assert result.facts.rule == "rows_affected"
        result = await writer.write("INSERT INTO written (nope) VALUES (1)", rows_affected_max=2, seconds_max=60)
        assert isinstance(result, Failure)
        assert result.code is FailureCode.COLUMN_NOT_FOUND
        result = await writer.write("DELETE FROM written; DELETE FROM written", rows_affected_max=9, seconds_max=60)
        assert isinstance(result, Failure)
        assert look(count).strip() == "3"
        assert isinstance(await writer.write("DROP TABLE written", rows_affected_max=0, seconds_max=60), Written)
    finally:
        await writers.drain()


@pytest.mark.servers
async def test_on_postgresql_a_change_is_one_transaction(postgres: PostgresServer) -> None:
    postgres.execute("CREATE DATABASE writes;")
    await _on_server(
        postgres.url("postgres", "writes"), lambda sql: postgres.execute(f"\\t on\n{sql};", "writes").split()[-1]
    )


@pytest.mark.servers
async def test_on_mariadb_a_change_is_one_transaction(mariadb: MariadbServer) -> None:
    mariadb.execute(
        "CREATE DATABASE writes; CREATE USER changer@'127.0.0.1'; GRANT ALL ON writes.* TO changer@'127.0.0.1';"
    )
    await _on_server(mariadb.url("changer", "writes"), lambda sql: mariadb.execute(f"USE writes; {sql};"))
