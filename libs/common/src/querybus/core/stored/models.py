"""Which chat models there are, by name: address, limits and prices, who uses which, and what calls take. No key stands here.

One value for the whole stack, changed while it runs; a service picks a change up with its next call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

NAME = r"^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}$"
"""Names as providers give them: `llama3.1:8b`, `openai/gpt-oss-20b`."""


PROVIDERS: Final = (
    "openai", "azure_openai", "anthropic", "google_genai", "mistralai", "deepseek", "ollama", "bedrock_converse",
)  # fmt: skip
"""What may stand before the first colon of a model's name to say whose API is spoken."""
VARIABLE = (
    r"QUERYBUS_[A-Z0-9_]+|(?:OPENAI|AZURE_OPENAI|ANTHROPIC|GOOGLE|GEMINI|MISTRAL|DEEPSEEK|OLLAMA)_API_KEY"
    r"|AWS_BEARER_TOKEN_BEDROCK"
)
"""Variables that a secret of a model may be read from: nobody can name another part of the environment."""


def split_provider(model: str) -> tuple[str, str]:
    """Return the provider that a model's name begins with, and the name at that provider; no provider: as it stands.

    >>> split_provider("openai:gpt-8"), split_provider("granite4:tiny-h")
    (('openai', 'gpt-8'), ('', 'granite4:tiny-h'))
    """
    provider, colon, name = model.partition(":")
    return (provider, name) if colon and name and provider in PROVIDERS else ("", model)


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
    base_url: str = Field(
        default="",
        pattern=r"^(https?://.*)?$",
        max_length=500,
        description="of an OpenAI-compatible API, up to /v1; empty: the usual one of the provider",
    )
    model: str = Field(max_length=200, description="`provider:model`, or the model's name at the address")
    api_key_env: str = Field(
        default="", pattern=rf"^({VARIABLE})?$", description="empty: the provider's own variable, or no key"
    )
    headers: Mapping[str, Annotated[str, Field(pattern=rf"^({VARIABLE})$")]] = Field(
        default={}, description="header -> the variable that holds its value"
    )
    query: Mapping[str, str] = Field(default={}, description="added to the address, such as api-version")
    body: Mapping[str, Any] = Field(default={}, description="merged into each request; null takes a field away")
    tokens_field: str = Field(
        default="", pattern=r"^[a-z_]{0,40}$", description="what limits a reply: max_tokens, max_completion_tokens"
    )
    temperature: float | None = Field(default=None, ge=0, le=2, description="None: that of the model's family, or none")
    reasoning_effort: str = Field(default="", pattern=r"^[a-z]{0,20}$", description="such as low; empty: not sent")
    connect_seconds: float = Field(default=5.0, gt=0, le=60)
    silence_seconds: float = Field(
        default=60.0, gt=0, le=3_600, description="an open connection may say nothing so long"
    )
    timeout_seconds: float | None = Field(default=None, gt=0, le=3_600, description="of one call with its retries")
    context_tokens: int | None = Field(
        default=None, ge=1_000, description="the model's context; bounds the schema shown"
    )
    tokens_out_max: int = Field(default=4_096, ge=16, le=131_072)
    streaming: bool = Field(default=False, description="tokens are shown as they come to analysts who ask")
    requests_per_minute: int | None = Field(default=None, ge=1, description="of all replicas together")
    tokens_per_minute: int | None = Field(default=None, ge=1, description="in and out, of all replicas together")
    concurrency_max: int | None = Field(default=None, ge=1, description="calls at once, of all replicas together")
    limit_key: str = Field(
        default="", max_length=100, description="models of one key share its limits; default: the name"
    )
    price_in: float = Field(default=0.0, ge=0, description="per million tokens in")
    price_cached: float | None = Field(
        default=None, ge=0, description="per million tokens in from the provider's cache; None: as price_in"
    )
    price_out: float = Field(default=0.0, ge=0, description="per million tokens out")
    fallbacks: tuple[str, ...] | None = Field(
        default=None, description="tried in turn for this model; None: the common ones"
    )
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

    @model_validator(mode="after")
    def _has_an_address(self) -> Self:
        if not self.base_url and not split_provider(self.model)[0]:
            raise ValueError(f"a model needs a base_url, or a provider before its name: one of {', '.join(PROVIDERS)}")
        return self

    @property
    def shown(self) -> Prompting:
        """How the model is asked; the schema takes half of the context that the reply leaves."""
        if self.context_tokens is None:
            return self.prompting
        tokens_max = max(500, (self.context_tokens - min(self.tokens_out_max, self.context_tokens // 2)) // 2)
        asked = self.prompting.schema_tokens_max
        return self.prompting.model_copy(
            update={"schema_tokens_max": tokens_max if asked is None else min(asked, tokens_max)}
        )

    def cost(self, tokens_in: int, tokens_out: int, tokens_cached: int = 0) -> float:
        """Return what a call cost, in the unit of the prices; `tokens_cached` are some of `tokens_in`.

        >>> NamedModel(name="m", base_url="http://x", model="m", price_in=2, price_cached=1, price_out=10).cost(1000, 100, 500)
        0.0025
        """
        cached = self.price_in if self.price_cached is None else self.price_cached
        whole = (tokens_in - tokens_cached) * self.price_in + tokens_cached * cached + tokens_out * self.price_out
        return whole / 1_000_000


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
        chosen = self.get(first)
        own_chain = chosen.fallbacks if chosen is not None else None
        names = dict.fromkeys((first, *(self.fallbacks if own_chain is None else own_chain)))
        allowed = [item for name in names for item in own if item.name == name]
        if wanted is not None and (not allowed or allowed[0].name != wanted):
            return ()
        return tuple(allowed)
