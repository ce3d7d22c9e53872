"""`/v1/queries/{id}/result`: a result's pages."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from querybus_gateway.http_request import Caller, JsonResponse, Rooms, problem_response
from querybus_gateway.problems import Problem

router = APIRouter(prefix="/v1/queries", tags=["results"])


@router.get("/{query_id}/result")
async def result(
    request: Request,
    rooms: Rooms,
    query_id: str,
    credential: Caller,
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
) -> JSONResponse:
    """Return one page of the result."""
    found = await rooms.queries.page(query_id, credential, page)
    return problem_response(request, found) if isinstance(found, Problem) else JsonResponse(found)
