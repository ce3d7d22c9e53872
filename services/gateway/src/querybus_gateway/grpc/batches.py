"""`querybus.v1.BatchService`: submit, read, follow, cancel, run the failed items again; it only translates."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Final

from google.protobuf.message import Message

from querybus_gateway.admit import read
from querybus_gateway.grpc.call import GrpcCall, Method
from querybus_gateway.grpc.messages import message_of, options_json
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.batches.batches import BatchRequest
from querybus_gateway.use_cases.resources import Frame
from querybus_gateway.v1 import batch_service_pb2 as v1

_NEGATIVE: Final = Problem(ProblemCode.INVALID, "items are counted from 0")


async def submit_batch(request: v1.SubmitBatchRequest, call: GrpcCall) -> Message | Problem:
    """Keep a batch to be run."""
    wanted = read(json.dumps(_batch_json(request)).encode(), BatchRequest)
    if isinstance(wanted, Problem):
        return wanted
    result = await call.use_cases.batches.submit(wanted, call.credential, idempotency_key=call.idempotency_key)
    if isinstance(result, Problem):
        return result
    return v1.SubmitBatchResponse(batch=_batch(result), idempotency_replayed=bool(result.get("idempotency_replayed")))


async def get_batch(request: v1.GetBatchRequest, call: GrpcCall) -> Message | Problem:
    """Read a batch with its items."""
    if request.offset < 0:
        return _NEGATIVE
    result = await call.use_cases.batches.read(request.batch_id, call.credential, offset=request.offset)
    if isinstance(result, Problem):
        return result
    return message_of(v1.GetBatchResponse, result | {"batch": result})


async def follow_batch(request: v1.FollowBatchRequest, call: GrpcCall) -> AsyncGenerator[Message | Problem]:
    """Give each item as it finishes, then the totals."""
    batches = call.use_cases.batches
    problem = _NEGATIVE if request.after < 0 else await batches.open_stream(request.batch_id, call.credential)
    if problem is not None:
        yield problem
        return
    async with aclosing(batches.stream(request.batch_id, call.credential, request.after)) as frames:
        async for frame in frames:
            yield _update(frame)


async def cancel_batch(request: v1.CancelBatchRequest, call: GrpcCall) -> Message | Problem:
    """Cancel what has not finished."""
    result = await call.use_cases.batches.cancel(request.batch_id, call.credential)
    return result if isinstance(result, Problem) else v1.CancelBatchResponse(batch=_batch(result))


async def retry_batch(request: v1.RetryBatchRequest, call: GrpcCall) -> Message | Problem:
    """Ask the failed items again."""
    result = await call.use_cases.batches.run_again(request.batch_id, call.credential)
    return result if isinstance(result, Problem) else v1.RetryBatchResponse(batch=_batch(result))


BATCH_METHODS: Final[Mapping[str, Method]] = {
    "SubmitBatch": Method(v1.SubmitBatchRequest, submit_batch),
    "GetBatch": Method(v1.GetBatchRequest, get_batch),
    "FollowBatch": Method(v1.FollowBatchRequest, follow_batch, is_streaming=True),
    "CancelBatch": Method(v1.CancelBatchRequest, cancel_batch),
    "RetryBatch": Method(v1.RetryBatchRequest, retry_batch),
}


def _batch_json(request: v1.SubmitBatchRequest) -> Json:
    body: Json = {"items": [_item_json(item) for item in request.items], "options": options_json(request.options)}
    if request.HasField("connection"):
        body["connection"] = request.connection
    for name in ("concurrency", "deadline_seconds"):
        if getattr(request, name):
            body[name] = getattr(request, name)
    return body


def _item_json(item: v1.BatchQuestion) -> Json:
    body: Json = {field.name: value for field, value in item.ListFields() if field.name != "time_window"}
    if item.HasField("time_window"):
        body["time_window"] = {"start": item.time_window.start, "end": item.time_window.end}
    return body


def _batch(found: Json) -> v1.Batch:
    return message_of(v1.Batch, found)


def _update(frame: Frame) -> v1.FollowBatchResponse:
    return message_of(v1.FollowBatchResponse, {frame.event: frame.data})
