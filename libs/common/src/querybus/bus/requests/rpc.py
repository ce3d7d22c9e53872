"""The validator asks the executor for an EXPLAIN or a probe: request and reply, with slots of their own.

What is asked here never waits behind questions that run, nor they behind it. An executor beats while it has a request;
one that falls silent has died, and the request is repeated until its deadline: an EXPLAIN and a read may run twice.
Nothing raises: a database that cannot be asked is a Failure with the code `connection`, a question that came too late or
got no place in time one with `expired`, and one whose statement ran until its deadline one with `timeout`.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from typing import Final, TypeVar

import nats.errors
from nats.aio.msg import Msg
from pydantic import ValidationError

from querybus.bus.connection import Connected
from querybus.bus.requests.queue_group import Requests
from querybus.core.failure import Failure, FailureCode
from querybus.core.requests.rpc import ExplainReply, ExplainRequest, ProbeReply, ProbeRequest
from querybus.core.subjects import rpc_filter, rpc_subject, token
from querybus.ops.clock import Clock, system_clock
from querybus.ops.log import get_log
from querybus.ops.run import end
from querybus.ops.trace import Tracing, carried

REPLY_MARGIN_SECONDS: Final = 0.25
"""What a reply may take on its way after the deadline has cut the work."""
BEAT_SECONDS: Final = 1.0
SILENT_SECONDS_MAX: Final = 3.5
"""After so long without a beat the executor that has the request is taken for dead."""
REQUESTS_MAX: Final = 1_024
DRAIN_SECONDS_MAX: Final = 10.0
_NOBODY_PAUSES_SECONDS: Final = (0.1, 0.3, 0.6)
"""Between requests that nobody received; the last is repeated until the request's deadline."""
_QUEUE: Final = "executor"
_BEAT: Final = b""

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
        unreceived = silent = 0
        while True:
            remaining = (request.deadline_at - self._clock()) / 1_000
            if remaining <= 0:
                if unreceived or silent:
                    detail = "no executor answered in time" if silent else "no executor is there"
                    return reply(failure=Failure.of(FailureCode.CONNECTION, detail))
                return reply(failure=Failure.of(FailureCode.EXPIRED, "the deadline has passed"))
            try:
                return reply.model_validate_json(await self._answer(subject, data, remaining + REPLY_MARGIN_SECONDS))
            except _Nobody:
                # An executor that is being replaced is back in some seconds; without one nothing could run anyway.
                pause = _NOBODY_PAUSES_SECONDS[min(unreceived, len(_NOBODY_PAUSES_SECONDS) - 1)]
                unreceived += 1
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
        received = self._calls[call] = asyncio.Queue[Msg]()
        try:
            async with asyncio.timeout(seconds):
                await self._holder.connection.publish(
                    subject, data, reply=f"{self._inbox}.{call}", headers=carried() or None
                )
                while True:
                    async with asyncio.timeout(self._silent_seconds_max):
                        message = await received.get()
                    if (message.headers or {}).get("Status") == "503":
                        raise _Nobody
                    if message.data != _BEAT:
                        return message.data
        finally:
            del self._calls[call]

    async def _listen(self) -> None:
        async with self._listening:
            if not self._inbox:
                inbox = self._holder.connection.new_inbox()
                await self._holder.connection.subscribe(f"{inbox}.*", cb=self._receive)
                self._inbox = inbox

    async def _receive(self, message: Msg) -> None:
        received = self._calls.get(message.subject.rpartition(".")[2])
        if received is not None:
            received.put_nowait(message)


def serve_database(
    holder: Connected,
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
    return DatabaseServer(holder, explain, probe, slots=slots, tracing=tracing, clock=clock)


class DatabaseServer:
    """The executor's side: two subjects in one queue group. Until it is started nobody receives, and the asker tries again."""

    def __init__(
        self,
        holder: Connected,
        explain: Explain,
        probe: Probe,
        *,
        slots: int,
        tracing: Tracing | None,
        clock: Clock,
    ) -> None:
        self.name = "rpc-database"
        self._holder = holder
        self._explain = explain
        self._probe = probe
        self._tracing = tracing
        self._clock = clock
        self._slots = slots
        # A connection whose database is away fills its own places only.
        self._places: dict[tuple[str, str], asyncio.Semaphore] = {}
        self._taken: set[str] = set()
        self._beating: asyncio.Task[None] | None = None
        self._requests = tuple(
            Requests(holder, rpc_filter(operation), queue=_QUEUE, handle=answer, slots=REQUESTS_MAX)
            for operation, answer in (("explain", self._answer_explain), ("probe", self._answer_probe))
        )

    async def start(self) -> None:
        self._beating = asyncio.get_running_loop().create_task(self._beat(), name=self.name)
        for requests in self._requests:
            await requests.start()

    async def drain(self) -> None:
        """Take no more requests and wait for those that run."""
        await asyncio.gather(*(requests.drain(DRAIN_SECONDS_MAX) for requests in self._requests))
        if self._beating is not None:
            await end(self._beating)

    async def ping(self) -> str | None:
        return None if all(requests.is_open for requests in self._requests) else "not started"

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            for inbox in tuple(self._taken):
                with suppress(nats.errors.Error):
                    await self._holder.connection.publish(inbox, _BEAT)

    async def _answer_explain(self, message: Msg) -> None:
        await self._reply(message, await self._take(message, "explain", ExplainRequest, ExplainReply, self._explain))

    async def _answer_probe(self, message: Msg) -> None:
        await self._reply(message, await self._take(message, "probe", ProbeRequest, ProbeReply, self._probe))

    async def _reply(self, message: Msg, answer: bytes) -> None:
        # Without a connection the asker receives silence and asks again.
        with suppress(nats.errors.Error):
            await self._holder.connection.publish(message.reply, answer)

    async def _take(
        self,
        message: Msg,
        operation: str,
        request_type: type[RequestT],
        reply_type: type[ReplyT],
        serve: Callable[[str, str, RequestT], Awaitable[ReplyT]],
    ) -> bytes:
        tenant, connection = message.subject.split(".")[4:6]
        try:
            request = request_type.model_validate_json(message.data)
        except ValidationError:
            return _refusal(reply_type, FailureCode.INTERNAL, "not a request of this operation")
        remaining = (request.deadline_at - self._clock()) / 1_000
        if remaining <= 0:
            # It was on its way until nobody listened for the answer any more.
            return _refusal(reply_type, FailureCode.EXPIRED, "the deadline has passed")
        inbox = message.reply
        has_place = False
        self._taken.add(inbox)
        try:
            places = self._places.setdefault((operation, connection), asyncio.Semaphore(self._slots))
            async with asyncio.timeout(remaining), places:
                has_place = True
                with self._tracing.span("executor", message.headers) if self._tracing else nullcontext():
                    reply = await serve(tenant, connection, request)
        except TimeoutError:
            code = FailureCode.TIMEOUT if has_place else FailureCode.EXPIRED
            return _refusal(reply_type, code, "the deadline has passed")
        except Exception as error:  # noqa: BLE001 - the caller must learn of it, whatever it is
            _log.error("rpc.exception", error=type(error).__name__)
            return _refusal(reply_type, FailureCode.INTERNAL, type(error).__name__)
        finally:
            self._taken.discard(inbox)
        return reply.model_dump_json().encode()


def _refusal(reply_type: type[ExplainReply] | type[ProbeReply], code: FailureCode, detail: str) -> bytes:
    return reply_type(failure=Failure.of(code, detail)).model_dump_json().encode()
