"""A batch of five at every API, on a real bus, the other stages by hand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio

from .stack_of_tests import SECRET_NAME, ApiStack, api_stack

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

FIVE: dict[str, Any] = {
    "connection": "shop",
    "concurrency": 3,
    "items": [{"id": f"figure-{n}", "name": f"Figure {n}", "question": f"How many in {n}?"} for n in range(5)],
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stack() -> AsyncGenerator[ApiStack]:
    async with api_stack() as made:
        yield made


async def test_a_batch_of_five_over_the_bus_alone(stack: ApiStack) -> None:
    async with stack.client() as client, stack.stages():
        begun = await client.call("batch", {"batch": FIVE, "idempotency_key": "five"})
        assert begun["status"] == "running", begun
        async with asyncio.timeout(60):
            while (read := await client.call("batch", {"action": "read", "batch_id": begun["id"]}))[
                "status"
            ] != "finished":
                await asyncio.sleep(0.1)
        again = await client.call("batch", {"batch": FIVE, "idempotency_key": "five"})
        nothing = await client.call("batch", {"action": "retry", "batch_id": begun["id"]})
    assert [item["id"] for item in read["items"]] == [f"figure-{n}" for n in range(5)]
    assert all(item["answer"]["rows"] == [["上海"], ["Rome"]] for item in read["items"])
    assert (read["totals"]["answered"], read["next_offset"]) == (5, None)
    assert (again["id"], again["idempotency_replayed"]) == (begun["id"], True)
    assert nothing["code"] == "already_finished"
    assert SECRET_NAME not in json.dumps(read)


@pytest.mark.requirement("003.7")
async def test_a_batch_of_five_over_http_streams_each_item_once(stack: ApiStack) -> None:
    async with stack.http() as http, stack.stages():
        begun = await http.post("/v1/batches", json=FIVE)
        assert begun.status_code == 202
        address = begun.headers["location"]
        frames: list[tuple[str, dict[str, Any]]] = []
        async with http.stream("GET", f"{address}/events") as stream:
            event = ""
            async for line in stream.aiter_lines():
                if line.startswith("event:"):
                    event = line.removeprefix("event:").strip()
                elif line.startswith("data:"):
                    frames.append((event, json.loads(line.removeprefix("data:"))))
        shown = (await http.get(address)).json()
    assert sorted(data["id"] for event, data in frames if event == "item") == [f"figure-{n}" for n in range(5)]
    assert [(item["id"], item["name"]) for item in shown["items"]] == [(f"figure-{n}", f"Figure {n}") for n in range(5)]
    assert frames[-1][0] == "finished"
    assert [item["finished_as"] for item in shown["items"]] != [None] * 5
    assert SECRET_NAME not in json.dumps(frames)


async def test_somebody_elses_batch_is_not_there(stack: ApiStack) -> None:
    async with stack.http() as http, stack.http("acme", "desk") as other:
        begun = await http.post("/v1/batches", json=FIVE)
        for path in ("", "/events"):
            assert (await other.get(begun.headers["location"] + path)).status_code == 404
        assert (await other.post(begun.headers["location"] + "/cancel")).status_code == 404
        assert (await http.post(begun.headers["location"] + "/cancel")).status_code == 202


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "invalid"),
        ({"items": []}, "invalid"),
        ({"items": [{"id": "a", "question": "q"}] * 2}, "invalid"),
        ({"items": [{"id": "a", "question": "q"}], "connection": "nowhere"}, "unknown_connection"),
        ({"items": [{"id": "a", "sql": "SELECT 1"}], "connection": "shop"}, "scope"),
        ({"items": [{"id": "a", "question": "q"}], "tenant": "other"}, "unknown_field"),
        ({"items": [{"id": "a", "question": "q"}], "options": {"retries_max": 99}}, "bad_options"),
    ],
)
async def test_a_bad_batch_is_a_problem(stack: ApiStack, body: dict[str, Any], code: str) -> None:
    async with stack.http() as http:
        assert (await http.post("/v1/batches", json=body)).json()["code"] == code
