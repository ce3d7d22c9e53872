"""The one door to a chat model: any address that speaks the OpenAI chat completions protocol."""

from __future__ import annotations

from querybus.llm.embeddings import EmbeddingDoor, shared_limit
from querybus.llm.model import Limits, ModelDoor
from querybus.llm.openai_chat import OpenAIChatAddress
from querybus.llm.registry import NamedModels
from querybus.llm.settings import EmbeddingServiceSettings, ModelServiceSettings
from querybus.ops.metrics import Metrics

__all__ = [
    "EmbeddingDoor",
    "EmbeddingServiceSettings",
    "Limits",
    "ModelDoor",
    "ModelServiceSettings",
    "NamedModels",
    "open_door",
    "shared_limit",
]


def open_door(settings: ModelServiceSettings, metrics: Metrics) -> ModelDoor | None:
    """Return the door that the settings describe, not yet started; None if they name no address."""
    if not settings.llm_base_url:
        return None
    return ModelDoor(
        OpenAIChatAddress(settings),
        model=settings.llm_model,
        models_allowed=settings.llm_models_allowed,
        limits=Limits.of(settings),
        metrics=metrics,
    )
