"""A small real HTTP server that speaks the OpenAI chat completions protocol and answers by script.

It listens on the loopback address only, in a thread of its own (`with ScriptedModel(...) as model:`) or as a process
(`python -m tests.support.scripted_model --answer TEXT --delay-seconds 0.2`). It keeps every request it saw. It judges
nothing: tokens are counted as words, keys are not checked unless `api_key` is given. With `embed` it serves `/embeddings`
as well, with `models` a list of them at `/models`; `by_letters` embeds a text by its runs of three letters, so that nearness is likeness of spelling.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import socket
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

HEADER_BYTES_MAX = 65_536
STREAM_PIECE_CHARS = 12


@dataclass(frozen=True)
class Step:
    """One reply: what is said, after which delay, with which status, or which bytes instead of all that."""

    text: str | None = ""
    status: int = 200
    delay_seconds: float = 0.0
    piece_seconds: float = 0.0
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None
    content_length: int | None = None
    finish_reason: str | None = "stop"
    choices: int = 1
    tool_arguments: str | None = None
    drop: bool = False
    raw: bytes | None = None
    """Written as it stands, whatever it is; then the connection is closed."""
    stream_end: bool = True
    """Without: a stream is closed after its last piece, with no reason and no end."""


def say(
    text: str | None, *, delay_seconds: float = 0.0, piece_seconds: float = 0.0, finish_reason: str | None = "stop"
) -> Step:
    """Answer with this text; a stream pauses before each piece of it."""
    return Step(text=text, delay_seconds=delay_seconds, piece_seconds=piece_seconds, finish_reason=finish_reason)


def fail(status: int, *, retry_after_seconds: float | None = None, code: str = "", message: str = "") -> Step:
    """Answer with an HTTP error."""
    headers = {} if retry_after_seconds is None else {"Retry-After": f"{retry_after_seconds:g}"}
    error = {"message": message or f"scripted {status}", "type": "scripted", "code": code or str(status)}
    body = json.dumps({"error": error}).encode()
    return Step(status=status, headers=headers, body=body)


def hang(seconds: float = 3_600.0) -> Step:
    """Take the request and say nothing for that long."""
    return Step(text="too late", delay_seconds=seconds)


def cut_json() -> Step:
    """Answer 200 with half of a JSON document."""
    return Step(body=b'{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assis')


def garbage() -> Step:
    """Answer 200 with something that is no JSON at all."""
    return Step(body=b"<html>it works</html>", headers={"Content-Type": "text/html"})


def empty_choice() -> Step:
    """Answer 200 without any choice."""
    return Step(choices=0)


def hang_up() -> Step:
    """Close the connection without a word."""
    return Step(drop=True)


def call_tool(arguments: Mapping[str, object]) -> Step:
    """Answer with a tool call instead of a text."""
    return Step(text=None, tool_arguments=json.dumps(arguments), finish_reason="tool_calls")


@dataclass(frozen=True)
class Seen:
    """One request as it came."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        """The request's body."""
        return json.loads(self.body)

    @property
    def text(self) -> str:
        """All message texts, or all texts to embed, one after the other."""
        if "input" in self.json:
            return "\n".join(self.json["input"])
        return "\n".join(str(message["content"]) for message in self.json["messages"])


Script = Callable[[Seen], Step]
Embed = Callable[[str], list[float]]


def by_letters(text: str, dimensions: int = 384) -> list[float]:
    """Return how often each run of three letters occurs, runs thrown into so many places by their checksum."""
    result = [0.0] * dimensions
    folded = f" {' '.join(re.findall(r'[a-z0-9]+|[^a-z0-9 ]', text.casefold()))} "
    for at in range(len(folded) - 2):
        result[crc32(folded[at : at + 3].encode()) % dimensions] += 1.0
    return [count**0.5 for count in result]


def in_order(steps: Sequence[Step]) -> Script:
    """Return a script that takes the steps in turn and then repeats the last."""
    remaining = list(steps)

    def play(_: Seen) -> Step:
        return remaining.pop(0) if len(remaining) > 1 else remaining[0]

    return play


class ScriptedModel:
    """The server; `script` is one step, steps in turn (the last repeats), or a function of the request."""

    def __init__(
        self,
        script: Step | Sequence[Step] | Script,
        *,
        api_key: str | None = None,
        port: int = 0,
        embed: Embed | Step | None = None,
        models: Sequence[str] = (),
        tls: ssl.SSLContext | None = None,
    ) -> None:
        if isinstance(script, Step):
            script = [script]
        self._script: Script = script if callable(script) else in_order(script)
        self._api_key = api_key
        self._embed = embed
        self._models = models
        self._port = port
        self._tls = tls
        self._loop = asyncio.new_event_loop()
        self._thread: threading.Thread | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._stop = asyncio.Event()
        self.running = 0
        """Calls that wait for their answer now."""
        self.requests: list[Seen] = []
        self.connections_made = 0
        self.in_flight = 0
        self.in_flight_max = 0

    @property
    def base_url(self) -> str:
        """The address to set as QUERYBUS_LLM_BASE_URL."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._port}/v1"

    @property
    def connections_open(self) -> int:
        """How many connections clients hold open now."""
        return len(self._connections)

    def __enter__(self) -> ScriptedModel:
        listening = socket.create_server(("127.0.0.1", self._port), backlog=1_024)
        self._port = listening.getsockname()[1]
        self._thread = threading.Thread(target=self._run, args=(listening,), name="scripted-model", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _run(self, listening: socket.socket) -> None:
        self._loop.run_until_complete(self._serve(listening))
        self._loop.close()

    async def _serve(self, listening: socket.socket) -> None:
        server = await asyncio.start_server(self._connection, sock=listening, limit=HEADER_BYTES_MAX, ssl=self._tls)
        await self._stop.wait()
        server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        self.connections_made += 1
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        path = head[0].split(" ")[1]
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        seen = Seen(path, headers, body)
        self.requests.append(seen)
        self.in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self.in_flight)
        try:
            return await self._answer(self._step(seen), seen, reader, writer)
        finally:
            self.in_flight -= 1

    def _step(self, seen: Seen) -> Step:
        if self._embed is not None and seen.path.endswith("/embeddings"):
            return self._embed if isinstance(self._embed, Step) else _embedded(seen, self._embed)
        is_list = bool(self._models) and seen.path.endswith("/v1/models")
        if not is_list and not seen.path.endswith("/v1/chat/completions"):
            return fail(404)
        if self._api_key is not None and seen.headers.get("authorization") != f"Bearer {self._api_key}":
            return fail(401)
        if is_list:
            data = [{"id": name, "object": "model", "created": place} for place, name in enumerate(self._models)]
            return Step(body=json.dumps({"object": "list", "data": data}).encode())
        return self._script(seen)

    async def _answer(self, step: Step, seen: Seen, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        self.running += 1
        try:
            if step.delay_seconds and not await _wait(step.delay_seconds, reader):
                return False
        finally:
            self.running -= 1
        if step.drop:
            return False
        if step.raw is not None:
            writer.write(step.raw)
            await writer.drain()
            return False
        if step.body is None and step.status == 200 and seen.json.get("stream"):
            await _stream(step, seen, writer)
            return step.stream_end
        body = step.body if step.body is not None else json.dumps(_completion(step, seen)).encode()
        length = step.content_length if step.content_length is not None else len(body)
        headers = {"Content-Type": "application/json", **step.headers, "Content-Length": str(length)}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 {step.status} Scripted\r\n{lines}\r\n".encode() + body)
        await writer.drain()
        return length == len(body)


def _embedded(seen: Seen, embed: Embed) -> Step:
    texts: list[str] = seen.json["input"]
    data = [{"object": "embedding", "index": place, "embedding": embed(text)} for place, text in enumerate(texts)]
    usage = {"prompt_tokens": len(seen.text.split()), "total_tokens": len(seen.text.split())}
    # In another order than asked: the protocol names each vector's place.
    whole = {"object": "list", "data": data[::-1], "model": seen.json["model"], "usage": usage}
    return Step(body=json.dumps(whole).encode())


async def _wait(seconds: float, reader: asyncio.StreamReader) -> bool:
    """Sleep, but return False as soon as the client has hung up: so a test sees that nothing is left open."""
    try:
        async with asyncio.timeout(seconds):
            return bool(await reader.read(1))
    except TimeoutError:
        return True


def _usage(step: Step, seen: Seen) -> dict[str, int]:
    tokens_in, tokens_out = len(seen.text.split()), len((step.text or "").split())
    return {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}


def _completion(step: Step, seen: Seen) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": step.text}
    if step.tool_arguments is not None:
        function = {"name": "answer", "arguments": step.tool_arguments}
        message["tool_calls"] = [{"id": "call-1", "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": step.finish_reason}
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 0,
        "model": seen.json.get("model", "scripted"),
        "choices": [choice] * step.choices,
        "usage": _usage(step, seen),
    }


async def _stream(step: Step, seen: Seen, writer: asyncio.StreamWriter) -> None:
    writer.write(
        b"HTTP/1.1 200 Scripted\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
    )

    def send(data: str) -> None:
        event = f"data: {data}\n\n".encode()
        writer.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")

    frame = {"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 0, "model": seen.json["model"]}
    text = step.text or ""
    pieces = [text[at : at + STREAM_PIECE_CHARS] for at in range(0, len(text), STREAM_PIECE_CHARS)]
    for number, piece in enumerate(pieces if step.choices else []):
        await asyncio.sleep(step.piece_seconds)
        delta = {"content": piece} if number else {"role": "assistant", "content": piece}
        send(json.dumps({**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}))
        await writer.drain()
    if not step.stream_end:
        return
    if step.choices:
        send(json.dumps({**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": step.finish_reason}]}))
    if (seen.json.get("stream_options") or {}).get("include_usage"):
        send(json.dumps({**frame, "choices": [], "usage": _usage(step, seen)}))
    send("[DONE]")
    writer.write(b"0\r\n\r\n")
    await writer.drain()


def main() -> None:
    """Serve one answer until the process is ended; the first line printed is the base address.

    `{number}` in the answer becomes the question's own: its last number of six digits or more. Questions whose number is
    at least `--silent-from` get no answer.
    """
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--answer", default="```sql\nSELECT 1\n```")
    parser.add_argument("--delay-seconds", type=float, default=0.0)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--silent-from", type=int)
    arguments = parser.parse_args()

    def answer(seen: Seen) -> Step:
        numbers = re.findall(r"\d{6,}", seen.text) or ["0"]
        if arguments.silent_from is not None and int(numbers[-1]) >= arguments.silent_from:
            return hang()
        return say(arguments.answer.replace("{number}", numbers[-1]), delay_seconds=arguments.delay_seconds)

    with ScriptedModel(answer, port=arguments.port) as model:
        print(model.base_url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
