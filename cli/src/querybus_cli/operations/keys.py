"""What `querybus keys` does, as the bus user `gateway`: nobody else may read or write the registry.

A key is shown once, when it is made; what is kept of it is its hash.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

from querybus.bus.connection import BusRefused, Held, connect
from querybus.bus.log.audit import AuditLog
from querybus.bus.log.publish import BusTrouble
from querybus.bus.stores.buckets import ConnectionStore, CredentialStore
from querybus.core.credential import Credential, end_after, key_hash, key_text
from querybus.core.ids import is_id
from querybus.core.options import OptionCaps
from querybus.core.stored.audit import AuditFacts, AuditKind
from querybus.core.subjects import StageName, is_token
from querybus.ops.clock import system_clock
from querybus_cli.operations import operator
from querybus_cli.operations.operator import Place
from querybus_cli.runtime import UsageError

SECRET_BYTES: Final = 32

Json = dict[str, Any]


def place_of(url: str | None, password: str | None, store: Path) -> Place:
    """Return where the bus is, for its user `gateway`; UsageError where nothing says so."""
    return operator.place_of(url, password, store, StageName.GATEWAY)


async def _must_exist(place: Place, connection: str) -> None:
    """Raise UsageError for a connection that is none of the bus's; where none is known yet, nobody can say."""
    try:
        opened = await connect(place.url, StageName.GATEWAY, place.password)
    except BusRefused as error:
        raise UsageError(str(error)) from error
    try:
        names = [item.name for item in await ConnectionStore(Held(opened)).all()]
    except BusTrouble as error:
        raise UsageError(f"the bus did not answer: {error}") from error
    finally:
        await opened.close()
    if names and connection not in names:
        raise UsageError(f"there is no connection {connection}; there are: {', '.join(sorted(names))}")


@asynccontextmanager
async def registry(place: Place) -> AsyncGenerator[tuple[CredentialStore, AuditLog]]:
    """Give the registry of credentials and the audit; what the bus refuses becomes a UsageError."""
    try:
        connection = await connect(place.url, StageName.GATEWAY, place.password)
    except BusRefused as error:
        raise UsageError(str(error)) from error
    try:
        yield CredentialStore(Held(connection)), AuditLog(Held(connection))
    except BusTrouble as error:
        raise UsageError(f"the bus did not answer: {error}") from error
    finally:
        await connection.close()


def _facts(kind: AuditKind, tenant: str, about: str) -> AuditFacts:
    return AuditFacts(kind=kind, at=system_clock(), tenant=tenant, user="command line", about=about)


async def create(
    place: Place,
    *,
    tenant: str,
    name: str,
    user: str,
    audience: Literal["business", "analyst"],
    connections: tuple[str, ...] | None,
    replace: bool,
    is_trusted_proxy: bool = False,
    is_owner: bool = False,
    may_share_boards: bool = False,
    days: int | None = None,
    only_verified: bool = False,
    group: str = "",
) -> str:
    """Make a credential and return its key; UsageError if the name is taken, fits no subject, or an owner is no analyst."""
    if is_owner and audience != "analyst":
        raise UsageError("an owner is an analyst: add --audience analyst")
    if is_owner and only_verified:
        raise UsageError("an owner decides what counts as verified: leave out --owner or --only-verified")
    for what, text in (("tenant", tenant), ("name", name)):
        if not is_token(text):
            raise UsageError(f"the {what} {text[:80]!r} may have a-z, 0-9 and '-' only, at most 64 of them")
    if is_id(name):
        raise UsageError(f"the name {name} looks like a query's id: choose another")
    key = key_text(tenant, name, secrets.token_urlsafe(SECRET_BYTES))
    credential = Credential(
        name=name,
        tenant=tenant,
        user=user,
        audience=audience,
        connections=connections,
        key_sha256=key_hash(key),
        is_trusted_proxy=is_trusted_proxy,
        role="owner" if is_owner else "member",
        may_share_boards=may_share_boards,
        valid_until=None if days is None else end_after(days, system_clock()),
        caps=OptionCaps(only_verified_always=only_verified),
        group=group,
    )
    async with registry(place) as (known, audit):
        for connection in connections or ():
            await _must_exist(place, connection)
        if not replace and await known.get(tenant, name) is not None:
            raise UsageError(f"{tenant}.{name} is there already; --replace makes its old key void")
        await audit.record(_facts(AuditKind.KEY_MADE, tenant, f"{name} of {user}"))
        await known.put(credential)
    return key


async def listed(place: Place, tenant: str | None) -> list[Json]:
    """Return the credentials without their hashes, of one tenant or of all."""
    async with registry(place) as (known, _):
        result = await known.all()
    return [
        {
            "tenant": path.tenant,
            "name": path.name,
            "user": path.user,
            "audience": path.audience,
            "connections": None if path.connections is None else list(path.connections),
            "has_key": bool(path.key_sha256),
            "role": path.role,
            "may_share_boards": path.may_share_boards,
            "valid_until": path.valid_until,
            "only_verified": path.caps.only_verified_always,
            "group": path.group,
        }
        for path in result
        if tenant is None or path.tenant == tenant
    ]


def day_of(at_ms: int) -> str:
    """Return the day of a time since the epoch, in UTC.

    >>> day_of(86_400_000)
    '1970-01-02'
    """
    return datetime.fromtimestamp(at_ms / 1_000, UTC).date().isoformat()


async def revoke(place: Place, tenant: str, name: str) -> None:
    """Remove a credential: its key, and its calls over the bus, are refused from now on; UsageError if there is none."""
    async with registry(place) as (known, audit):
        if await known.get(tenant, name) is None:
            raise UsageError(f"there is no credential {tenant}.{name}; see `querybus keys list`")
        await audit.record(_facts(AuditKind.KEY_REVOKED, tenant, name))
        await known.remove(tenant, name)
