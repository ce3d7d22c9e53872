"""What the validator's verb needs from outside: catalogs, policies, the log, and an engine's opinion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from querybus.core.catalog import Catalog
from querybus.core.envelope import Envelope
from querybus.core.policy import Connection
from querybus.core.requests.rpc import ExplainReply, ExplainRequest, ProbeReply, ProbeRequest
from querybus.core.subjects import EventAddress


class Catalogs(Protocol):
    """Catalogs by connection."""

    async def read(self, connection: str) -> Catalog | None:
        """Return the connection's catalog, or None if there is none."""
        ...


class Connections(Protocol):
    """Connections by name."""

    async def get(self, name: str) -> Connection | None:
        """Return the connection, or None if there is none."""
        ...


class Database(Protocol):
    """The executor, asked about one statement. Neither call raises; what went wrong is in the reply."""

    async def explain(self, tenant: str, connection: str, request: ExplainRequest) -> ExplainReply:
        """Return what the engine says of the statement, without running it."""
        ...

    async def probe(self, tenant: str, connection: str, request: ProbeRequest) -> ProbeReply:
        """Return the first rows of the statement."""
        ...


class Entry(Protocol):
    """One stored event."""

    @property
    def address(self) -> EventAddress: ...

    def envelope(self) -> Envelope[Any]:
        """Raises Undecodable for bytes that are no envelope."""
        ...


class Log(Protocol):
    """The stored events."""

    async def query_in_full(self, tenant: str, query: str, thread: str) -> Sequence[Entry]:
        """Return the last event of each kind of a query's log, oldest first; none for no query.

        Raises rather than return what a replica that lags behind the leader holds.
        """
        ...
