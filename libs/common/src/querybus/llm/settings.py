"""The settings of a service that may call a chat model; without an address there is no model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from querybus.ops.settings import ServiceSettings

CONNECT_SECONDS_MAX: Final = 5.0
SILENCE_SECONDS_MAX: Final = 60.0
"""How long an open connection may say nothing."""
BREAKER_OPEN_SECONDS: Final = 10.0
"""How long an open breaker waits until one call may try again."""
OPENAI_URL: Final = "https://api.openai.com/v1"
OPENAI_KEY: Final = "OPENAI_API_KEY"
"""The variable in which people hold a key of OpenAI; with a named model it needs no other setting."""


class ModelServiceSettings(ServiceSettings):
    """`QUERYBUS_LLM_*`: where the model is, how long a call may take, how many run at once."""

    llm_base_url: str = Field(default="", description="of an OpenAI-compatible API, up to /v1; empty: no model")
    llm_model: str = Field(default="default", max_length=200, description="the model's name at that address")
    llm_models_allowed: tuple[str, ...] = Field(
        default=(), description="other names that a request may choose at the same address"
    )
    llm_api_key: SecretStr | None = Field(default=None, description="absent for addresses that ask for none")
    model_keys_directory: Path | None = Field(
        default=None,
        description="keys of models that owners type are kept here, a file each, mode 600; None: none is taken",
    )
    llm_temperature: float = Field(default=0.0, ge=0, le=2)
    llm_streaming: bool = Field(default=False, description="tokens are shown as they come to analysts who ask")
    llm_tokens_out_max: int = Field(default=4_096, ge=16, le=131_072, description="tokens of one reply")
    llm_total_timeout_seconds: float = Field(
        default=90.0, gt=0, description="one call with its retries; never longer than the query's deadline allows"
    )
    llm_concurrency_max: int = Field(default=64, ge=1, le=1_024, description="calls of one replica at once")
    llm_breaker_failures: int = Field(default=5, ge=1, description="failures in a row that open the breaker")

    @model_validator(mode="before")
    @classmethod
    def _openai_by_its_key(cls, given: Any) -> Any:
        """Take OpenAI's address where a model is named, no address is set and the environment holds its key."""
        key = os.environ.get(OPENAI_KEY)
        if not key or not isinstance(given, dict) or not given.get("llm_model") or given.get("llm_base_url"):  # pyright: ignore[reportUnknownMemberType]
            return given  # pyright: ignore[reportUnknownVariableType]
        return {"llm_api_key": key} | given | {"llm_base_url": OPENAI_URL}


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
