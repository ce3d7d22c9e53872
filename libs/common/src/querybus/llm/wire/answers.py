"""What servers write into a chat completion and no client expects, put into the form of the protocol.

Servers that speak OpenAI's protocol differ in small ways: counts that are no counts, text in a field of its own,
arguments that are no text, an error in an answer of 200. Each is put right here once, before any client reads it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from querybus.llm.wire.endings import count_tokens
from querybus.llm.wire.http_faults import error_status

_THOUGHTS: Final = ("reasoning_content", "reasoning")


def read_answer(text: str) -> dict[str, Any] | None:
    """Return the object that an answer holds; None where it holds none."""
    try:
        read: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", read) if isinstance(read, dict) else None


def status_of(answer: Mapping[str, Any], status: int) -> int:
    """Return the status of an answer: that of the error inside it, where it holds one."""
    inner = error_status(answer) if status < 300 else None
    return status if inner is None else inner


def normalize_answer(answer: dict[str, Any]) -> dict[str, Any]:
    """Return a chat completion in the form of its protocol; any other answer as it is.

    >>> normalize_answer({"choices": [{"message": {"content": None, "reasoning": "SELECT 1"}}], "usage": {"prompt_tokens": -1}})
    {'choices': [{'message': {'content': 'SELECT 1', 'reasoning': 'SELECT 1', 'role': 'assistant'}}], 'usage': {}}
    """
    choices = answer.get("choices")
    if not isinstance(choices, list):
        return answer
    result = dict(answer)
    result["choices"] = [_choice(item) for item in cast("list[Any]", choices)]
    if (usage := answer.get("usage")) is not None:
        result["usage"] = _counts(cast("dict[str, Any]", usage)) if isinstance(usage, dict) else None
    return result


def _choice(choice: Any) -> Any:
    message: Any = cast("dict[str, Any]", choice).get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        return choice
    said = {**cast("dict[str, Any]", message), "role": "assistant"}
    calls: Any = said.get("tool_calls")
    if not said.get("content") and not calls and not said.get("function_call"):
        # A server's own reader of thoughts may take the whole reply for one.
        said["content"] = next(
            (said[name] for name in _THOUGHTS if isinstance(said.get(name), str)), said.get("content")
        )
    if isinstance(calls, list):
        said["tool_calls"] = [_call(item, place) for place, item in enumerate(cast("list[Any]", calls))] or None
    return {**cast("dict[str, Any]", choice), "message": said}


def _call(call: Any, place: int) -> Any:
    """Return a call of a tool with its arguments as text and with an id."""
    function: Any = cast("dict[str, Any]", call).get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return call
    whole = cast("dict[str, Any]", function)
    arguments: Any = whole.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    named = {"name": "answer", **whole, "arguments": text}
    return {"id": f"call-{place}", "type": "function", **cast("dict[str, Any]", call), "function": named}


def _counts(usage: dict[str, Any]) -> dict[str, Any]:
    """Return the counts of tokens that are counts, those of parts included."""
    result: dict[str, Any] = {}
    for name, value in usage.items():
        if isinstance(value, dict):
            result[name] = _counts(cast("dict[str, Any]", value))
        elif isinstance(value, int | float):
            if count_tokens(value) == value:
                result[name] = int(value)
        elif not name.endswith("_tokens"):
            result[name] = value
    return result
