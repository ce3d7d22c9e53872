"""Says exactly what is wrong with one connection, step by step, with the setting concerned and the next command.

It goes the way that the executor goes, with the executor's own edge, and stops at the first thing that does not work.
A connection that works is looked at as well: version, encryption, tables that the user does not see, and what it may write.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import shlex
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure
from querybus.engines import ENGINES
from querybus.ops.metrics import Metrics
from querybus.text.labels import count_readable_names
from querybus.text.words import count_of
from querybus_executor.catalog.described import as_described
from querybus_executor.connections.access_report import AccessReport, access_report
from querybus_executor.connections.config import BadConnections, ConnectionConfig, load_connections
from querybus_executor.connections.databases import ConnectedDatabase
from querybus_executor.connections.trouble import Trouble, cause_of, setting_of, trouble_of
from querybus_executor.engines.drivers import DriverMissing
from querybus_executor.engines.registry import Engines
from querybus_executor.engines.server import Server
from querybus_executor.workers.embedded import Embedded


class StepName(StrEnum):
    """The steps of a test, in their order; a file has ADDRESS, VERSION, TABLES and RIGHTS only."""

    ADDRESS = "address"
    PORT = "port"
    TLS = "tls"
    PASSWORD = "password"  # noqa: S105 - a step's name
    DATABASE = "database"
    VERSION = "version"
    TABLES = "tables"
    RIGHTS = "rights"


class StepState(StrEnum):
    """How a step went."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    NOT_REACHED = "not_reached"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a test, and what was found there."""

    name: StepName
    state: StepState
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a test found. `trouble` None: the connection works.

    `detail` is the cause of a trouble; `setting` names what to change and `next_command` what to run then. `missing`
    are statements that this user lacks on this database, `reader` those that make a user that only reads. `warnings`
    are what works and should not stay so; `notes` what the address says that is read otherwise. `names` counts those of
    tables and columns, `names_readable` those of them that read as words or have a name for people.
    """

    name: str
    trouble: Trouble | None
    detail: str
    dialect: Dialect | None = None
    tables: int = 0
    steps: tuple[Step, ...] = ()
    setting: str = ""
    next_command: str = ""
    version: str = ""
    role: str = ""
    may_write: str = ""
    missing: tuple[str, ...] = ()
    reader: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    table_names: tuple[str, ...] = field(default=(), repr=False)
    names: int = 0
    names_readable: int = 0


_FAILS_AT: Final[dict[Trouble, StepName]] = {
    Trouble.HOST: StepName.ADDRESS,
    Trouble.DATABASE_FILE: StepName.ADDRESS,
    Trouble.UNREACHABLE: StepName.PORT,
    Trouble.OTHER: StepName.PORT,
    Trouble.TLS: StepName.TLS,
    Trouble.CREDENTIALS: StepName.PASSWORD,
    Trouble.DATABASE: StepName.DATABASE,
    Trouble.POOLER: StepName.VERSION,
    Trouble.RIGHTS: StepName.TABLES,
    Trouble.NO_TABLES: StepName.TABLES,
    Trouble.ROLE_MAY_WRITE: StepName.RIGHTS,
}
_OF_FILES: Final = frozenset({StepName.ADDRESS, StepName.VERSION, StepName.TABLES, StepName.RIGHTS})


async def diagnose(path: Path, name: str, environment: Mapping[str, str] = os.environ) -> Finding:
    """Return what is wrong with the connection of that name in the file, or that it works."""
    file = shlex.quote(str(path))
    again = f"querybus connections test {name} --file {file}"
    try:
        configs = load_connections(path, environment)
    except BadConnections as error:
        return Finding(name, Trouble.FILE, str(error), setting=f"the file {path}", next_command=again)
    config = next((config for config in configs if config.name == name), None)
    if config is None:
        known = ", ".join(config.name for config in configs)
        detail = f"{path.name} has no connection {name}; it has {known}"
        return Finding(name, Trouble.UNKNOWN, detail, next_command=f"querybus connections list --file {file}")
    is_production = environment.get("QUERYBUS_ENVIRONMENT") == "production"
    return replace(await diagnose_config(config, refuses_writing_roles=is_production), next_command=again)


async def diagnose_config(config: ConnectionConfig, *, refuses_writing_roles: bool = False) -> Finding:
    """Return what is wrong with a connection, or that it works. `refuses_writing_roles`: as production does."""
    engines = Engines(children=1, reserved=1, refuses_writing_roles=refuses_writing_roles)
    try:
        (database,) = engines.connected([config], metrics=Metrics("connections-test"))
    except DriverMissing as error:
        return Finding(config.name, Trouble.DRIVER, str(error), config.dialect, notes=config.url_notes)
    try:
        return await _of(database)
    finally:
        await engines.drain()


async def _of(database: ConnectedDatabase) -> Finding:
    config = database.config
    result = await database.read()
    trouble = trouble_of(result, config) if isinstance(result, Failure) else None
    has_session = trouble in (None, Trouble.NO_TABLES, Trouble.ROLE_MAY_WRITE, Trouble.RIGHTS)
    edge = database.edge
    report = AccessReport()
    if has_session and isinstance(edge, Server | Embedded):
        report = await access_report(config, edge.own)
    base = Finding(
        config.name,
        trouble,
        "",
        config.dialect,
        version=report.version,
        role=report.role,
        may_write=database.role.excess or "",
        notes=config.url_notes,
    )
    if isinstance(result, Failure):
        return await _failed(base, result, config, report)
    tables = tuple(table.name for table in result.tables)
    is_warned = bool(database.role.warning) and not database.role.notice
    readable, names = count_readable_names(as_described(result, config))
    return replace(
        base,
        names=names,
        names_readable=readable,
        tables=len(tables),
        table_names=tables,
        steps=_steps(config, base, report, tables=len(tables), is_warned=is_warned),
        missing=report.missing if report.tables_unseen else (),
        reader=report.reader if is_warned else (),
        warnings=_warnings(database, report),
    )


async def _failed(base: Finding, failure: Failure, config: ConnectionConfig, report: AccessReport) -> Finding:
    trouble = base.trouble or Trouble.OTHER
    detail = cause_of(trouble, failure)
    if trouble is Trouble.DATABASE_FILE:
        detail = f"{failure.detail}: {config.file_path}"
    if trouble is Trouble.UNREACHABLE:
        detail += await asyncio.to_thread(_tunnel_advice, config)
    sources = ENGINES[config.dialect].credential_sources
    if trouble is Trouble.CREDENTIALS and sources and config.parsed_url.password is None:
        detail += f"; the URL holds no password, so it is taken from {sources}"
    if trouble is Trouble.NO_TABLES and report.missing:
        detail = "the user sees no table: it has no right to read those of the database"
    elif trouble is Trouble.NO_TABLES and report.other_databases:
        detail += f"; other databases of the server: {report.other_databases}"
    is_refused = trouble is Trouble.ROLE_MAY_WRITE
    return replace(
        base,
        detail=detail,
        setting=setting_of(trouble, config),
        steps=_steps(config, base, report, tables=0, is_warned=is_refused),
        missing=report.missing if trouble in (Trouble.NO_TABLES, Trouble.RIGHTS) else (),
        reader=report.reader if is_refused else (),
    )


def _steps(
    config: ConnectionConfig, base: Finding, report: AccessReport, *, tables: int, is_warned: bool
) -> tuple[Step, ...]:
    names = [name for name in StepName if not ENGINES[config.dialect].is_file or name in _OF_FILES]
    failed = None if base.trouble is None else names.index(_FAILS_AT[base.trouble])
    unseen = f", {report.tables_unseen} more that the user may not read" if report.tables_unseen else ""
    details = {
        StepName.ADDRESS: _place(config),
        StepName.TLS: report.tls
        or ("not encrypted" if report.version else str(config.parsed_url.query.get("ssl", ""))),
        StepName.PASSWORD: report.role,
        StepName.DATABASE: "" if ENGINES[config.dialect].is_file else str(config.parsed_url.database),
        StepName.VERSION: report.version,
        StepName.TABLES: f"{tables}{unseen}",
        StepName.RIGHTS: base.may_write or "reads only",
    }
    steps: list[Step] = []
    for number, name in enumerate(names):
        # A role that is refused was found out before the tables were listed.
        if failed is not None and number == failed:
            steps.append(Step(name, StepState.FAILED, details.get(name, "") if name is StepName.RIGHTS else ""))
        elif failed is not None and (number > failed or (name is StepName.TABLES and failed == len(names) - 1)):
            steps.append(Step(name, StepState.NOT_REACHED))
        else:
            is_doubtful = (name is StepName.RIGHTS and is_warned) or (name is StepName.TABLES and unseen != "")
            state = StepState.WARNING if is_doubtful else StepState.OK
            steps.append(Step(name, state, details.get(name, "")))
    return tuple(steps)


def _warnings(database: ConnectedDatabase, report: AccessReport) -> tuple[str, ...]:
    found: list[str] = []
    if database.role.notice:
        found.append(database.role.notice)
    elif database.role.warning:
        found.append(
            f"{database.role.warning}: every session runs READ ONLY, and production refuses such a user"
            " (QUERYBUS_ENVIRONMENT=production)"
        )
    if report.tables_unseen:
        found.append(f"{count_of(report.tables_unseen, 'table')} of the database may not be read by {report.role}")
    return tuple(found)


def _place(config: ConnectionConfig) -> str:
    url = config.parsed_url
    engine = ENGINES[config.dialect]
    if engine.is_file:
        return str(config.file_path)
    port = url.port or url.query.get("port") or engine.port or ""
    return f"{url.host or url.query.get('host') or url.query.get('unix_socket') or 'this machine'}:{port}".rstrip(":")


def _tunnel_advice(config: ConnectionConfig) -> str:
    """Return what to do where only another machine reaches the server: its address is a private one."""
    host = config.parsed_url.host
    if host is None:
        return ""
    try:
        address = ipaddress.ip_address(socket.getaddrinfo(host, None)[0][4][0])
    except (OSError, ValueError):
        return ""
    port = config.parsed_url.port or ENGINES[config.dialect].port
    if not address.is_private or address.is_loopback or port is None:
        return ""
    return (
        f"; {host} is a private address: where another machine reaches it, run"
        f" `ssh -N -L 1{port % 10_000:04d}:{host}:{port} USER@BASTION` and write 127.0.0.1:1{port % 10_000:04d} in `url`"
    )
