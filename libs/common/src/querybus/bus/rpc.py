"""The validator asks the executor for an EXPLAIN or a probe: request and reply, with slots of their own.

What is asked here never waits behind questions that run, nor they behind it. An executor beats while it has a request;
one that falls silent has died, and the request is repeated until its deadline: an EXPLAIN and a read may run twice.
Nothing raises: a database that cannot be asked is a Failure with the code `connection`, a question that came too late
one with `timeout`.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from typing import Final, TypeVar

import nats.errors
from faststream.nats import NatsBroker
from faststream.nats.annotations import NatsMessage
from nats.aio.msg import Msg
from pydantic import ValidationError

from querybus.bus.connection import Connected
from querybus.core.failure import Failure, FailureCode
from querybus.core.rpc import ExplainReply, ExplainRequest, ProbeReply, ProbeRequest
from querybus.core.subjects import rpc_filter, rpc_subject, token
from querybus.ops.clock import Clock, system_clock
from querybus.ops.log import get_log
from querybus.ops.trace import Tracing, carried

REPLY_MARGIN_SECONDS: Final = 0.25
"""What a reply may take on its way after the deadline has cut the work."""
BEAT_SECONDS: Final = 1.0
SILENT_SECONDS_MAX: Final = 3.5
"""After so long without a beat the executor that has the request is taken for dead."""
REQUESTS_MAX: Final = 1_024
DRAIN_SECONDS_MAX: Final = 10.0
_NOBODY_PAUSES_SECONDS: Final = (0.1, 0.3, 0.6)
"""Between requests that nobody heard; the last is repeated until the request's deadline."""
_QUEUE: Final = "executor"
_BEAT: Final = b""
_AWAY: Final = b"-"
"""The word of an executor that is starting or stopping; any answer is longer."""

Explain = Callable[[str, str, ExplainRequest], Awaitable[ExplainReply]]
Probe = Callable[[str, str, ProbeRequest], Awaitable[ProbeReply]]
"""Tokens of tenant and connection as they stand in the subject, and the request."""

RequestT = TypeVar("RequestT", bound=ExplainRequest)
ReplyT = TypeVar("ReplyT", ExplainReply, ProbeReply)

_log = get_log(__name__)


class _Nobody(Exception):
    """No executor takes the request just now."""


class DatabaseClient:
    """Asks whichever executor is free; tenant and connection are names."""

    def __init__(
        self, holder: Connected, *, clock: Clock = system_clock, silent_seconds_max: float = SILENT_SECONDS_MAX
    ) -> None:
        self._holder = holder
        self._clock = clock
        self._silent_seconds_max = silent_seconds_max
        self._inbox = ""
        self._listening = asyncio.Lock()
        self._numbers = itertools.count(1)
        self._calls: dict[str, asyncio.Queue[Msg]] = {}

    async def explain(self, tenant: str, connection: str, request: ExplainRequest) -> ExplainReply:
        """Return what the engine says of the statement, before the request's deadline."""
        return await self._ask(rpc_subject(token(tenant), token(connection), "explain"), request, ExplainReply)

    async def probe(self, tenant: str, connection: str, request: ProbeRequest) -> ProbeReply:
        """Return the first rows of the statement, before the request's deadline."""
        return await self._ask(rpc_subject(token(tenant), token(connection), "probe"), request, ProbeReply)

    async def _ask(self, subject: str, request: ExplainRequest, reply: type[ReplyT]) -> ReplyT:
        data = request.model_dump_json().encode()
        unheard = silent = 0
        while True:
            remaining = (request.deadline_at - self._clock()) / 1_000
            if remaining <= 0:
                if unheard or silent:
                    detail = "no executor answered in time" if silent else "no executor is there"
                    return reply(failure=Failure.of(FailureCode.CONNECTION, detail))
                return reply(failure=Failure.of(FailureCode.TIMEOUT, "the deadline has passed"))
            try:
                return reply.model_validate_json(await self._answer(subject, data, remaining + REPLY_MARGIN_SECONDS))
            except _Nobody:
                # An executor that is being replaced is back in some seconds; without one nothing could run anyway.
                pause = _NOBODY_PAUSES_SECONDS[min(unheard, len(_NOBODY_PAUSES_SECONDS) - 1)]
                unheard += 1
                await asyncio.sleep(min(pause, remaining))
            except TimeoutError:
                silent += 1
                _log.warning("rpc.silent", query_id=request.query_id)
            except (nats.errors.Error, ValidationError) as error:
                return reply(failure=Failure.of(FailureCode.CONNECTION, f"no answer: {type(error).__name__}"))

    async def _answer(self, subject: str, data: bytes, seconds: float) -> bytes:
        """Return the answer to one request; _Nobody if there is no executor, TimeoutError if it falls silent."""
        await self._listen()
        call = str(next(self._numbers))
        heard = self._calls[call] = asyncio.Queue[Msg]()
        try:
            async with asyncio.timeout(seconds):
                await self._holder.connection.publish(
                    subject, data, reply=f"{self._inbox}.{call}", headers=carried() or None
                )
                while True:
                    async with asyncio.timeout(self._silent_seconds_max):
                        message = await heard.get()
                    if message.data == _AWAY or (message.headers or {}).get("Status") == "503":
                        raise _Nobody
                    if message.data != _BEAT:
                        return message.data
        finally:
            del self._calls[call]

    async def _listen(self) -> None:
        async with self._listening:
            if not self._inbox:
                inbox = self._holder.connection.new_inbox()
                await self._holder.connection.subscribe(f"{inbox}.*", cb=self._hear)
                self._inbox = inbox

    async def _hear(self, message: Msg) -> None:
        heard = self._calls.get(message.subject.rpartition(".")[2])
        if heard is not None:
            heard.put_nowait(message)


def serve_database(
    broker: NatsBroker,
    *,
    explain: Explain,
    probe: Probe,
    slots: int,
    tracing: Tracing | None = None,
    clock: Clock = system_clock,
) -> DatabaseServer:
    """Return the part that answers `explain` and `probe`, with `slots` places for each and each connection.

    More requests wait. The validator asks for connections that exist only, so their number bounds the places.
    """
    return DatabaseServer(broker, explain, probe, slots=slots, tracing=tracing, clock=clock)


class DatabaseServer:
    """The executor's side, as two FastStream subscribers in one queue group."""

    def __init__(
        self,
        broker: NatsBroker,
        explain: Explain,
        probe: Probe,
        *,
        slots: int,
        tracing: Tracing | None,
        clock: Clock,
    ) -> None:
        self.name = "rpc-database"
        self._broker = broker
        self._explain = explain
        self._probe = probe
        self._tracing = tracing
        self._clock = clock
        self._is_open = False
        self._slots = slots
        # A connection whose database is away fills its own places only.
        self._places: dict[tuple[str, str], asyncio.Semaphore] = {}
        self._taken: set[str] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._beating: asyncio.Task[None] | None = None
        # Registered now, so that they stand in the AsyncAPI document; FastStream starts them with the broker.
        self._subscribers = [
            broker.subscriber(rpc_filter(operation), queue=_QUEUE, max_workers=REQUESTS_MAX, title=operation)
            for operation in ("explain", "probe")
        ]
        self._subscribers[0](self._answer_explain)
        self._subscribers[1](self._answer_probe)

    async def start(self) -> None:
        self._is_open = True
        self._beating = asyncio.get_running_loop().create_task(self._beat(), name=self.name)

    async def drain(self) -> None:
        """Take no more requests and wait for those that run."""
        self._is_open = False
        for subscriber in self._subscribers:
            await subscriber.stop()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), DRAIN_SECONDS_MAX)
        if self._beating is not None:
            self._beating.cancel()
            with suppress(asyncio.CancelledError):
                await self._beating

    async def ping(self) -> str | None:
        return None if self._is_open else "not started"

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            for inbox in tuple(self._taken):
                with suppress(nats.errors.Error):
                    await self._broker.connection.publish(inbox, _BEAT)

    async def _answer_explain(self, message: NatsMessage) -> bytes:
        return await self._take(message, "explain", ExplainRequest, ExplainReply, self._explain)

    async def _answer_probe(self, message: NatsMessage) -> bytes:
        return await self._take(message, "probe", ProbeRequest, ProbeReply, self._probe)

    async def _take(
        self,
        message: NatsMessage,
        operation: str,
        request_type: type[RequestT],
        reply_type: type[ReplyT],
        serve: Callable[[str, str, RequestT], Awaitable[ReplyT]],
    ) -> bytes:
        if not self._is_open:
            # The broker hears requests before the databases behind this part are open: another executor may have them.
            return _AWAY
        tenant, connection = message.raw_message.subject.split(".")[4:6]
        try:
            request = request_type.model_validate_json(message.body)
        except ValidationError:
            return _refusal(reply_type, FailureCode.INTERNAL, "not a request of this operation")
        remaining = (request.deadline_at - self._clock()) / 1_000
        if remaining <= 0:
            # It was on its way until nobody listened for the answer any more.
            return _refusal(reply_type, FailureCode.TIMEOUT, "the deadline has passed")
        inbox = message.raw_message.reply
        self._taken.add(inbox)
        self._idle.clear()
        try:
            places = self._places.setdefault((operation, connection), asyncio.Semaphore(self._slots))
            async with asyncio.timeout(remaining), places:
                with self._tracing.span("executor", message.headers) if self._tracing else nullcontext():
                    reply = await serve(tenant, connection, request)
        except TimeoutError:
            return _refusal(reply_type, FailureCode.TIMEOUT, "the deadline has passed")
        except Exception as error:  # noqa: BLE001 - the caller must hear of it, whatever it is
            _log.error("rpc.exception", error=type(error).__name__)
            return _refusal(reply_type, FailureCode.INTERNAL, type(error).__name__)
        finally:
            self._taken.discard(inbox)
            if not self._taken:
                self._idle.set()
        return reply.model_dump_json().encode()


def _refusal(reply_type: type[ExplainReply] | type[ProbeReply], code: FailureCode, detail: str) -> bytes:
    return reply_type(failure=Failure.of(code, detail)).model_dump_json().encode()
