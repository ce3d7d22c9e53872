"""Who is calling: a key names its record, and fits it or not; there is no way in without one.

In development a key can be made at the start and written to a file that the settings name, readable by this user
only; where the API listens on loopback it is printed as well, once, when it is made. It is a key like any other:
hashed in the registry, of one tenant and one user.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Protocol

from querybus.core.credential import Credential, key_fits, key_hash, key_name, key_text
from querybus.core.ids import is_id
from querybus.core.subjects import token
from querybus.ops.clock import RandomBits
from querybus_gateway.ports import Credentials
from querybus_gateway.problems import Problem, ProblemCode

SECRET_BYTES: Final = 32
DEVELOPER: Final = "developer"
LOCAL_TENANT: Final = "local"

_NOBODY: Final = Credential(name="nobody", tenant="nobody", user="nobody", key_sha256="0" * 64)


class Registry(Credentials, Protocol):
    """The registry as whoever writes it sees it."""

    async def put(self, credential: Credential) -> None: ...


def presented_key(headers: Iterable[tuple[str, str]]) -> str | Problem | None:
    """Return the key that a request brings, by `Authorization: Bearer <key>` or `x-api-key`; a problem for two that differ.

    >>> presented_key([("authorization", "Bearer a"), ("x-api-key", "a")])
    'a'
    """
    keys: dict[str, None] = {}
    for name, text in headers:
        scheme, _, value = text.partition(" ")
        if name.lower() == "authorization" and scheme.lower() == "bearer" and value.strip():
            keys[value.strip()] = None
        elif name.lower() == "x-api-key" and text:
            keys[text] = None
    if len(keys) > 1:
        return Problem(ProblemCode.UNAUTHENTICATED, "more than one key was sent")
    return next(iter(keys), None)


async def authenticate(key: str | None, registry: Credentials) -> Credential | Problem:
    """Return whose key this is. Raises BusTrouble."""
    name = key_name(key) if key is not None else None
    if key is None or name is None:
        return Problem(ProblemCode.UNAUTHENTICATED)
    credential = await registry.get(name.tenant, name.credential)
    # An unknown name takes the same way as a wrong secret.
    fits = key_fits(key, credential or _NOBODY)
    if credential is None or not fits or not is_own(credential, name.tenant, name.credential):
        return Problem(ProblemCode.UNAUTHENTICATED)
    return credential


def is_own(credential: Credential, tenant: str, name: str) -> bool:
    """Return whether a record is the one of these tokens; one named like a query's id stands for nobody."""
    return token(credential.tenant) == tenant and token(credential.name) == name and not is_id(name)


class DevelopmentKey:
    """Makes the developer's key where there is none yet. A part."""

    def __init__(
        self, registry: Registry, file: Path, *, random_bits: RandomBits, announce: Callable[[str], None] | None = None
    ) -> None:
        """`announce` gets a key that was just made; for APIs on loopback only."""
        self.name = "development-key"
        self._registry = registry
        self._file = file
        self._random_bits = random_bits
        self._announce = announce

    async def start(self) -> None:
        key = self._kept() or self._made()
        await self._registry.put(
            Credential(
                name=DEVELOPER, tenant=LOCAL_TENANT, user=DEVELOPER, audience="analyst", key_sha256=key_hash(key)
            )
        )

    async def drain(self) -> None:
        """Nothing runs."""

    async def ping(self) -> str | None:
        return None

    def _kept(self) -> str | None:
        if not self._file.exists():
            return None
        key = self._file.read_text().strip()
        name = key_name(key)
        return key if name is not None and (name.tenant, name.credential) == (LOCAL_TENANT, DEVELOPER) else None

    def _made(self) -> str:
        secret = self._random_bits(8 * SECRET_BYTES).to_bytes(SECRET_BYTES, "big")
        key = key_text(LOCAL_TENANT, DEVELOPER, base64.urlsafe_b64encode(secret).decode().rstrip("="))
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.touch(mode=0o600)
        self._file.write_text(key + "\n")
        if self._announce is not None:
            self._announce(key)
        return key
