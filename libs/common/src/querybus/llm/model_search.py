"""Finds the chat models that a person can use already, and tries one: a key in the environment, a server on this machine."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from pydantic import SecretStr, ValidationError

from querybus.core.stored.models import NamedModel, split_provider
from querybus.llm.dialogue import ChatMessage
from querybus.llm.errors import Fault, FaultKind
from querybus.llm.forms import form_of, model_of
from querybus.llm.settings import KEY_VARIABLES, OPENAI_KEY, OPENAI_URL, ModelServiceSettings
from querybus.llm.wire.json_client import GARBLED, JsonClient
from querybus.ops.settings import load

BASE_URL: Final = "QUERYBUS_LLM_BASE_URL"
MODEL: Final = "QUERYBUS_LLM_MODEL"
KEY: Final = "QUERYBUS_LLM_API_KEY"
LIST_SECONDS_MAX: Final = 5.0
LOCAL_LIST_SECONDS_MAX: Final = 1.5
TRIAL_SECONDS_MAX: Final = 60.0
"""A server on this machine may have to load the model first."""
UNSUPPORTED_KEYS: Final = ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY", "AZURE_OPENAI_API_KEY")
"""Keys that people have and that no address of ours takes by itself."""
_OTHER_KINDS: Final = re.compile(
    r"embed|whisper|tts|dall-e|image|audio|realtime|moderation|transcribe|rerank|sora|davinci|babbage|computer-use|bge-|clip",
    re.IGNORECASE,
)
_FOR_SQL: Final = re.compile(r"sql|cod(?:er|e\b)", re.IGNORECASE)
_UNFINISHED: Final = re.compile(r"preview|-\d{4}-\d\d-\d\d$|-\d{4}$", re.IGNORECASE)
_TRIAL: Final = "Reply with the statement SELECT 1 and nothing else."


@dataclass(frozen=True, slots=True)
class ModelServer:
    """An OpenAI-compatible address; `key_variable` names the variable that holds its key, empty: it asks for none."""

    title: str
    base_url: str
    key_variable: str = ""
    model: str = ""
    """The model that the settings name, empty where they name none."""


@dataclass(frozen=True, slots=True)
class ModelTrial:
    """A model that answered: after how many seconds, and which optional fields it refused."""

    model: str
    seconds: float
    fields_left_out: tuple[str, ...] = ()


LOCAL_SERVERS: Final = (
    ModelServer("Ollama", "http://127.0.0.1:11434/v1"),
    ModelServer("LM Studio", "http://127.0.0.1:1234/v1"),
    ModelServer("vLLM", "http://127.0.0.1:8000/v1"),
)


def configured_server(environment: Mapping[str, str]) -> ModelServer | None:
    """Return the address that the environment names; ValueError where a provider's address needs another variable.

    QUERYBUS_LLM_BASE_URL comes first, then the address of the provider before the model's name, then OpenAI's, if its
    key is set.
    """
    model = environment.get(MODEL, "")
    provider = split_provider(model)[0]
    if address := environment.get(BASE_URL):
        return ModelServer("the address in QUERYBUS_LLM_BASE_URL", address, KEY if environment.get(KEY) else "", model)
    if provider:
        variable = KEY_VARIABLES[provider] if environment.get(KEY_VARIABLES[provider]) else ""
        return ModelServer(provider, ModelServiceSettings.base_url_of(provider, environment), variable, model)
    if environment.get(OPENAI_KEY):
        return ModelServer("OpenAI", OPENAI_URL, OPENAI_KEY, model)
    return None


def read_settings() -> ModelServiceSettings | Fault:
    """Return the settings of models that the environment holds, for commands; or the fault that names a bad one."""
    try:
        return load(ModelServiceSettings)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = "".join(f"QUERYBUS_{str(part).upper()}: " for part in first["loc"][:1])
        return Fault(FaultKind.NOT_CONFIGURED, name + first["msg"].removeprefix("Value error, "))
    except ValueError as error:
        return Fault(FaultKind.NOT_CONFIGURED, str(error))


async def local_servers(
    settings: ModelServiceSettings,
    candidates: Sequence[ModelServer] = LOCAL_SERVERS,
    *,
    seconds_max: float = LOCAL_LIST_SECONDS_MAX,
) -> list[tuple[ModelServer, tuple[str, ...]]]:
    """Return the servers of this machine that list chat models within `seconds_max`, each with its models."""
    lists = await asyncio.gather(*(list_models(item, None, settings, seconds_max=seconds_max) for item in candidates))
    return [
        (item, names) for item, names in zip(candidates, lists, strict=True) if not isinstance(names, Fault) and names
    ]


async def list_models(
    server: ModelServer, key: SecretStr | None, settings: ModelServiceSettings, *, seconds_max: float = LIST_SECONDS_MAX
) -> tuple[str, ...] | Fault:
    """Return the chat models that an address lists, the newest first where it says when they were made."""
    network = replace(settings.network, connect_seconds=seconds_max, silence_seconds=seconds_max)
    if refusal := network.refusal(server.base_url):
        return Fault(FaultKind.ADDRESS, refusal)
    client = JsonClient(server.base_url, key, network)
    try:
        # The library is loaded first: on a busy machine that alone takes seconds, which say nothing of the address.
        await client.open()
        async with asyncio.timeout(seconds_max):
            listed = await client.request("/models", None, "list of models")
        if isinstance(listed, Fault):
            return listed
        items = sorted(cast("list[dict[str, Any]]", listed["data"]), key=lambda item: -int(item.get("created") or 0))
        return tuple(name for name in (str(item["id"]) for item in items) if not _OTHER_KINDS.search(name))
    except TimeoutError:
        return Fault(FaultKind.TIMEOUT, f"no list of models within {seconds_max:.0f} s")
    except (OSError, *GARBLED) as error:
        return client.no_such(error, "list of models")
    finally:
        await client.close()


def propose_model(names: Sequence[str]) -> str | None:
    """Return the model of a list that is offered first: one for code, then the newest that is no preview.

    >>> propose_model(["gpt-9-preview", "gpt-8", "gpt-7"]), propose_model(["llama3.1:8b", "qwen2.5-coder:7b"]), propose_model([])
    ('gpt-8', 'qwen2.5-coder:7b', None)
    """
    finished = [name for name in names if not _UNFINISHED.search(name)] or list(names)
    return next((name for name in finished if _FOR_SQL.search(name)), finished[0] if finished else None)


async def try_model(
    server: ModelServer, model: str, key: SecretStr | None, settings: ModelServiceSettings
) -> ModelTrial | Fault:
    """Ask a model for one short reply over the network of the settings; return how it went."""
    # Loaded where a model is: a question without one has no use for it.
    from querybus.llm.wire.chat import ChatAddress

    if refusal := settings.network.refusal(server.base_url):
        return Fault(FaultKind.ADDRESS, refusal)
    # What the settings add to requests, such as a header with a secret, is for their own address alone.
    is_own = server.base_url.rstrip("/") == settings.llm_base_url.rstrip("/")
    described = model_of(settings, model) if is_own else NamedModel(name="trial", base_url=server.base_url, model=model)
    form = form_of(described, settings, os.environ)
    # A key that is given, or none, for an address that somebody typed; the settings know the key of their own address.
    form = form if is_own and key is None else replace(form, api_key=key)
    address = ChatAddress(form)
    await address.open()
    began = time.monotonic()
    try:
        async with asyncio.timeout(TRIAL_SECONDS_MAX):
            reply = await address.complete([ChatMessage("user", _TRIAL)], model=form.model)
    except TimeoutError:
        return Fault(FaultKind.TIMEOUT, f"no reply within {TRIAL_SECONDS_MAX:.0f} s")
    finally:
        await address.close()
    if isinstance(reply, Fault):
        return reply
    return ModelTrial(model, time.monotonic() - began, tuple(sorted(address.fields_left_out(form.model))))
