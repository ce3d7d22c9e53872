"""`/v1/queries/{id}/chart`: an answer's chart as a Vega-Lite specification, or as a picture drawn on request."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from querybus.core.credential import Credential
from querybus.picture import PictureForm
from querybus_gateway.http.request import JsonResponse, UseCasesOf, caller_of, files, problem_response
from querybus_gateway.problems import Problem
from querybus_gateway.public.answer import ChartView
from querybus_gateway.use_cases.results.charts import ChartForm

router = APIRouter(prefix="/v1/queries", tags=["results"])

_MEDIA_TYPES: Final = {ChartForm.JSON: "application/json", ChartForm.SVG: "image/svg+xml", ChartForm.PNG: "image/png"}
_SVG_POLICY: Final = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}


async def _reader(
    request: Request,
    use_cases: UseCasesOf,
    query_id: str,
    ticket: Annotated[
        str, Query(description="instead of a key: of a conversation that shows the picture", max_length=4_096)
    ] = "",
) -> Credential:
    return await caller_of(request, use_cases, ticket=ticket, query_id=query_id, kind="picture")


@router.get(
    "/{query_id}/chart",
    response_class=Response,
    responses={200: {"model": ChartView} | files(_MEDIA_TYPES[ChartForm.SVG], _MEDIA_TYPES[ChartForm.PNG])},
)
async def chart(
    request: Request,
    use_cases: UseCasesOf,
    query_id: str,
    credential: Annotated[Credential, Depends(_reader)],
    form: Annotated[ChartForm, Query(alias="format")] = ChartForm.JSON,
) -> Response:
    """Return the chart as JSON, SVG or PNG."""
    if form is ChartForm.JSON:
        spec = await use_cases.charts.spec(query_id, credential)
        return problem_response(request, spec) if isinstance(spec, Problem) else JsonResponse(spec)
    drawn = await use_cases.charts.picture(query_id, credential, PictureForm(form.value))
    if isinstance(drawn, Problem):
        return problem_response(request, drawn)
    # A picture holds text of the database: as a page of its own it must run nothing.
    return Response(drawn, media_type=_MEDIA_TYPES[form], headers=_SVG_POLICY)
