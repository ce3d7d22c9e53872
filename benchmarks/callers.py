"""Callers in a closed loop: each asks again as soon as it has its answer; a window counts what ends within it."""

from __future__ import annotations

import asyncio
import itertools
import statistics
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

STOP_SECONDS = 40.0
WARM_SECONDS_MAX = 10.0

Ask = Callable[[int], Awaitable[str]]
"""Asks the n-th question and returns how it ended."""


@dataclass(frozen=True)
class Window:
    """What ended within some seconds. `cpu_seconds` is what the given meter moved meanwhile."""

    seconds: float
    outcomes: Counter[str]
    milliseconds: tuple[float, ...]
    cpu_seconds: float

    @property
    def per_second(self) -> float:
        return self.outcomes.total() / self.seconds

    @property
    def p50_ms(self) -> float:
        return statistics.median(self.milliseconds)

    @property
    def cpu_ms(self) -> float:
        """CPU milliseconds per question."""
        return self.cpu_seconds * 1_000 / max(1, self.outcomes.total())


class Callers:
    """Use `async with`; the callers ask from the first step to the last."""

    def __init__(self, ask: Ask, count: int) -> None:
        self._ask = ask
        self._count = count
        self._numbers = itertools.count(1)
        self._ended: list[tuple[float, str]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._is_stopping = False

    async def __aenter__(self) -> Self:
        self._tasks = [asyncio.create_task(self._call()) for _ in range(self._count)]
        return self

    async def __aexit__(
        self, error: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        # Each receives its last answer, so that nothing of this load is left for the next.
        self._is_stopping = True
        try:
            await asyncio.wait(self._tasks, timeout=STOP_SECONDS if error is None else 0)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def warm(self, seconds: float) -> None:
        """Wait that long, and until as many questions have ended as there are callers."""
        until = time.perf_counter() + seconds
        latest = until + WARM_SECONDS_MAX
        while time.perf_counter() < until or (len(self._ended) < self._count and time.perf_counter() < latest):
            await asyncio.sleep(0.01)

    async def window(self, seconds: float, cpu: Callable[[], float] = lambda: 0.0) -> Window:
        """Count for that long, or longer if nothing has ended by then; raises what a caller raised."""
        before, begun, spent = len(self._ended), time.perf_counter(), cpu()
        wait_seconds = seconds
        while wait_seconds:
            done, _ = await asyncio.wait(self._tasks, timeout=wait_seconds, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
            late = time.perf_counter() - begun > seconds + WARM_SECONDS_MAX
            wait_seconds = 0 if len(self._ended) > before or late else seconds
        spent, lasted = cpu() - spent, time.perf_counter() - begun
        ended = self._ended[before:]
        if not ended:
            raise RuntimeError(f"no question ended within {lasted:.0f} s")
        return Window(lasted, Counter(word for _, word in ended), tuple(ms for ms, _ in ended), spent)

    async def _call(self) -> None:
        while not self._is_stopping:
            number = next(self._numbers)
            begun = time.perf_counter()
            outcome = await self._ask(number)
            self._ended.append(((time.perf_counter() - begun) * 1_000, outcome))


async def measure(
    ask: Ask, callers: int, *, warm_seconds: float, seconds: float, cpu: Callable[[], float] = lambda: 0.0
) -> Window:
    """Return one window of that many callers, after a while that does not count."""
    async with Callers(ask, callers) as running:
        await running.warm(warm_seconds)
        return await running.window(seconds, cpu)
