"""Names of an engine's own catalogs, which no statement reads."""

from __future__ import annotations

from typing import Final

from querybus.core.catalog import Dialect
from querybus.engines import ENGINES

SYSTEM_SCHEMAS: Final = frozenset[str]().union(*(engine.system_schemas for engine in ENGINES.values()))
"""Of all engines: a draft that reads another engine's catalog is refused as well."""


def is_system(name: str, schema: str | None, dialect: Dialect) -> bool:
    """Return whether a folded name, or its schema, is one of the engine's own."""
    if schema is not None and schema.lower() in SYSTEM_SCHEMAS:
        return True
    pattern = ENGINES[dialect].system_names
    return pattern is not None and pattern.match(name.lower()) is not None
