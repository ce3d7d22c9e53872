"""Models that a person has already: found by key or on this machine, listed, proposed and tried."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from querybus.llm.errors import Fault
from querybus.llm.model_search import (
    ModelServer,
    ModelTrial,
    configured_server,
    list_models,
    local_servers,
    propose_model,
    try_model,
)
from querybus.llm.settings import BASE_URLS, KEY_VARIABLES, ModelServiceSettings
from tests.support.scripted_model import ScriptedModel, Seen, Step, fail, say

KEY = SecretStr("sk-a-key-that-nobody-may-see")
SETTINGS = ModelServiceSettings()


def test_the_settings_come_before_a_key_of_openai():
    assert configured_server({}) is None
    openai = configured_server({"OPENAI_API_KEY": "k", "QUERYBUS_LLM_MODEL": "gpt-8"})
    assert openai is not None
    assert (openai.title, openai.key_variable, openai.model) == ("OpenAI", "OPENAI_API_KEY", "gpt-8")
    own = configured_server({"OPENAI_API_KEY": "k", "QUERYBUS_LLM_BASE_URL": "http://x/v1"})
    assert own is not None
    assert (own.base_url, own.key_variable) == ("http://x/v1", "")


@pytest.mark.parametrize("provider", [*sorted(BASE_URLS), "azure_openai", "bedrock_converse"])
def test_a_provider_before_the_name_of_a_model_is_known_by_its_key_alone(provider: str):
    key = KEY_VARIABLES[provider]
    environment = {"QUERYBUS_LLM_MODEL": f"{provider}:m", key: "k", "AWS_REGION": "eu-west-1"}
    environment |= {"AZURE_OPENAI_ENDPOINT": "https://ours.openai.azure.com"}
    server = configured_server(environment)
    assert server is not None
    assert (server.key_variable, server.model) == (key, f"{provider}:m")
    assert server.base_url == BASE_URLS.get(provider, server.base_url) != ""


async def test_a_server_of_this_machine_is_found_by_the_chat_models_that_it_lists():
    with (
        ScriptedModel(say("hi"), models=("nomic-embed-text", "llama3.1:8b", "qwen2.5-coder:7b")) as one,
        ScriptedModel(say("hi")) as without_a_list,
    ):
        candidates = [ModelServer("one", one.base_url), ModelServer("two", without_a_list.base_url)]
        ((server, names),) = await local_servers(SETTINGS, candidates, seconds_max=60)
    assert server.title == "one"
    assert names == ("qwen2.5-coder:7b", "llama3.1:8b")
    assert propose_model(names) == "qwen2.5-coder:7b"


async def test_a_model_is_tried_with_its_key_and_what_it_refuses_is_said():
    def play(seen: Seen) -> Step:
        return (
            fail(422, message="max_completion_tokens: extra fields not permitted")
            if "max_completion_tokens" in seen.json
            else say("SELECT 1")
        )

    with ScriptedModel(play, api_key=KEY.get_secret_value()) as server:
        place = ModelServer("ours", server.base_url, "KEY")
        trial = await try_model(place, "a/b:c", KEY, SETTINGS)
        assert isinstance(trial, ModelTrial)
        assert trial.fields_left_out == ("max_completion_tokens",)
        refused = await try_model(place, "a/b:c", None, SETTINGS)
    assert isinstance(refused, Fault)
    assert "QUERYBUS_LLM_API_KEY" in refused.detail
    assert KEY.get_secret_value() not in refused.detail


async def test_an_empty_reply_and_an_address_without_models_are_faults():
    with ScriptedModel(say("  ")) as server:
        place = ModelServer("ours", server.base_url)
        assert isinstance(await try_model(place, "m", None, SETTINGS), Fault)
        assert isinstance(await list_models(place, None, SETTINGS), Fault)
