"""What the calls of chat models took, as a value that goes with a query through all of its events."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ModelUse(BaseModel):
    """Calls, tokens and their cost, in the unit of the models' prices."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="allow")

    calls: int = Field(default=0, ge=0, description="requests for a reply, those without a statement included")
    tokens_in: int = Field(default=0, ge=0)
    tokens_out: int = Field(default=0, ge=0)
    tokens_cached: int = Field(default=0, ge=0, description="of `tokens_in`: read from the provider's prompt cache")
    tokens_reasoning: int = Field(default=0, ge=0, description="of `tokens_out`: thoughts that are not in the reply")
    cost: float = Field(default=0.0, ge=0, description="in the unit of the models' prices; 0 where none is set")

    @property
    def tokens(self) -> int:
        """All tokens, in and out."""
        return self.tokens_in + self.tokens_out

    def plus(self, other: ModelUse) -> ModelUse:
        """Return the sum of both.

        >>> ModelUse(calls=1, tokens_in=7).plus(ModelUse(calls=1, tokens_out=3)).tokens
        10
        """
        return ModelUse(
            calls=self.calls + other.calls,
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
            tokens_cached=self.tokens_cached + other.tokens_cached,
            tokens_reasoning=self.tokens_reasoning + other.tokens_reasoning,
            cost=self.cost + other.cost,
        )


NO_USE = ModelUse()


def is_nothing_used(use: ModelUse | None) -> bool:
    """Whether no call was made: such a use stands in no event."""
    return use is None or use == NO_USE
