"""`/v1/queries/{id}/confirm`: a person's yes to what the query asked."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from querybus_gateway.http.request import (
    WAIT_HEADER,
    Caller,
    UseCasesOf,
    body_of,
    gives,
    query_resource,
    takes,
    wait_preference,
)
from querybus_gateway.public.answer import QueryView
from querybus_gateway.use_cases.followups.confirm import ConfirmRequest

router = APIRouter(prefix="/v1/queries", tags=["queries"])


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
