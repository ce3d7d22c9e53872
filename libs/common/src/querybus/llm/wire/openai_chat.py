"""One OpenAI-compatible address of chat models; the client's retries are off, the client has the only ones.

A whole reply is asked for through `openai`, the client on which langchain-openai stands: one exchange costs 1 ms of CPU
there instead of 2.5. A streamed one goes through langchain-openai, which puts its parts together; it takes 38 MB and is
imported for the first one. Every exception of the clients becomes a Fault here.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from querybus.llm.dialogue import ChatMessage, ModelReply
from querybus.llm.errors import Fault
from querybus.llm.settings import CONNECT_SECONDS_MAX, SILENCE_SECONDS_MAX, ModelServiceSettings
from querybus.llm.wire.endings import count_tokens, judge_reply
from querybus.llm.wire.http_faults import error_status, fault_of_response
from querybus.llm.wire.openai_client import OpenAIClient, fault_of, response_text

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, AIMessageChunk
    from langchain_openai import ChatOpenAI

_OPTIONAL_FIELDS: Final = {
    "temperature": re.compile(r"\btemperature\b"),
    "max_completion_tokens": re.compile(r"\bmax_(?:completion_)?tokens\b"),
}
"""Fields that some models refuse, and how an address names them. A call works without each of them."""
_REFUSED_STATUS: Final = frozenset({400, 422})


class OpenAIChatAddress:
    """A `ModelAddress`: connect, read and pool limits stand on the HTTP client, the total limit on the client."""

    def __init__(self, settings: ModelServiceSettings) -> None:
        self._settings = settings
        self._client = OpenAIClient(
            settings.llm_base_url,
            settings.llm_api_key,
            connect_timeout_seconds=CONNECT_SECONDS_MAX,
            read_timeout_seconds=SILENCE_SECONDS_MAX,
            pool_timeout_seconds=settings.llm_total_timeout_seconds,
        )
        self._chats: dict[str, ChatOpenAI] = {}
        self._refused: dict[str, frozenset[str]] = {}

    async def open(self) -> None:
        """Import the client and make the connection pool; a second call does nothing."""
        await self._client.open()

    async def close(self) -> None:
        """Close every socket; the address can be opened again."""
        self._chats.clear()
        await self._client.close()

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        model: str,
        on_text: Callable[[str], None] | None = None,
        tokens_out_max: int | None = None,
    ) -> ModelReply | Fault:
        """Return the reply to one request, or the fault; raises nothing but CancelledError.

        With `on_text` the reply is streamed and its parts are passed on as they come. An optional field that the model
        refuses is left out, now and in every later call of this model.
        """
        while True:
            try:
                if on_text is None:
                    return await self._whole(messages, model, tokens_out_max)
                return await self._streamed(messages, model, on_text)
            except Exception as error:  # noqa: BLE001 - what says nothing of the exchange is raised again
                refused = self._refused_field(error, model)
                if refused is None:
                    return fault_of(error, "chat completion")
                self._refused[model] = self.fields_left_out(model) | {refused}
                self._chats.pop(model, None)

    def fields_left_out(self, model: str) -> frozenset[str]:
        """Return the fields that this model has refused."""
        return self._refused.get(model, frozenset())

    def _refused_field(self, error: Exception, model: str) -> str | None:
        """Return the optional field that a refusal names and that was sent, or None."""
        if getattr(error, "status_code", None) not in _REFUSED_STATUS:
            return None
        text, left_out = response_text(error), self.fields_left_out(model)
        return next(
            (name for name, named in _OPTIONAL_FIELDS.items() if name not in left_out and named.search(text)), None
        )

    def _optional_fields(self, model: str, tokens_out_max: int | None = None) -> dict[str, Any]:
        fields = {
            "max_completion_tokens": tokens_out_max or self._settings.llm_tokens_out_max,
            "temperature": self._settings.llm_temperature,
        }
        return {name: value for name, value in fields.items() if name not in self.fields_left_out(model)}

    async def _whole(
        self, messages: Sequence[ChatMessage], model: str, tokens_out_max: int | None
    ) -> ModelReply | Fault:
        said = await self._client.post(
            "/chat/completions",
            {
                "model": model,
                "stream": False,
                "messages": [{"role": message.role, "content": message.text} for message in messages],
                **self._optional_fields(model, tokens_out_max),
            },
        )
        return _reply_of(json.loads(said), model)

    async def _streamed(
        self, messages: Sequence[ChatMessage], model: str, on_text: Callable[[str], None]
    ) -> ModelReply | Fault:
        await self._client.open()
        chat = self._chats.get(model)
        if chat is None:
            await asyncio.to_thread(_import_streaming_client)
            chat = self._chats[model] = self._make_chat(model)
        whole: AIMessageChunk | None = None
        async for part in chat.astream([(message.role, message.text) for message in messages]):
            if part.text:
                on_text(str(part.text))
            whole = part if whole is None else whole + part
        if whole is None:
            raise ValueError("a stream without a part")
        return _reply_streamed(whole, model)

    def _make_chat(self, model: str) -> ChatOpenAI:
        from langchain_openai import ChatOpenAI

        settings = self._settings
        options: dict[str, Any] = {
            "model": model,
            "base_url": settings.llm_base_url,
            "api_key": settings.llm_api_key or "none",
            **self._optional_fields(model),
            "max_retries": 0,
            "http_async_client": self._client.http,
            "use_responses_api": False,
            "streaming": True,
            "stream_usage": True,
        }
        return ChatOpenAI(**options)


def _import_streaming_client() -> None:
    import langchain_openai

    _ = langchain_openai


def _reply_of(completion: Any, model: str) -> ModelReply | Fault:
    """Return the reply in a chat completion; raises one of GARBLED if it is none."""
    if isinstance(completion, dict) and (status := error_status(cast("dict[str, Any]", completion))) is not None:
        return fault_of_response(status, {}, json.dumps(completion))
    choice = completion["choices"][0]
    message, usage = choice["message"], completion.get("usage") or {}
    text = message.get("content") or ""
    if not isinstance(text, str):
        text = "".join(part.get("text") or "" for part in text)
    calls = message.get("tool_calls")
    if calls:
        # Some models answer every request for SQL with a call of a tool that they made up.
        text = str(calls[0]["function"]["arguments"])
    elif not text and message.get("function_call"):
        text = str(message["function_call"]["arguments"])
    tokens_in, tokens_out = count_tokens(usage.get("prompt_tokens")), count_tokens(usage.get("completion_tokens"))
    reply = ModelReply(text, tokens_in, tokens_out, model)
    return judge_reply(
        reply, choice.get("finish_reason"), provider="openai", is_refusal=bool(message.get("refusal")) and not text
    )


def _reply_streamed(message: AIMessage, model: str) -> ModelReply | Fault:
    usage, text = message.usage_metadata, str(message.text)
    if message.tool_calls:
        text = json.dumps(message.tool_calls[0]["args"], ensure_ascii=False)
    tokens_in, tokens_out = (usage["input_tokens"], usage["output_tokens"]) if usage else (0, 0)
    reply = ModelReply(text, count_tokens(tokens_in), count_tokens(tokens_out), model)
    return judge_reply(reply, message.response_metadata.get("finish_reason"), provider="openai", is_streamed=True)
