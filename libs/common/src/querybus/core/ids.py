"""Query, thread and request ids. Clock and randomness are passed in, so equal inputs give equal ids."""

from __future__ import annotations

import uuid
from typing import Final, Literal

Kind = Literal["key", "batch", "confirmed", "dead", "refusal", "shadow"]
"""What an id is derived for."""
_NAMESPACE: Final = uuid.UUID("5b1c9f0e-7d3c-5a42-9d0e-0b6f3c2a9e71")


def time_ordered_id(now_ms: int, random_bits: int) -> str:
    """Return a UUIDv7 of the time and 74 random bits, as text.

    >>> time_ordered_id(0, 0)
    '00000000-0000-7000-8000-000000000000'
    """
    high = random_bits >> 62 & 0xFFF
    low = random_bits & (1 << 62) - 1
    return str(uuid.UUID(int=(now_ms & (1 << 48) - 1) << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low))


def derived_id(kind: Kind, *parts: str) -> str:
    """Return the UUIDv5 of the parts: the query id of a key of (tenant, user, Idempotency-Key), of a confirmation, ...

    The kind stands first, so that no user name makes an id of another kind. The parts are joined by NUL, so
    ("a", "bc") and ("ab", "c") differ.
    """
    return str(uuid.uuid5(_NAMESPACE, "\x00".join((kind, *parts))))


def is_id(text: str) -> bool:
    """Return whether the text is a canonical UUID, which every query and thread id is."""
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def is_drawn(text: str) -> bool:
    """Return whether an id was drawn (UUIDv7) and not derived: nothing else can have the same.

    >>> is_drawn(time_ordered_id(0, 0)), is_drawn(derived_id("key", "acme", "ana", "k"))
    (True, False)
    """
    return is_id(text) and uuid.UUID(text).version == 7
