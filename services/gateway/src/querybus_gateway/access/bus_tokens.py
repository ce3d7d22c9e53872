"""What a bus server asks about somebody who wants to come in, and the signed answer that says who it is. Pure.

Both are JSON web tokens of nats-server's own kind (`ed25519-nkey`). The answer holds the caller's account and its rights,
which the server keeps to for as long as the connection lasts. Its name carries a mark of the key that it came with, so
that who looks at the connections later sees which of them came with a key that is void. Source: NATS ADR-26.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

from querybus.bus.admin.issuer import account_nkey
from querybus.bus.admin.permissions import (
    OUTSIDE_PAYLOAD_BYTES_MAX,
    OUTSIDE_SUBSCRIPTIONS_MAX,
    Outsider,
    account_of,
    outside_rights,
)
from querybus.core.credential import Credential
from querybus.core.subjects import token

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

REQUEST_BYTES_MAX: Final = 64 * 1_024
MARK_LENGTH: Final = 16
KEY_BYTES: Final = 32

_HEAD: Final = b'{"typ":"JWT","alg":"ed25519-nkey"}'


@dataclass(frozen=True, slots=True)
class SignInRequest:
    """Who asks to come in, with what, from where; and which server wants to know it for which connection."""

    user: str
    key: str
    host: str
    server: str
    connection: str


def read_request(data: bytes) -> SignInRequest | None:
    """Return a server's question, or None for anything else."""
    if len(data) > REQUEST_BYTES_MAX:
        return None
    try:
        body = data.split(b".")[1]
        asked: Any = json.loads(base64.urlsafe_b64decode(body + b"=" * (-len(body) % 4)))["nats"]
        given = asked["connect_opts"]
        texts = (
            given.get("user", ""),
            given.get("pass", "") or given.get("auth_token", ""),
            asked["client_info"].get("host", ""),
            asked["server_id"]["id"],
            asked["user_nkey"],
        )
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    return (
        SignInRequest(*cast("tuple[str, str, str, str, str]", texts))
        if all(isinstance(text, str) for text in texts)
        else None
    )


def outsider_of(credential: Credential) -> Outsider:
    """Return the credential as the bus knows it."""
    names = (token(credential.tenant), token(credential.name), token(credential.user))
    return Outsider(*names, credential.audience, is_narrowed=credential.is_narrowed)


def connection_name(credential: Credential) -> str:
    """Return what the server calls a connection of this credential, `<tenant>.<credential>.<mark of its key>`.

    The mark changes with whatever the connection's rights follow from.
    """
    text = json.dumps([credential.key_sha256, credential.user, credential.audience, credential.is_narrowed])
    return f"{outsider_of(credential).name}.{hashlib.sha256(text.encode()).hexdigest()[:MARK_LENGTH]}"


class BusTokens:
    """Signs the answers; ValueError for anything that is no private key."""

    def __init__(self, private_key_base64: str) -> None:
        self._private = base64.b64decode(private_key_base64, validate=True)
        if len(self._private) != KEY_BYTES:
            raise ValueError(f"a private key has {KEY_BYTES} bytes")

    def admission(self, request: SignInRequest, credential: Credential, now_seconds: int) -> bytes:
        """Return the answer that lets this credential in, with its own rights and nothing beyond them."""
        outsider = outsider_of(credential)
        rights = outside_rights(outsider)
        ends = {} if credential.valid_until is None else {"exp": credential.valid_until // 1_000}
        user = {
            **ends,
            "aud": account_of(outsider.tenant),
            "name": connection_name(credential),
            "sub": request.connection,
            "nats": {
                "type": "user",
                "version": 2,
                "pub": {"allow": rights.publish},
                "sub": {"allow": rights.subscribe},
                "subs": OUTSIDE_SUBSCRIPTIONS_MAX,
                "payload": OUTSIDE_PAYLOAD_BYTES_MAX,
                "data": -1,
            },
        }
        return self._answer(request, {"jwt": self._signed(user, now_seconds)}, now_seconds)

    def refusal(self, request: SignInRequest, reason: str, now_seconds: int) -> bytes:
        """Return the answer that lets nobody in; the reason stands in the server's log, the caller does not see it."""
        return self._answer(request, {"error": reason}, now_seconds)

    def _answer(self, request: SignInRequest, body: dict[str, str], now_seconds: int) -> bytes:
        claims = {
            "aud": request.server,
            "sub": request.connection,
            "nats": {"type": "authorization_response", "version": 2, **body},
        }
        return self._signed(claims, now_seconds).encode()

    def _signed(self, claims: dict[str, Any], now_seconds: int) -> str:
        key, issuer = self._key
        body = json.dumps({"iss": issuer, "iat": now_seconds, **claims}).encode()
        unsigned = f"{_text(_HEAD)}.{_text(body)}"
        return f"{unsigned}.{_text(key.sign(unsigned.encode()))}"

    @cached_property
    def _key(self) -> tuple[Ed25519PrivateKey, str]:
        # Loaded when the first caller comes: the library takes 7 MB, which a gateway without any must not hold.
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        key = Ed25519PrivateKey.from_private_bytes(self._private)
        return key, account_nkey(key.public_key().public_bytes_raw())


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
