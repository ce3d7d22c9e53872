"""`/v1/batches`: submit, read, follow, cancel, run the failed items again."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent

from querybus.core.credential import Credential
from querybus.core.stored.batch import ITEMS_MAX
from querybus_gateway.http.events import SSE_RETRY_MS
from querybus_gateway.http.request import (
    KEY_HEADER,
    LAST_EVENT_HEADER,
    NOTHING_FOLLOWS,
    Caller,
    JsonResponse,
    NothingFollowsError,
    Ticket,
    UseCasesOf,
    after_event,
    answered,
    body_of,
    caller_of,
    gives,
    problem_response,
    streams,
    takes,
)
from querybus_gateway.problems import Problem, Refused
from querybus_gateway.public.resources import BatchItemsView, BatchItemView, BatchView, RepairingView
from querybus_gateway.use_cases.batches.batches import Batches, BatchRequest

router = APIRouter(prefix="/v1/batches", tags=["batches"])


@router.post("", status_code=202, responses=gives(BatchView, 202), openapi_extra=takes(BatchRequest, KEY_HEADER))
async def submit(request: Request, use_cases: UseCasesOf, credential: Caller) -> JSONResponse:
    """Submit many questions at once: 202 and where to look."""
    asked = await body_of(request, BatchRequest)
    key = request.headers.get("idempotency-key")
    result = await use_cases.batches.submit(asked, credential, idempotency_key=key)
    if isinstance(result, Problem):
        return problem_response(request, result)
    headers = {"Location": f"/v1/batches/{result['id']}"}
    if result.pop("idempotency_replayed", False):
        headers["Idempotency-Replayed"] = "true"
    return JsonResponse(result, 202, headers=headers)


@router.get("/{batch_id}", responses=gives(BatchItemsView))
async def show(
    request: Request,
    use_cases: UseCasesOf,
    batch_id: str,
    credential: Caller,
    offset: Annotated[int, Query(ge=0, le=ITEMS_MAX)] = 0,
) -> JSONResponse:
    """Return the batch with its items in their order, and the answers of those that have finished."""
    return answered(request, await use_cases.batches.read(batch_id, credential, offset=offset))


@router.post("/{batch_id}/cancel", status_code=202, responses=gives(BatchView, 202))
async def cancel(request: Request, use_cases: UseCasesOf, batch_id: str, credential: Caller) -> JSONResponse:
    """Cancel what has not finished."""
    return answered(request, await use_cases.batches.cancel(batch_id, credential), 202)


@router.post("/{batch_id}/retry", status_code=202, responses=gives(BatchView, 202))
async def retry(request: Request, use_cases: UseCasesOf, batch_id: str, credential: Caller) -> JSONResponse:
    """Ask the failed items of an ended batch again."""
    return answered(request, await use_cases.batches.run_again(batch_id, credential), 202)


@dataclass(frozen=True, slots=True)
class _Stream:
    """A stream that may be opened; refusals have been raised before it."""

    batches: Batches
    batch: str
    credential: Credential
    after: int


async def _reader(request: Request, use_cases: UseCasesOf, batch_id: str, ticket: Ticket = "") -> Credential:
    return await caller_of(request, use_cases, ticket=ticket, query_id=batch_id)


async def _stream_of(
    use_cases: UseCasesOf,
    batch_id: str,
    credential: Annotated[Credential, Depends(_reader)],
    after: Annotated[int, Depends(after_event)],
) -> _Stream:
    problem = await use_cases.batches.open_stream(batch_id, credential)
    if problem is not None:
        raise Refused(problem)
    if after and await use_cases.batches.has_ended(batch_id, credential, after):
        raise NothingFollowsError
    return _Stream(use_cases.batches, batch_id, credential, after)


@router.get(
    "/{batch_id}/events",
    response_class=EventSourceResponse,
    responses=streams(BatchItemView, RepairingView, BatchView) | NOTHING_FOLLOWS,
    openapi_extra={"parameters": [LAST_EVENT_HEADER]},
)
async def events(stream: Annotated[_Stream, Depends(_stream_of)]) -> AsyncIterator[ServerSentEvent]:
    """Follow the batch: `item` in the order of completion, `repairing` between; ends with `finished`."""
    retry_ms = SSE_RETRY_MS
    async with aclosing(stream.batches.stream(stream.batch, stream.credential, stream.after)) as frames:
        async for frame in frames:
            yield ServerSentEvent(
                event=frame.event,
                id=None if frame.sequence is None else str(frame.sequence),
                raw_data=json.dumps(frame.data, ensure_ascii=False, separators=(",", ":")),
                retry=retry_ms,
            )
            retry_ms = None
