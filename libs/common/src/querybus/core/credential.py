"""Who may come in: a credential carries tenant, user, audience and connections; a request never does.

A key's text is `qb.<tenant>.<credential>.<secret>`; only its SHA-256 is kept, compared in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from querybus.core.envelope import Audience
from querybus.core.options import OptionCaps
from querybus.core.subjects import is_token

KEY_LENGTH_MAX = 300
Role = Literal["member", "owner"]
TOKEN_CREDENTIAL = "oidc"  # noqa: S105 - a name, no secret
"""The name of the credential that a token of the identity provider makes; it stands in no registry."""


class Credential(BaseModel):
    """One credential as the gateway's registry keeps it."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="allow")

    name: str
    tenant: str
    user: str
    audience: Audience = "business"
    connections: tuple[str, ...] | None = Field(default=None, description="None: every connection")
    key_sha256: str = Field(default="", description="hex; empty: lets nobody in")
    caps: OptionCaps = OptionCaps()
    expires_at: int | None = Field(
        default=None, description="of a caller with a short-lived token: until when, in ms since the epoch"
    )
    valid_until: int | None = Field(
        default=None,
        description="of a key: the end, in ms since the epoch, from which on it is as if revoked; null: none",
    )
    is_trusted_proxy: bool = Field(default=False, description="whose header of the person it asks for is believed")
    role: Role = Field(default="member", description="an `owner` sees what the tenant's people asked, and makes keys")
    may_share_boards: bool = Field(default=False, description="whether its boards may be opened by the tenant's others")
    made_by: str = Field(default="", description="the owner who made it; empty: made at the command line")
    group: str = Field(
        default="", exclude_if=lambda value: not value, description="whose limits hold besides its own; empty: none"
    )

    @property
    def is_narrowed(self) -> bool:
        """Whether it may read less than all that its user asked, so that no subscription by user is for it."""
        return self.connections is not None or self.caps.only_verified_always

    @property
    def may_teach(self) -> bool:
        """Whether it decides what counts as verified; a key for verified questions alone would free itself by that."""
        return self.audience == "analyst" and not self.caps.only_verified_always

    @property
    def is_owner(self) -> bool:
        """Whether it may do an owner's work, which shows statements and names."""
        return self.role == "owner" and self.may_teach

    @property
    def shares_boards(self) -> bool:
        """Whether others of its tenant may be let open its boards."""
        return self.may_share_boards or self.is_owner

    @property
    def ends_at(self) -> int | None:
        """When it stops to let anybody in, in ms since the epoch: by its token's end or by its key's."""
        ends = [end for end in (self.expires_at, self.valid_until) if end is not None]
        return min(ends, default=None)

    def may_use(self, connection: str) -> bool:
        """Return whether it may ask a connection and read what came from there; what has no connection is everybody's."""
        return self.connections is None or not connection or connection in self.connections

    def of_person(self, user: str) -> Credential:
        """Return it as used for a person; what it may do as itself it may not do in the name of somebody else."""
        if user == self.user:
            return self
        return self.model_copy(update={"user": user, "role": "member", "may_share_boards": False})


class Group(BaseModel):
    """Limits of the credentials that name the group. They only narrow; what is left out narrows nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    connections: tuple[str, ...] | None = None
    rows_max: int | None = Field(default=None, ge=1)
    deadline_seconds: float | None = Field(default=None, gt=0)
    only_verified: bool = False
    tokens_per_day_user: int | None = Field(default=None, ge=1, description="of models, for each of its users")

    def narrow(self, credential: Credential) -> Credential:
        """Return the credential with the narrower of each limit."""
        caps, own = credential.caps, credential.connections
        connections = own
        if self.connections is not None:
            connections = tuple(name for name in self.connections if own is None or name in own)
        narrowed = {
            "rows_max": min(caps.rows_max, self.rows_max or caps.rows_max),
            "deadline_seconds": min(caps.deadline_seconds, self.deadline_seconds or caps.deadline_seconds),
            "only_verified_always": caps.only_verified_always or self.only_verified,
        }
        return credential.model_copy(update={"connections": connections, "caps": caps.model_copy(update=narrowed)})


def narrowed_by_group(groups: Mapping[str, Group], credential: Credential) -> Credential | None:
    """Return the credential under its group's limits; None where it names a group that nobody has set up."""
    if not credential.group:
        return credential
    group = groups.get(credential.group)
    return None if group is None else group.narrow(credential)


@dataclass(frozen=True, slots=True)
class KeyName:
    """The public part of a key: whose record it is."""

    tenant: str
    credential: str


def key_text(tenant: str, credential: str, secret: str) -> str:
    """Return the text of a key; tenant and credential are subject tokens."""
    return f"qb.{tenant}.{credential}.{secret}"


def key_name(key: str) -> KeyName | None:
    """Return whose key this claims to be, or None for anything that is not a key."""
    if len(key) > KEY_LENGTH_MAX:
        return None
    parts = key.split(".")
    if len(parts) != 4 or parts[0] != "qb" or not (is_token(parts[1]) and is_token(parts[2]) and parts[3]):
        return None
    return KeyName(parts[1], parts[2])


def end_after(days: int, now_ms: int) -> int:
    """Return when a key ends that is made now for so many days, in ms since the epoch."""
    return now_ms + days * 86_400_000


def key_hash(key: str) -> str:
    """Return what is stored of a key: 64 hex digits."""
    return hashlib.sha256(key.encode()).hexdigest()


def key_fits(key: str, credential: Credential) -> bool:
    """Return whether the key is this credential's; takes the same time whatever differs."""
    return bool(credential.key_sha256) and hmac.compare_digest(key_hash(key), credential.key_sha256)
