"""`/v1/admin/connections`: an owner tests, adds, changes and removes databases. Refused for everybody else."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from querybus_gateway.http.request import Caller, UseCasesOf, answered, body_of, gives, takes
from querybus_gateway.public.set_up import ChangedConnectionView, ExaminedDatabaseView
from querybus_gateway.use_cases.admin.set_up import ConnectionChange, ConnectionRequest, ConnectionTestRequest

router = APIRouter(prefix="/v1/admin", tags=["admin"])


@router.post("/connection-tests", responses=gives(ExaminedDatabaseView), openapi_extra=takes(ConnectionTestRequest))
async def test(request: Request, use_cases: UseCasesOf, credential: Caller) -> JSONResponse:
    """Test a database: does it work, which columns look personal, which names can be read. Nothing is kept."""
    wanted = await body_of(request, ConnectionTestRequest)
    return answered(request, await use_cases.admin.set_up.test(credential, wanted))


@router.post(
    "/connections", status_code=201, responses=gives(ExaminedDatabaseView, 201), openapi_extra=takes(ConnectionRequest)
)
async def add(request: Request, use_cases: UseCasesOf, credential: Caller) -> JSONResponse:
    """Add a database that works; it can be asked some seconds later."""
    wanted = await body_of(request, ConnectionRequest)
    return answered(request, await use_cases.admin.set_up.add(credential, wanted), 201)


@router.patch("/connections/{name}", responses=gives(ChangedConnectionView), openapi_extra=takes(ConnectionChange))
async def change(request: Request, use_cases: UseCasesOf, name: str, credential: Caller) -> JSONResponse:
    """Give a connection a new password, another name, or both."""
    wanted = await body_of(request, ConnectionChange)
    return answered(request, await use_cases.admin.set_up.change(credential, name, wanted))


@router.delete("/connections/{name}", responses=gives(ChangedConnectionView))
async def remove(request: Request, use_cases: UseCasesOf, name: str, credential: Caller) -> JSONResponse:
    """Remove a connection; the database itself is not touched."""
    return answered(request, await use_cases.admin.set_up.remove(credential, name))
