"""Who may save a chat model, under which name, and which key goes where."""

from __future__ import annotations

from typing import cast

import pytest

from querybus.bus.stores.models import ModelStore
from querybus.core.requests.model_set_up import ModelOperation, ModelRequest
from querybus.core.stored.models import Models, NamedModel
from querybus.llm.model_search import ModelServer
from querybus.llm.settings import ModelServiceSettings
from querybus_generator.model_set_up import BadModel, ModelSetUp, key_variable_of, read_model_address, with_model
from querybus_generator.settings import Settings
from tests.support.scripted_model import ScriptedModel, say


def named(name: str, tenant: str | None = "acme", address: str = "http://x/v1") -> NamedModel:
    return NamedModel(name=name, base_url=address, model="m", tenants=(tenant,) if tenant else None)


def test_owners_look_at_models_in_development_only_unless_the_setting_says_otherwise() -> None:
    def allows(**values: object) -> bool:
        return Settings.model_validate({"nats_password": "x", **values}).allows_model_set_up

    assert allows(environment="development")
    assert not allows(environment="production")
    assert allows(environment="production", models_editable=True)
    assert not allows(environment="development", models_editable=False)


def test_a_saved_model_is_its_tenants_default_and_takes_no_model_from_another_tenant() -> None:
    stored = with_model(Models(), None, named("m"), "acme")
    assert [model.name for model in stored.chain("acme", None)] == ["m"]
    assert stored.chain("other", None) == ()
    everybodys = named("all", None)
    assert stored.model_copy(update={"models": (*stored.models, everybodys)}).chain("other", None) == (everybodys,)
    again = with_model(stored, None, named("m", address="http://y/v1"), "acme")
    assert [(model.name, model.base_url) for model in again.models] == [("m", "http://y/v1")]


def test_a_name_that_is_another_tenants_an_operators_or_the_settings_is_not_taken() -> None:
    for existing in (named("m", "other"), named("m", None)):
        with pytest.raises(BadModel, match="another name"):
            with_model(Models(models=(existing,)), None, named("m", address="http://y/v1"), "acme")
    with pytest.raises(BadModel, match="another name"):
        with_model(Models(), named("m", None), named("m", address="http://y/v1"), "acme")
    with pytest.raises(BadModel, match="another name"):
        with_model(Models(models=(named("m", "other"),)), None, named("m"), "acme")
    chosen = with_model(Models(), named("m", None), named("m"), "acme")
    assert (chosen.models, chosen.tenants) == ((), {"acme": "m"})


@pytest.mark.parametrize(
    ("one", "other"), [("a-b.example", "a.b.example"), ("api-groq.com", "api.groq.com"), ("a--b.c", "a-b.c")]
)
def test_two_hosts_never_share_the_variable_of_a_key(one: str, other: str) -> None:
    assert key_variable_of(f"https://{one}/v1") != key_variable_of(f"https://{other}/v1")


@pytest.mark.parametrize("host", ["api_groq.com", "api.openai.com.", "[2001:db8::1]", "a-.b", "ex\u00e4mple.com"])
def test_a_host_that_has_no_name_of_its_own_receives_no_key(host: str) -> None:
    assert key_variable_of(f"https://{host}/v1") == ""


@pytest.mark.parametrize(
    "address", ["http://[fe80::1]/v1", "ftp://x/v1", "http:///v1", "http://x:99999/v1", "https://x/v1?key=k"]
)
def test_what_is_no_address_of_a_model_is_refused(address: str) -> None:
    with pytest.raises(BadModel):
        read_model_address(address)


class _InUse:
    async def known(self) -> Models:
        return Models()


@pytest.mark.process
async def test_an_address_that_may_not_be_called_is_refused_before_a_connection_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(url: str) -> bool:
        return False

    monkeypatch.setattr("querybus.llm.wire.transport.is_loopback", never)
    with ScriptedModel(say("SELECT 1"), models=("m",)) as server:
        set_up = ModelSetUp(
            _InUse(), cast("ModelStore", None), ModelServiceSettings(nothing_leaves=True), is_allowed=True,
            environment={"OPENAI_API_KEY": "k"}, candidates=(ModelServer("x", server.base_url),),
        )  # fmt: skip
        for operation in (ModelOperation.TEST, ModelOperation.SAVE):
            request = ModelRequest(operation=operation, base_url=server.base_url, model="m")
            reply = await set_up.answer("acme", request)
            assert reply.problem == "invalid"
            assert "QUERYBUS_NOTHING_LEAVES forbids calls of 127.0.0.1" in reply.detail
        listed = await set_up.answer("acme", ModelRequest(operation=ModelOperation.LIST))
        [openai] = listed.found
        assert "QUERYBUS_NOTHING_LEAVES forbids calls of api.openai.com" in openai.cause
        assert server.connections_made == 0
