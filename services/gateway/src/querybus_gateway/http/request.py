"""What every HTTP path shares: who calls, what the body says, how an answer and a refusal look.

A body is counted while it is read and refused with 413 before anything parses it.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Final, TypeVar, cast

from fastapi import Depends, Query, Request
from fastapi.dependencies.models import Dependant
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel

from querybus.bus.log.publish import BusTrouble
from querybus.core.credential import Credential
from querybus_gateway.access.credentials import presented_key
from querybus_gateway.access.session_token import TokenKind
from querybus_gateway.admit import BODY_BYTES_MAX, WAIT_SECONDS_MAX, read
from querybus_gateway.problems import PROBLEM_MEDIA_TYPE, FieldError, Problem, ProblemCode, Refused
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.bundle import UseCases
from querybus_gateway.use_cases.queries import BUS_RETRY_SECONDS
from querybus_gateway.use_cases.resources import Reply

BODY_SECONDS_MAX: Final = 10.0
OWN_PATHS: Final = "/v1/"

_WAIT = re.compile(r"""(?:^|[\s,;])wait\s*=\s*"?(\d{1,5})"?(?:$|[\s,;])""", re.IGNORECASE)

RequestT = TypeVar("RequestT", bound=BaseModel)


class JsonResponse(JSONResponse):
    """JSON as UTF-8, Chinese readable."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def problem_response(request: Request, problem: Problem) -> JsonResponse:
    """Return a problem as HTTP says it."""
    headers: dict[str, str] = {}
    if problem.retry_after_seconds is not None:
        headers["Retry-After"] = str(problem.retry_after_seconds)
    if problem.status == 429:
        headers["RateLimit"] = f'"{problem.code}";r=0;t={problem.retry_after_seconds or 1}'
    if problem.status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="querybus"'
    trace_id = getattr(request.state, "trace_id", "0" * 32)
    body = problem.body(instance=request.url.path, trace_id=trace_id)
    return JsonResponse(body, problem.status, headers=headers, media_type=PROBLEM_MEDIA_TYPE)


def answered(request: Request, found: Json | Problem, status: int = 200) -> JsonResponse:
    """Return what a use case gave: its object, or the problem."""
    return problem_response(request, found) if isinstance(found, Problem) else JsonResponse(found, status)


def wait_preference(header: str | None) -> int | None:
    """Return the seconds of `Prefer: wait=N`, lowered to what an API waits; None without one.

    >>> wait_preference("respond-async, wait=500")
    30
    """
    result = _WAIT.search(header or "")
    return min(int(result.group(1)), WAIT_SECONDS_MAX) if result else None


async def read_body(request: Request, *, any_type: bool = False) -> bytes:
    """Return the body of a JSON request; Refused if it is too large, no JSON by its type, or does not come.

    `any_type` for clients that send JSON under whatever type.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json" and not any_type:
        raise Refused(
            Problem(ProblemCode.UNSUPPORTED_MEDIA_TYPE, "send JSON, with the header `Content-Type: application/json`")
        )
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


DOCUMENTED: Final[set[type[BaseModel]]] = set()
"""What the paths take and stream, for the document: FastAPI knows only what they answer at once."""


def gives(model: type[BaseModel], *statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a path that answers with this model."""
    return {status: {"model": model} for status in statuses or (200,)}


def files(*media_types: str) -> dict[str, Any]:
    """Return the `content` of a path that answers with text or bytes of these media types."""
    bare = [media_type.partition(";")[0] for media_type in media_types]
    return {"content": {item: {"schema": {"type": "string", "contentMediaType": item}} for item in bare}}


def streams(*models: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a path whose server-sent events have these models as `data`."""
    DOCUMENTED.update(models)
    names = ", ".join(f"`{model.__name__}`" for model in models)
    schema = {"description": f"server-sent events; the `data` of each is JSON: one of {names}"}
    return {200: {"content": {"text/event-stream": {"schema": schema}}}}


class NothingFollowsError(Exception):
    """Of a stream that is resumed behind its last event: 204, so that a browser stops asking."""


NOTHING_FOLLOWS: Final[dict[int | str, dict[str, Any]]] = {204: {"description": "nothing follows the last event seen"}}


def header(name: str, description: str, **schema: Any) -> dict[str, Any]:
    """Return the description of a header that a path reads by itself, for `openapi_extra`."""
    kind = {"type": "string"} | schema
    return {"in": "header", "name": name, "required": False, "description": description, "schema": kind}


WAIT_HEADER: Final = header("Prefer", f"`wait=N`: seconds that the answer is waited for, at most {WAIT_SECONDS_MAX}")
KEY_HEADER: Final = header("Idempotency-Key", "the same key again is the same query", pattern="^[!-~]+$", maxLength=255)
_EVENT_ID: Final = "^[0-9]{0,18}$"
LAST_EVENT_HEADER: Final = header("Last-Event-ID", "the last event seen", pattern=_EVENT_ID, maxLength=18)


async def after_event(
    request: Request,
    after: Annotated[
        str,
        Query(
            description="the last event seen; `Last-Event-ID` says the same",
            max_length=40,
            json_schema_extra={"pattern": _EVENT_ID},
        ),
    ] = "",
) -> int:
    """Return the number of the last event that the reader has seen, 0 for none. Raises Refused."""
    text = request.headers.get("last-event-id") or after or "0"
    if re.fullmatch(_EVENT_ID, text, re.ASCII) is None:
        raise Refused(Problem(ProblemCode.MALFORMED, "an event id is a whole number"))
    return int(text)


def takes(model: type[BaseModel], *headers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `openapi_extra` of a path that reads this model with `body_of`, and these headers."""
    DOCUMENTED.add(model)
    schema = {"$ref": f"#/components/schemas/{model.__name__}"}
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    return {"requestBody": body} | ({"parameters": list(headers)} if headers else {})


async def body_of(request: Request, model: type[RequestT]) -> RequestT:
    """Return the request in a JSON body; Refused with the problem if there is none."""
    result = read(await read_body(request), model)
    if isinstance(result, Problem):
        raise Refused(result)
    return result


NO_KEY: Final[dict[str, Any]] = {"security": []}
"""The `openapi_extra` of a path that needs no key."""


async def _use_cases(request: Request) -> UseCases:
    return _own(request)


def _own(request: Request) -> UseCases:
    return cast("UseCases", request.app.state.use_cases)


def _only_known_parameters(request: Request) -> None:
    """Refuse a query parameter that the path does not have: whoever sends it believes that it does something."""
    route = request.scope.get("route")
    if not isinstance(route, APIRoute):
        return
    known = set(_query_names(route.dependant))
    for name in request.query_params:
        if name not in known:
            close = get_close_matches(name[:80], sorted(known), n=1)
            hint = f"; did you mean `{close[0]}`?" if close else ""
            detail = f"there is no query parameter `{name[:80]}`{hint}"
            raise Refused(Problem(ProblemCode.UNKNOWN_FIELD, detail, (FieldError(f"/query/{name[:80]}", detail),)))


def _query_names(dependant: Dependant) -> Iterator[str]:
    for field in dependant.query_params:
        kind: object = field.field_info.annotation
        # A model as a parameter stands for one parameter for each of its fields.
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from kind.model_fields
        else:
            yield field.alias
    for inner in dependant.dependencies:
        yield from _query_names(inner)


async def _caller(request: Request) -> Credential:
    """Return who is calling; whoever is nobody learns nothing else, not even what a path takes."""
    credential = await caller_of(request, _own(request))
    if request.url.path.startswith(OWN_PATHS):
        # At other people's paths their clients send what they please.
        _only_known_parameters(request)
    return credential


async def caller_of(
    request: Request, use_cases: UseCases, *, ticket: str = "", query_id: str = "", kind: TokenKind = "ticket"
) -> Credential:
    """Return who is calling, by key or by a ticket for the events or the picture of one query; Refused for nobody."""
    try:
        source = source_of(request)
        key = presented_key(request.headers.items())
        if key is None and ticket:
            result = await use_cases.callers.identify_ticket(ticket, query_id, source, kind)
        else:
            result = await use_cases.callers.identify(key, source)
    except BusTrouble:
        result = Problem(ProblemCode.BUS_UNAVAILABLE, retry_after_seconds=BUS_RETRY_SECONDS)
    if isinstance(result, Problem):
        raise Refused(result)
    return result


def source_of(request: Request) -> str:
    """Return the caller's address, empty where the server does not know it."""
    return request.client.host if request.client is not None else ""


def links_base(request: Request) -> str:
    """Return what links in answers begin with, without a slash at the end: as configured, else the address that listens.

    Never the Host header: whoever sends it chose it, and a link to a picture opens that picture.
    """
    configured = str(request.app.state.public_url)
    if configured:
        return configured.rstrip("/")
    listening: tuple[str, int | None] | None = request.scope.get("server")
    if listening is None:
        return ""
    host, port = listening
    return f"{request.scope['scheme']}://{f'[{host}]' if ':' in host else host}{f':{port}' if port else ''}"


Ticket = Annotated[
    str, Query(description="instead of a key: for browsers, whose EventSource sends no header", max_length=4_096)
]
UseCasesOf = Annotated[UseCases, Depends(_use_cases)]
"""A parameter of this type gets the use cases."""
Caller = Annotated[Credential, Depends(_caller)]
"""A parameter of this type gets the caller's credential; without a valid one the path is refused with 401."""


def query_resource(request: Request, reply: Reply | Problem, *, wait: int | None, has_key: bool) -> JsonResponse:
    """Return the query as a new one is answered: 200 with its answer, else 202 and where to look."""
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
