"""Makes the writer of each connection that takes any; what an engine needs is loaded only then."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, assert_never

from querybus.core.catalog import Dialect
from querybus.core.policy import Access
from querybus_executor.connections.config import ConnectionConfig
from querybus_executor.engines.sqlite.errors import sqlite_failure
from querybus_executor.workers.embedded import child_command
from querybus_executor.workers.embedded_write import Alone, EmbeddedWriter
from querybus_executor.write import Writer


class _Closing(Protocol):
    async def close(self) -> None: ...


class Writers:
    """The writers, by connection; a part of the service, which closes them. `alone` is for DuckDB."""

    def __init__(self, configs: Sequence[ConnectionConfig], *, alone: Alone) -> None:
        self.name = "writers"
        self._by_name: dict[str, Writer] = {}
        self._configs: dict[str, ConnectionConfig] = {}
        self._closing: list[_Closing] = []
        self._alone = alone
        self.replace(configs)

    def replace(self, configs: Sequence[ConnectionConfig]) -> None:
        """Have the writers of these connections and no others; a change that runs keeps the writer it has."""
        kept, known = self._by_name, self._configs
        self._by_name, self._configs = {}, {}
        for config in configs:
            if config.access is Access.READ_ONLY:
                continue
            is_known = known.get(config.name) == config and config.name in kept
            writer = kept[config.name] if is_known else self._writer(config, self._alone)
            if writer is not None:
                self._by_name[config.name], self._configs[config.name] = writer, config

    def get(self, connection: str) -> Writer | None:
        """Return the writer of that connection, or None: it takes no changes."""
        return self._by_name.get(connection)

    async def start(self) -> None:
        """Do nothing: each change opens what it needs."""

    async def drain(self) -> None:
        """Let go of what is held."""
        for item in self._closing:
            await item.close()

    async def ping(self) -> str | None:
        """Return None: a database that is away is no fault of this process."""
        return None

    def _writer(self, config: ConnectionConfig, alone: Alone) -> Writer | None:
        match config.dialect:
            case Dialect.SQLITE:
                return EmbeddedWriter(
                    Dialect.SQLITE, config.file_path, child_command("workers.write_worker"), sqlite_failure
                )
            case Dialect.DUCKDB:
                from querybus_executor.engines.duckdb.edge import duckdb_failure

                result = importlib.util.find_spec("duckdb")
                library = () if result is None or result.origin is None else (Path(result.origin).parents[1],)
                command = child_command("workers.write_worker", *library)
                return EmbeddedWriter(Dialect.DUCKDB, config.file_path, command, duckdb_failure, alone=alone)
            case Dialect.POSTGRESQL:
                from querybus_executor.engines.postgres.write import PostgresWriter

                server = PostgresWriter(config)
            case Dialect.MYSQL:
                from querybus_executor.engines.mysql.write import MysqlWriter

                server = MysqlWriter(config)
            case Dialect.CLICKHOUSE | Dialect.ORACLE | Dialect.SNOWFLAKE | Dialect.BIGQUERY:
                return None
            case _:
                assert_never(config.dialect)
        self._closing.append(server)
        return server
