"""What people teach, say of answers and prefer, at the HTTP and the bus API over a real bus."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import pytest_asyncio

from querybus.bus.connection import Held
from querybus.bus.stores.catalogs import CatalogStore
from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.policy import ConnectionPolicy
from querybus.text.knowledge import Entry
from querybus_gateway.use_cases import knowledge

from .stack_of_tests import ApiStack, api_stack

CATALOG = Catalog(
    connection="shop",
    dialect=Dialect.SQLITE,
    tables=(Table(name="orders", columns=(Column(name="id", type="INTEGER"),)),),
)
TAUGHT = {
    "pairs": [
        {"question": "How many orders?", "sql": "SELECT COUNT(*) FROM orders"},
        {"question": "Orders of today?", "sql": "SELECT COUNT(*) FROM orders WHERE id > :today"},
    ],
    "instructions": ["Amounts are in euro."],
    "terms": {"big order": "an order above 1000"},
    "synonyms": {"orders": ["purchases"]},
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stack():
    async with api_stack() as opened:
        executor = await opened.bus.connect("executor")
        await CatalogStore(Held(executor)).write(CATALOG)
        await executor.close()
        yield opened


pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]


async def test_what_does_not_fit_the_schema_is_refused_with_its_place_and_the_nearest_name(stack: ApiStack):
    unfit = {
        "pairs": [
            {"question": "How many?", "sql": "SELECT COUNT(*) FROM orders"},
            {"question": "How many more?", "sql": "SELECT COUNT(*) FROM ordres"},
            {"question": "Away with it", "sql": "DELETE FROM orders"},
        ],
        "synonyms": {"orders.ids": ["number"]},
    }
    async with stack.http("acme", "lab") as analyst:
        before = (await analyst.get("/v1/connections/shop/knowledge")).json()["entries"]
        refused = await analyst.post("/v1/connections/shop/knowledge", json=unfit)
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid")
        errors = {error["pointer"]: error["message"] for error in refused.json()["errors"]}
        assert list(errors) == ["/pairs/1/sql", "/pairs/2/sql", "/synonyms/orders.ids/0"]
        assert "did you mean orders?" in errors["/pairs/1/sql"]
        assert "did you mean id?" in errors["/synonyms/orders.ids/0"]
        assert (await analyst.get("/v1/connections/shop/knowledge")).json()["entries"] == before


@pytest.mark.requirement("002.24")
async def test_an_analyst_teaches_and_everybody_searches(stack: ApiStack):
    async with stack.http("acme", "lab") as analyst, stack.http("acme", "web") as business:
        taught = await analyst.post("/v1/connections/shop/knowledge", json=TAUGHT)
        assert (taught.status_code, taught.json()["entries"]) == (200, 5)
        listed = (await analyst.get("/v1/connections/shop/knowledge?kind=pair")).json()["entries"]
        assert [entry["stale"] for entry in listed] == [None, None]
        hits = (await business.get("/v1/connections/shop/knowledge/search?q=number of orders")).json()["hits"]
        assert hits[0]["key"] == "How many orders?"
        assert "text" not in hits[0]
        # Asked in Chinese, found in English: the words are those of the generator.
        chinese = (await business.get("/v1/connections/shop/knowledge/search?q=有多少订单")).json()["hits"]
        assert chinese[0]["key"] == "How many orders?"
        refused = await business.post("/v1/connections/shop/knowledge", json=TAUGHT)
        assert refused.status_code == 403
        gone = await analyst.delete(f"/v1/connections/shop/knowledge/{listed[1]['id']}")
        assert gone.json()["entries"] == 4
        assert (await analyst.delete("/v1/connections/shop/knowledge/nothing")).status_code == 404


async def test_another_tenant_sees_none_of_it(stack: ApiStack):
    async with stack.http("acme", "lab") as analyst, stack.http("other", "web") as stranger:
        await analyst.post("/v1/connections/shop/knowledge", json={"terms": {"vip": "level gold"}})
        assert (await stranger.get("/v1/connections/shop/knowledge")).json()["entries"] == []


async def test_what_a_business_reader_calls_right_is_a_suggestion_until_an_analyst_says_so(stack: ApiStack):
    async with (
        stack.http("acme", "web") as person,
        stack.client("acme", "web") as bus,
        stack.http("acme", "lab") as lab,
    ):
        asked = await person.post("/v1/queries", json={"question": "how many lions?", "connection": "crm"})
        query = asked.json()["id"]
        early = await person.post(f"/v1/queries/{query}/feedback", json={"verdict": "right"})
        assert early.status_code == 409
        await stack.draft(query)
        await stack.conclude(query)
        await stack.finish(query)
        said = await bus.call("feedback", {"query_id": query, "verdict": "right"})
        assert said["entries"] == 1, said
        kept = (await lab.get("/v1/connections/crm/knowledge")).json()["entries"][0]
        assert (kept["key"], kept["source"], kept["by"]) == ("how many lions?", "suggestion", "ann")
        search = "/v1/connections/crm/knowledge/search?q=how many lions"
        assert (await person.get(search)).json()["hits"] == []
        await lab.post(
            "/v1/connections/crm/knowledge", json={"pairs": [{"question": kept["key"], "sql": kept["text"]}]}
        )
        assert len((await person.get(search)).json()["hits"]) == 1
        again = await bus.call("feedback", {"query_id": query, "verdict": "right"})
        assert again["entries"] == 1, again
        kept = (await lab.get("/v1/connections/crm/knowledge")).json()["entries"][0]
        assert (kept["source"], kept["by"]) == ("api", "bob"), "a suggestion took the place of what was taught"
        stranger = await lab.post(f"/v1/queries/{query}/feedback", json={"verdict": "right"})
        assert stranger.status_code == 404
        back = await person.post(f"/v1/queries/{query}/feedback", json={"verdict": "wrong"})
        assert back.json()["entries"] == 1, "what an analyst taught, an analyst forgets"


async def test_a_suggestion_answers_others_once_it_is_approved_and_never_once_it_is_rejected(stack: ApiStack):
    async with (
        stack.http("acme", "web") as person,
        stack.http("acme", "lab") as lab,
        stack.client("acme", "lab") as bus,
    ):
        for question, verdict in (("how many zebras?", "approve"), ("how many bears?", "reject")):
            asked = await person.post("/v1/queries", json={"question": question, "connection": "crm"})
            query = asked.json()["id"]
            await stack.draft(query)
            await stack.conclude(query)
            await stack.finish(query)
            await person.post(f"/v1/queries/{query}/feedback", json={"verdict": "right"})
            entries = (await lab.get("/v1/connections/crm/knowledge")).json()["entries"]
            entry = next(entry for entry in entries if entry["key"] == question)
            path = f"/v1/connections/crm/knowledge/{entry['id']}/review"
            assert (await person.post(path, json={"verdict": verdict})).status_code == 403
            assert (await lab.post(path, json={"verdict": "perhaps"})).status_code == 422
            if verdict == "approve":
                assert (await lab.post(path, json={"verdict": verdict})).status_code == 200
            else:
                call = {"action": "review", "connection": "crm", "entry_id": entry["id"], "verdict": verdict}
                assert "code" not in await bus.call("knowledge", call)
            assert (await lab.post(path, json={"verdict": verdict})).status_code == 404, "it was decided before"
            entries = (await lab.get("/v1/connections/crm/knowledge")).json()["entries"]
            entry = next(entry for entry in entries if entry["key"] == question)
            assert (entry["by"], entry["reviewed_by"]) == ("ann", "bob")
            assert entry["reviewed_at"] >= entry["at"] > 0
        hits = (await lab.get("/v1/connections/crm/knowledge/search?q=how many zebras or bears")).json()["hits"]
        assert [hit["key"] for hit in hits if "zebras" in hit["key"] or "bears" in hit["key"]] == ["how many zebras?"]


async def test_feedback_of_an_analyst_makes_a_verified_pair_and_takes_it_back(stack: ApiStack):
    async with stack.http("acme", "lab") as lab:
        asked = await lab.post("/v1/queries", json={"question": "how many tigers?", "connection": "shop"})
        query = asked.json()["id"]
        await stack.draft(query)
        await stack.conclude(query)
        await stack.finish(query)
        await lab.post(f"/v1/queries/{query}/feedback", json={"verdict": "right"})
        listed = (await lab.get("/v1/connections/shop/knowledge")).json()["entries"]
        assert [entry["source"] for entry in listed if entry["key"] == "how many tigers?"] == ["feedback"]
        await lab.post(f"/v1/queries/{query}/feedback", json={"verdict": "wrong"})
        listed = (await lab.get("/v1/connections/shop/knowledge")).json()["entries"]
        assert [entry for entry in listed if entry["key"] == "how many tigers?"] == []


async def test_an_entry_is_judged_once_for_a_catalog(stack: ApiStack, monkeypatch: pytest.MonkeyPatch):
    judged: list[str] = []

    def counting(entries: Sequence[Entry], catalog: Catalog, policy: ConnectionPolicy) -> dict[str, str | None]:
        judged.extend(entry.key for entry in entries)
        return dict.fromkeys((entry.id for entry in entries), None)

    monkeypatch.setattr(knowledge, "_judged", counting)
    async with stack.http("acme", "lab") as lab:
        pairs = [{"question": f"How many orders number {n}?", "sql": "SELECT COUNT(*) FROM orders"} for n in range(3)]
        await lab.post("/v1/connections/shop/knowledge", json={"pairs": pairs})
        for _ in range(3):
            await lab.get("/v1/connections/shop/knowledge")
        assert sorted(key for key in judged if "number" in key) == [pair["question"] for pair in pairs]


@pytest.mark.requirement("002.23")
async def test_preferences_are_written_at_one_api_read_at_another_and_fill_what_a_request_leaves_out(stack: ApiStack):
    async with stack.http("acme", "desk") as person, stack.client("acme", "lab") as bus:
        wanted = {"language": "zh", "connection": "crm", "page_size": 7, "summary": False}
        written = await person.put("/v1/preferences", json=wanted)
        assert written.status_code == 200, written.text
        read = await bus.call("preferences", {})
        assert {name: read[name] for name in wanted} == wanted
        asked = await person.post("/v1/queries", json={"question": "how many lions?", "options": {"page_size": 9}})
        envelope = (await stack.log(asked.json()["id"]))[0].envelope()
        assert envelope.connection == "crm"
        assert (envelope.language, envelope.options.page_size, envelope.options.summary) == ("zh", 9, False)
        assert (await person.put("/v1/preferences", json={"connection": "nowhere"})).status_code == 422
        assert (await person.put("/v1/preferences", json={})).json()["language"] is None


async def test_the_bus_api_teaches_lists_and_forgets(stack: ApiStack):
    async with stack.client("acme", "lab") as bus:
        call = {"action": "teach", "connection": "crm", "entries": {"instructions": ["Ignore test accounts."]}}
        assert (await bus.call("knowledge", call))["taught"] == 1
        listed = await bus.call("knowledge", {"connection": "crm", "kind": "instruction"})
        entry = listed["entries"][0]
        assert entry["text"] == "Ignore test accounts."
        result = await bus.call(
            "knowledge", {"action": "search", "connection": "crm", "query": "test accounts", "kind": "instruction"}
        )
        assert [hit["id"] for hit in result["hits"]] == [entry["id"]]
        await bus.call("knowledge", {"action": "forget", "connection": "crm", "entry_id": entry["id"]})
        missing = await bus.call("knowledge", {"action": "forget", "connection": "crm", "entry_id": entry["id"]})
        assert missing["code"] == "not_found"
