"""Every call to a chat model passes here: limits, the one retry layer, the breaker and the counts.

A call ends within `timeout_seconds`, with a whole reply or with a Failure of code `model_unavailable`, whose
`facts.model_trouble` is the cause and `facts.native_code` an HTTP status or a FaultKind. The log gets the cause only:
prompts and replies are question text.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from querybus.core.failure import Failure, FailureCode
from querybus.core.stored.models import NO_USE, ModelUse, Prompting
from querybus.llm.breaker import Breaker
from querybus.llm.dialogue import ChatMessage, ModelReply, tokens_of
from querybus.llm.errors import Fault, FaultKind, retry_wait_seconds, unavailable
from querybus.llm.settings import BREAKER_OPEN_SECONDS, ModelServiceSettings
from querybus.llm.shared_limits import SharedLimit
from querybus.ops.clock import Jitter, system_jitter
from querybus.ops.log import get_log
from querybus.ops.metrics import Metrics
from querybus.ops.trace import (
    Attributes,
    call_span,
    fail,
    is_sampled,
    model_attributes,
    model_trouble,
    model_usage,
    prompt_content,
)
from querybus.text.tokens import token_estimate

TOKENS_OUT_EXPECTED: Final = 200
"""What a reply is taken to need of a shared limit until it is there."""

OnText = Callable[[str], None]
"""Receives the parts of a reply as they come."""

_OF_STREAM: Final = frozenset({FaultKind.CUT, FaultKind.PROTOCOL})
"""Faults of a streamed reply that a whole one may not have."""

_log = get_log(__name__)


class ModelAddress(Protocol):
    """One address of chat models: one HTTP exchange per call, no retries, no limits of its own but sockets'."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        model: str,
        on_text: OnText | None = None,
        tokens_out_max: int | None = None,
    ) -> ModelReply | Fault:
        """Return the reply, or the fault. With `on_text` the reply is streamed, and its parts are passed on as they come.

        `tokens_out_max` stands in the place of the limit that is set.
        """
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """What one replica may ask of one address.

    A call cut by its query's deadline counts for the breaker only if the address was silent for `silence_seconds`:
    a late question must not take the blame to the model.
    """

    total_timeout_seconds: float = 90.0
    retries_max: int = 1
    """Quick retries of one call on 429, 5xx or no connection."""
    tokens_out_max: int = 4_096
    concurrency_max: int = 64
    breaker_failures: int = 5
    breaker_open_seconds: float = 10.0
    silence_seconds: float = 2.0

    @classmethod
    def of(cls, settings: ModelServiceSettings) -> Limits:
        """Return the limits that the settings name."""
        return cls(
            total_timeout_seconds=settings.llm_total_timeout_seconds,
            tokens_out_max=settings.llm_tokens_out_max,
            concurrency_max=settings.llm_concurrency_max,
            breaker_failures=settings.llm_breaker_failures,
            breaker_open_seconds=BREAKER_OPEN_SECONDS,
        )


@dataclass(slots=True)
class _Call:
    """One call while it is under way; `faults` are those of its exchanges so far."""

    messages: Sequence[ChatMessage]
    model: str
    until: float
    on_text: OnText | None
    tokens_out_max: int | None = None
    faults: list[Fault] = field(default_factory=list[Fault])
    use: ModelUse = NO_USE
    """What its exchanges took; one without an end counts as a call."""


class ModelClient:
    """The `ChatModel` of every service: one address, its default model and the other names allowed there."""

    name = "model"

    def __init__(
        self,
        address: ModelAddress,
        *,
        model: str,
        named: str = "",
        models_allowed: Sequence[str] = (),
        limits: Limits | None = None,
        metrics: Metrics,
        shared: SharedLimit | None = None,
        jitter: Jitter = system_jitter,
        seconds: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._address = address
        self._model = model
        self._named = named or model
        self._models = frozenset((model, *models_allowed))
        self._limits = limits or Limits()
        self._metrics = metrics
        self._shared = shared
        self._jitter = jitter
        self._seconds = seconds
        self._sleep = sleep
        self._slots = asyncio.Semaphore(self._limits.concurrency_max)
        self._breaker = Breaker(self._limits.breaker_failures, self._limits.breaker_open_seconds)
        # A `Retry-After` speaks to the whole replica: until then nobody else knocks either.
        self._not_before = 0.0
        self._metrics.breaker("model", self._named, is_open=False)

    async def start(self) -> None:
        """Load the client now, so that the first question does not wait for it."""
        await self._address.open()

    async def drain(self) -> None:
        """Close every connection."""
        await self._address.close()
        if self._shared is not None:
            await self._shared.drain()

    async def ping(self) -> str | None:
        """Return None always: a model that is down makes answers worse, it does not make the service unready."""
        return None

    async def prompting(self, tenant: str, model: str | None) -> Prompting:
        """Return that nothing special is asked for: whoever has the client may use it."""
        del tenant, model
        return Prompting()

    async def reply(
        self,
        messages: Sequence[ChatMessage],
        *,
        timeout_seconds: float,
        model: str | None = None,
        tenant: str = "",
        on_text: OnText | None = None,
    ) -> ModelReply | Failure:
        """Return the model's reply, or a Failure; never later than `timeout_seconds` and never raises but for cancel.

        `model` names another model at the same address; a name that is not configured is a Failure. `on_text` receives
        the reply's parts as they come.
        """
        del tenant
        chosen = model or self._model
        if chosen not in self._models:
            return unavailable(Fault(FaultKind.NOT_CONFIGURED, "no model of the name asked for is configured"))
        started = self._seconds()
        total = min(timeout_seconds, self._limits.total_timeout_seconds)
        shown = self._shown(chosen)
        call = _Call(messages, chosen, started + total, on_text)
        with call_span(f"chat {shown}", model_attributes(chosen), content=_content(messages)) as span:
            try:
                async with asyncio.timeout(max(total, 0)), self._slots:
                    outcome = await self._limited(call)
            except TimeoutError:
                # A reply that was cut and had no time for a second one keeps its cause.
                cut = next((fault for fault in call.faults if fault.kind is FaultKind.LENGTH), None)
                outcome = cut or Fault(FaultKind.TIMEOUT, f"no reply within {total:.1f} s")
            if isinstance(outcome, Fault):
                fail(FailureCode.MODEL_UNAVAILABLE)
                span.set_attributes(dict(model_trouble(outcome.trouble)))
            elif span.is_recording():
                span.set_attributes(dict(model_usage(outcome.model, call.use.tokens_in, call.use.tokens_out)))
        self._metrics.model_tokens(shown, call.use.tokens_in, call.use.tokens_out)
        if isinstance(outcome, ModelReply):
            self._metrics.model_call(shown, self._seconds() - started)
            return replace(outcome, tokens_in=call.use.tokens_in, tokens_out=call.use.tokens_out, use=call.use)
        self._metrics.model_error(shown, outcome.trouble)
        _log.warning(
            "model.no_reply",
            model=shown,
            trouble=outcome.trouble.value,
            code=outcome.native_code,
            detail=outcome.detail,
            next=f"querybus models test {shown}",
        )
        return unavailable(outcome, call.use)

    def seconds(self) -> float:
        """Return the time by the client's own clock."""
        return self._seconds()

    def _shown(self, model: str) -> str:
        return self._named if model == self._model else model

    async def _limited(self, call: _Call) -> ModelReply | Fault:
        if self._shared is None:
            return await self._call(call)
        tokens = TOKENS_OUT_EXPECTED + sum(token_estimate(message.text) for message in call.messages)
        async with self._shared.call(tokens) as turn:
            outcome = await self._call(call)
            turn.took = call.use.tokens or (tokens if isinstance(outcome, ModelReply) else None)
            return outcome

    async def _call(self, call: _Call) -> ModelReply | Fault:
        retries = 0
        while True:
            held_back = self._not_before - self._seconds()
            if held_back > 0:
                if held_back >= call.until - self._seconds():
                    pause = "the address asked for a longer pause than the deadline allows"
                    return Fault(FaultKind.BUSY, pause, status=429)
                await self._sleep(held_back * (1 + self._jitter() / 10))
            if not self._breaker.admit(self._seconds()):
                return Fault(FaultKind.BREAKER, "the address failed too often just now")
            outcome = await self._exchange(call)
            if isinstance(outcome, ModelReply):
                return outcome
            call.faults.append(outcome)
            if outcome.retry_after_seconds is not None:
                self._not_before = max(self._not_before, self._seconds() + outcome.retry_after_seconds)
            if self._asks_otherwise(call, outcome):
                continue
            wait = retry_wait_seconds(
                outcome,
                retries_done=retries,
                retries_max=self._limits.retries_max,
                remaining_seconds=call.until - self._seconds(),
                jitter=self._jitter(),
            )
            if wait is None or self._breaker.is_open:
                return outcome
            retries += 1
            # What was shown of a stream is not shown twice.
            call.on_text = None
            await self._sleep(wait)

    def _asks_otherwise(self, call: _Call, fault: Fault) -> bool:
        """Return whether another form of the same call may bring a whole reply: more tokens, or no stream. Each once."""
        if fault.kind is FaultKind.LENGTH and call.tokens_out_max is None:
            call.tokens_out_max, call.on_text = 2 * self._limits.tokens_out_max, None
            return True
        if call.on_text is not None and fault.kind in _OF_STREAM:
            call.on_text = None
            return True
        return False

    async def _exchange(self, call: _Call) -> ModelReply | Fault:
        sent = self._seconds()
        options: dict[str, Any] = {} if call.on_text is None else {"on_text": call.on_text}
        if call.tokens_out_max is not None:
            options["tokens_out_max"] = call.tokens_out_max
        call.use = call.use.plus(ModelUse(calls=1))
        try:
            outcome = await self._address.complete(call.messages, model=call.model, **options)
        except asyncio.CancelledError:
            # The time limit of reply(), or the query was cancelled: either way only a long silence means anything.
            silent = self._seconds() - sent >= self._limits.silence_seconds
            self._note(Fault(FaultKind.TIMEOUT if silent else FaultKind.REQUEST, ""), sent)
            raise
        call.use = call.use.plus(outcome.use if isinstance(outcome, Fault) else tokens_of(outcome))
        if isinstance(outcome, Fault):
            self._note(outcome, sent)
        else:
            self._breaker.succeeded(self._seconds())
            self._metrics.breaker("model", self._named, is_open=False)
        return outcome

    def _note(self, fault: Fault, sent: float) -> None:
        if fault.blames_address:
            self._breaker.failed(self._seconds(), sent)
        else:
            self._breaker.abandoned()
        self._metrics.breaker("model", self._named, is_open=self._breaker.is_open)


def _content(messages: Sequence[ChatMessage]) -> Attributes | None:
    """Return the prompt as a span may hold it; nothing is written out for a trace that is not kept."""
    if not is_sampled():
        return None
    return prompt_content(json.dumps([{"role": message.role, "content": message.text} for message in messages]))
