"""Measures the executor's edges against their bare drivers, engine by engine, on the same machine in the same run.

A tiny statement against the driver alone, the process hop included; 100,000 rows as pages in a real JetStream against
the driver, Arrow encoding and a plain publish of the same number of bytes; what 1,000,000 rows take of memory; 200
statements at once on a pool of ten; how long a cancelled statement keeps its session; the catalog of 10,000 tables, read
as the executor reads it and put into the store, with the longest that anything else in the process waited meanwhile and
the longest that somebody waited who writes to the same SQLite file. Statements differ from call to call, so that nothing
is answered from a cache of texts. A server that is missing is left out and named.
Prints a table and writes build/bench/executor.json. With names of engines as arguments only those are measured.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import platform
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import _pytest.outcomes

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.connection import connect
from querybus.bus.stores.catalogs import CatalogStore
from querybus.bus.stores.pages import PageStore, batch_of, encode_batches
from querybus.core.catalog import Catalog, ColumnKind
from querybus.core.messages import ResultColumn
from querybus.core.policy import ConnectionPolicy
from querybus.core.subjects import StageName, page_subject, token
from querybus.core.topology import Sizes
from querybus.ops.metrics import Metrics
from querybus_executor.connections.config import ConnectionConfig, parse_connections
from querybus_executor.engines.registry import Engines
from querybus_executor.engines.server import Server
from querybus_executor.ports import PageSink, Purpose, Rows, Run
from querybus_executor.results.pages import ResultPages, RunPages
from querybus_executor.workers.embedded import Embedded
from querybus_executor.workers.pool import Children

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.database_servers import clickhouse_server, mariadb_server, postgres_server

ROOT = Path(__file__).resolve().parents[1]
ROWS = 100_000
MILLION = 1_000_000
ROUNDS = 400
BULK_ROUNDS = 5
PAGE_ROWS = 12_000
TABLES = 10_000
TINY = "SELECT name FROM item WHERE id = {}"
MANY = "SELECT id, name, price, day FROM item"
ENGINES = ("sqlite", "duckdb", "postgres", "mariadb", "clickhouse")
REQUIRED = {
    f"{engine}_{name}": limit
    for engine in ENGINES
    for name, limit in (
        ("tiny_more_ms", 0.5),
        ("rows_100k_ratio", 1.5),
        ("million_more_mb", 100.0),
        ("failed_of_200", 0.0),
        ("cancel_worst_ms", 300.0),
        ("tables_10k_more_mb", 1_000.0),
    )
} | {"sqlite_child_mb": 50.0}

Pages = list[bytes]


@dataclass(frozen=True)
class Engine:
    """One engine's edge beside its bare driver. `bulk` gives the rows of MANY as encoded pages."""

    name: str
    edge: Embedded | Server
    tiny: Callable[[str], Awaitable[object]]
    bulk: Callable[[], Awaitable[Pages]]
    million: str
    endless: str
    many_tables: Callable[[], str] | None
    """Makes a database of TABLES tables and returns its URL."""
    children: Children | None = None


@dataclass(frozen=True)
class Bus:
    """A bus with its streams, seen as the executor sees it."""

    connection: Any

    def pages(self) -> RunPages:
        return ResultPages(PageStore(self)).writer(Run("bench", str(uuid.uuid4()), "1-1"), 100)

    async def publish(self, pages: Pages) -> None:
        """Send the same bytes with the plain client, as many at once as the executor does."""
        query, stream = str(uuid.uuid4()), self.connection.jetstream()
        free = asyncio.Semaphore(4)

        async def send(number: int, data: bytes) -> None:
            async with free:
                await stream.publish(page_subject(token("bench"), token(query), "1-1", number), data)

        await asyncio.gather(*(send(number, data) for number, data in enumerate(pages, start=1)))


@contextlib.asynccontextmanager
async def running_bus(folder: Path) -> AsyncGenerator[Bus]:
    async with EmbeddedNats(store=folder / "bus", sizes=Sizes(results_bytes_max=2 << 30)) as bus:
        await bus.migrate()
        connection = await connect(bus.url, StageName.EXECUTOR, bus.password(StageName.EXECUTOR))
        try:
            yield Bus(connection)
        finally:
            await connection.close()


def encoded(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Pages:
    """Return the rows as Arrow pages, as anybody would make them."""
    columns = [ResultColumn(name=name) for name in names]
    return [
        encode_batches([batch_of(columns, rows[start : start + PAGE_ROWS])]) for start in range(0, len(rows), PAGE_ROWS)
    ]


async def run(engine: Engine, sql: str, rows_max: int = 100, pages: PageSink | None = None) -> Rows:
    result = await engine.edge.run(sql, rows_max=rows_max, seconds_max=60.0, purpose=Purpose.EXECUTE, pages=pages)
    assert isinstance(result, Rows), result
    return result


async def to_pages(engine: Engine, bus: Bus, sql: str, rows_max: int) -> None:
    async with bus.pages() as pages:
        result = await run(engine, sql, rows_max, pages)
        address = await pages.kept()
    assert address is not None
    assert sum(address.rows) == result.row_count == rows_max, (address.rows, result.row_count)


async def measure(engine: Engine, bus: Bus) -> dict[str, float]:
    figures: dict[str, float] = {}
    numbers = count(1)
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(ROUNDS + 50):
        sql = TINY.format(next(numbers))
        for call, kept in zip((partial(run, engine, sql), partial(engine.tiny, sql)), times, strict=True):
            begun = time.perf_counter()
            await call()
            if number >= 50:
                kept.append((time.perf_counter() - begun) * 1_000)
    tiny, floor = statistics.median(times[0]), statistics.median(times[1])
    figures |= {"tiny_ms": tiny, "tiny_bare_ms": floor, "tiny_more_ms": tiny - floor}

    bulk: list[tuple[float, float]] = []
    for _ in range(BULK_ROUNDS):
        begun = time.perf_counter()
        await to_pages(engine, bus, MANY, ROWS)
        ours = time.perf_counter() - begun
        begun = time.perf_counter()
        await bus.publish(await engine.bulk())
        bulk.append((ours * 1_000, (time.perf_counter() - begun) * 1_000))
    ours, bare = (min(item[side] for item in bulk) for side in (0, 1))
    figures |= {"rows_100k_ms": ours, "rows_100k_bare_ms": bare, "rows_100k_ratio": ours / bare}

    gc.collect()
    before = resident_mb(os.getpid())
    with Peak(os.getpid()) as peak:
        begun = time.perf_counter()
        await to_pages(engine, bus, engine.million, MILLION)
        figures["million_s"] = time.perf_counter() - begun
    figures["million_more_mb"] = peak.mb - before
    if engine.children is not None:
        figures["child_mb"] = max(resident_mb(pid) for pid in engine.children.pids)

    begun = time.perf_counter()
    crowd = await asyncio.gather(*(run(engine, TINY.format(n)) for n in range(200)), return_exceptions=True)
    figures["crowd_of_200_ms"] = (time.perf_counter() - begun) * 1_000
    figures["failed_of_200"] = float(sum(not isinstance(item, Rows) for item in crowd))

    cancels: list[float] = []
    for _ in range(5):
        task = asyncio.create_task(run(engine, engine.endless))
        await asyncio.sleep(0.4)
        begun = time.perf_counter()
        task.cancel()
        await asyncio.wait([task])
        while (load := engine.edge.load()).idle < load.open:
            await asyncio.sleep(0.002)
        cancels.append((time.perf_counter() - begun) * 1_000)
    figures |= {"cancel_median_ms": statistics.median(cancels), "cancel_worst_ms": max(cancels)}
    if engine.many_tables is not None:
        figures |= await measure_catalog(await asyncio.to_thread(engine.many_tables), bus)
    return {f"{engine.name}_{name}": value for name, value in figures.items()}


def tables(*, keys: bool = True, tail: str = "") -> Iterator[str]:
    """Give a statement for each table of a wide database and one for its rows; each table refers to the one before."""
    for n in range(TABLES):
        above = f" REFERENCES t{n - 1:05d}" if keys and n else ""
        yield (
            f"CREATE TABLE t{n:05d} (id INTEGER PRIMARY KEY, above INTEGER{above}, name VARCHAR(40), status VARCHAR(10)"
            f" NOT NULL, price DECIMAL(10,2), day DATE, note VARCHAR(200), active BOOLEAN){tail}"
        )
        yield (
            f"INSERT INTO t{n:05d} VALUES (1, NULL, 'one', 'open', 1.5, '2026-01-01', 'x', true),"
            " (2, NULL, 'two', 'open', 2.5, '2026-01-02', NULL, false), (3, NULL, 'three', 'done', 3.5, NULL, 'y', true)"
        )


def scripts(statements: Sequence[str]) -> Iterator[str]:
    """Give the statements as scripts of a size that a server's client takes."""
    for start in range(0, len(statements), 2_000):
        yield ";\n".join(statements[start : start + 2_000]) + ";\n"


async def measure_catalog(url: str, bus: Bus) -> dict[str, float]:
    """Read the catalog of a wide database as the executor does, then put it into the store."""
    engines = Engines(children=1, reserved=1)
    database = engines.connected([configured(url)], metrics=Metrics("bench"))[0]
    gc.collect()
    before = resident_mb(os.getpid())
    with Peak(os.getpid()) as peak, Stall() as stall, Writer(url) as writer:
        begun = time.perf_counter()
        catalog = await database.refresh()
        seconds = time.perf_counter() - begun
    await engines.drain()
    assert isinstance(catalog, Catalog), catalog
    assert len(catalog.tables) == TABLES
    text = [column for table in catalog.tables for column in table.columns if column.kind is ColumnKind.TEXT]
    begun = time.perf_counter()
    await CatalogStore(bus).write(catalog)
    figures = {
        "tables_10k_s": seconds,
        "tables_10k_more_mb": peak.mb - before,
        "tables_10k_with_values_percent": 100 * sum(bool(character.values) for character in text) / len(text),
        "tables_10k_loop_waited_ms": stall.worst_ms,
        "tables_10k_stored_s": time.perf_counter() - begun,
    }
    if writer.writes:
        figures["tables_10k_writer_waited_ms"] = writer.worst_ms
    return figures


class Stall:
    """The longest that the loop kept a task waiting while the block ran."""

    def __init__(self) -> None:
        self.worst_ms = 0.0
        self._task: asyncio.Task[None] | None = None

    def __enter__(self) -> Stall:
        self._task = asyncio.get_running_loop().create_task(self._watch())
        return self

    def __exit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()

    async def _watch(self) -> None:
        while True:
            begun = time.perf_counter()
            await asyncio.sleep(0.01)
            self.worst_ms = max(self.worst_ms, (time.perf_counter() - begun) * 1_000 - 10)


class Writer:
    """Writes to a SQLite file every few milliseconds, in a process of its own, and knows how long it had to wait."""

    _PROGRAM = (
        "import sqlite3, sys, time\n"
        "file = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)\n"
        "file.execute('PRAGMA synchronous=OFF')\n"
        "while True:\n"
        "    begun = time.perf_counter()\n"
        "    file.execute('UPDATE t00000 SET price = price + 1')\n"
        "    print((time.perf_counter() - begun) * 1000, flush=True)\n"
        "    time.sleep(0.005)\n"
    )

    def __init__(self, url: str) -> None:
        self._path = url.removeprefix("sqlite:///") if url.startswith("sqlite:///") else None
        self._running: subprocess.Popen[str] | None = None
        self.writes = 0
        self.worst_ms = 0.0

    def __enter__(self) -> Writer:
        if self._path is not None:
            command = [sys.executable, "-c", self._PROGRAM, self._path]
            self._running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._running is None:
            return
        self._running.terminate()
        waited = [float(line) for line in self._running.communicate()[0].splitlines()]
        self.writes, self.worst_ms = len(waited), max(waited, default=0.0)


class Peak:
    """The most memory that a process had while the block ran."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._ended = threading.Event()
        self._watching = threading.Thread(target=self._watch, daemon=True)
        self.mb = 0.0

    def __enter__(self) -> Peak:
        self._watching.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._watching.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.02):
            self.mb = max(self.mb, resident_mb(self._pid))


def resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/statm")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20 if status.exists() else 0.0


def configured(url: str) -> ConnectionConfig:
    entry = {"name": "bench", "url": url, "role_may_write": True, "pool": {"size": 10, "overflow": 0}}
    return parse_connections({"connections": [entry]})[0]


@contextlib.asynccontextmanager
async def sqlite_engine(folder: Path) -> AsyncGenerator[Engine]:
    from querybus_executor.engines.sqlite.edge import sqlite_children, sqlite_edge

    path = folder / "shop.sqlite"
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL, day TEXT)")
        rows = ((n, f"item number {n}", n * 0.25, f"2026-{n % 12 + 1:02d}-{n % 28 + 1:02d}") for n in range(ROWS))
        made.executemany("INSERT INTO item VALUES (?, ?, ?, ?)", rows)
        made.commit()
    children = sqlite_children(size=10, reserved=1)
    await children.start()
    bare = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, check_same_thread=False)

    def bulk() -> Pages:
        cursor = bare.execute(MANY)
        return encoded([column[0] for column in cursor.description], cursor.fetchall())

    def many_tables() -> str:
        wide = folder / "wide.sqlite"
        with closing(sqlite3.connect(wide)) as made:
            for statement in tables():
                made.execute(statement)
            made.commit()
        return f"sqlite:///{wide}"

    yield Engine(
        "sqlite",
        sqlite_edge(children, path, ConnectionPolicy(), bytes_max=1 << 30),
        lambda sql: asyncio.to_thread(lambda: bare.execute(sql).fetchmany(101)),
        lambda: asyncio.to_thread(bulk),
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n, 'row number ' || n AS name FROM r"
        f" LIMIT {MILLION}",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
        many_tables,
        children,
    )
    await children.drain()
    bare.close()


@contextlib.asynccontextmanager
async def duckdb_engine(folder: Path) -> AsyncGenerator[Engine]:
    import duckdb
    import pyarrow as pa

    from querybus_executor.engines.duckdb.edge import duckdb_children, duckdb_edge

    path = folder / "shop.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute(
            "CREATE TABLE item AS SELECT range AS id, 'item number ' || range AS name, range * 0.25::DOUBLE AS price,"
            f" '2026-01-' || (range % 28 + 1) AS day FROM range({ROWS})"
        )
    children = duckdb_children(size=10, reserved=1)
    await children.start()
    bare = duckdb.connect(str(path), read_only=True)
    bare.execute("SET threads = 2")

    def bulk() -> Pages:
        # Its fastest way: what it has is Arrow already.
        reader: Any = bare.sql(MANY).to_arrow_reader(PAGE_ROWS)
        pages: Pages = []
        for batch in reader:
            sink: Any = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            pages.append(sink.getvalue().to_pybytes())
        return pages

    def many_tables() -> str:
        wide = folder / "wide.duckdb"
        with duckdb.connect() as made:
            # Of the usual size of a block the file would be five gigabytes.
            made.execute(f"ATTACH '{wide}' AS wide (BLOCK_SIZE 16384)")
            made.execute("USE wide")
            made.execute("BEGIN")
            for statement in tables():
                made.execute(statement)
            made.execute("COMMIT")
        return f"duckdb:///{wide}"

    yield Engine(
        "duckdb",
        duckdb_edge(children, path, ConnectionPolicy(), bytes_max=1 << 30),
        lambda sql: asyncio.to_thread(lambda: bare.execute(sql).fetchmany(101)),
        lambda: asyncio.to_thread(bulk),
        f"SELECT range AS n, 'row number ' || range AS name FROM range({MILLION})",
        "SELECT count(*) FROM range(10000000000) AS a, range(1000000) AS b WHERE a.range % 7 = b.range % 5",
        many_tables,
        children,
    )
    await children.drain()
    bare.close()


@contextlib.asynccontextmanager
async def postgres_engine(_folder: Path) -> AsyncGenerator[Engine]:
    import asyncpg

    from querybus_executor.engines.postgres.edge import postgres_server as edge_of

    with postgres_server() as running:
        running.execute(
            "CREATE TABLE item AS SELECT n AS id, 'item number ' || n AS name, n * 0.25::float8 AS price,"
            f" '2026-01-' || (n % 28 + 1) AS day FROM generate_series(0, {ROWS - 1}) AS n;"
            " CREATE UNIQUE INDEX ON item (id); ANALYZE item;"
        )
        bare = await asyncpg.connect(running.url())

        async def fetch(sql: str) -> Any:
            # What a careful caller does: a read-only transaction of its own, a prepared statement.
            async with bare.transaction(readonly=True):
                return await bare.fetch(sql)

        async def bulk() -> Pages:
            rows = await fetch(MANY)
            return await asyncio.to_thread(encoded, ["id", "name", "price", "day"], rows)

        def many_tables() -> str:
            running.execute("CREATE DATABASE wide")
            for script in scripts(list(tables())):
                running.execute(f"BEGIN;\n{script}COMMIT;", "wide")
            return running.url(database="wide")

        edge = edge_of(configured(running.url()), bytes_max=1 << 30, metrics=Metrics("bench"))
        yield Engine(
            "postgres",
            edge,
            fetch,
            bulk,
            f"SELECT n, 'row number ' || n AS name FROM generate_series(1, {MILLION}) AS n",
            "SELECT count(*) FROM generate_series(1, 1000000) AS a, generate_series(1, 1000000) AS b",
            many_tables,
        )
        await edge.close()
        await bare.close()


@contextlib.asynccontextmanager
async def mariadb_engine(_folder: Path) -> AsyncGenerator[Engine]:
    import asyncmy

    from querybus_executor.engines.mysql.edge import mysql_server as edge_of

    with mariadb_server() as running:
        running.execute(
            "CREATE DATABASE shop; USE shop; CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(40), price DOUBLE,"
            " day VARCHAR(12)); INSERT INTO item SELECT seq, CONCAT('item number ', seq), seq * 0.25,"
            f" CONCAT('2026-01-', seq % 28 + 1) FROM seq_0_to_{ROWS - 1};"
        )
        bare = await asyncmy.connect(host="127.0.0.1", port=running.port, user="root", db="shop")

        async def fetch(sql: str) -> Any:
            cursor = bare.cursor()
            await cursor.execute("START TRANSACTION READ ONLY")
            await cursor.execute(sql)
            rows = await cursor.fetchall()
            await bare.rollback()
            await cursor.close()
            return rows

        async def bulk() -> Pages:
            rows = await fetch(MANY)
            return await asyncio.to_thread(encoded, ["id", "name", "price", "day"], rows)

        def many_tables() -> str:
            # Aria's tables are made faster than InnoDB's, and making them is not what is measured.
            running.execute("CREATE DATABASE wide")
            for script in scripts(list(tables(keys=False, tail=" ENGINE = Aria TRANSACTIONAL = 0"))):
                running.execute(f"USE wide;\n{script}")
            return running.url("root", "wide")

        edge = edge_of(configured(running.url("root", "shop")), bytes_max=1 << 30, metrics=Metrics("bench"))
        yield Engine(
            "mariadb",
            edge,
            fetch,
            bulk,
            f"SELECT seq AS n, CONCAT('row number ', seq) AS name FROM seq_1_to_{MILLION}",
            "SELECT count(*) FROM seq_1_to_100000000 AS a, seq_1_to_1000000 AS b WHERE a.seq % 7 = b.seq % 5",
            many_tables,
        )
        await edge.close()
        bare.close()


@contextlib.asynccontextmanager
async def clickhouse_engine(_folder: Path) -> AsyncGenerator[Engine]:
    import clickhouse_connect

    from querybus_executor.engines.clickhouse.edge import clickhouse_server as edge_of

    with clickhouse_server() as running:
        running.execute("CREATE DATABASE shop")
        running.execute(
            "CREATE TABLE shop.item ENGINE = MergeTree ORDER BY id AS SELECT number AS id, concat('item number ',"
            " toString(number)) AS name, number * 0.25 AS price, concat('2026-01-', toString(number % 28 + 1)) AS day"
            f" FROM numbers({ROWS})"
        )
        bare: Any = await asyncio.to_thread(
            partial(
                clickhouse_connect.get_client,
                host="127.0.0.1",
                port=running.port,
                database="shop",
                autogenerate_session_id=False,
                compress=False,
            )
        )

        def bulk() -> Pages:
            result = bare.query(MANY)
            return encoded(result.column_names, result.result_rows)

        edge = edge_of(configured(running.url("shop")), bytes_max=1 << 30, metrics=Metrics("bench"))
        yield Engine(
            "clickhouse",
            edge,
            lambda sql: asyncio.to_thread(lambda: bare.query(sql).result_rows),
            lambda: asyncio.to_thread(bulk),
            f"SELECT number AS n, concat('row number ', toString(number)) AS name FROM numbers({MILLION})",
            "SELECT number FROM numbers(100000000000) WHERE sipHash64(number) = 1",
            None,
        )
        await edge.close()
        bare.close()


OPENERS: dict[str, Callable[[Path], Any]] = {
    "sqlite": sqlite_engine,
    "duckdb": duckdb_engine,
    "postgres": postgres_engine,
    "mariadb": mariadb_engine,
    "clickhouse": clickhouse_engine,
}


async def measure_all(names: Sequence[str], folder: Path) -> tuple[dict[str, float], dict[str, str]]:
    figures: dict[str, float] = {}
    missing: dict[str, str] = {}
    async with running_bus(folder) as bus:
        for name in names:
            try:
                async with OPENERS[name](folder) as engine:
                    figures |= await measure(engine, bus)
            except (_pytest.outcomes.Skipped, ImportError) as why:
                missing[name] = str(why)
                print(f"{name} is left out: {why}")
    return figures, missing


def main() -> int:
    names = [argument for argument in sys.argv[1:] if argument in OPENERS] or list(ENGINES)
    with tempfile.TemporaryDirectory(prefix="qb-bench-") as folder:
        measured, missing = asyncio.run(measure_all(names, Path(folder)))
    figures = {name: round(value, 3) for name, value in measured.items()}
    missed = {name: figures[name] for name, limit in REQUIRED.items() if name in figures and figures[name] > limit}
    for name, value in figures.items():
        required = f"  (at most {REQUIRED[name]:g}{', missed' if name in missed else ''})" if name in REQUIRED else ""
        print(f"{name:<30} {value:>10.3f}{required}")
    machine = {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
    }
    met = not missed and not missing
    report = {"name": "executor", "figures": figures, "required": REQUIRED, "missed": missed, "met": met}
    target = ROOT / "build" / "bench" / "executor.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(report | {"missing": missing, "machine": machine}, indent=2) + "\n")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
