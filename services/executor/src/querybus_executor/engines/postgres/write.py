"""Changes in PostgreSQL: a session of its own for each, one READ WRITE transaction, the server's own count of rows.

The statement is prepared, which takes exactly one; one that returns rows is refused. What breaks before COMMIT is
sent has changed nothing; what breaks while it is answered is not known.
"""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any, Final

from asyncpg.exceptions import PostgresError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from querybus.core.failure import Facts, Failure, FailureCode
from querybus_executor.connections.config import ConnectionConfig
from querybus_executor.engines.postgres.edge import Postgres, conforms, connect_arguments
from querybus_executor.engines.postgres.row_security import name_reader
from querybus_executor.engines.server import NoReaderError
from querybus_executor.ports import reader_of_statement
from querybus_executor.write import Written, too_many

COMMIT_SECONDS_MAX: Final = 5.0
LOCK_SECONDS_MAX: Final = 5.0
_NO_ANSWER: Final = frozenset({"", "08", "57", "58", "XX"})
"""Classes of SQLSTATE that leave open what became of a transaction: connection, operator, system, internal."""
_COUNT: Final = re.compile(r"^(?:INSERT \d+|UPDATE|DELETE) (\d+)$")


class PostgresWriter:
    """One database, through the role of the connection's `write_url`."""

    def __init__(self, config: ConnectionConfig) -> None:
        settings = {"application_name": "querybus-write", "standard_conforming_strings": "on"}
        url, given = connect_arguments(config.writing_url, settings)
        self._engine = create_async_engine(url, poolclass=NullPool, hide_parameters=True, connect_args=given)
        self._driver = Postgres()
        self._is_native = config.policy.native

    async def write(self, sql: str, *, rows_affected_max: int, seconds_max: float) -> Written | Failure:
        """Run one change in one transaction; rolled back if it touches more rows."""
        started = time.monotonic()
        committing = False
        try:
            async with asyncio.timeout(seconds_max + COMMIT_SECONDS_MAX), self._engine.connect() as lent:
                session: Any = (await lent.get_raw_connection()).driver_connection
                await conforms(session)
                limit = max(1, int(seconds_max * 1_000))
                await session.execute(
                    f"BEGIN READ WRITE; SET LOCAL statement_timeout = {limit};"
                    f" SET LOCAL lock_timeout = {max(1, min(limit, int(LOCK_SECONDS_MAX * 1_000)))}"
                )
                if self._is_native:
                    await name_reader(session, reader_of_statement())
                prepared = await session.prepare(sql)
                if prepared.get_attributes():
                    return Failure.of(FailureCode.PERMISSION, "the change returns rows", Facts(native_code="25006"))
                await prepared.fetch()
                counted = _COUNT.match(str(prepared.get_statusmsg()))
                rows = int(counted[1]) if counted else None
                if rows is not None and rows > rows_affected_max:
                    await session.execute("ROLLBACK")
                    return too_many(rows, rows_affected_max)
                committing = True
                await session.execute("COMMIT")
                return Written(rows, (time.monotonic() - started) * 1_000)
        except Exception as error:
            failure = self._failure(error, sql)
            if failure is None:
                raise
            if committing and not is_rolled_back(_cause(error)):
                return Failure.of(FailureCode.WRITE_OUTCOME_UNKNOWN, failure.detail, failure.facts)
            return failure

    async def close(self) -> None:
        """Let go of what it holds."""
        await self._engine.dispose()

    def _failure(self, error: BaseException, sql: str) -> Failure | None:
        if isinstance(error, NoReaderError):
            return Failure.of(FailureCode.PERMISSION, str(error))
        if isinstance(error, TimeoutError):
            return Failure.of(FailureCode.TIMEOUT, "the change was ended at its time limit")
        return self._driver.failure(_cause(error), sql)


def is_rolled_back(error: BaseException) -> bool:
    """Return whether the server's answer to COMMIT proves that nothing was changed.

    Only an ERROR of the server does, and none of the classes that concern the session or the server: asyncpg gives a
    lost connection a state of class 08, and a session that is ended after its commit was written gets one of class 57.

    >>> is_rolled_back(PostgresError("nothing is known of it"))
    False
    """
    state, severity = str(getattr(error, "sqlstate", None) or ""), getattr(error, "severity_en", None)
    return isinstance(error, PostgresError) and severity == "ERROR" and state[:2] not in _NO_ANSWER


def _cause(error: BaseException) -> BaseException:
    return getattr(error, "orig", None) or error
