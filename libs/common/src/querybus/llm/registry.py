"""Models by name, as they are set for the whole stack: which one a call takes, its limits, and what stands in for it.

A change is followed while the service runs: the next call goes by it, calls that run end as they began. Without any
model there is none, and no client is loaded.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from querybus.core.failure import Failure
from querybus.core.stored.models import NO_USE, Models, ModelUse, NamedModel, Prompting
from querybus.llm.dialogue import ChatMessage, ModelReply, use_of
from querybus.llm.errors import Fault, FaultKind, unavailable
from querybus.llm.forms import form_of, model_of
from querybus.llm.kept_keys import KeptKeys
from querybus.llm.model import Limits, ModelClient, OnText
from querybus.llm.model_limits import Limit
from querybus.llm.settings import ModelServiceSettings
from querybus.llm.shared_limits import SharedCounters, SharedLimit
from querybus.ops.clock import RandomBits, system_random_bits
from querybus.ops.metrics import Metrics

SECONDS_MIN = 0.2
FIRST_SHARE = 0.45
"""Of the time that is left: what a model may take before the one that stands in for it."""


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
        self._clients: dict[str, tuple[NamedModel, ModelClient]] = {}
        self._shared: dict[tuple[str, Limit], SharedLimit] = {}
        self._retiring: dict[asyncio.Task[None], ModelClient] = {}
        self._own = _own(settings)
        self._seen: Models | None = None
        self._all = Models()

    async def start(self) -> None:
        """Load the client now if there is a model, so that the first question does not wait for it."""
        for model in (await self._models()).models[:1]:
            # A model whose address is not known yet fails at its calls, and the service starts.
            with contextlib.suppress(ValueError):
                await self._client(model).start()

    async def drain(self) -> None:
        """Close every connection and give back what is held of shared limits."""
        retiring = dict(self._retiring)
        for task in retiring:
            task.cancel()
        for client in (*(client for _, client in self._clients.values()), *retiring.values()):
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
        return chain[0].shown if chain else None

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
        used = NO_USE
        for place, path in enumerate(chain):
            try:
                client = self._client(path)
            except ValueError as error:
                # Its address follows from a variable that is not set: the next one may have what it needs.
                outcome = unavailable(Fault(FaultKind.NOT_CONFIGURED, str(error)))
                continue
            # At least half of the time is left when the next model is asked.
            share = timeout_seconds * (FIRST_SHARE if place + 1 < len(chain) else 1)
            began = client.seconds()
            outcome = await client.reply(
                messages, timeout_seconds=share, on_text=on_text if place == 0 and path.streaming else None
            )
            used = used.plus(self._priced(path, tenant, use_of(outcome)))
            if isinstance(outcome, ModelReply):
                return replace(outcome, use=used)
            timeout_seconds -= client.seconds() - began
            if timeout_seconds < SECONDS_MIN:
                break
        return outcome.model_copy(update={"facts": outcome.facts.model_copy(update={"model_use": used})})

    def _priced(self, path: NamedModel, tenant: str, use: ModelUse) -> ModelUse:
        """Return a use with its cost, and count it for its tenant."""
        cost = path.cost(use.tokens_in, use.tokens_out, use.tokens_cached)
        if cost:
            self._metrics.model_cost(path.name, cost)
        if tenant:
            self._metrics.tenant_model(tenant, path.name, use.tokens, cost)
        return use.model_copy(update={"cost": cost})

    async def known(self) -> Models:
        """Return the models that are set, and behind them those of the service's own settings; raises BusTrouble."""
        return await self._models()

    async def _models(self) -> Models:
        known = await self._known.read() if self._known is not None else Models()
        if known is not self._seen:
            self._seen = known
            self._all = _joined(known, self._own)
            for name, (model, client) in list(self._clients.items()):
                if self._all.get(name) != model:
                    del self._clients[name]
                    self._retire(client)
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
        if (known := self._clients.get(model.name)) is not None:
            return known[1]
        # Loaded where a model is: a question without one has no use for it.
        from querybus.llm.wire.chat import ChatAddress

        form = form_of(model, self._settings, self._environment)
        limits = Limits.of(self._settings)
        client = ModelClient(
            ChatAddress(form),
            model=form.model,
            named=model.name,
            limits=replace(
                limits,
                tokens_out_max=model.tokens_out_max,
                total_timeout_seconds=model.timeout_seconds or limits.total_timeout_seconds,
            ),
            metrics=self._metrics,
            shared=self._limit(model),
        )
        self._clients[model.name] = model, client
        return client

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
    return tuple(model_of(settings, name) for name in dict.fromkeys((settings.llm_model, *settings.llm_models_allowed)))


def _joined(known: Models, own: Sequence[NamedModel]) -> Models:
    """Return what is set, and behind it the models of the settings that have no name of it."""
    names = {model.name for model in known.models}
    return known.model_copy(update={"models": (*known.models, *(path for path in own if path.name not in names))})
