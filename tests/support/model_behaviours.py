"""Ways in which servers of chat models answer, each with how a question must end: a table that a test plays over the generator.

`expected` is "answered" where a usable statement is in the reply, else the cause that people read. Each name says the kind.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from querybus.core.failure import ModelTrouble
from tests.support.scripted_model import Script, Seen, Step, fail, garbage, hang_up, say

SQL: Final = "SELECT COUNT(*) AS n FROM customers WHERE city = 'Bern'"
FENCED: Final = f"```sql\n{SQL}\n```"
OPEN: Final = "```sql\nSELECT COUNT(*) AS n FROM customers\n"
ANSWERED: Final = "answered"
CALLS_MAX: Final = 6
"""Requests of one question: the first, one of another form for each thing that it refuses, and one retry."""


@dataclass(frozen=True)
class Behaviour:
    """One way of a server."""

    name: str
    script: Step | list[Step] | Script
    expected: str


def behaviours() -> list[Behaviour]:
    """Return the whole table."""
    return [*_endings(), *_usable(), *_statuses(), *_bodies(), *_transports(), *_once(), *_refusals()]


def _endings() -> Iterator[Behaviour]:
    cut = ["length", "max_tokens", "MAX_TOKENS", "model_length", "insufficient_system_resource", "error", "abort",
           "repetition_truncation", "cancelled", "unknown", "OTHER", "timeout", "pause_turn"]  # fmt: skip
    policy = [
        "content_filter",
        "SAFETY",
        "RECITATION",
        "PROHIBITED_CONTENT",
        "BLOCKLIST",
        "refusal",
        "guardrail_intervened",
    ]
    texts = {"open": OPEN, "bare": SQL, "closed": FENCED}
    for form, text in texts.items():
        for reason in cut:
            yield Behaviour(f"ended by {reason}, {form}", say(text, finish_reason=reason), ModelTrouble.CUT)
        for reason in policy:
            yield Behaviour(f"ended by {reason}, {form}", say(text, finish_reason=reason), ModelTrouble.CONTENT_POLICY)
        for reason in ("stop", "STOP", "end_turn", "eos", "tool_calls"):
            if form != "open":
                yield Behaviour(f"ended by {reason}, {form}", say(text, finish_reason=reason), ANSWERED)
    yield Behaviour("no reason, open", say(OPEN, finish_reason=None), ModelTrouble.CUT)
    yield Behaviour("no reason, bare", say(SQL, finish_reason=None), ModelTrouble.CUT)
    yield Behaviour("no reason, closed", say(FENCED, finish_reason=None), ANSWERED)


def _body(message: dict[str, Any], **more: Any) -> Step:
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return Step(body=json.dumps({"choices": [choice], **more}).encode())


def _call(arguments: object, content: str | None = None) -> Step:
    function = {"name": "run_sql", "arguments": arguments}
    return _body({"role": "assistant", "content": content, "tool_calls": [{"type": "function", "function": function}]})


def _usable() -> Iterator[Behaviour]:
    keyed = json.dumps({"sql": SQL})
    texts = [
        FENCED, f"Here you are:\n{FENCED}", f"{FENCED}\nThis counts the customers.", f"<think>Hm.</think>{SQL}",
        f"It counts.</think>\n{FENCED}", f"<thinking>a</thinking><answer>{SQL}</answer>", keyed, f"```json\n{keyed}\n```",
        f"~~~sql\n{SQL}\n~~~", f"```\n{SQL}\n```", f"{SQL};", f"\n\n{SQL}\n", f"\ufeff{SQL}", SQL.replace(" ", "\n"),
        f"<sql>{SQL}</sql>", f"**{SQL}**", f"```sql\n{SQL} -- a; b\n```", f"```SQL\r\n{SQL}\r\n```", f"{SQL}<|im_end|>",
        f"-- reading: customers in Bern\n{SQL}", f"```postgresql\n{SQL}\n```", f"{SQL}</s>",
    ]  # fmt: skip
    for number, text in enumerate(texts):
        yield Behaviour(f"usable text {number}", say(text), ANSWERED)
    yield Behaviour("arguments as text", _call(keyed), ANSWERED)
    yield Behaviour("arguments as an object", _call({"sql": SQL}), ANSWERED)
    yield Behaviour("prose beside a call", _call(keyed, "Let me look that up."), ANSWERED)
    legacy = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": keyed}}
    yield Behaviour("a call of the old form", _body(legacy), ANSWERED)
    parts = [{"type": "text", "text": FENCED}]
    yield Behaviour("content in parts", _body({"role": "assistant", "content": parts}), ANSWERED)
    for name in ("reasoning_content", "reasoning"):
        yield Behaviour(f"{name} alone", _body({"role": "assistant", "content": None, name: FENCED}), ANSWERED)
        yield Behaviour(f"{name} beside", _body({"role": "assistant", "content": FENCED, name: "Hm."}), ANSWERED)
    yield Behaviour("no role", _body({"content": FENCED}), ANSWERED)
    usages: list[Any] = [None, {}, {"prompt_tokens": -1, "completion_tokens": -1}, {"prompt_tokens": float("nan")},
                         {"prompt_tokens": "many"}, {"prompt_tokens": None}, {"prompt_tokens": 1e30}, [], "none"]  # fmt: skip
    for usage in usages:
        yield Behaviour(f"usage {usage}", _body({"role": "assistant", "content": FENCED}, usage=usage), ANSWERED)
    plain = json.dumps({"choices": [{"finish_reason": "stop", "message": {"content": FENCED}}]}).encode()
    yield Behaviour("text/plain", Step(body=plain, headers={"Content-Type": "text/plain"}), ANSWERED)
    yield Behaviour("blanks before", Step(body=b"\n \n" + plain), ANSWERED)
    yield Behaviour("a long head", Step(body=plain, headers={"X-Long": "x" * 9_000}), ANSWERED)


def _statuses() -> Iterator[Behaviour]:
    causes = {
        ModelTrouble.SET_UP: (400, 401, 403, 404, 405, 422, 301, 302, 308),
        ModelTrouble.QUOTA: (402,),
        ModelTrouble.UNREACHABLE: (408, 409, 425, 429, 500, 502, 503, 504, 524, 529),
    }
    for cause, statuses in causes.items():
        for status in statuses:
            yield Behaviour(f"HTTP {status}", fail(status), cause)
            page = Step(status=status, body=b"<html>no</html>", headers={"Content-Type": "text/html"})
            yield Behaviour(f"HTTP {status} as a page", page, cause)
    words = {
        (429, "insufficient_quota", "You exceeded your current quota"): ModelTrouble.QUOTA,
        (429, "", "billing hard limit"): ModelTrouble.QUOTA,
        (400, "content_policy_violation", "flagged"): ModelTrouble.CONTENT_POLICY,
        (400, "content_filter", "The content management policy"): ModelTrouble.CONTENT_POLICY,
        (400, "context_length_exceeded", "maximum context length"): ModelTrouble.SET_UP,
        (413, "", "too large"): ModelTrouble.SET_UP,
        (404, "model_not_found", "no such model"): ModelTrouble.SET_UP,
    }
    for (status, code, message), cause in words.items():
        yield Behaviour(f"HTTP {status} {code or message}", fail(status, code=code, message=message), cause)
    inner = {
        429: ModelTrouble.UNREACHABLE,
        502: ModelTrouble.UNREACHABLE,
        401: ModelTrouble.SET_UP,
        402: ModelTrouble.QUOTA,
    }
    for status, cause in inner.items():
        body = json.dumps({"error": {"code": status, "message": "Provider returned error"}, "choices": None}).encode()
        yield Behaviour(f"200 with {status} inside", Step(body=body), cause)


def _bodies() -> Iterator[Behaviour]:
    set_up = [b"", b"null", b"[]", b"{}", b"1", b'{"choices": null}', b'{"choices": []}', b'{"choices": [{}]}',
              b'{"choices": {}}', b'{"choices": [null]}', b'{"choi', b"\xff\xfe", b"OK", b"data: x"]  # fmt: skip
    for body in set_up:
        yield Behaviour(f"body {body!r}", Step(body=body), ModelTrouble.SET_UP)
    yield Behaviour("a page of HTML", garbage(), ModelTrouble.SET_UP)
    yield Behaviour("5 MB", say("x" * 5_000_000), ModelTrouble.SET_UP)
    for text in ("", "  ", "\n\n"):
        yield Behaviour(f"text {text!r}", say(text), ModelTrouble.EMPTY)
    yield Behaviour("null", say(None), ModelTrouble.EMPTY)
    refusal = _body({"role": "assistant", "content": None, "refusal": "I cannot."})
    yield Behaviour("a refusal in its field", refusal, ModelTrouble.CONTENT_POLICY)
    yield Behaviour("nothing but a closed connection", hang_up(), ModelTrouble.UNREACHABLE)
    yield Behaviour("half of a body", Step(body=b'{"choi', content_length=500), ModelTrouble.UNREACHABLE)


def _transports() -> Iterator[Behaviour]:
    """What is no answer of HTTP, or one that cannot be read."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    raws = {
        "not HTTP": (b"SSH-2.0-OpenSSH_9.2p1\r\n\r\n", ModelTrouble.SET_UP),
        "not HTTP, ended within its first line": (b"SSH-2.0-OpenSSH_9.2p1\r\n", ModelTrouble.UNREACHABLE),
        "binary instead of HTTP": (bytes(range(256)), ModelTrouble.SET_UP),
        "a status that is none": (b"HTTP/1.1 abc\r\n\r\n", ModelTrouble.SET_UP),
        "a bad chunk": (head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n", ModelTrouble.UNREACHABLE),
        "half of the head": (b"HTTP/1.1 200 OK\r\nContent-Ty", ModelTrouble.UNREACHABLE),
    }
    for name, (raw, cause) in raws.items():
        yield Behaviour(name, Step(raw=raw), cause)
    for status in (301, 302, 307, 308):
        away = Step(status=status, body=b"", headers={"Location": "https://login.example.com/"})
        yield Behaviour(f"HTTP {status} to a login", away, ModelTrouble.SET_UP)
    login = b"<!doctype html><html><body><form action='/login'></form></body></html>"
    yield Behaviour("a login page", Step(body=login, headers={"Content-Type": "text/html"}), ModelTrouble.SET_UP)
    gzip = {"Content-Encoding": "gzip"}
    yield Behaviour("gzip that is none", Step(body=b"no gzip", headers=gzip), ModelTrouble.SET_UP)


def _once() -> Iterator[Behaviour]:
    for status in (408, 409, 425, 429, 500, 502, 503, 529):
        yield Behaviour(f"HTTP {status} once", [fail(status), say(FENCED)], ANSWERED)
    date = Step(status=429, body=b"{}", headers={"Retry-After": "Thu, 01 Jan 1970 00:00:09 GMT"})
    yield Behaviour("429 with a date once", [date, say(FENCED)], ANSWERED)
    yield Behaviour(
        "429 in ms once", [Step(status=429, body=b"{}", headers={"retry-after-ms": "50"}), say(FENCED)], ANSWERED
    )
    yield Behaviour("a closed connection once", [hang_up(), say(FENCED)], ANSWERED)
    yield Behaviour("cut once", [say(OPEN, finish_reason="length"), say(FENCED)], ANSWERED)


def _refusals() -> Iterator[Behaviour]:
    def without(field: str) -> Script:
        def play(seen: Seen) -> Step:
            return fail(400, message=f"Unsupported parameter: '{field}'") if field in seen.json else say(FENCED)

        return play

    def without_system(seen: Seen) -> Step:
        has_system = any(message["role"] == "system" for message in seen.json["messages"])
        return fail(400, message="System role not supported") if has_system else say(FENCED)

    def streams_only(seen: Seen) -> Step:
        return say(FENCED) if seen.json.get("stream") else fail(400, message="This model only support stream mode")

    for field in ("temperature", "max_completion_tokens"):
        yield Behaviour(f"refuses {field}", without(field), ANSWERED)
    yield Behaviour("refuses the system's role", without_system, ANSWERED)
    yield Behaviour("streams only", streams_only, ANSWERED)
