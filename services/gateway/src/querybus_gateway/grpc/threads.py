"""`querybus.v1.ThreadService`: list, state, turns, events, fork, delete; it only translates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from google.protobuf.message import Message

from querybus_gateway.grpc.call import GrpcCall, Method
from querybus_gateway.grpc.messages import event_message, message_of
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.v1 import thread_service_pb2 as v1

_NEGATIVE: Final = Problem(ProblemCode.INVALID, "sequences and sizes are whole numbers from 0 on")


async def list_threads(request: v1.ListThreadsRequest, call: GrpcCall) -> Message | Problem:
    """List the caller's threads."""
    if request.page_size < 0:
        return _NEGATIVE
    result = await call.use_cases.threads.list(call.credential, **_sized(request.page_size), cursor=request.page_token)
    if isinstance(result, Problem):
        return result
    return message_of(v1.ListThreadsResponse, result | {"next_page_token": result["next_cursor"]})


async def get_thread(request: v1.GetThreadRequest, call: GrpcCall) -> Message | Problem:
    """Read a thread at one of its events."""
    if request.at_sequence < 0:
        return _NEGATIVE
    result = await call.use_cases.threads.state(request.thread_id, call.credential, at_sequence=request.at_sequence)
    if isinstance(result, Problem):
        return result
    return message_of(v1.GetThreadResponse, result)


async def list_turns(request: v1.ListTurnsRequest, call: GrpcCall) -> Message | Problem:
    """Read the newest turns."""
    if request.page_size < 0 or request.before_sequence < 0:
        return _NEGATIVE
    result = await call.use_cases.threads.turns(
        request.thread_id, call.credential, **_sized(request.page_size), before_sequence=request.before_sequence
    )
    if isinstance(result, Problem):
        return result
    return message_of(v1.ListTurnsResponse, result)


async def list_thread_events(request: v1.ListThreadEventsRequest, call: GrpcCall) -> Message | Problem:
    """Read events behind a sequence."""
    if request.page_size < 0 or request.after_sequence < 0:
        return _NEGATIVE
    result = await call.use_cases.threads.events(
        request.thread_id, call.credential, **_sized(request.page_size), after_sequence=request.after_sequence
    )
    if isinstance(result, Problem):
        return result
    return v1.ListThreadEventsResponse(
        thread_id=result["thread_id"],
        events=[event_message(event, event["sequence"]) for event in result["events"]],
        next_after_sequence=result["next_after"],
    )


async def fork_thread(request: v1.ForkThreadRequest, call: GrpcCall) -> Message | Problem:
    """Begin a new thread at a place of this one."""
    if request.at_sequence < 0:
        return _NEGATIVE
    result = await call.use_cases.threads.fork(
        request.thread_id,
        call.credential,
        at_sequence=request.at_sequence,
        query_id=request.query_id if request.WhichOneof("at") == "query_id" else None,
    )
    return result if isinstance(result, Problem) else v1.ForkThreadResponse(thread=message_of(v1.Thread, result))


async def delete_thread(request: v1.DeleteThreadRequest, call: GrpcCall) -> Message | Problem:
    """Delete a thread."""
    return await call.use_cases.threads.delete(request.thread_id, call.credential) or v1.DeleteThreadResponse()


THREAD_METHODS: Final[Mapping[str, Method]] = {
    "ListThreads": Method(v1.ListThreadsRequest, list_threads),
    "GetThread": Method(v1.GetThreadRequest, get_thread),
    "ListTurns": Method(v1.ListTurnsRequest, list_turns),
    "ListThreadEvents": Method(v1.ListThreadEventsRequest, list_thread_events),
    "ForkThread": Method(v1.ForkThreadRequest, fork_thread),
    "DeleteThread": Method(v1.DeleteThreadRequest, delete_thread),
}


def _sized(page_size: int) -> dict[str, Any]:
    return {"limit": page_size} if page_size else {}
