"""`/v1/me`, `/v1/tokens`, `/v1/sign-in-codes` and `/v1/sign-in`: who is calling, and short-lived tokens for browsers."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from querybus_gateway.http.request import (
    NO_KEY,
    Caller,
    JsonResponse,
    UseCasesOf,
    answered,
    body_of,
    gives,
    source_of,
    takes,
)
from querybus_gateway.public.resources import CodeView, MeView, TicketView, TokenView
from querybus_gateway.use_cases.sign_in import SignInRequest, TokenRequest
from querybus_gateway.use_cases.sign_in import me as who_is

router = APIRouter(prefix="/v1", tags=["sign-in"])


@router.get("/me", responses=gives(MeView))
async def me(credential: Caller) -> JSONResponse:
    """Return who the caller is and what it may do."""
    return JsonResponse(who_is(credential))


@router.post("/tokens", status_code=201, responses=gives(TokenView, 201), openapi_extra=takes(TokenRequest))
async def token(request: Request, use_cases: UseCasesOf, credential: Caller) -> JSONResponse:
    """Make a short-lived token: for the caller itself, or of a trusted proxy for one of its persons."""
    wanted = await body_of(request, TokenRequest)
    return answered(request, await use_cases.sign_in.make(wanted, credential), 201)


@router.post("/sign-in-codes", status_code=201, responses=gives(CodeView, 201))
async def code(request: Request, use_cases: UseCasesOf, credential: Caller) -> JSONResponse:
    """Make a code for a link that signs in as the caller, once, within ten minutes: `/#code=...`."""
    return answered(request, await use_cases.sign_in.code(credential), 201)


@router.post("/sign-in", status_code=201, responses=gives(TokenView, 201), openapi_extra=takes(SignInRequest) | NO_KEY)
async def sign_in(request: Request, use_cases: UseCasesOf) -> JSONResponse:
    """Take a code, and give a token for it; needs no key."""
    wanted = await body_of(request, SignInRequest)
    return answered(request, await use_cases.sign_in.redeem(wanted, source_of(request)), 201)


@router.post("/batches/{batch_id}/ticket", status_code=201, responses=gives(TicketView, 201))
async def batch_ticket(request: Request, use_cases: UseCasesOf, batch_id: str, credential: Caller) -> JSONResponse:
    """Make a ticket for the events of one batch, for a browser's EventSource: `/events?ticket=...`."""
    problem = await use_cases.batches.open_stream(batch_id, credential)
    return answered(request, problem or await use_cases.sign_in.ticket(batch_id, credential), 201)


@router.post("/queries/{query_id}/ticket", status_code=201, responses=gives(TicketView, 201))
async def ticket(request: Request, use_cases: UseCasesOf, query_id: str, credential: Caller) -> JSONResponse:
    """Make a ticket for the events of one query, for a browser's EventSource: `/events?ticket=...`."""
    problem = await use_cases.queries.open_stream(query_id, credential)
    return answered(request, problem or await use_cases.sign_in.ticket(query_id, credential), 201)
