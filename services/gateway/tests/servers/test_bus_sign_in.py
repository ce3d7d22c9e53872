"""Who comes in over the bus is who has a key now: a real server asks a real gateway, and ends what a key let in."""

from __future__ import annotations

import asyncio

import pytest
from nats.aio.client import Client

from querybus.bus.admin import connections
from querybus.bus.admin.permissions import SIGN_IN_SECONDS_MAX, Outsider
from querybus.bus.client import BusClient
from querybus.bus.connection import BusRefused, Held, connect, reach
from querybus.bus.stores.buckets import CredentialStore
from querybus.core.credential import Credential, key_hash, key_text
from querybus.core.subjects import StageName
from querybus.ops.clock import system_clock
from querybus_gateway.access.callers import Callers
from querybus_gateway.problems import Problem

from .stack_of_tests import ApiStack

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

ENDED_SECONDS_MAX = 60.0
"""What the handbook promises of a revoked key."""


@pytest.fixture
def stack(shared_stack: ApiStack) -> ApiStack:
    return shared_stack


async def registry(stack: ApiStack) -> CredentialStore:
    return CredentialStore(Held(await stack.user(StageName.GATEWAY)))


async def made(stack: ApiStack, name: str, secret: str = "first", tenant: str = "acme") -> str:
    key = key_text(tenant, name, secret)
    await (await registry(stack)).put(Credential(name=name, tenant=tenant, user="ann", key_sha256=key_hash(key)))
    return key


async def came_in(stack: ApiStack, name: str, key: str) -> Client:
    outsider = Outsider("acme", name, "ann", "business")
    return await connect(stack.bus.url, outsider.name, key, inbox=outsider.inbox)


async def ended(connection: Client) -> None:
    async with asyncio.timeout(ENDED_SECONDS_MAX):
        while connection.is_connected:
            await asyncio.sleep(0.02)


async def test_a_key_that_was_made_a_moment_ago_calls_over_the_bus(stack: ApiStack) -> None:
    key = await made(stack, "new")
    outsider = Outsider("acme", "new", "ann", "business")
    async with BusClient.connected(stack.bus.url, outsider, key) as client:
        assert {item["name"] for item in (await client.call("connections", {}))["connections"]} == {"shop", "crm"}


async def test_a_caller_is_let_in_by_a_gateway_that_answers_only_the_fourth_try_in_time(
    stack: ApiStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = await made(stack, "patient")
    identify, tries = Callers.identify, 0

    async def slowly(self: Callers, key: str | Problem | None, source: str) -> Credential | Problem:
        nonlocal tries
        tries += 1
        if tries < 4:
            await asyncio.sleep(SIGN_IN_SECONDS_MAX + 0.3)
        return await identify(self, key, source)

    monkeypatch.setattr(Callers, "identify", slowly)
    async with BusClient.connected(stack.bus.url, Outsider("acme", "patient", "ann", "business"), key) as client:
        assert (await client.call("connections", {}))["connections"]
    assert tries >= 4


async def test_a_revoked_key_is_disconnected_and_never_let_in_again_and_others_stay(stack: ApiStack) -> None:
    key, other = await made(stack, "leaving"), await made(stack, "staying")
    leaving, staying = await came_in(stack, "leaving", key), await came_in(stack, "staying", other)
    received: list[bytes] = []

    async def receive(message: object) -> None:
        received.append(getattr(message, "data", b""))

    await leaving.subscribe("querybus.v1.answer.acme.ann.business.*", cb=receive)
    await reach(leaving)
    try:
        await (await registry(stack)).remove("acme", "leaving")
        await ended(leaving)
        gateway = await stack.user(StageName.GATEWAY)
        await gateway.publish("querybus.v1.answer.acme.ann.business.q1", b"after the end")
        await reach(gateway)
        with pytest.raises(BusRefused):
            await came_in(stack, "leaving", key)
        assert staying.is_connected
        assert received == []
    finally:
        await leaving.close()
        await staying.close()


async def test_a_replaced_key_is_disconnected_and_the_new_one_let_in(stack: ApiStack) -> None:
    old = await made(stack, "replaced")
    connection = await came_in(stack, "replaced", old)
    new = await made(stack, "replaced", "second")
    try:
        await ended(connection)
        with pytest.raises(BusRefused):
            await came_in(stack, "replaced", old)
        await (await came_in(stack, "replaced", new)).close()
    finally:
        await connection.close()


async def test_a_connection_on_a_later_page_of_the_servers_list_is_ended_too(
    stack: ApiStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "PAGE", 1)
    names = ("many-1", "many-2", "many-3")
    came = [await came_in(stack, name, await made(stack, name)) for name in names]
    try:
        for name in names:
            await (await registry(stack)).remove("acme", name)
        await asyncio.gather(*(ended(connection) for connection in came))
    finally:
        for connection in came:
            await connection.close()


@pytest.mark.parametrize("user", ["acme.web", "other.own", "acme.own.x", "gateway", "sys"])
async def test_a_key_lets_nobody_in_under_another_name(stack: ApiStack, user: str) -> None:
    key = await made(stack, "own")
    with pytest.raises(BusRefused):
        await connect(stack.bus.url, user, key)


async def test_a_key_of_a_tenant_without_an_account_is_refused(stack: ApiStack) -> None:
    key = await made(stack, "app", tenant="elsewhere")
    with pytest.raises(BusRefused):
        await connect(stack.bus.url, "elsewhere.app", key)


async def test_a_token_of_the_page_is_no_key_of_the_bus(stack: ApiStack) -> None:
    async with stack.http() as http:
        token = (await http.post("/v1/tokens", json={})).json()["token"]
    with pytest.raises(BusRefused):
        await connect(stack.bus.url, "acme.web", token)


async def test_a_record_without_a_key_lets_nobody_in(stack: ApiStack) -> None:
    await (await registry(stack)).put(Credential(name="empty", tenant="acme", user="ann"))
    with pytest.raises(BusRefused):
        await connect(stack.bus.url, "acme.empty", "qb.acme.empty.")


async def test_who_asks_over_the_bus_learns_who_it_is_and_where_its_answers_come(stack: ApiStack) -> None:
    async with stack.client("acme", "lab") as client:
        said = await client.call("me", {})
    assert (said["user"], said["audience"], said["answers"]) == (
        "bob",
        "analyst",
        "querybus.v1.answer.acme.bob.analyst.*",
    )


async def test_a_key_whose_end_has_come_is_let_in_at_no_api_and_its_connection_ends(stack: ApiStack) -> None:
    key = key_text("acme", "brief", "first")
    end = system_clock() + 2_000
    await (await registry(stack)).put(
        Credential(name="brief", tenant="acme", user="ann", key_sha256=key_hash(key), valid_until=end)
    )
    connection = await came_in(stack, "brief", key)
    async with stack.http() as http:
        headers = {"Authorization": f"Bearer {key}"}
        assert (await http.get("/v1/me", headers=headers)).json()["expires_at"] == end
        await ended(connection)
        await asyncio.sleep(max(0, end - system_clock()) / 1_000)
        assert (await http.get("/v1/me", headers=headers)).status_code == 401
    with pytest.raises(BusRefused):
        await came_in(stack, "brief", key)
    await connection.close()
