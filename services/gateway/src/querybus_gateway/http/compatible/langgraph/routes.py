"""What the paths of the LangGraph API share: bodies of any content type, and refusals in the shape its clients read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from fastapi.routing import APIRoute

from querybus_gateway.admit import read
from querybus_gateway.http.request import JsonResponse, RequestT, read_body
from querybus_gateway.problems import Problem, ProblemCode, Refused

STREAM_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class _LangGraphRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await handle(request)
            except Refused as refused:
                return refusal(refused.problem)
            except RequestValidationError as error:
                fault = error.errors()[0]
                return refusal(Problem(ProblemCode.INVALID, f"{fault['loc'][-1]}: {fault['msg']}"))

        return handled


def router_of(prefix: str = "") -> APIRouter:
    """Return a router whose refusals are `{"detail": ...}`."""
    return APIRouter(prefix=prefix, tags=["langgraph"], route_class=_LangGraphRoute, include_in_schema=False)


def refusal(problem: Problem) -> JsonResponse:
    """Return a problem as LangGraph's clients read it."""
    headers = {"Retry-After": str(problem.retry_after_seconds)} if problem.retry_after_seconds is not None else {}
    if problem.status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="querybus"'
    return JsonResponse({"detail": problem.detail or str(problem.code)}, problem.status, headers=headers)


def given(found: Any) -> Any:
    """Return what a use case found; Refused for a problem."""
    if isinstance(found, Problem):
        raise Refused(found)
    return found


def thread_given(found: Any, thread: str) -> Any:
    """Return what was found of a thread; Refused in the words that clients know where there is no such thread."""
    if isinstance(found, Problem) and found.code is ProblemCode.NOT_FOUND:
        raise Refused(Problem(ProblemCode.NOT_FOUND, f"Thread with ID {thread[:64]} not found"))
    return given(found)


async def wanted_of(request: Request, model: type[RequestT]) -> RequestT:
    """Return the request in a body; an empty one is an object without members."""
    body = await read_body(request, any_type=True)
    return given(read(body or b"{}", model))


def sse(frames: AsyncIterator[str], **headers: str) -> StreamingResponse:
    """Return a stream of frames."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return StreamingResponse(frames, media_type="text/event-stream; charset=utf-8", headers=STREAM_HEADERS | named)
