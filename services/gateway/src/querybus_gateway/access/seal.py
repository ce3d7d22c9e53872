"""Text that only a holder of the key can make or change: base64url of an HMAC-SHA256 and what it is about."""

from __future__ import annotations

import base64
import binascii
import hmac
from typing import Final

_MAC_BYTES: Final = 32


def sealed(body: bytes, key: bytes) -> str:
    """Return the text of a body."""
    return base64.urlsafe_b64encode(hmac.digest(key, body, "sha256") + body).decode().rstrip("=")


def opened(text: str, key: bytes) -> bytes | None:
    """Return the body of a text, or None for any text that `sealed` did not make with this key."""
    if not text.isascii():
        return None
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    mac, body = data[:_MAC_BYTES], data[_MAC_BYTES:]
    return body if hmac.compare_digest(mac, hmac.digest(key, body, "sha256")) else None
