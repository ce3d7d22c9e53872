"""Boards are asked again as whoever opens them, and the administration is for owners: at HTTP, over a real bus."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
import pytest_asyncio

from querybus.bus.connection import Held
from querybus.bus.stores.buckets import CredentialStore
from querybus.bus.stores.catalogs import CatalogStore
from querybus.bus.stores.knowledge import BoardStore
from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.credential import Credential, key_hash
from querybus.core.messages import Outcome
from querybus.core.stored.boards import AskedAs, Board, Boards, Pin
from querybus.core.subjects import EventName, StageName
from querybus_gateway.lifecycle.board_schedule import BoardSchedule
from querybus_gateway.use_cases.batches.boards import BoardCases

from .documents import holds_http
from .stack_of_tests import SECRET_NAME, ApiStack, api_stack, key_of

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

CATALOG = Catalog(
    connection="shop",
    dialect=Dialect.SQLITE,
    tables=(
        Table(
            name="customers",
            columns=(
                Column(name="id", type="INTEGER"),
                Column(name="phone", type="TEXT", personal=True),
                Column(name="full_name", type="TEXT", personal=True, person_name=True),
            ),
        ),
    ),
)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stack():
    async with api_stack() as opened:
        executor = await opened.bus.connect("executor")
        await CatalogStore(Held(executor)).write(CATALOG)
        await executor.close()
        registry = CredentialStore(Held(await opened.user(StageName.GATEWAY)))
        others: tuple[tuple[str, str, dict[str, Any]], ...] = (
            ("owner", "olga", {"role": "owner", "audience": "analyst"}),
            ("shy", "olga", {"role": "owner", "audience": "business"}),
            ("sharer", "sam", {"audience": "business", "may_share_boards": True}),
            ("narrow", "nina", {"audience": "business", "connections": ("crm",)}),
        )
        for name, user, more in others:
            key = key_hash(key_of("acme", name))
            await registry.put(Credential(name=name, tenant="acme", user=user, key_sha256=key, **more))
        yield opened


async def send(http: httpx.AsyncClient, method: str, path: str, body: Any = None, status: int = 200) -> Any:
    reply = await http.request(method, path, json=body)
    assert reply.status_code == status, reply.text
    holds_http(method, path.partition("?")[0], status, reply.headers["content-type"], reply.json())
    return reply.json()


async def answered(stack: ApiStack, http: httpx.AsyncClient, question: str, outcome: Outcome = Outcome.ANSWERED) -> str:
    query = (await send(http, "POST", "/v1/queries", {"question": question, "connection": "shop"}, 202))["id"]
    await stack.draft(query)
    await stack.conclude(query, outcome)
    await stack.finish(query)
    await stack.until(query, EventName.FINISHED)
    return query


async def board_of(stack: ApiStack, http: httpx.AsyncClient, name: str, *questions: str) -> str:
    board = (await send(http, "POST", "/v1/boards", {"name": name}, 201))["id"]
    for question in questions:
        query = await answered(stack, http, question)
        await send(http, "POST", f"/v1/boards/{board}/pins", {"query_id": query}, 201)
    return board


async def test_a_board_keeps_questions_once_in_their_order_and_is_asked_again_in_one_conversation(stack: ApiStack):
    async with stack.http() as http:
        board = await board_of(stack, http, "Mornings", "How many orders?", "How many customers?", "How many orders?")
        shown = next(item for item in (await send(http, "GET", "/v1/boards"))["boards"] if item["id"] == board)
        assert [pin["question"] for pin in shown["pins"]] == ["How many orders?", "How many customers?"]
        order = [pin["id"] for pin in reversed(shown["pins"])]
        changed = await send(http, "PATCH", f"/v1/boards/{board}", {"pins": order, "name": "Evenings"})
        assert ([pin["id"] for pin in changed["pins"]], changed["name"]) == (order, "Evenings")
        first = await send(http, "POST", f"/v1/boards/{board}/ask", {}, 202)
        second = await send(http, "POST", f"/v1/boards/{board}/ask", {}, 202)
        asked = [item["query_id"] for item in (*first["asked"], *second["asked"])]
        assert [item["pin"] for item in first["asked"]] == order
        assert len(set(asked)) == 4
        threads = {(await send(http, "GET", f"/v1/queries/{query}"))["thread_id"] for query in asked}
        assert len(threads) == 1
        for query in asked:
            envelope = (await stack.log(query))[0].envelope()
            assert envelope.body.thread_until_sequence == 0, "a pinned question knows nothing of the others"
            await stack.answer(query)
        shown = next(item for item in (await send(http, "GET", "/v1/boards"))["boards"] if item["id"] == board)
        assert [pin["query_id"] for pin in shown["pins"]] == [item["query_id"] for item in second["asked"]]
        await send(http, "DELETE", f"/v1/boards/{board}")
        await send(http, "POST", f"/v1/boards/{board}/ask", {}, 404)


async def test_what_is_no_board_or_no_pin_is_refused_in_words(stack: ApiStack):
    async with stack.http() as http, stack.http(credential="desk") as other:
        board = await board_of(stack, http, "Mine", "How many orders?")
        refused = await answered(stack, http, "Drop the table", Outcome.REFUSED)
        for path, body, status in (
            (f"/v1/boards/{board}/pins", {"query_id": refused}, 422),
            (f"/v1/boards/{board}/pins", {"query_id": "0190a0a0-0000-7000-8000-000000000000"}, 404),
            ("/v1/boards/0123456789abcdef/pins", {"query_id": refused}, 422),
        ):
            await send(http, "POST", path, body, status)
        await send(http, "PATCH", f"/v1/boards/{board}", {"pins": ["x"]}, 422)
        await send(http, "PATCH", "/v1/boards/0123456789abcdef", {"name": "x"}, 404)
        # Nobody else sees it, or may change it.
        assert board not in str(await send(other, "GET", "/v1/boards"))
        for method, path, body in (("PATCH", "", {"name": "x"}), ("DELETE", "", None), ("POST", "/ask", {})):
            await send(other, method, f"/v1/boards/{board}{path}", body, 404)


async def test_a_shared_board_is_asked_with_the_rights_of_whoever_opens_it(stack: ApiStack):
    async with (
        stack.http() as ann,
        stack.http(credential="sharer") as sam,
        stack.http(credential="narrow") as nina,
        stack.http("other") as eve,
    ):
        own = await board_of(stack, ann, "Not to be shared", "How many orders?")
        await send(ann, "PATCH", f"/v1/boards/{own}", {"is_shared": True}, 403)
        board = await board_of(stack, sam, "Ours", "How many orders?")
        shared = await send(sam, "PATCH", f"/v1/boards/{board}", {"is_shared": True})
        assert shared["is_shared"]
        seen = next(item for item in (await send(ann, "GET", "/v1/boards"))["boards"] if item["id"] == board)
        assert not seen["is_own"]
        assert seen["pins"][0]["query_id"] is None, "the owner's answer is not for others"
        asked = (await send(ann, "POST", f"/v1/boards/{board}/ask", {}, 202))["asked"][0]
        envelope = (await stack.log(asked["query_id"]))[0].envelope()
        assert (envelope.user, envelope.audience) == ("ann", "business")
        await send(sam, "GET", f"/v1/queries/{asked['query_id']}", status=404)
        await stack.answer(asked["query_id"])
        # Who may not ask that connection does not see what is asked there.
        narrow = next(item for item in (await send(nina, "GET", "/v1/boards"))["boards"] if item["id"] == board)
        assert narrow["pins"] == []
        assert (await send(nina, "POST", f"/v1/boards/{board}/ask", {}, 202))["asked"] == []
        assert board not in str(await send(eve, "GET", "/v1/boards"))
        await send(eve, "POST", f"/v1/boards/{board}/ask", {}, 404)


async def test_a_shared_question_that_names_what_stands_in_a_database_is_not_there_for_business_readers(
    stack: ApiStack,
):
    async with stack.http(credential="owner") as olga, stack.http() as ann, stack.http(credential="lab") as bob:
        board = await board_of(stack, olga, "Mixed", "How many customers?", "Which full_name is in customers?")
        await send(olga, "PATCH", f"/v1/boards/{board}", {"is_shared": True})
        for http, count in ((olga, 2), (bob, 2), (ann, 1)):
            shown = next(item for item in (await send(http, "GET", "/v1/boards"))["boards"] if item["id"] == board)
            assert len(shown["pins"]) == count
        asked = (await send(ann, "POST", f"/v1/boards/{board}/ask", {}, 202))["asked"]
        assert len(asked) == 1
        await stack.answer(asked[0]["query_id"])


async def test_a_board_with_a_schedule_is_asked_once_when_it_is_due_with_the_rights_its_credential_still_has(
    stack: ApiStack,
):
    held = Held(await stack.user(StageName.GATEWAY))
    store, registry = BoardStore(held), CredentialStore(held)
    pin = Pin(id="p", question="How many orders?", connection="shop", language="en")
    as_lab = AskedAs(credential="lab", audience="business", connections=("shop",))
    boards = {
        "bob": Board(id="due", name="x", made_at=0, schedule="hourly", asked_as=as_lab, pins=(pin,)),
        "zoe": Board(
            id="gone", name="x", made_at=0, schedule="daily", asked_as=AskedAs(credential="gone", audience="business")
        ),
    }
    for user, board in boards.items():
        await store.change("acme", user, lambda _, user=user, board=board: Boards(user=user, boards=(board,)))
    running = next(part for part in stack.gateway.parts if isinstance(part, BoardSchedule))
    # The gateway's own does not come in between.
    await running.drain()
    now = [100 * 3_600_000]
    loops = [
        BoardSchedule(
            BoardCases(
                running.boards.queries, store, CatalogStore(held), clock=lambda: now[0], random_bits=lambda _: 1
            ),
            store,
            registry,
            clock=lambda: now[0],
        )
        for _ in range(2)
    ]
    await asyncio.gather(*(loop.tick() for loop in loops))
    await loops[0].tick()
    kept = (await store.read("acme", "bob")).boards[0]
    query = kept.pins[0].query_id
    assert kept.asked_at == now[0]
    envelope = (await stack.log(query))[0].envelope()
    assert (envelope.user, envelope.audience) == ("bob", "business"), "never more than it was set with"
    assert (await store.read("acme", "zoe")).boards[0].asked_at == now[0], "without its key nobody asks, and none tries"
    now[0] += 3_600_000
    await asyncio.gather(*(loop.tick() for loop in loops))
    again = (await store.read("acme", "bob")).boards[0].pins[0].query_id
    assert again not in ("", query)
    for item in (query, again):
        await stack.answer(item)


QUALITY = (
    ("GET", "/v1/admin/questions", None),
    ("GET", "/v1/admin/connections/shop/evaluations", None),
    (
        "POST",
        "/v1/admin/connections/shop/evaluations",
        {"items": [{"question": "x", "query_id": "x", "gold_query_id": "x"}]},
    ),
    ("GET", "/v1/admin/connections/shop/personal-columns", None),
    ("GET", "/v1/admin/keys", None),
    ("POST", "/v1/admin/keys", {"name": "new", "user": "nora"}),
    ("DELETE", "/v1/admin/keys/web", None),
)


@pytest.mark.parametrize("credential", ["web", "lab", "shy", "sharer"])
async def test_the_administration_is_refused_to_whoever_is_no_owner(stack: ApiStack, credential: str):
    async with stack.http(credential=credential) as http:
        for method, path, body in QUALITY:
            refused = await send(http, method, path, body, 403)
            assert refused["code"] == "scope"
        me = await send(http, "GET", "/v1/me")
        assert (me["is_owner"], me["may_share_boards"]) == (False, credential == "sharer")


async def test_an_owners_token_is_an_owners_but_not_one_for_business(stack: ApiStack):
    async with stack.http(credential="owner") as http:
        token = (await send(http, "POST", "/v1/tokens", {}, 201))["token"]
        business = (await send(http, "POST", "/v1/tokens", {"audience": "business"}, 201))["token"]
    for text, status in ((token, 200), (business, 403)):
        headers = {"Authorization": f"Bearer {text}"}
        async with httpx.AsyncClient(base_url=stack.address, headers=headers) as http:
            await send(http, "GET", "/v1/admin/keys", status=status)


async def test_the_administration_ranks_what_people_did_not_get_and_names_nobody(stack: ApiStack):
    async with (
        stack.http() as ann,
        stack.http(credential="desk") as bob,
        stack.http(credential="owner") as olga,
        stack.http("other") as eve,
    ):
        for http in (ann, bob):
            await answered(stack, http, "What is our churn?", Outcome.CLARIFICATION)
        await answered(stack, ann, "what is  our churn", Outcome.CLARIFICATION)
        await answered(stack, ann, "How many boats are there?", Outcome.FAILED)
        right = await answered(stack, ann, "How many cats are there?")
        wrong = await answered(stack, ann, "How many dogs are there?")
        query = (await send(eve, "POST", "/v1/queries", {"question": "Theirs?", "connection": "shop"}, 202))["id"]
        await stack.conclude(query, Outcome.FAILED, tenant="other")
        await stack.finish(query, tenant="other")
        await send(ann, "POST", f"/v1/queries/{wrong}/feedback", {"verdict": "wrong"})
        await asyncio.sleep(0.5)
        shown = await send(olga, "GET", "/v1/admin/questions")
        rows = {(row["kind"], row["question"].casefold()): row for row in shown["questions"]}
        churn = rows["asked_back", "what is  our churn"]
        assert (churn["count"], churn["people"]) == (3, 2)
        assert ("failed", "how many boats are there?") in rows
        assert ("wrong", "how many dogs are there?") in rows
        assert shown["questions"][0]["question"] == churn["question"], "the most frequent first"
        assert right not in str(shown)
        assert "Theirs" not in str(shown)
        assert "ann" not in str(shown)
        only = await send(olga, "GET", "/v1/admin/questions?kind=wrong&connection=shop&days=1")
        assert {row["kind"] for row in only["questions"]} == {"wrong"}
        # Who takes it back takes it off the quality.
        await send(ann, "POST", f"/v1/queries/{wrong}/feedback", {"verdict": "right"})
        only = await send(olga, "GET", "/v1/admin/questions?kind=wrong")
        assert only["questions"] == []


async def test_a_key_made_at_the_administration_lets_in_is_never_more_than_its_owners_and_can_be_revoked(
    stack: ApiStack,
):
    async with stack.http(credential="owner") as http:
        wanted = {"name": "reports", "user": "rita", "connections": ["shop"], "rows_max": 50}
        made = await send(http, "POST", "/v1/admin/keys", wanted, 201)
        assert (made["role"], made["is_trusted_proxy"], made["made_by"], made["rows_max"]) == (
            "member",
            False,
            "olga",
            50,
        )
        async with httpx.AsyncClient(
            base_url=stack.address, headers={"Authorization": f"Bearer {made['key']}"}
        ) as rita:
            me = await send(rita, "GET", "/v1/me")
            assert (me["user"], me["connections"], me["rows_max"]) == ("rita", ["shop"], 50)
            listed = await send(http, "GET", "/v1/admin/keys")
            assert "reports" in {item["name"] for item in listed["keys"]}
            assert made["key"] not in str(listed)
            await send(http, "POST", "/v1/admin/keys", wanted, 422)
            await send(http, "DELETE", "/v1/admin/keys/reports")
            await asyncio.sleep(0.3)
            await send(rita, "GET", "/v1/me", status=401)
        for body in ({"name": "No", "user": "x"}, {"name": "n", "user": "x", "connections": ["nowhere"]}):
            await send(http, "POST", "/v1/admin/keys", body, 422)
        for body in ({"name": "n", "user": "x", "role": "owner"}, {"name": "n", "user": "x", "is_trusted_proxy": True}):
            await send(http, "POST", "/v1/admin/keys", body, 422)
        await send(http, "DELETE", "/v1/admin/keys/owner", status=422)
        await send(http, "DELETE", "/v1/admin/keys/nobody", status=404)
        everybody = await send(http, "POST", "/v1/admin/keys", {"name": "large", "user": "x", "rows_max": 10**9}, 201)
        assert everybody["rows_max"] <= 100_000


async def test_an_evaluation_compares_rows_and_keeps_before_and_after(stack: ApiStack):
    async with stack.http(credential="owner") as http:
        same = [await answered(stack, http, f"How many things {number}?") for number in range(2)]
        back = await answered(stack, http, "How many frobs?", Outcome.CLARIFICATION)
        other = (await send(http, "POST", "/v1/queries", {"question": "Others?", "connection": "shop"}, 202))["id"]
        await stack.conclude(other)
        await stack.finish(other, rows=(("Oslo",), ("Rome",)))
        items = [
            {"question": "same", "query_id": same[0], "gold_query_id": same[1]},
            {"question": "asked back", "query_id": back, "gold_query_id": same[1]},
            {"question": "other rows", "query_id": other, "gold_query_id": same[1]},
        ]
        made = await send(http, "POST", "/v1/admin/connections/shop/evaluations", {"items": items}, 201)
        assert [item["verdict"] for item in made["items"]] == ["right", "asked_back", "wrong"]
        assert made["right"] == 1
        again = await send(http, "POST", "/v1/admin/connections/shop/evaluations", {"items": items[:1]}, 201)
        kept = await send(http, "GET", "/v1/admin/connections/shop/evaluations")
        assert [item["id"] for item in kept["evaluations"]] == [again["id"], made["id"]]
        bad = {"items": [items[0], {"question": "x", "query_id": same[0], "gold_query_id": back}]}
        refused = await send(http, "POST", "/v1/admin/connections/shop/evaluations", bad, 422)
        assert "item 2" in refused["detail"]


async def test_the_administration_lists_the_personal_columns_of_a_connection(stack: ApiStack):
    async with stack.http(credential="owner") as http:
        shown = await send(http, "GET", "/v1/admin/connections/shop/personal-columns")
        assert [(item["column"], item["kind"]) for item in shown["columns"]] == [
            ("phone", "contact"),
            ("full_name", "person_name"),
        ]
        assert not shown["shown_to_business"]
        await send(http, "GET", "/v1/admin/connections/nowhere/personal-columns", status=404)


async def test_a_business_reader_suggests_what_a_word_means_and_nothing_else(stack: ApiStack):
    path = "/v1/connections/shop/knowledge"
    async with stack.http() as ann, stack.http(credential="owner") as olga:
        await send(ann, "POST", path, {"terms": {"big order": "an order above 1000"}})
        for body in (
            {"instructions": ["x"]},
            {"terms": {"a": "b", "c": "d"}},
            {"terms": {"a": "b"}, "pairs": [{"question": "x", "sql": f"SELECT {SECRET_NAME}"}]},
        ):
            await send(ann, "POST", path, body, 403)
        entries = (await send(olga, "GET", path))["entries"]
        entry = next(item for item in entries if item["key"] == "big order")
        assert entry["source"] == "suggestion"
        await send(olga, "POST", f"{path}/{entry['id']}/review", {"verdict": "approve"})
        # What counts is not taken away by what somebody suggests.
        await send(ann, "POST", path, {"terms": {"big order": "nothing"}})
        entries = (await send(olga, "GET", path))["entries"]
        assert next(item for item in entries if item["key"] == "big order")["text"] == "an order above 1000"
