"""Changes in MySQL and MariaDB: a session of its own for each, one READ WRITE transaction, the server's count of rows.

The count is of rows found, also those that had the new value already. A change of the structure commits by itself
there, so whatever breaks once it is sent leaves its outcome open. Executed against MariaDB 10.11, never MySQL.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

from asyncmy.constants import CLIENT
from asyncmy.errors import MySQLError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.sql.parse import kind_of
from querybus_executor.connections.config import ConnectionConfig
from querybus_executor.engines.mysql.edge import Mysql, connect_arguments
from querybus_executor.write import Written, too_many

COMMIT_SECONDS_MAX: Final = 5.0
_COUNTED: Final = frozenset({"INSERT", "UPDATE", "DELETE"})
_CLIENT_ERRORS: Final = (2_000, 3_000)
"""Numbers that the client gives, not the server."""
_LOST: Final = frozenset({2006, 2013, 2014, 2055, 1053})
"""The server's and the client's words for a session that is gone: what was under way is not known."""


class MysqlWriter:
    """One database, through the user of the connection's `write_url`."""

    def __init__(self, config: ConnectionConfig) -> None:
        url, given = connect_arguments(config.writing_url)
        given["client_flag"] = CLIENT.FOUND_ROWS
        self._engine = create_async_engine(url, poolclass=NullPool, hide_parameters=True, connect_args=given)
        self._driver = Mysql(config.writing_url)

    async def write(self, sql: str, *, rows_affected_max: int, seconds_max: float) -> Written | Failure:
        """Run one change in one transaction; rolled back if it touches more rows."""
        started = time.monotonic()
        kind = kind_of(sql, Dialect.MYSQL)
        committing = False
        try:
            async with asyncio.timeout(seconds_max + COMMIT_SECONDS_MAX), self._engine.connect() as lent:
                session: Any = (await lent.get_raw_connection()).driver_connection
                is_mariadb = "mariadb" in str(session.get_server_info()).lower()
                if is_mariadb:
                    await _do(session, f"SET SESSION max_statement_time = {seconds_max:.3f}")
                await _do(session, "SET SESSION lock_wait_timeout = 5, innodb_lock_wait_timeout = 5")
                await _do(session, "START TRANSACTION READ WRITE")
                # As hexadecimal the text cannot leave its literal, whatever the server's settings for quotes are.
                await _do(session, f"SET @querybus = CONVERT(0x{sql.encode().hex()} USING utf8mb4)")
                await _do(session, "PREPARE querybus FROM @querybus")
                committing = kind not in _COUNTED
                result = await _do(session, "EXECUTE querybus")
                rows = result if kind in _COUNTED else None
                if rows is not None and rows > rows_affected_max:
                    await _do(session, "ROLLBACK")
                    return too_many(rows, rows_affected_max)
                committing = True
                await _do(session, "COMMIT")
                return Written(rows, (time.monotonic() - started) * 1_000)
        except Exception as error:
            cause = getattr(error, "orig", None) or error
            failure = self._failure(cause, sql)
            if failure is None:
                raise
            if committing and not _is_answer(cause):
                return Failure.of(FailureCode.WRITE_OUTCOME_UNKNOWN, failure.detail, failure.facts)
            return failure

    async def close(self) -> None:
        """Let go of what it holds."""
        await self._engine.dispose()

    def _failure(self, error: BaseException, sql: str) -> Failure | None:
        if isinstance(error, TimeoutError):
            return Failure.of(FailureCode.TIMEOUT, "the change was ended at its time limit")
        return self._driver.failure(error, sql)


def _is_answer(error: BaseException) -> bool:
    """Return whether the server itself said that it did not do it."""
    if not isinstance(error, MySQLError) or not error.args or not isinstance(error.args[0], int):
        return False
    return error.args[0] not in _LOST and not _CLIENT_ERRORS[0] <= error.args[0] < _CLIENT_ERRORS[1]


async def _do(session: Any, sql: str) -> int:
    cursor = session.cursor()
    await cursor.execute(sql)
    rows = int(cursor.rowcount)
    await cursor.close()
    return rows
