"""How often one source may present keys that fit nothing before it is asked to wait.

A source is a network address, at every API. A key that fits is always let in: guesses from behind a shared address lock nobody out, and a key's secret has too many bits to be guessed.
Pure; each replica keeps its own count, so the limit holds per replica. Memory is bounded: the oldest are forgotten.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Final

GUESSES_MAX: Final = 20
"""Wrong keys of one source at once."""
SECONDS_PER_GUESS: Final = 3.0
"""How long until one more is taken."""
SOURCES_MAX: Final = 10_000


class Guesses:
    """The sources that have guessed wrong lately."""

    def __init__(self, guesses_max: int = GUESSES_MAX) -> None:
        self._max = guesses_max
        self._wrong: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def wait_seconds(self, source: str, now_ms: int) -> int | None:
        """Return how long a source that has just guessed wrong has to wait, or None if it need not."""
        wrong = self._left(source, now_ms)
        return None if wrong <= self._max - 1 else math.ceil((wrong - self._max + 1) * SECONDS_PER_GUESS)

    def wrong(self, source: str, now_ms: int) -> None:
        """Count one wrong key."""
        count = self._left(source, now_ms) + 1
        self._wrong[source] = (count, now_ms)
        self._wrong.move_to_end(source)
        while len(self._wrong) > SOURCES_MAX:
            self._wrong.popitem(last=False)

    def _left(self, source: str, now_ms: int) -> float:
        count, at_ms = self._wrong.get(source, (0.0, now_ms))
        return max(0.0, count - max(0, now_ms - at_ms) / 1_000 / SECONDS_PER_GUESS)
