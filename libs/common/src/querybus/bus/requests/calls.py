"""The gateway's subscribers: requests of outside callers, answered to their own inboxes only, and progress.

Whoever sends a request names its reply subject, so a reply goes into the inbox of the credential that the request's
subject names, never anywhere else. Progress is lossy by its nature.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

import nats.errors
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from querybus.bus.admin.permissions import OUTSIDE_INBOX, PAYLOAD_BYTES_MAX
from querybus.bus.connection import Connected
from querybus.bus.requests.queue_group import Requests
from querybus.core.subjects import every_call_filter, is_token
from querybus.ops.log import get_log

REPLY_BYTES_MAX: Final = PAYLOAD_BYTES_MAX - 1_024
"""A longer reply would reach nobody: whoever answers makes it a problem."""
_QUEUE: Final = "gateway"

_log = get_log(__name__)


@dataclass(frozen=True, slots=True)
class Call:
    """One request; tenant, credential and verb are the tokens of its subject, which the server has vouched for."""

    tenant: str
    credential: str
    verb: str
    data: bytes
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


Answer = Callable[[Call], Awaitable[bytes]]


def may_reply(subject: str, tenant: str, credential: str) -> bool:
    """Return whether an answer to this credential may be sent there: into its own inbox only.

    >>> may_reply("_INBOX.out.acme.web.x1", "acme", "web"), may_reply("_INBOX.out.acme.lab.x1", "acme", "web")
    (True, False)
    """
    return subject.startswith(f"{OUTSIDE_INBOX}.{tenant}.{credential}.")


class CallServer:
    """Answers `call` requests, `slots` at once; one replica receives each. A part."""

    def __init__(self, holder: Connected, answer: Answer, *, slots: int, drain_seconds: float) -> None:
        self.name = "calls"
        self._holder = holder
        self._answer = answer
        self._drain_seconds = drain_seconds
        self._requests = Requests(holder, every_call_filter(), queue=_QUEUE, handle=self._take, slots=slots)

    async def start(self) -> None:
        await self._requests.start()

    async def drain(self) -> None:
        """Take no more requests; those that run are answered within the limit."""
        await self._requests.drain(self._drain_seconds)

    async def ping(self) -> str | None:
        return None if self._requests.is_open else "not started"

    async def _take(self, raw: Msg) -> None:
        parts = raw.subject.split(".")
        if len(parts) != 6 or not all(is_token(part) for part in parts[3:]):
            return
        if not may_reply(raw.reply, parts[3], parts[4]):
            _log.warning("call.no_reply", tenant=parts[3], credential=parts[4], has_reply=bool(raw.reply))
            return
        reply = await self._answer(Call(parts[3], parts[4], parts[5], raw.data, raw.headers or {}))
        with suppress(nats.errors.Error):
            await self._holder.connection.publish(raw.reply, reply)


OnMessage = Callable[[bytes], None]


class Subscriber:
    """Receives one core subject for as long as somebody listens; what is not received is not sent at all."""

    def __init__(self, holder: Connected) -> None:
        self._holder = holder

    @asynccontextmanager
    async def receive(self, subject: str, on_message: OnMessage) -> AsyncGenerator[None]:
        """Pass every message's data to `on_message` until the block ends; deaf while the bus is away."""

        async def take(message: Msg) -> None:
            on_message(message.data)

        subscription: Subscription | None = None
        with suppress(nats.errors.Error):
            subscription = await self._holder.connection.subscribe(subject, cb=take)
        try:
            yield
        finally:
            if subscription is not None:
                with suppress(nats.errors.Error):
                    await subscription.unsubscribe()
