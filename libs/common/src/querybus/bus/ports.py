"""What settlement needs of the bus, as protocols: the message in hand, and where events, dead letters and notes go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from querybus.bus.log.journal import Entry
from querybus.bus.log.publish import Published
from querybus.bus.log.sign import Signer
from querybus.core.envelope import Envelope
from querybus.core.subjects import EventAddress, StageName


class Incoming(Protocol):
    """The message in hand."""

    @property
    def subject(self) -> str: ...
    @property
    def data(self) -> bytes: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def stream(self) -> str: ...
    @property
    def sequence(self) -> int: ...
    @property
    def deliveries(self) -> int: ...
    @property
    def is_last_delivery(self) -> bool: ...
    @property
    def settled(self) -> bool: ...
    async def ack(self, *, confirmed: bool = False) -> None: ...
    async def nak(self, delay_seconds: float) -> None: ...
    async def term(self) -> None: ...


class Bus(Protocol):
    """What settling needs of the bus. Everything may raise BusTrouble, `publish` TooLarge as well."""

    async def publish(
        self, envelope: Envelope[Any], *, input_sequence: int, until_ms: int, sign: Signer | None
    ) -> Published:
        """Append the event to its log, fenced at the input's sequence."""
        ...

    async def last(self, address: EventAddress) -> Entry | None:
        """Return the last event of the query, as the stream's leader knows it."""
        ...

    async def first(self, address: EventAddress) -> Envelope[Any] | None:
        """Return the event that the query began with; a replica that lags has none. Raises Undecodable."""
        ...

    async def dead_letter(self, stage: StageName, message: Incoming, reason: str) -> bool:
        """Put the raw message and the reason into the dead letters; False if it lay there already."""
        ...

    async def announce(self, subject: str, data: bytes) -> None:
        """Report progress to listeners, if there are any."""
        ...
