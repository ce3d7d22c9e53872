"""A change from the question to the database: asked, shown, confirmed once, made once, by everything that QueryBus is."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from querybus.bus.client import BusClient
from querybus_cli.commands.ask import ask
from querybus_cli.local.local_stack import Stack, StackPlan

pytestmark = [pytest.mark.connected, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

CONNECTIONS = """
connections:
- name: open
  url: sqlite:///{file}
  access: read_write
  policy:
    rows_affected_max: 3
    row_filters: {{orders: "tenant = :tenant"}}
- name: free
  url: sqlite:///{file}
  access: full
- name: shut
  url: sqlite:///{file}
"""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shop(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[BusClient, Path]]:
    folder = tmp_path_factory.mktemp("confirm")
    file = folder / "shop.sqlite"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, tenant TEXT, amount INTEGER)")
        rows = [(n, "local" if n % 2 else "other", n * 10) for n in range(1, 13)]
        database.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)
    connections = folder / "connections.yaml"
    connections.write_text(CONNECTIONS.format(file=file))
    async with Stack(StackPlan(connections_file=connections)) as stack, stack.client("analyst") as client:
        yield client, file


async def run(client: BusClient, sql: str, connection: str = "open", **options: Any) -> dict[str, Any]:
    request = {"operation": "run", "sql": sql, "question": "", "connection": connection, "options": options}
    return await ask(client, request, lambda _stage: None)


async def yes(client: BusClient, asked: dict[str, Any], **more: Any) -> dict[str, Any]:
    said = {"query_id": asked["query_id"], "sql_sha256": asked["confirmation"]["sql_sha256"], "wait_seconds": 30}
    return await client.call("confirm", said | more, timeout_seconds=40)


def amounts(file: Path) -> dict[int, int]:
    with sqlite3.connect(file) as database:
        return dict(database.execute("SELECT id, amount FROM orders"))


async def test_a_change_is_shown_confirmed_and_made_once_and_only_in_one_s_own_rows(
    shop: tuple[BusClient, Path],
) -> None:
    client, file = shop
    before = amounts(file)
    sql = "UPDATE orders SET amount = amount + 1 WHERE id < 5"
    asked = await run(client, sql, execution_mode="allow_execution")
    assert asked["outcome"] == "confirmation", asked
    assert asked["confirmation"]["rows_affected"] == 2
    assert asked["confirmation"]["rows_known"] == "exact"
    assert "exactly 2 entries" in asked["message"]
    assert amounts(file) == before
    done = await yes(client, asked)
    assert (done["outcome"], done["rows_affected"]) == ("answered", 2), done
    again = await yes(client, asked)
    assert again["query_id"] == done["query_id"]
    assert amounts(file) == before | {1: 11, 3: 31}


async def test_more_rows_than_confirmed_are_rolled_back(shop: tuple[BusClient, Path]) -> None:
    client, file = shop
    before = amounts(file)
    asked = await run(client, "DELETE FROM orders WHERE id < 6")
    assert asked["confirmation"]["rows_known"] == "unknown"
    done = await yes(client, asked, rows_affected_max=2)
    assert (done["outcome"], done["code"]) == ("refused", "cost"), done
    assert amounts(file) == before
    assert [step["stage"] for step in done["path"]] == ["gateway", "validator", "executor", "recovery", "presenter"]


async def test_a_read_only_connection_asks_nothing_and_changes_nothing(shop: tuple[BusClient, Path]) -> None:
    client, file = shop
    before = amounts(file)
    refused = await run(client, "DELETE FROM orders", connection="shut", enable_forbidden_check=False)
    assert (refused["outcome"], refused["code"]) == ("refused", "safety")
    assert amounts(file) == before


async def test_rows_are_filtered_in_every_answer(shop: tuple[BusClient, Path]) -> None:
    client, _ = shop
    counted = await run(client, "SELECT COUNT(*) AS n FROM orders")
    assert counted["rows"] == [[6]], counted
    everything = await run(client, "SELECT COUNT(*) AS n FROM orders", connection="shut")
    assert everything["rows"] == [[12]]


async def say(client: BusClient, question: str, connection: str = "open") -> dict[str, Any]:
    return await ask(client, {"question": question, "connection": connection}, lambda _stage: None)


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("delete order number 7", {7: None}),
        ("把订单9的amount改为5", {9: 5}),
        ("Please set the amount of order 11 to 12", {11: 12}),
    ],
)
@pytest.mark.requirement("001.11")
async def test_a_change_in_words_is_shown_with_its_exact_count_and_made_once(
    shop: tuple[BusClient, Path], question: str, left: dict[int, int | None]
) -> None:
    client, file = shop
    before = amounts(file)
    asked = await say(client, question)
    assert asked["outcome"] == "confirmation", asked
    assert (asked["confirmation"]["rows_affected"], asked["confirmation"]["rows_known"]) == (1, "exact")
    assert amounts(file) == before
    done = await yes(client, asked)
    assert (done["outcome"], done["rows_affected"]) == ("answered", 1), done
    assert amounts(file) == {key: amount for key, amount in (before | left).items() if amount is not None}


async def test_a_change_in_words_is_refused_where_the_connection_takes_none(shop: tuple[BusClient, Path]) -> None:
    client, file = shop
    before = amounts(file)
    for question, connection in (("delete order number 3", "shut"), ("drop the table orders", "open")):
        refused = await say(client, question, connection)
        assert (refused["outcome"], refused["code"]) == ("refused", "safety"), refused
    assert amounts(file) == before


async def test_a_changed_structure_is_known_to_the_next_statement(shop: tuple[BusClient, Path]) -> None:
    client, _ = shop
    made = await yes(client, await run(client, "CREATE TABLE notes (id INTEGER)", connection="free"))
    assert made["outcome"] == "answered", made
    dropped = await run(client, "DROP TABLE notes", connection="free")
    assert dropped["outcome"] == "confirmation", dropped
