"""The connected databases of this process: each with its policy, its catalog and its hardened edge.

A database that cannot be read keeps its place: every question to it gets the typed reason, and it is tried again
when somebody asks, seldom enough. Reading a catalog never holds up a statement.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from typing import Final

from querybus.core.catalog import Catalog, Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import ConnectionPolicy
from querybus.core.subjects import token
from querybus.ops.log import get_log
from querybus.ops.metrics import Metrics
from querybus.ops.trace import call_span, database_attributes, fail, statement_content
from querybus_executor.catalog.described import as_described
from querybus_executor.connections.access_report import access_report
from querybus_executor.connections.config import ConnectionConfig
from querybus_executor.connections.trouble import NO_TABLES, ROLE_MAY_WRITE, no_tables, setup_failure
from querybus_executor.connections.writing_role import WritingRole
from querybus_executor.ports import Edge, Estimate, PageSink, Purpose, Rows

DOUBT_SECONDS_MIN: Final = 30.0
"""Between two readings of a catalog because of what an engine said."""
UNREAD_SECONDS_MIN: Final = 2.0
"""Between two tries to read a database that could not be read."""

OnCatalog = Callable[[Catalog], Awaitable[object]]
OnTrouble = Callable[[Failure | None], Awaitable[object]]
ReadCatalog = Callable[[], Awaitable[Catalog | Failure]]

_log = get_log(__name__)


class ConnectedDatabase:
    """One database as the verb sees it. `on_catalog` learns of every catalog read, `on_trouble` of how each reading went."""

    def __init__(
        self,
        config: ConnectionConfig,
        edge: Edge,
        read: ReadCatalog,
        *,
        metrics: Metrics,
        role: WritingRole | None = None,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self.config = config
        self.role = role or WritingRole(config)
        self._policy = config.applied_policy
        self._edge = edge
        self._read = read
        self._metrics = metrics
        self._timer = timer
        self._reading = asyncio.Lock()
        self._catalog: Catalog | None = None
        self._has_worked = False
        self._warned = ""
        self._trouble = Failure.of(FailureCode.CONNECTION, "the database has not been read yet")
        self._read_at: float | None = None
        self._doubting: asyncio.Task[object] | None = None
        self.on_catalog: OnCatalog | None = None
        self.on_trouble: OnTrouble | None = None

    @property
    def edge(self) -> Edge:
        """Its edge."""
        return self._edge

    @property
    def dialect(self) -> Dialect:
        return self.config.dialect

    @property
    def policy(self) -> ConnectionPolicy:
        return self._policy

    async def catalog(self) -> Catalog | Failure:
        """Return the catalog; a database that could not be read is tried again now, unless it just was."""
        if self._catalog is None and not self._is_recent(UNREAD_SECONDS_MIN):
            await self.refresh()
        return self._catalog or self._trouble

    async def read(self) -> Catalog | Failure:
        """Return what the database itself gives; a catalog without a table is a failure."""
        result = await self._read()
        if isinstance(result, Failure) or result.tables:
            return result
        own = getattr(self._edge, "own", None)
        return no_tables(self.config, () if own is None else (await access_report(self.config, own)).missing)

    async def refresh(self) -> Catalog | Failure:
        """Read the catalog again; a failure leaves the one that is known in place and is returned."""
        asked_at = self._timer()
        async with self._reading:
            if self._read_at is not None and self._read_at > asked_at:
                # Whoever held the lock began to read after this was asked.
                return self._catalog or self._trouble
            self._read_at = self._timer()
            self._metrics.database_call(self.config.name, "introspect")
            result = await self.read()
            if isinstance(result, Failure):
                result = self._trouble = setup_failure(result, self.config, has_worked=self._has_worked)
                if result.facts.rule in (ROLE_MAY_WRITE, NO_TABLES):
                    # What may be done there is not what was thought: what is known of it must not be used on.
                    self._catalog = None
                _log.warning("catalog.unread", connection=self.config.name, code=result.code, detail=result.detail)
                if self.on_trouble is not None:
                    await self.on_trouble(result)
                return result
            self._has_worked = True
            self._warn(self.role.warning)
            result = as_described(result, self.config)
            fingerprint = await asyncio.to_thread(lambda: result.fingerprint)
            is_new = self._catalog is None or self._catalog.fingerprint != fingerprint
            if is_new or self._catalog is None:
                # An equal catalog stays the same object: what was made of it is found again, and not kept twice.
                self._catalog = result
                _log.info("catalog.read", connection=self.config.name, tables=len(result.tables))
            if self.on_trouble is not None:
                await self.on_trouble(None)
            if self.on_catalog is not None:
                await self.on_catalog(self._catalog)
            return self._catalog

    def doubt(self) -> None:
        """Read the catalog again soon, at most once in DOUBT_SECONDS_MIN."""
        if self._is_recent(DOUBT_SECONDS_MIN) or (self._doubting is not None and not self._doubting.done()):
            return
        self._doubting = asyncio.get_running_loop().create_task(self.refresh())

    async def run(
        self, sql: str, *, rows_max: int, seconds_max: float, purpose: Purpose, pages: PageSink | None = None
    ) -> Rows | Failure:
        """Return the rows or the failure; both are counted."""
        name = self.config.name
        self._metrics.database_call(name, purpose.value)
        load = self._edge.load()
        self._metrics.database_pool(name, open_=load.open, idle=load.idle, waiting=load.waiting)
        try:
            with self._call(purpose.value, sql):
                result = await self._edge.run(
                    sql, rows_max=rows_max, seconds_max=seconds_max, purpose=purpose, pages=pages
                )
                if isinstance(result, Failure):
                    fail(result.code)
        except asyncio.CancelledError:
            self._metrics.database_cancelled(name)
            raise
        if isinstance(result, Rows):
            self._metrics.execution_seconds(self.dialect, result.duration_ms / 1000)
            self._metrics.database_rows(name, result.row_count, result.bytes)
        elif result.code is FailureCode.TIMEOUT:
            self._metrics.database_timed_out(name)
        return result if isinstance(result, Rows) else setup_failure(result, self.config, has_worked=self._has_worked)

    async def explain(self, sql: str, *, seconds_max: float) -> Estimate | Failure:
        """Return what the engine expects of the statement, or has against it."""
        self._metrics.database_call(self.config.name, "explain")
        with self._call("explain", sql):
            return await self._edge.explain(sql, seconds_max=seconds_max)

    def _call(self, purpose: str, sql: str) -> AbstractContextManager[object]:
        """Return the span of one call of the database."""
        name = self.config.name
        attributes = database_attributes(self.dialect, name, purpose)
        return call_span(f"{purpose} {name}", attributes, content=statement_content(sql))

    def _warn(self, warning: str) -> None:
        """Write a warning about the connection to the log, once for each text."""
        if warning and warning != self._warned:
            _log.warning("connection.warning", connection=self.config.name, warning=warning, sessions="read-only")
        self._warned = warning

    def _is_recent(self, seconds: float) -> bool:
        return self._read_at is not None and self._timer() - self._read_at < seconds


class Connected:
    """The databases by name and by subject token; the set may be replaced while it is used."""

    def __init__(self, databases: Sequence[ConnectedDatabase]) -> None:
        self.replace(databases)

    def replace(self, databases: Sequence[ConnectedDatabase]) -> None:
        """Know these and no others from now on."""
        self.all = tuple(databases)
        self._by_name = {database.config.name: database for database in databases}
        self._by_token = {token(database.config.name): database for database in databases}

    def get(self, connection: str) -> ConnectedDatabase | None:
        """Return the database of that connection's name."""
        return self._by_name.get(connection)

    def by_token(self, name_token: str) -> ConnectedDatabase | None:
        """Return the database whose connection travels as that subject token."""
        return self._by_token.get(name_token)
