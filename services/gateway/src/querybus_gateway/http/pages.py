"""`/v1/queries/{id}/result` and `/export`: a result's pages by number or token, and the whole of it as a stream.

An export that must end early, because its rows were dropped meanwhile, is cut without the last chunk, so that no
reader takes it for whole.
"""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response, StreamingResponse

from querybus_gateway.access.page_token import TOKEN_LENGTH_MAX
from querybus_gateway.http.request import Caller, JsonResponse, UseCasesOf, files, gives, problem_response
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.public.answer import PageView
from querybus_gateway.use_cases.results.export import MEDIA_TYPES, Format, export_stream, file_name, refusal_of
from querybus_gateway.use_cases.results.pages import PAGE_SIZE_MAX

router = APIRouter(prefix="/v1/queries", tags=["results"])


@router.get("/{query_id}/result", responses=gives(PageView))
async def result(
    request: Request,
    use_cases: UseCasesOf,
    query_id: str,
    credential: Caller,
    page: Annotated[int | None, Query(ge=1, le=1_000_000)] = None,
    page_size: Annotated[int | None, Query(ge=1, le=PAGE_SIZE_MAX)] = None,
    page_token: Annotated[str | None, Query(max_length=TOKEN_LENGTH_MAX)] = None,
) -> Response:
    """Return one page of the result, by its number or by a token of another page."""
    if page_token is not None:
        if page is not None or page_size is not None:
            return problem_response(request, Problem(ProblemCode.INVALID, "a page token names its page by itself"))
        result = await use_cases.results.page_of_token(query_id, credential, page_token)
    else:
        result = await use_cases.results.page(query_id, credential, page or 1, page_size)
    return problem_response(request, result) if isinstance(result, Problem) else JsonResponse(result)


@router.get(
    "/{query_id}/export",
    response_class=StreamingResponse,
    responses={200: files(*MEDIA_TYPES.values())},
)
async def export(
    request: Request,
    use_cases: UseCasesOf,
    query_id: str,
    credential: Caller,
    how: Annotated[Format, Query(alias="format")] = Format.CSV,
    bom: Annotated[bool, Query(description="begin CSV with a byte order mark, for older spreadsheets")] = False,
    first_row: Annotated[
        int, Query(ge=1, description="go on with this row where a file broke off: CSV without its head, or JSON lines")
    ] = 1,
) -> Response:
    """Stream the whole result as CSV, JSON lines, an Arrow stream, Parquet or a spreadsheet.

    `Querybus-Rows` says how many rows it has, `Querybus-Truncated: true` that there were more than were kept.
    """
    result = await use_cases.results.export(query_id, credential)
    if isinstance(result, Problem):
        return problem_response(request, result)
    if (refused := refusal_of(result, how, first_row)) is not None:
        return problem_response(request, refused)
    named = quote(file_name(result.question, result.query_id, how))
    headers = {
        "Content-Disposition": f"attachment; filename=\"{result.query_id}.{how}\"; filename*=UTF-8''{named}",
        "Querybus-Rows": str(result.answer.row_count),
        **({"Querybus-Truncated": "true"} if result.answer.truncated else {}),
    }
    return StreamingResponse(
        export_stream(result, how, bom=bom, first_row=first_row), media_type=MEDIA_TYPES[how], headers=headers
    )
