"""The key by which the gateway lets outsiders in: what nats-server calls an account's nkey, made of an Ed25519 key.

The private half travels as base64 of its 32 raw bytes, like the key that signs approvals; the public half in the
server's form: base32 of a kind byte, the 32 bytes and their CRC-16/XMODEM. Source: NATS ADR-14 (nkeys), ADR-26 (callout).
"""

from __future__ import annotations

import base64
import binascii
from typing import Final

from querybus.bus.log.sign import generate_keys

_ACCOUNT: Final = b"\x00"
"""The kind byte that makes the text begin with A."""


def generate_issuer() -> tuple[str, str]:
    """Return a new pair (private as base64, public as nkey)."""
    private, public = generate_keys()
    return private, account_nkey(base64.b64decode(public))


def account_nkey(public: bytes) -> str:
    """Return the server's form of a public key.

    >>> account_nkey(bytes(32))
    'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
    """
    body = _ACCOUNT + public
    return base64.b32encode(body + binascii.crc_hqx(body, 0).to_bytes(2, "little")).decode().rstrip("=")
