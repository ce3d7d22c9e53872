"""PostgreSQL through asyncpg in SQLAlchemy's pool: read-only by role, by transaction and by protocol.

Statements go through the extended protocol only, which takes one statement; one that returns no rows is refused
before it runs. Each runs in a READ ONLY transaction that has already been used, with its limits set inside it, and is
always rolled back; the session is discarded before it is lent again. Dates, times and intervals keep PostgreSQL's own
text (infinity, years before Christ); numbers stay exact as `cells` says.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

import asyncpg
import sqlalchemy as sa
from asyncpg.exceptions import InterfaceError, InternalClientError, PostgresError
from sqlalchemy import event
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from querybus.core.catalog import Catalog, ColumnKind
from querybus.core.failure import Facts, Failure, FailureCode
from querybus.core.messages import ResultColumn, Scalar
from querybus.ops.metrics import Metrics
from querybus_executor.catalog.column_kinds import kind_of_type
from querybus_executor.catalog.queries import POSTGRESQL, read_catalog
from querybus_executor.connections.certificates import server_context
from querybus_executor.connections.config import ConnectionConfig, PoolLimits
from querybus_executor.connections.writing_role import WritingRole
from querybus_executor.engines.pool import SqlalchemyPool
from querybus_executor.engines.postgres.errors import postgres_failure
from querybus_executor.engines.postgres.row_security import name_reader, without_row_security
from querybus_executor.engines.server import CONNECT_SECONDS_MAX, RESERVED_CONNECTIONS, Asked, Server, away
from querybus_executor.ports import Estimate, Rows
from querybus_executor.results.receive import CELL_CHARACTERS_MAX

LOCK_SECONDS_MAX: Final = 2.0
IDLE_SECONDS: Final = 30.0

_EXPLAIN: Final = "EXPLAIN (FORMAT JSON) "
_SETTINGS: Final = {
    "application_name": "querybus",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "default_transaction_read_only": "on",
    # Off, a backslash would end the literals of our own text.
    "standard_conforming_strings": "on",
}
_AS_TEXT: Final = ("date", "timestamp", "timestamptz", "timetz", "interval", "json", "jsonb")
_RIGHTS: Final = """
SELECT current_user::text,
 (SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls FROM pg_roles
  WHERE rolname = current_user),
 EXISTS (SELECT FROM pg_roles r WHERE r.rolname IN ('pg_write_all_data', 'pg_write_server_files',
  'pg_read_server_files', 'pg_execute_server_program', 'pg_signal_backend', 'pg_maintain')
  AND pg_has_role(current_user, r.oid, 'MEMBER')),
 has_database_privilege(current_database(), 'CREATE'),
 (SELECT min(n.nspname)::text FROM pg_namespace n WHERE n.nspname NOT LIKE 'pg\\_%'
  AND has_schema_privilege(n.oid, 'CREATE')),
 (SELECT min(n.nspname || '.' || c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
  AND (has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER')
  OR has_any_column_privilege(c.oid, 'INSERT, UPDATE')))
"""


def postgres_server(config: ConnectionConfig, *, bytes_max: int, metrics: Metrics) -> Server:
    """Return the edge of a PostgreSQL connection; nothing is connected yet."""
    reserved = PoolLimits(size=RESERVED_CONNECTIONS, overflow=0)
    pools = [SqlalchemyPool(_pool(config, limits, metrics)) for limits in (config.pool, reserved)]
    path = config.parsed_url.query.get("search_path")
    driver = Postgres(None if path is None else str(path))
    named = name_reader if config.policy.native else None
    return Server(config.name, driver, pools[0], pools[1], bytes_max=bytes_max, metrics=metrics, name_reader=named)


async def read_postgres(config: ConnectionConfig, server: Server, role: WritingRole | None = None) -> Catalog | Failure:
    """Return the catalog, unless the database is away or its role may write without being allowed to."""
    rights = await server.own(_RIGHTS, 1, CONNECT_SECONDS_MAX)
    if isinstance(rights, Failure):
        return Failure.of(FailureCode.CONNECTION, rights.detail, rights.facts)
    refused = (role or WritingRole(config)).judge(_overprivileged(rights.rows[0]))
    if refused is not None:
        return refused
    if config.policy.native:
        unguarded = await without_row_security(config, server)
        if unguarded is not None:
            return unguarded
    schema = await server.own("SELECT current_schema()::text", 1, CONNECT_SECONDS_MAX)
    default = None if isinstance(schema, Failure) else schema.rows[0][0]
    return await read_catalog(config, server.own, POSTGRESQL, default_schema=None if default is None else str(default))


def _overprivileged(rights: Sequence[Scalar]) -> str | None:
    role, administers, writes_all, creates, schema, table = rights
    may = None
    if administers:
        may = "is a superuser or administers roles, databases or replication"
    elif writes_all:
        may = "belongs to a role that writes data, files or runs programs"
    elif creates:
        may = "may create schemas in the database"
    elif schema is not None:
        may = f"may create tables in the schema {schema}"
    elif table is not None:
        may = f"may change the table {table}"
    return None if may is None else f"the role {role} {may}"


class Postgres:
    """The driver of asyncpg's sessions. `search_path`: of the URL, where it names one."""

    def __init__(self, search_path: str | None = None) -> None:
        # Each name as a text, which the server reads as a list of names.
        names = [name.strip().strip('"') for name in (search_path or "").split(",") if name.strip()]
        quoted = ", ".join("'" + name.replace("'", "''") + "'" for name in names)
        self._path = f" SET LOCAL search_path = {quoted};" if quoted else ""

    async def begin(self, session: Any, seconds: float) -> None:
        """Open the transaction; after the SELECT it can no longer become READ WRITE."""
        limit = max(1, int(seconds * 1_000))
        await session.execute(
            f"BEGIN READ ONLY; SET LOCAL statement_timeout = {limit};"
            f" SET LOCAL lock_timeout = {max(1, min(limit // 2, int(LOCK_SECONDS_MAX * 1_000)))};"
            f" SET LOCAL idle_in_transaction_session_timeout = {limit + int(IDLE_SECONDS * 1_000)};"
            # A pooler may drop what a session asked for, or give another server's session to each transaction.
            " SET LOCAL DateStyle = 'ISO, MDY'; SET LOCAL IntervalStyle = 'postgres';"
            f" SET LOCAL standard_conforming_strings = on;{self._path} SELECT 1"
        )

    async def run(self, session: Any, asked: Asked) -> Rows | Failure:
        """Stream the rows of one statement through a cursor on the server."""
        prepared: Any = None
        try:
            prepared = await _prepare(session, asked.sql)
            attributes = prepared.get_attributes()
        except asyncpg.UnsupportedClientFeatureError:
            # A range or row of what is read as text has no reader at all: only its type is asked for.
            attributes = await _attributes_without_text_types(session, asked.sql)
        if not attributes:
            return Failure.of(FailureCode.PERMISSION, "the statement returns no rows", Facts(native_code="25006"))
        is_query = _QUERY.match(asked.sql) is not None
        shown = [_shown_as(attribute, f"c{number}", is_query=is_query) for number, attribute in enumerate(attributes)]
        if any(column[0] != '"' for column in shown):
            names = ", ".join(f'"c{number}"' for number in range(len(shown)))
            wrapped = f"SELECT {', '.join(shown)} FROM ({asked.sql}) AS querybus_rows({names})"  # noqa: S608 - approved
            prepared = await _prepare(session, wrapped)
        columns = tuple(_column(attribute) for attribute in attributes)
        cursor = await prepared.cursor()
        while True:
            size = asked.into.batch_rows
            batch = await cursor.fetch(size)
            if not await asked.into.take(columns, batch) or len(batch) < size:
                return await asked.into.rows()

    async def explain(self, session: Any, sql: str) -> Estimate | Failure:
        """Return the planner's rows and cost."""
        try:
            result = await session.fetchval(_EXPLAIN + sql)
        except PostgresError as error:
            return _failure_of(error, sql, skipped=len(_EXPLAIN))
        plan = json.loads(result)[0]["Plan"]
        return Estimate(rows=int(plan["Plan Rows"]), rows_read=_largest_step(plan), cost=float(plan["Total Cost"]))

    async def stop(self, session: Any) -> None:
        """Do nothing: asyncpg has asked the server to cancel when the task was, and waits for it in `reset`."""

    async def reset(self, session: Any) -> None:
        """Roll back and forget settings, locks, listeners, temporary tables and prepared statements."""
        await session.execute("ROLLBACK")
        await session.execute("DISCARD ALL")

    def failure(self, error: BaseException, sql: str) -> Failure | None:
        """Return what an error of asyncpg or of the network means."""
        if isinstance(error, asyncpg.ConnectionDoesNotExistError):
            return away(error)
        if isinstance(error, PostgresError):
            return _failure_of(error, sql)
        if isinstance(error, asyncpg.UnsupportedClientFeatureError | asyncpg.DataError | UnicodeError):
            # Its own statement cannot be read; that says nothing of the database.
            return Failure.of(FailureCode.TYPE_MISMATCH, "a value of the result has a type that cannot be read")
        if isinstance(error, OSError | InterfaceError | InternalClientError):
            return away(error)
        return None


def _failure_of(error: PostgresError, sql: str, *, skipped: int = 0) -> Failure:
    """Return what a server's error means; `skipped` characters of our own stood before the statement."""
    state = str(getattr(error, "sqlstate", None) or "XX000")
    position = str(getattr(error, "position", None) or "")
    routine = str(getattr(error, "server_source_function", None) or "")
    place = int(position) - skipped if position.isdigit() and int(position) > skipped else None
    return postgres_failure(state, str(error), routine, place, sql)


def _largest_step(plan: dict[str, Any]) -> int:
    pending, largest = [plan], 0
    while pending:
        step = pending.pop()
        largest = max(largest, int(step.get("Plan Rows", 0)))
        pending += step.get("Plans", [])
    return largest


def connect_arguments(url: URL, settings: Mapping[str, str]) -> tuple[URL, dict[str, Any]]:
    """Return the URL for SQLAlchemy's pool and what asyncpg is given beside it."""
    context, query = server_context(url), url.query
    own = {name: str(query[name]) for name in ("search_path", "application_name") if name in query}
    given: dict[str, Any] = {"timeout": CONNECT_SECONDS_MAX, "server_settings": {**settings, **own}}
    if context is not None or "ssl" in query:
        given["ssl"] = context or str(query["ssl"])
    if "passfile" in query:
        given["passfile"] = str(query["passfile"])
    plain = url.set(
        drivername="postgresql+asyncpg", query={name: query[name] for name in ("host", "port") if name in query}
    )
    return plain, given


def _pool(config: ConnectionConfig, limits: PoolLimits, metrics: Metrics) -> AsyncEngine:
    url, given = connect_arguments(config.parsed_url, _SETTINGS)
    engine = create_async_engine(
        url,
        pool_size=limits.size,
        max_overflow=limits.overflow,
        pool_timeout=limits.wait_seconds,
        pool_recycle=limits.recycle_seconds,
        # The edge itself rolls back and discards, before the pool has the session again.
        pool_reset_on_return=None,
        hide_parameters=True,
        connect_args={
            **given,
            # DISCARD ALL forgets prepared statements, so none may be remembered on this side.
            "statement_cache_size": 0,
            "prepared_statement_cache_size": 0,
            "async_creator_fn": _opened_session,
        },
    )

    def opened(adapted: Any, _record: sa.pool.ConnectionPoolEntry) -> None:
        metrics.database_opened(config.name)
        adapted.run_async(_with_text_types)

    event.listen(engine.sync_engine, "connect", opened)
    return engine


async def _prepare(session: Any, sql: str) -> Any:
    """Prepare a statement under a name of its own: behind a pooler several clients share a server's session."""
    return await session.prepare(sql, name=f"querybus_{uuid.uuid4().hex}")


async def _opened_session(**given: Any) -> Any:
    """Open a session; a pooler that refuses settings at the start gets them with each transaction only."""
    try:
        return await asyncpg.connect(**given)
    except asyncpg.ProtocolViolationError as error:
        if "startup parameter" not in str(error):
            raise
    settings = {name: value for name, value in given["server_settings"].items() if name == "application_name"}
    given["server_settings"] = settings
    return await asyncpg.connect(**given)


async def conforms(session: Any) -> None:
    """Raise unless the session reads a backslash in a text as a backslash: a pooler may drop what a session asks for."""
    if await session.fetchval("SHOW standard_conforming_strings") != "on":
        raise InterfaceError("the session reads backslashes in texts as escapes: standard_conforming_strings is off")


async def _with_text_types(session: Any) -> None:
    await conforms(session)
    # In one transaction, so that a pooler gives it one session of the server.
    async with session.transaction():
        await _set_text_types(session)


async def _set_text_types(session: Any) -> None:
    for as_character in _AS_TEXT:
        await session.set_type_codec(as_character, schema="pg_catalog", encoder=str, decoder=str, format="text")


async def _attributes_without_text_types(session: Any, sql: str) -> Sequence[Any]:
    for as_character in _AS_TEXT:
        await session.reset_type_codec(as_character, schema="pg_catalog")
    try:
        return (await _prepare(session, sql)).get_attributes()
    finally:
        await _set_text_types(session)


_JSON_KINDS: Final = frozenset({"array", "composite"})
_TEXT_KINDS: Final = frozenset({"range", "multirange"})
_TEXT_TYPES: Final = frozenset({"bit", "varbit", "tid", "xid", "cid", "txid_snapshot", "pg_snapshot"})


_QUERY: Final = re.compile(r"\s*(?:SELECT|WITH|VALUES|TABLE|\()", re.IGNORECASE)
"""What may stand in FROM: no EXPLAIN and no SHOW."""
_BOUNDED: Final = {"text": "", "varchar": "", "json": "::text", "jsonb": "::text", "xml": "::text"}


def _shown_as(attribute: Any, alias: str, *, is_query: bool) -> str:
    """Return a column of the result as the server writes it down: JSON for arrays and rows, text for ranges and bits.

    The driver would build an object for every element while every other statement waits, and cannot read all of them.
    What can be long is cut on the server for the same reason.
    """
    kind, name = str(attribute.type.kind), str(attribute.type.name)
    if kind == "array":
        return _bounded(f'to_jsonb("{alias}")::text')
    if kind == "composite" or name == "record":
        return _bounded(f'to_json("{alias}")::text')
    if kind in _TEXT_KINDS or name in _TEXT_TYPES:
        return f'CAST("{alias}" AS text)'
    if not is_query or name not in (*_BOUNDED, "bytea"):
        return f'"{alias}"'
    if name == "bytea":
        return f'substring("{alias}", 1, {CELL_CHARACTERS_MAX + 1})'
    return _bounded(f'"{alias}"{_BOUNDED[name]}')


def _bounded(text: str) -> str:
    return f"left({text}, {CELL_CHARACTERS_MAX + 1})"


def _column(attribute: Any) -> ResultColumn:
    kind, name = str(attribute.type.kind), str(attribute.type.name)
    if kind in _TEXT_KINDS or name in _TEXT_TYPES:
        return ResultColumn(name=attribute.name, kind=ColumnKind.TEXT, type=name)
    if kind in _JSON_KINDS or name == "record":
        return ResultColumn(name=attribute.name, kind=ColumnKind.JSON, type=name)
    result = ColumnKind.TEXT if kind == "enum" or name in ("name", "citext", "inet", "cidr") else kind_of_type(name)
    return ResultColumn(name=attribute.name, kind=result, type=name)
