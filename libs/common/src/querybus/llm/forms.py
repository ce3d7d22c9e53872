"""A named model, with the settings of a service and its environment, as the form by which it is called."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from pydantic import SecretStr

from querybus.core.stored.models import NamedModel, split_provider
from querybus.llm.settings import BASE_URLS, KEY_VARIABLES, ModelServiceSettings
from querybus.llm.wire.providers import ModelForm
from querybus.llm.wire.transport import Additions

_HOSTS: Final[Mapping[str, re.Pattern[str]]] = {
    "azure_openai": re.compile(
        r"https://[\w-]+\.(?:openai|cognitiveservices|services\.ai)\.azure\.(?:com|us|cn)(?:[/:]|$)"
    ),
    "bedrock_converse": re.compile(r"https://bedrock-runtime(?:-fips)?\.[\w-]+\.amazonaws\.com(?:\.cn)?(?:[/:]|$)"),
}
"""Addresses of a provider besides its usual one: any machine may have a name under azure.com or amazonaws.com."""
_TOKENS_OF_CLIENT = "max_completion_tokens"


def model_of(settings: ModelServiceSettings, name: str) -> NamedModel:
    """Return the model that the settings describe, by a name at their address."""
    return NamedModel(
        name=name,
        base_url=settings.llm_base_url,
        model=name,
        headers=settings.llm_headers,
        query=settings.llm_query,
        body=settings.llm_body,
        tokens_field=settings.llm_tokens_field,
        temperature=settings.llm_temperature,
        reasoning_effort=settings.llm_reasoning_effort,
        tokens_out_max=settings.llm_tokens_out_max,
        context_tokens=settings.llm_context_tokens,
        streaming=settings.llm_streaming,
    )


def form_of(model: NamedModel, settings: ModelServiceSettings, environment: Mapping[str, str]) -> ModelForm:
    """Return the form of a model. Its key is its variable's, else that of its provider, else that of the settings' address."""
    # Loaded where a model is: a question without one has no use for it.
    from querybus.llm.wire.families import family_of

    provider, wire_name = split_provider(model.model)
    family = family_of(wire_name)
    field = model.tokens_field or family.tokens_field
    renamed = {_TOKENS_OF_CLIENT: field} if field and provider in ("", "openai", "azure_openai") else {}
    temperature = model.temperature if model.temperature is not None else family.temperature
    return ModelForm(
        provider=provider or "openai",
        model=wire_name,
        base_url=model.base_url or settings.base_url_of(provider, environment),
        api_key=_key(model, provider, settings, environment),
        additions=Additions(
            headers={name: environment.get(variable, "") for name, variable in model.headers.items()},
            query=model.query,
            body=model.body,
            renamed=renamed,
        ),
        network=replace(settings.network, connect_seconds=model.connect_seconds, silence_seconds=model.silence_seconds),
        temperature=temperature,
        reasoning_effort=model.reasoning_effort,
        tokens_out_max=model.tokens_out_max,
    )


def _key(
    model: NamedModel, provider: str, settings: ModelServiceSettings, environment: Mapping[str, str]
) -> SecretStr | None:
    if model.api_key_env:
        return SecretStr(environment.get(model.api_key_env, ""))
    # The key of the settings is for the address of the settings alone, and a provider's key for that provider's own.
    if settings.llm_api_key is not None and model.base_url in ("", settings.llm_base_url):
        return settings.llm_api_key
    variable = KEY_VARIABLES.get(provider, "")
    hosts = _HOSTS.get(provider)
    is_own = model.base_url in ("", BASE_URLS.get(provider, "")) or (
        hosts is not None and hosts.match(model.base_url) is not None
    )
    return SecretStr(environment[variable]) if is_own and environment.get(variable) else None
