"""The paths: models, chat completions and responses, whole and streamed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from fastapi.routing import APIRoute

from querybus.core.credential import Credential
from querybus_gateway.admit import WAIT_SECONDS_MAX
from querybus_gateway.http.compatible.openai import replies
from querybus_gateway.http.compatible.openai.conversation import Asked, acting, asked_in, begin
from querybus_gateway.http.compatible.openai.housekeeping import Task, task_of, task_reply, values_of
from querybus_gateway.http.compatible.openai.requests import (
    MODEL,
    ChatRequest,
    ResponsesRequest,
    connection_of,
)
from querybus_gateway.http.request import Caller, JsonResponse, UseCasesOf, body_of, links_base
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
    if (task := task_of(wanted.messages[-1].text)) is not None:
        return _housekeeping(wanted, task)
    asked = asked_in(wanted.messages, request.headers)
    if asked is None:
        return _refusal(_NOTHING_ASKED)
    work = _Work(request, use_cases, credential)
    reply = await work.begun(asked, connection_of(wanted.model), streamed=wanted.stream)
    if isinstance(reply, Problem):
        return _refusal(reply)
    if wanted.stream:
        return _sse(_chat_stream(work, reply, wanted))
    reply = await work.ended(reply)
    return _answered(wanted, reply.query_id, await work.text(reply), _created(reply))


@router.post("/responses")
async def responses(request: Request, use_cases: UseCasesOf, credential: Caller) -> Response:
    """Answer an input; `previous_response_id` continues its thread."""
    wanted = await body_of(request, ResponsesRequest)
    previous = wanted.previous_response_id
    asked = asked_in(wanted.messages, request.headers, replies.query_named(previous) if previous else None)
    if asked is None:
        return _refusal(_NOTHING_ASKED)
    work = _Work(request, use_cases, credential)
    reply = await work.begun(asked, connection_of(wanted.model), streamed=wanted.stream)
    if isinstance(reply, Problem):
        return _refusal(reply)
    if wanted.stream:
        return _sse(_response_stream(work, reply, wanted.model, previous))
    reply = await work.ended(reply)
    return JsonResponse(
        replies.response(reply.query_id, wanted.model, _created(reply), await work.text(reply), previous)
    )


@router.get("/responses/{response_id}")
async def response(request: Request, response_id: str, use_cases: UseCasesOf, credential: Caller) -> Response:
    """Return a response as it stands; `stream=true&starting_after=N` takes up a stream that was cut."""
    work = _Work(request, use_cases, credential)
    reply = await work.known(response_id)
    if isinstance(reply, Problem):
        return _refusal(reply)
    if request.query_params.get("stream") == "true":
        return _sse(_response_stream(work, reply, MODEL, None, _number(request.query_params.get("starting_after", ""))))
    return JsonResponse(replies.response(reply.query_id, MODEL, _created(reply), await work.text_if_ended(reply), None))


@router.post("/responses/{response_id}/cancel")
async def cancel_response(request: Request, response_id: str, use_cases: UseCasesOf, credential: Caller) -> Response:
    """Cancel the question of a response, and return it as it stands then."""
    work = _Work(request, use_cases, credential)
    reply = await work.cancelled(response_id)
    if isinstance(reply, Problem):
        return _refusal(reply)
    return JsonResponse(replies.response(reply.query_id, MODEL, _created(reply), await work.text_if_ended(reply), None))


@router.get("/chat/completions/{completion_id}")
async def chat_completion(request: Request, completion_id: str, use_cases: UseCasesOf, credential: Caller) -> Response:
    """Return a chat completion whose stream was cut, once it has ended."""
    work = _Work(request, use_cases, credential)
    reply = await work.known(completion_id)
    if isinstance(reply, Problem):
        return _refusal(reply)
    reply = await work.ended(reply)
    return JsonResponse(replies.completion(reply.query_id, MODEL, _created(reply), await work.text(reply)))


def _housekeeping(wanted: ChatRequest, task: Task) -> Response:
    """Answer what a front end asks for besides questions; it never becomes a query."""
    text = wanted.messages[-1].text
    if (function := wanted.demanded_function) is not None and not wanted.stream:
        return JsonResponse(replies.function_call(wanted.model, function, values_of(task, text)))
    return _answered(wanted, "task", task_reply(task, text, as_json=wanted.wants_object), 0)


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

    def __init__(self, request: Request, use_cases: UseCases, credential: Credential) -> None:
        self._queries = use_cases.queries
        self._credential = acting(credential, request.headers)
        self._sign_in = use_cases.sign_in
        self._base_url = links_base(request)
        self._has_page = bool(request.app.state.has_page)

    async def begun(self, asked: Asked, connection: str | None, *, streamed: bool) -> Reply | Problem:
        """Ask, and return the query: for a stream as it stands at once, else once it has ended or waited long."""
        return await begin(asked, connection, self._queries, self._credential, 0 if streamed else WAIT_SECONDS_MAX)

    async def known(self, name: str) -> Reply | Problem:
        """Return the query that a response or a completion is the answer of."""
        return await self._queries.read(replies.query_named(name), self._credential)

    async def cancelled(self, name: str) -> Reply | Problem:
        """Cancel that query, and return it as it stands then: as it ended, if it had."""
        result = await self._queries.cancel(replies.query_named(name), self._credential)
        had_ended = isinstance(result, Problem) and result.code is ProblemCode.ALREADY_FINISHED
        return await self.known(name) if had_ended else result

    async def ended(self, reply: Reply) -> Reply:
        """Return the query once it has finished, or as it stands at its deadline."""
        while not reply.is_finished:
            found = await self._queries.wait(reply.query_id, self._credential, WAIT_SECONDS_MAX)
            if isinstance(found, Problem):
                return reply
            reply = found
        return reply

    async def text(self, reply: Reply) -> str:
        """Return the answer as Markdown; people's chat shows the picture, and the link leads them to the page."""
        query, thread = reply.query_id, reply.resource["thread_id"]
        link = f"{self._base_url}/#thread={thread}&answer={query}" if self._has_page else ""
        answer = reply.resource["answer"] if reply.is_finished else {}
        # A single figure stands in the sentence already.
        has_chart = bool(answer.get("chart")) and int(answer.get("row_count") or 0) > 1
        ticket = await self._sign_in.picture(query, self._credential) if has_chart else None
        picture = f"{self._base_url}/v1/queries/{query}/chart?format=png&ticket={ticket}" if ticket else ""
        return markdown(reply.resource, self._base_url, link=link, picture=picture)

    async def text_if_ended(self, reply: Reply) -> str | None:
        """Return the same, None while there is no answer yet."""
        return await self.text(reply) if reply.is_finished else None


async def _chat_stream(work: _Work, reply: Reply, wanted: ChatRequest) -> AsyncIterator[str]:
    created = _created(reply)
    yield replies.chunk(reply.query_id, wanted.model, created, {"role": "assistant", "content": ""})
    async for text in _awaited(work, reply):
        if text is None:
            yield ": waiting\n\n"
            continue
        for one in _chat_frames(wanted, reply.query_id, text, created):
            yield one


async def _response_stream(
    work: _Work, reply: Reply, model: str, previous: str | None, after: int = -1
) -> AsyncIterator[str]:
    """Yield the events of a response behind the one with the number `after`."""
    created = _created(reply)
    begun = replies.response(reply.query_id, model, created, None, previous)
    for number, kind in enumerate(("response.created", "response.in_progress")):
        if number > after:
            yield replies.frame({"type": kind, "sequence_number": number, "response": begun}, kind)
    async for text in _awaited(work, reply):
        if text is None:
            yield ": waiting\n\n"
            continue
        events = replies.response_events(reply.query_id, model, created, text, previous)
        for number, one in enumerate(events, replies.RESPONSE_EVENTS_BEFORE):
            if number > after:
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
        yield await work.text(task.result())
    finally:
        task.cancel()


def _number(text: str) -> int:
    """Return the number of an event as a client repeats it; -1, before all of them, for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1


def _created(reply: Reply) -> int:
    return int(reply.resource.get("created_at") or 0) // 1_000


def _sse(frames: AsyncIterator[str]) -> StreamingResponse:
    return StreamingResponse(frames, media_type="text/event-stream", headers={"Cache-Control": "no-cache"})
