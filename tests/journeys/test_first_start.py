"""The page's first start without any database: an owner adds one, decides on personal columns, and has the first answer."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import AsyncGenerator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
import yaml

from querybus.core.subjects import StageName
from querybus_cli.local.local_stack import Stack, StackPlan, new_keys
from tests.support.database_servers import PostgresServer, postgres_server
from tests.support.scripted_model import ScriptedModel, say

pytest.importorskip("playwright.async_api", reason="needs the package playwright")
from playwright.async_api import Browser, Page, async_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.connected,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium"),
    pytest.mark.asyncio(loop_scope="module"),
]
KEYS = new_keys()
WAIT_MS = 45_000
SECRET = "p@ss/word-of-nobody"
SCRIPT = f"""
CREATE DATABASE sales;
\\c sales
CREATE TABLE customers (id integer PRIMARY KEY, name text NOT NULL, email text, city text);
INSERT INTO customers VALUES (1, 'Ann', 'a@x.org', 'Lyon'), (2, 'Bob', 'b@x.org', 'Paris'), (3, 'Cid', 'c@x.org', 'Lyon');
CREATE ROLE reader LOGIN PASSWORD '{SECRET}';
GRANT SELECT ON customers TO reader;
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("first-start")
    with closing(sqlite3.connect(made / "shop.sqlite")) as shop:
        shop.executescript(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, city TEXT);"
            + 7 * "INSERT INTO orders (city) VALUES ('Bern');"
        )
    (made / "connections.yaml").write_text("# ours\nconnections: []\n")
    return made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(folder: Path) -> AsyncGenerator[Stack]:
    async with Stack(StackPlan(folder / "connections.yaml", sync="2m"), keys=KEYS) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncGenerator[Browser]:
    async with async_playwright() as playwright:
        made = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        await made.close()


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        server.execute(SCRIPT)
        rules = server.folder / "pg_hba.conf"
        rules.write_text(f"local all reader scram-sha-256\n{rules.read_text()}")
        server.execute("SELECT pg_reload_conf();")
        yield server


async def opened(browser: Browser, stack: Stack, credential: str, **how: Any) -> Page:
    options: dict[str, Any] = {"locale": "en-US", "viewport": {"width": 1200, "height": 900}} | how
    context = await browser.new_context(**options)
    context.set_default_timeout(WAIT_MS)
    page = await context.new_page()
    await page.goto(stack.http_address)
    await page.locator(".sign-in input").fill(KEYS[credential])
    await page.locator(".sign-in input").press("Enter")
    return page


async def choose_model(page: Page) -> None:
    """Test an address where nobody listens, then save a model that replies."""
    await page.locator("input[name=model-address]").fill("http://127.0.0.1:1/v1")
    await page.locator("input[name=model-name]").fill("coder:7b")
    await page.get_by_role("button", name="Test").click()
    await page.get_by_role("alert").get_by_text("Nobody answers at http://127.0.0.1:1/v1").wait_for()
    with ScriptedModel(say("```sql\nSELECT COUNT(*) AS orders FROM orders\n```"), models=("coder:7b",)) as model:
        await page.locator("input[name=model-address]").fill(model.base_url)
        await page.get_by_role("button", name="Test").click()
        await page.get_by_text("coder:7b replied in").wait_for()
        await page.get_by_role("button", name="Save this model").click()
        await page.locator("article.card").get_by_text("7").first.wait_for()
        assert "SELECT 1" in model.requests[1].text
        assert len(model.requests) > 4


async def test_an_owner_adds_a_first_database_and_is_answered(browser: Browser, stack: Stack, folder: Path) -> None:
    page = await opened(browser, stack, "owner")
    await page.locator(".first-start input[name=address]").fill(str(folder / "none.sqlite"))
    await page.get_by_role("button", name="Test").click()
    await page.get_by_role("alert").get_by_text("no file or folder").wait_for()
    await page.locator(".first-start input[name=address]").fill(str(folder / "shop.sqlite"))
    await page.get_by_role("button", name="Test").click()
    await page.get_by_text("shop works: 1 table").wait_for()
    await page.get_by_role("button", name="Add this database").click()
    await page.get_by_role("heading", name="Language model (optional)").wait_for()
    await choose_model(page)
    text = (folder / "connections.yaml").read_text()
    assert text.startswith("# ours")
    assert [item["name"] for item in yaml.safe_load(text)["connections"]] == ["shop"]
    await page.context.close()


@pytest.mark.servers
async def test_a_postgresql_is_added_in_chinese_on_a_phone_and_its_password_is_shown_to_nobody(
    browser: Browser, stack: Stack, folder: Path, postgres: PostgresServer
) -> None:
    page = await opened(browser, stack, "owner", locale="zh-CN", viewport={"width": 390, "height": 844})
    await page.goto(f"{stack.http_address}/#admin=connections")
    await page.get_by_role("button", name="添加数据库").click()
    address = page.locator("input[name=address]")
    await address.fill(f"postgres://reader@/sales?host={postgres.folder}")
    await page.locator(".connect input[type=password]").fill("wrong")
    await page.get_by_role("button", name="测试").click()
    await page.locator(".found .problem").wait_for()
    await page.locator(".connect input[type=password]").fill(SECRET)
    await page.get_by_role("button", name="测试").click()
    await page.get_by_text("看起来是个人信息").wait_for()
    await page.get_by_label("customers.name").uncheck()
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await page.get_by_role("button", name="添加这个数据库").click()
    await page.locator("article.card").get_by_text("3").first.wait_for()
    entry = next(
        item
        for item in yaml.safe_load((folder / "connections.yaml").read_text())["connections"]
        if item["name"] == "sales"
    )
    assert (entry["personal"], entry["not_personal"]) == (["customers.email"], ["customers.name"])
    assert "ss/word" not in json.dumps(entry)
    await page.context.close()


async def test_connections_are_renamed_and_removed_without_a_restart_and_only_by_an_owner(
    stack: Stack, folder: Path
) -> None:
    async with httpx.AsyncClient(base_url=stack.http_address, timeout=60) as client:

        async def call(method: str, path: str, credential: str, **body: Any) -> httpx.Response:
            headers = {"Authorization": f"Bearer {KEYS[credential]}"}
            return await client.request(method, path, headers=headers, json=body or None)

        if not (await call("GET", "/v1/connections", "owner")).json()["connections"]:
            await call("POST", "/v1/admin/connections", "owner", url=str(folder / "shop.sqlite"))
        for credential in ("analyst", "business"):
            refused = [
                await call("POST", "/v1/admin/connection-tests", credential, url="sqlite:////etc/passwd"),
                await call("POST", "/v1/admin/connections", credential, url=str(folder / "shop.sqlite"), name="x"),
                await call("PATCH", "/v1/admin/connections/shop", credential, new_name="y"),
                await call("DELETE", "/v1/admin/connections/shop", credential),
            ]
            assert [reply.status_code for reply in refused] == [403] * 4
        assert (await call("PATCH", "/v1/admin/connections/shop", "owner", new_name="laden")).json() == {
            "name": "laden"
        }
        question = {"question": "How many orders are there?", "connection": "shop"}
        old = await call("POST", "/v1/queries", "owner", **question)
        assert old.status_code == 422
        assert "removed or renamed" in old.json()["detail"]
        taken = await call("POST", "/v1/admin/connections", "owner", url=str(folder / "shop.sqlite"), name="laden")
        assert (taken.status_code, "already" in taken.json()["detail"]) == (422, True)
        away = await call(
            "POST",
            "/v1/admin/connection-tests",
            "owner",
            url=f"postgres://u:{SECRET.replace('/', '%2F')}@127.0.0.1:1/d",
        )
        assert (away.json()["works"], "word-of-nobody" in away.text) == (False, False)
        assert (await call("DELETE", "/v1/admin/connections/laden", "owner")).status_code == 200
        assert "laden" not in (folder / "connections.yaml").read_text()


async def test_in_production_the_executor_refuses_what_the_gateway_asks(tmp_path: Path) -> None:
    (tmp_path / "connections.yaml").write_text("connections: []\n")
    extra = {StageName.EXECUTOR: {"connections_editable": False}}
    async with (
        Stack(StackPlan(tmp_path / "connections.yaml", sync="2m", extra=extra), keys=KEYS) as stack,
        httpx.AsyncClient(base_url=stack.http_address, timeout=60) as client,
    ):
        headers = {"Authorization": f"Bearer {KEYS['owner']}"}
        reply = await client.post("/v1/admin/connection-tests", headers=headers, json={"url": "sqlite:////x"})
        assert reply.status_code == 403
        assert "QUERYBUS_CONNECTIONS_EDITABLE" in reply.json()["detail"]
