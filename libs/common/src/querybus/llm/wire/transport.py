"""The one HTTP transport under every provider's client: what is set for a model goes in here, and what came back is noted.

Providers' clients differ in what they let a caller add and in the exceptions that they raise. Below them all stands an
HTTP exchange: headers, query and body are completed here, an answer is read up to a limit, and its status and text
are noted for the rules that say what a fault means. `httpx` and `httpx2` have the same interface.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

from querybus.llm.wire.answers import normalize_answer, read_answer, status_of

ANSWER_BYTES_MAX: Final = 1_048_576
"""Of one answer: a statement of a model is a thousand times smaller."""
_STREAMED: Final = ("text/event-stream", "application/x-ndjson", "application/vnd.amazon.eventstream")
_OWN_HEADERS: Final = frozenset({"content-length", "transfer-encoding"})
NESTED: Final = ("generationConfig", "generation_config", "options")
"""Objects of a request that hold its optional fields, for providers that keep them apart."""


@dataclass(slots=True)
class Exchange:
    """What one call adds to its request, and what came back. One for each call, shared by the tasks of that call."""

    left_out: frozenset[str] = frozenset()
    sent: frozenset[str] = frozenset()
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    text: str = ""
    is_streamed: bool = False
    is_too_long: bool = False


current_exchange: ContextVar[Exchange | None] = ContextVar("current_exchange", default=None)


@dataclass(frozen=True, slots=True)
class Additions:
    """What is set for a model's requests: `body` is merged, a value of None takes a field away."""

    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Mapping[str, Any] = field(default_factory=dict[str, Any])
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])
    """Fields that go by another name, such as the limit of tokens."""


@dataclass(frozen=True, slots=True)
class Network:
    """How an address is reached: a proxy, a private authority, and the time limits in seconds."""

    proxy: str = ""
    ca_file: Path | None = None
    connect_seconds: float = 5.0
    silence_seconds: float = 60.0
    wait_seconds: float = 90.0
    hosts_allowed: tuple[str, ...] | None = None
    """Where nothing may leave: the hosts beside this machine that may be called. None: any host."""

    def refusal(self, base_url: str) -> str:
        """Return why an address may not be called; empty where it may."""
        host = (urlsplit(base_url).hostname or "").casefold()
        if self.hosts_allowed is None or is_loopback(base_url) or host in self.hosts_allowed:
            return ""
        return f"QUERYBUS_NOTHING_LEAVES forbids calls of {host}: list it in QUERYBUS_LLM_HOSTS_ALLOWED, or use a model here"

    def transport(self, library: Any, base_url: str) -> Any:
        """Return the plain transport of a library; raises OSError and ssl.SSLError for a certificate that is none."""
        context = ssl.create_default_context(cafile=str(self.ca_file)) if self.ca_file else True
        proxy = self.proxy if self.proxy and not is_loopback(base_url) else None
        limits = library.Limits(max_connections=None, max_keepalive_connections=64)
        return library.AsyncHTTPTransport(verify=context, proxy=proxy, limits=limits, trust_env=False)

    def timeout(self, library: Any) -> Any:
        """Return the time limits as a library takes them."""
        return library.Timeout(self.silence_seconds, connect=self.connect_seconds, pool=self.wait_seconds)


def is_loopback(url: str) -> bool:
    """Whether an address is on this machine.

    >>> is_loopback("http://127.0.0.1:11434/v1"), is_loopback("http://localhost/v1"), is_loopback("https://a.example/v1")
    (True, True, False)
    """
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def open_client(library: Any, address: str, network: Network, additions: Additions, **more: Any) -> Any:
    """Return an `AsyncClient` of the library over the noting transport. It follows no redirect and reads no environment."""
    options = client_options(library, address, network, additions)
    return library.AsyncClient(**options, **more)


def client_options(library: Any, address: str, network: Network, additions: Additions) -> dict[str, Any]:
    """Return the options that make a library's client one over the noting transport."""
    # An address that sends elsewhere could lead a request, and its key, to a place that nobody has set.
    return {
        "transport": _noting(library, network.transport(library, address), additions),
        "timeout": network.timeout(library),
        "follow_redirects": False,
        "trust_env": False,
    }


def merged_body(body: dict[str, Any], additions: Additions, left_out: frozenset[str]) -> dict[str, Any]:
    """Return a request's body with what is set for the model; fields in `left_out` and values of None are gone.

    >>> merged_body({"max_tokens": 5, "a": {"x": 1}}, Additions(body={"a": {"y": 2}, "b": None}), frozenset({"max_tokens"}))
    {'a': {'x': 1, 'y': 2}}
    """
    renamed = {additions.renamed.get(name, name): value for name, value in body.items()}
    whole = _merged(renamed, additions.body)
    for name in left_out:
        whole.pop(name, None)
        for part in NESTED:
            if isinstance(whole.get(part), dict):
                whole[part].pop(name, None)
    return whole


def _merged(into: dict[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(into)
    for name, value in other.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, Mapping) and isinstance(result.get(name), dict):
            result[name] = _merged(result[name], cast("Mapping[str, Any]", value))
        else:
            result[name] = value
    return result


def fields_of(body: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of a request's fields, those of the objects with optional fields included."""
    nested = (set(body[part]) for part in NESTED if isinstance(body.get(part), dict))
    return frozenset(body).union(*nested) - set(NESTED)


def _bounded_stream(library: Any) -> Any:
    """Return the library's class of byte streams with a limit."""

    class Bounded(library.AsyncByteStream):
        """The bytes of an answer, up to the limit."""

        def __init__(self, stream: Any, exchange: Exchange) -> None:
            self._stream = stream
            self._exchange = exchange

        async def __aiter__(self) -> AsyncIterator[bytes]:
            count = 0
            async for part in self._stream:
                count += len(part)
                if count > ANSWER_BYTES_MAX:
                    self._exchange.is_too_long = True
                    raise library.ReadError(f"more than {ANSWER_BYTES_MAX} bytes")
                yield part

        async def aclose(self) -> None:
            await self._stream.aclose()

    return Bounded


def _noting(library: Any, inner: Any, additions: Additions) -> Any:
    """Return a transport of the library around another one."""
    bounded = _bounded_stream(library)

    class Noting(library.AsyncBaseTransport):
        """Completes each request and notes what came back for it."""

        async def handle_async_request(self, request: Any) -> Any:
            exchange = current_exchange.get() or Exchange()
            response = await inner.handle_async_request(await _complete_request(library, request, exchange, additions))
            kind = response.headers.get("content-type", "").partition(";")[0].strip().casefold()
            result = library.Response(
                status_code=response.status_code,
                headers=response.headers,
                stream=bounded(response.stream, exchange),
                extensions=response.extensions,
                request=request,
            )
            exchange.status, exchange.headers = response.status_code, dict(response.headers)
            exchange.is_streamed = kind in _STREAMED and response.status_code < 300
            if exchange.is_streamed:
                return result
            await result.aread()
            await response.aclose()
            exchange.text = result.text
            answer = read_answer(result.text)
            if answer is None:
                return result
            exchange.status = status_of(answer, response.status_code)
            headers = {"content-type": "application/json"}
            body = json.dumps(normalize_answer(answer)).encode()
            return library.Response(exchange.status, headers=headers, content=body, request=request)

        async def aclose(self) -> None:
            await inner.aclose()

    return Noting()


async def _complete_request(library: Any, request: Any, exchange: Exchange, additions: Additions) -> Any:
    """Return a request with what is set for the model; the exchange notes its fields."""
    content = await request.aread()
    headers = [(name, value) for name, value in request.headers.raw if name.lower().decode() not in _OWN_HEADERS]
    body = _object(content)
    if body is not None:
        body = merged_body(body, additions, exchange.left_out)
        exchange.sent = fields_of(body)
        content = json.dumps(body, ensure_ascii=False).encode()
    url = request.url.copy_merge_params(dict(additions.query)) if additions.query else request.url
    completed = library.Request(
        request.method, url, headers=headers, content=content or None, extensions=request.extensions
    )
    for name, value in additions.headers.items():
        completed.headers[name] = value
    return completed


def _object(content: bytes) -> dict[str, Any] | None:
    try:
        read: object = json.loads(content) if content[:1] == b"{" else None
    except ValueError:
        return None
    return cast("dict[str, Any]", read) if isinstance(read, dict) else None
