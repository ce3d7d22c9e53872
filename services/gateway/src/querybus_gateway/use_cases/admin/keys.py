"""Keys at the administration: of the owner's tenant, for connections of the owner's, never for owners or trusted proxies.

Those two are made at the command line only, so that a page that somebody left open cannot make what is more than a reader.
A key is shown once; what is kept of it is its hash.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from typing import Any, Final, Protocol

from pydantic import BaseModel, ConfigDict, Field

from querybus.bus.log.publish import BusTrouble
from querybus.core.credential import Credential, end_after, key_hash, key_text
from querybus.core.envelope import Audience
from querybus.core.ids import is_id
from querybus.core.options import OptionCaps
from querybus.core.stored.audit import AuditKind
from querybus.core.subjects import is_token
from querybus.ops.clock import Clock
from querybus.ops.log import get_log
from querybus_gateway.ports import Audit
from querybus_gateway.problems import FieldError, Problem, ProblemCode
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.admin.asked import NOT_OWNER, TROUBLE, KnownNames

SECRET_BYTES: Final = 32
KEYS_MAX: Final = 10_000
"""Credentials of a tenant that the quality adds to."""

_log = get_log(__name__)


class KeyRequest(BaseModel):
    """A key to make."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, max_length=64, description="a-z, 0-9 and '-'")
    user: str = Field(min_length=1, max_length=200, description="who calls with it")
    audience: Audience = "business"
    connections: tuple[str, ...] | None = Field(
        default=None, max_length=200, description="left out: all of the owner's"
    )
    may_share_boards: bool = False
    rows_max: int | None = Field(default=None, ge=1, description="rows of an answer, lower than the server's")
    deadline_seconds: float | None = Field(default=None, gt=0, description="of a question, lower than the server's")
    only_verified: bool = Field(default=False, description="only verified questions and definitions are answered")
    group: str = Field(
        default="", max_length=200, description="of QUERYBUS_GROUPS, whose limits hold; left out: the owner's"
    )
    days: int | None = Field(default=None, ge=1, le=3_650, description="after which the key ends; left out: no end")


class Registry(Protocol):
    """The credentials. Raises BusTrouble."""

    async def get(self, tenant: str, credential: str) -> Credential | None: ...

    async def all(self) -> tuple[Credential, ...]: ...

    async def put(self, credential: Credential) -> None: ...

    async def remove(self, tenant: str, credential: str) -> bool: ...


class Keys:
    """The keys of the owner's tenant."""

    def __init__(
        self, registry: Registry, connections: KnownNames, *, clock: Clock, audit: Audit, groups: Collection[str] = ()
    ) -> None:
        self._groups = groups
        self._registry = registry
        self._connections = connections
        self._clock = clock
        self._audit = audit

    async def listed(self, credential: Credential) -> Json | Problem:
        """Return `{keys}`, by name."""
        if not credential.is_owner:
            return NOT_OWNER
        try:
            known = await self._registry.all()
        except BusTrouble:
            return TROUBLE
        own = sorted((item for item in known if item.tenant == credential.tenant), key=lambda item: item.name)
        return {"keys": [_view(item, credential) for item in own]}

    async def make(self, credential: Credential, wanted: KeyRequest) -> Json | Problem:
        """Make a key: `{key, ...}` as `listed` has it; the key itself this once."""
        if not credential.is_owner:
            return NOT_OWNER
        if not is_token(wanted.name) or is_id(wanted.name):
            return _fault("/name", "may have a-z, 0-9 and '-' only, and is no id of a query")
        if wanted.group and wanted.group not in self._groups:
            there = ", ".join(sorted(self._groups)) or "none"
            return _fault("/group", f"there is no group {wanted.group[:80]} in QUERYBUS_GROUPS; there are: {there}")
        try:
            names = await self._connections.names(credential.tenant)
            if fault := _connections_fault(wanted, credential, names):
                return _fault("/connections", fault)
            known = await self._registry.all()
            if any((item.tenant, item.name) == (credential.tenant, wanted.name) for item in known):
                return _fault("/name", "there is a key of that name already: revoke it first, or choose another")
            if sum(item.tenant == credential.tenant for item in known) >= KEYS_MAX:
                return Problem(ProblemCode.TOO_LARGE, f"a tenant has at most {KEYS_MAX} keys")
            key = key_text(credential.tenant, wanted.name, secrets.token_urlsafe(SECRET_BYTES))
            lower: dict[str, Any] = {
                "rows_max": wanted.rows_max,
                "deadline_seconds": wanted.deadline_seconds,
                "only_verified_always": wanted.only_verified or None,
            }
            caps = credential.caps.model_copy(update={name: most for name, most in lower.items() if most is not None})
            made = Credential(
                name=wanted.name,
                tenant=credential.tenant,
                user=wanted.user,
                audience=wanted.audience,
                connections=wanted.connections if wanted.connections is not None else credential.connections,
                key_sha256=key_hash(key),
                caps=_lowest(caps, credential.caps),
                may_share_boards=wanted.may_share_boards,
                made_by=credential.user,
                group=wanted.group or credential.group,
                valid_until=None if wanted.days is None else end_after(wanted.days, self._clock()),
            )
            await self._audit.record(AuditKind.KEY_MADE, credential, about=_in_audit(made))
            await self._registry.put(made)
        except BusTrouble:
            return TROUBLE
        # An owner's key for somebody else sees what that person's filters show: that it was made stays on record.
        _log.info("keys.made", tenant=made.tenant, credential=made.name, by=credential.name, user=made.user)
        return _view(made, credential) | {"key": key}

    async def revoke(self, credential: Credential, name: str) -> Json | Problem:
        """Let a key in no more: `{name}`. The one that is calling cannot revoke itself."""
        if not credential.is_owner:
            return NOT_OWNER
        if name == credential.name:
            return Problem(ProblemCode.INVALID, "this is the key that you came in with: revoke it with another")
        try:
            known = await self._registry.all()
            found = next((item for item in known if (item.tenant, item.name) == (credential.tenant, name)), None)
            if found is None:
                return Problem(ProblemCode.NOT_FOUND, "there is no such key")
            await self._audit.record(AuditKind.KEY_REVOKED, credential, about=_in_audit(found))
            await self._registry.remove(credential.tenant, name)
        except BusTrouble:
            return TROUBLE
        _log.info("keys.revoked", tenant=credential.tenant, credential=name, by=credential.name)
        return {"name": name}


def _in_audit(made: Credential) -> str:
    return f"{made.name} of {made.user}"


def _lowest(wanted: OptionCaps, most: OptionCaps) -> OptionCaps:
    return wanted.model_copy(
        update={
            "rows_max": min(wanted.rows_max, most.rows_max),
            "deadline_seconds": min(wanted.deadline_seconds, most.deadline_seconds),
        }
    )


def _connections_fault(wanted: KeyRequest, credential: Credential, names: Sequence[str]) -> str:
    own = set(names) if credential.connections is None else set(names) & set(credential.connections)
    unknown = [name for name in wanted.connections or () if name not in own]
    if not unknown:
        return ""
    there = ", ".join(sorted(own)) or "none"
    return f"there is no connection {unknown[0][:80]}; there are: {there}"


def _fault(pointer: str, message: str) -> Problem:
    return Problem(ProblemCode.INVALID, f"{pointer}: {message}", (FieldError(pointer, message),))


def _view(item: Credential, caller: Credential) -> Json:
    return {
        "name": item.name,
        "user": item.user,
        "audience": item.audience,
        "connections": None if item.connections is None else list(item.connections),
        "role": item.role,
        "is_trusted_proxy": item.is_trusted_proxy,
        "may_share_boards": item.may_share_boards,
        "made_by": item.made_by,
        "valid_until": item.valid_until,
        "rows_max": item.caps.rows_max,
        "deadline_seconds_max": item.caps.deadline_seconds,
        "only_verified": item.caps.only_verified_always,
        "has_key": bool(item.key_sha256),
        "group": item.group,
        "is_own": item.name == caller.name,
    }
