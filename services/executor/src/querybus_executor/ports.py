"""What the executor's verb and its request/reply server need from outside: databases, a place for pages, who runs what."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Protocol

from querybus.core.catalog import Catalog, Dialect
from querybus.core.failure import Failure
from querybus.core.messages import PagesAddress, ResultColumn, Scalar
from querybus.core.policy import ConnectionPolicy, Reader

_READER: Final[ContextVar[Reader | None]] = ContextVar("reader", default=None)


@contextmanager
def reading_for(reader: Reader) -> Generator[None]:
    """Name the reader of the statements that run inside the block, for databases that enforce rows themselves."""
    token = _READER.set(reader)
    try:
        yield
    finally:
        _READER.reset(token)


def reader_of_statement() -> Reader | None:
    """Return for whom the statement at hand runs; None outside of `reading_for`."""
    return _READER.get()


class Purpose(StrEnum):
    """Why a database is called; the value is the metric's label."""

    EXPLAIN = "explain"
    PROBE = "probe"
    EXECUTE = "execute"


@dataclass(frozen=True, slots=True)
class Rows:
    """What a statement returned. `truncated`: the database had more; `cut_bytes`: because of the byte cap; `cut_cells`: a cell was longer.

    `rows` are all rows, or the first ones where pages were wanted; `row_count` counts all. `warnings`: what the engine
    did silently and a reader of the answer should know.
    """

    columns: tuple[ResultColumn, ...]
    rows: Sequence[Sequence[Scalar]]
    truncated: bool
    cut_bytes: bool
    duration_ms: float
    warnings: tuple[str, ...] = ()
    row_count: int = -1
    bytes: int = 0
    cut_cells: bool = False

    def __post_init__(self) -> None:
        if self.row_count < 0:
            object.__setattr__(self, "row_count", len(self.rows))


class PageSink(Protocol):
    """Where the rows beyond the first ones go while they come."""

    @property
    def first_rows(self) -> int:
        """How many rows the reader gets at once: a result of no more than these needs no page."""
        ...

    async def put(self, batches: Sequence[Any]) -> bool:
        """Keep Arrow batches of one schema as the next page; False where there is no space for it."""
        ...


@dataclass(frozen=True, slots=True)
class Estimate:
    """What an engine expects of a statement: rows of the result and of the plan's largest step, cost in its unit."""

    rows: int | None = None
    rows_read: int | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """How busy a database's connections or processes are."""

    open: int
    idle: int
    waiting: int


class Edge(Protocol):
    """One engine's hardened edge to one database."""

    async def run(
        self, sql: str, *, rows_max: int, seconds_max: float, purpose: Purpose, pages: PageSink | None = None
    ) -> Rows | Failure:
        """Run one statement; cancelling the task ends it in the database as well."""
        ...

    async def explain(self, sql: str, *, seconds_max: float) -> Estimate | Failure:
        """Return what the engine expects of the statement, or has against it, without running it."""
        ...

    def load(self) -> Load:
        """Return how busy it is."""
        ...

    async def close(self) -> None:
        """Let go of what it holds."""
        ...


class Database(Protocol):
    """One connected database. What it runs was guarded before; it is hardened as if it had not been."""

    @property
    def dialect(self) -> Dialect: ...

    @property
    def policy(self) -> ConnectionPolicy: ...

    async def catalog(self) -> Catalog | Failure:
        """Return what is known of the database, or why nothing is."""
        ...

    async def run(
        self, sql: str, *, rows_max: int, seconds_max: float, purpose: Purpose, pages: PageSink | None = None
    ) -> Rows | Failure:
        """Run one statement; cancelling the task ends it in the database as well."""
        ...

    async def explain(self, sql: str, *, seconds_max: float) -> Estimate | Failure:
        """Return what the engine expects of the statement, or has against it, without running it."""
        ...

    async def refresh(self) -> Catalog | Failure:
        """Read the catalog again now; a failure leaves the known one in place and is returned."""
        ...

    def doubt(self) -> None:
        """Say that the engine misses a name that the catalog has: it is read again soon, seldom enough."""
        ...


class Databases(Protocol):
    """All connected databases."""

    def get(self, connection: str) -> Database | None:
        """Return the database of that connection's name."""
        ...

    def by_token(self, name_token: str) -> Database | None:
        """Return the database whose connection travels as that subject token."""
        ...


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of one query: pages of a second run never mix with those of the first."""

    tenant: str
    query: str
    token: str


class PageWriter(PageSink, Protocol):
    """The pages of one run. Leaving its block drops what is still on its way."""

    async def __aenter__(self) -> PageWriter: ...

    async def __aexit__(self, *_: object) -> None: ...

    @property
    def has_long_row(self) -> bool:
        """Whether a page was not kept because one row of it is longer than the store takes."""
        ...

    async def kept(self) -> PagesAddress | None:
        """Return where all pages are once they are stored; None where the store did not take one."""
        ...


class Pages(Protocol):
    """Where the pages of a result are kept for a while."""

    def writer(self, run: Run, page_size: int) -> PageWriter:
        """Return a place for the pages of one run, which is read in pages of that size."""
        ...


class Runs(Protocol):
    """Which process runs a statement whose message had been delivered before."""

    async def begin(self, query: str, sequence: int) -> bool:
        """Take the statement; False if another process has begun and not ended it; raises BusTrouble."""
        ...

    async def end(self, query: str, sequence: int) -> None:
        """Say that the statement is not running any more."""
        ...
