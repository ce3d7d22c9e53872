"""The gateway asks an executor to test, add, change or remove a connection: one request, one reply, nothing kept.

The reply goes to an inbox below `SET_UP_INBOX`, so that the executor may publish there and to no other inbox of the gateway.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import nats.errors
from nats.aio.msg import Msg
from pydantic import ValidationError

from querybus.bus.connection import Connected
from querybus.bus.requests.queue_group import Requests
from querybus.core.requests.set_up import SetUpReply, SetUpRequest
from querybus.core.subjects import SET_UP_INBOX, every_set_up_filter, set_up_subject
from querybus.ops.log import get_log

REPLY_SECONDS_MAX: Final = 60.0
"""A database that does not answer is given up after its own limits, which are shorter."""
SLOTS: Final = 4
DRAIN_SECONDS: Final = 2.0
_QUEUE: Final = "executor"

Answer = Callable[[str, SetUpRequest], Awaitable[SetUpReply]]
"""Token of the tenant, and the request."""

_log = get_log(__name__)


class SetUpClient:
    """The gateway's side."""

    def __init__(self, holder: Connected, *, seconds_max: float = REPLY_SECONDS_MAX) -> None:
        self._holder = holder
        self._seconds_max = seconds_max

    async def ask(self, tenant: str, request: SetUpRequest) -> SetUpReply:
        """Return the executor's reply; `away` where none answers in time."""
        connection = self._holder.connection
        inbox = f"{SET_UP_INBOX}.{connection.new_inbox().rpartition('.')[2]}"
        try:
            subscription = await connection.subscribe(inbox, max_msgs=1)
            try:
                await connection.publish(set_up_subject(tenant), request.model_dump_json().encode(), reply=inbox)
                message = await subscription.next_msg(self._seconds_max)
            finally:
                with suppress(nats.errors.Error):
                    await subscription.unsubscribe()
            if (message.headers or {}).get("Status") == "503":
                return SetUpReply(problem="away", detail="no executor is there")
            return SetUpReply.model_validate_json(message.data)
        except (nats.errors.Error, ValidationError, TimeoutError):
            return SetUpReply(problem="away", detail="no executor answered in time")


class SetUpServer:
    """The executor's side; one replica receives each request. A part."""

    def __init__(self, holder: Connected, answer: Answer) -> None:
        self.name = "set-up"
        self._holder = holder
        self._answer = answer
        self._requests = Requests(holder, every_set_up_filter(), queue=_QUEUE, handle=self._take, slots=SLOTS)

    async def start(self) -> None:
        await self._requests.start()

    async def drain(self) -> None:
        await self._requests.drain(DRAIN_SECONDS)

    async def ping(self) -> str | None:
        return None if self._requests.is_open else "not started"

    async def _take(self, message: Msg) -> None:
        tenant = message.subject.rpartition(".")[2]
        try:
            reply = await self._answer(tenant, SetUpRequest.model_validate_json(message.data))
        except ValidationError:
            reply = SetUpReply(problem="invalid", detail="not a request of this operation")
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - the caller must learn of it; the text may hold a secret
            _log.error("set_up.exception", error=type(error).__name__)
            reply = SetUpReply(problem="invalid", detail=f"it failed here: {type(error).__name__}")
        with suppress(nats.errors.Error):
            await self._holder.connection.publish(message.reply, reply.model_dump_json().encode())
