"""What goes to a chat model and what comes back, as values: no verb needs the model's client to speak of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What a model said. `is_cut`: nothing says that it ended by itself, so only a closed block of it may be used."""

    text: str
    tokens_in: int
    tokens_out: int
    model: str
    is_cut: bool = False
    tokens_cached: int = 0
    """Of `tokens_in`: those that the provider read from its prompt cache."""
