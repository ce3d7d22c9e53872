"""Chat models of any provider through one client, and the embeddings model."""

from __future__ import annotations

import os

from querybus.core.stored.models import split_provider
from querybus.llm.embeddings import EmbeddingClient, shared_limit
from querybus.llm.forms import form_of, model_of
from querybus.llm.model import Limits, ModelClient
from querybus.llm.registry import NamedModels
from querybus.llm.settings import EmbeddingLimits, EmbeddingServiceSettings, ModelServiceSettings
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
    # Loaded where a model is: a question without one has no use for it.
    from querybus.llm.wire.chat import ChatAddress

    return ModelClient(
        ChatAddress(form_of(model_of(settings, settings.llm_model), settings, os.environ)),
        model=split_provider(settings.llm_model)[1],
        named=settings.llm_model,
        models_allowed=settings.llm_models_allowed,
        limits=Limits.of(settings),
        metrics=metrics,
    )
