"""The clocks and the dice of a process, as functions that are passed in: tests pass others."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable

Clock = Callable[[], int]
"""Milliseconds since the epoch (UTC)."""

Jitter = Callable[[], float]
"""A number in 0..1, to spread what would otherwise happen at once."""

RandomBits = Callable[[int], int]
"""As many random bits as asked for."""

_dice = random.Random()  # noqa: S311 - spreads load, keeps no secret


def system_clock() -> int:
    """Return the wall-clock time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def system_jitter() -> float:
    """Return a number in 0..1."""
    return _dice.random()


def system_random_bits(count: int) -> int:
    """Return `count` random bits that nobody can guess."""
    return secrets.randbits(count)
