"""Threads over a real bus: listed, folded to any earlier event, forked from any turn, and deleted wherever they are kept."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio

from querybus.bus.admin.audit_export import exported_lines
from querybus.bus.client import BusClient
from querybus.bus.connection import Held
from querybus.bus.stores.pages import PageStore, encode_page
from querybus.core.catalog import ColumnKind
from querybus.core.messages import ForkedFrom, ResultColumn
from querybus.core.stored.audit import AuditFault, verify_lines
from querybus.core.subjects import EventName, StageName, run_token
from querybus.core.topology import REMEMBERED

from .stack_of_tests import SECRET_NAME, SQL, ApiStack, api_stack

pytestmark = [pytest.mark.connected, pytest.mark.asyncio(loop_scope="module")]

QUESTION = {"question": "How many customers?", "connection": "shop", "wait_seconds": 20}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stack() -> AsyncGenerator[ApiStack]:
    async with api_stack() as made, made.stages():
        yield made


async def asked(client: BusClient, question: str, thread: str | None = None) -> dict[str, Any]:
    more = {"thread_id": thread} if thread else {}
    return await client.call("ask", QUESTION | {"question": question} | more)


async def test_threads_are_listed_newest_first_page_by_page_to_their_own_user_only(stack: ApiStack) -> None:
    async with stack.client("acme", "lab") as bob, stack.client("other") as eve:
        made = [(await asked(bob, f"Question {n}?"))["thread_id"] for n in range(5)]
        await asked(bob, "A second turn makes no second thread", made[0])
        seen: list[str] = []
        cursor, pages = "", 0
        while True:
            page = await bob.call("threads", {"limit": 2, "cursor": cursor})
            seen += [thread["thread_id"] for thread in page["threads"]]
            pages += 1
            if page["next_cursor"] is None:
                break
            cursor = page["next_cursor"]
        assert seen[:5] == made[::-1]
        assert len(seen) == len(set(seen))
        assert pages == (len(seen) + 1) // 2
        first = (await bob.call("threads", {"limit": 1}))["threads"][0]
        assert (first["title"], first["connection"], first["forked_from"]) == ("Question 4?", "shop", None)
        assert not {thread["thread_id"] for thread in (await eve.call("threads", {}))["threads"]} & set(made)
        assert (await bob.call("threads", {"cursor": "x"}))["code"] == "invalid"


@pytest.mark.requirement("002.18")
async def test_a_thread_as_it_stood_at_every_earlier_event(stack: ApiStack) -> None:
    async with stack.client("acme", "lab") as bob:
        # Before the log's first event nothing can be named: 0 is the thread as it stands.
        await asked(bob, "Elsewhere?")
        thread = (await asked(bob, "First?"))["thread_id"]
        await asked(bob, "Second?", thread)
        events = (await bob.call("thread-events", {"thread_id": thread}))["events"]
        assert [event["event"] for event in events] == ["asked", "concluded", "finished"] * 2
        states = [await bob.call("state", {"thread_id": thread, "at_sequence": event["sequence"]}) for event in events]
        assert [len(state["turns"]) for state in states] == [1, 1, 1, 2, 2, 2]
        assert [state["event"] for state in states] == [event["event"] for event in events]
        assert [state["sequence"] for state in states] == [event["sequence"] for event in events]
        assert [state["turns"][-1]["status"] for state in states] == ["running", "running", "finished"] * 2
        assert [state["turns"][-1]["outcome"] for state in states[:3]] == [None, "answered", "answered"]
        now = await bob.call("state", {"thread_id": thread})
        assert now == states[-1]
        assert now["turns"][0]["sql"] == SQL
        page = await bob.call("turns", {"thread_id": thread, "limit": 1})
        assert [turn["question"] for turn in page["turns"]] == ["Second?"]
        page = await bob.call("turns", {"thread_id": thread, "before_sequence": page["turns"][0]["sequence"]})
        assert [turn["question"] for turn in page["turns"]] == ["First?"]
        page = await bob.call("turns", {"thread_id": thread, "before_sequence": page["turns"][0]["sequence"]})
        assert page["turns"] == []
        assert (await bob.call("turns", {"thread_id": thread, "before_sequence": 1}))["turns"] == []
        rest = await bob.call(
            "thread-events", {"thread_id": thread, "after_sequence": events[3]["sequence"], "limit": 1}
        )
        assert [event["sequence"] for event in rest["events"]] == [events[4]["sequence"]]
        assert rest["next_after"] == events[4]["sequence"]
        before = await bob.call("state", {"thread_id": thread, "at_sequence": events[0]["sequence"] - 1})
        assert before["code"] == "not_found"


@pytest.mark.requirement("002.15")
async def test_nobody_else_reads_forks_or_deletes_a_thread_and_business_sees_no_names(stack: ApiStack) -> None:
    async with stack.client("acme", "lab") as bob, stack.client("acme", "desk") as context, stack.client() as ann:
        thread = (await asked(bob, "Bob's?"))["thread_id"]
        for other in (context, ann):
            for verb in ("turns", "state", "thread-events", "fork", "delete-thread"):
                assert (await other.call(verb, {"thread_id": thread}))["code"] == "not_found", verb
        mine = (await asked(ann, "Ann's?"))["thread_id"]
        for verb in ("turns", "state", "thread-events"):
            text = json.dumps(await ann.call(verb, {"thread_id": mine}))
            assert SECRET_NAME not in text
            assert '"sql"' not in text


@pytest.mark.requirement("002.18")
async def test_a_fork_of_any_turn_knows_the_thread_up_to_there(stack: ApiStack) -> None:
    async with stack.client("acme", "lab") as bob:
        first = await asked(bob, "First?")
        thread = first["thread_id"]
        await asked(bob, "Second?", thread)
        end = (await bob.call("turns", {"thread_id": thread}))["turns"][0]["last_sequence"]
        fork = await bob.call("fork", {"thread_id": thread, "query_id": first["query_id"]})
        assert fork["forked_from"] == {"thread_id": thread, "sequence": end}
        assert fork["thread_id"] != thread
        listed = (await bob.call("threads", {"limit": 1}))["threads"][0]
        assert listed == fork
        for number, question in enumerate(("Elsewhere?", "And further?")):
            asked_there = await asked(bob, question, fork["thread_id"])
            assert asked_there["thread_id"] == fork["thread_id"]
            body = (await stack.log(asked_there["query_id"]))[0].envelope().body
            assert body.forked_from == ForkedFrom(thread_id=thread, sequence=end)
            assert bool(body.thread_until_sequence) is bool(number)
        state = await bob.call("state", {"thread_id": fork["thread_id"]})
        assert state["forked_from"]["thread_id"] == thread
        assert len((await bob.call("turns", {"thread_id": thread}))["turns"]) == 2
        assert (await bob.call("fork", {"thread_id": thread, "query_id": fork["thread_id"]}))["code"] == "not_found"
    async with stack.client() as ann:
        assert (await asked(ann, "Not hers?", fork["thread_id"]))["code"] == "not_found"


async def test_a_deleted_thread_is_gone_from_log_pages_and_list(stack: ApiStack) -> None:
    async with stack.client("acme", "lab") as bob:
        question = QUESTION | {"question": "To be forgotten?", "idempotency_key": "forget-me"}
        query = (await bob.call("ask", question))["query_id"]
        other = await asked(bob, "To be kept?")
        page = encode_page((ResultColumn(name="n", kind=ColumnKind.INTEGER),), ((1,),))
        run = run_token((await stack.log(query))[-1].sequence, 1)
        pages = await stack.pages(query)
        await pages.put("acme", query, run, 1, page)
        await pages.put("acme", other["query_id"], run, 1, page)
        assert (await bob.call("delete-thread", {"thread_id": query}))["deleted"] is True
        journal = await stack.journal()
        assert await journal.events("acme", query) == ()
        assert await journal.thread("acme", query) == ()
        assert await pages_get(stack, query, run) is None
        assert await pages_get(stack, other["query_id"], run) == page
        assert (await bob.call("answer", {"query_id": query}))["code"] == "not_found"
        assert (await bob.call("answer", {"query_id": other["query_id"]}))["outcome"] == "answered"
        listed = {thread["thread_id"] for thread in (await bob.call("threads", {"limit": 100}))["threads"]}
        assert query not in listed
        assert other["thread_id"] in listed
        # Within the window of the message id the server takes no copy: it must not look accepted.
        assert (await bob.call("ask", question))["code"] == "idempotency_mismatch"
        assert (await bob.call("delete-thread", {"thread_id": query}))["code"] == "not_found"


async def test_the_audit_names_who_deleted_a_thread_once_and_keeps_its_chain_without_the_words(stack: ApiStack) -> None:
    async with stack.client("acme", "lab") as bob:
        query = (await asked(bob, "Whose words go?"))["query_id"]
        before = await exported(stack)
        for _ in range(2):
            await bob.call("delete-thread", {"thread_id": query})
    after = await exported(stack)
    deleted = [
        item for item in map(json.loads, after) if item.get("thread_id") == query and item["kind"] != "statement"
    ]
    assert [(item["kind"], item["user"], item["credential"]) for item in deleted] == [("thread_deleted", "bob", "lab")]
    assert any("Whose words go?" in line for line in before)
    assert not any("Whose words go?" in line for line in after)
    assert not isinstance(verify_lines(after, [json.loads(before[-1])["hash"]]), AuditFault)


async def exported(stack: ApiStack) -> list[str]:
    operator = await stack.bus.connect("operator")
    try:
        return [line async for line in exported_lines(operator, tenant="acme", since_ms=0, until_ms=None)]
    finally:
        await operator.close()


async def pages_get(stack: ApiStack, query: str, run: str) -> bytes | None:
    return await PageStore(Held(await stack.user(StageName.GATEWAY))).get("acme", query, run, 1)


async def test_a_thread_whose_work_has_aged_is_remembered_forked_and_deleted(stack: ApiStack) -> None:
    async with stack.client("acme", "lab") as bob:
        first = await asked(bob, "Long ago?")
        thread = first["thread_id"]
        before = await bob.call("turns", {"thread_id": thread})
        # What stands between a query's beginning and its end ages first.
        purge = await stack.bus.connect("purge")
        try:
            for event in EventName:
                if event not in REMEMBERED:
                    body = json.dumps({"filter": f"querybus.v1.event.acme.{thread}.*.{event}"}).encode()
                    await purge.request("$JS.API.STREAM.PURGE.QUERYBUS", body, timeout=5)
        finally:
            await purge.close()
        assert await bob.call("turns", {"thread_id": thread}) == before
        events = (await bob.call("thread-events", {"thread_id": thread}))["events"]
        assert [event["event"] for event in events] == ["asked", "concluded", "finished"]
        early = await bob.call("state", {"thread_id": thread, "at_sequence": events[1]["sequence"]})
        assert (early["event"], early["turns"][0]["status"]) == ("concluded", "running")
        fork = await bob.call("fork", {"thread_id": thread, "query_id": first["query_id"]})
        assert fork["forked_from"]["sequence"] == events[2]["sequence"]
        assert (await asked(bob, "And now?", thread))["outcome"] == "answered"
        assert len((await bob.call("turns", {"thread_id": thread}))["turns"]) == 2
        assert (await bob.call("delete-thread", {"thread_id": thread}))["deleted"] is True
        assert (await bob.call("turns", {"thread_id": thread}))["code"] == "not_found"


async def test_what_still_runs_is_not_deleted() -> None:
    async with api_stack() as stack, stack.client("acme", "lab") as bob:
        query = (await bob.call("ask", QUESTION | {"wait_seconds": 0}))["query_id"]
        assert (await bob.call("delete-thread", {"thread_id": query}))["code"] == "not_finished"
        await stack.answer(query)
        assert (await bob.call("delete-thread", {"thread_id": query}))["deleted"] is True


async def test_without_the_purges_password_nothing_is_deleted() -> None:
    async with api_stack(purge_password="") as stack, stack.client("acme", "lab") as bob:
        query = (await bob.call("ask", QUESTION | {"wait_seconds": 0}))["query_id"]
        await stack.answer(query)
        assert (await bob.call("delete-thread", {"thread_id": query}))["code"] == "scope"
        assert (await bob.call("answer", {"query_id": query}))["outcome"] == "answered"


async def test_the_same_over_http(stack: ApiStack) -> None:
    async with stack.http("acme", "lab") as http:
        asked_one = await http.post(
            "/v1/queries", json={"question": "Over HTTP?", "connection": "shop"}, headers={"Prefer": "wait=20"}
        )
        thread = asked_one.json()["thread_id"]
        path = f"/v1/threads/{thread}"
        assert (await http.get("/v1/threads?limit=1")).json()["threads"][0]["thread_id"] == thread
        events = (await http.get(f"{path}/events")).json()["events"]
        assert (await http.get(f"{path}/turns")).json()["turns"][0]["outcome"] == "answered"
        early = await http.get(path, params={"at": events[0]["sequence"]})
        assert early.json()["event"] == EventName.ASKED
        forked = await http.post(f"{path}/fork", json={"at_sequence": events[1]["sequence"]})
        assert forked.status_code == 201
        assert forked.headers["Location"] == f"/v1/threads/{forked.json()['thread_id']}"
        assert forked.json()["forked_from"]["sequence"] == events[1]["sequence"]
        assert (await http.delete(path)).status_code == 204
        assert (await http.get(path)).status_code == 404
        assert (await http.get(f"{path}/events")).status_code == 404
