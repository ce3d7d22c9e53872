"""An owner looks for a chat model, tests it and saves it over HTTP: by the generator, with no key in any answer."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.admin.permissions import OPERATOR
from querybus.bus.connection import Held
from querybus.bus.stores.models import ModelStore
from querybus.core.stored.models import Models, NamedModel
from querybus.core.subjects import StageName
from querybus_cli.local.local_stack import TENANT, Stack, StackPlan, new_keys
from tests.support.scripted_model import ScriptedModel, Seen, Step, fail, say

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]
KEYS = new_keys()
KEY = "sk-of-nobody-in-particular"
TYPED = "sk-typed-by-an-owner"
ADMIN = "/v1/admin"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bus() -> AsyncGenerator[EmbeddedNats]:
    async with EmbeddedNats([TENANT], sync="2m") as running:
        yield running


@pytest.fixture(scope="module")
def connections(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    with closing(sqlite3.connect(folder / "shop.sqlite")) as shop:
        shop.executescript("CREATE TABLE orders (id INTEGER PRIMARY KEY, city TEXT);")
    file = folder / "connections.yaml"
    file.write_text(f"connections: [{{name: shop, url: 'sqlite:///{folder}/shop.sqlite'}}]\n")
    return file


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(bus: EmbeddedNats, connections: Path) -> AsyncGenerator[httpx.AsyncClient]:
    async with (
        Stack(StackPlan(connections, sync="2m", extra=_keeps_keys(connections)), bus, keys=KEYS) as stack,
        httpx.AsyncClient(base_url=stack.http_address, timeout=90) as made,
    ):
        yield made


def _keeps_keys(connections: Path) -> dict[StageName, dict[str, str]]:
    kept = {"model_keys_directory": str(connections.parent / "model-keys")}
    return {StageName.GENERATOR: kept, StageName.PRESENTER: kept}


async def call(
    client: httpx.AsyncClient, method: str, path: str, credential: str = "owner", **body: Any
) -> httpx.Response:
    headers = {"Authorization": f"Bearer {KEYS[credential]}"}
    return await client.request(method, ADMIN + path, headers=headers, json=body or None)


async def models_set(bus: EmbeddedNats) -> Models:
    connection = await bus.connect(OPERATOR)
    try:
        return await ModelStore(Held(connection)).read()
    finally:
        await connection.close()


async def test_only_an_owner_may_look_test_or_save(client: httpx.AsyncClient) -> None:
    with ScriptedModel(say("SELECT 1")) as model:
        for credential in ("analyst", "business"):
            refused = [
                await call(client, "GET", "/models", credential),
                await call(client, "POST", "/model-tests", credential, base_url=model.base_url, model="m"),
                await call(client, "POST", "/models", credential, base_url=model.base_url, model="m"),
            ]
            assert [reply.status_code for reply in refused] == [403] * 3
        assert model.requests == []


async def test_a_model_that_replies_is_saved_for_the_tenant_and_answers_its_next_question(
    client: httpx.AsyncClient, bus: EmbeddedNats
) -> None:
    with ScriptedModel(say("```sql\nSELECT 41 + 1 AS n\n```"), models=("embed-small", "coder:7b")) as model:
        tested = (await call(client, "POST", "/model-tests", base_url=model.base_url + "/")).json()
        assert (tested["works"], tested["model"], tested["models"]) == (True, "coder:7b", ["coder:7b"])
        assert (await models_set(bus)).models == ()
        saved = await call(client, "POST", "/models", base_url=model.base_url, model="coder:7b")
        assert (saved.status_code, saved.json()["name"]) == (201, "coder:7b")
        stored = await models_set(bus)
        assert stored.tenants == {TENANT: "coder:7b"}
        assert [(item.base_url, item.tenants) for item in stored.models] == [(model.base_url, (TENANT,))]
        assert stored.chain("another", None) == ()
        configured = (await call(client, "GET", "/models")).json()["configured"]
        assert [(item["name"], item["is_default"]) for item in configured] == [("coder:7b", True)]
        before = len(model.requests)
        headers = {"Authorization": f"Bearer {KEYS['analyst']}", "Prefer": "wait=60"}
        question = {"question": "Which orders went astray on the wild side of town?", "connection": "shop"}
        await client.post("/v1/queries", headers=headers, json=question)
        assert len(model.requests) > before


async def test_what_does_not_work_is_named_with_its_cause_and_next_step_and_is_not_saved(
    client: httpx.AsyncClient, bus: EmbeddedNats
) -> None:
    before = await models_set(bus)
    with (
        ScriptedModel(fail(404, code="model_not_found")) as absent,
        ScriptedModel(fail(429, code="insufficient_quota")) as spent,
        ScriptedModel(Step(body=b"hello")) as no_model,
        ScriptedModel(Step(text="", status=307, headers={"Location": "http://127.0.0.1:9/v1"})) as elsewhere,
    ):
        reasons = {
            "http://127.0.0.1:1/v1": "unreachable",
            absent.base_url: "no_model",
            spent.base_url: "quota",
            no_model.base_url: "protocol",
            elsewhere.base_url: "redirect",
        }
        for address, reason in reasons.items():
            tested = (await call(client, "POST", "/model-tests", base_url=address, model="m")).json()
            assert (tested["works"], tested["reason"]) == (False, reason), tested
            assert tested["cause"], tested
            assert tested["next_step"], tested
            saved = await call(client, "POST", "/models", base_url=address, model="m")
            assert (saved.status_code, saved.json()["tested"]["reason"]) == (422, reason)
    assert await models_set(bus) == before


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd", "http://u:secret@127.0.0.1/v1", "http://169.254.169.254/latest", "127.0.0.1:80"]
)
async def test_an_address_that_is_no_url_of_a_model_is_refused_before_it_is_asked(
    client: httpx.AsyncClient, address: str
) -> None:
    reply = await call(client, "POST", "/model-tests", base_url=address, model="m")
    assert reply.status_code == 422
    assert "secret" not in reply.json()["detail"]


async def test_a_key_goes_only_to_the_host_that_its_variable_names_and_into_no_answer_and_no_bucket(
    client: httpx.AsyncClient, bus: EmbeddedNats, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(seen: Seen) -> Step:
        return say("SELECT 1")

    with ScriptedModel(play, api_key=KEY) as model:
        asked = (await call(client, "POST", "/model-tests", base_url=model.base_url, model="m")).json()
        assert (asked["reason"], asked["has_key"]) == ("key", False)
        assert "QUERYBUS_MODEL_KEY_127_0_0_1" in asked["next_step"]
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("QUERYBUS_MODEL_KEY_ANOTHER_HOST", KEY)
        assert (await call(client, "POST", "/model-tests", base_url=model.base_url, model="m")).json()["works"] is False
        assert all(KEY not in str(seen.headers) for seen in model.requests)
        monkeypatch.delenv("OPENAI_API_KEY")
        monkeypatch.setenv("QUERYBUS_MODEL_KEY_127_0_0_1", KEY)
        saved = await call(client, "POST", "/models", base_url=model.base_url, model="m", name="ours")
        listed = await call(client, "GET", "/models")
    assert saved.status_code == 201
    assert "QUERYBUS_MODEL_KEY_127_0_0_1" in listed.json()["keys"]
    stored = await models_set(bus)
    kept = stored.get("ours")
    assert kept is not None
    assert kept.api_key_env == "QUERYBUS_MODEL_KEY_127_0_0_1"
    assert all(KEY not in text for text in (saved.text, listed.text, stored.model_dump_json()))


async def test_a_model_that_an_operator_has_set_is_chosen_but_never_replaced(
    client: httpx.AsyncClient, bus: EmbeddedNats
) -> None:
    with ScriptedModel(say("SELECT 1")) as one, ScriptedModel(say("SELECT 1")) as other:
        operators = NamedModel(name="theirs", base_url=one.base_url, model="m")
        connection = await bus.connect(OPERATOR)
        await ModelStore(Held(connection)).write(Models(models=(operators,)))
        await connection.close()
        refused = await call(client, "POST", "/models", base_url=other.base_url, model="m", name="theirs")
        assert (refused.status_code, "operator" in refused.json()["detail"]) == (422, True)
        chosen = await call(client, "POST", "/models", base_url=one.base_url, model="m", name="theirs")
        assert chosen.status_code == 201
    stored = await models_set(bus)
    assert (stored.models, stored.tenants) == ((operators,), {TENANT: "theirs"})


async def test_where_the_setting_does_not_allow_it_the_generator_refuses(connections: Path) -> None:
    extra = {StageName.GENERATOR: {"models_editable": False}}
    async with (
        Stack(StackPlan(connections, sync="2m", extra=extra), keys=KEYS) as stack,
        httpx.AsyncClient(base_url=stack.http_address, timeout=60) as client,
    ):
        for method, path, body in (("GET", "/models", {}), ("POST", "/model-tests", {"base_url": "http://x/v1"})):
            reply = await call(client, method, path, **body)
            assert reply.status_code == 403
            assert "QUERYBUS_MODELS_EDITABLE" in reply.json()["detail"]


async def test_a_key_that_an_owner_types_is_kept_for_that_model_alone_and_never_shown_again(
    client: httpx.AsyncClient, bus: EmbeddedNats, connections: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = connections.parent / "model-keys"
    with ScriptedModel(say("```sql\nSELECT 6 * 7 AS n\n```"), models=("typed:1b",)) as model:
        tested = await call(client, "POST", "/model-tests", base_url=model.base_url, model="typed:1b", key=TYPED)
        assert tested.json()["works"], tested.text
        assert not folder.exists(), "a test keeps nothing"
        saved = await call(client, "POST", "/models", base_url=model.base_url, model="typed:1b", key=TYPED)
        assert saved.status_code == 201, saved.text
        [first] = folder.iterdir()
        assert (first.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
        listed = await call(client, "GET", "/models")
        assert listed.json()["takes_keys"] is True
        stored = await models_set(bus)
        assert [item.api_key_env for item in stored.models if item.name == "typed:1b"] == [first.name]
        again = await call(client, "POST", "/model-tests", base_url=model.base_url, model="typed:1b")
        assert again.json()["has_key"], "it is known by its address from now on"
        before = len(model.requests)
        headers = {"Authorization": f"Bearer {KEYS['analyst']}", "Prefer": "wait=60"}
        question = {"question": "Which orders went astray on the far side of town?", "connection": "shop"}
        await client.post("/v1/queries", headers=headers, json=question)
        assert {seen.headers.get("authorization") for seen in model.requests[before:]} == {f"Bearer {TYPED}"}
        other = await call(client, "POST", "/models", base_url=model.base_url, model="typed:1b", key=TYPED + "-2")
        assert other.status_code == 201
        [second] = folder.iterdir()
        assert second.name != first.name
        assert second.read_text() == TYPED + "-2"
        shown = [tested.text, saved.text, listed.text, again.text, other.text, stored.model_dump_json()]
        assert not any(TYPED in text for text in (*shown, *capfd.readouterr()))
    with ScriptedModel(fail(401, code="invalid_api_key")) as strict:
        refused = await call(client, "POST", "/models", base_url=strict.base_url, model="m", key=TYPED)
        assert (refused.status_code, refused.json()["tested"]["next_step"]) == (422, "type the key again")
        assert TYPED not in refused.text
        assert [item.name for item in folder.iterdir()] == [second.name]


async def test_a_typed_key_goes_over_tls_or_to_this_machine_only(client: httpx.AsyncClient) -> None:
    reply = await call(client, "POST", "/model-tests", base_url="http://models.example/v1", model="m", key=TYPED)
    assert (reply.status_code, TYPED in reply.text) == (422, False)
    assert "https" in reply.json()["detail"]
