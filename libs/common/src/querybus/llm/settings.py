"""The settings of a service that may call a chat model; without an address there is no model."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self, cast

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from querybus.core.stored.models import split_provider
from querybus.llm.wire.transport import Network
from querybus.ops.settings import ServiceSettings

BREAKER_OPEN_SECONDS: Final = 10.0
"""How long an open breaker waits until one call may try again."""
OPENAI_URL: Final = "https://api.openai.com/v1"
OPENAI_KEY: Final = "OPENAI_API_KEY"
"""The variable in which people hold a key of OpenAI; with a named model it needs no other setting."""


KEY_VARIABLES: Final[Mapping[str, str]] = {
    "openai": OPENAI_KEY,
    "azure_openai": "AZURE_OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "google_genai": "GOOGLE_API_KEY",
    "mistralai": "MISTRAL_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "ollama": "OLLAMA_API_KEY",
    "bedrock_converse": "AWS_BEARER_TOKEN_BEDROCK",
}
"""Where people hold the key of a provider."""
BASE_URLS: Final[Mapping[str, str]] = {
    "openai": OPENAI_URL,
    "anthropic": "https://api.anthropic.com",
    "google_genai": "https://generativelanguage.googleapis.com",
    "mistralai": "https://api.mistral.ai/v1",
    "deepseek": "https://api.deepseek.com/v1",
    "ollama": "http://127.0.0.1:11434",
}


class ModelServiceSettings(ServiceSettings):
    """`QUERYBUS_LLM_*`: where the model is, how long a call may take, how many run at once."""

    llm_base_url: str = Field(default="", description="of an OpenAI-compatible API, up to /v1; empty: no model")
    llm_model: str = Field(
        default="default", max_length=200, description="`provider:model`, or the model's name at the address"
    )
    llm_models_allowed: tuple[str, ...] = Field(
        default=(), description="other names that a request may choose at the same address"
    )
    llm_api_key: SecretStr | None = Field(default=None, description="absent for addresses that ask for none")
    model_keys_directory: Path | None = Field(
        default=None,
        description="keys of models that owners type are kept here, a file each, mode 600; None: none is taken",
    )
    llm_temperature: float | None = Field(
        default=None, ge=0, le=2, description="absent: that of the model's family, or none is sent"
    )
    llm_reasoning_effort: str = Field(default="", description="such as low; empty: not sent")
    llm_tokens_field: str = Field(default="", description="what limits a reply: max_tokens or max_completion_tokens")
    llm_headers: dict[str, str] = Field(default={}, description="header -> the variable that holds its value, as JSON")
    llm_query: dict[str, str] = Field(default={}, description="added to the address, as JSON, such as api-version")
    llm_body: dict[str, Any] = Field(
        default={}, description="merged into each request, as JSON; null takes a field away"
    )
    llm_context_tokens: int | None = Field(default=None, ge=1_000, description="the model's context window")
    llm_proxy: str = Field(default="", description="the HTTP proxy to models that are not on this machine")
    llm_ca_file: Path | None = Field(default=None, description="certificates of a private authority, as PEM")
    nothing_leaves: bool = Field(
        default=False, description="refuse every model address that is neither on this machine nor listed"
    )
    llm_hosts_allowed: tuple[str, ...] = Field(
        default=(), description="hosts that QUERYBUS_NOTHING_LEAVES lets through"
    )
    llm_streaming: bool = Field(default=False, description="tokens are shown as they come to analysts who ask")
    llm_tokens_out_max: int = Field(default=4_096, ge=16, le=131_072, description="tokens of one reply")
    llm_total_timeout_seconds: float = Field(
        default=90.0, gt=0, description="one call with its retries; never longer than the query's deadline allows"
    )
    llm_concurrency_max: int = Field(default=64, ge=1, le=1_024, description="calls of one replica at once")
    llm_breaker_failures: int = Field(default=5, ge=1, description="failures in a row that open the breaker")

    @model_validator(mode="before")
    @classmethod
    def _address_of_provider(cls, given: Any) -> Any:
        """Take the usual address and key of the provider before the model's name; OpenAI's, where its key is there."""
        if not isinstance(given, dict):
            return given
        values = cast("dict[str, Any]", given)
        model = str(values.get("llm_model") or "")
        if not model or values.get("llm_base_url"):
            return values
        provider = split_provider(model)[0] or ("openai" if os.environ.get(OPENAI_KEY) else "")
        if not provider:
            return values
        key = os.environ.get(KEY_VARIABLES[provider])
        return ({"llm_api_key": key} if key else {}) | values | {"llm_base_url": cls.base_url_of(provider, os.environ)}

    @field_validator("llm_ca_file")
    @classmethod
    def _holds_certificates(cls, file: Path | None) -> Path | None:
        if file is None:
            return None
        try:
            ssl.create_default_context(cafile=file)
        except OSError as error:
            raise ValueError(f"no certificates can be read from {file} ({type(error).__name__})") from None
        return file

    @model_validator(mode="after")
    def _leaves_nothing(self) -> Self:
        for address in self.addresses:
            if address and (refusal := self.network.refusal(address)):
                raise ValueError(refusal)
        return self

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses that the settings name."""
        return (self.llm_base_url,)

    @property
    def network(self) -> Network:
        """How every address of a model is reached, whoever named it."""
        return Network(
            proxy=self.llm_proxy,
            ca_file=self.llm_ca_file,
            wait_seconds=self.llm_total_timeout_seconds,
            hosts_allowed=self.llm_hosts_allowed if self.nothing_leaves else None,
        )

    @staticmethod
    def base_url_of(provider: str, environment: Mapping[str, str]) -> str:
        """Return the usual address of a provider; raises ValueError where a variable has to name it."""
        if provider == "azure_openai":
            endpoint = environment.get("AZURE_OPENAI_ENDPOINT", "")
            if not endpoint:
                raise ValueError(
                    "azure_openai needs AZURE_OPENAI_ENDPOINT or a base_url: https://NAME.openai.azure.com"
                )
            return endpoint
        if provider == "bedrock_converse":
            region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
            if not region:
                raise ValueError("bedrock_converse needs AWS_REGION or a base_url")
            return f"https://bedrock-runtime.{region}.amazonaws.com"
        return BASE_URLS.get(provider, "")


class EmbeddingLimits(BaseModel):
    """What embedding may take: of a request, of a replica, of all replicas together."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    dimensions_max: int = Field(default=512, ge=16, le=4_096, description="what a model says beyond them is cut")
    timeout_seconds: float = Field(default=2.0, gt=0, description="what a question waits; then words stand alone")
    batch_max: int = Field(default=64, ge=1, le=2_048, description="texts in one request")
    concurrency_max: int = Field(default=8, ge=1, le=256, description="requests of one replica at once")
    requests_per_minute: int | None = Field(default=None, ge=1, description="of all replicas together")
    tokens_per_minute: int | None = Field(default=None, ge=1, description="of all replicas together")
    bytes_max: int = Field(default=32 * 1_024 * 1_024, ge=0, description="of vectors of catalogs and taught questions")


class EmbeddingServiceSettings(ModelServiceSettings):
    """`QUERYBUS_EMBEDDINGS_*`: an embeddings model as a second opinion beside words; without an address there is none."""

    embeddings_base_url: str = Field(default="", description="of an OpenAI-compatible API, up to /v1; empty: none")
    embeddings_model: str = Field(default="embeddings", max_length=100, description="the model's name at that address")
    embeddings_api_key: SecretStr | None = Field(default=None, description="absent for addresses that ask for none")
    embeddings_limits: EmbeddingLimits = Field(
        default=EmbeddingLimits(), description='as JSON where they differ: {"timeout_seconds": 1, "batch_max": 32}'
    )

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses that the settings name."""
        return (*super().addresses, self.embeddings_base_url)
