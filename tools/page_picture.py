"""`make page-picture`: docs/images/page.png, the page with an answer over the demo shop, as chromium shows it."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from playwright.async_api import Page, async_playwright

from querybus.core.credential import key_text
from querybus_cli.local.answers import demo_file
from querybus_cli.local.demo_database import demo_connection, write_demo
from querybus_cli.local.local_stack import CREDENTIALS, TENANT, Stack, StackPlan

PICTURE: Final = Path(__file__).resolve().parents[1] / "docs" / "images" / "page.png"
QUESTION: Final = "revenue by channel in 2025"
WIDTH: Final = 1_120
HEIGHT: Final = 1_000
BYTES_MAX: Final = 200_000
WAIT_MS: Final = 120_000


async def draw(chromium: str) -> bytes:
    """Return the picture of the page after the question, in light colours."""
    shop = demo_file()
    if not shop.exists():
        write_demo(shop)
    keys = {name: key_text(TENANT, name, f"secret-of-{name}") for name in CREDENTIALS.values()}
    with tempfile.TemporaryDirectory(prefix="querybus-picture-") as folder:
        file = Path(folder) / "connections.yaml"
        file.write_text(json.dumps({"connections": [demo_connection(shop)]}), encoding="utf-8")
        async with Stack(StackPlan(connections_file=file, sync="2m"), keys=keys) as stack, async_playwright() as tool:
            browser = await tool.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = await browser.new_page(
                viewport={"width": WIDTH, "height": HEIGHT}, locale="en-US", color_scheme="light"
            )
            page.set_default_timeout(WAIT_MS)
            await page.goto(stack.http_address)
            picture = await _answer(page, keys["business"])
            await browser.close()
            return picture


async def _answer(page: Page, key: str) -> bytes:
    await page.locator(".sign-in input").fill(key)
    await page.locator(".sign-in input").press("Enter")
    await page.locator(".ask textarea").fill(QUESTION)
    await page.locator(".ask textarea").press("Enter")
    card = page.locator("article.card").first
    await card.locator("svg.marks").wait_for()
    await page.evaluate("window.scrollTo(0, 0)")
    return await page.screenshot()


def main() -> int:
    """Write the picture; return 1 where it is too large or there is no chromium."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.stderr.write("chromium is not there: apt-get install chromium\n")
        return 1
    picture = asyncio.run(draw(chromium))
    if len(picture) > BYTES_MAX:
        sys.stderr.write(f"the picture has {len(picture):,} bytes, {BYTES_MAX:,} are allowed\n")
        return 1
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_bytes(picture)
    sys.stdout.write(f"{PICTURE}: {len(picture):,} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
