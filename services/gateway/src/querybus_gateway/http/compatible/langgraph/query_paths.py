"""`/api/v1/query` and `/api/v1/query/sync`: messages in, a stream of the run or its answer with one page of rows out."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict, Field

from querybus.core.credential import Credential
from querybus.core.ids import derived_id, is_id
from querybus_gateway.http.compatible.langgraph.objects import GRAPH, ai_message, interrupts_of, run_status, text_of
from querybus_gateway.http.compatible.langgraph.requests import Config, RunRequest
from querybus_gateway.http.compatible.langgraph.routes import given, router_of, wanted_of
from querybus_gateway.http.compatible.langgraph.run_paths import RUN_SECONDS_MAX, stream_of
from querybus_gateway.http.compatible.langgraph.runs import Runs, Started, ended
from querybus_gateway.http.compatible.langgraph.stream import turn_of
from querybus_gateway.http.request import Caller, JsonResponse, UseCasesOf, links_base
from querybus_gateway.problems import Problem, ProblemCode, Refused
from querybus_gateway.use_cases.bundle import UseCases
from querybus_gateway.use_cases.results.pages import PAGE_SIZE_MAX

Json = dict[str, Any]
STREAMED_MODES = ("custom", "updates", "messages-tuple", "values")

router = router_of("/api/v1")


class Pagination(BaseModel):
    """Which rows are wanted: a page, or as many rows behind an offset that a page begins at."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    page: int = Field(default=1, ge=1)
    page_size: int | None = Field(default=None, ge=1, le=PAGE_SIZE_MAX)
    limit: int | None = Field(default=None, ge=1, le=PAGE_SIZE_MAX)
    offset: int = Field(default=0, ge=0)

    @property
    def size(self) -> int | None:
        """Rows of a page; None for as many as the query is asked with."""
        return self.page_size or self.limit

    @property
    def number(self) -> int:
        """The page, counted from 1."""
        return self.offset // self.size + 1 if self.offset and self.size else self.page


class MessagesRequest(BaseModel):
    """A conversation whose last message of a person is the question."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    messages: Any = None
    question: str | None = None
    thread_id: str | None = Field(default=None, max_length=200, description="of any form; a new one begins a thread")
    pagination: Pagination = Pagination()
    config: dict[str, Any] = {}

    def run(self) -> RunRequest:
        """Return the run that this asks for."""
        inner = self.config.get("configurable")
        configurable = {**self.config, **(inner if isinstance(inner, dict) else {})}
        asked = {"messages": self.messages, "question": self.question}
        return RunRequest(
            assistant_id=GRAPH,
            input=asked,
            config=Config(configurable=configurable),
            stream_mode=STREAMED_MODES,
            if_not_exists="create",
        )


@router.post("/query")
async def stream(request: Request, use_cases: UseCasesOf, credential: Caller) -> Response:
    """Ask, and stream what becomes of it: `metadata`, `custom`, `updates`, `messages`, `values`, `end` or `error`."""
    wanted = await wanted_of(request, MessagesRequest)
    if wanted.pagination.number > 1:
        raise Refused(
            Problem(ProblemCode.INVALID, "a stream ends with the first page; /api/v1/query/sync has the others")
        )
    started = await _begun(use_cases, credential, wanted)
    return stream_of(request, use_cases, credential, started, STREAMED_MODES, is_new=True)


@router.post("/query/sync")
async def sync(request: Request, use_cases: UseCasesOf, credential: Caller) -> Response:
    """Ask, and return the answer once it is there."""
    wanted = await wanted_of(request, MessagesRequest)
    started = await _begun(use_cases, credential, wanted)
    query = started.reply.query_id
    reply = given(await ended(use_cases, query, credential, RUN_SECONDS_MAX))
    if not reply.is_finished:
        return JsonResponse({"thread_id": started.thread, "query_id": query, "status": "running"}, 202)
    answer = reply.resource["answer"]
    turn = turn_of(answer)
    text = text_of(turn, links_base(request))
    known = ("outcome", "code", "message", "summary", "columns", "rows", "row_count", "chart", "sql", "options")
    body: Json = {"thread_id": started.thread, "query_id": query, "status": run_status(turn)}
    body |= {name: answer[name] for name in known if name in answer}
    body |= {"messages": [ai_message(query, text)], "interrupts": interrupts_of(turn), "pagination": None}
    if answer["outcome"] == "answered":
        pages = use_cases.results
        page = given(await pages.page(query, credential, wanted.pagination.number, wanted.pagination.size))
        body["rows"] = page["rows"]
        body["pagination"] = {
            name: value for name, value in page.items() if name not in ("rows", "columns", "query_id")
        }
    return JsonResponse(body)


async def _begun(use_cases: UseCases, credential: Credential, wanted: MessagesRequest) -> Started:
    thread = wanted.thread_id
    if thread is not None and not is_id(thread):
        thread = derived_id("key", credential.tenant, credential.user, f"thread:{thread}")
    return given(await Runs(use_cases, credential).begin(wanted.run(), thread))
