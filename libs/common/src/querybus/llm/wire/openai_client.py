"""The HTTP client of one OpenAI-compatible address: pool, time limits, and every exception as a Fault.

The client's own retries are off. `openai` is imported when an address is opened, not before: it takes 18 MB, which a
service without a model must not hold. A fault's detail holds a status, an error code or an exception's name, never the
key, what was sent or the address's own words.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from pydantic import SecretStr
from pydantic_core import to_json

from querybus.llm.errors import Fault, FaultKind
from querybus.llm.wire.http_faults import BODY_READ_MAX, fault_of_response

if TYPE_CHECKING:
    from openai import AsyncOpenAI, DefaultAioHttpClient

# What comes of a 200 that does not hold what it should; the client does not name it itself.
GARBLED: Final = (ValueError, TypeError, KeyError, IndexError, AttributeError, AssertionError, RecursionError)


class OpenAIClient:
    """Connect, read and pool limits stand on the HTTP client; the total limit is the caller's."""

    def __init__(
        self,
        base_url: str,
        api_key: SecretStr | None,
        *,
        connect_timeout_seconds: float,
        read_timeout_seconds: float,
        pool_timeout_seconds: float,
    ) -> None:
        self._base_url = base_url
        self._api_key = api_key
        self._seconds = (connect_timeout_seconds, read_timeout_seconds, pool_timeout_seconds)
        self._opening = asyncio.Lock()
        self._client: AsyncOpenAI | None = None
        self.http: DefaultAioHttpClient | None = None

    async def open(self) -> None:
        """Import the client in a thread and make the connection pool; a second call does nothing."""
        async with self._opening:
            if self._client is None:
                await asyncio.to_thread(_import_client)
                self._make()

    async def close(self) -> None:
        """Close every socket; the address can be opened again."""
        async with self._opening:
            http, self.http, self._client = self.http, None, None
            if http is not None:
                await http.aclose()

    async def post(self, path: str, body: dict[str, Any]) -> str:
        """Return the text of a reply below 300; raises what `fault_of` reads, and CancelledError.

        As text: the client would make dozens of objects of a reply of which a few fields are read.
        """
        if self._client is None:
            await self.open()
        assert self._client is not None  # noqa: S101 - opened just now
        # The whole address, and the body as it is sent: the client would read the one and write the other at each call
        # in Python.
        address = f"{self._base_url.rstrip('/')}{path}"
        return await self._client.post(address, content=to_json(body), cast_to=str)

    async def get(self, path: str) -> str:
        """Return the text of a resource; raises as `post` does."""
        if self._client is None:
            await self.open()
        assert self._client is not None  # noqa: S101 - opened just now
        return await self._client.get(f"{self._base_url.rstrip('/')}{path}", cast_to=str)

    def _make(self) -> None:
        from openai import AsyncOpenAI, DefaultAioHttpClient, Timeout

        connect, read, pool = self._seconds
        timeout = Timeout(read, connect=connect, pool=pool)
        # An address that sends elsewhere could lead a request, and its key, to a place that nobody has set.
        self.http = DefaultAioHttpClient(timeout=timeout, follow_redirects=False)
        self._client = AsyncOpenAI(
            base_url=self._base_url,
            # An empty key is none: a deployment that sets the variable to nothing has no key.
            api_key=self._api_key.get_secret_value() if self._api_key else "none",
            max_retries=0,
            timeout=timeout,
            http_client=self.http,
        )


def fault_of(error: Exception, expected: str, *, settings: str = "QUERYBUS_LLM") -> Fault:
    """Return an exception of an exchange as a fault; one that says nothing of an exchange is raised again.

    `expected` names in two words what the reply should have been, `settings` how the variables begin that set the
    address, the key and the model.
    """
    import openai  # the exception came from there: it is imported

    match error:
        case openai.APIStatusError():
            return fault_of_response(error.status_code, error.response.headers, response_text(error), settings=settings)
        case openai.APITimeoutError():
            is_connect = "Connect" in type(error.__cause__).__name__
            kind = FaultKind.CONNECT if is_connect else FaultKind.TIMEOUT
            where = f"no connection to the address in {settings}_BASE_URL: " if is_connect else ""
            return Fault(kind, f"{where}time limit of the {'connect' if is_connect else 'read'}")
        case openai.APIConnectionError():
            cause = type(error.__cause__ or error).__name__
            return Fault(FaultKind.CONNECT, f"nobody answers at the address in {settings}_BASE_URL ({cause})")
        case _ if isinstance(error, (openai.OpenAIError, *GARBLED)):
            where = f"the reply is no {expected} ({type(error).__name__})"
            return Fault(FaultKind.PROTOCOL, f"{where}: {settings}_BASE_URL must be an OpenAI-compatible address")
        case _ if type(error).__module__.partition(".")[0] in (
            "aiohttp",
            "httpx",
            "httpx2",
            "httpcore",
            "httpcore2",
            "ssl",
        ):
            # What the client does not wrap: headers that are too long, what is no HTTP, a bad chunk.
            return Fault(
                FaultKind.CONNECT, f"no HTTP answer at the address in {settings}_BASE_URL ({type(error).__name__})"
            )
        case _:
            raise error


def _import_client() -> None:
    import openai

    _ = openai


def response_text(error: Any) -> str:
    """Return the beginning of the address's own words about an error, to be read by rules and shown to nobody."""
    try:
        return str(error.response.text)[:BODY_READ_MAX]
    except Exception:  # noqa: BLE001 - a body that was not read says nothing
        return ""
