"""`/v1/metrics/query`: figures by the names of definitions, for dashboards and programs."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import Field

from querybus.core.requests.metrics_query import MetricsQuery
from querybus_gateway.admit import AskRequest, RequestOptions
from querybus_gateway.http.request import (
    KEY_HEADER,
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

router = APIRouter(prefix="/v1/metrics", tags=["metrics"])


class MetricsRequest(MetricsQuery):
    """Metrics by dimensions, filtered, of a period, in an order; and of which connection."""

    connection: str | None = Field(default=None, max_length=200, description="may be left out if there is only one")
    thread_id: str | None = Field(default=None, max_length=36, description="continues this thread")
    options: RequestOptions = RequestOptions()

    def request(self) -> AskRequest:
        """Return the same as a question that is asked by names instead of words."""
        query = MetricsQuery.model_construct(**{name: getattr(self, name) for name in MetricsQuery.model_fields})
        return AskRequest(connection=self.connection, metrics=query, thread_id=self.thread_id, options=self.options)


@router.post(
    "/query",
    status_code=202,
    responses=gives(QueryView, 200, 202),
    openapi_extra=takes(MetricsRequest, WAIT_HEADER, KEY_HEADER),
)
async def ask_metrics(request: Request, use_cases: UseCasesOf, credential: Caller) -> JSONResponse:
    """Ask for figures by name: the same pipeline, permissions, pages and charts as any question."""
    asked = await body_of(request, MetricsRequest)
    wait = wait_preference(request.headers.get("prefer"))
    key = request.headers.get("idempotency-key")
    reply = await use_cases.queries.ask(asked.request(), credential, idempotency_key=key, wait_seconds=wait or 0)
    return query_resource(request, reply, wait=wait, has_key=key is not None)
