"""Which chat models there are, by name: address, limits and prices, and who uses which. No key stands here.

One value for the whole stack, changed while it runs; a service picks a change up with its next call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

NAME = r"^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}$"
"""Names as providers give them: `llama3.1:8b`, `openai/gpt-oss-20b`."""


class Prompting(BaseModel):
    """What a model is asked with, besides the question: models differ in what helps them."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    reasoning: Literal["none", "short"] = Field(
        default="none", description="`short`: a plan of at most three lines before the statement"
    )
    examples: bool = Field(default=False, description="three general examples in the connection's dialect")
    schema_tokens_max: int | None = Field(
        default=None, ge=500, le=1_000_000, description="None: `QUERYBUS_SCHEMA_TOKENS_MAX`"
    )


USUAL_PROMPTING: Final = Prompting()


class NamedModel(BaseModel):
    """One model. Its key is read from the environment variable `api_key_env` of each service that calls it."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    name: str = Field(pattern=NAME, description="as requests name it")
    base_url: str = Field(pattern=r"^https?://", max_length=500, description="of an OpenAI-compatible API, up to /v1")
    model: str = Field(max_length=200, description="the model's name at that address")
    api_key_env: str = Field(
        default="", pattern=r"^(QUERYBUS_[A-Z0-9_]+|OPENAI_API_KEY)?$", description="empty: no key is sent"
    )
    temperature: float = Field(default=0.0, ge=0, le=2)
    tokens_out_max: int = Field(default=4_096, ge=16, le=131_072)
    streaming: bool = Field(default=False, description="tokens are shown as they come to analysts who ask")
    requests_per_minute: int | None = Field(default=None, ge=1, description="of all replicas together")
    tokens_per_minute: int | None = Field(default=None, ge=1, description="in and out, of all replicas together")
    concurrency_max: int | None = Field(default=None, ge=1, description="calls at once, of all replicas together")
    limit_key: str = Field(
        default="", max_length=100, description="models of one key share its limits; default: the name"
    )
    price_in: float = Field(default=0.0, ge=0, description="per million tokens in")
    price_out: float = Field(default=0.0, ge=0, description="per million tokens out")
    prompting: Prompting = USUAL_PROMPTING
    tenants: tuple[str, ...] | None = Field(default=None, description="who may use it; None: everybody")

    @property
    def key(self) -> str:
        """What the shared limits are counted by."""
        return self.limit_key or self.name

    @property
    def is_limited(self) -> bool:
        """Whether replicas must ask each other before a call."""
        return any((self.requests_per_minute, self.tokens_per_minute, self.concurrency_max))

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """Return what a call cost, in the unit of the prices.

        >>> NamedModel(name="m", base_url="http://x", model="m", price_in=2, price_out=10).cost(1000, 100)
        0.003
        """
        return (tokens_in * self.price_in + tokens_out * self.price_out) / 1_000_000


class Models(BaseModel):
    """All models; `fallbacks` are tried in turn where the chosen one gives no reply. After the last: no model."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    models: tuple[NamedModel, ...] = ()
    default: str | None = None
    tenants: Mapping[str, str] = Field(default={}, description="tenant -> the model that it uses by default")
    fallbacks: tuple[str, ...] = ()

    def get(self, name: str) -> NamedModel | None:
        """Return the model of that name, or None."""
        return next((model for model in self.models if model.name == name), None)

    def of_tenant(self, tenant: str) -> tuple[NamedModel, ...]:
        """Return the models that a tenant may use."""
        return tuple(item for item in self.models if item.tenants is None or tenant in item.tenants)

    def chain(self, tenant: str, wanted: str | None) -> tuple[NamedModel, ...]:
        """Return the models to try in turn; empty if the one asked for is not there or not for this tenant."""
        own = self.of_tenant(tenant)
        first = wanted or self.tenants.get(tenant) or self.default or (own[0].name if own else "")
        names = dict.fromkeys((first, *self.fallbacks))
        allowed = [item for name in names for item in own if item.name == name]
        if wanted is not None and (not allowed or allowed[0].name != wanted):
            return ()
        return tuple(allowed)
