"""What goes over the wire, as values: a request, when to send it again, what its answer means, a stream's frames.

No I/O here: the synchronous and the asynchronous client share all of it and differ in how they wait.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import httpx

from querybus_client.errors import QueryBusError, Refused, Unreachable, refused
from querybus_client.values import Event, Json

CONNECT_SECONDS: Final = 5.0
READ_SECONDS: Final = 15.0
"""How long an answer may take beyond what the request asked the gateway to wait."""
STREAM_SILENCE_SECONDS: Final = 45.0
"""The gateway gives a sign of life every 15 seconds."""
RETRY_SECONDS: Final = 0.25
RETRY_SECONDS_MAX: Final = 10.0
FRAME_BYTES_MAX: Final = 16_777_216

_AWAY: Final = frozenset({502, 503, 504})
_AGAIN: Final = _AWAY | {429}


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request; only one that means the same when it comes twice is sent again."""

    method: str
    path: str
    body: Json | None = None
    query: Mapping[str, str | int] = field(default_factory=dict[str, str | int])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    wait_seconds: int = 0

    @property
    def is_repeatable(self) -> bool:
        """Whether it may be sent again although an earlier copy may have arrived."""
        return self.method == "GET" or "Idempotency-Key" in self.headers

    def parts(self, address: str, *, silence_seconds: float = READ_SECONDS) -> dict[str, Any]:
        """Return the arguments of httpx's `request` and `stream`."""
        headers = dict(self.headers)
        if self.wait_seconds:
            headers["Prefer"] = f"wait={self.wait_seconds}"
        result: dict[str, Any] = {
            "method": self.method,
            "url": address + self.path,
            "params": self.query,
            "headers": headers,
        }
        if self.body is not None:
            result["content"] = json.dumps(self.body, ensure_ascii=False).encode()
            headers["Content-Type"] = "application/json"
        result["timeout"] = httpx.Timeout(silence_seconds + self.wait_seconds, connect=CONNECT_SECONDS)
        return result


class Addresses:
    """The gateways that are asked, one at a time: the next one where one is not there."""

    def __init__(self, url: str | Sequence[str]) -> None:
        """Raises ValueError where there is none."""
        self._urls = tuple(text.rstrip("/") for text in ([url] if isinstance(url, str) else url))
        if not self._urls:
            raise ValueError("the address of a gateway is needed")
        self._place = 0

    @property
    def current(self) -> str:
        return self._urls[self._place]

    def leave(self, address: str, error: QueryBusError) -> None:
        """Go on with the next gateway, where this one was not there; several callers leave it once."""
        is_away = isinstance(error, Unreachable) or (isinstance(error, Refused) and error.status in _AWAY)
        if is_away and address == self.current:
            self._place = (self._place + 1) % len(self._urls)


def bearer(key: str) -> dict[str, str]:
    """Return the header that says who calls; ValueError, without the key, for what is none."""
    key = key.strip()
    if not key or not all("!" <= sign <= "~" for sign in key):
        raise ValueError("a key is one word of visible ASCII characters")
    return {"Authorization": f"Bearer {key}"}


def read_answer(response: httpx.Response) -> Json:
    """Return the JSON object of an answer, `{}` for none."""
    return _object(response.content) if response.content else {}


def refusal(status: int, headers: Mapping[str, str], content: bytes) -> Refused:
    """Return the error that an answer with this status means."""
    try:
        problem = _object(content)
    except QueryBusError:
        # Something before the gateway, such as an ingress, has answered in its own way.
        problem = {"title": f"status {status}", "status": status}
    after = headers.get("retry-after", "")
    return refused(status, problem, float(after) if after.isdigit() else None)


def _object(content: bytes) -> Json:
    try:
        result = json.loads(content)
    except ValueError as error:
        raise QueryBusError("the answer is no JSON") from error
    if not isinstance(result, dict):
        raise QueryBusError("the answer is no JSON object")
    return cast("Json", result)


def pause_seconds(error: QueryBusError, attempt: int) -> float | None:
    """Return how long to wait before the next attempt (counted from 1), or None if another would not help."""
    if isinstance(error, Refused):
        if error.status not in _AGAIN:
            return None
        if error.retry_after_seconds is not None:
            return min(error.retry_after_seconds, RETRY_SECONDS_MAX)
    elif not isinstance(error, Unreachable):
        return None
    # Spread, so that many callers of a gateway that was away do not come back at once.
    return min(RETRY_SECONDS * 2.0 ** (attempt - 1), RETRY_SECONDS_MAX) * (0.5 + random.random())  # noqa: S311


class Frames:
    """Reads server-sent events piece by piece; a frame without an id leaves the last one as it was."""

    def __init__(self) -> None:
        self._buffer = b""
        self._fields: dict[str, list[str]] = {}

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the events that this chunk completes."""
        self._buffer += chunk
        if len(self._buffer) > FRAME_BYTES_MAX:
            raise QueryBusError("a frame of the stream is too large")
        events: list[Event] = []
        while (end := self._buffer.find(b"\n")) >= 0:
            line, self._buffer = self._buffer[:end].removesuffix(b"\r"), self._buffer[end + 1 :]
            if line:
                name, _, value = line.decode().partition(":")
                if name:
                    self._fields.setdefault(name, []).append(value.removeprefix(" "))
            elif self._fields:
                event = self._event()
                if event is not None:
                    events.append(event)
        return events

    def _event(self) -> Event | None:
        fields, self._fields = self._fields, {}
        if "data" not in fields:
            return None
        sequence = fields.get("id", [""])[-1]
        data = _object("\n".join(fields["data"]).encode())
        return Event(fields.get("event", ["message"])[-1], int(sequence) if sequence.isdigit() else None, data)
