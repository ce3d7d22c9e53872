"""An answer is read otherwise at every API: its filter, period or group changes without a model, and all else holds."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import grpc.aio
import httpx
import pytest
import pytest_asyncio

from querybus.core.credential import key_text
from querybus.core.subjects import StageName
from querybus_cli.local.local_stack import Stack, StackPlan
from querybus_client import AsyncClient
from querybus_gateway.v1 import query_service_pb2 as v1
from tests.journeys.test_up import free_port

pytestmark = [pytest.mark.connected, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

KEYS = {name: key_text("local", name, f"secret-of-{name}") for name in ("business", "analyst")}
QUESTION = "How many orders per status in May 2026?"
WAIT = {"Prefer": "wait=20"}


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory, port: int) -> AsyncGenerator[Stack]:
    directory = tmp_path_factory.mktemp("refine")
    shop = directory / "shop.sqlite"
    with sqlite3.connect(shop) as connection:
        connection.executescript(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL);"
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers(id),"
            " status TEXT NOT NULL, ordered_at DATETIME NOT NULL);"
        )
        connection.executemany(
            "INSERT INTO customers (name, city) VALUES (?, ?)", [("Ada", "Bern"), ("Bo", "Lyon"), ("Cy", "Bern")]
        )
        connection.executemany(
            "INSERT INTO orders (customer_id, status, ordered_at) VALUES (?, ?, ?)",
            [
                (
                    number % 3 + 1,
                    ("paid", "open")[number % 2],
                    f"2026-{number % 6 + 1:02}-{number % 28 + 1:02} 10:00:00",
                )
                for number in range(120)
            ],
        )
    file: Path = directory / "connections.yaml"
    file.write_text(json.dumps({"connections": [{"name": "shop", "url": f"sqlite:///{shop}"}]}))
    extra = {StageName.GATEWAY: {"grpc_port": port}}
    async with Stack(StackPlan(connections_file=file, sync="2m", extra=extra), keys=KEYS) as made:
        yield made


def http_of(stack: Stack, credential: str) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {KEYS[credential]}"}
    return httpx.AsyncClient(base_url=stack.http_address, headers=headers, timeout=40)


async def answered(http: httpx.AsyncClient, path: str, body: dict[str, Any]) -> dict[str, Any]:
    reply = await http.post(path, json=body, headers=WAIT)
    assert reply.status_code == 200, reply.text
    answer = reply.json()["answer"]
    assert answer["outcome"] == "answered", answer
    return answer


@pytest.mark.parametrize("credential", ["business", "analyst"])
async def test_a_period_a_group_and_a_filter_change_one_after_another(stack: Stack, credential: str) -> None:
    async with http_of(stack, credential) as http:
        first = await answered(http, "/v1/queries", {"question": QUESTION, "connection": "shop"})
        assert first["reading"]["period"]["first"] == "2026-05-01"
        path = f"/v1/queries/{first['query_id']}/refine"
        april = await answered(http, path, {"period": {"first": "2026-04-01", "last": "2026-04-30"}})
        assert april["thread_id"] == first["thread_id"]
        assert april["reading"]["period"] | {"text": "", "field": ""} == {
            "text": "",
            "field": "",
            "first": "2026-04-01",
            "last": "2026-04-30",
            "carried": False,
        }
        assert [item["text"] for item in april["reading"]["groups"]] == [
            item["text"] for item in first["reading"]["groups"]
        ]
        path = f"/v1/queries/{april['query_id']}/refine"
        ever = await answered(http, path, {"without": ["period"]})
        assert ever["reading"]["period"] is None
        assert sorted(row[-1] for row in ever["rows"]) == [60, 60]
        group = ever["reading"]["groups"][0]["id"]
        path = f"/v1/queries/{ever['query_id']}/refine"
        total = await answered(http, path, {"without": [group]})
        assert total["rows"] == [[120]]
        path = f"/v1/queries/{total['query_id']}/refine"
        by_city = await answered(http, path, {"by": "city"})
        assert sorted(map(tuple, by_city["rows"])) == [("Bern", 80), ("Lyon", 40)]
        unit = await http.post(f"/v1/queries/{by_city['query_id']}/refine", json={"unit": "month"}, headers=WAIT)
        assert unit.json()["answer"]["outcome"] == "clarification"


async def test_a_filter_is_compared_with_another_value_or_dropped(stack: Stack) -> None:
    async with http_of(stack, "business") as http:
        asked = {"question": "How many orders have the status paid?", "connection": "shop"}
        first = await answered(http, "/v1/queries", asked)
        assert first["rows"] == [[60]]
        [paid] = first["reading"]["filters"]
        path = f"/v1/queries/{first['query_id']}/refine"
        other = await answered(http, path, {"values": {paid["id"]: "open"}})
        assert (other["rows"], other["reading"]["filters"][0]["value"]) == ([[60]], "open")
        everything = await answered(http, path, {"without": [paid["id"]]})
        assert (everything["rows"], everything["reading"]["filters"]) == ([[120]], [])


async def test_what_cannot_be_changed_is_refused_in_words(stack: Stack) -> None:
    async with http_of(stack, "business") as http:
        first = await answered(http, "/v1/queries", {"question": QUESTION, "connection": "shop"})
        path = f"/v1/queries/{first['query_id']}/refine"
        unknown = await http.post(path, json={"without": ["f9"]})
        assert (unknown.status_code, unknown.json()["code"]) == (422, "unknown_part")
        assert "it has: g1, period" in unknown.json()["detail"]
        nothing = await http.post(path, json={})
        assert nothing.status_code == 422
        field = await http.post(path, json={"without_filters": ["f1"]})
        assert field.json()["code"] == "unknown_field"
        chat = (await http.post("/v1/queries", json={"question": "Hello", "connection": "shop"}, headers=WAIT)).json()
        refused = await http.post(f"/v1/queries/{chat['id']}/refine", json={"without": ["f1"]})
        assert (refused.status_code, refused.json()["code"]) == (409, "not_refinable")
    async with http_of(stack, "analyst") as http:
        assert (await http.post(path, json={"without": ["period"]})).status_code == 404


async def test_the_python_client_grpc_and_the_key_of_a_request_agree(stack: Stack, port: int) -> None:
    async with AsyncClient(stack.http_address, KEYS["analyst"]) as client:
        first = await client.ask(QUESTION, connection="shop")
        assert first.reading is not None
        again = await client.refine(first.query_id, {"without": ["period"]}, idempotency_key="ever")
        same = await client.refine(first.query_id, {"without": ["period"]}, idempotency_key="ever")
    assert again.reading is not None
    assert again.reading.period is None
    assert same.query_id == again.query_id
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        refine = channel.unary_unary(
            "/querybus.v1.QueryService/Refine",
            request_serializer=v1.RefineRequest.SerializeToString,
            response_deserializer=v1.RefineResponse.FromString,
        )
        change = v1.Change(without=["period"], lines=1)
        reply = await refine(
            v1.RefineRequest(query_id=first.query_id, change=change),
            metadata=(("authorization", f"Bearer {KEYS['analyst']}"),),
        )
    answer = reply.query.answer
    assert (len(answer.rows), answer.reading.limit, answer.reading.HasField("period")) == (1, 1, False)
    assert [group.id for group in answer.reading.groups] == ["g1"]


async def test_the_bus_reads_an_answer_otherwise(stack: Stack) -> None:
    async with stack.client("analyst") as client:
        first = await client.call("ask", {"question": QUESTION, "connection": "shop", "wait_seconds": 20})
        wanted = {"query_id": first["query_id"], "change": {"without": ["period"]}, "wait_seconds": 20}
        reply = await client.call("refine", wanted)
    assert (reply["outcome"], reply["reading"]["period"], reply["thread_id"]) == ("answered", None, first["thread_id"])
