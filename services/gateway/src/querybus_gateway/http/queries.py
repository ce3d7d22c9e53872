"""`/v1/queries`: ask, look, cancel, answer what was asked back, read an answer otherwise, say yes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from querybus.core.requests.refinement import Change
from querybus_gateway.admit import AskRequest
from querybus_gateway.http.request import (
    KEY_HEADER,
    WAIT_HEADER,
    Caller,
    JsonResponse,
    UseCasesOf,
    answered,
    body_of,
    gives,
    problem_response,
    query_resource,
    takes,
    wait_preference,
)
from querybus_gateway.problems import Problem
from querybus_gateway.public.answer import QueryView
from querybus_gateway.public.resources import QueriesView, WaitingChangesView
from querybus_gateway.use_cases.followups.clarify import ClarifyRequest, clarify
from querybus_gateway.use_cases.followups.confirm import ConfirmRequest
from querybus_gateway.use_cases.followups.refine import refine
from querybus_gateway.use_cases.query_list import QueriesRequest, list_queries

router = APIRouter(prefix="/v1/queries", tags=["queries"])
waiting = APIRouter(prefix="/v1/confirmations", tags=["queries"])


@router.post(
    "", status_code=202, responses=gives(QueryView, 200, 202), openapi_extra=takes(AskRequest, WAIT_HEADER, KEY_HEADER)
)
async def ask(request: Request, use_cases: UseCasesOf, credential: Caller) -> JSONResponse:
    """Ask a question: 202 and where to look, or with `Prefer: wait=N` the answer in place."""
    asked = await body_of(request, AskRequest)
    wait = wait_preference(request.headers.get("prefer"))
    key = request.headers.get("idempotency-key")
    reply = await use_cases.queries.ask(asked, credential, idempotency_key=key, wait_seconds=wait or 0)
    return query_resource(request, reply, wait=wait, has_key=key is not None)


@router.get("", responses=gives(QueriesView))
async def list_own(
    request: Request, use_cases: UseCasesOf, credential: Caller, wanted: Annotated[QueriesRequest, Query()]
) -> JSONResponse:
    """Return the caller's questions, newest thread first, with what became of each."""
    return answered(request, await list_queries(use_cases.threads, credential, wanted))


@router.get("/{query_id}", responses=gives(QueryView), openapi_extra={"parameters": [WAIT_HEADER]})
async def show(request: Request, use_cases: UseCasesOf, query_id: str, credential: Caller) -> JSONResponse:
    """Return the query as it stands, with its answer once it has finished."""
    wait = wait_preference(request.headers.get("prefer"))
    result = (
        await use_cases.queries.wait(query_id, credential, wait)
        if wait is not None
        else await use_cases.queries.read(query_id, credential)
    )
    if isinstance(result, Problem):
        return problem_response(request, result)
    applied = {"Preference-Applied": f"wait={wait}"} if wait is not None and result.is_finished else {}
    return JsonResponse(result.resource, headers=applied)


@router.post("/{query_id}/cancel", status_code=202, responses=gives(QueryView, 202))
async def cancel(request: Request, use_cases: UseCasesOf, query_id: str, credential: Caller) -> JSONResponse:
    """Cancel the query; 409 with the real outcome if it was concluded before."""
    result = await use_cases.queries.cancel(query_id, credential)
    if isinstance(result, Problem):
        return problem_response(request, result)
    return JsonResponse(result.resource, 202, headers={"Location": f"/v1/queries/{query_id}"})


@router.post(
    "/{query_id}/clarify",
    status_code=202,
    responses=gives(QueryView, 200, 202),
    openapi_extra=takes(ClarifyRequest, WAIT_HEADER, KEY_HEADER),
)
async def answer_clarification(
    request: Request, use_cases: UseCasesOf, query_id: str, credential: Caller
) -> JSONResponse:
    """Answer what the query asked back: a new query of the thread, answered like a question."""
    wanted = await body_of(request, ClarifyRequest)
    wait = wait_preference(request.headers.get("prefer"))
    key = request.headers.get("idempotency-key")
    reply = await clarify(use_cases.queries, query_id, wanted, credential, idempotency_key=key, wait_seconds=wait or 0)
    return query_resource(request, reply, wait=wait, has_key=key is not None)


@router.post(
    "/{query_id}/refine",
    status_code=202,
    responses=gives(QueryView, 200, 202),
    openapi_extra=takes(Change, WAIT_HEADER, KEY_HEADER),
)
async def read_otherwise(request: Request, use_cases: UseCasesOf, query_id: str, credential: Caller) -> JSONResponse:
    """Change how an answer was read, without a model: a new query of the thread, answered like a question."""
    change = await body_of(request, Change)
    wait = wait_preference(request.headers.get("prefer"))
    key = request.headers.get("idempotency-key")
    reply = await refine(use_cases.queries, query_id, change, credential, idempotency_key=key, wait_seconds=wait or 0)
    return query_resource(request, reply, wait=wait, has_key=key is not None)


@router.post(
    "/{query_id}/confirm",
    status_code=202,
    responses=gives(QueryView, 200, 202),
    openapi_extra=takes(ConfirmRequest, WAIT_HEADER),
)
async def confirm(request: Request, use_cases: UseCasesOf, query_id: str, credential: Caller) -> JSONResponse:
    """Confirm what the query asked: 202 and the new query that runs it; a second yes gives the same one back."""
    wanted = await body_of(request, ConfirmRequest)
    wait = wait_preference(request.headers.get("prefer"))
    reply = await use_cases.confirmations.confirm(query_id, wanted, credential, wait_seconds=wait or 0)
    return query_resource(request, reply, wait=wait, has_key=True)


@waiting.get("", responses=gives(WaitingChangesView))
async def list_waiting(request: Request, use_cases: UseCasesOf, credential: Caller) -> JSONResponse:
    """Return the changes of others that wait for a second person, the oldest first; for analysts who may confirm them."""
    return answered(request, await use_cases.waiting.listed(credential))
