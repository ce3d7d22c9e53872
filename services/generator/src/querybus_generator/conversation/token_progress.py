"""A model's words as progress notes while they come: core messages, lossy, a few a second."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Final

from querybus.bus.connection import Connected
from querybus.core.envelope import Envelope
from querybus.core.subjects import StageName, progress_subject, token
from querybus.ops.clock import Clock, system_clock

SECONDS_BETWEEN: Final = 0.2
TEXT_LENGTH_MAX: Final = 4_000


class TokenProgress:
    """Publishes what a model says; each note holds what came since the last one."""

    def __init__(self, holder: Connected, *, clock: Clock = system_clock) -> None:
        self._holder = holder
        self._clock = clock
        self._sending: set[asyncio.Task[None]] = set()

    def receive(self, envelope: Envelope[Any]) -> Callable[[str], None]:
        """Return what takes the parts of the reply to this query, in their order."""
        subject = progress_subject(
            token(envelope.tenant), token(envelope.user), envelope.audience, token(envelope.query_id)
        )
        parts: list[str] = []
        number = 0
        timer: asyncio.TimerHandle | None = None

        def send() -> None:
            nonlocal number, timer
            timer = None
            number += 1
            text = "".join(parts)[:TEXT_LENGTH_MAX]
            parts.clear()
            note = {
                "n": number,
                "stage": StageName.GENERATOR.value,
                "state": "tokens",
                "text": text,
                "at": self._clock(),
            }
            task = asyncio.get_running_loop().create_task(self._publish(subject, json.dumps(note).encode()))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

        def receive(text: str) -> None:
            nonlocal timer
            parts.append(text)
            if timer is None:
                timer = asyncio.get_running_loop().call_later(SECONDS_BETWEEN, send)

        return receive

    async def _publish(self, subject: str, data: bytes) -> None:
        try:
            await self._holder.connection.publish(subject, data)
        except Exception:  # noqa: BLE001 - a lost note is no loss; the reply itself goes by the log
            return
