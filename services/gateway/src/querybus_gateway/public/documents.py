"""What only one API says: refusals, the bus's own forms, its document."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from querybus.core.subjects import EventName
from querybus_gateway.problems import ProblemCode
from querybus_gateway.public.answer import AnswerView, ChartView, View
from querybus_gateway.use_cases.results.charts import ChartForm


class FieldFault(View):
    pointer: str = Field(description="JSON pointer into the request")
    message: str


class ProblemView(View):
    """A refusal (RFC 9457)."""

    type: str
    title: str
    status: int = Field(ge=400, le=599)
    detail: str
    instance: str
    code: ProblemCode
    trace_id: str = Field(pattern="^[0-9a-f]{32}$")
    errors: list[FieldFault]


class DeletedThreadView(View):
    """A thread that is gone, as the bus says it."""

    thread_id: str
    deleted: Literal[True]


class AsyncApiView(View):
    """The document of the bus."""

    asyncapi: Literal["3.0.0"]
    info: dict[str, str]
    channels: dict[str, dict[str, Any]]
    operations: dict[str, dict[str, Any]]
    components: dict[str, dict[str, Any]]


class ChartCallView(View):
    """A chart as the bus says it: the specification, or a picture as Base64."""

    query_id: str
    format: ChartForm
    chart: ChartView | None
    data_base64: str | None


class RunningCallView(View):
    """A query that has not finished, as the bus says it."""

    query_id: str
    thread_id: str
    status: Literal["queued", "running"]
    last_event: EventName | None
    created_at: int
    deadline_at: int
    message: str


class FinishedCallView(AnswerView):
    """A finished query, as the bus says it: the answer itself."""

    status: Literal["finished"]


class ProblemCallView(View):
    """A refusal, as the bus says it: without `status`, which there is the query's."""

    type: str
    title: str
    detail: str
    instance: str
    code: ProblemCode
    trace_id: str
    errors: list[FieldFault]
