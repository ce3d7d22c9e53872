"""A checkpoint is an event of the log: its id is a UUID that holds the event's sequence."""

from __future__ import annotations

import re
from typing import Final

_PREFIX: Final = "1f000000-0000-6000"
_ID = re.compile(rf"{_PREFIX}-([89ab])([0-9a-f]{{3}})-([0-9a-f]{{12}})")


def checkpoint_id(sequence: int) -> str:
    """Return the id of the checkpoint at an event.

    >>> checkpoint_id(258)
    '1f000000-0000-6000-8000-000000000102'
    """
    return f"{_PREFIX}-8{sequence >> 48 & 0xFFF:03x}-{sequence & 0xFFFFFFFFFFFF:012x}"


def sequence_of(text: str) -> int | None:
    """Return the sequence of the event that a checkpoint's id names, None for an id that is none of ours.

    >>> sequence_of(checkpoint_id(258)), sequence_of("elsewhere")
    (258, None)
    """
    found = _ID.fullmatch(text)
    return None if found is None else int(found.group(2) + found.group(3), 16)
