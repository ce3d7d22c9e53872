"""MySQL and MariaDB through asyncmy in SQLAlchemy's pool: read-only by user, by transaction and by what is prepared.

A text is prepared on the server, which takes one statement, and first as EXPLAIN, which takes none that changes a
setting, a password or a session. A session whose statement was cancelled is ended on the server and never lent again.
What the engine cuts or converts silently is read from its warnings. Executed against MariaDB 10.11, never MySQL.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
from collections.abc import Generator, Sequence
from typing import Any, Final, cast

import asyncmy
import sqlalchemy as sa
from asyncmy.cursors import SSCursor
from asyncmy.errors import MySQLError
from sqlalchemy import event
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from querybus.core.catalog import Catalog, ColumnKind
from querybus.core.failure import Facts, Failure, FailureCode
from querybus.core.messages import ResultColumn
from querybus.ops.metrics import Metrics
from querybus_executor.catalog.queries import MYSQL, read_catalog
from querybus_executor.connections.certificates import OPTIONS, server_context
from querybus_executor.connections.config import ConnectionConfig, PoolLimits
from querybus_executor.connections.writing_role import WritingRole
from querybus_executor.engines.mysql.errors import mysql_failure
from querybus_executor.engines.pool import SqlalchemyPool
from querybus_executor.engines.server import CONNECT_SECONDS_MAX, RESERVED_CONNECTIONS, Asked, Server, away
from querybus_executor.ports import Estimate, Rows

# It would log the warnings of statements, which hold values of the database.
logging.getLogger("asyncmy").setLevel(logging.ERROR)

WARNINGS_MAX: Final = 5
EXPLAIN_DEPTH_MAX: Final = 100

_HARMLESS: Final = frozenset({"USAGE", "SELECT", "SHOW VIEW", "SHOW DATABASES", "PROCESS"})
_GRANT: Final = re.compile(r"GRANT (?P<rights>.+?) ON (?P<place>\S+) TO ", re.IGNORECASE)
_KINDS: Final[dict[int, tuple[str, ColumnKind]]] = {
    0: ("decimal", ColumnKind.NUMBER),
    1: ("tinyint", ColumnKind.INTEGER),
    2: ("smallint", ColumnKind.INTEGER),
    3: ("int", ColumnKind.INTEGER),
    4: ("float", ColumnKind.NUMBER),
    5: ("double", ColumnKind.NUMBER),
    7: ("timestamp", ColumnKind.DATETIME),
    8: ("bigint", ColumnKind.INTEGER),
    9: ("mediumint", ColumnKind.INTEGER),
    10: ("date", ColumnKind.DATE),
    11: ("time", ColumnKind.TIME),
    12: ("datetime", ColumnKind.DATETIME),
    13: ("year", ColumnKind.INTEGER),
    15: ("varchar", ColumnKind.TEXT),
    16: ("bit", ColumnKind.BYTES),
    245: ("json", ColumnKind.JSON),
    246: ("decimal", ColumnKind.NUMBER),
    247: ("enum", ColumnKind.TEXT),
    248: ("set", ColumnKind.TEXT),
    249: ("text", ColumnKind.TEXT),
    250: ("text", ColumnKind.TEXT),
    251: ("text", ColumnKind.TEXT),
    252: ("text", ColumnKind.TEXT),
    253: ("varchar", ColumnKind.TEXT),
    254: ("char", ColumnKind.TEXT),
    255: ("geometry", ColumnKind.OTHER),
}


def mysql_server(config: ConnectionConfig, *, bytes_max: int, metrics: Metrics) -> Server:
    """Return the edge of a MySQL or MariaDB connection; nothing is connected yet."""
    reserved = PoolLimits(size=RESERVED_CONNECTIONS, overflow=0)
    pools = [SqlalchemyPool(_pool(config, limits, metrics)) for limits in (config.pool, reserved)]
    driver = Mysql(config.parsed_url)
    return Server(config.name, driver, pools[0], pools[1], bytes_max=bytes_max, metrics=metrics)


async def read_mysql(config: ConnectionConfig, server: Server, role: WritingRole | None = None) -> Catalog | Failure:
    """Return the catalog, unless the database is away or its user may write without being allowed to."""
    grants = await server.own("SHOW GRANTS", 1_000, CONNECT_SECONDS_MAX)
    if isinstance(grants, Failure):
        return Failure.of(FailureCode.CONNECTION, grants.detail, grants.facts)
    excess = overprivileged([str(row[0]) for row in grants.rows])
    refused = (role or WritingRole(config)).judge(None if excess is None else f"the user {excess}")
    if refused is not None:
        return refused
    schema = config.parsed_url.database
    return await read_catalog(config, server.own, MYSQL, default_schema=schema)


def overprivileged(grants: Sequence[str]) -> str | None:
    """Return in words what the grants allow beyond reading, or None.

    >>> overprivileged(["GRANT USAGE ON *.* TO `r`@`%`", "GRANT SELECT, INSERT (a) ON `d`.`t` TO `r`@`%`"])
    'may INSERT on d.t'
    """
    for grant in grants:
        match = _GRANT.match(grant)
        if match is None:
            continue
        rights = {text.strip().upper() for text in re.sub(r"\([^)]*\)", "", match["rights"]).split(",")}
        beyond = sorted(rights - _HARMLESS)
        if beyond:
            return f"may {beyond[0]} on {match['place'].replace('`', '')}"
    return None


class Mysql:
    """The driver of asyncmy's sessions."""

    def __init__(self, url: URL) -> None:
        self._url = url

    async def begin(self, session: Any, seconds: float) -> None:
        """Set the limits, then open the transaction."""
        limit = (
            f"max_statement_time = {seconds:.3f}"
            if _is_mariadb(session)
            else f"max_execution_time = {int(seconds * 1_000)}"
        )
        wait = max(1, int(min(seconds / 2, 2)))
        await _do(session, f"SET SESSION {limit}, lock_wait_timeout = {wait}, lc_messages = 'en_US'")
        await _do(session, "START TRANSACTION READ ONLY")

    async def run(self, session: Any, asked: Asked) -> Rows | Failure:
        """Prepare the statement twice, as EXPLAIN and as it is, and stream its rows."""
        if not asked.sql.startswith(_OWN) and _DESCRIPTION.fullmatch(asked.sql) is None:
            await self._prepare(session, _EXPLAIN + asked.sql.removeprefix(_PLAN))
        cursor = session.cursor(SSCursor)
        if _is_mariadb(session):
            # One call instead of three; it takes one statement as PREPARE does.
            await cursor.execute(f"EXECUTE IMMEDIATE {_literal(asked.sql)}")
        else:
            await self._prepare(session, asked.sql)
            await cursor.execute("EXECUTE querybus")
        if cursor.description is None:
            await cursor.close()
            return Failure.of(FailureCode.PERMISSION, "the statement returns no rows", Facts(native_code="1792"))
        described = list(cursor.description)
        odd: set[int] = set()
        while True:
            size = asked.into.batch_rows
            batch = await cursor.fetchmany(size)
            # What the protocol calls text may be bytes; only the values say.
            odd.update(
                index for index, values in enumerate(zip(*batch, strict=True)) if bytes in set(map(type, values))
            )
            columns = tuple(_column(column, is_bytes=index in odd) for index, column in enumerate(described))
            with _reading_paused(session):
                more = await asked.into.take(columns, batch)
            if not more or len(batch) < size:
                break
        if more:
            return await asked.into.rows(warnings=await _warnings(session, cursor))
        if await cursor.fetchmany(1):
            # The rest would have to be read away first; ending the session is cheaper.
            await self.stop(session)
        else:
            await cursor.close()
        return await asked.into.rows()

    async def explain(self, session: Any, sql: str) -> Estimate | Failure:
        """Return the planner's rows: the product over the tables it joins, at the outermost level."""
        await self._prepare(session, _EXPLAIN + sql)
        if _is_mariadb(session):
            # Its JSON does not escape quotes of the statement, so it may be no JSON, or say what the statement says.
            await self._prepare(session, _PLAN + sql)
            return _estimate_of_steps(await _rows_by_name(session, "EXECUTE querybus"))
        result = await _fetch(session, "EXECUTE querybus")
        plan = json.loads(str(result[0][0]))
        rows = rows_expected(plan)
        return Estimate(rows=rows, rows_read=rows, cost=_cost(plan))

    async def stop(self, session: Any) -> None:
        """End the session on the server, from another one."""
        other = await asyncmy.connect(**_arguments(self._url), connect_timeout=1)
        try:
            await _do(other, f"KILL {int(session.thread_id())}")
        finally:
            other.close()
            session.close()

    async def reset(self, session: Any) -> None:
        """Roll back, let go of locks, and forget the warnings: they hold words of the statement."""
        await _do(session, "ROLLBACK")
        await _do(session, "DO RELEASE_ALL_LOCKS()")
        # Only a statement that reads a table empties the list of warnings.
        await _fetch(session, "SELECT engine FROM information_schema.engines LIMIT 0")
        await _do(session, "SET @querybus = NULL")

    def failure(self, error: BaseException, sql: str) -> Failure | None:
        """Return what an error of asyncmy or of the network means."""
        said = error.args
        if isinstance(error, MySQLError) and said and isinstance(said[0], int):
            result = mysql_failure(said[0], str(said[1]) if len(said) > 1 else "", sql)
            if result.code is FailureCode.CONNECTION:
                return Failure.of(result.code, "the database does not answer or refuses the user", result.facts)
            return result
        if isinstance(error, MySQLError | OSError | asyncio.IncompleteReadError):
            return away(error)
        return None

    async def _prepare(self, session: Any, sql: str) -> None:
        if _is_mariadb(session):
            await _do(session, f"PREPARE querybus FROM {_literal(sql)}")
            return
        await _do(session, f"SET @querybus = {_literal(sql)}")
        await _do(session, "PREPARE querybus FROM @querybus")


_EXPLAIN: Final = "EXPLAIN FORMAT=JSON "
"""With a format it takes queries only; without one `EXPLAIN commit` would describe a table of that name."""

_PLAN: Final = "EXPLAIN "
_DESCRIPTION: Final = re.compile(
    r"(?:DESCRIBE|SHOW COLUMNS FROM) (?:`[^`]+`|\w+)(?:\.(?:`[^`]+`|\w+))?|SHOW TABLES", re.IGNORECASE
)
"""What only describes a table, or lists them: EXPLAIN takes none of these, and they can be nothing else."""

_OWN: Final = "SHOW GRANTS"
"""The one statement of our own that EXPLAIN does not take; nobody else's text can be more than this."""


def _estimate_of_steps(steps: Sequence[dict[str, Any]]) -> Estimate:
    """Return what MariaDB's table of steps expects: the largest product of the rows of one SELECT of the statement.

    >>> _estimate_of_steps([{"id": 1, "rows": "3"}, {"id": 1, "rows": "4"}, {"id": 2, "rows": "5"}]).rows
    12
    """
    products: dict[object, int] = {}
    for step in steps:
        rows = str(step.get("rows") or "")
        if rows.isdigit():
            products[step.get("id")] = products.get(step.get("id"), 1) * max(1, int(rows))
    largest = max(products.values(), default=None)
    return Estimate(rows=largest, rows_read=largest, cost=None)


def rows_expected(plan: Any) -> int | None:
    """Return the product of the rows of all tables of the plan's outermost block.

    >>> rows_expected({"query_block": {"nested_loop": [{"table": {"rows": 3}}, {"table": {"rows": 4}}]}})
    12
    """
    numbers: list[int] = []

    def walk(node: Any, depth: int) -> None:
        if depth > EXPLAIN_DEPTH_MAX:
            return
        if isinstance(node, dict):
            table = cast("dict[str, Any]", node)
            rows = table.get("rows", table.get("rows_examined_per_scan"))
            if isinstance(rows, int | float):
                numbers.append(max(1, int(rows)))
            for name, column in table.items():
                if "subquer" not in name:
                    walk(column, depth + 1)
        elif isinstance(node, list):
            for item in cast("list[Any]", node):
                walk(item, depth + 1)

    walk(plan, 0)
    product = 1
    for item in numbers:
        product *= item
    return product if numbers else None


def _cost(plan: Any) -> float | None:
    block = plan.get("query_block", {}) if isinstance(plan, dict) else {}
    text = block.get("cost_info", {}).get("query_cost", block.get("cost"))
    return None if text is None else float(text)


def connect_arguments(url: URL) -> tuple[URL, dict[str, Any]]:
    """Return the URL for SQLAlchemy's pool and what asyncmy is given beside it."""
    context = server_context(url)
    tls = {} if context is None else {"ssl": context}
    plain = url.set(drivername="mysql+asyncmy").difference_update_query(OPTIONS)
    return plain, {"connect_timeout": CONNECT_SECONDS_MAX, "charset": "utf8mb4", **tls}


def _pool(config: ConnectionConfig, limits: PoolLimits, metrics: Metrics) -> AsyncEngine:
    url, given = connect_arguments(config.parsed_url)
    engine = create_async_engine(
        url,
        pool_size=limits.size,
        max_overflow=limits.overflow,
        pool_timeout=limits.wait_seconds,
        pool_recycle=limits.recycle_seconds,
        pool_reset_on_return=None,
        hide_parameters=True,
        connect_args=given,
    )

    def opened(_adapted: Any, _record: sa.pool.ConnectionPoolEntry) -> None:
        metrics.database_opened(config.name)

    event.listen(engine.sync_engine, "connect", opened)
    return engine


def _arguments(url: URL) -> dict[str, Any]:
    given: dict[str, Any] = {
        "host": url.host,
        "port": url.port,
        "user": url.username,
        "password": url.password,
        "db": url.database,
    }
    given["unix_socket"] = url.query.get("unix_socket")
    given["ssl"] = server_context(url)
    return {name: value for name, value in given.items() if value is not None}


def _is_mariadb(session: Any) -> bool:
    return "mariadb" in str(session.get_server_info()).lower()


def _literal(sql: str) -> str:
    """Return the text as a literal that it cannot leave, whatever the server's settings for quotes are."""
    return f"CONVERT(0x{sql.encode().hex()} USING utf8mb4)"


@contextlib.contextmanager
def _reading_paused(session: Any) -> Generator[None]:
    """Take nothing from the server while the block runs: asyncmy reads without end whatever nobody has fetched yet."""
    transport = session._transport  # noqa: SLF001 - it has no public way
    if not transport.is_closing():
        transport.pause_reading()
    try:
        yield
    finally:
        if not transport.is_closing():
            transport.resume_reading()


async def _do(session: Any, sql: str) -> None:
    cursor = session.cursor()
    await cursor.execute(sql)
    await cursor.close()


async def _fetch(session: Any, sql: str) -> Sequence[Sequence[Any]]:
    cursor = session.cursor()
    await cursor.execute(sql)
    result = await cursor.fetchall()
    await cursor.close()
    return result


async def _rows_by_name(session: Any, sql: str) -> list[dict[str, Any]]:
    cursor = session.cursor()
    await cursor.execute(sql)
    names = [str(column[0]) for column in cursor.description or ()]
    result = [dict(zip(names, row, strict=True)) for row in await cursor.fetchall()]
    await cursor.close()
    return result


async def _warnings(session: Any, cursor: Any) -> tuple[str, ...]:
    await cursor.close()
    result = await _fetch(session, f"SHOW WARNINGS LIMIT {WARNINGS_MAX}")
    return tuple(dict.fromkeys(f"the database warns: {message}" for level, _, message in result if level != "Error"))


def _column(described: Any, *, is_bytes: bool) -> ResultColumn:
    type_text, kind = _KINDS.get(described[1], ("", ColumnKind.OTHER))
    return ResultColumn(name=described[0], kind=ColumnKind.BYTES if is_bytes else kind, type=type_text)
