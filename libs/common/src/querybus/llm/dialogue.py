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
    """What a model said. `is_cut`: it reached its token limit, so the end of the text is missing."""

    text: str
    tokens_in: int
    tokens_out: int
    model: str
    is_cut: bool = False
