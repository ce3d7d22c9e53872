"""The part of each connection's catalog that may be used, prepared for linking and kept until the catalog changes.

Preparing takes time in proportion to the schema (seconds at 10,000 tables), so it runs in a thread, once.
"""

from __future__ import annotations

import asyncio
import gc
from collections import OrderedDict
from collections.abc import Set
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from querybus.core.catalog import Catalog, Table
from querybus.core.linking import LinkIndex
from querybus.core.policy import ConnectionPolicy
from querybus_generator.lexicon import load_link_words

CONNECTIONS_KEPT_MAX: Final = 32
TABLES_FROZEN_MIN: Final = 1_000


@dataclass(frozen=True, slots=True)
class Prepared:
    """A catalog as far as the connection's policy lets it be seen, and its index."""

    catalog: Catalog
    index: LinkIndex


@dataclass(frozen=True, slots=True)
class _Kept:
    whole: Catalog
    policy: ConnectionPolicy
    prepared: asyncio.Future[Prepared]


class Linker:
    """Prepared catalogs by connection, the least recently used dropped first."""

    def __init__(self, connections_kept_max: int = CONNECTIONS_KEPT_MAX) -> None:
        self._kept_max = connections_kept_max
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    async def prepare(self, catalog: Catalog, policy: ConnectionPolicy) -> Prepared:
        """Return the catalog prepared under that policy; callers at the same time share the work."""
        kept = self._kept.get(catalog.connection)
        if kept is None or kept.whole is not catalog or kept.policy != policy or _is_lost(kept.prepared):
            work = asyncio.ensure_future(asyncio.to_thread(_prepare, catalog, policy))
            kept = self._kept[catalog.connection] = _Kept(catalog, policy, work)
            while len(self._kept) > self._kept_max:
                self._kept.popitem(last=False)
        self._kept.move_to_end(catalog.connection)
        # One cancelled query must not take the work from the others.
        return await asyncio.shield(kept.prepared)


def visible(catalog: Catalog, policy: ConnectionPolicy) -> Catalog:
    """Return the catalog without the tables and columns that the policy keeps from everybody."""
    if policy.tables_allowed is None and not policy.columns_denied:
        return catalog
    allowed = None if policy.tables_allowed is None else {name.lower() for name in policy.tables_allowed}
    denied = {table.lower(): {name.lower() for name in columns} for table, columns in policy.columns_denied.items()}
    tables = [
        _without(table, denied.get(table.name.lower(), set()))
        for table in catalog.tables
        if allowed is None
        or table.name.lower() in allowed
        or f"{table.schema_name or ''}.{table.name}".lower() in allowed
    ]
    values = _fields(catalog)
    values["tables"] = tuple(tables)
    return Catalog(**values)


def _without(table: Table, denied: Set[str]) -> Table:
    if not denied:
        return table

    def stays(columns: tuple[str, ...]) -> bool:
        return not any(each.lower() in denied for each in columns)

    changes: dict[str, Any] = {
        "columns": tuple(each for each in table.columns if each.name.lower() not in denied),
        "primary_key": table.primary_key if stays(table.primary_key) else (),
        "foreign_keys": tuple(each for each in table.foreign_keys if stays(each.columns)),
        "unique_keys": tuple(each for each in table.unique_keys if stays(each)),
    }
    return Table(**{**_fields(table), **changes})


def _fields(value: BaseModel) -> dict[str, Any]:
    # Not model_copy: it would take along what the value has cached about its old self.
    return {name: getattr(value, name) for name in type(value).model_fields}


def _prepare(catalog: Catalog, policy: ConnectionPolicy) -> Prepared:
    seen = visible(catalog, policy)
    _ = seen.fingerprint  # computed here, in the thread, and kept by the catalog
    prepared = Prepared(seen, LinkIndex(seen, words=load_link_words()))
    if len(seen.tables) >= TABLES_FROZEN_MIN:
        # A large catalog lives long, and a collection that walks through it stops every query for a third of a second.
        gc.collect()
        gc.freeze()
    return prepared


def _is_lost(work: asyncio.Future[Prepared]) -> bool:
    return work.done() and (work.cancelled() or work.exception() is not None)
