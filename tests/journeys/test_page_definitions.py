"""The page leads from an answer to the owner's definitions that it was computed by, in a real browser."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
import yaml
from playwright.async_api import Browser, expect

from querybus_cli.local.local_stack import Stack, StackPlan
from querybus_semantic.formats.ossie_writer import document_of
from querybus_semantic.layer.definitions import Words
from tests.journeys.test_page import CHROMIUM, IN_CI, KEYS, ask, browser, signed_in
from tests.support.semantic_shop import SHOP, shop_rows

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


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Stack]:
    directory = tmp_path_factory.mktemp("definitions")
    with sqlite3.connect(directory / "shop.sqlite") as file:
        shop_rows().backup(file)
    words = Words("what carriers charged, by the day of the order", owner="finance", version="3", synonyms=("运费",))
    freight = replace(SHOP.metrics["freight"], words=words)
    layer = replace(SHOP, metrics={**SHOP.metrics, "freight": freight})
    (directory / "shop.ossie.yaml").write_text(yaml.safe_dump(document_of(layer), allow_unicode=True))
    entry = {"name": "shop", "url": f"sqlite:///{directory / 'shop.sqlite'}", "definitions": "shop.ossie.yaml"}
    connections: Path = directory / "connections.yaml"
    connections.write_text(json.dumps({"connections": [entry]}))
    async with Stack(StackPlan(connections_file=connections, sync="2m"), keys=KEYS) as made:
        yield made


@pytest.mark.parametrize(
    ("language", "credential", "question", "label"),
    [
        ("en-US", "business", "freight by region", "freight"),
        ("en-US", "analyst", "freight by region", "freight"),
        ("zh-CN", "business", "各region的运费", "运费"),
    ],
)
async def test_an_answer_leads_to_the_definition_of_its_figure(
    stack: Stack, browser: Browser, language: str, credential: str, question: str, label: str
) -> None:
    async with signed_in(stack, browser, credential, locale=language) as (_, page):
        card = await ask(page, question)
        await card.locator("details.computed > summary").click()
        link = card.locator(".definitions .link")
        await expect(link).to_have_text(label)
        await link.click()
        shown = card.locator("dl.definition")
        await expect(shown).to_contain_text("by the day of the order")
        await expect(shown).to_contain_text("finance, version 3" if language == "en-US" else "finance, 版本 3")
        # Expressions are for analysts.
        await expect(shown.get_by_text("SUM(orders.freight)")).to_have_count(int(credential == "analyst"))
        if folder := os.environ.get("QUERYBUS_SCREENSHOTS"):
            await page.screenshot(path=f"{folder}/definition-{language}-{credential}.png", full_page=True)
