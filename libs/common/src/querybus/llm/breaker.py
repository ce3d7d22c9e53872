"""A breaker: after n failures in a row nobody calls for a while, then one call tries; it decides, it never waits.

Calls that were sent before the last answer came bring nothing newer than that answer: of many at once at an address that
fails half of them, some fail in a row by mere order, and that is no reason to call nobody. Seconds are those of any clock that does not go back; they are passed in.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf


@dataclass(slots=True)
class Breaker:
    """Closed while `failures` < `failures_max`; then open for `open_seconds`; then one probe at a time."""

    failures_max: int
    open_seconds: float
    failures: int = 0
    opened_at: float | None = None
    answered_at: float = -inf
    probing: bool = False

    @property
    def is_open(self) -> bool:
        """Whether the address counts as down; a probe may still be allowed."""
        return self.opened_at is not None

    def admit(self, now: float) -> bool:
        """Return whether a call may go out now. While open, it is True for one probe after `open_seconds`."""
        if self.opened_at is None:
            return True
        if self.probing or now - self.opened_at < self.open_seconds:
            return False
        self.probing = True
        return True

    def succeeded(self, now: float) -> None:
        """A call was answered: close."""
        self.failures = 0
        self.answered_at = now
        self.opened_at = None
        self.probing = False

    def failed(self, now: float, sent: float) -> None:
        """A call that was sent then failed by the address's fault: count it; open, or stay open for another while."""
        if sent < self.answered_at:
            return
        self.failures += 1
        if self.opened_at is not None or self.failures >= self.failures_max:
            self.opened_at = now
        self.probing = False

    def abandoned(self) -> None:
        """A call ended without saying anything about the address (cancelled, or our own request was at fault)."""
        self.probing = False
