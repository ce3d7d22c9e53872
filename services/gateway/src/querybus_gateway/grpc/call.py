"""One gRPC call from bytes to bytes: who calls, what it is marked with, and what every refusal looks like.

Requests are taken as bytes and read here, because the library calls bytes that are no message an unknown error and
quotes them. A method gives messages or a Problem; nothing else ever reaches the caller.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Generator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Any, Final, NoReturn, cast

import grpc
from google.protobuf.message import DecodeError, Message
from grpc_status import rpc_status

from querybus.bus.log.publish import BusTrouble
from querybus.core.credential import Credential
from querybus.ops.clock import RandomBits
from querybus.ops.log import get_log
from querybus.ops.trace import Tracing
from querybus_gateway.access.client_address import Proxies
from querybus_gateway.access.credentials import presented_key
from querybus_gateway.access.request_ids import request_id
from querybus_gateway.grpc.errors import rich_status
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.use_cases.bundle import UseCases
from querybus_gateway.use_cases.queries import BUS_RETRY_SECONDS

_MALFORMED: Final = Problem(ProblemCode.MALFORMED, "the request is no message of this method")
_STOPPING: Final = Problem(ProblemCode.BUS_UNAVAILABLE, "this gateway stops: ask another one", retry_after_seconds=1)

_log = get_log(__name__)


@dataclass(frozen=True, slots=True)
class GrpcCall:
    """What a method knows of its call besides the request; `left_seconds` is None without a deadline.

    `on_disconnect` says what to do should the caller go away: work of its own, after the call has ended.
    """

    use_cases: UseCases
    credential: Credential
    metadata: Mapping[str, str]
    left_seconds: float | None
    on_disconnect: Callable[[Callable[[], Coroutine[Any, Any, object]]], None]

    @property
    def idempotency_key(self) -> str | None:
        """What the caller names its request by, to repeat it safely."""
        return self.metadata.get("idempotency-key")


Unary = Callable[[Any, GrpcCall], Awaitable[Message | Problem]]
Streaming = Callable[[Any, GrpcCall], AsyncGenerator[Message | Problem]]


@dataclass(frozen=True, slots=True)
class Method:
    """One rpc: the message that it takes, and what it does."""

    takes: type[Message]
    do: Unary | Streaming
    is_streaming: bool = False


@dataclass(frozen=True, slots=True)
class _Marks:
    """What a call is called in logs and answers."""

    request_id: str
    trace_id: str

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        return (("x-request-id", self.request_id), ("x-trace-id", self.trace_id))


class _Context:
    """grpc's context of a call, as far as it is used here, with types."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self.pairs: tuple[tuple[str, str], ...] = tuple(
            (key, value) for key, value in context.invocation_metadata() or () if isinstance(value, str)
        )
        self.metadata: Mapping[str, str] = dict(self.pairs)

    def source(self, proxies: Proxies) -> str:
        """Return the caller's address."""
        said = [str(value) for key, value in self._context.invocation_metadata() or () if key == "x-forwarded-for"]
        return proxies.source(str(self._context.peer()), said)

    def left_seconds(self) -> float | None:
        left = cast("float | None", self._context.time_remaining())
        # Without a deadline the library speaks of one hundreds of years away.
        return left if left is not None and left < 1e8 else None

    def mark(self, marks: _Marks) -> None:
        # In the trailing metadata: sent with the status, so that they cost no frame of their own.
        self._context.set_trailing_metadata(marks.metadata)

    async def refuse(self, problem: Problem, marks: _Marks) -> NoReturn:
        status = rpc_status.to_status(rich_status(problem, trace_id=marks.trace_id, request_id=marks.request_id))
        result = cast("Any", status)
        await self._context.abort(
            result.code, result.details, trailing_metadata=(*marks.metadata, *result.trailing_metadata)
        )
        raise AssertionError("abort raises")


class CallHandler:
    """Makes the handlers of the library out of methods."""

    def __init__(
        self, use_cases: UseCases, *, tracing: Tracing, random_bits: RandomBits, proxies: Proxies | None = None
    ) -> None:
        self._use_cases = use_cases
        self._proxies = proxies or Proxies("")
        self._tracing = tracing
        self._random_bits = random_bits
        self._leaving: set[asyncio.Task[Any]] = set()
        self._called_at = 0.0

    async def until_quiet(self, seconds: float, *, seconds_max: float) -> None:
        """Wait until no call has come for `seconds`, at most `seconds_max`."""
        loop = asyncio.get_running_loop()
        begun_at = loop.time()
        until = min(begun_at + seconds, begun_at + seconds_max)
        while (left := until - loop.time()) > 0:
            await asyncio.sleep(left)
            until = min(self._called_at + seconds, begun_at + seconds_max)

    def handler(self, method: Method) -> Any:
        """Return the library's handler of a method, for bytes both ways."""
        if method.is_streaming:
            return grpc.unary_stream_rpc_method_handler(self._streaming(method))
        return grpc.unary_unary_rpc_method_handler(self._unary(method))

    def _unary(self, method: Method) -> Any:
        do = cast("Unary", method.do)

        async def handle(data: bytes, grpc_context: Any) -> bytes:
            context = _Context(grpc_context)
            with self._marked(context) as marks, self._leave() as on_disconnect:
                try:
                    begun = await self._begun(method, data, context, on_disconnect)
                    result = begun if isinstance(begun, Problem) else await do(*begun)
                except Exception as error:  # noqa: BLE001 - the caller must learn of it, whatever it is
                    result = _problem_of(error)
                self._use_cases.count("grpc", result.status if isinstance(result, Problem) else 200)
                if isinstance(result, Problem):
                    await context.refuse(result, marks)
                return result.SerializeToString()

        return handle

    def _streaming(self, method: Method) -> Any:
        do = cast("Streaming", method.do)

        async def handle(data: bytes, grpc_context: Any) -> AsyncIterator[bytes]:
            context = _Context(grpc_context)
            with self._marked(context) as marks, self._leave() as on_disconnect:
                problem: Problem | None = None
                try:
                    begun = await self._begun(method, data, context, on_disconnect)
                    if isinstance(begun, Problem):
                        problem = begun
                    else:
                        async with aclosing(do(*begun)) as messages:
                            async for message in messages:
                                if isinstance(message, Problem):
                                    problem = message
                                    break
                                yield message.SerializeToString()
                except Exception as error:  # noqa: BLE001 - the caller must learn of it, whatever it is
                    problem = _problem_of(error)
                self._use_cases.count("grpc", problem.status if problem is not None else 200)
                if problem is not None:
                    await context.refuse(problem, marks)

        return handle

    async def _begun(
        self, method: Method, data: bytes, context: _Context, on_disconnect: Any
    ) -> tuple[Message, GrpcCall] | Problem:
        """Return the request and its call; whoever is nobody does not learn whether its bytes were a message."""
        self._called_at = asyncio.get_running_loop().time()
        if self._use_cases.queries.is_closing:
            return _STOPPING
        credential = await self._use_cases.callers.identify(presented_key(context.pairs), context.source(self._proxies))
        if isinstance(credential, Problem):
            return credential
        try:
            request = method.takes.FromString(data)
        except DecodeError:
            return _MALFORMED
        return request, GrpcCall(self._use_cases, credential, context.metadata, context.left_seconds(), on_disconnect)

    @contextmanager
    def _marked(self, context: _Context) -> Generator[_Marks]:
        with self._tracing.span("gateway", context.metadata) as span:
            trace_id = format(span.get_span_context().trace_id, "032x")
            marks = _Marks(request_id(context.metadata.get("x-request-id"), self._random_bits), trace_id)
            context.mark(marks)
            yield marks

    @contextmanager
    def _leave(self) -> Generator[Any]:
        """Do what the method asked for if its caller goes away, unless it is this API that closes."""
        wanted: list[Callable[[], Coroutine[Any, Any, object]]] = []
        try:
            yield wanted.append
        except (asyncio.CancelledError, GeneratorExit):
            for item in () if self._use_cases.queries.is_closing else wanted:
                # A task of its own: this one may await nothing more.
                task = asyncio.get_running_loop().create_task(item())
                self._leaving.add(task)
                task.add_done_callback(self._leaving.discard)
            raise


def _problem_of(error: Exception) -> Problem:
    if isinstance(error, BusTrouble):
        return Problem(ProblemCode.BUS_UNAVAILABLE, retry_after_seconds=BUS_RETRY_SECONDS)
    _log.error("grpc.exception", error=type(error).__name__)
    return Problem(ProblemCode.INTERNAL)
