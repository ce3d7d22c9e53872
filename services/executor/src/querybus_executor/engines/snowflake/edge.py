"""Snowflake through its own connector, in threads: read-only by role, one query per call, limits of the session.

The connector needs another protobuf than gRPC, so it lives in an environment of its own (requirements-snowflake.lock).
A text is looked at before it is sent. A cancelled statement is ended by a second session, which cancels all that the
first one runs. Executed against fakesnow, which is DuckDB underneath: no claim about Snowflake's semantics rests on it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from querybus.core.catalog import Catalog, ColumnKind
from querybus.core.failure import Facts, Failure, FailureCode
from querybus.core.messages import ResultColumn
from querybus.ops.metrics import Metrics
from querybus_executor.catalog.queries import SNOWFLAKE, read_catalog
from querybus_executor.connections.config import ConnectionConfig, PoolLimits
from querybus_executor.connections.trouble import ROLE_MAY_WRITE
from querybus_executor.engines.drivers import driver_module
from querybus_executor.engines.native_errors import native_failure
from querybus_executor.engines.pool import SessionPool, Threads
from querybus_executor.engines.server import CONNECT_SECONDS_MAX, RESERVED_CONNECTIONS, Asked, Server, away
from querybus_executor.engines.single_statement import not_one_query
from querybus_executor.ports import Estimate, Rows

LOGIN_SECONDS_MAX: Final = 15
_SESSION: Final[dict[str, Any]] = {
    "QUERY_TAG": "querybus",
    "MULTI_STATEMENT_COUNT": 1,
    "TIMEZONE": "UTC",
    "AUTOCOMMIT": True,
    "ABORT_DETACHED_QUERY": True,
    "CLIENT_TELEMETRY_ENABLED": False,
}
_HARMLESS: Final = frozenset({"USAGE", "SELECT", "REFERENCES", "MONITOR", "REFERENCE_USAGE", "READ"})
_KINDS: Final = (
    ColumnKind.NUMBER, ColumnKind.NUMBER, ColumnKind.TEXT, ColumnKind.DATE, ColumnKind.DATETIME, ColumnKind.JSON,
    ColumnKind.DATETIME, ColumnKind.DATETIME, ColumnKind.DATETIME, ColumnKind.JSON, ColumnKind.JSON, ColumnKind.BYTES,
    ColumnKind.TIME, ColumnKind.BOOLEAN, ColumnKind.OTHER, ColumnKind.OTHER, ColumnKind.JSON, ColumnKind.JSON,
)  # fmt: skip
_TYPES: Final = (
    "FIXED", "REAL", "TEXT", "DATE", "TIMESTAMP", "VARIANT", "TIMESTAMP_LTZ", "TIMESTAMP_TZ", "TIMESTAMP_NTZ",
    "OBJECT", "ARRAY", "BINARY", "TIME", "BOOLEAN", "GEOGRAPHY", "GEOMETRY", "VECTOR", "MAP",
)  # fmt: skip
_NAMED: Final = r"'(?:(?P<qualifier>[\w$]+)\.)?(?P<name>[\w$]+)'"
_RULES: Final = (
    ("2003|2043", r"(?:Object|Table|View|Schema)\s+'?(?P<name>[\w$.\"]+)'? does not exist", FailureCode.TABLE_NOT_FOUND),
    ("2003|2043|2049", r"", FailureCode.TABLE_NOT_FOUND),
    ("904", r"invalid identifier\s+" + _NAMED, FailureCode.COLUMN_NOT_FOUND),
    ("904", r"", FailureCode.COLUMN_NOT_FOUND),
    ("1066|2024|2028", r"ambiguous column name\s+" + _NAMED, FailureCode.AMBIGUOUS_COLUMN),
    ("1066|2024|2028", r"", FailureCode.AMBIGUOUS_COLUMN),
    ("979", r"", FailureCode.GROUPING_ERROR),
    ("2076|2035", r"", FailureCode.AGGREGATE_MISUSE),
    ("1080|2026", r"", FailureCode.JOIN_ERROR),
    ("2140|2141|939|938|1044", r"(?:function\s+)?(?P<name>[\w$]+)?", FailureCode.FUNCTION_NOT_FOUND),
    ("100038|100035|1038|100040|100069|100071|100132|2023|1065", r"", FailureCode.TYPE_MISMATCH),
    ("100051", r"", FailureCode.DIVISION_BY_ZERO),
    ("100039|100046", r"", FailureCode.NUMBER_TOO_LARGE),
    ("90150|100057", r"", FailureCode.CARDINALITY),
    ("3001|3041|90105|90106", r"", FailureCode.PERMISSION),
    ("604|630|000604|607", r"", FailureCode.TIMEOUT),
    ("625", r"lock|transaction", FailureCode.LOCK),
    ("625|90073|100078", r"", FailureCode.RESOURCE_LIMIT),
    ("250\\d{3}|390\\d{3}|251\\d{3}|606|253\\d{3}", r"", FailureCode.CONNECTION),
    ("8", r"", FailureCode.MULTI_STATEMENT),
    ("1003|1007|1011|2038|2212", r"", FailureCode.SYNTAX_ERROR),
)  # fmt: skip


def snowflake_server(config: ConnectionConfig, *, bytes_max: int, metrics: Metrics) -> Server:
    """Return the edge of a Snowflake connection; nothing is connected yet."""
    threads = Threads(config.pool, RESERVED_CONNECTIONS)
    module = driver_module("snowflake.connector", "snowflake")
    connect = partial(threads.run, partial(_connect, module, config))

    async def opening() -> Any:
        session = await connect()
        metrics.database_opened(config.name)
        return session

    async def closing(session: Any) -> None:
        await threads.run(session.close)

    limits = (config.pool, PoolLimits(size=RESERVED_CONNECTIONS, overflow=0))
    pools = [SessionPool(opening, closing, limit) for limit in limits]
    driver = Snowflake(module, threads, connect)
    return Server(config.name, driver, pools[0], pools[1], bytes_max=bytes_max, metrics=metrics, closing=threads.close)


async def read_snowflake(config: ConnectionConfig, server: Server) -> Catalog | Failure:
    """Return the catalog, unless the database is away or its role may write without being allowed to."""
    result = await server.own("SELECT CURRENT_ROLE(), CURRENT_SCHEMA()", 1, LOGIN_SECONDS_MAX)
    if isinstance(result, Failure):
        return Failure.of(FailureCode.CONNECTION, result.detail, result.facts)
    role, schema = (str(row or "") for row in result.rows[0])
    if not config.role_may_write:
        trouble = await _overprivileged(server, role)
        if trouble is not None:
            return Failure.of(FailureCode.CONNECTION, trouble, Facts(rule=ROLE_MAY_WRITE))
    return await read_catalog(config, server.own, SNOWFLAKE, default_schema=schema or None)


async def _overprivileged(server: Server, role: str) -> str | None:
    quoted = role.replace('"', '""')
    grants = await server.own(f'SHOW GRANTS TO ROLE "{quoted}"', 100_000, CONNECT_SECONDS_MAX)
    if isinstance(grants, Failure):
        # Who cannot be asked cannot be trusted.
        return f"the rights of the role {role} cannot be read ({grants.detail[:200]}); set role_may_write to take it all the same"
    names = [column.name.lower() for column in grants.columns]
    right, place = names.index("privilege"), names.index("name")
    for row in grants.rows:
        if str(row[right]).upper() not in _HARMLESS:
            return (
                f"the role {role} may {row[right]} on {row[place]}:"
                " use one that may only SELECT (docs/connections.md), or set role_may_write"
            )
    return None


class Snowflake:
    """The driver of the connector's sessions."""

    def __init__(self, module: Any, threads: Threads, connect: Any) -> None:
        self._module = module
        self._threads = threads
        self._connect = connect

    async def begin(self, session: Any, seconds: float) -> None:
        """Do nothing: the limits travel with each statement."""

    async def run(self, session: Any, asked: Asked) -> Rows | Failure:
        """Stream the rows of one query."""
        refused = None if asked.own else not_one_query(asked.sql, "snowflake")
        if refused is not None:
            return refused
        limits = {"STATEMENT_TIMEOUT_IN_SECONDS": max(1, int(asked.seconds + 0.999)), "MULTI_STATEMENT_COUNT": 1}
        if not asked.own:
            limits["ROWS_PER_RESULTSET"] = asked.into.wanted
        cursor = await self._threads.run(_execute, session, asked.sql, limits)
        try:
            columns = tuple(_column(column) for column in cursor.description or ())
            if not columns:
                return Failure.of(FailureCode.PERMISSION, "the statement returns no rows", Facts(native_code="3001"))
            while True:
                size = asked.into.batch_rows
                rows = await self._threads.run(cursor.fetchmany, size)
                if not await asked.into.take(columns, rows) or len(rows) < size:
                    return await asked.into.rows()
        finally:
            await self._threads.run(cursor.close)

    async def explain(self, session: Any, sql: str) -> Estimate | Failure:
        """Return the bytes of the partitions that the plan reads as its cost; Snowflake says no number of rows."""
        refused = not_one_query(sql, "snowflake")
        if refused is not None:
            return refused
        await self._threads.run(_describe, session, sql)
        return Estimate(rows=None, cost=await self._threads.run(_bytes_assigned, self._module, session, sql))

    async def stop(self, session: Any) -> None:
        """Cancel from another session whatever this one runs, and give it up."""
        other = await self._connect()
        try:
            await self._threads.run(_execute, other, f"SELECT SYSTEM$CANCEL_ALL_QUERIES({int(session.session_id)})")
        finally:
            await self._threads.run(other.close)

    async def reset(self, session: Any) -> None:
        """Do nothing: one query without a right to write leaves nothing behind."""

    def failure(self, error: BaseException, sql: str) -> Failure | None:  # noqa: ARG002 - the port's signature
        """Return what an error of the connector or of the network means."""
        if isinstance(error, self._module.errors.Error):
            code = str(getattr(error, "errno", None) or "")
            text = str(getattr(error, "raw_msg", None) or getattr(error, "msg", None) or error)
            if isinstance(error, self._module.errors.OperationalError) and code not in ("604", "630"):
                code = "250001"
            return native_failure(_RULES, code, text)
        if isinstance(error, OSError):
            return away(error)
        return None


def _connect(module: Any, config: ConnectionConfig) -> Any:
    url = config.parsed_url
    database, _, schema = (url.database or "").partition("/")
    more = {
        name: str(url.query[name])
        for name in ("warehouse", "role", "private_key_file", "host", "port", "protocol")
        if name in url.query
    }
    return module.connect(
        account=url.host,
        user=url.username,
        password=url.password,
        database=database,
        schema=schema or "PUBLIC",
        application="querybus",
        login_timeout=LOGIN_SECONDS_MAX,
        network_timeout=LOGIN_SECONDS_MAX,
        client_session_keep_alive=False,
        session_parameters=_SESSION,
        **more,
    )


def _execute(session: Any, sql: str, limits: Mapping[str, int] | None = None) -> Any:
    cursor = session.cursor()
    cursor.execute(sql, _statement_params={name: str(value) for name, value in (limits or {}).items()})
    return cursor


def _describe(session: Any, sql: str) -> None:
    """Have the statement compiled and not run."""
    cursor = session.cursor()
    try:
        cursor.describe(sql)
    finally:
        cursor.close()


def _bytes_assigned(module: Any, session: Any, sql: str) -> float | None:
    """Return the plan's cost, or None where the account makes no plans known."""
    try:
        cursor = _execute(session, f"EXPLAIN USING JSON {sql}")
        try:
            row = cursor.fetchone()
        finally:
            cursor.close()
        return float(json.loads(str(row[0]))["GlobalStats"]["bytesAssigned"])
    except (module.errors.ProgrammingError, ValueError, KeyError, TypeError):
        return None


def _column(described: Any) -> ResultColumn:
    code = int(described[1])
    known = 0 <= code < len(_KINDS)
    kind = _KINDS[code] if known else ColumnKind.OTHER
    if code == 0 and described[5] == 0:
        kind = ColumnKind.INTEGER
    return ResultColumn(name=str(described[0]), kind=kind, type=_TYPES[code] if known else "")
