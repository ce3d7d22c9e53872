"""What a connection's user meets in its database: version, encryption, tables seen and unseen, and the grants it lacks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, assert_never

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure
from querybus.engines import ENGINES
from querybus.engines.mysql import MYSQL
from querybus_executor.connections.config import ConnectionConfig
from querybus_executor.connections.grants import (
    ORACLE_READER,
    clickhouse_reader,
    mysql_grants,
    mysql_reader,
    postgres_grants,
    postgres_reader,
    snowflake_reader,
)
from querybus_executor.ports import Rows

SECONDS_MAX: Final = 5.0
SCHEMAS_MAX: Final = 20
Own = Callable[[str, int, float], Awaitable[Rows | Failure]]

_POSTGRES: Final = """
SELECT current_setting('server_version'), current_user::text,
 (SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()),
 (SELECT string_agg(datname, ', ' ORDER BY datname) FROM pg_database WHERE datallowconn AND NOT datistemplate
  AND datname <> current_database() AND has_database_privilege(datname, 'CONNECT'))
"""
_POSTGRES_SCHEMAS: Final = """
SELECT n.nspname::text, string_agg(DISTINCT pg_get_userbyid(c.relowner)::text, chr(10)), count(*),
 count(*) FILTER (WHERE has_schema_privilege(n.oid, 'USAGE')
  AND (has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT')))
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
GROUP BY n.nspname ORDER BY n.nspname
"""
_MYSQL_TLS: Final = (
    "SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = 'SSL_VERSION'",
    "SELECT VARIABLE_VALUE FROM performance_schema.session_status WHERE VARIABLE_NAME = 'Ssl_version'",
)


@dataclass(frozen=True, slots=True)
class AccessReport:
    """What was found behind a connection. `missing`: statements for its user; `reader`: for one that only reads."""

    version: str = ""
    role: str = ""
    tls: str = ""
    tables_unseen: int = 0
    missing: tuple[str, ...] = ()
    reader: tuple[str, ...] = ()
    other_databases: str = ""


async def access_report(config: ConnectionConfig, own: Own) -> AccessReport:
    """Return what can be found out; what the engine does not say stays empty."""
    database = config.parsed_url.database or ""
    match config.dialect:
        case Dialect.POSTGRESQL:
            return await _of_postgres(config, own)
        case Dialect.MYSQL:
            return await _of_mysql(config, own)
        case Dialect.CLICKHOUSE:
            reader = clickhouse_reader(database)
        case Dialect.SNOWFLAKE:
            reader = snowflake_reader(database)
        case Dialect.ORACLE:
            reader = ORACLE_READER
        case Dialect.SQLITE | Dialect.DUCKDB | Dialect.BIGQUERY:
            reader = ()
        case _:
            assert_never(config.dialect)
    version, role = (*await _row(own, ENGINES[config.dialect].version_query or ""), "", "")[:2]
    return AccessReport(version, role, reader=reader)


async def _of_postgres(config: ConnectionConfig, own: Own) -> AccessReport:
    version, role, tls, others = (*await _row(own, _POSTGRES), "", "", "", "")[:4]
    answer = await own(_POSTGRES_SCHEMAS, SCHEMAS_MAX, SECONDS_MAX)
    rows = [] if isinstance(answer, Failure) else [tuple(map(str, row)) for row in answer.rows]
    schemas = [(name, tuple(owners.split("\n")), int(count), int(seen)) for name, owners, count, seen in rows]
    unseen = [(name, owners) for name, owners, count, seen in schemas if seen < count]
    return AccessReport(
        version,
        role,
        tls,
        tables_unseen=sum(count - seen for _, _, count, seen in schemas),
        missing=postgres_grants(role, unseen) if role else (),
        reader=postgres_reader(config.parsed_url.database or "", [item[:2] for item in schemas] or (("public", ()),)),
        other_databases=others,
    )


async def _of_mysql(config: ConnectionConfig, own: Own) -> AccessReport:
    version, account = (*await _row(own, MYSQL.version_query or ""), "", "")[:2]
    tls = ""
    for statement in _MYSQL_TLS:
        tls = tls or "".join((await _row(own, statement))[:1])
    user, _, host = account.rpartition("@")
    database = config.parsed_url.database or ""
    named = f"'{user}'@'{host}'" if account else "USER"
    # Of a database whose tables a user may not read, MySQL does not say that there are any.
    return AccessReport(version, account, tls, missing=mysql_grants(named, database), reader=mysql_reader(database))


async def _row(own: Own, statement: str) -> tuple[str, ...]:
    if not statement:
        return ()
    answer = await own(statement, 1, SECONDS_MAX)
    if isinstance(answer, Failure) or not answer.rows:
        return ()
    return tuple("" if cell is None else str(cell) for cell in answer.rows[0])
