"""The paths: models, chat completions and responses, whole and streamed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from fastapi.routing import APIRoute

from querybus.core.credential import Credential
from querybus_gateway.admit import WAIT_SECONDS_MAX
from querybus_gateway.http.compatible.openai import replies
from querybus_gateway.http.compatible.openai.conversation import Asked, acting, asked_in, begin
from querybus_gateway.http.compatible.openai.requests import (
    MODEL,
    ChatRequest,
    Message,
    ResponsesRequest,
    connection_of,
    task_of,
    task_reply,
)
from querybus_gateway.http.request import Caller, JsonResponse, UseCasesOf, body_of
from querybus_gateway.problems import Problem, ProblemCode, Refused
from querybus_gateway.public.markdown import markdown
from querybus_gateway.use_cases.bundle import UseCases
from querybus_gateway.use_cases.resources import Reply

KEEP_ALIVE_SECONDS: Final = 10.0
_NOTHING_ASKED: Final = Problem(ProblemCode.QUESTION_EMPTY, "the last message of a user is the question")


class _OpenAiRoute(APIRoute):
    """Refusals in the shape that OpenAI's clients read."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await handle(request)
            except Refused as refused:
                return _refusal(refused.problem)

        return handled


router = APIRouter(prefix="/openai/v1", tags=["openai"], route_class=_OpenAiRoute, include_in_schema=False)


def _refusal(problem: Problem) -> JsonResponse:
    headers = {"Retry-After": str(problem.retry_after_seconds)} if problem.retry_after_seconds is not None else {}
    return JsonResponse(replies.error_body(problem), problem.status, headers=headers)


@router.get("/models")
async def models(use_cases: UseCasesOf, credential: Caller) -> Response:
    """Return one model for each connection of the caller, and one that finds the connection."""
    found = await use_cases.catalogs.connections(credential)
    if isinstance(found, Problem):
        return _refusal(found)
    names = [MODEL, *(f"{MODEL}/{one['name']}" for one in found["connections"])]
    return JsonResponse(
        {"object": "list", "data": [{"id": name, "object": "model", "created": 0, "owned_by": MODEL} for name in names]}
    )


@router.post("/chat/completions")
async def chat_completions(request: Request, use_cases: UseCasesOf, credential: Caller) -> Response:
    """Answer the last message of a conversation."""
    wanted = await body_of(request, ChatRequest)
    if (said := _by_rule(wanted.messages)) is not None:
        return _answered(wanted, "task", said, 0)
    asked = asked_in(wanted.messages, request.headers)
    if asked is None:
        return _refusal(_NOTHING_ASKED)
    work = _Work(
        use_cases, acting(credential, request.headers), asked, connection_of(wanted.model), str(request.base_url)
    )
    reply = await work.begun()
    if isinstance(reply, Problem):
        return _refusal(reply)
    if wanted.stream:
        return _sse(_chat_stream(work, reply, wanted))
    reply = await work.ended(reply)
    return _answered(wanted, reply.query_id, work.text(reply), _created(reply))


@router.post("/responses")
async def responses(request: Request, use_cases: UseCasesOf, credential: Caller) -> Response:
    """Answer an input; `previous_response_id` continues its thread."""
    wanted = await body_of(request, ResponsesRequest)
    previous = wanted.previous_response_id
    asked = asked_in(wanted.messages, request.headers, previous.removeprefix("resp_") if previous else None)
    if asked is None:
        return _refusal(_NOTHING_ASKED)
    work = _Work(
        use_cases, acting(credential, request.headers), asked, connection_of(wanted.model), str(request.base_url)
    )
    reply = await work.begun()
    if isinstance(reply, Problem):
        return _refusal(reply)
    if wanted.stream:
        return _sse(_response_stream(work, reply, wanted))
    reply = await work.ended(reply)
    return JsonResponse(replies.response(reply.query_id, wanted.model, _created(reply), work.text(reply), previous))


def _by_rule(messages: Sequence[Message]) -> str | None:
    """Return the reply to a front end's housekeeping, which never becomes a query; None for a question."""
    text = messages[-1].text
    task = task_of(text)
    return None if task is None else json.dumps(task_reply(task, text), ensure_ascii=False)


def _answered(wanted: ChatRequest, answer_id: str, text: str, created: int) -> Response:
    if not wanted.stream:
        return JsonResponse(replies.completion(answer_id, wanted.model, created, text))

    async def frames() -> AsyncIterator[str]:
        for one in _chat_frames(wanted, answer_id, text, created):
            yield one

    return _sse(frames())


def _chat_frames(wanted: ChatRequest, answer_id: str, text: str, created: int) -> list[str]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
        return replies.chunk(answer_id, wanted.model, created, delta, finish)

    frames = [chunk({"content": piece}) for piece in replies.pieces(text)]
    frames.append(chunk({}, "stop"))
    if wanted.stream_options is not None and wanted.stream_options.include_usage:
        head = {
            "id": f"chatcmpl-{answer_id}",
            "object": "chat.completion.chunk",
            "created": created,
            "model": wanted.model,
        }
        frames.append(replies.frame({**head, "choices": [], "usage": replies.NO_USAGE}))
    return [*frames, replies.frame("[DONE]")]


class _Work:
    """One question of one caller, from asking to its end."""

    def __init__(
        self, use_cases: UseCases, credential: Credential, asked: Asked, connection: str | None, base_url: str
    ) -> None:
        self._queries = use_cases.queries
        self._credential = credential
        self._asked = asked
        self._connection = connection
        self._base_url = base_url

    async def begun(self) -> Reply | Problem:
        """Ask, and return the query as it stands then."""
        return await begin(self._asked, self._connection, self._queries, self._credential, 0)

    async def ended(self, reply: Reply) -> Reply:
        """Return the query once it has finished, or as it stands at its deadline."""
        while not reply.is_finished:
            found = await self._queries.wait(reply.query_id, self._credential, WAIT_SECONDS_MAX)
            if isinstance(found, Problem):
                return reply
            reply = found
        return reply

    def text(self, reply: Reply) -> str:
        """Return the answer as Markdown."""
        return markdown(reply.resource, self._base_url)


async def _chat_stream(work: _Work, reply: Reply, wanted: ChatRequest) -> AsyncIterator[str]:
    created = _created(reply)
    yield replies.chunk(reply.query_id, wanted.model, created, {"role": "assistant", "content": ""})
    async for text in _awaited(work, reply):
        if text is None:
            yield ": waiting\n\n"
            continue
        for one in _chat_frames(wanted, reply.query_id, text, created):
            yield one


async def _response_stream(work: _Work, reply: Reply, wanted: ResponsesRequest) -> AsyncIterator[str]:
    created, previous = _created(reply), wanted.previous_response_id
    begun = replies.response(reply.query_id, wanted.model, created, None, previous)
    for number, kind in enumerate(("response.created", "response.in_progress")):
        yield replies.frame({"type": kind, "sequence_number": number, "response": begun}, kind)
    async for text in _awaited(work, reply):
        if text is None:
            yield ": waiting\n\n"
            continue
        for one in replies.response_events(reply.query_id, wanted.model, created, text, previous):
            yield one


async def _awaited(work: _Work, reply: Reply) -> AsyncIterator[str | None]:
    """Yield None while the answer is waited for, so that nothing between closes the stream, then its text."""
    task = asyncio.ensure_future(work.ended(reply))
    try:
        while True:
            done, _ = await asyncio.wait({task}, timeout=KEEP_ALIVE_SECONDS)
            if done:
                break
            yield None
        yield work.text(task.result())
    finally:
        task.cancel()


def _created(reply: Reply) -> int:
    return int(reply.resource.get("created_at") or 0) // 1_000


def _sse(frames: AsyncIterator[str]) -> StreamingResponse:
    return StreamingResponse(frames, media_type="text/event-stream", headers={"Cache-Control": "no-cache"})
