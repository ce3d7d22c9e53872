"""Keeps the bus of `querybus up` at work: a server that ended, or that a full disk left unable to store, is started again."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from querybus.bus.admin.embedded_server import EmbeddedNats, EmbeddedNatsError
from querybus.bus.admin.gauges import health_trouble

LOOK_SECONDS: Final = 2.0
FAILING_SECONDS: Final = 10.0
"""How long a health check fails before the server is started again: a server that has just started reads its streams."""
PAUSE_SECONDS_MAX: Final = 60.0
FREE_BYTES_MIN: Final = 64 * 1_024 * 1_024
"""Space below which a new start would meet the full disk again."""


async def keep_bus(bus: EmbeddedNats, store: Path, say: Callable[[str], None]) -> None:
    """Look after the server until it is cancelled; `say` receives a line for each thing that is done or missing."""
    pause, failing_since, asked_for_space = LOOK_SECONDS, None, False
    while True:
        await asyncio.sleep(pause)
        trouble = None if bus.pid is None else await asyncio.to_thread(health_trouble, bus.monitoring_url)
        if bus.pid is not None and trouble is None:
            pause, failing_since, asked_for_space = LOOK_SECONDS, None, False
            continue
        if bus.pid is not None:
            failing_since = failing_since or time.monotonic()
            if time.monotonic() - failing_since < FAILING_SECONDS:
                continue
            if shutil.disk_usage(store).free < FREE_BYTES_MIN:
                if not asked_for_space:
                    say(f"the bus cannot store ({trouble}): free space where {store} is, then it is started again")
                asked_for_space = True
                continue
        say(f"the bus {'ended' if bus.pid is None else f'cannot store ({trouble})'}; starting it again")
        pause, failing_since = min(pause * 2, PAUSE_SECONDS_MAX), None
        try:
            await bus.restart(by_force=bus.pid is None)
        except EmbeddedNatsError as error:
            say(f"the bus does not start, trying again in {pause:.0f} s: {error}")
