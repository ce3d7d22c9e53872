"""A caller of the gRPC API, made from the contract's descriptors: what a generated stub of any language does."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf.message import Message
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from querybus_gateway.grpc.server import SERVICES, GrpcApi
from querybus_gateway.v1 import (
    batch_service_pb2,
    connection_service_pb2,
    query_pb2,
    query_service_pb2,
    thread_service_pb2,
)

from .stack_of_tests import ApiStack, key_of

CALL_SECONDS = 60.0
MODULES: tuple[Any, ...] = (
    query_pb2,
    query_service_pb2,
    thread_service_pb2,
    batch_service_pb2,
    connection_service_pb2,
)


def method_of(name: str) -> tuple[str, Any]:
    """Return the path and the descriptor of a method."""
    for module in MODULES:
        for service in module.DESCRIPTOR.services_by_name.values():
            if name in service.methods_by_name:
                return f"/{service.full_name}/{name}", service.methods_by_name[name]
    raise KeyError(name)


def message_class(descriptor: Any) -> Any:
    return next(getattr(module, descriptor.name) for module in MODULES if hasattr(module, descriptor.name))


@dataclass
class Refusal(Exception):
    """What came instead of an answer, with the details that a caller reads."""

    code: grpc.StatusCode
    details: str
    metadata: Mapping[str, str]
    info: Any = None
    violations: tuple[Any, ...] = ()
    retry_seconds: int | None = None
    request_id: str = ""

    @property
    def reason(self) -> str:
        return self.info.reason.lower() if self.info is not None else ""


def refusal_of(error: Any) -> Refusal:
    metadata = {key: value for key, value in error.trailing_metadata() if isinstance(value, str)}
    result = Refusal(error.code(), error.details(), metadata)
    # The library's own function takes both kinds of calls, its types only one.
    status: Any = rpc_status.from_call(error)
    for item in status.details if status is not None else ():
        for kind in ("ErrorInfo", "BadRequest", "RetryInfo", "RequestInfo"):
            detail: Any = getattr(error_details_pb2, kind)()
            if not item.Unpack(detail):
                continue
            if kind == "ErrorInfo":
                result.info = detail
            elif kind == "BadRequest":
                result.violations = tuple(detail.field_violations)
            elif kind == "RetryInfo":
                result.retry_seconds = detail.retry_delay.seconds
            else:
                result.request_id = detail.request_id
    return result


class GrpcCaller:
    """Calls methods by their names."""

    def __init__(self, channel: Any, key: str | None) -> None:
        self.channel = channel
        self.key = key
        self.metadata: Mapping[str, str] = {}

    def _metadata(self, more: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        own = {"authorization": f"Bearer {self.key}"} if self.key is not None else {}
        return tuple((own | dict(more)).items())

    async def call(self, name: str, request: Message, *, timeout: float = CALL_SECONDS, **metadata: str) -> Any:
        """Return the response of a unary method, with the trailing metadata in `self.metadata`; raises Refusal."""
        path, descriptor = method_of(name)
        response = message_class(descriptor.output_type)
        data = await self.raw(path, request.SerializeToString(), timeout=timeout, **metadata)
        return response.FromString(data)

    async def raw(self, path: str, data: bytes, *, timeout: float = CALL_SECONDS, **metadata: str) -> bytes:
        named = {name.replace("_", "-"): value for name, value in metadata.items()}
        call = self.channel.unary_unary(path)(data, metadata=self._metadata(named), timeout=timeout)
        try:
            answer = await call
        except grpc.aio.AioRpcError as error:
            raise refusal_of(error) from None
        self.metadata = dict(await call.trailing_metadata())
        return answer

    def begin(self, name: str, request: Message, *, timeout: float = CALL_SECONDS, **metadata: str) -> Any:
        """Return the running call of a streaming method."""
        path, descriptor = method_of(name)
        response = message_class(descriptor.output_type)
        named = {name.replace("_", "-"): value for name, value in metadata.items()}
        method = self.channel.unary_stream(path, response_deserializer=response.FromString)
        return method(request.SerializeToString(), metadata=self._metadata(named), timeout=timeout)

    async def stream(self, name: str, request: Message, **more: Any) -> AsyncIterator[Any]:
        """Give what a streaming method sends; raises Refusal."""
        try:
            async for item in self.begin(name, request, **more):
                yield item
        except grpc.aio.AioRpcError as error:
            raise refusal_of(error) from None


def grpc_address(stack: ApiStack) -> str:
    return next(part.address for part in stack.gateway.parts if isinstance(part, GrpcApi))


@asynccontextmanager
async def grpc_caller(
    stack: ApiStack, tenant: str = "acme", credential: str = "web", *, key: str | None = None
) -> AsyncGenerator[GrpcCaller]:
    async with grpc.aio.insecure_channel(grpc_address(stack)) as channel:
        yield GrpcCaller(channel, key if key is not None else key_of(tenant, credential))


def question(text: str = "How many customers?", connection: str = "shop", **more: Any) -> query_service_pb2.Question:
    return query_service_pb2.Question(question=text, connection=connection, **more)


ALL_METHODS = tuple(
    (f"/{service}/{name}", method) for service, methods in SERVICES.items() for name, method in methods.items()
)
