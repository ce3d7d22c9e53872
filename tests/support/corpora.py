"""Corpora of thousands of items: tests go through a drawn part, and through all of it where `QUERYBUS_WHOLE_CORPORA` is set."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final, TypeVar

Item = TypeVar("Item")
ITEMS_DRAWN: Final = 700
"""About as many as go through the whole pipeline in half a minute."""


def draw(items: Sequence[Item], about: int = ITEMS_DRAWN) -> Sequence[Item]:
    """Return `about` as many of the items at even distances, the same in each run; all where the whole is asked for."""
    if os.environ.get("QUERYBUS_WHOLE_CORPORA"):
        return items
    return items[:: max(1, len(items) // about)]
