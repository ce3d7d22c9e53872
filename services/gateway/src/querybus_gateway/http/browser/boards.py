"""`/v1/boards`: named lists of pinned questions that are asked again."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from querybus_gateway.http.request import Caller, UseCasesOf, answered, body_of, gives, takes
from querybus_gateway.public.admin import AskedBoardView, BoardsView, BoardView, RemovedView
from querybus_gateway.use_cases.batches.boards import BoardChange, BoardRequest, PinRequest

router = APIRouter(prefix="/v1/boards", tags=["boards"])


@router.get("", responses=gives(BoardsView))
async def listed(request: Request, use_cases: UseCasesOf, credential: Caller) -> JSONResponse:
    """Return one's own boards, then those that others of the tenant share."""
    return answered(request, await use_cases.boards.listed(credential))


@router.post("", status_code=201, responses=gives(BoardView, 201), openapi_extra=takes(BoardRequest))
async def make(request: Request, use_cases: UseCasesOf, credential: Caller) -> JSONResponse:
    """Make an empty board."""
    return answered(request, await use_cases.boards.make(credential, await body_of(request, BoardRequest)), 201)


@router.patch("/{board_id}", responses=gives(BoardView), openapi_extra=takes(BoardChange))
async def change(request: Request, use_cases: UseCasesOf, board_id: str, credential: Caller) -> JSONResponse:
    """Change the name, the order or number of pins, the schedule, or who may open one's own board."""
    return answered(request, await use_cases.boards.change(credential, board_id, await body_of(request, BoardChange)))


@router.delete("/{board_id}", responses=gives(RemovedView))
async def remove(request: Request, use_cases: UseCasesOf, board_id: str, credential: Caller) -> JSONResponse:
    """Remove one's own board; its answers stay in their conversations."""
    return answered(request, await use_cases.boards.remove(credential, board_id))


@router.post("/{board_id}/pins", status_code=201, responses=gives(BoardView, 201), openapi_extra=takes(PinRequest))
async def pin(request: Request, use_cases: UseCasesOf, board_id: str, credential: Caller) -> JSONResponse:
    """Pin the question of one of one's answered queries."""
    return answered(request, await use_cases.boards.pin(credential, board_id, await body_of(request, PinRequest)), 201)


@router.post("/{board_id}/ask", status_code=202, responses=gives(AskedBoardView, 202))
async def ask(request: Request, use_cases: UseCasesOf, board_id: str, credential: Caller) -> JSONResponse:
    """Ask all questions of a board again, as oneself; each is a query of its own."""
    return answered(request, await use_cases.boards.ask(credential, board_id), 202)
