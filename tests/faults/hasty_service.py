"""A service that acknowledges its input before its output is stored: what the harness must find out."""

from __future__ import annotations

import asyncio
import importlib
import os
from typing import Any

from querybus.bus.settlement import Settlement

WINDOW_SECONDS = 1.0
"""Between ack and publish; as wide as a test needs to hit it."""

careful = Settlement._publish


async def hasty(self: Settlement, work: Any, event: Any, settled: Any) -> Any:
    await work.message.ack()
    await asyncio.sleep(WINDOW_SECONDS)
    return await careful(self, work, event, settled)


if __name__ == "__main__":
    Settlement._publish = hasty
    importlib.import_module(f"querybus_{os.environ['QUERYBUS_FAULTS_SERVICE']}.app").main()
