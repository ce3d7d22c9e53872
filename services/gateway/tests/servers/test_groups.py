"""A group narrows every key that names it, at once and at every API; its owner's keys stay in it."""

from __future__ import annotations

import asyncio
import json

import pytest
from nats.aio.msg import Msg

from querybus.bus.admin.permissions import Outsider
from querybus.bus.connection import connect, reach

from .stack_of_tests import api_stack, key_of

pytestmark = pytest.mark.connected
GROUPS = {"clerks": {"connections": ["shop"], "rows_max": 5, "deadline_seconds": 7}}


async def test_a_key_in_a_group_has_its_limits_and_makes_no_key_beyond_them() -> None:
    async with api_stack(groups=GROUPS) as apis:
        await apis.put_person("clerk", "cleo", group="clerks")
        await apis.put_person("boss", "olga", group="clerks", audience="analyst", role="owner")
        await apis.put_person("lost", "lola", group="nobody-set-it-up")
        async with apis.http(credential="clerk") as cleo, apis.http(credential="lost") as lola:
            me = (await cleo.get("/v1/me")).json()
            assert (me["connections"], me["rows_max"], me["deadline_seconds_max"]) == (["shop"], 5, 7)
            refused = await cleo.post("/v1/queries", json={"question": "how many?", "connection": "crm"})
            assert refused.json()["code"] == "unknown_connection"
            asked = await cleo.post("/v1/queries", json={"question": "how many?", "options": {"rows_max": 900}})
            (first,) = await apis.log(asked.json()["id"])
            assert (first.envelope().options.rows_max, first.envelope().connection) == (5, "shop")
            assert (await lola.get("/v1/me")).status_code == 401
        async with apis.http(credential="boss") as olga:
            made = (await olga.post("/v1/admin/keys", json={"name": "more", "user": "max"})).json()
            assert (made["group"], made["connections"], made["rows_max"]) == ("clerks", ["shop"], 5)
            wrong = await olga.post("/v1/admin/keys", json={"name": "odd", "user": "max", "group": "kings"})
            assert (wrong.status_code, "there are: clerks" in json.dumps(wrong.json())) == (422, True)
            assert (await olga.delete("/v1/admin/keys/lost")).status_code == 200


@pytest.mark.parametrize("group", ["clerks", ""])
async def test_over_the_bus_a_narrowed_key_receives_none_of_its_users_answers_and_calls_for_them(group: str) -> None:
    async with api_stack(groups=GROUPS) as apis:
        await apis.put_person("clerk", "ann", group=group)
        outsider = Outsider("acme", "clerk", "ann", "business")
        connection = await connect(apis.bus.url, outsider.name, key_of("acme", "clerk"), inbox=outsider.inbox)
        received: list[bytes] = []

        async def receive(message: Msg) -> None:
            received.append(message.data)

        await connection.subscribe("querybus.v1.answer.acme.ann.business.*", cb=receive)
        await reach(connection)
        async with apis.http() as ann:
            query = (await ann.post("/v1/queries", json={"question": "how many?", "connection": "shop"})).json()["id"]
        await apis.answer(query)
        async with asyncio.timeout(30):
            while not received and not group:
                await asyncio.sleep(0.05)
        reply = await connection.request(
            "querybus.v1.call.acme.clerk.answer",
            json.dumps({"query_id": query, "wait_seconds": 20}).encode(),
            timeout=30,
        )
        assert json.loads(reply.data)["status"] == "finished"
        assert bool(received) == (not group)
        await connection.close()
