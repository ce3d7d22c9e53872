"""What the gateway needs of the world, as plain nouns; `querybus.bus` has the real ones, tests have small fakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from querybus.core.credential import Credential
from querybus.core.envelope import Envelope
from querybus.core.subjects import EventAddress


class Entry(Protocol):
    """One stored event."""

    @property
    def sequence(self) -> int: ...

    @property
    def address(self) -> EventAddress: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def data(self) -> bytes: ...

    def envelope(self) -> Envelope[Any]:
        """Raises Undecodable for bytes that are no envelope."""
        ...


class Log(Protocol):
    """The stored events. Tenant, thread and query are subject tokens."""

    async def query(self, tenant: str, query: str) -> Sequence[Entry]:
        """Return a query's events in order; none for a query that is not there."""
        ...

    async def thread(self, tenant: str, thread: str) -> Sequence[Entry]:
        """Return the first and the last known event of a thread's queries in order; none for no thread."""
        ...


class Publication(Protocol):
    """What became of a publish: `sequence` is None where another worker was first."""

    @property
    def sequence(self) -> int | None: ...

    @property
    def is_new(self) -> bool:
        """True if it was stored now, by this publish."""
        ...


class Events(Protocol):
    """Where the gateway's own events go. Raises BusTrouble."""

    async def publish(
        self, envelope: Envelope[Any], *, input_sequence: int, expected_last_sequence: int, until_ms: int
    ) -> Publication: ...


class Connections(Protocol):
    """The names of all connections."""

    async def names(self) -> Sequence[str]: ...


class Credentials(Protocol):
    """The registry; tenant and credential are subject tokens."""

    async def get(self, tenant: str, credential: str) -> Credential | None: ...


class Pages(Protocol):
    """The pages of results, as Arrow IPC bytes; None once they have aged."""

    async def get(self, tenant: str, query: str, run: str, page: int) -> bytes | None: ...


class Answers(Protocol):
    """The stored answers, reduced for their readers."""

    async def put(self, tenant: str, user: str, query: str, data: bytes) -> None: ...

    async def get(self, tenant: str, user: str, query: str) -> bytes | None: ...


class Submissions(Protocol):
    """Questions that wait for their tenant's turn, one subject per query."""

    async def put(self, tenant: str, query: str, data: bytes) -> None: ...

    async def get(self, tenant: str, query: str) -> bytes | None: ...


class Hints(Protocol):
    """The hint that work on a query may stop early; lossy."""

    async def cancel(self, tenant: str, query: str) -> None: ...
