"""At the page with several databases: nothing is chosen, the question finds its database, and the card says which it was."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from querybus_cli.local.local_stack import Stack, StackPlan
from tests.journeys import test_page
from tests.journeys.test_page import KEYS, ask, browser, signed_in

__all__ = ["browser"]
# A busy machine draws its first chart late: the limit only guards against waiting for ever.
expect.set_options(timeout=30_000)

pytestmark = test_page.pytestmark
SCRIPTS = {
    "bikes": (
        "Bike rental",
        "CREATE TABLE trips (id INTEGER PRIMARY KEY, started_on DATE, minutes INTEGER, member_type TEXT);"
        "INSERT INTO trips VALUES (1, '2026-01-02', 12, 'casual'), (2, '2026-02-02', 30, 'member');",
    ),
    "saas": (
        "Accounts and invoices",
        "CREATE TABLE accounts (id INTEGER PRIMARY KEY, company TEXT, country TEXT);"
        "INSERT INTO accounts VALUES (1, 'Acme', 'Germany'), (2, 'Umbra', 'Germany'), (3, 'Vega', 'Japan');",
    ),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Stack]:
    directory = tmp_path_factory.mktemp("databases")
    entries: list[dict[str, str]] = []
    for name, (description, script) in SCRIPTS.items():
        with closing(sqlite3.connect(directory / f"{name}.sqlite")) as file:
            file.executescript(script)
        entries.append({"name": name, "url": f"sqlite:///{directory / name}.sqlite", "description": description})
    file = directory / "connections.yaml"
    file.write_text(json.dumps({"connections": entries}))
    async with Stack(StackPlan(connections_file=file, sync="2m"), keys=KEYS) as made:
        yield made


async def test_a_question_finds_its_database_and_a_follow_up_stays_there(stack: Stack, browser: Browser) -> None:
    async with signed_in(stack, browser) as (_, page):
        choice = page.get_by_label("Data")
        await expect(choice).to_have_value("")
        assert await choice.locator("option").all_inner_texts() == [
            "All my data",
            "Bike rental",
            "Accounts and invoices",
        ]
        # The first database by name is the other one.
        card = await ask(page, "How many accounts do we have?")
        await expect(card.locator(".source")).to_have_text("From “Accounts and invoices”")
        await expect(card.locator(".sentence")).to_contain_text("3")
        card = await ask(page, "only those in Germany")
        await expect(card.locator(".source")).to_have_text("From “Accounts and invoices”")
        await expect(card.locator(".sentence")).to_contain_text("2")


async def test_a_chosen_database_is_asked_whatever_the_words_say(stack: Stack, browser: Browser) -> None:
    async with signed_in(stack, browser) as (_, page):
        await page.get_by_label("Data").select_option("bikes")
        card = await ask(page, "How many trips are there?")
        await expect(card.locator(".source")).to_have_text("From “Bike rental”")


async def test_on_a_chinese_phone_the_choice_leaves_the_field_its_width(stack: Stack, browser: Browser) -> None:
    async with signed_in(stack, browser, locale="zh-CN", viewport={"width": 390, "height": 844}) as (_, page):
        await expect(page.get_by_role("combobox", name="数据").locator("option").first).to_have_text("全部数据")
        field = await page.locator(".ask textarea").bounding_box()
        assert field is not None
        assert field["width"] > 280
        assert await page.evaluate("document.documentElement.scrollWidth") <= 390
        card = await ask(page, "有多少个accounts？")
        await expect(card.locator(".source")).to_have_text("数据来源：“Accounts and invoices”")
