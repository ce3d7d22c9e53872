"""`/v1/admin/models`: an owner looks for chat models, tests one and saves it. Refused for everybody else."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from querybus_gateway.http.request import Caller, UseCasesOf, answered, body_of, gives, takes
from querybus_gateway.public.models import ModelsView, SavedModelView, TestedModelView
from querybus_gateway.use_cases.admin.models import ModelSaveRequest, ModelTestRequest

router = APIRouter(prefix="/v1/admin", tags=["admin"])


@router.get("/models", responses=gives(ModelsView))
async def list_models(request: Request, use_cases: UseCasesOf, credential: Caller) -> JSONResponse:
    """Return which models are set, which keys the environment holds, and which servers of this machine list models."""
    return answered(request, await use_cases.admin.models.listed(credential))


@router.post("/model-tests", responses=gives(TestedModelView), openapi_extra=takes(ModelTestRequest))
async def test_model(request: Request, use_cases: UseCasesOf, credential: Caller) -> JSONResponse:
    """Ask a model for one whole reply. Nothing is kept."""
    wanted = await body_of(request, ModelTestRequest)
    return answered(request, await use_cases.admin.models.test(credential, wanted))


@router.post("/models", status_code=201, responses=gives(SavedModelView, 201), openapi_extra=takes(ModelSaveRequest))
async def save_model(request: Request, use_cases: UseCasesOf, credential: Caller) -> JSONResponse:
    """Save a model that works, as the one that the tenant's questions take; the next question takes it."""
    wanted = await body_of(request, ModelSaveRequest)
    return answered(request, await use_cases.admin.models.save(credential, wanted), 201)
