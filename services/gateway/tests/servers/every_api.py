"""The three APIs behind one face, so that one scenario runs through each and what it met can be compared.

Every method returns public JSON in the shape that HTTP has, or a Reported problem. What differs by nature is left out: HTTP's
links, instance and trace of a problem. Values that nobody set are left out too: gRPC does not send them.
Every answer over HTTP and the bus is held to the document of its API on the way.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import httpx

from querybus.bus.client import BusClient
from querybus_gateway.grpc.messages import word
from querybus_gateway.v1 import batch_service_pb2, query_pb2, query_service_pb2, thread_service_pb2
from querybus_gateway.v1 import connection_service_pb2 as connections_pb2

from .documents import faults, holds_call, holds_http
from .grpc_caller import GrpcCaller, Refusal, grpc_caller
from .stack_of_tests import ApiStack, frames_of

Json = dict[str, Any]
WAIT = 20
NO_QUERY = "0190a0a0-0000-7000-8000-000000000000"


@dataclass(frozen=True, slots=True)
class Reported:
    """A problem as a caller learns of it."""

    code: str
    detail: str
    pointers: tuple[str, ...]
    more: tuple[tuple[str, str], ...]


class Api(Protocol):
    """What a scenario does through an API; `wait` in seconds, 0 for not at all."""

    async def ask(self, body: Json, *, key: str | None = None, wait: int = 0) -> Json | Reported: ...
    async def read(self, query: str, *, wait: int = 0) -> Json | Reported: ...
    async def cancel(self, query: str) -> Json | Reported: ...
    async def page(self, query: str, **which: Any) -> Json | Reported: ...
    async def clarify(self, query: str, body: Json, *, key: str | None = None, wait: int = 0) -> Json | Reported: ...
    async def confirm(self, query: str, body: Json, *, wait: int = 0) -> Json | Reported: ...
    async def threads(self, **which: Any) -> Json | Reported: ...
    async def turns(self, thread: str) -> Json | Reported: ...
    async def state(self, thread: str, at: int = 0) -> Json | Reported: ...
    async def thread_events(self, thread: str, after: int = 0) -> Json | Reported: ...
    async def fork(self, thread: str, body: Json) -> Json | Reported: ...
    async def delete(self, thread: str) -> Json | Reported: ...
    async def submit(self, body: Json, *, key: str | None = None) -> Json | Reported: ...
    async def batch(self, batch: str, offset: int = 0) -> Json | Reported: ...
    async def batch_cancel(self, batch: str) -> Json | Reported: ...
    async def batch_retry(self, batch: str) -> Json | Reported: ...
    async def feedback(self, query: str, verdict: str) -> Json | Reported: ...
    async def teach(self, connection: str, body: Json) -> Json | Reported: ...
    async def known(self, connection: str, kind: str) -> Json | Reported: ...
    async def search(self, connection: str, words: str) -> Json | Reported: ...
    async def forget(self, connection: str, entry: str) -> Json | Reported: ...
    async def review(self, connection: str, entry: str, verdict: str) -> Json | Reported: ...
    async def preferences(self) -> Json | Reported: ...
    async def prefer(self, body: Json) -> Json | Reported: ...
    async def options(self) -> Json | Reported: ...
    async def choices(self) -> Json | Reported: ...
    async def forget_choices(self, kind: str | None = None) -> Json | Reported: ...
    async def connections(self) -> Json | Reported: ...
    async def catalog(self, connection: str) -> Json | Reported: ...
    async def suggestions(self, connection: str) -> Json | Reported: ...

    async def definitions(self, connection: str) -> Json | Reported: ...
    async def picture(self, query: str, form: str = "svg") -> bytes | Reported: ...


def bare(value: Any) -> Any:
    """Return JSON without what nobody set: None and empty texts."""
    if isinstance(value, dict):
        return {name: bare(element) for name, element in value.items() if element is not None and element != ""}  # pyright: ignore[reportUnknownVariableType]
    return [bare(element) for element in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]


def query_json(resource: Json) -> Json:
    """Return a query without links, and once it has finished without what its answer says as well."""
    names = ("id", "thread_id", "status", "answer", "idempotency_replayed")
    if resource.get("answer") is None:
        names += ("last_event", "created_at", "deadline_at", "message")
    return bare({name: resource.get(name) for name in names})


PROBLEM_MEMBERS = {"type", "title", "status", "detail", "instance", "code", "trace_id", "errors", "retry_after_seconds"}


def reported(problem: Json) -> Reported:
    more = {name: str(value) for name, value in problem.items() if name not in PROBLEM_MEMBERS and value is not None}
    pointers = tuple(error["pointer"] for error in problem["errors"])
    return Reported(problem["code"], problem["detail"], pointers, tuple(sorted(more.items())))


class HttpFace:
    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def _send(
        self, method: str, path: str, body: Json | None = None, *, key: str | None = None, wait: int = 0, **query: Any
    ) -> Json | Reported:
        headers = {"Idempotency-Key": key} if key is not None else {}
        if wait:
            headers["Prefer"] = f"wait={wait}"
        answer = await self._http.request(method, path, json=body, headers=headers, params=query)
        said: Any = answer.json() if answer.content else None
        holds_http(method, path, answer.status_code, answer.headers.get("content-type", ""), said)
        if answer.status_code >= 400:
            return reported(said)
        result: Json = said or {}
        return result | ({"idempotency_replayed": True} if "idempotency-replayed" in answer.headers else {})

    async def _query(self, *arguments: Any, **more: Any) -> Json | Reported:
        result = await self._send(*arguments, **more)
        return result if isinstance(result, Reported) else query_json(result)

    async def _plain(self, *arguments: Any, **more: Any) -> Json | Reported:
        result = await self._send(*arguments, **more)
        return (
            result if isinstance(result, Reported) else bare({name: result[name] for name in result if name != "links"})
        )

    async def ask(self, body: Json, *, key: str | None = None, wait: int = 0) -> Json | Reported:
        return await self._query("POST", "/v1/queries", body, key=key, wait=wait)

    async def read(self, query: str, *, wait: int = 0) -> Json | Reported:
        return await self._query("GET", f"/v1/queries/{query}", wait=wait)

    async def cancel(self, query: str) -> Json | Reported:
        return await self._query("POST", f"/v1/queries/{query}/cancel")

    async def page(self, query: str, **which: Any) -> Json | Reported:
        return await self._plain("GET", f"/v1/queries/{query}/result", **which)

    async def clarify(self, query: str, body: Json, *, key: str | None = None, wait: int = 0) -> Json | Reported:
        return await self._query("POST", f"/v1/queries/{query}/clarify", body, key=key, wait=wait)

    async def confirm(self, query: str, body: Json, *, wait: int = 0) -> Json | Reported:
        return await self._query("POST", f"/v1/queries/{query}/confirm", body, wait=wait)

    async def threads(self, **which: Any) -> Json | Reported:
        return await self._plain("GET", "/v1/threads", **which)

    async def turns(self, thread: str) -> Json | Reported:
        return await self._plain("GET", f"/v1/threads/{thread}/turns")

    async def state(self, thread: str, at: int = 0) -> Json | Reported:
        return await self._plain("GET", f"/v1/threads/{thread}", at=at)

    async def thread_events(self, thread: str, after: int = 0) -> Json | Reported:
        return await self._plain("GET", f"/v1/threads/{thread}/events", after=after)

    async def fork(self, thread: str, body: Json) -> Json | Reported:
        return await self._plain("POST", f"/v1/threads/{thread}/fork", body)

    async def delete(self, thread: str) -> Json | Reported:
        return await self._plain("DELETE", f"/v1/threads/{thread}")

    async def submit(self, body: Json, *, key: str | None = None) -> Json | Reported:
        return await self._plain("POST", "/v1/batches", body, key=key)

    async def batch(self, batch: str, offset: int = 0) -> Json | Reported:
        return await self._plain("GET", f"/v1/batches/{batch}", offset=offset)

    async def batch_cancel(self, batch: str) -> Json | Reported:
        return await self._plain("POST", f"/v1/batches/{batch}/cancel")

    async def batch_retry(self, batch: str) -> Json | Reported:
        return await self._plain("POST", f"/v1/batches/{batch}/retry")

    async def feedback(self, query: str, verdict: str) -> Json | Reported:
        return await self._plain("POST", f"/v1/queries/{query}/feedback", {"verdict": verdict})

    async def teach(self, connection: str, body: Json) -> Json | Reported:
        return await self._plain("POST", f"/v1/connections/{connection}/knowledge", body)

    async def known(self, connection: str, kind: str) -> Json | Reported:
        return await self._plain("GET", f"/v1/connections/{connection}/knowledge", kind=kind)

    async def search(self, connection: str, words: str) -> Json | Reported:
        return await self._plain("GET", f"/v1/connections/{connection}/knowledge/search", q=words, k=2)

    async def forget(self, connection: str, entry: str) -> Json | Reported:
        return await self._plain("DELETE", f"/v1/connections/{connection}/knowledge/{entry}")

    async def review(self, connection: str, entry: str, verdict: str) -> Json | Reported:
        path = f"/v1/connections/{connection}/knowledge/{entry}/review"
        return await self._plain("POST", path, {"verdict": verdict})

    async def preferences(self) -> Json | Reported:
        return await self._plain("GET", "/v1/preferences")

    async def prefer(self, body: Json) -> Json | Reported:
        return await self._plain("PUT", "/v1/preferences", body)

    async def options(self) -> Json | Reported:
        return await self._plain("GET", "/v1/options")

    async def choices(self) -> Json | Reported:
        return await self._plain("GET", "/v1/preferences/choices")

    async def forget_choices(self, kind: str | None = None) -> Json | Reported:
        named = {"kind": kind} if kind else {}
        return await self._plain("DELETE", "/v1/preferences/choices", **named)

    async def connections(self) -> Json | Reported:
        return await self._plain("GET", "/v1/connections")

    async def catalog(self, connection: str) -> Json | Reported:
        return await self._plain("GET", f"/v1/connections/{connection}/catalog", language="zh")

    async def suggestions(self, connection: str) -> Json | Reported:
        return await self._plain("GET", f"/v1/connections/{connection}/suggestions")

    async def definitions(self, connection: str) -> Json | Reported:
        return await self._plain("GET", f"/v1/connections/{connection}/definitions")

    async def picture(self, query: str, form: str = "svg") -> bytes | Reported:
        answer = await self._http.get(f"/v1/queries/{query}/chart", params={"format": form}, timeout=60)
        return answer.content if answer.status_code == 200 else reported(answer.json())

    async def chart(self, query: str) -> Json | Reported:
        return await self._plain("GET", f"/v1/queries/{query}/chart")

    async def events(self, query: str) -> list[Json]:
        """Return a finished query's stored events."""
        answer = await self._http.get(f"/v1/queries/{query}/events")
        frames = [frame for frame in frames_of(answer.text) if "id" in frame]
        for frame in frames:
            assert not faults(json.loads(frame["data"]), "#/components/schemas/EventView", "openapi"), frame
        return [bare(json.loads(frame["data"]) | {"sequence": int(frame["id"])}) for frame in frames]


def _unnested(member: str, found: Json | Reported) -> Json | Reported:
    """Return a problem without the member of a call's body that holds, over the bus, what is a whole body elsewhere."""
    if not isinstance(found, Reported):
        return found
    pointers = tuple(pointer.removeprefix(member) for pointer in found.pointers)
    detail = found.detail.replace(f"{member}:", "/:", 1).replace(f"{member}/", "/", 1)
    return Reported(found.code, detail, pointers, found.more)


class BusFace:
    def __init__(self, client: BusClient) -> None:
        self._client = client

    async def _send(self, verb: str, body: Json, **more: Any) -> Json | Reported:
        named = {name: value for name, value in more.items() if value not in (None, 0)}
        result = await self._client.call(verb, body | named)
        holds_call(verb, result)
        return reported(result) if "detail" in result and "title" in result else result

    async def _query(self, verb: str, body: Json, **more: Any) -> Json | Reported:
        result = await self._send(verb, body, **more)
        if isinstance(result, Reported):
            return result
        if result["status"] != "finished":
            return query_json(result | {"id": result["query_id"]})
        own = {"status", "audience", "idempotency_replayed"}
        answer = {name: value for name, value in result.items() if name not in own}
        return query_json(result | {"id": result["query_id"], "answer": answer})

    async def _plain(self, verb: str, body: Json, **more: Any) -> Json | Reported:
        result = await self._send(verb, body, **more)
        return (
            result if isinstance(result, Reported) else bare({name: result[name] for name in result if name != "links"})
        )

    async def ask(self, body: Json, *, key: str | None = None, wait: int = 0) -> Json | Reported:
        return await self._query("ask", body, idempotency_key=key, wait_seconds=wait)

    async def read(self, query: str, *, wait: int = 0) -> Json | Reported:
        return await self._query("answer", {"query_id": query}, wait_seconds=wait)

    async def cancel(self, query: str) -> Json | Reported:
        return await self._query("cancel", {"query_id": query})

    async def page(self, query: str, **which: Any) -> Json | Reported:
        return await self._plain("page", {"query_id": query, **which})

    async def clarify(self, query: str, body: Json, *, key: str | None = None, wait: int = 0) -> Json | Reported:
        return await self._query("clarify", {"query_id": query, **body}, idempotency_key=key, wait_seconds=wait)

    async def confirm(self, query: str, body: Json, *, wait: int = 0) -> Json | Reported:
        return await self._query("confirm", {"query_id": query, **body}, wait_seconds=wait)

    async def threads(self, **which: Any) -> Json | Reported:
        return await self._plain("threads", which)

    async def turns(self, thread: str) -> Json | Reported:
        return await self._plain("turns", {"thread_id": thread})

    async def state(self, thread: str, at: int = 0) -> Json | Reported:
        return await self._plain("state", {"thread_id": thread}, at_sequence=at)

    async def thread_events(self, thread: str, after: int = 0) -> Json | Reported:
        return await self._plain("thread-events", {"thread_id": thread}, after_sequence=after)

    async def fork(self, thread: str, body: Json) -> Json | Reported:
        return await self._plain("fork", {"thread_id": thread, **body})

    async def delete(self, thread: str) -> Json | Reported:
        result = await self._plain("delete-thread", {"thread_id": thread})
        return result if isinstance(result, Reported) else {}

    async def submit(self, body: Json, *, key: str | None = None) -> Json | Reported:
        return _unnested("/batch", await self._plain("batch", {"batch": body}, idempotency_key=key))

    async def batch(self, batch: str, offset: int = 0) -> Json | Reported:
        return await self._plain("batch", {"action": "read", "batch_id": batch}, offset=offset)

    async def batch_cancel(self, batch: str) -> Json | Reported:
        return await self._plain("batch", {"action": "cancel", "batch_id": batch})

    async def batch_retry(self, batch: str) -> Json | Reported:
        return await self._plain("batch", {"action": "retry", "batch_id": batch})

    async def feedback(self, query: str, verdict: str) -> Json | Reported:
        return await self._plain("feedback", {"query_id": query, "verdict": verdict})

    async def _knowledge(self, action: str, connection: str, **more: Any) -> Json | Reported:
        return await self._plain("knowledge", {"action": action, "connection": connection, **more})

    async def teach(self, connection: str, body: Json) -> Json | Reported:
        return _unnested("/entries", await self._knowledge("teach", connection, entries=body))

    async def known(self, connection: str, kind: str) -> Json | Reported:
        return await self._knowledge("list", connection, kind=kind)

    async def search(self, connection: str, words: str) -> Json | Reported:
        return await self._knowledge("search", connection, query=words, k=2)

    async def forget(self, connection: str, entry: str) -> Json | Reported:
        return await self._knowledge("forget", connection, entry_id=entry)

    async def review(self, connection: str, entry: str, verdict: str) -> Json | Reported:
        return await self._knowledge("review", connection, entry_id=entry, verdict=verdict)

    async def preferences(self) -> Json | Reported:
        return await self._plain("preferences", {})

    async def prefer(self, body: Json) -> Json | Reported:
        return _unnested("/preferences", await self._plain("preferences", {"preferences": body}))

    async def options(self) -> Json | Reported:
        return await self._plain("options", {})

    async def choices(self) -> Json | Reported:
        return await self._plain("choices", {})

    async def forget_choices(self, kind: str | None = None) -> Json | Reported:
        return await self._plain("choices", {"action": "forget"} | ({"kind": kind} if kind else {}))

    async def connections(self) -> Json | Reported:
        return await self._plain("connections", {})

    async def catalog(self, connection: str) -> Json | Reported:
        return await self._plain("catalog", {"connection": connection, "language": "zh"})

    async def suggestions(self, connection: str) -> Json | Reported:
        return await self._plain("suggestions", {"connection": connection})

    async def definitions(self, connection: str) -> Json | Reported:
        return await self._plain("definitions", {"connection": connection})

    async def chart(self, query: str) -> Json | Reported:
        result = await self._plain("chart", {"query_id": query})
        return result if isinstance(result, Reported) else result["chart"]

    async def picture(self, query: str, form: str = "svg") -> bytes | Reported:
        result = await self._plain("chart", {"query_id": query, "format": form})
        return result if isinstance(result, Reported) else base64.b64decode(result["data_base64"])


def json_of(message: Any) -> Any:
    """Return a message as HTTP's JSON: the way back of what the API does, found from the descriptors alone."""
    kind = message.DESCRIPTOR.name
    if kind == "Row":
        return [json_of(cell) for cell in message.cells]
    if kind == "Cell":
        chosen = message.WhichOneof("value")
        return None if chosen is None else getattr(message, chosen)
    if kind == "Struct":
        return {name: value_of(field) for name, field in message.fields.items()}
    result: Json = {}
    for field in message.DESCRIPTOR.fields:
        if field.has_presence and not message.HasField(field.name):
            continue
        value: Any = getattr(message, field.name)
        if kind == "Confirmation" and field.is_repeated and not value:
            # No list is absent over gRPC; over HTTP business readers have none here.
            continue
        if field.message_type is not None:
            value = [json_of(element) for element in value] if field.is_repeated else json_of(value)
        elif field.enum_type is not None:
            value = word(ENUMS[field.enum_type.name], value)
        elif field.is_repeated:
            value = list(value)
        if field.name == "chart_json":
            result["chart"] = json.loads(value)
        elif field.name in ("more", "details"):
            result |= value
        else:
            result[field.name if field.name == "duration_ms" else field.name.removesuffix("_ms")] = value
    if kind == "Event":
        result["event"] = result.pop("name")
    return result


def value_of(value: Any) -> Any:
    chosen = value.WhichOneof("kind")
    if chosen == "struct_value":
        return json_of(value.struct_value)
    if chosen == "list_value":
        return [value_of(item) for item in value.list_value.values]
    if chosen == "null_value":
        return None
    result = getattr(value, chosen)
    return int(result) if isinstance(result, float) and result.is_integer() else result


ENUMS: Mapping[str, Any] = {
    "QueryStatus": query_pb2.QueryStatus,
    "Outcome": query_pb2.Outcome,
    "ColumnKind": query_pb2.ColumnKind,
    "BatchItemStatus": batch_service_pb2.BatchItemStatus,
    "KnowledgeKind": connections_pb2.KnowledgeKind,
    "Verdict": query_service_pb2.Verdict,
}


def options_of(options: Json) -> query_service_pb2.Options:
    enums: Json = {"mode": query_service_pb2.Mode, "execution_mode": query_service_pb2.ExecutionMode}
    values = {
        name: enums[name].Value(f"{name.upper()}_{value.upper()}") if name in enums else value
        for name, value in options.items()
    }
    return query_service_pb2.Options(**values)


class GrpcFace:
    def __init__(self, caller: GrpcCaller) -> None:
        self._caller = caller

    async def _send(self, name: str, request: Any, *, key: str | None = None) -> Json | Reported:
        metadata = {"idempotency_key": key} if key is not None else {}
        try:
            return json_of(await self._caller.call(name, request, timeout=40, **metadata))
        except Refusal as refusal:
            own = {"title", "trace_id"}
            more = {name: value for name, value in refusal.info.metadata.items() if name not in own}
            pointers = tuple(violation.field for violation in refusal.violations)
            return Reported(refusal.reason, refusal.details, pointers, tuple(sorted(more.items())))

    async def _query(self, name: str, request: Any, *, key: str | None = None) -> Json | Reported:
        result = await self._send(name, request, key=key)
        if isinstance(result, Reported):
            return result
        replayed = {"idempotency_replayed": True} if result.get("idempotency_replayed") else {}
        return query_json(result["query"] | replayed)

    async def _plain(self, name: str, request: Any, *, key: str | None = None) -> Json | Reported:
        result = await self._send(name, request, key=key)
        return result if isinstance(result, Reported) else bare(result)

    async def ask(self, body: Json, *, key: str | None = None, wait: int = 0) -> Json | Reported:
        known = dict(body)
        options = known.pop("options", None)
        operation = known.pop("operation", None)
        question = query_service_pb2.Question(
            **known,
            options=None if options is None else options_of(options),
            operation=f"OPERATION_{operation.upper()}" if operation else None,
        )
        return await self._query("Ask", query_service_pb2.AskRequest(question=question, wait_seconds=wait), key=key)

    async def read(self, query: str, *, wait: int = 0) -> Json | Reported:
        return await self._query("GetQuery", query_service_pb2.GetQueryRequest(query_id=query, wait_seconds=wait))

    async def cancel(self, query: str) -> Json | Reported:
        return await self._query("Cancel", query_service_pb2.CancelRequest(query_id=query))

    async def page(self, query: str, **which: Any) -> Json | Reported:
        return await self._plain("GetResultPage", query_service_pb2.GetResultPageRequest(query_id=query, **which))

    async def clarify(self, query: str, body: Json, *, key: str | None = None, wait: int = 0) -> Json | Reported:
        request = query_service_pb2.ClarifyRequest(query_id=query, wait_seconds=wait, **body)
        return await self._query("Clarify", request, key=key)

    async def confirm(self, query: str, body: Json, *, wait: int = 0) -> Json | Reported:
        request = query_service_pb2.ConfirmRequest(query_id=query, wait_seconds=wait, **body)
        return await self._query("Confirm", request)

    async def threads(self, **which: Any) -> Json | Reported:
        names = {"limit": "page_size", "cursor": "page_token"}
        request = thread_service_pb2.ListThreadsRequest(**{names[name]: value for name, value in which.items()})
        result = await self._plain("ListThreads", request)
        if isinstance(result, dict) and "next_page_token" in result:
            result["next_cursor"] = result.pop("next_page_token")
        return result

    async def turns(self, thread: str) -> Json | Reported:
        return await self._plain("ListTurns", thread_service_pb2.ListTurnsRequest(thread_id=thread))

    async def state(self, thread: str, at: int = 0) -> Json | Reported:
        return await self._plain("GetThread", thread_service_pb2.GetThreadRequest(thread_id=thread, at_sequence=at))

    async def thread_events(self, thread: str, after: int = 0) -> Json | Reported:
        request = thread_service_pb2.ListThreadEventsRequest(thread_id=thread, after_sequence=after)
        return await self._plain("ListThreadEvents", request)

    async def fork(self, thread: str, body: Json) -> Json | Reported:
        result = await self._plain("ForkThread", thread_service_pb2.ForkThreadRequest(thread_id=thread, **body))
        return result if isinstance(result, Reported) else result["thread"]

    async def delete(self, thread: str) -> Json | Reported:
        return await self._plain("DeleteThread", thread_service_pb2.DeleteThreadRequest(thread_id=thread))

    async def _batch(self, name: str, request: Any, *, key: str | None = None) -> Json | Reported:
        result = await self._plain(name, request, key=key)
        if isinstance(result, Reported):
            return result
        more = {name: value for name, value in result.items() if name != "batch"}
        if not more.get("idempotency_replayed"):
            more.pop("idempotency_replayed", None)
        return result["batch"] | more

    async def submit(self, body: Json, *, key: str | None = None) -> Json | Reported:
        items = [batch_service_pb2.BatchQuestion(**item) for item in body["items"]]
        more = {name: value for name, value in body.items() if name not in ("items", "options")}
        request = batch_service_pb2.SubmitBatchRequest(items=items, options=options_of(body.get("options", {})), **more)
        return await self._batch("SubmitBatch", request, key=key)

    async def batch(self, batch: str, offset: int = 0) -> Json | Reported:
        return await self._batch("GetBatch", batch_service_pb2.GetBatchRequest(batch_id=batch, offset=offset))

    async def batch_cancel(self, batch: str) -> Json | Reported:
        return await self._batch("CancelBatch", batch_service_pb2.CancelBatchRequest(batch_id=batch))

    async def batch_retry(self, batch: str) -> Json | Reported:
        return await self._batch("RetryBatch", batch_service_pb2.RetryBatchRequest(batch_id=batch))

    async def feedback(self, query: str, verdict: str) -> Json | Reported:
        request = query_service_pb2.FeedbackRequest(query_id=query, verdict=f"VERDICT_{verdict.upper()}")
        return await self._plain("Feedback", request)

    async def _about(self, connection: str, name: str, request: Any) -> Json | Reported:
        # The response does not repeat what was asked for.
        result = await self._plain(name, request)
        return result if isinstance(result, Reported) else {"connection": connection, **result}

    async def teach(self, connection: str, body: Json) -> Json | Reported:
        synonyms = {name: connections_pb2.Synonyms(words=words) for name, words in body.get("synonyms", {}).items()}
        request = connections_pb2.TeachKnowledgeRequest(
            connection=connection,
            pairs=[connections_pb2.TaughtPair(**pair) for pair in body.get("pairs", ())],
            instructions=body.get("instructions", ()),
            terms=body.get("terms", {}),
            synonyms=synonyms,
        )
        return await self._about(connection, "TeachKnowledge", request)

    async def known(self, connection: str, kind: str) -> Json | Reported:
        request = connections_pb2.ListKnowledgeRequest(connection=connection, kind=f"KNOWLEDGE_KIND_{kind.upper()}")
        return await self._about(connection, "ListKnowledge", request)

    async def search(self, connection: str, words: str) -> Json | Reported:
        request = connections_pb2.SearchKnowledgeRequest(connection=connection, query=words, page_size=2)
        return await self._about(connection, "SearchKnowledge", request)

    async def forget(self, connection: str, entry: str) -> Json | Reported:
        request = connections_pb2.ForgetKnowledgeRequest(connection=connection, entry_id=entry)
        return await self._about(connection, "ForgetKnowledge", request)

    async def review(self, connection: str, entry: str, verdict: str) -> Json | Reported:
        wanted = f"REVIEW_VERDICT_{verdict.upper()}"
        request = connections_pb2.ReviewKnowledgeRequest(connection=connection, entry_id=entry, verdict=wanted)
        return await self._about(connection, "ReviewKnowledge", request)

    async def preferences(self) -> Json | Reported:
        result = await self._plain("GetPreferences", connections_pb2.GetPreferencesRequest())
        return result if isinstance(result, Reported) else result["preferences"]

    async def prefer(self, body: Json) -> Json | Reported:
        request = connections_pb2.SetPreferencesRequest(preferences=connections_pb2.Preferences(**body))
        result = await self._plain("SetPreferences", request)
        return result if isinstance(result, Reported) else result["preferences"]

    async def options(self) -> Json | Reported:
        result = await self._plain("ListOptions", connections_pb2.ListOptionsRequest())
        if isinstance(result, Reported):
            return result
        return bare({"options": [_with_values(option) for option in result["options"]]})

    async def choices(self) -> Json | Reported:
        return await self._plain("ListChoices", connections_pb2.ListChoicesRequest())

    async def forget_choices(self, kind: str | None = None) -> Json | Reported:
        return await self._plain("ForgetChoices", connections_pb2.ForgetChoicesRequest(kind=kind))

    async def connections(self) -> Json | Reported:
        return await self._plain("ListConnections", connections_pb2.ListConnectionsRequest())

    async def catalog(self, connection: str) -> Json | Reported:
        result = await self._plain(
            "GetCatalog", connections_pb2.GetCatalogRequest(connection=connection, language="zh")
        )
        return result if isinstance(result, Reported) else result["catalog"]

    async def suggestions(self, connection: str) -> Json | Reported:
        request = connections_pb2.SuggestQuestionsRequest(connection=connection)
        return await self._about(connection, "SuggestQuestions", request)

    async def definitions(self, connection: str) -> Json | Reported:
        request = connections_pb2.ListDefinitionsRequest(connection=connection)
        return await self._about(connection, "ListDefinitions", request)

    async def picture(self, query: str, form: str = "svg") -> bytes | Reported:
        request = query_service_pb2.DrawChartRequest(query_id=query, format=f"PICTURE_FORMAT_{form.upper()}")
        result = await self._send("DrawChart", request)
        return result if isinstance(result, Reported) else result["data"]

    async def events(self, query: str) -> list[Json]:
        """Return a finished query's stored events."""
        updates = self._caller.stream("Follow", query_service_pb2.FollowRequest(query_id=query))
        return [bare(json_of(update.event)) async for update in updates]


@asynccontextmanager
async def faces(stack: ApiStack, tenant: str = "acme", credential: str = "web") -> AsyncGenerator[dict[str, Api]]:
    """Give one caller's three APIs by name."""
    async with AsyncExitStack() as exits:
        yield {
            "http": HttpFace(await exits.enter_async_context(stack.http(tenant, credential))),
            "grpc": GrpcFace(await exits.enter_async_context(grpc_caller(stack, tenant, credential))),
            "bus": BusFace(await exits.enter_async_context(stack.client(tenant, credential))),
        }


_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIMES = {"created_at", "deadline_at", "asked_at", "started_at", "ended_at", "at"}
_SEQUENCES = {"sequence", "last_sequence", "at_sequence", "next_after", "next_after_sequence", "next_cursor"}
_SECRETS = {"next_page_token", "prev_page_token"}


def compared(found: Any) -> Any:
    """Return what a scenario met with ids by order of appearance, and times and sequences as what they are."""
    ids: dict[str, str] = {}

    def of(value: Any) -> Any:
        if isinstance(value, Reported):
            return ("told", value.code, of(value.detail), value.pointers, [of(item) for item in value.more])
        if isinstance(value, dict):
            masked: Json = {}
            for name, element in value.items():  # pyright: ignore[reportUnknownVariableType]
                if name in _TIMES | _SEQUENCES and isinstance(element, int | str):
                    assert int(element) > 0
                    masked["next_after" if name == "next_after_sequence" else str(name)] = "number"
                elif name in _SECRETS:
                    masked[str(name)] = "token"
                else:
                    masked[str(name)] = of(element)  # pyright: ignore[reportUnknownArgumentType]
            return masked
        if isinstance(value, list | tuple):
            return [of(element) for element in value]  # pyright: ignore[reportUnknownVariableType]
        if isinstance(value, str):
            return _ID.sub(lambda match: ids.setdefault(match[0], f"id-{len(ids) + 1}"), value)
        return value

    return of(found)


def _with_values(option: Json) -> Json:
    """Return an option of the contract with the values that its JSON texts hold."""
    texts = {name: option[name] for name in option if name.endswith("_json") and option[name]}
    plain = {name: value for name, value in option.items() if not name.endswith("_json")}
    return plain | {name.removesuffix("_json"): json.loads(text) for name, text in texts.items()}
