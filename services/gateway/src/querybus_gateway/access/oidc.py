"""Bearer tokens of an OpenID Connect issuer: who they say is calling, if issuer, audience, time and signature hold.

Only asymmetric algorithms that the settings pin are taken, whatever a token's header says; the keys come from the
issuer alone. They are kept for a while and fetched again at most every FETCH_SECONDS_MIN, also for a key id that
nobody knows, so a flood of made-up tokens costs the issuer nothing. Tenant, user, audience and connections are claims.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import ValidationError

from querybus.core.credential import TOKEN_CREDENTIAL, Credential, Group, narrowed_by_group
from querybus.ops.clock import Clock
from querybus.ops.log import get_log
from querybus_gateway.problems import Problem, ProblemCode

if TYPE_CHECKING:
    from joserfc import jwk, jwt

ALGORITHMS: Final = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"}
)
"""What may be pinned: nothing that a public key could be taken for a secret with."""
TOKEN_LENGTH_MAX: Final = 8_192
LEEWAY_SECONDS: Final = 30
FETCH_SECONDS_MIN: Final = 30.0
KEPT_SECONDS: Final = 600.0
STALE_SECONDS_MAX: Final = 86_400.0
"""How long keys are still used while the issuer cannot be reached."""
USER_LENGTH_MAX: Final = 200

Fetch = Callable[[], Awaitable[Mapping[str, object]]]
"""Gives the issuer's JSON Web Key Set; raises KeysUnreachable."""

_NOBODY: Final = Problem(ProblemCode.UNAUTHENTICATED)

_log = get_log(__name__)


class KeysUnreachable(Exception):
    """The issuer's keys cannot be fetched now."""


@dataclass(frozen=True, slots=True)
class Issuer:
    """Whose tokens are taken, and which of their claims say what."""

    issuer: str
    audience: str
    algorithms: tuple[str, ...] = ("RS256",)
    tenant: str = ""
    """Of every token, where the issuer serves one tenant only; else `tenant_claim` says it."""
    tenant_claim: str = "tenant"
    user_claim: str = "sub"
    role_claim: str = "querybus_audience"
    connections_claim: str = "querybus_connections"
    group_claim: str = "querybus_group"

    def __post_init__(self) -> None:
        if not self.algorithms or not ALGORITHMS.issuperset(self.algorithms):
            raise ValueError(f"algorithms are some of {', '.join(sorted(ALGORITHMS))}")


def is_token_like(key: str) -> bool:
    """Return whether this has the form of a signed token: three parts, the first a JSON object in base64url."""
    return key.startswith("ey") and key.count(".") == 2


class TokenReader:
    """Reads tokens of one issuer."""

    def __init__(
        self,
        issuer: Issuer,
        fetch: Fetch,
        *,
        clock: Clock,
        tenants: Collection[str] = (),
        groups: Mapping[str, Group] | None = None,
    ) -> None:
        """`tenants`: if any, no token brings another tenant in; one of a group that is not in `groups` lets nobody in."""
        self._groups = groups or {}
        self._issuer = issuer
        self._fetch = fetch
        self._clock = clock
        self._tenants = frozenset(tenants)
        self._keys: dict[str | None, jwk.Key] = {}
        self._fetched_at: int | None = None
        self._tried_at: int | None = None
        self._fetching = asyncio.Lock()

    async def read(self, text: str) -> Credential | Problem:
        """Return whose token this is."""
        header = _header(text)
        if header is None or header.get("alg") not in self._issuer.algorithms or "crit" in header:
            return _NOBODY
        kid = header.get("kid")
        if kid is not None and not isinstance(kid, str):
            return _NOBODY
        key = await self._key(kid)
        if isinstance(key, Problem):
            return key
        # Loaded with the first token: most stacks have no issuer.
        from joserfc import jwt
        from joserfc.errors import JoseError

        try:
            token = jwt.decode(text, key, algorithms=list(self._issuer.algorithms))
            self._claims().validate(token.claims)
        except (JoseError, ValueError, TypeError, KeyError):
            return _NOBODY
        return self._credential(token.claims)

    def _claims(self) -> jwt.JWTClaimsRegistry:
        from joserfc import jwt

        return jwt.JWTClaimsRegistry(
            now=self._clock() // 1_000,
            leeway=LEEWAY_SECONDS,
            iss={"essential": True, "value": self._issuer.issuer},
            aud={"essential": True, "value": self._issuer.audience},
            exp={"essential": True},
        )

    def _credential(self, claims: Mapping[str, Any]) -> Credential | Problem:
        tenant = self._issuer.tenant or claims.get(self._issuer.tenant_claim)
        user = claims.get(self._issuer.user_claim)
        if not (isinstance(tenant, str) and tenant and isinstance(user, str) and 0 < len(user) <= USER_LENGTH_MAX):
            return _NOBODY
        if self._tenants and tenant not in self._tenants:
            return _NOBODY
        role = claims.get(self._issuer.role_claim, "business")
        connections, group = claims.get(self._issuer.connections_claim), claims.get(self._issuer.group_claim, "")
        try:
            credential = Credential(
                name=TOKEN_CREDENTIAL, tenant=tenant, user=user, audience=role, connections=connections, group=group
            )
        except ValidationError:
            return _NOBODY
        return narrowed_by_group(self._groups, credential) or _NOBODY

    async def _key(self, kid: str | None) -> jwk.Key | Problem:
        if kid not in self._keys or self._age_seconds() > KEPT_SECONDS:
            await self._refresh()
        if self._fetched_at is None or self._age_seconds() > STALE_SECONDS_MAX:
            return Problem(ProblemCode.ISSUER_UNAVAILABLE, retry_after_seconds=round(FETCH_SECONDS_MIN))
        if kid is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(kid, _NOBODY)

    def _age_seconds(self) -> float:
        return float("inf") if self._fetched_at is None else (self._clock() - self._fetched_at) / 1_000

    async def _refresh(self) -> None:
        async with self._fetching:
            now = self._clock()
            if self._tried_at is not None and now - self._tried_at < FETCH_SECONDS_MIN * 1_000:
                return
            self._tried_at = now
            try:
                self._keys = _keys_of(await self._fetch(), self._issuer.algorithms)
                self._fetched_at = self._clock()
            except KeysUnreachable as error:
                _log.warning("oidc.keys_unreachable", reason=str(error))


def _keys_of(found: Mapping[str, object], algorithms: Collection[str]) -> dict[str | None, jwk.Key]:
    """Return the set's public signature keys by id; one that cannot be read, or is none, is left out."""
    from joserfc import jwk
    from joserfc.errors import JoseError

    keys: dict[str | None, jwk.Key] = {}
    listed = found.get("keys")
    for item in cast("list[object]", listed) if isinstance(listed, list) else ():
        if not isinstance(item, dict):
            continue
        data = cast("dict[str, Any]", item)
        if data.get("kty") == "oct" or data.get("use", "sig") != "sig":
            continue
        if "alg" in data and data["alg"] not in algorithms:
            continue
        try:
            keys[data.get("kid")] = jwk.import_key(data)
        except (JoseError, ValueError, TypeError, KeyError):
            _log.warning("oidc.key_left_out", kty=str(data.get("kty"))[:20])
    return keys


def _header(text: str) -> Mapping[str, object] | None:
    if len(text) > TOKEN_LENGTH_MAX or not text.isascii() or not is_token_like(text):
        return None
    part = text.partition(".")[0]
    try:
        result: object = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return None
    return cast("Mapping[str, object]", result) if isinstance(result, dict) else None
