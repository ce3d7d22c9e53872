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


_behind_ms = 0


def system_clock() -> int:
    """Return the time in milliseconds since the epoch: this machine's clock, set right by `follow_clock`."""
    return time.time_ns() // 1_000_000 + _behind_ms


def machine_clock() -> int:
    """Return what this machine's own clock says, in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def clock_correction() -> int:
    """Return what is added to what the machine's clock says, in milliseconds."""
    return _behind_ms


def follow_clock(behind_ms: int) -> None:
    """Add this to what the machine's clock says from now on: how far it is behind the clock that all replicas share."""
    global _behind_ms
    _behind_ms = behind_ms


def system_jitter() -> float:
    """Return a number in 0..1."""
    return _dice.random()


def system_random_bits(count: int) -> int:
    """Return `count` random bits that nobody can guess."""
    return secrets.randbits(count)
