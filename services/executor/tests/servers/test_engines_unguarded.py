"""The shared corpus of statements, sent straight to the engines: no guard before them, nothing changed, nothing hung.

Both guards are bypassed: what holds is the edge alone. Every path in a statement is also tried as one of a watched
folder, in which nobody may open, list, make or change anything, and every host as a port of this machine that nobody
may call; what stands in the watched file must come back in no row.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import sqlite3
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import ConnectionPolicy
from querybus.ops.metrics import Metrics
from querybus_executor.connections.config import parse_connections
from querybus_executor.ports import Edge, Purpose, Rows
from tests.support.database_servers import ClickhouseServer, MariadbServer, PostgresServer, clickhouse_server
from tests.support.engine_evidence import ON_CLICKHOUSE, ON_DUCKDB, ON_MARIADB, ON_POSTGRES, ON_SQLITE
from tests.support.file_watch import FileWatch

pytestmark = [pytest.mark.servers, pytest.mark.data, pytest.mark.slow]

DATA = Path(os.environ.get("QUERYBUS_DATA", Path(__file__).parents[5] / "shared" / "data"))
SECONDS_MAX = {"duckdb": 4.0}
SECONDS_MAX_ELSE = 1.0
"""A process of DuckDB takes most of a second to begin, and the corpus has many killed."""
HUNG_SECONDS = 12.0
RAN_MIN = 5
"""Of each engine: the harmless part of the corpus; if less runs, it was not the statements that were tried."""
AT_ONCE = 4
CANARY = "qb-canary-7f3a"
PATHS = re.compile(r"(?<=')(?:/etc/passwd|(?:/var)?/tmp(?:/[\w./-]*)?|/etc|/x|/)(?=')")
HOSTS = re.compile(r"(?P<scheme>\w+://)[\w.-]+(?::\d+)?|(?<=host=)[\w.]+|(?<=')127\.0\.0\.1(?::\d+)?(?=')")
TABLES = (
    "CREATE TABLE customer (customer_id INT, first_name VARCHAR(40), last_update TIMESTAMP)",
    "CREATE TABLE orders (order_id INT, customer_id INT, amount DECIMAL(10, 2), status VARCHAR(20), created_at TIMESTAMP)",
    "INSERT INTO customer VALUES (1, 'Ann', '2026-01-01 00:00:00'), (2, 'Bob', '2026-01-02 00:00:00')",
    "INSERT INTO orders VALUES (1, 1, 9.90, 'open', '2026-01-01 00:00:00'), (2, 2, 5, 'paid', '2026-01-02 00:00:00')",
)
STATE = "SELECT count(*) || '/' || sum(customer_id) || '/' || max(first_name) FROM customer"


@dataclass(frozen=True)
class Subject:
    """One engine's edge, and what its database holds, asked past the edge."""

    edge: Edge
    state: Callable[[], str]


def statements(dialect: str) -> list[dict[str, str]]:
    path = DATA / "guard" / "statements.jsonl"
    if not path.exists():
        pytest.skip(f"no corpus in {path.parent}")
    read = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [item for item in read if item["dialect"] == dialect]


def aimed(sql: str, folder: Path, port: int) -> str:
    """Return the statement with its files in the watched folder and its hosts at the watched port."""

    def file(found: re.Match[str]) -> str:
        name = "canary.txt" if found[0] == "/etc/passwd" else found[0].strip("/").replace("/", "-").removeprefix("etc")
        return str(folder / name) if name else str(folder)

    def host(found: re.Match[str]) -> str:
        scheme = found.groupdict().get("scheme")
        return (
            f"{scheme}127.0.0.1:{port}"
            if scheme
            else f"127.0.0.1 port={port}"
            if "host=" in sql
            else f"127.0.0.1:{port}"
        )

    return HOSTS.sub(host, PATHS.sub(file, sql))


@asynccontextmanager
async def sqlite(folder: Path) -> AsyncGenerator[Subject]:
    from querybus_executor.engines.sqlite.edge import sqlite_children, sqlite_edge

    file = folder / "a.sqlite"
    with closing(sqlite3.connect(file)) as made:
        for table in TABLES:
            made.execute(table)
        made.commit()
    children = sqlite_children(size=AT_ONCE, reserved=1)

    def state() -> str:
        return f"{[path.name for path in folder.iterdir()]} {file.read_bytes().hex()}"

    yield Subject(sqlite_edge(children, file, ConnectionPolicy()), state)
    await children.drain()


@asynccontextmanager
async def duckdb(folder: Path) -> AsyncGenerator[Subject]:
    import duckdb as engine

    from querybus_executor.engines.duckdb.edge import duckdb_children, duckdb_edge

    file = folder / "a.duckdb"
    with engine.connect(str(file)) as made:
        for table in TABLES:
            made.execute(table)
    children = duckdb_children(size=AT_ONCE, reserved=1)

    def state() -> str:
        return f"{[path.name for path in folder.iterdir()]} {file.read_bytes().hex()}"

    yield Subject(duckdb_edge(children, file, ConnectionPolicy()), state)
    await children.drain()


@asynccontextmanager
async def postgres(server: PostgresServer) -> AsyncGenerator[Subject]:
    from querybus_executor.engines.postgres.edge import postgres_server as edge_of

    server.execute(
        "DROP DATABASE IF EXISTS corpus; CREATE DATABASE corpus;\n\\c corpus\n" + ";\n".join(TABLES) + ";\n"
        "DO $$ BEGIN CREATE ROLE corpus_reader LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;\n"
        "REVOKE TEMPORARY ON DATABASE corpus FROM PUBLIC; GRANT SELECT ON customer, orders TO corpus_reader;"
    )
    entry = {"name": "it", "url": server.url("corpus_reader", "corpus"), "pool": {"size": AT_ONCE, "overflow": 0}}
    edge = edge_of(parse_connections({"connections": [entry]})[0], bytes_max=16 << 20, metrics=Metrics("t"))

    def state() -> str:
        names = (
            "SELECT string_agg(relname, ',' ORDER BY relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        )
        kinds = ("pg_largeobject_metadata", "pg_class", "pg_proc", "pg_roles", "pg_namespace")
        counts = "SELECT " + ", ".join(f"(SELECT count(*) FROM {kind})" for kind in kinds)
        return server.execute(f"{STATE}; {names}; {counts};", "corpus")

    yield Subject(edge, state)
    await edge.close()


@asynccontextmanager
async def mariadb(server: MariadbServer) -> AsyncGenerator[Subject]:
    from querybus_executor.engines.mysql.edge import mysql_server as edge_of

    server.execute(
        "DROP DATABASE IF EXISTS corpus; CREATE DATABASE corpus; USE corpus; " + "; ".join(TABLES) + ";"
        "CREATE USER IF NOT EXISTS corpus_reader@'127.0.0.1', corpus_reader@localhost;"
        "GRANT SELECT ON corpus.* TO corpus_reader@'127.0.0.1', corpus_reader@localhost;"
    )
    entry = {"name": "it", "url": server.url("corpus_reader", "corpus"), "pool": {"size": AT_ONCE, "overflow": 0}}
    edge = edge_of(parse_connections({"connections": [entry]})[0], bytes_max=16 << 20, metrics=Metrics("t"))

    def state() -> str:
        return server.execute(
            "USE corpus; SELECT count(*), sum(customer_id), max(first_name) FROM customer; SHOW TABLES;"
            " SELECT user, authentication_string FROM mysql.user WHERE user = 'corpus_reader';"
            " SELECT count(*) FROM information_schema.tables; SELECT count(*), sum(password = '') FROM mysql.user;"
        )

    yield Subject(edge, state)
    await edge.close()


@asynccontextmanager
async def clickhouse(server: ClickhouseServer) -> AsyncGenerator[Subject]:
    from querybus_executor.engines.clickhouse.edge import clickhouse_server as edge_of

    server.execute("CREATE DATABASE corpus")
    for table in TABLES:
        made = table.replace("VARCHAR(40)", "String").replace("VARCHAR(20)", "String").replace("TIMESTAMP", "DateTime")
        named = made.replace("TABLE ", "TABLE corpus.").replace("INTO ", "INTO corpus.")
        server.execute(named + (" ENGINE = MergeTree ORDER BY tuple()" if table.startswith("CREATE") else ""))
    entry = {
        "name": "it",
        "url": server.url("corpus"),
        "role_may_write": True,
        "pool": {"size": AT_ONCE, "overflow": 0},
    }
    edge = edge_of(parse_connections({"connections": [entry]})[0], bytes_max=16 << 20, metrics=Metrics("t"))

    def state() -> str:
        return server.execute(
            "SELECT count(), sum(customer_id), max(first_name) FROM corpus.customer"
        ) + server.execute(
            "SELECT groupArray(concat(database, '.', name)) FROM (SELECT * FROM system.tables WHERE database NOT IN"
            " ('system', 'INFORMATION_SCHEMA', 'information_schema') ORDER BY database, name)"
        )

    yield Subject(edge, state)
    await edge.close()


async def attack(
    subject: Subject, corpus: list[dict[str, str]], seconds_max: float
) -> tuple[list[str], list[str], int]:
    """Return what hung, what broke the edge, gave the canary away or was refused in vain, and how many ran."""
    hung: list[str] = []
    broken: list[str] = []
    ran = 0
    free = asyncio.Semaphore(AT_ONCE)

    async def one(entry: dict[str, str]) -> None:
        nonlocal ran
        async with free:
            begun = time.monotonic()
            result: Any = await subject.edge.run(
                entry["sql"], rows_max=100, seconds_max=seconds_max, purpose=Purpose.EXECUTE
            )
            if time.monotonic() - begun > HUNG_SECONDS:
                hung.append(entry["id"])
            ran += isinstance(result, Rows)
            if isinstance(result, Failure) and result.code is FailureCode.PERMISSION and entry.get("expect") == "allow":
                broken.append(f"{entry['id']} was refused: {result.detail}")
            if isinstance(result, Failure) and result.code is FailureCode.CONNECTION:
                broken.append(f"{entry['id']}: {result.detail}")
            if CANARY in (result.model_dump_json() if isinstance(result, Failure) else str(list(result.rows))):
                broken.append(f"{entry['id']}: read a file")

    await asyncio.gather(*(one(statement) for statement in corpus))
    return hung, broken, ran


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("engine", "dialect"),
    [
        pytest.param("sqlite", "sqlite", marks=ON_SQLITE),
        pytest.param("duckdb", "duckdb", marks=ON_DUCKDB),
        pytest.param("postgres", "postgres", marks=ON_POSTGRES),
        pytest.param("mariadb", "mysql", marks=ON_MARIADB),
        pytest.param("clickhouse", "clickhouse", marks=ON_CLICKHOUSE),
    ],
)
async def test_the_corpus_changes_nothing_touches_nothing_and_never_hangs(
    engine: str, dialect: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    corpus = statements(dialect)
    assert len(corpus) > 30
    before = {path.name for path in Path(tempfile_root()).iterdir()}
    with (
        socket.socket() as subscriber,
        tempfile.TemporaryDirectory(prefix="qb-watched-") as name,
        FileWatch(Path(name)) as eye,
    ):
        subscriber.bind(("127.0.0.1", 0))
        subscriber.listen()
        subscriber.setblocking(False)
        watched = Path(name)
        (watched / "canary.txt").write_text(f"{CANARY}:x:0:0\n")
        # Whoever the server runs as could read and write there.
        watched.chmod(0o777)
        (watched / "canary.txt").chmod(0o666)
        (watched / "canary.txt").read_text()
        assert "canary.txt was read" in eye.seen(), "the watch sees nothing"
        texts = [
            (statement["id"], aimed(statement["sql"], watched, subscriber.getsockname()[1]), statement["sql"])
            for statement in corpus
        ]
        aimed_at_us = [{"id": f"{id_} (aimed)", "sql": text} for id_, text, sql in texts if text != sql]
        assert aimed_at_us, "no statement of the corpus names a file or a host"
        subject: Any
        if engine in ("sqlite", "duckdb"):
            opener = {"sqlite": sqlite, "duckdb": duckdb}[engine](tmp_path)
        elif engine == "clickhouse":
            opener = clickhouse(request.getfixturevalue("clickhouse_running"))
        else:
            opener = {"postgres": postgres, "mariadb": mariadb}[engine](request.getfixturevalue(engine))
        async with opener as subject:
            clean = await asyncio.to_thread(subject.state)
            warm = (
                subject.edge.run("SELECT 1", rows_max=1, seconds_max=30, purpose=Purpose.EXECUTE)
                for _ in range(AT_ONCE)
            )
            await asyncio.gather(*warm)
            hung, broken, ran = await attack(
                subject, [*corpus, *aimed_at_us], SECONDS_MAX.get(engine, SECONDS_MAX_ELSE)
            )
            assert await asyncio.to_thread(subject.state) == clean
            again = await subject.edge.run("SELECT 1", rows_max=1, seconds_max=10, purpose=Purpose.EXECUTE)
        assert eye.seen() == []
        with pytest.raises(BlockingIOError):
            subscriber.accept()
    assert (hung, broken) == ([], [])
    assert ran >= RAN_MIN
    assert isinstance(again, Rows), again
    written = {path.name for path in Path(tempfile_root()).iterdir()} - before
    assert not [
        item for item in written if any(name in item for name in ("pwn", "evil", "out", "dump", "leak", "hack"))
    ]
    print(
        f"{engine}: {len(corpus)} statements and {len(aimed_at_us)} aimed at us, {ran} ran, changed 0, touched 0, hung 0"
    )


def tempfile_root() -> str:
    return os.environ.get("TMPDIR", "/tmp")


@pytest.fixture(scope="module")
def clickhouse_running() -> Any:
    with clickhouse_server() as running:
        yield running
