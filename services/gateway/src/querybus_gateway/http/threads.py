"""`/v1/threads`: list, turns, events, the state at any earlier event, fork, delete."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from querybus_gateway.http.request import (
    Caller,
    JsonResponse,
    UseCasesOf,
    answered,
    body_of,
    gives,
    problem_response,
    takes,
)
from querybus_gateway.problems import Problem
from querybus_gateway.public.resources import ThreadEventsView, ThreadStateView, ThreadsView, ThreadView, TurnsView
from querybus_gateway.use_cases.threads import EVENTS_MAX, LISTED_MAX, TURNS_MAX

router = APIRouter(prefix="/v1/threads", tags=["threads"])

_SEQUENCE_MAX = 2**63 - 1
Sequence = Annotated[int, Query(ge=0, le=_SEQUENCE_MAX)]


class ForkRequest(BaseModel):
    """From an event, or from the end of a turn; of neither, from where the thread stands."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    at_sequence: int = Field(default=0, ge=0, le=_SEQUENCE_MAX)
    query_id: str | None = Field(default=None, max_length=64)


@router.get("", responses=gives(ThreadsView))
async def list_threads(
    request: Request,
    use_cases: UseCasesOf,
    credential: Caller,
    limit: Annotated[int, Query(ge=1, le=LISTED_MAX)] = 20,
    cursor: Annotated[str, Query(max_length=20)] = "",
) -> JSONResponse:
    """Return the caller's threads, those that began last first."""
    return answered(request, await use_cases.threads.list(credential, limit=limit, cursor=cursor))


@router.get("/{thread_id}", responses=gives(ThreadStateView))
async def state(
    request: Request, use_cases: UseCasesOf, thread_id: str, credential: Caller, at: Sequence = 0
) -> JSONResponse:
    """Return the thread as it stands, or as it stood once the event at this sequence was stored."""
    return answered(request, await use_cases.threads.state(thread_id, credential, at_sequence=at))


@router.get("/{thread_id}/turns", responses=gives(TurnsView))
async def turns(
    request: Request,
    use_cases: UseCasesOf,
    thread_id: str,
    credential: Caller,
    limit: Annotated[int, Query(ge=1, le=TURNS_MAX)] = 20,
    before: Sequence = 0,
) -> JSONResponse:
    """Return the thread's newest turns before a sequence, oldest first."""
    return answered(request, await use_cases.threads.turns(thread_id, credential, limit=limit, before_sequence=before))


@router.get("/{thread_id}/events", responses=gives(ThreadEventsView))
async def events(
    request: Request,
    use_cases: UseCasesOf,
    thread_id: str,
    credential: Caller,
    after: Sequence = 0,
    limit: Annotated[int, Query(ge=1, le=EVENTS_MAX)] = EVENTS_MAX,
) -> JSONResponse:
    """Return every event of the thread behind a sequence, oldest first."""
    return answered(request, await use_cases.threads.events(thread_id, credential, after_sequence=after, limit=limit))


@router.post("/{thread_id}/fork", status_code=201, responses=gives(ThreadView, 201), openapi_extra=takes(ForkRequest))
async def fork(request: Request, use_cases: UseCasesOf, thread_id: str, credential: Caller) -> JSONResponse:
    """Begin a new thread that knows this one up to an event or a turn."""
    wanted = await body_of(request, ForkRequest)
    result = await use_cases.threads.fork(
        thread_id, credential, at_sequence=wanted.at_sequence, query_id=wanted.query_id
    )
    if isinstance(result, Problem):
        return problem_response(request, result)
    return JsonResponse(result, 201, headers={"Location": f"/v1/threads/{result['thread_id']}"})


@router.delete("/{thread_id}", status_code=204)
async def delete(request: Request, use_cases: UseCasesOf, thread_id: str, credential: Caller) -> Response:
    """Delete the thread: log, history, pages, answers; 409 while one of its questions runs."""
    result = await use_cases.threads.delete(thread_id, credential)
    return Response(status_code=204) if result is None else problem_response(request, result)
