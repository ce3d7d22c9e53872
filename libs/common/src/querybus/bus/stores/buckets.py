"""The buckets as stores of our own values: catalogs, connections, credentials, and what has begun to run.

A store holds a connection's rights, no more: one that may only read fails with BusTrouble when it writes. Keys are
subject tokens, so no name from outside can widen one. What follows changes receives a write as it is published, which is
a notification and no fact: the value itself is always read from the stream, and trust in a cached one ends by itself.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from pydantic import BaseModel

from querybus.bus.connection import Connected
from querybus.bus.log.publish import BusTrouble
from querybus.bus.log.stream_reads import all_below, last, store
from querybus.bus.stores.catalogs import EXPECTED, OPERATION, ValueT, parsed, subject_of
from querybus.bus.stores.trust import Watch
from querybus.core.credential import Credential, Group, narrowed_by_group
from querybus.core.policy import Connection
from querybus.core.subjects import token
from querybus.core.topology import CONNECTIONS, CREDENTIALS, LIMITS, WRITES
from querybus.ops.clock import Clock, system_clock

CREDENTIAL_TRUST_SECONDS: Final = 5.0
_ENDED: Final = b"ended"


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
        await store(self._holder.connection, subject_of(CONNECTIONS, token(name)), b"", {OPERATION: "DEL"})


class CredentialStore:
    """The gateway's registry of hashed keys; no other service may read it.

    `follow` as for catalogs; a credential that was taken away is then known as soon as that is received, and after
    CREDENTIAL_TRUST_SECONDS at the latest. One whose end has come is not there any more for whoever asks for it by name.
    """

    def __init__(
        self,
        holder: Connected,
        *,
        follow: bool = False,
        clock: Clock = system_clock,
        groups: Mapping[str, Group] | None = None,
    ) -> None:
        """`groups` narrow the credentials that are asked for by name; one of an unknown group is not there."""
        self.name = "credentials"
        self._groups = groups
        self._clock = clock
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
        """Return the credential, or None where there is none or its end has come; raises BusTrouble."""
        result = await self._known(tenant, credential)
        if result is None or 0 < (result.valid_until or 0) <= self._clock():
            return None
        return result if self._groups is None else narrowed_by_group(self._groups, result)

    async def _known(self, tenant: str, credential: str) -> Credential | None:
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
        if await self._known(tenant, credential) is None:
            return False
        subject = subject_of(CREDENTIALS, f"{token(tenant)}.{token(credential)}")
        await store(self._holder.connection, subject, b"", {OPERATION: "DEL"})
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
        subject = subject_of(CREDENTIALS, f"secret.{token(name)}.1")
        if (kept := await last(self._holder.connection, f"KV_{CREDENTIALS}", subject)) is None:
            if await store(self._holder.connection, subject, made, {EXPECTED: "0"}) is not None:
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
        kept = await last(self._holder.connection, f"KV_{LIMITS}", subject_of(LIMITS, key))
        return (b"", 0) if kept is None else (kept.data, kept.sequence)

    async def write(self, key: str, value: bytes, revision: int, *, once: str = "") -> bool:
        """Replace the value of that revision; False if it has another by now; raises BusTrouble.

        `once` names a change that is made only once: a second one within the stream's dedup window changes nothing.
        """
        headers = {EXPECTED: str(revision)}
        if once:
            headers["Nats-Msg-Id"] = f"{key}:{once}"
        return await store(self._holder.connection, subject_of(LIMITS, key), value, headers) is not None


class WriteStore:
    """Which queries have begun to write to a database: once begun, never again."""

    def __init__(self, holder: Connected) -> None:
        self._holder = holder

    async def create(self, query: str) -> bool:
        """Return True for the first caller of this query only; raises BusTrouble if that is not known.

        After BusTrouble the key may exist: the write must then not run, and a later call says False.
        """
        subject = subject_of(WRITES, token(query))
        return await store(self._holder.connection, subject, b"{}", {EXPECTED: "0"}) is not None


class RunStore:
    """Which process runs a statement whose message had been delivered before. One store for each process.

    The count of deliveries says less: a cluster that chooses a leader counts some that reached nobody.
    """

    def __init__(self, holder: Connected) -> None:
        self._holder = holder
        self._process = secrets.token_hex(8).encode()

    async def begin(self, query: str, sequence: int) -> bool:
        """Take the statement of that message; False if another process has begun and not ended it; raises BusTrouble."""
        subject = _run_subject(query, sequence)
        kept = await last(self._holder.connection, f"KV_{WRITES}", subject)
        if kept is not None and kept.data not in (_ENDED, self._process):
            return False
        headers = {EXPECTED: str(kept.sequence if kept else 0)}
        if await store(self._holder.connection, subject, self._process, headers) is None:
            raise BusTrouble("another process has just begun the statement, or what was read is out of date")
        return True

    async def end(self, query: str, sequence: int) -> None:
        """Say that the statement is not running any more, whatever became of it; without the bus nothing is said."""
        with suppress(BusTrouble):
            await store(self._holder.connection, _run_subject(query, sequence), _ENDED)


def _run_subject(query: str, sequence: int) -> str:
    return subject_of(WRITES, f"{token(query)}.{sequence}")


async def _get(holder: Connected, bucket: str, key: str, model: type[ValueT]) -> ValueT | None:
    kept = await last(holder.connection, f"KV_{bucket}", subject_of(bucket, key))
    return None if kept is None or OPERATION in kept.headers else parsed(model, kept)


async def _values(holder: Connected, bucket: str, model: type[ValueT], keys: str = ">") -> list[ValueT]:
    result = await all_below(holder.connection, f"KV_{bucket}", subject_of(bucket, keys))
    return [parsed(model, kept) for kept in result if OPERATION not in kept.headers]


async def _put_value(holder: Connected, bucket: str, key: str, value: BaseModel) -> None:
    await store(holder.connection, subject_of(bucket, key), value.model_dump_json().encode())
