"""`/v1/queries/{id}/events`: a query's log as server-sent events, resumed by `Last-Event-ID` at any replica."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent

from querybus.core.credential import Credential
from querybus_gateway.http.request import (
    LAST_EVENT_HEADER,
    NOTHING_FOLLOWS,
    NothingFollowsError,
    Ticket,
    UseCasesOf,
    after_event,
    caller_of,
    streams,
)
from querybus_gateway.problems import Refused
from querybus_gateway.public.answer import EventView, ProgressView
from querybus_gateway.use_cases.queries import Queries

SSE_RETRY_MS: Final = 2_000

router = APIRouter(prefix="/v1/queries", tags=["events"])
_cancelling: set[asyncio.Task[Any]] = set()


async def _reader(
    request: Request,
    use_cases: UseCasesOf,
    query_id: str,
    ticket: Ticket = "",
) -> Credential:
    return await caller_of(request, use_cases, ticket=ticket, query_id=query_id)


_Reader = Annotated[Credential, Depends(_reader)]


@dataclass(frozen=True, slots=True)
class _Stream:
    """A stream of events that may be opened; refusals have been raised before it."""

    queries: Queries
    query: str
    credential: Credential
    after_sequence: int
    cancels: bool

    @property
    def is_left(self) -> bool:
        """Whether it is the reader that went away, and not this replica."""
        return not self.queries.is_closing


async def _stream_of(
    use_cases: UseCasesOf,
    query_id: str,
    credential: _Reader,
    after: Annotated[int, Depends(after_event)],
    on_disconnect: Annotated[Literal["cancel", "continue"], Query(description="what a lost reader means")] = "continue",
) -> _Stream:
    problem = await use_cases.queries.open_stream(query_id, credential)
    if problem is not None:
        raise Refused(problem)
    if after and await use_cases.queries.has_ended(query_id, credential, after):
        raise NothingFollowsError
    return _Stream(use_cases.queries, query_id, credential, after, on_disconnect == "cancel")


@router.get(
    "/{query_id}/events",
    response_class=EventSourceResponse,
    responses=streams(EventView, ProgressView) | NOTHING_FOLLOWS,
    openapi_extra={"parameters": [LAST_EVENT_HEADER]},
)
async def events(stream: Annotated[_Stream, Depends(_stream_of)]) -> AsyncIterator[ServerSentEvent]:
    """Follow the query: each stored event with its sequence as id, progress without; ends with `finished`."""
    queries, retry = stream.queries, SSE_RETRY_MS
    try:
        async with aclosing(queries.stream(stream.query, stream.credential, stream.after_sequence)) as frames:
            async for frame in frames:
                yield ServerSentEvent(
                    event=frame.event,
                    id=None if frame.sequence is None else str(frame.sequence),
                    raw_data=json.dumps(frame.data, ensure_ascii=False, separators=(",", ":")),
                    retry=retry,
                )
                retry = None
    except asyncio.CancelledError:
        if stream.cancels and stream.is_left:
            # A task of its own: this one may await nothing more.
            task = asyncio.get_running_loop().create_task(queries.cancel(stream.query, stream.credential))
            _cancelling.add(task)
            task.add_done_callback(_cancelling.discard)
        raise
