"""What a verb may know of the message in hand: a value, so that thinking needs no bus."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Delivery:
    """The input's stream sequence, how often it was delivered (1 = first), and the time in epoch milliseconds."""

    sequence: int
    deliveries: int
    now_ms: int
