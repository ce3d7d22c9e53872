"""The gRPC API: `querybus.v1` with health and reflection on a listener of its own. Text only behind a proxy with TLS.

Limits: a request is at most REQUEST_BYTES_MAX, an answer RESPONSE_BYTES_MAX, and `calls_max` calls run at once; more
are refused with RESOURCE_EXHAUSTED. A connection is asked to come again after CONNECTION_AGE_SECONDS, so that callers
spread over new replicas. At the end health says NOT_SERVING and new calls are UNAVAILABLE, until none has come for a
moment; then the listener closes, and running calls have CLOSE_SECONDS_MAX.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, cast

import grpc
from google.protobuf.message import DecodeError
from grpc_health.v1 import health, health_pb2
from grpc_reflection.v1alpha import reflection

from querybus.ops.clock import RandomBits
from querybus.ops.trace import Tracing
from querybus_gateway.access.client_address import Proxies
from querybus_gateway.admit import BODY_BYTES_MAX
from querybus_gateway.grpc.batches import BATCH_METHODS
from querybus_gateway.grpc.call import CallHandler, Method
from querybus_gateway.grpc.connections import CONNECTION_METHODS
from querybus_gateway.grpc.queries import QUERY_METHODS
from querybus_gateway.grpc.threads import THREAD_METHODS
from querybus_gateway.use_cases.bundle import UseCases

REQUEST_BYTES_MAX: Final = BODY_BYTES_MAX
RESPONSE_BYTES_MAX: Final = 16 * 1_024 * 1_024
CLOSE_SECONDS_MAX: Final = 2.0
QUIET_SECONDS: Final = 0.2
"""The library ends a call that comes while it stops as CANCELLED, which says nothing to its caller; so none should."""
WATCHES_MAX: Final = 16
"""Health watches that are open at once; they need no key and would hold the places of calls."""
KEEPALIVE_SECONDS: Final = 15
CONNECTION_AGE_SECONDS: Final = 1_800
CONNECTION_GRACE_SECONDS: Final = 720
"""Longer than the longest stream, so that a connection that grows old cuts none."""

SERVICES: Final[Mapping[str, Mapping[str, Method]]] = {
    "querybus.v1.QueryService": QUERY_METHODS,
    "querybus.v1.ThreadService": THREAD_METHODS,
    "querybus.v1.BatchService": BATCH_METHODS,
    "querybus.v1.ConnectionService": CONNECTION_METHODS,
}
"""The methods of every service of the contract; a test holds them against the descriptors."""

_OPTIONS: Final = (
    ("grpc.max_receive_message_length", REQUEST_BYTES_MAX),
    ("grpc.max_send_message_length", RESPONSE_BYTES_MAX),
    ("grpc.max_connection_age_ms", CONNECTION_AGE_SECONDS * 1_000),
    ("grpc.max_connection_age_grace_ms", CONNECTION_GRACE_SECONDS * 1_000),
    # A caller whose network has gone is found out while its stream is silent.
    ("grpc.keepalive_time_ms", KEEPALIVE_SECONDS * 1_000),
    ("grpc.keepalive_timeout_ms", KEEPALIVE_SECONDS * 1_000),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    # Two gateways on one port would share its callers without anybody having said so.
    ("grpc.so_reuseport", 0),
)


class GrpcApi:
    """Serves the contract. A part."""

    def __init__(
        self,
        use_cases: UseCases,
        *,
        host: str,
        port: int,
        calls_max: int,
        tracing: Tracing,
        random_bits: RandomBits,
        on_listening: Callable[[str], None],
        trusted_proxies: str = "",
        without_key: Collection[str] = ("health", "reflection"),
    ) -> None:
        """`trusted_proxies`: addresses or networks, separated by commas, whose X-Forwarded-For is believed.

        `without_key`: which of `health` and `reflection` are served; both answer whoever asks.
        """
        self.name = "grpc"
        self._without_key = frozenset(without_key)
        self.address = ""
        self._host = f"[{host}]" if ":" in host else host
        self._port = port
        self._calls_max = calls_max
        self._on_listening = on_listening
        self._context = CallHandler(
            use_cases, tracing=tracing, random_bits=random_bits, proxies=Proxies(trusted_proxies)
        )
        self._health = cast("Any", health).aio.HealthServicer()
        self._server: Any = None
        self._watches = 0

    async def start(self) -> None:
        """Listen; OSError if the address is taken."""
        server: Any = cast("Any", grpc).aio.server(options=_OPTIONS, maximum_concurrent_rpcs=self._calls_max)
        for name, methods in SERVICES.items():
            handlers = {method: self._context.handler(value) for method, value in methods.items()}
            server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, handlers),))
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        if "health" in self._without_key:
            server.add_generic_rpc_handlers((self._health_handler(),))
        if "reflection" in self._without_key:
            reflection.enable_server_reflection((*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
        try:
            port = server.add_insecure_port(f"{self._host}:{self._port}")
        except RuntimeError as error:
            raise OSError(f"gRPC cannot listen at {self._host}:{self._port}") from error
        await server.start()
        self._server = server
        self.address = f"{self._host}:{port}"
        self._on_listening(self.address)

    async def drain(self) -> None:
        """Say NOT_SERVING, refuse new calls until none comes, give open ones CLOSE_SECONDS_MAX."""
        await self._health.enter_graceful_shutdown()
        if self._server is not None:
            await self._context.until_quiet(QUIET_SECONDS, seconds_max=CLOSE_SECONDS_MAX)
            await self._server.stop(grace=CLOSE_SECONDS_MAX)

    async def ping(self) -> str | None:
        return None if self._server is not None else "not listening"

    def _health_handler(self) -> Any:
        """Return the health service; a question that is no message is malformed here too, not an unknown error."""
        response: Any = health_pb2.HealthCheckResponse

        def taking(serve: Any) -> Any:
            async def handle(data: bytes, context: Any) -> Any:
                try:
                    request = health_pb2.HealthCheckRequest.FromString(data)
                except DecodeError:
                    await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the request is no message of this method")
                    raise
                return await serve(request, context)

            return handle

        async def watch_within(request: Any, context: Any) -> Any:
            # Nobody shows a key here: what stays open must not take the places of those who do.
            if self._watches >= WATCHES_MAX:
                await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many health watches; use Check")
            self._watches += 1
            try:
                return await self._health.Watch(request, context)
            finally:
                self._watches -= 1

        check, watch = taking(self._health.Check), taking(watch_within)
        handlers = {
            "Check": grpc.unary_unary_rpc_method_handler(check, response_serializer=response.SerializeToString),
            "Watch": grpc.unary_stream_rpc_method_handler(watch, response_serializer=response.SerializeToString),
        }
        return grpc.method_handlers_generic_handler(health.SERVICE_NAME, handlers)
