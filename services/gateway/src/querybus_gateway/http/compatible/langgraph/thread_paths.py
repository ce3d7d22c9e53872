"""`/threads`: make, find, describe, copy and delete them; their state and its history."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from fastapi import Request, Response

from querybus.core.credential import Credential
from querybus_gateway.http.compatible.langgraph.checkpoints import sequence_of
from querybus_gateway.http.compatible.langgraph.objects import empty_state, states_of, thread_of
from querybus_gateway.http.compatible.langgraph.requests import (
    Checkpoint,
    Config,
    HistoryRequest,
    MetadataRequest,
    PruneRequest,
    SearchRequest,
    StateCheckpointRequest,
    ThreadRequest,
)
from querybus_gateway.http.compatible.langgraph.routes import given, router_of, thread_given, wanted_of
from querybus_gateway.http.compatible.langgraph.runs import Runs
from querybus_gateway.http.request import Caller, JsonResponse, UseCasesOf, links_base
from querybus_gateway.problems import Problem, ProblemCode, Refused
from querybus_gateway.public.resources import DescribedThreadView
from querybus_gateway.use_cases.bundle import UseCases
from querybus_gateway.use_cases.threads import LISTED_MAX

LISTS_MAX: Final = 50
"""Pages of threads that one search goes through."""
FOLDS_AT_ONCE_MAX: Final = 8
Json = dict[str, Any]

router = router_of("/threads")


@router.post("")
async def create(request: Request, use_cases: UseCasesOf, credential: Caller) -> Response:
    """Make a thread; 409 where the caller has one of this id, unless that is no matter to it."""
    wanted = await wanted_of(request, ThreadRequest)
    made = await use_cases.threads.open(credential, thread=wanted.thread_id, metadata=wanted.metadata)
    if isinstance(made, Problem) and made.code is ProblemCode.ALREADY_EXISTS and wanted.thread_id is not None:
        if wanted.if_exists == "do_nothing":
            return JsonResponse(await _thread(request, use_cases, credential, wanted.thread_id))
        raise Refused(Problem(made.code, f"Thread with ID {wanted.thread_id} already exists"))
    return JsonResponse(thread_of(given(made), (), ""))


@router.post("/search")
async def search(request: Request, use_cases: UseCasesOf, credential: Caller) -> Response:
    """Return the caller's threads that fit, newest first."""
    wanted = await wanted_of(request, SearchRequest)
    needed = wanted.offset + wanted.limit
    records = await _records(use_cases, credential, wanted, None if wanted.status else needed)
    if wanted.status is None:
        threads = await _threads(request, use_cases, credential, records[wanted.offset : needed])
    else:
        every = await _threads(request, use_cases, credential, records)
        threads = [one for one in every if one["status"] == wanted.status][wanted.offset : needed]
    return JsonResponse(threads)


@router.post("/count")
async def count(request: Request, use_cases: UseCasesOf, credential: Caller) -> Response:
    """Return how many of the caller's threads fit."""
    wanted = await wanted_of(request, SearchRequest)
    records = await _records(use_cases, credential, wanted, None)
    if wanted.status is not None:
        every = await _threads(request, use_cases, credential, records)
        return JsonResponse(sum(one["status"] == wanted.status for one in every))
    return JsonResponse(len(records))


@router.post("/prune")
async def prune(request: Request, use_cases: UseCasesOf, credential: Caller) -> Response:
    """Delete the named threads, as far as they are the caller's and nothing in them runs."""
    wanted = await wanted_of(request, PruneRequest)
    problems = [await use_cases.threads.delete(thread, credential) for thread in wanted.thread_ids]
    return JsonResponse({"pruned_count": sum(problem is None for problem in problems)})


@router.get("/{thread_id}")
async def show(request: Request, use_cases: UseCasesOf, thread_id: str, credential: Caller) -> Response:
    """Return a thread."""
    return JsonResponse(await _thread(request, use_cases, credential, thread_id))


@router.patch("/{thread_id}")
async def describe(request: Request, use_cases: UseCasesOf, thread_id: str, credential: Caller) -> Response:
    """Keep more metadata with a thread."""
    wanted = await wanted_of(request, MetadataRequest)
    thread_given(await use_cases.threads.describe(thread_id, credential, wanted.metadata or {}), thread_id)
    return JsonResponse(await _thread(request, use_cases, credential, thread_id))


@router.delete("/{thread_id}")
async def delete(use_cases: UseCasesOf, thread_id: str, credential: Caller) -> Response:
    """Delete a thread with everything that was asked in it."""
    thread_given(await use_cases.threads.delete(thread_id, credential), thread_id)
    return Response(status_code=204)


@router.post("/{thread_id}/copy")
async def copy(request: Request, use_cases: UseCasesOf, thread_id: str, credential: Caller) -> Response:
    """Begin a thread that knows this one as it stands."""
    made = thread_given(await use_cases.threads.fork(thread_id, credential), thread_id)
    return JsonResponse(thread_of({**made, "metadata": {}}, (), links_base(request)))


@router.get("/{thread_id}/state")
async def state(request: Request, use_cases: UseCasesOf, thread_id: str, credential: Caller) -> Response:
    """Return the state of a thread as it stands."""
    return JsonResponse(await _state(request, use_cases, credential, thread_id, None))


@router.get("/{thread_id}/state/{checkpoint}")
async def state_at(
    request: Request, use_cases: UseCasesOf, thread_id: str, checkpoint: str, credential: Caller
) -> Response:
    """Return the state of a thread at a checkpoint."""
    return JsonResponse(await _state(request, use_cases, credential, thread_id, _sequence(checkpoint)))


@router.post("/{thread_id}/state/checkpoint")
async def state_of_checkpoint(request: Request, use_cases: UseCasesOf, thread_id: str, credential: Caller) -> Response:
    """Return the state of a thread at a checkpoint that the body names."""
    named = (await wanted_of(request, StateCheckpointRequest)).checkpoint.checkpoint_id
    until = None if named is None else _sequence(named)
    return JsonResponse(await _state(request, use_cases, credential, thread_id, until))


@router.post("/{thread_id}/state")
async def update_state(use_cases: UseCasesOf, thread_id: str, credential: Caller) -> Response:
    """Refuse: the state is what the log holds, and only a question adds to it."""
    thread_given(await Runs(use_cases, credential).turns(thread_id), thread_id)
    detail = "a thread's state is its log, which only runs add to: begin a run, or answer the interrupt with `resume`"
    raise Refused(Problem(ProblemCode.INVALID, detail))


@router.post("/{thread_id}/history")
async def history(request: Request, use_cases: UseCasesOf, thread_id: str, credential: Caller) -> Response:
    """Return the states of a thread, newest first."""
    wanted = await wanted_of(request, HistoryRequest)
    return JsonResponse(await _history(request, use_cases, credential, thread_id, wanted))


@router.get("/{thread_id}/history")
async def history_by_get(
    request: Request, use_cases: UseCasesOf, thread_id: str, credential: Caller, limit: int = 10
) -> Response:
    """Return the newest states of a thread."""
    wanted = HistoryRequest(limit=max(1, min(limit, 1_000)))
    return JsonResponse(await _history(request, use_cases, credential, thread_id, wanted))


async def _history(
    request: Request, use_cases: UseCases, credential: Credential, thread: str, wanted: HistoryRequest
) -> list[Json]:
    turns = thread_given(await Runs(use_cases, credential).turns(thread), thread)
    states = states_of(thread, turns, links_base(request))
    before = _before(wanted.before)
    if before is not None:
        states = [one for one in states if (sequence_of(one["checkpoint_id"]) or 0) < before]
    return states[: wanted.limit]


def _before(named: str | Checkpoint | Config | None) -> int | None:
    if isinstance(named, Config):
        named = str(named.configurable.get("checkpoint_id") or "") or None
    elif isinstance(named, Checkpoint):
        named = named.checkpoint_id
    return None if named is None else _sequence(named)


def _sequence(checkpoint: str) -> int:
    found = sequence_of(checkpoint)
    if found is None:
        raise Refused(Problem(ProblemCode.NOT_FOUND, f"Checkpoint {checkpoint[:64]} not found"))
    return found


async def _state(request: Request, use_cases: UseCases, credential: Credential, thread: str, until: int | None) -> Json:
    turns = thread_given(await Runs(use_cases, credential).turns(thread), thread)
    states = states_of(thread, turns, links_base(request))
    if until is not None:
        states = [one for one in states if (sequence_of(one["checkpoint_id"]) or 0) <= until]
    return states[0] if states else empty_state(thread)


async def _thread(request: Request, use_cases: UseCases, credential: Credential, thread: str) -> Json:
    record = thread_given(await use_cases.threads.record(thread, credential), thread)
    return (await _threads(request, use_cases, credential, [record]))[0]


async def _threads(request: Request, use_cases: UseCases, credential: Credential, records: list[Json]) -> list[Json]:
    runs, at_once = Runs(use_cases, credential), asyncio.Semaphore(FOLDS_AT_ONCE_MAX)

    async def one(record: Json) -> Json:
        async with at_once:
            turns = await runs.turns(record["thread_id"])
        return thread_of(record, () if isinstance(turns, Problem) else turns, links_base(request))

    return list(await asyncio.gather(*(one(record) for record in records)))


async def _records(
    use_cases: UseCases, credential: Credential, wanted: SearchRequest, needed: int | None
) -> list[Json]:
    """Return the records that fit, newest first: the first `needed`, or all that LISTS_MAX pages hold."""
    found: list[Json] = []
    cursor = ""
    for _ in range(LISTS_MAX):
        page = given(
            await use_cases.threads.list(credential, limit=LISTED_MAX, cursor=cursor, view=DescribedThreadView)
        )
        found += [record for record in page["threads"] if _fits(record, wanted)]
        cursor = page["next_cursor"] or ""
        if not cursor or (needed is not None and len(found) >= needed):
            break
    return found


def _fits(record: Mapping[str, Any], wanted: SearchRequest) -> bool:
    if wanted.ids is not None and record["thread_id"] not in wanted.ids:
        return False
    # What every thread here is of: no client has to have said it.
    described = {"graph_id": "text2sql_agent", "created_by": "system", **record["metadata"]}
    asked = {name: value for name, value in (wanted.metadata or {}).items() if name != "assistant_id"}
    return all(described.get(name) == value for name, value in asked.items())
