"""`/v1/connections`: what the caller may ask about."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from querybus.core.catalog import Language
from querybus_gateway.http.request import Caller, UseCasesOf, answered, gives
from querybus_gateway.public.resources import (
    CatalogView,
    ConnectionsView,
    ConnectionView,
    DefinitionsView,
    DefinitionView,
    SuggestionsView,
)

router = APIRouter(prefix="/v1/connections", tags=["connections"])

InLanguage = Annotated[Language, Query(description="of labels and questions")]


@router.get("", responses=gives(ConnectionsView))
async def connections(request: Request, use_cases: UseCasesOf, credential: Caller) -> JSONResponse:
    """Return the caller's connections."""
    return answered(request, await use_cases.catalogs.connections(credential))


@router.get("/{name}", responses=gives(ConnectionView))
async def connection(request: Request, use_cases: UseCasesOf, name: str, credential: Caller) -> JSONResponse:
    """Return one connection."""
    return answered(request, await use_cases.catalogs.connection(name, credential))


@router.post("/{name}/refresh", status_code=202, responses=gives(ConnectionView, 202))
async def refresh(request: Request, use_cases: UseCasesOf, name: str, credential: Caller) -> JSONResponse:
    """Ask for the tables and columns of a connection to be read again: for what is new there. For analysts."""
    return answered(request, await use_cases.catalogs.refresh(name, credential), 202)


@router.get("/{name}/catalog", responses=gives(CatalogView))
async def catalog(
    request: Request, use_cases: UseCasesOf, name: str, credential: Caller, language: InLanguage = "en"
) -> JSONResponse:
    """Return what stands in a connection: names for analysts, what people call it for everybody else."""
    return answered(request, await use_cases.catalogs.catalog(name, credential, language))


@router.get("/{name}/definitions", responses=gives(DefinitionsView))
async def definitions(
    request: Request, use_cases: UseCasesOf, name: str, credential: Caller, language: InLanguage = "en"
) -> JSONResponse:
    """Return what the owner's words mean: the approved figures that can be asked for by name."""
    return answered(request, await use_cases.definitions.listed(name, credential, language))


@router.get("/{name}/definitions/{definition}", responses=gives(DefinitionView))
async def definition(
    request: Request, use_cases: UseCasesOf, name: str, definition: str, credential: Caller, language: InLanguage = "en"
) -> JSONResponse:
    """Return what one figure means, by its name or by what people call it: what an answer's reading links to."""
    return answered(request, await use_cases.definitions.defined(name, definition, credential, language))


@router.get("/{name}/suggestions", responses=gives(SuggestionsView))
async def suggested(
    request: Request, use_cases: UseCasesOf, name: str, credential: Caller, language: InLanguage = "en"
) -> JSONResponse:
    """Return questions that can be asked as they stand."""
    return answered(request, await use_cases.definitions.suggestions(name, credential, language))
