"""`/assistants`, `/ok` and `/info`: what there is to talk to."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from querybus import __version__
from querybus_gateway.http.compatible.langgraph.objects import GRAPH, Assistant
from querybus_gateway.http.compatible.langgraph.requests import Pagination, SearchRequest
from querybus_gateway.http.compatible.langgraph.routes import given, router_of, wanted_of
from querybus_gateway.http.compatible.langgraph.runs import Runs
from querybus_gateway.http.compatible.langgraph.state_fields import STATE_FIELDS
from querybus_gateway.http.request import Caller, JsonResponse, UseCasesOf
from querybus_gateway.problems import Problem, ProblemCode, Refused

Json = dict[str, Any]
_NODES = ("generator", "validator", "executor", "recovery", "presenter")
_EDGES = (
    ("__start__", "generator", False),
    ("generator", "validator", False),
    ("validator", "executor", True),
    ("validator", "recovery", True),
    ("executor", "presenter", True),
    ("executor", "recovery", True),
    ("recovery", "generator", True),
    ("recovery", "presenter", True),
    ("presenter", "__end__", False),
)

router = router_of()


@router.get("/ok")
async def ok() -> Response:
    """Return that the gateway answers."""
    return JsonResponse({"ok": True})


@router.get("/info")
async def info() -> Response:
    """Return what this is."""
    return JsonResponse({"version": __version__, "flags": {"assistants": True, "crons": False, "langsmith": False}})


@router.post("/assistants/search")
async def search(request: Request, use_cases: UseCasesOf, credential: Caller) -> Response:
    """Return the caller's assistants: the one that finds the connection, and one for each connection."""
    wanted = await wanted_of(request, SearchRequest)
    found = _fitting(given(await Runs(use_cases, credential).assistants()), wanted)
    rest = wanted.offset + wanted.limit
    headers = {"X-Pagination-Total": str(len(found))}
    if rest < len(found):
        headers["X-Pagination-Next"] = str(rest)
    return JsonResponse(found[wanted.offset : rest], headers=headers)


@router.post("/assistants/count")
async def count(request: Request, use_cases: UseCasesOf, credential: Caller) -> Response:
    """Return how many assistants fit."""
    wanted = await wanted_of(request, SearchRequest)
    return JsonResponse(len(_fitting(given(await Runs(use_cases, credential).assistants()), wanted)))


@router.get("/assistants/{assistant_id}")
async def show(use_cases: UseCasesOf, assistant_id: str, credential: Caller) -> Response:
    """Return an assistant."""
    return JsonResponse((await _named(use_cases, assistant_id, credential)).view)


@router.get("/assistants/{assistant_id}/graph")
async def graph(use_cases: UseCasesOf, assistant_id: str, credential: Caller) -> Response:
    """Return the stages and where a query goes from each."""
    await _named(use_cases, assistant_id, credential)
    return JsonResponse(graph_of())


@router.get("/assistants/{assistant_id}/schemas")
async def schemas(use_cases: UseCasesOf, assistant_id: str, credential: Caller) -> Response:
    """Return the shapes of a run's input and of the state."""
    await _named(use_cases, assistant_id, credential)
    messages: Json = {"type": "array", "items": {"type": "object"}, "title": "messages"}
    page = {"type": "object", "properties": {name: {"type": "integer"} for name in Pagination.model_fields}}
    asked = {"messages": messages, "pagination": page}
    given_in: Json = {"type": "object", "properties": asked, "required": ["messages"]}
    arrays = {name: {"type": "array"} for name in ("columns", "rows")}
    # What a run has not come to yet is null there.
    fields: Json = {name: {} for name in STATE_FIELDS}
    state = {**given_in, "properties": {"messages": messages, **arrays, **fields}}
    config = {"type": "object", "properties": {"connection": {"type": "string"}, "language": {"type": "string"}}}
    return JsonResponse(
        {
            "graph_id": GRAPH,
            "input_schema": given_in,
            "output_schema": state,
            "state_schema": state,
            "config_schema": config,
            "context_schema": config,
        }
    )


@router.get("/assistants/{assistant_id}/subgraphs")
async def subgraphs(use_cases: UseCasesOf, assistant_id: str, credential: Caller) -> Response:
    """Return none: no stage has a graph of its own."""
    await _named(use_cases, assistant_id, credential)
    return JsonResponse({})


@router.post("/assistants/{assistant_id}/versions")
async def versions(use_cases: UseCasesOf, assistant_id: str, credential: Caller) -> Response:
    """Return the only version."""
    return JsonResponse([(await _named(use_cases, assistant_id, credential)).view])


def graph_of() -> Json:
    """Return the stages as a graph."""
    nodes = [{"id": name, "type": "runnable", "data": {"name": name}} for name in _NODES]
    ends = [{"id": name, "type": "schema", "data": name} for name in ("__start__", "__end__")]
    edges = [{"source": source, "target": target, "conditional": maybe} for source, target, maybe in _EDGES]
    return {"nodes": [ends[0], *nodes, ends[1]], "edges": edges}


async def _named(use_cases: UseCasesOf, assistant_id: str, credential: Caller) -> Assistant:
    found = await Runs(use_cases, credential).assistant(assistant_id)
    if isinstance(found, Problem) and found.code is ProblemCode.INVALID:
        raise Refused(Problem(ProblemCode.NOT_FOUND, f"Assistant with ID {assistant_id[:64]} not found"))
    return given(found)


def _fitting(known: list[Assistant], wanted: SearchRequest) -> list[Json]:
    views = [one.view for one in known]
    if wanted.graph_id is not None:
        views = [view for view in views if wanted.graph_id == view["graph_id"]]
    if wanted.name is not None:
        views = [view for view in views if wanted.name.casefold() in str(view["name"]).casefold()]
    asked = (wanted.metadata or {}).items()
    return [view for view in views if all(view["metadata"].get(name) == value for name, value in asked)]
