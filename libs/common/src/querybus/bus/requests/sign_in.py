"""Receives what the bus's servers ask about callers that their file does not name; one replica receives each question."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import nats.errors
from nats.aio.msg import Msg

from querybus.bus.admin.permissions import SIGN_IN_SUBJECT
from querybus.bus.connection import Connected
from querybus.bus.requests.queue_group import Requests
from querybus.ops.log import get_log

SLOTS: Final = 64
DRAIN_SECONDS: Final = 1.0
_QUEUE: Final = "gateway"
_REPLIES: Final = "$SYS._INBOX."

_log = get_log(__name__)

Admit = Callable[[bytes], Awaitable[bytes | None]]
"""Returns the answer to a server's question, or None for what is no question."""


class SignInServer:
    """Answers the servers. A part."""

    def __init__(self, holder: Connected, admit: Admit) -> None:
        self.name = "bus-sign-in"
        self._holder = holder
        self._admit = admit
        self._requests = Requests(holder, SIGN_IN_SUBJECT, queue=_QUEUE, handle=self._take, slots=SLOTS)

    async def start(self) -> None:
        await self._requests.start()

    async def drain(self) -> None:
        await self._requests.drain(DRAIN_SECONDS)

    async def ping(self) -> str | None:
        return None if self._requests.is_open else "not started"

    async def _take(self, raw: Msg) -> None:
        answer = await self._admit(raw.data) if raw.reply.startswith(_REPLIES) else None
        if answer is None:
            _log.warning("bus_sign_in.unreadable", bytes=len(raw.data))
            return
        with suppress(nats.errors.Error):
            await self._holder.connection.publish(raw.reply, answer)
