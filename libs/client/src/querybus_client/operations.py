"""What can be asked of a gateway, each written once: a generator gives calls and gets their answers.

The clients drive these; none of them knows whether it is being waited for or awaited.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, TypeVar
from urllib.parse import quote

from querybus_client.errors import NotFinished
from querybus_client.values import (
    Answer,
    Batch,
    Change,
    Confirmation,
    Json,
    Options,
    Page,
    Query,
    Thread,
    ThreadState,
    TokenWanted,
    Turn,
)
from querybus_client.wire import Call

WAIT_SECONDS: Final = 25
"""How long one request waits for an answer; an API waits 30 seconds at most."""
GRACE_SECONDS: Final = 15.0
"""A query ends at the latest 10 seconds after its deadline."""
DEADLINE_SECONDS: Final = 60.0
THREADS_AT_ONCE: Final = 50

Language = Literal["en", "zh"]
OperationName = Literal["ask", "generate", "run", "validate", "explain"]
ResultT = TypeVar("ResultT")
Operation = Generator[Call, Json, ResultT]


def submit(
    question: str,
    *,
    connection: str | None = None,
    thread_id: str | None = None,
    operation: OperationName = "ask",
    sql: str | None = None,
    options: Options | None = None,
    idempotency_key: str | None = None,
    wait_seconds: int = 0,
) -> Operation[Query]:
    """Ask, and return the query as it stands then."""
    body = _set({"question": question, "connection": connection, "thread_id": thread_id, "sql": sql})
    if operation != "ask":
        body["operation"] = operation
    if options:
        body["options"] = dict(options)
    result = yield Call("POST", "/v1/queries", body, headers=_key(idempotency_key), wait_seconds=wait_seconds)
    return Query.of(result)


def ask(question: str, *, options: Options | None = None, **more: Any) -> Operation[Answer]:
    """Ask, and return the answer."""
    begun = yield from submit(question, options=options, wait_seconds=WAIT_SECONDS, **more)
    return (yield from finished(begun, _deadline_seconds(options)))


def finished(query: Query, deadline_seconds: float) -> Operation[Answer]:
    """Wait for a query's end and return its answer; NotFinished if even the gateway's sweeper has not ended it."""
    until = time.monotonic() + deadline_seconds + GRACE_SECONDS
    while query.answer is None:
        if time.monotonic() > until:
            raise NotFinished(query.id)
        query = yield from get_query(query.id, wait_seconds=WAIT_SECONDS)
    return query.answer


def get_query(query_id: str, *, wait_seconds: int = 0) -> Operation[Query]:
    result = yield Call("GET", f"/v1/queries/{_part(query_id)}", wait_seconds=wait_seconds)
    return Query.of(result)


def cancel(query_id: str) -> Operation[Query]:
    result = yield Call("POST", f"/v1/queries/{_part(query_id)}/cancel")
    return Query.of(result)


def submit_clarification(
    query_id: str,
    *,
    option_id: str | None = None,
    question: str | None = None,
    options: Options | None = None,
    idempotency_key: str | None = None,
    wait_seconds: int = 0,
) -> Operation[Query]:
    """Answer what a query asked back, and return the new query as it stands then."""
    body = _set({"option_id": option_id, "question": question})
    if options is not None:
        body["options"] = dict(options)
    path = f"/v1/queries/{_part(query_id)}/clarify"
    result = yield Call("POST", path, body, headers=_key(idempotency_key), wait_seconds=wait_seconds)
    return Query.of(result)


def clarify(query_id: str, *, options: Options | None = None, **more: Any) -> Operation[Answer]:
    """Answer what a query asked back, and return the new query's answer."""
    begun = yield from submit_clarification(query_id, options=options, wait_seconds=WAIT_SECONDS, **more)
    return (yield from finished(begun, _deadline_seconds(options)))


def refine(query_id: str, change: Change, *, idempotency_key: str | None = None) -> Operation[Answer]:
    """Read an answer otherwise, and return the new query's answer."""
    path = f"/v1/queries/{_part(query_id)}/refine"
    result = yield Call("POST", path, dict(change), headers=_key(idempotency_key), wait_seconds=WAIT_SECONDS)
    return (yield from finished(Query.of(result), DEADLINE_SECONDS))


def me() -> Operation[Json]:
    return (yield Call("GET", "/v1/me"))


def token(wanted: TokenWanted) -> Operation[str]:
    result = yield Call("POST", "/v1/tokens", dict(wanted))
    return str(result["token"])


def submit_confirmation(
    query_id: str, confirmation: Confirmation | str, *, rows_affected_max: int | None = None, wait_seconds: int = 0
) -> Operation[Query]:
    """Say yes to what a query asked to be confirmed, and return the query that runs it as it stands then."""
    sha256 = confirmation if isinstance(confirmation, str) else confirmation.sql_sha256
    body = _set({"sql_sha256": sha256, "rows_affected_max": rows_affected_max})
    path = f"/v1/queries/{_part(query_id)}/confirm"
    # A second yes gives the same query back, so that this may be sent again.
    result = yield Call("POST", path, body, headers=_key(None), wait_seconds=wait_seconds)
    return Query.of(result)


def confirm(
    query_id: str, confirmation: Confirmation | str, *, rows_affected_max: int | None = None
) -> Operation[Answer]:
    """Say yes to what a query asked to be confirmed, and return the answer of the query that runs it."""
    begun = yield from submit_confirmation(
        query_id, confirmation, rows_affected_max=rows_affected_max, wait_seconds=WAIT_SECONDS
    )
    return (yield from finished(begun, DEADLINE_SECONDS))


def waiting_changes() -> Operation[tuple[Json, ...]]:
    return tuple((yield Call("GET", "/v1/confirmations"))["changes"])


def feedback(query_id: str, verdict: Literal["right", "wrong"]) -> Operation[Json]:
    return (yield Call("POST", f"/v1/queries/{_part(query_id)}/feedback", {"verdict": verdict}))


def page(query_id: str, number: int = 1, *, size: int | None = None, token: str | None = None) -> Operation[Page]:
    query: dict[str, str | int] = {"page": number} if token is None else {"page_token": token}
    if size is not None and token is None:
        query["page_size"] = size
    result = yield Call("GET", f"/v1/queries/{_part(query_id)}/result", query=query)
    return Page.of(result)


def threads(cursor: str = "") -> Operation[tuple[tuple[Thread, ...], str]]:
    """Return one page of the caller's threads, and where the next one begins; empty at the end."""
    query: dict[str, str | int] = {"limit": THREADS_AT_ONCE, **({"cursor": cursor} if cursor else {})}
    result = yield Call("GET", "/v1/threads", query=query)
    return tuple(Thread.of(thread) for thread in result["threads"]), str(result["next_cursor"] or "")


def queries(filters: Mapping[str, str | int], cursor: str = "") -> Operation[tuple[tuple[Turn, ...], str]]:
    """Return one page of the caller's questions, and where the next one begins; empty at the end."""
    query = {**filters, **({"cursor": cursor} if cursor else {})}
    result = yield Call("GET", "/v1/queries", query=query)
    return tuple(Turn.of(turn) for turn in result["queries"]), str(result["next_cursor"] or "")


def turns(thread_id: str, *, limit: int = 20, before_sequence: int = 0) -> Operation[tuple[Turn, ...]]:
    result = yield Call(
        "GET", f"/v1/threads/{_part(thread_id)}/turns", query={"limit": limit, "before": before_sequence}
    )
    return tuple(Turn.of(turn) for turn in result["turns"])


def thread(thread_id: str, *, at_sequence: int = 0) -> Operation[ThreadState]:
    result = yield Call("GET", f"/v1/threads/{_part(thread_id)}", query={"at": at_sequence})
    return ThreadState.of(result)


def fork(thread_id: str, *, query_id: str | None = None, at_sequence: int = 0) -> Operation[Thread]:
    body: dict[str, Any] = {"at_sequence": at_sequence} if query_id is None else {"query_id": query_id}
    result = yield Call("POST", f"/v1/threads/{_part(thread_id)}/fork", body)
    return Thread.of(result)


def delete_thread(thread_id: str) -> Operation[None]:
    yield Call("DELETE", f"/v1/threads/{_part(thread_id)}")


def submit_batch(
    items: Sequence[Mapping[str, Any]],
    *,
    connection: str | None = None,
    options: Options | None = None,
    concurrency: int | None = None,
    deadline_seconds: float | None = None,
    idempotency_key: str | None = None,
) -> Operation[Batch]:
    body = _set({"connection": connection, "concurrency": concurrency, "deadline_seconds": deadline_seconds})
    body |= {"items": [dict(item) for item in items], **({"options": dict(options)} if options else {})}
    result = yield Call("POST", "/v1/batches", body, headers=_key(idempotency_key))
    return Batch.of(result)


def get_batch(batch_id: str) -> Operation[Batch]:
    """Return the batch with all its items, read in as many parts as it takes."""
    items: list[Json] = []
    offset: int | None = 0
    result: Json = {}
    while offset is not None:
        result = yield Call("GET", f"/v1/batches/{_part(batch_id)}", query={"offset": offset})
        items += result["items"]
        offset = result["next_offset"]
    return Batch.of(result, items)


def cancel_batch(batch_id: str) -> Operation[Batch]:
    return Batch.of((yield Call("POST", f"/v1/batches/{_part(batch_id)}/cancel")))


def retry_batch(batch_id: str) -> Operation[Batch]:
    return Batch.of((yield Call("POST", f"/v1/batches/{_part(batch_id)}/retry")))


def connections() -> Operation[tuple[Json, ...]]:
    """Return the caller's connections, as the gateway describes them."""
    result = yield Call("GET", "/v1/connections")
    return tuple(result["connections"])


def refresh_catalog(connection: str) -> Operation[Json]:
    """Ask for the tables and columns of a connection to be read again."""
    return (yield Call("POST", f"/v1/connections/{_name(connection)}/refresh"))


def catalog(connection: str, language: Language) -> Operation[Json]:
    """Return what stands in a connection, as its reader may see it."""
    return (yield Call("GET", f"/v1/connections/{_name(connection)}/catalog", query={"language": language}))


def definitions(connection: str, language: Language) -> Operation[Json]:
    """Return what the words of a connection's owner mean."""
    return (yield Call("GET", f"/v1/connections/{_name(connection)}/definitions", query={"language": language}))


def suggestions(connection: str, language: Language) -> Operation[Json]:
    """Return what can be asked of a connection."""
    return (yield Call("GET", f"/v1/connections/{_name(connection)}/suggestions", query={"language": language}))


def knowledge(connection: str) -> Operation[Json]:
    """Return what was taught about a connection."""
    return (yield Call("GET", f"/v1/connections/{_name(connection)}/knowledge"))


def teach(connection: str, entries: Json) -> Operation[Json]:
    """Teach pairs, terms, synonyms, instructions or definitions."""
    return (yield Call("POST", f"/v1/connections/{_name(connection)}/knowledge", dict(entries)))


def preferences() -> Operation[Json]:
    """Return what counts where a question says nothing."""
    return (yield Call("GET", "/v1/preferences"))


def prefer(changes: Json) -> Operation[Json]:
    """Say what counts where a question says nothing."""
    return (yield Call("PUT", "/v1/preferences", dict(changes)))


def choices() -> Operation[Json]:
    """Return which of the options that were offered the caller chose."""
    return (yield Call("GET", "/v1/preferences/choices"))


def forget_choices(kind: str | None) -> Operation[Json]:
    """Forget what the caller chose."""
    return (yield Call("DELETE", "/v1/preferences/choices", query={"kind": kind} if kind else {}))


def options() -> Operation[Json]:
    """Return which options a question has, and what holds where it says nothing."""
    return (yield Call("GET", "/v1/options"))


def thread_events(thread_id: str, after: int) -> Operation[Json]:
    """Return the events of a thread behind a sequence, of all its queries."""
    return (yield Call("GET", f"/v1/threads/{_part(thread_id)}/events", query={"after": after}))


def query_events(query_id: str, *, cancel_on_disconnect: bool = False) -> Call:
    """Return the call that opens the stream of a query's events."""
    query: dict[str, str | int] = {"on_disconnect": "cancel"} if cancel_on_disconnect else {}
    return Call("GET", f"/v1/queries/{_part(query_id)}/events", query=query)


def batch_events(batch_id: str) -> Call:
    """Return the call that opens the stream of a batch's events."""
    return Call("GET", f"/v1/batches/{_part(batch_id)}/events")


def behind(call: Call, after: int) -> Call:
    """Return the call that takes a stream up behind a sequence."""
    return replace(call, headers={"Last-Event-ID": str(after)}) if after else call


def export(query_id: str, how: str) -> Call:
    """Return the call that streams a whole result as csv, jsonl, arrow, parquet or xlsx."""
    return Call("GET", f"/v1/queries/{_part(query_id)}/export", query={"format": how})


def chart(query_id: str, how: str) -> Call:
    """Return the call that gives the answer's chart as svg or png; drawing may take a while."""
    return Call("GET", f"/v1/queries/{_part(query_id)}/chart", query={"format": how})


def _deadline_seconds(options: Options | None) -> float:
    return float((options or {}).get("deadline_seconds", DEADLINE_SECONDS))


def _key(given: str | None) -> dict[str, str]:
    return {"Idempotency-Key": given if given is not None else uuid.uuid4().hex}


def _set(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _part(text: str) -> str:
    """Return an id as one part of a path; raises ValueError for what is none, so that no id reaches elsewhere."""
    return str(uuid.UUID(text))


def _name(text: str) -> str:
    """Return a name as one part of a path; raises ValueError for what would lead elsewhere."""
    if text in ("", ".", ".."):
        raise ValueError(f"{text!r} is no name of a connection")
    return quote(text, safe="")
