"""The validator asks the executor for an EXPLAIN or a probe: request and reply, with slots of their own.

What is asked here never waits behind questions that run, nor they behind it. Nothing raises: a database that
cannot be asked is a Failure with the code `connection`, a question that came too late one with `timeout`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import nats.errors
from faststream.nats import NatsBroker
from faststream.nats.annotations import NatsMessage
from pydantic import ValidationError

from querybus.bus.connection import Connected
from querybus.core.failure import Failure, FailureCode
from querybus.core.rpc import ExplainReply, ExplainRequest, ProbeReply, ProbeRequest
from querybus.core.subjects import rpc_filter, rpc_subject, token
from querybus.ops.clock import Clock, system_clock
from querybus.ops.log import get_log

REPLY_MARGIN_SECONDS: Final = 0.25
"""What a reply may take on its way after the deadline has cut the work."""
_NOBODY_PAUSES_SECONDS: Final = (0.1, 0.3, 0.6)
"""Between requests that nobody heard; the last is repeated until the request's deadline."""
_QUEUE: Final = "executor"

Explain = Callable[[str, str, ExplainRequest], Awaitable[ExplainReply]]
Probe = Callable[[str, str, ProbeRequest], Awaitable[ProbeReply]]
"""Tokens of tenant and connection as they stand in the subject, and the request."""

RequestT = TypeVar("RequestT", bound=ExplainRequest)
ReplyT = TypeVar("ReplyT", ExplainReply, ProbeReply)

_log = get_log(__name__)


class DatabaseClient:
    """Asks whichever executor is free; tenant and connection are names."""

    def __init__(self, holder: Connected, *, clock: Clock = system_clock) -> None:
        self._holder = holder
        self._clock = clock

    async def explain(self, tenant: str, connection: str, request: ExplainRequest) -> ExplainReply:
        """Return what the engine says of the statement, before the request's deadline."""
        return await self._ask(rpc_subject(token(tenant), token(connection), "explain"), request, ExplainReply)

    async def probe(self, tenant: str, connection: str, request: ProbeRequest) -> ProbeReply:
        """Return the first rows of the statement, before the request's deadline."""
        return await self._ask(rpc_subject(token(tenant), token(connection), "probe"), request, ProbeReply)

    async def _ask(self, subject: str, request: ExplainRequest, reply: type[ReplyT]) -> ReplyT:
        data = request.model_dump_json().encode()
        unheard = 0
        while True:
            remaining = (request.deadline_at - self._clock()) / 1_000
            if remaining <= 0:
                late = Failure.of(FailureCode.TIMEOUT, "the deadline has passed")
                return reply(failure=Failure.of(FailureCode.CONNECTION, "no executor is there") if unheard else late)
            try:
                answer = await self._holder.connection.request(subject, data, timeout=remaining + REPLY_MARGIN_SECONDS)
                return reply.model_validate_json(answer.data)
            except nats.errors.NoRespondersError:
                # An executor that is being replaced is back in some seconds; without one nothing could run anyway.
                pause = _NOBODY_PAUSES_SECONDS[min(unheard, len(_NOBODY_PAUSES_SECONDS) - 1)]
                unheard += 1
                await asyncio.sleep(min(pause, remaining))
            except nats.errors.TimeoutError:
                return reply(failure=Failure.of(FailureCode.CONNECTION, "no executor answered in time"))
            except (nats.errors.Error, ValidationError) as error:
                return reply(failure=Failure.of(FailureCode.CONNECTION, f"no answer: {type(error).__name__}"))


def serve_database(
    broker: NatsBroker, *, explain: Explain, probe: Probe, slots: int, clock: Clock = system_clock
) -> DatabaseServer:
    """Return the part that answers `explain` and `probe`, each with `slots` places; more requests wait."""
    return DatabaseServer(broker, explain, probe, slots=slots, clock=clock)


class DatabaseServer:
    """The executor's side, as two FastStream subscribers in one queue group."""

    def __init__(self, broker: NatsBroker, explain: Explain, probe: Probe, *, slots: int, clock: Clock) -> None:
        self.name = "rpc-database"
        self._explain = explain
        self._probe = probe
        self._clock = clock
        self._opened = asyncio.Event()
        # Registered now, so that they stand in the AsyncAPI document; FastStream starts them with the broker.
        self._subscribers = [
            broker.subscriber(rpc_filter(operation), queue=_QUEUE, max_workers=slots, title=operation)
            for operation in ("explain", "probe")
        ]
        self._subscribers[0](self._answer_explain)
        self._subscribers[1](self._answer_probe)

    async def start(self) -> None:
        self._opened.set()

    async def drain(self) -> None:
        """Take no more requests and wait for those that run, within the broker's own limit."""
        for subscriber in self._subscribers:
            await subscriber.stop()
        self._opened.clear()

    async def ping(self) -> str | None:
        return None if self._opened.is_set() else "not started"

    async def _answer_explain(self, message: NatsMessage) -> bytes:
        return await self._answer(message, ExplainRequest, ExplainReply, self._explain)

    async def _answer_probe(self, message: NatsMessage) -> bytes:
        return await self._answer(message, ProbeRequest, ProbeReply, self._probe)

    async def _answer(
        self,
        message: NatsMessage,
        request_type: type[RequestT],
        reply_type: type[ReplyT],
        serve: Callable[[str, str, RequestT], Awaitable[ReplyT]],
    ) -> bytes:
        tenant, connection = message.raw_message.subject.split(".")[4:6]
        try:
            request = request_type.model_validate_json(message.body)
        except ValidationError:
            return _refusal(reply_type, FailureCode.INTERNAL, "not a request of this operation")
        remaining = (request.deadline_at - self._clock()) / 1_000
        if remaining <= 0:
            # It waited for a slot until nobody listened for the answer any more.
            return _refusal(reply_type, FailureCode.TIMEOUT, "the deadline has passed")
        try:
            async with asyncio.timeout(remaining):
                # The broker hears requests before the databases behind this part are open.
                await self._opened.wait()
                reply = await serve(tenant, connection, request)
        except TimeoutError:
            return _refusal(reply_type, FailureCode.TIMEOUT, "the deadline has passed")
        except Exception as error:  # noqa: BLE001 - the caller must hear of it, whatever it is
            _log.error("rpc.exception", error=type(error).__name__)
            return _refusal(reply_type, FailureCode.INTERNAL, type(error).__name__)
        return reply.model_dump_json().encode()


def _refusal(reply_type: type[ExplainReply] | type[ProbeReply], code: FailureCode, detail: str) -> bytes:
    return reply_type(failure=Failure.of(code, detail)).model_dump_json().encode()
