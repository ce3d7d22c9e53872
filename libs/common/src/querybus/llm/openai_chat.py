"""One OpenAI-compatible address through langchain-openai; its retries are off, the door has the only ones.

The client is imported when the address is opened, not before: it costs two seconds and 85 MB, which a service
without a model must not pay. Every exception of the client becomes a Fault here; a fault's detail holds a status,
an error code or an exception's name, never the key, the prompt or the address's own words.
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
    from openai import DefaultAsyncHttpxClient

REPLY_LENGTH_MAX: Final = 200_000
_PLAIN_CODE = re.compile(r"[\w.-]{1,60}")
# What the client raises when a 200 holds no chat completion; it does not name them itself.
_GARBLED: Final = (ValueError, TypeError, KeyError, IndexError, AttributeError, AssertionError, RecursionError)


class OpenAIChatAddress:
    """A `ModelAddress`: connect, read and pool limits stand on the HTTP client, the total limit on the door."""

    def __init__(self, settings: ModelServiceSettings) -> None:
        self._settings = settings
        self._http: DefaultAsyncHttpxClient | None = None
        self._chats: dict[tuple[str, bool], ChatOpenAI] = {}
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        """Import the client in a thread and make the connection pool; a second call does nothing."""
        async with self._opening:
            if self._http is None:
                await asyncio.to_thread(_import_client)
                self._http = self._make_http()

    async def close(self) -> None:
        """Close every socket; the address can be opened again."""
        async with self._opening:
            self._chats.clear()
            if self._http is not None:
                http, self._http = self._http, None
                await http.aclose()

    async def complete(
        self, messages: Sequence[ChatMessage], *, model: str, on_text: Callable[[str], None] | None = None
    ) -> ModelReply | Fault:
        """Return the reply to one request, or the fault; raises nothing but CancelledError.

        With `on_text` the reply is streamed and its parts are told as they come.
        """
        if self._http is None:
            await self.open()
        import openai  # already imported by open()

        try:
            said = [(each.role, each.text) for each in messages]
            chat = self._chat(model, streams=on_text is not None)
            message = await (chat.ainvoke(said) if on_text is None else _streamed(chat, said, on_text))
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
        return _reply(message, model)

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

    def _chat(self, model: str, *, streams: bool) -> ChatOpenAI:
        chat = self._chats.get((model, streams))
        if chat is None:
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
                "streaming": streams,
                "stream_usage": True,
            }
            chat = self._chats[model, streams] = ChatOpenAI(**options)
        return chat


def _import_client() -> None:
    import langchain_openai
    import openai

    _ = langchain_openai, openai


async def _streamed(chat: ChatOpenAI, said: Sequence[tuple[str, str]], on_text: Callable[[str], None]) -> AIMessage:
    whole: AIMessageChunk | None = None
    async for part in chat.astream(list(said)):
        if part.text:
            on_text(str(part.text))
        whole = part if whole is None else whole + part
    if whole is None:
        raise ValueError("a stream without a part")
    return whole


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


def _reply(message: AIMessage, model: str) -> ModelReply | Fault:
    usage = message.usage_metadata
    text = message.text
    if not text and message.tool_calls:
        # Some models answer every request for SQL with a call of a tool that they made up.
        text = json.dumps(message.tool_calls[0]["args"], ensure_ascii=False)
    return ModelReply(
        text=str(text)[:REPLY_LENGTH_MAX],
        tokens_in=usage["input_tokens"] if usage else 0,
        tokens_out=usage["output_tokens"] if usage else 0,
        model=model,
        is_cut=message.response_metadata.get("finish_reason") == "length" or len(text) > REPLY_LENGTH_MAX,
    )
