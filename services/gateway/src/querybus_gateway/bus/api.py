"""The bus API: `call.<tenant>.<credential>.<verb>` with JSON in and out, the same admission as everywhere.

Tenant and credential are the tokens of the subject, which the server let nobody else publish to; the registry says
who that is. A reply is one JSON object: a finished query's answer (`status` finished), a query that has not finished
(`status` queued or running), a page, or a problem (`code`, `title`, `detail`, no `status`).
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json

from querybus.bus.log.publish import BusTrouble
from querybus.bus.requests.calls import REPLY_BYTES_MAX, Call
from querybus.core.credential import Credential
from querybus.core.requests.refinement import Change
from querybus.ops.log import get_log
from querybus.ops.trace import Tracing
from querybus.picture import PictureForm
from querybus_gateway.access.credentials import is_own
from querybus_gateway.access.page_token import TOKEN_LENGTH_MAX
from querybus_gateway.admit import AskCall, read
from querybus_gateway.bus import connections as bus_connections
from querybus_gateway.bus import knowledge as bus_knowledge
from querybus_gateway.bus import threads as bus_threads
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.batches.batches import BatchRequest
from querybus_gateway.use_cases.bundle import UseCases
from querybus_gateway.use_cases.followups.clarify import ClarifyRequest, clarify
from querybus_gateway.use_cases.followups.confirm import ConfirmRequest
from querybus_gateway.use_cases.followups.refine import refine
from querybus_gateway.use_cases.queries import BUS_RETRY_SECONDS
from querybus_gateway.use_cases.query_list import QueriesRequest
from querybus_gateway.use_cases.resources import Reply
from querybus_gateway.use_cases.results.charts import ChartForm
from querybus_gateway.use_cases.results.pages import PAGE_SIZE_MAX

_log = get_log(__name__)


class QueryCall(BaseModel):
    """A call about one query."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    query_id: str = Field(max_length=64)


class AnswerCall(QueryCall):
    """`wait_seconds` is lowered to what an API waits at most."""

    wait_seconds: int = Field(default=0, ge=0, le=3_600)


class PageCall(QueryCall):
    """A page by its number, or by the token that another page gave."""

    page: int = Field(default=1, ge=1)
    page_size: int | None = Field(default=None, ge=1, le=PAGE_SIZE_MAX)
    page_token: str | None = Field(default=None, max_length=TOKEN_LENGTH_MAX)


class ChartCall(QueryCall):
    """The answer's chart: its specification, or a picture drawn from it."""

    format: ChartForm = ChartForm.JSON


class ClarifyCall(AnswerCall, ClarifyRequest):
    """The answer to what the query asked back."""

    idempotency_key: str | None = None


class RefineCall(AnswerCall):
    """Another reading of the query's answer."""

    change: Change
    idempotency_key: str | None = None


class ConfirmCall(AnswerCall, ConfirmRequest):
    """A person's yes to what the query asked."""


class BatchCall(BaseModel):
    """A batch to submit, or what to do with one; `offset` is the item to read from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    action: Literal["submit", "read", "cancel", "retry"] = "submit"
    batch: BatchRequest | None = None
    batch_id: str = Field(default="", max_length=64)
    offset: int = Field(default=0, ge=0)
    idempotency_key: str | None = Field(default=None, max_length=255)


class BusApi:
    """Answers calls."""

    def __init__(self, use_cases: UseCases, *, tracing: Tracing, calls_max: int) -> None:
        """`calls_max` run at once; one tenant may hold half of them, so that its long waits keep nobody else waiting."""
        self._use_cases = use_cases
        self._tracing = tracing
        self._tenant_calls_max = max(1, calls_max // 2)
        self._running: Counter[str] = Counter()

    async def answer(self, call: Call) -> bytes:
        """Return the reply to a call; raises nothing but a cancellation."""
        with self._tracing.span("gateway", call.headers) as span:
            try:
                result = await self._answer_within_share(call)
            except BusTrouble:
                result = Problem(ProblemCode.BUS_UNAVAILABLE, retry_after_seconds=BUS_RETRY_SECONDS)
            except Exception as error:  # noqa: BLE001 - the caller must learn of it, whatever it is
                _log.error("call.exception", verb=call.verb if call.verb in VERBS else "?", error=type(error).__name__)
                result = Problem(ProblemCode.INTERNAL)
            trace_id = format(span.get_span_context().trace_id, "032x")
        self._use_cases.count("bus", result.status if isinstance(result, Problem) else 200)
        if not isinstance(result, Problem):
            reply = to_json(result)
            if len(reply) <= REPLY_BYTES_MAX:
                return reply
            result = Problem(ProblemCode.TOO_LARGE, "the reply does not fit one message: ask for less, or over HTTP")
        return to_json(problem_reply(result, call.verb, trace_id))

    async def _answer_within_share(self, call: Call) -> Json | Problem:
        if self._running[call.tenant] >= self._tenant_calls_max:
            return Problem(ProblemCode.QUEUE_FULL, "too many calls wait for answers", retry_after_seconds=1)
        self._running[call.tenant] += 1
        try:
            return await self._answer(call)
        finally:
            self._running[call.tenant] -= 1
            if not self._running[call.tenant]:
                del self._running[call.tenant]

    async def _answer(self, call: Call) -> Json | Problem:
        credential = await self._use_cases.credentials.get(call.tenant, call.credential)
        if credential is None or not is_own(credential, call.tenant, call.credential):
            return Problem(ProblemCode.UNAUTHENTICATED, "this credential is not known here")
        verb = VERBS.get(call.verb)
        if verb is None:
            return Problem(ProblemCode.NOT_FOUND, f"the verbs are {', '.join(VERBS)}")
        wanted = read(call.data, verb.takes)
        return wanted if isinstance(wanted, Problem) else await verb.do(wanted, credential, self._use_cases)


async def _ask(wanted: AskCall, credential: Credential, use_cases: UseCases) -> Json | Problem:
    return asked_reply(
        await use_cases.queries.ask(
            wanted.request(), credential, idempotency_key=wanted.idempotency_key, wait_seconds=wanted.wait_seconds
        )
    )


async def _read(wanted: AnswerCall, credential: Credential, use_cases: UseCases) -> Json | Problem:
    if wanted.wait_seconds:
        return flat_reply(await use_cases.queries.wait(wanted.query_id, credential, wanted.wait_seconds))
    return flat_reply(await use_cases.queries.read(wanted.query_id, credential))


async def _cancel(wanted: QueryCall, credential: Credential, use_cases: UseCases) -> Json | Problem:
    return flat_reply(await use_cases.queries.cancel(wanted.query_id, credential))


async def _page(wanted: PageCall, credential: Credential, use_cases: UseCases) -> Json | Problem:
    if wanted.page_token is not None:
        return await use_cases.results.page_of_token(wanted.query_id, credential, wanted.page_token)
    return await use_cases.results.page(wanted.query_id, credential, wanted.page, wanted.page_size)


async def _chart(wanted: ChartCall, credential: Credential, use_cases: UseCases) -> Json | Problem:
    view: Json = {"query_id": wanted.query_id, "format": wanted.format.value, "chart": None, "data_base64": None}
    if wanted.format is ChartForm.JSON:
        spec = await use_cases.charts.spec(wanted.query_id, credential)
        return spec if isinstance(spec, Problem) else view | {"chart": spec}
    drawn = await use_cases.charts.picture(wanted.query_id, credential, PictureForm(wanted.format.value))
    return drawn if isinstance(drawn, Problem) else view | {"data_base64": base64.b64encode(drawn).decode()}


async def _clarify(wanted: ClarifyCall, credential: Credential, use_cases: UseCases) -> Json | Problem:
    return asked_reply(
        await clarify(
            use_cases.queries,
            wanted.query_id,
            wanted,
            credential,
            idempotency_key=wanted.idempotency_key,
            wait_seconds=wanted.wait_seconds,
        )
    )


async def _refine(wanted: RefineCall, credential: Credential, use_cases: UseCases) -> Json | Problem:
    return asked_reply(
        await refine(
            use_cases.queries,
            wanted.query_id,
            wanted.change,
            credential,
            idempotency_key=wanted.idempotency_key,
            wait_seconds=wanted.wait_seconds,
        )
    )


async def _confirm(wanted: ConfirmCall, credential: Credential, use_cases: UseCases) -> Json | Problem:
    return asked_reply(
        await use_cases.confirmations.confirm(
            wanted.query_id,
            ConfirmRequest(sql_sha256=wanted.sql_sha256, rows_affected_max=wanted.rows_affected_max),
            credential,
            wait_seconds=wanted.wait_seconds,
        )
    )


async def _batch(wanted: BatchCall, credential: Credential, use_cases: UseCases) -> Json | Problem:
    match wanted.action:
        case "read":
            return await use_cases.batches.read(wanted.batch_id, credential, offset=wanted.offset)
        case "cancel":
            return await use_cases.batches.cancel(wanted.batch_id, credential)
        case "retry":
            return await use_cases.batches.run_again(wanted.batch_id, credential)
        case "submit":
            if wanted.batch is None:
                return Problem(ProblemCode.INVALID, "/batch: a batch to submit is needed")
            return await use_cases.batches.submit(wanted.batch, credential, idempotency_key=wanted.idempotency_key)


@dataclass(frozen=True, slots=True)
class Verb:
    """What a verb takes and does; `do` gets the request, the caller's credential and the use cases."""

    takes: type[BaseModel]
    do: Callable[[Any, Credential, UseCases], Awaitable[Json | Problem]]


VERBS: Final[dict[str, Verb]] = {
    "ask": Verb(AskCall, _ask),
    "answer": Verb(AnswerCall, _read),
    "batch": Verb(BatchCall, _batch),
    "cancel": Verb(QueryCall, _cancel),
    "confirm": Verb(ConfirmCall, _confirm),
    "clarify": Verb(ClarifyCall, _clarify),
    "refine": Verb(RefineCall, _refine),
    "page": Verb(PageCall, _page),
    "chart": Verb(ChartCall, _chart),
    "feedback": Verb(bus_knowledge.FeedbackCall, bus_knowledge.feedback),
    "me": Verb(bus_connections.ConnectionsCall, bus_connections.who),
    "connections": Verb(bus_connections.ConnectionsCall, bus_connections.connections),
    "catalog": Verb(bus_connections.CatalogCall, bus_connections.catalog),
    "definitions": Verb(bus_connections.CatalogCall, bus_connections.definitions),
    "suggestions": Verb(bus_connections.CatalogCall, bus_connections.suggestions),
    "knowledge": Verb(bus_knowledge.KnowledgeCall, bus_knowledge.knowledge),
    "preferences": Verb(bus_knowledge.PreferencesCall, bus_knowledge.preferences),
    "choices": Verb(bus_knowledge.ChoicesCall, bus_knowledge.choices),
    "options": Verb(bus_knowledge.OptionsCall, bus_knowledge.options),
    "queries": Verb(QueriesRequest, bus_threads.list_own_queries),
    "threads": Verb(bus_threads.ThreadsCall, bus_threads.list_threads),
    "turns": Verb(bus_threads.TurnsCall, bus_threads.turns),
    "state": Verb(bus_threads.StateCall, bus_threads.state),
    "thread-events": Verb(bus_threads.ThreadEventsCall, bus_threads.events),
    "fork": Verb(bus_threads.ForkCall, bus_threads.fork),
    "delete-thread": Verb(bus_threads.ThreadCall, bus_threads.delete),
}
"""Every verb of the bus API: a new one is one line."""


def problem_reply(problem: Problem, verb: str, trace_id: str) -> Json:
    """Return a problem as the bus says it: without `status`, which there is the query's."""
    body = problem.body(instance=f"call/{verb if verb in VERBS else '?'}", trace_id=trace_id)
    del body["status"]
    if problem.retry_after_seconds is not None:
        body["retry_after_seconds"] = problem.retry_after_seconds
    return body


def asked_reply(reply: Reply | Problem) -> Json | Problem:
    """Return a new query as the bus says it, `idempotency_replayed` where its key was used before."""
    flat = flat_reply(reply)
    if isinstance(reply, Reply) and reply.is_replayed and not isinstance(flat, Problem):
        return flat | {"idempotency_replayed": True}
    return flat


def flat_reply(reply: Reply | Problem) -> Json | Problem:
    """Return a query as the bus says it: the answer itself once it has finished."""
    if isinstance(reply, Problem):
        return reply
    if reply.is_finished:
        answer: Json = reply.resource["answer"]
        return {**answer, "status": "finished", "query_id": reply.query_id}
    names = ("thread_id", "status", "last_event", "created_at", "deadline_at", "message")
    return {"query_id": reply.query_id, **{name: reply.resource[name] for name in names}}
