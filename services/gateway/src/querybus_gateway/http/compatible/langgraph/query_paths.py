"""`/api/v1/query`, its other name `/query/stream`, and `/api/v1/query/sync`: messages in, a stream of the run or its answer out."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict, Field

from querybus.core.credential import Credential
from querybus.core.ids import derived_id, is_id
from querybus_gateway.http.compatible.langgraph.objects import GRAPH, ai_message, interrupts_of, run_status, text_of
from querybus_gateway.http.compatible.langgraph.requests import Config, Pagination, RunRequest, StreamModes
from querybus_gateway.http.compatible.langgraph.routes import given, router_of, wanted_of
from querybus_gateway.http.compatible.langgraph.run_paths import RUN_SECONDS_MAX, stream_of
from querybus_gateway.http.compatible.langgraph.runs import Runs, Started, ended
from querybus_gateway.http.request import Caller, JsonResponse, UseCasesOf, links_base
from querybus_gateway.use_cases.bundle import UseCases

Json = dict[str, Any]
WORDS_MODE = "messages-tuple"
"""What is streamed to whoever names no mode: pairs of a part of the answer's words and where it comes from."""

router = router_of()


class MessagesRequest(BaseModel):
    """A conversation whose last message of a person is the question, or the question alone."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="ignore")

    messages: Any = None
    question: str | None = None
    query: str | None = None
    thread_id: str | None = Field(default=None, max_length=200, description="of any form; a new one begins a thread")
    pagination: Any = None
    config: dict[str, Any] = {}
    stream_mode: StreamModes | None = None

    def run(self) -> RunRequest:
        """Return the run that this asks for."""
        inner = self.config.get("configurable")
        configurable = {**self.config, **(inner if isinstance(inner, dict) else {})}
        question = self.question or self.query
        return RunRequest(
            assistant_id=GRAPH,
            input={"messages": self.messages, "question": question, "pagination": self.pagination},
            config=Config(configurable=configurable),
            stream_mode=self.stream_mode or WORDS_MODE,
            if_not_exists="create",
        )


@router.post("/api/v1/query")
@router.post("/query/stream")
async def stream(request: Request, use_cases: UseCasesOf, credential: Caller) -> Response:
    """Ask, and stream the answer's words as `messages-tuple`; with `stream_mode` as `/runs/stream` does."""
    wanted = await wanted_of(request, MessagesRequest)
    started = await _begun(use_cases, credential, wanted)
    is_plain = wanted.stream_mode is None
    return stream_of(request, use_cases, credential, started, wanted.run().modes, is_new=True, is_plain=is_plain)


@router.post("/api/v1/query/sync")
async def sync(request: Request, use_cases: UseCasesOf, credential: Caller) -> Response:
    """Ask, and return the answer once it is there."""
    wanted = await wanted_of(request, MessagesRequest)
    started = await _begun(use_cases, credential, wanted)
    query = started.reply.query_id
    reply = given(await ended(use_cases, query, credential, RUN_SECONDS_MAX))
    if not reply.is_finished:
        return JsonResponse({"thread_id": started.thread, "query_id": query, "status": "running"}, 202)
    page = started.page or Pagination()
    turn = given(await Runs(use_cases, credential).end_of(reply.resource["answer"], page))
    answer = turn["answer"]
    known = ("outcome", "code", "message", "summary", "columns", "rows", "row_count", "chart", "sql", "options")
    body: Json = {"thread_id": started.thread, "query_id": query, "status": run_status(turn)}
    body |= {name: answer[name] for name in known if name in answer}
    body |= {"messages": [ai_message(query, text_of(turn, links_base(request)))], "interrupts": interrupts_of(turn)}
    return JsonResponse({**body, "pagination": answer.get("pagination")})


async def _begun(use_cases: UseCases, credential: Credential, wanted: MessagesRequest) -> Started:
    thread = wanted.thread_id
    if thread is not None and not is_id(thread):
        thread = derived_id("key", credential.tenant, credential.user, f"thread:{thread}")
    return given(await Runs(use_cases, credential).begin(wanted.run(), thread))
