"""What the presenter needs from outside: the catalog, for labels and names that must not show; perhaps a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from querybus.core.catalog import Catalog
from querybus.core.failure import Failure
from querybus.core.policy import Connection
from querybus.core.stored.choices import Choices
from querybus.llm.dialogue import ChatMessage, ModelReply


class Catalogs(Protocol):
    """Catalogs by connection."""

    async def read(self, connection: str) -> Catalog | None:
        """Return the connection's catalog, or None if there is none or it cannot be had in time; never raises."""
        ...


class ChoicesOf(Protocol):
    """What people chose among the options that they were offered."""

    async def read(self, tenant: str, user: str) -> Choices:
        """Return the person's choices, or none where they cannot be had in time; never raises."""
        ...


class Connections(Protocol):
    """What is known of connections: whether a model may see their data."""

    async def get(self, name: str) -> Connection | None:
        """Return the connection, or None for an unknown one."""
        ...


class ChatModel(Protocol):
    """A chat model."""

    async def reply(
        self,
        messages: Sequence[ChatMessage],
        *,
        timeout_seconds: float,
        model: str | None = None,
        tenant: str = "",
    ) -> ModelReply | Failure:
        """Return the reply in time, or a Failure; never raises."""
        ...
