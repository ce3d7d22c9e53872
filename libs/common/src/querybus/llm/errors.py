"""Why a single call to a model's address failed, as a value, and the one rule that says whether to try it again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from querybus.core.failure import Facts, Failure, FailureCode, ModelTrouble
from querybus.core.stored.models import NO_USE, ModelUse

BACKOFF_SECONDS: Final = 0.25


class FaultKind(StrEnum):
    """The closed set of faults; the value is the failure's `native_code`, or the HTTP status stands there instead."""

    CONNECT = "connect"
    TIMEOUT = "timeout"
    BUSY = "busy"
    SERVER = "server"
    REQUEST = "request"
    NO_MODEL = "no_model"
    ADDRESS = "address"
    PROTOCOL = "protocol"
    QUOTA = "quota"
    CONTENT_POLICY = "content_policy"
    CONTEXT = "context_length"
    LENGTH = "length"
    CUT = "cut"
    EMPTY = "empty"
    BREAKER = "breaker_open"
    NOT_CONFIGURED = "not_configured"


_TROUBLES: Final[dict[FaultKind, ModelTrouble]] = {
    FaultKind.CONNECT: ModelTrouble.UNREACHABLE,
    FaultKind.TIMEOUT: ModelTrouble.TOO_SLOW,
    FaultKind.BUSY: ModelTrouble.UNREACHABLE,
    FaultKind.SERVER: ModelTrouble.UNREACHABLE,
    FaultKind.REQUEST: ModelTrouble.SET_UP,
    FaultKind.NO_MODEL: ModelTrouble.SET_UP,
    FaultKind.ADDRESS: ModelTrouble.SET_UP,
    FaultKind.PROTOCOL: ModelTrouble.SET_UP,
    FaultKind.QUOTA: ModelTrouble.QUOTA,
    FaultKind.CONTENT_POLICY: ModelTrouble.CONTENT_POLICY,
    FaultKind.CONTEXT: ModelTrouble.SET_UP,
    FaultKind.LENGTH: ModelTrouble.CUT,
    FaultKind.CUT: ModelTrouble.CUT,
    FaultKind.EMPTY: ModelTrouble.EMPTY,
    FaultKind.BREAKER: ModelTrouble.UNREACHABLE,
    FaultKind.NOT_CONFIGURED: ModelTrouble.SET_UP,
}
_OF_ADDRESS: Final = frozenset(
    {FaultKind.CONNECT, FaultKind.TIMEOUT, FaultKind.BUSY, FaultKind.SERVER, FaultKind.ADDRESS, FaultKind.PROTOCOL}
)
_SAID_BY_STATUS: Final = frozenset({FaultKind.BUSY, FaultKind.SERVER, FaultKind.REQUEST, FaultKind.NO_MODEL})


@dataclass(frozen=True, slots=True)
class Fault:
    """One failed call. `detail` is for engineers and holds neither key nor prompt. `use` are the tokens that it took."""

    kind: FaultKind
    detail: str
    status: int | None = None
    retry_after_seconds: float | None = None
    use: ModelUse = NO_USE

    @property
    def blames_address(self) -> bool:
        """Whether it counts for the breaker: a rejected request says nothing about the address's health."""
        return self.kind in _OF_ADDRESS

    @property
    def native_code(self) -> str:
        """Return the HTTP status where nothing says more than it, else the kind."""
        return str(self.status) if self.status is not None and self.kind in _SAID_BY_STATUS else self.kind.value

    @property
    def trouble(self) -> ModelTrouble:
        """Return the cause, which has its words for people."""
        return _TROUBLES[self.kind]


def unavailable(fault: Fault, use: ModelUse | None = None) -> Failure:
    """Return the failure of a call that gave no usable reply; `use` is that of all its requests, else the fault's."""
    took = fault.use if use is None else use
    facts = Facts(
        native_code=fault.native_code,
        model_trouble=fault.trouble,
        tokens_in=took.tokens_in or None,
        tokens_out=took.tokens_out or None,
        model_use=took,
    )
    return Failure.of(FailureCode.MODEL_UNAVAILABLE, fault.detail, facts)


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
