"""A database opened by this process for a few bounded statements, hardened as the executor opens it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Final

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure
from querybus.core.policy import ConnectionPolicy
from querybus.core.subjects import StageName
from querybus.ops.metrics import Metrics
from querybus.sql.check import check
from querybus_cli.runtime import UsageError
from querybus_executor.connections.config import BadConnections, ConnectionConfig, parse_connections
from querybus_executor.engines.registry import Engines
from querybus_executor.ports import Purpose

ROWS_MAX: Final = 1_000
SECONDS_MAX: Final = 60.0

RowsOf = Callable[[str], Sequence[Sequence[object]]]
"""Runs one statement; NotRunError says what the guard or the engine has against it."""


class NotRunError(Exception):
    """A statement that the guard or the engine refused; the text says why."""


@contextmanager
def opened(database: str) -> Generator[tuple[Catalog, RowsOf]]:
    """Give a database's catalog and what runs a statement on it, through the guard; UsageError where it cannot be opened."""
    address = database if "://" in database else f"sqlite:///{database}"
    try:
        config = parse_connections({"connections": [{"name": "measured", "url": address}]})[0]
    except BadConnections as error:
        raise UsageError(str(error)) from error
    with opened_connection(config) as found:
        yield found


@contextmanager
def opened_connection(config: ConnectionConfig) -> Generator[tuple[Catalog, RowsOf]]:
    """Give the same of a connection of the connections file."""
    engines = Engines(children=1, reserved=1)
    (connected,) = engines.connected([config], metrics=Metrics(StageName.EXECUTOR))
    policy = ConnectionPolicy(rows_max=ROWS_MAX)
    with asyncio.Runner() as runner:
        try:
            runner.run(engines.start())
            catalog = runner.run(connected.catalog())
            if isinstance(catalog, Failure):
                raise UsageError(f"{config.parsed_url.database}: {catalog.detail}")

            def rows_of(sql: str) -> Sequence[Sequence[object]]:
                allowed = check(sql, dialect=config.dialect, catalog=catalog, policy=policy, row_limit=ROWS_MAX)
                if isinstance(allowed, Failure):
                    raise NotRunError(allowed.detail)
                found = runner.run(
                    connected.run(allowed.sql, rows_max=ROWS_MAX, seconds_max=SECONDS_MAX, purpose=Purpose.EXECUTE)
                )
                if isinstance(found, Failure):
                    raise NotRunError(found.detail)
                return found.rows

            yield catalog, rows_of
        finally:
            runner.run(engines.drain())
