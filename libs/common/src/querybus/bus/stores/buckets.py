"""The buckets as stores of our own values: catalogs, connections, credentials, and the writes that have begun.

A store holds a connection's rights, no more: one that may only read fails with BusTrouble when it writes. Keys are
subject tokens, so no name from outside can widen one. What follows changes receives a write as it is published, which is
a notification and no fact: the value itself is always read from the stream, and trust in a cached one ends by itself.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from querybus.bus.connection import Connected
from querybus.bus.log.publish import BusTrouble, TooLarge
from querybus.bus.log.stream_reads import Kept, all_below, last, last_of_each, store
from querybus.bus.stores.trust import Watch
from querybus.core.catalog import Catalog, Table
from querybus.core.credential import Credential
from querybus.core.policy import Connection
from querybus.core.subjects import token
from querybus.core.topology import CATALOG, CONNECTIONS, CREDENTIALS, LIMITS, WRITES

TABLE_BYTES_MAX: Final = 900 * 1_024
"""Of a table's JSON; below the bucket's 1 MiB for a value with its headers."""

CATALOGS_CACHED_MAX: Final = 32
CREDENTIAL_TRUST_SECONDS: Final = 5.0
IN_FLIGHT_MAX: Final = 64
TRIES_MAX: Final = 5
TOMBSTONE_TTL: Final = "1h"

_TABLES_PER_LIST: Final = 20_000
_EXPECTED: Final = "Nats-Expected-Last-Subject-Sequence"
_OPERATION: Final = "KV-Operation"

_ValueT = TypeVar("_ValueT", bound=BaseModel)
_ItemT = TypeVar("_ItemT")


class _Head(BaseModel):
    """Which catalog a connection has now. `previous` is still kept, for those who are reading it."""

    model_config = ConfigDict(frozen=True)

    fingerprint: str
    previous: str = ""


class _TableList(BaseModel):
    """One part of a manifest: the catalog without its tables (in the first part), and its tables in order."""

    model_config = ConfigDict(frozen=True)

    parts: int
    catalog: str = ""
    digests: tuple[str, ...] = ()


@dataclass(slots=True)
class _Cached:
    catalog: Catalog
    tables: dict[str, Table]


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
        won = await store(connection, _subject(CATALOG, f"{name}.head"), value, {_EXPECTED: str(revision)})
        if won is None:
            return False
        await _all_of(list(revisions.values()), self._remove)
        return True

    async def _head(self, name: str) -> tuple[_Head, int] | None:
        kept = await last(self._holder.connection, f"KV_{CATALOG}", _subject(CATALOG, f"{name}.head"))
        if kept is None or _OPERATION in kept.headers:
            return None
        return _parsed(_Head, kept), kept.sequence

    async def _manifest(self, name: str, fingerprint: str) -> _Manifest | None:
        """Return the manifest, or None if a part of it is not there."""
        if not fingerprint:
            return None
        result = _Manifest()
        number, parts = 1, 1
        while number <= parts:
            key = f"{name}.list.{fingerprint}.{number}"
            kept = await last(self._holder.connection, f"KV_{CATALOG}", _subject(CATALOG, key))
            if kept is None or _OPERATION in kept.headers:
                return None
            part = _parsed(_TableList, kept)
            parts = part.parts
            result.catalog = result.catalog or part.catalog
            result.tables += tuple(f"{name}.table.{digest}" for digest in part.digests)
            result.keys.append(key)
            number += 1
        return result

    async def _load(self, name: str, fingerprint: str, known: dict[str, Table]) -> _Cached | None:
        manifest = await self._manifest(name, fingerprint)
        if manifest is None:
            return None
        tables = {key: known[key] for key in manifest.tables if key in known}
        missing = await self._many([key for key in manifest.tables if key not in known])
        if any(_OPERATION in kept.headers for kept in missing.values()):
            return None
        # 10,000 tables take seconds to parse; heartbeats go on meanwhile.
        tables |= await asyncio.to_thread(lambda: {key: _parsed(Table, kept) for key, kept in missing.items()})
        if len(tables) != len(set(manifest.tables)):
            return None
        try:
            catalog = Catalog.model_validate_json(manifest.catalog)
        except ValidationError as error:
            raise BusTrouble(f"the catalog of {name} cannot be read: {error.error_count()} errors") from error
        catalog = _changed(catalog, tables=tuple(tables[key] for key in manifest.tables))
        # It is known; to compute it again would take as long as to read the catalog.
        vars(catalog)["fingerprint"] = fingerprint
        return _Cached(catalog, tables)

    async def _many(self, keys: Sequence[str]) -> dict[str, Kept]:
        subjects = {_subject(CATALOG, key): key for key in keys}
        result = await last_of_each(self._holder.connection, f"KV_{CATALOG}", list(subjects))
        return {subjects[subject]: kept for subject, kept in result.items()}

    async def _put(self, key: str, value: bytes) -> None:
        await store(self._holder.connection, _subject(CATALOG, key), value)

    async def _remove(self, kept: Kept) -> None:
        headers = {
            _OPERATION: "PURGE",
            "Nats-Rollup": "sub",
            "Nats-TTL": TOMBSTONE_TTL,
            _EXPECTED: str(kept.sequence),
        }
        await store(self._holder.connection, kept.subject, b"", headers)

    def _remember(self, name: str, loaded: _Cached) -> None:
        self._cached[name] = loaded
        self._cached.move_to_end(name)
        while len(self._cached) > CATALOGS_CACHED_MAX:
            self._cached.popitem(last=False)


class ConnectionStore:
    """What every service may know of a database: name, dialect, policy. `follow` as for catalogs."""

    def __init__(self, holder: Connected, *, follow: bool = False) -> None:
        self.name = "connections"
        self._holder = holder
        self._follow = follow
        self._watch = Watch(holder, CONNECTIONS, "*")
        self._cached: dict[str, Connection | None] = {}

    async def start(self) -> None:
        """Begin to follow changes, if this store does."""
        if self._follow:
            await self._watch.start()

    async def drain(self) -> None:
        await self._watch.drain()

    async def ping(self) -> str | None:
        return None

    async def get(self, name: str) -> Connection | None:
        """Return the connection of that name, or None; raises BusTrouble."""
        key = token(name)
        if key in self._cached and self._watch.trusts(key):
            return self._cached[key]
        started = self._watch.now()
        result = await _get(self._holder, CONNECTIONS, key, Connection)
        if self._follow and result is not None:
            # Only what exists is kept, so names made up outside take no memory.
            self._cached[key] = result
            self._watch.checked(key, started)
        else:
            self._cached.pop(key, None)
        return result

    async def all(self) -> tuple[Connection, ...]:
        """Return every connection, by name; raises BusTrouble."""
        result = await _values(self._holder, CONNECTIONS, Connection)
        return tuple(sorted(result, key=lambda path: path.name))

    async def write(self, connection: Connection) -> None:
        """Store the connection under its name; raises BusTrouble."""
        await _put_value(self._holder, CONNECTIONS, token(connection.name), connection)

    async def remove(self, name: str) -> None:
        """Forget the connection of that name; raises BusTrouble."""
        await store(self._holder.connection, _subject(CONNECTIONS, token(name)), b"", {_OPERATION: "DEL"})


class CredentialStore:
    """The gateway's registry of hashed keys; no other service may read it.

    `follow` as for catalogs; a credential that was taken away is then known as soon as that is received, and after
    CREDENTIAL_TRUST_SECONDS at the latest.
    """

    def __init__(self, holder: Connected, *, follow: bool = False) -> None:
        self.name = "credentials"
        self._holder = holder
        self._follow = follow
        self._watch = Watch(holder, CREDENTIALS, "*.*", trust_seconds=CREDENTIAL_TRUST_SECONDS)
        self._cached: dict[str, Credential] = {}

    async def start(self) -> None:
        """Begin to follow changes, if this store does."""
        if self._follow:
            await self._watch.start()

    async def drain(self) -> None:
        await self._watch.drain()

    async def ping(self) -> str | None:
        return None

    async def get(self, tenant: str, credential: str) -> Credential | None:
        """Return the credential, or None; raises BusTrouble."""
        key = f"{token(tenant)}.{token(credential)}"
        if key in self._cached and self._watch.trusts(key):
            return self._cached[key]
        started = self._watch.now()
        result = await _get(self._holder, CREDENTIALS, key, Credential)
        if self._follow and result is not None:
            # Only what exists is kept, so names made up outside take no memory.
            self._cached[key] = result
            self._watch.checked(key, started)
        else:
            self._cached.pop(key, None)
        return result

    async def all(self) -> tuple[Credential, ...]:
        """Return every credential, by tenant and name; raises BusTrouble."""
        result = await _values(self._holder, CREDENTIALS, Credential, keys="*.*")
        return tuple(sorted(result, key=lambda path: (path.tenant, path.name)))

    async def remove(self, tenant: str, credential: str) -> bool:
        """Remove the credential of that tenant and name; False if there is none; raises BusTrouble."""
        if await self.get(tenant, credential) is None:
            return False
        subject = _subject(CREDENTIALS, f"{token(tenant)}.{token(credential)}")
        await store(self._holder.connection, subject, b"", {_OPERATION: "DEL"})
        return True

    async def put(self, credential: Credential) -> None:
        """Store the credential, or replace the one of that tenant and name; raises BusTrouble."""
        key = f"{token(credential.tenant)}.{token(credential.name)}"
        await _put_value(self._holder, CREDENTIALS, key, credential)


class SecretStore:
    """Keys that the gateway's replicas share and nobody else can read: beside the credentials, named apart from them."""

    def __init__(self, holder: Connected) -> None:
        self._holder = holder

    async def shared(self, name: str, made: bytes) -> bytes:
        """Return the key of that name: the one that is there, else `made`, which is then kept; raises BusTrouble."""
        subject = _subject(CREDENTIALS, f"secret.{token(name)}.1")
        if (kept := await last(self._holder.connection, f"KV_{CREDENTIALS}", subject)) is None:
            if await store(self._holder.connection, subject, made, {_EXPECTED: "0"}) is not None:
                return made
            kept = await last(self._holder.connection, f"KV_{CREDENTIALS}", subject)
        if kept is None:
            raise BusTrouble(f"the key {name} was made by another and cannot be read yet")
        return kept.data


class CounterStore:
    """Small values in `querybus_limits` that replicas change by turns: each change names the revision that it replaces."""

    def __init__(self, holder: Connected) -> None:
        self._holder = holder

    async def read(self, key: str) -> tuple[bytes, int]:
        """Return a value and its revision, empty and 0 where there is none; raises BusTrouble."""
        kept = await last(self._holder.connection, f"KV_{LIMITS}", _subject(LIMITS, key))
        return (b"", 0) if kept is None else (kept.data, kept.sequence)

    async def write(self, key: str, value: bytes, revision: int, *, once: str = "") -> bool:
        """Replace the value of that revision; False if it has another by now; raises BusTrouble.

        `once` names a change that is made only once: a second one within the stream's dedup window changes nothing.
        """
        headers = {_EXPECTED: str(revision)}
        if once:
            headers["Nats-Msg-Id"] = f"{key}:{once}"
        return await store(self._holder.connection, _subject(LIMITS, key), value, headers) is not None


class WriteStore:
    """Which queries have begun to write to a database: once begun, never again."""

    def __init__(self, holder: Connected) -> None:
        self._holder = holder

    async def create(self, query: str) -> bool:
        """Return True for the first caller of this query only; raises BusTrouble if that is not known.

        After BusTrouble the key may exist: the write must then not run, and a later call says False.
        """
        subject = _subject(WRITES, token(query))
        return await store(self._holder.connection, subject, b"{}", {_EXPECTED: "0"}) is not None


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
            else _changed(column, values=column.values[:values_max], values_complete=False)
            for column in table.columns
        )
        trimmed = _changed(table, columns=columns)
        if len(trimmed.model_dump_json().encode()) <= bytes_max:
            return trimmed
    bare: dict[str, object] = {"comment": "", "display_names": {}, "synonyms": ()}
    columns = tuple(_changed(column, **bare, values=(), values_complete=False) for column in table.columns)
    trimmed = _changed(table, **bare, columns=columns)
    if len(trimmed.model_dump_json().encode()) > bytes_max:
        raise TooLarge(f"table {table.name[:80]}: {len(columns)} columns are more than a catalog can keep")
    return trimmed


def _changed(value: _ValueT, **fields: object) -> _ValueT:
    # Not model_copy: that would also copy what the old value has computed and kept of itself.
    present: dict[str, Any] = {name: getattr(value, name) for name in type(value).model_fields}
    present |= value.__pydantic_extra__ or {}
    present |= fields
    return type(value).model_construct(**present)


def _written(name: str, catalog: Catalog) -> tuple[Catalog, dict[str, bytes]]:
    """Return the catalog as it fits, its fingerprint computed, and each table's key and JSON in order."""
    fitted = _changed(catalog, tables=tuple(fitting(table) for table in catalog.tables))
    rows = {_table_key(name, data): data for data in (table.model_dump_json().encode() for table in fitted.tables)}
    _ = fitted.fingerprint
    return fitted, rows


def _table_key(name: str, data: bytes) -> str:
    return f"{name}.table.{hashlib.sha256(data).hexdigest()[:32]}"


def _lists(name: str, catalog: Catalog, tables: tuple[str, ...]) -> dict[str, bytes]:
    shown = _changed(catalog, tables=()).model_dump_json()
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


def _subject(bucket: str, key: str) -> str:
    return f"$KV.{bucket}.{key}"


def _parsed(model: type[_ValueT], kept: Kept) -> _ValueT:
    try:
        return model.model_validate_json(kept.data)
    except ValidationError as error:
        raise BusTrouble(f"{kept.subject} holds no {model.__name__}: {error.error_count()} errors") from error


async def _get(holder: Connected, bucket: str, key: str, model: type[_ValueT]) -> _ValueT | None:
    kept = await last(holder.connection, f"KV_{bucket}", _subject(bucket, key))
    return None if kept is None or _OPERATION in kept.headers else _parsed(model, kept)


async def _values(holder: Connected, bucket: str, model: type[_ValueT], keys: str = ">") -> list[_ValueT]:
    result = await all_below(holder.connection, f"KV_{bucket}", _subject(bucket, keys))
    return [_parsed(model, kept) for kept in result if _OPERATION not in kept.headers]


async def _put_value(holder: Connected, bucket: str, key: str, value: BaseModel) -> None:
    await store(holder.connection, _subject(bucket, key), value.model_dump_json().encode())


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
