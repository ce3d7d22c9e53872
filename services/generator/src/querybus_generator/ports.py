"""What the generator needs from outside: catalogs, connections' policy, a chat model if there is one, the thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from querybus.core.catalog import Catalog
from querybus.core.envelope import Attempt, Envelope
from querybus.core.failure import Failure
from querybus.core.messages import Asked
from querybus.core.policy import Connection
from querybus.core.stored.models import Prompting
from querybus.llm.dialogue import ChatMessage, ModelReply
from querybus.text.knowledge import Knowledge
from querybus_generator.conversation.turns import Turn
from querybus_generator.linking.linker import Prepared
from querybus_generator.linking.near import Near


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


class Taught(Protocol):
    """What people have taught, by tenant and connection."""

    async def read(self, tenant: str, name: str) -> Knowledge:
        """Return the knowledge; the same value as long as nothing changed."""
        ...


class ChatModel(Protocol):
    """A chat model; its limits, retries and breaker are its own."""

    async def prompting(self, tenant: str, model: str | None) -> Prompting | None:
        """Return how the model is asked that this tenant's call would go to; None if there is none at all."""
        ...

    async def reply(
        self,
        messages: Sequence[ChatMessage],
        *,
        timeout_seconds: float,
        model: str | None = None,
        tenant: str = "",
        on_text: Callable[[str], None] | None = None,
    ) -> ModelReply | Failure:
        """Return what the model says within that time, or a Failure of code `model_unavailable`.

        `on_text` receives parts of the reply as they come, where the model streams.
        """
        ...


class Meaning(Protocol):
    """What a question means, where an embeddings model is set: a second opinion beside its words."""

    async def of(self, prepared: Prepared, question: str, timeout_seconds: float) -> Near:
        """Return what is near the question, or why nobody knows; never a failure."""
        ...


class Progress(Protocol):
    """Who follows a query receives what the model says while it says it."""

    def receive(self, envelope: Envelope[Any]) -> Callable[[str], None]:
        """Return what takes the parts of the reply to this query."""
        ...


class History(Protocol):
    """What was said before, read from the log."""

    async def turns(self, envelope: Envelope[Any]) -> tuple[Turn, ...]:
        """Return the earlier turns of the thread that this query may see, oldest first, of the same user only."""
        ...

    async def attempts(self, envelope: Envelope[Any], query_id: str) -> tuple[Attempt, ...]:
        """Return the attempts of another query of the same user; empty if there is no such query."""
        ...

    async def asked(self, envelope: Envelope[Any], query_id: str) -> Envelope[Asked] | None:
        """Return how a query of the same thread and user was asked; None if there is no such query."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """All of them, as one value; without a model the translator answers."""

    catalogs: Catalogs
    connections: Connections
    history: History
    model: ChatModel | None = None
    taught: Taught | None = None
    progress: Progress | None = None
    meaning: Meaning | None = None
