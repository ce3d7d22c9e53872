"""What goes to a chat model and what comes back, as values: no verb needs the model's client to speak of them."""

from __future__ import annotations

from dataclasses import dataclass, field
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
    use: ModelUse | None = field(default=None, compare=False)
    """What the reply took with its cost, with all requests and models before it; None: nobody has counted it."""


def tokens_of(reply: ModelReply) -> ModelUse:
    """Return the tokens of a reply alone, without the call."""
    return ModelUse(
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
        tokens_cached=reply.tokens_cached,
        tokens_reasoning=reply.tokens_reasoning,
    )


def use_of(outcome: ModelReply | Failure) -> ModelUse:
    """Return what a reply, or the want of one, took."""
    if isinstance(outcome, Failure):
        facts = outcome.facts
        counted = ModelUse(calls=1, tokens_in=facts.tokens_in or 0, tokens_out=facts.tokens_out or 0)
        return counted if facts.model_use is None else facts.model_use
    return outcome.use or tokens_of(outcome).plus(ModelUse(calls=1))
