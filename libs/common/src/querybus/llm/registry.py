"""Models by name, as they are set for the whole stack: which one a call takes, its limits, and what stands in for it.

A change is followed while the service runs: the next call goes by it, calls that run end as they began. Without any
model there is none, and no client is loaded.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import Protocol

from pydantic import SecretStr

from querybus.core.failure import Failure
from querybus.core.stored.models import Models, NamedModel, Prompting
from querybus.llm.dialogue import ChatMessage, ModelReply
from querybus.llm.errors import Fault, FaultKind, unavailable
from querybus.llm.kept_keys import KeptKeys
from querybus.llm.model import Limits, ModelClient, OnText
from querybus.llm.model_limits import Limit
from querybus.llm.settings import ModelServiceSettings
from querybus.llm.shared_limits import SharedCounters, SharedLimit
from querybus.llm.wire.openai_chat import OpenAIChatAddress
from querybus.ops.clock import RandomBits, system_random_bits
from querybus.ops.metrics import Metrics

SECONDS_MIN = 0.2


class KnownModels(Protocol):
    """Where the models are set."""

    async def read(self) -> Models: ...


class NamedModels:
    """The `ChatModel` of a service: the models that are set, and the one of its own settings, if any."""

    name = "model"

    def __init__(
        self,
        settings: ModelServiceSettings,
        metrics: Metrics,
        *,
        known: KnownModels | None = None,
        counters: SharedCounters | None = None,
        environment: Mapping[str, str] = os.environ,
        random_bits: RandomBits = system_random_bits,
    ) -> None:
        self._settings = settings
        self._metrics = metrics
        self._known = known
        self._counters = counters
        self._environment = KeptKeys(settings.model_keys_directory, environment)
        self._replica = f"{random_bits(64):016x}"
        self._clients: dict[NamedModel, ModelClient] = {}
        self._shared: dict[tuple[str, Limit], SharedLimit] = {}
        self._retiring: dict[asyncio.Task[None], ModelClient] = {}
        self._own = _own(settings)
        self._seen: Models | None = None
        self._all = Models()

    async def start(self) -> None:
        """Load the client now if there is a model, so that the first question does not wait for it."""
        for model in (await self._models()).models[:1]:
            await self._client(model).start()

    async def drain(self) -> None:
        """Close every connection and give back what is held of shared limits."""
        retiring = dict(self._retiring)
        for task in retiring:
            task.cancel()
        for client in (*self._clients.values(), *retiring.values()):
            await client.drain()
        for shared in self._shared.values():
            await shared.drain()
        self._clients.clear()
        self._shared.clear()

    async def ping(self) -> str | None:
        """Return None always: a model that is down makes answers worse, it does not make the service unready."""
        return None

    async def prompting(self, tenant: str, model: str | None) -> Prompting | None:
        """Return how the model is asked that would answer first; None if the tenant may use none."""
        models = await self._models()
        # An unknown name fails as a call, with its own error.
        chain = models.chain(tenant, model) or models.chain(tenant, None)
        return chain[0].prompting if chain else None

    async def reply(
        self,
        messages: Sequence[ChatMessage],
        *,
        timeout_seconds: float,
        model: str | None = None,
        tenant: str = "",
        on_text: OnText | None = None,
    ) -> ModelReply | Failure:
        """Return the reply of the model asked for, or of the first that stands in for it; else the last one's Failure."""
        chain = (await self._models()).chain(tenant, model)
        outcome: ModelReply | Failure = unavailable(
            Fault(FaultKind.NOT_CONFIGURED, "no model of the name asked for is configured")
        )
        for place, path in enumerate(chain):
            client = self._client(path)
            # What the first may take leaves something for those that stand in for it.
            share = timeout_seconds / (2 if place + 1 < len(chain) else 1)
            began = client.seconds()
            outcome = await client.reply(
                messages, timeout_seconds=share, on_text=on_text if place == 0 and path.streaming else None
            )
            if isinstance(outcome, ModelReply):
                cost = path.cost(outcome.tokens_in, outcome.tokens_out)
                if cost:
                    self._metrics.model_cost(path.name, cost)
                return outcome
            timeout_seconds -= client.seconds() - began
            if timeout_seconds < SECONDS_MIN:
                break
        return outcome

    async def known(self) -> Models:
        """Return the models that are set, and behind them those of the service's own settings; raises BusTrouble."""
        return await self._models()

    async def _models(self) -> Models:
        known = await self._known.read() if self._known is not None else Models()
        if known is not self._seen:
            self._seen = known
            self._all = _joined(known, self._own)
            for model in [model for model in self._clients if model not in self._all.models]:
                self._retire(self._clients.pop(model))
        return self._all

    def _retire(self, client: ModelClient) -> None:
        """Close a client that nobody takes any more, once the calls behind it have ended."""

        async def close() -> None:
            await asyncio.sleep(self._settings.llm_total_timeout_seconds)
            await client.drain()

        task = asyncio.get_running_loop().create_task(close())
        self._retiring[task] = client
        task.add_done_callback(lambda done: self._retiring.pop(done, None))

    def _client(self, model: NamedModel) -> ModelClient:
        client = self._clients.get(model)
        if client is None:
            key = self._environment.get(model.api_key_env) if model.api_key_env else None
            settings = self._settings.model_copy(
                update={
                    "llm_base_url": model.base_url,
                    "llm_model": model.model,
                    "llm_api_key": SecretStr(key) if key else (self._own_key(model)),
                    "llm_temperature": model.temperature,
                    "llm_tokens_out_max": model.tokens_out_max,
                }
            )
            client = self._clients[model] = ModelClient(
                OpenAIChatAddress(settings),
                model=model.model,
                named=model.name,
                limits=Limits.of(settings),
                metrics=self._metrics,
                shared=self._limit(model),
            )
        return client

    def _own_key(self, model: NamedModel) -> SecretStr | None:
        # The key of the settings is for the address of the settings alone.
        own = self._own[0] if self._own else None
        return self._settings.llm_api_key if own is not None and own.base_url == model.base_url else None

    def _limit(self, model: NamedModel) -> SharedLimit | None:
        if not model.is_limited or self._counters is None:
            return None
        limit = Limit(model.requests_per_minute, model.tokens_per_minute, model.concurrency_max)
        result = self._shared.get((model.key, limit))
        if result is None:
            result = self._shared[model.key, limit] = SharedLimit(
                model.key, limit, self._counters, replica=self._replica
            )
        return result


def _own(settings: ModelServiceSettings) -> tuple[NamedModel, ...]:
    """Return the models that the settings name: the default one first, then the others at the same address."""
    if not settings.llm_base_url:
        return ()
    return tuple(
        NamedModel(
            name=name,
            base_url=settings.llm_base_url,
            model=name,
            temperature=settings.llm_temperature,
            tokens_out_max=settings.llm_tokens_out_max,
            streaming=settings.llm_streaming,
        )
        for name in dict.fromkeys((settings.llm_model, *settings.llm_models_allowed))
    )


def _joined(known: Models, own: Sequence[NamedModel]) -> Models:
    """Return what is set, and behind it the models of the settings that have no name of it."""
    names = {model.name for model in known.models}
    return known.model_copy(update={"models": (*known.models, *(path for path in own if path.name not in names))})
