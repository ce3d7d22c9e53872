"""One chat model through LangChain's `BaseChatModel`: whole and streamed replies, calls of tools, structured output.

Every provider passes here. Retries are the caller's: the clients' own are off. An exception of a client becomes a Fault
by what its HTTP exchange noted, so that no provider's own exceptions need to be known.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, cast

from querybus.llm.dialogue import ChatMessage, ModelReply
from querybus.llm.errors import Fault, FaultKind
from querybus.llm.wire.endings import count_tokens, judge_reply
from querybus.llm.wire.faults import exception_fault
from querybus.llm.wire.http_faults import fault_of_response
from querybus.llm.wire.providers import PROVIDERS, ModelForm, ModelNotSetUp, OpenChat, open_chat
from querybus.llm.wire.transport import Exchange, current_exchange

if TYPE_CHECKING:
    from collections.abc import Generator

    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage

_REQUIRED: Final = frozenset(
    {"model", "messages", "contents", "systemInstruction", "system", "stream", "tools", "input"}
)
_REFUSED_STATUS: Final = frozenset({400, 422})
_TOKEN_FIELDS: Final = re.compile(r"\bmax_(?:completion_|output_)?tokens\b")
_NO_SYSTEM: Final = re.compile(
    r"system (?:role|message|prompt|instruction)s?\b[^.]{0,60}\b(?:not|un)[- ]?(?:supported|allowed|enabled)"
    r"|not support[^.]{0,30}\bsystem\b|developer instruction is not enabled",
    re.IGNORECASE,
)
_STREAM_ONLY: Final = re.compile(r"\bonly supports?\b[^.]{0,20}\bstream|\bnon-streaming calls?\b", re.IGNORECASE)
_REASONS: Final = ("finish_reason", "stop_reason", "done_reason", "stopReason")
CHANGES_MAX: Final = 4
"""Of the form of one call after refusals that say what to leave out."""


@dataclass(slots=True)
class _Learnt:
    """What one model has refused; it holds for all later calls."""

    left_out: frozenset[str] = frozenset()
    folds_system: bool = False
    streams_only: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model calls, with its arguments."""

    name: str
    arguments: Mapping[str, Any]


class ChatAddress:
    """A `ModelAddress` of a form; `model` of a call may name another model at the same address."""

    def __init__(self, form: ModelForm) -> None:
        self._form = form
        self._opening = asyncio.Lock()
        self._chats: dict[tuple[str, int], OpenChat] = {}
        self._learnt: dict[str, _Learnt] = {}

    async def open(self) -> None:
        """Import the provider's package and make the chat model; a model that cannot be made fails at its first call."""
        try:
            await self._chat(self._form.model, self._form.tokens_out_max)
        except ModelNotSetUp:
            return

    async def close(self) -> None:
        """Close every socket; the address can be opened again."""
        async with self._opening:
            chats, self._chats = list(self._chats.values()), {}
            for chat in chats:
                await chat.close()

    def fields_left_out(self, model: str) -> frozenset[str]:
        """Return the fields that this model has refused."""
        return self._of(model).left_out

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        model: str,
        on_text: Callable[[str], None] | None = None,
        tokens_out_max: int | None = None,
    ) -> ModelReply | Fault:
        """Return the reply to one request, or the fault; raises nothing but CancelledError.

        With `on_text` the reply is streamed and its parts are passed on as they come.
        """

        async def call(chat: BaseChatModel, sent: list[tuple[str, str]], learnt: _Learnt) -> _Said:
            if on_text is None and not learnt.streams_only:
                return _said(await chat.ainvoke(sent))
            return await _stream(chat, sent, on_text)

        said = await self._exchange(messages, model, call, tokens_out_max, is_stream=on_text is not None)
        if isinstance(said, Fault):
            return said
        reply = ModelReply(
            said.text, said.tokens_in, said.tokens_out, model,
            tokens_cached=said.tokens_cached, tokens_reasoning=said.tokens_reasoning,
        )  # fmt: skip
        return judge_reply(
            reply, said.reason, provider=self._form.provider, is_streamed=said.is_streamed, is_refusal=said.is_refusal
        )

    async def call_tool(
        self, messages: Sequence[ChatMessage], tool: Mapping[str, Any], *, model: str
    ) -> ToolCall | Fault:
        """Return how the model calls a tool, which is given as a JSON schema; a Fault where it calls none."""

        async def call(chat: BaseChatModel, sent: list[tuple[str, str]], _: _Learnt) -> Any:
            return await chat.bind_tools([dict(tool)]).ainvoke(sent)

        message = await self._exchange(messages, model, call)
        if isinstance(message, Fault):
            return message
        calls = cast("AIMessage", message).tool_calls
        if not calls:
            return Fault(FaultKind.EMPTY, "the model calls no tool")
        return ToolCall(calls[0]["name"], calls[0]["args"])

    async def structured(
        self, messages: Sequence[ChatMessage], schema: Mapping[str, Any], *, model: str
    ) -> Mapping[str, Any] | Fault:
        """Return an object of a JSON schema that the model writes, or the fault."""

        async def call(chat: BaseChatModel, sent: list[tuple[str, str]], _: _Learnt) -> Any:
            return await chat.with_structured_output(dict(schema)).ainvoke(sent)

        found = await self._exchange(messages, model, call)
        if isinstance(found, Fault):
            return found
        if not isinstance(found, Mapping):
            return Fault(FaultKind.EMPTY, "the model writes no object of the schema")
        return cast("Mapping[str, Any]", found)

    async def _exchange(
        self,
        messages: Sequence[ChatMessage],
        model: str,
        call: Callable[[BaseChatModel, list[tuple[str, str]], _Learnt], Any],
        tokens_out_max: int | None = None,
        *,
        is_stream: bool = False,
    ) -> Any:
        """Return what a call gives, or its fault; what the model refuses and can do without is left out and remembered."""
        learnt = self._of(model)
        for change in range(CHANGES_MAX + 1):
            exchange = Exchange(left_out=learnt.left_out)
            try:
                open_one = await self._chat(model, tokens_out_max or self._form.tokens_out_max)
                sent = [(item.role, item.text) for item in (_folded(messages) if learnt.folds_system else messages)]
                with _noted(exchange):
                    return await call(open_one.chat, sent, learnt)
            except ModelNotSetUp as error:
                return Fault(FaultKind.REQUEST, str(error))
            except Exception as error:  # noqa: BLE001 - every package has exceptions of its own
                if change < CHANGES_MAX and self._learn(learnt, exchange, is_stream=is_stream or learnt.streams_only):
                    continue
                if exchange.status is not None and exchange.status >= 300:
                    key = PROVIDERS[self._form.provider].key_variable
                    named = "" if self._form.provider == "openai" else key
                    return fault_of_response(exchange.status, exchange.headers, exchange.text, key=named)
                return exception_fault(error, exchange, "chat completion")
        raise AssertionError("the last change returns")

    def _of(self, model: str) -> _Learnt:
        return self._learnt.setdefault(model, _Learnt())

    def _learn(self, learnt: _Learnt, exchange: Exchange, *, is_stream: bool) -> bool:
        """Return whether another form of the call may work; what was learnt is kept for the model."""
        if exchange.is_streamed and exchange.status == 200 and not is_stream:
            learnt.streams_only = True
            return True
        if exchange.status not in _REFUSED_STATUS:
            return False
        text = exchange.text
        if _STREAM_ONLY.search(text) and not is_stream:
            learnt.streams_only = True
            return True
        if _NO_SYSTEM.search(text) and not learnt.folds_system:
            learnt.folds_system = True
            return True
        optional = exchange.sent - _REQUIRED - PROVIDERS[self._form.provider].required - learnt.left_out
        refused = {name for name in optional if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", text)}
        if _TOKEN_FIELDS.search(text):
            refused |= {name for name in optional if _TOKEN_FIELDS.fullmatch(name)}
        learnt.left_out |= refused
        return bool(refused)

    async def _chat(self, model: str, tokens_out_max: int) -> OpenChat:
        key = (model, tokens_out_max)
        if key not in self._chats:
            async with self._opening:
                if key not in self._chats:
                    form = replace(self._form, model=model, tokens_out_max=tokens_out_max)
                    self._chats[key] = await asyncio.to_thread(open_chat, form)
        return self._chats[key]


@dataclass(slots=True)
class _Said:
    text: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    tokens_reasoning: int = 0
    reason: object = None
    is_refusal: bool = False
    is_streamed: bool = False
    calls: list[str] = field(default_factory=list[str])


@contextmanager
def _noted(exchange: Exchange) -> Generator[None]:
    """Note the exchange of the calls within; LangChain's own traces, which would send prompts elsewhere, are off."""
    from langsmith import tracing_context

    token = current_exchange.set(exchange)
    try:
        with tracing_context(enabled=False):
            yield
    finally:
        current_exchange.reset(token)


async def _stream(chat: BaseChatModel, sent: list[tuple[str, str]], on_text: Callable[[str], None] | None) -> _Said:
    whole: Any = None
    reason: object = None
    async for part in chat.astream(sent):
        if part.text and on_text is not None:
            on_text(str(part.text))
        # The parts' words are put together; a reason that two parts give would be doubled.
        reason = _reason(part.response_metadata) or reason
        whole = part if whole is None else whole + part
    if whole is None:
        raise ValueError("a stream without a part")
    said = _said(whole)
    said.reason, said.is_streamed = reason, True
    return said


def _said(message: AIMessage) -> _Said:
    usage: Mapping[str, Any] = message.usage_metadata or {}
    more = message.additional_kwargs
    text = str(message.text)
    call = _first_call(message)
    # Some models answer every request for SQL with a call of a tool that they made up.
    is_call = bool(call) and "```" not in text
    return _Said(
        text=call if is_call else text,
        tokens_in=count_tokens(usage.get("input_tokens")),
        tokens_out=count_tokens(usage.get("output_tokens")),
        tokens_cached=count_tokens((usage.get("input_token_details") or {}).get("cache_read")),
        tokens_reasoning=count_tokens((usage.get("output_token_details") or {}).get("reasoning")),
        reason=_reason(message.response_metadata),
        is_refusal=bool(more.get("refusal")) and not text,
    )


def _first_call(message: AIMessage) -> str:
    for call in message.tool_calls:
        return json.dumps(call["args"], ensure_ascii=False)
    for broken in message.invalid_tool_calls:
        return str(broken.get("args") or "")
    function: Any = message.additional_kwargs.get("function_call")
    return str(cast("dict[str, Any]", function).get("arguments") or "") if isinstance(function, dict) else ""


def _reason(metadata: Mapping[str, Any]) -> object:
    return next((metadata[name] for name in _REASONS if metadata.get(name)), None)


def _folded(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return the messages with the system's words before those of the first user, for models that know no such role."""
    system = "\n\n".join(item.text for item in messages if item.role == "system")
    rest = [item for item in messages if item.role != "system"]
    if not system or not rest:
        return rest or [ChatMessage("user", system)]
    first = next((place for place, item in enumerate(rest) if item.role == "user"), 0)
    rest[first] = ChatMessage(rest[first].role, f"{system}\n\n{rest[first].text}")
    return rest
