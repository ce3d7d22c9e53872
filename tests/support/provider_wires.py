"""A local server that speaks the own wire of each provider of chat models, and keeps every request.

The paths and members are those that the providers' packages send, recorded by running them, and those of the providers'
public references for the answers. `reason` is the provider's own word for why the model ended.
"""

from __future__ import annotations

import binascii
import json
import ssl
import struct
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TEXT = "SELECT COUNT(*) FROM orders"
PIECES = (TEXT[:9], TEXT[9:])
TOOL_ARGUMENTS = {"sql": TEXT}


@dataclass
class WireRequest:
    """One request as it came."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


@dataclass
class ProviderWire:
    """The server of one provider. Use as a context manager; `base_url` is the address to set."""

    provider: str
    reason: str = ""
    status: int = 200
    tls: ssl.SSLContext | None = None
    requests: list[WireRequest] = field(default_factory=list[WireRequest])

    def __enter__(self) -> ProviderWire:
        wire = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                wire.requests.append(WireRequest(self.path, headers, body))
                kind, payload = wire._answer(self.path, body)
                self.send_response(wire.status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if self.tls is not None:
            self._server.socket = self.tls.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def base_url(self) -> str:
        """The address to set for the model."""
        path = "/v1" if self.provider in ("openai", "mistralai", "deepseek") else ""
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self._server.server_port}{path}"

    def _answer(self, path: str, body: dict[str, Any]) -> tuple[str, bytes]:
        if self.status != 200:
            error = {"message": "scripted", "type": "invalid_request_error", "code": "scripted_error"}
            return "application/json", json.dumps({"error": error, "message": "scripted"}).encode()
        wants_tool = bool(body.get("tools") or body.get("toolConfig"))
        match self.provider:
            case "anthropic":
                return _anthropic(body, self.reason or "end_turn", wants_tool=wants_tool)
            case "google_genai":
                return _google(path, body, self.reason or "STOP", wants_tool=wants_tool)
            case "ollama":
                return _ollama(body, self.reason or "stop", wants_tool=wants_tool)
            case "bedrock_converse":
                return _bedrock(path, self.reason or "end_turn", wants_tool=wants_tool)
            case _:
                return _openai(body, self.reason or ("tool_calls" if wants_tool else "stop"), wants_tool=wants_tool)


def _sse(events: list[tuple[str, dict[str, Any]]]) -> tuple[str, bytes]:
    lines = [(f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n" for name, data in events]
    return "text/event-stream", "".join(lines).encode()


def _openai(body: dict[str, Any], reason: str, *, wants_tool: bool) -> tuple[str, bytes]:
    usage = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
    usage_more = {**usage, "prompt_tokens_details": {"cached_tokens": 4}}
    head = {"id": "c1", "created": 0, "model": body["model"]}
    if body.get("stream"):
        chunk = {**head, "object": "chat.completion.chunk"}
        parts = [
            {**chunk, "choices": [{"index": 0, "delta": {"role": "assistant", "content": piece}}]} for piece in PIECES
        ]
        end = {
            **chunk,
            "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": reason}],
            "usage": usage_more,
        }
        kind, data = _sse([("", part) for part in (*parts, end)])
        return kind, data + b"data: [DONE]\n\n"
    message: dict[str, Any] = {"role": "assistant", "content": TEXT}
    if wants_tool:
        name = body["tools"][0]["function"]["name"]
        call = {"id": "t1", "type": "function", "function": {"name": name, "arguments": json.dumps(TOOL_ARGUMENTS)}}
        message = {"role": "assistant", "content": "", "tool_calls": [call]}
    elif body.get("response_format"):
        message["content"] = json.dumps(TOOL_ARGUMENTS)
    choice = {"index": 0, "message": message, "finish_reason": reason}
    whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage_more}
    return "application/json", json.dumps(whole).encode()


def _anthropic(body: dict[str, Any], reason: str, *, wants_tool: bool) -> tuple[str, bytes]:
    usage = {"input_tokens": 7, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 0, "output_tokens": 5}
    head = {"id": "m1", "type": "message", "role": "assistant", "model": body["model"], "stop_sequence": None}
    if body.get("stream"):
        start = {**head, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
        events: list[tuple[str, dict[str, Any]]] = [
            ("message_start", {"type": "message_start", "message": start}),
            (
                "content_block_start",
                {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            ),
        ]
        for piece in PIECES:
            delta = {"type": "text_delta", "text": piece}
            events.append(("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}))
        ended = {"stop_reason": reason, "stop_sequence": None}
        events += [
            ("content_block_stop", {"type": "content_block_stop", "index": 0}),
            ("message_delta", {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 5}}),
            ("message_stop", {"type": "message_stop"}),
        ]
        return _sse(events)
    content: list[dict[str, Any]] = [{"type": "text", "text": TEXT}]
    if wants_tool:
        content = [{"type": "tool_use", "id": "t1", "name": body["tools"][0]["name"], "input": TOOL_ARGUMENTS}]
        reason = "tool_use"
    whole = {**head, "content": content, "stop_reason": reason, "usage": usage}
    return "application/json", json.dumps(whole).encode()


def _google(path: str, body: dict[str, Any], reason: str, *, wants_tool: bool) -> tuple[str, bytes]:
    usage = {"promptTokenCount": 11, "candidatesTokenCount": 5, "totalTokenCount": 16, "cachedContentTokenCount": 4}

    def part(text: str, *, is_end: bool) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}
        if is_end:
            candidate["finishReason"] = reason
        return {"candidates": [candidate], "usageMetadata": usage if is_end else {}, "modelVersion": "m"}

    if "streamGenerateContent" in path:
        return _sse([("", part(PIECES[0], is_end=False)), ("", part(PIECES[1], is_end=True))])
    is_structured = "responseMimeType" in (body.get("generationConfig") or {})
    whole = part(json.dumps(TOOL_ARGUMENTS) if is_structured else TEXT, is_end=True)
    if wants_tool:
        call = {"functionCall": {"name": "answer", "args": TOOL_ARGUMENTS}}
        whole["candidates"][0]["content"]["parts"] = [call]
    return "application/json", json.dumps(whole).encode()


def _ollama(body: dict[str, Any], reason: str, *, wants_tool: bool) -> tuple[str, bytes]:
    head = {"model": body["model"], "created_at": "2026-01-01T00:00:00Z"}
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    if wants_tool:
        name = body["tools"][0]["function"]["name"]
        message["tool_calls"] = [{"function": {"name": name, "arguments": TOOL_ARGUMENTS}}]
        lines = [{**head, "message": message, "done": False}]
    elif body.get("format"):
        lines = [{**head, "message": {**message, "content": json.dumps(TOOL_ARGUMENTS)}, "done": False}]
    else:
        lines = [{**head, "message": {**message, "content": piece}, "done": False} for piece in PIECES]
    counts = {"prompt_eval_count": 11, "eval_count": 5}
    end = {**head, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": reason, **counts}
    return "application/x-ndjson", "".join(json.dumps(line) + "\n" for line in (*lines, end)).encode()


def _bedrock(path: str, reason: str, *, wants_tool: bool) -> tuple[str, bytes]:
    usage = {"inputTokens": 7, "outputTokens": 5, "totalTokens": 16, "cacheReadInputTokens": 4}
    if path.endswith("converse-stream"):
        frames = [_frame("messageStart", {"role": "assistant"})]
        frames += [_frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": piece}}) for piece in PIECES]
        frames += [_frame("contentBlockStop", {"contentBlockIndex": 0}), _frame("messageStop", {"stopReason": reason})]
        frames.append(_frame("metadata", {"usage": usage, "metrics": {"latencyMs": 1}}))
        return "application/vnd.amazon.eventstream", b"".join(frames)
    content: list[dict[str, Any]] = [{"text": TEXT}]
    if wants_tool:
        content = [{"toolUse": {"toolUseId": "t1", "name": "answer", "input": TOOL_ARGUMENTS}}]
        reason = "tool_use"
    message = {"role": "assistant", "content": content}
    whole = {"output": {"message": message}, "stopReason": reason, "usage": usage, "metrics": {"latencyMs": 1}}
    return "application/json", json.dumps(whole).encode()


def _frame(event: str, payload: dict[str, Any]) -> bytes:
    """Return one frame of Amazon's event stream: prelude, headers, payload, each with its checksum."""
    headers = b""
    named = ((":event-type", event), (":content-type", "application/json"), (":message-type", "event"))
    for name, value in named:
        headers += (
            struct.pack("!B", len(name)) + name.encode() + b"\x07" + struct.pack("!H", len(value)) + value.encode()
        )
    data = json.dumps(payload).encode()
    prelude = struct.pack("!II", 16 + len(headers) + len(data), len(headers))
    whole = prelude + struct.pack("!I", binascii.crc32(prelude)) + headers + data
    return whole + struct.pack("!I", binascii.crc32(whole))
