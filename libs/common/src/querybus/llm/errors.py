"""Why a single call to a model's address failed, as a value, and the one rule that says whether to try it again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

BACKOFF_SECONDS: Final = 0.25


class FaultKind(StrEnum):
    """The closed set of faults; the value is the failure's `native_code`, or the HTTP status stands there instead."""

    CONNECT = "connect"
    TIMEOUT = "timeout"
    BUSY = "busy"
    SERVER = "server"
    REQUEST = "request"
    PROTOCOL = "protocol"


@dataclass(frozen=True, slots=True)
class Fault:
    """One failed call. `detail` is for engineers and holds neither key nor prompt."""

    kind: FaultKind
    detail: str
    status: int | None = None
    retry_after_seconds: float | None = None

    @property
    def blames_address(self) -> bool:
        """Whether it counts for the breaker: a rejected request says nothing about the address's health."""
        return self.kind is not FaultKind.REQUEST

    @property
    def native_code(self) -> str:
        return str(self.status) if self.status is not None else self.kind.value


_RETRIED: Final = frozenset({FaultKind.CONNECT, FaultKind.BUSY, FaultKind.SERVER})


def retry_wait_seconds(
    fault: Fault, *, retries_done: int, retries_max: int, remaining_seconds: float, jitter: float
) -> float | None:
    """Return how long to wait before the next try, or None to give up.

    Only faults that came quickly and may pass are tried again. `Retry-After` is a lower bound, never cut: if it
    does not fit into what remains, waiting would be in vain. Jitter in 0..1 adds up to half.

    >>> busy = Fault(FaultKind.BUSY, "", status=429, retry_after_seconds=2)
    >>> retry_wait_seconds(busy, retries_done=0, retries_max=1, remaining_seconds=10, jitter=0)
    2.0
    >>> retry_wait_seconds(busy, retries_done=0, retries_max=1, remaining_seconds=1, jitter=0) is None
    True
    """
    if fault.kind not in _RETRIED or retries_done >= retries_max:
        return None
    wait = max(BACKOFF_SECONDS * 2**retries_done, fault.retry_after_seconds or 0.0) * (1 + jitter / 2)
    return wait if wait < remaining_seconds else None
