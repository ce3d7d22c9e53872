"""Claims on a change whose COMMIT is cut off: what is reported is never more than what is known.

A proxy stands between the writer and a real server and cuts the connection at every byte of the exchange around COMMIT.
Each cut has a truth, which is read from the database afterwards, and what the writer reported. "Unknown" is never a lie.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus_executor.connections.config import ConnectionConfig, parse_connections
from querybus_executor.engines.mysql.write import MysqlWriter
from querybus_executor.engines.postgres.write import PostgresWriter
from querybus_executor.engines.sqlite.errors import sqlite_failure
from querybus_executor.workers.embedded import child_command
from querybus_executor.workers.embedded_write import EmbeddedWriter
from querybus_executor.write import Written
from tests.support.database_servers import MariadbServer, PostgresServer
from tests.support.write_processes import writing_processes

COMMIT = re.compile(rb"(?:^|[\x00\x03])COMMIT|^Q....COMMIT", re.DOTALL)
Opener = Callable[[], Any]


class Cut:
    """Relays bytes until the client's COMMIT; then lets `sent` bytes of it through, and `answered` of the answer."""

    def __init__(self, server: Opener, sent: int, answered: int) -> None:
        self._server = server
        self._sent = sent
        self._answered = answered
        self._committing = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await self._server()
        both = [
            asyncio.ensure_future(self._requests(reader, inner_writer)),
            asyncio.ensure_future(self._answers(inner_reader, writer)),
        ]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        # What the server got of the request it may carry out before it sees that nobody is there.
        await asyncio.sleep(0.02)
        for task in both:
            task.cancel()
        for item in (inner_writer, writer):
            item.close()

    async def _requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            if COMMIT.search(data):
                self._committing = True
                writer.write(data[: self._sent])
                await writer.drain()
                if self._sent < len(data):
                    return
                continue
            writer.write(data)
            await writer.drain()

    async def _answers(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        left = self._answered
        while data := await reader.read(65_536):
            if self._committing:
                writer.write(data[:left])
                await writer.drain()
                left -= len(data)
                if left <= 0:
                    return
                continue
            writer.write(data)
            await writer.drain()


def config(url: str) -> ConnectionConfig:
    entry = {"name": "shop", "url": url, "access": "full", "role_may_write": True}
    return parse_connections({"connections": [entry]})[0]


def is_a_lie(reported: Written | Failure, *, is_committed: bool) -> bool:
    if isinstance(reported, Written):
        return not is_committed
    return reported.code is not FailureCode.WRITE_OUTCOME_UNKNOWN and is_committed


def judge(table: list[tuple[int, int, str, bool, bool]]) -> None:
    lies = [row for row in table if row[-1]]
    assert not lies, lies
    reported = {row[2] for row in table}
    assert "unknown" in reported
    assert {row[3] for row in table} == {True, False}, "cuts before and after the commit were tried"


def said(reported: Written | Failure) -> str:
    if isinstance(reported, Written):
        return "committed"
    return "unknown" if reported.code is FailureCode.WRITE_OUTCOME_UNKNOWN else "not committed"


@contextlib.asynccontextmanager
async def unix_proxy(cut: Cut, folder: Path) -> AsyncGenerator[None]:
    folder.mkdir(exist_ok=True)
    server = await asyncio.start_unix_server(cut.serve, str(folder / ".s.PGSQL.5432"))
    async with server:
        yield


@pytest.mark.servers
async def test_on_postgresql_no_cut_around_commit_is_reported_wrongly(postgres: PostgresServer) -> None:
    postgres.execute("CREATE DATABASE cuts;\n\\c cuts\nCREATE TABLE n (id integer);")
    folder = postgres.folder / "cut"
    table: list[tuple[int, int, str, bool, bool]] = []
    look = await asyncpg.connect(postgres.url("postgres", "cuts"))
    inner = str(postgres.folder / ".s.PGSQL.5432")
    cuts = [(sent, 0) for sent in range(12)] + [(1 << 20, answered) for answered in range(20)]
    for number, (sent, answered) in enumerate(cuts):
        cut = Cut(lambda: asyncio.open_unix_connection(inner), sent, answered)
        async with unix_proxy(cut, folder):
            writer = PostgresWriter(config(f"postgresql://postgres@/cuts?host={folder}"))
            reported = await writer.write(f"INSERT INTO n VALUES ({number})", rows_affected_max=1, seconds_max=3)
            await writer.close()
        await asyncio.sleep(0.05)
        is_committed = bool(await look.fetchval("SELECT count(*) FROM n WHERE id = $1", number))
        table.append((sent, answered, said(reported), is_committed, is_a_lie(reported, is_committed=is_committed)))
    await look.close()
    judge(table)


@pytest.mark.servers
async def test_on_mariadb_no_cut_around_commit_is_reported_wrongly(mariadb: MariadbServer) -> None:
    mariadb.execute(
        "CREATE DATABASE cuts; CREATE TABLE cuts.n (id INT) ENGINE=InnoDB;"
        " CREATE USER cutter@'127.0.0.1'; GRANT ALL ON cuts.* TO cutter@'127.0.0.1';"
    )
    table: list[tuple[int, int, str, bool, bool]] = []
    cuts = [(sent, 0) for sent in range(11)] + [(1 << 20, answered) for answered in range(12)]
    for number, (sent, answered) in enumerate(cuts):
        cut = Cut(lambda: asyncio.open_connection("127.0.0.1", mariadb.port), sent, answered)
        server = await asyncio.start_server(cut.serve, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            writer = MysqlWriter(config(f"mariadb://cutter@127.0.0.1:{port}/cuts"))
            reported = await writer.write(f"INSERT INTO n VALUES ({number})", rows_affected_max=1, seconds_max=3)
            await writer.close()
        await asyncio.sleep(0.05)
        is_committed = mariadb.execute(f"SELECT COUNT(*) FROM cuts.n WHERE id = {number};").strip() == "1"
        table.append((sent, answered, said(reported), is_committed, is_a_lie(reported, is_committed=is_committed)))
    judge(table)


def _count(database: sqlite3.Connection) -> int:
    try:
        return database.execute("SELECT count(*) FROM n").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


async def test_what_the_writing_process_said_before_it_was_ended_counts_although_nobody_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "shop.sqlite"
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("CREATE TABLE n (id INTEGER)")
    holder.execute("BEGIN IMMEDIATE")
    writer = EmbeddedWriter(Dialect.SQLITE, path, child_command("workers.write_worker"), sqlite_failure)
    loop = asyncio.get_running_loop()
    clock, passed = loop.time, [0.0]
    monkeypatch.setattr(loop, "time", lambda: clock() + passed[0])

    def stand_still() -> None:
        """Stop the executor's loop while the file's lock is released, the change is made and all of its time passes."""
        holder.execute("ROLLBACK")
        ends = clock() + 60
        while not _count(holder) and clock() < ends:
            time.sleep(0.01)
        time.sleep(0.2)
        passed[0] = 3_600.0

    write = asyncio.create_task(writer.write("INSERT INTO n VALUES (1)", rows_affected_max=1, seconds_max=600))
    while not writing_processes():
        await asyncio.sleep(0.02)
    # The loop goes on until the process has its request.
    await asyncio.sleep(1.0)
    stand_still()
    reported = await write
    is_committed = holder.execute("SELECT count(*) FROM n").fetchone()[0] == 1
    holder.close()
    assert not is_a_lie(reported, is_committed=is_committed), (reported, is_committed)
    assert is_committed
