"""What the rows of one benchmark share: windows by turns, medians with their spread, and how noisy the machine is."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from callers import Window, measure
from process_group import ProcessGroup


@dataclass
class Bench:
    """What the rows share: processes, the length of a window, the figures so far."""

    directory: Path
    group: ProcessGroup
    seconds: float
    rounds: int
    overload_seconds: float = 60.0
    figures: dict[str, float] = field(default_factory=dict[str, float])
    spins: list[float] = field(default_factory=list[float])
    syncs: list[float] = field(default_factory=list[float])
    spreads: dict[str, float] = field(default_factory=dict[str, float])
    wrong: Counter[str] = field(default_factory=Counter[str])

    async def window(self, ask: Callable[[int], Awaitable[str]], callers: int, **more: Any) -> Window:
        self.spins.append(spin_ms())
        window = await measure(ask, callers, warm_seconds=self.seconds / 3, seconds=self.seconds, **more)
        self.note(window)
        return window

    def note(self, window: Window) -> None:
        self.wrong.update({word: count for word, count in window.outcomes.items() if word != "answered"})

    def put(self, name: str, values: Sequence[float], digits: int = 2) -> float:
        """Keep the median of the rounds, and how far they lie apart."""
        result = statistics.median(values)
        self.figures[name] = round(result, digits)
        self.spreads[name] = round((max(values) - min(values)) / result, 3) if result else 0.0
        return result


def spin_ms() -> float:
    """Return how long a fixed piece of work takes: what varies here is the machine."""
    begun = time.perf_counter()
    total = 0
    for number in range(400_000):
        total += number & 7
    return (time.perf_counter() - begun) * 1_000


def busy_share(seconds: float = 1.0) -> float:
    """Return the share of all CPUs that was busy for a while: before and after the run that is everybody else's."""

    def ticks() -> tuple[int, int]:
        fields = [int(line) for line in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        return sum(fields), fields[3] + fields[4]

    all_before, idle_before = ticks()
    time.sleep(seconds)
    all_after, idle_after = ticks()
    return 1 - (idle_after - idle_before) / max(1, all_after - all_before)


def fsync_ms(directory: Path) -> float:
    """Return the median time that the disk below the bus takes to sync 2 KB."""
    times: list[float] = []
    with tempfile.NamedTemporaryFile(dir=directory) as file:
        for _ in range(100):
            file.write(b"x" * 2_048)
            file.flush()
            begun = time.perf_counter()
            os.fsync(file.fileno())
            times.append((time.perf_counter() - begun) * 1_000)
    return statistics.median(times)
