"""The one client of an embeddings model: batches, limits, a breaker, counts; no retry, because words do without.

Any address that speaks OpenAI's `/embeddings`. A call ends within its time, with a vector per text or with a Failure of
code `model_unavailable` whose `facts.native_code` says why. Nothing is logged here: texts are questions and names.
"""

from __future__ import annotations

import asyncio
import time
from array import array
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from querybus.core.failure import Failure
from querybus.llm.breaker import Breaker
from querybus.llm.errors import Fault, FaultKind, unavailable
from querybus.llm.model_limits import Limit
from querybus.llm.settings import BREAKER_OPEN_SECONDS, EmbeddingServiceSettings
from querybus.llm.shared_limits import SharedCounters, SharedLimit, Turn
from querybus.llm.vectors import Vector, unit
from querybus.llm.wire.json_client import GARBLED, JsonClient
from querybus.ops.clock import system_random_bits
from querybus.ops.metrics import Metrics
from querybus.text.tokens import token_estimate


class EmbeddingAddress(Protocol):
    """One address: one HTTP exchange per call, no limits of its own but sockets'."""

    async def close(self) -> None: ...

    async def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], int] | Fault:
        """Return a vector per text, in order, and the tokens that they took; or the fault."""
        ...


class OpenAIEmbeddingAddress:
    """An `EmbeddingAddress` of the settings."""

    def __init__(self, settings: EmbeddingServiceSettings) -> None:
        self._model = settings.embeddings_model
        self._client = JsonClient(
            settings.embeddings_base_url,
            settings.embeddings_api_key,
            settings.network,
            settings="QUERYBUS_EMBEDDINGS",
        )

    async def close(self) -> None:
        """Close every socket."""
        await self._client.close()

    async def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], int] | Fault:
        """Return the vectors, or the fault; raises nothing but CancelledError."""
        body: dict[str, Any] = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        said = await self._client.request("/embeddings", body, "list of embeddings")
        if isinstance(said, Fault):
            return said
        try:
            by_place = {int(item["index"]): item["embedding"] for item in said["data"]}
            vectors = [[float(number) for number in by_place[place]] for place in range(len(texts))]
            return vectors, int((said.get("usage") or {}).get("prompt_tokens") or 0)
        except GARBLED as error:
            return self._client.no_such(error, "list of embeddings")


class EmbeddingClient:
    """Embeds texts; at most `batch_max` in a request and `concurrency_max` requests at once."""

    name = "embeddings"

    def __init__(
        self,
        settings: EmbeddingServiceSettings,
        metrics: Metrics,
        *,
        address: EmbeddingAddress | None = None,
        shared: SharedLimit | None = None,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._metrics = metrics
        self._address = address or OpenAIEmbeddingAddress(settings)
        self._shared = shared
        self._seconds = seconds
        self._model = settings.embeddings_model
        self._slots = asyncio.Semaphore(settings.embeddings_limits.concurrency_max)
        self._breaker = Breaker(settings.llm_breaker_failures, BREAKER_OPEN_SECONDS)

    async def close(self) -> None:
        """Close every connection and give back what is held of shared limits."""
        await self._address.close()
        if self._shared is not None:
            await self._shared.drain()

    def seconds(self) -> float:
        """Return the time by the client's own clock."""
        return self._seconds()

    async def vectors(self, texts: Sequence[str], *, timeout_seconds: float) -> tuple[Vector, ...] | Failure:
        """Return a vector of one length for each text, of length 0 where a text has no direction; or a Failure."""
        vectors: list[Vector | None] = []
        try:
            async with asyncio.timeout(max(0.0, timeout_seconds)):
                for start in range(0, len(texts), self._settings.embeddings_limits.batch_max):
                    made = await self._batch(texts[start : start + self._settings.embeddings_limits.batch_max])
                    if isinstance(made, Failure):
                        return made
                    vectors += made
        except TimeoutError:
            fault = Fault(FaultKind.TIMEOUT, f"no embeddings within {timeout_seconds:.1f} s")
            self._metrics.model_error(self._model, fault.trouble)
            return unavailable(fault)
        dimensions = {len(vector) for vector in vectors if vector is not None}
        if len(dimensions) > 1:
            return unavailable(Fault(FaultKind.PROTOCOL, "embeddings of different lengths"))
        empty = array("f", bytes(4 * (dimensions.pop() if dimensions else 0)))
        return tuple(empty if vector is None else vector for vector in vectors)

    async def _batch(self, texts: Sequence[str]) -> list[Vector | None] | Failure:
        async with self._slots:
            if self._shared is None:
                return await self._exchange(texts, None)
            async with self._shared.call(sum(map(token_estimate, texts))) as turn:
                return await self._exchange(texts, turn)

    async def _exchange(self, texts: Sequence[str], turn: Turn | None) -> list[Vector | None] | Failure:
        if not self._breaker.admit(self._seconds()):
            return unavailable(Fault(FaultKind.BREAKER, "the embeddings address failed too often just now"))
        sent = self._seconds()
        try:
            outcome = await self._address.embed(texts)
        except asyncio.CancelledError:
            # Cut by the time limit, or with its query: only a silence of that length says something of the address.
            if self._seconds() - sent >= self._settings.embeddings_limits.timeout_seconds / 2:
                self._failed(sent)
            else:
                self._breaker.abandoned()
            raise
        if isinstance(outcome, Fault):
            if outcome.blames_address:
                self._failed(sent)
            else:
                self._breaker.abandoned()
            self._metrics.model_error(self._model, outcome.trouble)
            return unavailable(outcome)
        vectors, tokens = outcome
        if turn is not None and tokens:
            turn.took = tokens
        self._breaker.succeeded(self._seconds())
        self._metrics.breaker("model", self._model, is_open=False)
        self._metrics.model_call(self._model, self._seconds() - sent)
        self._metrics.model_tokens(self._model, tokens, 0)
        return [unit(vector, self._settings.embeddings_limits.dimensions_max) for vector in vectors]

    def _failed(self, sent: float) -> None:
        self._breaker.failed(self._seconds(), sent)
        self._metrics.breaker("model", self._model, is_open=self._breaker.is_open)


def shared_limit(settings: EmbeddingServiceSettings, counters: SharedCounters) -> SharedLimit | None:
    """Return the limits of the settings as all replicas keep them together; None without any."""
    limit = Limit(settings.embeddings_limits.requests_per_minute, settings.embeddings_limits.tokens_per_minute)
    if limit == Limit():
        return None
    return SharedLimit(
        f"embeddings {settings.embeddings_model}", limit, counters, replica=f"{system_random_bits(64):016x}"
    )
