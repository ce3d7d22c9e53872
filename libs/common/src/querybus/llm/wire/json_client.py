"""A client of what stands beside chat at a model's address: its list of models, and embeddings."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from pydantic import SecretStr

from querybus.llm.errors import Fault, FaultKind
from querybus.llm.wire.answers import read_answer
from querybus.llm.wire.faults import exception_fault
from querybus.llm.wire.http_faults import fault_of_response
from querybus.llm.wire.transport import Additions, Exchange, Network, current_exchange, open_client

GARBLED: Final = (ValueError, TypeError, KeyError, IndexError, AttributeError, AssertionError, RecursionError)
"""What reading an answer raises that does not hold what it should."""


class JsonClient:
    """Sends one request at a time each, without retries. It is opened by its first request."""

    def __init__(
        self, base_url: str, api_key: SecretStr | None, network: Network, *, settings: str = "QUERYBUS_LLM"
    ) -> None:
        self._base_url = base_url.rstrip("/")
        # An empty key is none: a deployment that sets the variable to nothing has no key.
        self._key = api_key.get_secret_value() if api_key else ""
        self._network = network
        self._settings = settings
        self._opening = asyncio.Lock()
        self._client: Any = None

    async def open(self) -> None:
        """Import the library and make the pool of connections; a second call does nothing."""
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(self._make)

    async def close(self) -> None:
        """Close every socket; the client can be opened again."""
        async with self._opening:
            client, self._client = self._client, None
            if client is not None:
                await client.aclose()

    async def request(self, path: str, body: Mapping[str, Any] | None, expected: str) -> dict[str, Any] | Fault:
        """Return the object in an answer, or the fault; `expected` names in words what it should be. No body: GET."""
        exchange = Exchange()
        token = current_exchange.set(exchange)
        try:
            if refusal := self._network.refusal(self._base_url):
                return Fault(FaultKind.ADDRESS, refusal)
            await self.open()
            url = f"{self._base_url}{path}"
            answer = await (self._client.get(url) if body is None else self._client.post(url, json=dict(body)))
            if answer.status_code >= 300:
                return fault_of_response(answer.status_code, exchange.headers, exchange.text, settings=self._settings)
            found = read_answer(exchange.text)
            return found if found is not None else self.no_such(ValueError(), expected)
        except Exception as error:  # noqa: BLE001 - exception_fault reads the kind by its name
            return exception_fault(error, exchange, expected, settings=self._settings)
        finally:
            current_exchange.reset(token)

    def no_such(self, error: Exception, expected: str) -> Fault:
        """Return the fault of an answer that does not hold what it should."""
        return exception_fault(error, Exchange(), expected, settings=self._settings)

    def _make(self) -> Any:
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        return open_client(import_module("httpx2"), self._base_url, self._network, Additions(), headers=headers)
