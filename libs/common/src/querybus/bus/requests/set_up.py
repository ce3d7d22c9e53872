"""The gateway passes an owner's request on to the service that can do it: one request, one reply, nothing kept.

The executor tests and changes connections, the generator chat models. Each replies to inboxes of its own below that of the
gateway, so that it may publish there and to no other inbox of the gateway.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import nats.errors
from nats.aio.msg import Msg
from pydantic import ValidationError

from querybus.bus.connection import Connected
from querybus.bus.requests.queue_group import Requests
from querybus.core.requests.model_set_up import ModelReply, ModelRequest
from querybus.core.requests.set_up import OwnerReply, SetUpReply, SetUpRequest
from querybus.core.subjects import (
    MODEL_SET_UP_INBOX,
    SET_UP_INBOX,
    StageName,
    every_model_set_up_filter,
    every_set_up_filter,
    model_set_up_subject,
    set_up_subject,
)
from querybus.core.value import Value
from querybus.ops.log import get_log

REPLY_SECONDS_MAX: Final = 75.0
"""A database or model that does not answer is given up after its own limits, which are shorter."""
SLOTS: Final = 4
DRAIN_SECONDS: Final = 2.0
_RequestT = TypeVar("_RequestT", bound=Value)
_ReplyT = TypeVar("_ReplyT", bound=OwnerReply)

_log = get_log(__name__)


@dataclass(frozen=True, slots=True)
class Topic(Generic[_RequestT, _ReplyT]):
    """What owners may ask about: who serves it, at which subjects, with which types."""

    service: StageName
    inbox: str
    subject: Callable[[str], str]
    every: str
    request: type[_RequestT]
    reply: type[_ReplyT]


CONNECTIONS: Final = Topic(
    StageName.EXECUTOR, SET_UP_INBOX, set_up_subject, every_set_up_filter(), SetUpRequest, SetUpReply
)
MODELS: Final = Topic(
    StageName.GENERATOR, MODEL_SET_UP_INBOX, model_set_up_subject, every_model_set_up_filter(), ModelRequest, ModelReply
)


class SetUpClient(Generic[_RequestT, _ReplyT]):
    """The gateway's side."""

    def __init__(
        self, holder: Connected, topic: Topic[_RequestT, _ReplyT], *, seconds_max: float = REPLY_SECONDS_MAX
    ) -> None:
        self._holder = holder
        self._topic = topic
        self._seconds_max = seconds_max

    async def ask(self, tenant: str, request: _RequestT) -> _ReplyT:
        """Return the service's reply; `away` where none answers in time."""
        connection, topic = self._holder.connection, self._topic
        inbox = f"{topic.inbox}.{connection.new_inbox().rpartition('.')[2]}"
        try:
            subscription = await connection.subscribe(inbox, max_msgs=1)
            try:
                await connection.publish(topic.subject(tenant), request.model_dump_json().encode(), reply=inbox)
                message = await subscription.next_msg(self._seconds_max)
            finally:
                with suppress(nats.errors.Error):
                    await subscription.unsubscribe()
            if (message.headers or {}).get("Status") == "503":
                return topic.reply(problem="away", detail=f"no {topic.service} is there")
            return topic.reply.model_validate_json(message.data)
        except (nats.errors.Error, ValidationError, TimeoutError):
            return topic.reply(problem="away", detail=f"no {topic.service} answered in time")


class SetUpServer(Generic[_RequestT, _ReplyT]):
    """The side of the service; one replica receives each request. `answer` takes the tenant's token as well. A part."""

    def __init__(
        self,
        holder: Connected,
        topic: Topic[_RequestT, _ReplyT],
        answer: Callable[[str, _RequestT], Awaitable[_ReplyT]],
    ) -> None:
        self.name = "set-up"
        self._holder = holder
        self._topic = topic
        self._answer = answer
        self._requests = Requests(holder, topic.every, queue=topic.service, handle=self._take, slots=SLOTS)

    async def start(self) -> None:
        await self._requests.start()

    async def drain(self) -> None:
        await self._requests.drain(DRAIN_SECONDS)

    async def ping(self) -> str | None:
        return None if self._requests.is_open else "not started"

    async def _take(self, message: Msg) -> None:
        tenant = message.subject.rpartition(".")[2]
        try:
            reply = await self._answer(tenant, self._topic.request.model_validate_json(message.data))
        except ValidationError:
            reply = self._topic.reply(problem="invalid", detail="not a request of this operation")
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - the caller must learn of it; the text may hold a secret
            _log.error("set_up.exception", error=type(error).__name__)
            reply = self._topic.reply(problem="invalid", detail=f"it failed here: {type(error).__name__}")
        with suppress(nats.errors.Error):
            await self._holder.connection.publish(message.reply, reply.model_dump_json().encode())
