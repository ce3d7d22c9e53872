"""Every call of a model's address goes by the network settings: lists, trials, named models and embeddings alike."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from querybus.core.failure import Failure
from querybus.core.stored.models import Models, NamedModel
from querybus.llm import EmbeddingClient, EmbeddingServiceSettings, NamedModels
from querybus.llm.dialogue import ChatMessage, ModelReply
from querybus.llm.errors import Fault
from querybus.llm.forms import form_of
from querybus.llm.model_search import ModelServer, ModelTrial, list_models, local_servers, read_settings, try_model
from querybus.ops.metrics import Metrics
from tests.support.scripted_model import ScriptedModel, by_letters, say
from tests.support.tls_in_front import own_certificate

ELSEWHERE = "http://models.example/v1"
SENTENCE = "QUERYBUS_NOTHING_LEAVES forbids calls of"


class _Known:
    def __init__(self, models: Models) -> None:
        self._models = models

    async def read(self) -> Models:
        return self._models


async def _list(address: str, settings: EmbeddingServiceSettings) -> object:
    return await list_models(ModelServer("x", address), None, settings, seconds_max=30)


async def _try(address: str, settings: EmbeddingServiceSettings) -> object:
    return await try_model(ModelServer("x", address), "m", None, settings)


async def _ask_named(address: str, settings: EmbeddingServiceSettings) -> object:
    known = _Known(Models(models=(NamedModel(name="m", base_url=address, model="m"),)))
    models = NamedModels(settings, Metrics("test"), known=known)
    try:
        return await models.reply([ChatMessage("user", "hello")], timeout_seconds=30)
    finally:
        await models.drain()


async def _embed(address: str, settings: EmbeddingServiceSettings) -> object:
    # A copy is not judged again: the refusal at the call stands by itself.
    client = EmbeddingClient(settings.model_copy(update={"embeddings_base_url": address}), Metrics("test"))
    try:
        return await client.vectors(["hello"], timeout_seconds=30)
    finally:
        await client.close()


CALLS = pytest.mark.parametrize("call", [_list, _try, _ask_named, _embed])
Call = Callable[[str, EmbeddingServiceSettings], Awaitable[object]]


def _server(**more: Any) -> ScriptedModel:
    return ScriptedModel(say("SELECT 1"), models=("m",), embed=by_letters, **more)


def _is_good(outcome: object) -> bool:
    return isinstance(outcome, (ModelTrial, ModelReply, tuple)) and bool(outcome)


def _no_host_is_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(url: str) -> bool:
        return False

    monkeypatch.setattr("querybus.llm.wire.transport.is_loopback", never)


@CALLS
async def test_no_connection_is_made_to_a_host_that_is_not_listed(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    _no_host_is_this_machine(monkeypatch)
    with _server() as server:
        refused = await call(server.base_url, EmbeddingServiceSettings(nothing_leaves=True))
        assert server.connections_made == 0
        assert isinstance(refused, (Fault, Failure))
        assert SENTENCE in refused.detail
        listed = EmbeddingServiceSettings(nothing_leaves=True, llm_hosts_allowed=("127.0.0.1",))
        assert _is_good(await call(server.base_url, listed))
        assert server.connections_made > 0


async def test_a_server_of_this_machine_is_searched_by_the_same_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    with _server() as server:
        settings = EmbeddingServiceSettings(nothing_leaves=True)
        candidates = [ModelServer("x", server.base_url)]
        assert len(await local_servers(settings, candidates, seconds_max=30)) == 1
        made = server.connections_made
        _no_host_is_this_machine(monkeypatch)
        assert await local_servers(settings, candidates, seconds_max=30) == []
        assert server.connections_made == made


@CALLS
async def test_an_address_elsewhere_is_reached_through_the_proxy(call: Call) -> None:
    with _server() as proxy:
        settings = EmbeddingServiceSettings(llm_proxy=proxy.base_url.removesuffix("/v1"))
        assert _is_good(await call(ELSEWHERE, settings))
        assert all(seen.path.startswith(ELSEWHERE) for seen in proxy.requests)
        assert proxy.requests


@CALLS
async def test_a_private_authority_is_trusted_only_where_its_file_is_set(call: Call, tmp_path: Path) -> None:
    with _server(tls=own_certificate(tmp_path)) as server:
        assert not _is_good(await call(server.base_url, EmbeddingServiceSettings()))
        trusted = EmbeddingServiceSettings(llm_ca_file=tmp_path / "server.pem")
        assert _is_good(await call(server.base_url, trusted))


@pytest.mark.parametrize("field", ["llm_base_url", "embeddings_base_url"])
def test_settings_that_name_a_forbidden_address_are_refused(field: str) -> None:
    with pytest.raises(ValidationError, match=SENTENCE):
        EmbeddingServiceSettings.model_validate({"nothing_leaves": True, field: ELSEWHERE})
    allowed = {"nothing_leaves": True, "llm_hosts_allowed": ("models.example",), field: ELSEWHERE}
    assert ELSEWHERE in EmbeddingServiceSettings.model_validate(allowed).addresses


def test_a_file_of_certificates_that_holds_none_is_refused_by_name(tmp_path: Path) -> None:
    for file in (tmp_path / "absent.pem", tmp_path / "empty.pem"):
        (tmp_path / "empty.pem").touch()
        with pytest.raises(ValidationError, match=file.name):
            EmbeddingServiceSettings(llm_ca_file=file)


def test_a_command_names_the_setting_of_the_environment_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUERYBUS_NOTHING_LEAVES", "true")
    monkeypatch.setenv("QUERYBUS_LLM_BASE_URL", ELSEWHERE)
    refused = read_settings()
    assert isinstance(refused, Fault)
    assert refused.detail.startswith(f"{SENTENCE} models.example")
    monkeypatch.setenv("QUERYBUS_NOTHING_LEAVES", "perhaps")
    unread = read_settings()
    assert isinstance(unread, Fault)
    assert unread.detail.startswith("QUERYBUS_NOTHING_LEAVES: ")


async def test_headers_of_the_settings_go_to_their_own_address_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUERYBUS_TEAM_SECRET", "secret-of-a-header")
    with _server() as own, _server() as other:
        settings = EmbeddingServiceSettings(
            llm_base_url=own.base_url, llm_api_key=SecretStr("k"), llm_headers={"x-team": "QUERYBUS_TEAM_SECRET"}
        )
        assert _is_good(await _try(own.base_url, settings))
        assert _is_good(await _try(other.base_url, settings))
        assert [seen.headers.get("x-team") for seen in own.requests] == ["secret-of-a-header"]
        assert not any("secret-of-a-header" in str(seen.headers) for seen in other.requests)


@pytest.mark.parametrize(
    ("model", "address", "is_own"),
    [
        ("azure_openai:m", "https://sales.openai.azure.com", True),
        ("azure_openai:m", "https://sales.services.ai.azure.com/openai", True),
        ("azure_openai:m", "https://anybody.westeurope.cloudapp.azure.com", False),
        ("azure_openai:m", "http://sales.openai.azure.com", False),
        ("azure_openai:m", "https://elsewhere.example/x.openai.azure.com", False),
        ("bedrock_converse:m", "https://bedrock-runtime.eu-west-1.amazonaws.com", True),
        ("bedrock_converse:m", "https://ec2-1-2-3-4.compute.amazonaws.com", False),
        ("anthropic:m", "https://api.anthropic.com", True),
        ("anthropic:m", "https://elsewhere.example", False),
    ],
)
def test_a_key_of_a_provider_goes_to_its_own_addresses_only(model: str, address: str, is_own: bool) -> None:
    variables = ("AZURE_OPENAI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "ANTHROPIC_API_KEY")
    form = form_of(
        NamedModel(name="m", base_url=address, model=model), EmbeddingServiceSettings(), dict.fromkeys(variables, "k")
    )
    assert (form.api_key is not None) is is_own


@pytest.mark.parametrize(
    ("model", "variable"), [("azure_openai:m", "AZURE_OPENAI_ENDPOINT"), ("bedrock_converse:m", "AWS_REGION")]
)
async def test_a_model_without_the_variable_of_its_address_is_named_and_the_next_one_stands_in(
    model: str, variable: str
) -> None:
    without = NamedModel(name="first", model=model)
    with _server() as server:
        second = NamedModel(name="second", base_url=server.base_url, model="m")
        for others, fallbacks in (((), ()), ((second,), ("second",))):
            known = _Known(Models(models=(without, *others), fallbacks=fallbacks))
            models = NamedModels(EmbeddingServiceSettings(), Metrics("test"), known=known, environment={})
            await models.start()
            outcome = await models.reply([ChatMessage("user", "hello")], timeout_seconds=30)
            await models.drain()
            if others:
                assert isinstance(outcome, ModelReply)
            else:
                assert isinstance(outcome, Failure)
                assert variable in outcome.detail
