"""What goes to a chat model and what comes back, as values: no verb needs the model's client to speak of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from querybus.core.failure import Failure
from querybus.core.stored.models import ModelUse


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
    tokens_reasoning: int = 0
    """Of `tokens_out`: thoughts, which are not in the text."""
    use: ModelUse | None = None
    """What the reply took with its cost, the models before it in a chain included; None: nobody has priced it."""


def use_of(outcome: ModelReply | Failure) -> ModelUse:
    """Return what a reply, or the want of one, took."""
    if isinstance(outcome, Failure):
        facts = outcome.facts
        counted = ModelUse(calls=1, tokens_in=facts.tokens_in or 0, tokens_out=facts.tokens_out or 0)
        return facts.model_use or counted
    return outcome.use or ModelUse(
        calls=1,
        tokens_in=outcome.tokens_in,
        tokens_out=outcome.tokens_out,
        tokens_cached=outcome.tokens_cached,
        tokens_reasoning=outcome.tokens_reasoning,
    )
