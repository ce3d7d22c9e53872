"""What the executor's verb and its request/reply server need from outside: databases and a place for pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from querybus.core.catalog import Catalog, Dialect
from querybus.core.failure import Failure
from querybus.core.messages import ResultColumn, Scalar
from querybus.core.policy import ConnectionPolicy


class Purpose(StrEnum):
    """Why a database is called; the value is the metric's label."""

    EXPLAIN = "explain"
    PROBE = "probe"
    EXECUTE = "execute"


@dataclass(frozen=True, slots=True)
class Rows:
    """What a statement returned. `truncated`: the database had more; `cut_bytes`: because of the byte cap.

    `warnings`: what the engine did silently and a reader of the answer should know.
    """

    columns: tuple[ResultColumn, ...]
    rows: Sequence[Sequence[Scalar]]
    truncated: bool
    cut_bytes: bool
    duration_ms: float
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Estimate:
    """What an engine expects of a statement: rows of the result, and cost in the engine's own unit."""

    rows: int | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """How busy a database's connections or processes are."""

    open: int
    idle: int
    waiting: int


class Edge(Protocol):
    """One engine's hardened door to one database."""

    async def run(self, sql: str, *, rows_max: int, seconds_max: float, purpose: Purpose) -> Rows | Failure:
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

    async def run(self, sql: str, *, rows_max: int, seconds_max: float, purpose: Purpose) -> Rows | Failure:
        """Run one statement; cancelling the task ends it in the database as well."""
        ...

    async def explain(self, sql: str, *, seconds_max: float) -> Estimate | Failure:
        """Return what the engine expects of the statement, or has against it, without running it."""
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


class Pages(Protocol):
    """Where the pages of a result are kept for a while."""

    async def put(
        self, run: Run, page: int, columns: Sequence[ResultColumn], rows: Sequence[Sequence[Scalar]]
    ) -> str | None:
        """Keep a page and return the SHA-256 of its bytes; None where the store is full."""
        ...
