"""What an HTTP answer of a model's address means, by its status and by the codes and words of its body.

The words are read by rules and shown to nobody: a fault's detail holds a status, a plain code and a sentence of ours.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final, cast

from querybus.llm.errors import Fault, FaultKind

BODY_READ_MAX: Final = 4_000
_PLAIN_CODE: Final = re.compile(r"[a-z]+(?:_[a-z]+){1,5}|[A-Z][A-Za-z]{2,39}|[A-Z]+(?:_[A-Z]+){1,5}")
"""A code as providers write them; a key, a name or a sentence has another form."""
_USED_UP: Final = re.compile(
    r"insufficient[_ ](?:quota|credits?|balance|funds)|billing|quota (?:is |has been )?(?:exceeded|used up)"
    r"|exceeded your current quota|credit balance|payment required|spending limit",
    re.IGNORECASE,
)
_FULL_CONTEXT: Final = re.compile(
    r"context[ _-]?(?:length|window|size)|maximum context|(?:prompt|input|request|messages?) (?:is|are) too long"
    r"|input token count|too many (?:input )?tokens|reduce the length of the (?:messages|prompt)|num_ctx",
    re.IGNORECASE,
)
_POLICY: Final = re.compile(
    r"content[ _](?:filter|policy|management policy)|responsible ?ai|safety (?:system|policy|filter)|usage polic(?:y|ies)"
    r"|prohibited content|flagged|moderation",
    re.IGNORECASE,
)
_NO_MODEL: Final = re.compile(
    r"\b(?:models?|deployment)\b.{0,200}(?:not found|not exist|unknown|not available|invalid)"
    r"|(?:no such|unknown|invalid) model|model_not_found|DeploymentNotFound",
    re.IGNORECASE | re.DOTALL,
)
_PASSING: Final = frozenset({408, 409, 425, 429})
"""Statuses below 500 of what may pass by itself."""
_RETRY_AFTER_SECONDS_MAX: Final = 86_400.0


def fault_of_response(
    status: int, headers: Mapping[str, str], body: str, *, settings: str = "QUERYBUS_LLM", key: str = ""
) -> Fault:
    """Return what an answer that holds no reply means.

    `settings` is how the variables begin that set the address, the key and the model; `key` names the variable of the
    key where it is another one.
    """
    key = key or f"{settings}_API_KEY"
    codes = _codes(body)
    code = next((item for item in codes if _PLAIN_CODE.fullmatch(item)), "")
    shown = f"HTTP {status}" + (f" ({code})" if code else "")
    said = f"{' '.join(codes)} {body[:BODY_READ_MAX]}"
    kind, reason = _meaning(status, said, settings, key)
    retry_after = None if kind is FaultKind.QUOTA else read_retry_after(headers, time.time())
    return Fault(kind, f"{shown}: {reason}" if reason else shown, status=status, retry_after_seconds=retry_after)


def error_status(body: Mapping[str, Any]) -> int | None:
    """Return the status that an answer of 200 holds for an error; None where it holds no error.

    >>> error_status({"error": {"code": 429}}), error_status({"error": {"message": "x"}}), error_status({"choices": []})
    (429, 502, None)
    """
    error = body.get("error")
    if not error:
        return None
    code = cast("dict[str, Any]", error).get("code") if isinstance(error, dict) else None
    try:
        status = int(code)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        return 502
    return status if 400 <= status < 600 else 502


def _meaning(status: int, said: str, settings: str, key: str) -> tuple[FaultKind, str]:
    """Return the kind of a status with the words beside it, and what a person has to know of it."""
    if 300 <= status < 400:
        return (
            FaultKind.REQUEST,
            f"the address sends elsewhere, which is not followed: set {settings}_BASE_URL to where it leads",
        )
    if status == 402 or (status in (403, 429) and _USED_UP.search(said)):
        return FaultKind.QUOTA, f"the quota of the account behind {key} is used up"
    if status in _PASSING:
        return FaultKind.BUSY, ""
    if status < 500 and status not in (401, 404):
        if _FULL_CONTEXT.search(said) or status == 413:
            return FaultKind.CONTEXT, "the prompt is longer than the model's context"
        if _POLICY.search(said):
            return FaultKind.CONTENT_POLICY, "the provider declines the request by its content policy"
    if status in (401, 403):
        return FaultKind.REQUEST, f"the address refuses the key in {key}"
    if status in (400, 404, 422) and _NO_MODEL.search(said):
        return FaultKind.NO_MODEL, f"the address has no model of the name in {settings}_MODEL"
    if status in (404, 405):
        return FaultKind.REQUEST, f"nothing is at this path; {settings}_BASE_URL usually ends in /v1"
    if status >= 500:
        return FaultKind.SERVER, ""
    return FaultKind.REQUEST, "the address refuses the request"


def _codes(body: str) -> list[str]:
    """Return the codes that the body of an error holds, the most exact first."""
    try:
        read: object = json.loads(body)
    except (ValueError, RecursionError):
        return []
    if not isinstance(read, dict):
        return []
    whole = cast("dict[str, Any]", read)
    error = whole.get("error")
    inner = cast("dict[str, Any]", error) if isinstance(error, dict) else {}
    found = [part.get(name) for part in (inner, whole) for name in ("code", "status", "type", "__type")]
    return [item for item in found if isinstance(item, str)]


def read_retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the pause that an address asks for, in seconds; None where it asks for none that can be read.

    Headers: `retry-after-ms`, and `retry-after` as seconds or as an HTTP date.

    >>> read_retry_after({"retry-after": "Thu, 01 Jan 1970 00:00:09 GMT"}, 4.0), read_retry_after({"retry-after-ms": "1500"}, 0)
    (5.0, 1.5)
    """
    milliseconds, plain = headers.get("retry-after-ms"), headers.get("retry-after")
    seconds: float | None = None
    try:
        if milliseconds is not None:
            seconds = float(milliseconds) / 1_000
        elif plain is not None:
            seconds = float(plain)
    except ValueError:
        try:
            seconds = max(0.0, parsedate_to_datetime(plain or "").timestamp() - now)
        except (TypeError, ValueError, OverflowError):
            return None
    return seconds if seconds is not None and 0 <= seconds < _RETRY_AFTER_SECONDS_MAX else None
