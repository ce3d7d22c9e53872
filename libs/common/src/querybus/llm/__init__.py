"""The one client of a chat model: any address that speaks the OpenAI chat completions protocol."""

from __future__ import annotations

from querybus.llm.embeddings import EmbeddingClient, shared_limit
from querybus.llm.model import Limits, ModelClient
from querybus.llm.registry import NamedModels
from querybus.llm.settings import EmbeddingLimits, EmbeddingServiceSettings, ModelServiceSettings
from querybus.llm.wire.openai_chat import OpenAIChatAddress
from querybus.ops.metrics import Metrics

__all__ = [
    "EmbeddingClient",
    "EmbeddingLimits",
    "EmbeddingServiceSettings",
    "Limits",
    "ModelClient",
    "ModelServiceSettings",
    "NamedModels",
    "open_model",
    "shared_limit",
]


def open_model(settings: ModelServiceSettings, metrics: Metrics) -> ModelClient | None:
    """Return the client that the settings describe, not yet started; None if they name no address."""
    if not settings.llm_base_url:
        return None
    return ModelClient(
        OpenAIChatAddress(settings),
        model=settings.llm_model,
        models_allowed=settings.llm_models_allowed,
        limits=Limits.of(settings),
        metrics=metrics,
    )
