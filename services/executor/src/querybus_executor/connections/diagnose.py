"""Says exactly what is wrong with one connection: its file, a secret, the driver, the way there, the login, its rights.

It goes the way that the executor goes, with the executor's own edge, and stops at the first thing that does not work.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure
from querybus.ops.metrics import Metrics
from querybus_executor.connections.config import BadConnections, load_connections
from querybus_executor.connections.databases import ROLE_MAY_WRITE, ConnectedDatabase
from querybus_executor.engines.drivers import DriverMissing
from querybus_executor.engines.registry import Engines


class Trouble(StrEnum):
    """What a connection lacks."""

    FILE = "file"
    UNKNOWN = "unknown_connection"
    DRIVER = "driver"
    HOST = "host"
    UNREACHABLE = "unreachable"
    TLS = "tls"
    CREDENTIALS = "credentials"
    DATABASE = "database"
    DATABASE_FILE = "database_file"
    RIGHTS = "rights"
    ROLE_MAY_WRITE = "role_may_write"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found. `trouble` None: the connection works; `tables` and `dialect` are known then."""

    name: str
    trouble: Trouble | None
    detail: str
    dialect: Dialect | None = None
    tables: int = 0


_BY_CODE: Final[dict[str, Trouble]] = {
    **dict.fromkeys(("28P01", "28000", "1045", "1698", "516", "192", "193", "194", "ORA-01017", "ORA-28000"), Trouble.CREDENTIALS),
    **dict.fromkeys(("3D000", "1049", "1044", "81", "ORA-12514", "ORA-12505", "DPY-6001"), Trouble.DATABASE),
    **dict.fromkeys(("42501", "1142", "497", "ORA-01045", "accessDenied"), Trouble.RIGHTS),
    **dict.fromkeys(("refused", "timeout", "2003", "2002", "08001", "08006", "DPY-6005", "210", "209"), Trouble.UNREACHABLE),
    **dict.fromkeys(("host", "gaierror"), Trouble.HOST),
    **dict.fromkeys(("tls", "2026"), Trouble.TLS),
}  # fmt: skip
_WORDS: Final[dict[Trouble, str]] = {
    Trouble.CREDENTIALS: "the server refuses the user or the password",
    Trouble.DATABASE: "the server does not know the database, or the user may not use it",
    Trouble.RIGHTS: "the user may not read the list of tables",
    Trouble.UNREACHABLE: "nobody answers at the host and port",
    Trouble.HOST: "the host's name is not known",
    Trouble.TLS: "the server does not speak TLS as the URL asks, or its certificate is not trusted",
}


async def diagnose(path: Path, name: str, environment: Mapping[str, str] = os.environ) -> Finding:
    """Return what is wrong with the connection of that name in the file, or that it works."""
    try:
        configs = load_connections(path, environment)
    except BadConnections as error:
        return Finding(name, Trouble.FILE, str(error))
    config = next((config for config in configs if config.name == name), None)
    if config is None:
        known = ", ".join(config.name for config in configs)
        return Finding(name, Trouble.UNKNOWN, f"{path.name} has no connection {name}; it has {known}")
    engines = Engines(children=1, reserved=1)
    try:
        (database,) = engines.connected([config], metrics=Metrics("connections-test"))
    except DriverMissing as error:
        return Finding(name, Trouble.DRIVER, str(error), config.dialect)
    try:
        return await _of(database)
    finally:
        await engines.drain()


async def _of(database: ConnectedDatabase) -> Finding:
    name, dialect = database.config.name, database.dialect
    result = await database.refresh()
    if not isinstance(result, Failure):
        return Finding(name, None, "", dialect, len(result.tables))
    if result.facts.rule == ROLE_MAY_WRITE:
        return Finding(name, Trouble.ROLE_MAY_WRITE, result.detail, dialect)
    if dialect in (Dialect.SQLITE, Dialect.DUCKDB):
        return Finding(name, Trouble.DATABASE_FILE, f"{result.detail}: {database.config.file_path}", dialect)
    trouble = _BY_CODE.get(result.facts.native_code or "", Trouble.OTHER)
    words = _WORDS.get(trouble)
    return Finding(name, trouble, f"{words} ({result.detail})" if words else result.detail, dialect)
