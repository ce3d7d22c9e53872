"""Short-lived tokens: for a browser instead of a key, and one-time codes that sign a person in.

A token stands for a credential of the registry and never for more: its connections and audience may only be fewer, and
it ends with the credential. Pure: the key, which all replicas share, and the time are passed in.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from querybus.core.credential import Credential
from querybus.core.envelope import Audience
from querybus_gateway.access.seal import opened, sealed

PREFIX: Final = "qbs."
TOKEN_LENGTH_MAX: Final = 4_096
MINUTES_MAX: Final = 24 * 60
MINUTES_DEFAULT: Final = 60
CODE_MINUTES: Final = 10
TICKET_MINUTES: Final = 15
"""A query has ended by then, and a browser that lost its stream comes back with the same address."""

PICTURE_MINUTES: Final = 7 * 24 * 60
"""A conversation that shows an answer's picture is read again for about so long."""

TokenKind = Literal["session", "code", "ticket", "picture"]


class SessionToken(BaseModel):
    """Whose it is, until when (milliseconds since the epoch), and what of the credential's rights it has."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: TokenKind
    id: str
    tenant: str
    credential: str
    user: str
    audience: Audience
    connections: tuple[str, ...] | None
    expires_at: int

    def narrowed(self, credential: Credential) -> Credential:
        """Return what a caller with this token may do: nothing that the credential may not do now."""
        audience: Audience = "analyst" if self.audience == credential.audience == "analyst" else "business"
        connections = credential.connections
        if self.connections is not None:
            connections = tuple(name for name in self.connections if connections is None or name in connections)
        return credential.of_person(self.user).model_copy(
            update={
                "audience": audience,
                "connections": connections,
                "is_trusted_proxy": False,
                "expires_at": self.expires_at,
            }
        )


def is_session_token(text: str) -> bool:
    """Return whether a text claims to be one of these tokens."""
    return text.startswith(PREFIX)


def sign_session(token: SessionToken, key: bytes) -> str:
    """Return the token's text: base64url of its HMAC-SHA256 and its fields."""
    body = token.model_dump_json().encode()
    return PREFIX + sealed(body, key)


def read_session(text: str, key: bytes, kind: TokenKind) -> SessionToken | None:
    """Return the token, or None for any text that `sign_session` did not make with this key for this use."""
    if len(text) > TOKEN_LENGTH_MAX or not is_session_token(text):
        return None
    body = opened(text.removeprefix(PREFIX), key)
    try:
        token = SessionToken.model_validate_json(body) if body is not None else None
    except ValidationError:
        # Signed here, by a version that gave it another form.
        return None
    return token if token is not None and token.kind == kind else None
