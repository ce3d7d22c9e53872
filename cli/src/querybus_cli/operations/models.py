"""What `querybus models` does, as the bus user `operator`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import yaml
from pydantic import ValidationError

from querybus.bus.admin.permissions import OPERATOR
from querybus.bus.connection import BusRefused, Held, connect
from querybus.bus.log.publish import BusTrouble
from querybus.bus.stores.models import ModelStore
from querybus.core.stored.models import Models
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
    """Set the models."""
    async with _store(place) as store:
        await store.write(models)
