"""The HTTP application: marks, refusals and the document; each `http_<area>.py` brings its paths as a router.

Every answer carries `X-Request-Id`; every refusal is `application/problem+json` with a code and a trace id. A new
area is one line in ROUTERS.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, MutableMapping, Sequence
from typing import Any, Final

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from querybus.bus.broker import BusBroker
from querybus.bus.stores.buckets import SecretStore
from querybus.ops.clock import RandomBits, system_random_bits
from querybus.ops.log import get_log
from querybus.ops.run import Part
from querybus.ops.trace import Tracing
from querybus_gateway.access.request_ids import request_id
from querybus_gateway.bus.asyncapi import asyncapi
from querybus_gateway.bus.stores import SharedKey
from querybus_gateway.http import batches as http_batches
from querybus_gateway.http import charts as http_charts
from querybus_gateway.http import connections as http_connections
from querybus_gateway.http import events as http_events
from querybus_gateway.http import knowledge as http_knowledge
from querybus_gateway.http import metrics as http_metrics
from querybus_gateway.http import pages as http_pages
from querybus_gateway.http import queries as http_queries
from querybus_gateway.http import threads as http_threads
from querybus_gateway.http.browser import admin as http_admin
from querybus_gateway.http.browser import boards as http_boards
from querybus_gateway.http.browser import models as http_models
from querybus_gateway.http.browser import set_up as http_set_up
from querybus_gateway.http.browser import sign_in as http_sign_in
from querybus_gateway.http.browser.page import page_routes
from querybus_gateway.http.browser.reference import reference_routes
from querybus_gateway.http.compatible.antvis.paths import antvis_router
from querybus_gateway.http.compatible.langgraph import LANGGRAPH_ROUTERS
from querybus_gateway.http.compatible.mcp.listener import McpApi
from querybus_gateway.http.compatible.openai import api as openai_api
from querybus_gateway.http.request import (
    DOCUMENTED,
    NO_KEY,
    JsonResponse,
    NothingFollowsError,
    gives,
    problem_response,
)
from querybus_gateway.http.server import HEAD_BYTES_MAX, HttpApi
from querybus_gateway.problems import PROBLEM_MEDIA_TYPE, STATUS, FieldError, Problem, ProblemCode, Refused
from querybus_gateway.public.documents import AsyncApiView, ProblemView
from querybus_gateway.public.faults import fault_text
from querybus_gateway.public.redaction import Json
from querybus_gateway.settings import Settings
from querybus_gateway.use_cases.bundle import UseCases

ROUTERS: Final[tuple[APIRouter, ...]] = (
    http_queries.router,
    http_queries.waiting,
    http_events.router,
    http_pages.router,
    http_charts.router,
    http_connections.router,
    http_knowledge.router,
    http_metrics.router,
    http_threads.router,
    http_sign_in.router,
    http_boards.router,
    http_admin.router,
    http_set_up.router,
    http_models.router,
    http_batches.router,
)

REQUEST_HEADERS: Final = (
    "authorization",
    "x-api-key",
    "content-type",
    "prefer",
    "idempotency-key",
    "last-event-id",
    "x-request-id",
    "traceparent",
)
ANSWER_HEADERS: Final = (
    "location",
    "retry-after",
    "ratelimit",
    "preference-applied",
    "idempotency-replayed",
    "content-disposition",
    "querybus-rows",
    "querybus-truncated",
    "x-request-id",
    "x-trace-id",
    "traceparent",
)
"""What a page of another origin may send and read."""

_log = get_log(__name__)


REFUSALS: Final[dict[int | str, dict[str, Any]]] = {
    status: {
        "description": "; ".join(sorted({title for known, title in STATUS.values() if known == status})),
        "content": {PROBLEM_MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemView"}}},
    }
    for status in sorted({status for status, _ in STATUS.values()})
}
"""Every refusal that any path may answer with."""


_FRAMEWORKS: Final = {
    404: Problem(ProblemCode.NOT_FOUND, "there is no such path; /docs and GET /v1/openapi.json list them"),
    405: Problem(ProblemCode.METHOD_NOT_ALLOWED),
}
"""What the framework refuses by itself."""


_API_PATHS: Final = (
    ("/v1/", "http"),
    ("/openai/", "openai"),
    ("/page/", "page"),
    ("/mcp", "mcp"),
    ("/antvis", "antvis"),
    ("/runs", "langgraph"),
    ("/threads", "langgraph"),
    ("/assistants", "langgraph"),
    ("/api/v1/", "langgraph"),
    ("/query/", "langgraph"),
    ("/store/", "langgraph"),
)


def api_of(path: str) -> str:
    """Return the API that a path belongs to, `http` for what belongs to none.

    >>> api_of("/threads/x/runs/stream"), api_of("/v1/threads"), api_of("/robots.txt")
    ('langgraph', 'http', 'http')
    """
    return next((api for start, api in _API_PATHS if path.startswith(start)), "http")


_UNCACHED: Final = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
"""Of every answer that does not say otherwise: what somebody was answered is in no cache, and is what it says it is."""


class Marked:
    """Gives each request an id and a span, writes both onto its answer, and counts it."""

    def __init__(self, app: ASGIApp, *, use_cases: UseCases, tracing: Tracing, random_bits: RandomBits) -> None:
        self._app = app
        self._use_cases = use_cases
        self._tracing = tracing
        self._random_bits = random_bits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        called = request_id(headers.get("x-request-id"), self._random_bits)
        with self._tracing.span("gateway", headers) as span:
            trace_id = format(span.get_span_context().trace_id, "032x")
            state: MutableMapping[str, Any] = scope.setdefault("state", {})
            state["request_id"] = called
            state["trace_id"] = trace_id
            context = span.get_span_context()
            parent = f"00-{trace_id}-{context.span_id:016x}-{int(context.trace_flags):02x}".encode()

            refused = _refused_head(scope)
            if refused is not None:
                await problem_response(Request(scope), refused)(scope, receive, send)
                return
            if "content-length" in headers and "transfer-encoding" in headers:
                # Whose end is not certain may hide a second request: it is refused, and the connection closed.
                refused = Response(
                    "Content-Length and Transfer-Encoding contradict each other\n", 400, media_type="text/plain"
                )
                refused.headers["Connection"] = "close"
                await refused(scope, receive, send)
                return

            async def marked(message: Message) -> None:
                if message["type"] == "http.response.start":
                    self._use_cases.count(api_of(scope["path"]), message["status"])
                    own = message.get("headers", ())
                    message["headers"] = [
                        *own,
                        *(item for item in _UNCACHED if all(item[0] != name for name, _ in own)),
                        (b"x-request-id", called.encode()),
                        (b"x-trace-id", trace_id.encode()),
                        (b"traceparent", parent),
                    ]
                await send(message)

            if scope["method"] == "HEAD":
                await _headed(self._app, scope, receive, marked)
                return
            await self._app(scope, receive, marked)


def _refused_head(scope: Scope) -> Problem | None:
    """Return what is against a request's line and headers, before anything reads them."""
    size = len(scope["raw_path"]) + len(scope["query_string"])
    size += sum(len(name) + len(value) + 4 for name, value in scope["headers"])
    if size > HEAD_BYTES_MAX:
        return Problem(ProblemCode.TOO_LARGE, f"the request line and headers have at most {HEAD_BYTES_MAX} bytes")
    if b"%2f" in scope["raw_path"].lower():
        # No name has a slash: decoded, the path would be another one.
        return Problem(ProblemCode.NOT_FOUND, "a name in the path has no slash")
    return None


async def _headed(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer HEAD as GET without its body; what would go on sending learns that the caller has left."""
    has_begun = asyncio.Event()

    async def gone() -> Message:
        if not has_begun.is_set():
            return await receive()
        return {"type": "http.disconnect"}

    async def headed(message: Message) -> None:
        if message["type"] == "http.response.start":
            has_begun.set()
            await send(message)
            await send({"type": "http.response.body", "body": b""})

    await app({**scope, "method": "GET"}, gone, headed)


def _operation_id(route: APIRoute) -> str:
    """Return what a generated client calls the operation, such as `queries_ask`."""
    tag = str(route.tags[0]).replace("-", "_") if route.tags else "querybus"
    return f"{tag}_{route.name}"


def http_api(
    use_cases: UseCases,
    *,
    tracing: Tracing,
    random_bits: RandomBits,
    cors_origins: Sequence[str] = (),
    apis: Collection[str] = ("openai", "langgraph"),
    public_url: str = "",
    more: Sequence[BaseRoute] = (),
) -> FastAPI:
    """Return the HTTP application; pages of `cors_origins` may call it from a browser.

    Of `apis`, `openai` adds `/openai/v1`, `langgraph` the paths of LangGraph's server, `page` the page for people; `more` are
    paths that are no part of the document. Links in answers begin with `public_url`; without it with the address that listens.
    """
    app = FastAPI(
        title="QueryBus",
        version="1",
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_operation_id,
    )
    app.state.use_cases = use_cases
    app.state.public_url = public_url
    app.state.has_page = "page" in apis
    if cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=cors_origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=list(REQUEST_HEADERS),
            expose_headers=list(ANSWER_HEADERS),
            max_age=600,
        )
    app.add_middleware(Marked, use_cases=use_cases, tracing=tracing, random_bits=random_bits)
    others = (
        *((openai_api.router,) if "openai" in apis else ()),
        *(LANGGRAPH_ROUTERS if "langgraph" in apis else ()),
    )
    for router in (*ROUTERS, *others):
        app.include_router(router, responses=REFUSALS)
    app.add_api_route(
        "/v1/asyncapi.json",
        _asyncapi,
        response_class=JsonResponse,
        responses=gives(AsyncApiView),
        tags=["documents"],
        openapi_extra=NO_KEY,
    )
    app.router.routes.extend((*more, *reference_routes(), *(page_routes() if "page" in apis else ())))
    _refusals(app, [*app.router.routes, *(route for router in (*ROUTERS, *others) for route in router.routes)])
    _document(app)
    return app


def http_listeners(settings: Settings, broker: BusBroker, use_cases: UseCases, *, tracing: Tracing) -> list[Part]:
    """Return the HTTP API, and the tools where they are served."""
    mcp = _mcp_api(settings, broker, use_cases)
    web = http_api(
        use_cases,
        tracing=tracing,
        random_bits=system_random_bits,
        cors_origins=settings.cors_origins,
        apis=settings.apis,
        public_url=settings.public_url,
        more=[*(mcp.routes if mcp is not None else ()), *_antvis_routes(settings, broker)],
    )
    api = HttpApi(
        web,
        host=settings.api_host,
        port=settings.api_port or 0,
        trusted_proxies=settings.trusted_proxies,
        on_listening=lambda address: _log.info("http.listening", address=address),
    )
    return [api] if mcp is None else [api, mcp]


def _mcp_api(settings: Settings, broker: BusBroker, use_cases: UseCases) -> McpApi | None:
    if "mcp" not in settings.apis:
        return None
    return McpApi(
        use_cases,
        state_key=SharedKey(SecretStore(broker), "mcp-state", random_bits=system_random_bits),
        origins=settings.cors_origins,
        issuer=settings.oidc.issuer if settings.oidc else "",
        statements="mcp-sql" in settings.apis,
    )


def _antvis_routes(settings: Settings, broker: BusBroker) -> list[BaseRoute]:
    if "antvis" not in settings.apis:
        return []
    return antvis_router(SharedKey(SecretStore(broker), "antvis-pictures", random_bits=system_random_bits)).routes


def _refusals(app: FastAPI, routes: Sequence[BaseRoute]) -> None:
    """Say every refusal as a problem, also those that the framework makes."""

    async def refused(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, Refused)  # noqa: S101 - registered for no other
        return problem_response(request, error.problem)

    async def http_error(request: Request, error: Exception) -> JSONResponse:
        status = getattr(error, "status_code", 500)
        problem = _FRAMEWORKS.get(status, Problem(ProblemCode.MALFORMED))
        response = problem_response(request, problem)
        if status == 405:
            response.headers["Allow"] = ", ".join(_methods(routes, request))
        return response

    async def invalid(request: Request, error: Exception) -> JSONResponse:
        faults = error.errors() if isinstance(error, RequestValidationError) else ()
        errors = tuple(
            FieldError("".join(f"/{str(part)[:80]}" for part in fault["loc"]), fault_text(fault)) for fault in faults
        )
        detail = f"{errors[0].pointer}: {errors[0].message}" if errors else ""
        return problem_response(request, Problem(ProblemCode.INVALID, detail, errors))

    async def nothing_follows(_: Request, __: Exception) -> Response:
        return Response(status_code=204)

    async def gone(_: Request, __: Exception) -> Response:
        # Nobody reads it, and that somebody left is no error of ours.
        return Response(status_code=400)

    async def unexpected(request: Request, error: Exception) -> JSONResponse:
        _log.error("http.exception", error=type(error).__name__, path=request.scope.get("path", "")[:100])
        return problem_response(request, Problem(ProblemCode.INTERNAL))

    app.add_exception_handler(Refused, refused)
    app.add_exception_handler(HTTPException, http_error)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(NothingFollowsError, nothing_follows)
    app.add_exception_handler(ClientDisconnect, gone)
    app.add_exception_handler(Exception, unexpected)


def _methods(routes: Sequence[BaseRoute], request: Request) -> list[str]:
    """Return what is offered at a request's path, by whichever of its routes."""
    matching = [item for item in routes if isinstance(item, Route) and item.matches(request.scope)[0] is not Match.NONE]
    # A path of its own is not what stands for a name in another's pattern.
    own = [item for item in matching if item.path.count("{") == min(other.path.count("{") for other in matching)]
    methods = {method for item in own for method in item.methods or ()}
    return sorted(methods | ({"HEAD"} if "GET" in methods else set()))


async def _asyncapi() -> JsonResponse:
    """Return the AsyncAPI document of the bus."""
    return JsonResponse(asyncapi())


def _document(app: FastAPI) -> None:
    """Describe the request bodies, which the API reads by itself so that it can count them, and what it streams."""

    def openapi() -> Json:
        if app.openapi_schema is None:
            document = get_openapi(title=app.title, version=app.version, routes=app.routes)
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            document["components"]["securitySchemes"] = {
                "key": {"type": "http", "scheme": "bearer", "description": "an API key, or a token of the issuer"},
                "header": {"type": "apiKey", "in": "header", "name": "x-api-key"},
            }
            document["security"] = [{"key": []}, {"header": []}]
            for model in (*DOCUMENTED, ProblemView):
                schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
                schemas |= schema.pop("$defs", {}) | {model.__name__: schema}
            for operation in (item for path in document["paths"].values() for item in path.values()):
                # FastAPI describes streams as OpenAPI 3.2 does, in a document that says 3.1.
                operation["responses"].get("200", {}).get("content", {}).get("text/event-stream", {}).pop(
                    "itemSchema", None
                )
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi
