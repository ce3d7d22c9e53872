"""`/threads/{id}/commands` and `/threads/{id}/stream/events`: the thread protocol (v3)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict, Field

from querybus.core.credential import Credential
from querybus.ops.clock import system_clock
from querybus_gateway.http.compatible.langgraph.assistant_paths import graph_of
from querybus_gateway.http.compatible.langgraph.checkpoints import sequence_of
from querybus_gateway.http.compatible.langgraph.objects import GRAPH, interrupts_of, states_of
from querybus_gateway.http.compatible.langgraph.protocol import SEQ_STEP, is_wanted, protocol_events, seq_behind
from querybus_gateway.http.compatible.langgraph.requests import Command, Config, RunRequest
from querybus_gateway.http.compatible.langgraph.routes import given, router_of, sse, thread_given, wanted_of
from querybus_gateway.http.compatible.langgraph.run_paths import with_heartbeat
from querybus_gateway.http.compatible.langgraph.runs import Runs
from querybus_gateway.http.request import Caller, JsonResponse, UseCasesOf, links_base
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.use_cases.bundle import UseCases

Json = dict[str, Any]
FRESH_MS: Final = 12_000
"""How long after its question a thread's first run is streamed whole to whoever names no place to go on from.

The Python client opens a stream anew, still without a place, where it was not answered within 5 s: twice fits in here.
"""
_ERRORS: Final = {
    ProblemCode.NOT_FOUND: "no_such_run",
    ProblemCode.NO_CLARIFICATION: "no_such_interrupt",
    ProblemCode.UNKNOWN_OPTION: "no_such_interrupt",
    ProblemCode.SCOPE: "permission_denied",
    ProblemCode.INTERNAL: "unknown_error",
    ProblemCode.BUS_UNAVAILABLE: "unknown_error",
}

router = router_of("/threads/{thread_id}")


class CommandRequest(BaseModel):
    """A command of the protocol."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="ignore")

    id: int | str | None = None
    method: str = Field(max_length=100)
    params: Json = {}


class Subscription(BaseModel):
    """Which events of a thread are wanted, and behind which `seq`."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="ignore")

    channels: tuple[str, ...] = Field(max_length=100)
    namespaces: tuple[tuple[str, ...], ...] | None = None
    depth: int | None = None
    since: int | None = Field(default=None, ge=0, le=2**53)


@router.post("/commands")
async def command(request: Request, use_cases: UseCasesOf, thread_id: str, credential: Caller) -> Response:
    """Carry out one command; what cannot be done is said in the body, with 200."""
    wanted = await wanted_of(request, CommandRequest)
    result = await _carried_out(_Commands(request, use_cases, credential, thread_id), wanted)
    if isinstance(result, Problem):
        error = "unknown_command" if result is _UNKNOWN else _ERRORS.get(result.code, "invalid_argument")
        message = result.detail or str(result.code)
        return JsonResponse({"type": "error", "id": wanted.id, "error": error, "message": message})
    body, applied = result
    meta = {} if applied is None else {"applied_through_seq": applied}
    return JsonResponse({"type": "success", "id": wanted.id, "result": body, "meta": meta})


@router.post("/stream/events")
async def events(request: Request, use_cases: UseCasesOf, thread_id: str, credential: Caller) -> Response:
    """Stream the events of a thread in the channels that are wanted; it stays open between runs."""
    wanted = await wanted_of(request, Subscription)
    turns = thread_given(await Runs(use_cases, credential).turns(thread_id), thread_id)
    was_shown = use_cases.thread_events.end_was_shown(credential, thread_id, wanted.channels)
    since = _since(turns, wanted.since, was_shown=was_shown)
    followed = _followed(use_cases, credential, thread_id, turns, wanted, since, links_base(request))
    return sse(with_heartbeat(followed))


_UNKNOWN: Final = Problem(ProblemCode.INVALID, "there is no such command")
Carried = tuple[Any, int | None] | Problem


async def _carried_out(commands: _Commands, wanted: CommandRequest) -> Carried:
    match wanted.method:
        case "run.start":
            return await commands.start(wanted.params)
        case "input.respond":
            return await commands.respond(wanted.params)
        case "state.get":
            return await commands.state(wanted.params)
        case "state.listCheckpoints":
            return await commands.checkpoints(wanted.params)
        case "state.fork":
            return await commands.fork(wanted.params)
        case "agent.getTree":
            return graph_of(), None
        case _:
            return _UNKNOWN


class _Commands:
    """The commands on one thread of one caller."""

    def __init__(self, request: Request, use_cases: UseCases, credential: Credential, thread: str) -> None:
        self._base_url = links_base(request)
        self._use_cases = use_cases
        self._credential = credential
        self._thread = thread
        self._runs = Runs(use_cases, credential)

    async def start(self, params: Json) -> Carried:
        """Begin a run; the thread is made with its first."""
        try:
            run = RunRequest.model_validate({**params, "if_not_exists": "create"})
        except ValueError as error:
            return Problem(ProblemCode.INVALID, str(error).splitlines()[0])
        return await self._begun(run)

    async def respond(self, params: Json) -> Carried:
        """Answer an interrupt."""
        answers = params.get("responses")
        one = answers[0] if isinstance(answers, list) and answers else params
        turns = await self._runs.turns(self._thread)
        waiting = [] if isinstance(turns, Problem) or not turns else interrupts_of(turns[-1])
        if one.get("interrupt_id") not in [item["id"] for item in waiting]:
            return Problem(ProblemCode.NO_CLARIFICATION, "the thread waits for no such answer")
        configurable = (params.get("config") or {}).get("configurable") or {}
        command = Command(resume=one.get("response"))
        return await self._begun(
            RunRequest(assistant_id=GRAPH, command=command, config=Config(configurable=configurable))
        )

    async def state(self, params: Json) -> Carried:
        """Return the state's values, or those that are named."""
        turns = await self._runs.turns(self._thread)
        if isinstance(turns, Problem):
            return turns
        states = states_of(self._thread, turns, self._base_url)
        values = states[0]["values"] if states else {}
        keys = params.get("keys")
        return {"values": {name: values.get(name) for name in keys} if isinstance(keys, list) else values}, None

    async def checkpoints(self, params: Json) -> Carried:
        """Return the checkpoints, newest first."""
        turns = await self._runs.turns(self._thread)
        if isinstance(turns, Problem):
            return turns
        limit = params.get("limit")
        states = states_of(self._thread, turns, self._base_url)
        before = sequence_of(str(params.get("before") or ""))
        if before is not None:
            states = [one for one in states if (sequence_of(one["checkpoint_id"]) or 0) < before]
        listed = [
            {
                "id": one["checkpoint_id"],
                "parent_id": one["parent_checkpoint_id"],
                "step": one["metadata"]["step"],
                "source": one["metadata"]["source"],
            }
            for one in states[: limit if isinstance(limit, int) and limit > 0 else 10]
        ]
        return {"checkpoints": listed}, None

    async def fork(self, params: Json) -> Carried:
        """Begin a thread that knows this one up to a checkpoint, and a run in it where something is asked."""
        sequence = sequence_of(str(params.get("checkpoint_id") or ""))
        if sequence is None:
            return Problem(ProblemCode.INVALID, "there is no such checkpoint")
        made = await self._use_cases.threads.fork(self._thread, self._credential, at_sequence=sequence)
        if isinstance(made, Problem):
            return made
        if params.get("input") is None:
            return {"run_id": None, "thread_id": made["thread_id"]}, None
        run = RunRequest(assistant_id=params.get("assistant_id") or GRAPH, input=params["input"])
        started = await self._runs.begin(run, made["thread_id"], shows_page=False)
        if isinstance(started, Problem):
            return started
        return {"run_id": started.reply.query_id, "thread_id": started.thread}, None

    async def _begun(self, run: RunRequest) -> Carried:
        started = await self._runs.begin(run, self._thread, shows_page=False)
        if isinstance(started, Problem):
            return started
        applied = seq_behind(started.earlier[-1]["last_sequence"]) if started.earlier else 0
        return {"run_id": started.reply.query_id}, applied


def _since(turns: Sequence[Json], named: int | None, *, was_shown: bool) -> int:
    """Return the `seq` that a stream goes on from: the one that is named, else where the run under way began.

    Of a thread whose first run was begun a moment ago that is its beginning, because its client may have come late,
    unless its end was shown already. Otherwise only what comes from now on is news.
    """
    if named is not None:
        return named
    if not turns:
        return 0
    last = turns[-1]
    is_fresh = len(turns) == 1 and system_clock() - last["asked_at"] < FRESH_MS and not was_shown
    if last["status"] != "finished" or is_fresh:
        return last["sequence"] * SEQ_STEP - 1
    return seq_behind(last["last_sequence"])


async def _followed(
    use_cases: UseCases,
    credential: Credential,
    thread: str,
    turns: Sequence[Json],
    wanted: Subscription,
    since: int,
    base_url: str,
) -> AsyncIterator[str]:
    if wanted.namespaces and () not in wanted.namespaces:
        # No stage has a namespace of its own.
        return
    after = max(0, since // SEQ_STEP - 1) if since % SEQ_STEP != SEQ_STEP - 1 else since // SEQ_STEP
    running = [turn["query_id"] for turn in turns if turn["status"] != "finished"]
    runs = Runs(use_cases, credential)
    known = list(turns)
    async for event in use_cases.thread_events.follow(thread, credential, after_sequence=after, running=running):
        if event is None:
            continue
        if event["query_id"] not in [turn["query_id"] for turn in known] or event["event"] == "finished":
            known = given(await runs.turns(thread))
        place = next((n for n, turn in enumerate(known) if turn["query_id"] == event["query_id"]), len(known))
        for made in protocol_events(event, known[:place], base_url, known):
            if made["seq"] > since and is_wanted(made, wanted.channels):
                text = json.dumps(made, ensure_ascii=False, separators=(",", ":"))
                yield f"event: {made['method']}\nid: {made['event_id']}\ndata: {text}\n\n"
        if event["event"] == "finished":
            use_cases.thread_events.show_end(credential, thread, wanted.channels)
