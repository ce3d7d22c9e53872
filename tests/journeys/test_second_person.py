"""A change that wants a second person, from the asker's question to the colleague's yes: at the page and at a terminal."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright, expect

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.core.credential import key_text
from querybus.core.subjects import StageName
from querybus_cli.local.local_stack import Stack, StackPlan
from tests.support.pseudo_terminal import Terminal
from tests.support.scripted_model import ScriptedModel, say

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
BIN = Path(sys.executable).parent / "querybus"
KEYS = {name: key_text("local", name, f"secret-of-{name}") for name in ("business", "analyst", "owner")}
QUESTION = "Add one to the amount in the stock of id 2"
SQL = "UPDATE stock SET amount = amount + 1 WHERE id = 2"
PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)

pytestmark = [
    pytest.mark.connected,
    pytest.mark.slow,
    pytest.mark.servers,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(CHROMIUM is None and os.environ.get("CI") != "true", reason="needs Debian's chromium"),
]


@dataclass
class Shop:
    """A stack over a shop whose changes want a second person."""

    stack: Stack
    bus: EmbeddedNats
    file: Path

    def amount(self) -> int:
        with sqlite3.connect(self.file) as connection:
            return connection.execute("SELECT amount FROM stock WHERE id = 2").fetchone()[0]

    def environment(self, credential: str) -> dict[str, str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("QUERYBUS_")}
        return {**clean, "QUERYBUS_URL": self.stack.http_address, "QUERYBUS_KEY": KEYS[credential]}

    async def run(self, credential: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return await asyncio.to_thread(
            subprocess.run,
            [str(BIN), *arguments],
            env=self.environment(credential),
            cwd=self.file.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def operator(self, *arguments: str) -> list[str]:
        return [*arguments, "--nats-url", self.bus.url, "--password", self.bus.password("operator")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shop(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Shop]:
    folder = tmp_path_factory.mktemp("second")
    file = folder / "shop.sqlite"
    with sqlite3.connect(file) as connection:
        connection.executescript(
            "CREATE TABLE stock (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL);"
            "INSERT INTO stock VALUES (1, 10), (2, 20), (3, 30);"
        )
    connections = folder / "connections.yaml"
    entry = {"name": "shop", "url": f"sqlite:///{file}", "access": "read_write", "policy": {"second_person": True}}
    connections.write_text(json.dumps({"connections": [entry]}))
    with ScriptedModel(lambda _: say(SQL)) as model:
        plan = StackPlan(
            connections_file=connections, sync="2m", extra={StageName.GENERATOR: {"llm_base_url": model.base_url}}
        )
        async with EmbeddedNats(["local"], sync="2m") as bus, Stack(plan, bus, keys=KEYS) as stack:
            yield Shop(stack, bus, file)


@asynccontextmanager
async def page_of(shop: Shop, browser: Browser, credential: str) -> AsyncGenerator[Page]:
    context = await browser.new_context(locale="en-US", viewport={"width": 1200, "height": 800})
    context.set_default_timeout(PATIENCE_MS)
    page = await context.new_page()
    await page.goto(shop.stack.http_address)
    await page.locator(".sign-in input").fill(KEYS[credential])
    await page.locator(".sign-in input").press("Enter")
    await page.locator(".ask textarea").wait_for()
    yield page
    await context.close()


async def test_at_the_page_the_asker_waits_and_a_colleague_finds_the_change_and_says_yes(shop: Shop) -> None:
    before = shop.amount()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        async with page_of(shop, browser, "business") as asker, page_of(shop, browser, "analyst") as idle:
            await expect(idle.get_by_role("button", name="Changes")).to_have_count(0)
            await asker.locator(".ask textarea").fill(QUESTION)
            await asker.locator(".ask textarea").press("Enter")
            card = asker.locator("article.card")
            await expect(card.get_by_text("Waits for a second person")).to_be_visible()
            await expect(card.get_by_role("button", name="Yes, do it")).to_have_count(0)
            await asker.screenshot(path=shop.file.parent / "asker.png")
        async with page_of(shop, browser, "analyst") as colleague:
            await colleague.get_by_role("button", name="Changes").click()
            change = colleague.locator("article.card")
            await expect(change.get_by_text(QUESTION)).to_be_visible()
            await expect(change.locator("pre")).to_contain_text("UPDATE")
            await colleague.screenshot(path=shop.file.parent / "colleague.png")
            assert shop.amount() == before
            await change.get_by_role("button", name="Confirm it, for at most 1 row").click()
            await expect(change.get_by_role("status")).to_contain_text("one entry was changed")
        await browser.close()
    assert shop.amount() == before + 1


async def test_at_a_terminal_a_colleague_lists_what_waits_and_types_yes(shop: Shop) -> None:
    before = shop.amount()
    asked = await shop.run("business", "ask", QUESTION)
    assert "another analyst confirms it: querybus confirm" in asked.stderr
    query = asked.stderr.rpartition("querybus confirm ")[2].split()[0]
    own = await shop.run("business", "confirm")
    assert (own.returncode, "analysts confirm" in own.stderr) == (2, True)
    listed = await shop.run("analyst", "confirm", "--json")
    (change,) = [json.loads(line) for line in listed.stdout.splitlines()]
    assert (change["query_id"], change["asked_by"], change["question"]) == (query, "business", QUESTION)
    shown = await shop.run("analyst", "confirm")
    assert (query in shown.stdout, "UPDATE" in shown.stdout) == (True, True)

    def confirm() -> int:
        terminal = Terminal([str(BIN), "confirm", query], shop.environment("analyst"), shop.file.parent)
        assert "UPDATE" in terminal.until("Type yes or no: ", seconds=60)
        terminal.type("yes\n")
        terminal.until("was changed", seconds=60)
        return terminal.end()

    assert await asyncio.to_thread(confirm) == 0
    assert shop.amount() == before + 1
    nothing = await shop.run("analyst", "confirm")
    assert (nothing.stdout, "no change waits" in nothing.stderr) == ("", True)


async def test_the_audit_is_followed_while_people_work_and_read_from_a_day_on(shop: Shop) -> None:
    follow = await asyncio.create_subprocess_exec(
        str(BIN),
        *shop.operator("audit", "export", "--follow"),
        stdout=asyncio.subprocess.PIPE,
        cwd=shop.file.parent,
        env=shop.environment("analyst"),
    )
    assert follow.stdout is not None
    asked = await shop.run("business", "ask", QUESTION)
    query = asked.stderr.rpartition("querybus confirm ")[2].split()[0]
    lines: list[str] = []
    async with asyncio.timeout(60):
        while not lines or json.loads(lines[-1]).get("query_id") != query:
            lines.append((await follow.stdout.readline()).decode())
    assert json.loads(lines[-1])["words"]["question"] == QUESTION
    follow.kill()
    await follow.wait()
    today = await shop.run("analyst", *shop.operator("audit", "export", "--since", "2026-01-01", "--tenant", "local"))
    assert len(today.stdout.splitlines()) >= len([line for line in lines if '"tenant":"local"' in line]) > 1
    later = await shop.run("analyst", *shop.operator("audit", "export", "--since", "2999-01-01"))
    assert (later.returncode, later.stdout) == (0, "")
    file = shop.file.parent / "audit.jsonl"
    file.write_text(today.stdout)
    last = json.loads(today.stdout.splitlines()[-1])["hash"]
    whole = await shop.run("analyst", "audit", "verify", str(file), "--last-hash", last)
    assert (whole.returncode, last in whole.stdout) == (0, True)
    file.write_text("".join(today.stdout.splitlines(keepends=True)[:-1]))
    cut = await shop.run("analyst", "audit", "verify", str(file), "--last-hash", last)
    assert (cut.returncode, "cut off" in cut.stdout) == (1, True)
