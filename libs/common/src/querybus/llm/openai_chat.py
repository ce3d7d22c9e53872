"""One OpenAI-compatible address of chat models; the client's retries are off, the client has the only ones.

A whole reply is asked for through `openai`, the client on which langchain-openai stands: one exchange costs 1 ms of CPU
there instead of 2.5. A streamed one goes through langchain-openai, which puts its parts together; it takes 38 MB and is
imported for the first one. Every exception of the clients becomes a Fault here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from querybus.llm.dialogue import ChatMessage, ModelReply
from querybus.llm.errors import Fault
from querybus.llm.openai_client import OpenAIClient, fault_of
from querybus.llm.settings import CONNECT_SECONDS_MAX, SILENCE_SECONDS_MAX, ModelServiceSettings

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, AIMessageChunk
    from langchain_openai import ChatOpenAI

REPLY_LENGTH_MAX: Final = 200_000


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

    async def open(self) -> None:
        """Import the client and make the connection pool; a second call does nothing."""
        await self._client.open()

    async def close(self) -> None:
        """Close every socket; the address can be opened again."""
        self._chats.clear()
        await self._client.close()

    async def complete(
        self, messages: Sequence[ChatMessage], *, model: str, on_text: Callable[[str], None] | None = None
    ) -> ModelReply | Fault:
        """Return the reply to one request, or the fault; raises nothing but CancelledError.

        With `on_text` the reply is streamed and its parts are passed on as they come.
        """
        try:
            if on_text is None:
                return await self._whole(messages, model)
            return await self._streamed(messages, model, on_text)
        except Exception as error:  # noqa: BLE001 - what says nothing of the exchange is raised again
            return fault_of(error, "chat completion")

    async def _whole(self, messages: Sequence[ChatMessage], model: str) -> ModelReply:
        settings = self._settings
        said = await self._client.post(
            "/chat/completions",
            {
                "model": model,
                "stream": False,
                "messages": [{"role": message.role, "content": message.text} for message in messages],
                "max_completion_tokens": settings.llm_tokens_out_max,
                "temperature": settings.llm_temperature,
            },
        )
        return _reply_of(json.loads(said), model)

    async def _streamed(
        self, messages: Sequence[ChatMessage], model: str, on_text: Callable[[str], None]
    ) -> ModelReply:
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
            "temperature": settings.llm_temperature,
            "max_tokens": settings.llm_tokens_out_max,
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


def _reply_of(completion: Any, model: str) -> ModelReply:
    """Return the reply in a chat completion; raises one of GARBLED if it is none."""
    choice = completion["choices"][0]
    message, usage = choice["message"], completion.get("usage") or {}
    text = message.get("content") or ""
    if not isinstance(text, str):
        text = "".join(part.get("text") or "" for part in text)
    calls = message.get("tool_calls")
    if not text and calls:
        # Some models answer every request for SQL with a call of a tool that they made up.
        text = str(calls[0]["function"]["arguments"])
    tokens_in, tokens_out = usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0
    return _made(text, int(tokens_in), int(tokens_out), model, choice.get("finish_reason"))


def _reply_streamed(message: AIMessage, model: str) -> ModelReply:
    usage, text = message.usage_metadata, str(message.text)
    if not text and message.tool_calls:
        text = json.dumps(message.tool_calls[0]["args"], ensure_ascii=False)
    tokens_in, tokens_out = (usage["input_tokens"], usage["output_tokens"]) if usage else (0, 0)
    return _made(text, tokens_in, tokens_out, model, message.response_metadata.get("finish_reason"))


def _made(text: str, tokens_in: int, tokens_out: int, model: str, finish_reason: object) -> ModelReply:
    return ModelReply(
        text=text[:REPLY_LENGTH_MAX],
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        model=model,
        is_cut=finish_reason == "length" or len(text) > REPLY_LENGTH_MAX,
    )
