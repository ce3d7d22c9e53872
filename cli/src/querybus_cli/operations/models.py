"""What `querybus models` does, as the bus user `operator`."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import yaml
from pydantic import ValidationError

from querybus.bus.admin.permissions import OPERATOR
from querybus.bus.connection import BusRefused, Held, connect
from querybus.bus.log.publish import BusTrouble
from querybus.bus.stores.models import ModelStore
from querybus.core.stored.models import Models, NamedModel, split_provider
from querybus.llm.errors import Fault
from querybus.llm.forms import model_of
from querybus.llm.kept_keys import KeptKeys
from querybus.llm.model_search import read_settings
from querybus.llm.settings import ModelServiceSettings
from querybus_cli.operations.operator import Place
from querybus_cli.runtime import UsageError
from querybus_semantic.formats.problems import settings_problem, yaml_problem


def parse_models(text: str) -> Models:
    """Return the models of a file; ValueError for an unknown field or a name that no model has.

    >>> parse_models("models: [{name: m, base_url: 'http://x/v1', model: m}]").models[0].name
    'm'
    """
    try:
        models = Models.model_validate(yaml.safe_load(text) or {})
    except yaml.YAMLError as error:
        raise ValueError(f"the file {yaml_problem(error)}") from None
    except ValidationError as error:
        raise ValueError(settings_problem(error, Models, text)) from None
    known = {model.name for model in models.models}
    named = [*models.tenants.values(), *models.fallbacks, *([models.default] if models.default else [])]
    for name in named:
        if known and name not in known:
            raise ValueError(f"there is no model {name!r} in the file")
    return models


@asynccontextmanager
async def _store(place: Place) -> AsyncGenerator[ModelStore]:
    try:
        connection = await connect(place.url, OPERATOR, place.password)
    except BusRefused as error:
        raise UsageError(str(error)) from error
    try:
        yield ModelStore(Held(connection))
    except BusTrouble as error:
        raise UsageError(f"the bus: {error}") from error
    finally:
        await connection.close()


async def read_models(place: Place) -> Models:
    """Return the models that are set."""
    async with _store(place) as store:
        return await store.read()


async def write_models(place: Place, models: Models) -> None:
    """Set the models; UsageError names each whose address the settings of the network forbid, and none is stored."""
    settings = read_model_settings()
    hosts = place.model_hosts_allowed
    network = settings.network if hosts is None else replace(settings.network, hosts_allowed=hosts)
    refused = [f"{item.name}: {why}" for item in models.models if (why := network.refusal(_address(item, settings)))]
    if refused:
        raise UsageError("\n".join(refused))
    async with _store(place) as store:
        await store.write(models)


def read_model_settings() -> ModelServiceSettings:
    """Return the settings of models in the environment; UsageError names a bad one."""
    settings = read_settings()
    if isinstance(settings, Fault):
        raise UsageError(settings.detail)
    return settings


def model_keys(settings: ModelServiceSettings, store: Path) -> Mapping[str, str]:
    """Return the environment with the keys that owners have typed at the stack of this store."""
    return KeptKeys(settings.model_keys_directory or store / "model-keys")


def find_model(name: str | None, known: Models | None, settings: ModelServiceSettings) -> NamedModel:
    """Return the model of a name, or the one that is asked first; UsageError names those that there are.

    `known` are the models of a file or a stack. Behind them stand the model of the settings, and each `provider:model`.
    """
    has_own = bool(settings.llm_base_url)
    first = known.default or next((item.name for item in known.models), None) if known else None
    wanted = name or first or (settings.llm_model if has_own else "")
    found = known.get(wanted) if known else None
    if found is not None:
        return found
    if wanted and has_own and (not split_provider(wanted)[0] or wanted == settings.llm_model):
        return model_of(settings, wanted)
    if split_provider(wanted)[0]:
        return NamedModel(name=wanted, model=wanted)
    names = ", ".join(item.name for item in known.models) if known else ""
    there = f"there is no model {wanted!r}" if wanted else "no model is set"
    raise UsageError(
        f"{there}{f'; there are {names}' if names else ''}: set QUERYBUS_LLM_BASE_URL and QUERYBUS_LLM_MODEL, "
        "or name one as provider:model, such as openai:gpt-4.1"
    )


def _address(model: NamedModel, settings: ModelServiceSettings) -> str:
    """Return where a model is; empty where a variable of the services names it."""
    try:
        return model.base_url or settings.base_url_of(split_provider(model.model)[0], os.environ)
    except ValueError:
        return ""
