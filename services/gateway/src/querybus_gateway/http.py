"""The HTTP door: `/v1/queries` with problems, keys and server-sent events; it only translates.

Every answer carries `X-Request-Id`; every refusal is `application/problem+json` with a code and a trace id. A body is
counted while it is read and refused with 413 before anything parses it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
from collections.abc import AsyncIterator, Callable, Generator, MutableMapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, cast

import uvicorn
from fastapi import APIRouter, Depends, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from querybus.bus.publish import BusTrouble
from querybus.core.credential import Credential
from querybus.core.redact import Json
from querybus.ops.clock import RandomBits
from querybus.ops.log import get_log
from querybus.ops.trace import Tracing
from querybus_gateway.admit import BODY_BYTES_MAX, WAIT_SECONDS_MAX, AskRequest, read
from querybus_gateway.credentials import authenticate, presented_key
from querybus_gateway.ports import Credentials
from querybus_gateway.problems import PROBLEM_MEDIA_TYPE, FieldError, Problem, ProblemCode, Refused
from querybus_gateway.queries import BUS_RETRY_SECONDS, Queries, Reply

BODY_SECONDS_MAX: Final = 10.0
CLOSE_SECONDS_MAX: Final = 2
SSE_RETRY_MS: Final = 2_000
SEQUENCE_MAX: Final = 2**63 - 1

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_WAIT = re.compile(r"""(?:^|[\s,;])wait\s*=\s*"?(\d{1,5})"?(?:$|[\s,;])""", re.IGNORECASE)

_log = get_log(__name__)


class JsonResponse(JSONResponse):
    """JSON as UTF-8, Chinese readable."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


class Marked:
    """Gives each request an id and a span, and writes both onto its answer."""

    def __init__(self, app: ASGIApp, *, tracing: Tracing, random_bits: RandomBits) -> None:
        self._app = app
        self._tracing = tracing
        self._random_bits = random_bits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else f"{self._random_bits(128):032x}"
        with self._tracing.span("gateway", headers) as span:
            trace_id = format(span.get_span_context().trace_id, "032x")
            state: MutableMapping[str, Any] = scope.setdefault("state", {})
            state["request_id"] = request_id
            state["trace_id"] = trace_id

            async def marked(message: Message) -> None:
                if message["type"] == "http.response.start":
                    message["headers"] = [
                        *message.get("headers", ()),
                        (b"x-request-id", request_id.encode()),
                        (b"x-trace-id", trace_id.encode()),
                    ]
                await send(message)

            await self._app(scope, receive, marked)


def problem_response(request: Request, problem: Problem) -> JsonResponse:
    """Return a problem as HTTP says it."""
    headers: dict[str, str] = {}
    if problem.retry_after_seconds is not None:
        headers["Retry-After"] = str(problem.retry_after_seconds)
    if problem.status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="querybus"'
    trace_id = getattr(request.state, "trace_id", "0" * 32)
    body = problem.body(instance=request.url.path, trace_id=trace_id)
    return JsonResponse(body, problem.status, headers=headers, media_type=PROBLEM_MEDIA_TYPE)


def wait_preference(header: str | None) -> int | None:
    """Return the seconds of `Prefer: wait=N`, lowered to what a door waits; None without one.

    >>> wait_preference("respond-async, wait=500")
    30
    """
    found = _WAIT.search(header or "")
    return min(int(found.group(1)), WAIT_SECONDS_MAX) if found else None


async def read_body(request: Request) -> bytes:
    """Return the body of a JSON request; Refused if it is too large, no JSON by its type, or does not come."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise Refused(Problem(ProblemCode.UNSUPPORTED_MEDIA_TYPE, "send application/json"))
    length = request.headers.get("content-length", "")
    too_large = Problem(ProblemCode.TOO_LARGE, f"at most {BODY_BYTES_MAX} bytes are taken")
    if length.isdigit() and int(length) > BODY_BYTES_MAX:
        raise Refused(too_large)
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS_MAX):
            async for chunk in request.stream():
                body += chunk
                if len(body) > BODY_BYTES_MAX:
                    raise Refused(too_large)
    except TimeoutError:
        raise Refused(Problem(ProblemCode.MALFORMED, "the body did not come in time")) from None
    return bytes(body)


@dataclass(frozen=True, slots=True)
class _Rooms:
    """What the routes need, kept in the application's state."""

    queries: Queries
    credentials: Credentials
    cancelling: set[asyncio.Task[Any]] = field(default_factory=set[asyncio.Task[Any]])


def _rooms(request: Request) -> _Rooms:
    return cast("_Rooms", request.app.state.rooms)


async def _caller(request: Request) -> Credential:
    try:
        found = await authenticate(presented_key(request.headers), _rooms(request).credentials)
    except BusTrouble:
        found = Problem(ProblemCode.BUS_UNAVAILABLE, retry_after_seconds=BUS_RETRY_SECONDS)
    if isinstance(found, Problem):
        raise Refused(found)
    return found


Rooms = Annotated[_Rooms, Depends(_rooms)]
Caller = Annotated[Credential, Depends(_caller)]


@dataclass(frozen=True, slots=True)
class _Stream:
    """A stream of events that may be opened; refusals have been raised before it."""

    rooms: _Rooms
    query: str
    credential: Credential
    after_sequence: int
    cancels: bool


async def _stream_of(request: Request, rooms: Rooms, query_id: str, credential: Caller) -> _Stream:
    after = request.headers.get("last-event-id") or request.query_params.get("after") or "0"
    if not (after.isascii() and after.isdigit() and len(after) < 20 and int(after) <= SEQUENCE_MAX):
        raise Refused(Problem(ProblemCode.MALFORMED, "an event id is a whole number"))
    problem = await rooms.queries.open_stream(query_id, credential)
    if problem is not None:
        raise Refused(problem)
    return _Stream(rooms, query_id, credential, int(after), request.query_params.get("on_disconnect") == "cancel")


_routes = APIRouter(prefix="/v1/queries")


@_routes.post("", status_code=202)
async def ask(request: Request, rooms: Rooms, credential: Caller) -> JSONResponse:
    """Ask a question: 202 and where to look, or with `Prefer: wait=N` the answer in place."""
    asked = read(await read_body(request), AskRequest)
    if isinstance(asked, Problem):
        return problem_response(request, asked)
    wait = wait_preference(request.headers.get("prefer"))
    key = request.headers.get("idempotency-key")
    reply = await rooms.queries.ask(asked, credential, idempotency_key=key, wait_seconds=wait or 0)
    return _resource(request, reply, wait=wait, has_key=key is not None)


@_routes.get("/{query_id}")
async def show(request: Request, rooms: Rooms, query_id: str, credential: Caller) -> JSONResponse:
    """Return the query as it stands, with its answer once it has finished."""
    wait = wait_preference(request.headers.get("prefer"))
    found = (
        await rooms.queries.wait(query_id, credential, wait)
        if wait is not None
        else await rooms.queries.answer(query_id, credential)
    )
    if isinstance(found, Problem):
        return problem_response(request, found)
    applied = {"Preference-Applied": f"wait={wait}"} if wait is not None and found.is_finished else {}
    return JsonResponse(found.resource, headers=applied)


@_routes.post("/{query_id}/cancel", status_code=202)
async def cancel(request: Request, rooms: Rooms, query_id: str, credential: Caller) -> JSONResponse:
    """Cancel the query; 409 with the real outcome if it was concluded before."""
    found = await rooms.queries.cancel(query_id, credential)
    if isinstance(found, Problem):
        return problem_response(request, found)
    return JsonResponse(found.resource, 202, headers={"Location": f"/v1/queries/{query_id}"})


@_routes.get("/{query_id}/result")
async def result(
    request: Request,
    rooms: Rooms,
    query_id: str,
    credential: Caller,
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
) -> JSONResponse:
    """Return one page of the result."""
    found = await rooms.queries.page(query_id, credential, page)
    return problem_response(request, found) if isinstance(found, Problem) else JsonResponse(found)


@_routes.get("/{query_id}/events", response_class=EventSourceResponse)
async def events(stream: Annotated[_Stream, Depends(_stream_of)]) -> AsyncIterator[ServerSentEvent]:
    """Follow the query: each stored event with its sequence as id, progress without; ends with `finished`."""
    queries, retry = stream.rooms.queries, SSE_RETRY_MS
    try:
        async with aclosing(queries.stream(stream.query, stream.credential, stream.after_sequence)) as frames:
            async for frame in frames:
                yield ServerSentEvent(
                    event=frame.event,
                    id=None if frame.sequence is None else str(frame.sequence),
                    raw_data=json.dumps(frame.data, ensure_ascii=False, separators=(",", ":")),
                    retry=retry,
                )
                retry = None
    except asyncio.CancelledError:
        if stream.cancels:
            # A task of its own: this one may await nothing more.
            task = asyncio.get_running_loop().create_task(queries.cancel(stream.query, stream.credential))
            stream.rooms.cancelling.add(task)
            task.add_done_callback(stream.rooms.cancelling.discard)
        raise


def http_door(queries: Queries, credentials: Credentials, *, tracing: Tracing, random_bits: RandomBits) -> FastAPI:
    """Return the HTTP application."""
    app = FastAPI(title="QueryBus", version="1", openapi_url="/v1/openapi.json", docs_url=None, redoc_url=None)
    app.state.rooms = _Rooms(queries, credentials)
    app.add_middleware(Marked, tracing=tracing, random_bits=random_bits)
    app.include_router(_routes)
    _refusals(app)
    _document(app)
    return app


def _resource(request: Request, reply: Reply | Problem, *, wait: int | None, has_key: bool) -> JsonResponse:
    if isinstance(reply, Problem):
        return problem_response(request, reply)
    headers = {"Location": f"/v1/queries/{reply.query_id}"}
    if has_key and reply.is_replayed:
        headers["Idempotency-Replayed"] = "true"
    if not reply.is_finished:
        return JsonResponse(reply.resource, 202, headers=headers | {"Retry-After": "1"})
    if wait is not None:
        headers["Preference-Applied"] = f"wait={wait}"
    return JsonResponse(reply.resource, 200, headers=headers)


def _refusals(app: FastAPI) -> None:
    """Say every refusal as a problem, also those that the framework makes."""

    async def refused(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, Refused)  # noqa: S101 - registered for no other
        return problem_response(request, error.problem)

    async def http_error(request: Request, error: Exception) -> JSONResponse:
        status = getattr(error, "status_code", 500)
        codes = {404: ProblemCode.NOT_FOUND, 405: ProblemCode.METHOD_NOT_ALLOWED}
        return problem_response(request, Problem(codes.get(status, ProblemCode.MALFORMED)))

    async def invalid(request: Request, error: Exception) -> JSONResponse:
        faults = error.errors() if isinstance(error, RequestValidationError) else ()
        errors = tuple(
            FieldError("".join(f"/{str(part)[:80]}" for part in fault["loc"]), str(fault["msg"])[:300])
            for fault in faults
        )
        return problem_response(request, Problem(ProblemCode.INVALID, errors=errors))

    async def unexpected(request: Request, error: Exception) -> JSONResponse:
        _log.error("http.exception", error=type(error).__name__, path=request.scope.get("path", "")[:100])
        return problem_response(request, Problem(ProblemCode.INTERNAL))

    app.add_exception_handler(Refused, refused)
    app.add_exception_handler(HTTPException, http_error)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(Exception, unexpected)


def _document(app: FastAPI) -> None:
    """Describe the request body, which the door reads by itself so that it can count it."""

    def openapi() -> Json:
        if app.openapi_schema is None:
            document = get_openapi(title=app.title, version=app.version, routes=app.routes)
            schema = AskRequest.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            schemas |= schema.pop("$defs", {}) | {"AskRequest": schema}
            document["paths"]["/v1/queries"]["post"]["requestBody"] = {
                "required": True,
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/AskRequest"}}},
            }
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi


class _Server(uvicorn.Server):
    """A server that leaves signals to the process that it is a part of, and says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class HttpDoor:
    """Serves the HTTP application on a listener of its own. A part."""

    def __init__(self, app: ASGIApp, *, host: str, port: int, on_listening: Callable[[str], None]) -> None:
        self.name = "http"
        self._host = host
        self._port = port
        self._on_listening = on_listening
        self._server = _Server(
            uvicorn.Config(
                app,
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=CLOSE_SECONDS_MAX,
            )
        )
        self._task: asyncio.Task[None] | None = None
        self.address = ""

    async def start(self) -> None:
        """Listen; OSError if the address is taken."""
        listener = socket.socket(socket.AF_INET6 if ":" in self._host else socket.AF_INET)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((self._host, self._port))
        self.address = f"http://{self._host}:{listener.getsockname()[1]}"
        self._task = asyncio.get_running_loop().create_task(self._server.serve(sockets=[listener]), name=self.name)
        listening = asyncio.create_task(self._server.listening.wait())
        await asyncio.wait({listening, self._task}, return_when=asyncio.FIRST_COMPLETED)
        listening.cancel()
        if self._task.done():
            self._task.result()
            raise OSError(f"nothing listens at {self.address}")
        self._on_listening(self.address)

    async def drain(self) -> None:
        """Take no new connection, give open ones CLOSE_SECONDS_MAX."""
        self._server.should_exit = True
        if self._task is not None:
            await self._task

    async def ping(self) -> str | None:
        return None if self._task is not None and not self._task.done() else "not listening"
