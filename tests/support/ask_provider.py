"""Asks one provider's wire through our address, in an environment that holds its package; prints what came as JSON.

`python -m tests.support.ask_provider anthropic max_tokens`, the provider and its reason for a cut reply, with the environment's packages before the product's.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from querybus.core.stored.models import NamedModel
from querybus.llm.dialogue import ChatMessage, ModelReply
from querybus.llm.errors import Fault
from querybus.llm.forms import form_of
from querybus.llm.settings import ModelServiceSettings
from querybus.llm.wire.chat import ChatAddress, ToolCall
from tests.support.provider_wires import ProviderWire
from tests.support.tls_in_front import own_certificate

STRAY_VARIABLES = (
    "OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN",
    "GOOGLE_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY", "DEEPSEEK_API_KEY", "OLLAMA_API_KEY", "AWS_BEARER_TOKEN_BEDROCK",
)  # fmt: skip
ASKED = [ChatMessage("system", "Write SQL."), ChatMessage("user", "How many orders?")]
SCHEMA = {
    "title": "answer",
    "description": "The statement.",
    "type": "object",
    "properties": {"sql": {"type": "string"}},
    "required": ["sql"],
}


def make_model(provider: str, base_url: str, key_variable: str) -> NamedModel:
    version = {"api-version": "2024-10-21"} if provider == "azure_openai" else {}
    takes_no_query = provider == "bedrock_converse"
    return NamedModel(
        name="m", base_url=base_url, model=f"{provider}:some-model", body={"top_k": 7},
        api_key_env=key_variable, headers={"x-team": "QUERYBUS_TEST_TEAM"},
        query={} if takes_no_query else {**version, "trace": "1"},
    )  # fmt: skip


def shown(value: Any) -> Any:
    if isinstance(value, ModelReply):
        return asdict(value)
    return {"fault": value.kind, "detail": value.detail} if isinstance(value, Fault) else value


async def ask(provider: str, cut: str) -> dict[str, Any]:
    """Return what a provider's wire gives in a whole exchange, in one that its limit cut, and in one that it refuses."""
    return {
        **await _ask_whole(provider),
        "cut": await _replies(provider, ProviderWire(provider, cut)),
        "refused": await _replies(provider, ProviderWire(provider, status=400)),
        **await _ask_over_network(provider),
    }


async def _ask_over_network(provider: str) -> dict[str, Any]:
    """Return what the settings of the network make of calls without a key, and every header that they sent."""
    with (
        TemporaryDirectory() as folder,
        ProviderWire(provider) as proxy,
        ProviderWire(provider, tls=own_certificate(Path(folder))) as private,
    ):
        elsewhere = proxy.base_url.replace("127.0.0.1", "models.example")
        through = ModelServiceSettings(llm_proxy=proxy.base_url.removesuffix("/v1"))
        trusted = ModelServiceSettings(llm_ca_file=Path(folder) / "server.pem")
        found = {
            "forbidden": await _reply(provider, elsewhere, ModelServiceSettings(nothing_leaves=True)),
            "proxied": await _reply(provider, elsewhere, through),
            "proxied_paths": [request.path for request in proxy.requests],
            "distrusted": await _reply(provider, private.base_url, ModelServiceSettings()),
            "trusted": await _reply(provider, private.base_url, trusted),
        }
        requests = (*proxy.requests, *private.requests)
        return {**found, "headers_without_key": [dict(request.headers) for request in requests]}


async def _reply(provider: str, base_url: str, settings: ModelServiceSettings) -> Any:
    address = ChatAddress(form_of(make_model(provider, base_url, ""), settings, {}))
    reply = await address.complete(ASKED, model="some-model")
    await address.close()
    return shown(reply)


def _address(provider: str, base_url: str) -> ChatAddress:
    environment = {"QUERYBUS_TEST_KEY": "the-key", "QUERYBUS_TEST_TEAM": "sales"}
    return ChatAddress(
        form_of(make_model(provider, base_url, "QUERYBUS_TEST_KEY"), ModelServiceSettings(), environment)
    )


async def _replies(provider: str, wire: ProviderWire) -> list[Any]:
    """Return the whole reply and the streamed one."""
    with wire:
        address = _address(provider, wire.base_url)
        whole = await address.complete(ASKED, model="some-model")
        streamed = await address.complete(ASKED, model="some-model", on_text=list[str]().append)
        await address.close()
    return [shown(whole), shown(streamed)]


async def _ask_whole(provider: str) -> dict[str, Any]:
    with ProviderWire(provider) as wire:
        address = _address(provider, wire.base_url)
        parts: list[str] = []
        whole = await address.complete(ASKED, model="some-model")
        streamed = await address.complete(ASKED, model="some-model", on_text=parts.append)
        call = await address.call_tool(ASKED, SCHEMA, model="some-model")
        found = await address.structured(ASKED, SCHEMA, model="some-model")
        await address.close()
        first = wire.requests[0]
        return {
            "whole": shown(whole),
            "streamed": shown(streamed),
            "parts": parts,
            "tool": dict(call.arguments) if isinstance(call, ToolCall) else shown(call),
            "structured": shown(found),
            "path": first.path,
            "headers": dict(first.headers),
            "body": first.body,
        }


if __name__ == "__main__":
    os.environ |= {"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    # Packages read these by themselves; no address but the provider's own may receive them.
    os.environ |= dict.fromkeys(STRAY_VARIABLES, "stray-secret")
    print(json.dumps(asyncio.run(ask(sys.argv[1], sys.argv[2]))))
