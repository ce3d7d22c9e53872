"""How often one source may present keys that fit nothing before the API no longer looks at what it presents.

A source is a network address or, over the bus, nobody: the server has checked its password. A key that has fitted
before goes on to be looked at, so that guesses from behind a shared address lock nobody out who is in already.
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
KEYS_KNOWN_MAX: Final = 10_000


class Guesses:
    """The sources that have guessed wrong lately."""

    def __init__(self, guesses_max: int = GUESSES_MAX) -> None:
        self._max = guesses_max
        self._wrong: OrderedDict[str, tuple[float, int]] = OrderedDict()
        self._known: OrderedDict[str, None] = OrderedDict()

    def wait_seconds(self, source: str, key_sha256: str, now_ms: int) -> int | None:
        """Return how long this source has to wait before a key is looked at, or None if it need not."""
        if key_sha256 in self._known:
            return None
        wrong = self._left(source, now_ms)
        return None if wrong <= self._max - 1 else math.ceil((wrong - self._max + 1) * SECONDS_PER_GUESS)

    def wrong(self, source: str, now_ms: int) -> None:
        """Count one wrong key."""
        count = self._left(source, now_ms) + 1
        self._wrong[source] = (count, now_ms)
        self._wrong.move_to_end(source)
        while len(self._wrong) > SOURCES_MAX:
            self._wrong.popitem(last=False)

    def right(self, key_sha256: str) -> None:
        """Remember a key that fits."""
        self._known[key_sha256] = None
        self._known.move_to_end(key_sha256)
        while len(self._known) > KEYS_KNOWN_MAX:
            self._known.popitem(last=False)

    def forget(self, key_sha256: str) -> None:
        """Forget a key that no longer fits."""
        self._known.pop(key_sha256, None)

    def _left(self, source: str, now_ms: int) -> float:
        count, at_ms = self._wrong.get(source, (0.0, now_ms))
        return max(0.0, count - max(0, now_ms - at_ms) / 1_000 / SECONDS_PER_GUESS)
