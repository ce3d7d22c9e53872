"""Boards, the administration and long tables of the page, in a real browser."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.connection import Held
from querybus.bus.stores.buckets import CredentialStore
from querybus.core.credential import Credential, key_hash
from querybus.core.subjects import StageName
from querybus_cli.local.local_stack import TENANT, Stack, StackPlan
from tests.journeys.test_page import AXE, CHROMIUM, HOSTILE, IN_CI, KEYS, ask, browser, signed_in, write_shop

__all__ = ["browser"]

# A busy machine draws its first chart late: the limit only guards against waiting for ever.
expect.set_options(timeout=30_000)

pytestmark = [
    pytest.mark.connected,
    pytest.mark.slow,
    pytest.mark.servers,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(CHROMIUM is None and not IN_CI, reason="needs Debian's chromium"),
]

ROWS = 10_000
HEAP_BYTES_MAX = 200_000_000
ELEMENTS_MAX = 4_000


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Stack]:
    directory: Path = tmp_path_factory.mktemp("views")
    shop = directory / "shop.sqlite"
    write_shop(shop)
    with sqlite3.connect(shop) as connection:
        connection.execute("CREATE TABLE readings (id INTEGER PRIMARY KEY, level REAL NOT NULL, place TEXT NOT NULL)")
        connection.executemany(
            "INSERT INTO readings (level, place) VALUES (?, ?)",
            [(number / 7, f"Place {number}") for number in range(1, ROWS + 1)],
        )
    file = directory / "connections.yaml"
    file.write_text(json.dumps({"connections": [{"name": "shop", "url": f"sqlite:///{shop}"}]}))
    async with EmbeddedNats([TENANT], sync="2m") as bus:
        await bus.migrate()
        connection = await bus.connect(StageName.GATEWAY)
        owner = Credential(
            name="owner",
            tenant="local",
            user="olga",
            audience="analyst",
            role="owner",
            key_sha256=key_hash(KEYS["owner"]),
        )
        async with Stack(StackPlan(connections_file=file), bus, keys=KEYS) as made:
            # The stack has made an owner of its own, which is nobody by name.
            await CredentialStore(Held(connection)).put(owner)
            await connection.close()
            yield made


async def pin(page: Page, card: Any, board: str, *, is_new: bool = False) -> None:
    if is_new:
        page.once("dialog", lambda dialog: dialog.accept(board))
    await card.locator(".menu summary", has_text="Pin").or_(card.locator(".menu summary", has_text="固定")).click()
    items = card.locator(".menu[open] .menu-items")
    await items.locator("button").last.wait_for()
    await items.locator("button", has_text="+" if is_new else board).click()
    await expect(page.locator(".toast")).to_contain_text(board)


def view(page: Page, name: str) -> Any:
    return page.locator("header .tab", has_text=name)


@pytest.mark.parametrize(("language", "boards"), [("en-US", "Boards"), ("zh-CN", "看板")])
async def test_what_is_pinned_is_asked_again_when_the_board_is_opened(
    stack: Stack, browser: Browser, language: str, boards: str
) -> None:
    async with signed_in(stack, browser, locale=language) as (context, page):
        name = f"Mornings {language}"
        await pin(page, await ask(page, "How many orders per status?"), name, is_new=True)
        await pin(page, await ask(page, "How many customers per city?"), name)
        await view(page, boards).click()
        await page.locator(".threads a", has_text=name).click()
        cards = page.locator(".pins article.card")
        await expect(cards).to_have_count(2)
        await expect(cards.nth(0).locator("svg")).to_be_visible()
        await expect(cards.nth(1).locator("tbody tr")).to_have_count(3)
        first = await cards.nth(0).get_attribute("id")
        # A link to the board opens it in another tab, and asks it once more.
        other = await context.new_page()
        await other.goto(page.url)
        await expect(other.locator(".pins article.card")).to_have_count(2)
        assert await other.locator(".pins article.card").nth(0).get_attribute("id") != first
        await other.close()
        await page.locator(".pin .tools button").last.click()
        await expect(page.locator(".pins .pin")).to_have_count(1)
        await page.reload()
        await expect(page.locator(".pins .pin")).to_have_count(1)
        # A chip of a card goes on in a conversation.
        await page.locator(".chip .remove").first.click()
        await expect(page.locator("article.card")).to_have_count(1)
        await expect(view(page, "Ask").or_(view(page, "提问")).first).to_have_attribute("aria-current", "page")


async def test_a_board_with_a_schedule_shows_what_was_asked_before(stack: Stack, browser: Browser) -> None:
    async with signed_in(stack, browser) as (_, page):
        await pin(page, await ask(page, "How many orders?"), "Daily", is_new=True)
        await view(page, "Boards").click()
        await page.locator(".threads a", has_text="Daily").click()
        card = page.locator(".pins article.card")
        await card.wait_for()
        await page.locator(".board-head select").select_option("daily")
        await expect(page.locator(".toast")).to_have_text("Saved")
        shown = await card.get_attribute("id")
        await page.reload()
        await card.wait_for()
        assert await card.get_attribute("id") == shown
        await page.locator(".board-head button.main").click()
        await expect(card).not_to_have_attribute("id", shown or "")


async def test_an_owner_turns_what_was_asked_back_into_an_answer(stack: Stack, browser: Browser) -> None:
    question = "What is our grand blip?"
    async with signed_in(stack, browser) as (_, page):
        await expect(view(page, "Admin")).to_have_count(0)
        card = await ask(page, question)
        await card.locator("button", has_text="Teach a word").click()
        await card.locator("form.inline input").nth(0).fill("grand blip")
        await card.locator("form.inline input").nth(1).fill("the number of orders")
        await card.locator("form.inline button[type=submit]").click()
        await expect(card).to_contain_text("somebody will look at it")
    async with signed_in(stack, browser, "owner") as (_, page):
        await view(page, "Admin").click()
        asked = page.locator(".asked li", has_text=question)
        await expect(asked).to_contain_text("Asked back")
        await asked.locator("button", has_text="Make a verified answer").click()
        await asked.locator("textarea").fill("SELECT COUNT(*) AS blips FROM orders")
        await asked.locator("button", has_text="Try it").click()
        await expect(asked.locator("form [role=status]")).to_contain_text("600")
        await asked.locator("button[type=submit]").click()
        await expect(asked).to_contain_text("it counts from now on")
        await page.locator("main .tab", has_text="Suggestions").click()
        row = page.locator("tr", has_text="grand blip").filter(has_text="the number of orders")
        await row.locator("button", has_text="Approve").click()
        await expect(page.locator("h3", has_text="Decided before")).to_be_visible()
        await expect(page.locator("tr", has_text="Approved: olga")).to_be_visible()
    async with signed_in(stack, browser) as (_, page):
        card = await ask(page, question)
        await expect(card).to_contain_text("600")


async def test_an_owner_approves_in_chinese(stack: Stack, browser: Browser) -> None:
    async with httpx.AsyncClient(base_url=stack.http_address) as http:
        headers = {"Authorization": f"Bearer {KEYS['business']}"}
        path = "/v1/connections/shop/knowledge"
        reply = await http.post(path, json={"terms": {"大单": "超过1000的订单"}}, headers=headers)
        assert reply.status_code == 200, reply.text
    async with signed_in(stack, browser, "owner", locale="zh-CN") as (_, page):
        await view(page, "管理").click()
        await page.locator("main .tab", has_text="建议").click()
        row = page.locator("tr", has_text="大单")
        await row.locator("button", has_text="批准").click()
        await expect(page.locator("tr", has_text="大单").filter(has_text="已批准: olga")).to_be_visible()


async def test_a_definition_is_drafted_approved_and_then_answers(stack: Stack, browser: Browser) -> None:
    question = "What is the shipment total?"
    async with signed_in(stack, browser, "owner") as (_, page):
        await ask(page, question)
        await view(page, "Admin").click()
        asked = page.locator(".asked li", has_text=question)
        await asked.locator("button", has_text="Draft a definition").click()
        fields = asked.locator("form.inline input")
        await fields.nth(0).fill("shipment_total")
        await asked.locator("form.inline select").select_option("orders")
        await fields.nth(1).fill("COUNT(orders.id)")
        await fields.nth(2).fill("shipment total")
        await asked.locator("button[type=submit]").click()
        await expect(asked).to_contain_text("Saved as a draft")
        await page.locator("main .tab", has_text="Suggestions").click()
        row = page.locator("tr", has_text="metric:shipment_total")
        await row.locator("button", has_text="Approve").click()
        await expect(row).to_have_count(0)
        await view(page, "Ask").click()
        card = await ask(page, question)
        await expect(card).to_contain_text("600")


async def test_an_evaluation_shows_what_a_change_fixed(stack: Stack, browser: Browser) -> None:
    items = "How many orders? => SELECT COUNT(*) FROM orders\nHow many wobbles? => SELECT COUNT(*) FROM customers"
    async with signed_in(stack, browser, "owner") as (_, page):
        await page.goto(f"{stack.http_address}/#admin=evaluate")
        await page.locator("textarea").fill(items)
        await page.locator("button", has_text="Run").click()
        await expect(page.locator("h3")).to_have_text("1 of 2 right")
        async with httpx.AsyncClient(base_url=stack.http_address) as http:
            pair = {"question": "How many wobbles?", "sql": "SELECT COUNT(*) FROM customers"}
            headers = {"Authorization": f"Bearer {KEYS['analyst']}"}
            reply = await http.post("/v1/connections/shop/knowledge", json={"pairs": [pair]}, headers=headers)
            assert reply.status_code == 200, reply.text
        await page.locator("button", has_text="Run").click()
        await expect(page.locator("h3")).to_have_text("1 right before, 2 of 2 right now: 1 fixed, 0 broken")
        await view(page, "Ask").click()
        await expect(page.locator(".threads a", has_text="wobbles")).to_have_count(0)
        await page.goto(f"{stack.http_address}/#admin=evaluate")
        await expect(page.locator("tr.fixed")).to_contain_text("wobbles")
        await page.locator("textarea").fill("no statement here")
        await page.locator("button", has_text="Run").click()
        await expect(page.locator(".toast")).to_contain_text("question => SQL")


async def test_a_key_is_made_shown_once_and_revoked(stack: Stack, browser: Browser) -> None:
    async with signed_in(stack, browser, "owner") as (_, page):
        await page.goto(f"{stack.http_address}/#admin=keys")
        await page.locator("form.inline input[type=text]").nth(0).fill("visitors")
        await page.locator("form.inline input[type=text]").nth(1).fill("vera")
        await page.locator("form.inline button[type=submit]").click()
        key = await page.locator("pre code").inner_text()
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(base_url=stack.http_address, headers=headers) as http:
            assert (await http.get("/v1/me")).json()["user"] == "vera"
            await page.reload()
            row = page.locator("tr", has_text="visitors")
            await row.wait_for()
            assert key not in await page.content()
            page.once("dialog", lambda dialog: dialog.accept())
            await row.locator("button", has_text="Revoke").click()
            await expect(row).to_have_count(0)
            assert (await http.get("/v1/me")).status_code == 401


async def test_who_is_no_owner_is_shown_the_questions_at_the_address_of_the_administration(
    stack: Stack, browser: Browser
) -> None:
    async with signed_in(stack, browser, "analyst") as (_, page):
        await page.evaluate("location.hash = '#admin=keys'")
        await page.locator(".ask textarea").wait_for()
        await expect(view(page, "Ask")).to_have_attribute("aria-current", "page")


async def test_an_element_offers_the_views_that_it_is_to_show(stack: Stack, browser: Browser) -> None:
    async with signed_in(stack, browser, "owner") as (_, page):
        await expect(page.locator("header .tab")).to_have_count(3)
        element = "document.querySelector('querybus-chat')"
        await page.evaluate(f"{element}.setAttribute('show', 'boards')")
        await page.locator(".new-board").wait_for()
        await expect(page.locator("header .tab")).to_have_count(0)
        await page.evaluate(f"{element}.setAttribute('show', 'ask boards')")
        await page.locator(".ask textarea").wait_for()
        await expect(page.locator("header .tab")).to_have_count(2)


async def test_ten_thousand_rows_scroll_with_few_elements_and_little_memory(stack: Stack, browser: Browser) -> None:
    async with signed_in(stack, browser, "analyst") as (context, page):
        async with httpx.AsyncClient(base_url=stack.http_address, timeout=60) as http:
            headers = {"Authorization": f"Bearer {KEYS['analyst']}", "Prefer": "wait=30"}
            body = {
                "operation": "run",
                "sql": "SELECT id, level, place FROM readings",
                "connection": "shop",
                "options": {"rows_max": ROWS, "chart": "none"},
            }
            query = (await http.post("/v1/queries", json=body, headers=headers)).json()
        await page.goto(f"{stack.http_address}/#thread={query['thread_id']}")
        card = page.locator("article.card")
        await card.locator("button", has_text=f"Show {ROWS} rows").click()
        await expect(card.locator(".bar [role=status]").first).to_have_text(f"{ROWS} rows")
        frame = card.locator(".scroll")
        await frame.evaluate("(frame) => { frame.scrollTop = frame.scrollHeight; }")
        await expect(card.locator("tbody")).to_contain_text(f"Place {ROWS}")
        await frame.evaluate("(frame) => { frame.scrollTop = frame.scrollHeight / 2; }")
        await expect(card.locator("tbody")).to_contain_text(f"Place {ROWS // 2}")
        await card.locator("thead button").first.click()
        await card.locator("thead button").first.click()
        await expect(card.locator("tbody tr:not([hidden])").first).to_contain_text("Place 1")
        count = await page.evaluate("document.querySelector('querybus-chat').shadowRoot.querySelectorAll('*').length")
        assert count < ELEMENTS_MAX
        session = await context.new_cdp_session(page)
        await session.send("HeapProfiler.collectGarbage")
        heap = await session.send("Runtime.getHeapUsage")
        assert heap["usedSize"] < HEAP_BYTES_MAX


@pytest.mark.skipif(not AXE.is_file() and not IN_CI, reason="needs `make node-clients` (node and npm)")
@pytest.mark.parametrize(
    ("how", "places"),
    [
        (
            {},
            (
                "#boards",
                "#admin=questions",
                "#admin=suggestions",
                "#admin=evaluate",
                "#admin=keys",
                "#admin=connections",
            ),
        ),
        (
            {"locale": "zh-CN", "color_scheme": "dark", "viewport": {"width": 360, "height": 740}},
            ("#boards", "#admin=questions", "#admin=keys"),
        ),
    ],
)
async def test_the_views_are_accessible_and_fit_a_phone(
    stack: Stack, browser: Browser, how: dict[str, Any], places: tuple[str, ...]
) -> None:
    async with httpx.AsyncClient(base_url=stack.http_address) as http:
        headers = {"Authorization": f"Bearer {KEYS['owner']}"}
        name = f"Fits {len(places)}"
        board = (await http.post("/v1/boards", json={"name": name}, headers=headers)).json()["id"]
    async with signed_in(stack, browser, "owner", bypass_csp=True, **how) as (_, page):
        await pin(page, await ask(page, "How many customers per city?"), name)
        for place in (*places, f"#board={board}"):
            await page.evaluate(f"location.hash = '{place}'")
            await page.wait_for_timeout(700)
            await page.add_script_tag(path=AXE)
            found = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
            serious = [item["id"] for item in found["violations"] if item["impact"] in ("serious", "critical")]
            assert serious == [], (place, [item["nodes"][0]["html"] for item in found["violations"]])
            width = await page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
            assert width[0] <= width[1], place
        if "viewport" in how:
            await page.locator(".menu-button").click()
            await expect(page.locator(".threads a", has_text=name)).to_be_visible()


async def test_no_name_question_or_suggestion_runs_or_asks_elsewhere(stack: Stack, browser: Browser) -> None:
    async with httpx.AsyncClient(base_url=stack.http_address, timeout=30) as http:
        owner = {"Authorization": f"Bearer {KEYS['owner']}"}
        business = {"Authorization": f"Bearer {KEYS['business']}"}
        for place, text in enumerate(HOSTILE):
            if place < 40:
                await http.post("/v1/boards", json={"name": text[:100]}, headers=owner)
            path = "/v1/connections/shop/knowledge"
            reply = await http.post(path, json={"terms": {f"w{place} {text[:80]}": text}}, headers=business)
            assert reply.status_code == 200, reply.text
            if place % 5 == 0:
                await http.post("/v1/queries", json={"question": text, "connection": "shop"}, headers=business)
    async with signed_in(stack, browser, "owner") as (_, page):
        await view(page, "Boards").click()
        await expect(page.locator(".threads li")).not_to_have_count(0)
        await page.locator(".threads a").last.click()
        await page.wait_for_timeout(300)
        await view(page, "Admin").click()
        await page.locator(".asked li").first.wait_for()
        await page.locator("main .tab", has_text="Suggestions").click()
        await expect(page.locator("tbody").first.locator("tr", has_text="w")).to_have_count(len(HOSTILE))
