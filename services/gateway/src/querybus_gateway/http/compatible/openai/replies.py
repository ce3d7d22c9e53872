"""An answer as OpenAI's clients read it: Markdown in a message, whole or in chunks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from querybus_gateway.problems import Problem

NO_USAGE: Final = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
Json = dict[str, Any]
RESPONSE_EVENTS_BEFORE: Final = 2
"""`response.created` and `response.in_progress` come before an answer is there."""

_QUERY_LINK = re.compile(r"(?:/v1/queries/|[#&]answer=)([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")


def query_in(text: str) -> str | None:
    """Return the id of the query whose answer an earlier message was, None where it was none of ours."""
    found = _QUERY_LINK.findall(text)
    return found[-1] if found else None


def query_named(name: str) -> str:
    """Return the id of the query that a response's or a completion's id names.

    >>> query_named("resp_0190"), query_named("chatcmpl-0190")
    ('0190', '0190')
    """
    return name.removeprefix("resp_").removeprefix("chatcmpl-")


def error_body(problem: Problem) -> Json:
    """Return a problem as OpenAI's clients read it."""
    kinds = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
    kind = kinds.get(problem.status, "api_error" if problem.status >= 500 else "invalid_request_error")
    message = problem.detail or str(problem.code)
    return {"error": {"message": message, "type": kind, "param": None, "code": str(problem.code)}}


def completion(answer_id: str, model: str, created: int, text: str) -> Json:
    """Return a whole chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop", "logprobs": None}
    return {
        "id": f"chatcmpl-{answer_id}",
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [choice],
        "usage": NO_USAGE,
    }


def function_call(model: str, name: str, arguments: Json) -> Json:
    """Return a whole chat completion that calls the function which its client demands."""
    made = completion("task", model, 0, "")
    call = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    made["choices"][0]["message"]["tool_calls"] = [{"id": "call_task", "type": "function", "function": call}]
    return made


def frame(data: Json | str, event: str = "") -> str:
    """Return one server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"{f'event: {event}' + chr(10) if event else ''}data: {text}\n\n"


def chunk(answer_id: str, model: str, created: int, delta: Json, finish: str | None = None) -> str:
    """Return one chunk of a streamed chat completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": f"chatcmpl-{answer_id}", "object": "chat.completion.chunk", "created": created, "model": model}
    return frame({**head, "choices": [choice]})


def pieces(text: str) -> Iterator[str]:
    """Yield a text in parts that are worth showing one after another: its paragraphs."""
    paragraphs = text.split("\n\n")
    for number, paragraph in enumerate(paragraphs):
        yield paragraph + ("\n\n" if number < len(paragraphs) - 1 else "")


def response(answer_id: str, model: str, created: int, text: str | None, previous: str | None) -> Json:
    """Return a response object; without a text it is still in progress."""
    content = [] if text is None else [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
    message = {"type": "message", "id": f"msg_{answer_id}", "role": "assistant", "content": content}
    is_done = text is not None
    return {
        "id": f"resp_{answer_id}",
        "object": "response",
        "created_at": created,
        "status": "completed" if is_done else "in_progress",
        "model": model,
        "output": [{**message, "status": "completed"}] if is_done else [],
        "previous_response_id": previous,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": False,
        "temperature": None,
        "top_p": None,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 0,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 0,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 0,
        }
        if is_done
        else None,
    }


def response_events(answer_id: str, model: str, created: int, text: str, previous: str | None) -> Iterator[str]:
    """Yield the events of a streamed response after `response.created`, in the order that clients expect."""
    message = f"msg_{answer_id}"
    number = RESPONSE_EVENTS_BEFORE - 1

    def event(kind: str, **fields: Any) -> str:
        nonlocal number
        number += 1
        return frame({"type": kind, "sequence_number": number, **fields}, kind)

    place = {"item_id": message, "output_index": 0, "content_index": 0}
    item = {"type": "message", "id": message, "role": "assistant", "status": "in_progress", "content": []}
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    yield event("response.output_item.added", output_index=0, item=item)
    yield event("response.content_part.added", **place, part=part)
    for piece in pieces(text):
        yield event("response.output_text.delta", **place, delta=piece, logprobs=[])
    yield event("response.output_text.done", **place, text=text, logprobs=[])
    yield event("response.content_part.done", **place, part={**part, "text": text})
    done = {**item, "status": "completed", "content": [{**part, "text": text}]}
    yield event("response.output_item.done", output_index=0, item=done)
    yield event("response.completed", response=response(answer_id, model, created, text, previous))
