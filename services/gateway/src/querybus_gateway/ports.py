"""What the gateway needs of the world, as plain nouns; `querybus.bus` has the real ones, tests have small fakes.

Tenant, thread, query, user and credential are given as the envelope has them; the implementations make tokens.
All of them raise BusTrouble while the bus is away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from querybus.bus.log.publish import Published
from querybus.core.credential import Credential
from querybus.core.envelope import Audience, Envelope
from querybus.core.stored.audit import AuditKind
from querybus.core.stored.preferences import Preferences
from querybus.core.subjects import EventAddress, StageName
from querybus_gateway.problems import Problem


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
    """The stored events."""

    async def query(self, tenant: str, query: str) -> Sequence[Entry]:
        """Return the last event of each kind of a query's log, oldest first; none for no query."""
        ...

    async def events(
        self, tenant: str, query: str, after_sequence: int, *, thread: str | None = None
    ) -> Sequence[Entry]:
        """Return every event of a query's log behind a sequence, oldest first; quicker with the thread's token."""
        ...

    async def last(self, address: EventAddress) -> Entry | None:
        """Return the last event of the address's query, from the stream's leader."""
        ...

    async def thread(self, tenant: str, thread: str) -> Sequence[Entry]:
        """Return the newest turns of a thread, oldest first; none for no thread."""
        ...


class Events(Protocol):
    """Where the gateway's own events go."""

    async def publish(
        self, envelope: Envelope[Any], *, input_sequence: int, expected_last_sequence: int, until_ms: int
    ) -> Published: ...


class Connections(Protocol):
    """The names of all connections."""

    async def names(self, tenant: str) -> Sequence[str]: ...


class PreferencesOf(Protocol):
    """What people prefer, by tenant and user."""

    async def read(self, tenant: str, name: str) -> Preferences: ...


class Credentials(Protocol):
    """The registry; tenant and credential are subject tokens."""

    async def get(self, tenant: str, credential: str) -> Credential | None: ...


class UsedCodes(Protocol):
    """Which one-time codes were used."""

    async def take(self, code_id: str) -> bool:
        """Return True for the first caller only; raises BusTrouble if that is not known."""
        ...


class Pages(Protocol):
    """The pages of results, as Arrow IPC bytes; None once they have aged."""

    async def get(self, tenant: str, query: str, run: str, page: int) -> bytes | None: ...


class Answers(Protocol):
    """Where answers go, reduced for their readers. Raises BusTrouble, TooLarge."""

    async def put(self, envelope: Envelope[Any]) -> None: ...

    async def refuse(
        self, tenant: str, user: str, audience: Audience, about: str, problem: Problem, correlation_id: str
    ) -> None:
        """Publish why a submitted question became no query; `about` is the same at each try."""
        ...


class Submissions(Protocol):
    """Admitted questions that wait for their tenant's turn, one subject per query."""

    async def put(self, envelope: Envelope[Any]) -> None:
        """Raises BusTrouble, `full` for a queue that takes no more."""
        ...

    async def get(self, tenant: str, query: str) -> bytes | None: ...

    async def waiting(self, tenant: str) -> int:
        """Return how many questions of a tenant (its token) wait, as known a second ago."""
        ...


class Hints(Protocol):
    """The hint that work on a query may stop early; lossy."""

    async def cancel(self, tenant: str, query: str) -> None: ...


class Progress(Protocol):
    """The lossy notes on a query while it is worked on."""

    def receive(self, subject: str, on_message: Callable[[bytes], None]) -> AbstractAsyncContextManager[None]:
        """Pass every note on the subject to `on_message` within the block."""
        ...


class DeadLetters(Protocol):
    """Where dead letters lie, each once."""

    async def dead_letter(
        self, stage: StageName, data: bytes, *, stream: str, subject: str, sequence: int, deliveries: int, reason: str
    ) -> bool:
        """Store the raw bytes and why they died; False if they lay there already. Raises TooLarge as well."""
        ...


class Audit(Protocol):
    """Records deeds. Raises BusTrouble."""

    async def record(
        self, kind: AuditKind, credential: Credential, *, about: str = "", query_id: str = "", thread_id: str = ""
    ) -> None: ...

    def note_refusal(self, credential: Credential, problem: Problem, about: str = "") -> None: ...

    def note_stranger(self, source: str, claimed: str, code: str) -> None: ...


class Purge(Protocol):
    """Purges a thread wherever its words are kept. Raises BusTrouble."""

    async def erase(self, tenant: str, thread: str, queries: Sequence[str], *, until_sequence: int) -> None: ...
