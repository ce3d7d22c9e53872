"""One OpenAI-compatible address; the client's retries are off, the door has the only ones.

A whole reply is asked for through `openai`, the client on which langchain-openai stands: one exchange costs 1 ms of CPU
there instead of 2.5. A streamed one goes through langchain-openai, which puts its parts together. Both are imported when
they are first needed: `openai` takes 18 MB and langchain-openai 38 more, which a service without need must not hold.

Every exception of the client becomes a Fault here; a fault's detail holds a status, an error code or an exception's
name, never the key, the prompt or the address's own words.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from querybus.core.dialogue import ChatMessage, ModelReply
from querybus.llm.fault import Fault, FaultKind
from querybus.llm.settings import ModelServiceSettings

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, AIMessageChunk
    from langchain_openai import ChatOpenAI
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

REPLY_LENGTH_MAX: Final = 200_000
_PLAIN_CODE = re.compile(r"[\w.-]{1,60}")
# What the client raises when a 200 holds no chat completion; it does not name them itself.
_GARBLED: Final = (ValueError, TypeError, KeyError, IndexError, AttributeError, AssertionError, RecursionError)


class OpenAIChatAddress:
    """A `ModelAddress`: connect, read and pool limits stand on the HTTP client, the total limit on the door."""

    def __init__(self, settings: ModelServiceSettings) -> None:
        self._settings = settings
        self._http: DefaultAsyncHttpxClient | None = None
        self._client: AsyncOpenAI | None = None
        self._chats: dict[str, ChatOpenAI] = {}
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        """Import the client in a thread and make the connection pool; a second call does nothing."""
        async with self._opening:
            if self._http is None:
                await asyncio.to_thread(_import_client)
                self._http = self._make_http()
                self._client = self._make_client(self._http)

    async def close(self) -> None:
        """Close every socket; the address can be opened again."""
        async with self._opening:
            self._chats.clear()
            self._client = None
            if self._http is not None:
                http, self._http = self._http, None
                await http.aclose()

    async def complete(
        self, messages: Sequence[ChatMessage], *, model: str, on_text: Callable[[str], None] | None = None
    ) -> ModelReply | Fault:
        """Return the reply to one request, or the fault; raises nothing but CancelledError.

        With `on_text` the reply is streamed and its parts are told as they come.
        """
        if self._client is None:
            await self.open()
        import openai  # already imported by open()

        try:
            if on_text is None:
                return await self._whole(messages, model)
            return await self._streamed(messages, model, on_text)
        except openai.APIStatusError as error:
            return _status_fault(error)
        except openai.APITimeoutError as error:
            is_connect = "Connect" in type(error.__cause__).__name__
            kind = FaultKind.CONNECT if is_connect else FaultKind.TIMEOUT
            return Fault(kind, f"time limit of the {'connect' if is_connect else 'read'}")
        except openai.APIConnectionError as error:
            return Fault(FaultKind.CONNECT, type(error.__cause__ or error).__name__)
        except (openai.OpenAIError, *_GARBLED) as error:
            return Fault(FaultKind.PROTOCOL, f"the reply is no chat completion ({type(error).__name__})")

    async def _whole(self, messages: Sequence[ChatMessage], model: str) -> ModelReply | Fault:
        assert self._client is not None  # noqa: S101 - complete() has opened it
        settings = self._settings
        request = {
            "model": model,
            "stream": False,
            "messages": [{"role": each.role, "content": each.text} for each in messages],
            "max_completion_tokens": settings.llm_tokens_out_max,
            "temperature": settings.llm_temperature,
        }
        # As text: the client would make some twenty objects of a completion of which five fields are read.
        said = await self._client.post("/chat/completions", body=request, cast_to=str)
        return _reply_of(json.loads(said), model)

    async def _streamed(
        self, messages: Sequence[ChatMessage], model: str, on_text: Callable[[str], None]
    ) -> ModelReply | Fault:
        chat = self._chats.get(model)
        if chat is None:
            await asyncio.to_thread(_import_streaming_client)
            chat = self._chats[model] = self._make_chat(model)
        whole: AIMessageChunk | None = None
        async for part in chat.astream([(each.role, each.text) for each in messages]):
            if part.text:
                on_text(str(part.text))
            whole = part if whole is None else whole + part
        if whole is None:
            raise ValueError("a stream without a part")
        return _reply_streamed(whole, model)

    def _make_client(self, http: DefaultAsyncHttpxClient) -> AsyncOpenAI:
        from openai import AsyncOpenAI

        key = self._settings.llm_api_key
        return AsyncOpenAI(
            base_url=self._settings.llm_base_url,
            api_key=key.get_secret_value() if key is not None else "none",
            max_retries=0,
            timeout=http.timeout,
            http_client=http,
        )

    def _make_http(self) -> DefaultAsyncHttpxClient:
        import openai
        from openai import Timeout

        settings = self._settings
        timeout = Timeout(
            settings.llm_read_timeout_seconds,
            connect=settings.llm_connect_timeout_seconds,
            pool=settings.llm_total_timeout_seconds,
        )
        return openai.DefaultAsyncHttpxClient(timeout=timeout)

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
            "http_async_client": self._http,
            "use_responses_api": False,
            "streaming": True,
            "stream_usage": True,
        }
        return ChatOpenAI(**options)


def _import_client() -> None:
    import openai

    _ = openai


def _import_streaming_client() -> None:
    import langchain_openai

    _ = langchain_openai


def _status_fault(error: Any) -> Fault:
    status: int = error.status_code
    kind = FaultKind.BUSY if status == 429 else FaultKind.SERVER if status >= 500 else FaultKind.REQUEST
    code = str(error.code or "")
    detail = f"HTTP {status}" + (f" ({code})" if _PLAIN_CODE.fullmatch(code) else "")
    return Fault(kind, detail, status=status, retry_after_seconds=_seconds(error.response.headers.get("retry-after")))


def _seconds(header: str | None) -> float | None:
    # The form with a date is rare, and two clocks would have to agree: the backoff serves for it.
    try:
        seconds = float(header) if header is not None else None
    except ValueError:
        return None
    return seconds if seconds is not None and 0 <= seconds < 86_400 else None


def _reply_of(completion: Any, model: str) -> ModelReply:
    """Return the reply in a chat completion; raises one of _GARBLED if it is none."""
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
