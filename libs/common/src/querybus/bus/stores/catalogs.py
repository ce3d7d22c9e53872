"""The bucket of catalogs: one key per table and a head with the fingerprint, read by whoever needs a schema."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar
from weakref import WeakValueDictionary

from pydantic import BaseModel, ConfigDict, ValidationError

from querybus.bus.connection import Connected
from querybus.bus.log.publish import BusTrouble, TooLarge
from querybus.bus.log.stream_reads import Kept, last, last_of_each, store
from querybus.bus.stores.trust import Watch
from querybus.core.catalog import Catalog, Table
from querybus.core.subjects import token
from querybus.core.topology import CATALOG

TABLE_BYTES_MAX: Final = 900 * 1_024
"""Of a table's JSON; below the bucket's 1 MiB for a value with its headers."""
COLUMNS_CACHED_MAX: Final = 100_000
"""Of all catalogs that a reader keeps, about 180 MB; the one read last is kept whatever its size."""
IN_FLIGHT_MAX: Final = 64
TRIES_MAX: Final = 5
TOMBSTONE_TTL: Final = "1h"
_TABLES_PER_LIST: Final = 20_000
EXPECTED: Final = "Nats-Expected-Last-Subject-Sequence"
OPERATION: Final = "KV-Operation"


ValueT = TypeVar("ValueT", bound=BaseModel)


_ItemT = TypeVar("_ItemT")


class _Head(BaseModel):
    """Which catalog a connection has now. `previous` is still kept, for those who are reading it."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    fingerprint: str
    previous: str = ""


class _TableList(BaseModel):
    """One part of a manifest: the catalog without its tables (in the first part), and its tables in order."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    parts: int
    catalog: str = ""
    digests: tuple[str, ...] = ()


@dataclass(slots=True, weakref_slot=True)
class _Cached:
    catalog: Catalog
    tables: dict[str, Table]
    columns: int


_shared: WeakValueDictionary[tuple[str, str], _Cached] = WeakValueDictionary()
"""What some reader of this process keeps, by name and fingerprint: services that share a process hold a catalog once."""


@dataclass(slots=True)
class _Manifest:
    catalog: str = ""
    tables: tuple[str, ...] = ()
    keys: list[str] = field(default_factory=list[str])


class CatalogStore:
    """Catalogs by connection: one key per table, named by its content, and a manifest per fingerprint.

    A reader sees one whole catalog or the one before, never a mixture; after a change it reads only the tables that
    changed. `follow` (needs the right to subscribe to the bucket's heads) spares it the look at the head each time.
    """

    def __init__(self, holder: Connected, *, follow: bool = False) -> None:
        self.name = "catalog"
        self._holder = holder
        self._follow = follow
        self._watch = Watch(holder, CATALOG, "*.head")
        self._cached: OrderedDict[str, _Cached] = OrderedDict()
        self._locks: dict[str, asyncio.Lock] = {}

    async def start(self) -> None:
        """Begin to follow changes, if this store does."""
        if self._follow:
            await self._watch.start()

    async def drain(self) -> None:
        await self._watch.drain()

    async def ping(self) -> str | None:
        return None

    async def read(self, connection: str) -> Catalog | None:
        """Return the connection's catalog, or None if the executor has written none; raises BusTrouble."""
        name = token(connection)
        head_key = f"{name}.head"
        cached = self._cached.get(name)
        if cached is not None and self._watch.trusts(head_key):
            return cached.catalog
        async with self._locks.setdefault(name, asyncio.Lock()):
            for _ in range(TRIES_MAX):
                cached = self._cached.get(name)
                if cached is not None and self._watch.trusts(head_key):
                    return cached.catalog
                started = self._watch.now()
                result = await self._head(name)
                if result is None:
                    self._cached.pop(name, None)
                    return None
                fingerprint = result[0].fingerprint
                if cached is None or cached.catalog.fingerprint != fingerprint:
                    loaded = await self._load(name, fingerprint, {} if cached is None else cached.tables)
                    if loaded is None:
                        continue  # written twice while it was read
                    cached = loaded
                    self._remember(name, loaded)
                self._watch.checked(head_key, started)
                return cached.catalog
        raise BusTrouble(f"the catalog of {connection} changes faster than it can be read")

    async def write(self, catalog: Catalog) -> str:
        """Store the catalog and return the fingerprint that it has then; writing the same again does nothing.

        Tables above TABLE_BYTES_MAX lose values, then comments. Only one writer wins at a time; the others try again.
        Raises BusTrouble, and TooLarge for a table that does not fit even so.
        """
        name = token(catalog.connection)
        catalog, rows = await asyncio.to_thread(_written, name, catalog)
        fingerprint = catalog.fingerprint
        for _ in range(TRIES_MAX):
            result = await self._head(name)
            if result is not None and result[0].fingerprint == fingerprint:
                return fingerprint
            if await self._replace(name, catalog, rows, result):
                return fingerprint
        raise BusTrouble(f"the catalog of {catalog.connection} is being written by too many at once")

    async def _replace(
        self, name: str, catalog: Catalog, rows: dict[str, bytes], found: tuple[_Head, int] | None
    ) -> bool:
        connection = self._holder.connection
        head, revision = found or (_Head(fingerprint=""), 0)
        current = await self._manifest(name, head.fingerprint) or _Manifest()
        outdated = await self._manifest(name, head.previous) or _Manifest()
        lists = _lists(name, catalog, tuple(rows))
        kept = {*rows, *lists, *current.tables, *current.keys}
        obsolete = [key for key in (*outdated.tables, *outdated.keys) if key not in kept]
        # Read before the head changes, so that what another writer puts back later is not removed.
        revisions = await self._many(obsolete)
        await _all_of([key for key in rows if key not in current.tables], lambda key: self._put(key, rows[key]))
        await _all_of(lists, lambda key: self._put(key, lists[key]))
        value = _Head(fingerprint=catalog.fingerprint, previous=head.fingerprint).model_dump_json().encode()
        won = await store(connection, subject_of(CATALOG, f"{name}.head"), value, {EXPECTED: str(revision)})
        if won is None:
            return False
        await _all_of(list(revisions.values()), self._remove)
        return True

    async def _head(self, name: str) -> tuple[_Head, int] | None:
        kept = await last(self._holder.connection, f"KV_{CATALOG}", subject_of(CATALOG, f"{name}.head"))
        if kept is None or OPERATION in kept.headers:
            return None
        return parsed(_Head, kept), kept.sequence

    async def _manifest(self, name: str, fingerprint: str) -> _Manifest | None:
        """Return the manifest, or None if a part of it is not there."""
        if not fingerprint:
            return None
        result = _Manifest()
        number, parts = 1, 1
        while number <= parts:
            key = f"{name}.list.{fingerprint}.{number}"
            kept = await last(self._holder.connection, f"KV_{CATALOG}", subject_of(CATALOG, key))
            if kept is None or OPERATION in kept.headers:
                return None
            part = parsed(_TableList, kept)
            parts = part.parts
            result.catalog = result.catalog or part.catalog
            result.tables += tuple(f"{name}.table.{digest}" for digest in part.digests)
            result.keys.append(key)
            number += 1
        return result

    async def _load(self, name: str, fingerprint: str, known: dict[str, Table]) -> _Cached | None:
        if (shared := _shared.get((name, fingerprint))) is not None:
            return shared
        manifest = await self._manifest(name, fingerprint)
        if manifest is None:
            return None
        tables = {key: known[key] for key in manifest.tables if key in known}
        missing = await self._many([key for key in manifest.tables if key not in known])
        if any(OPERATION in kept.headers for kept in missing.values()):
            return None
        # 10,000 tables take seconds to parse; heartbeats go on meanwhile.
        tables |= await asyncio.to_thread(lambda: {key: parsed(Table, kept) for key, kept in missing.items()})
        if len(tables) != len(set(manifest.tables)):
            return None
        try:
            catalog = Catalog.model_validate_json(manifest.catalog)
        except ValidationError as error:
            raise BusTrouble(f"the catalog of {name} cannot be read: {error.error_count()} errors") from error
        catalog = catalog.model_copy(update={"tables": tuple(tables[key] for key in manifest.tables)})
        # It is known; to compute it again would take as long as to read the catalog.
        vars(catalog)["fingerprint"] = fingerprint
        loaded = _Cached(catalog, tables, sum(len(table.columns) for table in catalog.tables))
        return _shared.setdefault((name, fingerprint), loaded)

    async def _many(self, keys: Sequence[str]) -> dict[str, Kept]:
        subjects = {subject_of(CATALOG, key): key for key in keys}
        result = await last_of_each(self._holder.connection, f"KV_{CATALOG}", list(subjects))
        return {subjects[subject]: kept for subject, kept in result.items()}

    async def _put(self, key: str, value: bytes) -> None:
        await store(self._holder.connection, subject_of(CATALOG, key), value)

    async def _remove(self, kept: Kept) -> None:
        headers = {
            OPERATION: "PURGE",
            "Nats-Rollup": "sub",
            "Nats-TTL": TOMBSTONE_TTL,
            EXPECTED: str(kept.sequence),
        }
        await store(self._holder.connection, kept.subject, b"", headers)

    def _remember(self, name: str, loaded: _Cached) -> None:
        self._cached[name] = loaded
        self._cached.move_to_end(name)
        while len(self._cached) > 1 and sum(item.columns for item in self._cached.values()) > COLUMNS_CACHED_MAX:
            self._cached.popitem(last=False)


def fitting(table: Table, bytes_max: int = TABLE_BYTES_MAX) -> Table:
    """Return the table such that its JSON fits: rare values go first, then all texts; TooLarge if even that fails.

    >>> from querybus.core.catalog import Column
    >>> big = Table(name="t", columns=(Column(name="c", type="text", values=("x" * 80,) * 400),))
    >>> len(fitting(big, 10_000).columns[0].values)
    100
    """
    size = len(table.model_dump_json().encode())
    if size <= bytes_max:
        return table
    for values_max in (250, 100, 20, 5, 0):
        columns = tuple(
            column
            if len(column.values) <= values_max
            else column.model_copy(update={"values": column.values[:values_max], "values_complete": False})
            for column in table.columns
        )
        trimmed = table.model_copy(update={"columns": columns})
        if len(trimmed.model_dump_json().encode()) <= bytes_max:
            return trimmed
    bare: dict[str, object] = {"comment": "", "display_names": {}, "synonyms": ()}
    columns = tuple(
        column.model_copy(update={**bare, "values": (), "values_complete": False}) for column in table.columns
    )
    trimmed = table.model_copy(update={**bare, "columns": columns})
    if len(trimmed.model_dump_json().encode()) > bytes_max:
        raise TooLarge(f"table {table.name[:80]}: {len(columns)} columns are more than a catalog can keep")
    return trimmed


def _written(name: str, catalog: Catalog) -> tuple[Catalog, dict[str, bytes]]:
    """Return the catalog as it fits, its fingerprint computed, and each table's key and JSON in order."""
    fitted = catalog.model_copy(update={"tables": tuple(fitting(table) for table in catalog.tables)})
    rows = {_table_key(name, data): data for data in (table.model_dump_json().encode() for table in fitted.tables)}
    _ = fitted.fingerprint
    return fitted, rows


def _table_key(name: str, data: bytes) -> str:
    return f"{name}.table.{hashlib.sha256(data).hexdigest()[:32]}"


def _lists(name: str, catalog: Catalog, tables: tuple[str, ...]) -> dict[str, bytes]:
    shown = catalog.model_copy(update={"tables": ()}).model_dump_json()
    starts = range(0, max(1, len(tables)), _TABLES_PER_LIST)
    return {
        f"{name}.list.{catalog.fingerprint}.{number}": _TableList(
            parts=len(starts),
            catalog=shown if number == 1 else "",
            digests=tuple(key.rpartition(".")[2] for key in tables[start : start + _TABLES_PER_LIST]),
        )
        .model_dump_json()
        .encode()
        for number, start in enumerate(starts, start=1)
    }


def subject_of(bucket: str, key: str) -> str:
    return f"$KV.{bucket}.{key}"


def parsed(model: type[ValueT], kept: Kept) -> ValueT:
    try:
        return model.model_validate_json(kept.data)
    except ValidationError as error:
        raise BusTrouble(f"{kept.subject} holds no {model.__name__}: {error.error_count()} errors") from error


async def _all_of(items: Iterable[_ItemT], work: Callable[[_ItemT], Awaitable[None]]) -> None:
    """Do the work for each item, IN_FLIGHT_MAX at a time; the first error ends it all."""
    left = iter(items)

    async def worker() -> None:
        for item in left:
            await work(item)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(IN_FLIGHT_MAX):
                group.create_task(worker())
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
