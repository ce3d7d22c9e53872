"""The page in a real browser: sign in, ask, correct, keep; nothing lost, nothing run that a value says, nothing cut off."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import shutil
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, Route, async_playwright, expect

from querybus.core.credential import key_text
from querybus.core.subjects import StageName
from querybus_cli.local.local_stack import Stack, StackPlan
from tests.journeys.test_up import free_port

ROOT = Path(__file__).parents[2]
AXE = ROOT / "build" / "environments" / "node" / "node_modules" / "axe-core" / "axe.min.js"
IN_CI = os.environ.get("CI") == "true"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# A busy machine draws its first chart late: the limit only guards against waiting for ever.
expect.set_options(timeout=30_000)

pytestmark = [
    pytest.mark.connected,
    pytest.mark.slow,
    pytest.mark.servers,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(CHROMIUM is None and not IN_CI, reason="needs Debian's chromium"),
]

KEYS = {name: key_text("local", name, f"secret-of-{name}") for name in ("business", "analyst", "owner")}
FIRST_VIEW_BYTES_MAX = 300_000
HOST_PORT = free_port()
WAIT_MS = 20_000
WATCH = """
window.seen = [];
document.addEventListener("securitypolicyviolation", (event) => window.seen.push("policy: " + event.violatedDirective + " " + event.blockedURI));
window.hurt = (what) => window.seen.push("run: " + what);
"""
WRAPPERS = (
    "<script>{}</script>",
    "<img src=x onerror={}>",
    "<svg onload={}>",
    "<svg><script>{}</script></svg>",
    "<iframe srcdoc='<script>parent.{}</script>'>",
    '<a href="javascript:{}">x</a>',
    "javascript:{}",
    '"><script>{}</script>',
    "' onmouseover='{}' x='",
    '" autofocus onfocus="{}',
    "</title><script>{}</script>",
    "</textarea><script>{}</script>",
    "</style><script>{}</script>",
    "<style>@import 'http://127.0.0.1:9/x.css';</style>",
    "<link rel=stylesheet href=http://127.0.0.1:9/x.css>",
    "<meta http-equiv=refresh content='0;url=javascript:{}'>",
    "<math><mtext><script>{}</script></mtext></math>",
    "<details open ontoggle={}>",
    "<input autofocus onfocus={}>",
    "<video><source onerror={}></video>",
    "<object data='javascript:{}'></object>",
    "<embed src='javascript:{}'>",
    "<form action='javascript:{}'><button>x</button></form>",
    "<base href='http://127.0.0.1:9/'>",
    "${{{}}}",
    "{{{{constructor.constructor('{}')()}}}}",
    "<template><script>{}</script></template>",
    "%3Cscript%3E{}%3C/script%3E",
    "&lt;script&gt;{}&lt;/script&gt;",
    "\\u003cscript\\u003e{}\\u003c/script\\u003e",
    "<ScRiPt>{}</sCrIpT>",
)
CALLS = ("hurt(1)", "window.hurt`2`", "top.hurt(3)", "self['hurt'](4)", "eval('hurt(5)')")
HOSTILE = [wrapper.format(call) for wrapper in WRAPPERS for call in CALLS]


def write_shop(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.executescript(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL);"
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers(id),"
            " status TEXT NOT NULL, ordered_at DATETIME NOT NULL);"
            "CREATE TABLE mottos (id INTEGER PRIMARY KEY, motto TEXT NOT NULL);"
        )
        connection.executemany(
            "INSERT INTO customers (name, city) VALUES (?, ?)",
            [(f"Customer {number}", ("Bern", "Lyon", "Oslo")[number % 3]) for number in range(130)],
        )
        connection.executemany(
            "INSERT INTO orders (customer_id, status, ordered_at) VALUES (?, ?, ?)",
            [
                (
                    number % 130 + 1,
                    ("paid", "open")[number // 6 % 2],
                    f"2026-{number % 6 + 1:02}-{number % 28 + 1:02} 10:00:00",
                )
                for number in range(600)
            ],
        )
        connection.executemany("INSERT INTO mottos (motto) VALUES (?)", [(text,) for text in HOSTILE])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Stack]:
    directory = tmp_path_factory.mktemp("page")
    shop = directory / "shop.sqlite"
    write_shop(shop)
    file: Path = directory / "connections.yaml"
    file.write_text(json.dumps({"connections": [{"name": "shop", "url": f"sqlite:///{shop}"}]}))
    extra = {StageName.GATEWAY: {"cors_origins": [f"http://127.0.0.1:{HOST_PORT}"]}}
    async with Stack(StackPlan(connections_file=file, sync="2m", extra=extra), keys=KEYS) as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncGenerator[Browser]:
    async with async_playwright() as playwright:
        made = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        await made.close()


@asynccontextmanager
async def signed_in(
    stack: Stack, browser: Browser, credential: str = "business", **how: Any
) -> AsyncGenerator[tuple[BrowserContext, Page]]:
    """Give a browser of somebody who has signed in with a key; afterwards nothing must have run or been refused."""
    options: dict[str, Any] = {"locale": "en-US", "viewport": {"width": 1200, "height": 900}} | how
    context = await browser.new_context(**options)
    context.set_default_timeout(WAIT_MS)
    await context.add_init_script(WATCH)
    page = await context.new_page()
    elsewhere: list[str] = []
    page.on("request", lambda request: elsewhere.append(request.url) if not _is_own(request.url, stack) else None)
    try:
        await page.goto(stack.http_address)
        await page.locator(".sign-in input").fill(KEYS[credential])
        await page.locator(".sign-in input").press("Enter")
        await page.locator(".ask textarea").wait_for()
        yield context, page
        assert await page.evaluate("window.seen") == []
        assert elsewhere == []
    finally:
        await context.close()


def _is_own(url: str, stack: Stack) -> bool:
    return url.startswith((stack.http_address, "blob:", "data:"))


async def ask(page: Page, question: str) -> Any:
    """Ask, and give the card of the answer."""
    count = await page.locator("article.card").count()
    await page.locator(".ask textarea").fill(question)
    await page.locator(".ask textarea").press("Enter")
    card = page.locator("article.card").nth(count)
    await card.wait_for()
    return card


async def test_a_one_time_link_signs_in_once_and_leaves_nothing_in_the_address(stack: Stack, browser: Browser) -> None:
    async with httpx.AsyncClient(base_url=stack.http_address) as http:
        reply = await http.post("/v1/sign-in-codes", headers={"Authorization": f"Bearer {KEYS['analyst']}"})
    link = f"{stack.http_address}/#code={reply.json()['code']}"
    for is_first in (True, False):
        context = await browser.new_context(locale="en-US")
        page = await context.new_page()
        await page.goto(link)
        if is_first:
            await page.locator(".ask textarea").wait_for()
        else:
            await expect(page.locator(".problem")).to_contain_text("was used or is too old")
        assert page.url == f"{stack.http_address}/"
        kept = json.dumps(await context.storage_state())
        assert KEYS["analyst"] not in kept
        assert reply.json()["code"] not in kept
        await context.close()


async def test_a_link_of_somebody_else_never_replaces_a_live_session(stack: Stack, browser: Browser) -> None:
    async def link_of(who: str) -> str:
        async with httpx.AsyncClient(base_url=stack.http_address) as http:
            reply = await http.post("/v1/sign-in-codes", headers={"Authorization": f"Bearer {KEYS[who]}"})
        return f"{stack.http_address}/#code={reply.json()['code']}"

    context = await browser.new_context(locale="en-US")
    page = await context.new_page()
    await page.goto(await link_of("analyst"))
    await page.locator(".ask textarea").wait_for()
    kept = await page.evaluate("localStorage.getItem('querybus.token')")
    second = await context.new_page()
    await second.goto(await link_of("business"))
    await expect(second.locator(".toast")).to_contain_text("You are still signed in as")
    assert await second.evaluate("localStorage.getItem('querybus.token')") == kept
    assert second.url == f"{stack.http_address}/"
    await context.close()


async def test_a_wrong_key_is_refused_in_words_and_a_session_ends_in_words(stack: Stack, browser: Browser) -> None:
    context = await browser.new_context(locale="en-US")
    page = await context.new_page()
    await page.goto(stack.http_address)
    await page.locator(".sign-in input").fill("qb.local.analyst.guess")
    await page.locator(".sign-in input").press("Enter")
    await expect(page.locator(".problem")).to_have_text("This key lets nobody in here.")
    await page.evaluate("localStorage.setItem('querybus.token', 'qbs.ended')")
    await page.reload()
    await expect(page.locator(".problem")).to_have_text("Your session has ended. Sign in again.")
    await context.close()


@pytest.mark.parametrize(
    ("language", "question", "chip"),
    [
        ("en-US", "How many orders per status in May 2026?", "in May 2026"),
        ("zh-CN", "2026年5月每个状态有多少个订单？", "2026年5月"),
    ],
)
async def test_a_newcomer_asks_and_takes_a_condition_away(
    stack: Stack, browser: Browser, language: str, question: str, chip: str
) -> None:
    async with signed_in(stack, browser, locale=language) as (_, page):
        if language == "zh-CN":
            question = "2026年5月每个status有多少个orders？"
        card = await ask(page, question)
        await expect(card.locator("svg")).to_be_visible()
        shown = card.locator(".chip", has_text=chip)
        before = await card.locator("tbody tr td.figure").all_inner_texts()
        await shown.locator(".remove").click()
        changed = page.locator("article.card").nth(1)
        await changed.wait_for()
        await expect(changed.locator(".chip", has_text=chip)).to_have_count(0)
        after = await changed.locator("tbody tr td.figure").all_inner_texts()
        assert sorted(after) == ["300", "300"]
        assert before != after


async def test_a_period_is_changed_a_group_added_and_the_picture_switched(stack: Stack, browser: Browser) -> None:
    async with signed_in(stack, browser) as (_, page):
        card = await ask(page, "How many orders per status in May 2026?")
        await card.locator(".chip .edit", has_text="in May 2026").click()
        await card.locator("form.inline input").nth(0).fill("2026-01-01")
        await card.locator("form.inline input").nth(1).fill("2026-02-28")
        await card.locator("form.inline button[type=submit]").click()
        wide = page.locator("article.card").nth(1)
        await expect(wide.locator(".chip").first).to_contain_text("February")
        await wide.locator(".chip.add").click()
        await wide.locator("form.inline input").fill("city")
        await wide.locator("form.inline input").press("Enter")
        by_city = page.locator("article.card").nth(2)
        await by_city.wait_for()
        if await by_city.locator(".chips").count() == 0:
            raise AssertionError(await by_city.inner_text())
        await expect(wide.locator("svg")).to_be_visible()
        drawn = await wide.locator("svg").inner_html()
        await wide.locator("figure select").select_option("line")
        await expect(wide.locator("svg path[aria-roledescription='line mark'], svg .mark-line")).not_to_have_count(0)
        assert drawn != await wide.locator("svg").inner_html()


async def test_the_way_on_that_a_person_chose_comes_first_until_it_is_forgotten(stack: Stack, browser: Browser) -> None:
    async def refused(page: Page) -> Any:
        card = await ask(page, "Delete all orders")
        await expect(card.locator(".option").first).to_be_visible()
        return card

    async with signed_in(stack, browser) as (_, page):
        card = await refused(page)
        before = await card.locator(".option").all_inner_texts()
        for _ in range(4):
            count = await page.locator("article.card").count()
            await page.locator("article.card").last.locator(".option", has_text=before[1][3:]).click()
            await page.locator("article.card").nth(count).wait_for()
            card = await refused(page)
        after = await card.locator(".option").all_inner_texts()
        assert after[0][3:] == before[1][3:]
        await card.locator(".choices summary").click()
        await expect(card.locator(".choices li")).to_contain_text("Not allowed: other data (4 times)")
        await card.locator(".choices button").click()
        await expect(card.locator(".choices")).to_contain_text("Nothing is remembered yet.")
        assert await (await refused(page)).locator(".option").all_inner_texts() == before


@pytest.mark.requirement("004.20")
async def test_what_is_asked_back_is_answered_by_a_button(stack: Stack, browser: Browser) -> None:
    async with signed_in(stack, browser) as (_, page):
        card = await ask(page, "How many glorious orders are there?")
        await expect(card.locator(".option").first).to_be_visible()
        await card.locator(".option").first.click()
        chosen = page.locator("article.card").nth(1)
        await expect(chosen.locator(".sentence")).to_contain_text("600")


async def test_pages_are_turned_and_all_rows_saved(stack: Stack, browser: Browser) -> None:
    async with signed_in(stack, browser) as (_, page):
        card = await ask(page, "List the names of all customers")
        await expect(card.locator(".rows .bar")).to_contain_text("Page 1 of")
        first = await card.locator("tbody tr").first.inner_text()
        await card.locator(".rows .bar button", has_text="Next").click()
        await expect(card.locator(".rows .bar")).to_contain_text("Page 2 of")
        assert await card.locator("tbody tr").first.inner_text() != first
        await card.locator(".menu summary", has_text="Save").click()
        async with page.expect_download() as started:
            await card.locator(".menu-items button", has_text="CSV").click()
        saved = Path(await (await started.value).path()).read_text()
        assert len(saved.strip().splitlines()) == 131


async def test_conversations_are_listed_searched_opened_again_and_deleted(stack: Stack, browser: Browser) -> None:
    async with signed_in(stack, browser, "analyst") as (context, page):
        await ask(page, "How many customers are there?")
        address = page.url
        assert "#thread=" in address
        await page.reload()
        await expect(page.locator("article.card .sentence")).to_contain_text("130")
        # Another tab sees the conversation, and what was asked there is seen here.
        other = await context.new_page()
        await other.goto(address)
        await other.locator("article.card").wait_for()
        await ask(other, "How many orders are there?")
        await page.evaluate("dispatchEvent(new Event('focus'))")
        await expect(page.locator("article.card")).to_have_count(2)
        await page.locator(".threads button.main").click()
        await expect(page.locator("article.card")).to_have_count(0)
        await page.locator(".threads input").fill("customers")
        await ask(page, "How many mottos are there?")
        # A new conversation makes the list anew, and what is searched for stays.
        await expect(page.locator(".threads li", has_text="mottos")).to_have_count(1)
        await expect(page.locator(".threads input")).to_have_value("customers")
        await expect(page.locator(".threads li:visible")).to_have_count(1)
        page.on("dialog", lambda dialog: asyncio.ensure_future(dialog.accept()))
        await page.locator(".threads li:visible .remove").click()
        await page.locator(".threads input").fill("")
        await expect(page.locator(".threads li", has_text="customers")).to_have_count(0)


async def test_an_analyst_sees_and_changes_the_statement_and_a_business_reader_does_not(
    stack: Stack, browser: Browser
) -> None:
    async with signed_in(stack, browser, "analyst") as (_, page):
        card = await ask(page, "How many orders per status?")
        await card.locator(".computed > summary").click()
        await expect(card.locator("pre")).to_contain_text("SELECT")
        await expect(card.locator(".computed .author")).to_have_text("Written by the built-in translator")
        await card.locator(".computed button", has_text="Edit and run").click()
        await card.locator("textarea.sql").fill("SELECT COUNT(*) AS n FROM customers")
        await card.locator(".editor button").click()
        second = page.locator("article.card").nth(1)
        await expect(second.locator("tbody")).to_contain_text("130")
        await second.locator(".computed > summary").click()
        await expect(second.locator(".author")).to_have_text("A person's own statement")
        await card.locator("textarea.sql").fill("DELETE FROM customers")
        await card.locator(".editor button").click()
        refused = page.locator("article.card").nth(2)
        await refused.wait_for()
        assert await refused.locator("tbody").count() == 0
    async with signed_in(stack, browser) as (_, page):
        received: list[str] = []

        async def keep(route: Route) -> None:
            response = await route.fetch()
            received.append(await response.text())
            await route.fulfill(response=response)

        await page.route("**/v1/queries/*", keep)
        card = await ask(page, "How many orders per status?")
        await card.locator(".computed > summary").click()
        assert await card.locator("pre").count() == 0
        shown = await card.inner_text()
        for name in ("SELECT", "customer_id", "ordered_at"):
            assert name not in shown
            assert not any(name in text for text in received)


async def test_a_cut_stream_and_a_lost_network_lose_no_answer(stack: Stack, browser: Browser) -> None:
    async with signed_in(stack, browser) as (context, page):
        cuts = 0

        async def cut(route: Route) -> None:
            nonlocal cuts
            cuts += 1
            await (route.abort() if cuts <= 2 else route.continue_())

        await page.route("**/events", cut)
        card = await ask(page, "How many orders are there?")
        await expect(card.locator(".sentence")).to_contain_text("600")
        assert cuts >= 2
        await context.set_offline(True)
        await page.locator(".ask textarea").fill("How many customers are there?")
        await page.locator(".ask textarea").press("Enter")
        await asyncio.sleep(1)
        await context.set_offline(False)
        await expect(page.locator("article.card").nth(1).locator(".sentence")).to_contain_text("130")
        await expect(page.locator(".question")).to_have_count(2)


async def test_hostile_values_stay_text(stack: Stack, browser: Browser) -> None:
    assert len(HOSTILE) >= 150
    async with signed_in(stack, browser, "analyst") as (_, page):
        card = await ask(page, "List all mottos")
        shown: list[str] = []
        for _ in range(20):
            shown += [text for row in await card.locator("tbody tr").all() for text in [await row.inner_text()]]
            following = card.locator(".rows .bar button", has_text="Next")
            if await following.count() == 0 or await following.is_disabled():
                break
            await following.click()
            await asyncio.sleep(0.3)
        assert sum("hurt" in text for text in shown) >= 120
        for text in HOSTILE[::10]:
            await ask(page, text)
        await page.reload()
        await page.locator("article.card").first.wait_for()
        await asyncio.sleep(1)
        # Titles of conversations are the hostile questions as well.
        assert await page.locator("iframe, object, embed, base").count() == 0


@pytest.mark.skipif(not AXE.is_file() and not IN_CI, reason="needs `make node-clients` (node and npm)")
@pytest.mark.parametrize(
    ("scheme", "language", "width"), [("light", "en-US", 1200), ("dark", "zh-CN", 1200), ("light", "zh-CN", 360)]
)
async def test_everybody_can_use_it_and_a_phone_shows_it_whole(
    stack: Stack, browser: Browser, scheme: Any, language: str, width: int
) -> None:
    # The checker is put into the page, which the page's own policy would refuse.
    how: dict[str, Any] = {
        "color_scheme": scheme,
        "locale": language,
        "viewport": {"width": width, "height": 800},
        "bypass_csp": True,
    }
    async with signed_in(stack, browser, "analyst", **how) as (_, page):
        await ask(page, "How many orders per status in May 2026?")
        card = await ask(page, "How many glorious orders are there?")
        await card.wait_for()
        await page.locator("article.card").first.locator(".chip .edit").click()
        await page.locator("article.card").first.locator(".computed > summary").click()
        # Colours that are fading in are none to be judged.
        await asyncio.sleep(0.6)
        await page.add_script_tag(path=AXE)
        found = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        serious = [
            (item["id"], [node["html"][:120] for node in item["nodes"]][:3])
            for item in found["violations"]
            if item["impact"] in ("serious", "critical")
        ]
        assert serious == []
        overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert overflow <= 0
        inner = await page.locator(".log").evaluate("element => element.scrollWidth - element.clientWidth")
        assert inner <= 0


async def test_the_first_view_is_small_and_charts_come_with_the_first_chart(stack: Stack, browser: Browser) -> None:
    async with signed_in(stack, browser) as (_, page):
        loaded: list[str] = []
        page.on("request", lambda request: loaded.append(request.url))
        await page.reload()
        await page.locator(".ask textarea").wait_for()
        await ask(page, "How many customers are there?")
        assert not any("charts.js" in url for url in loaded)
        card = await ask(page, "How many orders per status?")
        await expect(card.locator("svg")).to_be_visible()
        assert any("charts.js" in url for url in loaded)
    names = ("page.css", "element.css", "icon.svg", "querybus.js", "card.js", "chart.js", "client.js", "dom.js")
    async with httpx.AsyncClient(base_url=stack.http_address) as http:
        files = [(await http.get("/")).content]
        files += [(await http.get(f"/page/{name}")).content for name in (*names, "texts.js", "values.js")]
    assert sum(len(gzip.compress(data)) for data in files) < FIRST_VIEW_BYTES_MAX


async def test_the_page_is_framed_by_nobody_and_its_files_are_those_that_exist(stack: Stack) -> None:
    async with httpx.AsyncClient(base_url=stack.http_address) as http:
        page = await http.get("/")
        assert page.headers["x-frame-options"] == "DENY"
        policy = page.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        for path in ("/page/index.html", "/page/nothing.js", "/page/..%2fpage.py", "/page/__init__.py"):
            assert (await http.get(path)).status_code == 404, path
        tagged = await http.get("/page/querybus.js")
        again = await http.get("/page/querybus.js", headers={"If-None-Match": tagged.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


async def test_the_element_stands_in_a_page_of_another_origin(stack: Stack, browser: Browser) -> None:
    async with httpx.AsyncClient(base_url=stack.http_address) as http:
        reply = await http.post(
            "/v1/tokens", json={"minutes": 5}, headers={"Authorization": f"Bearer {KEYS['business']}"}
        )
    token = reply.json()["token"]
    host = f"""<!doctype html><title>Host</title><script type=module src="{stack.http_address}/page/querybus.js"></script>
    <querybus-chat token="{token}" connection="shop" language="zh" theme="dark"></querybus-chat>"""
    server = await asyncio.start_server(_sends(host), "127.0.0.1", HOST_PORT)
    context = await browser.new_context(locale="en-US")
    page = await context.new_page()
    await page.goto(f"http://127.0.0.1:{HOST_PORT}/")
    await expect(page.locator(".page.dark .ask button")).to_have_text("提问")
    card = await ask(page, "How many orders per status?")
    await expect(card.locator("svg")).to_be_visible()
    assert await page.evaluate("localStorage.length") == 0
    await context.close()
    server.close()


def _sends(text: str) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    """Return what answers every request with one page."""
    data = text.encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(data)}\r\n"
        writer.write(f"{head}Connection: close\r\n\r\n".encode() + data)
        await writer.drain()
        writer.close()

    return answer


async def test_the_document_is_read_and_tried_in_a_browser_without_another_host(stack: Stack, browser: Browser) -> None:
    context = await browser.new_context(viewport={"width": 1200, "height": 900})
    context.set_default_timeout(WAIT_MS)
    await context.add_init_script(WATCH)
    page = await context.new_page()
    elsewhere: list[str] = []
    page.on("request", lambda request: elsewhere.append(request.url) if not _is_own(request.url, stack) else None)
    try:
        await page.goto(f"{stack.http_address}/docs")
        ask_path = page.locator(".opblock", has_text="/v1/queries").first
        await ask_path.wait_for()
        assert await page.locator(".opblock").count() > 40
        await page.locator(".opblock-summary", has_text="/v1/me").first.click()
        await page.get_by_role("button", name="Try it out").first.click()
        await page.get_by_role("button", name="Execute").first.click()
        # Nobody signed in: the refusal is shown as any answer.
        await page.locator(".response .microlight", has_text="unauthenticated").first.wait_for()
        if (shown := os.environ.get("QUERYBUS_SHOW_PICTURES")) is not None:
            await page.screenshot(path=f"{shown}/docs.png")
        assert await page.evaluate("window.seen") == []
        assert elsewhere == []
    finally:
        await context.close()
