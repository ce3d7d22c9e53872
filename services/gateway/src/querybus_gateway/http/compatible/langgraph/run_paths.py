"""`/runs` and `/threads/{id}/runs`: begin a run and follow it, wait for it, look at it, cancel it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any, Final, Literal

from fastapi import Query, Request, Response
from fastapi.responses import StreamingResponse

from querybus.core.credential import Credential
from querybus_gateway.http.compatible.langgraph.objects import Assistant, interrupts_of, run_of, run_status, values_of
from querybus_gateway.http.compatible.langgraph.requests import (
    BatchRequest,
    CancelRequest,
    RunRequest,
    modes_of,
    pagination_of,
)
from querybus_gateway.http.compatible.langgraph.routes import given, router_of, sse, thread_given, wanted_of
from querybus_gateway.http.compatible.langgraph.runs import Runs, Started, ended
from querybus_gateway.http.compatible.langgraph.stream import Run, error_of, frames, refusal_of, resume_point
from querybus_gateway.http.request import Caller, JsonResponse, UseCasesOf, links_base
from querybus_gateway.problems import Problem, ProblemCode, Refused
from querybus_gateway.use_cases.bundle import UseCases
from querybus_gateway.use_cases.resources import Reply

HEARTBEAT_SECONDS: Final = 15.0
AT_ONCE_SECONDS: Final = 1.0
"""Most runs end within this; a client learns of a longer one where it can find it again."""
RUN_SECONDS_MAX: Final = 700.0
"""A run is waited for longer than the longest deadline and what it takes to end it."""
Json = dict[str, Any]

router = router_of()
_cancelling: set[asyncio.Task[Any]] = set()


@router.post("/runs/stream")
async def stream_new(request: Request, use_cases: UseCasesOf, credential: Caller) -> Response:
    """Begin a run in a thread of its own, and stream it."""
    wanted = await wanted_of(request, RunRequest)
    return await _streamed(request, use_cases, credential, wanted, None)


@router.post("/threads/{thread_id}/runs/stream")
async def stream_in_thread(request: Request, use_cases: UseCasesOf, thread_id: str, credential: Caller) -> Response:
    """Begin a run in a thread, and stream it."""
    wanted = await wanted_of(request, RunRequest)
    return await _streamed(request, use_cases, credential, wanted, thread_id)


@router.post("/runs/wait")
async def wait_new(request: Request, use_cases: UseCasesOf, credential: Caller) -> Response:
    """Begin a run in a thread of its own, and return the state at its end."""
    runs = Runs(use_cases, credential, wait_seconds=AT_ONCE_SECONDS)
    started = given(await runs.begin(await wanted_of(request, RunRequest), None))
    return await _waited(request, use_cases, credential, started)


@router.post("/threads/{thread_id}/runs/wait")
async def wait_in_thread(request: Request, use_cases: UseCasesOf, thread_id: str, credential: Caller) -> Response:
    """Begin a run in a thread, and return the state at its end."""
    wanted = await wanted_of(request, RunRequest)
    runs = Runs(use_cases, credential, wait_seconds=AT_ONCE_SECONDS)
    started = thread_given(await runs.begin(wanted, thread_id), thread_id)
    return await _waited(request, use_cases, credential, started)


@router.post("/runs")
async def begin_new(request: Request, use_cases: UseCasesOf, credential: Caller) -> Response:
    """Begin a run in a thread of its own, and return it at once."""
    wanted = await wanted_of(request, RunRequest)
    return _begun(given(await Runs(use_cases, credential).begin(wanted, None, shows_page=False)))


@router.post("/threads/{thread_id}/runs")
async def begin_in_thread(request: Request, use_cases: UseCasesOf, thread_id: str, credential: Caller) -> Response:
    """Begin a run in a thread, and return it at once."""
    wanted = await wanted_of(request, RunRequest)
    started = await Runs(use_cases, credential).begin(wanted, thread_id, shows_page=False)
    return _begun(thread_given(started, thread_id))


@router.post("/runs/batch")
async def begin_batch(request: Request, use_cases: UseCasesOf, credential: Caller) -> Response:
    """Begin runs one after another, and return them; the first that is refused ends it with its problem."""
    wanted = await wanted_of(request, BatchRequest)
    runs = Runs(use_cases, credential)
    started = [given(await runs.begin(one, one.thread_id, shows_page=False)) for one in wanted.root]
    return JsonResponse([_run(one) for one in started])


@router.get("/threads/{thread_id}/runs")
async def list_runs(
    use_cases: UseCasesOf,
    thread_id: str,
    credential: Caller,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 10,
    offset: Annotated[int, Query(ge=0)] = 0,
    status: str | None = None,
) -> Response:
    """Return the runs of a thread, newest first."""
    turns = thread_given(await Runs(use_cases, credential).turns(thread_id), thread_id)
    runs = [run_of(turn, thread_id, Assistant()) for turn in reversed(turns)]
    chosen = [run for run in runs if status is None or run["status"] == status]
    return JsonResponse(chosen[offset : offset + limit])


@router.get("/threads/{thread_id}/runs/{run_id}")
async def show_run(use_cases: UseCasesOf, thread_id: str, run_id: str, credential: Caller) -> Response:
    """Return a run."""
    turn = await _turn(use_cases, credential, thread_id, run_id)
    return JsonResponse(run_of(turn, thread_id, Assistant()))


@router.delete("/threads/{thread_id}/runs/{run_id}")
async def delete_run(use_cases: UseCasesOf, thread_id: str, run_id: str, credential: Caller) -> Response:
    """Refuse: a run is part of its thread's log, which is deleted as a whole."""
    await _turn(use_cases, credential, thread_id, run_id)
    raise Refused(Problem(ProblemCode.NOT_CONFIRMABLE, "a run is deleted with its thread"))


@router.get("/threads/{thread_id}/runs/{run_id}/join")
async def join(request: Request, use_cases: UseCasesOf, thread_id: str, run_id: str, credential: Caller) -> Response:
    """Return the state at the end of a run, with the page of rows that `page` and `page_size` name."""
    started = await _find_run(request, use_cases, credential, thread_id, run_id)
    return await _waited(request, use_cases, credential, started)


@router.get("/threads/{thread_id}/runs/{run_id}/stream")
async def follow_in_thread(
    request: Request,
    use_cases: UseCasesOf,
    thread_id: str,
    run_id: str,
    credential: Caller,
    stream_mode: Annotated[list[str] | None, Query()] = None,
    cancel_on_disconnect: bool = False,
) -> Response:
    """Stream a run from its beginning, or behind `Last-Event-ID`."""
    started = await _find_run(request, use_cases, credential, thread_id, run_id)
    return stream_of(request, use_cases, credential, started, modes_of(stream_mode), cancels=cancel_on_disconnect)


@router.get("/runs/{run_id}/stream")
async def follow(
    request: Request,
    use_cases: UseCasesOf,
    run_id: str,
    credential: Caller,
    stream_mode: Annotated[list[str] | None, Query()] = None,
    cancel_on_disconnect: bool = False,
) -> Response:
    """Stream a run that has a thread of its own."""
    started = await _find_run(request, use_cases, credential, run_id, run_id)
    return stream_of(request, use_cases, credential, started, modes_of(stream_mode), cancels=cancel_on_disconnect)


@router.post("/threads/{thread_id}/runs/{run_id}/cancel")
async def cancel(
    use_cases: UseCasesOf,
    thread_id: str,
    run_id: str,
    credential: Caller,
    wait: bool = False,
    action: Literal["interrupt", "rollback"] = "interrupt",
) -> Response:
    """Cancel a run; 404 for one that has ended. What was logged stays, whatever the action."""
    del action
    await _turn(use_cases, credential, thread_id, run_id)
    found = await use_cases.queries.cancel(run_id, credential)
    if isinstance(found, Problem) and found.code is ProblemCode.ALREADY_FINISHED:
        raise Refused(Problem(ProblemCode.NOT_FOUND, f"Run {run_id} has ended already"))
    given(found)
    if wait:
        await ended(use_cases, run_id, credential, RUN_SECONDS_MAX)
    return Response(status_code=204 if wait else 202)


@router.post("/runs/cancel")
async def cancel_many(request: Request, use_cases: UseCasesOf, credential: Caller) -> Response:
    """Cancel the named runs, or those of a thread that have not ended."""
    wanted = await wanted_of(request, CancelRequest)
    named = list(wanted.run_ids or ())
    if wanted.thread_id is not None and not named:
        turns = thread_given(await Runs(use_cases, credential).turns(wanted.thread_id), wanted.thread_id)
        named = [turn["query_id"] for turn in turns if turn["status"] != "finished"]
    for run_id in named:
        await use_cases.queries.cancel(run_id, credential)
    return Response(status_code=204)


async def _streamed(
    request: Request, use_cases: UseCases, credential: Credential, wanted: RunRequest, thread: str | None
) -> Response:
    started = await Runs(use_cases, credential).begin(wanted, thread)
    started = given(started) if thread is None else thread_given(started, thread)
    cancels = wanted.on_disconnect == "cancel"
    return stream_of(
        request, use_cases, credential, started, wanted.modes, cancels=cancels, alone=thread is None, is_new=True
    )


def stream_of(
    request: Request,
    use_cases: UseCases,
    credential: Credential,
    started: Started,
    modes: tuple[str, ...],
    *,
    cancels: bool = False,
    alone: bool = False,
    is_new: bool = False,
    is_plain: bool = False,
) -> Response:
    """Return the stream of a run, behind what the request has seen of it; `is_plain`: without what begins and ends it."""
    query = started.reply.query_id
    seen = (-1, -1) if is_new else resume_point(request.headers.get("last-event-id", ""))
    if seen is None:
        raise Refused(Problem(ProblemCode.MALFORMED, "that is no event id of this stream"))
    run = Run(query, started.thread, started.assistant, modes, started.earlier, links_base(request), is_plain)
    path = f"/runs/{query}" if alone else f"/threads/{started.thread}/runs/{query}"
    # The client that resumes does not repeat its modes.
    asked = "&".join((*(f"stream_mode={mode}" for mode in modes), *([started.page.query_text] if started.page else ())))
    runs = Runs(use_cases, credential)

    async def followed() -> AsyncIterator[str]:
        try:
            events = partial(use_cases.queries.stream, run.query, credential)
            async for text in with_heartbeat(frames(run, events, partial(runs.end_of, page=started.page), seen)):
                yield text
        except asyncio.CancelledError:
            if cancels and not use_cases.queries.is_closing:
                task = asyncio.get_running_loop().create_task(use_cases.queries.cancel(query, credential))
                _cancelling.add(task)
                task.add_done_callback(_cancelling.discard)
            raise

    return sse(followed(), Location=f"{path}/stream?{asked}", Content_Location=path)


async def with_heartbeat(made: AsyncIterator[str]) -> AsyncIterator[str]:
    """Yield frames, and a comment whenever there is none for a while, so that nothing between closes the stream."""
    following = asyncio.ensure_future(anext(made, None))
    try:
        while True:
            done, _ = await asyncio.wait({following}, timeout=HEARTBEAT_SECONDS)
            if not done:
                yield ": heartbeat\n\n"
                continue
            if (text := following.result()) is None:
                return
            yield text
            following = asyncio.ensure_future(anext(made, None))
    finally:
        following.cancel()


async def _waited(request: Request, use_cases: UseCases, credential: Credential, started: Started) -> Response:
    query, path = started.reply.query_id, f"/threads/{started.thread}/runs/{started.reply.query_id}"
    base_url = links_base(request)
    page = f"?{started.page.query_text}" if started.page else ""
    headers = {"Location": f"{path}/join{page}", "Content-Location": path}
    runs = Runs(use_cases, credential)
    if started.reply.is_finished:
        return JsonResponse(await _end_state(started.reply, started, runs, base_url), headers=headers)

    async def body() -> AsyncIterator[str]:
        task = asyncio.ensure_future(ended(use_cases, query, credential, RUN_SECONDS_MAX))
        try:
            # White space before JSON means nothing, and keeps the connection open.
            while not (await asyncio.wait({task}, timeout=HEARTBEAT_SECONDS))[0]:
                yield "\n"
            yield json.dumps(await _end_state(task.result(), started, runs, base_url), ensure_ascii=False)
        finally:
            task.cancel()

    return StreamingResponse(body(), media_type="application/json", headers=headers)


async def _end_state(found: Reply | Problem, started: Started, runs: Runs, base_url: str) -> Json:
    if isinstance(found, Reply) and not found.is_finished:
        return {"__error__": {"error": "timeout", "message": "the run did not end in time"}}
    turn = found if isinstance(found, Problem) else await runs.end_of(found.resource["answer"], started.page)
    if isinstance(turn, Problem):
        return {"__error__": refusal_of(turn)}
    if run_status(turn) in ("error", "timeout"):
        return {"__error__": error_of(turn["answer"])}
    values = values_of((*started.earlier, turn), base_url)
    interrupts = interrupts_of(turn)
    return {**values, "__interrupt__": interrupts} if interrupts else values


def _run(started: Started) -> Json:
    resource = started.reply.resource
    question = (resource.get("answer") or {}).get("question", "")
    turn = {
        "query_id": started.reply.query_id,
        "question": question,
        "status": resource["status"],
        "outcome": (resource.get("answer") or {}).get("outcome"),
        "asked_at": resource["created_at"],
    }
    return run_of(turn, started.thread, started.assistant)


def _begun(started: Started) -> JsonResponse:
    path = f"/threads/{started.thread}/runs/{started.reply.query_id}"
    return JsonResponse(_run(started), headers={"Content-Location": path})


async def _turn(use_cases: UseCases, credential: Credential, thread: str, run: str) -> Json:
    turns = thread_given(await Runs(use_cases, credential).turns(thread), thread)
    found = next((turn for turn in turns if turn["query_id"] == run), None)
    if found is None:
        raise Refused(Problem(ProblemCode.NOT_FOUND, f"Run {run[:64]} not found"))
    return found


def _whole_number(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text


async def _find_run(request: Request, use_cases: UseCases, credential: Credential, thread: str, run: str) -> Started:
    names = [name for name in ("page", "page_size") if name in request.query_params]
    asked = {name: _whole_number(request.query_params[name]) for name in names} or None
    page = given(pagination_of(asked, "query"))
    reply = given(await use_cases.queries.read(run, credential))
    if reply.resource["thread_id"] != thread:
        raise Refused(Problem(ProblemCode.NOT_FOUND, f"Run {run[:64]} not found"))
    turns = thread_given(await Runs(use_cases, credential).turns(thread), thread)
    place = next((place for place, turn in enumerate(turns) if turn["query_id"] == run), len(turns))
    return Started(reply, Assistant(), turns[:place], page)
