"""`/v1/admin`: what an owner looks after. Every path is refused for whoever is no owner."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from querybus_gateway.http.request import Caller, UseCasesOf, answered, body_of, gives, takes
from querybus_gateway.public.admin import (
    AskedQuestionsView,
    EvaluationsView,
    EvaluationView,
    KeysView,
    MadeKeyView,
    PersonalColumnsView,
    RevokedView,
)
from querybus_gateway.use_cases.admin.asked import AskedRequest
from querybus_gateway.use_cases.admin.evaluations import EvaluationRequest
from querybus_gateway.use_cases.admin.keys import KeyRequest

router = APIRouter(prefix="/v1/admin", tags=["admin"])


@router.get("/questions", responses=gives(AskedQuestionsView))
async def questions(
    request: Request, use_cases: UseCasesOf, credential: Caller, wanted: Annotated[AskedRequest, Query()]
) -> JSONResponse:
    """Return what people asked and did not get, or not at once, the most frequent first."""
    return answered(request, await use_cases.admin.asked.listed(credential, wanted))


@router.get("/connections/{name}/evaluations", responses=gives(EvaluationsView))
async def evaluations(request: Request, use_cases: UseCasesOf, name: str, credential: Caller) -> JSONResponse:
    """Return the newest evaluations of a connection."""
    return answered(request, await use_cases.admin.evaluations.listed(credential, name))


@router.post(
    "/connections/{name}/evaluations",
    status_code=201,
    responses=gives(EvaluationView, 201),
    openapi_extra=takes(EvaluationRequest),
)
async def evaluate(request: Request, use_cases: UseCasesOf, name: str, credential: Caller) -> JSONResponse:
    """Compare the rows of questions with those of their known statements, all of them queries of one's own."""
    wanted = await body_of(request, EvaluationRequest)
    return answered(request, await use_cases.admin.evaluations.add(credential, name, wanted), 201)


@router.get("/connections/{name}/personal-columns", responses=gives(PersonalColumnsView))
async def personal(request: Request, use_cases: UseCasesOf, name: str, credential: Caller) -> JSONResponse:
    """Return which columns hold personal data."""
    return answered(request, await use_cases.admin.personal.listed(credential, name))


@router.get("/keys", responses=gives(KeysView))
async def keys(request: Request, use_cases: UseCasesOf, credential: Caller) -> JSONResponse:
    """Return the tenant's keys; the keys themselves are known to nobody."""
    return answered(request, await use_cases.admin.keys.listed(credential))


@router.post("/keys", status_code=201, responses=gives(MadeKeyView, 201), openapi_extra=takes(KeyRequest))
async def make_key(request: Request, use_cases: UseCasesOf, credential: Caller) -> JSONResponse:
    """Make a key; it is shown this once."""
    return answered(request, await use_cases.admin.keys.make(credential, await body_of(request, KeyRequest)), 201)


@router.delete("/keys/{name}", responses=gives(RevokedView))
async def revoke(request: Request, use_cases: UseCasesOf, name: str, credential: Caller) -> JSONResponse:
    """Let a key in no more, at any API."""
    return answered(request, await use_cases.admin.keys.revoke(credential, name))
