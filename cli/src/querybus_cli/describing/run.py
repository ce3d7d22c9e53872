"""Opens a database, drafts its description, measures relations and lets a model name what it shows."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

from querybus.core.catalog import Catalog
from querybus.core.subjects import StageName
from querybus.llm import ModelServiceSettings, open_model
from querybus.ops.metrics import Metrics
from querybus.ops.settings import load
from querybus_cli.describing.by_model import named_by_model
from querybus_cli.describing.draft import Description, drafted
from querybus_cli.describing.relations import Measured, measured
from querybus_cli.operations.measuring import opened, opened_connection
from querybus_cli.runtime import UsageError, usage
from querybus_executor.connections.config import ConnectionConfig, load_connections


@dataclass(frozen=True, slots=True)
class Drafted:
    """A description, the relations that were measured, and what was left out with why."""

    description: Description
    relations: list[Measured]
    skipped: list[str]


def connection_of(file: Path, name: str) -> ConnectionConfig:
    """Return a connection of a connections file; UsageError where there is none of that name."""
    known = usage(load_connections, file)
    for config in known:
        if config.name == name:
            return config
    raise UsageError(f"{file} has no connection {name}; it has {', '.join(config.name for config in known) or 'none'}")


def describe_database(database: str | ConnectionConfig, *, with_model: bool, with_relations: bool) -> Drafted:
    """Return the draft of a database at a URL or of a connection; UsageError where it or the model cannot be used."""
    with opened(database) if isinstance(database, str) else opened_connection(database) as (catalog, rows_of):
        found, skipped = measured(catalog, rows_of) if with_relations else ([], [])
    description = replace(drafted(catalog), relations=tuple(item.relation for item in found))
    if with_model:
        description, unnamed = asyncio.run(_named(catalog, description))
        skipped += unnamed
    return Drafted(description, found, skipped)


async def _named(catalog: Catalog, description: Description) -> tuple[Description, list[str]]:
    model = open_model(load(ModelServiceSettings), Metrics(StageName.GENERATOR))
    if model is None:
        raise UsageError("--model needs QUERYBUS_LLM_BASE_URL")
    await model.start()
    try:
        return await named_by_model(model, catalog, description)
    finally:
        await model.drain()
