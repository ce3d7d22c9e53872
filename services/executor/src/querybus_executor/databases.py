"""The connected databases of this process: each with its policy, its catalog and its hardened edge.

A database that cannot be read keeps its place: every question to it gets the typed reason, and it is tried again
when somebody asks, seldom enough. Reading a catalog happens in a thread and never holds up a statement.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from querybus.core.catalog import Catalog, Dialect
from querybus.core.failure import Facts, Failure, FailureCode
from querybus.core.policy import ConnectionPolicy
from querybus.core.subjects import token
from querybus.ops.log import get_log
from querybus.ops.metrics import Metrics
from querybus_executor.children import Children
from querybus_executor.connections import ConnectionConfig
from querybus_executor.introspect import introspect, sqlite_engine
from querybus_executor.ports import Purpose, Rows
from querybus_executor.sqlite import RESULT_BYTES_MAX, Sqlite
from querybus_executor.sqlite_errors import sqlite_failure

DOUBT_SECONDS_MIN: Final = 30.0
"""Between two readings of a catalog because of what an engine said."""
UNREAD_SECONDS_MIN: Final = 2.0
"""Between two tries to read a database that could not be read."""

OnCatalog = Callable[[Catalog], Awaitable[object]]

_log = get_log(__name__)


class SqliteDatabase:
    """One SQLite file as the verb sees it. `on_catalog` hears of every catalog read."""

    def __init__(
        self,
        config: ConnectionConfig,
        children: Children,
        *,
        metrics: Metrics,
        bytes_max: int = RESULT_BYTES_MAX,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self.config = config
        self._policy = config.applied_policy
        self._children = children
        self._metrics = metrics
        self._timer = timer
        self._edge = Sqlite(children, config.sqlite_path, self._policy, bytes_max=bytes_max)
        self._reading = asyncio.Lock()
        self._catalog: Catalog | None = None
        self._trouble = Failure.of(FailureCode.CONNECTION, "the database has not been read yet")
        self._read_at: float | None = None
        self._doubting: asyncio.Task[object] | None = None
        self.on_catalog: OnCatalog | None = None

    @property
    def dialect(self) -> Dialect:
        return Dialect.SQLITE

    @property
    def policy(self) -> ConnectionPolicy:
        return self._policy

    async def catalog(self) -> Catalog | Failure:
        """Return the catalog; a database that could not be read is tried again now, unless it just was."""
        if self._catalog is None and not self._is_recent(UNREAD_SECONDS_MIN):
            await self.refresh()
        return self._catalog or self._trouble

    async def refresh(self) -> Catalog | Failure:
        """Read the catalog again; a failure leaves the one that is known in place and is returned."""
        asked_at = self._timer()
        async with self._reading:
            if self._read_at is not None and self._read_at > asked_at:
                # Whoever held the lock began to read after this was asked.
                return self._catalog or self._trouble
            self._read_at = self._timer()
            self._metrics.database_call(self.config.name, "introspect")
            found = await asyncio.to_thread(self._read)
            if isinstance(found, Failure):
                self._trouble = found
                _log.warning("catalog.unread", connection=self.config.name, code=found.code)
                return found
            is_new = self._catalog is None or self._catalog.fingerprint != found.fingerprint
            self._catalog = found
            if is_new:
                _log.info("catalog.read", connection=self.config.name, tables=len(found.tables))
            if self.on_catalog is not None:
                await self.on_catalog(found)
            return found

    def doubt(self) -> None:
        """Read the catalog again soon, at most once in DOUBT_SECONDS_MIN."""
        if self._is_recent(DOUBT_SECONDS_MIN) or (self._doubting is not None and not self._doubting.done()):
            return
        self._doubting = asyncio.get_running_loop().create_task(self.refresh())

    async def run(self, sql: str, *, rows_max: int, seconds_max: float, purpose: Purpose) -> Rows | Failure:
        """Return the rows or the failure; both are counted."""
        name = self.config.name
        self._metrics.database_call(name, purpose.value)
        self._metrics.database_pool(
            name, open_=self._children.open, idle=self._children.idle, waiting=self._children.waiting
        )
        try:
            found = await self._edge.run(sql, rows_max=rows_max, seconds_max=seconds_max, purpose=purpose)
        except asyncio.CancelledError:
            self._metrics.database_cancelled(name)
            raise
        if isinstance(found, Rows):
            self._metrics.execution_seconds(self.dialect, found.duration_ms / 1000)
            self._metrics.database_rows(name, len(found.rows))
        elif found.code is FailureCode.TIMEOUT:
            self._metrics.database_timed_out(name)
        return found

    async def explain(self, sql: str, *, seconds_max: float) -> Failure | None:
        """Return what SQLite has against the statement."""
        self._metrics.database_call(self.config.name, "explain")
        return await self._edge.explain(sql, seconds_max=seconds_max)

    def _is_recent(self, seconds: float) -> bool:
        return self._read_at is not None and self._timer() - self._read_at < seconds

    def _read(self) -> Catalog | Failure:
        trouble = file_trouble(self.config.sqlite_path)
        if trouble is not None:
            return Failure.of(FailureCode.CONNECTION, trouble)
        config, engine = self.config, sqlite_engine(self.config.sqlite_path)
        denied = [f"{table}.{column}" for table, columns in self._policy.columns_denied.items() for column in columns]
        try:
            return introspect(
                engine,
                config.name,
                dialect=self.dialect,
                display_names=config.display_names,
                synonyms=config.synonyms,
                glossary=config.glossary,
                values=config.values,
                personal=(*config.personal, *denied),
                without_values=config.without_values,
                tables_allowed=self._policy.tables_allowed,
            )
        except SQLAlchemyError as error:
            return _unread(error)
        finally:
            engine.dispose()


class Connected:
    """The databases by name and by subject token."""

    def __init__(self, databases: Sequence[SqliteDatabase]) -> None:
        self.all = tuple(databases)
        self._by_name = {each.config.name: each for each in databases}
        self._by_token = {token(each.config.name): each for each in databases}

    def get(self, connection: str) -> SqliteDatabase | None:
        """Return the database of that connection's name."""
        return self._by_name.get(connection)

    def by_token(self, name_token: str) -> SqliteDatabase | None:
        """Return the database whose connection travels as that subject token."""
        return self._by_token.get(name_token)


def file_trouble(path: Path) -> str | None:
    """Return in plain words why there is no database file at the path, or None; the path is not named.

    >>> file_trouble(Path("/"))
    'what is configured as the database is a folder'
    """
    if path.is_dir():
        return "what is configured as the database is a folder"
    if not path.exists():
        return "the database file does not exist"
    if not os.access(path, os.R_OK):
        return "the database file may not be read"
    return None


def _unread(error: SQLAlchemyError) -> Failure:
    origin = error.orig if isinstance(error, DBAPIError) else None
    code = getattr(origin, "sqlite_errorcode", None)
    if origin is None or code is None:
        return Failure.of(FailureCode.CONNECTION, f"the database could not be read ({type(error).__name__})")
    found = sqlite_failure(code, getattr(origin, "sqlite_errorname", ""), str(origin), "")
    # Whatever it is called, a database whose tables cannot be listed cannot be used.
    return Failure.of(FailureCode.CONNECTION, found.detail, Facts(native_code=found.facts.native_code))
