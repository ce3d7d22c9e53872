"""How a stage settles what it reads, and what it counts, traces and measures time with."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from querybus.bus.log.sign import Signer, Verifier
from querybus.core.envelope import Delivery, Envelope
from querybus.core.failure import Failure
from querybus.core.subjects import StageName
from querybus.ops.clock import Clock, Jitter, system_clock, system_jitter
from querybus.ops.metrics import Metrics
from querybus.ops.trace import Tracing

Think = Callable[[Envelope[Any], Delivery], Awaitable[Envelope[Any] | Failure]]
OnFailure = Callable[[Envelope[Any], Failure], Envelope[Any]]

GRACE_SECONDS: Final = 3.0
"""What a stage that proceeds after the deadline may take even then."""
ANNOUNCE_AFTER_SECONDS: Final = 0.1
"""What a stage has done by then is known from its event; a note before that would cost more than it says."""
CANCEL_PAUSES_SECONDS: Final = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)


@dataclass(frozen=True, slots=True, kw_only=True)
class StagePolicy:
    """How a stage settles.

    `on_failure` makes the event of a Failure (default: `failed`). `after_deadline="proceed"` is the end stage's:
    its verb is called whatever the deadline, within at least `grace_seconds`, and every failure, timeout or last
    delivery publishes what `on_failure` makes. `sign` signs approvals, `verify` refuses events without a signature.
    """

    name: StageName
    on_failure: OnFailure | None = None
    after_deadline: Literal["expire", "proceed"] = "expire"
    sign: Signer | None = None
    verify: Verifier | None = None
    grace_seconds: float = GRACE_SECONDS
    announce_after_seconds: float = ANNOUNCE_AFTER_SECONDS
    cancel_pauses_seconds: tuple[float, ...] = CANCEL_PAUSES_SECONDS

    @property
    def proceeds(self) -> bool:
        """Whether the verb is called after the deadline too."""
        return self.after_deadline == "proceed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """What a stage counts, traces and measures time with."""

    metrics: Metrics
    tracing: Tracing | None = None
    clock: Clock = system_clock
    jitter: Jitter = system_jitter
    timer: Callable[[], float] = time.perf_counter
