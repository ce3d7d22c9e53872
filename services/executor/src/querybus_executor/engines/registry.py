"""Makes the edge of each connection by its dialect; what an engine needs is loaded only where a connection has it.

Each connection has its own sessions or child processes, so that a slow database does not keep another one waiting.
A part of the service: it starts what its connections need and ends it last.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Final, assert_never

from querybus.core.catalog import Catalog, Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.engines import ENGINES
from querybus.ops.metrics import Metrics
from querybus_executor.catalog.queries import DUCKDB, read_catalog
from querybus_executor.connections.config import ConnectionConfig
from querybus_executor.connections.databases import ConnectedDatabase
from querybus_executor.connections.writing_role import WritingRole
from querybus_executor.engines.duckdb.tables.edge import TableFolder
from querybus_executor.engines.sqlite.catalog import file_trouble, read_sqlite_catalog
from querybus_executor.engines.sqlite.edge import sqlite_children, sqlite_edge
from querybus_executor.ports import Edge
from querybus_executor.workers.embedded import RESULT_BYTES_MAX, Embedded
from querybus_executor.workers.pool import Children

_DUCKDB_SCHEMA: Final = "main"
RELEASE_LOOKS_MAX: Final = 300
RELEASE_LOOK_SECONDS: Final = 0.2

Opened = tuple[Edge, Callable[[WritingRole], Awaitable[Catalog | Failure]]]


class Engines:
    """The edges of this process, and the child processes in which the embedded engines run.

    `refuses_writing_roles`: a user that may change data is taken only with `role_may_write`, as in production.
    """

    def __init__(
        self, *, children: int, reserved: int, bytes_max: int = RESULT_BYTES_MAX, refuses_writing_roles: bool = False
    ) -> None:
        self.name = "engines"
        self._refuses_writing_roles = refuses_writing_roles
        self._size = children
        self._reserved = reserved
        self._bytes_max = bytes_max
        self._pools: list[tuple[Dialect, Children]] = []
        self._ready: dict[Dialect, Children] = {}
        self._edges: list[Edge] = []
        self._of_edge: dict[Edge, Children] = {}

    def connected(self, configs: Sequence[ConnectionConfig], *, metrics: Metrics) -> list[ConnectedDatabase]:
        """Return the databases of the connections; nothing is opened yet."""
        databases: list[ConnectedDatabase] = []
        for config in configs:
            role = WritingRole(config, is_refused=self._refuses_writing_roles)
            edge, read = self._open(config, metrics)
            self._edges.append(edge)
            databases.append(ConnectedDatabase(config, edge, partial(read, role), metrics=metrics, role=role))
        return databases

    async def release(self, database: ConnectedDatabase) -> None:
        """Let go of a database that is no longer configured, once what runs there has ended."""
        edge = database.edge
        for _ in range(RELEASE_LOOKS_MAX):
            load = edge.load()
            if load.open == load.idle and not load.waiting:
                break
            await asyncio.sleep(RELEASE_LOOK_SECONDS)
        self._edges.remove(edge)
        await edge.close()
        pool = self._of_edge.pop(edge, None)
        if pool is not None:
            self._pools = [item for item in self._pools if item[1] is not pool]
            await pool.drain()

    @asynccontextmanager
    async def without_duckdb_readers(self) -> AsyncGenerator[None]:
        """Let no process have a DuckDB file open while the block runs: one may write or many may read."""
        async with AsyncExitStack() as stack:
            for dialect, pool in self._pools:
                if ENGINES[dialect].writes_alone:
                    await stack.enter_async_context(pool.alone())
            yield

    async def start(self) -> None:
        """Start one child process of each sort for the first database of each engine; others start when asked."""
        for pool in self._ready.values():
            await pool.start()

    async def drain(self) -> None:
        """Close all connections and end all child processes."""
        for edge in self._edges:
            await edge.close()
        for _, pool in self._pools:
            await pool.drain()

    async def ping(self) -> str | None:
        """Return None: a database that is away is no fault of this process."""
        return None

    def _pooled(self, dialect: Dialect, pool: Children) -> Children:
        self._pools.append((dialect, pool))
        self._ready.setdefault(dialect, pool)
        return pool

    def _sqlite(self, config: ConnectionConfig, metrics: Metrics) -> Opened:
        pool = self._pooled(config.dialect, sqlite_children(size=self._size, reserved=self._reserved))
        edge = sqlite_edge(pool, config.file_path, config.applied_policy, bytes_max=self._bytes_max)
        self._of_edge[edge] = pool
        edge.on_waited = partial(metrics.database_waited, config.name)
        return edge, lambda _role: asyncio.to_thread(read_sqlite_catalog, config)

    def _duckdb(self, config: ConnectionConfig, metrics: Metrics) -> Opened:
        from querybus_executor.engines.duckdb.edge import duckdb_children, duckdb_edge

        pool = self._pooled(config.dialect, duckdb_children(size=self._size, reserved=self._reserved))
        tables = TableFolder(config) if config.reads_files else None
        path, folder = (config.file_path, None) if tables is None else (tables.path, tables.root)
        edge = duckdb_edge(pool, path, config.applied_policy, bytes_max=self._bytes_max, folder=folder)
        self._of_edge[edge] = pool
        edge.on_waited = partial(metrics.database_waited, config.name)
        if tables is not None:
            return edge, lambda role: _read_tables(config, edge, tables, role)
        return edge, lambda _role: _read_duckdb(config, edge)

    def _postgres(self, config: ConnectionConfig, metrics: Metrics) -> Opened:
        from querybus_executor.engines.postgres.edge import postgres_server, read_postgres

        server = postgres_server(config, bytes_max=self._bytes_max, metrics=metrics)
        return server, partial(read_postgres, config, server)

    def _mysql(self, config: ConnectionConfig, metrics: Metrics) -> Opened:
        from querybus_executor.engines.mysql.edge import mysql_server, read_mysql

        server = mysql_server(config, bytes_max=self._bytes_max, metrics=metrics)
        return server, partial(read_mysql, config, server)

    def _clickhouse(self, config: ConnectionConfig, metrics: Metrics) -> Opened:
        from querybus_executor.engines.clickhouse.edge import clickhouse_server, read_clickhouse

        server = clickhouse_server(config, bytes_max=self._bytes_max, metrics=metrics)
        return server, partial(read_clickhouse, config, server)

    def _oracle(self, config: ConnectionConfig, metrics: Metrics) -> Opened:
        from querybus_executor.engines.oracle.edge import oracle_server, read_oracle

        server = oracle_server(config, bytes_max=self._bytes_max, metrics=metrics)
        return server, lambda _role: read_oracle(config, server)

    def _snowflake(self, config: ConnectionConfig, metrics: Metrics) -> Opened:
        from querybus_executor.engines.snowflake.edge import read_snowflake, snowflake_server

        server = snowflake_server(config, bytes_max=self._bytes_max, metrics=metrics)
        return server, lambda _role: read_snowflake(config, server)

    def _bigquery(self, config: ConnectionConfig, metrics: Metrics) -> Opened:
        from querybus_executor.engines.bigquery.edge import bigquery_server, read_bigquery

        server = bigquery_server(config, bytes_max=self._bytes_max, metrics=metrics)
        return server, lambda _role: read_bigquery(config, server)

    def _open(self, config: ConnectionConfig, metrics: Metrics) -> Opened:
        match config.dialect:
            case Dialect.SQLITE:
                return self._sqlite(config, metrics)
            case Dialect.DUCKDB:
                return self._duckdb(config, metrics)
            case Dialect.POSTGRESQL:
                return self._postgres(config, metrics)
            case Dialect.MYSQL:
                return self._mysql(config, metrics)
            case Dialect.CLICKHOUSE:
                return self._clickhouse(config, metrics)
            case Dialect.ORACLE:
                return self._oracle(config, metrics)
            case Dialect.SNOWFLAKE:
                return self._snowflake(config, metrics)
            case Dialect.BIGQUERY:
                return self._bigquery(config, metrics)
            case _:
                assert_never(config.dialect)


async def _read_tables(
    config: ConnectionConfig, edge: Embedded, tables: TableFolder, role: WritingRole
) -> Catalog | Failure:
    """Return the catalog of a folder of tables as it is now; a table's label is the name of its file."""
    trouble = await tables.refresh()
    role.notice = tables.notice
    if trouble is not None:
        return trouble
    names = {table: {"en": label, "zh": label} for table, label in tables.labels.items()}
    labelled = config.model_copy(update={"display_names": {**names, **config.display_names}})
    return await read_catalog(labelled, edge.own, DUCKDB, default_schema=_DUCKDB_SCHEMA)


async def _read_duckdb(config: ConnectionConfig, edge: Embedded) -> Catalog | Failure:
    trouble = file_trouble(config.file_path)
    if trouble is not None:
        return Failure.of(FailureCode.CONNECTION, trouble)
    return await read_catalog(config, edge.own, DUCKDB, default_schema=_DUCKDB_SCHEMA)
