"""A service that publishes without a fence and receives no cancel hint: what the harness must find out."""

from __future__ import annotations

import importlib
import os
from typing import Any

from querybus.bus.log import publish
from querybus.bus.settlement import Settlement

fenced = publish._send


async def send(js: Any, subject: str, data: bytes, headers: dict[str, str], **more: Any) -> Any:
    kept = {name: value for name, value in headers.items() if not name.startswith("Nats-Expected-Last-")}
    return await fenced(js, subject, data, kept, **more)


def deaf(self: Settlement, tenant: str, query: str) -> None:
    """Work on, as a worker does that missed the hint."""


if __name__ == "__main__":
    publish._send = send
    Settlement.cancel = deaf
    importlib.import_module(f"querybus_{os.environ['QUERYBUS_FAULTS_SERVICE']}.app").main()
