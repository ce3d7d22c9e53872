"""Makes the edge of each connection by its dialect; what an engine needs is loaded only where a connection has it.

The pools of child processes belong to the engine, not to the connection. A part of the service: it starts what its
connections need and ends it last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Final

from querybus.core.catalog import Catalog, Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.ops.metrics import Metrics
from querybus_executor.catalog_sql import QUERIES, read_catalog
from querybus_executor.children import Children
from querybus_executor.connections import ConnectionConfig
from querybus_executor.databases import ConnectedDatabase
from querybus_executor.embedded import RESULT_BYTES_MAX, Embedded
from querybus_executor.ports import Edge
from querybus_executor.sqlite import sqlite_children, sqlite_edge
from querybus_executor.sqlite_catalog import file_trouble, read_sqlite_catalog

_DUCKDB_SCHEMA: Final = "main"

Opened = tuple[Edge, Callable[[], Awaitable[Catalog | Failure]]]


class Engines:
    """The edges of this process, and the child processes in which the embedded engines run."""

    def __init__(self, *, children: int, reserved: int, bytes_max: int = RESULT_BYTES_MAX) -> None:
        self.name = "engines"
        self._size = children
        self._reserved = reserved
        self._bytes_max = bytes_max
        self._pools: dict[Dialect, Children] = {}
        self._edges: list[Edge] = []

    def connected(self, configs: Sequence[ConnectionConfig], *, metrics: Metrics) -> list[ConnectedDatabase]:
        """Return the databases of the connections; nothing is opened yet."""
        databases: list[ConnectedDatabase] = []
        for config in configs:
            edge, read = self._OPENERS[config.dialect](self, config, metrics)
            self._edges.append(edge)
            databases.append(ConnectedDatabase(config, edge, read, metrics=metrics))
        return databases

    def without_duckdb_readers(self) -> AbstractAsyncContextManager[None]:
        """Let no process have a DuckDB file open while the block runs: one may write or many may read."""
        pool = self._pools.get(Dialect.DUCKDB)
        return nullcontext() if pool is None else pool.alone()

    async def start(self) -> None:
        """Start one child process of each sort that is needed."""
        for pool in self._pools.values():
            await pool.start()

    async def drain(self) -> None:
        """Close all connections and end all child processes."""
        for edge in self._edges:
            await edge.close()
        for pool in self._pools.values():
            await pool.drain()

    async def ping(self) -> str | None:
        """Return None: a database that is away is no fault of this process."""
        return None

    def _sqlite(self, config: ConnectionConfig, _metrics: Metrics) -> Opened:
        pool = self._pools.setdefault(Dialect.SQLITE, sqlite_children(size=self._size, reserved=self._reserved))
        edge = sqlite_edge(pool, config.file_path, config.applied_policy, bytes_max=self._bytes_max)
        return edge, lambda: asyncio.to_thread(read_sqlite_catalog, config)

    def _duckdb(self, config: ConnectionConfig, _metrics: Metrics) -> Opened:
        from querybus_executor.duckdb_edge import duckdb_children, duckdb_edge

        pool = self._pools.setdefault(Dialect.DUCKDB, duckdb_children(size=self._size, reserved=self._reserved))
        edge = duckdb_edge(pool, config.file_path, config.applied_policy, bytes_max=self._bytes_max)
        return edge, partial(_read_duckdb, config, edge)

    def _postgres(self, config: ConnectionConfig, metrics: Metrics) -> Opened:
        from querybus_executor.postgres import postgres_server, read_postgres

        server = postgres_server(config, bytes_max=self._bytes_max, metrics=metrics)
        return server, partial(read_postgres, config, server)

    def _mysql(self, config: ConnectionConfig, metrics: Metrics) -> Opened:
        from querybus_executor.mysql import mysql_server, read_mysql

        server = mysql_server(config, bytes_max=self._bytes_max, metrics=metrics)
        return server, partial(read_mysql, config, server)

    def _clickhouse(self, config: ConnectionConfig, metrics: Metrics) -> Opened:
        from querybus_executor.clickhouse import clickhouse_server, read_clickhouse

        server = clickhouse_server(config, bytes_max=self._bytes_max, metrics=metrics)
        return server, partial(read_clickhouse, config, server)

    _OPENERS: Final[dict[Dialect, Callable[[Engines, ConnectionConfig, Metrics], Opened]]] = {
        Dialect.SQLITE: _sqlite,
        Dialect.DUCKDB: _duckdb,
        Dialect.POSTGRESQL: _postgres,
        Dialect.MYSQL: _mysql,
        Dialect.CLICKHOUSE: _clickhouse,
    }


async def _read_duckdb(config: ConnectionConfig, edge: Embedded) -> Catalog | Failure:
    trouble = file_trouble(config.file_path)
    if trouble is not None:
        return Failure.of(FailureCode.CONNECTION, trouble)
    return await read_catalog(config, edge.own, QUERIES[Dialect.DUCKDB], default_schema=_DUCKDB_SCHEMA)
