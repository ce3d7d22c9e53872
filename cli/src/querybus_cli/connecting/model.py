"""Chooses the model that a first stack asks: what the environment names, else a server of this machine, else none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import SecretStr

from querybus.core.stored.models import NamedModel
from querybus.llm.errors import Fault
from querybus.llm.model_search import (
    BASE_URL,
    MODEL,
    ModelServer,
    ModelTrial,
    configured_server,
    list_models,
    local_servers,
    propose_model,
    read_settings,
    try_model,
)
from querybus.llm.settings import KEY_VARIABLES, ModelServiceSettings
from querybus_cli.connecting.dialogue import Dialogue

_STEP = "model"
_NEXT = f"set {BASE_URL} and {MODEL}, or OPENAI_API_KEY, or start Ollama, and run `querybus connect` again"


async def choose_model(dialogue: Dialogue, environment: Mapping[str, str]) -> NamedModel | None:
    """Return the model to be kept with the stack, None where the environment describes one or none can be used.

    Without a model the built-in translator reads the questions: a model that does not work is reported and is no error.
    """
    settings = read_settings()
    if isinstance(settings, Fault):
        dialogue.say(_STEP, "note", settings.detail, "the built-in translator reads the questions", model=None)
        return None
    server = configured_server(environment)
    if server is not None:
        return await _of_environment(dialogue, server, environment, settings)
    dialogue.work("looking for a model on this machine")
    found = await local_servers(settings)
    if not found:
        provider = next((item for item, variable in KEY_VARIABLES.items() if environment.get(variable)), None)
        spoken = f"{KEY_VARIABLES[provider]} is set, and no model is named. " if provider else ""
        wanted = f"set {MODEL}={provider}:NAME, and run `querybus connect` again" if provider else _NEXT
        dialogue.say(
            _STEP, "note", f"{spoken}no model: the built-in translator reads the questions", wanted, model=None
        )
        return None
    server, names = found[0]
    if not dialogue.confirm(f"{server.title} on this machine has {len(names)} models. Use one?", default=True):
        dialogue.say(_STEP, "note", "no model: the built-in translator reads the questions", _NEXT, model=None)
        return None
    name = dialogue.choose("Which model?", names, propose_model(names) or names[0])
    return _kept(server, name) if await _works(dialogue, server, name, None, settings) else None


async def _of_environment(
    dialogue: Dialogue, server: ModelServer, environment: Mapping[str, str], settings: ModelServiceSettings
) -> NamedModel | None:
    key = SecretStr(environment[server.key_variable]) if server.key_variable else None
    if server.model:
        await _works(dialogue, server, server.model, key, settings)
        # The environment describes it for every stack that starts in it.
        return None
    dialogue.work(f"asking {server.title} for its models")
    names = await list_models(server, key, settings)
    if isinstance(names, Fault) or not names:
        reason = names.detail if isinstance(names, Fault) else "it lists no chat model"
        dialogue.say(_STEP, "note", f"{server.title}: {reason}", f"set {MODEL} to a model's name", model=None)
        return None
    name = dialogue.choose(f"{server.title} has these models. Which one?", names, propose_model(names) or names[0])
    return _kept(server, name) if await _works(dialogue, server, name, key, settings) else None


async def _works(
    dialogue: Dialogue, server: ModelServer, name: str, key: SecretStr | None, settings: ModelServiceSettings
) -> bool:
    dialogue.work(f"trying {name}")
    trial = await try_model(server, name, key, settings)
    facts: dict[str, Any] = {"model": name, "base_url": server.base_url}
    if isinstance(trial, ModelTrial):
        left_out = f"; it takes no {' and no '.join(trial.fields_left_out)}" if trial.fields_left_out else ""
        dialogue.say(_STEP, "ok", f"{name} at {server.title} replied in {trial.seconds:.1f} s{left_out}", **facts)
        return True
    detail = trial.detail.replace("QUERYBUS_LLM_API_KEY", server.key_variable or "QUERYBUS_LLM_API_KEY")
    dialogue.say(
        _STEP, "note", f"{name} at {server.title}: {detail}",
        f"`querybus models test {name}` shows why; the built-in translator reads the questions until then",
        **facts, works=False,
    )  # fmt: skip
    return False


def _kept(server: ModelServer, name: str) -> NamedModel:
    return NamedModel(name=name, base_url=server.base_url, model=name, api_key_env=server.key_variable)
